/* SPDX-License-Identifier: MIT */
/*
 * What the threads of the program do while the machine stands still: whether one of them will go on without the GPU. A thread that waits for a processor goes
 * on, so the answer does not depend on what else the host does. Nothing here allocates: the heap of the program stays as it is (own_heap.c).
 */
#ifndef CORUN_CUDA_PROGRAM_THREADS_H
#define CORUN_CUDA_PROGRAM_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Does a thread but the calling one run, or wait for a processor or a disk? False where that cannot be told. */
bool program_is_busy(void);
/*
 * Both of these: *run becomes what all threads but the calling one have run. Where two looks give the same, and true, nothing has happened between them.
 */
/* Do all threads but the calling one wait for each other? None of them goes on by itself then. False where that cannot be told. */
bool program_waits(uint64_t *run);
/* Does this thread wait for another one, and does none but the calling one and one of ours, `own`, run? What that one has run is not in *run. */
bool program_thread_stands(pid_t thread, pid_t own, uint64_t *run);

/* Time that the program has had, of which others than it have taken none. Zeroed is to begin. */
struct program_time {
    uint64_t processor; /* microseconds that its threads had run at the last look */
};
/* What the program has had since the last look, `look` microseconds ago. */
uint64_t program_time_since(struct program_time *time, uint64_t look);

#endif
