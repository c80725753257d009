/* SPDX-License-Identifier: MIT */
/* Control flow of warps whose lanes go different ways, against answers computed here. */
#include "runner.h"

static void test_straight(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(&runner, KERNEL("add.u32 %r1, %t, 7;\nst.global.u32 [%mine], %r1;"), 96);
    for (uint32_t i = 0; i < 96; i++)
        assert_int_equal(words[i], i + 7);
    assert_int_equal(words[96], 0);
    assert_int_equal(runner.count.warp_instructions, 3 * 8);
    assert_int_equal(runner.count.thread_instructions, 96 * 8);
    runner_free(&runner);
}

static void test_nested_ifs(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(&runner,
                                       KERNEL("mov.u32 %r1, 0;\n"
                                              "setp.lt.u32 %p1, %t, 20;\n"
                                              "@!%p1 bra ELSE;\n"
                                              "setp.lt.u32 %p2, %t, 10;\n"
                                              "@%p2 bra INNER;\n"
                                              "add.u32 %r1, %r1, 100;\n"
                                              "bra.uni JOIN;\n"
                                              "INNER:\n"
                                              "add.u32 %r1, %r1, 200;\n"
                                              "JOIN:\n"
                                              "add.u32 %r1, %r1, 1;\n"
                                              "bra.uni END;\n"
                                              "ELSE:\n"
                                              "add.u32 %r1, %r1, 1000;\n"
                                              "END:\n"
                                              "activemask.b32 %r2;\n"
                                              "popc.b32 %r3, %r2;\n"
                                              "mad.lo.u32 %r1, %r3, 10000, %r1;\n"
                                              "st.global.u32 [%mine], %r1;"),
                                       40);
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t lanes = i < 32 ? 32 : 8;
        uint32_t expected = i < 10 ? 201 : i < 20 ? 101 : 1000;
        assert_int_equal(words[i], lanes * 10000 + expected); /* all lanes have met at END */
    }
    runner_free(&runner);
}

static void test_loops_of_different_length(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(&runner,
                                       KERNEL("mov.u32 %r1, 0;\nmov.u32 %r2, 0;\n"
                                              "LOOP:\n"
                                              "add.u32 %r1, %r1, %r2;\n"
                                              "add.u32 %r2, %r2, 1;\n"
                                              "setp.le.u32 %p1, %r2, %t;\n"
                                              "@%p1 bra LOOP;\n"
                                              "activemask.b32 %r3;\n"
                                              "st.global.u32 [%mine], %r1;\n"
                                              "st.global.u32 [%mine+1024], %r3;"),
                                       32);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(words[i], i * (i + 1) / 2);
        assert_int_equal(words[256 + i], 0xffffffffu);
    }
    runner_free(&runner);
}

/* for (i = 0; i < 40; i++) { if (i == t) break; if (i & 1) continue; sum += i; } */
static void test_break_and_continue(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(&runner,
                                       KERNEL("mov.u32 %r1, 0;\nmov.u32 %r2, 0;\n"
                                              "HEAD:\n"
                                              "setp.ge.u32 %p1, %r2, 40;\n"
                                              "@%p1 bra DONE;\n"
                                              "setp.eq.u32 %p2, %r2, %t;\n"
                                              "@%p2 bra DONE;\n"
                                              "and.b32 %r3, %r2, 1;\n"
                                              "setp.ne.u32 %p3, %r3, 0;\n"
                                              "@%p3 bra NEXT;\n"
                                              "add.u32 %r1, %r1, %r2;\n"
                                              "NEXT:\n"
                                              "add.u32 %r2, %r2, 1;\n"
                                              "bra HEAD;\n"
                                              "DONE:\n"
                                              "st.global.u32 [%mine], %r1;"),
                                       64);
    for (uint32_t t = 0; t < 64; t++) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < 40 && i != t; i++)
            sum += i & 1 ? 0 : i;
        assert_int_equal(words[t], sum);
    }
    runner_free(&runner);
}

static void test_early_exit(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(&runner,
                                       KERNEL("setp.gt.u32 %p1, %t, 5;\n"
                                              "st.global.u32 [%mine], 1;\n"
                                              "@%p1 exit;\n"
                                              "st.global.u32 [%mine], 2;\n"
                                              "setp.gt.u32 %p2, %t, 2;\n"
                                              "@%p2 bra FAR;\n"
                                              "st.global.u32 [%mine], 3;\n"
                                              "@%p2 bra FAR;\n"
                                              "ret;\n"
                                              "FAR:\n"
                                              "st.global.u32 [%mine], 4;"),
                                       32);
    for (uint32_t t = 0; t < 32; t++)
        assert_int_equal(words[t], t > 5 ? 1 : t > 2 ? 4 : 3);
    runner_free(&runner);
}

/* Lanes leave one by one out of nested loops, some by exit in the middle of an inner one. */
static void test_exit_in_nested_loops(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(&runner,
                                       KERNEL("mov.u32 %r1, 0;\n" /* outer counter */
                                              "mov.u32 %r4, 0;\n"
                                              "OUTER:\n"
                                              "mov.u32 %r2, 0;\n"
                                              "INNER:\n"
                                              "add.u32 %r4, %r4, 1;\n"
                                              "st.global.u32 [%mine], %r4;\n"
                                              "setp.eq.u32 %p1, %r4, %t;\n"
                                              "@%p1 exit;\n"
                                              "add.u32 %r2, %r2, 1;\n"
                                              "setp.lt.u32 %p2, %r2, %r1;\n"
                                              "@%p2 bra INNER;\n"
                                              "add.u32 %r1, %r1, 1;\n"
                                              "setp.lt.u32 %p3, %r1, 6;\n"
                                              "@%p3 bra OUTER;\n"
                                              "add.u32 %r4, %r4, 1000;\n"
                                              "st.global.u32 [%mine], %r4;"),
                                       32);
    for (uint32_t t = 0; t < 32; t++) /* 1 + 1 + 2 + 3 + 4 + 5 = 16 inner turns */
        assert_int_equal(words[t], t >= 1 && t <= 16 ? t : 1016);
    runner_free(&runner);
}

static void test_uniform_branch_keeps_all_lanes(void **state)
{
    (void)state;
    struct runner runner;
    runner_run(&runner,
               KERNEL("mov.u32 %r1, 0;\n"
                      "LOOP:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 1000;\n@%p1 bra LOOP;"),
               32);
    assert_int_equal(runner.count.warp_instructions, 5 + 1 + 3000 + 1);
    runner_free(&runner);
}

static void test_the_longest_warp(void **state)
{
    (void)state;
    struct runner runner;
    runner_run(&runner,
               KERNEL("shr.u32 %r1, %t, 5;\nxor.b32 %r1, %r1, 3;\n" /* 3, 2 and 1 turns */
                      "LOOP:\nsub.u32 %r1, %r1, 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra LOOP;"),
               96);
    assert_int_equal(runner.count.warp_instructions, 3 * 8 + 3 * (3 + 2 + 1));
    assert_int_equal(runner.count.longest_warp, 8 + 3 * 3);
    runner_free(&runner);
}

static void test_shuffle_and_vote_under_divergence(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(&runner,
                                       KERNEL("setp.ge.u32 %p1, %t, 16;\n"
                                              "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\n"
                                              "@%p1 bra HIGH;\n"
                                              "shfl.sync.down.b32 %r1, %t, 1, 31, 0x0000ffff;\n"
                                              "setp.lt.u32 %p2, %t, 4;\n"
                                              "vote.sync.ballot.b32 %r2, %p2, 0x0000ffff;\n"
                                              "bra END;\n"
                                              "HIGH:\n"
                                              "shfl.sync.bfly.b32 %r1, %t, 1, 31, 0xffff0000;\n"
                                              "setp.eq.u32 %p2, %t, 31;\n"
                                              "vote.sync.ballot.b32 %r2, %p2, 0xffff0000;\n"
                                              "END:\n"
                                              "st.global.u32 [%mine], %r1;\nst.global.u32 [%mine+512], %r2;"),
                                       32);
    for (uint32_t t = 0; t < 32; t++) {
        if (t != 15) /* reads from a lane that is elsewhere */
            assert_int_equal(words[t], t < 16 ? t + 1 : t ^ 1);
        assert_int_equal(words[128 + t], t < 16 ? 0xf : 0x80000000u);
    }
    runner_free(&runner);
}

static void test_predicated_instruction_without_lanes(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(&runner,
                                       KERNEL("setp.gt.u32 %p1, %t, 1000;\n"
                                              "mov.u32 %r1, 5;\n"
                                              "@%p1 mov.u32 %r1, 6;\n"
                                              "@%p1 ld.global.u32 %r1, [0];\n"
                                              "@!%p1 st.global.u32 [%mine], %r1;"),
                                       32);
    assert_int_equal(words[31], 5);
    assert_int_equal(runner.count.warp_instructions, 11);
    assert_int_equal(runner.count.thread_instructions, 9 * 32);
    runner_free(&runner);
}

/*
 * for (i = 0; i < 10; i++) { if ((t + i) & 1) { sum += 3; if (i == last) break; sum += 5; } else sum += 7; sum ^= i; }: the arms meet in each round, whoever
 * breaks. The instructions of a warp are those of its rounds, and lanes that have left take none.
 */
#define BREAK_AT(last) \
    KERNEL("mov.u32 %r1, 0;\nmov.u32 %r2, 0;\n" \
           "LOOP: add.u32 %r3, %t, %r2;\nand.b32 %r3, %r3, 1;\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra EVEN;\n" \
           "add.u32 %r1, %r1, 3;\nsetp.eq.u32 %p2, %r2, " last ";\n@%p2 bra END;\nadd.u32 %r1, %r1, 5;\nbra TAIL;\n" \
           "EVEN: add.u32 %r1, %r1, 7;\n" \
           "TAIL: xor.b32 %r1, %r1, %r2;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p3, %r2, 10;\n@%p3 bra LOOP;\n" \
           "END: activemask.b32 %r4;\nst.global.u32 [%mine], %r1;\nst.global.u32 [%mine+1024], %r4;")

static void test_break_in_one_arm(void **state)
{
    (void)state;
    for (uint32_t last = 4; last <= 100; last += 96) {
        struct runner runner;
        const uint32_t *words = runner_run(&runner, last == 4 ? BREAK_AT("4") : BREAK_AT("100"), 32);
        uint32_t lanes_left = 0;
        for (uint32_t t = 0; t < 32; t++) {
            uint32_t sum = 0;
            for (uint32_t i = 0; i < 10; i++) {
                const bool odd = (t + i) & 1;
                if (odd && i == last) {
                    sum += 3;
                    lanes_left++;
                    break;
                }
                sum = (sum + (odd ? 8 : 7)) ^ i;
            }
            assert_int_equal(words[t], sum);
            assert_int_equal(words[256 + t], 0xffffffffu);
        }
        assert_int_equal(lanes_left, last < 10 ? 16 : 0);
        /* 14 a round with both arms; in the last common one nobody is left behind the break; then one arm in a round. */
        const uint32_t rounds = last < 10 ? 4 * 14 + (14 - 2) + 2 * 9 + 3 * 13 : 10 * 14;
        assert_int_equal(runner.count.warp_instructions, 5 + 2 + rounds + 3 + 1);
        runner_free(&runner);
    }
}

/*
 * if (t == 3) goto out; s[t] = t; barrier; r = s[t ^ 16]; if (t == 5) goto out; barrier; r += s[t ^ 1]; …; out: r = 77 t: whoever goes there ends before others
 * come to the next barrier, and does not wait for them.
 */
static void test_some_end_before_barriers(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, KERNEL(".shared .b32 s[32];\nmov.u32 %r1, s;\nmad.lo.u32 %r2, %t, 4, %r1;\n"
                                "setp.eq.u32 %p1, %t, 3;\n@%p1 bra OUT;\nst.shared.u32 [%r2], %t;\nbar.sync 0;\n"
                                "xor.b32 %r3, %t, 16;\nmad.lo.u32 %r3, %r3, 4, %r1;\nld.shared.u32 %r4, [%r3];\n"
                                "setp.eq.u32 %p1, %t, 5;\n@%p1 bra OUT;\nbar.sync 0;\nxor.b32 %r3, %t, 1;\n"
                                "mad.lo.u32 %r3, %r3, 4, %r1;\nld.shared.u32 %r5, [%r3];\nadd.u32 %r4, %r4, %r5;\n"
                                "st.global.u32 [%mine], %r4;\nret;\n"
                                "OUT: mul.lo.u32 %r4, %t, 77;\nst.global.u32 [%mine], %r4;"));
    runner.instance->checks |= CORUN_CHECK_SYNC;
    const enum corun_status status = runner_try(&runner, 32);
    assert_string_equal(runner_message(&runner), "");
    assert_int_equal(status, CORUN_OK);
    for (uint32_t t = 0; t < 32; t++) {
        const uint32_t far = (t ^ 16) == 3 ? 0 : t ^ 16, near = (t ^ 1) == 3 ? 0 : t ^ 1;
        assert_int_equal(runner_words(&runner)[t], t == 3 || t == 5 ? 77 * t : far + near);
    }
    runner_free(&runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_straight),
        cmocka_unit_test(test_nested_ifs),
        cmocka_unit_test(test_loops_of_different_length),
        cmocka_unit_test(test_break_and_continue),
        cmocka_unit_test(test_early_exit),
        cmocka_unit_test(test_break_in_one_arm),
        cmocka_unit_test(test_some_end_before_barriers),
        cmocka_unit_test(test_exit_in_nested_loops),
        cmocka_unit_test(test_uniform_branch_keeps_all_lanes),
        cmocka_unit_test(test_the_longest_warp),
        cmocka_unit_test(test_shuffle_and_vote_under_divergence),
        cmocka_unit_test(test_predicated_instruction_without_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
