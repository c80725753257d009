/* SPDX-License-Identifier: MIT */
/* Goals through the API: what is refused, what a policy sees and when, what is reported. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "scripted.h"

enum { MOST_MOMENTS = 64 };

/* What the policy saw of application 0 at the end of each epoch. */
struct record {
    struct corun_gpu *gpu;
    uint32_t count;
    enum corun_goal_kind kinds[MOST_MOMENTS];
    double values[MOST_MOMENTS], ipcs[MOST_MOMENTS];
    double best; /* the highest IPC of an epoch */
};

static struct record *on_record;

static enum corun_status start(void *state, const struct corun_view *view, const double *parameters,
                               struct corun_allowances *allowances)
{
    (void)state, (void)view, (void)parameters, (void)allowances;
    return CORUN_OK;
}

static void decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                   struct corun_allowances *allowances)
{
    (void)state;
    if (moment.event != CORUN_EVENT_EPOCH || on_record->count == MOST_MOMENTS)
        return;
    const struct corun_application_view *first = &view->applications[0];
    on_record->kinds[on_record->count] = first->goal;
    on_record->values[on_record->count] = first->goal_value;
    on_record->ipcs[on_record->count++] = first->goal_ipc;
    on_record->best = fmax(on_record->best, first->epoch_ipc);
    allowances->out_of_reach[0] = first->goal_ipc > 100;
}

static const struct corun_policy policy = {.version = CORUN_POLICY_VERSION,
                                           .name = "scripted",
                                           .observes = CORUN_ALL_OBSERVATIONS,
                                           .state_bytes = 1,
                                           .start = start,
                                           .decide = decide};

static struct script *work(void)
{
    struct script *script = script_new(64, 4);
    script_compute(script, CORUN_UNIT_FP32, CORUN_OPERATION_MAD, 2, 1, 1);
    script_end(script, 0, 50);
    return script;
}

/* One SM, epochs of 50 000 cycles, application 0 with an isolated IPC of 60 and application 1 without one. */
static struct corun_gpu *create(struct script *const *scripts)
{
    struct corun_gpu_config config;
    struct corun_gpu *gpu;
    uint32_t index;
    corun_gpu_config_default(&config);
    config.sms = 1;
    config.epoch_cycles = 50000;
    assert_int_equal(corun_gpu_create(&config, NULL, &gpu), CORUN_OK);
    for (uint32_t a = 0; a < 2; a++) {
        struct corun_application_description description = {
            .name = a ? "second" : "first", .grid = script_next, .user = scripts[a], .isolated_ipc = a ? 0 : 60};
        assert_int_equal(corun_gpu_add(gpu, &description, &index), CORUN_OK);
    }
    return gpu;
}

static void wrong_goals_are_refused(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t application;
        enum corun_goal_kind kind;
        double value, ipc;
        const char *message;
    } rows[] = {
        {2, CORUN_GOAL_IPC, 5, 0, "application 2 of 2"},
        {0, CORUN_GOAL_IPC, 0, 0, "first: a goal is greater than 0"},
        {0, CORUN_GOAL_IPC, -1, 0, "greater than 0"},
        {0, CORUN_GOAL_IPC, (double)NAN, 0, "greater than 0"},
        {0, CORUN_GOAL_IPC, (double)INFINITY, 0, "greater than 0"},
        {0, CORUN_GOAL_MILLISECONDS, 5, -3, "greater than 0"},
        {0, CORUN_GOAL_FRACTION, 1.01, 0, "above 100 %"},
        {1, CORUN_GOAL_FRACTION, 0.5, 0, "second: its isolated IPC"},
        {0, CORUN_GOAL_MILLISECONDS, 5, 0, "instructions per cycle"},
        {0, CORUN_GOAL_FRAMES_PER_SECOND, 60, 0, "instructions per cycle"},
        {0, (enum corun_goal_kind)99, 5, 5, "no such kind"},
    };
    struct script *scripts[2] = {work(), work()};
    struct corun_gpu *gpu = create(scripts);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct corun_diagnostics *list = corun_diagnostics_create();
        assert_int_equal(corun_gpu_set_goal(gpu, rows[i].application, rows[i].kind, rows[i].value, rows[i].ipc, list),
                         CORUN_ARGUMENT);
        assert_int_equal(corun_diagnostics_count(list), 1);
        if (!strstr(corun_diagnostics_get(list, 0)->message, rows[i].message))
            fail_msg("%s", corun_diagnostics_get(list, 0)->message);
        corun_diagnostics_destroy(list);
    }
    corun_gpu_destroy(gpu);
    for (uint32_t a = 0; a < 2; a++)
        free(scripts[a]);
}

/* Every 100 000 cycles, that is after two epochs. */
static bool change(void *user, uint64_t cycle)
{
    struct record *record = user;
    if (cycle >= 100000 && cycle < 200000)
        assert_int_equal(corun_gpu_set_goal(record->gpu, 0, CORUN_GOAL_MILLISECONDS, 2, 300, NULL), CORUN_OK);
    else if (cycle >= 200000 && cycle < 300000)
        assert_int_equal(corun_gpu_set_goal(record->gpu, 0, CORUN_GOAL_NONE, 7, 7, NULL), CORUN_OK);
    else if (cycle >= 300000)
        assert_int_equal(corun_gpu_set_goal(record->gpu, 0, CORUN_GOAL_IPC, 120, 0, NULL), CORUN_OK);
    return true;
}

static void goals_change_before_and_during_a_run(void **unused)
{
    (void)unused;
    struct script *scripts[2] = {work(), work()};
    struct record record = {.gpu = create(scripts)};
    struct corun_limits limits = {.cycles = 400000, .progress = change, .user = &record};
    struct corun_application_result result;
    assert_int_equal(corun_gpu_set_goal(record.gpu, 0, CORUN_GOAL_FRACTION, 0.5, 0, NULL), CORUN_OK);
    corun_gpu_application(record.gpu, 0, &result); /* before the run */
    assert_true(!result.out_of_reach && result.best_epoch_ipc == 0);
    assert_int_equal(corun_gpu_set_policy(record.gpu, &policy, NULL, NULL), CORUN_OK);
    on_record = &record;
    assert_int_equal(corun_gpu_run(record.gpu, &limits, NULL), CORUN_OK);
    assert_int_equal(record.count, 8);
    static const struct {
        enum corun_goal_kind kind;
        double value, ipc;
    } expected[] = {{CORUN_GOAL_FRACTION, 0.5, 30},
                    {CORUN_GOAL_MILLISECONDS, 2, 300},
                    {CORUN_GOAL_NONE, 0, 0},
                    {CORUN_GOAL_IPC, 120, 120}};
    for (uint32_t epoch = 0; epoch < 8; epoch++) {
        assert_int_equal(record.kinds[epoch], expected[epoch / 2].kind);
        assert_true(record.values[epoch] == expected[epoch / 2].value);
        assert_true(record.ipcs[epoch] == expected[epoch / 2].ipc);
    }
    corun_gpu_application(record.gpu, 0, &result);
    assert_true(result.out_of_reach); /* as the policy said in the end */
    assert_true(record.best > 0 && result.best_epoch_ipc == record.best);
    corun_gpu_application(record.gpu, 1, &result);
    assert_false(result.out_of_reach);
    corun_gpu_destroy(record.gpu);
    for (uint32_t a = 0; a < 2; a++)
        free(scripts[a]);
}

/* With the thread instructions of a run, the machine's clock makes a rate of a time. */
static void a_time_is_a_goal_of_a_run_that_is_known(void **unused)
{
    (void)unused;
    struct script *script = work();
    struct corun_gpu_config config;
    struct record record = {0};
    struct corun_limits limits = {.cycles = 100000};
    uint32_t index;
    corun_gpu_config_default(&config);
    config.sms = 1;
    config.epoch_cycles = 50000;
    assert_int_equal(corun_gpu_create(&config, NULL, &record.gpu), CORUN_OK);
    struct corun_application_description description = {
        .name = "first", .grid = script_next, .user = script, .run_thread_instructions = 3 * config.core_clock_khz};
    assert_int_equal(corun_gpu_add(record.gpu, &description, &index), CORUN_OK);
    assert_int_equal(corun_gpu_set_policy(record.gpu, &policy, NULL, NULL), CORUN_OK);
    assert_int_equal(corun_gpu_set_goal(record.gpu, 0, CORUN_GOAL_MILLISECONDS, 2, 0, NULL), CORUN_OK);
    on_record = &record;
    assert_int_equal(corun_gpu_run(record.gpu, &limits, NULL), CORUN_OK);
    assert_true(record.count > 0 && record.ipcs[0] == 1.5);
    corun_gpu_destroy(record.gpu);
    free(script);
}

static void times_become_ipc(void **unused)
{
    (void)unused;
    /* 1 GHz: 2 ms are 2 million cycles; without 0.75 ms of copies 1.25 million */
    assert_true(corun_goal_ipc_of_time(1000000, 1000000, 2, 0) == 0.5);
    assert_true(corun_goal_ipc_of_time(1000000, 1000000, 2, 0.75) == 0.8);
    assert_true(isnan(corun_goal_ipc_of_time(1000000, 1000000, 2, 2)));
    assert_true(isnan(corun_goal_ipc_of_time(1000000, 1000000, 0, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_goals_are_refused),
        cmocka_unit_test(goals_change_before_and_during_a_run),
        cmocka_unit_test(times_become_ipc),
        cmocka_unit_test(a_time_is_a_goal_of_a_run_that_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
