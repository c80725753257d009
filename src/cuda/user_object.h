/* SPDX-License-Identifier: MIT */
/*
 * User objects: a value of the program, counted references to it, and a function that is called when the last one is gone. Graphs have references: a copy
 * of a graph has as many, and a launch of one keeps one of each until all of it is done.
 */
#ifndef CORUN_CUDA_USER_OBJECT_H
#define CORUN_CUDA_USER_OBJECT_H

#include "base/vector.h"
#include "cuda/object.h"

#include <stdint.h>

struct called;
struct process;

struct user_object {
    struct object object;
    uint64_t references;
    struct called *end; /* its function, for caller.h */
};

struct user_reference {
    struct user_object *to;
    uint64_t count;
};

struct user_references {
    VECTOR(struct user_reference) list;
};

/* NULL when out of memory or threads. */
struct user_object *user_object_create(struct process *process, void *value, void (*destroy)(void *value),
                                       uint64_t references);
/* The function of an object without references is called before the call of CUDA ends (caller_owe). */
void user_object_release(struct process *process, struct user_object *object, uint64_t count);
/* `count` further references, in the list. False when out of memory. */
bool user_references_add(struct user_references *references, struct user_object *object, uint64_t count);
/* Takes so many out of the list and gives them up. False: there are fewer. */
bool user_references_give_up(struct process *process, struct user_references *references, struct user_object *object,
                             uint64_t count);
/* The same ones as another list has, or one of each. False when out of memory. */
bool user_references_copy(struct user_references *to, const struct user_references *from, bool one);
void user_references_free(struct process *process, struct user_references *references);

#endif
