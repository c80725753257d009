/* SPDX-License-Identifier: MIT */
/*
 * Variables of a program's module, for the rewritten one beside it (rewrite/borrow.h): their addresses are asked for by their names, and written into the table of the
 * rewritten module, before anything of that is launched.
 */
#ifndef CORUN_SHIM_VARIABLES_H
#define CORUN_SHIM_VARIABLES_H

#include "rewrite/cache.h"

/* The module that the program has loaded in the current context, as a module or a library. */
struct lender {
    const void *handle;
    bool is_library;
};

/*
 * found[i]: the driver knows borrowed[i] of the lender's; kernels that need others must not be launched from the rewritten module. False: the driver has no table, or cannot write
 * it, and nothing may be launched from the rewritten module. Whatever other streams do or capture, nothing of that is waited for; the caller has made captures of this thread relaxed.
 */
bool variables_lend(const struct cached_module *rewritten, void *module, struct lender lender, bool *found);

#endif
