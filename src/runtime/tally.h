/* SPDX-License-Identifier: MIT */
/* Times in which copies, kernels, and both were under way: sums over intervals that come in any order. */
#ifndef CORUN_RUNTIME_TALLY_H
#define CORUN_RUNTIME_TALLY_H

#include "base/vector.h"

#include <stdint.h>

enum tally_kind { TALLY_COPY, TALLY_KERNEL, TALLY_KINDS };

struct interval {
    uint64_t begin, end;
};

struct tally {
    VECTOR(struct interval) intervals[TALLY_KINDS];
};

/* False when out of memory. */
bool tally_add(struct tally *tally, enum tally_kind kind, uint64_t begin, uint64_t end);
/* Sorts and joins what overlaps; length of all intervals of a kind together. */
uint64_t tally_length(struct tally *tally, enum tally_kind kind);
/* In which both were under way. */
uint64_t tally_overlap(struct tally *tally);
void tally_free(struct tally *tally);

#endif
