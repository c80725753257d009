/* SPDX-License-Identifier: MIT */
/* The assignment against trying all, and against what is known of large ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/arrivals.h"
#include "host/assignment.h"
#include "host/placement.h"

#include <math.h>
#include <stdlib.h>

/* The best sum over all permutations of the columns from `row` on. */
static double best_sum(const double *values, size_t count, size_t row, uint32_t taken)
{
    double best = row == count ? 0 : -INFINITY;
    for (size_t c = 0; c < count && row < count; c++)
        if (!(taken >> c & 1u))
            best = fmax(best, values[row * count + c] + best_sum(values, count, row + 1, taken | 1u << c));
    return best;
}

static double sum_of(const double *values, size_t count, const size_t *column)
{
    double sum = 0;
    bool *taken = calloc(count, sizeof *taken);
    assert_non_null(taken);
    for (size_t r = 0; r < count; r++) {
        assert_true(column[r] < count);
        assert_false(taken[column[r]]);
        taken[column[r]] = true;
        sum += values[r * count + column[r]];
    }
    free(taken);
    return sum;
}

static void as_good_as_trying_all(void **state)
{
    (void)state;
    struct host_random random = host_random_of(5, 0);
    for (int round = 0; round < 400; round++) {
        size_t count = 1 + (size_t)round % 7, column[7];
        double values[49];
        /* In every second round few different values, so that many assignments are equally good; some below 0. */
        for (size_t i = 0; i < count * count; i++)
            values[i] = round % 2 ? floor(host_random_next(&random) * 4) - 1 : host_random_next(&random) * 10 - 3;
        assert_int_equal(host_assign(values, count, column), CORUN_OK);
        assert_true(fabs(sum_of(values, count, column) - best_sum(values, count, 0, 0)) < 1e-9);
    }
}

/* Values r * c: the largest sum pairs equal ranks, of 300 rows and columns that are mixed up. */
static void a_large_one_with_a_known_answer(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    double *values = malloc(sizeof *values * COUNT * COUNT), expected = 0;
    size_t column[COUNT];
    assert_non_null(values);
    for (size_t r = 0; r < COUNT; r++)
        for (size_t c = 0; c < COUNT; c++)
            values[r * COUNT + c] = (double)(r * 7 % COUNT) * (double)(c * 11 % COUNT);
    for (size_t i = 0; i < COUNT; i++)
        expected += (double)(i * i);
    assert_int_equal(host_assign(values, COUNT, column), CORUN_OK);
    assert_true(sum_of(values, COUNT, column) == expected);
    free(values);
}

static void nothing_to_assign(void **state)
{
    (void)state;
    assert_int_equal(host_assign(NULL, 0, NULL), CORUN_OK);
}

/* Two services, two programs, ten nodes: each program five times, beside the service where it is worth most. */
static void programs_are_placed_where_they_do_most(void **state)
{
    (void)state;
    const double values[] = {3, 1, 2, 1.5}; /* the first is worth 1 more than 2; the second 0.5 less: 3 + 1.5 > 1 + 2 */
    size_t kind[10], counts[2] = {0};
    assert_int_equal(host_place_best(10, 2, 2, values, kind), CORUN_OK);
    for (size_t n = 0; n < 10; n++)
        assert_int_equal(kind[n], n % 2);
    host_place_at_random(10, 2, 1, kind);
    for (size_t n = 0; n < 10; n++)
        counts[kind[n]]++;
    assert_int_equal(counts[0], 5);
    assert_int_equal(counts[1], 5);
    size_t again[10], differences = 0;
    host_place_at_random(10, 2, 1, again);
    assert_memory_equal(kind, again, sizeof kind);
    host_place_at_random(10, 2, 2, again);
    for (size_t n = 0; n < 10; n++)
        differences += kind[n] != again[n];
    assert_true(differences > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_good_as_trying_all), cmocka_unit_test(a_large_one_with_a_known_answer),
        cmocka_unit_test(nothing_to_assign), cmocka_unit_test(programs_are_placed_where_they_do_most)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
