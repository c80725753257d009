/* SPDX-License-Identifier: MIT */
/*
 * Thread blocks that leave an SM before they are done, to the byte and the cycle: what is saved, what it costs,
 * who stands still meanwhile, and what happens when minds change, applications stop or the window ends in the
 * middle of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stage.h"

enum { EPOCH = 1000, MOST_SEEN = 4096, MOST_STEPS = 8 };

struct step {
    enum corun_policy_event event;
    uint32_t count; /* the how manyth of these; 0 is the first */
    uint32_t application, limit;
    enum corun_reclaim reclaim;
    bool done;
};

/* What the policy of a test writes for SM 0, and what was seen of it. One test runs at a time. */
static struct plan {
    struct step steps[MOST_STEPS];
    bool free_transfers, exclusive;
    uint32_t counts[16]; /* of events */
    uint32_t reached[2]; /* LIMIT_REACHED, by application */
    uint32_t most_leaving, most_pending, most_preempted, stalled, handing_over;
    bool idempotent;
    struct corun_observation seen[MOST_SEEN];
    uint64_t issued[MOST_SEEN]; /* on SM 0 by all, when it was told */
    uint32_t seen_count;
} plan;

static uint32_t more(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void decide(struct stage *stage, const struct corun_view *view, struct corun_policy_moment moment,
                   struct corun_allowances *allowances)
{
    (void)stage;
    if (moment.event == CORUN_EVENT_LIMIT_REACHED)
        plan.reached[moment.application]++;
    for (uint32_t a = 0; a < view->application_count; a++) {
        plan.most_leaving = more(plan.most_leaving, view->shares[a].leaving_tbs);
        plan.most_preempted = more(plan.most_preempted, view->applications[a].running.tbs_preempted);
        plan.idempotent |= view->applications[a].running.idempotent;
    }
    plan.most_pending = more(plan.most_pending, view->preemptions_pending);
    plan.stalled += view->sms[0].stalled;
    plan.handing_over += view->sms[0].handing_over;
    uint32_t count = plan.counts[moment.event]++;
    allowances->free_transfers = plan.free_transfers;
    allowances->exclusive[0] = plan.exclusive;
    for (uint32_t i = 0; i < MOST_STEPS; i++) {
        struct step *step = &plan.steps[i];
        if (step->done || step->event != moment.event || step->count != count || step->limit == 0)
            continue;
        step->done = true;
        allowances->tb_limit[step->application] = step->limit - 1; /* as in `lower`: 0 stands for no step */
        allowances->reclaim[step->application] = step->reclaim;
    }
}

static void see(struct stage *stage, const struct corun_gpu *gpu, const struct corun_observation *seen)
{
    if (plan.seen_count == MOST_SEEN)
        return;
    uint64_t issued = 0;
    for (uint32_t a = 0; a < stage->application_count; a++) {
        struct corun_counters counters;
        corun_gpu_share(gpu, 0, a, &counters);
        issued += counters.warp_instructions;
    }
    plan.issued[plan.seen_count] = issued;
    plan.seen[plan.seen_count++] = *seen;
}

/* At the `count`th epoch (from 0) or other event, SM 0 may hold `limit` thread blocks of the application. */
static void lower(enum corun_policy_event event, uint32_t count, uint32_t application, uint32_t limit,
                  enum corun_reclaim reclaim)
{
    uint32_t i = 0;
    while (plan.steps[i].limit)
        i++;
    plan.steps[i] = (struct step){event,   count, application, limit == CORUN_UNLIMITED ? CORUN_UNLIMITED : limit + 1,
                                  reclaim, false};
}

/* Four warps per thread block that compute in a loop, 1 KB of shared memory, 16 registers per thread. */
static struct script *work(uint32_t tbs, uint32_t turns)
{
    struct script *script = script_new(tbs, 4);
    script->grid.tb_shared_bytes = 1024;
    script->grid.idempotent = true;
    for (uint32_t i = 0; i < 8; i++)
        script_compute(script, CORUN_UNIT_FP32, CORUN_OPERATION_MAD, 2, 2, 3);
    script_end(script, 0, turns);
    return script;
}

static struct stage *set_stage(void)
{
    struct stage *stage = stage_new();
    memset(&plan, 0, sizeof plan);
    stage->config.epoch_cycles = EPOCH;
    stage->config.l2_bytes = 0; /* every byte goes to DRAM at once */
    stage->decide = decide;
    stage->see = see;
    return stage;
}

static void add(struct stage *stage, struct script *script, uint64_t arrival)
{
    stage->arrivals[stage->application_count] = arrival;
    stage->scripts[stage->application_count++] = script;
}

static const struct corun_observation *seen_first(enum corun_observed kind, uint32_t tb, uint64_t *issued)
{
    for (uint32_t i = 0; i < plan.seen_count; i++)
        if (plan.seen[i].kind == kind && plan.seen[i].tb == tb) {
            if (issued)
                *issued = plan.issued[i];
            return &plan.seen[i];
        }
    fail_msg("thread block %u: observation %d is missing", tb, (int)kind);
    return NULL;
}

static uint32_t seen_times(enum corun_observed kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan.seen_count; i++)
        count += plan.seen[i].kind == kind;
    return count;
}

/* Of a thread block of `work` with so many warps left: registers as allocated, shared memory, state. */
static uint64_t bytes_of(const struct corun_gpu_config *c, uint32_t warps)
{
    return (uint64_t)warps * (512 * 4 + c->saved_warp_bytes) + 1024 + c->saved_tb_bytes;
}

/* The least time for so many bytes: a packet of a line every save_interval, the last one's way there and back. */
static uint64_t cycles_of(const struct corun_gpu_config *c, uint64_t bytes)
{
    uint64_t packets = (bytes + c->l2_line_bytes - 1) / c->l2_line_bytes;
    return (packets - 1) * c->save_interval + 2 * c->icnt_latency + c->l2_latency;
}

static void every_byte_is_saved_and_read_back(void **state)
{
    (void)state;
    for (uint32_t early = 0; early < 4; early++) {
        struct stage *stage = set_stage();
        struct script *script = work(4, 600);
        script->early_exits = early;
        add(stage, script, 0);
        lower(CORUN_EVENT_EPOCH, 0, 0, 3, CORUN_RECLAIM_SWAP_TB);
        lower(CORUN_EVENT_EPOCH, 3, 0, CORUN_UNLIMITED, CORUN_RECLAIM_SWAP_TB);
        stage->limits = (struct corun_limits){.runs = 1};
        stage_run(stage);
        const struct corun_counters *c = &stage->counters[0];
        uint64_t bytes = bytes_of(&stage->config, 4 - early);
        assert_int_equal(stage->results[0].status, CORUN_OK);
        assert_int_equal(c->tbs_swapped_out, 1);
        assert_int_equal(c->tbs_swapped_in, 1);
        assert_int_equal(c->saved_bytes, bytes);
        assert_int_equal(c->restored_bytes, bytes);
        assert_int_equal(c->dram_write_bytes, bytes); /* the script itself accesses nothing */
        assert_int_equal(c->dram_read_bytes, bytes);
        uint64_t packets = (bytes + 127) / 128;
        assert_int_equal(c->icnt_requests, 2 * packets);
        assert_int_equal(c->icnt_replies, 2 * packets);
        assert_int_equal(c->tbs_completed, 4);
        assert_int_equal(plan.reached[0], 1);
        /* the last one that came leaves; with equal work it is also the last one to end */
        seen_first(CORUN_OBSERVED_TB_PREEMPTED, 3, NULL);
        /* a turn is 8 instructions and the branch */
        assert_int_equal(stage->results[0].warp_instructions, 4 * ((4 - early) * (600 * 9 + 1) + early));
        stage_end(stage);
    }
}

static void it_takes_its_time(void **state)
{
    (void)state;
    static const enum corun_reclaim ways[] = {CORUN_RECLAIM_SWAP_TB, CORUN_RECLAIM_SWITCH_SM};
    for (uint32_t w = 0; w < 2; w++) {
        struct stage *stage = set_stage();
        add(stage, work(2, 600), 0);
        add(stage, work(1, 600), 0);
        lower(CORUN_EVENT_ARRIVE, 1, 1, 0, CORUN_RECLAIM_DRAIN); /* the second one waits for the first one's place */
        lower(CORUN_EVENT_EPOCH, 0, 0, 1, ways[w]);
        lower(CORUN_EVENT_EPOCH, 0, 1, 1, CORUN_RECLAIM_DRAIN);
        stage->config.tbs_per_sm = 2;
        stage->limits.cycles = 3000;
        stage_run(stage);
        const struct corun_observation *stopped = seen_first(CORUN_OBSERVED_TB_PREEMPTED, 1, NULL);
        const struct corun_observation *saved = seen_first(CORUN_OBSERVED_TB_SAVED, 1, NULL);
        uint64_t least = cycles_of(&stage->config, bytes_of(&stage->config, 4));
        assert_int_equal(stopped->cycle, EPOCH + stage->config.dispatch_latency);
        assert_int_equal(saved->cycle - stopped->cycle, stage->counters[0].preemption_cycles);
        assert_in_range(saved->cycle - stopped->cycle, least,
                        least + 100); /* 8 for instructions in flight, DRAM queue */
        uint64_t started = 0;
        for (uint32_t i = 0; i < plan.seen_count; i++)
            if (plan.seen[i].kind == CORUN_OBSERVED_TB_START && plan.seen[i].application == 1)
                started = plan.seen[i].cycle;
        /* a latency after the place was free, or after the policy was told so at the end of that step */
        assert_in_range(started, saved->cycle + stage->config.dispatch_latency,
                        saved->cycle + 2 * stage->config.dispatch_latency);
        assert_int_equal(stage->counters[0].preemption_start_cycles, started - stopped->cycle);
        stage_end(stage);
    }
}

/* With one packet under way at most, each waits for the reply to the one before. */
static void packets_under_way_are_bounded(void **state)
{
    (void)state;
    struct stage *stage = set_stage();
    add(stage, work(2, 900), 0);
    stage->config.save_packets = 1;
    lower(CORUN_EVENT_EPOCH, 0, 0, 1, CORUN_RECLAIM_SWAP_TB);
    stage->limits.cycles = 1000000;
    stage->limits.runs = 1;
    stage_run(stage);
    uint64_t packets = (bytes_of(&stage->config, 4) + 127) / 128;
    uint64_t round_trip = 2 * stage->config.icnt_latency + stage->config.l2_latency;
    assert_int_equal(stage->counters[0].tbs_swapped_out, 1);
    assert_in_range(stage->counters[0].preemption_cycles, packets * round_trip, 2 * packets * round_trip);
    stage_end(stage);
}

static void others_continue_unless_the_sm_is_switched(void **state)
{
    (void)state;
    static const enum corun_reclaim ways[] = {CORUN_RECLAIM_SWAP_TB, CORUN_RECLAIM_SWITCH_SM};
    uint64_t issued[2], stall[2];
    for (uint32_t w = 0; w < 2; w++) {
        struct stage *stage = set_stage();
        uint64_t before = 0, after = 0;
        add(stage, work(3, 600), 0);
        lower(CORUN_EVENT_EPOCH, 0, 0, 2, ways[w]);
        stage->limits.cycles = 3500;
        stage_run(stage);
        seen_first(CORUN_OBSERVED_TB_PREEMPTED, 2, &before);
        seen_first(CORUN_OBSERVED_TB_SAVED, 2, &after);
        issued[w] = after - before;
        stall[w] = stage->counters[0].stall_preempted;
        assert_int_equal(stage->counters[0].sm_switches, w);
        assert_int_equal(plan.reached[0], 1);
        stage_end(stage);
    }
    assert_true(issued[0] > 300);
    assert_true(issued[1] < 4 * 2 * 20); /* what was told at the end of a step may have happened at its beginning */
    assert_int_equal(stall[0], 0);       /* its application issues on */
    assert_true(stall[1] > 4 * 400);
}

/*
 * A thread block's state is being loaded when the SM is stalled for the switch of another one: it is there before that has left,
 * and stands still until then, like everybody.
 */
static void one_that_comes_back_to_a_stalled_sm_stands_still(void **state)
{
    (void)state;
    struct stage *stage = set_stage();
    uint64_t before = 0, after = 0;
    add(stage, work(3, 2000), 0);
    add(stage, work(1, 2000), 0);
    stage->config.save_interval = 20; /* 82 packets: 1640 cycles */
    lower(CORUN_EVENT_EPOCH, 0, 0, 2, CORUN_RECLAIM_SWAP_TB);
    lower(CORUN_EVENT_EPOCH, 3, 0, CORUN_UNLIMITED, CORUN_RECLAIM_SWAP_TB); /* loaded from 4020 to 5700 */
    lower(CORUN_EVENT_EPOCH, 4, 1, 0, CORUN_RECLAIM_SWITCH_SM);             /* stalled from 5020 to 7400 */
    stage->limits.cycles = 9000;
    stage_run(stage);
    uint64_t resumed = seen_first(CORUN_OBSERVED_TB_RESUMED, 2, &before)->cycle;
    uint64_t saved = seen_first(CORUN_OBSERVED_TB_SAVED, 0, &after)->cycle;
    assert_in_range(resumed, 5500, 6000);
    assert_in_range(saved, resumed + 1400, 8000);
    assert_true(after - before <
                4 * 2 * 20); /* what was told at the end of a step may have happened at its beginning */
    assert_int_equal(stage->counters[1].sm_switches, 1);
    uint64_t last = 0;
    for (uint32_t i = 0; i < stage->issue_count; i++)
        last = stage->issues[i].application == 0 ? stage->issues[i].cycle : last;
    assert_true(last > 8900); /* and issues afterwards */
    stage_end(stage);
}

static void while_it_lasts_the_policy_sees_it(void **state)
{
    (void)state;
    struct stage *stage = set_stage();
    add(stage, work(6, 900), 0);
    stage->config.save_interval = 50; /* longer than an epoch */
    lower(CORUN_EVENT_EPOCH, 0, 0, 3, CORUN_RECLAIM_SWITCH_SM);
    lower(CORUN_EVENT_EPOCH, 15, 0, CORUN_UNLIMITED, CORUN_RECLAIM_SWAP_TB);
    stage->limits = (struct corun_limits){.runs = 1};
    stage_run(stage);
    assert_int_equal(plan.most_leaving, 3);
    assert_int_equal(plan.most_pending, 3);
    assert_int_equal(plan.most_preempted, 3);
    assert_true(plan.stalled >= 12); /* 3 * 82 packets every 50 cycles */
    assert_true(plan.handing_over >= 12);
    assert_true(plan.idempotent);
    assert_int_equal(plan.reached[0], 1);
    assert_int_equal(stage->counters[0].tbs_completed, 6);
    stage_end(stage);
}

static void dropped_thread_blocks_start_anew(void **state)
{
    (void)state;
    for (uint32_t early = 0; early < 3; early++) { /* warps that have ended: what they did is done again, too */
        struct stage *stage = set_stage();
        struct script *script = work(4, 600);
        script->early_exits = early;
        add(stage, script, 0);
        lower(CORUN_EVENT_EPOCH, 0, 0, 2, CORUN_RECLAIM_DROP);
        lower(CORUN_EVENT_EPOCH, 1, 0, CORUN_UNLIMITED, CORUN_RECLAIM_DROP);
        stage->limits = (struct corun_limits){.runs = 1};
        stage_run(stage);
        const struct corun_counters *c = &stage->counters[0];
        uint64_t useful = 4 * ((4 - early) * (uint64_t)(600 * 9 + 1) + early);
        assert_int_equal(c->tbs_dropped, 2);
        assert_int_equal(c->tbs_completed, 4);
        assert_int_equal(c->tbs_swapped_out, 0);
        assert_int_equal(c->saved_bytes, 0);
        assert_int_equal(c->preemption_cycles, 0); /* at once */
        assert_int_equal(c->dram_write_bytes, 0);
        assert_true(c->thread_instructions_dropped > 0);
        assert_int_equal(c->thread_instructions, useful * 32 + c->thread_instructions_dropped);
        assert_int_equal(stage->results[0].thread_instructions, useful * 32);
        assert_int_equal(seen_times(CORUN_OBSERVED_TB_START), 6);
        assert_int_equal(seen_times(CORUN_OBSERVED_TB_END), 4);
        assert_int_equal(plan.reached[0], 1);
        stage_end(stage);
    }
}

static void what_may_not_be_dropped_ends_the_run(void **state)
{
    (void)state;
    struct stage *stage = set_stage();
    struct script *script = work(4, 600);
    script->grid.idempotent = false;
    script->grid.name = "fragile";
    add(stage, script, 0);
    lower(CORUN_EVENT_EPOCH, 0, 0, 2, CORUN_RECLAIM_DROP);
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_POLICY);
    assert_non_null(strstr(stage->message, "fragile"));
    assert_non_null(strstr(stage->message, "scripted"));
    stage_end(stage);
}

static void a_limit_is_reached_once_however_it_is(void **state)
{
    (void)state;
    for (enum corun_reclaim way = CORUN_RECLAIM_DRAIN; way <= CORUN_RECLAIM_DROP; way++) {
        struct stage *stage = set_stage();
        add(stage, work(100, 60), 0);
        stage->config.tbs_per_sm = 6;
        lower(CORUN_EVENT_EPOCH, 0, 0, 5, way); /* by one */
        lower(CORUN_EVENT_EPOCH, 7, 0, 2, way); /* by three */
        stage->limits.cycles = 12000;
        stage_run(stage);
        assert_int_equal(stage->status, CORUN_OK);
        assert_int_equal(plan.reached[0], 2);
        assert_int_equal(stage->counters[0].tbs_swapped_out,
                         way == CORUN_RECLAIM_SWAP_TB || way == CORUN_RECLAIM_SWITCH_SM ? 4 : 0);
        assert_int_equal(stage->counters[0].tbs_dropped, way == CORUN_RECLAIM_DROP ? 4 : 0);
        stage_end(stage);
    }
}

static void what_has_not_begun_is_taken_back(void **state)
{
    (void)state;
    struct stage *stage = set_stage();
    add(stage, work(4, 600), 0);
    add(stage, work(1, 10), EPOCH + 5); /* its arrival raises the limit again before the order has reached the SM */
    lower(CORUN_EVENT_EPOCH, 0, 0, 1, CORUN_RECLAIM_SWAP_TB);
    lower(CORUN_EVENT_ARRIVE, 1, 0, 4, CORUN_RECLAIM_SWAP_TB);
    stage->limits = (struct corun_limits){.runs = 1};
    stage_run(stage);
    assert_true(plan.steps[0].done && plan.steps[1].done);
    assert_int_equal(seen_times(CORUN_OBSERVED_TB_PREEMPTED), 0);
    assert_int_equal(stage->counters[0].tbs_swapped_out, 0);
    assert_int_equal(plan.reached[0], 0); /* it was the policy that raised it */
    assert_int_equal(stage->counters[0].tbs_completed, 4);
    stage_end(stage);
}

static void what_has_not_arrived_is_taken_back(void **state)
{
    (void)state;
    struct stage *stage = set_stage();
    struct script *script = script_new(32, 1); /* they start from 20 to 51, one in each cycle */
    script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, 1, 2, 3);
    script_end(script, 0, 300);
    add(stage, script, 0);
    add(stage, work(1, 10), 5); /* is noticed at 25: the order takes effect at 45 */
    lower(CORUN_EVENT_ARRIVE, 1, 0, 0, CORUN_RECLAIM_SWAP_TB);
    lower(CORUN_EVENT_EPOCH, 2, 0, CORUN_UNLIMITED, CORUN_RECLAIM_SWAP_TB);
    stage->limits = (struct corun_limits){.runs = 1};
    stage_run(stage);
    assert_int_equal(stage->counters[0].tbs_swapped_out, 25);
    assert_int_equal(stage->counters[0].tbs_swapped_in, 25);
    assert_int_equal(seen_times(CORUN_OBSERVED_TB_PREEMPTED), 32);
    assert_int_equal(seen_times(CORUN_OBSERVED_TB_START), 32 + 7 + 1);
    assert_int_equal(seen_times(CORUN_OBSERVED_TB_RESTORING), 25);
    assert_int_equal(plan.reached[0], 1);
    assert_int_equal(stage->counters[0].tbs_completed, 32);
    stage_end(stage);
}

/* One that is ordered out while its state is still being loaded comes back first, and goes at once. */
static void one_that_is_loading_leaves_when_it_is_there(void **state)
{
    (void)state;
    struct stage *stage = set_stage();
    add(stage, work(2, 900), 0);
    stage->config.save_interval = 20; /* 82 packets: more than an epoch */
    lower(CORUN_EVENT_EPOCH, 0, 0, 1, CORUN_RECLAIM_SWAP_TB);
    lower(CORUN_EVENT_EPOCH, 3, 0, 2, CORUN_RECLAIM_SWAP_TB);
    lower(CORUN_EVENT_EPOCH, 4, 0, 1, CORUN_RECLAIM_SWAP_TB);
    lower(CORUN_EVENT_EPOCH, 10, 0, 2, CORUN_RECLAIM_SWAP_TB);
    stage->limits = (struct corun_limits){.runs = 1};
    stage_run(stage);
    assert_int_equal(stage->counters[0].tbs_swapped_out, 2);
    assert_int_equal(stage->counters[0].tbs_swapped_in, 2);
    assert_int_equal(plan.reached[0], 2);
    assert_int_equal(stage->results[0].warp_instructions, 2 * 4 * (900 * 9 + 1));
    stage_end(stage);
}

static void free_transfers_still_wait_for_what_is_in_flight(void **state)
{
    (void)state;
    struct stage *stage = set_stage();
    struct script *script = script_new(2, 4);
    uint32_t at = script_memory(script, CORUN_LOAD, CORUN_SPACE_GLOBAL, 1, 40, UINT64_C(1) << 40, 4);
    script->turn_stride[at] = 4096;
    script_compute(script, CORUN_UNIT_FP32, CORUN_OPERATION_MAD, 2, 1, 1);
    script_end(script, 0, 20);
    add(stage, script, 0);
    plan.free_transfers = true;
    lower(CORUN_EVENT_EPOCH, 0, 0, 1, CORUN_RECLAIM_SWAP_TB);
    lower(CORUN_EVENT_EPOCH, 1, 0, 2, CORUN_RECLAIM_SWAP_TB);
    stage->limits = (struct corun_limits){.runs = 1};
    stage_run(stage);
    const struct corun_counters *c = &stage->counters[0];
    assert_int_equal(c->tbs_swapped_out, 1);
    assert_int_equal(c->tbs_swapped_in, 1);
    assert_int_equal(c->saved_bytes + c->restored_bytes, 0);
    assert_int_equal(c->dram_write_bytes, 0);
    assert_in_range(c->preemption_cycles, 1, 1000); /* the rest of a load's latency */
    const struct corun_observation *back = seen_first(CORUN_OBSERVED_TB_RESTORING, 1, NULL);
    assert_int_equal(back->cycle, 2 * EPOCH + stage->config.dispatch_latency);
    assert_int_equal(seen_first(CORUN_OBSERVED_TB_RESUMED, 1, NULL)->cycle, back->cycle);
    stage_end(stage);
}

/* What computes for long keeps its thread block on the SM until its result is written. */
static void results_that_are_not_written_yet_are_waited_for(void **state)
{
    (void)state;
    struct stage *stage = set_stage();
    struct script *script = script_new(1, 1);
    script_compute(script, CORUN_UNIT_FP64, CORUN_OPERATION_DIV, 10, 10, 10);
    script_end(script, 0, 20);
    add(stage, script, 0);
    stage->config.fp64_div_latency = 700;
    plan.free_transfers = true;
    lower(CORUN_EVENT_EPOCH, 0, 0, 0, CORUN_RECLAIM_SWAP_TB);
    stage->limits.cycles = 3000;
    stage_run(stage);
    uint64_t stopped = seen_first(CORUN_OBSERVED_TB_PREEMPTED, 0, NULL)->cycle, last = 0;
    for (uint32_t i = 0; i < stage->issue_count && stage->issues[i].cycle < stopped; i++)
        last = stage->issues[i].cycle;
    uint64_t written = last + stage->config.collect_cycles + stage->config.fp64_div_latency;
    assert_int_equal(stopped, EPOCH + stage->config.dispatch_latency);
    assert_in_range(written, stopped + 100, stopped + 700); /* it had not been written when it stopped */
    assert_in_range(seen_first(CORUN_OBSERVED_TB_SAVED, 0, NULL)->cycle, written - 4, written + 4);
    stage_end(stage);
}

/* Without preemption, an SM that is exclusive changes hands when the last thread block of the other has completed. */
static void an_exclusive_sm_is_drained_before_the_next_one_enters(void **state)
{
    (void)state;
    for (uint32_t exclusive = 0; exclusive < 2; exclusive++) {
        struct stage *stage = set_stage();
        uint64_t last_end = 0, first_start = UINT64_MAX;
        plan.exclusive = exclusive;
        add(stage, work(3, 200), 0);
        add(stage, work(3, 10), 0);
        lower(CORUN_EVENT_ARRIVE, 0, 1, 0, CORUN_RECLAIM_DRAIN);
        lower(CORUN_EVENT_EPOCH, 0, 0, 0, CORUN_RECLAIM_DRAIN);
        lower(CORUN_EVENT_EPOCH, 0, 1, CORUN_UNLIMITED, CORUN_RECLAIM_DRAIN);
        stage->config.launch_latency = 1000000; /* one run, then nothing */
        stage->limits.cycles = 40000;
        stage_run(stage);
        for (uint32_t i = 0; i < plan.seen_count; i++) {
            const struct corun_observation *seen = &plan.seen[i];
            if (seen->kind == CORUN_OBSERVED_TB_END && seen->application == 0 && seen->cycle > last_end)
                last_end = seen->cycle;
            if (seen->kind == CORUN_OBSERVED_TB_START && seen->application == 1 && seen->cycle < first_start)
                first_start = seen->cycle;
        }
        uint64_t told = EPOCH + stage->config.dispatch_latency;
        assert_in_range(last_end, told + 200, 39000); /* it takes a while */
        if (exclusive)
            assert_in_range(first_start, last_end + stage->config.dispatch_latency, last_end + 100);
        else
            assert_int_equal(first_start, told);
        stage_end(stage);
    }
}

/*
 * The watchdog stops an application while its thread blocks are being saved, or loaded: the other one runs on,
 * stalled SM or not.
 */
static void an_application_may_stop_in_the_middle(void **state)
{
    (void)state;
    for (uint32_t loading = 0; loading < 2; loading++) {
        struct stage *stage = set_stage();
        struct script *endless = work(3, UINT32_MAX), *other = work(2, 20);
        add(stage, endless, 0);
        add(stage, other, 0);
        stage->config.save_interval = loading ? 20 : 400; /* 82 packets: 1600 cycles, or many epochs */
        lower(CORUN_EVENT_EPOCH, loading ? 0 : 5, 0, 1, CORUN_RECLAIM_SWITCH_SM);
        if (loading)
            lower(CORUN_EVENT_EPOCH, 6, 0, 3, CORUN_RECLAIM_SWITCH_SM);
        stage->limits = (struct corun_limits){.cycles = 30000, .watchdog_cycles = 7500};
        stage_run(stage);
        assert_int_equal(stage->results[0].status, CORUN_WATCHDOG);
        assert_int_equal(stage->results[1].status, CORUN_OK);
        assert_true(stage->results[1].runs >= 2);
        assert_int_equal(stage->counters[0].tbs_swapped_out, loading ? 2 : 0);
        assert_int_equal(stage->counters[0].tbs_swapped_in, 0);
        assert_true(loading ? stage->counters[0].restored_bytes > 0 : stage->counters[0].saved_bytes > 0);
        stage_end(stage);
    }
}

static void the_window_may_end_in_the_middle(void **state)
{
    (void)state;
    for (uint64_t cycles = EPOCH + 5; cycles < 5000; cycles += 331) {
        struct stage *stage = set_stage();
        add(stage, work(4, 900), 0);
        lower(CORUN_EVENT_EPOCH, 0, 0, 1, CORUN_RECLAIM_SWITCH_SM);
        lower(CORUN_EVENT_EPOCH, 2, 0, 4, CORUN_RECLAIM_SWAP_TB);
        stage->limits.cycles = cycles;
        stage_run(stage);
        assert_int_equal(stage->status, CORUN_OK);
        assert_int_equal(stage->cycles, cycles);
        stage_end(stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_is_saved_and_read_back),
        cmocka_unit_test(it_takes_its_time),
        cmocka_unit_test(packets_under_way_are_bounded),
        cmocka_unit_test(others_continue_unless_the_sm_is_switched),
        cmocka_unit_test(one_that_comes_back_to_a_stalled_sm_stands_still),
        cmocka_unit_test(while_it_lasts_the_policy_sees_it),
        cmocka_unit_test(dropped_thread_blocks_start_anew),
        cmocka_unit_test(what_may_not_be_dropped_ends_the_run),
        cmocka_unit_test(a_limit_is_reached_once_however_it_is),
        cmocka_unit_test(what_has_not_begun_is_taken_back),
        cmocka_unit_test(what_has_not_arrived_is_taken_back),
        cmocka_unit_test(one_that_is_loading_leaves_when_it_is_there),
        cmocka_unit_test(free_transfers_still_wait_for_what_is_in_flight),
        cmocka_unit_test(results_that_are_not_written_yet_are_waited_for),
        cmocka_unit_test(an_exclusive_sm_is_drained_before_the_next_one_enters),
        cmocka_unit_test(an_application_may_stop_in_the_middle),
        cmocka_unit_test(the_window_may_end_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
