/* SPDX-License-Identifier: MIT */
/* Percentiles from counts, beside those of all values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/latencies.h"

#include <stdlib.h>
#include <string.h>

static struct latencies latencies;

static void test_small_values_are_exact(void **state)
{
    (void)state;
    memset(&latencies, 0, sizeof latencies);
    assert_true(latencies_percentile(&latencies, 99) == 0);
    for (uint64_t ns = 100; ns >= 1; ns--)
        latencies_add(&latencies, ns);
    assert_true(latencies_percentile(&latencies, 50) == 50);
    assert_true(latencies_percentile(&latencies, 99) == 99);
    assert_true(latencies_percentile(&latencies, 100) == 100);
    assert_true(latencies_percentile(&latencies, 0) == 1);
    assert_true(latencies.sum_ns == 5050);
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static void test_large_values_are_near(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    static uint64_t values[COUNT];
    static const double percents[] = {1, 50, 95, 99, 99.9, 100};
    uint64_t random = 7;
    memset(&latencies, 0, sizeof latencies);
    for (uint32_t i = 0; i < COUNT; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        values[i] = (random >> 20) >> (random % 40);
        latencies_add(&latencies, values[i]);
    }
    qsort(values, COUNT, sizeof *values, compare);
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
        size_t rank = (size_t)(percents[i] / 100 * COUNT + 0.5);
        double exact = (double)values[rank - 1], found = latencies_percentile(&latencies, percents[i]);
        assert_true(found >= exact && found <= exact * (1 + 1.0 / LATENCIES_PARTS) + 1);
    }
    latencies_add(&latencies, UINT64_MAX);
    assert_true(latencies_percentile(&latencies, 100) == (double)UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small_values_are_exact),
                                       cmocka_unit_test(test_large_values_are_near)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
