/* SPDX-License-Identifier: MIT */
/*
 * Barriers to which the threads of a warp come on different paths: GPUs since Volta count threads, so nobody goes on before all have come or ended. Each
 * path computes for a different time before it comes, and what the one has stored the other reads behind the barrier.
 */
#include "runner.h"

/* Rounds of a loop that changes %r9. */
#define WORK(label, rounds) \
    "mov.u32 %r8, 0;\n" label ":\nmad.lo.u32 %r9, %r9, 1664525, 1013904223;\nadd.u32 %r8, %r8, 1;\n" \
    "setp.lt.u32 %p7, %r8, " rounds ";\n@%p7 bra " label ";\n"
/* %r1: this thread's word of shared memory; %r2: its neighbour's; %p1: it is odd. */
#define NEIGHBOURS \
    ".shared .align 4 .b8 s[256];\nmov.u32 %r3, s;\nshl.b32 %r1, %t, 2;\nadd.u32 %r1, %r1, %r3;\n" \
    "xor.b32 %r2, %t, 1;\nshl.b32 %r2, %r2, 2;\nadd.u32 %r2, %r2, %r3;\nmov.u32 %r9, %t;\n" \
    "and.b32 %r4, %t, 1;\nsetp.eq.u32 %p1, %r4, 1;\nadd.u32 %r5, %t, 100;\n"
#define ARM "st.shared.u32 [%r1], %r5;\nbarrier.sync 0;\nld.shared.u32 %r6, [%r2];\n"
#define NEWEST 0 /* no GPU */
#define PASCAL 61
#define VOLTA 70

static const uint32_t *run_on(struct runner *runner, uint32_t capability, const char *text, uint32_t threads)
{
    runner_load(runner, text);
    if (capability)
        corun_module_instance_architecture(runner->instance, capability);
    assert_int_equal(runner_try(runner, threads), CORUN_OK);
    return runner_words(runner);
}

static const uint32_t *run_whole(struct runner *runner, const char *text, uint32_t threads)
{
    const uint32_t *words = run_on(runner, VOLTA, text, threads);
    assert_false(corun_module_instance_outside(runner->instance, runner->list)); /* nobody was missed */
    return words;
}

/* Two instructions, one for each arm; who comes first is the one that is on top, whichever it is. */
static void test_both_arms(void **state)
{
    (void)state;
    static const char *const texts[] = {
        KERNEL(NEIGHBOURS "@%p1 bra ODD;\n" WORK("L", "50") ARM "bra JOIN;\nODD:\n" ARM
                                                                "JOIN:\nst.global.u32 [%mine], %r6;"),
        KERNEL(NEIGHBOURS "@!%p1 bra EVEN;\n" WORK("L", "50") ARM "bra JOIN;\nEVEN:\n" ARM
                                                                  "JOIN:\nst.global.u32 [%mine], %r6;"),
        KERNEL(NEIGHBOURS "@%p1 bra ODD;\n" ARM "bra JOIN;\nODD:\n" WORK("L", "50") ARM
               "JOIN:\nst.global.u32 [%mine], %r6;"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct runner runner;
        const uint32_t *words = run_whole(&runner, texts[i], 64);
        for (uint32_t t = 0; t < 64; t++)
            assert_int_equal(words[t], (t ^ 1) + 100);
        runner_free(&runner);
    }
}

/* Threads that end in place of coming, on whichever way, are waited for: __syncthreads, too, is for those that have not ended. So it is on older GPUs. */
static void test_ends_instead(void **state)
{
    (void)state;
    static const uint32_t capabilities[] = {VOLTA, PASCAL};
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
        struct runner runner;
        const uint32_t *words = run_on(
            &runner, capabilities[i],
            KERNEL(NEIGHBOURS "@!%p1 bra STAYS;\n" WORK(
                "L",
                "50") "setp.lt.u32 %p2, %t, 9;\n@%p2 bra SOME;\n@%p7 exit;\nSOME:\nst.shared.u32 [%r1], %r5;\nret;\n"
                      "STAYS:\nbar.sync 0;\nld.shared.u32 %r6, [%r2];\nst.global.u32 [%mine], %r6;"),
            64);
        assert_false(corun_module_instance_outside(runner.instance, runner.list)); /* nobody was missed */
        for (uint32_t t = 0; t < 64; t++)
            assert_int_equal(words[t], t & 1 ? 0 : t + 101);
        runner_free(&runner);
    }
}

/* Who waits behind the branch for those at the barrier goes on to the end of the kernel. */
static void test_waits_behind_the_branch(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = run_whole(
        &runner,
        KERNEL(NEIGHBOURS "@%p1 bra JOIN;\nbarrier.sync 0;\nld.shared.u32 %r6, [%r2];\nst.global.u32 [%mine], %r6;\n"
                          "JOIN:\n" WORK("L", "50") "st.shared.u32 [%r1], %r5;"),
        64);
    for (uint32_t t = 0; t < 64; t++)
        assert_int_equal(words[t], t & 1 ? 0 : t + 101);
    runner_free(&runner);
}

/* Three parts, of which two meet at a shuffle of their own before they come; behind the barrier all meet again. */
static void test_meets_before(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = run_whole(
        &runner,
        KERNEL(
            NEIGHBOURS
            "and.b32 %r10, %t, 31;\nsetp.lt.u32 %p2, %r10, 8;\n@%p2 bra FIRST;\n"
            "setp.lt.u32 %p2, %r10, 16;\n@%p2 bra SECOND;\n" WORK(
                "L",
                "50") "shfl.sync.idx.b32 %r5, %r5, 8, 31, 0xffffff00;\nst.shared.u32 [%r1], %r5;\nbarrier.sync 0;\nbra "
                      "JOIN;\n"
                      "SECOND:\n" WORK(
                          "M",
                          "20") "shfl.sync.idx.b32 %r5, %r5, 31, 31, 0xffffff00;\n"
                                "st.shared.u32 [%r1], %r5;\nbarrier.sync 0;\nbra JOIN;\n"
                                "FIRST:\nst.shared.u32 [%r1], %r5;\nbarrier.sync 0;\n"
                                "JOIN:\nld.shared.u32 %r6, [%r2];\nactivemask.b32 %r7;\nst.global.u32 [%mine], %r6;\n"
                                "st.global.u32 [%mine+1024], %r7;"),
        64);
    for (uint32_t t = 0; t < 64; t++) {
        const uint32_t of = t ^ 1, lane = of & 31, first = of & 32;
        assert_int_equal(words[t], 100 + (lane < 8 ? of : lane < 16 ? first + 31 : first + 8));
        assert_int_equal(words[256 + t], UINT32_MAX);
    }
    runner_free(&runner);
}

/* The barrier of a function that both arms call is one instruction: bar.red counts all threads once. */
static void test_in_a_function(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = run_whole(
        &runner,
        HEAD ".func (.reg .b32 %all) count(.reg .b32 %what)\n{\n.reg .pred %p<2>;\nsetp.ne.u32 %p0, %what, 0;\n"
             "barrier.red.popc.u32 %all, 0, %p0;\nret;\n}\n"
             ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %out, %mine;\n"
             ".reg .b32 %t;\nld.param.u64 %out, [p];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %mine, %t, 4;\n"
             "add.u64 %mine, %out, %mine;\n" NEIGHBOURS "mov.u32 %r7, 1;\n"
             "@%p1 bra ODD;\n" WORK(
                 "L", "50") "call (%r6), count, (%r7);\nbra JOIN;\n"
                            "ODD:\ncall (%r6), count, (%r4);\nJOIN:\nst.global.u32 [%mine], %r6;\nret;\n}\n",
        96);
    for (uint32_t t = 0; t < 96; t++)
        assert_int_equal(words[t], 96);
    runner_free(&runner);
}

/* Parts of warps come to barrier.arrive: their threads are counted, in one warp, from several, and beside threads of the same warp that wait. */
static void test_arrives_in_parts(void **state)
{
    (void)state;
#define SHARED \
    ".shared .align 4 .b8 s[512];\nmov.u32 %r3, s;\nshl.b32 %r1, %t, 2;\nadd.u32 %r1, %r1, %r3;\nadd.u32 %r5, %t, " \
    "100;\n"
#define ROLES "and.b32 %r4, %t, 31;\nsetp.ge.u32 %p1, %r4, 16;\n"
#define PUT "st.shared.u32 [%r1], %r5;\n"
    static const struct {
        const char *text;
        uint32_t threads, from, distance; /* threads from this one on have what was put so many below */
    } cases[] = {
        {KERNEL(SHARED ROLES "setp.ge.u32 %p2, %t, 32;\n@%p2 bra WAITS;\n@%p1 bra HIGH;\n" PUT
                             "barrier.arrive 1, 64;\nret;\nHIGH:\n" WORK("L", "5000") PUT
                "barrier.arrive 1, 64;\nret;\n"
                "WAITS:\nbarrier.sync 1, 64;\nld.shared.u32 %r6, [%r1+-128];\nst.global.u32 [%mine], "
                "%r6;"),
         64, 32, 32},
        {KERNEL(SHARED ROLES
                "setp.ge.u32 %p2, %t, 64;\n@%p2 bra WAITS;\n@%p1 bra SKIP;\n" PUT "barrier.arrive 1, 64;\nSKIP:\n" WORK(
                    "M", "50") "ret;\n"
                               "WAITS:\nbarrier.sync 1, 64;\n@%p1 bra BEHIND;\nld.shared.u32 %r6, [%r1+-128];\n"
                               "st.global.u32 [%mine], %r6;\nBEHIND:\n@!%p1 ret;\nld.shared.u32 %r6, [%r1+-320];\n"
                               "add.u32 %r6, %r6, 48;\nst.global.u32 [%mine], %r6;"),
         96, 64, 32},
        {KERNEL(SHARED ROLES "@%p1 bra HIGH;\n" WORK("L", "50") PUT
                "barrier.arrive 1, 32;\nbarrier.sync 2, 32;\nret;\n"
                "HIGH:\nbarrier.sync 1, 32;\nld.shared.u32 %r6, [%r1+-64];\nbarrier.sync 2, 32;\n"
                "st.global.u32 [%mine], %r6;"),
         32, 16, 16},
        {KERNEL(SHARED ROLES "@!%p1 bra LOW;\nbarrier.sync 1, 32;\nld.shared.u32 %r6, [%r1+-64];\n"
                             "st.global.u32 [%mine], %r6;\nbarrier.sync 2, 32;\nret;\n"
                             "LOW:\n" WORK("L", "50") PUT "barrier.arrive 1, 32;\nbarrier.sync 2, 32;"),
         32, 16, 16},
    };
    /* Warp 2 has 16 threads, which are all of it: what warp 1 lacks comes later. */
    static const char short_warp[] = KERNEL(
        SHARED ROLES
        "setp.ge.u32 %p2, %t, 64;\n@%p2 bra LAST;\nsetp.ge.u32 %p2, %t, 32;\n@!%p2 ret;\n@%p1 bra HIGH;\n" PUT
        "barrier.arrive 1, 64;\nret;\nHIGH:\n" WORK("L", "50000") PUT "barrier.arrive 1, 64;\n" WORK(
            "M", "50") "ret;\n"
                       "LAST:\n" WORK(
                           "N",
                           "10000") "barrier.sync 1, 64;\nld.shared.u32 %r6, [%r1+-64];\nst.global.u32 [%mine], %r6;");
    struct runner last;
    const uint32_t *found = run_whole(&last, short_warp, 80);
    for (uint32_t t = 0; t < 80; t++)
        assert_int_equal(found[t], t < 64 ? 0 : t - 16 + 100);
    runner_free(&last);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct runner runner;
        const uint32_t *words = run_whole(&runner, cases[i].text, cases[i].threads);
        for (uint32_t t = 0; t < cases[i].threads; t++)
            assert_int_equal(words[t], t < cases[i].from ? 0 : t - cases[i].distance + 100);
        runner_free(&runner);
    }
#undef SHARED
#undef ROLES
#undef PUT
}

/* What is told, of GPUs before Volta and of what is not counted here: a warp at two barriers. */
static void test_notes(void **state)
{
    (void)state;
    static const char arms[] = KERNEL("setp.ge.u32 %p1, %t, 16;\n@%p1 bra HIGH;\nbarrier.sync 0;\nbra JOIN;\n"
                                      "HIGH:\nbarrier.sync 0;\nJOIN:\nst.global.u32 [%mine], 1;");
    static const char two[] = KERNEL("setp.ge.u32 %p1, %t, 16;\n@%p1 bra HIGH;\nbarrier.sync 1;\nbra JOIN;\n"
                                     "HIGH:\nbarrier.sync 2;\nJOIN:\nst.global.u32 [%mine], 1;");
    static const char aligned[] = KERNEL("setp.ge.u32 %p1, %t, 16;\n@%p1 bra HIGH;\nbar.sync 0;\nbra JOIN;\n"
                                         "HIGH:\nbar.sync 0;\nJOIN:\nst.global.u32 [%mine], 1;");
    static const struct {
        const char *text;
        uint32_t capability;
        const char *note, *fault;
    } cases[] = {
        {arms, NEWEST, NULL, NULL},
        {arms, VOLTA, NULL, NULL},
        {arms, PASCAL, "comes to barrier 0 with 16 of the 32 threads of a warp", "divergent barrier 0: 16 of the 32"},
        {two, VOLTA, "comes to barrier 1 with 16 of the 32 threads of a warp", "divergent barrier 1: 16 of the 32"},
        {aligned, VOLTA, "comes to barrier 0 with 16 of the 32 threads of a warp", "divergent barrier 0: 16 of the 32"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct runner runner;
        const uint32_t *words = run_on(&runner, cases[i].capability, cases[i].text, 32);
        for (uint32_t t = 0; t < 32; t++)
            assert_int_equal(words[t], 1);
        assert_int_equal(corun_module_instance_outside(runner.instance, runner.list), cases[i].note != NULL);
        assert_true(!cases[i].note || strstr(runner_message(&runner), cases[i].note));
        runner_free(&runner);
        runner_load(&runner, cases[i].text);
        if (cases[i].capability)
            corun_module_instance_architecture(runner.instance, cases[i].capability);
        corun_module_instance_check(runner.instance, CORUN_CHECK_SYNC);
        assert_int_equal(runner_try(&runner, 32), cases[i].fault ? CORUN_FAULT : CORUN_OK);
        assert_true(!cases[i].fault || strstr(runner_message(&runner), cases[i].fault));
        runner_free(&runner);
    }
}

/*
 * Reductions of parts that come to different instructions are one: each part has, in a register of its own, what all threads say. A part that waits
 * behind the branch comes by itself, past what may end some of it; who comes to another kind of reduction is told.
 */
static void test_reductions_of_parts(void **state)
{
    (void)state;
    static const char counts[] = KERNEL(NEIGHBOURS "setp.lt.u32 %p2, %t, 48;\n@%p1 bra ODD;\n" WORK(
        "L", "50") "barrier.red.popc.u32 %r6, 0, %p2;\nbra JOIN;\nODD:\nbarrier.red.popc.u32 %r6, 0, %p1;\n"
                   "add.u32 %r6, %r6, 1000;\nJOIN:\nst.global.u32 [%mine], %r6;");
    static const char behind[] =
        KERNEL(NEIGHBOURS "setp.eq.u32 %p2, %t, 5;\nmov.u32 %r6, 7;\n@%p1 bra JOIN;\n"
                          "barrier.red.and.pred %p3, 0, %p1;\nselp.u32 %r6, 1, 0, %p3;\n"
                          "JOIN:\n@%p2 ret;\nbarrier.red.and.pred %p4, 0, %p1;\n"
                          "selp.u32 %r10, 20, 10, %p4;\nadd.u32 %r6, %r6, %r10;\nst.global.u32 [%mine], %r6;");
    static const char kinds[] =
        KERNEL(NEIGHBOURS "@%p1 bra ODD;\nbarrier.red.and.pred %p2, 0, %p1;\nbra JOIN;\n"
                          "ODD:\nbarrier.red.or.pred %p2, 0, %p1;\nJOIN:\nst.global.u32 [%mine], 1;");
    struct runner runner;
    const uint32_t *words = run_whole(&runner, counts, 64);
    for (uint32_t t = 0; t < 64; t++)
        assert_int_equal(words[t], t & 1 ? 1056 : 56); /* 24 even ones below 48, and all 32 odd ones */
    runner_free(&runner);
    words = run_whole(&runner, behind, 64);
    for (uint32_t t = 0; t < 64; t++) /* first all come, then even ones come alone: odd ones have ended */
        assert_int_equal(words[t], t == 5 ? 0 : t & 1 ? 17 : 10);
    runner_free(&runner);
    words = run_on(&runner, VOLTA, kinds, 64);
    for (uint32_t t = 0; t < 64; t++)
        assert_int_equal(words[t], 1);
    assert_true(corun_module_instance_outside(runner.instance, runner.list));
    assert_non_null(strstr(runner_message(&runner), "comes to barrier 0 with 16 of the 32 threads of a warp"));
    runner_free(&runner);
}

/*
 * In a worker who has ended waits at a place with a name for the others. GPUs before Volta count warps: a barrier of the others is that of the warp, as
 * where these have ended. Without the name, and with work behind the branch that is for all, they are missed.
 */
static void test_ended_in_worker(void **state)
{
    (void)state;
#define ROUND(end, tail) \
    KERNEL(NEIGHBOURS "st.shared.u32 [%r1], %r5;\n@%p1 bra LEAVES;\nbarrier.sync 0;\nld.shared.u32 %r6, [%r2];\n" \
                      "st.global.u32 [%mine], %r6;\nbra " end ";\nLEAVES:\n" WORK("L", "50") tail end \
           ":\nbarrier.sync 0;")
    static const struct {
        const char *text;
        bool missed;
    } cases[] = {
        {ROUND("corun_worker_end", ""), false},
        {ROUND("corun_worker_end_1", "@!%p1 bra corun_worker_end_1;\n"), false},
        {ROUND("somewhere", ""), true},
        {ROUND("corun_worker_end", "barrier.sync 1, 32;\n"), true},
    };
#undef ROUND
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct runner runner;
        const uint32_t *words = run_on(&runner, PASCAL, cases[i].text, 64);
        for (uint32_t t = 0; t < 64; t++)
            assert_int_equal(words[t], t & 1 ? 0 : t + 101);
        assert_int_equal(corun_module_instance_outside(runner.instance, runner.list), cases[i].missed);
        runner_free(&runner);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_arms),
        cmocka_unit_test(test_ends_instead),
        cmocka_unit_test(test_waits_behind_the_branch),
        cmocka_unit_test(test_meets_before),
        cmocka_unit_test(test_in_a_function),
        cmocka_unit_test(test_arrives_in_parts),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_reductions_of_parts),
        cmocka_unit_test(test_ended_in_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
