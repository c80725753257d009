/* SPDX-License-Identifier: MIT */
/*
 * Kernels of the program: which module they are from, what a thread block of them takes, and their sliced form (rewrite/slice.h), which is made when a
 * launch is to be cut for the first time. What the shim has not seen being loaded is not known, and launched whole.
 */
#ifndef CORUN_SHIM_KERNELS_H
#define CORUN_SHIM_KERNELS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel {
    struct kernel *next; /* of those whose handles have the same place */
    const void *handle;
    struct image *image;
    char *name;
    _Atomic uint64_t block_ps; /* the time of a launch over its thread blocks, in picoseconds; 0: not known */
    /* of the context in which it was made, under the lock */
    const void *context;
    void *function;
    uint32_t wave;       /* thread blocks that the GPU holds at once */
    uint32_t parameters; /* before the slice's */
    bool whole;          /* it cannot be cut */
};

/* What was launched took so long. A longer time counts at once, shorter ones bit by bit. */
void kernel_took(struct kernel *kernel, uint64_t blocks, uint64_t ns);
/* NULL: not known. Lives for ever. */
struct kernel *kernel_find(const void *handle);
/* Whether the kernel has a sliced form in the current context, for thread blocks of that shape; makes it if need be. */
bool kernel_sliced(struct kernel *kernel, uint32_t block_threads, uint32_t shared_bytes);
/* Whether launches are cut at all: the program is under corund, and was started so. */
bool kernels_are_cut(void);

#endif
