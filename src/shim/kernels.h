/* SPDX-License-Identifier: MIT */
/*
 * Kernels of the program: which module they are from, what a thread block of them takes, and their other form, in slices (rewrite/slice.h) or as workers
 * (rewrite/workers.h), which is made when a launch needs it for the first time. What the shim has not seen being loaded is not known, and launched whole.
 */
#ifndef CORUN_SHIM_KERNELS_H
#define CORUN_SHIM_KERNELS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel {
    struct kernel *next;   /* of those whose handles have the same place */
    _Atomic uint32_t uses; /* one while the driver has it, and one for whoever looks at it */
    const void *handle;
    const void *home; /* the context to which the handle belongs; NULL: none */
    struct image *image;
    char *name;
    _Atomic uint64_t block_ps; /* the time of a launch over its thread blocks, in picoseconds; 0: not known */
    /* of the context in which it was made, under the lock */
    const void *context;
    void *function;
    uint32_t wave, per_sm;           /* thread blocks that the GPU holds at once, and one SM, */
    uint32_t threads, shared_bytes;  /* of this shape, that of the launch before; 0: not known */
    uint32_t parameters;             /* before the one that was added */
    const uint32_t *parameter_bytes; /* of each of them; NULL: the driver does not tell */
    bool whole;                      /* it has no other form */
    bool ranges;                     /* workers may draw several thread blocks at a time */
    const struct lent **copied;      /* variables that are copied in front of each launch of that: variables.h */
    uint32_t copied_count;
};

/* What was launched took so long. A longer time counts at once, shorter ones bit by bit. */
void kernel_took(struct kernel *kernel, uint64_t blocks, uint64_t ns);
/* NULL: not known. Whoever has it drops it; then it lives as long as the driver has the kernel. */
struct kernel *kernel_find(const void *handle);
/* The same of one whose other form has been made in the context, and launched in that shape before. */
struct kernel *kernel_find_made(const void *handle, const void *context, uint32_t block_threads, uint32_t shared_bytes);
/* Once more, for whoever keeps it longer than that. NULL: nothing happens, here and below. */
struct kernel *kernel_share(struct kernel *kernel);
void kernel_drop(struct kernel *kernel);
/*
 * How many thread blocks of that shape the GPU holds at once of the kernel's other form, which is made if need be; 0: it has none in the current
 * context, or none of that shape.
 */
uint32_t kernel_rewritten(struct kernel *kernel, uint32_t block_threads, uint32_t shared_bytes);

enum kernels_form { KERNELS_WHOLE, KERNELS_SLICES, KERNELS_WORKERS };
/* What launches may become at all: the program is under corund, and was started so. */
enum kernels_form kernels_form(void);
/* In a child of the process (forked.h). */
void kernels_forked(void);

#endif
