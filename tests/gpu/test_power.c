/* SPDX-License-Identifier: MIT */
/* SMs that are switched off: when, what they cost, and when they take thread blocks again. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stage.h"

#define GLOBAL_BASE (UINT64_C(1) << CORUN_APPLICATION_SHIFT)

static struct script *additions(uint32_t tbs, uint32_t count)
{
    struct script *script = script_new(tbs, 1);
    for (uint32_t i = 0; i < count; i++)
        script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, 1, 1, 41);
    script_end(script, 0, 1);
    return script;
}

static struct stage *set_up(uint32_t sms, struct script *script)
{
    struct stage *stage = stage_new();
    stage->config.sms = sms;
    stage->config.epoch_cycles = 1000;
    stage->config.power_wake_cycles = 300;
    stage->config.power_gated_fraction = 40;
    stage->application_count = 1;
    stage->scripts[0] = script;
    return stage;
}

static uint64_t first_issue(const struct stage *stage, uint32_t sm, uint64_t from)
{
    for (uint32_t i = 0; i < stage->issue_count; i++)
        if (stage->issues[i].sm == sm && stage->issues[i].cycle >= from)
            return stage->issues[i].cycle;
    return 0;
}

static uint64_t last_issue(const struct stage *stage, uint32_t sm)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < stage->issue_count; i++)
        if (stage->issues[i].sm == sm)
            last = stage->issues[i].cycle;
    return last;
}

static void only_the_first(struct stage *stage, const struct corun_view *view, struct corun_allowances *allowances)
{
    (void)stage;
    assert_true(view->capabilities & 1u << CORUN_CAN_POWER);
    for (uint32_t s = 1; s < view->sm_count; s++)
        allowances->powered[s] = false;
}

static void a_gated_sm_costs_the_fraction(void **state)
{
    (void)state;
    struct stage *stage = set_up(4, additions(400, 100));
    stage->start = only_the_first;
    stage->limits.cycles = 10000;
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_OK);
    uint64_t off = stage->config.dispatch_latency;
    assert_int_equal(stage->power_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(stage->powers[i].sm, i + 1);
        assert_int_equal(stage->powers[i].cycle, off);
        assert_false(stage->powers[i].on);
        assert_int_equal(stage->gated_cycles[i + 1], 10000 - off);
        assert_int_equal(first_issue(stage, i + 1, 0), 0);
    }
    assert_int_equal(stage->gated_cycles[0], 0);
    assert_true(last_issue(stage, 0) > 9000);
    /* 10000 cycles of one, 20 of three, and 4 % of the other 9980 of these */
    double cycles = 10000 + 3 * (off + 0.040 * (10000 - (double)off));
    double joules = 1e-3 * stage->config.static_power_sm * cycles / (stage->config.core_clock_khz * 1e3);
    assert_true(fabs(stage->energy.static_sm - joules) < 1e-9 * joules);
    joules = 1e-3 * stage->config.static_power_rest * 10000 / (stage->config.core_clock_khz * 1e3);
    assert_true(fabs(stage->energy.static_rest - joules) < 1e-9 * joules);
    stage_end(stage);
}

static bool seen_powered[8][STAGE_SMS];

/* The second SM is wanted off at the first epoch and on again at the third. */
static void off_and_on(struct stage *stage, const struct corun_view *view, struct corun_policy_moment moment,
                       struct corun_allowances *allowances)
{
    (void)stage;
    if (moment.event != CORUN_EVENT_EPOCH)
        return;
    uint64_t epoch = view->cycle / 1000;
    for (uint32_t s = 0; s < view->sm_count && epoch < 8; s++)
        seen_powered[epoch][s] = view->sms[s].powered;
    allowances->powered[1] = epoch < 1 || epoch >= 3;
}

static void off_when_it_is_empty_and_on_after_waking(void **state)
{
    (void)state;
    struct stage *stage =
        set_up(2, additions(6, 220)); /* 6 cycles each: two thread blocks of 1300 cycles fit side by side */
    stage->config.tbs_per_sm = 1;
    stage->decide = off_and_on;
    stage->limits.cycles = 6000;
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_OK);
    /* the thread block that is there ends; no other one enters */
    uint64_t end = 0;
    for (uint32_t i = 0; i < stage->issue_count; i++)
        if (stage->issues[i].sm == 1 && stage->issues[i].cycle < 3000)
            end = stage->issues[i].cycle;
    assert_in_range(end, 1100, 1600);
    assert_int_equal(stage->power_count, 2);
    assert_false(stage->powers[0].on);
    assert_int_equal(stage->powers[0].sm, 1);
    assert_in_range(stage->powers[0].cycle, end, end + stage->config.dispatch_latency + 1);
    assert_true(stage->powers[1].on);
    assert_int_equal(stage->powers[1].cycle, 3000 + stage->config.dispatch_latency);
    assert_int_equal(stage->gated_cycles[1], stage->powers[1].cycle - stage->powers[0].cycle);
    assert_int_equal(first_issue(stage, 1, end + 1), 3000 + stage->config.dispatch_latency + 300);
    /* what the policy sees is what there is, not what it wants */
    assert_true(seen_powered[1][1] && !seen_powered[2][1] && !seen_powered[3][1] && seen_powered[4][1]);
    assert_true(seen_powered[2][0] && seen_powered[3][0]);
    stage_end(stage);
}

/* Wanted on again before it has become empty: it never was off, and takes thread blocks at once. */
static void for_a_moment(struct stage *stage, const struct corun_view *view, struct corun_policy_moment moment,
                         struct corun_allowances *allowances)
{
    (void)stage;
    if (moment.event == CORUN_EVENT_EPOCH)
        allowances->powered[0] = view->cycle != 1000;
}

static void changing_ones_mind_costs_nothing(void **state)
{
    (void)state;
    struct stage *stage = set_up(1, additions(2, 400));
    stage->config.tbs_per_sm = 1;
    stage->decide = for_a_moment;
    stage->limits.cycles = 6000;
    stage_run(stage);
    assert_int_equal(stage->power_count, 0);
    assert_int_equal(stage->gated_cycles[0], 0);
    assert_int_equal(stage->results[0].runs, 1);
    stage_end(stage);
}

/* Its thread block has ended, but the acknowledgement of what that stored is on its way. */
static void a_store_under_way_keeps_the_power(void **state)
{
    (void)state;
    struct stage *stage = set_up(1, script_new(1, 1));
    for (uint32_t i = 0; i < 155; i++) /* 6 cycles each: until shortly before the epoch ends */
        script_compute(stage->scripts[0], CORUN_UNIT_INT, CORUN_OPERATION_ADD, 1, 1, 41);
    script_memory(stage->scripts[0], CORUN_STORE, CORUN_SPACE_GLOBAL, 2, 40, GLOBAL_BASE, 4);
    script_end(stage->scripts[0], 0, 1);
    stage->config.icnt_latency = 200;
    stage->decide = for_a_moment;
    stage->limits.cycles = 6000;
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_OK);
    uint64_t end = 0; /* the cycle in which the thread block ended */
    for (uint32_t i = 0; i < stage->issue_count && stage->issues[i].cycle < 1000; i++)
        end = stage->issues[i].cycle;
    assert_in_range(end, 940, 999);
    assert_int_equal(stage->power_count, 2);
    assert_in_range(stage->powers[0].cycle, end + 2 * stage->config.icnt_latency, end + 1000);
    assert_true(stage->powers[0].cycle > 1000 + stage->config.dispatch_latency + 100);
    stage_end(stage);
}

static void the_caches_are_empty_afterwards(void **state)
{
    (void)state;
    for (uint32_t gate = 0; gate < 2; gate++) {
        struct stage *stage = set_up(2, NULL);
        for (uint32_t a = 0; a < 2; a++) {
            stage->scripts[a] = script_new(1, 1);
            script_memory(stage->scripts[a], CORUN_LOAD, CORUN_SPACE_GLOBAL, 1, 40, GLOBAL_BASE, 4);
            script_end(stage->scripts[a], 0, 1);
        }
        stage->application_count = 2;
        stage->arrivals[0] = 0;
        stage->arrivals[1] = 4000;
        stage->config.l1_flush_at_kernel = false;
        stage->config.l1_caches_global = true;
        stage->config.sms = 1;
        stage->decide = NULL;
        if (gate)
            stage->decide = for_a_moment; /* off from 1000 to 2000, when nothing is there */
        stage->limits.runs = 1;
        stage_run(stage);
        assert_int_equal(stage->status, CORUN_OK);
        assert_int_equal(stage->power_count, 2 * gate);
        assert_int_equal(stage->counters[0].l1_misses, 1);
        assert_int_equal(stage->counters[1].l1_accesses, 1);
        assert_int_equal(stage->counters[1].l1_misses, gate);
        stage_end(stage);
    }
}

static void everything_off(struct stage *stage, const struct corun_view *view, struct corun_allowances *allowances)
{
    (void)stage;
    for (uint32_t s = 0; s < view->sm_count; s++)
        allowances->powered[s] = false;
}

static void switching_everything_off_ends_the_run_by_name(void **state)
{
    (void)state;
    struct stage *stage = set_up(2, additions(4, 100));
    stage->start = everything_off;
    stage->limits = (struct corun_limits){.runs = 1, .watchdog_cycles = 5000};
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_POLICY);
    assert_non_null(strstr(stage->message, "policy scripted has let no application run for 5000 cycles"));
    stage_end(stage);
}

/* Every SM is off in turn. */
static void in_turn(struct stage *stage, const struct corun_view *view, struct corun_policy_moment moment,
                    struct corun_allowances *allowances)
{
    (void)stage;
    for (uint32_t s = 0; moment.event == CORUN_EVENT_EPOCH && s < view->sm_count; s++)
        allowances->powered[s] = view->cycle / 1000 % view->sm_count != s;
}

static void the_digits_do_not_depend_on_threads(void **state)
{
    (void)state;
    struct stage *stage = set_up(3, NULL);
    stage->scripts[0] = script_new(2000, 2);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t at =
            script_memory(stage->scripts[0], CORUN_LOAD, CORUN_SPACE_GLOBAL, 1, 40, GLOBAL_BASE + i * 65536, 4);
        stage->scripts[0]->warp_stride[at] = 512;
        script_compute(stage->scripts[0], CORUN_UNIT_FP32, CORUN_OPERATION_MAD, 2, 1, 1);
        script_memory(stage->scripts[0], CORUN_STORE, CORUN_SPACE_GLOBAL, 2, 40, GLOBAL_BASE + (64 << 20), 16);
    }
    script_end(stage->scripts[0], 0, 1);
    stage->config.tbs_per_sm = 2;
    stage->decide = in_turn;
    stage->limits.cycles = 30000;
    stage_run(stage);
    assert_true(stage->power_count > 20);
    struct stage first = *stage;
    first.issues = malloc(stage->issue_count * sizeof *first.issues);
    memcpy(first.issues, stage->issues, stage->issue_count * sizeof *first.issues);
    stage->limits.threads = 3;
    stage_run(stage);
    assert_int_equal(stage->issue_count, first.issue_count);
    assert_memory_equal(stage->issues, first.issues, stage->issue_count * sizeof *first.issues);
    assert_int_equal(stage->power_count, first.power_count);
    for (uint32_t i = 0; i < stage->power_count; i++)
        assert_true(stage->powers[i].cycle == first.powers[i].cycle && stage->powers[i].sm == first.powers[i].sm &&
                    stage->powers[i].on == first.powers[i].on);
    assert_memory_equal(stage->gated_cycles, first.gated_cycles, sizeof first.gated_cycles);
    assert_memory_equal(&stage->energy, &first.energy, sizeof first.energy);
    free(first.issues);
    stage_end(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gated_sm_costs_the_fraction),
        cmocka_unit_test(off_when_it_is_empty_and_on_after_waking),
        cmocka_unit_test(changing_ones_mind_costs_nothing),
        cmocka_unit_test(a_store_under_way_keeps_the_power),
        cmocka_unit_test(the_caches_are_empty_afterwards),
        cmocka_unit_test(switching_everything_off_ends_the_run_by_name),
        cmocka_unit_test(the_digits_do_not_depend_on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
