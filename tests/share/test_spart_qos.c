/* SPDX-License-Identifier: MIT */
/*
 * Spart with goals by script. Predictions and averages are worked out by hand; see docs/policies-spart-qos.md for the
 * algorithm.
 */
#include "share/sm_owners.h"
#include "sm_stage.h"

static void create(struct stage *stage, uint32_t sms, uint32_t applications, const double *goals)
{
    stage_create(stage, "spart-qos", sms, applications);
    for (uint32_t a = 0; a < applications; a++)
        stage->applications[a].goal_ipc = goals[a];
}

static void start(struct stage *stage)
{
    assert_int_equal(stage_start(stage), CORUN_OK);
    for (uint32_t a = 0; a < stage->view.application_count; a++)
        stage_moment(stage, CORUN_EVENT_ARRIVE, 0, a);
}

/* A reaches about 100 with every SM and wants 550. */
static void one_goal(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, IPC(550, 0));
    start(&stage);
    assert_string_equal(stage_owners(&stage), "AAAABBBB");
    stage_expect(&stage, IPC(400, 200), "AAAAAABB"); /* 100 per SM: 5.5, so two more at once */
    assert_true(stage_variable(&stage, "needed_1") == 6 && stage_variable(&stage, "move") == 2);
    assert_true(isnan(stage_variable(&stage, "needed_2")) && stage_variable(&stage, "sms_2") == 2);
    stage_expect(&stage, IPC(600, 100), "AAAAAAAB"); /* it helped; the average of 500 is below: one more */
    stage_expect(&stage, IPC(700, 50), "AAAAAABB");  /* 567, and 6 * 100 keep the goal: one back */
    stage_expect(&stage, IPC(600, 100), "AAAAAABB"); /* 575; the goal is kept, 5 * 100 would not keep it */
    assert_true(stage_variable(&stage, "move") == 0 && stage_variable(&stage, "undone") == 0);
    stage_expect(&stage, IPC(500, 100), "AAAAAAAB"); /* 83 per SM: 6.6 */
    stage_expect(&stage, IPC(500, 100), "AAAAAABB"); /* that did not help: undone, not again before epoch 16 */
    assert_true(stage_variable(&stage, "undone") == 1);
    stage_expect(&stage, IPC(500, 100), "AAAAAABB"); /* nothing can be done: from here on it counts */
    assert_false(stage.out_of_reach[0]);
    for (uint32_t epoch = 8; epoch < 16; epoch++) {
        stage_expect(&stage, IPC(500, 100), "AAAAAABB");
        assert_true(stage.out_of_reach[0]);
    }
    stage_expect(&stage, IPC(500, 100), "AAAAAAAB");
    assert_false(stage.out_of_reach[0]);
    stage_end(&stage);
}

/* The prediction said that three SMs keep the goal of 250, but they do not. */
static void giving_is_undone_when_the_goal_is_lost(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, IPC(250, 0));
    stage_set(&stage, "retry", 3);
    start(&stage);
    stage_expect(&stage, IPC(400, 200), "AAABBBBB");
    stage_expect(&stage, IPC(240, 200), "AAAABBBB");
    assert_true(stage_variable(&stage, "undone") == 1);
    stage_expect(&stage, IPC(400, 200), "AAAABBBB");
    stage_expect(&stage, IPC(400, 200), "AAAABBBB");
    stage_expect(&stage, IPC(400, 200), "AAABBBBB"); /* epoch 5 = 2 + 3 */
    stage_end(&stage);
}

/* 100 with every SM: A wants 450, B 200; C, best effort, gives first, then has its share of what is too much. */
static void two_goals_and_best_effort(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 9, 3, IPC(450, 200, 0));
    start(&stage);
    stage_expect(&stage, IPC(300, 300, 150), "AAABBBAAC"); /* five needed */
    stage_expect(&stage, IPC(500, 300, 50), "AAABBBAAA");  /* 400 on average: C's last one */
    stage_expect(&stage, IPC(600, 300, 0),
                 "AAABBCAAA"); /* 467: B is farther above its goal than A and keeps it with 2 */
    stage_expect(&stage, IPC(600, 200, 50), "AAABBCAAC");  /* B's goal is kept; A keeps its own with 5 */
    stage_expect(&stage, IPC(500, 200, 100), "AAABBCAAC"); /* neither can spare one */
    stage_end(&stage);
}

/* 100 with every SM: A wants 550, B 200. */
static void those_above_their_goal_give(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, IPC(550, 200));
    start(&stage);
    stage_expect(&stage, IPC(400, 400), "AAAAAABB"); /* B keeps 200 with 3, and with 2 */
    stage_expect(&stage, IPC(600, 200), "AAAAAABB"); /* A's average of 500 would need one more; B has none to spare */
    stage_expect(&stage, IPC(600, 200), "AAAAAABB");
    assert_false(stage.out_of_reach[0]);             /* 600 with what it has */
    stage_expect(&stage, IPC(500, 200), "AAAAAABB"); /* 525 */
    assert_false(stage.out_of_reach[0]);             /* it was seen to reach it */
    stage_end(&stage);
}

static void goals_in_conflict_are_out_of_reach(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, IPC(600, 500));
    start(&stage);
    stage_expect(&stage, IPC(400, 400), "AAAABBBB");
    assert_false(stage.out_of_reach[0] || stage.out_of_reach[1]);
    stage_expect(&stage, IPC(400, 400), "AAAABBBB");
    assert_true(stage.out_of_reach[0] && stage.out_of_reach[1]);
    stage_expect(&stage, IPC(400, 700),
                 "AAAAABBB"); /* B is above now, on average at its goal: 525 with 3 SMs; A takes one */
    assert_false(stage.out_of_reach[0] || stage.out_of_reach[1]);
    stage_end(&stage);
}

/* B has enough in this epoch, and would with one SM less, but not on average: it gives none. */
static void average_below_its_goal_gives_nothing(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, IPC(600, 300));
    start(&stage);
    stage_expect(&stage, IPC(400, 100), "AAAABBBB");
    stage_expect(&stage, IPC(400, 440), "AAAABBBB"); /* 270 */
    stage_expect(&stage, IPC(400, 440), "AAAAABBB"); /* 327 */
    stage_end(&stage);
}

static void the_worst_off_is_helped_first(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 9, 3, IPC(400, 800, 0));
    start(&stage);
    stage_expect(&stage, IPC(300, 300, 100), "AAABBBBBB"); /* B has 38 % of its goal, A 75 %; B takes all that C has */
    stage_end(&stage);
}

static void best_effort_keeps_what_is_left_to_it(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, IPC(790, 0));
    stage_set(&stage, "best-effort-least", 1);
    start(&stage);
    stage_expect(&stage, IPC(400, 200), "AAAAAAAB");
    stage_end(&stage);
    create(&stage, 8, 2, IPC(790, 0));
    start(&stage);
    stage_expect(&stage, IPC(400, 200), "AAAAAAAA");
    stage_end(&stage);
}

static void gain_is_what_a_taking_must_bring(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, IPC(450, 0));
    stage_set(&stage, "gain", 0.05);
    start(&stage);
    stage_expect(&stage, IPC(400, 200), "AAAAABBB");
    stage_expect(&stage, IPC(420, 150), "AAAABBBB"); /* 5 %, not above */
    stage_end(&stage);
}

/*
 * An SM that is being switched: the move is judged when A has really had it for half an epoch, and nobody moves
 * meanwhile.
 */
static void unfinished_switch_is_not_judged(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, IPC(450, 0));
    start(&stage);
    for (uint32_t s = 4; s < 8; s++)
        stage_resident(&stage, s, 1, s == 6 ? 1 : 2);
    stage_expect(&stage, IPC(400, 200), "AAAABBAB"); /* the one with least to save */
    for (uint32_t s = 0; s < 8; s++)
        for (uint32_t a = 0; a < 2; a++)
            assert_int_equal(stage.reclaim[s * 2 + a], CORUN_RECLAIM_SWITCH_SM);
    stage_expect(&stage, IPC(400, 199), "AAAABBAB");
    assert_true(stage_variable(&stage, "move") == 1);
    stage_run(&stage, 6000, IPC(400, 150));
    stage_resident(&stage, 6, 1, 0);
    stage_moment(&stage, CORUN_EVENT_LIMIT_REACHED, 6, 1);
    stage_run(&stage, 4000, IPC(500, 150));
    stage_epoch_ends(&stage, IPC(440, 150)); /* 4000 cycles are less than half an epoch */
    assert_string_equal(stage_owners(&stage), "AAAABBAB");
    assert_true(stage_variable(&stage, "move") == 1);
    stage_expect(&stage, IPC(500, 150), "AAAAABAB"); /* it helped; the average of 435 wants another one */
    stage_end(&stage);
}

/* The SM is A's for 6000 of 10000 cycles, which is enough: 500 in that time; the average of 430 wants another one. */
static void more_than_half_an_epoch_is_judged(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, IPC(450, 0));
    start(&stage);
    for (uint32_t s = 4; s < 8; s++)
        stage_resident(&stage, s, 1, s == 6 ? 1 : 2);
    stage_expect(&stage, IPC(400, 200), "AAAABBAB");
    stage_run(&stage, 4000, IPC(400, 150));
    stage_resident(&stage, 6, 1, 0);
    stage_moment(&stage, CORUN_EVENT_LIMIT_REACHED, 6, 1);
    stage_run(&stage, 6000, IPC(500, 150));
    stage_epoch_ends(&stage, IPC(460, 150));
    assert_string_equal(stage_owners(&stage), "AAAAABAB");
    assert_true(stage_variable(&stage, "undone") == 0);
    stage_end(&stage);
}

/* 8 SMs, 3 kernels: 3/3/2 at the start. 3 SMs, 3 kernels: one each, which is not given away. */
static void few_and_indivisible_sms(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 3, IPC(450, 0, 0));
    start(&stage);
    assert_string_equal(stage_owners(&stage), "AAABBBCC");
    stage_end(&stage);
    create(&stage, 3, 3, IPC(50, 0, 0));
    start(&stage);
    stage_expect(&stage, IPC(100, 100, 100), "ABC"); /* half of it would be enough, but it is the last one */
    stage_end(&stage);
    create(&stage, 3, 3, IPC(150, 0, 0));
    start(&stage);
    stage_expect(&stage, IPC(100, 100, 100), "AAC"); /* B and C have as many: the first gives its last one */
    stage_expect(&stage, IPC(200, 0, 100), "AAC");   /* 150 on average; one SM less would not keep it */
    stage_end(&stage);
}

/* 100 with every SM: A wants 6000, for which the prediction says 60 SMs. */
static void a_prediction_ends_with_the_gpu(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, IPC(6000, 0));
    start(&stage);
    stage_expect(&stage, IPC(400, 200), "AAAAAAAA");
    assert_true(stage_variable(&stage, "needed_1") == 8);
    stage_end(&stage);
}

/* 100 with every SM. Who is farthest above its goal gives first, whatever its place. */
static void the_best_off_gives_first(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 12, 3, IPC(500, 200, 300)); /* A needs five; B has 2 times its goal, C 1.33 times */
    start(&stage);
    stage_expect(&stage, IPC(400, 400, 400), "AAAAABBBCCCC");
    stage_end(&stage);
    create(&stage, 12, 3, IPC(500, 300, 200));
    start(&stage);
    stage_expect(&stage, IPC(400, 400, 400), "AAAABBBBACCC");
    stage_end(&stage);
    create(&stage, 12, 3, IPC(200, 300, 0)); /* to best effort */
    start(&stage);
    stage_expect(&stage, IPC(400, 400, 100), "AAACBBBBCCCC");
    stage_end(&stage);
    create(&stage, 12, 3, IPC(300, 200, 0));
    start(&stage);
    stage_expect(&stage, IPC(400, 400, 100), "AAAABBBCCCCC");
    stage_end(&stage);
    create(&stage, 8, 3, IPC(150, 0, 0)); /* to the one with fewest SMs */
    start(&stage);
    stage_expect(&stage, IPC(300, 150, 100), "AACBBBCC");
    stage_end(&stage);
}

/* What did not help is not tried again for a while, unless the goal is another one. */
static void a_new_goal_is_tried_at_once(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, IPC(450, 0));
    start(&stage);
    stage_expect(&stage, IPC(400, 200), "AAAAABBB");
    stage_expect(&stage, IPC(400, 150), "AAAABBBB"); /* undone, not again before epoch 12 */
    stage_expect(&stage, IPC(400, 200), "AAAABBBB");
    stage.applications[0].goal_ipc = 460;
    stage_expect(&stage, IPC(400, 200), "AAAAABBB"); /* 4.6 */
    stage_end(&stage);
}

static void kernel_ends_in_mid_switch(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 9, 3, IPC(450, 0, 0));
    start(&stage);
    for (uint32_t s = 3; s < 9; s++)
        stage_resident(&stage, s, s < 6 ? 1 : 2, 2);
    stage_expect(&stage, IPC(300, 150, 150), "AAAABBACC"); /* B, then C gives one */
    for (uint32_t s = 3; s < 6; s++)
        stage_resident(&stage, s, 1, 0);
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 1);
    assert_string_equal(stage_owners(&stage), "AAAACCACC");
    assert_true(stage_variable(&stage, "move") == 0);
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 2); /* nobody without a goal is left: to the one with a goal */
    assert_string_equal(stage_owners(&stage), "AAAAAAAAA");
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 0);
    stage_end(&stage);
    create(&stage, 9, 3, IPC(150, 0, 0));
    start(&stage);
    stage_expect(&stage, IPC(300, 150, 150), "AABBBBCCC");
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 1); /* A has fewest, but C has no goal */
    assert_string_equal(stage_owners(&stage), "AACCCCCCC");
    stage_end(&stage);
    create(&stage, 8, 3, IPC(450, 450, 450)); /* everybody has a goal: one by one to who has fewest */
    start(&stage);
    assert_string_equal(stage_owners(&stage), "AAABBBCC");
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 1); /* C's third, A's fourth, C's fourth */
    assert_string_equal(stage_owners(&stage), "AAAACCCC");
    stage_end(&stage);
}

static void late_ones_get_an_even_share_of_best_effort(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 3, IPC(350, 0, 300));
    assert_int_equal(stage_start(&stage), CORUN_OK);
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 1);
    assert_string_equal(stage_owners(&stage), "BBBBBBBB");
    stage_expect(&stage, IPC(0, 400, 0), "BBBBBBBB");
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 0);
    assert_string_equal(stage_owners(&stage), "AAAABBBB");
    stage_expect(&stage, IPC(380, 200, 0), "AAAABBBB");
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 2); /* 8 / 3 of B's 4 */
    assert_string_equal(stage_owners(&stage), "AAAABBCC");
    stage_end(&stage);
    create(&stage, 8, 3, IPC(400, 0, 0)); /* in the middle of a move: it is forgotten, and not undone */
    assert_int_equal(stage_start(&stage), CORUN_OK);
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 0);
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 1);
    stage_expect(&stage, IPC(380, 200, 0), "AAAAABBB");
    assert_true(stage_variable(&stage, "move") == 1);
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 2);
    assert_string_equal(stage_owners(&stage), "AAAAABBC");
    assert_true(stage_variable(&stage, "move") == 0);
    stage_end(&stage);
    create(&stage, 8, 3, IPC(350, 350, 300)); /* without best effort: one, to be measured */
    assert_int_equal(stage_start(&stage), CORUN_OK);
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 0);
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 1);
    stage_expect(&stage, IPC(380, 380, 0), "AAAABBBB");
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 2);
    assert_string_equal(stage_owners(&stage), "AAACBBBB");
    stage_end(&stage);
}

static void goals_change_during_the_run(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, IPC(0, 0));
    start(&stage);
    stage_expect(&stage, IPC(400, 200), "AAAABBBB");
    stage.applications[0].goal_ipc = 500;
    stage_expect(&stage, IPC(400, 200), "AAAAABBB");
    stage.applications[0].goal_ipc = 0; /* the move is forgotten, and not undone */
    stage_expect(&stage, IPC(400, 200), "AAAAABBB");
    stage_end(&stage);
}

static void switches_or_drains(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 4, 2, IPC(100, 0));
    stage_set(&stage, "reclaim", SM_RECLAIM_DRAIN);
    stage_set(&stage, "ideal", 1);
    stage.view.capabilities &= ~(1u << CORUN_CAN_SWITCH_SM);
    start(&stage);
    assert_int_equal(stage.reclaim[0], CORUN_RECLAIM_DRAIN);
    assert_true(stage.allowances.free_transfers);
    stage_end(&stage);
    create(&stage, 4, 2, IPC(100, 0));
    start(&stage);
    assert_int_equal(stage.reclaim[0], CORUN_RECLAIM_SWITCH_SM);
    assert_false(stage.allowances.free_transfers);
    stage_end(&stage);
    create(&stage, 4, 2, IPC(100, 0));
    stage.view.capabilities &= ~(1u << CORUN_CAN_SWITCH_SM);
    assert_int_equal(stage_start(&stage), CORUN_POLICY);
    assert_non_null(strstr(stage.allowances.refusal, "reclaim=drain"));
    stage_end(&stage);
    create(&stage, 2, 3, IPC(100, 0, 0));
    assert_int_equal(stage_start(&stage), CORUN_POLICY);
    assert_non_null(strstr(stage.allowances.refusal, "more applications than SMs"));
    stage_end(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_goal),
        cmocka_unit_test(giving_is_undone_when_the_goal_is_lost),
        cmocka_unit_test(two_goals_and_best_effort),
        cmocka_unit_test(those_above_their_goal_give),
        cmocka_unit_test(goals_in_conflict_are_out_of_reach),
        cmocka_unit_test(average_below_its_goal_gives_nothing),
        cmocka_unit_test(the_worst_off_is_helped_first),
        cmocka_unit_test(best_effort_keeps_what_is_left_to_it),
        cmocka_unit_test(gain_is_what_a_taking_must_bring),
        cmocka_unit_test(unfinished_switch_is_not_judged),
        cmocka_unit_test(more_than_half_an_epoch_is_judged),
        cmocka_unit_test(few_and_indivisible_sms),
        cmocka_unit_test(a_prediction_ends_with_the_gpu),
        cmocka_unit_test(the_best_off_gives_first),
        cmocka_unit_test(a_new_goal_is_tried_at_once),
        cmocka_unit_test(kernel_ends_in_mid_switch),
        cmocka_unit_test(late_ones_get_an_even_share_of_best_effort),
        cmocka_unit_test(goals_change_during_the_run),
        cmocka_unit_test(switches_or_drains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
