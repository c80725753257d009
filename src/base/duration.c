/* SPDX-License-Identifier: MIT */
/* Durations are a number and a unit; the units of the host and those of a simulated GPU are two tables. */
#include "base/duration.h"

#include "base/number.h"

#include <stdio.h>
#include <string.h>

struct unit {
    const char *name;
    double factor;
};

/* A number and one of the units behind it; false if it is anything else, or not above 0. */
static bool parse(const char *text, const struct unit *units, double *value)
{
    char number[40];
    size_t length = strspn(text, "0123456789.");
    if (length >= sizeof number)
        return false;
    snprintf(number, sizeof number, "%.*s", (int)length, text);
    for (; units->name; units++)
        if (!strcmp(text + length, units->name) && number_parse_real(number, value)) {
            *value *= units->factor;
            return *value > 0;
        }
    return false;
}

bool duration_parse(const char *text, double *seconds)
{
    static const struct unit units[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {0}};
    return parse(text, units, seconds) && *seconds >= 1 && *seconds <= 1e9;
}

bool brief_duration_parse(const char *text, uint64_t *microseconds)
{
    static const struct unit units[] = {{"ms", 1e3}, {"s", 1e6}, {0}};
    double value;
    if (!parse(text, units, &value) || value < 1e3 || value > 3600e6)
        return false;
    *microseconds = (uint64_t)value;
    return true;
}

bool simulated_duration_parse(const char *text, struct simulated_duration *duration)
{
    static const struct unit units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {0}};
    *duration = (struct simulated_duration){0};
    if (number_parse(text, 1000, &duration->cycles))
        return duration->cycles > 0;
    return parse(text, units, &duration->nanoseconds) && duration->nanoseconds <= 1e18;
}

uint64_t simulated_duration_cycles(const struct simulated_duration *duration, uint32_t clock_khz)
{
    double cycles = duration->nanoseconds * clock_khz / 1e6;
    if (duration->nanoseconds <= 0)
        return duration->cycles;
    return cycles < 1 ? 1 : cycles > 1e18 ? (uint64_t)1e18 : (uint64_t)cycles;
}
