/* SPDX-License-Identifier: MIT */
/*
 * Libraries that only learning needs are loaded when something learns. Bound when a command starts, they and what they need in turn (BLAS,
 * the runtime libraries of Fortran and C++) would be most of what every command does before its first line.
 */
#ifndef CORUN_MODEL_LIBRARY_H
#define CORUN_MODEL_LIBRARY_H

#include "corun/status.h"

#include <stddef.h>

struct library_function {
    const char *name;
    void *place; /* of a pointer to the function */
};

/* Loads the library, for as long as the process lives, and writes down where its functions are. NOT_FOUND, with the reason in `list`. */
enum corun_status library_functions(const char *library, const struct library_function *functions, size_t count,
                                    struct corun_diagnostics *list);

#endif
