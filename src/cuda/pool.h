/* SPDX-License-Identifier: MIT */
/* Pools of memory that streams allocate from. A pool may be of another process: then memory of it is opened, not allocated. */
#ifndef CORUN_CUDA_POOL_H
#define CORUN_CUDA_POOL_H

#include "cuda/object.h"

#include <stdbool.h>
#include <stdint.h>

struct call;
struct device;
struct pool_bytes;
struct process;

enum { POOL_HANDLE_NONE = 0, POOL_HANDLE_FILE = 1 }; /* cudaMemAllocationHandleType: a file descriptor */

struct pool {
    struct object object;
    struct device *device;
    uint64_t most_bytes; /* that it gives out at once; 0: as many as there are */
    struct pool_bytes *bytes;
    int file;      /* a memory file without content, by which processes know the pool; -1: it has no handles */
    bool imported; /* the file is of another process's pool */
};

/* `file` is taken over, also where the pool cannot be made: NULL when out of memory. */
struct pool *pool_create(struct process *process, struct device *device, int file);
void pool_destroy(struct process *process, struct pool *pool);

#endif
