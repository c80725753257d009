/* SPDX-License-Identifier: MIT */
/* What was measured becomes the description of an application for the simulated host (docs/host.md). */
#ifndef CORUN_PROFILE_DESCRIBE_H
#define CORUN_PROFILE_DESCRIBE_H

#include "profile/curve.h"
#include "profile/machine.h"

#include <stdio.h>

enum { PROFILE_MOST_CORES = 64, PROFILE_MOST_CURVES = 8, PROFILE_MOST_POINTS = 40, PROFILE_MOST_SIZES = 16 };

/* What the curves are taken at. */
struct profile_grid {
    uint32_t cores; /* of the speed-ups: 1 to `cores` */
    uint32_t curve_cores[PROFILE_MOST_CURVES], curve_count;
    uint64_t cache_bytes; /* of the host that is described */
    uint32_t ways;
    uint64_t points[PROFILE_MOST_POINTS]; /* bytes, rising: a quarter and a half of a way, then all numbers of ways */
    uint32_t point_count;
};
/* Fills in the points. `ways` at most PROFILE_MOST_POINTS - 3. */
void profile_grid_points(struct profile_grid *grid);

/* One size of a query, all numbers for one query. */
struct profile_size {
    uint32_t size;
    double instructions;
    double work_ns;                     /* on one core */
    double real_ns[2];                  /* wall time on one and on two threads; 0: not measured */
    double speedup[PROFILE_MOST_CORES]; /* [cores] */
    double private_misses,
        streamed_share; /* that go to the last-level cache; of these, such that hardware prefetches */
    double together;    /* of the others, on their way at once */
    double variation;   /* of the loads and stores of queries of this size: deviation of their logarithm */
    double written;     /* lines written back for each line read */
    double misses[PROFILE_MOST_CURVES][PROFILE_MOST_POINTS];
    double machine_misses; /* of the cache of the machine that measures, on one core */
};

struct profile_description {
    const char *program, *what, *size_of, *command, *date;
    bool batch;
    uint32_t mean_size;
    const struct profile_machine *machine;
    const struct profile_grid *grid;
    struct profile_size sizes[PROFILE_MOST_SIZES];
    uint32_t size_count;
};

/* A size: the report has the times of a run that is not traced, the trace is of the same queries; `instructions` are of one query. */
enum corun_status profile_size_make(const struct profile_report *report, const struct profile_trace *trace,
                                    const struct profile_description *description, double instructions,
                                    struct corun_diagnostics *list, struct profile_size *size);

/* What a miss costs a thread here, and what is left of the time without misses, in cycles per instruction; at the mean size. */
struct profile_costs {
    double overlap, cycles_per_instruction, stall_share;
};
struct profile_costs profile_costs(const struct profile_description *description, const struct profile_size *size);

/* Bytes per second that the query reads and writes back on so many cores with so much cache, alone; `curve` is an index. */
double profile_bandwidth(const struct profile_description *description, const struct profile_size *size, uint32_t curve,
                         uint32_t point);

/* YAML, for `corun host simulate`. */
void profile_describe(const struct profile_description *description, FILE *file);

#endif
