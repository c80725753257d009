/* SPDX-License-Identifier: MIT */
/* Two regressors and a constant, by means and products that are updated (Welford's method, weighted). */
#include "allot/worth.h"

#include <math.h>

#define FORGETS 0.998 /* what an interval weighs after the next one: half after 7 s, with intervals of 20 ms */
#define LEAST_WEIGHT 50.0
#define LEAST_APART 1e-3 /* of cores and ways: 1 less the square of their correlation */
#define LEAST_WORTH 0.02
#define MOST_WORTH 2.0

void worth_add(struct worth *worth, double cores, double ways, double rate)
{
    double by_cores = cores - worth->cores, by_ways = ways - worth->ways, by_rate = rate - worth->rate;
    if (!isfinite(by_cores) || !isfinite(by_ways) || !isfinite(by_rate))
        return;
    worth->weight = worth->weight * FORGETS + 1;
    double kept = 1 - 1 / worth->weight;
    worth->cores += by_cores / worth->weight;
    worth->ways += by_ways / worth->weight;
    worth->rate += by_rate / worth->weight;
    worth->cores_cores = worth->cores_cores * FORGETS + kept * by_cores * by_cores;
    worth->cores_ways = worth->cores_ways * FORGETS + kept * by_cores * by_ways;
    worth->ways_ways = worth->ways_ways * FORGETS + kept * by_ways * by_ways;
    worth->cores_rate = worth->cores_rate * FORGETS + kept * by_cores * by_rate;
    worth->ways_rate = worth->ways_rate * FORGETS + kept * by_ways * by_rate;
}

double worth_of_ways(const struct worth *worth, uint32_t way_count, double unknown)
{
    double both = worth->cores_cores * worth->ways_ways, slope = 0;
    double determinant = both - worth->cores_ways * worth->cores_ways;
    if (worth->weight < LEAST_WEIGHT || !(worth->rate > 0) || !(worth->ways_ways > 0))
        return unknown;
    if (determinant > LEAST_APART * both)
        slope = (worth->ways_rate * worth->cores_cores - worth->cores_rate * worth->cores_ways) / determinant;
    else if (!(worth->cores_cores > 0))
        slope = worth->ways_rate / worth->ways_ways;
    else
        return unknown;
    return fmin(fmax(slope * way_count / worth->rate, LEAST_WORTH), MOST_WORTH);
}
