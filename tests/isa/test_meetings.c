/* SPDX-License-Identifier: MIT */
/*
 * Operations that name lanes in a mask, come to on different paths: each lane's answer is the one that independent threads get. Programs
 * made at random are run here by threads that each go their own way.
 */
#include "runner.h"

static const uint32_t *run_whole(struct runner *runner, const char *text, uint32_t threads)
{
    const uint32_t *words = runner_run(runner, text, threads);
    assert_false(corun_module_instance_outside(runner->instance, runner->list)); /* nobody was missed */
    return words;
}

static void test_both_arms(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words =
        run_whole(&runner,
                  KERNEL("mul.lo.u32 %r1, %t, 3;\nadd.u32 %r4, %t, 1000;\nmov.u32 %r20, -1;\n"
                         "setp.lt.u32 %p1, %t, 13;\nand.b32 %r2, %t, 1;\nsetp.eq.u32 %p2, %r2, 0;\n"
                         "@%p1 bra LOW;\n"
                         "shfl.sync.down.b32 %r5|%p3, %r1, 1, 31, -1;\n"
                         "vote.sync.ballot.b32 %r6, %p2, -1;\n"
                         "match.any.sync.b32 %r7, %r2, %r20;\n"
                         "vote.sync.any.pred %p4, !%p1, -1;\n"
                         "redux.sync.add.u32 %r8, %t, -1;\n"
                         "bra JOIN;\n"
                         "LOW:\n"
                         "shfl.sync.down.b32 %r5|%p3, %r4, 1, 31, -1;\n"
                         "vote.sync.ballot.b32 %r6, !%p2, %r20;\n"
                         "match.any.sync.b32 %r7, %r2, -1;\n"
                         "vote.sync.any.pred %p4, !%p1, -1;\n"
                         "redux.sync.add.u32 %r8, %r4, %r20;\n"
                         "JOIN:\n"
                         "activemask.b32 %r9;\nselp.u32 %r10, 1, 0, %p3;\nselp.u32 %r11, 1, 0, %p4;\n"
                         "st.global.u32 [%mine], %r5;\nst.global.u32 [%mine+128], %r6;\n"
                         "st.global.u32 [%mine+256], %r7;\nst.global.u32 [%mine+384], %r8;\n"
                         "st.global.u32 [%mine+512], %r9;\nst.global.u32 [%mine+640], %r10;\n"
                         "st.global.u32 [%mine+768], %r11;\n"),
                  32);
    uint32_t ballot = 0, sum = 0;
    for (uint32_t i = 0; i < 32; i++) {
        ballot |= (uint32_t)((i & 1) == (i < 13)) << i;
        sum += i < 13 ? i + 1000 : i;
    }
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t from = i < 31 ? i + 1 : i;
        assert_int_equal(words[i], from < 13 ? from + 1000 : from * 3);
        assert_int_equal(words[32 + i], ballot);
        assert_int_equal(words[64 + i], i & 1 ? 0xaaaaaaaau : 0x55555555u);
        assert_int_equal(words[96 + i], sum);
        assert_int_equal(words[128 + i], 0xffffffffu); /* all have met behind the branch */
        assert_int_equal(words[160 + i], i < 31);
        assert_int_equal(words[192 + i], 1);
    }
    /* 14 before the body, 6 of it before the branch, 5 and 5 in the arms and a branch, 10 behind: each arm's once. */
    assert_int_equal(runner.count.warp_instructions, 5 + 7 + 5 + 5 + 1 + 10 + 1);
    runner_free(&runner);
}

/* match.all and elect, and values of 64 bits; the halves of a warp are divided once more on one side. */
static void test_nested(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words =
        run_whole(&runner,
                  KERNEL("cvt.u64.u32 %rd1, %t;\nshr.u64 %rd1, %rd1, 3;\nshl.b64 %rd1, %rd1, 40;\nmov.u64 %rd2, 0;\n"
                         "setp.lt.u32 %p1, %t, 16;\nsetp.lt.u32 %p2, %t, 24;\n"
                         "@%p1 bra LOW;\n"
                         "@%p2 bra MIDDLE;\n"
                         "match.any.sync.b64 %r1, %rd1, -1;\nmatch.all.sync.b64 %r2|%p3, %rd2, -1;\n"
                         "elect.sync %r3|%p4, 0xfffffff0;\nbra JOIN;\n"
                         "MIDDLE:\n"
                         "match.any.sync.b64 %r1, %rd1, -1;\nmatch.all.sync.b64 %r2|%p3, %rd2, -1;\n"
                         "elect.sync %r3|%p4, 0xfffffff0;\nJOIN:\nbra END;\n"
                         "LOW:\n"
                         "mov.u64 %rd3, 0;\nmatch.any.sync.b64 %r1, %rd3, -1;\nmatch.all.sync.b64 %r2|%p3, %rd3, -1;\n"
                         "setp.lt.u32 %p5, %t, 4;\n@%p5 bra END;\nelect.sync %r3|%p4, 0xfffffff0;\n"
                         "END:\nselp.u32 %r4, 1, 0, %p3;\nselp.u32 %r5, 1, 0, %p4;\nst.global.u32 [%mine], %r1;\n"
                         "st.global.u32 [%mine+128], %r2;\nst.global.u32 [%mine+256], %r3;\n"
                         "st.global.u32 [%mine+384], %r4;\nst.global.u32 [%mine+512], %r5;"),
                  32);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(words[i], i < 16 ? 0x0000ffffu : i < 24 ? 0x00ff0000u : 0xff000000u);
        assert_int_equal(words[32 + i], 0xffffffffu);
        assert_int_equal(words[96 + i], 1);
        if (i >= 4) {
            assert_int_equal(words[64 + i], 4);
            assert_int_equal(words[128 + i], i == 4);
        }
    }
    runner_free(&runner);
}

/* A loop on one side, its body three times in a row on the other. */
static void test_copies_of_a_loop(void **state)
{
    (void)state;
    struct runner runner;
#define STEP "shfl.sync.bfly.b32 %r4, %r3, 16, 31, -1;\nmad.lo.u32 %r3, %r3, 5, %r4;\n"
    const uint32_t *words = run_whole(&runner,
                                      KERNEL("mov.u32 %r3, %t;\nmov.u32 %r1, 0;\nsetp.lt.u32 %p1, %t, 16;\n"
                                             "@%p1 bra COPIES;\n"
                                             "LOOP:\n"
                                             "shfl.sync.bfly.b32 %r2, %r3, 16, 31, -1;\nmad.lo.u32 %r3, %r3, 7, %r2;\n"
                                             "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, 3;\n@%p2 bra LOOP;\n"
                                             "bra END;\n"
                                             "COPIES:\n" STEP STEP STEP "END:\nst.global.u32 [%mine], %r3;"),
                                      32);
    uint32_t x[32];
    for (uint32_t i = 0; i < 32; i++)
        x[i] = i;
    for (uint32_t step = 0; step < 3; step++)
        for (uint32_t i = 0; i < 16; i++) {
            uint32_t low = x[i], high = x[i + 16];
            x[i] = low * 5 + high;
            x[i + 16] = high * 7 + low;
        }
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(words[i], x[i]);
    runner_free(&runner);
#undef STEP
}

/* Lanes leave two loops one after the other; each iteration's mask is that of those that stay. */
static void test_loops_of_different_length(void **state)
{
    (void)state;
    struct runner runner;
#define LOOP(name) \
    name ":\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, %r3;\nvote.sync.ballot.b32 %r4, %p2, %r1;\n" \
         "mad.lo.u32 %r5, %r5, 33, %r4;\nmov.u32 %r1, %r4;\n@%p2 bra " name ";\n"
    const uint32_t *words = run_whole(&runner,
                                      KERNEL("mov.u32 %r1, -1;\nmov.u32 %r2, 0;\nmov.u32 %r5, 0;\n"
                                             "mul.lo.u32 %r3, %t, 7;\nand.b32 %r3, %r3, 7;\n"
                                             "and.b32 %r6, %t, 1;\nsetp.eq.u32 %p1, %r6, 0;\n@%p1 bra EVEN;\n" LOOP(
                                                 "ODD") "bra END;\n" LOOP("EVEN") "END:\nst.global.u32 [%mine], %r5;"),
                                      32);
#undef LOOP
    uint32_t hash[32] = {0}, mask = 0xffffffffu;
    for (uint32_t round = 1; mask; round++) {
        uint32_t stay = 0;
        for (uint32_t i = 0; i < 32; i++)
            stay |= (uint32_t)(round < (i * 7 & 7)) << i & mask;
        for (uint32_t i = 0; i < 32; i++)
            hash[i] = mask >> i & 1 ? hash[i] * 33 + stay : hash[i];
        mask = stay;
    }
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(words[i], hash[i]);
    runner_free(&runner);
}

/*
 * As compilers unroll a loop whose iterations say who stays: two copies in a row as long as there are two, and a loop for the rest behind it, to
 * which some lanes go at once. Behind that all are together, also for a barrier.
 */
static void test_unrolled_loop(void **state)
{
    (void)state;
    struct runner runner;
#define STEP(next) \
    "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, %r3;\nvote.sync.ballot.b32 %r4, %p2, %r1;\n" \
    "mad.lo.u32 %r5, %r5, 33, %r4;\nmov.u32 %r1, %r4;\n" next
    const uint32_t *words = run_whole(
        &runner,
        KERNEL("mov.u32 %r2, 0;\nmov.u32 %r5, 0;\nmul.lo.u32 %r3, %t, 7;\n"
               "and.b32 %r3, %r3, 7;\nsetp.ne.u32 %p1, %r3, 0;\n"
               "vote.sync.ballot.b32 %r1, %p1, -1;\nsetp.lt.u32 %p3, %r3, 2;\n"
               "@%p3 bra REST;\n"
               "TWO:\n" STEP("") STEP(
                   "add.u32 %r6, %r2, 1;\n") "setp.lt.u32 %p3, %r6, %r3;\n@%p3 bra TWO;\n"
                                             "REST:\nsetp.ge.u32 %p4, %r2, %r3;\n@%p4 bra END;\n"
                                             "ONE:\n" STEP(
                                                 "@%p2 bra ONE;\n") "END:\nactivemask.b32 %r7;\nst.global.u32 [%mine], "
                                                                    "%r5;\n"
                                                                    "st.global.u32 [%mine+128], %r7;\nbar.sync 0;\n"),
        32);
#undef STEP
    uint32_t hash[32] = {0}, mask = 0xfefefefeu;
    for (uint32_t round = 1; mask; round++) {
        uint32_t stay = 0;
        for (uint32_t i = 0; i < 32; i++)
            stay |= (uint32_t)(round < (i * 7 & 7)) << i & mask;
        for (uint32_t i = 0; i < 32; i++)
            hash[i] = mask >> i & 1 ? hash[i] * 33 + stay : hash[i];
        mask = stay;
    }
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(words[i], hash[i]);
        assert_int_equal(words[32 + i], 0xffffffffu);
    }
    runner_free(&runner);
}

/* Some end on one side; a lane that has ended is not waited for, whether it ends before or after the others come. */
static void test_ends(void **state)
{
    (void)state;
    for (uint32_t which = 0; which < 2; which++) {
        char text[4096];
        struct runner runner;
        snprintf(text, sizeof text,
                 HEAD ".visible .entry k(.param .u64 p)\n{\n.reg .pred %%p<8>;\n.reg .b32 %%r<8>;\n.reg .b64 %%rd<4>;\n"
                      "ld.param.u64 %%rd1, [p];\nmov.u32 %%r1, %%tid.x;\nmul.wide.u32 %%rd2, %%r1, 4;\n"
                      "add.u64 %%rd1, %%rd1, %%rd2;\nsetp.%s.u32 %%p1, %%r1, 8;\n@%%p1 bra ONE;\n"
                      "setp.eq.u32 %%p2, %%r1, %u;\n@%%p2 bra OUT;\n"
                      "redux.sync.add.u32 %%r2, %%r1, -1;\nbra JOIN;\n"
                      "OUT:\nexit;\n"
                      "ONE:\nadd.u32 %%r3, %%r1, 100;\nredux.sync.add.u32 %%r2, %%r3, -1;\n"
                      "JOIN:\nst.global.u32 [%%rd1], %%r2;\nret;\n}\n",
                 which ? "ge" : "lt", which ? 3 : 20);
        const uint32_t *words = run_whole(&runner, text, 27);
        uint32_t gone = which ? 3 : 20, sum = 0;
        for (uint32_t i = 0; i < 27; i++)
            sum += i == gone ? 0 : (i < 8) != (which == 1) ? i + 100 : i;
        for (uint32_t i = 0; i < 27; i++)
            assert_int_equal(words[i], i == gone ? 0 : sum);
        runner_free(&runner);
    }
}

/* One path writes, the other reads, and the other way round: bar.warp.sync keeps them in step. */
static void test_producer_and_consumer(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words =
        run_whole(&runner,
                  HEAD ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<4>;\n"
                       ".shared .u32 buffer[32];\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\n"
                       "mul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd1, %rd1, %rd2;\nmov.u32 %r2, buffer;\n"
                       "shl.b32 %r3, %r1, 2;\nadd.u32 %r2, %r2, %r3;\nmov.u32 %r4, 0;\nmov.u32 %r5, 0;\n"
                       "setp.ge.u32 %p1, %r1, 16;\n@%p1 bra CONSUME;\n"
                       "PRODUCE:\nmad.lo.u32 %r6, %r4, 100, %r1;\nst.shared.u32 [%r2], %r6;\nbar.warp.sync -1;\n"
                       "bar.warp.sync 0xffffffff;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, 5;\n@%p2 bra PRODUCE;\n"
                       "bra END;\n"
                       "CONSUME:\nbar.warp.sync -1;\nld.shared.u32 %r6, [%r2+-64];\nmad.lo.u32 %r5, %r5, 3, %r6;\n"
                       "bar.warp.sync -1;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, 5;\n@%p2 bra CONSUME;\n"
                       "END:\nst.global.u32 [%rd1], %r5;\nret;\n}\n",
                  32);
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t sum = 0;
        for (uint32_t step = 0; step < 5 && i >= 16; step++)
            sum = sum * 3 + step * 100 + i - 16;
        assert_int_equal(words[i], sum);
    }
    runner_free(&runner);
}

#define CALL(name, value, depth) \
    "{\n.param .b32 a;\n.param .b32 b;\n.param .b32 c;\nst.param.b32 [a], " value ";\nst.param.b32 [b], " depth \
    ";\ncall.uni (c), " name ", (a, b);\nld.param.b32 %r9, [c];\n}\n"

/*
 * f(x, n) = n ? 3 f(x + 1, n - 1) + n : the sum over the warp of x. Some of the warp call f(x, 2), the others f(x, 5): all are in the middle of
 * calls when they meet. They meet again on the way back where n is 1 and 2, so that they return in turns, and each through its own calls.
 */
static void test_recursion(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = run_whole(
        &runner,
        HEAD ".func (.param .b32 result) f(.param .b32 x, .param .b32 n)\n{\n"
             ".reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<4>;\nld.param.u32 %r1, [x];\nld.param.u32 %r2, [n];\n"
             "mul.wide.u32 %rd1, %r2, 0x10001;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra LAST;\n"
             "add.u32 %r3, %r1, 1;\nadd.u32 %r4, %r2, -1;\n" CALL(
                 "f", "%r3",
                 "%r4") "cvt.u32.u64 %r5, %rd1;\nand.b32 %r5, %r5, 0xffff;\nmad.lo.u32 %r6, %r9, 3, %r5;\nsub.u32 "
                        "%r5, %r5, %r2;\nadd.u32 %r6, %r6, %r5;\nsetp.gt.u32 %p2, %r2, 2;\n@%p2 bra BACK;\n"
                        "redux.sync.add.u32 %r7, %r2, -1;\nadd.u32 %r6, %r6, %r7;\nBACK:\nst.param.b32 [result], "
                        "%r6;\nret;\n"
                        "LAST:\nredux.sync.add.u32 %r6, %r1, -1;\nst.param.b32 [result], %r6;\nret;\n}\n"
                        ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<4>;\n"
                        "ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd1, "
                        "%rd1, %rd2;\n"
                        "setp.lt.u32 %p1, %r1, 11;\n@%p1 bra LOW;\n" CALL("f", "%r1", "2") "bra JOIN;\nLOW:\n" CALL(
                            "f", "%r1", "5") "JOIN:\nactivemask.b32 %r10;\nst.global.u32 [%rd1], %r9;\n"
                                             "st.global.u32 [%rd1+128], %r10;\nret;\n}\n",
        32);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 32; i++)
        sum += i + (i < 11 ? 5 : 2);
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t expected = sum;
        for (uint32_t n = 1; n <= (i < 11 ? 5u : 2u); n++)
            expected = 3 * expected + n + (n <= 2 ? 32 * n : 0);
        assert_int_equal(words[i], expected);
        assert_int_equal(words[32 + i], 0xffffffffu);
    }
    runner_free(&runner);
}

/* Each lane meets the one before it and then the one behind it: whoever waits for a lane's second meeting does not hold up its first. */
static void test_chain_of_pairs(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words =
        run_whole(&runner,
                  KERNEL("mad.lo.u32 %r1, %t, %t, 5;\nmov.u32 %r2, 0;\nmov.u32 %r3, 0;\nadd.u32 %r4, %t, -1;\n"
                         "add.u32 %r5, %t, 1;\nmov.u32 %r6, 3;\nshl.b32 %r7, %r6, %r4;\nshl.b32 %r8, %r6, %t;\n"
                         "setp.eq.u32 %p1, %t, 0;\nsetp.eq.u32 %p2, %t, 31;\n"
                         "@%p1 bra SECOND;\nshfl.sync.idx.b32 %r2, %r1, %r4, 31, %r7;\n"
                         "SECOND:\n@%p2 bra END;\nshfl.sync.idx.b32 %r3, %r1, %r5, 31, %r8;\n"
                         "END:\nactivemask.b32 %r9;\nst.global.u32 [%mine], %r2;\nst.global.u32 [%mine+128], %r3;\n"
                         "st.global.u32 [%mine+256], %r9;\n"),
                  32);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(words[i], i > 0 ? (i - 1) * (i - 1) + 5 : 0);
        assert_int_equal(words[32 + i], i < 31 ? (i + 1) * (i + 1) + 5 : 0);
        assert_int_equal(words[64 + i], 0xffffffffu); /* all are together behind it */
    }
    runner_free(&runner);
}

/* A function with two ends that never meet, each with the operation; called where half of the warp is elsewhere. */
static void test_function_with_two_ends(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = run_whole(
        &runner,
        HEAD ".func (.param .b32 result) f(.param .b32 x, .param .b32 n)\n{\n"
             ".reg .pred %p<4>;\n.reg .b32 %r<8>;\nld.param.u32 %r1, [x];\nld.param.u32 %r2, [n];\n"
             "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra LAST;\nadd.u32 %r1, %r1, 100;\n"
             "redux.sync.add.u32 %r3, %r1, -1;\nst.param.b32 [result], %r3;\nret;\n"
             "LAST:\nredux.sync.add.u32 %r3, %r1, -1;\nadd.u32 %r3, %r3, 1;\nst.param.b32 [result], %r3;\n"
             "ret;\n}\n"
             ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<4>;\n"
             "ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd1, %rd1, "
             "%rd2;\nand.b32 %r2, %r1, 3;\nsetp.lt.u32 %p1, %r1, 16;\n@%p1 bra LOW;\n" CALL(
                 "f", "%r1", "%r2") "bra JOIN;\nLOW:\nadd.u32 %r9, %r1, 7;\nredux.sync.add.u32 %r9, %r9, -1;\n"
                                    "JOIN:\nst.global.u32 [%rd1], %r9;\nret;\n}\n",
        32);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 32; i++)
        sum += i < 16 ? i + 7 : i & 3 ? i + 100 : i;
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(words[i], sum + (i >= 16 && !(i & 3)));
    runner_free(&runner);
}

/* Nobody can come: those that came go on, which is noted once; with the check it is a fault. */
static void test_who_cannot_come(void **state)
{
    (void)state;
    static const struct {
        const char *text, *note, *fault;
        uint32_t line;
        uint32_t low, high;
    } cases[] = {
        /* the others wait behind the branch */
        {KERNEL("mov.u32 %r2, 0;\nsetp.ge.u32 %p1, %t, 4;\n@%p1 bra END;\nredux.sync.add.u32 %r2, %t, -1;\n"
                "END:\nst.global.u32 [%mine], %r2;\nst.global.u32 [%mine], %r2;"),
         "kernel k waits with mask 0xffffffff for thread (4,0,0) of thread block (0,0,0), which is at line 24 and "
         "cannot "
         "come; the 4 threads that have come continue alone, which a GPU need not do",
         "kernel k, thread block (0,0,0), thread (0,0,0): divergent operation of a warp: 4 threads of warp 0 wait with "
         "mask 0xffffffff, thread (4,0,0) of that mask is at line 24 and cannot come",
         22, 6, 0},
        /* the others wait at an operation of another kind; taken lanes run first, so they were there first */
        {KERNEL("mov.u32 %r2, 0;\nsetp.ge.u32 %p1, %t, 4;\n@%p1 bra HIGH;\nredux.sync.add.u32 %r2, %t, -1;\nbra END;\n"
                "HIGH:\nredux.sync.max.u32 %r2, %t, -1;\nEND:\nst.global.u32 [%mine], %r2;"),
         "kernel k waits with mask 0xffffffff for thread (4,0,0) of thread block (0,0,0), which is at line 25 and "
         "cannot "
         "come; the 4 threads that have come continue alone, which a GPU need not do",
         "mask 0xffffffff, thread (4,0,0) of that mask is at line 25 and cannot come", 22, 6, 31},
        /* or with another mask */
        {KERNEL("mov.u32 %r2, 0;\nsetp.ge.u32 %p1, %t, 4;\n@%p1 bra HIGH;\nredux.sync.add.u32 %r2, %t, -1;\nbra END;\n"
                "HIGH:\nredux.sync.add.u32 %r2, %t, 0xfffffff8;\nEND:\nst.global.u32 [%mine], %r2;"),
         "kernel k waits with mask 0xffffffff for thread (4,0,0) of thread block (0,0,0), which is at line 25 and "
         "cannot "
         "come; the 4 threads that have come continue alone, which a GPU need not do",
         "mask 0xffffffff, thread (4,0,0) of that mask is at line 25 and cannot come", 22, 6, 0},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct runner runner;
        runner_load(&runner, cases[i].text);
        assert_int_equal(runner_try(&runner, 32), CORUN_OK);
        assert_int_equal(runner_words(&runner)[1], cases[i].low);
        if (i != 2)
            assert_int_equal(runner_words(&runner)[31], cases[i].high);
        assert_true(corun_module_instance_outside(runner.instance, runner.list));
        assert_string_equal(runner_message(&runner), cases[i].note);
        assert_int_equal(runner_line(&runner), cases[i].line);
        runner_free(&runner);

        runner_load(&runner, cases[i].text);
        corun_module_instance_check(runner.instance, CORUN_CHECK_SYNC);
        assert_int_equal(runner_try(&runner, 32), CORUN_FAULT);
        assert_non_null(strstr(runner_message(&runner), cases[i].fault));
        assert_int_equal(runner_line(&runner), cases[i].line);
        runner_free(&runner);
    }
}

/* Threads that have nothing left to do but to end are not missed. */
static void test_who_is_at_the_end(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = run_whole(&runner,
                                      KERNEL("setp.ge.u32 %p1, %t, 4;\n@%p1 bra END;\nredux.sync.add.u32 %r2, %t, -1;\n"
                                             "st.global.u32 [%mine], %r2;\nEND:"),
                                      32);
    assert_int_equal(words[3], 6);
    assert_int_equal(words[4], 0);
    runner_free(&runner);
}

/* Lanes that store and end, the taken ones of the branch being those that go to the barrier: what they stored is there behind it. */
static void test_who_ends_before_a_barrier(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words =
        run_whole(&runner,
                  KERNEL(".shared .align 4 .b32 buffer[64];\nmov.u32 %r11, buffer;\nshl.b32 %r10, %t, 2;\nadd.u32 "
                         "%r10, %r10, %r11;\n"
                         "setp.lt.u32 %p1, %t, 4;\n@%p1 bra STAY;\nst.shared.u32 [%r10], 77;\nret;\nSTAY:\n"
                         "bar.sync 0;\nld.shared.u32 %r2, [%r10+64];\nst.global.u32 [%mine], %r2;"),
                  32);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(words[i], 77);
    assert_int_equal(words[4], 0);
    runner_free(&runner);
}

/* ---- programs made at random ---- */

enum kind { FILL, BALLOT, SHUFFLE, ADD, MATCH, EXCHANGE, KINDS };

/* What one thread does; `mask` are those who do it with that one. */
struct item {
    enum kind kind;
    uint32_t value, mask;
};

struct program {
    char text[400000];
    size_t used;
    uint32_t random, labels, items[32];
    struct item of[32][512];
};

static uint32_t draw(struct program *program, uint32_t below)
{
    program->random = program->random * 1664525u + 1013904223u;
    return (program->random >> 8) % below;
}

static __attribute__((format(printf, 2, 3))) void write_text(struct program *program, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    program->used +=
        (size_t)vsnprintf(program->text + program->used, sizeof program->text - program->used, format, arguments);
    va_end(arguments);
    assert_true(program->used < sizeof program->text);
}

static void append_item(struct program *program, uint32_t lanes, enum kind kind, uint32_t value, uint32_t mask)
{
    for (uint32_t lane = 0; lane < 32; lane++)
        if (lanes >> lane & 1) {
            assert_true(program->items[lane] < 512);
            program->of[lane][program->items[lane]++] = (struct item){kind, value, mask};
        }
}

static void write_fill(struct program *program, uint32_t lanes)
{
    for (uint32_t count = draw(program, 3); count; count--) {
        uint32_t value = draw(program, 1000);
        write_text(program, "mad.lo.u32 %%r1, %%r1, 5, %u;\n", value);
        append_item(program, lanes, FILL, value, 0);
    }
}

/* One operation for those of `mask`, by some of them: on other paths it stands again, with other registers. */
static void write_operation(struct program *program, uint32_t lanes, enum kind kind, uint32_t value, uint32_t mask)
{
    char named[16] = "%r2";
    uint32_t from = draw(program, 2) ? 1 : 3, to = 4 + draw(program, 3);
    if (from == 3)
        write_text(program, "mov.u32 %%r3, %%r1;\n");
    if (draw(program, 2))
        write_text(program, "mov.u32 %%r2, 0x%x;\n", mask);
    else
        snprintf(named, sizeof named, "0x%x", mask);
    switch (kind) {
    case BALLOT:
        write_text(program,
                   "and.b32 %%r7, %%r%u, 1;\nsetp.%s.u32 %%p1, %%r7, 0;\nvote.sync.ballot.b32 %%r%u, %s%%p1, %s;\n",
                   from, from == 1 ? "ne" : "eq", to, from == 1 ? "" : "!", named);
        break;
    case SHUFFLE:
        write_text(program, "shfl.sync.idx.b32 %%r%u, %%r%u, %u, 31, %s;\n", to, from, value, named);
        break;
    case ADD:
        write_text(program, "redux.sync.add.u32 %%r%u, %%r%u, %s;\n", to, from, named);
        break;
    case MATCH:
        write_text(program, "and.b32 %%r7, %%r%u, 3;\nmatch.any.sync.b32 %%r%u, %%r7, %s;\n", from, to, named);
        break;
    default:
        write_text(program,
                   "st.shared.u32 [%%r10], %%r%u;\nbar.warp.sync %s;\nld.shared.u32 %%r%u, [%%r11+%u];\nbar.warp.sync "
                   "%s;\n",
                   from, named, to, 4 * value, named);
    }
    write_text(program, "mad.lo.u32 %%r1, %%r1, 3, %%r%u;\n", to);
    append_item(program, lanes, kind, value, mask);
}

struct round {
    enum kind kind;
    uint32_t value;
};

/* The rounds of those of `mask`, written for some of them. `depth`: how often they may part still. */
static void write_rounds(struct program *program, uint32_t lanes, uint32_t mask, const struct round *rounds,
                         uint32_t count, uint32_t depth);

/* Some go one way and the others the other, where `both` writes for either. */
static void write_parted(struct program *program, uint32_t lanes, uint32_t mask, const struct round *rounds,
                         uint32_t count, uint32_t depth)
{
    uint32_t label = program->labels++, some = draw(program, UINT32_MAX >> 8) * 2654435761u;
    write_text(program, "shr.u32 %%r8, 0x%x, %%t;\nand.b32 %%r8, %%r8, 1;\nsetp.ne.u32 %%p2, %%r8, 0;\n", some);
    write_text(program, "@%%p2 bra ONE%u;\n", label);
    write_fill(program, lanes & ~some);
    write_rounds(program, lanes & ~some, mask, rounds, count, depth - 1);
    write_text(program, "bra JOIN%u;\nONE%u:\n", label, label);
    write_fill(program, lanes & some);
    write_rounds(program, lanes & some, mask, rounds, count, depth - 1);
    write_text(program, "JOIN%u:\n", label);
}

/* Lanes that are here make rounds of their own. */
static void write_own(struct program *program, uint32_t lanes, uint32_t depth)
{
    struct round rounds[4];
    uint32_t count = 1 + draw(program, 4), members[32], many = 0;
    for (uint32_t lane = 0; lane < 32; lane++)
        if (lanes >> lane & 1)
            members[many++] = lane;
    if (!many)
        return;
    for (uint32_t i = 0; i < count; i++)
        rounds[i] = (struct round){(enum kind)(BALLOT + draw(program, KINDS - BALLOT)), members[draw(program, many)]};
    write_rounds(program, lanes, lanes, rounds, count, depth);
}

static void write_rounds(struct program *program, uint32_t lanes, uint32_t mask, const struct round *rounds,
                         uint32_t count, uint32_t depth)
{
    if (!lanes)
        depth = 0; /* nobody comes here, and masks of others are written all the same */
    while (count) {
        uint32_t now = 1 + draw(program, count), what = draw(program, 8);
        if (depth && what == 0)
            write_own(program, lanes, depth - 1);
        if (depth && what < 4) {
            write_parted(program, lanes, mask, rounds, now, depth);
        } else {
            now = 1;
            write_operation(program, lanes, rounds->kind, rounds->value, mask);
        }
        write_fill(program, lanes);
        rounds += now;
        count -= now;
    }
}

static uint32_t answer(const struct item *item, const uint32_t *x, uint32_t lane)
{
    uint32_t result = 0;
    if (item->kind == SHUFFLE || item->kind == EXCHANGE)
        return x[item->value];
    for (uint32_t i = 0; i < 32; i++) {
        if (!(item->mask >> i & 1))
            continue;
        result += item->kind == ADD      ? x[i]
                  : item->kind == BALLOT ? (x[i] & 1) << i
                                         : (uint32_t)((x[i] & 3) == (x[lane] & 3)) << i;
    }
    return result;
}

/* Each thread goes on until it has to wait; whose mask has come altogether acts. */
static void run_threads(const struct program *program, uint32_t *x)
{
    uint32_t at[32] = {0};
    for (bool acted = true; acted;) {
        acted = false;
        for (uint32_t lane = 0; lane < 32; lane++)
            for (; at[lane] < program->items[lane] && program->of[lane][at[lane]].kind == FILL; at[lane]++)
                x[lane] = x[lane] * 5 + program->of[lane][at[lane]].value;
        for (uint32_t lane = 0; lane < 32 && !acted; lane++) {
            if (at[lane] == program->items[lane])
                continue;
            struct item item = program->of[lane][at[lane]];
            bool all = true;
            for (uint32_t i = 0; i < 32; i++)
                all &= !(item.mask >> i & 1) || (at[i] < program->items[i] && program->of[i][at[i]].mask == item.mask &&
                                                 program->of[i][at[i]].kind == item.kind);
            uint32_t results[32];
            for (uint32_t i = 0; all && i < 32; i++)
                results[i] = answer(&item, x, i);
            for (uint32_t i = 0; all && i < 32; i++)
                if (item.mask >> i & 1) {
                    x[i] = x[i] * 3 + results[i];
                    at[i]++;
                }
            acted = all;
        }
    }
    for (uint32_t lane = 0; lane < 32; lane++)
        assert_int_equal(at[lane], program->items[lane]); /* the program is right: nobody waits for ever */
}

static void test_random_programs(void **state)
{
    (void)state;
    static struct program program;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        program = (struct program){.random = seed * 2654435761u};
        write_text(&program,
                   HEAD ".visible .entry k(.param .u64 p)\n{\n.reg .pred %%p<4>;\n.reg .b32 %%r<16>, %%t;\n.reg .b64 "
                        "%%rd<4>;\n.shared .u32 buffer[32];\nld.param.u64 %%rd1, [p];\nmov.u32 %%t, %%tid.x;\n"
                        "mul.wide.u32 %%rd2, %%t, 4;\nadd.u64 %%rd1, %%rd1, %%rd2;\nmov.u32 %%r11, buffer;\n"
                        "shl.b32 %%r10, %%t, 2;\nadd.u32 %%r10, %%r10, %%r11;\nmul.lo.u32 %%r1, %%t, 77;\n");
        for (uint32_t i = 0; i < 3; i++)
            write_own(&program, 0xffffffffu, 3);
        write_text(&program,
                   "activemask.b32 %%r2;\nst.global.u32 [%%rd1], %%r1;\nst.global.u32 [%%rd1+128], %%r2;\nret;\n}\n");
        struct runner runner;
        const uint32_t *words = run_whole(&runner, program.text, 32);
        uint32_t x[32];
        for (uint32_t i = 0; i < 32; i++)
            x[i] = i * 77;
        run_threads(&program, x);
        for (uint32_t i = 0; i < 32; i++) {
            if (words[i] != x[i])
                print_error("seed %u, thread %u\n", seed, i);
            assert_int_equal(words[i], x[i]);
            assert_int_equal(words[32 + i], 0xffffffffu);
        }
        runner_free(&runner);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_arms),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_copies_of_a_loop),
        cmocka_unit_test(test_loops_of_different_length),
        cmocka_unit_test(test_unrolled_loop),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_producer_and_consumer),
        cmocka_unit_test(test_recursion),
        cmocka_unit_test(test_chain_of_pairs),
        cmocka_unit_test(test_function_with_two_ends),
        cmocka_unit_test(test_who_cannot_come),
        cmocka_unit_test(test_who_is_at_the_end),
        cmocka_unit_test(test_who_ends_before_a_barrier),
        cmocka_unit_test(test_random_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
