/* SPDX-License-Identifier: MIT */
/* Memory that programs allocate or register, on the device and on the host: who owns which addresses. */
#ifndef CORUN_CUDA_RANGES_H
#define CORUN_CUDA_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context;
struct pool_bytes;
struct process;

enum range_kind {
    RANGE_DEVICE,
    RANGE_HOST,       /* pinned, allocated here: device and host address are the same where that was possible */
    RANGE_MANAGED,    /* the same, for both sides */
    RANGE_REGISTERED, /* the program's own memory */
    RANGE_MODULE,     /* a variable */
    RANGE_VIRTUAL     /* mapped by virtual memory management */
};

/*
 * Host address and device address are different only for RANGE_HOST and RANGE_MANAGED that could not be put where the
 * device has them.
 */
struct range {
    uint64_t address, bytes;
    enum range_kind kind;
    unsigned flags;
    struct context *context;
    struct {
        bool read_mostly;
        uint8_t preferred, prefetched; /* runtime_memory_advice.c */
        uint32_t accessed_by;
    } advice;                /* of managed memory */
    struct pool_bytes *pool; /* that it is from; NULL: none */
};

/* Memory of a device that the host does not see. What it sees is every context's, at the same address. */
bool range_of_device(const struct range *range);
/* A new context gets what the host sees. False when out of memory. */
bool ranges_share(struct process *process, struct context *context);
bool ranges_add(struct process *process, struct range range);
void ranges_remove(struct process *process, uint64_t address);
/* The range that holds an address; NULL if there is none. Valid until the next change. */
const struct range *ranges_find(const struct process *process, uint64_t address);

/* `by` is what messages about faults say who made it, and below who freed it: an entry point. */
int memory_allocate(struct process *process, struct context *context, size_t bytes, uint64_t *address, const char *by);
/* Memory that the host sees, too. */
int memory_allocate_host(struct process *process, struct context *context, size_t bytes, enum range_kind kind,
                         unsigned flags, uint64_t *address);
int memory_release(struct process *process, uint64_t address, const char *by);
/* The range at an address is from a pool, which counts it until it is released. */
void memory_count(struct process *process, uint64_t address, struct pool_bytes *pool);
/* A range of a context's memory goes, without anything of the process's own. */
void memory_forget(struct process *process, struct context *context, uint64_t address, const char *by);
int memory_register(struct process *process, struct context *context, void *host, size_t bytes, unsigned flags);
int memory_unregister(struct process *process, void *host);

#endif
