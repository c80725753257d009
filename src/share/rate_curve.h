/* SPDX-License-Identifier: MIT */
/*
 * What an application does with so many SMs of its own, as far as it has been seen: it may be in proportion, or less where memory limits it or its
 * launches have few thread blocks, and more as soon as nobody else is there.
 */
#ifndef CORUN_SHARE_RATE_CURVE_H
#define CORUN_SHARE_RATE_CURVE_H

#include "share/sm_owners.h"

/* All zero: nothing is known. Rates are of all SMs together, in any unit, the same for all. */
struct rate_curve {
    double rate[SM_OWNERS_MAX + 1];  /* [SMs]: a mean over the last `span` */
    double span[SM_OWNERS_MAX + 1];  /* 0: not seen with so many */
    double level[SM_OWNERS_MAX + 1]; /* as `rate`, and never less with more SMs: what is taken for true */
    uint32_t lowest, highest;        /* with which it was seen; 0: nothing is known */
};

/*
 * For a time of `passed` it had `sms` SMs (a mean, above 0) and did `rate`. What is known of the nearest number of SMs is a mean over the last `memory`;
 * times are in any unit, the same for all.
 */
void rate_curve_note(struct rate_curve *curve, double sms, double rate, double passed, double memory);
bool rate_curve_is_known(const struct rate_curve *curve);
/*
 * What it would do with `sms` SMs: as seen, or between two numbers that were seen; with fewer or more than any of them in proportion, but that more than `most`
 * are of no more use to it than `most`. More SMs never bring less. Something must be known.
 */
double rate_curve_at(const struct rate_curve *curve, double sms, uint32_t most);
/* With how many SMs it would reach a rate, at least; more than `sm_count` if these are not enough. */
double rate_curve_sms(const struct rate_curve *curve, double rate, uint32_t sm_count, uint32_t most);

#endif
