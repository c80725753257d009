/* SPDX-License-Identifier: MIT */
/* Intervals are kept sorted and apart as far as they have been looked at, and joined when they are counted. */
#include "runtime/tally.h"

#include <stdlib.h>

bool tally_add(struct tally *tally, enum tally_kind kind, uint64_t begin, uint64_t end)
{
    struct interval interval = {begin, end};
    if (begin >= end)
        return true;
    size_t count = tally->intervals[kind].count;
    struct interval *last = count ? &tally->intervals[kind].data[count - 1] : NULL;
    if (last && last->begin <= begin && begin <= last->end) { /* most come in order */
        last->end = end > last->end ? end : last->end;
        return true;
    }
    return vector_push(&tally->intervals[kind], interval);
}

static int by_begin(const void *left, const void *right)
{
    uint64_t a = ((const struct interval *)left)->begin, b = ((const struct interval *)right)->begin;
    return (a > b) - (a < b);
}

uint64_t tally_length(struct tally *tally, enum tally_kind kind)
{
    struct interval *data = tally->intervals[kind].data;
    size_t count = tally->intervals[kind].count, kept = 0;
    uint64_t length = 0;
    if (!count)
        return 0;
    qsort(data, count, sizeof *data, by_begin);
    for (size_t i = 1; i < count; i++) {
        if (data[i].begin > data[kept].end)
            data[++kept] = data[i];
        else if (data[i].end > data[kept].end)
            data[kept].end = data[i].end;
    }
    tally->intervals[kind].count = kept + 1;
    for (size_t i = 0; i <= kept; i++)
        length += data[i].end - data[i].begin;
    return length;
}

uint64_t tally_overlap(struct tally *tally)
{
    uint64_t length = 0;
    (void)tally_length(tally, TALLY_COPY);
    (void)tally_length(tally, TALLY_KERNEL);
    const struct interval *copies = tally->intervals[TALLY_COPY].data, *kernels = tally->intervals[TALLY_KERNEL].data;
    for (size_t c = 0, k = 0; c < tally->intervals[TALLY_COPY].count && k < tally->intervals[TALLY_KERNEL].count;) {
        uint64_t begin = copies[c].begin > kernels[k].begin ? copies[c].begin : kernels[k].begin;
        uint64_t end = copies[c].end < kernels[k].end ? copies[c].end : kernels[k].end;
        length += end > begin ? end - begin : 0;
        if (copies[c].end < kernels[k].end)
            c++;
        else
            k++;
    }
    return length;
}

void tally_free(struct tally *tally)
{
    for (size_t i = 0; i < TALLY_KINDS; i++)
        vector_free(&tally->intervals[i]);
}
