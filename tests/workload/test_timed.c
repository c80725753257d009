/* SPDX-License-Identifier: MIT */
/*
 * The small workloads on the simulated GPU: with timing, too, results equal the reference. Without arguments: several
 * together, all of them in turn. `test_timed NAME…`: these alone, each a test of its own for ctest.
 */
#include "corun/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* As many as share an SM of the default GPU with some thread blocks each. */
#define TOGETHER 6

static void print_diagnostics(const struct corun_diagnostics *list)
{
    for (size_t i = 0; i < corun_diagnostics_count(list); i++) {
        const struct corun_diagnostic *item = corun_diagnostics_get(list, i);
        print_error("%s:%u: %s\n", item->place.file ? item->place.file : "", item->place.line, item->message);
    }
}

/* Runs these workloads, each once to its end, on one GPU and verifies them. */
static void run_together(const char *const *names, size_t count)
{
    char data[4096];
    struct corun_diagnostics *list = corun_diagnostics_create();
    assert_int_equal(corun_data_directory(data, sizeof data, list), CORUN_OK);
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    struct corun_gpu *gpu;
    assert_int_equal(corun_gpu_create(&config, list, &gpu), CORUN_OK);
    struct corun_workload *workloads[TOGETHER] = {NULL};
    struct corun_instance *instances[TOGETHER] = {NULL};
    assert_in_range(count, 1, TOGETHER);
    for (size_t i = 0; i < count; i++) {
        char specification[200];
        snprintf(specification, sizeof specification, "%s@small", names[i]);
        enum corun_status status = corun_workload_load(specification, data, list, &workloads[i]);
        if (!status)
            status = corun_instance_create(workloads[i], (uint32_t)i, 1, list, &instances[i]);
        print_diagnostics(list);
        assert_int_equal(status, CORUN_OK);
        struct corun_application_description description = {.goal = CORUN_GOAL_NONE};
        corun_instance_fill(instances[i], &description);
        uint32_t index;
        assert_int_equal(corun_gpu_add(gpu, &description, &index), CORUN_OK);
        assert_int_equal(index, i);
    }
    struct corun_limits limits = {.cycles = 50000000, .runs = 1};
    enum corun_status status = corun_gpu_run(gpu, &limits, list);
    print_diagnostics(list);
    assert_int_equal(status, CORUN_OK);
    for (size_t i = 0; i < count; i++) {
        struct corun_application_result result;
        struct corun_verification verification = {0};
        corun_gpu_application(gpu, (uint32_t)i, &result);
        assert_int_equal(result.status, CORUN_OK);
        assert_int_equal(result.runs, 1);
        status = corun_instance_verify(instances[i], list, &verification);
        print_diagnostics(list);
        assert_int_equal(status, CORUN_OK);
        print_message("%-20s %9llu cycles %9llu warp instructions\n", names[i],
                      (unsigned long long)result.first_run_cycles, (unsigned long long)result.warp_instructions);
    }
    corun_gpu_destroy(gpu);
    for (size_t i = 0; i < count; i++) {
        corun_instance_destroy(instances[i]);
        corun_workload_destroy(workloads[i]);
    }
    corun_diagnostics_destroy(list);
}

/* Groups of six neighbours in the list; the last group is filled up from its beginning. */
static void together(void **state)
{
    (void)state;
    char data[4096];
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_workload_list *workloads;
    assert_int_equal(corun_data_directory(data, sizeof data, list), CORUN_OK);
    assert_int_equal(corun_workload_list_create(data, list, &workloads), CORUN_OK);
    size_t count = corun_workload_list_count(workloads);
    for (size_t first = 0; first < count; first += TOGETHER) {
        const char *names[TOGETHER];
        for (size_t i = 0; i < TOGETHER; i++)
            names[i] = corun_workload_list_get(workloads, (first + i) % count)->name;
        run_together(names, TOGETHER);
    }
    corun_workload_list_destroy(workloads);
    corun_diagnostics_destroy(list);
}

static void alone(void **state)
{
    const char *name = *state;
    run_together(&name, 1);
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[1000];
    if (argc == 1) {
        const struct CMUnitTest all[] = {cmocka_unit_test(together)};
        return cmocka_run_group_tests(all, NULL, NULL);
    }
    size_t count = 0;
    for (; count + 1 < (size_t)argc && count < sizeof tests / sizeof tests[0]; count++)
        tests[count] = (struct CMUnitTest){argv[count + 1], alone, NULL, NULL, argv[count + 1]};
    return _cmocka_run_group_tests("alone", tests, count, NULL, NULL);
}
