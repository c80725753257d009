/* SPDX-License-Identifier: MIT */
/*
 * The last allocations that were freed: for messages about accesses to what they had. A bounded number of ranges is remembered, and a range
 * is forgotten when something else is allocated there.
 */
#ifndef CORUN_ISA_FREED_H
#define CORUN_ISA_FREED_H

#include "base/vector.h"

#include <stdbool.h>
#include <stdint.h>

#define ORIGIN_BYTES 64u /* of a name of an allocation, or of who freed it */
#define MOST_FREED 1024u

struct freed {
    uint64_t address, bytes;
    uint64_t order;           /* counts frees */
    char name[ORIGIN_BYTES];  /* of the allocation, "" if nobody named it */
    char freer[ORIGIN_BYTES]; /* "" if nobody said who it was */
};

struct freed_list {
    VECTOR(struct freed) entries; /* in ascending address; they do not overlap */
    uint64_t count;               /* of frees so far */
};

/* Room for all, so that freed_add needs none. False when out of memory. */
bool freed_reserve(struct freed_list *list);
/* Remembers an allocation in place of the oldest one if there are too many. Without memory, nothing is remembered. */
void freed_add(struct freed_list *list, uint64_t address, uint64_t bytes, const char *name, const char *freer);
/* Something is there again. */
void freed_forget(struct freed_list *list, uint64_t address, uint64_t bytes);
/* What an address was part of; NULL if nothing is known. */
const struct freed *freed_find(const struct freed_list *list, uint64_t address);

#endif
