/* SPDX-License-Identifier: MIT */
/* Means for each number of SMs, and straight lines between them. */
#include "share/rate_curve.h"

#include <math.h>

/*
 * More SMs never bring less: where that was seen, in launches that were disturbed or in times too short to tell, what was seen of these numbers of SMs is one mean,
 * weighted by the times. That is isotonic regression, by pooling adjacent violators (Barlow, Bartholomew, Bremner and Brunk, Statistical inference under order
 * restrictions, 1972).
 */
static void pool(struct rate_curve *curve)
{
    for (uint32_t n = curve->lowest; n <= curve->highest; n++) {
        double span = curve->span[n], sum = span * curve->rate[n];
        uint32_t first = n;
        if (!(span > 0))
            continue;
        for (uint32_t m = n - 1; m >= curve->lowest && !(curve->span[m] > 0 && curve->level[m] <= sum / span); m--) {
            span += curve->span[m];
            sum += curve->span[m] * curve->rate[m];
            first = m;
        }
        for (uint32_t m = first; m <= n; m++)
            curve->level[m] = sum / span;
    }
}

void rate_curve_note(struct rate_curve *curve, double sms, double rate, double passed, double memory)
{
    double nearest = fmin(fmax(round(sms), 1), SM_OWNERS_MAX);
    uint32_t n = (uint32_t)nearest;
    double span = curve->span[n] + passed, scaled = rate * nearest / sms;
    curve->span[n] = fmin(span, memory);
    curve->rate[n] += fmin(passed / curve->span[n], 1) * (scaled - curve->rate[n]);
    curve->lowest = curve->lowest && curve->lowest < n ? curve->lowest : n;
    curve->highest = curve->highest > n ? curve->highest : n;
    pool(curve);
}

bool rate_curve_is_known(const struct rate_curve *curve)
{
    return curve->lowest && curve->rate[curve->highest] > 0;
}

double rate_curve_at(const struct rate_curve *curve, double sms, uint32_t most)
{
    if (sms <= curve->lowest)
        return curve->level[curve->lowest] * fmin(sms, most) / fmin(curve->lowest, most);
    if (sms >= curve->highest)
        return curve->level[curve->highest] * fmax(fmin(sms, most), curve->highest) / curve->highest;
    uint32_t below = (uint32_t)sms, above = below + 1;
    while (!(curve->span[below] > 0))
        below--;
    while (!(curve->span[above] > 0))
        above++;
    double part = (sms - below) / (above - below);
    return curve->level[below] + part * (curve->level[above] - curve->level[below]);
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
