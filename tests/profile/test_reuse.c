/* SPDX-License-Identifier: MIT */
/* Reuse distances against patterns whose misses are known, and against a cache that is simulated line by line. */
#include "profile/reuse.h"

#include "trace/format.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SIZES = 6 };
static const uint64_t sizes[SIZES] = {1, 50, 99, 100, 400, 1000};

struct pattern {
    struct profile_access *accesses;
    size_t count;
};

static struct pattern begin(size_t count)
{
    struct pattern pattern = {calloc(count, sizeof *pattern.accesses), count};
    assert_non_null(pattern.accesses);
    for (size_t i = 0; i < count; i++)
        pattern.accesses[i].counts = true;
    return pattern;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): they are written through `misses` */
static struct profile_misses misses_of(const struct pattern *pattern, double rate, uint64_t counts[SIZES])
{
    struct profile_misses misses = {.lines = sizes, .size_count = SIZES, .misses = counts};
    assert_int_equal(profile_reuse(pattern->accesses, pattern->count, rate, &misses), CORUN_OK);
    return misses;
}

static uint64_t random_at(uint64_t index)
{
    uint64_t z = (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    return (z ^ z >> 27) * 0x94d049bb133111ebu >> 20;
}

static void a_cyclic_scan_has_a_cliff_at_its_length(void **state)
{
    (void)state;
    uint64_t counts[SIZES];
    struct pattern pattern = begin(1000);
    for (size_t i = 0; i < 1000; i++)
        pattern.accesses[i].line = i % 100;
    struct profile_misses misses = misses_of(&pattern, 1, counts);
    assert_int_equal(misses.accesses, 1000);
    for (uint32_t s = 0; s < SIZES;
         s++) /* least recently used throws out just what comes next; then only first uses miss */
        assert_int_equal(counts[s], sizes[s] < 100 ? 1000 : 100);
    free(pattern.accesses);
}

static void a_stream_misses_always(void **state)
{
    (void)state;
    uint64_t counts[SIZES];
    struct pattern pattern = begin(5000);
    for (size_t i = 0; i < 5000; i++)
        pattern.accesses[i].line = i;
    misses_of(&pattern, 1, counts);
    for (uint32_t s = 0; s < SIZES; s++)
        assert_int_equal(counts[s], 5000);
    free(pattern.accesses);
}

static void random_lines_miss_as_often_as_they_are_not_there(void **state)
{
    (void)state;
    enum { LINES = 1000, COUNT = 200000 };
    uint64_t counts[SIZES];
    struct pattern pattern = begin(COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        pattern.accesses[i].line = random_at(i) % LINES;
        pattern.accesses[i].counts = i >= COUNT / 10; /* by then all lines have been seen */
    }
    struct profile_misses misses = misses_of(&pattern, 1, counts);
    for (uint32_t s = 0; s < SIZES; s++) { /* five deviations of so many throws */
        double expected = 1 - (double)sizes[s] / LINES;
        double off = (double)counts[s] / (double)misses.accesses - expected;
        assert_true(fabs(off) <= 5 * sqrt(expected * (1 - expected) / (double)misses.accesses));
    }
    free(pattern.accesses);
}

/* Least recently used, as it is described: a list, most recent first. */
static uint64_t simulate(const struct pattern *pattern, uint64_t size)
{
    uint64_t *lines = calloc(size, sizeof *lines), count = 0, missed = 0;
    for (size_t i = 0; i < pattern->count; i++) {
        uint64_t line = pattern->accesses[i].line, at = 0;
        while (at < count && lines[at] != line)
            at++;
        missed += at == count;
        if (at == count && count < size)
            count++;
        for (uint64_t k = at < count ? at : count - 1; k > 0; k--)
            lines[k] = lines[k - 1];
        lines[0] = line;
    }
    free(lines);
    return missed;
}

static void any_pattern_misses_as_in_a_cache(void **state)
{
    (void)state;
    uint64_t counts[SIZES];
    struct pattern pattern = begin(20000);
    for (size_t i = 0; i < pattern.count; i++) { /* hot lines, a scan that comes back, and a stream */
        uint64_t random = random_at(i);
        pattern.accesses[i].line = random % 3 == 0 ? random / 3 % 40 : random % 3 == 1 ? 1000 + i % 700 : 100000 + i;
    }
    misses_of(&pattern, 1, counts);
    for (uint32_t s = 0; s < SIZES; s++)
        assert_int_equal(counts[s], simulate(&pattern, sizes[s]));
    free(pattern.accesses);
}

static void a_sample_of_lines_tells_the_same(void **state)
{
    (void)state;
    enum { LINES = 40000, COUNT = 2000000, RATE = 16 };
    static const uint64_t some[3] = {10000, 20000, 30000};
    uint64_t counts[3];
    struct pattern pattern = begin(COUNT);
    size_t kept = 0;
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t line = random_at(i) % LINES;
        if (trace_hash(line) < (UINT64_C(1) << 32) / RATE)
            pattern.accesses[kept++] = (struct profile_access){.line = line, .counts = i >= COUNT / 4};
    }
    struct profile_misses misses = {.lines = some, .size_count = 3, .misses = counts};
    assert_int_equal(profile_reuse(pattern.accesses, kept, RATE, &misses), CORUN_OK);
    for (uint32_t s = 0; s < 3; s++) /* 2500 lines were kept: their number is known to about two in a hundred */
        assert_true(fabs((double)counts[s] / (double)misses.accesses - (1 - (double)some[s] / LINES)) < 0.04);
    free(pattern.accesses);
}

static void lines_that_were_written_go_to_memory_once(void **state)
{
    (void)state;
    uint64_t counts[SIZES];
    struct pattern pattern = begin(8);
    /* A cache of one line: 7 comes, is written back to it, is pushed out by 8, comes again (1), and again after 9, clean. */
    static const struct profile_access accesses[] = {{7, false, true}, {7, true, true},  {8, false, true},
                                                     {7, false, true}, {7, false, true}, {9, false, true},
                                                     {7, false, true}};
    for (size_t i = 0; i < 7; i++)
        pattern.accesses[i] = accesses[i];
    pattern.count = 7;
    struct profile_misses misses = misses_of(&pattern, 1, counts);
    assert_int_equal(misses.accesses, 6);
    assert_int_equal(counts[0], 5);
    assert_int_equal(counts[1], 3);
    assert_int_equal(misses.written, 1);
    pattern.count = 0;
    misses = misses_of(&pattern, 1, counts);
    assert_int_equal(misses.accesses + counts[0], 0);
    free(pattern.accesses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_cyclic_scan_has_a_cliff_at_its_length),
                                       cmocka_unit_test(a_stream_misses_always),
                                       cmocka_unit_test(random_lines_miss_as_often_as_they_are_not_there),
                                       cmocka_unit_test(any_pattern_misses_as_in_a_cache),
                                       cmocka_unit_test(a_sample_of_lines_tells_the_same),
                                       cmocka_unit_test(lines_that_were_written_go_to_memory_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
