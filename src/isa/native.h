/* SPDX-License-Identifier: MIT */
/*
 * Machine code for what runs without timing: a kernel that has run for a while gets code of the host for its blocks. A block has operations over
 * lanes and accesses to memory, and ends where control or the stack of lanes has to be looked at, or with a branch that all lanes take or none.
 * Code does what the functions of the operations do (lanes.h, access.c), bit for bit; values stay in registers of the host from one operation to the
 * next, and a block goes on to the next one by itself. Each has code for a whole warp and code for any of its lanes.
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
#include <stdint.h>

struct corun_kernel;
struct native;
struct native_frame;

/* A block; `operations` is 0 where none begins. */
struct native_block {
    const void *code;
    uint32_t operations;
};

/* Of a kernel. */
struct native_code {
    void (*enter)(struct native_frame *frame, const void *code); /* NULL: there is none */
    const struct native_block *blocks[2];                        /* for whole warps, for any lanes: [operation] */
};

/* Code of a kernel, which has to outlive it. NULL: this host has none, or there is no memory for it. */
struct native *native_create(const struct corun_kernel *kernel);
void native_destroy(struct native *native);
/* `native` may be NULL. */
struct native_code native_code(const struct native *native);

#endif
