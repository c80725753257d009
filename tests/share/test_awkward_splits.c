/* SPDX-License-Identifier: MIT */
/*
 * What is awkward for every policy that splits the SMs: a number that cannot be divided, one SM each, an application
 * that ends while SMs are handed over to it or from it. By script; every split is worked out by hand beside its test.
 */
#include "sm_stage.h"

static const double flat[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* As an even split, as long as nothing is known of the runs: with equal speed-ups all splits are alike. */
static const char *const splitting[] = {"even", "smart-even", "rounds", "profile", "spart"};
#define SPLITTING (sizeof splitting / sizeof splitting[0])

static void create(struct stage *stage, const char *policy, uint32_t sms, uint32_t applications)
{
    stage_create(stage, policy, sms, applications);
    for (uint32_t a = 0; a < applications; a++) {
        stage->applications[a].speedup = flat;
        stage->applications[a].speedup_count = sms;
    }
    assert_int_equal(stage_start(stage), CORUN_OK);
}

static void arrive(struct stage *stage, uint32_t application)
{
    stage_moment(stage, CORUN_EVENT_ARRIVE, 0, application);
}

static void kernel(struct stage *stage, uint32_t application, uint32_t tbs)
{
    stage->applications[application].running =
        (struct corun_grid_view){.kernel = "k", .tbs = tbs, .tbs_waiting = tbs, .tbs_per_sm = 1};
    stage_moment(stage, CORUN_EVENT_KERNEL_START, 0, application);
}

/* Two thread blocks of its owner on every SM. */
static void fill(struct stage *stage)
{
    const char *owners = stage_owners(stage);
    for (uint32_t s = 0; owners[s]; s++)
        stage_resident(stage, s, (uint32_t)(owners[s] - 'A'), 2);
}

/* It has left, and its thread blocks have gone with it. */
static void leave(struct stage *stage, uint32_t application)
{
    for (uint32_t s = 0; s < stage->view.sm_count; s++)
        stage_resident(stage, s, application, 0);
    stage_moment(stage, CORUN_EVENT_LEAVE, 0, application);
}

static void expect(struct stage *stage, const char *owners)
{
    if (strcmp(stage_owners(stage), owners))
        fail_msg("%s: %s, not %s", stage->policy->name, stage_owners(stage), owners);
}

static void sms_that_cannot_be_divided(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < SPLITTING; i++) {
        struct stage stage;
        create(&stage, splitting[i], 7, 3);
        for (uint32_t a = 0; a < 3; a++)
            arrive(&stage, a);
        expect(&stage, "AAABBCC"); /* 7 = 3 * 2 + 1: the first has one more */
        leave(&stage, 0);
        expect(&stage, "BBBBCCC");
        stage_end(&stage);
    }
}

static void one_sm_each(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < SPLITTING; i++) {
        struct stage stage;
        create(&stage, splitting[i], 3, 3);
        for (uint32_t a = 0; a < 3; a++)
            arrive(&stage, a);
        for (uint32_t a = 0; a < 3; a++)
            kernel(&stage, a, 100 * (3 - a));
        expect(&stage, "ABC"); /* the even split is the only one in which everybody has one */
        leave(&stage, 1);
        leave(&stage, 2);
        expect(&stage, "AAA");
        stage_end(&stage);
        create(&stage, splitting[i], 1, 1);
        arrive(&stage, 0);
        expect(&stage, "A");
        leave(&stage, 0);
        expect(&stage, ".");
        stage_end(&stage);
    }
}

/* C comes, and before it has had a thread block anywhere, A leaves, then C itself. */
static void applications_that_end_in_mid_hand_over(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < SPLITTING; i++) {
        struct stage stage;
        create(&stage, splitting[i], 6, 3);
        arrive(&stage, 0);
        arrive(&stage, 1);
        fill(&stage);
        expect(&stage, "AAABBB");
        /* two each: A and B give one, those farthest from each other's */
        arrive(&stage, 2);
        expect(&stage, "AACBBC");
        /* SM 2 and SM 5 have not been emptied. A leaves, SM 2 with it: three each, of A's the upper one to B */
        leave(&stage, 0);
        expect(&stage, "CBCBBC");
        /* C leaves, for whom SM 5 was still being emptied: B, whose thread blocks those are, has it again */
        leave(&stage, 2);
        expect(&stage, "BBBBBB");
        stage_end(&stage);

        create(&stage, splitting[i], 6, 2);
        arrive(&stage, 0);
        fill(&stage);
        arrive(&stage, 1);
        expect(&stage, "AAABBB");
        leave(&stage, 1); /* nothing has been handed over, nothing is */
        expect(&stage, "AAAAAA");
        stage_end(&stage);
    }
}

/* A's turn has ended, its contexts are still being saved; B, whose turn it is, leaves: A has not lost anything. */
static void a_turn_that_ends_before_it_has_begun(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, "time-slice", 2, 2);
    for (uint32_t a = 0; a < 2; a++) {
        arrive(&stage, a);
        kernel(&stage, a, 10);
    }
    fill(&stage);
    for (uint32_t epoch = 0; epoch < 10; epoch++) /* slice=100000 */
        stage_epoch(&stage, (double[2]){0});
    expect(&stage, "BB");
    leave(&stage, 1);
    expect(&stage, "AA");
    stage_end(&stage);
}

/*
 * What is on its way counts as what is there: of SMs 0 to 2 with one thread block each and SM 3 with two to come, the
 * upper ones of those with one change hands.
 */
static void thread_blocks_on_their_way_count(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, "even", 4, 2);
    arrive(&stage, 0);
    for (uint32_t s = 0; s < 3; s++)
        stage_resident(&stage, s, 0, 1);
    stage_pending(&stage, 3, 0, 2);
    arrive(&stage, 1);
    expect(&stage, "ABBA");
    stage_end(&stage);
}

/*
 * 10 SMs; thread blocks, 1 on an SM: A 9, B 3, C 4. Even, 4/3/3: 3, 1 and 2 rounds, for which A needs 3, B 3 and C 2.
 * Two are to give: 5/3/2 takes 2 + 1 + 2 = 5, 3/3/4 takes 3 + 1 + 1 = 5, all others 6. Both are off by one at two
 * places: more for the first. (By squares of SMs, without what is even, 3/3/4 would be nearer: 34 and not 38.)
 */
static void rounds_that_tie_around_an_uneven_split(void **unused)
{
    (void)unused;
    struct stage stage;
    create(&stage, "rounds", 10, 3);
    for (uint32_t a = 0; a < 3; a++)
        arrive(&stage, a);
    expect(&stage, "AAAABBBCCC");
    kernel(&stage, 0, 9);
    kernel(&stage, 1, 3);
    kernel(&stage, 2, 4);
    expect(&stage, "AAAAABBBCC");
    stage_end(&stage);
}

/* sqrt(100) + 0 for 3/0 would be more than sqrt(4) + 1 for 2/1. */
static void profile_leaves_an_sm_to_everybody(void **unused)
{
    (void)unused;
    static const double steep[] = {1, 4, 100};
    struct stage stage;
    stage_create(&stage, "profile", 3, 2);
    stage_set(&stage, "objective", 1);
    stage.applications[0].speedup = steep;
    stage.applications[1].speedup = flat;
    stage.applications[0].speedup_count = stage.applications[1].speedup_count = 3;
    assert_int_equal(stage_start(&stage), CORUN_OK);
    arrive(&stage, 0);
    arrive(&stage, 1);
    expect(&stage, "AAB");
    stage_end(&stage);
}

static void set_waiting(struct stage *stage, uint32_t a, uint32_t b, uint32_t c)
{
    stage->applications[0].running.tbs_waiting = a;
    stage->applications[1].running.tbs_waiting = b;
    stage->applications[2].running.tbs_waiting = c;
}

/* Spart that lends: A has nothing for two of its SMs, then for the third; C comes by two of them, B by one. */
static void what_is_lent_comes_back_from_who_has_most_of_it(void **unused)
{
    (void)unused;
    struct stage stage;
    stage_create(&stage, "spart", 9, 3);
    stage_set(&stage, "lend", 1);
    assert_int_equal(stage_start(&stage), CORUN_OK);
    for (uint32_t a = 0; a < 3; a++) {
        arrive(&stage, a);
        kernel(&stage, a, 10);
    }
    fill(&stage);
    for (uint32_t s = 0; s < 3; s++)
        stage_resident(&stage, s, 0, 0);
    stage_pending(&stage, 2, 0, 1); /* on its way: SM 2 is not idle */
    set_waiting(&stage, 0, 0, 5);
    stage_epoch(&stage, (double[3]){0});
    expect(&stage, "CCABBBCCC");
    stage_resident(&stage, 0, 2, 2);
    stage_resident(&stage, 1, 2, 2);
    stage_pending(&stage, 2, 0, 0);
    set_waiting(&stage, 0, 5, 0);
    stage_epoch(&stage, (double[3]){0});
    expect(&stage, "CCBBBBCCC");
    kernel(&stage, 0, 1); /* due one SM: C is two above its share, B one */
    expect(&stage, "ACBBBBCCC");
    stage_end(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sms_that_cannot_be_divided),
        cmocka_unit_test(one_sm_each),
        cmocka_unit_test(applications_that_end_in_mid_hand_over),
        cmocka_unit_test(a_turn_that_ends_before_it_has_begun),
        cmocka_unit_test(thread_blocks_on_their_way_count),
        cmocka_unit_test(rounds_that_tie_around_an_uneven_split),
        cmocka_unit_test(profile_leaves_an_sm_to_everybody),
        cmocka_unit_test(what_is_lent_comes_back_from_who_has_most_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
