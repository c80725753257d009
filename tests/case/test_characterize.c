/* SPDX-License-Identifier: MIT */
/* Characterisation: the rule, equal work at every point, the cache, and workloads that cannot be run. */
#include "corun/characterize.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void the_rule(void **state)
{
    (void)state;
    static const struct {
        double exponents[CORUN_SWEEP_COUNT], fill;
        enum corun_character expected;
    } rows[] = {
        {{1, 0, 0}, 0.1, CORUN_CHARACTER_COMPUTE},
        {{0.75, 0.2, 0.3}, 1, CORUN_CHARACTER_COMPUTE},
        {{0.8, 0.9, 0}, 1, CORUN_CHARACTER_MEMORY}, /* a clock gives more than SMs */
        {{0.74, 0.25, 0}, 0.5, CORUN_CHARACTER_MEMORY},
        {{0.74, 0.49, 0}, 0.49, CORUN_CHARACTER_PROBLEM_SIZE}, /* latency, not bandwidth */
        {{0.1, 0, 0.9}, 0.1, CORUN_CHARACTER_MEMORY},
        {{0, 0, 0}, 1, CORUN_CHARACTER_PROBLEM_SIZE},
        {{0.7, 0.2, 0.24}, 1, CORUN_CHARACTER_PROBLEM_SIZE},
        {{-0.1, -0.2, 0}, 0, CORUN_CHARACTER_PROBLEM_SIZE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(corun_classify(rows[i].exponents, rows[i].fill, NULL), rows[i].expected);
}

struct rig {
    char data[4096];
    struct corun_diagnostics *list;
    struct corun_gpu_config gpu;
    struct corun_workload *workload;
    struct corun_characterize_request request;
};

static int set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    rig->list = corun_diagnostics_create();
    assert_int_equal(corun_data_directory(rig->data, sizeof rig->data, rig->list), CORUN_OK);
    corun_gpu_config_default(&rig->gpu);
    rig->gpu.sms = 4;
    assert_int_equal(corun_workload_load("sgemm@small", rig->data, rig->list, &rig->workload), CORUN_OK);
    rig->request = (struct corun_characterize_request){
        .gpu = &rig->gpu, .workloads = &rig->workload, .workload_count = 1, .cycles = 6000, .seed = 1, .jobs = 1};
    *state = rig;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *rig = *state;
    corun_workload_destroy(rig->workload);
    corun_diagnostics_destroy(rig->list);
    free(rig);
    return 0;
}

static struct corun_characterize_result *characterize(struct rig *rig)
{
    struct corun_characterize_result *result;
    assert_int_equal(corun_characterize(&rig->request, rig->list, &result), CORUN_OK);
    assert_non_null(result);
    return result;
}

static void assert_same(const struct corun_characterize_result *one, const struct corun_characterize_result *other)
{
    assert_int_equal(one->count, other->count);
    for (size_t i = 0; i < one->count; i++) {
        assert_true(one->items[i].complete && other->items[i].complete);
        assert_int_equal(one->items[i].thread_instructions, other->items[i].thread_instructions);
        assert_memory_equal(&one->items[i].counters, &other->items[i].counters, sizeof one->items[i].counters);
        assert_int_equal(one->items[i].kernel_count, other->items[i].kernel_count);
        assert_string_equal(one->items[i].kernels[0].name, other->items[i].kernels[0].name);
        for (int sweep = 0; sweep < CORUN_SWEEP_COUNT; sweep++) {
            assert_int_equal(one->items[i].sweeps[sweep].count, other->items[i].sweeps[sweep].count);
            for (uint32_t p = 0; p < one->items[i].sweeps[sweep].count; p++)
                assert_true(one->items[i].sweeps[sweep].points[p].ipc == other->items[i].sweeps[sweep].points[p].ipc);
        }
    }
}

static void the_points(void **state)
{
    struct rig *rig = *state;
    struct corun_characterize_result *result = characterize(rig);
    const struct corun_characterization *item = &result->items[0];
    assert_true(item->complete);
    assert_int_equal(item->status, CORUN_OK);
    assert_int_equal(item->cycles, 6000);
    assert_true(item->thread_instructions > 10000);
    static const uint32_t sms[] = {1, 2, 3, 4};
    assert_int_equal(item->sweeps[CORUN_SWEEP_SMS].count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(item->sweeps[CORUN_SWEEP_SMS].points[i].value, sms[i]);
    for (int sweep = 0; sweep < CORUN_SWEEP_COUNT; sweep++) {
        const struct corun_sweep_point *points = item->sweeps[sweep].points;
        uint32_t count = item->sweeps[sweep].count;
        assert_true(count >= 4);
        assert_true(points[0].speed_up == 1);
        for (uint32_t i = 1; i < count; i++)
            assert_true(points[i].value > points[i - 1].value);
        assert_true(points[count - 1].ipc >= points[0].ipc);
    }
    assert_int_equal(item->sweeps[CORUN_SWEEP_MEMORY].points[0].value, rig->gpu.dram_clock_khz / 4);
    const struct corun_sweep_point *points = item->sweeps[CORUN_SWEEP_SMS].points;
    assert_true(fabs(item->exponents[CORUN_SWEEP_SMS] - log2(points[3].ipc / points[1].ipc)) < 1e-9);
    assert_true(item->fill > 0 && item->fill <= 1);
    assert_int_equal(item->measured, corun_classify(item->exponents, item->fill, NULL));
    corun_characterize_result_destroy(result);
}

static void jobs_change_nothing(void **state)
{
    struct rig *rig = *state;
    struct corun_characterize_result *one = characterize(rig);
    rig->request.jobs = 3;
    struct corun_characterize_result *three = characterize(rig);
    assert_same(one, three);
    corun_characterize_result_destroy(one);
    corun_characterize_result_destroy(three);
}

static bool stop_after(void *user, const struct corun_characterize_progress *progress)
{
    return progress->done < *(const uint32_t *)user;
}

static bool count_calls(void *user, const struct corun_characterize_progress *progress)
{
    assert_string_equal(progress->workload, "sgemm");
    assert_true(progress->done <= progress->total);
    ++*(uint32_t *)user;
    return true;
}

/* Interrupted after some points; then the rest is done, and all is as if it had run through. */
static void continues_after_an_interruption(void **state)
{
    struct rig *rig = *state;
    struct corun_characterize_result *whole = characterize(rig);
    char folder[] = "/tmp/corun-characterize-XXXXXX", command[100];
    assert_non_null(mkdtemp(folder));
    rig->request.cache_directory = folder;
    uint32_t limit = 5;
    rig->request.progress = stop_after;
    rig->request.progress_user = &limit;
    struct corun_characterize_result *part = characterize(rig);
    assert_true(part->interrupted);
    assert_false(part->items[0].complete);
    assert_int_equal(part->items[0].status, CORUN_OK);
    corun_characterize_result_destroy(part);

    uint32_t calls = 0;
    rig->request.progress = count_calls;
    rig->request.progress_user = &calls;
    struct corun_characterize_result *rest = characterize(rig);
    assert_false(rest->interrupted);
    assert_same(whole, rest);
    corun_characterize_result_destroy(rest);
    struct corun_characterize_result *again = characterize(rig); /* all of it from the cache */
    assert_same(whole, again);
    corun_characterize_result_destroy(again);
    corun_characterize_result_destroy(whole);
    assert_true(calls > 0);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* A thread block has more threads than the GPU allows: said of this workload, and the other one is measured. */
static void what_does_not_fit_is_said(void **state)
{
    struct rig *rig = *state;
    struct corun_workload *workloads[2] = {NULL, rig->workload};
    assert_int_equal(corun_workload_load("histogram@small", rig->data, rig->list, &workloads[0]), CORUN_OK);
    rig->gpu.threads_per_tb = 256;
    rig->request.workloads = workloads;
    rig->request.workload_count = 2;
    struct corun_characterize_result *result = characterize(rig);
    assert_int_equal(result->items[0].status, CORUN_LIMIT);
    assert_false(result->items[0].complete);
    assert_non_null(strstr(result->items[0].message, "threads"));
    assert_true(result->items[1].complete);
    corun_characterize_result_destroy(result);
    corun_workload_destroy(workloads[0]);
}

static void a_window_too_short_for_any_work_is_said(void **state)
{
    struct rig *rig = *state;
    rig->request.cycles = 1;
    struct corun_characterize_result *result = characterize(rig);
    assert_int_equal(result->items[0].status, CORUN_ARGUMENT);
    assert_false(result->items[0].complete);
    assert_non_null(strstr(result->items[0].message, "no instruction"));
    corun_characterize_result_destroy(result);
}

static void impossible_requests(void **state)
{
    struct rig *rig = *state;
    struct corun_characterize_result *result;
    rig->request.cycles = 0;
    assert_int_equal(corun_characterize(&rig->request, rig->list, &result), CORUN_ARGUMENT);
    assert_null(result);
    rig->request.cycles = 1000;
    rig->gpu.sms = 1;
    assert_int_equal(corun_characterize(&rig->request, rig->list, &result), CORUN_ARGUMENT);
    assert_null(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule),
        cmocka_unit_test_setup_teardown(the_points, set_up, tear_down),
        cmocka_unit_test_setup_teardown(jobs_change_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(continues_after_an_interruption, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_does_not_fit_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_window_too_short_for_any_work_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(impossible_requests, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
