/* SPDX-License-Identifier: MIT */
/*
 * What lane functions cost: billions of lane operations per second, and how many times longer than a copy of one
 * register (128 bytes behind the same kind of call) each takes; for each level, with full and with partial masks.
 *
 *     bench_lanes [milliseconds per figure]
 */
#include "isa/lanes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void copy(const struct operation *op, const struct lanes *lanes, uint32_t mask)
{
    (void)mask;
    memcpy(lanes_destination(lanes, op->destination), lanes_source(lanes, op->source[0]), SLOT_BYTES);
}

/* Nanoseconds per call: the quickest of five, for other programs disturb. */
static double measure(lane_function volatile run, const struct operation *op, const struct lanes *lanes, uint32_t mask,
                      double budget)
{
    double best = 1e9;
    for (unsigned attempt = 0; attempt < 5; attempt++) {
        uint64_t calls = 0;
        double start = seconds(), now;
        do {
            for (unsigned i = 0; i < 1000; i++)
                run(op, lanes, mask);
            calls += 1000;
            now = seconds();
        } while (now - start < budget / 5);
        double each = (now - start) / (double)calls;
        best = each < best ? each : best;
    }
    return best * 1e9;
}

static const char *const instructions[] = {
    "mov.b32 %r0, %r1;",
    "add.s32 %r0, %r1, %r2;",
    "mad.lo.s32 %r0, %r1, %r2, %r3;",
    "mul.wide.s32 %d0, %r1, %r2;",
    "add.s64 %d0, %d1, %d2;",
    "shl.b32 %r0, %r1, %r2;",
    "div.u32 %r0, %r1, %r2;",
    "rem.s32 %r0, %r1, %r2;",
    "div.s64 %d0, %d1, %d2;",
    "lop3.b32 %r0, %r1, %r2, %r3, 0x96;",
    "popc.b32 %r0, %r1;",
    "prmt.b32 %r0, %r1, %r2, %r3;",
    "setp.lt.s32 %p0, %r1, %r2;",
    "setp.lt.f32 %p0, %f1, %f2;",
    "setp.lt.s64 %p0, %d1, %d2;",
    "selp.b32 %r0, %r1, %r2, %p1;",
    "add.f32 %f0, %f1, %f2;",
    "add.ftz.f32 %f0, %f1, %f2;",
    "fma.rn.f32 %f0, %f1, %f2, %f3;",
    "fma.rz.f32 %f0, %f1, %f2, %f3;",
    "div.rn.f32 %f0, %f1, %f2;",
    "max.f32 %f0, %f1, %f2;",
    "fma.rn.f64 %g0, %g1, %g2, %g3;",
    "fma.rz.f64 %g0, %g1, %g2, %g3;",
    "rsqrt.approx.f32 %f0, %f1;",
    "sin.approx.f32 %f0, %f1;",
    "ex2.approx.f32 %f0, %f1;",
    "lg2.approx.f32 %f0, %f1;",
    "cvt.rn.f32.s32 %f0, %r1;",
    "cvt.rzi.s32.f32 %r0, %f1;",
    "cvt.f64.f32 %g0, %f1;",
    "cvt.s64.s32 %d0, %r1;",
    "shfl.sync.bfly.b32 %r0, %r1, %r2, %r3, -1;",
};

/*
 * Registers 0, 1, 2, 3 of any class are slots 0, 2, 4, 6; the values are floats around 1, of which doubles and integers
 * are made too.
 */
static int measure_all(double budget)
{
    static uint8_t registers[16 * SLOT_BYTES] __attribute__((aligned(64)));
    static uint8_t constants[SLOT_BYTES] __attribute__((aligned(64)));
    uint32_t predicates[8] = {0, 0x5555aaaa};
    for (size_t i = 0; i < sizeof registers / 4; i++) {
        uint32_t bits = 0x3f000000u + (uint32_t)i * 77777u % 0x01000000u;
        memcpy(registers + i * 4, &bits, 4);
    }
    struct lanes lanes = {registers, predicates, constants};
    struct operation op = {.destination = 0,
                           .source = {2, 4, 6, 8},
                           .predicate_in = NO_PREDICATE,
                           .predicate_out = {NO_PREDICATE, NO_PREDICATE}};
    double unit = measure(copy, &op, &lanes, CORUN_FULL_MASK, budget);
    printf("copy of a register: %.2f ns\n%-44s %5s %8s %8s %8s\n", unit, "", "level", "Glane/s", "full", "partial");
    for (size_t i = 0; i < sizeof instructions / sizeof instructions[0]; i++) {
        char text[1024];
        int length = snprintf(text, sizeof text,
                              ".version 8.1\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 "
                              "%%r<8>;\n.reg .b64 %%d<8>;\n"
                              ".reg .f32 %%f<8>;\n.reg .f64 %%g<8>;\n.reg .pred %%p<8>;\n%s\nret;\n}\n",
                              instructions[i]);
        struct ptx_module *module;
        if (ptx_parse("bench", text, (size_t)length, NULL, &module) != CORUN_OK) {
            fprintf(stderr, "%s: does not parse\n", instructions[i]);
            return 1;
        }
        const struct ptx_instruction *instruction = &module->functions[0]->instructions[0];
        op.predicate_in = instruction->opcode == PTX_OP_SELP ? 1 : NO_PREDICATE;
        op.predicate_out[0] = instruction->opcode == PTX_OP_SETP ? 0 : NO_PREDICATE;
        for (int level = 0; level <= (int)lanes_level_best(); level++) {
            lane_function run = lanes_select_at((enum lanes_level)level, instruction, &op);
            if (!run)
                return 1;
            double full = measure(run, &op, &lanes, CORUN_FULL_MASK, budget),
                   partial = measure(run, &op, &lanes, 0x0ff0fffe, budget);
            printf("%-44s %5d %8.2f %8.2f %8.2f\n", instructions[i], level, 32 / full, full / unit, partial / unit);
        }
        ptx_module_destroy(module);
    }
    return 0;
}

int main(int argc, char **argv)
{
    double milliseconds = argc > 1 ? atof(argv[1]) : 50;
    return measure_all(milliseconds > 0 ? milliseconds * 1e-3 : 0.05);
}
