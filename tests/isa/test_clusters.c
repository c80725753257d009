/* SPDX-License-Identifier: MIT */
/* Clusters of thread blocks without timing: who they are, their barrier, each other's shared memory. */
#include "runner.h"

#define CLUSTERED(directives, body) \
    ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n" directives "{\n" \
    ".reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<32>, %out, %mine;\n.reg .b32 %t, %rank, %size;\n" \
    ".shared .align 16 .b8 own[1024];\n.shared .align 8 .b64 bar;\n" \
    "ld.param.u64 %out, [p];\nmov.u32 %t, %tid.x;\nmov.u32 %rank, %cluster_ctarank;\nmov.u32 %size, " \
    "%cluster_nctarank;\n" body "\nret;\n}\n"
#define MEET "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
/* %mine: &out[ctaid.x * 32 + tid.x] */
#define MINE \
    "mov.u32 %r31, %ctaid.x;\nmad.lo.u32 %r31, %r31, 32, %t;\nmul.wide.u32 %mine, %r31, 4;\nadd.u64 %mine, %mine, " \
    "%out;\n"

static enum corun_status run(struct runner *runner, const char *text, struct corun_dim3 grid, uint32_t threads,
                             struct corun_dim3 cluster)
{
    runner_load(runner, text);
    struct corun_launch_description description = {.kernel = corun_module_kernel(runner->module, "k"),
                                                   .grid = grid,
                                                   .block = {threads, 1, 1},
                                                   .parameters = &runner->out,
                                                   .parameter_bytes = 8,
                                                   .cluster = cluster};
    struct corun_grid *launch = NULL;
    enum corun_status status = corun_grid_create(runner->instance, &description, runner->list, &launch);
    if (status == CORUN_OK)
        status = corun_run_functional(launch, 100000, runner->list, runner_print, runner, &runner->count);
    corun_grid_destroy(launch);
    return status;
}

/* Each thread block writes nine words about itself, by its number in the grid. */
static void test_special_registers(void **state)
{
    (void)state;
    static const char text[] = CLUSTERED(
        "", "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ctaid.y;\nmov.u32 %r3, %nctaid.x;\nmad.lo.u32 %r1, %r2, %r3, %r1;\n"
            "mul.wide.u32 %rd1, %r1, 36;\nadd.u64 %rd1, %rd1, %out;\n"
            "mov.u32 %r1, %clusterid.x;\nst.global.u32 [%rd1], %r1;\nmov.u32 %r1, %clusterid.y;\nst.global.u32 "
            "[%rd1+4], %r1;\n"
            "mov.u32 %r1, %nclusterid.x;\nst.global.u32 [%rd1+8], %r1;\nmov.u32 %r1, %nclusterid.y;\nst.global.u32 "
            "[%rd1+12], %r1;\n"
            "mov.u32 %r1, %cluster_ctaid.x;\nst.global.u32 [%rd1+16], %r1;\nmov.u32 %r1, "
            "%cluster_ctaid.y;\nst.global.u32 [%rd1+20], %r1;\n"
            "mov.u32 %r1, %cluster_nctaid.x;\nst.global.u32 [%rd1+24], %r1;\nst.global.u32 [%rd1+28], %rank;\n"
            "mov.pred %p1, %is_explicit_cluster;\nselp.u32 %r1, 5, 6, %p1;\nadd.u32 %r1, %r1, %size;\nst.global.u32 "
            "[%rd1+32], %r1;\n");
    struct runner runner;
    assert_int_equal(run(&runner, text, (struct corun_dim3){4, 6, 1}, 1, (struct corun_dim3){2, 3, 1}), CORUN_OK);
    for (uint32_t y = 0; y < 6; y++)
        for (uint32_t x = 0; x < 4; x++) {
            const uint32_t expected[] = {x / 2, y / 3, 2, 2, x % 2, y % 3, 2, x % 2 + y % 3 * 2, 5 + 6};
            assert_memory_equal(runner_words(&runner) + 9 * (y * 4 + x), expected, sizeof expected);
        }
    runner_free(&runner);
}

/* Each thread block reads what its right neighbour has written, by both kinds of address, and leaves a value at its left one. */
static void test_ring(void **state)
{
    (void)state;
    static const char text[] = CLUSTERED(
        ".explicitcluster\n.reqnctapercluster 4\n",
        MINE "mov.u32 %r1, own;\nshl.b32 %r2, %t, 2;\nadd.u32 %r1, %r1, %r2;\nmov.u32 %r3, %ctaid.x;\n"
             "mad.lo.u32 %r4, %r3, 100, %t;\nst.shared.u32 [%r1], %r4;\n" MEET
             "add.u32 %r5, %rank, 1;\nand.b32 %r5, %r5, 3;\nmapa.shared::cluster.u32 %r6, %r1, %r5;\n"
             "ld.shared::cluster.u32 %r7, [%r6];\n"
             "cvt.u64.u32 %rd1, %r1;\ncvta.shared.u64 %rd1, %rd1;\nmapa.u64 %rd2, %rd1, %r5;\nld.u32 %r8, [%rd2];\n"
             "getctarank.u64 %r9, %rd2;\ngetctarank.shared::cluster.u32 %r10, %r1;\n"
             "isspacep.shared %p1, %rd2;\nisspacep.shared::cluster %p2, %rd2;\nisspacep.shared %p3, %rd1;\n"
             "selp.u32 %r11, 1, 0, %p1;\nselp.u32 %r12, 2, 0, %p2;\nselp.u32 %r13, 4, 0, %p3;\n"
             "add.u32 %r11, %r11, %r12;\nadd.u32 %r11, %r11, %r13;\n" MEET
             "add.u32 %r14, %rank, 3;\nand.b32 %r14, %r14, 3;\nmapa.shared::cluster.u32 %r15, %r1, %r14;\n"
             "st.shared::cluster.u32 [%r15], %r7;\n" MEET "ld.shared.u32 %r16, [%r1];\n"
             "sub.u32 %r8, %r8, %r7;\nshl.b32 %r9, %r9, 4;\nshl.b32 %r10, %r10, 8;\n"
             "add.u32 %r17, %r16, %r8;\nst.global.u32 [%mine], %r17;\n"
             "add.u32 %r18, %r9, %r10;\nadd.u32 %r18, %r18, %r11;\nst.global.u32 [%mine+4096], %r18;\n");
    struct runner runner;
    assert_int_equal(run(&runner, text, (struct corun_dim3){8, 1, 1}, 32, (struct corun_dim3){0, 0, 0}), CORUN_OK);
    for (uint32_t block = 0; block < 8; block++)
        for (uint32_t t = 0; t < 32; t++) {
            uint32_t base = block / 4 * 4, rank = block % 4;
            assert_int_equal(runner_words(&runner)[32 * block + t], (base + (rank + 2) % 4) * 100 + t);
            assert_int_equal(runner_words(&runner)[1024 + 32 * block + t], (rank + 1) % 4 * 16 + rank * 256 + 6);
        }
    runner_free(&runner);
}

/* A warp's lanes go to thread blocks of their own: atomics here and there in one instruction. */
static void test_mixed_lanes(void **state)
{
    (void)state;
    static const char text[] = CLUSTERED(
        "", MINE "mov.u32 %r1, own;\nshl.b32 %r2, %t, 2;\nadd.u32 %r1, %r1, %r2;\nst.shared.u32 [%r1], %rank;\n" MEET
                 "rem.u32 %r3, %t, %size;\nmapa.shared::cluster.u32 %r4, %r1, %r3;\n"
                 "atom.shared::cluster.add.u32 %r5, [%r4], 10;\n" MEET
                 "ld.shared.u32 %r6, [%r1];\nst.global.u32 [%mine], %r6;\n"
                 /* who asks last is not known, but the sum of what was there before is */
                 "red.global.add.u32 [%out+4096], %r5;\n");
    struct runner runner;
    assert_int_equal(run(&runner, text, (struct corun_dim3){3, 1, 1}, 32, (struct corun_dim3){3, 1, 1}), CORUN_OK);
    uint32_t sum = 0;
    for (uint32_t t = 0; t < 32; t++)
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_int_equal(runner_words(&runner)[32 * rank + t], rank + (t % 3 == rank ? 30 : 0));
            sum += t % 3 == rank ? 3 * rank + 10 + 20 : 0;
        }
    assert_int_equal(runner_words(&runner)[1024], sum);
    runner_free(&runner);
}

/* Thread block 0 waits at its barrier in memory for what the others send: values, sums, and arrivals. */
static void test_memory_barriers(void **state)
{
    (void)state;
    static const char text[] = CLUSTERED(
        "", "setp.ne.u32 %p1, %t, 0;\n@%p1 bra MEET;\nmbarrier.init.shared.b64 [bar], 4;\nst.shared.u32 [own+256], 0;\n"
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 72;\nfence.mbarrier_init.release.cluster;\n"
            "MEET: " MEET "setp.eq.u32 %p2, %rank, 0;\n@%p2 bra WAIT;\n@%p1 bra END;\n"
            "mov.u32 %r1, 0;\nmov.u32 %r2, own;\nmapa.shared::cluster.u32 %r2, %r2, %r1;\n"
            "mov.u32 %r3, bar;\nmapa.shared::cluster.u32 %r3, %r3, %r1;\nmad.lo.u32 %r4, %rank, 32, %r2;\n"
            "mul.lo.u32 %r5, %rank, 7;\n"
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r4], {%r5, %rank, %r5, %r5}, [%r3];\n"
            "cvt.u64.u32 %rd1, %r5;\nst.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r4+16], %r5, [%r3];\n"
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r2+256], %r5, [%r3];\n"
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];\nbra END;\n"
            "WAIT: @%p1 bra LOOK;\nmbarrier.arrive.shared.b64 %rd5, [bar];\n"
            "LOOK: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [bar], 0;\n@!%p3 bra LOOK;\n"
            "mul.wide.u32 %rd2, %t, 4;\nadd.u64 %rd2, %rd2, %out;\nmov.u32 %r7, own;\nshl.b32 %r8, %t, 2;\n"
            "add.u32 %r7, %r7, %r8;\nld.shared.u32 %r9, [%r7];\nst.global.u32 [%rd2], %r9;\n"
            "ld.shared.u32 %r9, [own+256];\nst.global.u32 [%out+512], %r9;\n"
            "END: " MEET);
    struct runner runner;
    assert_int_equal(run(&runner, text, (struct corun_dim3){4, 1, 1}, 32, (struct corun_dim3){4, 1, 1}), CORUN_OK);
    for (uint32_t rank = 1; rank < 4; rank++) {
        const uint32_t expected[] = {7 * rank, rank, 7 * rank, 7 * rank, 7 * rank};
        assert_memory_equal(runner_words(&runner) + 8 * rank, expected, rank < 4 ? sizeof expected : 0);
    }
    assert_int_equal(runner_words(&runner)[128], 7 * (1 + 2 + 3));
    runner_free(&runner);
}

/* What the words at out + 8192 are. */
static uint32_t value_of(uint32_t index)
{
    return index * 2654435761u + 12345;
}

static void write_values(struct runner *runner, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = value_of(i);
        assert_int_equal(corun_memory_write(runner->memory, runner->out + 8192 + 4 * i, &value, 4), CORUN_OK);
    }
}

/*
 * Each thread block of a cluster of 4 loads 16 words for those of a mask: all, or all but itself. Its barrier is told of what comes to it from all of
 * them, and of nothing else: the bytes that are expected are exact.
 */
static void test_multicast(void **state)
{
    (void)state;
    static const char text[] = CLUSTERED(
        "", MINE "setp.ne.u32 %p1, %t, 0;\n@%p1 bra MEET;\nmbarrier.init.shared.b64 [bar], 1;\n"
                 "and.b32 %r1, %rank, 1;\nmul.lo.u32 %r1, %r1, 64;\nsub.u32 %r1, 256, %r1;\n"
                 "mbarrier.arrive.expect_tx.shared.b64 _, [bar], %r1;\nfence.mbarrier_init.release.cluster;\n"
                 "MEET: " MEET "@%p1 bra WAIT;\n"
                 "and.b32 %r1, %rank, 1;\nshl.b32 %r1, %r1, %rank;\nxor.b32 %r1, %r1, 15;\n.reg .b16 %h1;\ncvt.u16.u32 "
                 "%h1, %r1;\n"
                 "mul.wide.u32 %rd1, %rank, 64;\nadd.u64 %rd1, %rd1, %out;\nadd.u64 %rd1, %rd1, 8192;\n"
                 "mov.u32 %r2, own;\nmad.lo.u32 %r2, %rank, 64, %r2;\nmov.u32 %r3, bar;\n"
                 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r2], [%rd1], "
                 "64, [%r3], %h1;\n"
                 "WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [bar], 0;\n@!%p3 bra WAIT;\n"
                 "mov.u32 %r4, own;\nmad.lo.u32 %r4, %t, 8, %r4;\nld.shared.v2.u32 {%r5, %r6}, [%r4];\n"
                 "mul.wide.u32 %rd2, %t, 4;\nadd.u64 %rd2, %rd2, %mine;\nmul.wide.u32 %rd3, %rank, 128;\nadd.u64 %rd2, "
                 "%rd2, %rd3;\n"
                 "st.global.v2.u32 [%rd2], {%r5, %r6};\nmbarrier.arrive.shared.b64 %rd5, [bar];\n" MEET);
    struct runner runner;
    runner_load(&runner, text);
    write_values(&runner, 64);
    struct corun_launch_description description = {.kernel = corun_module_kernel(runner.module, "k"),
                                                   .grid = {4, 1, 1},
                                                   .block = {32, 1, 1},
                                                   .parameters = &runner.out,
                                                   .parameter_bytes = 8,
                                                   .cluster = {4, 1, 1}};
    struct corun_grid *launch = NULL;
    assert_int_equal(corun_grid_create(runner.instance, &description, runner.list, &launch), CORUN_OK);
    assert_int_equal(corun_run_functional(launch, 100000, runner.list, runner_print, &runner, &runner.count), CORUN_OK);
    corun_grid_destroy(launch);
    for (uint32_t rank = 0; rank < 4; rank++)
        for (uint32_t i = 0; i < 64; i++) {
            bool left_out = i / 16 == rank && rank % 2;
            assert_int_equal(runner_words(&runner)[64 * rank + i], left_out ? 0 : value_of(i));
        }
    runner_free(&runner);
}

/* Each thread block sends 64 bytes of its shared memory to its right neighbour, and adds 16 words to what its left one has. */
static void test_remote_copies(void **state)
{
    (void)state;
    static const char text[] = CLUSTERED(
        "", MINE
        "mov.u32 %r1, own;\nshl.b32 %r2, %t, 2;\nadd.u32 %r1, %r1, %r2;\nmad.lo.u32 %r3, %rank, 1000, %t;\n"
        "st.shared.u32 [%r1], %r3;\nst.shared.u32 [%r1+512], %r3;\nsetp.ne.u32 %p1, %t, 0;\n@%p1 bra MEET;\n"
        "mbarrier.init.shared.b64 [bar], 1;\nmbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;\n"
        "fence.mbarrier_init.release.cluster;\nMEET: " MEET "@%p1 bra WAIT;\n"
        "add.u32 %r4, %rank, 1;\nand.b32 %r4, %r4, 3;\nmov.u32 %r5, own;\nadd.u32 %r6, %r5, 256;\nmov.u32 %r7, bar;\n"
        "mapa.shared::cluster.u32 %r8, %r6, %r4;\nmapa.shared::cluster.u32 %r9, %r7, %r4;\n"
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r8], [%r5+16], 64, [%r9];\n"
        "add.u32 %r4, %rank, 3;\nand.b32 %r4, %r4, 3;\nadd.u32 %r6, %r5, 512;\n"
        "mapa.shared::cluster.u32 %r8, %r6, %r4;\nmapa.shared::cluster.u32 %r9, %r7, %r4;\n"
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r8], [%r5], 64, "
        "[%r9];\n"
        "WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [bar], 0;\n@!%p3 bra WAIT;\n"
        "ld.shared.u32 %r10, [%r1+256];\nst.global.u32 [%mine], %r10;\n"
        "ld.shared.u32 %r10, [%r1+512];\nst.global.u32 [%mine+1024], %r10;\n" MEET);
    struct runner runner;
    assert_int_equal(run(&runner, text, (struct corun_dim3){4, 1, 1}, 32, (struct corun_dim3){4, 1, 1}), CORUN_OK);
    for (uint32_t rank = 0; rank < 4; rank++)
        for (uint32_t t = 0; t < 32; t++) {
            uint32_t left = (rank + 3) % 4, right = (rank + 1) % 4, old = rank * 1000 + t;
            assert_int_equal(runner_words(&runner)[32 * rank + t], t < 16 ? left * 1000 + t + 4 : 0);
            assert_int_equal(runner_words(&runner)[256 + 32 * rank + t], t < 16 ? old + right * 1000 + t : old);
        }
    runner_free(&runner);
}

/* Halves of a warp come to the barrier of the cluster one after the other, and threads that have ended do not come. */
static void test_parts_of_warps(void **state)
{
    (void)state;
    static const char text[] = CLUSTERED(
        "", MINE "setp.gt.u32 %p4, %t, 29;\n@%p4 ret;\nsetp.lt.u32 %p1, %t, 13;\nst.shared.u32 [own], %rank;\n"
                 "@%p1 bra FIRST;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nbra BEHIND;\n"
                 "FIRST: barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\n"
                 "BEHIND: xor.b32 %r1, %rank, 1;\nmov.u32 %r2, own;\nmapa.shared::cluster.u32 %r2, %r2, %r1;\n"
                 "ld.shared::cluster.u32 %r3, [%r2];\nadd.u32 %r3, %r3, 7;\nst.global.u32 [%mine], %r3;\n"
                 "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n");
    struct runner runner;
    assert_int_equal(run(&runner, text, (struct corun_dim3){4, 1, 1}, 64, (struct corun_dim3){2, 1, 1}), CORUN_OK);
    for (uint32_t block = 0; block < 4; block++)
        for (uint32_t t = 0; t < 30; t++)
            assert_int_equal(runner_words(&runner)[32 * block + t], 7 + (block % 2 ^ 1));
    runner_free(&runner);
}

/* Without clusters a thread block is one by itself. */
static void test_cluster_of_one(void **state)
{
    (void)state;
    static const char text[] = CLUSTERED(
        "", MINE "mov.u32 %r1, own;\nshl.b32 %r2, %t, 2;\nadd.u32 %r1, %r1, %r2;\nst.shared.u32 [%r1], %t;\n" MEET
                 "mapa.shared::cluster.u32 %r3, %r1, %rank;\nld.shared::cluster.u32 %r4, [%r3];\n"
                 "mov.pred %p1, %is_explicit_cluster;\nselp.u32 %r5, 100, 0, %p1;\nadd.u32 %r4, %r4, %r5;\n"
                 "st.global.u32 [%mine], %r4;\n");
    struct runner runner;
    assert_int_equal(run(&runner, text, (struct corun_dim3){2, 1, 1}, 32, (struct corun_dim3){0, 0, 0}), CORUN_OK);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(runner_words(&runner)[i], i % 32);
    runner_free(&runner);
}

struct refusal {
    const char *text;
    struct corun_dim3 grid, cluster;
    enum corun_status status;
    const char *message;
};

static void test_refusals(void **state)
{
    (void)state;
    static const char plain[] = CLUSTERED("", ""), four[] = CLUSTERED(".reqnctapercluster 2, 2\n", "");
    static const char beyond[] = CLUSTERED("", "mov.u32 %r1, own;\nmov.u32 %r2, 2;\nmapa.shared::cluster.u32 %r1, %r1, "
                                               "%r2;\nld.shared::cluster.u32 %r1, [%r1];\n");
    static const char outside[] = CLUSTERED("", "mov.u32 %r1, own;\nxor.b32 %r2, %rank, 1;\nmapa.shared::cluster.u32 "
                                                "%r1, %r1, %r2;\nst.shared::cluster.u32 [%r1+4096], %r1;\n");
    static const char never[] = CLUSTERED(
        "", "setp.eq.u32 %p1, %rank, 0;\n@%p1 bra ONE;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nret;\n"
            "ONE: barrier.cluster.arrive;\nbarrier.cluster.wait;\nbarrier.cluster.arrive;\nbar.sync 1, 64;\n");
#define SEND(target, bar_target, what) \
    CLUSTERED("", "mov.u32 %r1, own;\nmov.u32 %r2, bar;\nmov.u32 %r3, " target ";\nmov.u32 %r4, " bar_target ";\n" \
                  "mapa.shared::cluster.u32 %r5, %r1, %r3;\nmapa.shared::cluster.u32 %r6, %r2, %r4;\n" what)
#define COPY "cp.async.bulk.shared::cluster."
#define TOLD "mbarrier::complete_tx::bytes"
    static const char two_barriers[] = SEND("1", "0", COPY "shared::cta." TOLD " [%r5], [%r1], 16, [%r6];\n");
    static const char too_far[] = SEND("2", "2", COPY "shared::cta." TOLD " [%r5], [%r1], 16, [%r6];\n");
    static const char from_there[] = SEND("1", "0", COPY "shared::cta." TOLD " [%r1], [%r5], 16, [%r6];\n");
    static const char none[] = SEND("0", "0", COPY "global." TOLD ".multicast::cluster [%r1], [%out], 16, [%r2], 0;\n");
    static const char third[] =
        SEND("0", "0", COPY "global." TOLD ".multicast::cluster [%r1], [%out], 16, [%r2], 5;\n");
    const struct refusal rows[] = {
        {two_barriers,
         {2, 1, 1},
         {2, 1, 1},
         CORUN_FAULT,
         "to thread block 1 of the cluster, and the barrier is that of 0"},
        {too_far, {2, 1, 1}, {2, 1, 1}, CORUN_FAULT, "bulk copy: to thread blocks 0x4 of a cluster of 2"},
        {from_there, {2, 1, 1}, {2, 1, 1}, CORUN_FAULT, "the source is in the shared memory of thread block 1"},
        {none, {2, 1, 1}, {2, 1, 1}, CORUN_FAULT, "to thread blocks 0x0 of a cluster of 2"},
        {third, {2, 1, 1}, {2, 1, 1}, CORUN_FAULT, "to thread blocks 0x5 of a cluster of 2"},
        {plain, {6, 1, 1}, {4, 1, 1}, CORUN_ARGUMENT, "kernel k: grid (6,1,1) is no multiple of clusters of (4,1,1)"},
        {plain,
         {32, 1, 1},
         {32, 1, 1},
         CORUN_LIMIT,
         "kernel k: clusters of (32,1,1) thread blocks: 1 to 16 in all are possible"},
        {four, {4, 4, 1}, {4, 1, 1}, CORUN_ARGUMENT, "kernel k requires clusters of (2,2,1), not (4,1,1)"},
        {four, {4, 3, 1}, {0, 0, 0}, CORUN_ARGUMENT, "kernel k: grid (4,3,1) is no multiple of clusters of (2,2,1)"},
        {CLUSTERED(".explicitcluster\n", ""),
         {4, 1, 1},
         {0, 0, 0},
         CORUN_ARGUMENT,
         "kernel k wants a launch with clusters (.explicitcluster)"},
        {CLUSTERED(".maxclusterrank 2\n", ""),
         {4, 1, 1},
         {4, 1, 1},
         CORUN_ARGUMENT,
         "kernel k allows 2 thread blocks in a cluster (.maxclusterrank), not 4"},
        {beyond, {2, 1, 1}, {2, 1, 1}, CORUN_FAULT, "shared memory of thread block 2 of a cluster of 2"},
        {outside,
         {2, 1, 1},
         {2, 1, 1},
         CORUN_FAULT,
         "of shared memory of thread block 1 of the cluster, which is out of bounds"},
        {never, {2, 1, 1}, {2, 1, 1}, CORUN_DEADLOCK, "can never be met"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct runner runner;
        assert_int_equal(run(&runner, rows[i].text, rows[i].grid, 32, rows[i].cluster), rows[i].status);
        if (!strstr(runner_message(&runner), rows[i].message))
            fail_msg("%s", runner_message(&runner));
        runner_free(&runner);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_special_registers), cmocka_unit_test(test_ring),
        cmocka_unit_test(test_mixed_lanes),       cmocka_unit_test(test_memory_barriers),
        cmocka_unit_test(test_parts_of_warps),    cmocka_unit_test(test_cluster_of_one),
        cmocka_unit_test(test_multicast),         cmocka_unit_test(test_remote_copies),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
