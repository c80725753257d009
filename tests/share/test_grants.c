/* SPDX-License-Identifier: MIT */
/* Policies that hold launches back, and those that set goals as shares, by script. */
#include "sm_stage.h"

enum { SMS = 4, FIT = 3, WAVE = SMS * FIT };

/* Application a has a launch of so many thread blocks, of which some are done; 0: it has none. */
static void launch(struct stage *stage, uint32_t a, uint32_t tbs, uint32_t completed)
{
    stage->applications[a].running = (struct corun_grid_view){
        .kernel = tbs ? "kernel" : NULL, .tbs = tbs, .tbs_completed = completed, .tb_threads = 256, .tbs_per_sm = FIT};
}

static void begin(struct stage *stage, const char *policy, double goal)
{
    stage_create(stage, policy, SMS, 2);
    stage->view.clock_khz = 1000000; /* nanoseconds */
    stage->view.threads_per_sm = 1024;
    stage->applications[0].goal = CORUN_GOAL_FRACTION;
    stage->applications[0].goal_value = goal;
}

static void arrive(struct stage *stage)
{
    assert_int_equal(stage_start(stage), CORUN_OK);
    stage_moment(stage, CORUN_EVENT_ARRIVE, 0, 0);
    stage_moment(stage, CORUN_EVENT_ARRIVE, 0, 1);
}

static void start_kernel(struct stage *stage, uint32_t a, uint32_t tbs)
{
    launch(stage, a, tbs, 0);
    stage_moment(stage, CORUN_EVENT_KERNEL_START, 0, a);
}

static void priority_holds_others_back(void **unused)
{
    (void)unused;
    struct stage stage;
    begin(&stage, "priority", 0.5);
    stage_set(&stage, "beside", 2);
    arrive(&stage);
    start_kernel(&stage, 1, 100);
    assert_int_equal(stage.grant[0], CORUN_UNLIMITED);
    assert_int_equal(stage.grant[1], WAVE); /* nothing is known of it yet */
    start_kernel(&stage, 0, 10);
    assert_int_equal(stage.grant[1], 2);
    launch(&stage, 0, 0, 0);
    stage_moment(&stage, CORUN_EVENT_RUN_COMPLETE, 0, 0);
    assert_int_equal(stage.grant[1], WAVE);
    stage_end(&stage);
}

/* 200 thread blocks in an epoch of 10 us: 2000 in the 100 us that a launch with a goal may wait. */
static void priority_measures_what_is_over_in_time(void **unused)
{
    (void)unused;
    struct stage stage;
    begin(&stage, "priority", 0.5);
    stage_set(&stage, "wait", 100);
    arrive(&stage);
    start_kernel(&stage, 1, 150);
    start_kernel(&stage, 1, 150); /* the first one is over */
    launch(&stage, 1, 150, 50);
    stage_epoch(&stage, IPC(0, 0));
    assert_int_equal(stage.grant[1], 2000);
    launch(&stage, 1, 150, 50);
    stage_epoch(&stage, IPC(0, 0)); /* nothing is done: they are longer than an epoch */
    assert_int_equal(stage.grant[1], 2000);
    launch(&stage, 1, 150, 60);
    stage_epoch(&stage, IPC(0, 0)); /* 10 in two */
    assert_int_equal(stage.grant[1], 50);
    launch(&stage, 1, 150, 61);
    stage_epoch(&stage, IPC(0, 0));
    assert_int_equal(stage.grant[1], WAVE); /* less bounds nothing */
    /* an epoch in which it was held back for some time tells nothing */
    start_kernel(&stage, 0, 10);
    launch(&stage, 0, 0, 0);
    launch(&stage, 1, 150, 149);
    stage_epoch(&stage, IPC(0, 0));
    assert_int_equal(stage.grant[1], WAVE);
    launch(&stage, 1, 150, 150);
    stage_epoch(&stage, IPC(0, 0));
    assert_int_equal(stage.grant[1], WAVE);
    stage_end(&stage);
}

/* A launch of fewer thread blocks than fit the GPU is over in the time of one; those behind it are not. */
static void priority_grants_a_small_launch(void **unused)
{
    (void)unused;
    struct stage stage;
    begin(&stage, "priority", 0.5);
    stage_set(&stage, "wait", 20);
    arrive(&stage);
    start_kernel(&stage, 1, 5);
    assert_int_equal(stage.grant[1], 5);
    start_kernel(&stage, 1, 5);
    start_kernel(&stage, 1, 5); /* two of five in an epoch of 10 us: four in 20 us */
    stage_epoch(&stage, IPC(0, 0));
    assert_int_equal(stage.grant[1], 20);
    stage_end(&stage);
}

/* Alone it does 100 in a tick. The others are held back when a launch has ended that leaves it 2 us behind; then it catches up, and falls back. */
static void priority_lets_others_go_on_until_it_is_late(void **unused)
{
    (void)unused;
    struct stage stage;
    begin(&stage, "priority", 0.5);
    stage_set(&stage, "late", 2);
    stage.applications[0].isolated_ipc = 100;
    arrive(&stage);
    start_kernel(&stage, 1, 100);
    start_kernel(&stage, 0, 10);
    assert_int_equal(stage.grant[1], WAVE); /* it is not late yet */
    stage_run(&stage, 3000, IPC(50, 0));
    stage_moment(&stage, CORUN_EVENT_LIMIT_REACHED, 0, 1); /* how far a launch is that has not ended is not known */
    assert_int_equal(stage.grant[1], WAVE);
    start_kernel(&stage, 0, 10); /* 3000 - 1500 ticks */
    assert_int_equal(stage.grant[1], WAVE);
    stage_run(&stage, 1000, IPC(50, 0));
    start_kernel(&stage, 0, 10); /* 4000 - 2000 */
    assert_int_equal(stage.grant[1], 0);
    stage_run(&stage, 1000, IPC(100, 0));
    start_kernel(&stage, 0, 10); /* it goes on as it were alone, and stays as late */
    assert_int_equal(stage.grant[1], 0);
    launch(&stage, 0, 0, 0);
    stage_moment(&stage, CORUN_EVENT_RUN_COMPLETE, 0, 0);
    stage_run(&stage, 9000, IPC(0, 0));
    start_kernel(&stage, 0, 10); /* anew */
    assert_int_equal(stage.grant[1], WAVE);
    stage.applications[0].isolated_ipc = 0; /* nobody knows how late it is */
    start_kernel(&stage, 0, 10);
    assert_int_equal(stage.grant[1], 0);
    stage_end(&stage);
}

/* Without `late` others wait, also where a launch ends before it would have alone. */
static void priority_waits_for_who_is_ahead(void **unused)
{
    (void)unused;
    struct stage stage;
    begin(&stage, "priority", 0.5);
    stage.applications[0].isolated_ipc = 100;
    arrive(&stage);
    start_kernel(&stage, 1, 100);
    start_kernel(&stage, 0, 10);
    assert_int_equal(stage.grant[1], 0);
    stage_run(&stage, 3000, IPC(120, 0));
    start_kernel(&stage, 0, 10);
    assert_int_equal(stage.grant[1], 0);
    stage_end(&stage);
}

/*
 * A run takes 5 us alone, and is to end 20 us after it was asked for. With nothing asked there are 15 us to spare; the others do 20 thread blocks in a
 * microsecond.
 */
static void priority_lets_others_go_on_while_requests_are_in_time(void **unused)
{
    (void)unused;
    struct stage stage;
    uint64_t asked[3];
    begin(&stage, "priority", 0.5);
    stage_set(&stage, "wait", 2);
    stage_set(&stage, "within", 20);
    stage.applications[0].isolated_ipc = 100;
    arrive(&stage);
    start_kernel(&stage, 1, 300);
    launch(&stage, 1, 300, 200);
    stage_epoch(&stage, IPC(0, 0));
    assert_int_equal(stage.grant[1], 2 * 20); /* how long a run takes is not known */
    asked[0] = stage.view.cycle;
    stage.applications[0].asked_cycles = asked;
    stage.applications[0].asked_count = 1;
    start_kernel(&stage, 0, 10);
    assert_int_equal(stage.grant[1], 0);
    stage_run(&stage, 5000, IPC(100, 0));
    stage.applications[0].runs = 1;
    stage.applications[0].asked_count = 0;
    launch(&stage, 0, 0, 0);
    stage_moment(&stage, CORUN_EVENT_RUN_COMPLETE, 0, 0);
    assert_int_equal(stage.grant[1], 15 * 20);
    asked[0] = stage.view.cycle;
    stage.applications[0].asked_count = 1;
    start_kernel(&stage, 0, 10);
    assert_int_equal(stage.grant[1], 15 * 20);
    stage_run(&stage, 4000, IPC(50, 0)); /* 2 us of 5 are done */
    start_kernel(&stage, 0, 10);
    assert_int_equal(stage.grant[1], 13 * 20);
    asked[1] = asked[0] + 1000; /* would end after 5 - 2 + 5 us, 3 after it was asked for */
    asked[2] = asked[0] + 4000;
    stage.applications[0].asked_count = 2;
    start_kernel(&stage, 0, 10);
    assert_int_equal(stage.grant[1], 9 * 20);
    stage.applications[0].asked_count = 3; /* after 13, 0 after it was asked for */
    start_kernel(&stage, 0, 10);
    assert_int_equal(stage.grant[1], 7 * 20);
    stage_run(&stage, 6000, IPC(10, 0));
    start_kernel(&stage, 0, 10); /* 1.6 to spare are less than what is in flight may take */
    assert_int_equal(stage.grant[1], 0);
    stage.applications[0].isolated_ipc = 0;
    stage.applications[0].asked_count = 1;
    start_kernel(&stage, 0, 10);
    assert_int_equal(stage.grant[1], 0);
    stage_end(&stage);
}

/* Of 4 SMs 2 are for the others beside launches with a goal. On these fit 6 thread blocks, and they do half as many in a time. */
static void priority_keeps_others_apart(void **unused)
{
    (void)unused;
    struct stage stage;
    begin(&stage, "priority", 0.5);
    stage_set(&stage, "wait", 20);
    stage_set(&stage, "beside", 4);
    stage_set(&stage, "apart", 2);
    arrive(&stage);
    start_kernel(&stage, 0, 10);
    assert_true(stage.sm_set[0] == CORUN_SMS_ALL && stage.sm_set[1] == CORUN_SMS_ALL); /* there is nobody else */
    start_kernel(&stage, 1, 300);
    assert_true(stage.sm_set[0] == CORUN_SMS_REST && stage.sm_set[1] == CORUN_SMS_APART && stage.grant[1] == 4);
    launch(&stage, 0, 0, 0);
    stage_moment(&stage, CORUN_EVENT_RUN_COMPLETE, 0, 0);
    assert_true(stage.sm_set[1] == CORUN_SMS_ALL && stage.grant[1] == WAVE);
    stage_epoch(&stage, IPC(0, 0));
    launch(&stage, 1, 300, 100);
    stage_epoch(&stage, IPC(0, 0)); /* 100 in 10 us, on all */
    assert_int_equal(stage.grant[1], 200);
    stage_end(&stage);
    begin(&stage, "priority", 0.5);
    stage_set(&stage, "apart", 2); /* nobody is beside it */
    arrive(&stage);
    start_kernel(&stage, 1, 300);
    start_kernel(&stage, 0, 10);
    assert_true(stage.sm_set[0] == CORUN_SMS_ALL && stage.sm_set[1] == CORUN_SMS_ALL && stage.grant[1] == 0);
    stage_end(&stage);
    begin(&stage, "priority", 0.5);
    stage_set(&stage, "apart", 2);
    stage_set(&stage, "late", 1000);
    stage_set(&stage, "wait", 20);
    stage.applications[0].isolated_ipc = 100;
    arrive(&stage);
    start_kernel(&stage, 1, 300);
    launch(&stage, 1, 300, 100);
    stage_epoch(&stage, IPC(0, 0));
    assert_int_equal(stage.grant[1], 200);
    start_kernel(&stage, 0, 10);
    assert_int_equal(stage.grant[1], WAVE / 2); /* what is over in a time on these SMs is not known */
    stage_epoch(&stage, IPC(0, 0));             /* of which a part on all */
    launch(&stage, 1, 300, 150);
    stage_epoch(&stage, IPC(0, 0));
    assert_int_equal(stage.grant[1], 100);
    launch(&stage, 0, 0, 0);
    stage_moment(&stage, CORUN_EVENT_RUN_COMPLETE, 0, 0);
    assert_int_equal(stage.grant[1], 200);
    stage_end(&stage);
    begin(&stage, "priority", 0.5);
    stage_set(&stage, "apart", SMS);
    assert_int_equal(stage_start(&stage), CORUN_ARGUMENT);
    assert_non_null(strstr(stage.allowances.refusal, "all of them"));
    stage_end(&stage);
}

static void turns_go_round(void **unused)
{
    (void)unused;
    struct stage stage;
    begin(&stage, "turns", 0.5);
    stage_set(&stage, "microseconds", 15);
    stage_set(&stage, "waves", 3);
    arrive(&stage);
    assert_true(!stage.grant[0] && !stage.grant[1]);
    start_kernel(&stage, 1, 100); /* nobody else has one */
    assert_true(!stage.grant[0] && stage.grant[1] == 3 * WAVE);
    start_kernel(&stage, 0, 100);
    stage_epoch(&stage, IPC(0, 0));
    assert_true(!stage.grant[0] && stage.grant[1] == 3 * WAVE);
    stage_epoch(&stage, IPC(0, 0));
    assert_true(stage.grant[0] == 3 * WAVE && !stage.grant[1]);
    launch(&stage, 0, 0, 0); /* it has no launch any more */
    stage_moment(&stage, CORUN_EVENT_RUN_COMPLETE, 0, 0);
    assert_true(!stage.grant[0] && stage.grant[1] == 3 * WAVE);
    stage_epoch(&stage, IPC(0, 0));
    stage_epoch(&stage, IPC(0, 0)); /* nobody else wants a turn */
    assert_true(!stage.grant[0] && stage.grant[1] == 3 * WAVE);
    stage_end(&stage);
}

/* Thread blocks of 256 threads on an SM of 1024. */
static void thread_limits_are_shares(void **unused)
{
    (void)unused;
    struct stage stage;
    begin(&stage, "thread-limits", 0.8);
    arrive(&stage);
    start_kernel(&stage, 0, 100);
    start_kernel(&stage, 1, 100);
    for (uint32_t s = 0; s < SMS; s++) {
        assert_int_equal(stage.tb_limit[2 * s], 3);     /* 3.2 */
        assert_int_equal(stage.tb_limit[2 * s + 1], 1); /* 0.8: one at least */
        assert_false(stage.exclusive[s]);
    }
    stage_end(&stage);
    begin(&stage, "thread-limits", 0.25);
    stage_set(&stage, "batch", 100);
    arrive(&stage);
    start_kernel(&stage, 0, 100);
    start_kernel(&stage, 1, 100);
    assert_true(stage.tb_limit[0] == 1 && stage.tb_limit[1] == 4);
    stage_end(&stage);
    begin(&stage, "thread-limits", 0.8);
    stage.applications[1].goal = CORUN_GOAL_FRACTION;
    stage.applications[1].goal_value = 0.3;
    assert_int_equal(stage_start(&stage), CORUN_POLICY);
    assert_non_null(strstr(stage.allowances.refusal, "more than the whole GPU"));
    stage_end(&stage);
}

static void slate_launches_again(void **unused)
{
    (void)unused;
    struct stage stage;
    begin(&stage, "slate", 0.75);
    arrive(&stage);
    start_kernel(&stage, 1, 100);
    assert_string_equal(stage_owners(&stage), "BBBB");
    for (uint32_t s = 0; s < SMS; s++)
        stage_resident(&stage, s, 1, 2);
    start_kernel(&stage, 0, 100); /* B has to end everywhere, also where it will be */
    assert_string_equal(stage_owners(&stage), "....");
    for (uint32_t s = 0; s + 1 < SMS; s++) {
        stage_resident(&stage, s, 1, 0);
        stage_moment(&stage, CORUN_EVENT_LIMIT_REACHED, s, 1);
        assert_string_equal(stage_owners(&stage), "....");
    }
    stage_resident(&stage, SMS - 1, 1, 0);
    stage_moment(&stage, CORUN_EVENT_LIMIT_REACHED, SMS - 1, 1);
    assert_string_equal(stage_owners(&stage), "AAAB");
    stage_resident(&stage, 0, 0, 1);
    stage_moment(&stage, CORUN_EVENT_RUN_COMPLETE, 0, 0); /* it is about to start over */
    assert_string_equal(stage_owners(&stage), "AAAB");
    launch(&stage, 1, 0, 0);
    stage_epoch(&stage, IPC(0, 0));
    assert_string_equal(stage_owners(&stage), "....");
    stage_resident(&stage, 0, 0, 0);
    stage_moment(&stage, CORUN_EVENT_LIMIT_REACHED, 0, 0);
    assert_string_equal(stage_owners(&stage), "AAAA");
    stage_end(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(priority_holds_others_back),
        cmocka_unit_test(priority_measures_what_is_over_in_time),
        cmocka_unit_test(priority_grants_a_small_launch),
        cmocka_unit_test(priority_lets_others_go_on_until_it_is_late),
        cmocka_unit_test(priority_waits_for_who_is_ahead),
        cmocka_unit_test(priority_lets_others_go_on_while_requests_are_in_time),
        cmocka_unit_test(priority_keeps_others_apart),
        cmocka_unit_test(turns_go_round),
        cmocka_unit_test(thread_limits_are_shares),
        cmocka_unit_test(slate_launches_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
