/* SPDX-License-Identifier: MIT */
/*
 * Virtual memory management: memory of a device (physical) apart from the addresses that it is reached by. A
 * reservation is addresses without memory; a mapping puts memory there; then devices are given access.
 *
 * Physical memory is a memory file of the host, and a mapping maps it at the device's address: so that the same memory
 * can be mapped more than once, and other processes can map it by the file's descriptor.
 */
#ifndef CORUN_CUDA_VIRTUAL_MEMORY_H
#define CORUN_CUDA_VIRTUAL_MEMORY_H

#include "base/vector.h"
#include "cuda/object.h"

#include <stdint.h>

struct context;
struct device;
struct process;

#define GRANULARITY (UINT64_C(2) << 20) /* as on the hardware */

struct physical {
    struct object object;
    struct device *device;
    uint64_t bytes;
    uint32_t handles;    /* that the program holds */
    uint32_t references; /* those, and one of each mapping */
    int file, handle_types;
};

struct reservation {
    uint64_t address, bytes;
};

struct mapping {
    uint64_t address, bytes;
    struct physical *physical;
    uint32_t devices; /* bit mask: which may use it */
};

/* A run of mappings in a context's memory. `owner`: the context that the range is written down for. */
struct adopted {
    struct context *context;
    uint64_t address;
    bool owner;
};

struct virtual_memory {
    VECTOR(struct reservation) reservations;
    VECTOR(struct mapping) mappings; /* in ascending address */
    VECTOR(struct adopted) adopted;
    size_t contexts_told; /* of the process, when mappings were last told */
    uint64_t next;        /* where the next reservation is wished for; 0: there was none */
};

/* NULL when out of memory. */
struct virtual_memory *virtual_memory_get(struct process *process);
/* `file`: of another process, taken over; or -1. NULL when out of memory. */
struct physical *physical_create(struct process *process, struct device *device, uint64_t bytes, int file);
void physical_release(struct process *process, struct physical *physical);
/* The address; 0 if there is no room. */
uint64_t virtual_reserve(struct process *process, uint64_t bytes, uint64_t alignment);
int virtual_free(struct process *process, uint64_t address, uint64_t bytes);
int virtual_map(struct process *process, uint64_t address, uint64_t bytes, uint64_t offset, struct physical *physical);
int virtual_unmap(struct process *process, uint64_t address, uint64_t bytes);
int virtual_set_access(struct process *process, uint64_t address, uint64_t bytes, uint32_t device, bool accessible);
/* The mapping that an address lies in; NULL if there is none. */
const struct mapping *virtual_find(struct process *process, uint64_t address);

#endif
