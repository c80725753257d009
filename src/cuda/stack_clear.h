/* SPDX-License-Identifier: MIT */
/*
 * What functions leave on the stack. A program may give its GPU structures with bytes that it has never written, and these then are what was left there. In a
 * run that goes on from a checkpoint our functions do other things than they did then: so they leave zeros.
 */
#ifndef CORUN_CUDA_STACK_CLEAR_H
#define CORUN_CUDA_STACK_CLEAR_H

#include <stdint.h>

/* The lowest address of the calling thread's stack; UINTPTR_MAX: not known. */
uintptr_t stack_find_end(void);
/* Clears what lies below the caller, as far as our functions reach; `end` as above. */
void stack_clear(uintptr_t end);

#endif
