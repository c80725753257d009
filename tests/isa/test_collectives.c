/* SPDX-License-Identifier: MIT */
/*
 * What lanes of a warp and threads of a block compute together, and branches through tables, against answers computed
 * here.
 */
#include "runner.h"

static uint32_t popcount(uint32_t x)
{
    return (uint32_t)__builtin_popcount(x);
}

static void test_match(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(&runner,
                                       KERNEL("and.b32 %r1, %t, 3;\n"
                                              "match.any.sync.b32 %r2, %r1, -1;\n"
                                              "st.global.u32 [%mine], %r2;\n"
                                              "shr.u32 %r3, %t, 4;\n"
                                              "cvt.u64.u32 %rd1, %r3;\n"
                                              "shl.b64 %rd1, %rd1, 40;\n"
                                              "match.any.sync.b64 %r4, %rd1, 0xff00ffff;\n"
                                              "st.global.u32 [%mine+128], %r4;\n"
                                              "match.all.sync.b32 %r5|%p1, %r1, -1;\n"
                                              "selp.u32 %r6, 1, 0, %p1;\n"
                                              "st.global.u32 [%mine+256], %r5;\n"
                                              "st.global.u32 [%mine+384], %r6;\n"
                                              "match.all.sync.b32 %r5|%p1, %r3, 0x0000ffff;\n"
                                              "selp.u32 %r6, 1, 0, %p1;\n"
                                              "st.global.u32 [%mine+512], %r5;\n"
                                              "st.global.u32 [%mine+640], %r6;"),
                                       32);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(words[i], 0x11111111u << (i & 3));
        bool member = 0xff00ffffu >> i & 1;
        if (member)
            assert_int_equal(words[32 + i], i < 16 ? 0x0000ffffu : 0xff000000u);
        assert_int_equal(words[64 + i], 0);
        assert_int_equal(words[96 + i], 0);
        if (i < 16) {
            assert_int_equal(words[128 + i], 0x0000ffffu);
            assert_int_equal(words[160 + i], 1);
        }
    }
    runner_free(&runner);
}

static void test_redux(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(&runner,
                                       KERNEL("mad.lo.u32 %r1, %t, 0x9e3779b9, 0x7f4a7c15;\n"
                                              "redux.sync.add.u32 %r2, %r1, -1;\nst.global.u32 [%mine], %r2;\n"
                                              "redux.sync.min.u32 %r2, %r1, -1;\nst.global.u32 [%mine+128], %r2;\n"
                                              "redux.sync.max.u32 %r2, %r1, -1;\nst.global.u32 [%mine+256], %r2;\n"
                                              "redux.sync.min.s32 %r2, %r1, -1;\nst.global.u32 [%mine+384], %r2;\n"
                                              "redux.sync.max.s32 %r2, %r1, -1;\nst.global.u32 [%mine+512], %r2;\n"
                                              "redux.sync.and.b32 %r2, %r1, 3;\nst.global.u32 [%mine+640], %r2;\n"
                                              "redux.sync.or.b32 %r2, %r1, 3;\nst.global.u32 [%mine+768], %r2;\n"
                                              "redux.sync.xor.b32 %r2, %r1, -1;\nst.global.u32 [%mine+896], %r2;"),
                                       32);
    uint32_t x[32], sum = 0, low = UINT32_MAX, high = 0, all = 0;
    int32_t least = INT32_MAX, most = INT32_MIN;
    for (uint32_t i = 0; i < 32; i++) {
        x[i] = i * 0x9e3779b9u + 0x7f4a7c15u;
        sum += x[i];
        all ^= x[i];
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
        least = (int32_t)x[i] < least ? (int32_t)x[i] : least;
        most = (int32_t)x[i] > most ? (int32_t)x[i] : most;
    }
    const uint32_t expected[8] = {sum, low, high, (uint32_t)least, (uint32_t)most, x[0] & x[1], x[0] | x[1], all};
    for (uint32_t what = 0; what < 8; what++)
        for (uint32_t i = 0; i < 32; i++)
            assert_int_equal(words[32 * what + i], expected[what]);
    runner_free(&runner);
}

/* Tiles of 8 lanes, each of which names itself, in one instruction. */
static void test_groups_within_a_warp(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(
        &runner,
        KERNEL("and.b32 %r1, %t, 24;\nshl.b32 %r2, 255, %r1;\n"
               "mul.lo.u32 %r3, %t, 13;\nand.b32 %r3, %r3, 7;\nsetp.gt.u32 %p1, %r3, 3;\n"
               "vote.sync.ballot.b32 %r4, %p1, %r2;\nst.global.u32 [%mine], %r4;\n"
               "setp.lt.u32 %p2, %t, 17;\nvote.sync.all.pred %p3, %p2, %r2;\nvote.sync.any.pred %p4, %p2, %r2;\n"
               "selp.u32 %r5, 1, 0, %p3;\nselp.u32 %r6, 2, 0, %p4;\nadd.u32 %r5, %r5, %r6;\n"
               "st.global.u32 [%mine+128], %r5;\n"
               "redux.sync.add.u32 %r7, %t, %r2;\nst.global.u32 [%mine+256], %r7;\n"
               "elect.sync %r8|%p5, %r2;\nselp.u32 %r9, 100, 0, %p5;\nadd.u32 %r8, %r8, %r9;\n"
               "st.global.u32 [%mine+384], %r8;\n"
               "and.b32 %r10, %t, 1;\nmatch.any.sync.b32 %r11, %r10, %r2;\nst.global.u32 [%mine+512], %r11;\n"
               "shr.u32 %r12, %t, 4;\nmatch.all.sync.b32 %r13|%p6, %r12, %r2;\nst.global.u32 [%mine+640], %r13;\n"),
        32);
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t first = i & 24, tile = 255u << first, ballot = 0;
        for (uint32_t lane = first; lane < first + 8; lane++)
            ballot |= (uint32_t)((lane * 13 & 7) > 3) << lane;
        assert_int_equal(words[i], ballot);
        assert_int_equal(words[32 + i], first < 16 ? 3 : first == 16 ? 2 : 0);
        assert_int_equal(words[64 + i], 8 * first + 28);
        assert_int_equal(words[96 + i], first + (i == first ? 100 : 0));
        assert_int_equal(words[128 + i], tile & (i & 1 ? 0xaaaaaaaau : 0x55555555u));
        assert_int_equal(words[160 + i], tile);
    }
    runner_free(&runner);
}

static void test_elect_and_find(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(&runner,
                                       KERNEL("elect.sync %r1|%p1, 0xfffffff0;\n"
                                              "selp.u32 %r2, 1, 0, %p1;\n"
                                              "st.global.u32 [%mine], %r1;\nst.global.u32 [%mine+128], %r2;\n"
                                              "fns.b32 %r3, 0xaaaaaaaa, %t, 2;\nst.global.u32 [%mine+256], %r3;\n"
                                              "fns.b32 %r3, 0xaaaaaaaa, %t, -2;\nst.global.u32 [%mine+384], %r3;\n"
                                              "fns.b32 %r3, 0xaaaaaaaa, %t, 0;\nst.global.u32 [%mine+512], %r3;"),
                                       32);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(words[i], 4);
        assert_int_equal(words[32 + i], i == 4);
        uint32_t up = i | 1, down = i & 1 ? i : i - 1; /* the first set bit at or beyond i */
        assert_int_equal(words[64 + i], up + 2 < 32 ? up + 2 : UINT32_MAX);
        assert_int_equal(words[96 + i], i >= 3 ? down - 2 : UINT32_MAX);
        assert_int_equal(words[128 + i], i & 1 ? i : UINT32_MAX);
    }
    runner_free(&runner);
}

/*
 * Twice through the same barrier, so that the second round must not see the first one; 96 threads, the last warp leaves
 * early.
 */
static void test_barrier_reductions(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(&runner,
                                       KERNEL("setp.ge.u32 %p1, %t, 96;\n@%p1 exit;\n"
                                              "and.b32 %r1, %t, 3;\nsetp.eq.u32 %p2, %r1, 0;\n"
                                              "bar.red.popc.u32 %r2, 0, %p2;\n"
                                              "setp.ne.u32 %p3, %t, 50;\n"
                                              "bar.red.and.pred %p4, 0, %p3;\n"
                                              "bar.red.or.pred %p5, 0, !%p3;\n"
                                              "bar.red.popc.u32 %r3, 0, !%p2;\n"
                                              "selp.u32 %r4, 1, 0, %p4;\nselp.u32 %r5, 1, 0, %p5;\n"
                                              "barrier.red.and.aligned.pred %p6, 1, 96, 1;\n"
                                              "selp.u32 %r6, 1, 0, %p6;\n"
                                              "st.global.u32 [%mine], %r2;\nst.global.u32 [%mine+512], %r3;\n"
                                              "st.global.u32 [%mine+1024], %r4;\nst.global.u32 [%mine+1536], %r5;\n"
                                              "st.global.u32 [%mine+2048], %r6;"),
                                       128);
    for (uint32_t i = 0; i < 96; i++) {
        assert_int_equal(words[i], 24);
        assert_int_equal(words[128 + i], 72);
        assert_int_equal(words[256 + i], 0);
        assert_int_equal(words[384 + i], 1);
        assert_int_equal(words[512 + i], 1);
    }
    runner_free(&runner);
}

/* Lanes of every target, and all of them together again behind the table. */
static void test_branch_table(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(&runner,
                                       KERNEL("targets: .branchtargets A, B, A, C;\n"
                                              "and.b32 %r1, %t, 3;\n"
                                              "setp.lt.u32 %p1, %t, 28;\n"
                                              "mov.u32 %r2, 5;\n"
                                              "@%p1 brx.idx %r1, targets;\n"
                                              "bra.uni JOIN;\n"
                                              "A:\nactivemask.b32 %r2;\nbra.uni JOIN;\n"
                                              "B:\nmov.u32 %r2, 20;\nbra.uni JOIN;\n"
                                              "C:\nmov.u32 %r2, 30;\n"
                                              "JOIN:\nactivemask.b32 %r3;\n"
                                              "st.global.u32 [%mine], %r2;\nst.global.u32 [%mine+128], %r3;"),
                                       32);
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t expected = i >= 28 ? 5 : (i & 3) == 1 ? 20 : (i & 3) == 3 ? 30 : 0x05555555u;
        assert_int_equal(words[i], expected);
        assert_int_equal(popcount(words[32 + i]), 32);
    }
    runner_free(&runner);
}

static void test_index_beyond_the_table(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, KERNEL("targets: .branchtargets A, B;\nbrx.idx %t, targets;\nA:\nB:\n"));
    assert_int_equal(runner_try(&runner, 32), CORUN_FAULT);
    assert_non_null(strstr(runner_message(&runner), "brx.idx: index 2 of a table of 2"));
    runner_free(&runner);
}

static void test_messages(void **state)
{
    (void)state;
    static const struct {
        const char *body, *message;
    } cases[] = {
        {"brx.idx %t, %r1;", "a list of .branchtargets"},
        {"bar.red.u32 %r1, 0, %p1;", "needs .popc, .and or .or"},
        {"bar.red.popc.pred %p2, 0, %p1;", "needs type .u32 with .popc, else .pred"},
        {"bar.red.popc.u32 %r1, 16, %p1;", "a barrier from 0 to 15"},
        {"redux.sync.and.u32 %r1, %r2, -1;", "needs type .b32 with a logic operation"},
        {"redux.sync.exch.b32 %r1, %r2, -1;", "adds, orders or combines only"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[4096];
        snprintf(text, sizeof text, "%s", KERNEL("@@"));
        char *at = strstr(text, "@@"), rest[64];
        snprintf(rest, sizeof rest, "%s", at + 2);
        snprintf(at, sizeof text - (size_t)(at - text), "%s%s", cases[i].body, rest);
        struct runner runner;
        assert_int_equal(runner_try_load(&runner, text), CORUN_SYNTAX);
        if (!strstr(runner_message(&runner), cases[i].message))
            fail_msg("%s: %s", cases[i].body, runner_message(&runner));
        runner_free(&runner);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_match),
        cmocka_unit_test(test_redux),
        cmocka_unit_test(test_groups_within_a_warp),
        cmocka_unit_test(test_elect_and_find),
        cmocka_unit_test(test_barrier_reductions),
        cmocka_unit_test(test_branch_table),
        cmocka_unit_test(test_index_beyond_the_table),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
