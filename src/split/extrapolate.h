/* SPDX-License-Identifier: MIT */
/*
 * What a GPU will need for a part of another size: a fixed time (launches, latencies of copies) and a time for each iteration, from
 * the two latest parts. The thesis keeps measuring until rates no longer change; a line through two measurements says where that ends.
 */
#ifndef CORUN_SPLIT_EXTRAPOLATE_H
#define CORUN_SPLIT_EXTRAPOLATE_H

#include "corun/split.h"

/* seconds = fixed + each * iterations; each: 0 if nothing is known. */
struct line {
    double fixed, each, error; /* error: how far `each` may be off, relatively */
    double size, seconds;      /* of a GPU's only measurement, if it did not fill the GPU; 0 otherwise */
};

/* Through the latest part of a device and the latest before it whose size differs enough; through the origin if there is none. */
struct line extrapolate_line(const struct corun_split_view *view, uint32_t device);

struct extrapolation {
    double share[CORUN_SPLIT_MAX_DEVICES]; /* of what is left, so that all end together */
    double step_cost;                      /* seconds that one more profiling step costs: the longest fixed time */
    double error_cost;                     /* seconds that a wrong split may cost, with times that are off by 5 % */
};

/* For the devices that are not busy. false if too little is known. */
bool extrapolate(const struct corun_split_view *view, struct extrapolation *result);

#endif
