/* SPDX-License-Identifier: MIT */
/*
 * The global stores of one SM that the other SMs do not see yet: an overlay of 128-byte lines over memory.
 *
 * Loads of the SM ask store_buffer_may_hold first: a filter of one bit per hashed line, so that a load of data that nobody just wrote
 * pays next to nothing.
 */
#ifndef CORUN_ISA_STORE_BUFFER_H
#define CORUN_ISA_STORE_BUFFER_H

#include "isa/address.h"

#define STORE_FILTER_WORDS 32u

struct store_line {
    _Alignas(64) uint8_t data[LINE_BYTES];
    uint64_t written[2]; /* a bit per byte */
    uint64_t line;       /* device address / LINE_BYTES */
    uint8_t *host;       /* of the line's first byte */
};

struct store_buffer {
    uint64_t filter[STORE_FILTER_WORDS];
    struct store_line *lines; /* in order of their first store */
    uint32_t *table;          /* open addressing: index of a line + 1, 0 if free */
    uint32_t count, capacity; /* the table has 2 * capacity places */
};

void store_buffer_free(struct store_buffer *buffer);

/* Puts `bytes` bytes at a device address into the buffer; `host` is where they will go. False when out of memory. */
bool store_buffer_write(struct store_buffer *buffer, uint64_t address, uint8_t *host, const void *source,
                        uint32_t bytes);
/* Replaces those of the `bytes` bytes read at `address` that the buffer holds. */
void store_buffer_overlay(const struct store_buffer *buffer, uint64_t address, void *bytes_read, uint32_t bytes);
void store_buffer_commit(struct store_buffer *buffer);

static inline uint32_t store_buffer_hash(uint64_t line)
{
    return (uint32_t)((line * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

static inline bool store_buffer_may_hold(const struct store_buffer *buffer, uint64_t address, uint32_t bytes)
{
    if (buffer->count == 0)
        return false;
    uint64_t last = (address + bytes - 1) / LINE_BYTES;
    for (uint64_t line = address / LINE_BYTES; line <= last; line++) {
        uint32_t hash = store_buffer_hash(line) >> 21; /* 11 bits */
        if (buffer->filter[hash / 64] >> (hash % 64) & 1u)
            return true;
    }
    return false;
}

#endif
