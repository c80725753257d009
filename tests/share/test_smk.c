/* SPDX-License-Identifier: MIT */
/*
 * SMK by script: the steps of the papers' examples, worked out by hand, and what happens when kernels come, go and
 * change.
 */
#include "share/kernel_sets.h"
#include "share/tb_plan.h"
#include "tb_stage.h"

static void expect_limits(struct tb_stage *tb, uint32_t s, uint32_t first, uint32_t second)
{
    if (tb_stage_limit(tb, s, 0) != first || tb_stage_limit(tb, s, 1) != second)
        fail_msg("SM %u: %u and %u, not %u and %u", s, tb_stage_limit(tb, s, 0), tb_stage_limit(tb, s, 1), first,
                 second);
}

/* Nothing planned exceeds an SM. */
static void expect_room(struct tb_stage *tb)
{
    const struct corun_view *view = &tb->stage.view;
    for (uint32_t s = 0; s < view->sm_count; s++) {
        uint32_t registers = 0, shared = 0, threads = 0;
        for (uint32_t a = 0; a < view->application_count; a++) {
            const struct corun_grid_view *grid = &view->applications[a].running;
            registers += tb_stage_limit(tb, s, a) * grid->tb_registers;
            shared += tb_stage_limit(tb, s, a) * grid->tb_shared_bytes;
            threads += tb_stage_limit(tb, s, a) * grid->tb_threads;
        }
        assert_true(registers <= 1000 && shared <= 1000 && threads <= 1000);
    }
}

/* ---- figure 2-7: 10 % registers, 6.66 % threads; 3 % registers, 6 % shared memory, 5 % threads ---- */

static struct tb_plan *figure_2_7(void)
{
    struct tb_plan *plan = calloc(1, sizeof *plan);
    plan->sm_count = 1;
    plan->application_count = 2;
    memcpy(plan->capacity, (uint32_t[]){1000, 1000, 60, 100}, sizeof plan->capacity);
    plan->shapes[0] = (struct tb_shape){.needs = {100, 0, 4, 1}, .tbs_per_sm = 10};
    plan->shapes[1] = (struct tb_shape){.needs = {30, 60, 3, 1}, .tbs_per_sm = 16};
    return plan;
}

static void partition_of_figure_2_7(void **unused)
{
    (void)unused;
    struct tb_plan *plan = figure_2_7();
    uint32_t tbs[CORUN_MAX_APPLICATIONS];
    tb_plan_fill(plan, 3, TB_DOMINANT_SHARE, tbs);
    assert_true(tbs[0] == 6 && tbs[1] == 12);
    tb_plan_fill(plan, 1, TB_DOMINANT_SHARE, tbs);
    assert_true(tbs[0] == 10 && tbs[1] == 0);
    struct tb_shape first = plan->shapes[0]; /* the other way round it comes out the same */
    plan->shapes[0] = plan->shapes[1];
    plan->shapes[1] = first;
    tb_plan_fill(plan, 3, TB_DOMINANT_SHARE, tbs);
    assert_true(tbs[0] == 12 && tbs[1] == 6);
    free(plan);
}

static void shares_of_figure_2_7(void **unused)
{
    (void)unused;
    struct tb_plan *plan = figure_2_7();
    assert_int_equal(tb_plan_dominant(plan, 0, 1, 1), TB_SHARE_ONE / 10);
    assert_int_equal(tb_plan_dominant(plan, 1, 1, 1), TB_SHARE_ONE * 6 / 100);
    assert_int_equal(tb_plan_dominant(plan, 1, 1, 4), TB_SHARE_ONE * 6 / 400); /* of four SMs */
    plan->tbs[0][0] = plan->tbs[0][1] = 1;                                     /* iteration 2: registers, 13 % */
    assert_int_equal(tb_plan_sm_share(plan, 0, TB_PLAN_NEVER), TB_SHARE_ONE * 13 / 100);
    plan->tbs[0][1] = 2; /* iteration 3: threads, 10 of 60 */
    assert_int_equal(tb_plan_sm_share(plan, 0, TB_PLAN_NEVER), TB_SHARE_ONE / 6);
    assert_int_equal(tb_plan_sm_share(plan, 0, 1), TB_SHARE_ONE / 10);
    assert_true(tb_plan_fits(plan, 0, 0));
    plan->shapes[0].tbs_per_sm = 1; /* something else, barriers perhaps, limits it */
    assert_false(tb_plan_fits(plan, 0, 0));
    free(plan);
}

/* Section 2.4.1: as many leave as are needed. 10 % are free, one needs 15 %, each that leaves frees 3 %. */
static void as_few_leave_as_are_needed(void **unused)
{
    (void)unused;
    struct tb_plan *plan = figure_2_7();
    plan->shapes[0] = (struct tb_shape){.needs = {30, 0, 0, 1}, .tbs_per_sm = 33};
    plan->shapes[1] = (struct tb_shape){.needs = {150, 0, 0, 1}, .tbs_per_sm = 6};
    plan->tbs[0][0] = 30;
    assert_false(tb_plan_fits(plan, 0, 1));
    assert_int_equal(tb_plan_victims(plan, 0, 1, 0), 2);
    plan->tbs[0][0] = 28;
    assert_int_equal(tb_plan_victims(plan, 0, 1, 0), 0);
    plan->shapes[1].needs[TB_SHARED_BYTES] = 1001;
    assert_int_equal(tb_plan_victims(plan, 0, 1, 0), TB_PLAN_NEVER);
    free(plan);
}

/* ---- on demand ---- */

/* Each thread block takes 20 % of an SM: alone it fills them; one that comes gets half, and not more. */
static void newcomer_gets_its_share(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk", 2, 2);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 1000, 200, 0, 10);
    expect_limits(&tb, 0, 5, 0);
    expect_limits(&tb, 1, 5, 0);
    tb_stage_obey(&tb);
    tb_stage_come(&tb, 1, 1000, 10, 200, 10); /* another resource, but registers are in the way */
    assert_int_equal(tb.stage.reclaim[0], CORUN_RECLAIM_SWAP_TB);
    expect_room(&tb);
    /*
     * One leaves SM 0, where five of the second fit beside the four; then one leaves SM 1: 0.8 and 1, and no more fit.
     */
    uint32_t a = tb_stage_limits(&tb, 0), b = tb_stage_limits(&tb, 1);
    assert_int_equal(a, 8);
    assert_int_equal(b, 10);
    assert_true(stage_variable(&tb.stage, "preemptions") == 2);
    stage_end(&tb.stage);
}

/* The same resource for both: swaps continue while the range becomes smaller, and stop at 0. */
static void range_test_ends_swapping(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk", 1, 2);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 1000, 100, 0, 0);
    tb_stage_obey(&tb);
    tb_stage_come(&tb, 1, 1000, 100, 0, 0);
    expect_limits(&tb, 0, 5, 5);
    assert_true(stage_variable(&tb.stage, "range") == 0);
    tb_stage_obey(&tb);
    stage_moment(&tb.stage, CORUN_EVENT_EPOCH, 0, 0);
    expect_limits(&tb, 0, 5, 5);
    tb_stage_complete(&tb, 0, 1); /* the place goes to the one that has less now */
    expect_limits(&tb, 0, 5, 5);
    assert_true(stage_variable(&tb.stage, "preemptions") == 5);
    stage_end(&tb.stage);
}

/* 0.6 and 0.4 would become 0.4 and 0.6: not smaller, so nothing moves. */
static void equal_range_is_not_smaller(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk", 1, 2);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 1000, 200, 0, 0);
    tb_stage_obey(&tb);
    tb_stage_come(&tb, 1, 1000, 200, 0, 0);
    expect_limits(&tb, 0, 3, 2);
    assert_true(stage_variable(&tb.stage, "preemptions") == 2);
    stage_end(&tb.stage);
}

/* What was granted and is not there yet is not granted again. */
static void grants_are_counted(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk", 1, 2);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 2, 100, 0, 0);
    expect_limits(&tb, 0, 2, 0);
    stage_moment(&tb.stage, CORUN_EVENT_EPOCH, 0, 0);
    expect_limits(&tb, 0, 2, 0);
    stage_end(&tb.stage);
}

/* 0.7 and 0.3 after three of 10 % have left for one of 30 %; 0.4 and 0.6 is closer, a third time would not be. */
static void range_test_counts_what_leaves(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk", 1, 2);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 1000, 100, 0, 0);
    tb_stage_obey(&tb);
    tb_stage_come(&tb, 1, 1000, 300, 0, 0);
    expect_limits(&tb, 0, 4, 2);
    assert_true(stage_variable(&tb.stage, "preemptions") == 6);
    stage_end(&tb.stage);
    tb_stage_create(&tb, "smk", 1, 2);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 1000, 100, 0, 0);
    tb_stage_obey(&tb);
    tb_stage_come(&tb, 1, 1000, 400, 0, 0); /* 0.6 and 0.4; then 0.2 and 0.8 would be worse */
    expect_limits(&tb, 0, 6, 1);
    stage_end(&tb.stage);
}

/* A completed thread block leaves room that the one with the smallest rK cannot use: the other takes it. */
static void others_take_what_the_candidate_cannot(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk", 1, 2);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 1000, 100, 0, 0);
    tb_stage_obey(&tb);
    tb_stage_come(&tb, 1, 1000, 400, 0, 0);
    tb_stage_obey(&tb);
    tb_stage_complete(&tb, 0, 0); /* 0.5 and 0.4; rK of the second is smaller, but it needs four places */
    expect_limits(&tb, 0, 6, 1);
    stage_end(&tb.stage);
}

/* The emptiest SM by rSM gets the next thread block, whatever their number. */
static void emptiest_sm_first(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk", 2, 2);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 1, 500, 0, 0); /* one large one: SM 0 */
    tb_stage_obey(&tb);
    tb_stage_come(&tb, 1, 6, 100, 0, 0);
    expect_limits(&tb, 0, 1, 1);
    expect_limits(&tb, 1, 0, 5); /* five until both hold 50 %, then the lower index */
    stage_end(&tb.stage);
}

/* What leaves does not come back before the balance has changed; an application that leaves gives everything back. */
static void leaving_gives_back(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk", 2, 2);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 1000, 100, 0, 0);
    tb_stage_come(&tb, 1, 1000, 100, 0, 0);
    tb_stage_obey(&tb);
    assert_true(tb_stage_limits(&tb, 0) == 10 && tb_stage_limits(&tb, 1) == 10);
    tb.stage.shares[1].resident_tbs = tb.stage.shares[3].resident_tbs = 0;
    tb.stage.applications[1].running = (struct corun_grid_view){0};
    stage_moment(&tb.stage, CORUN_EVENT_LEAVE, 0, 1);
    assert_true(tb_stage_limits(&tb, 0) == 20 && tb_stage_limits(&tb, 1) == 0);
    stage_end(&tb.stage);
}

/* While one is on its way out, another thread block completes there: one place, not two, is given again. */
static void completion_while_another_leaves(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk", 1, 2);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 1000, 100, 0, 0);
    tb_stage_obey(&tb);
    tb_stage_come(&tb, 1, 1000, 100, 0, 0); /* 5 and 5, nobody has left yet */
    expect_limits(&tb, 0, 5, 5);
    tb.stage.applications[0].running.tbs_waiting = 0;
    tb_stage_complete(&tb, 0, 0); /* nine are left, four of them leave */
    expect_limits(&tb, 0, 5, 5);
    tb_stage_obey(&tb);
    tb.stage.applications[0].running.tbs_preempted = 0;
    tb_stage_complete(&tb, 0, 0); /* one of five that stay, and none to follow: the other takes the place */
    expect_limits(&tb, 0, 4, 6);
    stage_end(&tb.stage);
}

/*
 * One small kernel that is on all SMs has as much as one that fills them, and is the one that makes room for a third
 * kernel.
 */
static void sms_count_with_few_kernels_per_sm(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk", 4, 3);
    stage_set(&tb.stage, "max_kernels_per_sm", 2);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 4, 10, 0, 0);
    tb_stage_obey(&tb);
    tb_stage_come(&tb, 1, 1000, 100, 0, 0);
    tb_stage_obey(&tb);
    assert_true(tb_stage_limits(&tb, 0) == 4 && tb_stage_limits(&tb, 1) == 36);
    tb_stage_come(&tb, 2, 1, 100, 0, 0);
    assert_true(tb_stage_limits(&tb, 0) == 3 && tb_stage_limits(&tb, 1) == 36 && tb_stage_limits(&tb, 2) == 1);
    stage_end(&tb.stage);
}

/* At most two kernels in each of three SMs: every pair once (section 2.4.5). */
static void two_kernels_per_sm_on_demand(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk", 3, 3);
    stage_set(&tb.stage, "max_kernels_per_sm", 2);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    for (uint32_t a = 0; a < 3; a++) {
        tb_stage_come(&tb, a, 1000, 100, 0, 0);
        tb_stage_obey(&tb);
    }
    uint32_t pairs = 0;
    for (uint32_t s = 0; s < 3; s++) {
        uint32_t mask = 0;
        for (uint32_t a = 0; a < 3; a++)
            mask |= (uint32_t)(tb_stage_limit(&tb, s, a) != 0) << a;
        assert_true(mask == 3 || mask == 5 || mask == 6);
        pairs |= 1u << mask;
    }
    assert_int_equal(pairs, 1u << 3 | 1u << 5 | 1u << 6);
    expect_room(&tb);
    stage_end(&tb.stage);
}

/* ---- partitions ---- */

static void partitions_lie_side_by_side(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk-p", 2, 2);
    tb.stage.view.threads_per_sm = 60;
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 1000, 100, 0, 4);
    expect_limits(&tb, 0, 10, 0);
    tb_stage_obey(&tb);
    tb_stage_come(&tb, 1, 1000, 30, 60, 3);
    expect_limits(&tb, 0, 6, 12);
    expect_limits(&tb, 1, 6, 12);
    assert_memory_equal(&tb.partition[2],
                        (&(struct corun_partition){.register_count = 600, .thread_count = 24, .tb_slots = 6}),
                        sizeof tb.partition[2]);
    assert_memory_equal(
        &tb.partition[3],
        (&(struct corun_partition){
            .first_register = 600, .register_count = 360, .shared_bytes = 720, .thread_count = 36, .tb_slots = 12}),
        sizeof tb.partition[3]);
    stage_moment(&tb.stage, CORUN_EVENT_LEAVE, 0, 0); /* the other has the SM to itself */
    expect_limits(&tb, 0, 0, 16);
    assert_true(tb.partition[2].tb_slots == 0 && tb.partition[3].first_register == 0);
    stage_end(&tb.stage);
}

/* The same kernel again changes nothing; one of another shape divides anew. */
static void partitions_follow_the_kernel(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk-p", 1, 2);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 1000, 100, 0, 0);
    tb_stage_come(&tb, 1, 1000, 100, 0, 0);
    expect_limits(&tb, 0, 5, 5);
    tb_stage_kernel(&tb, 1, 1000, 200, 0, 0);
    stage_moment(&tb.stage, CORUN_EVENT_KERNEL_START, 0, 1);
    expect_limits(&tb, 0, 6, 2); /* 50 % and 40 %: the second one no longer fits, the first does */
    stage_end(&tb.stage);
}

/* A small kernel between large ones lives in the partitions of its application: nobody is swapped for it. */
static void small_kernels_take_over_partitions(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk-p", 2, 2);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 1000, 100, 0, 0);
    tb_stage_come(&tb, 1, 1000, 100, 0, 0);
    expect_limits(&tb, 0, 5, 5);
    tb_stage_kernel(&tb, 1, 4, 200, 0, 0); /* two find place in 500 registers, four on both SMs */
    stage_moment(&tb.stage, CORUN_EVENT_KERNEL_START, 0, 1);
    expect_limits(&tb, 0, 5, 2);
    expect_limits(&tb, 1, 5, 2);
    assert_int_equal(tb.partition[1].first_register, 500);
    assert_int_equal(tb.partition[1].register_count, 500);
    tb_stage_kernel(&tb, 1, 5, 200, 0, 0); /* one more than there are places */
    stage_moment(&tb.stage, CORUN_EVENT_KERNEL_START, 0, 1);
    expect_limits(&tb, 0, 6, 2);
    tb_stage_kernel(&tb, 1, 1, 0, 10, 0); /* shared memory, of which the partition has none */
    stage_moment(&tb.stage, CORUN_EVENT_KERNEL_START, 0, 1);
    assert_int_equal(tb.partition[1].register_count, 0);
    assert_int_not_equal(tb.partition[1].shared_bytes, 0);
    stage_end(&tb.stage);
}

static void without_a_machine_that_partitions_limits_alone(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk-p", 1, 2);
    tb.stage.view.capabilities &= ~(1u << CORUN_CAN_PARTITION);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 1000, 100, 0, 0);
    tb_stage_come(&tb, 1, 1000, 100, 0, 0);
    expect_limits(&tb, 0, 5, 5);
    assert_int_equal(tb.partition[0].tb_slots, 0);
    stage_end(&tb.stage);
}

static void sets_of_kernels(void **unused)
{
    (void)unused;
    struct kernel_sets *sets = calloc(1, sizeof *sets);
    kernel_sets_start(sets, 3, 4, 2);
    assert_true(kernel_sets_follow(sets, 7, false));
    assert_int_equal(1u << kernel_sets_mask(sets, 0) | 1u << kernel_sets_mask(sets, 1) |
                         1u << kernel_sets_mask(sets, 2),
                     1u << 3 | 1u << 5 | 1u << 6);
    assert_false(kernel_sets_follow(sets, 7, false));
    assert_true(kernel_sets_follow(sets, 15, false)); /* six places for four: 2, 2, 1, 1 */
    uint32_t count[4] = {0};
    for (uint32_t s = 0; s < 3; s++)
        for (uint32_t a = 0; a < 4; a++)
            count[a] += kernel_sets_has(sets, s, a);
    for (uint32_t a = 0; a < 4; a++)
        assert_true(count[a] == 1 || count[a] == 2);
    assert_true(kernel_sets_follow(sets, 1, false)); /* alone everywhere, once */
    for (uint32_t s = 0; s < 3; s++)
        assert_int_equal(kernel_sets_mask(sets, s), 1);
    kernel_sets_start(sets, 16, 4, 2); /* 32 places for four, 8 each */
    for (uint32_t a = 0; a < 4; a++)
        (void)kernel_sets_follow(sets, (2u << a) - 1, false);
    for (uint32_t a = 0; a < 4; a++) {
        uint32_t sms = 0;
        for (uint32_t s = 0; s < 16; s++)
            sms += kernel_sets_has(sets, s, a);
        assert_int_equal(sms, 8);
    }
    free(sets);
}

/* ---- the fair warp quota ---- */

/* What an application issues on the SM that it has to itself, in each epoch. */
static void sampled(struct tb_stage *tb, uint32_t s, uint32_t application, double wipc)
{
    tb->stage.shares[s * tb->stage.view.application_count + application].warp_instructions =
        (uint64_t)(wipc * STAGE_EPOCH * tb->stage.view.schedulers_per_sm);
}

/* Section 2.4.4: 8 thread blocks each alone, 2 and 4 of them here, WIPC 0.4 and 0.5: 0.1/0.35 and 0.25/0.35. */
static void quotas_of_the_example(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk-pw", 3, 2);
    tb.stage.view.schedulers_per_sm = 4;
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    /* equal shares of the threads: 2 of 250 and 4 of 125 */
    tb_stage_come(&tb, 0, 1000, 0, 0, 250);
    tb_stage_come(&tb, 1, 1000, 0, 0, 125);
    tb.stage.applications[0].running.tbs_per_sm = 8; /* as in the example, whatever it is that limits it */
    stage_moment(&tb.stage, CORUN_EVENT_KERNEL_START, 0, 0);
    expect_limits(&tb, 0, 4, 0); /* each has an SM to itself */
    expect_limits(&tb, 1, 0, 8);
    expect_limits(&tb, 2, 2, 4);
    tb_stage_obey(&tb);
    assert_false(tb.stage.allowances.quotas_on);
    sampled(&tb, 0, 0, 0.4);
    stage_moment(&tb.stage, CORUN_EVENT_EPOCH, 0, 0);
    assert_true(tb.stage.allowances.quotas_on);
    assert_int_equal(tb.stage.allowances.quota_kind, CORUN_QUOTA_WARP_AT_ISSUE);
    assert_true(tb.quota[4] > INT64_C(1000000000) && tb.quota[5] == tb.quota[4]); /* the second is not known yet */
    sampled(&tb, 1, 1, 0.5);
    stage_moment(&tb.stage, CORUN_EVENT_EPOCH, 0, 0);
    assert_int_equal(tb.quota[4], 2857); /* 10 000 * 0.1 / 0.35 */
    assert_int_equal(tb.quota[5], 7142); /* 10 000 * 0.25 / 0.35 */
    assert_true(tb.quota_set[4] && !tb.quota_add[4] && tb.quota_refill[4] == 2857 && tb.quota_refill[5] == 7142);
    assert_true(tb.quota_refill[0] > INT64_C(1000000000)); /* where it is measured nothing holds it back */
    assert_true(fabs(stage_variable(&tb.stage, "wipc_1") - 0.4) < 1e-12);
    sampled(&tb, 0, 0, 0); /* nothing to run for an epoch: the last one counts */
    stage_moment(&tb.stage, CORUN_EVENT_EPOCH, 0, 0);
    assert_int_equal(tb.quota[4], 2857);
    tb.stage.applications[0].running.tbs_per_sm = 4; /* two of four: 0.2 and 0.25 */
    stage_moment(&tb.stage, CORUN_EVENT_KERNEL_START, 0, 0);
    assert_true(tb.quota[4] == 4444 && tb.quota[5] == 5555);
    stage_end(&tb.stage);
}

/* The quota of the first of two kernels that are due WIPC * 2 / 4 and WIPC * 4 / 8 of an SM; epochs are 10 000 cycles. */
static int64_t quota_after(struct tb_stage *tb, uint32_t held, double wipc)
{
    tb->stage.shares[0].resident_tbs = held;
    sampled(tb, 0, 0, wipc);
    stage_moment(&tb->stage, CORUN_EVENT_EPOCH, 0, 0);
    return tb->quota[4];
}

/* The last thread blocks of a grid on the SM of its own, or none for a while: WIPC is that of a full SM. */
static void only_a_full_sm_is_measured(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk-pw", 3, 2);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 1000, 0, 0, 250);
    tb_stage_come(&tb, 1, 1000, 0, 0, 125);
    expect_limits(&tb, 0, 4, 0);
    expect_limits(&tb, 1, 0, 8);
    expect_limits(&tb, 2, 2, 4);
    tb_stage_obey(&tb);
    sampled(&tb, 1, 1, 0.5);                            /* due 0.25 */
    assert_int_equal(quota_after(&tb, 2, 0.2), 4444);   /* two of four: as if 0.4, due 0.2 */
    assert_int_equal(quota_after(&tb, 4, 0.375), 4444); /* was not full all the time: not less than before */
    assert_int_equal(quota_after(&tb, 4, 0.375), 4285); /* it was: 0.1875 of 0.4375 */
    assert_int_equal(quota_after(&tb, 1, 0.1), 4285);   /* the grid ends */
    assert_int_equal(quota_after(&tb, 0, 0.01), 4285);
    assert_int_equal(quota_after(&tb, 0, 0), 4285);
    assert_int_equal(quota_after(&tb, 4, 0.25), 4285); /* the next one */
    assert_int_equal(quota_after(&tb, 4, 0.25), 3333); /* 0.125 of 0.375 */
    tb_stage_kernel(&tb, 0, 1000, 0, 0, 500);          /* another kernel: 2 fit, 1 beside 4 of the other */
    stage_moment(&tb.stage, CORUN_EVENT_KERNEL_START, 0, 0);
    expect_limits(&tb, 0, 2, 0);
    expect_limits(&tb, 2, 1, 4);
    assert_int_equal(quota_after(&tb, 2, 0.1), 1666); /* the first there is: 0.05 of 0.3 */
    stage_end(&tb.stage);
}

static void kernels_can_be_measured_without_being_limited(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk-pw", 3, 2);
    tb.stage.view.schedulers_per_sm = 4;
    stage_set(&tb.stage, "quota", 0);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 1000, 0, 0, 250);
    tb_stage_come(&tb, 1, 1000, 0, 0, 125);
    expect_limits(&tb, 0, 4, 0);
    expect_limits(&tb, 1, 0, 8);
    tb_stage_obey(&tb);
    sampled(&tb, 0, 0, 0.4);
    sampled(&tb, 1, 1, 0.5);
    stage_moment(&tb.stage, CORUN_EVENT_EPOCH, 0, 0);
    assert_true(fabs(stage_variable(&tb.stage, "wipc_2") - 0.5) < 1e-12);
    assert_false(tb.stage.allowances.quotas_on);
    stage_end(&tb.stage);
}

static void one_that_leaves_gives_its_sm_back(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk-pw", 3, 2);
    assert_int_equal(stage_start(&tb.stage), CORUN_OK);
    tb_stage_come(&tb, 0, 1000, 100, 0, 0);
    tb_stage_come(&tb, 1, 1000, 100, 0, 0);
    stage_moment(&tb.stage, CORUN_EVENT_LEAVE, 0, 0);
    expect_limits(&tb, 0, 0, 10);
    expect_limits(&tb, 1, 0, 10);
    expect_limits(&tb, 2, 0, 10);
    stage_end(&tb.stage);
}

static void too_few_sms_to_measure(void **unused)
{
    (void)unused;
    struct tb_stage tb;
    tb_stage_create(&tb, "smk-pw", 2, 2);
    assert_int_equal(stage_start(&tb.stage), CORUN_POLICY);
    assert_non_null(tb.stage.allowances.refusal);
    stage_end(&tb.stage);
}

static void ideal_is_for_every_one(void **unused)
{
    (void)unused;
    static const char *const names[] = {"smk", "smk-p", "smk-pw"};
    for (uint32_t i = 0; i < 3; i++) {
        struct tb_stage tb;
        tb_stage_create(&tb, names[i], 4, 2);
        assert_int_equal(stage_start(&tb.stage), CORUN_OK);
        assert_false(tb.stage.allowances.free_transfers);
        stage_set(&tb.stage, "ideal", 1);
        assert_int_equal(stage_start(&tb.stage), CORUN_OK);
        assert_true(tb.stage.allowances.free_transfers);
        stage_end(&tb.stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partition_of_figure_2_7),
        cmocka_unit_test(shares_of_figure_2_7),
        cmocka_unit_test(as_few_leave_as_are_needed),
        cmocka_unit_test(newcomer_gets_its_share),
        cmocka_unit_test(range_test_ends_swapping),
        cmocka_unit_test(equal_range_is_not_smaller),
        cmocka_unit_test(grants_are_counted),
        cmocka_unit_test(range_test_counts_what_leaves),
        cmocka_unit_test(others_take_what_the_candidate_cannot),
        cmocka_unit_test(emptiest_sm_first),
        cmocka_unit_test(leaving_gives_back),
        cmocka_unit_test(completion_while_another_leaves),
        cmocka_unit_test(two_kernels_per_sm_on_demand),
        cmocka_unit_test(sms_count_with_few_kernels_per_sm),
        cmocka_unit_test(partitions_lie_side_by_side),
        cmocka_unit_test(partitions_follow_the_kernel),
        cmocka_unit_test(small_kernels_take_over_partitions),
        cmocka_unit_test(without_a_machine_that_partitions_limits_alone),
        cmocka_unit_test(sets_of_kernels),
        cmocka_unit_test(quotas_of_the_example),
        cmocka_unit_test(only_a_full_sm_is_measured),
        cmocka_unit_test(kernels_can_be_measured_without_being_limited),
        cmocka_unit_test(one_that_leaves_gives_its_sm_back),
        cmocka_unit_test(too_few_sms_to_measure),
        cmocka_unit_test(ideal_is_for_every_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
