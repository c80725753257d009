/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait in a loop for another thread of their own warp come on. Loops that ask nothing of others, however long, run as if nobody
 * looked: their instructions are counted here.
 */
#include "runner.h"

#define LOOP_LIMIT "24000"

/* out[0]: a lock, out[1]: what it is for. */
#define TAKE "TAKE:\natom.global.cas.b32 %r1, [%out], 0, 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra TAKE;\n"
#define COUNT \
    "ld.volatile.global.u32 %r2, [%out+4];\nadd.u32 %r2, %r2, %t;\nst.volatile.global.u32 [%out+4], " \
    "%r2;\nmembar.gl;\n"
#define RELEASE "atom.global.exch.b32 %r3, [%out], 0;\n"

static const uint32_t *run_alone(struct runner *runner, const char *text, uint32_t threads)
{
    const uint32_t *words = runner_run(runner, text, threads);
    assert_false(
        corun_module_instance_outside(runner->instance, runner->list)); /* nothing is told where there is no GPU */
    return words;
}

/* The release is behind the loop. With several warps, and in a loop of its own. */
static void test_lock(void **state)
{
    (void)state;
    static const uint32_t threads[] = {2, 32, 33, 100};
    for (uint32_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        struct runner runner;
        const uint32_t n = threads[i],
                       *words = run_alone(&runner,
                                          KERNEL("mov.u32 %r5, 0;\nAGAIN:\n" TAKE COUNT RELEASE
                                                 "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p2, %r5, 3;\n@%p2 bra AGAIN;\n"
                                                 "activemask.b32 %r6;\nst.global.u32 [%mine+128], %r6;"),
                                          n);
        assert_int_equal(words[0], 0);
        assert_int_equal(words[1], 3 * n * (n - 1) / 2);
        if (n == 32)
            assert_int_equal(words[32 + 31], 0xffffffffu); /* all have met behind the loop */
        runner_free(&runner);
    }
}

#define CALL(name, argument) \
    "{\n.param .b32 x;\n.param .b32 back;\nst.param.b32 [x], " argument ";\ncall (back), " name ", (x);\n" \
    "ld.param.b32 %r9, [back];\n}\n"

/*
 * The lock is taken in a function, whose end is where the lanes of the loop meet; a recursive one, so that who is back has its registers again
 * while others are still there.
 */
static void test_lock_in_functions(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = run_alone(
        &runner,
        HEAD ".global .u32 lock;\n.global .u32 count;\n"
             ".func (.param .b32 result) take(.param .b32 levels)\n{\n"
             ".reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<4>;\nld.param.u32 %r1, [levels];\n"
             "mad.lo.u32 %r5, %r1, 10, 7;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra LAST;\nadd.u32 %r2, %r1, -1;\n" CALL(
                 "take",
                 "%r2") "add.u32 %r5, %r5, %r9;\nst.param.b32 [result], %r5;\nret;\n"
                        "LAST:\nmov.u64 %rd1, lock;\nTAKE:\natom.global.cas.b32 %r6, [%rd1], 0, 1;\n"
                        "setp.ne.u32 %p2, %r6, 0;\n@%p2 bra TAKE;\nst.param.b32 [result], %r5;\nret;\n}\n"
                        ".func (.param .b32 result) release(.param .b32 x)\n{\n"
                        ".reg .b32 %r<4>;\n.reg .b64 %rd<4>;\nmov.u64 %rd1, lock;\nld.param.u32 %r1, [x];\n"
                        "st.param.b32 [result], %r1;\nmembar.gl;\natom.global.exch.b32 %r2, [%rd1], 0;\nret;\n}\n"
                        ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<4>;\n"
                        "ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd1, "
                        "%rd1, %rd2;\nmov.u64 %rd3, count;\nand.b32 %r2, %r1, 3;\n" CALL(
                            "take",
                            "%r2") "mov.u32 %r4, %r9;\nld.volatile.global.u32 %r3, [%rd3];\nadd.u32 %r3, %r3, 1;\n"
                                   "st.volatile.global.u32 [%rd3], %r3;\n" CALL(
                                       "release",
                                       "%r4") "st.global.u32 [%rd1], %r9;\nst.global.u32 [%rd1+128], %r3;\nret;\n}\n",
        32);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t sum = 0;
        for (uint32_t level = 0; level <= (i & 3); level++)
            sum += 10 * level + 7;
        assert_int_equal(words[i], sum);
        seen |= 1u << (words[32 + i] - 1);
    }
    assert_int_equal(seen, 0xffffffffu);
    runner_free(&runner);
}

/* Two paths that wait for one another by turns; tries are counted, and a clock is read in between. */
static void test_hand_over(void **state)
{
    (void)state;
    struct runner runner;
#define WAIT(name, value) \
    name ":\nadd.u32 %r8, %r8, 1;\nmov.u32 %r7, %clock;\nld.volatile.global.u32 %r1, [%out];\nsetp.ne.u32 %p2, " \
         "%r1, " value ";\n@%p2 bra " name ";\n"
#define SET(value) "st.volatile.global.u32 [%out], " value ";\n"
    const uint32_t *words = run_alone(
        &runner,
        KERNEL(
            "mov.u32 %r8, 0;\nsetp.lt.u32 %p1, %t, 16;\n@%p1 bra LOW;\n" WAIT("A", "1") SET("2") WAIT("B", "3")
                SET("4") "bra END;\nLOW:\n" SET("1") WAIT("C", "2") SET("3") WAIT(
                    "D",
                    "4") "END:\nactivemask.b32 %r9;\nst.global.u32 [%mine+128], %r9;\nst.global.u32 [%mine+256], %r8;"),
        32);
    assert_int_equal(words[0], 4);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(words[32 + i], 0xffffffffu);
        assert_true(words[64 + i] > 2);
    }
    runner_free(&runner);
}

/* Each lane is a path, and waits for the one with the next higher number: behind the branch of the last one lies what ends the first wait. */
static void test_chain(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words =
        run_alone(&runner,
                  KERNEL("add.u32 %r5, %t, 1;\nsetp.eq.u32 %p2, %t, 31;\n@%p2 bra FIRST;\n"
                         "WAIT:\nld.relaxed.gpu.global.u32 %r1, [%mine+4];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra WAIT;\n"
                         "add.u32 %r1, %r1, 1;\nbra SET;\nFIRST:\nmov.u32 %r1, 1;\nSET:\n"
                         "setp.eq.u32 %p3, %r1, 99;\n@%p3 bra SKIP;\nadd.u32 %r2, %r1, 0;\nSKIP:\n"
                         "st.relaxed.gpu.global.u32 [%mine], %r2;"),
                  32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(words[i], 32 - i);
    runner_free(&runner);
}

/* A fence in the loop makes of any load one that asks others; what each thread has for itself may change. */
static void test_fence_in_the_loop(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words =
        run_alone(&runner,
                  KERNEL(".local .align 8 .b8 l[16];\nmov.u64 %rd1, l;\ncvta.local.u64 %rd1, %rd1;\nmov.u32 %r5, 0;\n"
                         "setp.ge.u32 %p2, %t, 16;\n@%p2 bra SET;\n"
                         "WAIT:\nadd.u32 %r5, %r5, 1;\nst.u32 [%rd1], %r5;\nld.global.u32 %r1, [%out+4];\nmembar.gl;\n"
                         "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra WAIT;\nSET:\nst.global.u32 [%out+4], 7;\nmembar.gl;\n"
                         "st.global.u32 [%mine+128], %r1;"),
                  32);
    assert_int_equal(words[1], 7);
    assert_int_equal(words[32], 7);
    runner_free(&runner);
}

/* Both paths come to a barrier, the one that had waited in a loop before the other one is past it. */
static void test_barrier(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(
        &runner,
        KERNEL("setp.ge.u32 %p1, %t, 16;\n@!%p1 bra LOW;\nst.volatile.global.u32 [%out], 1;\nbarrier.sync 0;\n"
               "ld.volatile.global.u32 %r2, [%out+4];\nst.global.u32 [%mine+128], %r2;\nret;\n"
               "LOW:\nWAIT:\nld.volatile.global.u32 %r1, [%out];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra WAIT;\n"
               "st.volatile.global.u32 [%out+4], 5;\nbarrier.sync 0;"),
        32);
    for (uint32_t i = 16; i < 32; i++)
        assert_int_equal(words[32 + i], 5);
    runner_free(&runner);
}

/* The loop's instructions, and 20 others at most: nobody else has had a turn in between, whatever the loop does. */
static void test_other_loops(void **state)
{
    (void)state;
#define LOOP(body) \
    KERNEL("mov.u32 %r1, 0;\nmov.u32 %r3, 0;\nmov.u64 %rd1, %out;\nsetp.lt.u32 %p1, %t, 3;\n@!%p1 bra JOIN;\n" \
           "LOOP:\n" body "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, " LOOP_LIMIT ";\n@%p2 bra LOOP;\n" \
           "JOIN:\nactivemask.b32 %r4;\nst.global.u32 [%mine+1024], %r4;\nst.global.u32 [%mine+2048], %r3;")
    static const struct {
        const char *text;
        uint32_t instructions;
    } loops[] = {
        {LOOP("add.u32 %r2, %r2, 3;\n"), 1},
        {LOOP("ld.volatile.global.u32 %r2, [%rd1];\nadd.u64 %rd1, %rd1, 4;\nsub.u64 %rd2, %rd1, %out;\n"
              "and.b64 %rd2, %rd2, 0x3fff;\nadd.u64 %rd1, %rd2, %out;\n"),
         5},
        {LOOP("st.volatile.global.u32 [%out+8], 9;\n"), 1},
        {LOOP("red.global.add.u32 [%out+8], 1;\n"), 1},
        {LOOP("atom.global.add.u32 %r2, [%out+8], 1;\nadd.u32 %r3, %r3, %r2;\n"), 2},
        {LOOP("ld.global.u32 %r2, [%out+8];\nadd.u32 %r3, %r3, %r2;\n"), 2},
        {LOOP("ld.volatile.global.u32 %r2, [%out+8];\nst.volatile.global.u32 [%out+12], %r1;\n"), 2},
    };
    for (uint32_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        struct runner runner;
        const uint32_t *words = run_alone(&runner, loops[i].text, 32);
        assert_int_equal(words[256], 0xffffffffu);
        const uint64_t least = (uint64_t)(loops[i].instructions + 3) * atoi(LOOP_LIMIT);
        assert_in_range(runner.count.warp_instructions, least, least + 20);
        runner_free(&runner);
    }
}

/* Who waits for another warp waits as long as that takes; lanes that have nothing but a barrier before them have no turns. */
static void test_waits_for_other_warps(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = run_alone(
        &runner,
        KERNEL("mov.u32 %r5, 0;\nsetp.ge.u32 %p3, %t, 32;\n@%p3 bra OTHER;\nsetp.ne.u32 %p1, %t, 5;\n@%p1 bra JOIN;\n"
               "WAIT:\nld.volatile.global.u32 %r1, [%out];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra WAIT;\n"
               "JOIN:\nbar.sync 0;\nst.global.u32 [%mine+128], 1;\nret;\n"
               "OTHER:\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p4, %r5, 50000;\n@%p4 bra OTHER;\n"
               "st.volatile.global.u32 [%out], 1;\nbar.sync 0;"),
        64);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(words[32 + i], 1);
    runner_free(&runner);
}

/*
 * A lane waits for another warp, and the others of its own, which had a turn meanwhile, are at the barrier behind the loop. They come to it together on
 * any GPU: warp 1 finds behind the second barrier what they stored behind the first.
 */
static void test_barrier_behind_a_turn(void **state)
{
    (void)state;
    static const uint32_t capabilities[] = {61, 70};
    for (uint32_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
        struct runner runner;
        runner_load(
            &runner,
            HEAD ".func meet()\n{\nbar.sync 0;\nret;\n}\n" BODY(
                "mov.u32 %r5, 0;\nsetp.ge.u32 %p3, %t, 32;\n@%p3 bra OTHER;\nsetp.ne.u32 %p1, %t, 5;\n@%p1 bra JOIN;\n"
                "WAIT:\nld.volatile.global.u32 %r1, [%out];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra WAIT;\n"
                "JOIN:\ncall meet;\nst.global.u32 [%mine+128], 1;\ncall meet;\nret;\n"
                "OTHER:\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p4, %r5, 50000;\n@%p4 bra OTHER;\n"
                "st.volatile.global.u32 [%out], 1;\ncall meet;\ncall meet;\nld.volatile.global.u32 %r6, [%mine];\n"
                "st.global.u32 [%mine+1024], %r6;"));
        corun_module_instance_architecture(runner.instance, capabilities[i]);
        assert_int_equal(runner_try(&runner, 64), CORUN_OK);
        const uint32_t *words = runner_words(&runner);
        for (uint32_t lane = 0; lane < 32; lane++)
            assert_int_equal(words[256 + 32 + lane], 1);
        /* Of the older one it is told that there are turns, and of nobody that a barrier was missed. */
        assert_int_equal(corun_module_instance_outside(runner.instance, runner.list), capabilities[i] < 70);
        assert_int_equal(corun_diagnostics_count(runner.list), capabilities[i] < 70);
        assert_null(strstr(runner_message(&runner), "barrier"));
        runner_free(&runner);
    }
}

/* On a GPU whose warps have one pc it is told, and with the check a fault. */
static void test_older_gpus(void **state)
{
    (void)state;
    static const struct {
        uint32_t capability, checks;
        const char *message;
    } cases[] = {
        {70, CORUN_CHECK_SYNC, ""},
        {61, 0,
         "kernel k waits in a loop with 31 threads of a warp, while thread (0,0,0) of thread block (0,0,0) is at line "
         "23; they take turns, as on GPUs since Volta (sm_70); on this one the kernel never ends, unless another warp "
         "ends the wait"},
        {61, CORUN_CHECK_SYNC,
         "kernel k, thread block (0,0,0), thread (1,0,0): threads of a warp wait for each other: 31 threads of warp 0 "
         "wait in a loop, thread (0,0,0) is at line 23 and does not go on before them on a GPU before Volta (sm_70)"},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct runner runner;
        runner_load(&runner, KERNEL(TAKE COUNT RELEASE));
        corun_module_instance_architecture(runner.instance, cases[i].capability);
        corun_module_instance_check(runner.instance, cases[i].checks);
        assert_int_equal(runner_try(&runner, 32), i == 2 ? CORUN_FAULT : CORUN_OK);
        assert_int_equal(corun_module_instance_outside(runner.instance, runner.list), i == 1);
        assert_string_equal(runner_message(&runner), cases[i].message);
        assert_int_equal(runner_line(&runner), i ? 20 : 0);
        runner_free(&runner);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lock),
        cmocka_unit_test(test_lock_in_functions),
        cmocka_unit_test(test_hand_over),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_fence_in_the_loop),
        cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_other_loops),
        cmocka_unit_test(test_waits_for_other_warps),
        cmocka_unit_test(test_barrier_behind_a_turn),
        cmocka_unit_test(test_older_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
