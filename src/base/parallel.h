/* SPDX-License-Identifier: MIT */
/* The same work done by several threads side by side, each taking the next piece from what `user` points to. */
#ifndef CORUN_BASE_PARALLEL_H
#define CORUN_BASE_PARALLEL_H

#include <stdint.h>

/* As many as asked for; 0: one for each processor. */
uint32_t parallel_jobs(uint32_t asked);
/*
 * Calls `work` on `jobs` threads (PARALLEL_MAX at most), one of them the calling one, so that the work is done if no other
 * can be started. Returns when all have.
 */
#define PARALLEL_MAX 64u
void parallel_run(uint32_t jobs, void *(*work)(void *user), void *user);

#endif
