/* SPDX-License-Identifier: MIT */
/* A set of whole numbers as sorted half-open ranges that do not touch: iterations that are left, bytes that are valid. */
#ifndef CORUN_SPLIT_RANGES_H
#define CORUN_SPLIT_RANGES_H

#include "base/vector.h"

#include <stdint.h>

struct range {
    uint64_t begin, end;
};

struct ranges {
    VECTOR(struct range) list;
};

bool ranges_add(struct ranges *set, uint64_t begin, uint64_t end); /* false: out of memory, nothing has changed */
bool ranges_remove(struct ranges *set, uint64_t begin, uint64_t end);
uint64_t ranges_total(const struct ranges *set);
/* The first range of [*from, end) that is not in the set; *from moves behind it. False if there is none. */
bool ranges_next_gap(const struct ranges *set, uint64_t *from, uint64_t end, struct range *gap);
/* Takes at most `count` numbers out, in one piece, from the front or from the back; an empty range if there are none. */
struct range ranges_take(struct ranges *set, uint64_t count, bool from_back);
void ranges_clear(struct ranges *set);
void ranges_free(struct ranges *set);

#endif
