/* SPDX-License-Identifier: MIT */
/*
 * Policies that split the SMs, by script. Every split is worked out by hand beside its test; the searches are also held
 * against trying everything.
 */
#include "share/launches.h"
#include "share/sm_owners.h"
#include "share/split.h"
#include "sm_stage.h"

static void start(struct stage *stage)
{
    assert_int_equal(stage_start(stage), CORUN_OK);
    for (uint32_t a = 0; a < stage->view.application_count; a++)
        stage_moment(stage, CORUN_EVENT_ARRIVE, 0, a);
}

/* An application starts a kernel of `tbs` thread blocks, of which an SM holds `tbs_per_sm`. */
static void kernel(struct stage *stage, uint32_t application, uint32_t tbs, uint32_t tbs_per_sm)
{
    stage->applications[application].running =
        (struct corun_grid_view){.kernel = "k", .tbs = tbs, .tbs_waiting = tbs, .tbs_per_sm = tbs_per_sm};
    stage_moment(stage, CORUN_EVENT_KERNEL_START, 0, application);
}

/* Every SM holds `tbs` thread blocks of its owner. */
static void fill(struct stage *stage, uint32_t tbs)
{
    const char *owners = stage_owners(stage);
    for (uint32_t s = 0; owners[s]; s++) {
        if (owners[s] != '.')
            stage_resident(stage, s, (uint32_t)(owners[s] - 'A'), tbs);
    }
}

static void is_refused(struct stage *stage, const char *words)
{
    assert_int_equal(stage_start(stage), CORUN_POLICY);
    assert_non_null(stage->allowances.refusal);
    if (!strstr(stage->allowances.refusal, words))
        fail_msg("\"%s\" does not say \"%s\"", stage->allowances.refusal, words);
}

static void hand_overs_are_few_and_short(void **unused)
{
    (void)unused;
    struct stage stage;
    stage_create(&stage, "even", 8, 4);
    assert_int_equal(stage_start(&stage), CORUN_OK);
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 0);
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 1);
    assert_string_equal(stage_owners(&stage), "AAAABBBB");
    fill(&stage, 3);
    stage_resident(&stage, 1, 0, 1);
    /* 8 / 3: 3, 3 and 2. A gives SM 1, which is empty soonest; B, whose SMs are alike, the one farthest from A */
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 2);
    assert_string_equal(stage_owners(&stage), "ACAABBBC");
    /* SM 1 and SM 7 still hold thread blocks of A and B when D comes: 2 each, one from A and one from B again */
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 3);
    assert_string_equal(stage_owners(&stage), "ACADBBDC");
    /* C leaves before it had anything: 3, 3 and 2; its SMs go back to those who are still there */
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 2);
    assert_string_equal(stage_owners(&stage), "AAADBBDB");
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 0);
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 3);
    assert_string_equal(stage_owners(&stage), "BBBBBBBB");
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 1);
    assert_string_equal(stage_owners(&stage), "........");
    stage_end(&stage);
}

static void spart_switches_where_even_drains(void **unused)
{
    (void)unused;
    struct stage stage;
    stage_create(&stage, "spart", 5, 2);
    start(&stage);
    assert_string_equal(stage_owners(&stage), "AAABB");
    assert_int_equal(stage.reclaim[0], CORUN_RECLAIM_SWITCH_SM);
    assert_false(stage.allowances.free_transfers);
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 0);
    assert_string_equal(stage_owners(&stage), "BBBBB");
    stage_end(&stage);

    stage_create(&stage, "spart", 5, 2);
    stage_set(&stage, "ideal", 1);
    stage_set(&stage, "reclaim", SM_RECLAIM_DRAIN);
    start(&stage);
    assert_int_equal(stage.reclaim[9], CORUN_RECLAIM_DRAIN);
    assert_true(stage.allowances.free_transfers);
    stage_end(&stage);

    stage_create(&stage, "spart", 5, 2);
    stage.view.capabilities = 1u << CORUN_CAN_DRAIN;
    is_refused(&stage, "reclaim=drain does without");
    stage_end(&stage);

    stage_create(&stage, "spart", 5, 2);
    stage.view.capabilities = 1u << CORUN_CAN_SWITCH_SM;
    stage_set(&stage, "reclaim", SM_RECLAIM_DRAIN);
    is_refused(&stage, "reclaim=switch does without");
    stage_end(&stage);
}

static void epochs(struct stage *stage, uint32_t count)
{
    for (; count; count--)
        stage_epoch(stage, IPC(0));
}

static void spart_lends_what_is_idle(void **unused)
{
    (void)unused;
    struct stage stage;
    stage_create(&stage, "spart", 8, 3);
    stage_set(&stage, "lend", 1);
    start(&stage);
    kernel(&stage, 0, 2, 4);
    kernel(&stage, 1, 50, 4);
    kernel(&stage, 2, 50, 4);
    assert_string_equal(stage_owners(&stage), "AAABBBCC");
    fill(&stage, 4);
    stage_resident(&stage, 0, 0, 1);
    stage_resident(&stage, 1, 0, 1);
    stage_resident(&stage, 2, 0, 0);
    epochs(&stage, 1);
    assert_string_equal(stage_owners(&stage), "AAABBBCC"); /* A's thread blocks are on their way */
    stage.applications[0].running.tbs_waiting = 0;
    epochs(&stage, 1);
    assert_string_equal(stage_owners(&stage), "AACBBBCC"); /* C has fewer SMs than B */
    stage_resident(&stage, 2, 2, 4);
    /* the next kernel, of two thread blocks, has room where the last one was */
    stage_resident(&stage, 0, 0, 0);
    stage_resident(&stage, 1, 0, 0);
    kernel(&stage, 0, 2, 4);
    assert_string_equal(stage_owners(&stage), "AACBBBCC");
    assert_int_equal(stage.reclaim[2 * 3 + 2], CORUN_RECLAIM_SWITCH_SM);
    kernel(&stage, 0, 9, 4); /* one of nine is due its three SMs */
    assert_string_equal(stage_owners(&stage), "AAABBBCC");
    /* B and C have nothing more to start, and nothing of B is on SM 5 */
    stage.applications[1].running.tbs_waiting = stage.applications[2].running.tbs_waiting = 0;
    stage_resident(&stage, 5, 1, 0);
    epochs(&stage, 1);
    assert_string_equal(stage_owners(&stage), "AAABBACC"); /* A has thread blocks waiting */
    /* one of B's was preempted: it gets its share back at the next epoch */
    stage.applications[1].running.tbs_preempted = 1;
    epochs(&stage, 1);
    assert_string_equal(stage_owners(&stage), "AAABBBCC");
    stage_end(&stage);

    stage_create(&stage, "spart", 4, 2);
    start(&stage);
    kernel(&stage, 1, 50, 4);
    epochs(&stage, 1);
    assert_string_equal(stage_owners(&stage), "AABB"); /* not unless told so */
    stage_end(&stage);
}

static void too_many_applications_are_refused(void **unused)
{
    (void)unused;
    static const char *const policies[] = {"even", "smart-even", "rounds", "profile", "spart"};
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        struct stage stage;
        stage_create(&stage, policies[i], 3, 4);
        is_refused(&stage, "more applications than SMs");
        stage_end(&stage);
    }
}

static void smart_even_gives_no_more_than_can_be_used(void **unused)
{
    (void)unused;
    struct stage stage;
    stage_create(&stage, "smart-even", 12, 3);
    start(&stage);
    assert_string_equal(stage_owners(&stage), "AAAABBBBCCCC"); /* nothing is known yet */
    /* A can use 3; 9 are left: 5 and 4 */
    kernel(&stage, 0, 3, 8);
    assert_string_equal(stage_owners(&stage), "AAABBBBBCCCC");
    /* B can use 5, which is no less than its 4.5; the remainder of 9 / 2 is its */
    kernel(&stage, 1, 5, 8);
    assert_string_equal(stage_owners(&stage), "AAABBBBBCCCC");
    kernel(&stage, 2, 100, 8);
    assert_string_equal(stage_owners(&stage), "AAABBBBBCCCC");
    stage_end(&stage);

    stage_create(&stage, "smart-even", 12, 3);
    start(&stage);
    /* 1; of the 11 left, half is 5, and B can use 4; C has 7 */
    kernel(&stage, 0, 1, 1);
    kernel(&stage, 1, 4, 1);
    kernel(&stage, 2, 100, 1);
    assert_string_equal(stage_owners(&stage), "ABBBBCCCCCCC");
    /* the others do not need what C leaves: they stay as they are, and it is idle */
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 2);
    assert_string_equal(stage_owners(&stage), "ABBBB.......");
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 1);
    assert_string_equal(stage_owners(&stage), "A...........");
    stage_end(&stage);
}

/* Half of 9 SMs are 4 and a remainder, which A must not get. */
static void smart_even_counts_the_remainder(void **unused)
{
    (void)unused;
    struct stage stage;
    stage_create(&stage, "smart-even", 9, 2);
    start(&stage);
    assert_string_equal(stage_owners(&stage), "AAAAABBBB");
    kernel(&stage, 0, 4, 1);
    assert_string_equal(stage_owners(&stage), "AAAABBBBB");
    stage_end(&stage);
}

static void smart_even_knows_a_run_by_the_first_one(void **unused)
{
    (void)unused;
    struct stage stage;
    stage_create(&stage, "smart-even", 10, 2);
    start(&stage);
    kernel(&stage, 0, 3, 1);
    kernel(&stage, 1, 50, 1);
    assert_string_equal(stage_owners(&stage), "AAABBBBBBB");
    kernel(&stage, 0, 4, 1); /* a larger grid of the same application */
    assert_string_equal(stage_owners(&stage), "AAAABBBBBB");
    kernel(&stage, 0, 2, 1); /* a smaller one will not be the last */
    assert_string_equal(stage_owners(&stage), "AAAABBBBBB");
    stage.applications[0].runs = 1;
    kernel(&stage, 0, 9, 1); /* the second run has nothing new to tell */
    assert_string_equal(stage_owners(&stage), "AAAABBBBBB");
    stage_end(&stage);
}

static void smart_even_by_kernel_takes_a_hand_over_back(void **unused)
{
    (void)unused;
    struct stage stage;
    stage_create(&stage, "smart-even", 10, 2);
    stage_set(&stage, "by", 1);
    start(&stage);
    kernel(&stage, 0, 20, 4);
    kernel(&stage, 1, 20, 4);
    assert_string_equal(stage_owners(&stage), "AAAAABBBBB");
    fill(&stage, 2);
    for (uint32_t s = 0; s < 5; s++)
        stage_resident(&stage, s, 0, s == 3); /* A's kernel ends, but for one thread block on SM 3 */
    /* the next one can use two SMs: B takes those that are empty, the nearest first; A keeps SM 3 */
    kernel(&stage, 0, 2, 4);
    assert_string_equal(stage_owners(&stage), "ABBABBBBBB");
    /* before any thread block of B is there, A can use five again: B gives back what holds none of its own */
    kernel(&stage, 0, 20, 4);
    assert_string_equal(stage_owners(&stage), "AAAAABBBBB");
    stage_end(&stage);
}

static void rounds_by_hand(void **unused)
{
    (void)unused;
    struct stage stage;
    /*
     * 12 SMs, A: 40 thread blocks, 4 on an SM; B: 20, 1 on an SM. Even, 6/6: A takes ceil(40 / 24) = 2 rounds, B
     * ceil(20 / 6) = 4. A needs 5 SMs for 2 rounds (4: ceil(40 / 16) = 3), B 5 for 4 (4: 5). Two are to give: 5/7: 2 +
     * 3 = 5; 6/6: 6; 7/5: 2 + 4 = 6.
     */
    stage_create(&stage, "rounds", 12, 2);
    start(&stage);
    kernel(&stage, 0, 40, 4);
    kernel(&stage, 1, 20, 1);
    assert_string_equal(stage_owners(&stage), "AAAAABBBBBBB");
    stage_end(&stage);

    /*
     * 10 SMs, A: 32 thread blocks, 2 on an SM; B: 24, 2 on an SM. Even, 5/5: 4 and 3 rounds; A needs 4 for that, B 4.
     * 4/6: 4 + 2 = 6; 5/5: 7; 6/4: 3 + 3 = 6. Two ties, both one away from even: more for the first.
     */
    stage_create(&stage, "rounds", 10, 2);
    start(&stage);
    kernel(&stage, 0, 32, 2);
    kernel(&stage, 1, 24, 2);
    assert_string_equal(stage_owners(&stage), "AAAAAABBBB");
    stage_end(&stage);

    /*
     * 10 SMs, both 7 thread blocks, 1 on an SM. Even: 2 + 2; 4 SMs are enough for 2 rounds; 6/4: 2 + 2. All alike:
     * even.
     */
    stage_create(&stage, "rounds", 10, 2);
    start(&stage);
    kernel(&stage, 0, 7, 1);
    kernel(&stage, 1, 7, 1);
    assert_string_equal(stage_owners(&stage), "AAAAABBBBB");
    stage_end(&stage);

    /*
     * 9 SMs, A: 36 thread blocks, B: 8, 1 on an SM. 6/3 would take 6 + 3 = 9 rounds, 5/4 takes 8 + 2 = 10: but with the
     * even split (5/4) B takes 2, and must not take more.
     */
    stage_create(&stage, "rounds", 9, 2);
    start(&stage);
    kernel(&stage, 0, 36, 1);
    kernel(&stage, 1, 8, 1);
    assert_string_equal(stage_owners(&stage), "AAAAABBBB");
    stage_end(&stage);
}

static void rounds_of_a_run_count_every_launch(void **unused)
{
    (void)unused;
    struct stage stage;
    /*
     * 12 SMs, A: one launch of 14 thread blocks, B: three of 7, 1 on an SM each. Even: 3 and 3 x 2 = 6 rounds; A needs
     * 5 for that, B 4. 5/7: 3 + 3 = 6; 6/6: 9; 7/5: 2 + 6 = 8; 8/4: 2 + 6 = 8. With one launch of B, 5/7 (3 + 1), 7/5
     * and 8/4 (2 + 2) would tie, and 7/5 be taken.
     */
    stage_create(&stage, "rounds", 12, 2);
    start(&stage);
    kernel(&stage, 0, 14, 1);
    assert_string_equal(stage_owners(&stage), "AAAAAABBBBBB"); /* B, of which nothing is known, keeps its even share */
    kernel(&stage, 1, 7, 1);
    assert_string_equal(stage_owners(&stage), "AAAAAAABBBBB");
    kernel(&stage, 1, 7, 1);
    kernel(&stage, 1, 7, 1);
    assert_string_equal(stage_owners(&stage), "AAAAABBBBBBB");
    /* alone, A has everything; when it leaves, nobody */
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 1);
    assert_string_equal(stage_owners(&stage), "AAAAAAAAAAAA");
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 0);
    assert_string_equal(stage_owners(&stage), "............");
    stage_end(&stage);
}

static void runs_known_beforehand(void **unused)
{
    (void)unused;
    struct stage stage;
    /* As above, all of it known when the applications arrive; what they launch then brings nothing new. */
    static const struct corun_launch_view a[] = {{14, 1, 1}}, b[] = {{7, 1, 3}, {9, 0, 5}};
    stage_create(&stage, "rounds", 12, 2);
    stage.applications[0].run_launches = a;
    stage.applications[0].run_launch_count = 1;
    stage.applications[1].run_launches = b;
    stage.applications[1].run_launch_count = 2; /* the second fits no SM: it is never run */
    start(&stage);
    assert_string_equal(stage_owners(&stage), "AAAAABBBBBBB");
    kernel(&stage, 1, 1000, 1);
    assert_string_equal(stage_owners(&stage), "AAAAABBBBBBB");
    stage_end(&stage);
    /* The largest grid counts: 2 and 3 of 10 SMs */
    static const struct corun_launch_view c[] = {{1, 1, 1}, {2, 1, 1}}, d[] = {{3, 1, 1}, {2, 1, 9}};
    stage_create(&stage, "smart-even", 10, 2);
    stage.applications[0].run_launches = c;
    stage.applications[1].run_launches = d;
    stage.applications[0].run_launch_count = stage.applications[1].run_launch_count = 2;
    start(&stage);
    assert_string_equal(stage_owners(&stage), "AABBB.....");
    stage_end(&stage);
    /* By kernel, what is known beforehand says nothing. */
    stage_create(&stage, "smart-even", 10, 2);
    stage_set(&stage, "by", 1);
    stage.applications[0].run_launches = c;
    stage.applications[0].run_launch_count = 2;
    start(&stage);
    assert_string_equal(stage_owners(&stage), "AAAAABBBBB");
    stage_end(&stage);
}

static void rounds_of_three(void **unused)
{
    (void)unused;
    struct stage stage;
    /*
     * 11 SMs: even 4/4/3. Thread blocks, 1 on an SM: A 8: 2 rounds, least 4; B 4: 1 round, least 4; C 4: 2 rounds,
     * least 2. One is to give: 5/4/2: 2 + 1 + 2 = 5; 4/5/2: 5; 4/4/3: 2 + 1 + 2 = 5: even.
     */
    stage_create(&stage, "rounds", 11, 3);
    start(&stage);
    kernel(&stage, 0, 8, 1);
    kernel(&stage, 1, 4, 1);
    kernel(&stage, 2, 4, 1);
    assert_string_equal(stage_owners(&stage), "AAAABBBBCCC");
    /* C launches one of 5 as well: 2 + 2 rounds with 3 SMs, 2 + 3 with 2, so now it needs all of them */
    kernel(&stage, 2, 5, 1);
    assert_string_equal(stage_owners(&stage), "AAAABBBBCCC");
    stage_end(&stage);
}

static void curve(struct stage *stage, uint32_t application, const double *speedup)
{
    stage->applications[application].speedup = speedup;
    stage->applications[application].speedup_count = stage->view.sm_count;
}

static void profile_by_hand(void **unused)
{
    (void)unused;
    /*
     * 5 SMs.            1/4                 2/3                 3/2                 4/1
     * product      1 x 7 = 7           1.5 x 6 = 9         3.5 x 3 = 10.5      4 x 1 = 4
     * sum of roots 1 + 2.646 = 3.646   1.225 + 2.449 = 3.674   1.871 + 1.732 = 3.603   2 + 1 = 3
     * sum          1 + 7 = 8           1.5 + 6 = 7.5       3.5 + 3 = 6.5       4 + 1 = 5
     */
    static const double a[] = {1, 1.5, 3.5, 4, 4}, b[] = {1, 3, 6, 7, 7};
    struct stage stage;
    stage_create(&stage, "profile", 5, 2);
    curve(&stage, 0, a);
    curve(&stage, 1, b);
    start(&stage);
    assert_string_equal(stage_owners(&stage), "AAABB");
    stage_end(&stage);
    stage_create(&stage, "profile", 5, 2);
    stage_set(&stage, "objective", 1);
    curve(&stage, 0, a);
    curve(&stage, 1, b);
    start(&stage);
    assert_string_equal(stage_owners(&stage), "AABBB");
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 1);
    assert_string_equal(stage_owners(&stage), "AAAAA");
    stage_end(&stage);
}

static void profile_prefers_even_and_splits_anew(void **unused)
{
    (void)unused;
    static const double flat[] = {1, 1, 1, 1, 1, 1, 1, 1}, linear[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct stage stage;
    stage_create(&stage, "profile", 8, 3);
    curve(&stage, 0, flat);
    curve(&stage, 1, flat);
    curve(&stage, 2, linear);
    assert_int_equal(stage_start(&stage), CORUN_OK);
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 0);
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 1);
    assert_string_equal(stage_owners(&stage), "AAAABBBB"); /* all splits are alike */
    fill(&stage, 1);
    /* 1 x 1 x 6 is the best there is: A and B keep one each, the SMs that are farthest from C */
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 2);
    assert_string_equal(stage_owners(&stage), "ACCCBCCC");
    stage_end(&stage);
}

static void profile_needs_whole_curves(void **unused)
{
    (void)unused;
    static const double good[] = {1, 2, 3, 4}, zero[] = {1, 2, 0, 4}, endless[] = {1, 2, INFINITY, 4};
    const double *const bad[] = {NULL, zero, endless};
    struct stage stage;
    for (size_t i = 0; i < 3; i++) {
        stage_create(&stage, "profile", 4, 2);
        curve(&stage, 0, good);
        curve(&stage, 1, bad[i]);
        is_refused(&stage, "speed-up");
        stage_end(&stage);
    }
    stage_create(&stage, "profile", 4, 2);
    curve(&stage, 0, good);
    curve(&stage, 1, good);
    stage.applications[1].speedup_count = 3;
    is_refused(&stage, "speed-up");
    stage_end(&stage);
}

static void fixed_never_changes(void **unused)
{
    (void)unused;
    struct stage stage;
    stage_create(&stage, "fixed", 6, 2);
    stage_set(&stage, "split_1", 2);
    stage_set(&stage, "split_2", 4);
    start(&stage);
    assert_string_equal(stage_owners(&stage), "AABBBB");
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 1);
    stage_moment(&stage, CORUN_EVENT_EPOCH, 0, 0);
    assert_string_equal(stage_owners(&stage), "AABBBB");
    stage_end(&stage);
}

static void fixed_adds_up(void **unused)
{
    (void)unused;
    static const struct {
        double parts[3];
        bool idle;
        const char *refusal;
    } rows[] = {
        {{2, 4, 0}, false, NULL},
        {{2, 3, 0}, true, NULL},
        {{2, 3, 0}, false, "together 5 SMs"},
        {{2, 5, 0}, false, "together 7 SMs"},
        {{2, 5, 0}, true, "together 7 SMs"},
        {{6, 0, 0}, false, "gives application 2 no SM"},
        {{0, 6, 0}, false, "gives application 1 no SM"},
        {{2, 2, 2}, false, "for 3 applications"},
        {{0, 0, 0}, true, "missing"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct stage stage;
        stage_create(&stage, "fixed", 6, 2);
        stage_set(&stage, "split_1", rows[i].parts[0]);
        stage_set(&stage, "split_2", rows[i].parts[1]);
        stage_set(&stage, "split_3", rows[i].parts[2]);
        stage_set(&stage, "rest", rows[i].idle);
        if (rows[i].refusal) {
            is_refused(&stage, rows[i].refusal);
        } else {
            start(&stage);
            assert_string_equal(stage_owners(&stage), rows[i].idle ? "AABBB." : "AABBBB");
        }
        stage_end(&stage);
    }
}

static void time_slices_go_round(void **unused)
{
    (void)unused;
    struct stage stage;
    stage_create(&stage, "time-slice", 3, 3);
    stage_set(&stage, "slice", 25000); /* ends with the third epoch: 30 000 is the first end not before 25 000 */
    start(&stage);
    for (uint32_t a = 0; a < 3; a++)
        kernel(&stage, a, 10, 1);
    static const char *const turns[] = {"AAA", "BBB", "CCC", "AAA"};
    for (uint32_t turn = 0; turn < 4; turn++) {
        assert_string_equal(stage_owners(&stage), turns[turn]);
        assert_int_equal(stage.reclaim[0], CORUN_RECLAIM_SWITCH_SM);
        epochs(&stage, 2);
        assert_string_equal(stage_owners(&stage), turns[turn]);
        epochs(&stage, 1);
    }
    assert_string_equal(stage_owners(&stage), "BBB");
    epochs(&stage, 1);
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 1); /* in its turn; C's begins here, at 130 000, and lasts to 160 000 */
    assert_string_equal(stage_owners(&stage), "CCC");
    epochs(&stage, 2);
    assert_string_equal(stage_owners(&stage), "CCC");
    epochs(&stage, 1);
    assert_string_equal(stage_owners(&stage), "AAA");
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 2);
    assert_string_equal(stage_owners(&stage), "AAA");
    epochs(&stage, 3); /* alone, it is its own successor */
    assert_string_equal(stage_owners(&stage), "AAA");
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 0);
    assert_string_equal(stage_owners(&stage), "...");
    epochs(&stage, 5);
    assert_string_equal(stage_owners(&stage), "...");
    stage_end(&stage);
}

static void time_slices_pass_over_the_idle(void **unused)
{
    (void)unused;
    struct stage stage;
    stage_create(&stage, "time-slice", 1, 3);
    stage_set(&stage, "microseconds", 50); /* at 1000 MHz 50 000 cycles: five epochs */
    stage.view.clock_khz = 1000000;
    start(&stage);
    assert_string_equal(stage_owners(&stage), "A"); /* nobody has work */
    kernel(&stage, 2, 1, 1);
    assert_string_equal(stage_owners(&stage), "C");
    kernel(&stage, 1, 1, 1); /* C is at work: B waits */
    epochs(&stage, 4);
    assert_string_equal(stage_owners(&stage), "C");
    epochs(&stage, 1);
    assert_string_equal(stage_owners(&stage), "B"); /* A still has nothing */
    stage.applications[1].running.kernel = NULL;
    stage.applications[1].grids_queued = 1; /* between two kernels: not idle */
    epochs(&stage, 1);
    assert_string_equal(stage_owners(&stage), "B");
    stage.applications[1].grids_queued = 0;
    epochs(&stage, 1);
    assert_string_equal(stage_owners(&stage), "C");
    stage_end(&stage);

    stage_create(&stage, "time-slice", 1, 3);
    stage_set(&stage, "ideal", 1);
    stage_set(&stage, "reclaim", SM_RECLAIM_DRAIN);
    start(&stage);
    assert_true(stage.allowances.free_transfers);
    assert_int_equal(stage.reclaim[0], CORUN_RECLAIM_DRAIN);
    for (uint32_t a = 0; a < 3; a++)
        kernel(&stage, a, 10, 1);
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 1); /* not in its turn */
    assert_string_equal(stage_owners(&stage), "A");
    stage_end(&stage);

    stage_create(&stage, "time-slice", 1, 2);
    stage_set(&stage, "slice", STAGE_EPOCH - 1);
    is_refused(&stage, "shorter than an epoch");
    stage_end(&stage);
}

/* Fixed numbers that look like chance. */
static uint32_t next_number(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

/* Tries everything: the same order of what is better, written another way. */
static bool try_all(const struct split_search *search, uint32_t *best)
{
    double best_value = 0;
    int64_t best_distance = 0;
    bool found = false;
    uint32_t sms = search->sm_count;
    for (uint32_t a = sms + 1; a-- > 0;)
        for (uint32_t b = sms - a + 1; b-- > 0;) {
            uint32_t counts[] = {a, b, sms - a - b};
            double value = search->product;
            int64_t distance = 0;
            bool good = true;
            for (uint32_t i = 0; i < 3; i++) {
                double own = search->value[i][counts[i]];
                int64_t off = (int64_t)counts[i] - search->even[i];
                good &= counts[i] >= search->least[i] && counts[i] <= search->most[i];
                value = search->product ? value * own : value + own;
                distance += off * off;
            }
            if (!good || (found && (value < best_value || (value == best_value && distance >= best_distance))))
                continue;
            found = true;
            best_value = value;
            best_distance = distance;
            memcpy(best, counts, sizeof counts);
        }
    return found;
}

static void searches_find_what_trying_everything_finds(void **unused)
{
    (void)unused;
    struct split_search *search = calloc(1, sizeof *search);
    assert_non_null(search);
    uint32_t state = 7, ties = 0, impossible = 0;
    for (uint32_t round = 0; round < 2000; round++) {
        uint32_t counts[3] = {0}, expected[3] = {0};
        search->product = round % 2;
        search->sm_count = 3 + next_number(&state, 8);
        search->application_count = 3;
        for (uint32_t a = 0; a < 3; a++) {
            search->even[a] = search->sm_count / 3 + (a < search->sm_count % 3);
            search->least[a] = 1 + next_number(&state, 3);
            search->most[a] = 1 + next_number(&state, search->sm_count);
            for (uint32_t sms = 0; sms <= search->sm_count; sms++)
                search->value[a][sms] = 1 + next_number(&state, 4); /* whole numbers: sums and products are exact */
        }
        bool possible = try_all(search, expected);
        assert_int_equal(split_search(search, counts), possible);
        impossible += !possible;
        if (possible && memcmp(counts, expected, sizeof counts))
            fail_msg("%u: %u/%u/%u, not %u/%u/%u", round, counts[0], counts[1], counts[2], expected[0], expected[1],
                     expected[2]);
        ties += possible && counts[0] == search->even[0] && counts[1] == search->even[1];
    }
    assert_true(ties > 50 && impossible > 50); /* both are among them */
    free(search);
}

static void launches_of_many_shapes(void **unused)
{
    (void)unused;
    struct launches *launches = calloc(1, sizeof *launches);
    struct corun_application_view applications[1] = {{.running = {.kernel = "k", .tbs_per_sm = 2}}};
    struct corun_view view = {.application_count = 1, .applications = applications};
    struct corun_policy_moment moment = {.event = CORUN_EVENT_KERNEL_START};
    assert_non_null(launches);
    assert_int_equal(launches_most_sms(launches, 0), CORUN_UNLIMITED);
    assert_int_equal(launches_rounds(launches, 0, 3), 0);
    for (uint32_t tbs = 1; tbs <= LAUNCH_SHAPES + 5; tbs++) {
        applications[0].running.tbs = tbs;
        assert_int_equal(launches_note(launches, &view, moment), tbs <= LAUNCH_SHAPES);
    }
    assert_int_equal(launches_most_sms(launches, 0), LAUNCH_SHAPES);
    /* 1 to 64 thread blocks, 64 on 32 SMs: a round each */
    assert_int_equal(launches_rounds(launches, 0, LAUNCH_SHAPES / 2), LAUNCH_SHAPES);
    moment.event = CORUN_EVENT_ARRIVE;
    assert_true(launches_note(launches, &view, moment));
    assert_int_equal(launches_rounds(launches, 0, 1), 0);
    moment.event = CORUN_EVENT_EPOCH;
    assert_false(launches_note(launches, &view, moment));
    free(launches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand_overs_are_few_and_short),
        cmocka_unit_test(spart_switches_where_even_drains),
        cmocka_unit_test(spart_lends_what_is_idle),
        cmocka_unit_test(too_many_applications_are_refused),
        cmocka_unit_test(smart_even_gives_no_more_than_can_be_used),
        cmocka_unit_test(smart_even_counts_the_remainder),
        cmocka_unit_test(smart_even_knows_a_run_by_the_first_one),
        cmocka_unit_test(smart_even_by_kernel_takes_a_hand_over_back),
        cmocka_unit_test(rounds_by_hand),
        cmocka_unit_test(rounds_of_a_run_count_every_launch),
        cmocka_unit_test(runs_known_beforehand),
        cmocka_unit_test(rounds_of_three),
        cmocka_unit_test(profile_by_hand),
        cmocka_unit_test(profile_prefers_even_and_splits_anew),
        cmocka_unit_test(profile_needs_whole_curves),
        cmocka_unit_test(fixed_never_changes),
        cmocka_unit_test(fixed_adds_up),
        cmocka_unit_test(time_slices_go_round),
        cmocka_unit_test(time_slices_pass_over_the_idle),
        cmocka_unit_test(searches_find_what_trying_everything_finds),
        cmocka_unit_test(launches_of_many_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
