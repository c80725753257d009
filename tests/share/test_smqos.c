/* SPDX-License-Identifier: MIT */
/*
 * SMQoS by script. Every decision is worked out by hand from algorithms 1 to 3 of the paper; averages are in the
 * comments.
 */
#include "share/sm_owners.h"
#include "sm_stage.h"

static void create(struct stage *stage, uint32_t sms, uint32_t applications, double goal)
{
    stage_create(stage, "smqos", sms, applications);
    stage->applications[0].goal = CORUN_GOAL_IPC;
    stage->applications[0].goal_ipc = goal;
}

static void start(struct stage *stage, uint32_t arriving)
{
    assert_int_equal(stage_start(stage), CORUN_OK);
    for (uint32_t a = 0; a < arriving; a++)
        stage_moment(stage, CORUN_EVENT_ARRIVE, 0, a);
}

/* An epoch with these IPCs of A and B, and what follows from it. */
struct row {
    double ipc[2];
    const char *owners;
    uint32_t opt;
    bool upper, lower;
};

static void play(struct stage *stage, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        stage_epoch(stage, rows[i].ipc);
        if (strcmp(stage_owners(stage), rows[i].owners))
            fail_msg("epoch %zu: %s, not %s", i + 1, stage_owners(stage), rows[i].owners);
        uint32_t opt = (uint32_t)stage_variable(stage, "opt_1");
        bool upper = stage_variable(stage, "upper_1") != 0, lower = stage_variable(stage, "lower_1") != 0;
        if (opt != rows[i].opt || upper != rows[i].upper || lower != rows[i].lower)
            fail_msg("epoch %zu: opt %u, upper %d, lower %d", i + 1, opt, upper, lower);
    }
}

#define PLAY(stage, rows) play(stage, rows, sizeof(rows) / sizeof(rows)[0])

static void starts_with_an_even_split(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, 600);
    assert_int_equal(stage_start(&stage), CORUN_OK);
    assert_string_equal(stage_owners(&stage), "........"); /* nobody is there yet: nothing is switched off */
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 0);
    assert_string_equal(stage_owners(&stage), "AAAAAAAA");
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 1);
    assert_string_equal(stage_owners(&stage), "AAAABBBB");
    assert_true(stage_variable(&stage, "opt_1") == 4 && stage_variable(&stage, "active_sms") == 8);
    assert_true(isnan(stage_variable(&stage, "opt_2")));
    stage_end(&stage);
    create(&stage, 11, 3, 600); /* not divisible: the first ones get one more */
    start(&stage, 3);
    assert_string_equal(stage_owners(&stage), "AAAABBBBCCC");
    stage_end(&stage);
}

/* A reaches 100 with every SM and wants 600; B 50 with every SM. */
static void compute_intensive_batch_is_never_gated(void **unused)
{
    (void)unused;
    static const struct row rows[] = {
        {{400, 200}, "AAAAABBB", 4, false, false}, /* below: one SM */
        {{500, 150}, "AAAAAABB", 4, false, true},  /* B fell from 200 with opt = 4: lower; A's average 450 */
        {{600, 100}, "AAAAAAAB", 4, false, true},  /* the epoch is enough, the average of 500 is not */
        {{700, 50}, "AAAAAAAA", 4, false, true},   /* 550 */
        {{800, 0}, "AAAAAAAA", 4, false, true},    /* 600 is not below; 600 * 5/6 is not above */
        {{800, 0}, "AAAAAAAA", 4, false, true},    /* 633 * 6/7 = 543 */
        {{800, 0}, "AAAAAAAA", 4, false, true},    /* 657 * 7/8 = 575 */
        {{800, 0}, "AAAAAAAA", 4, false, true},    /* 675 * 8/9 = 600: not above */
        {{800, 0}, "AAAAAAAB", 4, false, true},    /* 689 * 9/10 = 620: B is below opt and takes it */
        {{700, 50}, "AAAAAABB", 4, false, true},   /* 690 * 10/11 = 627 */
        {{600, 100}, "AAAAAABB", 4, false, true},  /* the epoch is neither below nor above */
        {{580, 100}, "AAAAAAAB", 4, false, true},  /* the average of 673 is enough, the epoch is not */
    };
    struct stage stage;
    create(&stage, 8, 2, 600);
    start(&stage, 2);
    PLAY(&stage, rows);
    for (uint32_t s = 0; s < 8; s++)
        for (uint32_t a = 0; a < 2; a++)
            assert_int_equal(stage.reclaim[s * 2 + a], CORUN_RECLAIM_DRAIN);
    stage_end(&stage);
}

/* A reaches 100 with every SM and wants 500; B 50 with every SM, but no more than 100. */
static void memory_intensive_batch_is_bounded_and_gated(void **unused)
{
    (void)unused;
    static const struct row rows[] = {
        {{400, 100}, "AAAAABBB", 4, false, false},
        {{500, 100}, "AAAAAABB", 3, true, false}, /* B lost an SM and nothing else: upper, opt = 3; A's average 450 */
        {{600, 100}, "AAAAAABB", 2, true, false}, /* and again; A's average 500, 500 * 3/4 is not above */
        {{600, 100}, "AAAAAABB", 2, true, false}, /* 525 * 4/5 = 420 */
        {{600, 100}, "AAAAAABB", 2, true, false}, /* 540 * 5/6 = 450 */
        {{600, 100}, "AAAAAABB", 2, true, false}, /* 550 * 6/7 = 471 */
        {{600, 100}, "AAAAAABB", 2, true, false}, /* 557 * 7/8 = 488 */
        {{600, 100}, "AAAAAABB", 2, true, false}, /* 562.5 * 8/9 = 500: not above */
        {{600, 100},
         "AAAAA-B-",
         2,
         true,
         false}, /* 567 * 9/10: A gives one, B looks for its lower bound: both are gated */
        {{500, 50}, "AAAAA-B-", 2, true, true},  /* B fell: lower, opt stays; A's epoch of 500 is not above */
        {{480, 50}, "AAAAAAB-", 2, true, true},  /* an idle SM first */
        {{600, 50}, "AAAAABB-", 2, true, true},  /* 557 * 12/13 = 514: B is below opt and takes it */
        {{510, 100}, "AAAA-BB-", 2, true, true}, /* 553 * 13/14 = 514: B has opt, both bounds are known: gated */
        {{510, 130}, "AAA--BB-", 2, true, true}, /* 550 * 14/15; that B changes moves opt no more */
    };
    struct stage stage;
    create(&stage, 8, 2, 500);
    start(&stage, 2);
    PLAY(&stage, rows);
    assert_true(stage_variable(&stage, "active_sms") == 5 && stage_variable(&stage, "ls_sms") == 3);
    assert_true(stage_variable(&stage, "batch_sms_1") == 2);
    /* When A goes, B has opt: nobody uses the SMs. */
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 0);
    assert_string_equal(stage_owners(&stage), "-----BB-");
    stage_end(&stage);
}

/* A needs little, B gains up to 6 SMs: opt grows with it. A reaches 100 with every SM and wants 150. */
static void batch_takes_what_it_gains_by(void **unused)
{
    (void)unused;
    static const struct row rows[] = {
        {{400, 200},
         "AAABBBBB",
         4,
         false,
         false}, /* 400 * 1/2 = 200: A gives; B has opt, its upper bound is not known */
        {{300, 250}, "AABBBBBB", 5, false, true}, /* B gained: opt = 5; A: 350 * 2/3 = 233 */
        {{200, 300}, "ABBBBBBB", 6, false, true}, /* opt = 6; A: 300 * 3/4 = 225 */
        {{100, 300}, "AABBBBBB", 6, true, true},  /* no gain: upper, opt stays 6; A needs one, B gives its seventh */
        {{200, 300}, "A-BBBBBB", 6, true, true},  /* 240 * 5/6 = 200; B has opt: gated */
        {{100, 300}, "AABBBBBB", 6, true, true},  /* the idle one comes back, with power */
        {{100, 300}, "AAABBBBB", 6, true, true},  /* none is idle: B gives one of its six */
        {{300, 300},
         "AABBBBBB",
         6,
         true,
         true}, /* that B lost nothing moves opt no more: it is below it; 213 * 8/9 = 189 */
    };
    struct stage stage;
    create(&stage, 8, 2, 150);
    start(&stage, 2);
    PLAY(&stage, rows);
    stage_end(&stage);
}

/* 1 % is the threshold: a change by it is none. */
static void threshold_decides_what_a_change_is(void **unused)
{
    (void)unused;
    static const struct row falls_by_2[] = {{{400, 1000}, "AAAAABBB", 4, false, false},
                                            {{400, 980}, "AAAAAABB", 4, false, true}};
    static const struct row same_with_3[] = {{{400, 1000}, "AAAAABBB", 4, false, false},
                                             {{400, 980}, "AAAAAABB", 3, true, false}};
    static const struct row falls_by_a_quarter[] = {{{400, 1000}, "AAAAABBB", 4, false, false},
                                                    {{400, 750}, "AAAAAABB", 3, true, false}};
    static const struct row rises_by_a_quarter[] = {
        {{400, 1000}, "AAABBBBB", 4, false, false},
        {{300, 1250}, "AA-BBBB-", 4, true, false}, /* nobody can use what A gives, B looks for its lower bound */
    };
    struct stage stage;
    create(&stage, 8, 2, 600);
    start(&stage, 2);
    PLAY(&stage, falls_by_2);
    stage_end(&stage);
    create(&stage, 8, 2, 600);
    stage_set(&stage, "threshold", 0.03);
    start(&stage, 2);
    PLAY(&stage, same_with_3);
    stage_end(&stage);
    create(&stage, 8, 2, 600); /* to the digit: 1000 and 750, 1000 and 1250, a quarter less and more */
    stage_set(&stage, "threshold", 0.25);
    start(&stage, 2);
    PLAY(&stage, falls_by_a_quarter);
    stage_end(&stage);
    create(&stage, 8, 2, 150);
    stage_set(&stage, "threshold", 0.25);
    start(&stage, 2);
    PLAY(&stage, rises_by_a_quarter);
    stage_end(&stage);
}

static void the_last_sm_is_a_lower_bound(void **unused)
{
    (void)unused;
    static const struct row rows[] = {
        {{150, 70}, "AAAB", 2, false, false}, /* of 200 wanted */
        {{300, 70}, "AAAB", 1, true, false},  /* B lost nothing: opt = 1; A: 225 * 2/3 = 150 */
        {{400, 70}, "AA-B", 1, true, true},   /* 283 * 3/4 = 212: A gives one; B has one only and keeps it */
    };
    struct stage stage;
    create(&stage, 4, 2, 200);
    start(&stage, 2);
    PLAY(&stage, rows);
    stage_end(&stage);
}

/* Between two kernels B does nothing, with any number of SMs: that is no upper bound, and all are B's when A has left. */
static void who_does_nothing_is_not_judged(void **unused)
{
    (void)unused;
    static const struct row rows[] = {
        {{200, 0}, "AAAB", 2, false, false},
        {{300, 0}, "AAAA", 2, false, false},
        {{400, 0}, "AAAA", 2, false, false},
    };
    struct stage stage;
    create(&stage, 4, 2, 600);
    start(&stage, 2);
    PLAY(&stage, rows);
    stage_moment(&stage, CORUN_EVENT_LEAVE, 35000, 0);
    assert_string_equal(stage_owners(&stage), "BBBB");
    stage_end(&stage);
}

static void ls_kernel_keeps_one_sm(void **unused)
{
    (void)unused;
    static const struct row rows[] = {
        {{500, 10}, "ABBB", 2, false, false}, {{500, 20}, "ABBB", 3, false, true}, {{500, 20}, "ABBB", 3, false, true}};
    struct stage stage;
    create(&stage, 4, 2, 100);
    start(&stage, 2);
    PLAY(&stage, rows);
    stage_end(&stage);
}

/* A reaches 100 with every SM and wants 900 of 8 SMs. */
static void goal_out_of_reach_is_said(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, 900);
    start(&stage, 2);
    for (uint32_t sms = 4; sms < 8; sms++) {
        stage_epoch(&stage, IPC(100 * sms, 0));
        assert_false(stage.out_of_reach[0]);
    }
    assert_string_equal(stage_owners(&stage), "AAAAAAAA");
    stage_epoch(&stage, IPC(800, 0)); /* now nothing is left to take: from here on it counts */
    assert_false(stage.out_of_reach[0]);
    stage_epoch(&stage, IPC(800, 0));
    assert_true(stage.out_of_reach[0] && !stage.out_of_reach[1]);
    stage_epoch(&stage, IPC(1500, 0)); /* in reach, although the average of 757 is not there yet */
    assert_false(stage.out_of_reach[0]);
    stage_epoch(&stage, IPC(200, 0)); /* it was seen to be */
    assert_false(stage.out_of_reach[0]);
    stage.applications[0].goal_ipc = 2000; /* it asks for more, of which the first epoch says nothing */
    stage_epoch(&stage, IPC(1500, 0));
    stage_epoch(&stage, IPC(1500, 0));
    assert_false(stage.out_of_reach[0]);
    stage_epoch(&stage, IPC(1500, 0));
    assert_true(stage.out_of_reach[0]);
    stage.applications[0].goal_ipc = 500; /* and for less */
    stage_epoch(&stage, IPC(800, 0));
    assert_false(stage.out_of_reach[0]);
    stage_end(&stage);
}

/* All SMs are A's, but B's last thread block does not end: A has not had everything yet. */
static void goal_is_not_out_of_reach_while_an_sm_changes_hands(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, 900);
    start(&stage, 2);
    stage_resident(&stage, 7, 1, 1);
    for (uint32_t epoch = 0; epoch < 8; epoch++)
        stage_epoch(&stage, IPC(700, 10));
    assert_string_equal(stage_owners(&stage), "AAAAAAAA");
    assert_true(!stage.out_of_reach[0] && stage_variable(&stage, "changing_sms") == 1);
    stage_resident(&stage, 7, 1, 0);
    stage_moment(&stage, CORUN_EVENT_LIMIT_REACHED, 7, 1);
    stage_epoch(&stage, IPC(800, 0));
    stage_epoch(&stage, IPC(800, 0));
    assert_true(stage.out_of_reach[0]);
    stage_end(&stage);
}

static void batch_least_is_left_to_batch(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 3, 2000);
    stage_set(&stage, "batch-least", 1);
    start(&stage, 3);
    assert_string_equal(stage_owners(&stage), "AAABBBCC");
    for (uint32_t epoch = 0; epoch < 9; epoch++)
        stage_epoch(&stage, IPC(300, 10, 10));
    assert_string_equal(stage_owners(&stage), "AAAAABAC");
    assert_true(stage.out_of_reach[0]);
    stage_end(&stage);
}

/* A reaches 100 with every SM and wants 420; B and C 50 with every SM. */
static void two_batch_kernels_take_turns(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 9, 3, 420);
    start(&stage, 3);
    assert_string_equal(stage_owners(&stage), "AAABBBCCC");
    stage_expect(&stage, IPC(300, 150, 150), "AAAABBCCC"); /* as many: the first gives */
    stage_expect(&stage, IPC(400, 100, 150), "AAAABBACC"); /* C has more */
    assert_true(stage_variable(&stage, "lower_1") == 1 && stage_variable(&stage, "lower_2") == 0);
    stage_expect(&stage, IPC(500, 100, 100), "AAAAABACC"); /* 400 */
    assert_true(stage_variable(&stage, "lower_2") == 1);
    stage_epoch(&stage, IPC(600, 50, 100));               /* 450 * 4/5 = 360 */
    stage_expect(&stage, IPC(600, 50, 100), "AAAAABACC"); /* 480 * 5/6 = 400 */
    stage_expect(&stage, IPC(600, 50, 100), "AAAAABBCC"); /* 500 * 6/7 = 428: both are below opt, B has fewer */
    stage_end(&stage);
}

static void surplus_is_taken_before_need(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 12, 3, 150);
    start(&stage, 3);
    stage_expect(&stage, IPC(400, 200, 200), "AAABBBBBCCCC"); /* 400 * 1/2: A gives to B */
    stage_expect(&stage, IPC(300, 200, 200), "AACBBBBBCCCC"); /* B gained nothing: opt 4 of 5; A gives to C */
    assert_true(stage_variable(&stage, "upper_1") == 1 && stage_variable(&stage, "opt_1") == 4);
    stage_epoch(&stage, IPC(200, 200, 250)); /* C gained; 300 * 3/4: A gives to C, whose upper bound is not known */
    assert_string_equal(stage_owners(&stage), "ACCBBBBBCCCC");
    stage_expect(&stage, IPC(100, 200, 300), "ACCABBBBCCCC"); /* B gives, although C has more */
    assert_true(stage_variable(&stage, "opt_2") == 6);
    stage_expect(&stage, IPC(100, 200, 300),
                 "AACABBBBCCCC"); /* B has its opt, no surplus any more: C, which has most, gives */
    stage_end(&stage);
}

/* The LS kernel is A, C is there from the start, B comes later: C has more SMs than B, but fewer than its opt. */
static void need_goes_before_curiosity(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 9, 3, 600);
    start(&stage, 1);
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 2);
    assert_string_equal(stage_owners(&stage), "AAAAACCCC");
    stage_epoch(&stage, IPC(500, 0, 200));
    stage_expect(&stage, IPC(700, 0, 150), "AAAAAACCC"); /* 600 on average */
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 1);
    assert_string_equal(stage_owners(&stage), "AAAAAABCC");
    stage_expect(&stage, IPC(1300, 50, 100), "AAAAACBCC"); /* 833 * 3/4 = 625 */
    stage_end(&stage);
}

/*
 * Thread blocks that outlive epochs: swaps are judged with the SMs that B really has, by parts of epochs that are long
 * enough.
 */
static void unfinished_hand_over_is_not_judged(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, 600);
    start(&stage, 2);
    stage_resident(&stage, 4, 1, 3);
    stage_resident(&stage, 5, 1, 2);
    stage_expect(&stage, IPC(400, 200), "AAAABBAB"); /* of B's SMs, those without thread blocks go first */
    stage_expect(&stage, IPC(400, 199), "AAAABBAA");
    stage_end(&stage);

    create(&stage, 8, 2, 600);
    start(&stage, 2);
    for (uint32_t s = 4; s < 8; s++)
        stage_resident(&stage, s, 1, 3);
    stage_expect(&stage, IPC(400, 200), "AAAAABBB");
    stage_expect(&stage, IPC(400, 199), "AAAAAABB"); /* SM 4 is still B's: nothing to judge; A asks again */
    assert_true(stage_variable(&stage, "upper_1") == 0 && stage_variable(&stage, "opt_1") == 4);
    stage_run(&stage, 3000, IPC(1600, 150));
    stage_resident(&stage, 4, 1, 0);
    stage_moment(&stage, CORUN_EVENT_LIMIT_REACHED, 4, 1);
    stage_run(&stage, 4500, IPC(1600, 120));
    stage_resident(&stage, 5, 1, 0);
    stage_moment(&stage, CORUN_EVENT_LIMIT_REACHED, 5, 1);
    stage_run(&stage, 2500, IPC(1600, 100));
    stage_epoch_ends(&stage, IPC(1600, 124)); /* no number of SMs for half an epoch */
    assert_true(stage_variable(&stage, "lower_1") == 0 && stage_variable(&stage, "upper_1") == 0);
    stage_expect(&stage, IPC(600, 100),
                 "AAAAAABB"); /* 750 * 4/5 = 600: not above. Two SMs less than opt: 100 after 200 */
    assert_true(stage_variable(&stage, "lower_1") == 1 && stage_variable(&stage, "opt_1") == 4);
    stage_end(&stage);
}

/* Each SM changes hands 12 000 cycles after A asked for it: each is judged one epoch later, one by one. */
static void overlapping_hand_overs_are_judged_one_by_one(void **unused)
{
    (void)unused;
    static const struct {
        double ipc; /* of B after the hand-over */
        uint32_t opt;
        bool upper, lower;
    } rows[] = {{100, 3, true, false}, {100, 2, true, false}, {50, 2, true, true}, {0, 2, true, true}};
    struct stage stage;
    create(&stage, 8, 2, 900);
    start(&stage, 2);
    for (uint32_t s = 4; s < 8; s++)
        stage_resident(&stage, s, 1, 3);
    stage_epoch(&stage, IPC(400, 100));
    stage_expect(&stage, IPC(400, 100), "AAAAAABB");
    assert_true(stage_variable(&stage, "changing_sms") == 2 && stage_variable(&stage, "opt_1") == 4);
    for (uint32_t i = 0; i < 4; i++) {
        stage_run(&stage, 2000, IPC(400, 100));
        stage_resident(&stage, 4 + i, 1, 0);
        stage_moment(&stage, CORUN_EVENT_LIMIT_REACHED, 4 + i, 1);
        stage_run(&stage, 8000, IPC(400, rows[i].ipc));
        stage_epoch_ends(&stage, IPC(400, rows[i].ipc));
        assert_int_equal(stage_variable(&stage, "opt_1"), rows[i].opt);
        assert_int_equal(stage_variable(&stage, "upper_1"), rows[i].upper);
        assert_int_equal(stage_variable(&stage, "lower_1"), rows[i].lower);
    }
    assert_true(stage_variable(&stage, "changing_sms") == 0);
    stage_end(&stage);
}

/* The hand-over ends late: most of the epoch ran without it, so it is judged by the next one. */
static void first_part_of_an_epoch_is_measured(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, 600);
    start(&stage, 2);
    for (uint32_t s = 4; s < 8; s++)
        stage_resident(&stage, s, 1, 3);
    stage_epoch(&stage, IPC(400, 200));
    stage_run(&stage, 7000, IPC(800, 150));
    stage_resident(&stage, 4, 1, 0);
    stage_moment(&stage, CORUN_EVENT_LIMIT_REACHED, 4, 1);
    stage_run(&stage, 3000, IPC(800, 100));
    stage_epoch_ends(&stage, IPC(800, 135)); /* 600 on average: nobody moves */
    assert_true(stage_variable(&stage, "lower_1") == 0 && stage_variable(&stage, "upper_1") == 0);
    stage_epoch(&stage, IPC(650, 150)); /* with three SMs as much as with four before */
    assert_true(stage_variable(&stage, "lower_1") == 0 && stage_variable(&stage, "upper_1") == 1);
    stage_end(&stage);
}

/*
 * More than half an epoch with the new SMs is judged by that part alone: 200 before, 190 over the epoch, 100 in the
 * end.
 */
static void rest_of_an_epoch_is_measured(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, 600);
    stage_set(&stage, "threshold", 0.2);
    start(&stage, 2);
    for (uint32_t s = 4; s < 8; s++)
        stage_resident(&stage, s, 1, 3);
    stage_epoch(&stage, IPC(400, 200));
    stage_run(&stage, 4000, IPC(400, 325));
    stage_resident(&stage, 4, 1, 0);
    stage_moment(&stage, CORUN_EVENT_LIMIT_REACHED, 4, 1);
    stage_run(&stage, 6000, IPC(400, 100));
    stage_epoch_ends(&stage, IPC(400, 190));
    assert_true(stage_variable(&stage, "lower_1") == 1 && stage_variable(&stage, "upper_1") == 0);
    stage_end(&stage);
}

/* What is still being handed over comes back first: nothing has to be waited for. */
static void unfinished_hand_over_is_taken_back(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, 150);
    start(&stage, 2);
    for (uint32_t s = 0; s < 8; s++)
        stage_resident(&stage, s, s < 4 ? 0 : 1, s == 1 ? 1 : 2);
    stage_expect(&stage, IPC(400, 200), "ABAABBBB"); /* the emptiest of A's */
    stage_expect(&stage, IPC(100, 200), "AAAABBBB");
    stage_end(&stage);
}

/* B, which holds an SM more than its opt, tries one less; before that has changed hands it tries no other. */
static void one_sm_less_at_a_time_is_tried(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, 150);
    start(&stage, 2);
    for (uint32_t s = 4; s < 8; s++)
        stage_resident(&stage, s, 1, 2);
    stage_expect(&stage, IPC(400, 200), "AAABBBBB");
    stage_resident(&stage, 3, 1, 2);
    stage_expect(&stage, IPC(300, 200), "AA-BBBB-"); /* B gained nothing: upper, opt = 4; 350 * 2/3 = 233 */
    stage_expect(&stage, IPC(200, 200), "A--BBBB-"); /* 300 * 3/4 = 225 */
    assert_true(stage_variable(&stage, "upper_1") == 1 && stage_variable(&stage, "lower_1") == 0);
    stage_end(&stage);
}

/* B gets an SM, but it cannot gain by it before A's thread blocks have left. */
static void sm_that_has_not_arrived_is_not_judged(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, 300);
    start(&stage, 2);
    for (uint32_t s = 0; s < 4; s++)
        stage_resident(&stage, s, 0, 2);
    stage_expect(&stage, IPC(610, 200), "AAABBBBB");
    stage_epoch(&stage, IPC(300, 200));
    assert_true(stage_variable(&stage, "upper_1") == 0 && stage_variable(&stage, "opt_1") == 4);
    stage_resident(&stage, 3, 0, 0);
    stage_moment(&stage, CORUN_EVENT_LIMIT_REACHED, 3, 0);
    stage_epoch(&stage, IPC(300, 250));
    assert_true(stage_variable(&stage, "lower_1") == 1 && stage_variable(&stage, "opt_1") == 5);
    stage_end(&stage);
}

/* Of two idle SMs, the one that still has A's thread blocks comes back: it need not even be emptied. */
static void idle_sm_that_is_not_empty_comes_back_first(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 1, 400);
    start(&stage, 1);
    for (uint32_t s = 0; s < 8; s++)
        stage_resident(&stage, s, 0, s == 5 ? 0 : s == 7 ? 1 : 3);
    stage_epoch(&stage, IPC(800));              /* 800 * 1/2 = 400: not above */
    stage_expect(&stage, IPC(800), "AAAAA-AA"); /* the emptiest */
    stage_expect(&stage, IPC(800), "AAAAA-A-");
    stage_expect(&stage, IPC(100), "AAAAA-AA");
    stage_end(&stage);
    create(&stage, 8, 1, 400); /* also where it is the first one that is looked at */
    start(&stage, 1);
    for (uint32_t s = 0; s < 8; s++)
        stage_resident(&stage, s, 0, s == 7 ? 0 : s == 5 ? 1 : 3);
    for (uint32_t epoch = 0; epoch < 3; epoch++)
        stage_epoch(&stage, IPC(800));
    assert_string_equal(stage_owners(&stage), "AAAAA-A-");
    stage_expect(&stage, IPC(100), "AAAAAAA-");
    stage_end(&stage);
}

/* B ends while SM 4 is being handed over: its thread blocks go with it, its SMs are nobody's, A takes one an epoch. */
static void kernel_ends_in_mid_hand_over(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, 600);
    start(&stage, 2);
    for (uint32_t s = 4; s < 8; s++)
        stage_resident(&stage, s, 1, 3);
    stage_expect(&stage, IPC(400, 200), "AAAAABBB");
    for (uint32_t s = 4; s < 8; s++)
        stage_resident(&stage, s, 1, 0);
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 1);
    assert_string_equal(stage_owners(&stage), "AAAAA---");
    stage_expect(&stage, IPC(500, 0), "AAAAAA--");
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 0);
    assert_string_equal(stage_owners(&stage), "--------");
    stage_end(&stage);
}

static void applications_come_and_go(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 3, 400);
    start(&stage, 0);
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 1); /* B alone */
    assert_string_equal(stage_owners(&stage), "BBBBBBBB");
    stage_epoch(&stage, IPC(0, 400, 0));
    stage_run(&stage, 5000, IPC(0, 400, 0));
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 0); /* the LS kernel comes late: as at the start */
    assert_string_equal(stage_owners(&stage), "AAAABBBB");
    stage_run(&stage, 5000, IPC(100, 300, 0));
    stage_epoch_ends(&stage, IPC(50, 350, 0)); /* half an epoch says nothing */
    assert_string_equal(stage_owners(&stage), "AAAABBBB");
    stage_epoch(&stage, IPC(300, 200, 0));              /* 4e6 in 15000 cycles: 267 */
    stage_expect(&stage, IPC(420, 150, 0), "AAAAAABB"); /* 328 */
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 2);     /* C: A keeps what it was found to need, B gives half */
    assert_string_equal(stage_owners(&stage), "AAAAAABC");
    assert_true(stage_variable(&stage, "opt_2") == 1);
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 1); /* C is at its opt, but its upper bound is not known */
    assert_string_equal(stage_owners(&stage), "AAAAAACC");
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 0);
    assert_string_equal(stage_owners(&stage), "CCCCCCCC");
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 2);
    stage_end(&stage);
}

/* Without batch kernels the LS kernel gives SMs to nobody. A reaches 100 with every SM and wants 400. */
static void ls_kernel_alone_gives_up_what_it_does_not_need(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 1, 400);
    start(&stage, 1);
    stage_expect(&stage, IPC(800), "AAAAAAAA"); /* 800 * 1/2 = 400: not above */
    stage_expect(&stage, IPC(800), "AAAAAAA-"); /* 800 * 2/3 */
    stage_end(&stage);
    create(&stage, 8, 1, 400);
    stage_set(&stage, "gate", 0);
    start(&stage, 1);
    stage_epoch(&stage, IPC(800));
    stage_expect(&stage, IPC(800), "AAAAAAA.");
    stage_end(&stage);
}

static void two_ls_kernels_in_conflict(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 5, 3, 300);
    stage.applications[1].goal_ipc = 300;
    start(&stage, 3);
    assert_string_equal(stage_owners(&stage), "AABBC");
    stage_expect(&stage, IPC(200, 200, 50), "AABBA"); /* the first one is asked first: it gets C's only SM, B nothing */
    stage_epoch(&stage, IPC(300, 200, 0));            /* A's average is 250, B's 200; nothing is left */
    stage_expect(&stage, IPC(300, 200, 0), "AABBA");
    assert_true(stage.out_of_reach[1]);
    assert_false(stage.out_of_reach[0]); /* 300 with what it has */
    stage_end(&stage);
}

/* A goal that comes, or changes, counts from then on. */
static void goals_change_during_the_run(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 8, 2, 0);
    start(&stage, 2);
    stage_expect(&stage, IPC(100, 400), "AAAABBBB"); /* two batch kernels: nothing happens */
    assert_true(isnan(stage_variable(&stage, "ls_sms")) && stage_variable(&stage, "opt_2") == 4);
    stage.applications[0].goal_ipc = 300;
    stage_run(&stage, 3000, IPC(100, 400));
    stage_moment(&stage, CORUN_EVENT_KERNEL_START, 0, 1);
    assert_true(stage_variable(&stage, "ls_sms") == 4 && isnan(stage_variable(&stage, "opt_2")));
    stage_run(&stage, 7000, IPC(100, 400));
    stage_epoch_ends(&stage, IPC(100, 400)); /* not a whole epoch yet */
    assert_string_equal(stage_owners(&stage), "AAAABBBB");
    stage_expect(&stage, IPC(400, 400), "AAAAABBB"); /* 4.7e6 in 17000 cycles: 276 */
    stage.applications[0].goal_ipc = 0;
    stage_expect(&stage, IPC(100, 400), "AAAAABBB");
    assert_true(isnan(stage_variable(&stage, "ls_sms")));
    stage_end(&stage);
    create(&stage, 8, 2, 600); /* a batch kernel that had a goal for a while begins its history anew */
    start(&stage, 2);
    stage_epoch(&stage, IPC(400, 200));
    stage_epoch(&stage, IPC(500, 150));
    assert_true(stage_variable(&stage, "opt_1") == 4 && stage_variable(&stage, "lower_1") == 1);
    stage.applications[1].goal_ipc = 100;
    stage_moment(&stage, CORUN_EVENT_KERNEL_START, 0, 1);
    assert_true(isnan(stage_variable(&stage, "opt_1")));
    stage.applications[1].goal_ipc = 0;
    stage_moment(&stage, CORUN_EVENT_KERNEL_START, 0, 1);
    assert_true(stage_variable(&stage, "opt_1") == 2 && stage_variable(&stage, "lower_1") == 0);
    stage_end(&stage);
}

static void refuses_what_it_cannot_do(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, 2, 3, 100);
    assert_int_equal(stage_start(&stage), CORUN_POLICY);
    assert_non_null(strstr(stage.allowances.refusal, "more applications than SMs"));
    stage_end(&stage);
    create(&stage, 4, 2, 100);
    stage.view.capabilities &= ~(1u << CORUN_CAN_POWER);
    assert_int_equal(stage_start(&stage), CORUN_POLICY);
    assert_non_null(strstr(stage.allowances.refusal, "gate=off"));
    stage_set(&stage, "gate", 0);
    assert_int_equal(stage_start(&stage), CORUN_OK);
    stage_end(&stage);
    create(&stage, 4, 2, 100);
    stage_set(&stage, "reclaim", SM_RECLAIM_SWITCH);
    start(&stage, 2);
    assert_int_equal(stage.reclaim[0], CORUN_RECLAIM_SWITCH_SM);
    stage.view.capabilities &= ~(1u << CORUN_CAN_SWITCH_SM);
    assert_int_equal(stage_start(&stage), CORUN_POLICY);
    assert_non_null(strstr(stage.allowances.refusal, "reclaim=drain"));
    stage_end(&stage);
    create(&stage, 4, 2, 100);
    stage.view.sm_count = 1025;
    assert_int_equal(stage_start(&stage), CORUN_POLICY);
    assert_non_null(strstr(stage.allowances.refusal, "1024"));
    stage_end(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_with_an_even_split),
        cmocka_unit_test(compute_intensive_batch_is_never_gated),
        cmocka_unit_test(memory_intensive_batch_is_bounded_and_gated),
        cmocka_unit_test(batch_takes_what_it_gains_by),
        cmocka_unit_test(threshold_decides_what_a_change_is),
        cmocka_unit_test(the_last_sm_is_a_lower_bound),
        cmocka_unit_test(who_does_nothing_is_not_judged),
        cmocka_unit_test(ls_kernel_keeps_one_sm),
        cmocka_unit_test(goal_out_of_reach_is_said),
        cmocka_unit_test(goal_is_not_out_of_reach_while_an_sm_changes_hands),
        cmocka_unit_test(batch_least_is_left_to_batch),
        cmocka_unit_test(need_goes_before_curiosity),
        cmocka_unit_test(two_batch_kernels_take_turns),
        cmocka_unit_test(surplus_is_taken_before_need),
        cmocka_unit_test(unfinished_hand_over_is_not_judged),
        cmocka_unit_test(overlapping_hand_overs_are_judged_one_by_one),
        cmocka_unit_test(first_part_of_an_epoch_is_measured),
        cmocka_unit_test(rest_of_an_epoch_is_measured),
        cmocka_unit_test(unfinished_hand_over_is_taken_back),
        cmocka_unit_test(one_sm_less_at_a_time_is_tried),
        cmocka_unit_test(sm_that_has_not_arrived_is_not_judged),
        cmocka_unit_test(idle_sm_that_is_not_empty_comes_back_first),
        cmocka_unit_test(kernel_ends_in_mid_hand_over),
        cmocka_unit_test(applications_come_and_go),
        cmocka_unit_test(ls_kernel_alone_gives_up_what_it_does_not_need),
        cmocka_unit_test(two_ls_kernels_in_conflict),
        cmocka_unit_test(goals_change_during_the_run),
        cmocka_unit_test(refuses_what_it_cannot_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
