/* SPDX-License-Identifier: MIT */
/* Poisson arrivals: times between two of them are exponential. */
#include "serve/arrivals.h"

#include <math.h>
#include <stdlib.h>

/* SplitMix64. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int compare(const void *left, const void *right)
{
    const struct queue_submission *a = left, *b = right;
    if (a->tick != b->tick)
        return a->tick < b->tick ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

struct queue_submission *arrivals_make(uint32_t kinds, uint32_t instances, double rate_per_tick, uint64_t seed)
{
    struct queue_submission *list = calloc((size_t)kinds * instances + 1, sizeof *list);
    for (uint32_t k = 0; list && k < kinds; k++) {
        uint64_t state = seed + k * UINT64_C(0xd1b54a32d192ed03);
        double tick = 0;
        for (uint32_t i = 0; i < instances; i++) {
            /* in (0, 1] */
            double share = (double)((next_random(&state) >> 11) + 1) * 0x1p-53;
            tick += rate_per_tick > 0 ? -log(share) / rate_per_tick : 0;
            size_t place = rate_per_tick > 0 ? (size_t)k * instances + i : (size_t)i * kinds + k;
            list[place] = (struct queue_submission){.tick = (uint64_t)fmin(tick, 0x1p62), .kind = k, .user = k};
        }
    }
    if (list && rate_per_tick > 0)
        qsort(list, (size_t)kinds * instances, sizeof *list, compare);
    return list;
}

static bool same_kinds(const struct queue_submission *a, const struct queue_submission *b, uint32_t length)
{
    uint32_t i = 0;
    while (i < length && a[i].kind == b[i].kind)
        i++;
    return i == length;
}

/* Whether there are no more than so many different sequences of that length in the list. */
static bool few_sequences(const struct queue_submission *list, size_t count, uint32_t length, uint32_t most)
{
    enum { MOST_KNOWN = 64 };
    size_t known[MOST_KNOWN];
    uint32_t known_count = 0;
    for (size_t i = 0; i + length <= count; i++) {
        uint32_t k = 0;
        while (k < known_count && !same_kinds(&list[known[k]], &list[i], length))
            k++;
        if (k < known_count)
            continue;
        if (k == most || k == MOST_KNOWN)
            return false;
        known[known_count++] = i;
    }
    return true;
}

uint32_t arrivals_before(const struct queue_submission *list, size_t count, uint32_t most, uint32_t sequences)
{
    uint32_t before = 1;
    while (before < most && few_sequences(list, count, before + 2, sequences))
        before++;
    return before;
}
