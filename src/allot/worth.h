/* SPDX-License-Identifier: MIT */
/*
 * What ways of the cache are worth to a batch program: least squares of what it does with a core, on the common cores and ways of each interval.
 * Cores are in it because queries take cores and ways together, and a core does less where many share the memory.
 */
#ifndef CORUN_ALLOT_WORTH_H
#define CORUN_ALLOT_WORTH_H

#include <stdint.h>

/* Zeroed at first. Intervals weigh less the older they are. Means, and sums of products of differences from them. */
struct worth {
    double weight;
    double cores, ways, rate;
    double cores_cores, cores_ways, ways_ways, cores_rate, ways_rate;
};

/* An interval: common cores and ways on average, instructions for each ns of a core. What is not finite is passed over. */
void worth_add(struct worth *worth, double cores, double ways, double rate);

/*
 * By how much a core does more with all ways than with none, over what it does on average; `unknown` as long as there is too little to tell it from. At
 * least 0.02, so that nobody takes ways for next to nothing, which others could have; at most 2.
 */
double worth_of_ways(const struct worth *worth, uint32_t way_count, double unknown);

#endif
