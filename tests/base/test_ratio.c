/* SPDX-License-Identifier: MIT */
/* The ratio estimator in integers against its formula in doubles. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/ratio.h"

static void equal_ratios_have_no_width(void **state)
{
    (void)state;
    struct ratio_point points[] = {{100, 1000}, {200, 2000}, {50, 500}};
    assert_int_equal(ratio_half_width(points, 3), 0);
}

static void too_few_points_say_nothing(void **state)
{
    (void)state;
    struct ratio_point points[RATIO_POINTS + 1] = {{100, 1000}, {0, 1000}};
    assert_true(ratio_half_width(points, 0) == RATIO_UNKNOWN);
    assert_true(ratio_half_width(points, 1) == RATIO_UNKNOWN);
    assert_true(ratio_half_width(points, 2) == RATIO_UNKNOWN); /* one is empty */
    assert_true(ratio_half_width(points, RATIO_POINTS + 1) == RATIO_UNKNOWN);
}

/* Two points, one degree of freedom: 12.706 times the error of the mean. */
static void two_points(void **state)
{
    (void)state;
    struct ratio_point points[] = {{990, 1000}, {1010, 1000}};
    /* residuals -10 and 10: s^2 = 200, of the mean 100, so 10 / 1000 = 1 % */
    assert_in_range(ratio_half_width(points, 2), 127050, 127060);
}

static void deviation_of_a_point(void **state)
{
    (void)state;
    struct ratio_point others[] = {{100, 1000}, {300, 3000}}, point = {150, 1000}, less = {90, 1000}, none = {1, 0};
    assert_int_equal(ratio_deviation(&point, others, 2), 500000);
    assert_int_equal(ratio_deviation(&less, others, 2), 100000);
    assert_int_equal(ratio_deviation(&others[0], others, 2), 0);
    assert_true(ratio_deviation(&none, others, 2) == RATIO_UNKNOWN);
    assert_true(ratio_deviation(&point, others, 0) == RATIO_UNKNOWN);
}

static double in_doubles(const struct ratio_point *points, uint32_t count, double student)
{
    double cycles = 0, instructions = 0, squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        cycles += (double)points[i].cycles;
        instructions += (double)points[i].instructions;
    }
    for (uint32_t i = 0; i < count; i++) {
        double residual = (double)points[i].cycles - cycles / instructions * (double)points[i].instructions;
        squares += residual * residual;
    }
    return student * sqrt(squares / (count - 1.0) / count) / (cycles / count);
}

/* Of any size: small numbers keep all their digits, large ones the first twenty bits. */
static void follows_the_formula(void **state)
{
    (void)state;
    static const uint64_t units[] = {1, 1000, UINT64_C(1) << 40};
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        struct ratio_point points[9];
        uint64_t random = 1;
        for (uint32_t i = 0; i < 9; i++) {
            random = random * UINT64_C(6364136223846793005) + 1;
            points[i] =
                (struct ratio_point){(3000 + (random >> 56)) * units[u], (9000 + (random >> 50) % 500) * units[u]};
        }
        double expected = in_doubles(points, 9, 2.306) * 1e6;
        assert_true(fabs((double)ratio_half_width(points, 9) - expected) < 2 + expected * 1e-3);
    }
}

/* Residuals 10, 10, -10, -10 of 1000: r is (100 - 100 + 100) / 400 + 1/4, half, and (1 + r) / (1 - r) three. */
static void neighbours_that_are_alike_tell_less(void **state)
{
    (void)state;
    struct ratio_point alike[] = {{1010, 1000}, {1010, 1000}, {990, 1000}, {990, 1000}};
    struct ratio_point turns[] = {{1010, 1000}, {990, 1000}, {1010, 1000}, {990, 1000}};
    uint64_t width = ratio_half_width(alike, 4);
    assert_int_equal(ratio_half_width_in_turn(alike, 4), ratio_root(width, 3, 1));
    assert_int_equal(ratio_half_width(turns, 4), width);
    assert_int_equal(ratio_half_width_in_turn(turns, 4), width);
    assert_true(ratio_half_width_in_turn(alike, 1) == RATIO_UNKNOWN);
}

/* Two halves: at most as if all were one point. */
static void neighbours_never_count_for_less_than_one(void **state)
{
    (void)state;
    struct ratio_point points[RATIO_POINTS];
    for (uint32_t i = 0; i < RATIO_POINTS; i++)
        points[i] = (struct ratio_point){i < RATIO_POINTS / 2 ? 1000 : 2000, 1000};
    uint64_t width = ratio_half_width(points, RATIO_POINTS);
    assert_true(ratio_half_width_in_turn(points, RATIO_POINTS) > 5 * width);
    assert_true(ratio_half_width_in_turn(points, RATIO_POINTS) <= ratio_root(width, RATIO_POINTS, 1));
}

static double uniform(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (double)(*random >> 32) / 4294967296.0 - 0.5;
}

/* Of 2000 series in which each value keeps a part of the one before: in how many the interval holds the true ratio. */
static double coverage(double kept, uint32_t count, uint64_t (*half_width)(const struct ratio_point *, uint32_t))
{
    uint64_t random = 7;
    uint32_t held = 0;
    for (uint32_t n = 0; n < 2000; n++) {
        struct ratio_point points[RATIO_POINTS];
        double strays = 0, cycles = 0;
        for (int warming = 0; warming < 50; warming++)
            strays = kept * strays + uniform(&random);
        for (uint32_t i = 0; i < count; i++) {
            strays = kept * strays + uniform(&random);
            points[i] = (struct ratio_point){(uint64_t)(1e6 + 1e4 * strays), 1000000};
            cycles += (double)points[i].cycles;
        }
        held += fabs(cycles / count / 1e6 - 1) <= cycles / count * (double)half_width(points, count) * 1e-12;
    }
    return held / 2000.0;
}

static void intervals_hold_what_they_promise(void **state)
{
    (void)state;
    assert_true(fabs(coverage(0, 16, ratio_half_width) - 0.95) < 0.01);
    assert_true(fabs(coverage(0, 16, ratio_half_width_in_turn) - 0.96) < 0.01);
    /* r is known no better than so many points tell: most of what is missing is there, not all */
    assert_true(coverage(0.6, 16, ratio_half_width) < 0.68);
    assert_true(coverage(0.6, 16, ratio_half_width_in_turn) > 0.82);
    assert_true(coverage(0.6, 32, ratio_half_width_in_turn) > 0.88);
}

static void scales(void **state)
{
    (void)state;
    assert_int_equal(ratio_scale(10, 3, 4), 7);
    assert_true(ratio_scale(UINT64_MAX, 1000, 1000) == UINT64_MAX);
    assert_true(ratio_scale(UINT64_MAX, 2, 1) == UINT64_MAX);
    assert_int_equal(ratio_join(3, 4), 5);
    assert_true(ratio_join(UINT64_C(1) << 62, 0) == UINT64_C(1) << 62);
    assert_int_equal(ratio_root(1000, 4, 1), 2000);
    assert_int_equal(ratio_root(1000, 1, 4), 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_ratios_have_no_width),
        cmocka_unit_test(too_few_points_say_nothing),
        cmocka_unit_test(two_points),
        cmocka_unit_test(deviation_of_a_point),
        cmocka_unit_test(follows_the_formula),
        cmocka_unit_test(neighbours_that_are_alike_tell_less),
        cmocka_unit_test(neighbours_never_count_for_less_than_one),
        cmocka_unit_test(intervals_hold_what_they_promise),
        cmocka_unit_test(scales),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
