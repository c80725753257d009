/* SPDX-License-Identifier: MIT */
/*
 * The device heap: malloc and free of kernels, as PTX that is linked to modules which call them. A context has one. Its variables are those of the first module
 * that wants it, and stay as long as the context; the text of later modules has their addresses.
 */
#ifndef CORUN_CUDA_DEVICE_HEAP_H
#define CORUN_CUDA_DEVICE_HEAP_H

#include "corun/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context;
struct corun_kernel;
struct module;

struct device_heap {
    uint64_t blocks, top, free; /* device addresses of its variables; 0: there is none yet */
    uint64_t bytes;
    bool used; /* a kernel that allocates or frees was launched */
};

/* Does a module declare one of them without a body? */
bool device_heap_wanted(const char *text);
/* The text of both, with the variables of a new heap if the context has none. */
#define DEVICE_HEAP_TEXT_BYTES 4096u
void device_heap_write(const struct context *context, char library[DEVICE_HEAP_TEXT_BYTES]);
/* The module with the heap of its context, or with a new one. *linked is to be freed. */
enum corun_status device_heap_link(const struct context *context, const char *text, size_t bytes,
                                   struct corun_diagnostics *list, char **linked, size_t *linked_bytes);
/* A module has been loaded: if it has brought the heap, this is the one of its context. */
void device_heap_take(struct context *context, const struct module *module);
/* A kernel is launched. */
void device_heap_launch(struct context *context, const struct corun_kernel *kernel);
/* The limit becomes so many bytes; false: it is too late for that. */
bool device_heap_limit(struct context *context, size_t bytes);

#endif
