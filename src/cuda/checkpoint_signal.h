/* SPDX-License-Identifier: MIT */
/*
 * SIGTERM and SIGINT of a program whose state is saved: one more checkpoint, then the end that the signal would have been. Programs that handle or
 * ignore the signals themselves are left alone.
 */
#ifndef CORUN_CUDA_CHECKPOINT_SIGNAL_H
#define CORUN_CUDA_CHECKPOINT_SIGNAL_H

#include <stdbool.h>

struct checkpoint;

/*
 * Before the program's first call. False when there can be no thread. It is there also where nothing is to be saved: the program's memory lies around it, and
 * is to be where it was.
 */
bool checkpoint_signal_begin(struct checkpoint *checkpoint);
/* The state has been saved. */
_Noreturn void checkpoint_signal_end(const struct checkpoint *checkpoint);
/* In a child that was forked: signals are its own. */
void checkpoint_signal_forget(void);

#endif
