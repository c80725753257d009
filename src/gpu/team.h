/* SPDX-License-Identifier: MIT */
/* Host threads that do the parts of a step side by side: SMs, beside them what the memory system owes, its channels. */
#ifndef CORUN_GPU_TEAM_H
#define CORUN_GPU_TEAM_H

#include <stdbool.h>
#include <stdint.h>

#define TEAM_MOST UINT16_MAX /* indices of a round */

struct team;

struct team *team_create(uint32_t threads); /* NULL when out of memory or threads */
void team_destroy(struct team *team);
uint32_t team_threads(const struct team *team); /* the calling one included */
/* Rounds of one kind: what they took lately, on how many threads. Zero at first. */
struct team_kind {
    uint64_t ns;
    uint32_t caller_share; /* indices that the caller did, in 256ths */
    bool shared;           /* short ones are done by the caller alone */
};

/*
 * Runs `work(user, index)` for every index below `count`, TEAM_MOST at most, on the calling thread and on those of the team that come in time. `kind`
 * NULL: whatever rounds take, they are shared, in equal parts.
 */
void team_run(struct team *team, struct team_kind *kind, void (*work)(void *user, uint32_t index), void *user,
              uint32_t count);
/*
 * The same, but the calling thread does `first(first_user)` before it does its part, which gets smaller the longer that takes. `first` may call
 * team_run: who has no index left here comes there.
 */
void team_run_beside(struct team *team, struct team_kind *kind, void (*work)(void *user, uint32_t index), void *user,
                     uint32_t count, void (*first)(void *user), void *first_user);

#endif
