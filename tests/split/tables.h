/* SPDX-License-Identifier: MIT */
/* Runs whose devices follow tables of rates: exact, and no clock. */
#ifndef CORUN_TEST_SPLIT_TABLES_H
#define CORUN_TEST_SPLIT_TABLES_H

#include "corun/split.h"

/* A device that needs `start` seconds for a part and `each` for an iteration. */
struct speed {
    double start, each;
};

static double seconds_of(void *user, uint64_t begin, uint64_t end)
{
    const struct speed *speed = user;
    return end > begin ? speed->start + speed->each * (double)(end - begin) : 0;
}

static inline struct corun_split_rate_table table(struct speed *speed)
{
    return (struct corun_split_rate_table){.seconds = seconds_of, .user = speed};
}

#endif
