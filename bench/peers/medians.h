/* SPDX-License-Identifier: MIT */
/* What is printed of several runs. */
#ifndef CORUN_BENCH_PEERS_MEDIANS_H
#define CORUN_BENCH_PEERS_MEDIANS_H

#include <stdlib.h>

static inline int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Of so many values, which it sorts. */
static inline double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_size);
    return values[count / 2];
}

#endif
