/* SPDX-License-Identifier: MIT */
/* Means for each number of SMs, and straight lines between them. */
#include "share/rate_curve.h"

#include <math.h>

void rate_curve_note(struct rate_curve *curve, double sms, double rate, double passed, double memory)
{
    double nearest = fmin(fmax(round(sms), 1), SM_OWNERS_MAX);
    uint32_t n = (uint32_t)nearest;
    double span = curve->span[n] + passed, scaled = rate * nearest / sms;
    curve->span[n] = fmin(span, memory);
    curve->rate[n] += fmin(passed / curve->span[n], 1) * (scaled - curve->rate[n]);
    curve->lowest = curve->lowest && curve->lowest < n ? curve->lowest : n;
    curve->highest = curve->highest > n ? curve->highest : n;
}

bool rate_curve_is_known(const struct rate_curve *curve)
{
    return curve->lowest && curve->rate[curve->highest] > 0;
}

double rate_curve_at(const struct rate_curve *curve, double sms, uint32_t most)
{
    if (sms <= curve->lowest)
        return curve->rate[curve->lowest] * fmin(sms, most) / fmin(curve->lowest, most);
    if (sms >= curve->highest)
        return curve->rate[curve->highest] * sms / curve->highest;
    uint32_t below = (uint32_t)sms, above = below + 1;
    while (!(curve->span[below] > 0))
        below--;
    while (!(curve->span[above] > 0))
        above++;
    double part = (sms - below) / (above - below);
    return curve->rate[below] + part * (curve->rate[above] - curve->rate[below]);
}

double rate_curve_sms(const struct rate_curve *curve, double rate, uint32_t sm_count, uint32_t most)
{
    double before = 0;
    for (uint32_t n = 1; n <= sm_count; n++) {
        double here = rate_curve_at(curve, n, most);
        if (here >= rate)
            return n - (here > before ? (here - rate) / (here - before) : 0);
        before = here;
    }
    return sm_count * rate / before;
}
