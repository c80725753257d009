/* SPDX-License-Identifier: MIT */
/* What changes how fast memory is and nothing else, and what a thread block is told that is a cluster of its own. */
#include "runner.h"

/* Policies, priorities and hints of every kind: the values are those without them. */
static void test_hints(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(
        &runner,
        KERNEL("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd1, 0.5;\n"
               "createpolicy.fractional.L2::evict_first.b64 %rd2;\n"
               "createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %rd3, [%out], 64, 128;\n"
               "createpolicy.cvt.L2.b64 %rd4, 0x12f0000000000000;\n"
               "prefetch.global.L2::evict_last [%out];\nprefetch.global.L2::evict_normal [%out];\n"
               "applypriority.global.L2::evict_normal [%out], 128;\n"
               "add.u32 %r1, %t, 5;\n"
               "st.global.L1::evict_last.L2::cache_hint.u32 [%mine], %r1, %rd1;\n"
               "ld.global.L1::no_allocate.L2::cache_hint.L2::128B.u32 %r2, [%mine], %rd2;\n"
               "ld.global.L2::evict_last.u32 %r3, [%mine];\n"
               "add.u32 %r4, %r2, %r3;\nst.global.u32 [%mine+256], %r4;\n"
               "red.global.add.L2::cache_hint.u32 [%mine], 1, %rd3;\n"
               "atom.global.cas.L2::cache_hint.b32 %r5, [%mine+256], %r4, 9, %rd4;\n"
               "st.global.v2.L2::cache_hint.u32 [%mine+512], {%r5, %r5}, %rd4;\n"
               "st.mmio.relaxed.sys.global.u32 [%mine+640], %r5;\nld.mmio.relaxed.sys.u32 %r6, [%mine+640];\n"
               "st.global.u32 [%mine+768], %r6;\n"
               "discard.global.L2 [%out+1024], 128;\ngriddepcontrol.wait;\nfence.proxy.async.shared::cta;\n"
               "fence.proxy.alias;\ngriddepcontrol.launch_dependents;\n"),
        1);
    assert_int_equal(words[0], 6);
    assert_int_equal(words[64], 9);
    assert_int_equal(words[128], 10);
    assert_int_equal(words[129], 10);
    assert_int_equal(words[192], 10);
    runner_free(&runner);
}

static void test_without_clusters(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, KERNEL("mov.u32 %r1, %clusterid.x;\nmul.wide.u32 %rd1, %r1, 32;\nadd.u64 %rd1, %rd1, %out;\n"
                                "mov.u32 %r2, %nclusterid.x;\nst.global.u32 [%rd1], %r2;\n"
                                "mov.u32 %r2, %cluster_ctaid.x;\nst.global.u32 [%rd1+4], %r2;\n"
                                "mov.u32 %r2, %cluster_nctaid.y;\nst.global.u32 [%rd1+8], %r2;\n"
                                "mov.u32 %r2, %cluster_ctarank;\nst.global.u32 [%rd1+12], %r2;\n"
                                "mov.u32 %r2, %cluster_nctarank;\nst.global.u32 [%rd1+16], %r2;\n"));
    assert_int_equal(runner_run_grid(&runner, "k", (struct corun_dim3){3, 1, 1}, (struct corun_dim3){1, 1, 1}, 0,
                                     &runner.out, 8, 1000),
                     CORUN_OK);
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t expected[] = {3, 0, 1, 0, 1};
        assert_memory_equal(runner_words(&runner) + 8 * i, expected, sizeof expected);
    }
    runner_free(&runner);
}

/* The shared memory of cooperative groups: behind the variables, before what is dynamic. */
static void test_reserved_shared_memory(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, KERNEL(".shared .align 4 .b8 own[100];\n.extern .shared .align 16 .b8 more[];\n"
                                "mov.u32 %r1, %reserved_smem_offset_1;\nst.global.u32 [%out], %r1;\n"
                                "mov.u32 %r2, own;\nst.global.u32 [%out+4], %r2;\n"
                                "mov.u32 %r3, more;\nst.global.u32 [%out+8], %r3;\n"
                                "st.shared.u32 [%r1], 7;\nst.shared.u32 [%r1+1020], 8;\n"));
    assert_int_equal(runner_run_grid(&runner, "k", (struct corun_dim3){1, 1, 1}, (struct corun_dim3){1, 1, 1}, 64,
                                     &runner.out, 8, 1000),
                     CORUN_OK);
    const uint32_t expected[] = {128, 0, 128 + 1024};
    assert_memory_equal(runner_words(&runner), expected, sizeof expected);
    runner_free(&runner);
}

/* What counts nothing, and what no driver has set, is 0; the reserved part of shared memory is told from both ends. */
static void test_rare_registers(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner,
                KERNEL(".shared .align 4 .b8 own[100];\nmov.u32 %r1, %aggr_smem_size;\nst.global.u32 [%out], %r1;\n"
                       "mov.u32 %r1, %reserved_smem_offset_begin;\nst.global.u32 [%out+4], %r1;\n"
                       "mov.u32 %r1, %reserved_smem_offset_end;\nst.global.u32 [%out+8], %r1;\n"
                       "mov.u32 %r1, %reserved_smem_offset_cap;\nst.global.u32 [%out+12], %r1;\n"
                       "mov.u32 %r1, %envreg0;\nst.global.u32 [%out+16], %r1;\n"
                       "mov.u32 %r1, %envreg31;\nst.global.u32 [%out+20], %r1;\n"
                       "mov.u32 %r1, %pm0;\nst.global.u32 [%out+24], %r1;\n"
                       "mov.u64 %rd1, %pm7_64;\nst.global.u64 [%out+32], %rd1;\n"
                       "mov.u64 %rd1, %current_graph_exec;\nst.global.u64 [%out+40], %rd1;\n"));
    uint32_t *words = corun_memory_pointer(runner.memory, runner.out, runner.out_bytes);
    memset(words, 0xff, 48);
    assert_int_equal(runner_run_grid(&runner, "k", (struct corun_dim3){1, 1, 1}, (struct corun_dim3){1, 1, 1}, 64,
                                     &runner.out, 8, 1000),
                     CORUN_OK);
    const uint32_t expected[12] = {128 + 1024 + 64, 128, 128 + 1024, 1024, 0, 0, 0, UINT32_MAX};
    assert_memory_equal(runner_words(&runner), expected, sizeof expected);
    runner_free(&runner);
}

/* A register of the kernel may have the name of one that is special. */
static void test_own_name(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words =
        runner_run(&runner, KERNEL(".reg .b32 %pm<4>;\nmov.u32 %pm1, 7;\nst.global.u32 [%mine], %pm1;\n"), 1);
    assert_int_equal(words[0], 7);
    runner_free(&runner);
}

/* A thread writes, releases what is in shared memory and tells another one, which acquires it. */
static void test_restricted_fences(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(
        &runner,
        KERNEL(".shared .align 4 .b32 value;\n.shared .align 4 .b32 told;\nsetp.eq.u32 %p1, %t, 0;\n"
               "@%p1 st.shared.u32 [told], 0;\nbar.sync 0;\nsetp.ge.u32 %p2, %t, 32;\n@%p2 bra READS;\n"
               "@%p1 st.shared.u32 [value], 9;\nfence.release.sync_restrict::shared::cta.cluster;\n"
               "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;\nmembar.proxy.alias;\n"
               "pmevent.mask 3;\n@%p1 st.relaxed.cta.shared.u32 [told], 1;\nbra END;\n"
               "READS: ld.relaxed.cta.shared.u32 %r1, [told];\nsetp.ne.u32 %p3, %r1, 1;\n@%p3 bra READS;\n"
               "fence.acquire.sync_restrict::shared::cluster.cluster;\n"
               "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;\n"
               "ld.shared.u32 %r2, [value];\nst.global.u32 [%mine], %r2;\nEND:\n"),
        64);
    for (uint32_t i = 32; i < 64; i++)
        assert_int_equal(words[i], 9);
    runner_free(&runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hints),
        cmocka_unit_test(test_without_clusters),
        cmocka_unit_test(test_reserved_shared_memory),
        cmocka_unit_test(test_rare_registers),
        cmocka_unit_test(test_own_name),
        cmocka_unit_test(test_restricted_fences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
