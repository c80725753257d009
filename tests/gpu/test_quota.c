/* SPDX-License-Identifier: MIT */
/* Quotas: at which instruction warps stop, when they resume, and that nothing waits for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stage.h"

#define GLOBAL_BASE (UINT64_C(1) << CORUN_APPLICATION_SHIFT)

/* What the policy of a test gives to everybody on every SM at the start, and again at every epoch. */
static struct plan {
    enum corun_quota_kind kind;
    int64_t quota[STAGE_APPLICATIONS], refill[STAGE_APPLICATIONS];
    bool again[STAGE_APPLICATIONS], add[STAGE_APPLICATIONS];
} plan;

static void give(const struct corun_view *view, struct corun_allowances *allowances, bool first)
{
    for (uint32_t s = 0; s < view->sm_count; s++)
        for (uint32_t a = 0; a < view->application_count; a++) {
            uint32_t entry = s * view->application_count + a;
            assert_false(allowances->quota_set[entry]); /* the machine has cleared it */
            allowances->quota_set[entry] = first || plan.again[a];
            allowances->quota_add[entry] = !first && plan.add[a];
            allowances->quota[entry] = plan.quota[a];
            allowances->quota_refill[entry] = plan.refill[a];
        }
}

static void start_plan(struct stage *stage, const struct corun_view *view, struct corun_allowances *allowances)
{
    (void)stage;
    allowances->quotas_on = true;
    allowances->quota_kind = plan.kind;
    give(view, allowances, true);
}

static void follow_plan(struct stage *stage, const struct corun_view *view, struct corun_policy_moment moment,
                        struct corun_allowances *allowances)
{
    (void)stage;
    if (moment.event == CORUN_EVENT_EPOCH)
        give(view, allowances, false);
}

/* Additions: `chain`: each needs the one before it; else no two do. */
static struct script *additions(uint32_t tbs, uint32_t warps, uint32_t count, bool chain)
{
    struct script *script = script_new(tbs, warps);
    for (uint32_t i = 0; i < count; i++)
        script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, chain ? 1 : (uint16_t)(1 + i % 32), chain ? 1 : 40,
                       41);
    script_end(script, 0, 1);
    return script;
}

static struct stage *set_up(enum corun_quota_kind kind, uint32_t count, struct script *const *scripts,
                            const int64_t *quota, const int64_t *refill)
{
    struct stage *stage = stage_new();
    plan = (struct plan){.kind = kind};
    stage->application_count = count;
    stage->config.epoch_cycles = 1000;
    stage->config.launch_latency = 1000000; /* one run, then nothing */
    stage->start = start_plan;
    stage->decide = follow_plan;
    for (uint32_t a = 0; a < count; a++) {
        stage->scripts[a] = scripts[a];
        plan.quota[a] = quota[a];
        plan.refill[a] = refill[a];
    }
    return stage;
}

/* Cycle of an application's issue number `n` (from 0 on) on one SM; 0 if there are not so many. */
static uint64_t issue_cycle(const struct stage *stage, uint32_t application, uint32_t n)
{
    for (uint32_t i = 0; i < stage->issue_count; i++)
        if (stage->issues[i].application == application && n-- == 0)
            return stage->issues[i].cycle;
    return 0;
}

static uint32_t issues_before(const struct stage *stage, uint32_t application, uint64_t cycle)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < stage->issue_count; i++)
        count += stage->issues[i].application == application && stage->issues[i].cycle < cycle;
    return count;
}

static uint32_t moments_of(const struct stage *stage, enum corun_policy_event event)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < stage->moment_count; i++)
        count += stage->moments[i].event == event;
    return count;
}

static void at_issue_every_scheduler_counts_for_itself(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < CORUN_SCHEDULER_COUNT; kind++) {
        struct script *script[] = {additions(1, 12, 300, false)};
        struct stage *stage = set_up(CORUN_QUOTA_WARP_AT_ISSUE, 1, script, (int64_t[]){10}, (int64_t[]){0});
        stage->config.scheduler = (enum corun_scheduler)kind;
        stage->limits.cycles = 900;
        stage_run(stage);
        assert_int_equal(stage->status, CORUN_OK);
        uint32_t schedulers = stage->config.schedulers_per_sm, issued[8] = {0};
        for (uint32_t i = 0; i < stage->issue_count; i++)
            issued[stage->issues[i].scheduler]++;
        for (uint32_t s = 0; s < schedulers; s++)
            assert_int_equal(issued[s], 10);
        /* from then on every cycle of every scheduler is lost to the quota, and no cycle is missing */
        uint64_t begin = issue_cycle(stage, 0, 0), last = stage->issues[stage->issue_count - 1].cycle;
        const struct corun_counters *c = &stage->counters[0];
        assert_int_equal(c->warp_instructions, 10 * schedulers);
        assert_int_equal(scheduler_cycles(c), schedulers * (stage->limits.cycles - begin));
        assert_in_range(c->stall_quota, schedulers * (stage->limits.cycles - last - 1),
                        schedulers * stage->limits.cycles);
        /* it was told once, and that nothing is left */
        assert_int_equal(moments_of(stage, CORUN_EVENT_QUOTAS_SPENT), 1);
        assert_int_equal(stage->moments[stage->moment_count - 1].event, CORUN_EVENT_QUOTAS_SPENT);
        assert_int_equal(stage->moments[stage->moment_count - 1].quota[0], 0);
        stage_end(stage);
    }
}

/* A warp that issues two instructions in a cycle issues one when its quota ends there. */
static void the_second_instruction_of_a_cycle_needs_quota_too(void **state)
{
    (void)state;
    for (int64_t quota = 9; quota <= 10; quota++) {
        struct script *script = script_new(1, 1);
        for (uint32_t i = 0; i < 30; i++) {
            script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, (uint16_t)(1 + i), 40, 41);
            script_compute(script, CORUN_UNIT_SFU, 0, (uint16_t)(50 + i), 42, 43);
        }
        script_end(script, 0, 1);
        struct stage *stage = set_up(CORUN_QUOTA_WARP_AT_ISSUE, 1, &script, &quota, (int64_t[]){0});
        stage->config.schedulers_per_sm = 1;
        stage->config.issue_width = 2;
        stage->config.sfu_interval = 1;
        stage->limits.cycles = 900;
        stage_run(stage);
        assert_int_equal(stage->issue_count, quota);
        uint32_t pairs = 0;
        for (uint32_t i = 1; i < stage->issue_count; i++)
            pairs += stage->issues[i].cycle == stage->issues[i - 1].cycle;
        assert_in_range(pairs, 3, 5);
        assert_int_equal(stage->moments[stage->moment_count - 1].quota[0], 0);
        stage_end(stage);
    }
}

/* SMK, section 2.4.4: when both have spent theirs, both get it again, at once. */
static void a_scheduler_refills_when_all_have_spent(void **state)
{
    (void)state;
    struct script *scripts[] = {additions(1, 2, 400, false), additions(1, 2, 400, false)};
    struct stage *stage = set_up(CORUN_QUOTA_WARP_AT_ISSUE, 2, scripts, (int64_t[]){3, 7}, (int64_t[]){3, 7});
    stage->config.schedulers_per_sm = 1;
    stage->limits.cycles = 520;
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_OK);
    assert_in_range(stage->issue_count, 400, 520);
    for (uint32_t first = 0; first + 10 <= stage->issue_count; first += 10) {
        uint32_t of_first = 0;
        for (uint32_t i = 0; i < 10; i++)
            of_first += stage->issues[first + i].application == 0;
        assert_int_equal(of_first, 3);
    }
    /* the refill costs no cycle: a scheduler with two ready warps of each issues every cycle */
    assert_int_equal(stage->issues[399].cycle - stage->issues[0].cycle, 399);
    assert_true(moments_of(stage, CORUN_EVENT_QUOTAS_SPENT) > 0);
    stage_end(stage);
}

/* Figure 4 of the ISCA 2017 paper: K0 has a goal (100 a time), K1 has none (50 a time); warps of 32 lanes. */
static struct stage *figure_4(void)
{
    struct script *scripts[] = {additions(1, 1, 600, true), additions(1, 1, 600, true)};
    struct stage *stage =
        set_up(CORUN_QUOTA_THREAD_AT_COMPLETION, 2, scripts, (int64_t[]){100, 50}, (int64_t[]){0, 50});
    stage->limits.cycles = 1900;
    plan.again[0] = plan.again[1] = true;
    return stage;
}

static uint64_t completion_of(const struct stage *stage, uint32_t application, uint32_t n)
{
    return issue_cycle(stage, application, n) + stage->config.collect_cycles + stage->config.int_add_latency;
}

static void naive_quotas_end_below_zero_and_only_k1_is_refilled(void **state)
{
    (void)state;
    struct stage *stage = figure_4();
    stage_run(stage);
    uint64_t change = 1000 + stage->config.dispatch_latency;
    /* K0: 100 - 4 * 32 = -28, and nothing more until the next epoch has reached the SM */
    assert_int_equal(issues_before(stage, 0, change), 4);
    assert_int_equal(issue_cycle(stage, 0, 4), change);
    assert_int_equal(issues_before(stage, 0, stage->cycles), 8);
    /* K1: 50 - 2 * 32 = -14, waits for the end of K0's quota, then issues again with -14 + 50 = 36 */
    uint64_t spent = completion_of(stage, 0, 3);
    assert_int_equal(issues_before(stage, 1, spent), 2);
    assert_int_equal(issue_cycle(stage, 1, 2), spent);
    /* 36 - 64 = -28, + 50 = 22, - 32 = -10, + 50 = 40, - 64 = -24, + 50 = 26 ...: from then on nothing stops it */
    uint32_t step = stage->config.collect_cycles + stage->config.int_add_latency, refills = 1;
    int64_t left = 36;
    for (uint32_t n = 3; issue_cycle(stage, 1, n) < 1000; n++) {
        assert_int_equal(issue_cycle(stage, 1, n) - issue_cycle(stage, 1, n - 1), step);
        if (completion_of(stage, 1, n - 1) >= 1000)
            break;
        left -= 32;
        if (left <= 0) {
            left += 50;
            refills++;
        }
    }
    for (uint32_t i = 0; i < stage->moment_count; i++)
        if (stage->moments[i].event == CORUN_EVENT_EPOCH) {
            assert_int_equal(stage->moments[i].cycle, 1000);
            assert_int_equal(stage->moments[i].quota[0], -28);
            assert_int_equal(stage->moments[i].quota[1], left);
            assert_in_range(refills, 60, 120);
        }
    stage_end(stage);
}

static void elastic_epochs_refill_both_and_keep_what_is_owed(void **state)
{
    (void)state;
    struct stage *stage = figure_4();
    plan.refill[0] = 100;
    plan.again[0] = plan.again[1] = false;
    stage_run(stage);
    /* K0 -28 + 100 = 72: three more; K1 -14 + 50 = 36: two more; then 72 - 96 = -24 + 100 and 36 - 64 = -28 + 50 */
    uint64_t first = completion_of(stage, 0, 3);
    assert_int_equal(issues_before(stage, 0, first), 4);
    assert_int_equal(issues_before(stage, 1, first), 2);
    assert_int_equal(issue_cycle(stage, 0, 4), first);
    assert_int_equal(issue_cycle(stage, 1, 2), first);
    uint64_t second = completion_of(stage, 0, 6);
    assert_int_equal(issues_before(stage, 0, second), 7);
    assert_int_equal(issues_before(stage, 1, second), 4);
    assert_int_equal(issue_cycle(stage, 0, 7), second);
    assert_int_equal(issue_cycle(stage, 1, 4), second);
    stage_end(stage);
}

static void rollover_adds_to_what_remains(void **state)
{
    (void)state;
    struct stage *stage = figure_4();
    /* K0 cannot spend 10000 in an epoch; K1 spends its own, and what it has left over would be discarded */
    plan.quota[0] = 10000;
    plan.add[0] = true;
    stage->limits.cycles = 3900;
    stage_run(stage);
    uint32_t epoch = 0;
    for (uint32_t i = 0; i < stage->moment_count; i++)
        if (stage->moments[i].event == CORUN_EVENT_EPOCH) {
            epoch++;
            uint32_t completed = 0;
            while (issue_cycle(stage, 0, completed) && completion_of(stage, 0, completed) < epoch * 1000)
                completed++;
            assert_int_equal(stage->moments[i].quota[0], (int64_t)epoch * 10000 - 32 * (int64_t)completed);
            assert_int_equal(stage->moments[i].quota[1], -14); /* K1 was set to 50 every time */
            assert_int_equal(issues_before(stage, 1, epoch * 1000), 2 * epoch);
        }
    assert_int_equal(epoch, 3);
    stage_end(stage);
}

/* A script with everything that can complete: arithmetic, loads, stores, atomics, barriers, branches. */
static struct script *mixture(uint32_t tbs, uint32_t application)
{
    struct script *script = script_new(tbs, 4);
    uint64_t base = GLOBAL_BASE * (application + 1);
    uint32_t load = script_memory(script, CORUN_LOAD, CORUN_SPACE_GLOBAL, 1, 40, base, 36);
    script->turn_stride[load] = 4096;
    script->warp_stride[load] = 128;
    script_compute(script, CORUN_UNIT_FP32, CORUN_OPERATION_MAD, 2, 1, 1);
    script_compute(script, CORUN_UNIT_FP64, CORUN_OPERATION_DIV, 10, 12, 14);
    script_memory(script, CORUN_STORE, CORUN_SPACE_GLOBAL, 2, 40, base + (1 << 20), 8);
    script_memory(script, CORUN_LOAD, CORUN_SPACE_SHARED, 3, 41, 0, 8);
    script_memory(script, CORUN_STORE, CORUN_SPACE_SHARED, 3, 41, 0, 4);
    script_memory(script, CORUN_ATOMIC, CORUN_SPACE_GLOBAL, 4, 40, base + (2 << 20), 4);
    script_memory(script, CORUN_ATOMIC | CORUN_REDUCTION, CORUN_SPACE_GLOBAL, 4, 40, base + (2 << 20), 0);
    script_control(script, CORUN_BARRIER);
    script_end(script, 0, 7);
    return script;
}

/* When nothing is under way any more, what was taken off is what was issued: lanes or warp instructions. */
static void every_instruction_is_counted_once(void **state)
{
    (void)state;
    for (enum corun_quota_kind kind = CORUN_QUOTA_WARP_AT_ISSUE; kind <= CORUN_QUOTA_THREAD_AT_COMPLETION; kind++)
        for (uint32_t late = 0; late < 2; late++) { /* with latencies beyond the table of completions */
            struct script *scripts[] = {mixture(5, 0), mixture(3, 1)};
            struct stage *stage = set_up(kind, 2, scripts, (int64_t[]){1000000, 2000000}, (int64_t[]){0, 0});
            stage->config.fp64_div_latency = late ? 2000 : 330;
            stage->limits.cycles = 60000;
            stage_run(stage);
            assert_int_equal(stage->status, CORUN_OK);
            const struct stage_moment *last = &stage->moments[stage->moment_count - 1];
            assert_int_equal(last->event, CORUN_EVENT_EPOCH);
            for (uint32_t a = 0; a < 2; a++) {
                assert_int_equal(stage->results[a].runs, 1);
                uint32_t rows = kind == CORUN_QUOTA_WARP_AT_ISSUE ? stage->config.schedulers_per_sm : 1;
                uint64_t counted = kind == CORUN_QUOTA_WARP_AT_ISSUE ? stage->counters[a].warp_instructions
                                                                     : stage->counters[a].thread_instructions;
                assert_int_equal(last->quota[a], (a + 1) * INT64_C(1000000) * rows - (int64_t)counted);
            }
            stage_end(stage);
        }
}

/* A load counts when its data is there, a store when the memory has taken it. */
static void memory_instructions_count_when_they_are_done(void **state)
{
    (void)state;
    struct script *script = script_new(1, 1);
    script_memory(script, CORUN_LOAD, CORUN_SPACE_GLOBAL, 1, 40, GLOBAL_BASE, 4);
    script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, 2, 1, 1);
    script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, 3, 41, 41);
    script_end(script, 0, 1);
    struct stage *stage = set_up(CORUN_QUOTA_THREAD_AT_COMPLETION, 1, &script, (int64_t[]){32}, (int64_t[]){0});
    plan.again[0] = true;
    stage->limits.cycles = 1900;
    stage_run(stage);
    /* the load has used the quota up when its user could issue: that one waits for the next epoch */
    assert_int_equal(issues_before(stage, 0, 1000), 1);
    assert_int_equal(issue_cycle(stage, 0, 1), 1000 + stage->config.dispatch_latency);
    stage_end(stage);

    script = script_new(1, 1);
    script_memory(script, CORUN_STORE, CORUN_SPACE_GLOBAL, 1, 40, GLOBAL_BASE, 4);
    for (uint32_t i = 0; i < 20; i++)
        script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, (uint16_t)(2 + i), 41, 41);
    script_end(script, 0, 1);
    stage = set_up(CORUN_QUOTA_THREAD_AT_COMPLETION, 1, &script, (int64_t[]){32}, (int64_t[]){0});
    stage->limits.cycles = 900;
    stage_run(stage);
    /* its operands are read in collect_cycles, then its one transaction leaves: before that, others issue */
    uint32_t issued = issues_before(stage, 0, 900);
    assert_int_equal(issue_cycle(stage, 0, issued - 1) - issue_cycle(stage, 0, 0), stage->config.collect_cycles - 1);
    stage_end(stage);
}

static void give_once_more(struct stage *stage, const struct corun_view *view, struct corun_policy_moment moment,
                           struct corun_allowances *allowances)
{
    (void)stage;
    if (moment.event == CORUN_EVENT_EPOCH && view->cycle == 200)
        give(view, allowances, true);
}

/* What is under way when a quota is set is taken off the new one when it completes. */
static void what_is_under_way_counts_against_the_new_quota(void **state)
{
    (void)state;
    struct script *script = script_new(1, 1);
    for (uint32_t i = 0; i < 4; i++)
        script_compute(script, CORUN_UNIT_FP64, CORUN_OPERATION_DIV, (uint16_t)(2 * i), 20, 22);
    for (uint32_t i = 0; i < 30; i++)
        script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, 41, 41, 41);
    script_end(script, 0, 1);
    struct stage *stage = set_up(CORUN_QUOTA_THREAD_AT_COMPLETION, 1, &script, (int64_t[]){256}, (int64_t[]){0});
    stage->config.epoch_cycles = 200;
    stage->config.fp64_units = 4;
    stage->config.fp64_div_interval = 1;
    stage->config.fp64_div_latency = 600;
    stage->config.schedulers_per_sm = 4;
    stage->decide = give_once_more;
    stage->limits.cycles = 1900;
    stage_run(stage);
    /* 8 additions before 200; 8 until the divisions complete, and none afterwards: 256 - 8 * 32 - 4 * 32 */
    assert_int_equal(issues_before(stage, 0, 200), 4 + 8);
    assert_int_equal(issues_before(stage, 0, 600), 4 + 8 + 8);
    assert_int_equal(issues_before(stage, 0, 1900), 4 + 8 + 8);
    for (uint32_t i = 0; i < stage->moment_count; i++)
        if (stage->moments[i].event == CORUN_EVENT_EPOCH) {
            uint64_t cycle = stage->moments[i].cycle;
            int64_t expected = cycle < 600 ? 0 : -128;
            assert_int_equal(stage->moments[i].quota[0], cycle == 600 ? 0 : expected);
        }
    stage_end(stage);
}

/* One ends with quota left: the other one, which has spent its own, is refilled then. */
static void an_application_that_ends_holds_nobody_up(void **state)
{
    (void)state;
    struct script *scripts[] = {additions(1, 1, 30, true), additions(1, 1, 300, false)};
    struct stage *stage = set_up(CORUN_QUOTA_WARP_AT_ISSUE, 2, scripts, (int64_t[]){1000, 10}, (int64_t[]){0, 10});
    stage->config.schedulers_per_sm = 1;
    stage->limits.cycles = 900;
    stage_run(stage);
    uint64_t exit = issue_cycle(stage, 0, 30);
    assert_true(exit > issue_cycle(stage, 1, 9) + 1);
    assert_int_equal(issues_before(stage, 1, exit), 10);
    assert_int_equal(issue_cycle(stage, 1, 10), exit + 1);
    assert_int_equal(issues_before(stage, 1, 900), 301);
    stage_end(stage);
}

/* One comes with nothing and waits until the other one has spent its quota: then it is refilled. */
static void an_application_that_comes_waits_for_the_refill(void **state)
{
    (void)state;
    struct script *scripts[] = {additions(1, 1, 2000, false), additions(1, 1, 300, false)};
    struct stage *stage = set_up(CORUN_QUOTA_WARP_AT_ISSUE, 2, scripts, (int64_t[]){500, 0}, (int64_t[]){0, 20});
    stage->config.schedulers_per_sm = 1;
    stage->arrivals[1] = 200;
    stage->limits.cycles = 900;
    stage_run(stage);
    assert_int_equal(issues_before(stage, 0, issue_cycle(stage, 1, 0)), 500);
    assert_int_equal(issue_cycle(stage, 1, 0), issue_cycle(stage, 0, 499) + 1);
    stage_end(stage);
}

/*
 * Two schedulers, two applications of three warps each: two of A's and one of B's in the first scheduler, the other way
 * round in the second. Each spends its quota where it has two warps and waits at its barrier where it has one.
 */
static struct stage *crossed(int64_t refill)
{
    struct script *scripts[2];
    for (uint32_t a = 0; a < 2; a++) {
        scripts[a] = script_new(1, 3);
        for (uint32_t i = 0; i < 12; i++) {
            if (i == 6)
                script_control(scripts[a], CORUN_BARRIER);
            script_compute(scripts[a], CORUN_UNIT_INT, CORUN_OPERATION_ADD, (uint16_t)(1 + i), 41, 42);
        }
        script_end(scripts[a], 0, 1);
    }
    struct stage *stage = set_up(CORUN_QUOTA_WARP_AT_ISSUE, 2, scripts, (int64_t[]){9, 9}, (int64_t[]){refill, refill});
    stage->config.schedulers_per_sm = 2;
    stage->limits = (struct corun_limits){.runs = 1, .watchdog_cycles = 5000};
    return stage;
}

static void barriers_across_schedulers_do_not_block_for_ever(void **state)
{
    (void)state;
    struct stage *stage = crossed(9);
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_OK);
    for (uint32_t a = 0; a < 2; a++) {
        assert_int_equal(stage->results[a].status, CORUN_OK);
        assert_int_equal(stage->results[a].runs, 1);
        assert_int_equal(stage->counters[a].warp_instructions, 3 * 14);
    }
    stage_end(stage);
}

static void a_policy_that_gives_no_quota_ends_the_run_by_name(void **state)
{
    (void)state;
    struct stage *stage = crossed(0);
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_POLICY);
    assert_non_null(strstr(stage->message, "policy scripted has left every application without quota for 5000 cycles"));
    /* the two counters that are left are those that keep each other from being refilled */
    const struct stage_moment *last = &stage->moments[stage->moment_count - 1];
    assert_int_equal(last->quota[0], 2);
    assert_int_equal(last->quota[1], 2);
    assert_true(moments_of(stage, CORUN_EVENT_QUOTAS_SPENT) > 0);
    stage_end(stage);
}

/* One is starved for longer than the watchdog waits while the other one works: nobody is stopped. */
static void starving_is_not_hanging(void **state)
{
    (void)state;
    struct script *scripts[] = {additions(1, 1, 4000, true), additions(1, 1, 300, false)};
    struct stage *stage = set_up(CORUN_QUOTA_WARP_AT_ISSUE, 2, scripts, (int64_t[]){100000, 0}, (int64_t[]){0, 100000});
    stage->config.schedulers_per_sm = 1;
    stage->limits = (struct corun_limits){.runs = 1, .watchdog_cycles = 30000};
    script_end(stage->scripts[0], 0, 1); /* a second exit, never reached */
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_OK);
    assert_true(issue_cycle(stage, 1, 0) > 20000);
    stage->limits.watchdog_cycles =
        12000; /* the one that works makes no progress in that time, and that is said of it */
    stage_run(stage);
    assert_int_equal(stage->results[0].status, CORUN_WATCHDOG);
    assert_int_equal(stage->results[1].status, CORUN_OK);
    assert_int_equal(stage->results[1].runs, 1);
    stage_end(stage);
}

/* Warps without quota do not take the places of the active set. */
static void the_two_level_scheduler_lets_others_in(void **state)
{
    (void)state;
    struct script *scripts[] = {additions(1, 4, 100, false), additions(1, 4, 100, false)};
    struct stage *stage = set_up(CORUN_QUOTA_WARP_AT_ISSUE, 2, scripts, (int64_t[]){5, 100000}, (int64_t[]){0, 0});
    stage->config.schedulers_per_sm = 1;
    stage->config.scheduler = CORUN_SCHEDULER_TWO_LEVEL;
    stage->config.two_level_active_warps = 2;
    stage->limits.cycles = 900;
    stage_run(stage);
    assert_int_equal(issues_before(stage, 0, 900), 5);
    assert_int_equal(issues_before(stage, 1, 900), 404);
    stage_end(stage);
}

static void the_digits_do_not_depend_on_threads(void **state)
{
    (void)state;
    for (enum corun_quota_kind kind = CORUN_QUOTA_WARP_AT_ISSUE; kind <= CORUN_QUOTA_THREAD_AT_COMPLETION; kind++) {
        struct script *scripts[] = {mixture(40, 0), mixture(50, 1)};
        int64_t scale = kind == CORUN_QUOTA_WARP_AT_ISSUE ? 1 : 50;
        struct stage *one = set_up(kind, 2, scripts, (int64_t[]){17 * scale, 11 * scale}, (int64_t[]){0, 11 * scale});
        one->config.sms = 3;
        plan.again[0] = plan.add[0] = true;
        struct stage *two = stage_new();
        struct stage kept = *two;
        *two = *one;
        two->issues = kept.issues;
        two->moments = kept.moments;
        two->limits.threads = 3;
        one->limits.cycles = two->limits.cycles = 12000;
        stage_run(one);
        stage_run(two);
        assert_true(one->counters[0].stall_quota > 0 && one->counters[1].stall_quota > 0);
        assert_int_equal(one->issue_count, two->issue_count);
        assert_in_range(one->issue_count, 2000, STAGE_ISSUES - 1);
        assert_memory_equal(one->issues, two->issues, one->issue_count * sizeof *one->issues);
        assert_int_equal(one->moment_count, two->moment_count);
        assert_memory_equal(one->moments, two->moments, one->moment_count * sizeof *one->moments);
        assert_memory_equal(one->counters, two->counters, sizeof one->counters);
        stage_end(one);
        two->application_count = 0;
        stage_end(two);
    }
}

static uint32_t mistake;

static void make_mistake(struct stage *stage, const struct corun_view *view, struct corun_policy_moment moment,
                         struct corun_allowances *allowances)
{
    (void)stage;
    (void)view;
    if (moment.event != CORUN_EVENT_EPOCH)
        return;
    switch (mistake) {
    case 0:
        allowances->quota_refill[1] = -5;
        break;
    case 1:
        allowances->quota_kind = CORUN_QUOTA_WARP_AT_ISSUE;
        break;
    case 2:
        allowances->quota_kind = (enum corun_quota_kind)7;
        break;
    default:
        allowances->quota[0] = INT64_MIN;
        allowances->quota_set[0] = true;
    }
}

static void impossible_quotas_are_refused_by_name(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "policy scripted at cycle 1000: SM 0 would refill the quota of app1 with -5",
        "policy scripted at cycle 1000: it changes the kind of quotas while they are on",
        "policy scripted at cycle 1000: it switches quotas on whose kind, 7, is none of those that exist",
        "policy scripted at cycle 1000: it gives app0 a quota of -9223372036854775808 on SM 0"};
    for (mistake = 0; mistake < 4; mistake++) {
        struct stage *stage = figure_4();
        stage->decide = make_mistake;
        stage_run(stage);
        assert_int_equal(stage->status, CORUN_POLICY);
        assert_non_null(strstr(stage->message, expected[mistake]));
        stage_end(stage);
    }
}

/* Sums stay within their type, and a refill of 1 against a large debt takes no time. */
static void debts_and_refills_of_any_size(void **state)
{
    (void)state;
    struct script *scripts[] = {additions(1, 1, 300, false), additions(1, 1, 300, false)};
    struct stage *stage =
        set_up(CORUN_QUOTA_THREAD_AT_COMPLETION, 2, scripts, (int64_t[]){-1000000000000000, -7}, (int64_t[]){1, 0});
    stage->limits.cycles = 1900;
    plan.again[1] = plan.add[1] = true;
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_OK);
    assert_int_equal(issues_before(stage, 0, 900), 301);
    assert_int_equal(issues_before(stage, 1, 1900), 0);
    stage_end(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_issue_every_scheduler_counts_for_itself),
        cmocka_unit_test(the_second_instruction_of_a_cycle_needs_quota_too),
        cmocka_unit_test(a_scheduler_refills_when_all_have_spent),
        cmocka_unit_test(naive_quotas_end_below_zero_and_only_k1_is_refilled),
        cmocka_unit_test(elastic_epochs_refill_both_and_keep_what_is_owed),
        cmocka_unit_test(rollover_adds_to_what_remains),
        cmocka_unit_test(every_instruction_is_counted_once),
        cmocka_unit_test(memory_instructions_count_when_they_are_done),
        cmocka_unit_test(what_is_under_way_counts_against_the_new_quota),
        cmocka_unit_test(an_application_that_ends_holds_nobody_up),
        cmocka_unit_test(an_application_that_comes_waits_for_the_refill),
        cmocka_unit_test(barriers_across_schedulers_do_not_block_for_ever),
        cmocka_unit_test(a_policy_that_gives_no_quota_ends_the_run_by_name),
        cmocka_unit_test(starving_is_not_hanging),
        cmocka_unit_test(the_two_level_scheduler_lets_others_in),
        cmocka_unit_test(the_digits_do_not_depend_on_threads),
        cmocka_unit_test(impossible_quotas_are_refused_by_name),
        cmocka_unit_test(debts_and_refills_of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
