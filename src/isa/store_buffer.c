/* SPDX-License-Identifier: MIT */
/* A hash table of written lines, and its three uses: writing, the overlay over a load, and the commit to memory. */
#include "isa/store_buffer.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 64u

void store_buffer_free(struct store_buffer *buffer)
{
    free(buffer->lines);
    free(buffer->table);
    *buffer = (struct store_buffer){0};
}

static uint32_t *find_place(const struct store_buffer *buffer, uint64_t line)
{
    uint32_t mask = 2 * buffer->capacity - 1;
    for (uint32_t i = store_buffer_hash(line) & mask;; i = (i + 1) & mask) {
        uint32_t *place = &buffer->table[i];
        if (*place == 0 || buffer->lines[*place - 1].line == line)
            return place;
    }
}

static bool grow(struct store_buffer *buffer)
{
    uint32_t capacity = buffer->capacity ? 2 * buffer->capacity : FIRST_CAPACITY;
    if (capacity > UINT32_MAX / 4)
        return false;
    struct store_line *lines = aligned_alloc(64, sizeof *lines * capacity);
    uint32_t *table = calloc(2 * (size_t)capacity, sizeof *table);
    if (!lines || !table) {
        free(lines);
        free(table);
        return false;
    }
    if (buffer->count)
        memcpy(lines, buffer->lines, sizeof *lines * buffer->count);
    free(buffer->lines);
    free(buffer->table);
    buffer->lines = lines;
    buffer->table = table;
    buffer->capacity = capacity;
    for (uint32_t i = 0; i < buffer->count; i++)
        *find_place(buffer, lines[i].line) = i + 1;
    return true;
}

static struct store_line *get_line(struct store_buffer *buffer, uint64_t number, uint8_t *host)
{
    if (buffer->count == buffer->capacity && !grow(buffer))
        return NULL;
    uint32_t *place = find_place(buffer, number);
    if (*place)
        return &buffer->lines[*place - 1];
    struct store_line *line = &buffer->lines[buffer->count];
    *place = ++buffer->count;
    line->written[0] = line->written[1] = 0;
    line->line = number;
    line->host = host;
    uint32_t hash = store_buffer_hash(number) >> 21;
    buffer->filter[hash / 64] |= UINT64_C(1) << (hash % 64);
    return line;
}

static void mark(uint64_t *written, uint32_t from, uint32_t bytes)
{
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t low = from > 64 * half ? from - 64 * half : 0;
        uint32_t high = from + bytes > 64 * half ? from + bytes - 64 * half : 0;
        if (high > 64)
            high = 64;
        if (low < high)
            written[half] |= (high - low == 64 ? ~UINT64_C(0) : (UINT64_C(1) << (high - low)) - 1) << low;
    }
}

bool store_buffer_write(struct store_buffer *buffer, uint64_t address, uint8_t *host, const void *source,
                        uint32_t bytes)
{
    const uint8_t *from = source;
    while (bytes) {
        uint32_t offset = address % LINE_BYTES;
        uint32_t part = LINE_BYTES - offset < bytes ? LINE_BYTES - offset : bytes;
        struct store_line *line = get_line(buffer, address / LINE_BYTES, host - offset);
        if (!line)
            return false;
        memcpy(line->data + offset, from, part);
        mark(line->written, offset, part);
        address += part;
        host += part;
        from += part;
        bytes -= part;
    }
    return true;
}

void store_buffer_overlay(const struct store_buffer *buffer, uint64_t address, void *bytes_read, uint32_t bytes)
{
    if (buffer->count == 0)
        return;
    uint8_t *to = bytes_read;
    while (bytes) {
        uint32_t offset = address % LINE_BYTES;
        uint32_t part = LINE_BYTES - offset < bytes ? LINE_BYTES - offset : bytes;
        uint32_t place = *find_place(buffer, address / LINE_BYTES);
        if (place) {
            const struct store_line *line = &buffer->lines[place - 1];
            for (uint32_t i = offset; i < offset + part; i++)
                if (line->written[i / 64] >> (i % 64) & 1u)
                    to[i - offset] = line->data[i];
        }
        address += part;
        to += part;
        bytes -= part;
    }
}

static void apply_half(const struct store_line *line, uint32_t at, uint32_t written)
{
    uint32_t half;
    if (written == 0xfu) {
        memcpy(&half, line->data + at, sizeof half);
        __atomic_store_n((uint32_t *)(void *)(line->host + at), half, __ATOMIC_RELEASE);
        return;
    }
    for (; written; written &= written - 1) {
        uint32_t i = at + (uint32_t)__builtin_ctz(written);
        line->host[i] = line->data[i];
    }
}

/* Threads of the host may read a word, of 4 bytes or of 8, that a thread stores: they find it as it was, or all of it. */
static void apply(const struct store_line *line)
{
    if ((line->written[0] & line->written[1]) == UINT64_MAX) {
        memcpy(line->host, line->data, LINE_BYTES);
        return;
    }
    for (uint32_t at = 0; at < LINE_BYTES; at += 8) {
        uint32_t written = line->written[at / 64] >> (at % 64) & 0xffu;
        uint64_t word;
        if (written == 0xffu) {
            memcpy(&word, line->data + at, sizeof word);
            __atomic_store_n((uint64_t *)(void *)(line->host + at), word, __ATOMIC_RELEASE);
        } else if (written) {
            apply_half(line, at, written & 0xfu);
            apply_half(line, at + 4, written >> 4);
        }
    }
}

void store_buffer_commit(struct store_buffer *buffer)
{
    if (buffer->count == 0)
        return;
    /* Few lines: empty only their places. A line may sit behind its hash, so walk from there to it. */
    uint32_t mask = 2 * buffer->capacity - 1;
    for (uint32_t i = 0; i < buffer->count; i++)
        apply(&buffer->lines[i]);
    if (buffer->count > buffer->capacity / 4) {
        memset(buffer->table, 0, 2 * (size_t)buffer->capacity * sizeof *buffer->table);
    } else {
        for (uint32_t i = 0; i < buffer->count; i++) {
            uint32_t at = store_buffer_hash(buffer->lines[i].line) & mask;
            while (buffer->table[at] != i + 1)
                at = (at + 1) & mask;
            /* Nobody searches until all are gone, so a hole in a chain does no harm: the walk above ends at i + 1. */
            buffer->table[at] = 0;
        }
    }
    memset(buffer->filter, 0, sizeof buffer->filter);
    buffer->count = 0;
}
