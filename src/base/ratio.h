/* SPDX-License-Identifier: MIT */
/* How well a rate is known that was measured several times: the ratio estimator of survey sampling (Cochran, Sampling Techniques, 1977, 6.3). */
#ifndef CORUN_BASE_RATIO_H
#define CORUN_BASE_RATIO_H

#include <stdint.h>

#define RATIO_POINTS 32u
#define RATIO_UNKNOWN UINT64_MAX

struct ratio_point {
    uint64_t cycles, instructions;
};

/*
 * Half width of the 95 % interval of cycles per instruction over these points (at most RATIO_POINTS), in millionths of that ratio, by
 * Student's distribution. RATIO_UNKNOWN: there are fewer than two points, or one is empty. Integers only: machines decide by it.
 */
uint64_t ratio_half_width(const struct ratio_point *points, uint32_t count);
/*
 * The same where the points come one after the other in this order, and neighbours may be alike: then they tell less than as many independent ones.
 * The variance of a mean grows by (1 + r) / (1 - r) when each value is r times the one before beside what is new (Bartlett, J. R. Stat. Soc. Suppl. 8,
 * 1946). r is the correlation of neighbours, with the 1 / count that this falls short of (Marriott and Pope, Biometrika 41, 1954). Never narrower than
 * ratio_half_width, and never wider than if all points were one.
 */
uint64_t ratio_half_width_in_turn(const struct ratio_point *points, uint32_t count);
/* How far the cycles per instruction of one point are from those of `count` others together, in millionths of theirs. RATIO_UNKNOWN: some are 0. */
uint64_t ratio_deviation(const struct ratio_point *point, const struct ratio_point *others, uint32_t count);
/* value * numerator / denominator, rounded down; UINT64_MAX if that is too much. The denominator is not 0. */
uint64_t ratio_scale(uint64_t value, uint64_t numerator, uint64_t denominator);
/* The root of a * a + b * b, rounded down. Neither is above 2^62. */
uint64_t ratio_join(uint64_t a, uint64_t b);
/* value times the root of numerator / denominator, rounded down. The denominator is not 0. */
uint64_t ratio_root(uint64_t value, uint32_t numerator, uint32_t denominator);

#endif
