/* SPDX-License-Identifier: MIT */
/* Plugs on a simulated GPU whose threads sleep: who comes, who is kept away by them, and that they leave. */
#include "software/stage.h"
#include "software/state.h"

static void run_fixed(struct stage *stage, double first, double second)
{
    double parameters[64] = {first, second};
    stage->options.policy = corun_policy_find("fixed");
    stage->options.parameters = parameters;
    stage->options.check = false;
    stage_run(stage, &(struct software_limits){.window_ns = 2000000});
}

/*
 * The first application has a thread block on each of three SMs, which leaves room for 63 others. The second one has room on its own SM alone, and none on those: a crew has a worker
 * for each of its 32 places, where it had as many for every SM.
 */
static void others_find_no_room(void **state)
{
    (void)state;
    struct stage stage = stage_begin();
    struct software_control control;
    stage_add(&stage, 3, 3000, 2);
    stage_add(&stage, 200, 100, 4);
    run_fixed(&stage, 3, 1);
    software_control(stage.software, &control);
    const struct software_result *other = &stage.results[1];
    print_message("%llu plugs; %.1f workers in a crew\n", (unsigned long long)control.plugs,
                  (double)other->workers / (double)other->crews);
    assert_true(control.plugs >= 9);
    for (uint32_t place = 0; place < 3; place++) {
        const struct plug *plug = &stage.software->plugs.at[place];
        assert_int_equal(plug->given, 3);
        assert_int_equal(plug->resident, 3);
        assert_int_equal(plug->warps, 21);
    }
    assert_int_equal(stage.software->plugs.at[3].given, 0);
    assert_int_equal(stage.software->plugs.at[3].resident, 0);
    assert_true(other->crews > 20 && other->workers < 45 * other->crews);
    assert_true(stage.results[0].thread_blocks > 10);
    stage_end(&stage); /* they leave: else this would wait for ever */
}

/* The first application has all SMs, and a launch as its program has it; from its tenth epoch on it is to give up to three, other ones each epoch, if `gives`. */
static bool gives;

static void decide_more(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                        struct corun_allowances *allowances)
{
    uint32_t *epochs = state;
    *epochs += moment.event == CORUN_EVENT_EPOCH;
    const uint32_t given = !gives || *epochs < 10 ? 0 : *epochs % 3 + 1;
    for (uint32_t s = 0; s < view->sm_count; s++) {
        allowances->exclusive[s] = true;
        for (uint32_t a = 0; a < 2; a++)
            allowances->tb_limit[s * view->application_count + a] = (s < given) == (a == 1) ? CORUN_UNLIMITED : 0;
    }
}

static enum corun_status start_more(void *state, const struct corun_view *view, const double *parameters,
                                    struct corun_allowances *allowances)
{
    (void)state, (void)view, (void)parameters, (void)allowances;
    return CORUN_OK;
}

static const struct corun_policy more = {.version = CORUN_POLICY_VERSION,
                                         .name = "more",
                                         .summary = "others get more and more",
                                         .paper = "",
                                         .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE,
                                         .observes = 1u << CORUN_SEES_RESIDENT_TBS,
                                         .state_bytes = sizeof(uint32_t),
                                         .start = start_more,
                                         .decide = decide_more};

static void run_more(struct stage *stage, bool any, uint64_t window_ns)
{
    gives = any;
    stage->options.policy = &more;
    stage->options.epoch_ns = 10000;
    stage->options.check = false;
    stage_run(stage, &(struct software_limits){.window_ns = window_ns});
}

/* Where thread blocks fill their SMs, nobody else has room; where nobody else is, or has a place, nobody is to be kept away. */
static void none_where_there_is_no_need(void **state)
{
    (void)state;
    struct software_control control;
    struct stage stage = stage_begin();
    stage_add(&stage, 400, 300, 2);
    stage_add(&stage, 400, 300, 2);
    run_fixed(&stage, 3, 1);
    software_control(stage.software, &control);
    assert_int_equal(control.plugs, 0);
    stage_end(&stage);
    stage = stage_begin();
    stage_add(&stage, 3, 3000, 2);
    stage_add(&stage, 200, 100, 4);
    run_more(&stage, false, 400000);
    software_control(stage.software, &control);
    assert_int_equal(control.plugs, 0);
    assert_int_equal(stage.results[0].crews, 0);
    stage_end(&stage);
    stage = stage_begin();
    stage_add(&stage, 3, 3000, 2);
    stage.options.check = false;
    stage_run(&stage, &(struct software_limits){.runs = 3});
    software_control(stage.software, &control);
    assert_int_equal(control.plugs, 0);
    stage_end(&stage);
}

/* The second application ends first: the plugs that have kept it away leave while the first one goes on. */
static void they_leave(void **state)
{
    (void)state;
    struct stage stage = stage_begin();
    struct software_control control;
    stage_add(&stage, 2, 9000, 14);
    stage_add(&stage, 200, 100, 4);
    stage.options.policy = corun_policy_find("even");
    stage_run(&stage, &(struct software_limits){.runs = 2});
    software_control(stage.software, &control);
    print_message("%llu plugs\n", (unsigned long long)control.plugs);
    assert_true(control.plugs > 0);
    assert_true(stage.results[0].ended_ns > stage.results[1].ended_ns + 100000);
    for (uint32_t place = 0; place < STAGE_SMS; place++)
        assert_int_equal(stage.software->plugs.at[place].resident, 0);
    stage_end(&stage);
}

/* Limits that change while a launch goes that has every SM wait for its end: they do not queue up, each the length of a copy, before the next launch. */
static void limits_do_not_queue_up(void **state)
{
    (void)state;
    struct stage stage = stage_begin();
    struct software_control control;
    stage_add(&stage, 3, 60000, 1);
    stage_add(&stage, 200, 100, 4);
    run_more(&stage, true, 400000);
    software_control(stage.software, &control);
    print_message("%llu writes in %llu epochs\n", (unsigned long long)control.writes,
                  (unsigned long long)control.epochs);
    assert_true(control.epochs > 25 && control.writes < 6);
    stage_end(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_find_no_room),
        cmocka_unit_test(none_where_there_is_no_need),
        cmocka_unit_test(they_leave),
        cmocka_unit_test(limits_do_not_queue_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
