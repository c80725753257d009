/* SPDX-License-Identifier: MIT */
/*
 * A module in which kernels are there twice: as they are, and once more under another name. A pass makes something of the ones and leaves the others alone; both
 * use the same variables and functions, which a second module would have for itself.
 */
#ifndef CORUN_REWRITE_DOUBLED_H
#define CORUN_REWRITE_DOUBLED_H

#include "ptx/module.h"

struct doubled {
    struct ptx_module *module;
    uint32_t
        copies; /* the last functions of the module; those of a kernel that declares a variable in global memory are not there */
    const char *suffix; /* of their names, behind those of the kernels; in the module's arena */
};

/* OK, or MEMORY without a message; on failure there is nothing to destroy. */
enum corun_status doubled_create(const struct ptx_module *source, struct corun_diagnostics *list,
                                 struct doubled *doubled);
void doubled_destroy(struct doubled *doubled);

static inline bool doubled_is_copy(const struct doubled *doubled, const struct ptx_function *function)
{
    return doubled->copies && function->index >= doubled->module->function_count - doubled->copies;
}

#endif
