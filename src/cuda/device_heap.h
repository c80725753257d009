/* SPDX-License-Identifier: MIT */
/* The device heap: malloc and free of kernels, as PTX that is linked to modules which call them. */
#ifndef CORUN_CUDA_DEVICE_HEAP_H
#define CORUN_CUDA_DEVICE_HEAP_H

#include "corun/status.h"

/* Does a module declare one of them without a body? */
bool device_heap_wanted(const char *text);
/* The module with a heap of so many bytes of its own. *linked is to be freed. */
enum corun_status device_heap_link(const char *text, size_t bytes, uint64_t heap_bytes, struct corun_diagnostics *list,
                                   char **linked, size_t *linked_bytes);

#endif
