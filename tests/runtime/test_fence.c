/* SPDX-License-Identifier: MIT */
/* Fenced workloads through a CUDA driver: a kernel that writes all over the device costs only its own job. */
#include "runtime/serve.h"
#include "runtime/wild_ptx.h"

#include <stdio.h>

enum { GOOD_JOBS = 4, REACH = 40000 /* about 10 MB each way */ };

static struct server open_server(bool fence, uint64_t slice)
{
    struct server server = {.slice = slice, .streams = 2};
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct runtime_options options = {.library = getenv("CORUN_TEST_DRIVER"), .fence = fence, .refilled = true};
    if (runtime_open(&options, list, &server.runtime) != CORUN_OK)
        fail_msg("%s", corun_diagnostics_get(list, 0)->message);
    corun_diagnostics_destroy(list);
    return server;
}

struct outcome {
    struct server server;
    char failure[256];
};

/* Good jobs before, beside and behind a wild one. */
static struct outcome run_beside_wild(bool fence, uint64_t slice)
{
    struct outcome outcome = {.server = open_server(fence, slice)};
    struct server *server = &outcome.server;
    struct hand *good = hand_create("good", 100, 50, 2), *wild = hand_create("wild", 3, REACH, 1);
    make_wild(wild);
    uint32_t first = workload_in(server->runtime, &good->commands),
             second = workload_in(server->runtime, &wild->commands);
    for (uint32_t i = 0; i < GOOD_JOBS; i++) {
        submit(server, first, &good->commands);
        if (i == 1)
            submit(server, second, &wild->commands);
    }
    serve(server);
    snprintf(outcome.failure, sizeof outcome.failure, "%s", server->failure ? server->failure : "");
    runtime_close(server->runtime);
    hand_destroy(good);
    hand_destroy(wild);
    return outcome;
}

static void a_fence_costs_only_the_wild_one(void **state)
{
    (void)state;
    for (uint64_t slice = 0; slice < 20; slice += 9) {
        struct outcome outcome = run_beside_wild(true, slice);
        assert_int_equal(outcome.server.ended, GOOD_JOBS); /* with what they should have left: serve compares */
        assert_int_equal(outcome.server.failed, 1);
        assert_int_equal(outcome.server.returned, 0);
        assert_non_null(strstr(outcome.failure, "hand, line "));
        assert_non_null(strstr(outcome.failure, "(st): 4 bytes at 0x"));
        assert_non_null(strstr(outcome.failure, " lie outside of its own memory"));
    }
}

/* The same without a fence: the driver's error, and a context that is lost for all. */
static void without_one_all_start_over(void **state)
{
    (void)state;
    struct outcome outcome = run_beside_wild(false, 0);
    assert_int_equal(outcome.server.failed, 1);
    assert_int_equal(outcome.server.ended, GOOD_JOBS);
    assert_non_null(strstr(outcome.failure, "CUDA_ERROR_"));
}

/* The suite leaves what it leaves without fences. */
static void the_suite_stays_inside(void **state)
{
    (void)state;
    static const char *const names[] = {"hotspot@small", "merge-sort@small", "histogram@small", "spmv@small",
                                        "sad@small"};
    struct server server = open_server(true, 5);
    struct workload_commands *commands[sizeof names / sizeof names[0]];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        commands[i] = commands_of(names[i]);
        uint32_t workload = workload_in(server.runtime, commands[i]);
        for (uint32_t k = 0; k < 5; k++) /* more than have memory at once */
            submit(&server, workload, commands[i]);
    }
    serve(&server);
    assert_int_equal(server.ended, 5 * (sizeof names / sizeof names[0]));
    assert_int_equal(server.failed, 0);
    runtime_close(server.runtime);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        workload_commands_destroy(commands[i]);
}

static void what_cannot_be_fenced(void **state)
{
    (void)state;
    static const char text[] =
        WORKERS_HEAD ".global .surfref s;\n.visible .entry hand(.param .u64 out, .param .u32 spin)\n"
                     "{\n.reg .b32 %r<2>;\nmov.u32 %r0, 0;\nsuld.b.1d.b32.trap %r1, [s, {%r0}];\nret;\n}\n";
    struct server server = open_server(true, 0);
    struct hand *hand = hand_create("hand", 1, 1, 1);
    struct corun_diagnostics *list = corun_diagnostics_create();
    uint32_t workload;
    hand->commands.ptx = text;
    hand->commands.ptx_bytes = sizeof text - 1;
    assert_int_equal(runtime_add_workload(server.runtime, &hand->commands, list, &workload), CORUN_UNSUPPORTED);
    assert_non_null(strstr(corun_diagnostics_get(list, 0)->message, "kernel hand cannot be fenced: line 9: a texture"));
    corun_diagnostics_destroy(list);
    runtime_close(server.runtime);
    hand_destroy(hand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fence_costs_only_the_wild_one), cmocka_unit_test(without_one_all_start_over),
        cmocka_unit_test(the_suite_stays_inside), cmocka_unit_test(what_cannot_be_fenced)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
