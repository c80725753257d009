/* SPDX-License-Identifier: MIT */
/* Handles: which of them live, and of what kind they are. */
#include "cuda/object.h"

#include "cuda/pointer_map.h"
#include "cuda/process.h"

bool object_add(struct process *process, struct object *object)
{
    return pointer_map_set(&process->objects, object, object);
}

void object_remove(struct process *process, struct object *object)
{
    pointer_map_remove(&process->objects, object);
}

void *object_find(struct process *process, const void *handle, enum object_kind kind)
{
    struct object *object = pointer_map_get(&process->objects, handle);
    return object && object->kind == kind ? object : NULL;
}
