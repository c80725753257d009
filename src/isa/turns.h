/* SPDX-License-Identifier: MIT */
/*
 * Turns of the paths of a warp. Threads may wait in a loop for another thread of their own warp: for a lock that it holds, for a flag that it
 * sets. GPUs since Volta see to it that each thread comes on at some time (CUDA C++ Programming Guide, "Independent Thread Scheduling"). Here
 * a path of the warp runs until it is gone (isa/simt_stack.h), so that one that waits in this way gives its turn away:
 *
 *                     `period` times round a loop,               each access to memory of many rounds as one before,
 *                     lanes elsewhere could store                and one of them asks what others may change
 *     the path runs ──────────────────────────────► looked at ────────────────────────────────────► it waits in a loop
 *           ▲                                           │ an access that is a new one                        │
 *           ├───────────────────────────────────────────┘ (the next period is twice as long)                │
 *           └─────────────────────────────────────────────────── another path has its turn ◄────────────────┘
 *
 * An access is as one before if it is of the same instruction and lanes, with the same address, and loads or stores the same values. So counters
 * and clocks may go on in such a loop. Which path is next: the one that has waited for the longest time; when each was found to wait in a loop,
 * lanes that wait behind a branch. These run on behind the next store or atomic operation, to a place that all come to, and wait there.
 *
 * Nothing of this changes what a path computes or when, until the first path of a warp has been found. It takes FIRST_ROUNDS rounds
 * that are all alike until then, LATER_ROUNDS afterwards. A path that waits so long for another warp is found, too, if lanes of
 * its own warp could store before they come to a barrier, or to an operation that names the waiting ones in a constant mask.
 */
#ifndef CORUN_ISA_TURNS_H
#define CORUN_ISA_TURNS_H

#include <stdbool.h>
#include <stdint.h>

struct corun_warp;
struct operation;

#define TURNS_SEEN 16u

struct turns {
    uint64_t seen[TURNS_SEEN]; /* digests of the accesses that were new in this look, from the first on */
    uint32_t rounds;           /* backward branches of a part of the warp since the last look, or in this one */
    uint32_t period;           /* so many of them until the next look; TURNS_LOOK: there is one now */
    uint32_t next_period;
    uint32_t looks;                           /* so far */
    uint32_t fresh;                           /* accesses of this look that were new */
    uint32_t same_rounds, same_polls, fences; /* since the last of those */
    uint32_t taken;                           /* turns that a path has been given after one that waits in a loop */
    uint32_t in_row;                          /* of those, since lanes behind a branch had one */
    uint32_t idle_looks;                      /* since then, that found nothing */
    uint32_t unused;                          /* zero */
};

#define TURNS_LOOK UINT32_MAX

/* A warp begins. */
void turns_start(struct turns *turns);
/* The period is over: looks at the top from now on (looked_at of its stack), if lanes elsewhere could help. */
void turns_look(struct corun_warp *warp);
/* So many instructions of a warp have run without timing. */
void turns_instructions(struct corun_warp *warp, uint32_t instructions);
/* While the top is looked at: `op` was run by the lanes `mask`. False: a fault was raised. */
bool turns_follow(struct corun_warp *warp, const struct operation *op, uint32_t mask);
/* The top, of a warp whose paths have taken turns, is at a barrier: a path that can run becomes the top. False: there is none. */
bool turns_before_barrier(struct corun_warp *warp);

#endif
