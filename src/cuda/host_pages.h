/* SPDX-License-Identifier: MIT */
/* Memory that the host and kernels see: which of its pages kernels have changed. */
#ifndef CORUN_CUDA_HOST_PAGES_H
#define CORUN_CUDA_HOST_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process;

/* A number for each page of the ranges that the host sees, in their order. Zeroed is empty. */
struct host_pages {
    uint64_t *digests;
    size_t count, capacity;
    bool known; /* nobody has changed such memory since they were computed */
};

/* Before kernels run. False when out of memory. */
bool host_pages_look(const struct process *process, struct host_pages *pages);
/* After they have run: tells of each run of pages that is not as it was. */
void host_pages_changed(const struct process *process, struct host_pages *pages,
                        void (*tell)(void *user, uint64_t address, uint64_t bytes), void *user);
/* One number for all of it. */
uint64_t host_pages_digest(const struct process *process);
void host_pages_free(struct host_pages *pages);

#endif
