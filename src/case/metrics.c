/* SPDX-License-Identifier: MIT */
/* STP, ANTT and fairness from normalised IPCs; a metric is NAN when one of them is not known. */
#include "case/metrics.h"

#include <math.h>

double metrics_ratio(uint64_t dividend, uint64_t divisor)
{
    return divisor ? (double)dividend / (double)divisor : (double)NAN;
}

struct metrics metrics_of(const double *normalised, size_t count)
{
    struct metrics unknown = {(double)NAN, (double)NAN, (double)NAN};
    if (!count)
        return unknown;
    double sum = 0, turnaround = 0, smallest = normalised[0], largest = normalised[0];
    for (size_t i = 0; i < count; i++) {
        if (isnan(normalised[i]))
            return unknown;
        sum += normalised[i];
        turnaround += normalised[i] > 0 ? 1 / normalised[i] : (double)INFINITY;
        smallest = fmin(smallest, normalised[i]);
        largest = fmax(largest, normalised[i]);
    }
    return (struct metrics){sum, turnaround / (double)count, largest > 0 ? smallest / largest : 1};
}
