/* SPDX-License-Identifier: MIT */
/*
 * An arena is a list of chunks; an allocation is cut from the first chunk, and a large allocation gets a chunk of its
 * own.
 */
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (64u * 1024u)

struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas(16) unsigned char data[];
};

struct arena {
    struct chunk *chunks;
};

struct arena *arena_create(void)
{
    return calloc(1, sizeof(struct arena));
}

void arena_destroy(struct arena *arena)
{
    if (!arena)
        return;
    for (struct chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(arena);
}

void *arena_allocate(struct arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX - 2 * CHUNK_BYTES)
        return NULL;
    bytes = (bytes + 15u) & ~(size_t)15u;
    struct chunk *chunk = arena->chunks;
    if (!chunk || chunk->size - chunk->used < bytes) {
        size_t size = bytes > CHUNK_BYTES / 4 ? bytes : CHUNK_BYTES;
        chunk = calloc(1, sizeof *chunk + size);
        if (!chunk)
            return NULL;
        chunk->size = size;
        /* A large block gets a chunk of its own behind the current one, whose rest stays in use. */
        if (size != CHUNK_BYTES && arena->chunks) {
            chunk->next = arena->chunks->next;
            arena->chunks->next = chunk;
        } else {
            chunk->next = arena->chunks;
            arena->chunks = chunk;
        }
    }
    void *result = chunk->data + chunk->used;
    chunk->used += bytes;
    return result;
}

char *arena_copy_text(struct arena *arena, const char *text, size_t length)
{
    char *copy = arena_allocate(arena, length + 1);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

char *arena_format(struct arena *arena, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = length < 0 ? NULL : arena_allocate(arena, (size_t)length + 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}
