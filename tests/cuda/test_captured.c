/* SPDX-License-Identifier: MIT */
/*
 * Captured programs together on one GPU, each once to its end: what they read must be what the programs read,
 * wherever their addresses are in the machine. Usage: cuda_test_captured FILE... or --launches FILE
 */
#include "corun/config.h"
#include "corun/workload.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static int file_count;
static char **files;

static void expect_ok(enum corun_status status, const struct corun_diagnostics *list)
{
    for (size_t i = 0; status && i < corun_diagnostics_count(list); i++)
        print_error("%s\n", corun_diagnostics_get(list, i)->message);
    assert_int_equal(status, CORUN_OK);
}

static void together(void **state)
{
    (void)state;
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_gpu_config config;
    struct corun_gpu *gpu;
    struct corun_workload *workloads[CORUN_MAX_APPLICATIONS] = {NULL};
    struct corun_instance *instances[CORUN_MAX_APPLICATIONS] = {NULL};
    corun_gpu_config_default(&config);
    expect_ok(corun_gpu_create(&config, list, &gpu), list);
    assert_in_range(file_count, 1, CORUN_MAX_APPLICATIONS);
    for (int i = 0; i < file_count; i++) {
        expect_ok(corun_workload_load(files[i], NULL, list, &workloads[i]), list);
        expect_ok(corun_instance_create(workloads[i], (uint32_t)i, 1, list, &instances[i]), list);
        struct corun_application_description description = {.goal = CORUN_GOAL_NONE};
        corun_instance_fill(instances[i], &description);
        uint32_t index;
        expect_ok(corun_gpu_add(gpu, &description, &index), list);
    }
    struct corun_limits limits = {.cycles = 5000000, .runs = 1};
    expect_ok(corun_gpu_run(gpu, &limits, list), list);
    for (int i = 0; i < file_count; i++) {
        struct corun_application_result result;
        struct corun_verification verification;
        corun_gpu_application(gpu, (uint32_t)i, &result);
        assert_int_equal(result.status, CORUN_OK);
        assert_int_equal(result.runs, 1);
        expect_ok(corun_instance_verify(instances[i], list, &verification), list);
        assert_true(verification.elements > 0);
    }
    corun_gpu_destroy(gpu);
    for (int i = 0; i < file_count; i++) {
        corun_instance_destroy(instances[i]);
        corun_workload_destroy(workloads[i]);
    }
    corun_diagnostics_destroy(list);
}

/* Where launches begin and end, of one that is alone: two cycles a line, in the order of their ends. */
struct span {
    uint64_t launch, first_cycle;
};
struct spans {
    struct span open[64];
    size_t count;
};

static void see(void *user, const struct corun_gpu *gpu, const struct corun_observation *seen)
{
    struct spans *spans = user;
    (void)gpu;
    size_t i = 0;
    while (i < spans->count && spans->open[i].launch != seen->launch)
        i++;
    if (seen->kind == CORUN_OBSERVED_TB_START && i == spans->count && i < sizeof spans->open / sizeof *spans->open)
        spans->open[spans->count++] = (struct span){seen->launch, seen->cycle};
    if (seen->kind != CORUN_OBSERVED_LAUNCH_END || i == spans->count)
        return;
    printf("%llu %llu\n", (unsigned long long)spans->open[i].first_cycle, (unsigned long long)seen->cycle);
    spans->open[i] = spans->open[--spans->count];
}

static int print_launches(const char *file)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_gpu_config config;
    struct corun_gpu *gpu;
    struct corun_workload *workload;
    struct corun_instance *instance;
    struct spans spans = {.count = 0};
    uint32_t index;
    corun_gpu_config_default(&config);
    if (corun_gpu_create(&config, list, &gpu) || corun_workload_load(file, NULL, list, &workload) ||
        corun_instance_create(workload, 0, 1, list, &instance))
        return 1;
    struct corun_application_description description = {.goal = CORUN_GOAL_NONE};
    corun_instance_fill(instance, &description);
    struct corun_limits limits = {.runs = 1};
    corun_gpu_observe(gpu, 0, see, &spans);
    bool good = corun_gpu_add(gpu, &description, &index) == CORUN_OK && corun_gpu_run(gpu, &limits, list) == CORUN_OK &&
                corun_instance_verify(instance, list, NULL) == CORUN_OK;
    for (size_t i = 0; i < corun_diagnostics_count(list); i++)
        fprintf(stderr, "%s\n", corun_diagnostics_get(list, i)->message);
    corun_gpu_destroy(gpu);
    corun_instance_destroy(instance);
    corun_workload_destroy(workload);
    corun_diagnostics_destroy(list);
    return good ? 0 : 1;
}

/* Memory is set back: a second run without timing reads the same as the first; and what is changed is found. */
static void again(void **state)
{
    (void)state;
    struct corun_diagnostics *list = corun_diagnostics_create();
    for (int i = 0; i < file_count; i++) {
        struct corun_workload *workload;
        struct corun_instance *instance;
        expect_ok(corun_workload_load(files[i], NULL, list, &workload), list);
        expect_ok(corun_instance_create(workload, 5, 1, list, &instance), list);
        for (int run = 0; run < 2; run++) {
            expect_ok(corun_instance_run(instance, 0, list, NULL, NULL, NULL), list);
            expect_ok(corun_instance_verify(instance, list, NULL), list);
        }
        /* Without its kernels, what the program read cannot come out. */
        expect_ok(corun_instance_restart(instance), list);
        (void)corun_instance_grid(instance, corun_instance_grid_count(instance));
        assert_int_equal(corun_instance_verify(instance, list, NULL), CORUN_MISMATCH);
        corun_instance_destroy(instance);
        corun_workload_destroy(workload);
    }
    corun_diagnostics_destroy(list);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(together), cmocka_unit_test(again)};
    if (argc == 3 && !strcmp(argv[1], "--launches"))
        return print_launches(argv[2]);
    file_count = argc - 1;
    files = argv + 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
