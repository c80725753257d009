/* SPDX-License-Identifier: MIT */
/* What a policy is told of an application on the software machine: what a run launches, and how far launches are whose thread blocks have not ended. */
#include "software/stage.h"

enum { MOST_NOTES = 400, SMS_GIVEN = STAGE_SMS - 1 };

/* A policy that gives three SMs, so that launches go as workers, and keeps what it sees. */
static struct notes {
    uint32_t epochs, starts, launch_count;
    uint64_t at_epoch[MOST_NOTES], at_start[MOST_NOTES];
    struct corun_launch_view launch;
    bool all;
} notes;

static void note(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                 struct corun_allowances *allowances)
{
    (void)state;
    const struct corun_application_view *first = &view->applications[0];
    for (uint32_t s = 0; s < view->sm_count; s++)
        allowances->tb_limit[s * view->application_count] = notes.all || s < SMS_GIVEN ? CORUN_UNLIMITED : 0;
    if (moment.event == CORUN_EVENT_EPOCH && notes.epochs < MOST_NOTES)
        notes.at_epoch[notes.epochs++] = first->progress;
    if (moment.event == CORUN_EVENT_KERNEL_START && notes.starts < MOST_NOTES)
        notes.at_start[notes.starts++] = first->progress;
    notes.launch_count = first->run_launch_count;
    if (first->run_launch_count)
        notes.launch = first->run_launches[0];
}

static enum corun_status start(void *state, const struct corun_view *view, const double *parameters,
                               struct corun_allowances *allowances)
{
    (void)state, (void)view, (void)parameters, (void)allowances;
    return CORUN_OK;
}

static const struct corun_policy policy = {.version = CORUN_POLICY_VERSION,
                                           .name = "notes",
                                           .summary = "three SMs",
                                           .paper = "",
                                           .needs = 1u << CORUN_CAN_TB_LIMIT,
                                           .observes = 1u << CORUN_SEES_PROGRESS | 1u << CORUN_SEES_RUNS,
                                           .start = start,
                                           .decide = note};

static struct stage begin(uint32_t tbs, uint32_t spin, uint32_t launches, bool all)
{
    struct stage stage = stage_begin();
    notes = (struct notes){.all = all};
    stage_add(&stage, tbs, spin, launches);
    stage.options.policy = &policy;
    stage.options.epoch_ns = 10000;
    stage.options.check = false;
    return stage;
}

static void launches_of_a_run_are_told(void **state)
{
    (void)state;
    struct stage stage = begin(40, 100, 3, false);
    stage_run(&stage, &(struct software_limits){.runs = 1});
    assert_int_equal(notes.launch_count, 1);
    assert_int_equal(notes.launch.tbs, 40);
    assert_int_equal(notes.launch.launches, 3);
    assert_true(notes.launch.tbs_per_sm > 0);
    stage_end(&stage);
}

/* Epochs in which something was told, of those after the first launch. Never less than before, and never more than has been launched. */
static void count_news(const struct stage *stage, uint32_t launches, uint32_t *news, uint32_t *epochs)
{
    const uint64_t launch = stage->results[0].progress / launches;
    *news = *epochs = 0;
    for (uint32_t i = 1; i < notes.epochs; i++) {
        assert_true(notes.at_epoch[i] >= notes.at_epoch[i - 1]);
        assert_true(notes.at_epoch[i] <= stage->results[0].progress);
        if (notes.at_epoch[i - 1] < launch)
            continue;
        *news += notes.at_epoch[i] > notes.at_epoch[i - 1];
        ++*epochs;
    }
}

/* Three thread blocks that take tens of epochs, one on each SM: they end together, and nothing ends in between. */
static void long_thread_blocks_are_seen_to_go_on(void **state)
{
    (void)state;
    for (uint32_t all = 0; all < 2; all++) { /* as workers, and as the program has it */
        struct stage stage = begin(3, 40000, 1, all);
        uint32_t news, epochs;
        stage_run(&stage, &(struct software_limits){.runs = 3});
        count_news(&stage, 3, &news, &epochs);
        print_message("%u of %u epochs with news\n", news, epochs);
        assert_true(epochs > 20 && news > epochs * 3 / 4);
        stage_end(&stage);
    }
}

/* The first launch takes a quarter of the time that a run takes alone: it is a quarter of what is told, though it is half of the progress. */
static void launches_count_for_the_time_that_they_take_alone(void **state)
{
    (void)state;
    static const uint64_t alone[] = {10000, 30000};
    struct stage stage = begin(40, 1000, 2, false);
    stage.applications[0].launch_ns = alone;
    stage.applications[0].launch_count = 2;
    stage_run(&stage, &(struct software_limits){.runs = 2});
    uint64_t run = stage.results[0].progress / 2;
    assert_int_equal(notes.starts, 4);
    assert_int_equal(notes.at_start[0], 0);
    assert_int_equal(notes.at_start[1], run / 4);
    assert_int_equal(notes.at_start[2], run);
    assert_int_equal(notes.at_start[3], run + run / 4);
    stage_end(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_of_a_run_are_told),
        cmocka_unit_test(long_thread_blocks_are_seen_to_go_on),
        cmocka_unit_test(launches_count_for_the_time_that_they_take_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
