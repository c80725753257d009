/* SPDX-License-Identifier: MIT */
/* Durations as people write them: units, what overflows, what is no duration. */
#include "base/duration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void times_of_the_host(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        double seconds; /* 0: none */
    } rows[] = {{"90s", 90}, {"30m", 1800}, {"1.5h", 5400}, {"1s", 1},    {"0.5s", 0}, {"90", 0},
                {"", 0},     {"s", 0},      {"-1s", 0},     {"1m30s", 0}, {"1 s", 0},  {"9999999999h", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double seconds;
        assert_int_equal(duration_parse(rows[i].text, &seconds), rows[i].seconds > 0);
        if (rows[i].seconds > 0)
            assert_true(seconds == rows[i].seconds);
    }
}

static void moments_of_the_host(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        uint64_t microseconds; /* 0: none */
    } rows[] = {{"50ms", 50000}, {"3s", 3000000}, {"0.25s", 250000}, {"1ms", 1000}, {"3600s", UINT64_C(3600000000)},
                {"0.5ms", 0},    {"3601s", 0},    {"5us", 0},        {"1m", 0},     {"50", 0},
                {"ms", 0},       {"", 0},         {"-1s", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t microseconds;
        assert_int_equal(brief_duration_parse(rows[i].text, &microseconds), rows[i].microseconds > 0);
        if (rows[i].microseconds)
            assert_int_equal(microseconds, rows[i].microseconds);
    }
}

static void times_of_a_gpu(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        uint64_t cycles; /* at 1.25 GHz; 0: none */
    } rows[] = {{"10ms", 12500000},
                {"2.5us", 3125},
                {"800ns", 1000},
                {"2s", UINT64_C(2500000000)},
                {"0.1ns", 1},
                {"5M", 5000000},
                {"17", 17},
                {"0", 0},
                {"0ms", 0},
                {"soon", 0},
                {"1.5", 0},
                {"1h", 0},
                {"", 0},
                {"-1ms", 0},
                {"99999999999999s", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct simulated_duration duration;
        assert_int_equal(simulated_duration_parse(rows[i].text, &duration), rows[i].cycles > 0);
        if (rows[i].cycles)
            assert_int_equal(simulated_duration_cycles(&duration, 1250000), rows[i].cycles);
    }
    assert_int_equal(simulated_duration_cycles(&(struct simulated_duration){0}, 1250000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(times_of_the_host), cmocka_unit_test(moments_of_the_host),
                                       cmocka_unit_test(times_of_a_gpu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
