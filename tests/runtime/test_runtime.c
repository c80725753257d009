/* SPDX-License-Identifier: MIT */
/*
 * Jobs of the suite through a CUDA driver: corun's own on a simulated GPU, which the test is given by its path (CORUN_TEST_DRIVER).
 * Nothing in here is special to that driver; results are compared byte for byte with a run without timing.
 */
#include "runtime/measure.h"
#include "runtime/serve.h"

static struct runtime *open_with(const struct runtime_options *given)
{
    struct runtime *runtime;
    struct runtime_options options = *given;
    struct corun_diagnostics *list = corun_diagnostics_create();
    options.library = getenv("CORUN_TEST_DRIVER");
    enum corun_status status = runtime_open(&options, list, &runtime);
    if (status != CORUN_OK)
        fail_msg("%s", corun_diagnostics_get(list, 0)->message);
    corun_diagnostics_destroy(list);
    return runtime;
}

/* The kernels of the paper, in sizes of a moment. */
static const char *const suite[] = {"black-scholes@small,options=8000,blocks=12",
                                    "matmul@small",
                                    "tea@small,bytes=40000",
                                    "mri-q@small,points=512,samples=32",
                                    "pointer-chasing@small",
                                    "spmv@small",
                                    "stencil@small,nx=64,nz=4",
                                    "sad@small"};

enum { SUITE = sizeof suite / sizeof *suite };

static void serve_suite(const struct runtime_options *options, const struct server *how, uint32_t instances,
                        struct runtime_statistics *statistics)
{
    struct server server = *how;
    struct workload_commands *commands[SUITE];
    uint32_t workloads[SUITE];
    server.runtime = open_with(options);
    for (size_t i = 0; i < SUITE; i++) {
        commands[i] = commands_of(suite[i]);
        workloads[i] = workload_in(server.runtime, commands[i]);
    }
    for (size_t i = 0; i < SUITE * (size_t)instances; i++)
        submit(&server, workloads[i % SUITE], commands[i % SUITE]);
    serve(&server);
    assert_int_equal(server.ended, SUITE * instances);
    assert_int_equal(server.failed + server.returned, 0);
    runtime_statistics(server.runtime, statistics);
    runtime_close(server.runtime);
    for (size_t i = 0; i < SUITE; i++)
        workload_commands_destroy(commands[i]);
}

static void whole_launches(void **state)
{
    (void)state;
    struct runtime_statistics statistics;
    serve_suite(&(struct runtime_options){0}, &(struct server){.streams = 4}, 1, &statistics);
    assert_int_equal(statistics.jobs_ended, SUITE);
    assert_true(statistics.kernel_nanoseconds > 0 && statistics.copy_nanoseconds > 0);
}

static void slices_of_seven(void **state)
{
    (void)state;
    struct runtime_statistics statistics;
    serve_suite(&(struct runtime_options){0}, &(struct server){.streams = 3, .slice = 7}, 1, &statistics);
    assert_true(statistics.slices > 2 * SUITE);
}

static void slices_in_any_order(void **state)
{
    (void)state;
    struct runtime_statistics statistics;
    serve_suite(&(struct runtime_options){0}, &(struct server){.streams = 16, .slice = 5, .shuffle = 42}, 1,
                &statistics);
}

static void data_that_stay(void **state)
{
    (void)state;
    struct runtime_statistics moved, stayed;
    serve_suite(&(struct runtime_options){0}, &(struct server){.streams = 4, .slice = 16}, 2, &moved);
    serve_suite(&(struct runtime_options){.resident = true}, &(struct server){.streams = 4, .slice = 16}, 2, &stayed);
    assert_true(stayed.bytes_in < moved.bytes_in);
    assert_int_equal(stayed.bytes_out, moved.bytes_out);
}

/* A variable that no run changes is set once for each form of the module, however many jobs use it: none needs a module of its own. */
static void variables_that_stay(void **state)
{
    (void)state;
    enum { JOBS = 3, FORMS = 2 };
    uint64_t once = 0, variables = 0;
    struct runtime_statistics statistics;
    struct server server = {
        .streams = 4, .slice = 7, .runtime = open_with(&(struct runtime_options){.resident = true})};
    struct workload_commands *commands = commands_of("tea@small,bytes=40000");
    uint32_t workload = workload_in(server.runtime, commands);
    for (size_t i = 0; i < commands->buffer_count; i++) {
        const struct command_buffer *buffer = &commands->buffers[i];
        assert_true(!buffer->initial || buffer->is_constant);
        variables += buffer->symbol && buffer->initial ? FORMS * buffer->bytes : 0;
        once += buffer->initial && !buffer->symbol ? buffer->bytes : 0;
    }
    assert_true(variables > 0);
    for (int i = 0; i < JOBS; i++)
        submit(&server, workload, commands);
    serve(&server);
    runtime_statistics(server.runtime, &statistics);
    assert_int_equal(server.ended, JOBS);
    assert_int_equal(statistics.bytes_in, once + variables);
    runtime_close(server.runtime);
    workload_commands_destroy(commands);
}

/* Side by side, some of the copying is hidden; in turns, nothing is. */
static void copies_and_kernels(void **state)
{
    (void)state;
    struct runtime_statistics beside, in_turns;
    struct server how = {.streams = 2, .slice = 16};
    serve_suite(&(struct runtime_options){0}, &how, 2, &beside);
    serve_suite(&(struct runtime_options){.in_turns = true}, &how, 2, &in_turns);
    assert_true(beside.overlap_nanoseconds > 0);
    assert_int_equal(in_turns.overlap_nanoseconds, 0);
}

/* Bytes of the device that jobs of these commands take. */
static uint64_t bytes_of(const struct workload_commands *commands)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < commands->buffer_count; i++)
        bytes += commands->buffers[i].symbol ? 0 : (commands->buffers[i].bytes + 511) / 512 * 512;
    return bytes;
}

static void working_sets_take_turns(void **state)
{
    (void)state;
    struct workload_commands *tea = commands_of("tea@small,bytes=40000"), *matmul = commands_of("matmul@small");
    uint64_t most = 2 * bytes_of(matmul) + bytes_of(tea) - 1;
    struct server server = {.streams = 4, .slice = 16};
    struct runtime_statistics statistics;
    server.runtime = open_with(&(struct runtime_options){.memory_bytes = most});
    uint32_t workloads[] = {workload_in(server.runtime, tea), workload_in(server.runtime, matmul)};
    for (uint32_t i = 0; i < 12; i++)
        submit(&server, workloads[i % 2], i % 2 ? matmul : tea);
    serve(&server);
    runtime_statistics(server.runtime, &statistics);
    assert_int_equal(server.ended, 12);
    assert_true(statistics.memory_peak_bytes <= most);
    assert_true(statistics.memory_waits >= 8);
    runtime_close(server.runtime);
    workload_commands_destroy(tea);
    workload_commands_destroy(matmul);
}

static void too_large_for_ever(void **state)
{
    (void)state;
    struct workload_commands *tea = commands_of("tea@small");
    struct runtime *runtime = open_with(&(struct runtime_options){.memory_bytes = bytes_of(tea) - 1});
    uint32_t workload;
    assert_int_equal(runtime_add_workload(runtime, tea, NULL, &workload), CORUN_LIMIT);
    runtime_close(runtime);
    workload_commands_destroy(tea);
}

/* A kernel that writes where nothing is, and what others lose by it. */
static const char bad_ptx[] =
    ".version 6.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry bad(.param .u64 place)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<2>;\n"
    "ld.param.u64 %rd1, [place];\nmov.u32 %r1, 7;\nst.global.u32 [%rd1+268435456], %r1;\nret;\n}\n";

static void the_one_that_fails_fails_alone(void **state)
{
    (void)state;
    const struct command_argument place = {.bytes = 8, .is_buffer = true};
    const uint32_t zeros[64] = {0};
    const struct command_buffer buffer = {.name = "place", .bytes = sizeof zeros, .final = zeros};
    const struct command launch = {
        .kernel = "bad", .grid = {4, 1, 1}, .block = {32, 1, 1}, .argument_count = 1, .arguments = &place};
    const struct workload_commands bad = {.name = "bad",
                                          .ptx = bad_ptx,
                                          .ptx_bytes = sizeof bad_ptx - 1,
                                          .buffers = &buffer,
                                          .buffer_count = 1,
                                          .commands = &launch,
                                          .command_count = 1,
                                          .launch_count = 1};
    struct workload_commands *good = commands_of("matmul@small");
    struct runtime_statistics statistics;
    struct server server = {.streams = 4, .slice = 3};
    server.runtime = open_with(&(struct runtime_options){0});
    uint32_t workloads[] = {workload_in(server.runtime, good), workload_in(server.runtime, &bad)};
    for (uint32_t i = 0; i < 6; i++)
        submit(&server, workloads[i == 2 || i == 4], i == 2 || i == 4 ? &bad : good);
    serve(&server);
    assert_int_equal(server.failed, 2);
    assert_int_equal(server.ended, 4);
    assert_string_equal(server.failure, "CUDA_ERROR_ILLEGAL_ADDRESS");
    runtime_statistics(server.runtime, &statistics);
    assert_int_equal(statistics.jobs_failed, 2);
    runtime_close(server.runtime);
    workload_commands_destroy(good);
}

/* The second launch of a run, over the data that the first one leaves. */
static void a_launch_out_of_a_run(void **state)
{
    (void)state;
    struct workload_commands *commands = commands_of_launch("mri-q@small,points=512,samples=32", 1);
    assert_int_equal(commands->command_count, 1);
    assert_string_equal(commands->commands[0].kernel, "compute_q");
    struct server server = {.streams = 2, .slice = 1, .runtime = open_with(&(struct runtime_options){0})};
    uint32_t workload = workload_in(server.runtime, commands), outputs = 0;
    for (size_t i = 0; i < commands->buffer_count; i++)
        outputs += commands->buffers[i].is_output;
    assert_int_equal(outputs, 2); /* q_r, q_i */
    submit(&server, workload, commands);
    submit(&server, workload, commands);
    serve(&server);
    assert_int_equal(server.ended, 2);
    runtime_close(server.runtime);
    workload_commands_destroy(commands);
}

/* A kernel that counts its runs in a variable of its module: every job finds it as the module has it. */
static const char counting_ptx[] =
    ".version 6.0\n.target sm_52\n.address_size 64\n.visible .global .u32 runs = 5;\n"
    ".visible .entry count(.param .u64 place)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<3>;\n"
    "ld.param.u64 %rd1, [place];\nmov.u64 %rd2, runs;\nld.global.u32 %r1, [%rd2];\nadd.s32 %r1, %r1, 1;\n"
    "st.global.u32 [%rd2], %r1;\nst.global.u32 [%rd1], %r1;\nret;\n}\n";

static void variables_start_anew(void **state)
{
    (void)state;
    const struct command_argument place = {.bytes = 8, .is_buffer = true};
    const uint32_t six = 6;
    const struct command_buffer buffer = {.name = "place", .bytes = sizeof six, .final = &six, .is_output = true};
    const struct command launch = {
        .kernel = "count", .grid = {1, 1, 1}, .block = {1, 1, 1}, .argument_count = 1, .arguments = &place};
    const struct workload_commands commands = {.name = "count",
                                               .ptx = counting_ptx,
                                               .ptx_bytes = sizeof counting_ptx - 1,
                                               .buffers = &buffer,
                                               .buffer_count = 1,
                                               .commands = &launch,
                                               .command_count = 1,
                                               .launch_count = 1};
    struct server server = {.streams = 2, .runtime = open_with(&(struct runtime_options){0})};
    uint32_t workload = workload_in(server.runtime, &commands);
    for (uint32_t i = 0; i < 3; i++) {
        submit(&server, workload, &commands);
        serve(&server);
    }
    assert_int_equal(server.ended, 3);
    runtime_close(server.runtime);
}

static void two_runtimes(void **state)
{
    (void)state;
    struct workload_commands *tea = commands_of("tea@small,bytes=40000");
    struct server servers[2] = {{.streams = 2, .slice = 9}, {.streams = 1}};
    for (uint32_t i = 0; i < 2; i++) {
        servers[i].runtime = open_with(&(struct runtime_options){0});
        uint32_t workload = workload_in(servers[i].runtime, tea);
        submit(&servers[i], workload, tea);
        submit(&servers[i], workload, tea);
    }
    for (uint32_t i = 2; i-- > 0;) {
        serve(&servers[i]);
        assert_int_equal(servers[i].ended, 2);
    }
    runtime_close(servers[0].runtime);
    runtime_close(servers[1].runtime);
    workload_commands_destroy(tea);
}

/* Small slices cost more than large ones, and the smallest that is good enough is between. */
static void the_cost_of_slices(void **state)
{
    (void)state;
    struct workload_commands *tea = commands_of("tea@small,bytes=60000");
    struct runtime *runtime = open_with(&(struct runtime_options){0});
    struct runtime_launch about;
    uint32_t workload = workload_in(runtime, tea);
    uint64_t whole, small, large, least, again, job_time;
    runtime_launch_at(runtime, workload, 0, &about);
    for (uint32_t i = 0; i < 2; i++) /* the second with warm caches */
        assert_int_equal(runtime_measure(runtime, workload, 0, 0, 1, NULL, &whole), CORUN_OK);
    assert_int_equal(runtime_measure(runtime, workload, 0, 4, 1, NULL, &small), CORUN_OK);
    assert_int_equal(runtime_measure(runtime, workload, 0, 32, 1, NULL, &large), CORUN_OK);
    assert_true(small > large && large > whole && whole > 0);
    assert_int_equal(runtime_smallest_slice(runtime, workload, 0, 10, NULL, &least, &again), CORUN_OK);
    assert_int_equal(least, 4); /* anything goes: one thread block for each SM */
    assert_true(again > 0);
    assert_int_equal(runtime_smallest_slice(runtime, workload, 0, -0.5, NULL, &least, &again), CORUN_OK);
    assert_int_equal(least, about.tbs); /* nothing is that cheap */
    assert_int_equal(runtime_measure(runtime, workload, 0, 1, 0, NULL, &job_time), CORUN_ARGUMENT);
    runtime_close(runtime);
    workload_commands_destroy(tea);
}

/* With nothing under way, time passes for who waits for it, and costs nothing on a simulated GPU. */
static void nothing_to_do(void **state)
{
    (void)state;
    struct runtime *runtime = open_with(&(struct runtime_options){0});
    struct runtime_event event;
    uint64_t until = runtime_now(runtime) + 1000000000;
    assert_int_equal(runtime_wait(runtime, UINT64_MAX, NULL, &event), CORUN_OK);
    assert_int_equal(event.kind, RUNTIME_NONE);
    assert_int_equal(runtime_wait(runtime, until, NULL, &event), CORUN_OK);
    assert_int_equal(event.kind, RUNTIME_NONE);
    assert_true(runtime_now(runtime) >= until);
    assert_true(runtime_now(runtime) < until + 1000000000);
    runtime_close(runtime);
}

static void waits_no_longer_than_asked(void **state)
{
    (void)state;
    struct workload_commands *matmul = commands_of("matmul@small");
    struct runtime *runtime = open_with(&(struct runtime_options){0});
    uint32_t workload = workload_in(runtime, matmul), job;
    struct runtime_event event;
    assert_int_equal(runtime_submit(runtime, workload, &job), CORUN_OK);
    uint64_t now = runtime_now(runtime);
    assert_int_equal(runtime_wait(runtime, now, NULL, &event), CORUN_OK);
    assert_int_equal(event.kind, RUNTIME_NONE);
    assert_int_equal(runtime_wait(runtime, UINT64_MAX, NULL, &event), CORUN_OK);
    assert_int_equal(event.kind, RUNTIME_READY);
    runtime_close(runtime); /* with a job that nobody served */
    workload_commands_destroy(matmul);
}

static void wrong_requests_are_refused(void **state)
{
    (void)state;
    struct workload_commands *matmul = commands_of("matmul@small");
    struct runtime *runtime = open_with(&(struct runtime_options){.streams = 2});
    uint32_t workload = workload_in(runtime, matmul), job;
    struct runtime_event event;
    struct runtime_launch about;
    runtime_launch_at(runtime, workload, 0, &about);
    assert_null(about.refusal);
    assert_true(about.tbs_per_sm > 0);
    assert_int_equal(runtime_slice(runtime, 0, 0, 1, 0), CORUN_ARGUMENT); /* no job */
    assert_int_equal(runtime_submit(runtime, workload, &job), CORUN_OK);
    assert_int_equal(runtime_slice(runtime, job, 0, 1, 0), CORUN_ARGUMENT); /* it is not ready */
    assert_int_equal(runtime_wait(runtime, UINT64_MAX, NULL, &event), CORUN_OK);
    assert_int_equal(runtime_slice(runtime, job, 0, about.tbs + 1, 0), CORUN_ARGUMENT);
    assert_int_equal(runtime_slice(runtime, job, about.tbs, 1, 0), CORUN_ARGUMENT);
    assert_int_equal(runtime_slice(runtime, job, UINT64_MAX, 2, 0), CORUN_ARGUMENT);
    assert_int_equal(runtime_slice(runtime, job, 0, 0, 0), CORUN_ARGUMENT);
    assert_int_equal(runtime_slice(runtime, job, 0, 1, 2), CORUN_ARGUMENT); /* no such stream */
    assert_int_equal(runtime_slice(runtime, job, 0, 1, 1), CORUN_OK);
    assert_int_equal(runtime_slice(runtime, job, 0, about.tbs, 1), CORUN_ARGUMENT); /* one of them twice */
    runtime_close(runtime);
    workload_commands_destroy(matmul);
}

static void no_driver_is_named(void **state)
{
    (void)state;
    struct runtime *runtime;
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct runtime_options options = {.library = "/nowhere/libcuda.so.1"};
    assert_int_equal(runtime_open(&options, list, &runtime), CORUN_NOT_FOUND);
    assert_non_null(strstr(corun_diagnostics_get(list, 0)->message, "/nowhere/libcuda.so.1"));
    corun_diagnostics_clear(list);
    options = (struct runtime_options){.library = getenv("CORUN_TEST_DRIVER"), .device = 9};
    assert_int_equal(runtime_open(&options, list, &runtime), CORUN_ARGUMENT);
    assert_string_equal(corun_diagnostics_get(list, 0)->message, "there is no device 9: the driver has 1");
    options = (struct runtime_options){.streams = 17};
    assert_int_equal(runtime_open(&options, NULL, &runtime), CORUN_ARGUMENT);
    assert_null(runtime);
    corun_diagnostics_destroy(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_launches),
        cmocka_unit_test(slices_of_seven),
        cmocka_unit_test(slices_in_any_order),
        cmocka_unit_test(data_that_stay),
        cmocka_unit_test(variables_that_stay),
        cmocka_unit_test(copies_and_kernels),
        cmocka_unit_test(working_sets_take_turns),
        cmocka_unit_test(too_large_for_ever),
        cmocka_unit_test(the_one_that_fails_fails_alone),
        cmocka_unit_test(a_launch_out_of_a_run),
        cmocka_unit_test(variables_start_anew),
        cmocka_unit_test(two_runtimes),
        cmocka_unit_test(the_cost_of_slices),
        cmocka_unit_test(nothing_to_do),
        cmocka_unit_test(waits_no_longer_than_asked),
        cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(no_driver_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
