/* SPDX-License-Identifier: MIT */
/* Random arrivals and sizes: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), whose streams need nothing but a number. */
#include "host/arrivals.h"

#include <math.h>
#include <stdlib.h>

static uint64_t mix(uint64_t word)
{
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

struct host_random host_random_of(uint64_t seed, uint64_t place)
{
    return (struct host_random){mix(seed + UINT64_C(0x9e3779b97f4a7c15)) ^ mix(mix(place + 1))};
}

double host_random_next(struct host_random *random)
{
    uint64_t word = mix(random->state += UINT64_C(0x9e3779b97f4a7c15));
    return ((double)(word >> 11) + 0.5) * 0x1p-53;
}

/* Box and Muller: of the two normal numbers one is used, so that each takes two steps of the stream, of which one was `uniform`. */
static double normal(struct host_random *random, double uniform)
{
    double angle = 2 * acos(-1) * host_random_next(random);
    return sqrt(-2 * log(uniform)) * cos(angle);
}

static double draw(struct host_random *random, const struct host_sizes *sizes)
{
    double uniform = host_random_next(random);
    switch (sizes->kind) {
    case HOST_SIZE_TABLE:
        for (size_t i = 0; i + 1 < sizes->table.count; i++)
            if (uniform < sizes->table.points[i].y)
                return sizes->table.points[i].x;
        return sizes->table.points[sizes->table.count - 1].x;
    case HOST_SIZE_EXPONENTIAL:
        return -sizes->mean * log(uniform);
    case HOST_SIZE_LOGNORMAL:
        return sizes->mean * exp(sizes->sigma * normal(random, uniform));
    default:
        return sizes->mean;
    }
}

double host_random_size(struct host_random *random, const struct host_sizes *sizes)
{
    double size = draw(random, sizes);
    while (sizes->most > 0 && size > sizes->most)
        size = draw(random, sizes);
    return size;
}

double host_random_effort(struct host_random *random, const struct host_application *service)
{
    return exp(service->variation * normal(random, host_random_next(random)));
}

void host_arrivals_poisson(struct host_arrival *arrivals, size_t count, uint32_t tenant,
                           const struct host_application *application, double mean_ns, uint64_t seed)
{
    struct host_random times = host_random_of(seed, 3 * (uint64_t)tenant + 1),
                       sizes = host_random_of(seed, 3 * (uint64_t)tenant + 2),
                       efforts = host_random_of(seed, 3 * (uint64_t)tenant + 3);
    double at_ns = 0;
    for (size_t i = 0; i < count; i++) {
        at_ns -= mean_ns * log(host_random_next(&times));
        double size = host_random_size(&sizes, &application->sizes);
        arrivals[i] = (struct host_arrival){(uint64_t)at_ns, tenant, size, host_random_effort(&efforts, application)};
    }
}

static int compare(const void *left, const void *right)
{
    const struct host_arrival *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    if (a->tenant != b->tenant)
        return a->tenant < b->tenant ? -1 : 1;
    return a->size < b->size ? -1 : a->size > b->size; /* so that any sort gives the same order */
}

void host_arrivals_sort(struct host_arrival *arrivals, size_t count)
{
    if (count)
        qsort(arrivals, count, sizeof *arrivals, compare);
}
