/* SPDX-License-Identifier: MIT */
/*
 * Sampled simulation of the small workloads on one SM, where their launches have many waves of thread blocks, three runs each: whatever was
 * timed and whatever was not, results equal the reference, and instructions are those of runs without timing. `test_sampled NAME…`: these.
 */
#include "corun/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RUNS = 3, MOST_GROUPS = 256 };

static uint64_t parted, skipped; /* launches of all workloads */

static void expect_ok(enum corun_status status, const struct corun_diagnostics *list)
{
    for (size_t i = 0; i < corun_diagnostics_count(list); i++)
        print_error("%s\n", corun_diagnostics_get(list, i)->message);
    assert_int_equal(status, CORUN_OK);
}

/* What the machine says of its sampling is what it has run. */
static void check_groups(const struct corun_gpu *gpu, const struct corun_application_result *result)
{
    static struct corun_sampled_group groups[MOST_GROUPS];
    size_t count = corun_gpu_sampled(gpu, groups, MOST_GROUPS);
    uint64_t instructions = 0;
    assert_in_range(count, 1, MOST_GROUPS);
    for (size_t i = 0; i < count; i++) {
        instructions += groups[i].warp_instructions;
        parted += groups[i].parted;
        skipped += groups[i].launches - groups[i].timed - groups[i].parted;
        assert_true(groups[i].timed_warp_instructions <= groups[i].warp_instructions);
        assert_true(groups[i].estimated_cycles <= groups[i].cycles);
        assert_true(groups[i].launches >= groups[i].timed + groups[i].parted);
    }
    assert_int_equal(instructions, result->warp_instructions);
}

static void run(const char *name, const char *data, struct corun_diagnostics *list, bool samples,
                struct corun_application_result *result)
{
    struct corun_gpu_config config;
    struct corun_gpu *gpu;
    struct corun_workload *workload;
    struct corun_instance *instance;
    char specification[200];
    corun_gpu_config_default(&config);
    config.sms = 1;
    snprintf(specification, sizeof specification, "%s@small", name);
    expect_ok(corun_gpu_create(&config, list, &gpu), list);
    const struct corun_sampling sampling = {50000, CORUN_SAMPLING_EVERY};
    if (samples)
        expect_ok(corun_gpu_sample(gpu, &sampling), list);
    expect_ok(corun_workload_load(specification, data, list, &workload), list);
    expect_ok(corun_instance_create(workload, 0, 1, list, &instance), list);
    struct corun_application_description description = {.goal = CORUN_GOAL_NONE};
    uint32_t index;
    corun_instance_fill(instance, &description);
    expect_ok(corun_gpu_add(gpu, &description, &index), list);
    struct corun_limits limits = {.runs = RUNS};
    expect_ok(corun_gpu_run(gpu, &limits, list), list);
    corun_gpu_application(gpu, index, result);
    assert_int_equal(result->status, CORUN_OK);
    assert_int_equal(result->runs, RUNS);
    struct corun_verification verification = {0};
    expect_ok(corun_instance_verify(instance, list, &verification), list);
    if (samples)
        check_groups(gpu, result);
    corun_gpu_destroy(gpu);
    corun_instance_destroy(instance);
    corun_workload_destroy(workload);
}

static void sampled(void **state)
{
    const char *name = *state;
    char data[4096];
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_application_result result;
    expect_ok(corun_data_directory(data, sizeof data, list), list);
    run(name, data, list, true, &result);
    print_message("%-20s %9llu cycles %9llu warp instructions\n", name, (unsigned long long)result.ended_cycle,
                  (unsigned long long)result.warp_instructions);
    corun_diagnostics_destroy(list);
}

/* Else the others have shown nothing. */
static void something_was_sampled(void **state)
{
    (void)state;
    assert_true(parted > 0);
    assert_true(skipped > 0);
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[1000];
    static char *few[] = {"2dconv", "jacobi", "spmv"};
    char **names = argc > 1 ? argv + 1 : few;
    size_t wanted = argc > 1 ? (size_t)argc - 1 : sizeof few / sizeof few[0], count = 0;
    for (; count < wanted && count + 1 < sizeof tests / sizeof tests[0]; count++)
        tests[count] = (struct CMUnitTest){names[count], sampled, NULL, NULL, names[count]};
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(something_was_sampled);
    return _cmocka_run_group_tests("sampled", tests, count, NULL, NULL);
}
