/* SPDX-License-Identifier: MIT */
/*
 * Handles. Whatever a program is given a handle of begins with a struct object; the process knows which of them live.
 */
#ifndef CORUN_CUDA_OBJECT_H
#define CORUN_CUDA_OBJECT_H

#include <stdbool.h>

struct process;

enum object_kind {
    OBJECT_CONTEXT = 1,
    OBJECT_STREAM,
    OBJECT_EVENT,
    OBJECT_MODULE,
    OBJECT_FUNCTION,
    OBJECT_GRAPH,
    OBJECT_GRAPH_NODE,
    OBJECT_GRAPH_EXECUTABLE,
    OBJECT_POOL,
    OBJECT_LINK,
    OBJECT_USER,
    OBJECT_ARRAY,
    OBJECT_MIPMAPPED_ARRAY,
    OBJECT_TEXTURE_REFERENCE,
    OBJECT_PHYSICAL,
    OBJECT_GREEN
};

/* The first member of everything that a program has a handle of. */
struct object {
    enum object_kind kind;
};

/* False when out of memory. */
bool object_add(struct process *process, struct object *object);
void object_remove(struct process *process, struct object *object);
/* NULL if it is no live handle of that kind. */
void *object_find(struct process *process, const void *handle, enum object_kind kind);

#endif
