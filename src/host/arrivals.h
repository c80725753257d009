/* SPDX-License-Identifier: MIT */
/* Queries that arrive: at random times, of random sizes, from a seed. */
#ifndef CORUN_HOST_ARRIVALS_H
#define CORUN_HOST_ARRIVALS_H

#include "host/simulate.h"

/* A stream of numbers in (0, 1), from a seed and the place of whoever uses it. */
struct host_random {
    uint64_t state;
};
struct host_random host_random_of(uint64_t seed, uint64_t place);
double host_random_next(struct host_random *random);

/* A size of a query. */
double host_random_size(struct host_random *random, const struct host_sizes *sizes);
/* The instructions of a query over those that its size says. */
double host_random_effort(struct host_random *random, const struct host_application *service);

/*
 * Appends `count` queries of a tenant whose times between arrivals are exponential (a Poisson process) with that mean, from time 0 on. The times
 * and sizes of a tenant depend on nothing but seed, tenant and mean, so that all policies get the same queries; with another mean, all times
 * are stretched and the sizes are the same.
 */
void host_arrivals_poisson(struct host_arrival *arrivals, size_t count, uint32_t tenant,
                           const struct host_application *application, double mean_ns, uint64_t seed);
/* By time, those at the same time by tenant, those of a tenant as they were. */
void host_arrivals_sort(struct host_arrival *arrivals, size_t count);

#endif
