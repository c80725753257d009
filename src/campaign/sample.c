/* SPDX-License-Identifier: MIT */
/* Mixes and goals in an order that a seed shuffles; a sample is the beginning of that order. */
#include "campaign/sample.h"

#include "corun/workload.h"

#include <stdlib.h>

/* Fisher-Yates: the first n of the order are the sample of n. */
static void shuffle(size_t *order, size_t count, uint64_t state)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = 0; i + 1 < count; i++) {
        size_t other = i + corun_random(&state) % (count - i), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

bool sample_choose(size_t mixes, size_t goals, uint64_t count, uint64_t seed, bool *chosen)
{
    size_t *order = malloc((mixes + 1) * sizeof *order);
    if (!order)
        return false;
    for (size_t goal = 0; goal < goals; goal++) {
        uint64_t share = count / goals + (goal < count % goals);
        shuffle(order, mixes, seed ^ UINT64_C(0x73616d706c650000) ^ goal);
        for (size_t place = 0; place < mixes; place++)
            chosen[order[place] * goals + goal] = place < share;
    }
    free(order);
    return true;
}
