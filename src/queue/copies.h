/* SPDX-License-Identifier: MIT */
/*
 * The memory command scheduler (Kernelet, section 3.2): submitted launches wait until their data are on the device, and results are copied
 * back. Launches are known by their numbers; times are ticks.
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

struct copies {
    const struct queue_run_request *request;
    VECTOR(size_t) waiting[COPY_DIRECTIONS]; /* submissions; [first, count) */
    size_t first[COPY_DIRECTIONS];
    uint64_t memory_left;
    struct copy_engine engines[COPY_DIRECTIONS];
};

void copies_begin(struct copies *copies, const struct queue_run_request *request);
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
/* Something waits that could begin if it were not for kernels. */
bool copies_wanted(const struct copies *copies);

#endif
