/* SPDX-License-Identifier: MIT */
/*
 * Warp instructions per second of the executor alone, without timing: an arithmetic loop and a streaming kernel. Built
 * by hand or as target bench_functional; `make bench` measures the whole.
 */
#include "corun/memory.h"
#include "corun/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char text[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry arithmetic(.param .u64 out, .param .u32 n)\n{\n.reg .b32 %r<8>;\n.reg .f32 %f<8>;\n.reg .b64 "
    "%rd<4>;\n.reg .pred %p;\n"
    "ld.param.u64 %rd1, [out];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\n"
    "mad.lo.u32 %r2, %r3, 256, %r2;\ncvt.rn.f32.u32 %f1, %r2;\nmov.f32 %f2, 0f3F800000;\nmov.f32 %f3, %f1;\nmov.u32 "
    "%r4, 0;\n"
    "LOOP:\nfma.rn.f32 %f2, %f2, %f1, %f3;\nadd.f32 %f3, %f3, %f2;\nmul.f32 %f4, %f2, 0f3F000000;\nxor.b32 %r5, %r5, "
    "%r2;\n"
    "add.u32 %r5, %r5, 77;\nfma.rn.f32 %f1, %f4, %f3, %f1;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p, %r4, %r1;\n@%p bra "
    "LOOP;\n"
    "cvt.rn.f32.u32 %f5, %r5;\nadd.f32 %f1, %f1, %f5;\nmul.wide.u32 %rd2, %r2, 4;\nadd.u64 %rd1, %rd1, "
    "%rd2;\nst.global.f32 [%rd1], %f1;\nret;\n}\n"
    ".visible .entry stream(.param .u64 out, .param .u64 in, .param .u32 n)\n{\n.reg .b32 %r<8>;\n.reg .f32 "
    "%f<8>;\n.reg .b64 %rd<6>;\n.reg .pred %p;\n"
    "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, "
    "%ctaid.x;\n"
    "mov.u32 %r4, %ntid.x;\nmad.lo.u32 %r2, %r3, %r4, %r2;\nmov.u32 %r5, %nctaid.x;\nmul.lo.u32 %r5, %r5, %r4;\n"
    "LOOP:\nmul.wide.u32 %rd3, %r2, 4;\nadd.u64 %rd4, %rd2, %rd3;\nld.global.f32 %f1, [%rd4];\nadd.u64 %rd5, %rd1, "
    "%rd3;\n"
    "ld.global.f32 %f2, [%rd5];\nfma.rn.f32 %f2, %f1, 0f40400000, %f2;\nst.global.f32 [%rd5], %f2;\nadd.u32 %r2, %r2, "
    "%r5;\n"
    "setp.lt.u32 %p, %r2, %r1;\n@%p bra LOOP;\nret;\n}\n";

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int measure(struct corun_module *module, struct corun_module_instance *instance, const char *name,
                   uint32_t blocks, const void *parameters, size_t bytes)
{
    struct corun_launch_description description = {
        .kernel = corun_module_kernel(module, name),
        .grid = {blocks, 1, 1},
        .block = {256, 1, 1},
        .parameters = parameters,
        .parameter_bytes = bytes,
    };
    struct corun_functional_result result = {0};
    double best = 0;
    for (int turn = 0; turn < 5; turn++) {
        struct corun_grid *grid;
        if (corun_grid_create(instance, &description, NULL, &grid) != CORUN_OK)
            return 1;
        double start = now();
        enum corun_status status = corun_run_functional(grid, 0, NULL, NULL, NULL, &result);
        double rate = (double)result.warp_instructions / (now() - start);
        corun_grid_destroy(grid);
        if (status != CORUN_OK)
            return 1;
        best = rate > best ? rate : best;
    }
    printf("%-12s %10llu warp instructions, %6.1f million a second\n", name,
           (unsigned long long)result.warp_instructions, best * 1e-6);
    return 0;
}

int main(void)
{
    struct corun_module *module;
    struct corun_module_instance *instance;
    struct corun_memory *memory = corun_memory_create(0);
    uint64_t buffers[2];
    enum { WORDS = 1 << 19 };
    if (!memory || corun_module_load("bench", text, strlen(text), NULL, &module) != CORUN_OK ||
        corun_module_instance_create(module, memory, NULL, &instance) != CORUN_OK ||
        corun_memory_allocate(memory, WORDS * 4, &buffers[0]) != CORUN_OK ||
        corun_memory_allocate(memory, WORDS * 4, &buffers[1]) != CORUN_OK)
        return 1;
    struct {
        uint64_t out;
        uint32_t n;
    } __attribute__((packed)) arithmetic = {buffers[0], 1000};
    struct {
        uint64_t out, in;
        uint32_t n;
    } __attribute__((packed)) stream = {buffers[0], buffers[1], WORDS};
    int bad = measure(module, instance, "arithmetic", 64, &arithmetic, sizeof arithmetic);
    bad |= measure(module, instance, "stream", 32, &stream, sizeof stream);
    corun_module_instance_destroy(instance);
    corun_module_destroy(module);
    corun_memory_destroy(memory);
    return bad;
}
