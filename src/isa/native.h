/* SPDX-License-Identifier: MIT */
/*
 * Machine code for what runs without timing: a block of a kernel that has been run for some times gets code of the host. A block has operations over
 * lanes and accesses to memory, and ends where control or the stack of lanes has to be looked at, or with a branch that all lanes take or none.
 * Code does what the functions of the operations do (lanes.h, access.c), bit for bit; values stay in registers of the host from one operation to the
 * next, and a block goes on to the next one by itself. Code for a whole warp and for any of its lanes are two.
 *
 *     operations of the kernel        code
 *     ┌ mov, mad, setp ┐              ┌ block ┐ ──all or none──► the block of the target
 *     │ ld, ld         │      ──►     │       │ ──lanes part───► back to executor_run, at the branch
 *     └ fma, bra       ┘              └───┬───┘
 *                                         └─ a load that is no row of 16 lanes: access_quick.c, and on
 *
 * There is code on x86-64 with AVX-512; on other hosts no kernel gets any.
 */
#ifndef CORUN_ISA_NATIVE_H
#define CORUN_ISA_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct corun_kernel;
struct native;
struct native_frame;

/* A block; `operations` is 0 where none begins. */
struct native_block {
    const void *code; /* NULL: none yet */
    uint32_t operations;
    uint32_t runs; /* without code */
};

/* Of a kernel. */
struct native_code {
    void (*enter)(struct native_frame *frame, const void *code);
    struct native_block *blocks[2]; /* for whole warps, for any lanes: [operation] */
    uint32_t after;                 /* runs without code, after which a block gets it */
};

/* Code of a kernel, which has to outlive it: none at first. NULL: this host has none, or there is no memory for it. */
struct native *native_create(const struct corun_kernel *kernel, uint32_t after);
void native_destroy(struct native *native);
struct native_code *native_code(struct native *native);
/* Makes code of a block. NULL when out of memory: it never gets any. */
const void *native_make(struct native_code *code, bool masked, uint32_t first);

/* The code of the block that begins at an operation; NULL: none begins there, or it has none yet, or more operations than are left. */
static inline const void *native_find(struct native_code *code, bool masked, uint32_t operation, uint64_t left)
{
    struct native_block *block = &code->blocks[masked][operation];
    if (!block->operations || block->operations > left)
        return NULL;
    if (block->code || block->runs++ < code->after)
        return block->code;
    return native_make(code, masked, operation);
}

#endif
