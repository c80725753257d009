/* SPDX-License-Identifier: MIT */
/* A run that waits for the instructions of an application which gets nothing any more ends and says so; one in which it gets something later goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stage.h"

enum { WATCHDOG_CYCLES = 20000, TB_CYCLES = 400 /* at least */, STARVED = 1 };

/* What lets the starved one in. */
static struct {
    bool on_completion, on_arrival, on_leave; /* of a run of another one; of another one */
    bool by_quota;                            /* it has a place all the time, and nothing to issue with */
} plan;

static void allow(const struct corun_view *view, struct corun_allowances *allowances, bool open)
{
    for (uint32_t s = 0; s < view->sm_count; s++)
        for (uint32_t a = 0; a < view->application_count; a++) {
            uint32_t entry = s * view->application_count + a;
            bool closed = a == STARVED && !open;
            allowances->tb_limit[entry] = closed && !plan.by_quota ? 0 : 1;
            allowances->quota_set[entry] = plan.by_quota;
            allowances->quota_refill[entry] = closed ? 0 : 1000;
            allowances->quota[entry] = closed ? 0 : 1000000000;
        }
}

static void start_plan(struct stage *stage, const struct corun_view *view, struct corun_allowances *allowances)
{
    (void)stage;
    allowances->quotas_on = plan.by_quota;
    allowances->quota_kind = CORUN_QUOTA_WARP_AT_ISSUE;
    allow(view, allowances, false);
}

static void follow_plan(struct stage *stage, const struct corun_view *view, struct corun_policy_moment moment,
                        struct corun_allowances *allowances)
{
    (void)stage;
    if ((moment.event == CORUN_EVENT_RUN_COMPLETE && plan.on_completion) ||
        (moment.event == CORUN_EVENT_ARRIVE && plan.on_arrival && moment.application == 2) ||
        (moment.event == CORUN_EVENT_LEAVE && plan.on_leave))
        allow(view, allowances, true);
}

static struct script *additions(uint32_t tbs)
{
    struct script *script = script_new(tbs, 1);
    for (uint32_t i = 0; i < 100; i++)
        script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, 1, 1, 41);
    script_end(script, 0, 1);
    return script;
}

/* Application 1 is starved; a run of application 0 has as many thread blocks as is said, one after the other. */
static struct stage *set_up(uint32_t tbs)
{
    struct stage *stage = stage_new();
    memset(&plan, 0, sizeof plan);
    stage->config.epoch_cycles = 1000;
    stage->config.launch_latency = 200;
    stage->config.sms = 1;
    stage->application_count = 2;
    stage->scripts[0] = additions(tbs);
    stage->scripts[STARVED] = additions(1);
    stage->start = start_plan;
    stage->decide = follow_plan;
    stage->limits = (struct corun_limits){.thread_instructions = 1000, .watchdog_cycles = WATCHDOG_CYCLES};
    return stage;
}

static void one_that_is_never_let_in_ends_the_run(void **state)
{
    (void)state;
    for (int by_quota = 0; by_quota < 2; by_quota++) {
        struct stage *stage = set_up(1);
        plan.by_quota = by_quota;
        stage_run(stage);
        assert_int_equal(stage->status, CORUN_POLICY);
        assert_non_null(strstr(stage->message, "policy scripted has let "));
        assert_non_null(strstr(stage->message, " issue nothing for 2"));
        assert_in_range(stage->cycles, WATCHDOG_CYCLES, 2 * WATCHDOG_CYCLES);
        stage_end(stage);
    }
}

/* A run of the other one may take longer than the watchdog waits: at its end something may change. */
static void whoever_waits_for_a_long_run_is_let_wait(void **state)
{
    (void)state;
    for (int by_quota = 0; by_quota < 2; by_quota++) {
        struct stage *stage = set_up(2 * WATCHDOG_CYCLES / TB_CYCLES);
        plan.by_quota = by_quota;
        plan.on_completion = true;
        stage_run(stage);
        assert_int_equal(stage->status, CORUN_OK);
        assert_true(stage->cycles > 2 * WATCHDOG_CYCLES);
        stage_end(stage);
    }
}

static void whoever_waits_for_an_arrival_is_let_wait(void **state)
{
    (void)state;
    struct stage *stage = set_up(1);
    plan.on_arrival = true;
    stage->application_count = 3;
    stage->scripts[2] = additions(1);
    stage->arrivals[2] = 5 * WATCHDOG_CYCLES;
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_OK);
    assert_true(stage->cycles > 5 * WATCHDOG_CYCLES);
    stage_end(stage);
}

/* As long as another one has not issued what is asked for, the policy may let it be alone. */
static void nobody_is_ended_while_others_are_measured(void **state)
{
    (void)state;
    struct stage *stage = set_up(4 * WATCHDOG_CYCLES / TB_CYCLES);
    plan.on_leave = true;
    stage->limits.runs = 1;
    stage->limits.thread_instructions = UINT64_MAX;
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_OK);
    assert_int_equal(stage->results[STARVED].runs, 1);
    assert_true(stage->cycles > 4 * WATCHDOG_CYCLES);
    stage_end(stage);
}

/* A window of cycles ends by itself. */
static void a_window_of_cycles_is_as_long_as_asked_for(void **state)
{
    (void)state;
    struct stage *stage = set_up(1);
    stage->limits.cycles = 10 * WATCHDOG_CYCLES;
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_OK);
    assert_int_equal(stage->cycles, 10 * WATCHDOG_CYCLES);
    assert_int_equal(stage->counters[STARVED].thread_instructions, 0);
    stage_end(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_is_never_let_in_ends_the_run),
        cmocka_unit_test(whoever_waits_for_a_long_run_is_let_wait),
        cmocka_unit_test(whoever_waits_for_an_arrival_is_let_wait),
        cmocka_unit_test(nobody_is_ended_while_others_are_measured),
        cmocka_unit_test(a_window_of_cycles_is_as_long_as_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
