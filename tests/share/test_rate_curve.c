/* SPDX-License-Identifier: MIT */
/* What an application does with so many SMs, from what was seen. */
#include "share/rate_curve.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void expect(double value, double expected)
{
    if (fabs(value - expected) > 1e-9)
        fail_msg("%.9f, not %.9f", value, expected);
}

static struct rate_curve *create(void)
{
    struct rate_curve *curve = calloc(1, sizeof *curve);
    assert_non_null(curve);
    return curve;
}

/* In proportion where nothing else is known, but more SMs than it has thread blocks are of no use. */
static void one_number_of_sms(void **unused)
{
    (void)unused;
    struct rate_curve *curve = create();
    assert_false(rate_curve_is_known(curve));
    rate_curve_note(curve, 8, 0, 1, 10);
    assert_false(rate_curve_is_known(curve));
    rate_curve_note(curve, 8, 160, 1, 1);
    assert_true(rate_curve_is_known(curve));
    expect(rate_curve_at(curve, 2, 100), 40);
    expect(rate_curve_at(curve, 12, 100), 240);
    expect(rate_curve_at(curve, 4, 4), 160);
    expect(rate_curve_at(curve, 2, 4), 80);
    expect(rate_curve_sms(curve, 150, 10, 100), 7.5);
    expect(rate_curve_sms(curve, 150, 10, 4), 3.75);
    expect(rate_curve_sms(curve, 240, 10, 100), 12); /* more than there are */
    free(curve);
}

static void straight_lines_between(void **unused)
{
    (void)unused;
    struct rate_curve *curve = create();
    rate_curve_note(curve, 2, 100, 1, 10);
    rate_curve_note(curve, 8, 160, 1, 10);
    rate_curve_note(curve, 6, 150, 1, 10);
    expect(rate_curve_at(curve, 1, 100), 50);
    expect(rate_curve_at(curve, 2, 100), 100);
    expect(rate_curve_at(curve, 5, 100), 137.5);
    expect(rate_curve_at(curve, 7.5, 100), 157.5);
    expect(rate_curve_at(curve, 16, 100), 320);
    expect(rate_curve_sms(curve, 137.5, 8, 100), 5);
    expect(rate_curve_sms(curve, 25, 8, 100), 0.5);
    free(curve);
}

/* A mean over the last times, by their lengths; of a number that is not whole at the nearest one, in proportion. */
static void means(void **unused)
{
    (void)unused;
    struct rate_curve *curve = create();
    rate_curve_note(curve, 4, 100, 1, 4);
    rate_curve_note(curve, 4, 200, 3, 4);
    expect(rate_curve_at(curve, 4, 100), 175);
    rate_curve_note(curve, 4, 75, 2, 4); /* half of what is remembered */
    expect(rate_curve_at(curve, 4, 100), 125);
    rate_curve_note(curve, 4, 80, 9, 4); /* longer than what is remembered */
    expect(rate_curve_at(curve, 4, 100), 80);
    rate_curve_note(curve, 7.5, 150, 1, 4);
    expect(rate_curve_at(curve, 8, 100), 160);
    free(curve);
}

/* More thread blocks than SMs there are not: beyond `most` nothing is gained, neither among what was seen nor above. */
static void no_more_than_thread_blocks(void **unused)
{
    (void)unused;
    struct rate_curve *curve = create();
    rate_curve_note(curve, 3, 90, 1, 10);
    expect(rate_curve_at(curve, 6, 4), 120);
    expect(rate_curve_at(curve, 4, 4), 120);
    rate_curve_note(curve, 8, 160, 1, 10);
    expect(rate_curve_at(curve, 10, 4), 160);
    expect(rate_curve_at(curve, 10, 9), 180);
    free(curve);
}

/* What was seen with fewer SMs for a moment and what was seen with more for long are one mean, by how long it was seen. */
static void more_sms_never_bring_less(void **unused)
{
    (void)unused;
    struct rate_curve *curve = create();
    rate_curve_note(curve, 4, 100, 1, 10);
    rate_curve_note(curve, 8, 60, 3, 10);
    expect(rate_curve_at(curve, 4, 100), 70);
    expect(rate_curve_at(curve, 6, 100), 70);
    expect(rate_curve_at(curve, 8, 100), 70);
    expect(rate_curve_sms(curve, 70, 10, 100), 4);
    rate_curve_note(curve, 6, 80, 1, 10); /* (100 + 80 + 180) / 5 */
    expect(rate_curve_at(curve, 4, 100), 72);
    expect(rate_curve_at(curve, 8, 100), 72);
    rate_curve_note(curve, 2, 50, 1, 10);
    expect(rate_curve_at(curve, 2, 100), 50);
    expect(rate_curve_at(curve, 3, 100), 61);
    rate_curve_note(curve, 8, 150, 10, 10); /* what was seen is still known, each by itself */
    expect(rate_curve_at(curve, 4, 100), 90);
    expect(rate_curve_at(curve, 6, 100), 90);
    expect(rate_curve_at(curve, 8, 100), 150);
    free(curve);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_number_of_sms),
        cmocka_unit_test(straight_lines_between),
        cmocka_unit_test(means),
        cmocka_unit_test(no_more_than_thread_blocks),
        cmocka_unit_test(more_sms_never_bring_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
