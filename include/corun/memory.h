/* SPDX-License-Identifier: MIT */
/*
 * The device memory of one application: an address space of its own with checked allocations.
 *
 * Every application gets its own range of addresses (its number is in the high bits), so that applications on one GPU
 * never share a cache line and an address names its owner. Allocations are aligned to 256 bytes and separated by
 * gaps: an access that runs over the end of one never lands in the next.
 */
#ifndef CORUN_MEMORY_H
#define CORUN_MEMORY_H

#include "corun/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct corun_memory;

/* `application` counts from 0 and must be below CORUN_MAX_APPLICATIONS. NULL when out of memory. */
struct corun_memory *corun_memory_create(uint32_t application);
void corun_memory_destroy(struct corun_memory *memory);
/*
 * From now on kernels meet memory as on a GPU, which protects pages of 2 MiB and not allocations: a load that is at most so far from an
 * allocation gives zero instead of a fault, and what lies behind an allocation in the 256 bytes in which it ends can be used, behind shared
 * memory as well. To be called before anything is allocated. Accesses of the host (below) are checked as ever.
 */
void corun_memory_map_pages(struct corun_memory *memory);

/* Allocates `bytes` (> 0) zeroed bytes; *address is the device address. Returns OK or MEMORY. */
enum corun_status corun_memory_allocate(struct corun_memory *memory, uint64_t bytes, uint64_t *address);
/*
 * The same in whole pages that the host has at *host, at the device's own address where the host has room there: a pointer then means
 * the same on both sides.
 */
enum corun_status corun_memory_allocate_shared(struct corun_memory *memory, uint64_t bytes, uint64_t *address,
                                               void **host);
/*
 * Makes memory of the host, which stays the caller's, accessible at `address`; that must lie outside of the range that is allocated
 * from, in no application's range. ARGUMENT if it overlaps with what is there. corun_memory_free ends it.
 */
enum corun_status corun_memory_adopt(struct corun_memory *memory, uint64_t address, void *host, uint64_t bytes);
/* Frees an allocation by its first address; ARGUMENT if there is none. */
enum corun_status corun_memory_free(struct corun_memory *memory, uint64_t address);
/* Host to device and device to host; the whole range must lie in one allocation, else FAULT and nothing is copied. */
enum corun_status corun_memory_write(struct corun_memory *memory, uint64_t address, const void *source, uint64_t bytes);
enum corun_status corun_memory_read(const struct corun_memory *memory, uint64_t address, void *destination,
                                    uint64_t bytes);
/* Host pointer to [address, address + bytes), valid until that allocation is freed; NULL if out of bounds. */
void *corun_memory_pointer(struct corun_memory *memory, uint64_t address, uint64_t bytes);
uint64_t corun_memory_allocated_bytes(const struct corun_memory *memory);

#ifdef __cplusplus
}
#endif
#endif
