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

struct process;

struct user_object {
    struct object object;
    uint64_t references;
    void *value;
    void (*destroy)(void *value);
    struct user_object *next; /* of those that nobody refers to any more */
};

struct user_reference {
    struct user_object *to;
    uint64_t count;
};

struct user_references {
    VECTOR(struct user_reference) list;
};

/* NULL when out of memory. */
struct user_object *user_object_create(struct process *process, void *value, void (*destroy)(void *value),
                                       uint64_t references);
/* The function of an object without references is called when the lock is given back: user_objects_end. */
void user_object_release(struct process *process, struct user_object *object, uint64_t count);
/* `count` further references, in the list. False when out of memory. */
bool user_references_add(struct user_references *references, struct user_object *object, uint64_t count);
/* Takes so many out of the list and gives them up. False: there are fewer. */
bool user_references_give_up(struct process *process, struct user_references *references, struct user_object *object,
                             uint64_t count);
/* The same ones as another list has, or one of each. False when out of memory. */
bool user_references_copy(struct user_references *to, const struct user_references *from, bool one);
void user_references_free(struct process *process, struct user_references *references);
/* A function that is called once the lock is given back, as that of an object without references. False when out of memory. */
bool user_objects_call(struct process *process, void *value, void (*function)(void *value));
/* Takes those that nobody refers to, with the lock; and calls their functions in the order in which they were given up, without. */
struct user_object *user_objects_take(struct process *process);
void user_objects_end(struct user_object *objects);

#endif
