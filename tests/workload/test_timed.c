/* The small workloads on the simulated GPU, one alone and all together: with timing, too, results equal the reference. */
#include "corun/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *const names[] = {"histogram", "lbm", "mri-q", "sgemm", "spmv", "stencil"};
#define COUNT (sizeof names / sizeof *names)

static void print_diagnostics(const struct corun_diagnostics *list)
{
    for (size_t i = 0; i < corun_diagnostics_count(list); i++) {
        const struct corun_diagnostic *item = corun_diagnostics_get(list, i);
        print_error("%s:%u: %s\n", item->place.file ? item->place.file : "", item->place.line, item->message);
    }
}

/* Runs workloads first … first + count - 1, each once to its end, on one GPU and verifies them. */
static void run_together(size_t first, size_t count)
{
    char data[4096];
    struct corun_diagnostics *list = corun_diagnostics_create();
    assert_int_equal(corun_data_directory(data, sizeof data, list), CORUN_OK);
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    struct corun_gpu *gpu;
    assert_int_equal(corun_gpu_create(&config, list, &gpu), CORUN_OK);
    struct corun_workload *workloads[COUNT] = {NULL};
    struct corun_instance *instances[COUNT] = {NULL};
    for (size_t i = 0; i < count; i++) {
        char specification[100];
        snprintf(specification, sizeof specification, "%s@small", names[first + i]);
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
    struct corun_limits limits = {.cycles = 10000000, .runs = 1};
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
        print_message("%-10s %9llu cycles %9llu warp instructions\n", names[first + i],
                      (unsigned long long)result.first_run_cycles, (unsigned long long)result.warp_instructions);
    }
    corun_gpu_destroy(gpu);
    for (size_t i = 0; i < count; i++) {
        corun_instance_destroy(instances[i]);
        corun_workload_destroy(workloads[i]);
    }
    corun_diagnostics_destroy(list);
}

static void alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        run_together(i, 1);
}

static void all_together(void **state)
{
    (void)state;
    run_together(0, COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone),
        cmocka_unit_test(all_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
