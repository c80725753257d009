/* SPDX-License-Identifier: MIT */
/* Grants: launches that are held back, whole and in slices; runs that are asked for; kernels that no worker can run, under limits. */
#include "software/stage.h"

#include "corun/workload.h"

#include <stdio.h>

static uint64_t draws;
static uint32_t most_in_flight, granted;

static enum corun_status quiet_start(void *state, const struct corun_view *view, const double *parameters,
                                     struct corun_allowances *allowances)
{
    (void)state, (void)view, (void)parameters, (void)allowances;
    return CORUN_OK;
}

/* None, a few thread blocks, many, without limit. */
static void restless_decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                            struct corun_allowances *allowances)
{
    (void)state, (void)moment;
    for (uint32_t a = 0; a < view->application_count; a++) {
        uint64_t draw = corun_random(&draws);
        uint32_t grants[] = {0, 1 + (uint32_t)(draw / 8 % 7), 40 + (uint32_t)(draw / 8 % 100), CORUN_UNLIMITED};
        allowances->grant[a] = grants[draw % 4];
    }
}

/* `granted` for everybody, who is watched. */
static void steady_decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                          struct corun_allowances *allowances)
{
    (void)state, (void)moment;
    for (uint32_t a = 0; a < view->application_count; a++) {
        const struct corun_grid_view *running = &view->applications[a].running;
        allowances->grant[a] = granted;
        if (!running->kernel)
            continue;
        uint32_t in_flight = running->tbs - running->tbs_waiting - running->tbs_completed;
        most_in_flight = in_flight > most_in_flight ? in_flight : most_in_flight;
    }
}

/* Nothing for the first one while the second one is there. */
static void second_first_decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                                struct corun_allowances *allowances)
{
    (void)state, (void)moment;
    allowances->grant[0] = view->applications[1].state == CORUN_APPLICATION_LEFT ? CORUN_UNLIMITED : 0;
}

static struct corun_policy scripted(void (*decide)(void *, const struct corun_view *, struct corun_policy_moment,
                                                   struct corun_allowances *))
{
    return (struct corun_policy){.version = CORUN_POLICY_VERSION,
                                 .name = "scripted",
                                 .summary = "",
                                 .paper = "",
                                 .needs = 1u << CORUN_CAN_GRANT,
                                 .observes = 1u << CORUN_SEES_TB_PROGRESS,
                                 .start = quiet_start,
                                 .decide = decide};
}

/* Every thread block once, and results as without timing, whatever is granted. */
static void grants_at_random(void **state)
{
    (void)state;
    static const enum software_launching ways[] = {SOFTWARE_SLICES, SOFTWARE_WHOLE};
    struct corun_policy policy = scripted(restless_decide);
    for (uint32_t i = 0; i < 2; i++) {
        struct stage stage = stage_begin();
        stage.options.launching = ways[i];
        stage.options.policy = &policy;
        stage.options.epoch_ns = 5000;
        stage_add(&stage, 90, 60, 3);
        stage_add(&stage, 250, 20, 2);
        draws = 5 + i;
        stage_run(&stage, &(struct software_limits){.runs = 12});
        for (uint32_t a = 0; a < 2; a++) {
            const struct software_result *result = &stage.results[a];
            assert_int_equal(result->runs, 12);
            assert_int_equal(result->launches, a ? 24 : 36);
            assert_int_equal(result->thread_blocks, a ? 24 * 250 : 36 * 90);
            assert_int_equal(result->crews, 0);
            assert_true(ways[i] == SOFTWARE_SLICES ? result->slices > 20 && result->whole > 0
                                                   : !result->slices && result->whole == result->launches);
        }
        stage_end(&stage);
    }
}

static void no_more_in_flight_than_granted(void **state)
{
    (void)state;
    struct corun_policy policy = scripted(steady_decide);
    for (granted = 1; granted <= 64; granted *= 4) {
        struct stage stage = stage_begin();
        stage.options.launching = SOFTWARE_SLICES;
        stage.options.policy = &policy;
        stage.options.epoch_ns = 3000;
        stage_add(&stage, 150, 900, 1);
        most_in_flight = 0;
        stage_run(&stage, &(struct software_limits){.runs = 2});
        assert_int_equal(stage.results[0].slices, 2 * ((150 + (granted + 1) / 2 - 1) / ((granted + 1) / 2)));
        assert_true(most_in_flight > granted / 2 && most_in_flight <= granted);
        stage_end(&stage);
    }
}

/* Launches within the grant go ahead of the one before, and the device does not wait for the host between them. */
static void ahead_within_the_grant(void **state)
{
    (void)state;
    struct corun_policy policy = scripted(steady_decide);
    uint64_t ended[2];
    for (uint32_t more = 0; more < 2; more++) {
        struct stage stage = stage_begin();
        stage.options.launching = more ? SOFTWARE_SLICES : SOFTWARE_WHOLE;
        stage.options.policy = &policy;
        stage_add(&stage, 20, 20, 12);
        granted = 20;
        stage_run(&stage, &(struct software_limits){.runs = 2});
        ended[0] = stage.results[0].ended_ns;
        stage_end(&stage);
        stage = stage_begin();
        stage.options.launching = more ? SOFTWARE_SLICES : SOFTWARE_WHOLE;
        stage.options.policy = &policy;
        stage_add(&stage, 20, 20, 12);
        granted = 60;
        stage_run(&stage, &(struct software_limits){.runs = 2});
        ended[1] = stage.results[0].ended_ns;
        assert_int_equal(stage.results[0].whole, 24);
        print_message("%llu ns one by one, %llu ns three at once\n", (unsigned long long)ended[0],
                      (unsigned long long)ended[1]);
        assert_true(ended[1] < ended[0] * 4 / 5);
        stage_end(&stage);
    }
}

static void held_back(void **state)
{
    (void)state;
    struct corun_policy policy = scripted(second_first_decide);
    struct stage stage = stage_begin();
    stage.options.launching = SOFTWARE_WHOLE;
    stage.options.policy = &policy;
    stage_add(&stage, 50, 50, 2);
    stage_add(&stage, 50, 50, 2);
    stage_run(&stage, &(struct software_limits){.runs = 3});
    assert_int_equal(stage.results[0].runs, 3);
    assert_true(stage.results[0].run_ns[0] > stage.results[1].ended_ns);
    assert_true(stage.results[0].run_ns[0] < 2 * stage.results[1].ended_ns);
    stage_end(&stage);
}

static const uint64_t asked_for[] = {20000, 500000, 500100, 500200};
static uint32_t most_asked;

/* Runs that have been asked for and have not ended, from the first one on. */
static void asked_decide(void *memory, const struct corun_view *view, struct corun_policy_moment moment,
                         struct corun_allowances *allowances)
{
    const struct corun_application_view *application = &view->applications[0];
    (void)memory, (void)moment, (void)allowances;
    assert_true(application->runs + application->asked_count <= 4);
    for (uint32_t i = 0; i < application->asked_count; i++)
        assert_true(application->asked_cycles[i] == asked_for[application->runs + i] &&
                    application->asked_cycles[i] <= view->cycle);
    if (application->asked_count > most_asked)
        most_asked = application->asked_count;
    assert_true(!view->applications[1].asked_cycles && !view->applications[1].asked_count);
}

static void a_policy_sees_what_is_asked_for(void **state)
{
    (void)state;
    struct corun_policy policy = scripted(asked_decide);
    policy.observes |= 1u << CORUN_SEES_RUNS;
    struct stage stage = stage_begin();
    stage.options.launching = SOFTWARE_WHOLE;
    stage.options.policy = &policy;
    stage.options.epoch_ns = 5000;
    stage_add(&stage, 64, 4000, 2);
    stage_add(&stage, 64, 400, 2);
    stage.applications[0].requests_ns = asked_for;
    stage.applications[0].request_count = 4;
    most_asked = 0;
    stage_run(&stage, &(struct software_limits){.runs = 4});
    assert_int_equal(most_asked, 3);
    stage_end(&stage);
}

/* A run begins no sooner than it is asked for, and its time counts from then, also while it waits for others. */
static void requests(void **state)
{
    (void)state;
    static const uint64_t times[] = {20000, 500000, 500100, 500200};
    for (uint32_t launching = SOFTWARE_WORKERS; launching <= SOFTWARE_WHOLE; launching++) {
        struct stage stage = stage_begin();
        stage.options.launching = launching;
        stage_add(&stage, 64, 4000, 2);
        stage.applications[0].requests_ns = times;
        stage.applications[0].request_count = 4;
        stage_run(&stage, &(struct software_limits){.runs = 4});
        const struct software_result *result = &stage.results[0];
        uint64_t once = result->run_ns[0];
        assert_int_equal(result->requests, 4);
        assert_true(once > 1000 && once < 200000);
        assert_true(result->run_ns[1] < once * 3 / 2);
        assert_true(result->run_ns[2] > once * 3 / 2 && result->run_ns[3] > once * 5 / 2);
        assert_true(result->ended_ns >= times[3] + result->run_ns[3]);
        print_message("%llu %llu %llu %llu ns\n", (unsigned long long)once, (unsigned long long)result->run_ns[1],
                      (unsigned long long)result->run_ns[2], (unsigned long long)result->run_ns[3]);
        stage_end(&stage);
    }
}

/* Its barrier is named by a register: no worker can run it. */
static const char odd_ptx[] = WORKERS_HEAD ".visible .entry hand(.param .u64 out, .param .u32 spin)\n{\n"
                                           ".reg .pred %p<9>;\n.reg .b32 %r<30>;\n.reg .b64 %rd<20>;\n"
                                           "ld.param.u64 %rd1, [out];\nld.param.u32 %r9, [spin];\n"
                                           "mov.u32 %r29, 1;\nbar.sync %r29, 32;\n"
                                           "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\n" WORKERS_BODY "ret;\n}\n";

/* A launch that goes whole waits until its application is owed a place. */
static void whole_launches_under_limits(void **state)
{
    (void)state;
    double parameters[64] = {0};
    const struct corun_policy *slices = corun_policy_find("time-slice");
    for (uint32_t i = 0; i < slices->parameter_count; i++)
        parameters[i] = !strcmp(slices->parameters[i].name, "slice")     ? 60000
                        : !strcmp(slices->parameters[i].name, "reclaim") ? 0
                                                                         : slices->parameters[i].initial;
    struct stage stage = stage_begin();
    stage.options.policy = slices;
    stage.options.parameters = parameters;
    stage.options.epoch_ns = 30000;
    stage_add(&stage, 64, 100, 1);
    stage_add(&stage, 64, 100, 1);
    stage.hands[0]->commands.workers_ptx = NULL;
    stage.hands[0]->commands.ptx = odd_ptx;
    stage.hands[0]->commands.ptx_bytes = sizeof odd_ptx - 1;
    stage_run(&stage, &(struct software_limits){.window_ns = 2000000});
    assert_non_null(stage.results[0].refusal);
    assert_int_equal(stage.results[0].whole, stage.results[0].launches);
    assert_int_equal(stage.results[1].whole, 0);
    double ratio = (double)stage.results[0].progress / (double)stage.results[1].progress;
    print_message("%llu whole launches, %llu by workers\n", (unsigned long long)stage.results[0].launches,
                  (unsigned long long)stage.results[1].launches);
    assert_true(ratio > 0.5 && ratio < 2.5);
    stage_end(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grants_at_random),
        cmocka_unit_test(no_more_in_flight_than_granted),
        cmocka_unit_test(ahead_within_the_grant),
        cmocka_unit_test(held_back),
        cmocka_unit_test(requests),
        cmocka_unit_test(a_policy_sees_what_is_asked_for),
        cmocka_unit_test(whole_launches_under_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
