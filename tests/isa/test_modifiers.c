/* SPDX-License-Identifier: MIT */
/* lop3 with a predicate, which becomes two instructions, and multiply-adds of halves that take the NaN from outside of a tensor for 0. */
#include "runner.h"

enum { LANES = 32 };

static void test_predicate_logic(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(
        &runner,
        KERNEL("mov.u32 %r1, 0x0f0f00ff;\nmov.u32 %r2, %t;\nmov.u32 %r3, 0x3c;\n"
               "setp.lt.u32 %p1, %t, 8;\nand.b32 %r9, %t, 3;\nsetp.ne.u32 %p3, %r9, 0;\n"
               "lop3.or.b32 %r4|%p2, %r1, %r2, %r3, 0x80, %p1;\nselp.u32 %r5, 1, 0, %p2;\n"
               "st.global.u32 [%mine], %r4;\nst.global.u32 [%mine+128], %r5;\n"
               "lop3.and.b32 _|%p2, %r1, %r2, %r3, 0x80, !%p1;\nselp.u32 %r5, 1, 0, %p2;\n"
               "st.global.u32 [%mine+256], %r5;\n"
               "mov.u32 %r6, 77;\n@%p3 lop3.and.b32 %r6|%p1, %r2, %r2, 0, 0xf0, %p1;\nselp.u32 %r5, 1, 0, %p1;\n"
               "st.global.u32 [%mine+384], %r6;\nst.global.u32 [%mine+512], %r5;"),
        LANES);
    for (uint32_t t = 0; t < LANES; t++) {
        uint32_t all = 0x0f0f00ffu & t & 0x3cu;
        bool guarded = t & 3;
        assert_int_equal(words[t], all);
        assert_int_equal(words[32 + t], all != 0 || t < 8);
        assert_int_equal(words[64 + t], all != 0 && t >= 8);
        assert_int_equal(words[96 + t], guarded ? t : 77);
        assert_int_equal(words[128 + t], t < 8);
    }
    runner_free(&runner);
}

static void test_out_of_bounds(void **state)
{
    (void)state;
    struct runner runner;
    /* Lane by lane: a, b and c of two halves each; 0x7ff7 is from outside, of either sign, 0x7fff is a NaN as any other. */
    static const uint32_t a[] = {0x40003c00, 0x7ff73c00, 0x3c007fff, 0xfff77ff7, 0x3c003c00};
    static const uint32_t b[] = {0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c007ff7};
    static const uint32_t c[] = {0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c003c00, 0x7ff73c00};
    static const uint32_t f16[] = {0x42004000, 0x00004000, 0x40007fff, 0, 0};
    uint32_t inputs[3][LANES] = {{0}};
    memcpy(inputs[0], a, sizeof a);
    memcpy(inputs[1], b, sizeof b);
    memcpy(inputs[2], c, sizeof c);
    runner_load(&runner,
                KERNEL("ld.global.u32 %r1, [%mine];\nld.global.u32 %r2, [%mine+128];\nld.global.u32 %r3, [%mine+256];\n"
                       "fma.rn.oob.f16x2 %r4, %r1, %r2, %r3;\nst.global.u32 [%mine+384], %r4;\n"
                       "mov.b32 %r5, 0xbf80bf80;\nfma.rn.oob.relu.bf16x2 %r4, %r1, %r5, %r5;\n"
                       "st.global.u32 [%mine+512], %r4;"));
    assert_int_equal(corun_memory_write(runner.memory, runner.out, inputs, sizeof inputs), CORUN_OK);
    assert_int_equal(runner_try(&runner, LANES), CORUN_OK);
    const uint32_t *words = runner_words(&runner);
    for (uint32_t t = 0; t < sizeof f16 / sizeof *f16; t++)
        assert_int_equal(words[96 + t], f16[t]);
    assert_int_equal(words[128], 0);                   /* -a - 1, clipped */
    assert_int_equal(words[128 + 2] & 0xffff, 0x7fff); /* any other NaN stays one */
    assert_int_equal(words[128 + 3], 0);
    runner_free(&runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_predicate_logic),
        cmocka_unit_test(test_out_of_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
