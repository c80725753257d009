/* SPDX-License-Identifier: MIT */
/*
 * What a pool of memory counts: bytes that it has given out, and those that it has reserved for that. A pool reserves in pages of the GPU. What is freed stays
 * reserved, until a call that waits for a stream, an event or a context: then only so much as the pool's threshold says. Memory that is reserved and not given out is counted
 * as taken, and given up when somebody wants it.
 */
#ifndef CORUN_CUDA_POOL_BYTES_H
#define CORUN_CUDA_POOL_BYTES_H

#include <stdint.h>

struct device;
struct process;

struct pool_bytes {
    uint64_t used, most_used, reserved, most_reserved;
    uint64_t threshold;  /* that stays reserved when the program waits */
    uint64_t file;       /* inode of the file by which other processes know the pool; 0: none */
    uint32_t references; /* the pool, and each range */
};

/* The pool gives out so many bytes, or gets them back. */
void pool_bytes_take(struct pool_bytes *pool, uint64_t bytes);
void pool_bytes_give(struct pool_bytes *pool, uint64_t bytes);
/* Gives up what is reserved beyond so many bytes, and not given out. */
void pool_bytes_trim(struct pool_bytes *pool, uint64_t bytes);
/* The program has waited for what the device does. */
void pool_bytes_waited(struct process *process, const struct device *device);
/* What the device's pools have reserved and not given out. */
uint64_t pool_bytes_idle(const struct process *process, const struct device *device);
/* A reference less. */
void pool_bytes_release(struct pool_bytes *pool);

#endif
