/* SPDX-License-Identifier: MIT */
/*
 * Launches without timing: all of them, or those outside of the region that is timed (region.h). One is carried out at once, to its end. One
 * that does not come on may be waiting for what the program does: it stands still between turns, and the rest of the program goes on.
 *
 *     start ─► runs ─────────────────────────────────────────────────► ended
 *               │ no thread block has ended for PATIENCE                 ▲
 *               └──────► in flight: a turn of TURN ──────────────────────┘
 *                             ▲            │ other tasks, other threads, the machine
 *                             └────────────┘
 *
 * Programs whose kernels launch kernels take no turns: what a thread has launched belongs to the launch that runs.
 */
#ifndef CORUN_CUDA_UNTIMED_H
#define CORUN_CUDA_UNTIMED_H

#include <stdbool.h>
#include <stdint.h>

struct process;
struct task;

/* A launch that can start since `cycle`: it has ended, failed with its context, or is in flight. */
void untimed_start(struct process *process, struct task *task, uint64_t cycle);
/* A turn for each that is in flight; false if none is. */
bool untimed_turns(struct process *process);
/* Another task starts beside them, if there are any: that is not captured. */
void untimed_beside(struct process *process);
/* A launch of whatever kind is dropped: no turn for it any more. */
void untimed_forget(struct process *process, const struct task *task);

#endif
