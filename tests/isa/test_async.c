/* SPDX-License-Identifier: MIT */
/* Asynchronous copies and barriers in memory: phases, states, parities and expected bytes as the PTX manual has them. */
#include "runner.h"

/* Copies of 4 and 16 bytes, and of fewer bytes than there is room for: the rest is zero and is not read. */
static void test_copies(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, KERNEL(".shared .align 16 .b8 room[1024];\nmov.u32 %r1, room;\nmad.lo.u32 %r2, %t, 16, %r1;\n"
                                "mul.wide.u32 %rd1, %t, 16;\nadd.u64 %rd1, %out, %rd1;\n"
                                "st.shared.u32 [%r2+4], 7;\n"
                                "cp.async.ca.shared.global [%r2], [%rd1+8192], 16, %t;\ncp.async.commit_group;\n"
                                "cp.async.wait_group 0;\nbar.sync 0;\n"
                                "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2];\n"
                                "st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r6};\n"
                                "setp.lt.u32 %p1, %t, 2;\n"
                                "@%p1 cp.async.cg.shared.global [%r2], [%rd1+8192], 16;\ncp.async.wait_all;\n"
                                "cp.async.ca.shared.global [%r2+12], [%rd1+8192], 4;\ncp.async.wait_all;\n"
                                "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2];\n"
                                "st.global.v4.u32 [%rd1+1024], {%r3, %r4, %r5, %r6};"));
    uint8_t data[512], expected[16];
    for (int i = 0; i < 512; i++)
        data[i] = (uint8_t)(i * 7 + 1);
    assert_int_equal(corun_memory_write(runner.memory, runner.out + 8192, data, sizeof data), CORUN_OK);
    assert_int_equal(runner_try(&runner, 20), CORUN_OK);
    const uint8_t *bytes = (const uint8_t *)runner_words(&runner);
    for (int t = 0; t < 20; t++) {
        memset(expected, 0, sizeof expected);
        memcpy(expected, data + 16 * t, t < 16 ? (size_t)t : 16);
        assert_memory_equal(bytes + 16 * t, expected, 16);
        if (t < 2)
            memcpy(expected, data + 16 * t, 16);
        memcpy(expected + 12, data + 16 * t, 4);
        assert_memory_equal(bytes + 1024 + 16 * t, expected, 16);
    }
    runner_free(&runner);
}

/* A guard beside a number of bytes, a predicate that says that nothing is read, and a cache policy, which is not heeded. */
static void test_copies_of_some(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner,
                KERNEL(".shared .align 16 .b8 room[1024];\nmov.u32 %r1, room;\nmad.lo.u32 %r2, %t, 16, %r1;\n"
                       "mul.wide.u32 %rd1, %t, 16;\nadd.u64 %rd1, %out, %rd1;\nmov.u32 %r3, 7;\n"
                       "st.shared.v4.u32 [%r2], {%r3, %r3, %r3, %r3};\n"
                       "st.shared.v4.u32 [%r2+512], {%r3, %r3, %r3, %r3};\n"
                       "createpolicy.fractional.L2::evict_first.b64 %rd2, 1.0;\nsetp.ge.u32 %p1, %t, 12;\n"
                       "and.b32 %r4, %t, 1;\nsetp.eq.u32 %p2, %r4, 1;\n"
                       "@!%p1 cp.async.ca.shared.global.L2::cache_hint [%r2], [%rd1+8192], 16, %t, %rd2;\n"
                       "@%p1 cp.async.cg.shared.global.L2::128B [%r2+512], [%rd1+8192], 16, !%p2;\n"
                       "cp.async.ca.shared::cta.global.L2::256B.L2::cache_hint [%r2+516], [%rd1+8192], 4, %rd2;\n"
                       "cp.async.wait_all;\nbar.sync 0;\n"
                       "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2];\n"
                       "st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r6};\n"
                       "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2+512];\n"
                       "st.global.v4.u32 [%rd1+1024], {%r3, %r4, %r5, %r6};"));
    uint8_t data[512];
    for (int i = 0; i < 512; i++)
        data[i] = (uint8_t)(i * 7 + 1);
    assert_int_equal(corun_memory_write(runner.memory, runner.out + 8192, data, sizeof data), CORUN_OK);
    assert_int_equal(runner_try(&runner, 20), CORUN_OK);
    const uint8_t *bytes = (const uint8_t *)runner_words(&runner);
    static const uint32_t sevens[4] = {7, 7, 7, 7};
    for (int t = 0; t < 20; t++) {
        uint8_t first[16] = {0}, second[16] = {0};
        memcpy(first, t < 12 ? data + 16 * t : (const uint8_t *)sevens, t < 12 ? (size_t)t : sizeof sevens);
        memcpy(second, t < 12 ? (const uint8_t *)sevens : data + 16 * t, t < 12 || t % 2 ? sizeof second : 0);
        memcpy(second + 4, data + 16 * t, 4);
        assert_memory_equal(bytes + 16 * t, first, 16);
        assert_memory_equal(bytes + 1024 + 16 * t, second, 16);
    }
    runner_free(&runner);
}

/* One thread: what each operation leaves behind, word by word. */
static void test_phases(void **state)
{
    (void)state;
    struct runner runner;
#define TEST(at) \
    "mbarrier.test_wait.shared.b64 %p1, [b], %rd1;\nselp.u32 %r1, 1, 0, %p1;\nst.global.u32 [%out+" at "], %r1;\n"
#define PARITY(at, parity) \
    "mbarrier.try_wait.parity.shared::cta.b64 %p1, [b], " parity ", 10;\nselp.u32 %r1, 1, 0, %p1;\n" \
    "st.global.u32 [%out+" at "], %r1;\n"
    runner_load(
        &runner,
        KERNEL(".shared .align 8 .b64 b;\nmbarrier.init.shared.b64 [b], 3;\n"
               "mbarrier.arrive.shared.b64 %rd1, [b];\n" TEST("0") PARITY("4", "0")
                   PARITY("8", "1") "mbarrier.pending_count.b64 %r2, %rd1;\nst.global.u32 [%out+12], %r2;\n"
                                    "mov.u32 %r3, 2;\nmbarrier.arrive.shared.b64 _, [b], %r3;\n" TEST("16")
                                        PARITY("20", "0") PARITY("24", "1")
               /* The second phase expects one thread less from then on, and 16 bytes. */
               "mbarrier.arrive_drop.shared.b64 %rd1, [b];\n"
               "mbarrier.arrive.expect_tx.shared.b64 _, [b], 16;\nmbarrier.arrive.shared.b64 _, [b];\n" TEST(
                   "28") "mbarrier.complete_tx.relaxed.cta.shared.b64 [b], 16;\n" TEST("32")
               /* The third: two threads, one of them by its copies, with a generic address */
               "mbarrier.arrive.shared.b64 %rd1, [b];\nmov.u64 %rd2, b;\ncvta.shared.u64 %rd2, %rd2;\n"
               "cp.async.mbarrier.arrive.shared.b64 [b];\n" TEST(
                   "36") "cp.async.mbarrier.arrive.noinc.b64 [%rd2];\n" TEST("40") "mbarrier.inval.shared.b64 [b];\n"));
    assert_int_equal(runner_try(&runner, 1), CORUN_OK);
    const uint32_t expected[] = {0, 0, 1, 3, 1, 1, 0, 0, 1, 0, 1};
    assert_memory_equal(runner_words(&runner), expected, sizeof expected);
    runner_free(&runner);
}

/* It waits for its bytes; the phases behind expect a thread less. */
static void test_drop_with_bytes(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, KERNEL(".shared .align 8 .b64 b;\nmbarrier.init.shared.b64 [b], 2;\nmov.u32 %r3, 16;\n"
                                "mbarrier.arrive_drop.expect_tx.release.cta.shared::cta.b64 %rd1, [b], %r3;\n"
                                "mbarrier.arrive.shared.b64 _, [b];\n" TEST(
                                    "0") "mbarrier.complete_tx.relaxed.cta.shared.b64 [b], "
                                         "16;\n" TEST("4") "mbarrier.arrive.shared.b64 %rd1, "
                                                           "[b];\n" TEST("8") "mbarrier.arrive_drop.expect_"
                                                                              "tx.relaxed.cluster.shared::"
                                                                              "cluster.b64 _, [b], "
                                                                              "0;\n" PARITY("12", "0")));
    assert_int_equal(runner_try(&runner, 1), CORUN_OK);
    const uint32_t expected[] = {0, 1, 1, 1};
    assert_memory_equal(runner_words(&runner), expected, sizeof expected);
    runner_free(&runner);
}

/* Four warps go through a barrier five times; whoever is through sees what all others wrote before. */
static void test_many_warps(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(
        &runner,
        KERNEL(".shared .align 8 .b64 b;\n.shared .u32 sum;\nsetp.ne.u32 %p1, %t, 0;\nmov.u32 %r9, %ntid.x;\n"
               "@!%p1 mbarrier.init.shared.b64 [b], %r9;\n@!%p1 st.shared.u32 [sum], 0;\nbar.sync 0;\n"
               "mov.u32 %r5, 0;\nmov.u32 %r6, 0;\n"
               "again: red.shared.add.u32 [sum], 1;\nmbarrier.arrive.release.cta.shared.b64 %rd1, [b];\n"
               "wait: mbarrier.try_wait.acquire.cta.shared.b64 %p2, [b], %rd1;\n@!%p2 bra wait;\n"
               "ld.shared.u32 %r1, [sum];\nadd.u32 %r5, %r5, %r1;\n"
               "mbarrier.arrive.shared.b64 %rd1, [b];\n"
               "wait2: mbarrier.test_wait.shared.b64 %p2, [b], %rd1;\n@!%p2 bra wait2;\n"
               "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p3, %r6, 5;\n@%p3 bra again;\nst.global.u32 [%mine], %r5;\n"));
    assert_int_equal(runner_try(&runner, 128), CORUN_OK);
    const uint32_t *words = runner_words(&runner);
    for (uint32_t t = 0; t < 128; t++)
        assert_int_equal(words[t], 128 * (1 + 2 + 3 + 4 + 5));
    runner_free(&runner);
}

#define BULK_LOAD "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"

/*
 * Threads 1, 2 and 5 of 40 copy 16 bytes, nothing, and more than a turn of the loop holds, to different places; a barrier
 * counts the bytes of all; the middle goes back in bulk, by another thread.
 */
static void test_bulk(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner,
                KERNEL(".shared .align 128 .b8 room[8192];\n.shared .align 8 .b64 b;\nsetp.ne.u32 %p1, %t, 0;\n"
                       "@!%p1 mbarrier.init.shared.b64 [b], 1;\nbar.sync 0;\nmov.u32 %r7, room;\n"
                       "@!%p1 mbarrier.arrive.expect_tx.shared.b64 _, [b], 5136;\nmov.u32 %r1, 0;\n"
                       "setp.eq.u32 %p2, %t, 1;\n@%p2 mov.u32 %r1, 16;\nsetp.eq.u32 %p3, %t, 5;\n"
                       "@%p3 mov.u32 %r1, 5120;\nmul.lo.u32 %r2, %t, 32;\nadd.u32 %r2, %r2, %r7;\n"
                       "cvt.u64.u32 %rd1, %r1;\nadd.u64 %rd1, %out, %rd1;\nsetp.eq.u32 %p4, %t, 2;\n"
                       "or.pred %p4, %p4, %p2;\nor.pred %p4, %p4, %p3;\n"
                       "@%p4 " BULK_LOAD " [%r2+16], [%rd1+16384], %r1, [b];\n"
                       "wait: mbarrier.try_wait.parity.shared.b64 %p5, [b], 0;\n@!%p5 bra wait;\n"
                       "mul.lo.u32 %r3, %t, 16;\nadd.u32 %r3, %r3, %r7;\nld.shared.u32 %r4, [%r3];\n"
                       "st.global.u32 [%mine], %r4;\nsetp.eq.u32 %p6, %t, 33;\n"
                       "@%p6 cp.async.bulk.global.shared::cta.bulk_group [%out+1024], [room+64], 5152;\n"
                       "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;"));
    uint8_t data[16384], expected[8192] = {0};
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7 + i / 256);
    assert_int_equal(corun_memory_write(runner.memory, runner.out + 16384, data, sizeof data), CORUN_OK);
    assert_int_equal(runner_try(&runner, 40), CORUN_OK);
    memcpy(expected + 32 + 16, data + 16, 16);
    memcpy(expected + 160 + 16, data + 5120, 5120);
    const uint8_t *bytes = (const uint8_t *)runner_words(&runner);
    for (size_t t = 0; t < 40; t++)
        assert_memory_equal(bytes + 4 * t, expected + 16 * t, 4);
    assert_memory_equal(bytes + 1024, expected + 64, 5152);
    runner_free(&runner);
}

static void test_bulk_of_odd_bytes(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, KERNEL(".shared .align 16 .b8 room[64];\n.shared .align 8 .b64 b;\n" BULK_LOAD
                                " [room], [%out], 24, [b];"));
    assert_int_equal(runner_try(&runner, 1), CORUN_FAULT);
    assert_non_null(strstr(runner_message(&runner), "cp.async.bulk: 24 bytes, not a multiple of 16"));
    runner_free(&runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_copies_of_some),
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_drop_with_bytes),
        cmocka_unit_test(test_many_warps),
        cmocka_unit_test(test_bulk),
        cmocka_unit_test(test_bulk_of_odd_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
