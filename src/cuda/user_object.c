/* SPDX-License-Identifier: MIT */
/* References to user objects, and their ends. */
#include "cuda/user_object.h"

#include "cuda/caller.h"
#include "cuda/process.h"

#include <stdlib.h>

struct user_object *user_object_create(struct process *process, void *value, void (*destroy)(void *value),
                                       uint64_t references)
{
    struct user_object *object = calloc(1, sizeof *object);
    if (!object)
        return NULL;
    *object = (struct user_object){{OBJECT_USER}, references, NULL};
    object->end = caller_create(process, &(struct callee){.function = destroy, .user = value});
    if (object->end && object_add(process, &object->object))
        return object;
    if (object->end)
        caller_release(object->end);
    free(object);
    return NULL;
}

void user_object_release(struct process *process, struct user_object *object, uint64_t count)
{
    object->references -= count;
    if (object->references)
        return;
    object_remove(process, &object->object);
    caller_owe(process, object->end);
    free(object);
}

static struct user_reference *find(const struct user_references *references, const struct user_object *object)
{
    for (size_t i = 0; i < references->list.count; i++)
        if (references->list.data[i].to == object)
            return &references->list.data[i];
    return NULL;
}

bool user_references_add(struct user_references *references, struct user_object *object, uint64_t count)
{
    struct user_reference *found = find(references, object), row = {object, count};
    if (found)
        found->count += count;
    else if (!vector_push(&references->list, row))
        return false;
    object->references += count;
    return true;
}

bool user_references_give_up(struct process *process, struct user_references *references, struct user_object *object,
                             uint64_t count)
{
    struct user_reference *found = find(references, object);
    if (!found || found->count < count)
        return false;
    found->count -= count;
    if (!found->count)
        *found = references->list.data[--references->list.count];
    user_object_release(process, object, count);
    return true;
}

bool user_references_copy(struct user_references *to, const struct user_references *from, bool one)
{
    for (size_t i = 0; i < from->list.count; i++)
        if (!user_references_add(to, from->list.data[i].to, one ? 1 : from->list.data[i].count))
            return false;
    return true;
}

void user_references_free(struct process *process, struct user_references *references)
{
    for (size_t i = 0; i < references->list.count; i++)
        user_object_release(process, references->list.data[i].to, references->list.data[i].count);
    vector_free(&references->list);
}
