/* SPDX-License-Identifier: MIT */
/*
 * What the simulated host knows of a program: how much it computes, how that spreads over cores, and what misses of the last-level cache
 * cost it. Read from YAML (docs/host.md), measured from real programs. Nothing here knows a host.
 */
#ifndef CORUN_HOST_APPLICATION_H
#define CORUN_HOST_APPLICATION_H

#include "base/arena.h"
#include "corun/host.h"

#define HOST_MOST_THREADS 1024u /* of an application, and cores of a row of its speed-up */
#define HOST_MOST_ROWS 1024u    /* of a table in a description */

/* (x, y) of a piecewise linear curve, x ascending. */
struct host_point {
    double x, y;
};
struct host_curve {
    struct host_point *points; /* [count], at least one */
    size_t count;
};

enum host_size_kind { HOST_SIZE_TABLE, HOST_SIZE_FIXED, HOST_SIZE_EXPONENTIAL, HOST_SIZE_LOGNORMAL };

/* How the sizes of queries are distributed. */
struct host_sizes {
    enum host_size_kind kind;
    struct host_curve table; /* TABLE: x a size, y the sum of the weights up to it; the last one is 1 */
    double mean;             /* FIXED: the size; EXPONENTIAL: its mean; LOGNORMAL: its median */
    double sigma;            /* LOGNORMAL: deviation of the logarithm */
    double most;             /* a larger one is drawn again; 0: no limit */
};

/* Speed on 1, 2, … cores over one core, everything in the last-level cache. */
struct host_speedup {
    double size;
    double *speed; /* [count]; speed[0] is 1 */
    uint32_t count;
};

struct host_application {
    struct arena *arena;                          /* everything below */
    const char *name, *summary, *measured, *unit; /* texts that are not given: "" */
    enum corun_host_kind kind;
    uint32_t threads;
    struct host_sizes sizes;        /* service */
    struct host_curve instructions; /* x a size; batch: one point, x 0 */
    double variation;               /* service: deviation of the logarithm of the instructions of queries of one size */
    double cycles_per_instruction, overlap, writebacks;
    struct host_speedup *speedups; /* [speedup_count], by size */
    size_t speedup_count;
    double *miss_threads, *miss_sizes; /* ascending: the axes of the curves of misses */
    size_t miss_thread_count, miss_size_count;
    struct host_curve *misses; /* [miss_size_count][miss_thread_count]: x bytes, y misses of 1000 instructions */
};

/* `path` is for messages. SYNTAX, MEMORY. The application is the caller's, who ends it with host_application_destroy. */
enum corun_status host_application_parse(const char *path, const char *text, size_t bytes,
                                         struct corun_diagnostics *list, struct host_application **application);
/*
 * A description by its name in host/applications of the data directory, or by the path of its file (a word with a `/` or ending in .yaml).
 * NOT_FOUND, FILE, SYNTAX, MEMORY.
 */
enum corun_status host_application_load(const char *word, const char *data_directory, struct corun_diagnostics *list,
                                        struct host_application **application);
void host_application_destroy(struct host_application *application); /* NULL: nothing */

/* Instructions of a query of that size, at least 1; of a run of an instance (whatever the size). */
double host_application_instructions(const struct host_application *application, double size);
/* Speed over one core on `cores` (not necessarily whole ones; below 1 it is `cores`), never more than its threads. */
double host_application_speedup(const struct host_application *application, double size, double cores);
/* Misses of 1000 instructions with so many bytes of the last-level cache and threads. */
double host_application_misses(const struct host_application *application, double size, double threads, double bytes);

#endif
