/* SPDX-License-Identifier: MIT */
/*
 * The suite as machine code: whatever is rewritten, every buffer is byte for byte what the PTX as written leaves, and the thread
 * instructions that the PTX would have run are counted to the last one.
 *
 *     NAME…    of the suite, or a description's path; small, without timing: each rewrite alone, all of them, and all but the last; and with
 *              timing: all of them
 */
#include "assemble/assemble.h"
#include "corun/config.h"
#include "corun/gpu.h"
#include "corun/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SEED = 7 };
static const uint64_t watchdog = UINT64_C(1) << 40;

struct outcome {
    uint8_t *bytes;
    size_t count;
    struct corun_functional_result counted;
};

/* Its threads work on what atomics gave out in the order in which they came, and its floats round in that order: both are matters of time. */
static bool depends_on_time(const char *name)
{
    return strcmp(name, "mri-gridding") == 0;
}

/* Its fragments and products are PTX instructions that are issued in several steps; each step counts as one that ran. */
static bool has_steps(const char *name)
{
    return strcmp(name, "gemm-wmma") == 0 || strcmp(name, "gemm-wgmma") == 0;
}

static void check(enum corun_status status, const struct corun_diagnostics *list)
{
    if (status != CORUN_OK)
        fail_msg("%s", corun_diagnostics_count(list) ? corun_diagnostics_get(list, 0)->message : "no message");
}

static void keep_buffers(struct corun_instance *instance, struct outcome *outcome)
{
    for (size_t i = 0; i < corun_instance_buffer_count(instance); i++) {
        struct corun_buffer_info info;
        corun_instance_buffer_at(instance, i, &info);
        outcome->bytes = realloc(outcome->bytes, outcome->count + info.bytes + 1);
        assert_non_null(outcome->bytes);
        assert_int_equal(corun_memory_read(corun_instance_memory(instance), info.address,
                                           outcome->bytes + outcome->count, info.bytes),
                         CORUN_OK);
        outcome->count += info.bytes;
    }
}

static void run_in_time(struct corun_instance *instance, struct corun_diagnostics *list, struct outcome *outcome)
{
    struct corun_gpu_config config;
    struct corun_gpu *gpu;
    struct corun_application_description description = {.goal = CORUN_GOAL_NONE};
    struct corun_application_result result;
    struct corun_limits limits = {.cycles = UINT64_C(2000000000), .runs = 1};
    uint32_t application;
    corun_gpu_config_default(&config);
    check(corun_gpu_create(&config, list, &gpu), list);
    corun_instance_fill(instance, &description);
    check(corun_gpu_add(gpu, &description, &application), list);
    check(corun_gpu_run(gpu, &limits, list), list);
    corun_gpu_application(gpu, application, &result);
    check(result.status, list);
    outcome->counted.thread_instructions = result.thread_instructions;
    for (uint32_t i = 0; i < result.kernel_count; i++) {
        struct corun_kernel_result kernel;
        corun_gpu_kernel(gpu, application, i, &kernel);
        outcome->counted.ptx_thread_instructions += kernel.counters.ptx_thread_instructions;
    }
    corun_gpu_destroy(gpu);
}

static struct outcome run(const char *name, uint32_t rewrites, bool timed)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_workload *workload;
    struct corun_instance *instance;
    struct outcome outcome = {0};
    char data[4096], specification[4096];
    snprintf(specification, sizeof specification, strchr(name, '/') ? "%s" : "%s@small", name);
    check(corun_data_directory(data, sizeof data, list), list);
    check(corun_workload_assemble(specification, data, rewrites, list, &workload), list);
    check(corun_instance_create(workload, 0, SEED, list, &instance), list);
    if (timed)
        run_in_time(instance, list, &outcome);
    else
        check(corun_instance_run(instance, watchdog, list, NULL, NULL, &outcome.counted), list);
    keep_buffers(instance, &outcome);
    corun_instance_destroy(instance);
    corun_workload_destroy(workload);
    corun_diagnostics_destroy(list);
    return outcome;
}

static void equals_ptx(void **state)
{
    static const uint32_t masks[] = {ASSEMBLE_COPIES,
                                     ASSEMBLE_ADDRESSES,
                                     ASSEMBLE_FUSE,
                                     ASSEMBLE_PREDICATE,
                                     ASSEMBLE_SCHEDULE,
                                     ASSEMBLE_COMBINE,
                                     ASSEMBLE_UNROLL,
                                     ASSEMBLE_SUMS,
                                     ASSEMBLE_GATHER,
                                     ASSEMBLE_CONTRACT,
                                     ASSEMBLE_SPARE | ASSEMBLE_SCHEDULE,
                                     ASSEMBLE_OCCUPANCY | ASSEMBLE_SCHEDULE,
                                     ASSEMBLE_EVERYTHING & ~ASSEMBLE_SCHEDULE,
                                     ASSEMBLE_EVERYTHING & ~ASSEMBLE_UNROLL,
                                     ASSEMBLE_EVERYTHING};
    const char *name = *state;
    struct outcome wanted = run(name, ASSEMBLE_NOTHING, false);
    if (has_steps(name))
        assert_true(wanted.counted.ptx_thread_instructions < wanted.counted.thread_instructions);
    else
        assert_int_equal(wanted.counted.ptx_thread_instructions, wanted.counted.thread_instructions);
    for (size_t i = 0; i <= sizeof masks / sizeof masks[0]; i++) {
        bool timed = i == sizeof masks / sizeof masks[0];
        uint32_t mask = timed ? ASSEMBLE_EVERYTHING : masks[i];
        struct outcome found = run(name, mask, timed);
        assert_int_equal(found.count, wanted.count);
        if (timed && depends_on_time(name)) {
            free(found.bytes);
            continue;
        }
        if (memcmp(found.bytes, wanted.bytes, wanted.count))
            fail_msg("%s, rewrites %u%s: other bytes", name, mask, timed ? " with timing" : "");
        if (found.counted.ptx_thread_instructions != wanted.counted.ptx_thread_instructions)
            fail_msg("%s, rewrites %u%s: %llu thread instructions of the PTX, not %llu", name, mask,
                     timed ? " with timing" : "", (unsigned long long)found.counted.ptx_thread_instructions,
                     (unsigned long long)wanted.counted.ptx_thread_instructions);
        if (!(mask & ASSEMBLE_UNROLL)) /* a loop of few turns asks in vain for four more */
            assert_true(found.counted.thread_instructions <= wanted.counted.thread_instructions);
        free(found.bytes);
    }
    free(wanted.bytes);
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[1000];
    size_t count = 0;
    for (int i = 1; i < argc && count < sizeof tests / sizeof tests[0]; i++)
        tests[count++] = (struct CMUnitTest){argv[i], equals_ptx, NULL, NULL, argv[i]};
    return _cmocka_run_group_tests("suite", tests, count, NULL, NULL);
}
