/* SPDX-License-Identifier: MIT */
/*
 * Addresses within constant memory. When variables are borrowed (borrow.h), what a register holds of these becomes a generic address, or one within the constant memory of the
 * new module. That is right where every such register is seen: it comes from a variable in the same function and leads to loads there. An address within constant
 * memory that was in memory, or goes there, would be read by other kernels as what it was before.
 */
#ifndef CORUN_REWRITE_BORROW_CONSTANTS_H
#define CORUN_REWRITE_BORROW_CONSTANTS_H

#include "ptx/module.h"

/* Of a function. */
struct constant_addresses {
    bool computes;        /* it has any in registers */
    bool converts;        /* generic ones to such or back, other than those of variables that it names */
    const char *obstacle; /* NULL: it can be rewritten by itself. Else why not, and where */
    struct ptx_place place;
    bool leaks; /* one leaves the function: no function of the module that computes any can be rewritten */
};

/* *rows has one for each function of the module, in `arena`. OK or MEMORY. */
enum corun_status constant_addresses_create(const struct ptx_module *module, struct arena *arena,
                                            const struct constant_addresses **rows);

#endif
