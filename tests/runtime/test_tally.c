/* SPDX-License-Identifier: MIT */
/* How long copies and kernels went on side by side: sums worked out by hand. */
#include "runtime/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void nothing_is_nothing(void **state)
{
    (void)state;
    struct tally tally = {0};
    assert_int_equal(tally_length(&tally, TALLY_COPY), 0);
    assert_int_equal(tally_overlap(&tally), 0);
    tally_free(&tally);
}

/*
 * copies   ──10────20──  ──30──40──        ──35───────60──
 * kernels       ──15──────────────────50──              ──58──70──
 */
static void intervals_in_any_order(void **state)
{
    (void)state;
    struct tally tally = {0};
    assert_true(tally_add(&tally, TALLY_COPY, 35, 60));
    assert_true(tally_add(&tally, TALLY_KERNEL, 58, 70));
    assert_true(tally_add(&tally, TALLY_COPY, 10, 20));
    assert_true(tally_add(&tally, TALLY_COPY, 30, 40));
    assert_true(tally_add(&tally, TALLY_KERNEL, 15, 50));
    assert_int_equal(tally_length(&tally, TALLY_COPY), 10 + 30);
    assert_int_equal(tally_length(&tally, TALLY_KERNEL), 35 + 12);
    assert_int_equal(tally_overlap(&tally), 5 + 20 + 2);
    tally_free(&tally);
}

static void what_touches_is_joined(void **state)
{
    (void)state;
    struct tally tally = {0};
    assert_true(tally_add(&tally, TALLY_KERNEL, 0, 5));
    assert_true(tally_add(&tally, TALLY_KERNEL, 5, 9));
    assert_true(tally_add(&tally, TALLY_KERNEL, 7, 8));
    assert_true(tally_add(&tally, TALLY_KERNEL, 9, 9)); /* empty */
    assert_int_equal(tally.intervals[TALLY_KERNEL].count, 1);
    assert_int_equal(tally_length(&tally, TALLY_KERNEL), 9);
    tally_free(&tally);
}

/* Counting in between changes nothing of what is counted later. */
static void counting_continues(void **state)
{
    (void)state;
    struct tally tally = {0};
    assert_true(tally_add(&tally, TALLY_COPY, 20, 30));
    assert_true(tally_add(&tally, TALLY_COPY, 0, 10));
    assert_int_equal(tally_length(&tally, TALLY_COPY), 20);
    assert_true(tally_add(&tally, TALLY_COPY, 5, 25));
    assert_int_equal(tally_length(&tally, TALLY_COPY), 30);
    tally_free(&tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_nothing),
        cmocka_unit_test(intervals_in_any_order),
        cmocka_unit_test(what_touches_is_joined),
        cmocka_unit_test(counting_continues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
