/* SPDX-License-Identifier: MIT */
/*
 * Quota-based QoS by script: what each mode gives, spreads, keeps and refills, and where thread blocks go. Numbers by
 * hand.
 */
#include "tb_stage.h"

static int64_t quota(const struct tb_stage *tb, uint32_t s, uint32_t a)
{
    return tb->quota[s * tb->stage.view.application_count + a];
}

static int64_t refill(const struct tb_stage *tb, uint32_t s, uint32_t a)
{
    return tb->quota_refill[s * tb->stage.view.application_count + a];
}

static bool adds(const struct tb_stage *tb, uint32_t s, uint32_t a)
{
    return tb->quota_add[s * tb->stage.view.application_count + a];
}

static void set_goal(struct tb_stage *tb, uint32_t a, double ipc)
{
    tb->stage.applications[a].goal = CORUN_GOAL_IPC;
    tb->stage.applications[a].goal_ipc = ipc;
}

/* An epoch ends with these IPCs, of it and since the beginning. */
static void epoch(struct tb_stage *tb, const double *ipc, const double *history)
{
    for (uint32_t a = 0; a < tb->stage.view.application_count; a++)
        tb->stage.applications[a].ipc = history[a];
    stage_epoch(&tb->stage, ipc);
}

/* A kernel with a goal and one without, 100 thread blocks of 100 threads each waiting. */
static void begin_pair(struct tb_stage *tb, const char *policy, uint32_t sms, double goal)
{
    tb_stage_create(tb, policy, sms, 2);
    set_goal(tb, 0, goal);
    stage_set(&tb->stage, "tb_adjust", 0);
    assert_int_equal(stage_start(&tb->stage), CORUN_OK);
    tb_stage_come(tb, 0, 100, 100, 0, 100);
    tb_stage_come(tb, 1, 100, 100, 0, 100);
    tb_stage_obey(tb);
}

/*
 * Figure 4: quotas of 100 and 50, here in each cycle of the epoch; (a) what is spent is refilled for the second only,
 * what is left is lost.
 */
static void figure_4a_naive(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    begin_pair(&tb, "qos-naive", 1, 100);
    epoch(&tb, IPC(100, 50), IPC(100, 50));
    assert_true(tb.stage.allowances.quotas_on);
    assert_int_equal(tb.stage.allowances.quota_kind, CORUN_QUOTA_THREAD_AT_COMPLETION);
    assert_true(quota(&tb, 0, 0) == 1000000 && !adds(&tb, 0, 0) && refill(&tb, 0, 0) == 0);
    assert_true(quota(&tb, 0, 1) == 500000 && !adds(&tb, 0, 1) && refill(&tb, 0, 1) == 500000);
    stage_end(&tb.stage);
}

/* (b) an SM where both have spent theirs begins its next epoch: both are refilled. */
static void figure_4b_elastic(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    begin_pair(&tb, "qos-elastic", 1, 100);
    epoch(&tb, IPC(100, 50), IPC(100, 50));
    assert_true(quota(&tb, 0, 0) == 1000000 && !adds(&tb, 0, 0) && refill(&tb, 0, 0) == 1000000);
    assert_true(quota(&tb, 0, 1) == 500000 && !adds(&tb, 0, 1) && refill(&tb, 0, 1) == 500000);
    stage_end(&tb.stage);
}

/* (c) what the first has left is kept, what the second has left is lost. */
static void figure_4c_rollover(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    begin_pair(&tb, "qos-rollover", 1, 100);
    epoch(&tb, IPC(100, 50), IPC(100, 50));
    assert_true(quota(&tb, 0, 0) == 1000000 && adds(&tb, 0, 0) && refill(&tb, 0, 0) == 0);
    assert_true(quota(&tb, 0, 1) == 500000 && !adds(&tb, 0, 1) && refill(&tb, 0, 1) == 500000);
    stage_end(&tb.stage);
}

static void rollover_time_blocks_best_effort(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    begin_pair(&tb, "qos-rollover-time", 1, 100);
    assert_true(quota(&tb, 0, 1) == 0 && refill(&tb, 0, 1) > 0); /* from the first cycle on */
    epoch(&tb, IPC(100, 50), IPC(100, 50));
    assert_true(quota(&tb, 0, 0) == 1000000 && adds(&tb, 0, 0) && refill(&tb, 0, 0) == 0);
    assert_true(quota(&tb, 0, 1) == 0 && !adds(&tb, 0, 1) && refill(&tb, 0, 1) == 500000);
    stage_end(&tb.stage);
}

/* Section 3.4.2: goal 125, so far 100: alpha is 1.25. */
static void history_raises_the_quota(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    begin_pair(&tb, "qos-rollover", 1, 125);
    epoch(&tb, IPC(100, 10), IPC(100, 10));
    assert_true(stage_variable(&tb.stage, "alpha_1") == 1.25);
    assert_int_equal(quota(&tb, 0, 0), 1562500);
    assert_int_equal(quota(&tb, 0, 1), 64000); /* 10 * 100 / (1.25 * 125) = 6.4 */
    assert_true(stage_variable(&tb.stage, "goal_2") == 6.4);
    epoch(&tb, IPC(200, 10), IPC(150, 10)); /* above it: not lowered */
    assert_int_equal(quota(&tb, 0, 0), 1250000);
    assert_int_equal(quota(&tb, 0, 1), 160000); /* 10 * 200 / 125 */
    stage_end(&tb.stage);
    tb_stage_create(&tb, "qos-rollover", 1, 2);
    set_goal(&tb, 0, 125);
    stage_set(&tb.stage, "history", 0);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 100, 100, 0, 100);
    tb_stage_come(&tb, 1, 100, 100, 0, 100);
    epoch(&tb, IPC(100, 10), IPC(100, 10));
    assert_int_equal(quota(&tb, 0, 0), 1250000);
    assert_int_equal(quota(&tb, 0, 1), 80000); /* 10 * 100 / 125 */
    stage_end(&tb.stage);
}

/* A margin of a quarter: what is aimed at is 125, so alpha is 1.25 at 100, where the goal is met. */
static void margin_raises_what_is_aimed_at(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "qos-rollover", 1, 2);
    set_goal(&tb, 0, 100);
    stage_set(&tb.stage, "margin", 0.25);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 100, 100, 0, 100);
    tb_stage_come(&tb, 1, 100, 100, 0, 100);
    assert_int_equal(quota(&tb, 0, 0), 1250000);
    epoch(&tb, IPC(100, 10), IPC(100, 10));
    assert_true(stage_variable(&tb.stage, "goal_1") == 125 && stage_variable(&tb.stage, "alpha_1") == 1.25);
    assert_int_equal(quota(&tb, 0, 0), 1562500);
    epoch(&tb, IPC(130, 10), IPC(126, 10));
    assert_int_equal(quota(&tb, 0, 0), 1250000);
    stage_end(&tb.stage);
}

/* The product over both kernels with goals; it never falls below the initial 1. */
static void two_goals_multiply(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "qos-naive", 1, 3);
    set_goal(&tb, 0, 100);
    set_goal(&tb, 1, 50);
    stage_set(&tb.stage, "history", 0);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    for (uint32_t a = 0; a < 3; a++)
        tb_stage_come(&tb, a, 100, 100, 0, 100);
    assert_int_equal(quota(&tb, 0, 2), 10000); /* 1 * epoch */
    epoch(&tb, IPC(120, 40, 30), IPC(0, 0, 0));
    assert_true(fabs(stage_variable(&tb.stage, "goal_3") - 30 * 1.2 * 0.8) < 1e-9);
    assert_int_equal(quota(&tb, 0, 2), 288000);
    epoch(&tb, IPC(120, 0, 30), IPC(0, 0, 0));
    assert_int_equal(quota(&tb, 0, 2), 10000);
    stage_end(&tb.stage);
}

/* By hosted thread blocks: 1 and 3 of 4. */
static void quotas_are_spread_by_hosted_tbs(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    begin_pair(&tb, "qos-naive", 2, 100);
    tb.stage.shares[0].resident_tbs = 1;
    tb.stage.shares[2].resident_tbs = 2;
    tb.stage.shares[2].pending_tbs = 1;
    epoch(&tb, IPC(100, 10), IPC(100, 10));
    assert_int_equal(quota(&tb, 0, 0), 250000);
    assert_int_equal(quota(&tb, 1, 0), 750000);
    tb.stage.shares[0].resident_tbs = 0;
    tb.stage.shares[1].resident_tbs = 0; /* an SM without any: what comes later is not blocked for ever */
    epoch(&tb, IPC(100, 10), IPC(100, 10));
    assert_true(quota(&tb, 0, 0) == 0 && quota(&tb, 1, 0) == 1000000);
    assert_true(quota(&tb, 0, 1) == 0 && refill(&tb, 0, 1) == 1);
    stage_end(&tb.stage);
}

/* A kernel that starts within the epoch finds what is left where its thread blocks go. */
static void a_new_kernel_takes_the_rest_along(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    begin_pair(&tb, "qos-rollover", 2, 100);
    tb.stage.shares[0].resident_tbs = 4; /* the tail of a grid: all on one SM */
    tb.stage.shares[2].resident_tbs = 0;
    epoch(&tb, IPC(100, 10), IPC(100, 10));
    assert_true(quota(&tb, 0, 0) == 1000000 && quota(&tb, 1, 0) == 0);
    memset(tb.quota_set, 0, sizeof tb.quota_set);
    stage_run(&tb.stage, 2000, IPC(200, 10));
    tb.stage.shares[0].resident_tbs = 0;
    tb_stage_kernel(&tb, 0, 100, 100, 0, 100);
    stage_moment(&tb.stage, CORUN_EVENT_KERNEL_START, 0, 0);
    assert_true(tb.quota_set[0] && tb.quota_set[2] && !adds(&tb, 0, 0));
    assert_int_equal(quota(&tb, 0, 0), 300000); /* 1 000 000 - 400 000 on two SMs */
    assert_int_equal(quota(&tb, 1, 0), 300000);
    assert_false(tb.quota_set[1]); /* nothing new for the other */
    stage_end(&tb.stage);
}

/*
 * One that comes at 40 % of an epoch gets 60 % of a quota; the first goal makes quotas count for those that were there
 * before.
 */
static void late_arrival(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "qos-rollover", 1, 2);
    set_goal(&tb, 0, 100);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 1, 100, 100, 0, 100);
    assert_true(tb_stage_limit(&tb, 0, 1) == 10);
    tb_stage_obey(&tb);
    epoch(&tb, IPC(0, 500), IPC(0, 500));
    assert_false(tb.stage.allowances.quotas_on); /* nobody is to be protected */
    stage_run(&tb.stage, 4000, IPC(0, 500));
    tb_stage_come(&tb, 0, 100, 100, 0, 100);
    assert_true(tb_stage_limit(&tb, 0, 0) == 5 && tb_stage_limit(&tb, 0, 1) == 5);
    assert_true(tb.stage.allowances.quotas_on);
    assert_int_equal(quota(&tb, 0, 0), 600000);
    assert_true(tb.quota_set[1] && quota(&tb, 0, 1) == 6000);
    tb_stage_obey(&tb);
    tb.stage.shares[0].resident_tbs = 0;
    tb.stage.applications[0].running = (struct corun_grid_view){0};
    stage_moment(&tb.stage, CORUN_EVENT_LEAVE, 0, 0);
    assert_true(tb_stage_limit(&tb, 0, 0) == 0 && tb_stage_limit(&tb, 0, 1) == 10);
    epoch(&tb, IPC(0, 500), IPC(0, 500));
    assert_false(tb.stage.allowances.quotas_on);
    stage_end(&tb.stage);
}

/* ---- thread blocks ---- */

/* One with a goal on all of 16 SMs, two without on 8 each; equal threads in each SM. */
static void symmetric_thread_blocks(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "qos-rollover", 16, 3);
    set_goal(&tb, 1, 100);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 1000, 10, 0, 100);
    tb_stage_come(&tb, 1, 1000, 10, 0, 100);
    tb_stage_come(&tb, 2, 1000, 10, 0, 250);
    for (uint32_t s = 0; s < 16; s++) {
        assert_int_equal(tb_stage_limit(&tb, s, 0), s < 8 ? 5 : 0);
        assert_int_equal(tb_stage_limit(&tb, s, 1), 5);
        assert_int_equal(tb_stage_limit(&tb, s, 2), s < 8 ? 0 : 2);
        assert_int_equal(tb.stage.reclaim[s * 3], CORUN_RECLAIM_SWAP_TB);
    }
    stage_moment(&tb.stage, CORUN_EVENT_LEAVE, 0, 0);
    for (uint32_t s = 0; s < 16; s++)
        assert_int_equal(tb_stage_limit(&tb, s, 2), 2);
    stage_end(&tb.stage);
}

static void four_kernels_two_goals(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "qos-rollover", 5, 4);
    set_goal(&tb, 0, 100);
    set_goal(&tb, 2, 100);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    for (uint32_t a = 0; a < 4; a++)
        tb_stage_come(&tb, a, 1000, 10, 0, 100);
    for (uint32_t s = 0; s < 5; s++) { /* ten places for three: the goals first */
        assert_int_equal(tb_stage_limit(&tb, s, 0), 4);
        assert_int_equal(tb_stage_limit(&tb, s, 1), s < 2 ? 3 : 0);
        assert_int_equal(tb_stage_limit(&tb, s, 2), 3);
        assert_int_equal(tb_stage_limit(&tb, s, 3), s < 2 ? 0 : 3);
    }
    stage_end(&tb.stage);
}

/* Two SMs of ten places, five each; the first kernel is below its goal. */
static void begin_adjustment(struct tb_stage *tb, double second_goal)
{
    tb_stage_create(tb, "qos-rollover", 2, 2);
    set_goal(tb, 0, 100);
    if (second_goal > 0)
        set_goal(tb, 1, second_goal);
    assert_int_equal(stage_start(&tb->stage), CORUN_OK);
    tb_stage_come(tb, 0, 100, 100, 0, 100);
    tb_stage_come(tb, 1, 100, 100, 0, 100);
    tb_stage_obey(tb);
    assert_true(tb_stage_limits(tb, 0) == 10 && tb_stage_limits(tb, 1) == 10);
}

static void is_back_under(struct tb_stage *tb, uint32_t s, uint32_t a)
{
    stage_moment(&tb->stage, CORUN_EVENT_LIMIT_REACHED, s, a);
}

/* All SMs get their turn in an epoch, the next one as soon as nobody is leaving the one before. */
static void best_effort_makes_room_one_swap_at_a_time(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    begin_adjustment(&tb, 0);
    uint32_t *leaves = &tb.stage.shares[1].leaving_tbs;
    epoch(&tb, IPC(90, 0), IPC(90, 0)); /* whatever it has reached */
    assert_true(tb_stage_limit(&tb, 0, 0) == 6 && tb_stage_limit(&tb, 0, 1) == 4);
    assert_true(tb_stage_limit(&tb, 1, 0) == 5 && tb_stage_limit(&tb, 1, 1) == 5);
    assert_true(stage_variable(&tb.stage, "swaps") == 1);
    *leaves = 1; /* not done yet */
    is_back_under(&tb, 1, 1);
    assert_true(stage_variable(&tb.stage, "swaps") == 1);
    *leaves = 0;
    is_back_under(&tb, 0, 1);
    assert_true(tb_stage_limit(&tb, 1, 0) == 6 && tb_stage_limit(&tb, 1, 1) == 4);
    assert_true(stage_variable(&tb.stage, "swaps") == 2);
    is_back_under(&tb, 1, 1); /* each had its turn */
    assert_true(tb_stage_limits(&tb, 0) == 12 && stage_variable(&tb.stage, "swaps") == 2);
    epoch(&tb, IPC(90, 10), IPC(90, 10));
    assert_true(tb_stage_limit(&tb, 0, 0) == 7 && tb_stage_limit(&tb, 1, 0) == 6);
    *leaves = 1; /* for a whole epoch: SM 1 comes first then */
    epoch(&tb, IPC(90, 10), IPC(90, 10));
    assert_true(stage_variable(&tb.stage, "swaps") == 3);
    *leaves = 0;
    is_back_under(&tb, 0, 1);
    assert_true(tb_stage_limit(&tb, 0, 0) == 7 && tb_stage_limit(&tb, 1, 0) == 7);
    is_back_under(&tb, 1, 1);
    assert_true(tb_stage_limit(&tb, 0, 0) == 8 && tb_stage_limit(&tb, 1, 0) == 7);
    epoch(&tb, IPC(90, 10), IPC(100, 10)); /* the goal is met */
    is_back_under(&tb, 0, 1);
    assert_true(stage_variable(&tb.stage, "swaps") == 5);
    stage_end(&tb.stage);
}

/* One thread block fills an SM, and the first kernel has them all: the second gets its place all the same. */
static void one_without_a_place_gets_one(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "qos-rollover", 2, 2);
    set_goal(&tb, 0, 100);
    set_goal(&tb, 1, 100);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 100, 1000, 0, 100);
    tb_stage_come(&tb, 1, 100, 1000, 0, 100);
    tb_stage_obey(&tb);
    assert_true(tb_stage_limits(&tb, 0) == 2 && tb_stage_limits(&tb, 1) == 0);
    epoch(&tb, IPC(200, 0), IPC(200, 0)); /* half of 200 is not above 100 */
    assert_true(tb_stage_limits(&tb, 1) == 0 && tb.stage.out_of_reach[1]);
    epoch(&tb, IPC(210, 0), IPC(210, 0)); /* 105 is */
    assert_true(tb_stage_limit(&tb, 0, 1) == 1 && tb_stage_limit(&tb, 0, 0) == 0 && !tb.stage.out_of_reach[1]);
    stage_end(&tb.stage);
}

/* One of 300 leaves for one of 100: room for two more, which does not have to wait for anybody. */
static void room_that_is_there_is_taken(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "qos-rollover", 2, 2);
    set_goal(&tb, 0, 100);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 100, 100, 0, 10);
    tb_stage_come(&tb, 1, 100, 300, 0, 300);
    tb_stage_obey(&tb);
    assert_true(tb_stage_limit(&tb, 0, 0) == 7 && tb_stage_limit(&tb, 0, 1) == 1);
    epoch(&tb, IPC(90, 10), IPC(90, 10));
    assert_true(tb_stage_limit(&tb, 0, 0) == 8 && tb_stage_limit(&tb, 0, 1) == 0);
    tb_stage_obey(&tb);
    tb.stage.shares[1].leaving_tbs = 1;
    epoch(&tb, IPC(90, 10), IPC(90, 10));
    assert_true(tb_stage_limit(&tb, 0, 0) == 9 && tb_stage_limit(&tb, 1, 0) == 7 && tb_stage_limit(&tb, 1, 1) == 1);
    tb.stage.shares[1].leaving_tbs = 0;
    is_back_under(&tb, 0, 1);
    assert_true(tb_stage_limit(&tb, 0, 0) == 9 && tb_stage_limit(&tb, 1, 0) == 8 && tb_stage_limit(&tb, 1, 1) == 0);
    stage_end(&tb.stage);
}

static void next_kernel(struct tb_stage *tb, uint32_t tbs, uint32_t threads)
{
    tb_stage_kernel(tb, 0, tbs, threads, 0, threads);
    stage_moment(&tb->stage, CORUN_EVENT_KERNEL_START, 0, 0);
}

/* A small kernel between two large ones lives in their room, and what was adjusted is there again afterwards. */
static void adjustments_outlive_small_kernels(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    begin_adjustment(&tb, 0);
    epoch(&tb, IPC(90, 10), IPC(90, 10));
    is_back_under(&tb, 0, 1);
    assert_true(tb_stage_limits(&tb, 0) == 12 && tb_stage_limits(&tb, 1) == 8);
    tb_stage_obey(&tb);
    next_kernel(&tb, 6, 200); /* three where six were, on each SM */
    assert_true(tb_stage_limit(&tb, 0, 0) == 3 && tb_stage_limit(&tb, 1, 0) == 3 && tb_stage_limits(&tb, 1) == 8);
    epoch(&tb, IPC(90, 10), IPC(90, 10));
    assert_true(tb_stage_limits(&tb, 0) == 6 && tb_stage_limits(&tb, 1) == 8);
    next_kernel(&tb, 100, 100);
    assert_true(tb_stage_limit(&tb, 0, 0) == 6 && tb_stage_limit(&tb, 1, 0) == 6 && tb_stage_limits(&tb, 1) == 8);
    next_kernel(&tb, 7, 200); /* one too many: equal threads anew */
    assert_true(tb_stage_limit(&tb, 0, 0) == 2 && tb_stage_limit(&tb, 0, 1) == 6);
    next_kernel(&tb, 100, 100);
    assert_true(tb_stage_limits(&tb, 0) == 10 && tb_stage_limits(&tb, 1) == 10);
    next_kernel(&tb, 4, 200); /* two where five were */
    assert_true(tb_stage_limits(&tb, 0) == 4 && tb_stage_limits(&tb, 1) == 10);
    epoch(&tb, IPC(100, 10), IPC(100, 10));
    epoch(&tb, IPC(100, 10), IPC(100, 10)); /* it stays: the room is its own */
    next_kernel(&tb, 4, 100);               /* two places on each SM */
    assert_true(tb_stage_limits(&tb, 0) == 4 && tb_stage_limits(&tb, 1) == 10);
    stage_end(&tb.stage);
}

/* Two idle thread blocks per SM: more would not help. */
static void one_with_idle_tbs_lacks_none(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    begin_adjustment(&tb, 0);
    tb.stage.shares[0].idle_warps = tb.stage.shares[2].idle_warps = 8; /* four warps make one */
    epoch(&tb, IPC(90, 10), IPC(90, 10));
    assert_true(stage_variable(&tb.stage, "swaps") == 0);
    tb.stage.shares[0].idle_warps = 7.9;
    epoch(&tb, IPC(90, 10), IPC(90, 10));
    assert_true(stage_variable(&tb.stage, "swaps") == 1);
    stage_end(&tb.stage);
}

/* One with a goal gives only if it has two idle thread blocks for one, or if 9 of its 10 are enough for the goal. */
static void victims_with_goals(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    begin_adjustment(&tb, 90);
    epoch(&tb, IPC(90, 100), IPC(90, 100)); /* 100 * (1 - 1/10) is not above 90 */
    assert_true(stage_variable(&tb.stage, "swaps") == 0);
    assert_true(tb.stage.out_of_reach[0] && !tb.stage.out_of_reach[1]);
    tb.stage.shares[3].idle_warps = 7; /* one idle one on SM 1 */
    epoch(&tb, IPC(90, 100), IPC(90, 100));
    assert_true(stage_variable(&tb.stage, "swaps") == 0);
    tb.stage.shares[3].idle_warps = 8; /* two */
    epoch(&tb, IPC(90, 100), IPC(90, 100));
    assert_true(tb_stage_limit(&tb, 1, 0) == 6 && tb_stage_limit(&tb, 1, 1) == 4);
    assert_true(tb_stage_limit(&tb, 0, 1) == 5 && !tb.stage.out_of_reach[0]);
    stage_end(&tb.stage);
    begin_adjustment(&tb, 90);
    epoch(&tb, IPC(90, 101), IPC(90, 101)); /* 90.9 is */
    assert_true(tb_stage_limit(&tb, 0, 0) == 6 && tb_stage_limit(&tb, 0, 1) == 4);
    stage_end(&tb.stage);
}

/* As above with goals of 80 and 72 and a margin of a quarter: who is between its goal and that is short, but not out of reach. */
static void margin_asks_for_thread_blocks(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "qos-rollover", 2, 2);
    set_goal(&tb, 0, 80);
    set_goal(&tb, 1, 72);
    stage_set(&tb.stage, "margin", 0.25);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 100, 100, 0, 100);
    tb_stage_come(&tb, 1, 100, 100, 0, 100);
    tb_stage_obey(&tb);
    epoch(&tb, IPC(79, 100), IPC(79, 100));
    assert_true(stage_variable(&tb.stage, "swaps") == 0 && tb.stage.out_of_reach[0]);
    epoch(&tb, IPC(90, 100), IPC(90, 100));
    assert_true(stage_variable(&tb.stage, "swaps") == 0 && !tb.stage.out_of_reach[0]);
    epoch(&tb, IPC(90, 101), IPC(90, 101));
    assert_true(tb_stage_limit(&tb, 0, 0) == 6 && tb_stage_limit(&tb, 0, 1) == 4);
    stage_end(&tb.stage);
}

/* As many as one needs, of one victim only: the printed loop lacks the end. */
static void one_victim_is_enough(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "qos-rollover", 1, 3);
    set_goal(&tb, 0, 100);
    set_goal(&tb, 1, 1);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 100, 200, 0, 60);
    tb_stage_come(&tb, 1, 100, 100, 0, 30);
    tb_stage_come(&tb, 2, 100, 100, 0, 30);
    assert_true(tb_stage_limit(&tb, 0, 0) == 2 && tb_stage_limit(&tb, 0, 1) == 3 && tb_stage_limit(&tb, 0, 2) == 3);
    tb_stage_obey(&tb);
    epoch(&tb, IPC(90, 50, 10), IPC(90, 50, 10)); /* both could; best effort does */
    assert_true(tb_stage_limit(&tb, 0, 0) == 3 && tb_stage_limit(&tb, 0, 1) == 3 && tb_stage_limit(&tb, 0, 2) == 1);
    assert_true(stage_variable(&tb.stage, "swaps") == 2);
    stage_end(&tb.stage);
}

static void one_without_more_tbs_gets_none(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    begin_adjustment(&tb, 0);
    tb.stage.applications[0].running.tbs_waiting = 0;
    epoch(&tb, IPC(90, 10), IPC(90, 10));
    assert_true(stage_variable(&tb.stage, "swaps") == 0);
    stage_end(&tb.stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figure_4a_naive),
        cmocka_unit_test(figure_4b_elastic),
        cmocka_unit_test(figure_4c_rollover),
        cmocka_unit_test(rollover_time_blocks_best_effort),
        cmocka_unit_test(history_raises_the_quota),
        cmocka_unit_test(margin_raises_what_is_aimed_at),
        cmocka_unit_test(two_goals_multiply),
        cmocka_unit_test(quotas_are_spread_by_hosted_tbs),
        cmocka_unit_test(a_new_kernel_takes_the_rest_along),
        cmocka_unit_test(late_arrival),
        cmocka_unit_test(symmetric_thread_blocks),
        cmocka_unit_test(four_kernels_two_goals),
        cmocka_unit_test(best_effort_makes_room_one_swap_at_a_time),
        cmocka_unit_test(one_without_a_place_gets_one),
        cmocka_unit_test(room_that_is_there_is_taken),
        cmocka_unit_test(adjustments_outlive_small_kernels),
        cmocka_unit_test(one_with_idle_tbs_lacks_none),
        cmocka_unit_test(victims_with_goals),
        cmocka_unit_test(margin_asks_for_thread_blocks),
        cmocka_unit_test(one_victim_is_enough),
        cmocka_unit_test(one_without_more_tbs_gets_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
