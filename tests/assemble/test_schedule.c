/* SPDX-License-Identifier: MIT */
/* The order of instructions and the registers that it takes, beside what an assembler makes of the same bodies, worked out by hand. */
#include "assemble/bodies.h"

/* Both loads first, although the second one stands behind the use of the first one. */
static void test_schedule(void **state)
{
    (void)state;
    becomes(ASSEMBLE_SCHEDULE,
            "ld.param.u64 %d1, [a];\nld.global.f32 %f1, [%d1];\nadd.f32 %f2, %f1, %f1;\nld.global.f32 %f3, [%d1+4];\n"
            "add.f32 %f4, %f3, %f2;\nst.global.f32 [%d1+8], %f4;\nret;\n",
            "ld.param.u64 %d1, [a];\nld.global.f32 %f1, [%d1];\nld.global.f32 %f3, [%d1+4];\nadd.f32 %f2, %f1, %f1;\n"
            "add.f32 %f4, %f3, %f2;\nst.global.f32 [%d1+8], %f4;\nret;\n");
}

/* What the second load needs comes with the first one: the third goes before it, though less waits for it. */
static void test_schedule_fills_a_wait(void **state)
{
    (void)state;
    becomes(
        ASSEMBLE_SCHEDULE,
        "ld.param.u64 %d1, [a];\nld.global.u64 %d2, [%d1];\nld.global.u32 %r1, [%d2];\nld.global.u32 %r2, [%d1+8];\n"
        "add.s32 %r3, %r1, 1;\nadd.s32 %r4, %r3, %r2;\nst.global.u32 [%d1+12], %r4;\nret;\n",
        "ld.param.u64 %d1, [a];\nld.global.u64 %d2, [%d1];\nld.global.u32 %r2, [%d1+8];\nld.global.u32 %r1, [%d2];\n"
        "add.s32 %r3, %r1, 1;\nadd.s32 %r4, %r3, %r2;\nst.global.u32 [%d1+12], %r4;\nret;\n");
}

static void test_schedule_that_stays(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        /* the store may be to what the load reads */
        "ld.param.u64 %d1, [a];\nld.param.u64 %d2, [a];\nst.global.u32 [%d1], 1;\nld.global.u32 %r1, [%d2];\n"
        "st.global.u32 [%d1+4], %r1;\nret;\n",
        "ld.param.u64 %d1, [a];\nst.global.u32 [%d1], 1;\nbar.sync 0;\nld.global.u32 %r1, [%d1+8];\n"
        "st.global.u32 [%d1+4], %r1;\nret;\n",
        "ld.param.u64 %d1, [a];\nmov.u32 %r1, %clock;\nld.volatile.global.u32 %r2, [%d1];\nadd.s32 %r4, %r2, 1;\n"
        "mov.u32 %r3, %clock;\nst.global.u32 [%d1+8], %r1;\nst.global.u32 [%d1+4], %r4;\nst.global.u32 [%d1+12], "
        "%r3;\nret;\n",
        /* no registers */
        "ret;\n",
        "bar.sync 0;\nst.shared.u32 [tile], 1;\nbar.sync 0;\nret;\n",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        becomes(ASSEMBLE_SCHEDULE, bodies[i], bodies[i]);
}

static void test_load_passes_store(void **state)
{
    (void)state;
    becomes(
        ASSEMBLE_SCHEDULE,
        "ld.param.u64 %d1, [a];\nst.global.u32 [%d1], 1;\nld.global.u32 %r1, [%d1+4];\nst.shared.u32 [tile], %r1;\n"
        "ld.global.u32 %r2, [%d1+8];\nst.global.u32 [%d1+12], %r2;\nret;\n",
        "ld.param.u64 %d1, [a];\nld.global.u32 %r1, [%d1+4];\nld.global.u32 %r2, [%d1+8];\nst.global.u32 [%d1], 1;\n"
        "st.shared.u32 [tile], %r1;\nst.global.u32 [%d1+12], %r2;\nret;\n");
}

/* Forty sums, each stored: the most that wait for their store. */
static uint32_t most_sums_that_wait(uint32_t rewrites)
{
    enum { SUMS = 40 };
    char body[SUMS * 128], *at = body;
    at += sprintf(at, ".reg .b32 %%s<%d>;\nld.param.u64 %%d1, [a];\nld.param.u32 %%r1, [n];\n", SUMS);
    for (int i = 0; i < SUMS; i++)
        at += sprintf(at, "add.u32 %%s%d, %%r1, %d;\nst.global.u32 [%%d1+%d], %%s%d;\n", i, i, 4 * i, i);
    sprintf(at, "ret;\n");
    struct ptx_module *module = parse(body);
    assert_int_equal(assemble_module(module, rewrites), CORUN_OK);
    uint32_t waiting = 0, most = 0, stored = 0;
    for (uint32_t i = 0; i < module->functions[0]->instruction_count; i++) {
        waiting += module->functions[0]->instructions[i].opcode == PTX_OP_ADD;
        most = waiting > most ? waiting : most;
        waiting -= module->functions[0]->instructions[i].opcode == PTX_OP_ST;
        stored += module->functions[0]->instructions[i].opcode == PTX_OP_ST;
    }
    assert_int_equal(stored, SUMS);
    ptx_module_destroy(module);
    return most;
}

/* The most loads from global memory whose first multiply-add is still to come. */
static uint32_t most_waiting_loads(const char *body, uint32_t rewrites)
{
    struct ptx_module *module = parse(body);
    assert_int_equal(assemble_module(module, rewrites), CORUN_OK);
    uint32_t waiting = 0, most = 0;
    uint64_t loaded = 0;
    for (uint32_t i = 0; i < module->functions[0]->instruction_count; i++) {
        const struct ptx_instruction *instruction = &module->functions[0]->instructions[i];
        if (instruction->opcode == PTX_OP_LD && instruction->space == PTX_SPACE_GLOBAL) {
            loaded |= 1ull << instruction->operands[0].index % 64;
            waiting++;
        } else if (instruction->opcode == PTX_OP_FMA && loaded >> instruction->operands[1].index % 64 & 1) {
            loaded &= ~(1ull << instruction->operands[1].index % 64);
            waiting--;
        }
        most = waiting > most ? waiting : most;
    }
    ptx_module_destroy(module);
    return most;
}

/* Forty loads, each of which is multiplied later: the most that are under way. */
static uint32_t most_loads_under_way(uint32_t rewrites)
{
    enum { LOADS = 40 };
    char body[LOADS * 128], *at = body;
    at += sprintf(at, ".reg .f32 %%l<%d>;\nld.param.u64 %%d1, [a];\nmov.f32 %%f1, 0f3F800000;\n", LOADS);
    for (int i = 0; i < LOADS; i++)
        at += sprintf(at, "ld.global.f32 %%l%d, [%%d1+%d];\nfma.rn.f32 %%f1, %%l%d, %%l%d, %%f1;\n", i, 4 * i, i, i);
    sprintf(at, "st.global.f32 [%%d1], %%f1;\nret;\n");
    return most_waiting_loads(body, rewrites);
}

/* A loop that adds eight loads to each of sixteen sums, whose values have a name of their own between two of them. */
static uint32_t most_loads_of_sums(uint32_t rewrites)
{
    enum { SUMS = 16, LOADS = 8 };
    char body[LOADS * SUMS * 64 + SUMS * 128], *at = body;
    at += sprintf(at, ".reg .f32 %%l<%d>;\n.reg .f32 %%s<%d>;\nld.param.u64 %%d1, [a];\nld.param.u32 %%r1, [n];\n",
                  LOADS, SUMS * LOADS);
    for (int sum = 0; sum < SUMS; sum++)
        at += sprintf(at, "mov.f32 %%s%d, 0f00000000;\n", sum);
    at += sprintf(at, "again:\n");
    for (int i = 0; i < LOADS; i++) {
        at += sprintf(at, "ld.global.f32 %%l%d, [%%d1+%d];\n", i, 128 * i);
        for (int sum = 0; sum < SUMS; sum++)
            at += sprintf(at, "fma.rn.f32 %%s%d, %%l%d, %%l%d, %%s%d;\n", (i + 1) % LOADS * SUMS + sum, i, i,
                          i * SUMS + sum);
    }
    at += sprintf(at,
                  "add.s64 %%d1, %%d1, 1024;\nsub.u32 %%r1, %%r1, 1;\nsetp.ne.u32 %%p1, %%r1, 0;\n@%%p1 bra again;\n");
    for (int sum = 0; sum < SUMS; sum++)
        at += sprintf(at, "st.global.f32 [%%d1+%d], %%s%d;\n", 4 * sum, sum);
    sprintf(at, "ret;\n");
    return most_waiting_loads(body, rewrites);
}

/* 26 registers and the assembler's own are those of full occupancy; the sum has one. Cycles are saved by more, so that spare gives none up. */
static void test_occupancy(void **state)
{
    (void)state;
    assert_int_equal(most_loads_under_way(ASSEMBLE_NOTHING), 1);
    assert_int_equal(most_loads_under_way(ASSEMBLE_SCHEDULE), 40);
    assert_int_equal(most_loads_under_way(ASSEMBLE_SCHEDULE | ASSEMBLE_SPARE), 40);
    assert_in_range(most_loads_under_way(ASSEMBLE_SCHEDULE | ASSEMBLE_OCCUPANCY), 20, 25);
}

/*
 * Of 26 registers the sums and the counters take 19. A sum that a later instruction of the block writes anew takes none behind its last
 * read: where it is thought to live on, all of them are taken twice, and each load waits for the one before.
 */
static void test_sums_of_a_loop(void **state)
{
    (void)state;
    assert_int_equal(most_loads_of_sums(ASSEMBLE_NOTHING), 1);
    assert_int_equal(most_loads_of_sums(ASSEMBLE_SCHEDULE), 8);
    assert_in_range(most_loads_of_sums(ASSEMBLE_SCHEDULE | ASSEMBLE_OCCUPANCY), 5, 7);
}

/* The block takes as long within the registers of full occupancy: 26, and the sum that is stored next. */
static void test_spare(void **state)
{
    (void)state;
    assert_int_equal(most_sums_that_wait(ASSEMBLE_NOTHING), 1);
    assert_int_equal(most_sums_that_wait(ASSEMBLE_SCHEDULE), 40);
    assert_in_range(most_sums_that_wait(ASSEMBLE_SCHEDULE | ASSEMBLE_SPARE), 2, 27);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule),
        cmocka_unit_test(test_schedule_fills_a_wait),
        cmocka_unit_test(test_schedule_that_stays),
        cmocka_unit_test(test_load_passes_store),
        cmocka_unit_test(test_spare),
        cmocka_unit_test(test_occupancy),
        cmocka_unit_test(test_sums_of_a_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
