/* SPDX-License-Identifier: MIT */
/* Jobs of the suite on a runtime, and somebody who serves them: slices of a given size, into streams in turns. */
#ifndef CORUN_TESTS_RUNTIME_SERVE_H
#define CORUN_TESTS_RUNTIME_SERVE_H

#include "runtime/runtime.h"
#include "workload/commands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline struct workload_commands *commands_of_launch(const char *specification, uint32_t launch)
{
    char data[4096];
    struct corun_workload *workload;
    struct workload_commands *commands;
    assert_int_equal(corun_data_directory(data, sizeof data, NULL), CORUN_OK);
    assert_int_equal(corun_workload_load(specification, data, NULL, &workload), CORUN_OK);
    assert_int_equal(workload_commands_create(workload, launch, 1, 0, NULL, &commands), CORUN_OK);
    corun_workload_destroy(workload);
    return commands;
}

static inline struct workload_commands *commands_of(const char *specification)
{
    return commands_of_launch(specification, WORKLOAD_ALL_LAUNCHES);
}

static inline uint32_t workload_in(struct runtime *runtime, const struct workload_commands *commands)
{
    uint32_t workload;
    struct corun_diagnostics *list = corun_diagnostics_create();
    enum corun_status status = runtime_add_workload(runtime, commands, list, &workload);
    if (status != CORUN_OK)
        fail_msg("%s", corun_diagnostics_get(list, 0)->message);
    corun_diagnostics_destroy(list);
    return workload;
}

/* Every output, byte for byte. */
static inline void assert_results(const struct runtime *runtime, uint32_t job, const struct workload_commands *commands)
{
    for (size_t i = 0; i < commands->buffer_count; i++)
        if (commands->buffers[i].is_output)
            assert_memory_equal(runtime_result(runtime, job, i), commands->buffers[i].final,
                                commands->buffers[i].bytes);
}

struct server {
    struct runtime *runtime;
    uint64_t slice;   /* thread blocks; 0: whole launches */
    uint32_t streams; /* slices of a launch go round these */
    uint64_t shuffle; /* not 0: slices of a launch in random order, from that seed */
    uint32_t workloads[64];
    const struct workload_commands *commands[64]; /* by job */
    uint32_t ended, failed, returned, none;
    const char *failure;
};

static inline uint32_t submit(struct server *server, uint32_t workload, const struct workload_commands *commands)
{
    uint32_t job;
    assert_int_equal(runtime_submit(server->runtime, workload, &job), CORUN_OK);
    assert_true(job < 64);
    server->workloads[job] = workload;
    server->commands[job] = commands;
    return job;
}

/* All slices of a launch, at once. */
static inline void serve_launch(struct server *server, uint32_t job, uint32_t launch)
{
    struct runtime_launch about;
    runtime_launch_at(server->runtime, server->workloads[job], launch, &about);
    uint64_t size = server->slice && !about.refusal && server->slice < about.tbs ? server->slice : about.tbs;
    uint64_t count = (about.tbs + size - 1) / size;
    uint64_t *order = calloc(count, sizeof *order);
    for (uint64_t i = 0; i < count; i++)
        order[i] = i;
    for (uint64_t i = count; server->shuffle && i-- > 1;) {
        uint64_t other = corun_random(&server->shuffle) % (i + 1), mine = order[i];
        order[i] = order[other];
        order[other] = mine;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t first = order[i] * size, left = about.tbs - first;
        enum corun_status status = runtime_slice(server->runtime, job, first, left < size ? left : size,
                                                 (uint32_t)((job + i) % server->streams));
        assert_true(status == CORUN_OK || status == CORUN_FAULT); /* of another's kernel: told later */
    }
    free(order);
}

/* Until nothing is under way any more. Jobs that have ended are compared with what they should have left. */
static inline void serve(struct server *server)
{
    uint64_t last = 0;
    for (;;) {
        struct runtime_event event;
        struct corun_diagnostics *list = corun_diagnostics_create();
        enum corun_status status = runtime_wait(server->runtime, UINT64_MAX, list, &event);
        if (status != CORUN_OK)
            fail_msg("%s", corun_diagnostics_count(list) ? corun_diagnostics_get(list, 0)->message : "no message");
        corun_diagnostics_destroy(list);
        if (event.kind == RUNTIME_NONE)
            return;
        assert_true(event.time <= runtime_now(server->runtime));
        last = event.time > last ? event.time : last;
        if (event.kind == RUNTIME_READY)
            serve_launch(server, event.job, event.launch);
        if (event.kind == RUNTIME_ENDED)
            assert_results(server->runtime, event.job, server->commands[event.job]);
        if (event.kind == RUNTIME_FAILED)
            server->failure = event.failure;
        server->ended += event.kind == RUNTIME_ENDED;
        server->failed += event.kind == RUNTIME_FAILED;
        server->returned += event.kind == RUNTIME_RETURNED;
        if (event.kind == RUNTIME_ENDED || event.kind == RUNTIME_FAILED)
            runtime_release(server->runtime, event.job);
    }
}

#endif
