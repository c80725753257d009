/* SPDX-License-Identifier: MIT */
/* Host threads that do the parts of a step side by side: SMs, then channels of the memory system. */
#ifndef CORUN_GPU_TEAM_H
#define CORUN_GPU_TEAM_H

#include <stdint.h>

#define TEAM_MOST UINT16_MAX /* indices of a round */

struct team;

struct team *team_create(uint32_t threads); /* NULL when out of memory or threads */
void team_destroy(struct team *team);
/* Runs `work(user, index)` for every index below `count`, TEAM_MOST at most, on the calling thread and on those of the team that come in time. */
void team_run(struct team *team, void (*work)(void *user, uint32_t index), void *user, uint32_t count);

#endif
