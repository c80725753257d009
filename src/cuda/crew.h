/* SPDX-License-Identifier: MIT */
/*
 * Launches by workers, on request: every module is rewritten as it is loaded (rewrite/workers.h), and a launch becomes launches of workers
 * until every thread block of its grid has been run. Every SM owes every place, or, with a seed, what it owes changes at random.
 */
#ifndef CORUN_CUDA_CREW_H
#define CORUN_CUDA_CREW_H

#include "rewrite/workers.h"

#include <stdbool.h>

struct context;
struct corun_launch_description;
struct launch_request;

struct crewing {
    bool on;
    uint64_t seed; /* of what SMs owe; 0: everything, always */
};

/* A number: the seed. False if it is none. */
bool crewing_parse(const char *text, struct crewing *crewing);

#define CREW_QUEUES 1024u /* launches of a context that are under way by workers; further ones run as they are */

/* Of a context, in its memory. */
struct crew_memory {
    uint64_t places, queues;
    uint64_t used[CREW_QUEUES / 64]; /* bits: queues of launches that are under way */
    uint64_t random;
};

/* A launch that is under way. */
struct crew_walk {
    struct context *context;
    uint32_t queue;    /* CREW_QUEUES: it runs as it is */
    uint32_t launches; /* of workers, so far */
    uint64_t id;
    uint32_t flags; /* enum worker_flag */
};

/* False when out of memory. */
bool crew_begin(struct crew_walk *walk, const struct crewing *crewing, const struct launch_request *request,
                struct context *context, uint64_t id);
/* The next workers in place of the whole grid: their number, and their arguments behind those of the request. */
void crew_describe(struct crew_walk *walk, const struct launch_request *request,
                   struct corun_launch_description *description);
/* False when every thread block has been run, by workers that have ended. */
bool crew_next(struct crew_walk *walk);
void crew_end(const struct crew_walk *walk);
/* SMs owe something else now. */
void crew_disturb(struct context *context);

#endif
