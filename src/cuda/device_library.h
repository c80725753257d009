/* SPDX-License-Identifier: MIT */
/* What CUDA's own library for kernels has of functions, as PTX that is linked to modules which call them. */
#ifndef CORUN_CUDA_DEVICE_LIBRARY_H
#define CORUN_CUDA_DEVICE_LIBRARY_H

#include "corun/status.h"

#include <stdbool.h>
#include <stddef.h>

struct corun_diagnostics;

/* Does a text have `.extern .func … NAME` followed by its parameters? */
bool device_library_declares(const char *text, const char *name);
extern const char device_library_text[];
/* Does a module declare a function of the library without a body? */
bool device_library_wanted(const char *text);
/* The module with the library. *linked is to be freed. */
enum corun_status device_library_link(const char *text, size_t bytes, struct corun_diagnostics *list, char **linked,
                                      size_t *linked_bytes);

#endif
