/* SPDX-License-Identifier: MIT */
/*
 * Variables of a program's module, for the rewritten one beside it (rewrite/borrow.h): their addresses are asked for by their names, and written into the table of the
 * rewritten module, before anything of that is launched. Constants are copied in front of every launch.
 */
#ifndef CORUN_SHIM_VARIABLES_H
#define CORUN_SHIM_VARIABLES_H

#include "rewrite/cache.h"

/* The module that the program has loaded in the current context, as a module or a library. */
struct lender {
    const void *handle;
    bool is_library;
};

/* A variable that is borrowed: where it is, and, where it is copied in front of launches, where to. */
struct lent {
    uint64_t from, to; /* from 0: the driver does not know it; to 0: it is not copied */
    size_t bytes;
};

/*
 * lent[i] becomes that of borrowed[i]; kernels that need others than those that the driver knows must not be launched from the rewritten module. False: the driver has no table, or
 * cannot write it, and nothing may be launched from there. Whatever other streams do or capture, nothing of that is waited for; the caller has made captures of this thread
 * relaxed.
 */
bool variables_lend(const struct cached_module *rewritten, void *module, struct lender lender, struct lent *lent);

/* In front of a launch of a kernel that borrows those, in its stream. False: the driver refuses, and the launch must not be made from the rewritten module. */
bool variables_copy(const struct lent *const *lent, uint32_t count, void *stream, bool per_thread);

#endif
