/* SPDX-License-Identifier: MIT */
/*
 * The memory command scheduler (Kernelet, section 3.2): submitted launches wait until their data are on the device, and results are copied
 * back. Kinds take turns for the device's memory: the next launch that gets some is the oldest of the kind that has the fewest launches
 * there, and nothing overtakes a launch for which there is no room yet. So a kind that its scheduler leaves for later does not fill the memory.
 * Launches are known by their numbers; times are ticks.
 */
#ifndef CORUN_QUEUE_COPIES_H
#define CORUN_QUEUE_COPIES_H

#include "base/vector.h"
#include "queue/run.h"

enum { COPY_IN, COPY_OUT, COPY_DIRECTIONS };

struct copy_engine {
    bool busy;
    uint32_t direction;
    size_t number; /* submission */
    uint64_t end;
};

/* Submissions that wait for a copy, in the order in which they came: [first, count). */
struct copy_line {
    VECTOR(size_t) numbers;
    size_t first;
};

struct copy_kind {
    struct copy_line in;
    uint32_t held; /* launches that have device memory */
};

struct copies {
    const struct queue_run_request *request;
    struct copy_kind *kinds;
    struct copy_line out;
    uint64_t memory_left;
    struct copy_engine engines[COPY_DIRECTIONS];
};

/* false: out of memory; copies_end() in any case. */
bool copies_begin(struct copies *copies, const struct queue_run_request *request);
void copies_end(struct copies *copies);
/* A launch was submitted, or has ended and has results. false: out of memory. */
bool copies_add(struct copies *copies, uint32_t direction, size_t number);
/* Begins what can begin now. */
void copies_start(struct copies *copies, uint64_t now);
/* The next end of a copy; UINT64_MAX if none is under way. */
uint64_t copies_next(const struct copies *copies);
/* A copy that has ended by now: its direction and launch. false if there is none. */
bool copies_take(struct copies *copies, uint64_t now, uint32_t *direction, size_t *number);
bool copies_busy(const struct copies *copies);

#endif
