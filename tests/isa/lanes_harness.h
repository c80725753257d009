/* SPDX-License-Identifier: MIT */
/*
 * Runs one PTX instruction over lanes of edge values and random ones, on every level this processor has and as machine code, with full and
 * partial masks, and compares every lane with a scalar reference. The operands are laid out as isa/lanes.h tells the
 * decoder.
 */
#ifndef CORUN_TEST_LANES_HARNESS_H
#define CORUN_TEST_LANES_HARNESS_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "isa/lanes.h"
#include "isa/native_frame.h"

struct inputs {
    uint64_t value[4]; /* of this lane, as wide as its register */
    bool predicate;    /* third operand of setp, condition of selp, carry in */
    uint32_t lane, mask;
    const uint64_t (*all)[32]; /* [operand][lane] */
    uint32_t predicates;       /* of all lanes */
};

/* Of an instruction with a destination: its value. Of one with predicates alone: bit 0 is p, bit 1 is q. */
typedef uint64_t (*reference)(const struct inputs *in);

#define REFERENCE(name, ...) \
    static uint64_t name(const struct inputs *in) \
    { \
        const uint64_t a = in->value[0], b = in->value[1], c = in->value[2], e = in->value[3]; \
        const bool p = in->predicate; \
        (void)a, (void)b, (void)c, (void)e, (void)p; \
        return (uint64_t)(__VA_ARGS__); \
    }

static inline float f32_from(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float x;
    memcpy(&x, &low, sizeof x);
    return x;
}

static inline uint32_t f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double f64_from(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t f64_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline uint64_t next_random(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Register classes: h 16 bits, r 32, d 64, f f32, g f64, p predicate. */
static inline unsigned class_bytes(char class)
{
    return class == 'd' || class == 'g' ? 8 : 4;
}

static inline uint64_t draw(char class, uint64_t *state)
{
    static const uint64_t integers[] = {0,
                                        1,
                                        2,
                                        3,
                                        5,
                                        7,
                                        8,
                                        15,
                                        16,
                                        17,
                                        31,
                                        32,
                                        33,
                                        63,
                                        64,
                                        65,
                                        127,
                                        128,
                                        255,
                                        256,
                                        257,
                                        0x7fff,
                                        0x8000,
                                        0xffff,
                                        0x10000,
                                        0x7fffffff,
                                        0x80000000,
                                        0xffffffff,
                                        0x100000000,
                                        INT64_MAX,
                                        UINT64_C(1) << 63,
                                        UINT64_MAX,
                                        UINT64_MAX - 1,
                                        UINT64_C(0xffffffff80000000)};
    static const uint32_t floats[] = {
        0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0x00000001,
        0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x00800001, 0x7f7fffff, 0xff7fffff,
        0x3f800000, 0xbf800000, 0x3f800001, 0x3f7fffff, 0x3f000000, 0x3fc00000, 0x40200000, 0xbf000000,
        0xbfc00000, 0x4b000000, 0x4b800001, 0x4f000000, 0xcf000000, 0x4f800000, 0x5f000000, 0x5f800000,
        0xdf000000, 0x437f0000, 0x437f8000, 0x7e800000, 0x7e800001, 0x34000000};
    static const uint64_t doubles[] = {0x0,
                                       0x8000000000000000,
                                       0x7ff0000000000000,
                                       0xfff0000000000000,
                                       0x7ff8000000000000,
                                       0xfff8000000000123,
                                       0x7ff0000000000001,
                                       0x1,
                                       0x8000000000000001,
                                       0xfffffffffffff,
                                       0x10000000000000,
                                       0x8010000000000000,
                                       0x7fefffffffffffff,
                                       0xffefffffffffffff,
                                       0x3ff0000000000000,
                                       0xbff0000000000000,
                                       0x3ff0000000000001,
                                       0x3fefffffffffffff,
                                       0x3fe0000000000000,
                                       0xbfe0000000000000,
                                       0x4004000000000000,
                                       0x41dfffffffc00000,
                                       0x41e0000000000000,
                                       0x41efffffffe00000,
                                       0x41f0000000000000,
                                       0xc1e0000000000000,
                                       0x4330000000000000,
                                       0x43e0000000000000,
                                       0x43f0000000000000,
                                       0xc3e0000000000000,
                                       0x47efffffe0000000,
                                       0x47efffffefffffff,
                                       0x47effffff0000000,
                                       0x36a0000000000000,
                                       0x3690000000000000,
                                       0x380fffffffffffff,
                                       0x3ca0000000000000};
    uint64_t bits = next_random(state), kind = bits >> 60, pick = bits >> 32 & 0xffffff;
    uint64_t random = next_random(state);
    switch (class) {
    case 'f':
        if (kind < 5)
            return floats[pick % (sizeof floats / sizeof floats[0])];
        if (kind < 9) /* near one another */
            return (random & 0x807fffff) | (uint64_t)(110 + pick % 40) << 23;
        return kind < 11 ? (random & 0x81ffffff) : (uint32_t)random;
    case 'g':
        if (kind < 5)
            return doubles[pick % (sizeof doubles / sizeof doubles[0])];
        if (kind < 9)
            return (random & UINT64_C(0x800fffffffffffff)) | (1023 - 60 + pick % 120) << 52;
        if (kind < 11) /* around the range of f32 */
            return (random & UINT64_C(0x800fffffffffffff)) | (1023 - 152 + pick % 30) << 52;
        return kind < 12 ? random & UINT64_C(0x803fffffffffffff) : random;
    default:
        if (kind < 6)
            bits = integers[pick % (sizeof integers / sizeof integers[0])];
        else
            bits = random >> (kind < 10 ? pick % 64 : 0);
        if (kind & 1 && kind < 10)
            bits = 0 - bits;
        return class == 'd' ? bits : (uint32_t)bits;
    }
}

static struct ptx_module *parse_instruction(const char *text, const struct ptx_instruction **instruction)
{
    char module_text[2048];
    int length = snprintf(module_text, sizeof module_text,
                          ".version 8.1\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
                          ".reg .b16 %%h<8>;\n.reg .b32 %%r<8>;\n.reg .b64 %%d<8>;\n.reg .f32 %%f<8>;\n.reg .f64 "
                          "%%g<8>;\n.reg .pred %%p<8>;\n"
                          "%s\nret;\n}\n",
                          text);
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct ptx_module *module = NULL;
    enum corun_status status = ptx_parse("test", module_text, (size_t)length, list, &module);
    if (status != CORUN_OK)
        fail_msg("%s: %s", text,
                 corun_diagnostics_count(list) ? corun_diagnostics_get(list, 0)->message : "does not parse");
    corun_diagnostics_destroy(list);
    *instruction = &module->functions[0]->instructions[0];
    return module;
}

/*
 * `classes`: the destination and the sources, a letter each (see class_bytes); Q as destination is p|q, p as a later
 * letter is the predicate operand; C as first letter of the sources: the carry flag, in and out as the instruction has
 * it. `extra` is appended to the operands as written.
 */
struct lanes_case {
    const char *name, *classes, *extra;
    reference compute;
    uint32_t rounds;
};

#define HARNESS_SLOTS 24

struct machine {
    uint8_t registers[HARNESS_SLOTS * 128] __attribute__((aligned(64)));
    uint8_t constants[16 * 128] __attribute__((aligned(64)));
    uint32_t predicates[8];
};

static inline void put_lane(uint8_t *slots, unsigned slot, unsigned lane, unsigned bytes, uint64_t value)
{
    memcpy(slots + slot * 128 + lane * bytes, &value, bytes);
}

static inline uint64_t get_lane(const uint8_t *slots, unsigned slot, unsigned lane, unsigned bytes)
{
    uint64_t value = 0;
    memcpy(&value, slots + slot * 128 + lane * bytes, bytes);
    return value;
}

/* Machine code for the operation alone, which also has a guard, negated or not, or none. NULL: this processor runs none. */
static inline struct native *make_code(const struct operation *op, const struct machine *machine,
                                       struct corun_kernel *kernel)
{
    *kernel = (struct corun_kernel){.code = op, .code_length = 1, .constants = machine->constants};
    return native_create(kernel, 0);
}

/* The operation by its code, for the lanes of a mask: as those that run, or by a guard (predicate 7). */
static inline void run_code(const struct operation *op, struct machine *machine, uint32_t mask, bool guarded,
                            bool negated)
{
    static struct executor_sm sm;
    struct operation own = *op;
    struct corun_kernel kernel;
    uint32_t kept = machine->predicates[7];
    own.reconverge = UINT32_MAX;
    if (guarded) {
        own.guard = 7;
        own.guard_negated = negated;
        machine->predicates[7] = negated ? ~mask : mask;
    }
    struct native *native = make_code(&own, machine, &kernel);
    struct corun_warp warp = {.lanes = {machine->registers, machine->predicates, machine->constants}};
    struct native_frame frame = {
        .warp = &warp, .sm = &sm, .left = 1, .mask = guarded ? CORUN_FULL_MASK : mask, .reconverge = UINT32_MAX};
    struct native_code *code = native_code(native);
    code->enter(&frame, native_find(code, frame.mask != CORUN_FULL_MASK, 0, 1));
    assert_int_equal(warp.stack.pc, 1);
    assert_int_equal(frame.left, 0);
    assert_int_equal(frame.guarded_threads, guarded ? (uint32_t)__builtin_popcount(mask) : 0);
    assert_int_equal(frame.unguarded, !guarded);
    native_destroy(native);
    machine->predicates[7] = kept;
}

/* What machine code does is what the functions do, bit for bit. */
static inline void check_code(const char *name, const struct operation *op, const struct machine *start,
                              const struct machine *expected, uint32_t mask, uint64_t random)
{
    struct corun_kernel kernel;
    struct native *native = make_code(op, start, &kernel);
    if (!native)
        return;
    native_destroy(native);
    for (unsigned way = 0; way < 2; way++) {
        struct machine found = *start;
        run_code(op, &found, mask, way == 1, random & 1);
        if (memcmp(found.registers, expected->registers, sizeof found.registers) != 0 ||
            memcmp(found.predicates, expected->predicates, sizeof found.predicates) != 0)
            fail_msg("%s: machine code for the lanes %08x%s does something else", name, mask,
                     way == 1 ? " by a guard" : "");
    }
}

static inline void check_round(const struct lanes_case *test, const struct ptx_instruction *instruction,
                               enum lanes_level levels, bool has_d, unsigned predicate_count, const char *sources,
                               bool carries, uint64_t *state)
{
    const unsigned count = (unsigned)strcspn(sources, "p");
    const bool has_predicate = sources[count] == 'p', writes_carry = instruction->carry != 0,
               reads_carry = carries && (instruction->opcode == PTX_OP_ADDC || instruction->opcode == PTX_OP_SUBC ||
                                         instruction->opcode == PTX_OP_MADC);
    uint64_t random = next_random(state), values[4][32];
    const bool by_code = (random >> 40 & 3) == 0; /* too: it counts on constants that are the same for all lanes */
    uint32_t mask = random & 3 ? (uint32_t)next_random(state) | 1u << (random >> 8 & 31) : 0xffffffffu;
    struct machine start, after[LANES_LEVEL_COUNT];
    struct operation op = {
        .predicate_out = {NO_PREDICATE, NO_PREDICATE}, .predicate_in = NO_PREDICATE, .guard = NO_PREDICATE};
    for (size_t i = 0; i < sizeof start.registers; i++)
        start.registers[i] = (uint8_t)next_random(state);
    for (unsigned i = 0; i < 8; i++)
        start.predicates[i] = (uint32_t)next_random(state);
    op.destination = 0;
    for (unsigned s = 0; s < count; s++) {
        /* Sources may be constants; a destination may be a source of the same width. */
        bool constant = (random >> (16 + s)) & 1;
        bool same =
            !constant && has_d && s == (random >> 24 & 3) && class_bytes(sources[s]) == class_bytes(test->classes[0]);
        unsigned slot = constant ? 2 * s : same ? 0 : 4 + 2 * s;
        op.source[s] = (uint16_t)(constant ? OPERAND_CONSTANT | slot : slot);
        for (unsigned lane = 0; lane < 32; lane++) {
            values[s][lane] = by_code && constant && lane ? values[s][0] : draw(sources[s], state);
            put_lane(constant ? start.constants : start.registers, slot, lane, class_bytes(sources[s]),
                     values[s][lane]);
        }
    }
    if (has_predicate || reads_carry)
        op.predicate_in = carries ? 2 : 5;
    if (has_predicate)
        op.predicate_in_negated = instruction->operands[instruction->operand_count - 1].negated;
    for (unsigned i = 0; i < predicate_count; i++)
        op.predicate_out[i] = (uint16_t)i;
    if (carries && writes_carry)
        op.predicate_out[0] = 2;
    for (int level = 0; level <= (int)levels; level++) {
        lane_function run = lanes_select_at((enum lanes_level)level, instruction, &op);
        if (!run)
            fail_msg("%s: no function", test->name);
        assert_ptr_equal(run, op.run);
        after[level] = start;
        struct lanes lanes = {after[level].registers, after[level].predicates, start.constants};
        run(&op, &lanes, mask);
    }
    if (levels == LANES_V4 && by_code)
        check_code(test->name, &op, &start, &after[LANES_V4], mask, random >> 41);
    struct inputs in = {.mask = mask, .all = (const uint64_t(*)[32])values};
    uint32_t incoming = op.predicate_in == NO_PREDICATE ? 0 : start.predicates[op.predicate_in];
    in.predicates = op.predicate_in_negated ? ~incoming : incoming;
    unsigned bytes = class_bytes(test->classes[0]);
    for (unsigned lane = 0; lane < 32; lane++) {
        in.lane = lane;
        in.predicate = in.predicates >> lane & 1;
        for (unsigned s = 0; s < count; s++)
            in.value[s] = values[s][lane];
        bool active = mask >> lane & 1;
        uint64_t expected = active ? test->compute(&in) : 0;
        for (int level = 0; level <= (int)levels; level++) {
            if (has_d) {
                uint64_t wanted = active ? expected : get_lane(start.registers, 0, lane, bytes);
                if (bytes == 4)
                    wanted = (uint32_t)wanted;
                uint64_t found = get_lane(after[level].registers, 0, lane, bytes);
                if (test->classes[0] == 'h' && active &&
                    (instruction->opcode == PTX_OP_MOV || instruction->opcode == PTX_OP_SELP))
                    found &= 0xffff, wanted &= 0xffff; /* these hand on whatever is above */
                if (found != wanted)
                    fail_msg("%s%s, level %d, lane %u of %08x: a %" PRIx64 " b %" PRIx64 " c %" PRIx64 " e %" PRIx64
                             " p %d gives %" PRIx64 ", expected %" PRIx64,
                             test->name, test->extra ? test->extra : "", level, lane, mask, in.value[0], in.value[1],
                             in.value[2], in.value[3], in.predicate, found, wanted);
            }
            for (unsigned i = 0; i < predicate_count; i++) {
                bool wanted = active ? expected >> (has_d ? 63 : i) & 1 : start.predicates[i] >> lane & 1;
                if ((after[level].predicates[i] >> lane & 1) != wanted)
                    fail_msg("%s, level %d, lane %u of %08x: predicate %u of a %" PRIx64 " b %" PRIx64
                             " p %d is not %d",
                             test->name, level, lane, mask, i, in.value[0], in.value[1], in.predicate, wanted);
            }
        }
    }
    if (carries && writes_carry) { /* what the carry should be is for chains of them to show */
        for (int level = 1; level <= (int)levels; level++)
            assert_int_equal(after[level].predicates[2], after[0].predicates[2]);
        assert_int_equal(after[0].predicates[2] & ~mask, start.predicates[2] & ~mask);
    }
    for (int level = 0; level <= (int)levels; level++) { /* nothing else was touched */
        assert_memory_equal(after[level].registers + 2 * 128, start.registers + 2 * 128,
                            sizeof start.registers - 2 * 128);
        assert_memory_equal(after[level].predicates + 3, start.predicates + 3, 5 * sizeof(uint32_t));
    }
}

static inline void check_case(const struct lanes_case *test)
{
    char text[256];
    bool carries = test->classes[1] == 'C';
    const char *sources = test->classes + 1 + carries;
    int length = snprintf(text, sizeof text, "%s ", test->name);
    const char first = test->classes[0];
    length += first == 'Q'   ? snprintf(text + length, sizeof text - (size_t)length, "%%p0|%%p1")
              : first == 'D' ? snprintf(text + length, sizeof text - (size_t)length, "%%r0|%%p0")
                             : snprintf(text + length, sizeof text - (size_t)length, "%%%c0", first);
    for (unsigned i = 0; sources[i]; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, ", %%%c%u", sources[i], i + 1);
    snprintf(text + length, sizeof text - (size_t)length, "%s;", test->extra ? test->extra : "");
    const struct ptx_instruction *instruction;
    struct ptx_module *module = parse_instruction(text, &instruction);
    enum lanes_level levels = lanes_level_best();
    uint64_t state = 1;
    for (const char *s = test->name; *s; s++)
        state = state * 31 + (unsigned char)*s;
    unsigned predicate_count = first == 'Q' ? 2 : first == 'p' || first == 'D' ? 1 : 0;
    uint32_t rounds = test->rounds ? test->rounds : 150;
    for (uint32_t i = 0; i < rounds; i++)
        check_round(test, instruction, levels, first != 'Q' && first != 'p', predicate_count, sources, carries, &state);
    ptx_module_destroy(module);
}

static inline void check_cases(const struct lanes_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_case(&cases[i]);
}

#endif
