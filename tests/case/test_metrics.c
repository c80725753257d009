/* SPDX-License-Identifier: MIT */
/* STP, ANTT and fairness with known answers. */
#include "case/metrics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void known_answers(void **unused)
{
    (void)unused;
    struct metrics metrics = metrics_of((const double[]){0.5, 0.25}, 2);
    assert_true(metrics.stp == 0.75);
    assert_true(metrics.antt == 3.0); /* (2 + 4) / 2 */
    assert_true(metrics.fairness == 0.5);
    metrics = metrics_of((const double[]){1, 1, 1, 1}, 4);
    assert_true(metrics.stp == 4 && metrics.antt == 1 && metrics.fairness == 1);
    metrics = metrics_of((const double[]){0.8}, 1);
    assert_true(metrics.stp == 0.8 && metrics.antt == 1.25 && metrics.fairness == 1);
}

static void of_a_case(void **unused)
{
    (void)unused;
    const struct corun_case_application_result applications[] = {{.normalised_ipc = 0.5}, {.normalised_ipc = 0.25}};
    struct corun_case_result result = {.application_count = 2, .applications = applications};
    metrics_of_case(&result);
    assert_true(result.stp == 0.75 && result.antt == 3.0 && result.fairness == 0.5);
}

static void one_that_did_nothing(void **unused)
{
    (void)unused;
    struct metrics metrics = metrics_of((const double[]){0, 1}, 2);
    assert_true(metrics.stp == 1 && isinf(metrics.antt) && metrics.fairness == 0);
    metrics = metrics_of((const double[]){0, 0}, 2);
    assert_true(metrics.stp == 0 && isinf(metrics.antt) && metrics.fairness == 1);
}

static void unknown_stays_unknown(void **unused)
{
    (void)unused;
    struct metrics metrics = metrics_of((const double[]){0.5, (double)NAN}, 2);
    assert_true(isnan(metrics.stp) && isnan(metrics.antt) && isnan(metrics.fairness));
    assert_true(isnan(metrics_of(NULL, 0).stp));
    assert_true(isnan(metrics_ratio(1, 0)) && metrics_ratio(0, 4) == 0 && metrics_ratio(1, 4) == 0.25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(of_a_case),
        cmocka_unit_test(one_that_did_nothing),
        cmocka_unit_test(unknown_stays_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
