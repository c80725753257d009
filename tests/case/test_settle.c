/* SPDX-License-Identifier: MIT */
/* When a shared run has settled, on runs whose whole window is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "case/settle.h"

#define STEP 10000u
#define WINDOW (100u * STEP)
#define WARM_UP (10u * STEP)
#define KNOWN(part) ((part)*100 * WINDOW) /* a part of what an application of 100 instructions per cycle does alone */

/* Thread instructions per cycle from a cycle on. */
typedef double speed(uint64_t cycle);

static double constant(uint64_t cycle)
{
    (void)cycle;
    return 50;
}

static double alone(uint64_t cycle)
{
    (void)cycle;
    return 100;
}

static double ramp(uint64_t cycle)
{
    return 20 + 80.0 * (double)cycle / WINDOW;
}

/* Two phases by turns, each an eighth of the window long. */
static double phases(uint64_t cycle)
{
    return cycle / (WINDOW / 8) % 2 ? 20 : 80;
}

/* Alone it becomes much slower in the middle. */
static double slow_later(uint64_t cycle)
{
    return cycle < WINDOW / 2 ? 180 : 20;
}

/* The same work at half the speed: what it does alone in the first half takes all of the window. */
static double half_of_slow_later(uint64_t cycle)
{
    return slow_later(cycle / 2) / 2;
}

/* Alone it is fast and slow by turns, each for two steps. */
static double flickering(uint64_t cycle)
{
    return cycle / (2 * STEP) % 2 ? 140 : 60;
}

static double done(speed *of, uint64_t until)
{
    double sum = 0;
    for (uint64_t cycle = 0; cycle < until; cycle += STEP)
        sum += of(cycle) * STEP;
    return sum;
}

static const struct settle_goal no_goal = {0, 0};

static bool is_known(const struct settle_estimate *estimate, double part)
{
    return settle_is_known(estimate, KNOWN(part), 0, &no_goal);
}

static struct baseline_curve curve_of(speed *of)
{
    struct baseline_curve curve = {0};
    for (uint64_t cycle = STEP; cycle <= WINDOW; cycle += STEP)
        baseline_curve_add(&curve, cycle, (uint64_t)done(of, cycle));
    return curve;
}

/* What is said of a run at a cycle. */
static bool estimate_at(speed *shared, speed *isolated, uint64_t cycle, struct settle_estimate *estimate)
{
    struct settle_series series = {.look_cycles = STEP, .batch_looks = 1};
    struct baseline_curve curve = curve_of(isolated);
    for (uint64_t look = WARM_UP; look <= cycle; look += STEP)
        settle_add(&series, look, (uint64_t)done(shared, look));
    return settle_estimate(&series, &curve, (uint64_t)done(shared, cycle), WINDOW - cycle, estimate);
}

static void a_constant_rate_is_known_at_once(void **state)
{
    (void)state;
    struct settle_estimate estimate;
    assert_true(estimate_at(constant, alone, 20 * STEP, &estimate));
    assert_float_equal(estimate.instructions, done(constant, WINDOW), 1);
    assert_true(is_known(&estimate, 0.001));
    assert_true(estimate.half_width > 0);
}

static void too_few_batches_say_nothing(void **state)
{
    (void)state;
    struct settle_estimate estimate;
    assert_false(estimate_at(constant, alone, WARM_UP + 7 * STEP, &estimate));
    assert_true(estimate_at(constant, alone, WARM_UP + 8 * STEP, &estimate));
}

/* The step after which so many looks have said that it is known; 100: none. */
static uint32_t settles_after(speed *shared, speed *isolated, double part)
{
    struct settle_estimate estimate;
    uint32_t known = 0;
    for (uint32_t step = SETTLE_EARLIEST; step < 100; step++) {
        bool now = estimate_at(shared, isolated, step * STEP, &estimate) && is_known(&estimate, part);
        known = now ? known + 1 : 0;
        if (known == SETTLE_LOOKS)
            return step;
    }
    return 100;
}

static void what_is_steady_settles_early(void **state)
{
    (void)state;
    assert_int_equal(settles_after(constant, alone, 0.001), SETTLE_EARLIEST + SETTLE_LOOKS - 1);
}

/* Neighbours are alike, which the interval knows. */
static void a_ramp_does_not_settle(void **state)
{
    (void)state;
    assert_in_range(settles_after(ramp, alone, 0.01), 80, 100);
}

/* Phases that the isolated run does not show: a good part of them has to be seen. */
static void long_phases_do_not_settle(void **state)
{
    (void)state;
    assert_in_range(settles_after(phases, alone, 0.02), 60, 100);
}

/* What the isolated run does later is expected here, too: half as fast, when it gets there. */
static void what_lies_ahead_is_known_from_the_isolated_run(void **state)
{
    (void)state;
    struct settle_estimate estimate;
    assert_true(estimate_at(half_of_slow_later, slow_later, 20 * STEP, &estimate));
    double truth = done(half_of_slow_later, WINDOW);
    assert_float_equal(estimate.instructions, truth, 0.001 * truth); /* it does not reach the slow part */
    /* At two thirds of the speed alone it does. Held or shared: the batches do not tell, so that the interval has both. */
    struct settle_series series = {.look_cycles = STEP, .batch_looks = 1};
    struct baseline_curve curve = curve_of(slow_later);
    for (uint64_t look = WARM_UP; look <= 20 * STEP; look += STEP)
        settle_add(&series, look, look * 120);
    assert_true(settle_estimate(&series, &curve, 20 * STEP * 120, 80 * STEP, &estimate));
    double reached = 180.0 * WINDOW / 2, cycles = 2.0 / 3 * WINDOW; /* of the isolated run */
    double shared = reached + (cycles - WINDOW / 2.0) * 20, held = reached + (WINDOW - reached / 120) * 20;
    assert_true(fabs(estimate.instructions - (shared + held) / 2) < 0.001 * shared);
    assert_true(estimate.half_width > (held - shared) / 2);
}

/* An application that is held to a rate keeps it, whatever its isolated run does meanwhile. */
static void a_held_application_is_steady(void **state)
{
    (void)state;
    struct settle_estimate estimate;
    assert_true(estimate_at(constant, flickering, 20 * STEP, &estimate));
    assert_float_equal(estimate.instructions, done(constant, WINDOW), 1e-4 * done(constant, WINDOW));
    assert_true(is_known(&estimate, 0.01));
}

static void nobody_is_faster_than_alone(void **state)
{
    (void)state;
    struct settle_series series = {.look_cycles = STEP, .batch_looks = 1};
    struct baseline_curve curve = curve_of(slow_later);
    struct settle_estimate estimate;
    for (uint64_t look = WARM_UP; look <= 20 * STEP; look += STEP)
        settle_add(&series, look, look * 180);
    assert_true(settle_estimate(&series, &curve, 20 * STEP * 180, 80 * STEP, &estimate));
    double truth = done(slow_later, WINDOW);
    assert_float_equal(estimate.instructions, truth, 0.001 * truth);
}

/* 1000 ± 10 instructions, of which `now` are done after half of the window. */
static bool decides(double half_width, uint64_t now, double goal)
{
    struct settle_estimate estimate = {1000, 10};
    return settle_is_known(&estimate, half_width, now, &(struct settle_goal){goal / 2, goal});
}

static void a_goal_in_the_interval_is_not_decided(void **state)
{
    (void)state;
    assert_true(decides(10, 500, 0));
    assert_false(decides(9.9, 500, 0));
    assert_false(decides(10, 500, 1000));
    assert_false(decides(10, 500, 990));
    assert_false(decides(10, 500, 1010));
    assert_true(decides(10, 500, 989));
    assert_true(decides(10, 500, 1011));
    assert_false(settle_is_known(&(struct settle_estimate){1000, (double)NAN}, 10, 0, &no_goal));
}

/* Its policy will treat it otherwise when it has reached the goal, or has lost it. */
static void a_goal_that_is_still_to_be_crossed_is_not_decided(void **state)
{
    (void)state;
    assert_false(decides(10, 400, 900));
    assert_true(decides(10, 450, 900));
    assert_false(decides(10, 600, 1100));
    assert_true(decides(10, 549, 1100));
}

static void what_did_nothing_is_not_known(void **state)
{
    (void)state;
    struct settle_series series = {.look_cycles = STEP, .batch_looks = 1};
    struct baseline_curve curve = curve_of(alone), none = {0};
    struct settle_estimate estimate;
    for (uint64_t look = WARM_UP; look <= 20 * STEP; look += STEP)
        settle_add(&series, look, 7);
    assert_false(settle_estimate(&series, &curve, 7, 80 * STEP, &estimate));
    series.count = 0;
    for (uint64_t look = WARM_UP; look <= 20 * STEP; look += STEP)
        settle_add(&series, look, look * 50);
    assert_false(settle_estimate(&series, &none, 20 * STEP * 50, 80 * STEP, &estimate)); /* no curve */
    assert_true(settle_estimate(&series, &curve, 20 * STEP * 50, 80 * STEP, &estimate));
    series.instructions[5] = 0; /* dropped */
    assert_false(settle_estimate(&series, &curve, 20 * STEP * 50, 80 * STEP, &estimate));
}

/* It was held back after a while, and may go on: what it did before is not forgotten. */
static void what_has_stopped_is_known_a_little(void **state)
{
    (void)state;
    struct settle_series series = {.look_cycles = STEP, .batch_looks = 1};
    struct baseline_curve curve = curve_of(alone);
    struct settle_estimate estimate;
    uint64_t instructions = 0;
    for (uint64_t look = 10; look <= 24; look++) {
        instructions += look < 13 ? 10 * STEP : 0;
        settle_add(&series, look * STEP, instructions);
    }
    assert_true(settle_estimate(&series, &curve, instructions, 76 * STEP, &estimate));
    assert_true(estimate.instructions > (double)instructions);
    assert_true(estimate.half_width > estimate.instructions - (double)instructions);
}

/* 100 steps become at most 32 batches of one length, which lie side by side. */
static void batches_become_longer(void **state)
{
    (void)state;
    struct settle_series series = {.look_cycles = STEP, .batch_looks = 1};
    for (uint64_t look = 1; look <= 100; look++) {
        settle_add(&series, look * STEP + look % 3, look * 1000); /* steps end at looks or behind them */
        assert_true(series.count <= RATIO_POINTS + 1);
    }
    assert_int_equal(series.batch_looks, 4);
    for (uint32_t i = 1; i < series.count; i++)
        assert_in_range(series.cycles[i] - series.cycles[i - 1], 4 * STEP - 2, 4 * STEP + 2);
}

static void a_curve_ascends(void **state)
{
    (void)state;
    struct baseline_curve curve = {0};
    baseline_curve_add(&curve, 10, 100);
    baseline_curve_add(&curve, 10, 200); /* no later */
    baseline_curve_add(&curve, 20, 90);  /* less */
    baseline_curve_add(&curve, 30, 100);
    assert_int_equal(curve.count, 3);
    assert_int_equal(curve.points[0].cycles, 0);
    assert_int_equal(curve.points[2].cycles, 30);
    for (uint64_t i = 0; i < 2 * BASELINE_POINTS; i++)
        baseline_curve_add(&curve, 40 + i, 200 + i);
    assert_int_equal(curve.count, BASELINE_POINTS + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_constant_rate_is_known_at_once),
        cmocka_unit_test(too_few_batches_say_nothing),
        cmocka_unit_test(what_is_steady_settles_early),
        cmocka_unit_test(a_ramp_does_not_settle),
        cmocka_unit_test(long_phases_do_not_settle),
        cmocka_unit_test(what_lies_ahead_is_known_from_the_isolated_run),
        cmocka_unit_test(a_held_application_is_steady),
        cmocka_unit_test(nobody_is_faster_than_alone),
        cmocka_unit_test(a_goal_in_the_interval_is_not_decided),
        cmocka_unit_test(a_goal_that_is_still_to_be_crossed_is_not_decided),
        cmocka_unit_test(what_did_nothing_is_not_known),
        cmocka_unit_test(what_has_stopped_is_known_a_little),
        cmocka_unit_test(batches_become_longer),
        cmocka_unit_test(a_curve_ascends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
