/* SPDX-License-Identifier: MIT */
/*
 * Threads of a warp that end while others go on to act as a warp: to a shuffle, a vote, a match, a reduction or a barrier of the warp. On a
 * GPU whose threads run independently of each other (compute capability 7.0 and above), those wait for every thread that they name, except
 * for threads that have ended. A pass that keeps ended threads has to know.
 *
 * Whether threads part is found out by following what differs between the threads of a thread block: from the registers that say which
 * thread it is, from memory and from functions, through instructions, and into whatever is written where threads have parted.
 */
#ifndef CORUN_REWRITE_ENDINGS_H
#define CORUN_REWRITE_ENDINGS_H

#include "ptx/module.h"

/* Whether an instruction acts for a warp, by itself or in a function that it calls; `user` is that of the call. */
typedef bool acts_as_warp(void *user, const struct ptx_instruction *instruction);

/* *acts: the first such instruction that some threads may come to after others of their warp have ended; NULL: there is none. OK or MEMORY. */
enum corun_status endings_before_warp_acts(const struct ptx_function *kernel, acts_as_warp *test, void *user,
                                           struct arena *arena, const struct ptx_instruction **acts);

#endif
