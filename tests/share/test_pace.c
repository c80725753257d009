/* SPDX-License-Identifier: MIT */
/* Pace by script. What is needed is worked out by hand from the equations of docs/policies-pace.md, in units of an epoch. */
#include "sm_stage.h"

static void create(struct stage *stage, uint32_t sms, uint32_t applications, double goal)
{
    stage_create(stage, "pace", sms, applications);
    stage_set(stage, "margin", 0);
    stage_set(stage, "horizon", 4);
    stage->applications[0].goal = CORUN_GOAL_IPC;
    stage->applications[0].goal_ipc = goal;
}

static void start(struct stage *stage, uint32_t arriving)
{
    assert_int_equal(stage_start(stage), CORUN_OK);
    for (uint32_t a = 0; a < arriving; a++)
        stage_moment(stage, CORUN_EVENT_ARRIVE, 0, a);
}

/* An application launches grids of so many thread blocks, of which an SM holds so many. */
static void launches(struct stage *stage, uint32_t a, const struct corun_launch_view *launch)
{
    stage->applications[a].run_launches = launch;
    stage->applications[a].run_launch_count = 1;
}

static void begins_with_the_part_that_the_goal_is(void **unused)
{
    (void)unused;
    static const struct corun_launch_view few = {2, 4, 1}, more = {6, 4, 1};
    struct stage stage;
    create(&stage, 8, 2, 500);
    stage.applications[0].isolated_ipc = 800;
    start(&stage, 2);
    assert_string_equal(stage_owners(&stage), "AAAAABBB"); /* 5 of 8 */
    stage_end(&stage);
    create(&stage, 8, 2, 500); /* nothing is known of it alone: evenly */
    start(&stage, 2);
    assert_string_equal(stage_owners(&stage), "AAAABBBB");
    stage_end(&stage);
    create(&stage, 8, 2, 500);
    launches(&stage, 1, &few); /* both thread blocks fit an SM: the others are A's */
    start(&stage, 2);
    assert_string_equal(stage_owners(&stage), "AAAAAAAB");
    stage_end(&stage);
    create(&stage, 8, 2, 500);
    launches(&stage, 0, &few); /* A's two may be on any that are reserved: all but two, which B's six fit */
    launches(&stage, 1, &more);
    start(&stage, 2);
    assert_string_equal(stage_owners(&stage), "AAAAAABB");
    stage_end(&stage);
}

/* With a launch to be measured by, A has every SM until two pieces of news are there, and gives what it does not need: ahead of its goal by then. */
static void is_measured_on_all_sms(void **unused)
{
    (void)unused;
    static const struct corun_grid_view grid = {.kernel = "many", .tbs = 100000, .tbs_per_sm = 1};
    static const char *const begins[] = {"AAAAAAAA", "AAAAABBB",
                                         "AAAAAABB"}; /* first=all; first=part: 5 of 8; batch-least=2 */
    struct stage stage;
    for (uint32_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        create(&stage, 8, 2, 500);
        stage_set(&stage, "first", i != 1);
        stage_set(&stage, "batch-least", i == 2 ? 2 : 0);
        stage.applications[0].isolated_ipc = 800;
        start(&stage, 2);
        assert_string_equal(stage_owners(&stage), "AAAAABBB"); /* it has nothing to run yet */
        stage.applications[0].running = grid;
        stage_moment(&stage, CORUN_EVENT_KERNEL_START, 0, 0);
        assert_string_equal(stage_owners(&stage), begins[i]);
        stage_end(&stage);
    }
    create(&stage, 8, 2, 500);
    stage_set(&stage, "first", 1);
    start(&stage, 2);
    stage.applications[0].running = grid;
    stage_moment(&stage, CORUN_EVENT_KERNEL_START, 0, 0);
    stage_expect(&stage, IPC(800, 0), "AAAAAAAA");
    stage_expect(&stage, IPC(800, 0), "AAAAABBB"); /* (500 * 7 - 1600) / 5 = 380, and a quarter of an SM */
    stage_moment(&stage, CORUN_EVENT_KERNEL_START, 0, 0);
    assert_string_equal(stage_owners(&stage), "AAAAABBB");
    for (uint32_t i = 0; i < 5; i++)
        stage_expect(&stage, IPC(500, 300), "AAAAABBB"); /* 380 each time */
    stage_end(&stage);
    create(&stage, 8, 2, 300); /* its part of the 800 that it does alone is 3: no fewer at once, though it is ahead */
    stage_set(&stage, "first", 1);
    stage.applications[0].isolated_ipc = 800;
    start(&stage, 2);
    stage.applications[0].running = grid;
    stage_moment(&stage, CORUN_EVENT_KERNEL_START, 0, 0);
    stage_expect(&stage, IPC(800, 0), "AAAAAAAA");
    stage_expect(&stage, IPC(800, 0), "AAABBBBB");   /* (300 * 7 - 1600) / 5 = 100 */
    stage_expect(&stage, IPC(300, 500), "AABBBBBB"); /* from now on one by one: (300 * 8 - 1900) / 5 = 100 */
    stage_end(&stage);
    create(&stage, 8, 3, 300);
    stage_set(&stage, "first", 1);
    stage.applications[1].goal = CORUN_GOAL_IPC;
    stage.applications[1].goal_ipc = 1000;
    start(&stage, 3);
    stage.applications[1].running = grid;
    stage_moment(&stage, CORUN_EVENT_KERNEL_START, 0, 1);
    assert_string_equal(stage_owners(&stage), "AABBBBBB"); /* A keeps its share */
    stage_end(&stage);
    static const struct corun_launch_view few = {1, 4, 1};
    /* Neither may C's one thread block be in the way, nor what A has of that while it runs nothing. */
    create(&stage, 8, 3, 300);
    stage_set(&stage, "first", 1);
    stage.applications[1].goal = CORUN_GOAL_IPC;
    stage.applications[1].goal_ipc = 1000;
    launches(&stage, 2, &few);
    start(&stage, 3);
    assert_string_equal(stage_owners(&stage), "AAAAABBC");
    stage.applications[1].running = grid;
    stage_moment(&stage, CORUN_EVENT_KERNEL_START, 0, 1);
    assert_string_equal(stage_owners(&stage), "AABBBBBB");
    stage_end(&stage);
}

/*
 * A reaches 100 with every SM and wants 560. The first news is where rates are measured from. The horizon is the four epochs of the parameter and
 * the one between news.
 */
static void takes_at_once_and_gives_one_by_one(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, 560);
    start(&stage, 2);
    stage_expect(&stage, IPC(400, 200), "AAAABBBB");
    assert_true(isnan(stage_variable(&stage, "needed_sms")));
    stage_expect(&stage, IPC(400, 200), "AAAAAAAB"); /* (560 * 7 - 800) / 500 = 6.24 */
    stage_expect(&stage, IPC(700, 50), "AAAAAAAB");  /* (560 * 8 - 1500) / 500 = 5.96: not an SM less, and a quarter */
    stage_expect(&stage, IPC(700, 50), "AAAAAABB");  /* 5.68 */
    for (uint32_t i = 0; i < 11; i++)
        stage_expect(&stage, IPC(600, 100), "AAAAAABB"); /* 5.6, 5.52 … */
    assert_true(fabs(stage_variable(&stage, "needed_sms") - 4.8) < 1e-6);
    assert_true(fabs(stage_variable(&stage, "sm_rate") - 100.0 / 560) < 1e-6);
    stage_expect(&stage, IPC(600, 100), "AAAAABBB"); /* 4.72 */
    stage_end(&stage);
}

/* The first SMs that are taken hold thread blocks of B. Nothing more is asked for because of what they do not bring yet. */
static void does_not_ask_again_for_what_is_on_its_way(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, 560);
    start(&stage, 2);
    for (uint32_t s = 4; s < 8; s++)
        stage_resident(&stage, s, 1, 3);
    stage_expect(&stage, IPC(400, 200), "AAAABBBB");
    stage_expect(&stage, IPC(400, 200), "AAAAAAAB"); /* 6.24 */
    stage_expect(&stage, IPC(400, 200), "AAAAAAAB"); /* the hand-over takes an epoch: (560 * 9 - 1200) / 600 = 6.4 */
    stage_expect(&stage, IPC(400, 200), "AAAAAAAB"); /* two: (560 * 11 - 1600) / 700 = 6.5 */
    assert_true(fabs(stage_variable(&stage, "hand_over") - 2) < 1e-6 && stage_variable(&stage, "changing_sms") == 3);
    for (uint32_t s = 4; s < 7; s++)
        stage_resident(&stage, s, 1, 0);
    stage_moment(&stage, CORUN_EVENT_LIMIT_REACHED, 6, 1);
    stage_expect(&stage, IPC(700, 50), "AAAAAAAB"); /* (560 * 12 - 2300) / 700 = 6.3 */
    stage_end(&stage);
}

/* An SM that B has not left yet is given back at once: its thread blocks may take long. */
static void gives_back_what_has_not_come(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, 560);
    start(&stage, 2);
    for (uint32_t s = 4; s < 8; s++)
        stage_resident(&stage, s, 1, 3);
    stage_epoch(&stage, IPC(400, 200));
    stage_expect(&stage, IPC(400, 200), "AAAAAAAB");
    stage_expect(&stage, IPC(1200, 200), "AAAAAABB"); /* 120 with each: (560 * 9 - 2000) / 720 = 4.2 */
    stage_expect(&stage, IPC(1200, 200), "AAAAABBB");
    stage_expect(&stage, IPC(1200, 200), "AAAABBBB");
    stage_end(&stage);
}

/* Thread blocks that take three epochs: until some have ended twice, nothing is known of a rate, and nothing changes. */
static void decides_nothing_on_no_news(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, 500);
    start(&stage, 2);
    for (uint32_t i = 1; i < 6; i++)
        stage_expect(&stage, IPC(i == 3 ? 1200 : 0, 200), "AAAABBBB");
    assert_true(isnan(stage_variable(&stage, "needed_sms")));
    stage_expect(&stage, IPC(1200, 200), "AAAAAAAB"); /* 100 with each SM; (500 * 13 - 2400) / 700 = 5.9 */
    stage_end(&stage);
}

static void two_goals_and_one_leaves(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 3, 300);
    stage.applications[1].goal = CORUN_GOAL_IPC;
    stage.applications[1].goal_ipc = 1000;
    start(&stage, 3);
    assert_string_equal(stage_owners(&stage), "AABBCCCC");
    for (uint32_t i = 0; i < 12; i++)
        stage_epoch(&stage, IPC(300, 300, 0)); /* B misses its goal with all that A leaves */
    assert_string_equal(stage_owners(&stage), "AABBBBBB");
    assert_true(stage.out_of_reach[1] && !stage.out_of_reach[0]);
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 1);
    assert_string_equal(stage_owners(&stage), "AACCCCCC");
    stage_end(&stage);
}

/*
 * With four SMs A does 490 of the 500 that it wants, with five 550. What four bring is known when they are to do again: not four fifths of what five bring.
 * And while what has been gained lasts, nothing is taken: an SM that has been given has cost a hand-over.
 */
static void remembers_what_fewer_sms_bring(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, 500);
    start(&stage, 2);
    stage_expect(&stage, IPC(490, 200), "AAAABBBB");
    stage_expect(&stage, IPC(490, 200), "AAAAABBB"); /* (500 * 7 - 980) / 5 = 504, four fifths of 630 */
    for (uint32_t i = 0; i < 4; i++)
        stage_expect(&stage, IPC(550, 150), "AAAAABBB");
    stage_expect(&stage, IPC(550, 150), "AAAABBBB"); /* 230 more than the goal are worth 46 in each of five epochs */
    assert_true(fabs(stage_variable(&stage, "sm_rate") - 490.0 / 500 / 4) < 1e-6);
    for (uint32_t i = 0; i < 20; i++)
        stage_expect(&stage, IPC(490, 200), "AAAABBBB");
    stage_expect(&stage, IPC(490, 200), "AAAABBBB"); /* 20 more than the goal, and two epochs take as much */
    stage_expect(&stage, IPC(490, 200), "AAAAABBB");
    stage_end(&stage);
}

/* SMs that B has left, and to which thread blocks of A that wait have not come, bring nothing yet: the hand-over goes on, and what an SM brings is not less. */
static void waits_until_its_thread_blocks_have_come(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, 560);
    start(&stage, 2);
    stage.applications[0].running.tbs_waiting = 100;
    for (uint32_t s = 0; s < 4; s++)
        stage_resident(&stage, s, 0, 3);
    stage_expect(&stage, IPC(400, 200), "AAAABBBB");
    stage_expect(&stage, IPC(400, 200), "AAAAAAAB");
    stage_expect(&stage, IPC(400, 0), "AAAAAAAB");
    stage_expect(&stage, IPC(400, 0), "AAAAAAAB");
    assert_true(fabs(stage_variable(&stage, "hand_over") - 2) < 1e-6 && stage_variable(&stage, "changing_sms") == 0);
    assert_true(fabs(stage_variable(&stage, "sm_rate") - 100.0 / 560) < 1e-6);
    for (uint32_t s = 4; s < 7; s++)
        stage_resident(&stage, s, 0, 3);
    stage_expect(&stage, IPC(700, 0), "AAAAAAAB");
    stage_expect(&stage, IPC(700, 0), "AAAAAAAB");
    assert_true(stage_variable(&stage, "hand_over") < 4);
    stage_end(&stage);
}

/*
 * A reaches its goal as far as it is told. A launch that has not ended, or the part of it that runs at once, may count for nothing; a launch that takes longer than an epoch
 * makes horizons longer.
 */
static void is_ahead_by_what_has_not_ended(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t tbs, per_sm;
        double goal;
        const char *owners;
    } cases[] = {
        {8, 2, 400,
         "AAAAAABB"}, /* two epochs of all at once, and a horizon of 4 x 2 + 1: (400 * 13 - 800) / 900 = 4.9 */
        {16, 1, 400, "AAAAABBB"}, /* a quarter of 16: (400 * 7.5 - 800) / 500 = 4.4 */
        {4, 1, 360, "AAAABBBB"},  /* of four thread blocks more SMs bring nothing, */
        {4, 1, 400, "AAAAAAAA"},  /* but may, if what these bring is just the goal */
    };
    struct stage stage;
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        create(&stage, 8, 2, cases[i].goal);
        start(&stage, 2);
        stage.applications[0].running =
            (struct corun_grid_view){.kernel = "long", .tbs = cases[i].tbs, .tbs_per_sm = cases[i].per_sm};
        stage_moment(&stage, CORUN_EVENT_KERNEL_START, 0, 0);
        stage_expect(&stage, IPC(400, 200), "AAAABBBB");
        stage_expect(&stage, IPC(400, 200), cases[i].owners);
        stage_end(&stage);
    }
}

/* Where thread blocks are seen, rates are measured from their first moment on: the first news is a rate. */
static void is_measured_from_its_first_thread_block(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, 560);
    for (uint32_t s = 0; s < 4; s++)
        stage_resident(&stage, s, 0, 1);
    start(&stage, 2);
    stage_expect(&stage, IPC(400, 200), "AAAAAAAB"); /* (560 * 6 - 400) / 500 = 5.9 */
    stage_end(&stage);
}

/* B's long thread blocks are waited for. What A does meanwhile, on the SMs that it has, is seen. */
static void is_measured_while_it_waits(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, 560);
    start(&stage, 2);
    for (uint32_t s = 4; s < 8; s++)
        stage_resident(&stage, s, 1, 1);
    stage_expect(&stage, IPC(400, 200), "AAAABBBB");
    stage_expect(&stage, IPC(400, 200), "AAAAAAAB");
    for (uint32_t i = 0; i < 60; i++)
        stage_epoch(&stage, IPC(480, 100));
    assert_true(stage_variable(&stage, "hand_over") > 50);
    assert_true(fabs(stage_variable(&stage, "sm_rate") - 120.0 / 560) < 1e-4);
    stage_end(&stage);
}

/* All SMs bring no more than four: well above the goal A goes back to four and a quarter, and makes up for what is missing later; else it keeps all. */
static void takes_what_brings_something(void **unused)
{
    (void)unused;
    struct stage stage;
    for (uint32_t reached = 0; reached < 2; reached++) {
        const double ipc = reached ? 620 : 565;
        create(&stage, 8, 2, 560);
        start(&stage, 2);
        for (uint32_t i = 0; i < 15; i++)
            stage_epoch(&stage, IPC(i < 3 ? 0 : ipc, 200));
        assert_string_equal(stage_owners(&stage), reached ? "AAAAABBB" : "AAAAAAAA");
        stage_end(&stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begins_with_the_part_that_the_goal_is),
        cmocka_unit_test(is_measured_on_all_sms),
        cmocka_unit_test(takes_at_once_and_gives_one_by_one),
        cmocka_unit_test(does_not_ask_again_for_what_is_on_its_way),
        cmocka_unit_test(gives_back_what_has_not_come),
        cmocka_unit_test(decides_nothing_on_no_news),
        cmocka_unit_test(two_goals_and_one_leaves),
        cmocka_unit_test(remembers_what_fewer_sms_bring),
        cmocka_unit_test(waits_until_its_thread_blocks_have_come),
        cmocka_unit_test(is_ahead_by_what_has_not_ended),
        cmocka_unit_test(is_measured_from_its_first_thread_block),
        cmocka_unit_test(is_measured_while_it_waits),
        cmocka_unit_test(takes_what_brings_something),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
