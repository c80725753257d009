/* SPDX-License-Identifier: MIT */
/*
 * Host threads are no part of the model: two workloads that share the GPU give the same numbers with one and with
 * three. Each workload of the suite has its turn.
 */
#include "corun/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define APPLICATIONS 2
#define MAX_SMS 64
#define WINDOW_CYCLES 10000

/* The thread sanitizer takes a minute for all of them: there, a few pairs do. */
#if defined(__SANITIZE_THREAD__)
#define MOST_PAIRS 3u
#else
#define MOST_PAIRS 1000u
#endif

struct numbers {
    uint64_t cycles;
    uint32_t sm_count;
    struct corun_application_result applications[APPLICATIONS];
    struct corun_counters shares[MAX_SMS][APPLICATIONS];
    struct corun_counters sms[MAX_SMS];
    struct corun_memory_result memory;
};

static void simulate(const char *const names[APPLICATIONS], uint32_t threads, struct numbers *numbers)
{
    char data[4096];
    struct corun_diagnostics *list = corun_diagnostics_create();
    assert_int_equal(corun_data_directory(data, sizeof data, list), CORUN_OK);
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    assert_in_range(config.sms, 4, MAX_SMS);
    struct corun_gpu *gpu;
    assert_int_equal(corun_gpu_create(&config, list, &gpu), CORUN_OK);
    struct corun_workload *workloads[APPLICATIONS];
    struct corun_instance *instances[APPLICATIONS];
    for (uint32_t i = 0; i < APPLICATIONS; i++) {
        char specification[200];
        snprintf(specification, sizeof specification, "%s@small", names[i]);
        assert_int_equal(corun_workload_load(specification, data, list, &workloads[i]), CORUN_OK);
        assert_int_equal(corun_instance_create(workloads[i], i, 1, list, &instances[i]), CORUN_OK);
        struct corun_application_description description = {.goal = CORUN_GOAL_NONE};
        corun_instance_fill(instances[i], &description);
        uint32_t index;
        assert_int_equal(corun_gpu_add(gpu, &description, &index), CORUN_OK);
    }
    struct corun_limits limits = {.cycles = WINDOW_CYCLES, .threads = threads};
    assert_int_equal(corun_gpu_run(gpu, &limits, list), CORUN_OK);
    assert_int_equal(corun_diagnostics_count(list), 0);

    memset(numbers, 0, sizeof *numbers);
    numbers->cycles = corun_gpu_cycles(gpu);
    numbers->sm_count = config.sms;
    corun_gpu_memory(gpu, &numbers->memory);
    for (uint32_t i = 0; i < APPLICATIONS; i++)
        corun_gpu_application(gpu, i, &numbers->applications[i]);
    for (uint32_t s = 0; s < config.sms && s < MAX_SMS; s++) {
        struct corun_sm_result result;
        corun_gpu_sm(gpu, s, &result);
        numbers->sms[s] = result.counters;
        for (uint32_t i = 0; i < APPLICATIONS; i++)
            corun_gpu_share(gpu, s, i, &numbers->shares[s][i]);
    }
    corun_gpu_destroy(gpu);
    for (uint32_t i = 0; i < APPLICATIONS; i++) {
        corun_instance_destroy(instances[i]);
        corun_workload_destroy(workloads[i]);
    }
    corun_diagnostics_destroy(list);
}

static void assert_counters_equal(const struct corun_counters *a, const struct corun_counters *b)
{
#define N(name, unit, meaning) assert_int_equal(a->name, b->name);
#include "corun/statistics.def"
#undef N
}

static void compare(const char *const names[APPLICATIONS])
{
    static struct numbers one, three;
    simulate(names, 1, &one);
    simulate(names, 3, &three);
    assert_int_equal(one.cycles, three.cycles);
    assert_memory_equal(&one.memory, &three.memory, sizeof one.memory);
    for (uint32_t i = 0; i < APPLICATIONS; i++) {
        const struct corun_application_result *a = &one.applications[i], *b = &three.applications[i];
        assert_true(a->warp_instructions > 0);
        assert_int_equal(a->status, b->status);
        assert_int_equal(a->runs, b->runs);
        assert_int_equal(a->ended_cycle, b->ended_cycle);
        assert_int_equal(a->first_run_cycles, b->first_run_cycles);
        assert_int_equal(a->thread_instructions, b->thread_instructions);
        assert_int_equal(a->warp_instructions, b->warp_instructions);
    }
    for (uint32_t s = 0; s < one.sm_count && s < MAX_SMS; s++) {
        assert_counters_equal(&one.sms[s], &three.sms[s]);
        for (uint32_t i = 0; i < APPLICATIONS; i++)
            assert_counters_equal(&one.shares[s][i], &three.shares[s][i]);
    }
}

static void test_threads_change_no_number(void **state)
{
    (void)state;
    char data[4096];
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_workload_list *workloads;
    assert_int_equal(corun_data_directory(data, sizeof data, list), CORUN_OK);
    assert_int_equal(corun_workload_list_create(data, list, &workloads), CORUN_OK);
    size_t count = corun_workload_list_count(workloads), pairs = (count + 1) / 2;
    for (size_t p = 0; p < pairs && p < MOST_PAIRS; p++) {
        const char *names[APPLICATIONS];
        for (size_t i = 0; i < APPLICATIONS; i++)
            names[i] = corun_workload_list_get(workloads, (APPLICATIONS * p + i) % count)->name;
        print_message("%s beside %s\n", names[0], names[1]);
        compare(names);
    }
    corun_workload_list_destroy(workloads);
    corun_diagnostics_destroy(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads_change_no_number)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
