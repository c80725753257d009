/* SPDX-License-Identifier: MIT */
/* What ways are worth to batch, where that is known beforehand. */
#include "allot/worth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#define WAYS 16

/* Intervals whose rate is 2 + by_ways * ways + by_cores * cores; cores and ways go together, but not quite. */
static void feed(struct worth *worth, int count, double by_cores, double by_ways)
{
    for (int i = 0; i < count; i++) {
        double ways = i % 8 * 2, cores = 4 + i % 8 + (i % 3 == 0);
        worth_add(worth, cores, ways, 2 + by_ways * ways + by_cores * cores);
    }
}

/* Ways are 0 to 14, 7 on average: a rate of 2 + 0.1 ways is 2.7 then, and all sixteen are worth 1.6 of it. */
static void a_slope_is_found(void **state)
{
    struct worth worth = {0};
    (void)state;
    feed(&worth, 4800, 0, 0.1);
    assert_true(fabs(worth.rate - 2.7) < 0.02);
    assert_true(fabs(worth_of_ways(&worth, WAYS, 0.5) - 1.6 / worth.rate) < 1e-9);
}

/* A core that does less the more of them there are is not a way that does harm, nor one that helps. */
static void cores_are_told_from_ways(void **state)
{
    struct worth worth = {0};
    (void)state;
    feed(&worth, 4800, -0.1, 0.05);
    assert_true(fabs(worth_of_ways(&worth, WAYS, 0.5) - 0.8 / worth.rate) < 1e-9);
    worth = (struct worth){0};
    feed(&worth, 4800, -0.1, 0);
    assert_true(fabs(worth_of_ways(&worth, WAYS, 0.5) - 0.02) < 1e-12);
}

static void what_cannot_be_told_stays_unknown(void **state)
{
    struct worth worth = {0};
    (void)state;
    assert_true(worth_of_ways(&worth, WAYS, 0.5) == 0.5);
    feed(&worth, 20, 0, 0.1); /* too few */
    assert_true(worth_of_ways(&worth, WAYS, 0.5) == 0.5);
    worth = (struct worth){0};
    for (int i = 0; i < 1000; i++) /* always the same ways */
        worth_add(&worth, 4 + i % 3, 8, 2);
    assert_true(worth_of_ways(&worth, WAYS, 0.5) == 0.5);
    worth = (struct worth){0};
    for (int i = 0; i < 1000; i++) /* always as many ways as cores */
        worth_add(&worth, i % 8, i % 8, 2);
    assert_true(worth_of_ways(&worth, WAYS, 0.5) == 0.5);
    feed(&worth, 100, 0, 0.1);
    double known = worth_of_ways(&worth, WAYS, 0.5);
    worth_add(&worth, 4, NAN, 2);
    worth_add(&worth, 4, 8, NAN);
    worth_add(&worth, INFINITY, 8, 2);
    assert_true(worth_of_ways(&worth, WAYS, 0.5) == known);
}

/* With the same cores all the time, ways alone are enough; and what is old is forgotten. */
static void it_follows_what_changes(void **state)
{
    struct worth worth = {0};
    (void)state;
    for (int i = 0; i < 1000; i++)
        worth_add(&worth, 6, i % 8, 1 + 0.2 * (i % 8));
    assert_true(fabs(worth_of_ways(&worth, WAYS, 0.5) - 3.2 / worth.rate) < 1e-6);
    for (int i = 0; i < 8000; i++)
        worth_add(&worth, 6, i % 8, 1);
    assert_true(worth_of_ways(&worth, WAYS, 0.5) < 0.0201);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slope_is_found),
        cmocka_unit_test(cores_are_told_from_ways),
        cmocka_unit_test(what_cannot_be_told_stays_unknown),
        cmocka_unit_test(it_follows_what_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
