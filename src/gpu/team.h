/* SPDX-License-Identifier: MIT */
/* Host threads that do the parts of a step side by side: SMs, then channels of the memory system. */
#ifndef CORUN_GPU_TEAM_H
#define CORUN_GPU_TEAM_H

#include <stdint.h>

struct team;

struct team *team_create(uint32_t threads); /* NULL when out of memory or threads */
void team_destroy(struct team *team);
/* Runs `work(user, index)` for every index below `count`, on the calling thread and the team's. */
void team_run(struct team *team, void (*work)(void *user, uint32_t index), void *user, uint32_t count);

#endif
