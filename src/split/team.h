/* SPDX-License-Identifier: MIT */
/* The CPU: threads that compute a part together, chunk by chunk, and sleep when there is none. */
#ifndef CORUN_SPLIT_TEAM_H
#define CORUN_SPLIT_TEAM_H

#include "corun/split.h"

struct team;

struct team_result {
    uint64_t done;  /* from the beginning of the part */
    double seconds; /* until the last thread was done; measured: as if each had its own processor */
    uint64_t asks;  /* of the program's function, whether it is needed; of all threads */
    enum corun_status status;
};

/*
 * `measured`: each thread stays on a processor of its own, and what counts is its processor time, so that others on the machine do
 * not matter. `yields`: a thread offers its processor to others about once in the time of a chunk. NULL: out of memory, or no thread could
 * be made.
 */
struct team *split_team_create(uint32_t threads, bool measured, bool yields, double chunk_seconds,
                               const struct corun_split_task *task);
void split_team_destroy(struct team *team);
/*
 * Begins [begin, end). `limit_seconds` > 0: no chunk is begun after that time, but one at least is done. `hurried`: chunks are shorter,
 * as somebody may wait for the one that is under way. When the part has ended, `ended` is called by a thread of the team.
 */
void split_team_start(struct team *team, uint64_t begin, uint64_t end, double limit_seconds, bool hurried,
                      void (*ended)(void *user, const struct team_result *result), void *user);
/* No further chunk is begun. Returns how many iterations of the part will have been done, from its beginning, when it ends. */
uint64_t split_team_recall(struct team *team);
/* The same, and what is begun is given up, if the program's function asks whether it is needed; then it is waited for. */
uint64_t split_team_stop(struct team *team);
/* By the program's function on that thread: whether what it computes is given up. */
bool split_team_unneeded(struct team *team, uint32_t thread);
/* Takes at most so many iterations off the end of the part, of those that nobody has begun. Returns how many. */
uint64_t split_team_take(struct team *team, uint64_t count);
uint64_t split_team_progress(struct team *team);
/* How many iterations of the part, from its beginning, would be kept now if it were stopped: those that are complete without a gap; all that are begun, if the
 * program's function does not ask. */
uint64_t split_team_kept(struct team *team);
/* Seconds from one question of the program's function to the next, on each thread; 0: it has not asked in this part. */
double split_team_asks(struct team *team);
/* The same as split_team_start, and waits for the end. */
struct team_result split_team_run(struct team *team, uint64_t begin, uint64_t end, double limit_seconds, bool hurried);

#endif
