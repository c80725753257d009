/* SPDX-License-Identifier: MIT */
/*
 * How fast everything runs at one moment: who shares cores, who shares ways of the cache, and what everybody's misses do to the memory.
 * A pure function of what runs where; time is not in it.
 */
#ifndef CORUN_HOST_CONTENTION_H
#define CORUN_HOST_CONTENTION_H

#include "host/application.h"
#include "host/machine.h"

/* A query, or the running instances of a batch program, which are all alike. */
struct contention_runner {
    const struct host_application *application;
    uint32_t tenant;                  /* fairness by applications: whose it is */
    double size;                      /* of the query */
    uint32_t count;                   /* instances; 0: nothing of it runs */
    uint32_t core_group, cache_group; /* places in the tables of struct contention */
    double filled;                    /* bytes of the cache that each instance has filled so far */
    bool frozen; /* its threads are on their way: it has its place in the cache, and does nothing */
    /* results, of each instance */
    double room;         /* bytes of the cache that it can fill, as things stand */
    double rate;         /* instructions per ns */
    double fill_rate;    /* bytes per ns that it reads from memory */
    double traffic_rate; /* the same and what is written back */
};

/* What is known of a runner while the memory is looked for. */
struct contention_pace {
    double width;      /* cores that it keeps busy, less what switches cost; of each instance */
    double compute_ns; /* of an instruction, misses left out */
    double misses;     /* of an instruction */
};

struct contention {
    const struct host_machine *machine;
    enum corun_host_fairness fairness; /* on core_group 0, the common cores */
    struct contention_runner *runners;
    struct contention_pace *paces; /* room for as many */
    uint32_t runner_count;
    const double *group_cores; /* [core groups] */
    const double *group_bytes; /* [cache groups] */
    uint32_t core_group_count, cache_group_count;
    /* results */
    double load;       /* of the memory, 0 to 1 */
    double latency_ns; /* of a miss under that load */
};

/*
 * Cores. On a group with cores for all, each runner is as fast as its speed-up says. Otherwise everybody gets the same fraction of what it would
 * use, which is what equal turns for all runnable threads come to, and pays for switches and refilled private caches once a slice.
 *
 * Cache. What is alone in its group has it. In a group of several, the room of each is in proportion to the lines that it brings in (a cache that
 * replaces what was not used for longest tends to that; Chandra et al., Predicting Inter-Thread Cache Contention, HPCA 2005, discuss
 * such models): a fixed number of damped steps, so that the same comes out everywhere.
 *
 * Memory. A miss takes latency_ns + burst_ns / 2 * load / (1 - load), the wait of an M/D/1 queue whose customers are bursts. The load
 * is the one at which the misses at that latency make just that load: found by bisection.
 */
void contention_solve(struct contention *contention);

/* What one thread pays for coming to a core that is not warm for it, in ns: the switch, and its private caches. */
double contention_move_ns(const struct host_machine *machine, const struct host_application *application);

#endif
