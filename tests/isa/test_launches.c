/* SPDX-License-Identifier: MIT */
/* Launches: barriers, deadlocks, the watchdog, special registers, checks of what is launched. */
#include "runner.h"

static void test_barrier_orders_warps(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(
        &runner,
        KERNEL(".shared .align 4 .u32 s[1024];\nshl.b32 %r1, %t, 2;\nmov.u32 %r2, s;\nadd.u32 %r1, %r1, %r2;\n"
               "mov.u32 %r3, 0;\n"
               "LOOP:\n"
               "add.u32 %r4, %t, %r3;\nst.shared.u32 [%r1], %r4;\nbar.sync 0;\n"
               "add.u32 %r5, %t, 1000;\nand.b32 %r5, %r5, 1023;\nshl.b32 %r5, %r5, 2;\nadd.u32 %r5, %r5, %r2;\n"
               "ld.shared.u32 %r6, [%r5];\nbar.sync 0;\n"
               "add.u32 %r3, %r3, %r6;\nadd.u32 %r7, %r7, 1;\nsetp.lt.u32 %p1, %r7, 3;\n@%p1 bra LOOP;\n"
               "st.global.u32 [%mine], %r3;"),
        1024);
    uint32_t sum[1024] = {0}, stored[1024];
    for (uint32_t turn = 0; turn < 3; turn++) {
        for (uint32_t t = 0; t < 1024; t++)
            stored[t] = t + sum[t];
        for (uint32_t t = 0; t < 1024; t++)
            sum[t] += stored[(t + 1000) & 1023];
    }
    assert_memory_equal(words, sum, sizeof sum);
    runner_free(&runner);
}

/* Two producers arrive, two consumers wait; warps that have ended do not hold up bar.sync 0. */
static void test_named_barriers_and_ended_warps(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(
        &runner,
        KERNEL(".shared .align 4 .u32 s;\nshr.u32 %r1, %t, 5;\nsetp.lt.u32 %p1, %r1, 2;\n@%p1 bra CONSUME;\n"
               "atom.shared.add.u32 %r2, [s], 1;\nbar.arrive 3, 128;\nexit;\n"
               "CONSUME:\nbar.sync 3, 128;\nld.shared.u32 %r3, [s];\nbar.sync 0;\nst.global.u32 [%mine], %r3;"),
        128);
    for (uint32_t t = 0; t < 64; t++)
        assert_int_equal(words[t], 64);
    runner_free(&runner);
}

static void test_deadlock(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, KERNEL("setp.lt.u32 %p1, %t, 32;\n@%p1 bra ONE;\nbar.sync 2;\nret;\nONE:\nbar.sync 1, 64;"));
    assert_int_equal(runner_try(&runner, 96), CORUN_DEADLOCK);
    assert_string_equal(
        runner_message(&runner),
        "kernel k, thread block (0,0,0): a barrier can never be met, waiting: warp 0 at barrier 1 (line 24, for 64 "
        "threads), warps 1, 2 at barrier 2 (line 21); none has ended");
    assert_int_equal(runner_line(&runner), 24);
    runner_free(&runner);
}

static void test_watchdog(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, KERNEL("LOOP:\nbra LOOP;"));
    assert_int_equal(runner_run_grid(&runner, "k", (struct corun_dim3){2, 1, 1}, (struct corun_dim3){64, 1, 1}, 0,
                                     &runner.out, 8, 50000),
                     CORUN_WATCHDOG);
    assert_non_null(strstr(runner_message(&runner), "not at its end after 50000 warp instructions"));
    assert_int_equal(runner_line(&runner), 20);
    runner_free(&runner);
}

/* A warp that spins until another one sets a flag makes progress. */
static void test_spinning_warp(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words =
        runner_run(&runner,
                   KERNEL("setp.ge.u32 %p1, %t, 32;\n@%p1 bra SET;\n"
                          "SPIN:\nld.volatile.global.u32 %r1, [%out+1024];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra SPIN;\n"
                          "st.global.u32 [%mine], %r1;\nret;\nSET:\nst.volatile.global.u32 [%out+1024], 8;"),
                   64);
    assert_int_equal(words[31], 8);
    runner_free(&runner);
}

static void test_special_registers(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner,
                KERNEL("mov.u32 %r1, %ntid.x;\nmov.u32 %r2, %ntid.y;\nmov.u32 %r3, %tid.y;\nmov.u32 %r4, %tid.z;\n"
                       "mad.lo.u32 %r5, %r4, %r2, %r3;\nmad.lo.u32 %r5, %r5, %r1, %t;\n" /* thread in block */
                       "mov.u32 %r6, %ctaid.x;\nmov.u32 %r7, %ctaid.y;\nmov.u32 %r8, %ctaid.z;\n"
                       "mov.u32 %r9, %nctaid.x;\nmov.u32 %r10, %nctaid.y;\nmov.u32 %r11, %ntid.z;\n"
                       "mad.lo.u32 %r12, %r8, %r10, %r7;\nmad.lo.u32 %r12, %r12, %r9, %r6;\n" /* block in grid */
                       "mul.lo.u32 %r13, %r1, %r2;\nmul.lo.u32 %r13, %r13, %r11;\nmad.lo.u32 %r14, %r12, %r13, %r5;\n"
                       "mul.wide.u32 %rd1, %r14, 4;\nadd.u64 %rd1, %out, %rd1;\n"
                       "mov.u32 %r15, %laneid;\nmov.u32 %r16, %lanemask_lt;\npopc.b32 %r16, %r16;\n"
                       "sub.u32 %r15, %r15, %r16;\nadd.u32 %r14, %r14, %r15;\n"
                       "mov.u64 %rd2, %clock64;\nmov.u64 %rd3, %clock64;\nsetp.le.u64 %p1, %rd3, %rd2;\n"
                       "@%p1 mov.u32 %r14, 0;\nadd.u32 %r14, %r14, 1;\nst.global.u32 [%rd1], %r14;"));
    assert_int_equal(
        runner_run_grid(&runner, "k", (struct corun_dim3){3, 2, 2}, (struct corun_dim3){5, 3, 4}, 0, &runner.out, 8, 0),
        CORUN_OK);
    const uint32_t *words = runner_words(&runner);
    for (uint32_t i = 0; i < 3 * 2 * 2 * 60; i++)
        assert_int_equal(words[i], i + 1);
    assert_int_equal(words[720], 0);
    runner_free(&runner);
}

/* A move of a vector is one of each element: of a special register's four, of which '_' is left out, or of other registers, all read before. */
static void test_moves_of_vectors(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(
        &runner,
        KERNEL("mov.v4.u32 {%r1, %r2, %r3, %r4}, %tid;\nmov.v4.b32 {%r5, %r6, %r7, %r8}, %ntid;\n"
               "mov.v4.s32 {%r9, _, _, _}, %ctaid;\nmov.v4.u32 {_, %r10, %r11, _}, %nctaid;\n"
               "mad.lo.u32 %r12, %r3, %r6, %r2;\nmad.lo.u32 %r12, %r12, %r5, %r1;\n"
               "mul.lo.u32 %r13, %r5, %r6;\nmul.lo.u32 %r13, %r13, %r7;\n"
               "mad.lo.u32 %r12, %r9, %r13, %r12;\nmul.wide.u32 %rd1, %r12, 32;\nadd.u64 %rd1, %out, %rd1;\n"
               "st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};\n"
               "mov.u32 %r14, %tid.b;\nmov.u32 %r15, %clusterid.w;\nadd.u32 %r14, %r14, %r15;\n"
               "mov.v4.u32 {%r1, %r2, %r3, %r4}, {%r2, %r3, %r1, 7};\n" /* each one's place is another's source */
               "setp.eq.u32 %p1, %r9, 1;\n@%p1 mov.v2.b32 {%r1, %r2}, {%r2, %r1};\n"
               "add.u32 %r4, %r4, %r8;\nmad.lo.u32 %r4, %r14, 100, %r4;\n"
               "mad.lo.u32 %r4, %r10, 1000, %r4;\nmad.lo.u32 %r4, %r11, 10000, %r4;\n"
               "st.global.v4.u32 [%rd1+16], {%r1, %r2, %r3, %r4};"));
    assert_int_equal(
        runner_run_grid(&runner, "k", (struct corun_dim3){2, 1, 1}, (struct corun_dim3){5, 3, 2}, 0, &runner.out, 8, 0),
        CORUN_OK);
    const uint32_t *words = runner_words(&runner);
    for (uint32_t i = 0; i < 60; i++) {
        const uint32_t x = i % 5, y = i / 5 % 3, z = i / 15 % 2, swaps = i / 30;
        const uint32_t expected[8] = {x, y, z, 0, swaps ? z : y, swaps ? y : z, x, 7 + z * 100 + 1000 + 10000};
        assert_memory_equal(words + 8 * i, expected, sizeof expected);
    }
    runner_free(&runner);
}

static void expect_refusal(struct runner *runner, struct corun_dim3 grid, struct corun_dim3 block, uint32_t shared,
                           size_t bytes, enum corun_status wanted, const char *message)
{
    struct corun_launch_description description = {
        .kernel = corun_module_kernel(runner->module, "k"),
        .grid = grid,
        .block = block,
        .dynamic_shared_bytes = shared,
        .parameters = &runner->out,
        .parameter_bytes = bytes,
    };
    struct corun_grid *launch = (struct corun_grid *)8;
    corun_diagnostics_clear(runner->list);
    assert_int_equal(corun_grid_create(runner->instance, &description, runner->list, &launch), wanted);
    assert_null(launch);
    assert_string_equal(runner_message(runner), message);
}

/*
 * A launch without timing leaves its thread block to the next one of the kernel. Nothing may show: registers, predicates, shared and local memory
 * that were not written are zero, of whatever size the thread block was, and after another kernel too.
 */
static void test_launches_know_nothing_of_earlier_ones(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner,
                HEAD ".visible .entry k(.param .u64 p, .param .u32 writes)\n{\n.reg .b32 %r<8>;\n.reg .b64 %out;\n"
                     ".reg .pred %p, %q;\n.shared .b32 s[64];\n.local .b32 l[8];\n"
                     "ld.param.u64 %out, [p];\nld.param.u32 %r1, [writes];\nsetp.ne.u32 %p, %r1, 0;\n"
                     "@%p bra WRITE;\n"
                     "ld.shared.u32 %r2, [s+12];\nld.local.u32 %r3, [l+8];\nor.b32 %r2, %r2, %r3;\n"
                     "or.b32 %r2, %r2, %r5;\n@%q or.b32 %r2, %r2, 1;\nadd.u32 %r2, %r2, 7;\n"
                     "atom.global.add.u32 %r4, [%out], %r2;\nret;\n"
                     "WRITE:\nmov.u32 %r5, 77;\nsetp.eq.u32 %q, %r5, 77;\nst.shared.u32 [s+12], %r5;\n"
                     "st.local.u32 [l+8], %r5;\n@%q st.global.u32 [%out+4], %r5;\nret;\n}\n"
                     ".visible .entry other(.param .u64 p)\n{\nret;\n}\n");
    struct {
        uint64_t out;
        uint32_t writes;
    } parameters = {.out = runner.out};
    const struct corun_dim3 one = {1, 1, 1}, threads[] = {{64, 1, 1}, {32, 1, 1}, {64, 1, 1}, {48, 1, 1}};
    uint32_t readers = 0;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        parameters.writes = 1;
        assert_int_equal(runner_run_grid(&runner, "k", one, threads[i], 0, &parameters, 12, 1000000), CORUN_OK);
        if (i == 2)
            assert_int_equal(runner_run_grid(&runner, "other", one, one, 0, &runner.out, 8, 1000000), CORUN_OK);
        parameters.writes = 0;
        assert_int_equal(runner_run_grid(&runner, "k", one, threads[i], 0, &parameters, 12, 1000000), CORUN_OK);
        assert_int_equal(runner_run_grid(&runner, "k", one, threads[3 - i], 0, &parameters, 12, 1000000), CORUN_OK);
        readers += threads[i].x + threads[3 - i].x;
    }
    assert_int_equal(runner_words(&runner)[0], 7 * readers);
    assert_int_equal(runner_words(&runner)[1], 77);
    runner_free(&runner);
}

static void test_refused_launches(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, KERNEL(""));
    struct corun_dim3 one = {1, 1, 1};
    expect_refusal(&runner, (struct corun_dim3){1, 0, 1}, one, 0, 8, CORUN_ARGUMENT,
                   "kernel k: grid (1,0,1) of blocks (1,1,1): a dimension is 0");
    expect_refusal(&runner, one, (struct corun_dim3){32, 33, 1}, 0, 8, CORUN_LIMIT,
                   "kernel k: a block of (32,33,1) is too large: at most (1024,1024,64) and 1024 threads in all");
    expect_refusal(
        &runner, (struct corun_dim3){2147483647, 65535, 2}, one, 0, 8, CORUN_LIMIT,
        "kernel k: grid (2147483647,65535,2) is too large: at most (2147483647,65535,65535) and 2^32 - 1 in all");
    expect_refusal(&runner, one, one, 0, 4, CORUN_ARGUMENT, "kernel k takes 8 bytes of parameters, not 4");
    expect_refusal(&runner, one, one, 3000000, 8, CORUN_LIMIT,
                   "kernel k: 0 bytes of static and 3000000 of dynamic shared memory are too much");
    runner_free(&runner);
}

static void test_kernel_information(void **state)
{
    (void)state;
    static const char assembled[] = "ptxas info    : Compiling entry function 'bounded' for 'sm_75'\n"
                                    "ptxas info    : Used 99 registers, 352 bytes cmem[0]\n";
    struct runner runner;
    runner_load(&runner, HEAD
                ".const .align 4 .b8 table[100];\n.visible .entry bounded() .reqntid 64, 2 .minnctapersm 3 { ret; }\n"
                ".visible .entry first(.param .u64 .ptr .global p, .param .f32 x, .param .align 4 .b8 s[12])\n"
                ".maxntid 128, 2, 1\n.maxnreg 40\n{\nret;\n}\n.visible .entry second()\n{\n.local .align 4 .b8 "
                "l[40];\nret;\n}\n");
    struct corun_kernel_info info;
    assert_int_equal(corun_module_kernel_count(runner.module), 3);
    corun_kernel_describe(corun_module_kernel_at(runner.module, 0), &info);
    assert_int_equal(info.max_threads_per_tb, 128);
    assert_int_equal(info.bounds.threads, 128);
    assert_int_equal(info.bounds.tbs, 3);
    corun_module_take_registers((struct corun_module *)(uintptr_t)runner.module, assembled, sizeof assembled - 1);
    corun_kernel_describe(corun_module_kernel_at(runner.module, 0), &info);
    assert_int_equal(info.registers_per_thread, 99);
    assert_int_equal(info.bounds.threads + info.bounds.tbs, 0);
    corun_kernel_describe(corun_module_kernel_at(runner.module, 1), &info);
    assert_string_equal(info.name, "first");
    assert_string_equal(info.registers_from, "maxnreg");
    assert_int_equal(info.registers_per_thread, 40);
    assert_int_equal(info.max_threads_per_tb, 256);
    assert_int_equal(info.bounds.threads, 0); /* .maxnreg decides */
    assert_int_equal(info.constant_bytes, 100);
    assert_int_equal(info.parameter_count, 3);
    assert_int_equal(info.parameter_bytes, 24);
    assert_true(info.parameters[0].is_pointer && !info.parameters[1].is_pointer);
    assert_string_equal(info.parameters[1].type, "f32");
    assert_int_equal(info.parameters[2].offset_bytes, 12);
    assert_int_equal(info.parameters[2].bytes, 12);
    corun_kernel_describe(corun_module_kernel(runner.module, "second"), &info);
    assert_int_equal(info.local_bytes, 48);
    assert_null(corun_module_kernel(runner.module, "third"));
    assert_null(corun_module_kernel_at(runner.module, 3));
    runner_free(&runner);
}

static void test_bad_files(void **state)
{
    (void)state;
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_module *module = (struct corun_module *)8;
    assert_int_equal(corun_module_load_file("/nowhere/at/all.ptx", list, &module), CORUN_NOT_FOUND);
    assert_null(module);
    corun_diagnostics_clear(list);
    assert_int_equal(corun_module_load("empty", "", 0, list, &module), CORUN_SYNTAX);
    assert_null(module);
    corun_diagnostics_clear(list);
    const char *narrow = ".version 3.0\n.target sm_20\n.address_size 32\n";
    assert_int_equal(corun_module_load("narrow", narrow, strlen(narrow), list, &module), CORUN_UNSUPPORTED);
    assert_string_equal(corun_diagnostics_get(list, 0)->message, "not supported: .address_size 32");
    corun_diagnostics_destroy(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barrier_orders_warps),
        cmocka_unit_test(test_named_barriers_and_ended_warps),
        cmocka_unit_test(test_deadlock),
        cmocka_unit_test(test_watchdog),
        cmocka_unit_test(test_spinning_warp),
        cmocka_unit_test(test_special_registers),
        cmocka_unit_test(test_moves_of_vectors),
        cmocka_unit_test(test_launches_know_nothing_of_earlier_ones),
        cmocka_unit_test(test_refused_launches),
        cmocka_unit_test(test_kernel_information),
        cmocka_unit_test(test_bad_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
