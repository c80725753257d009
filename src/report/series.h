/* SPDX-License-Identifier: MIT */
/*
 * Records in order of arrival, never more than a limit: when it is reached, those whose key is not a multiple of the
 * next power of two are dropped, and from then on not taken. Every record starts with its key, a uint64_t: consecutive
 * numbers thin out regularly, their hashes (series_hash) at random, which repeating patterns cannot deceive; both are
 * the same on every run.
 */
#ifndef CORUN_REPORT_SERIES_H
#define CORUN_REPORT_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct series {
    char *data;
    size_t record_bytes, count, capacity, limit;
    uint64_t seen; /* records offered */
    uint64_t mask; /* kept: key & mask == 0 */
};

void series_init(struct series *series, size_t record_bytes, size_t limit);
/* Takes a copy of the record, or leaves it out. False when out of memory. */
bool series_add(struct series *series, const void *record);
static inline void *series_at(const struct series *series, size_t index)
{
    return series->data + index * series->record_bytes;
}
void series_free(struct series *series);

static inline uint64_t series_hash(uint64_t number)
{
    number = (number ^ number >> 33) * UINT64_C(0xff51afd7ed558ccd);
    number = (number ^ number >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return number ^ number >> 33;
}

#endif
