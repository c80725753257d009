/* SPDX-License-Identifier: MIT */
/* Memory for what lives as long as one owner: allocated piece by piece, freed all at once. */
#ifndef CORUN_BASE_ARENA_H
#define CORUN_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena;

struct arena *arena_create(void); /* NULL when out of memory */
void arena_destroy(struct arena *arena);
/* Zeroed, aligned to 16 bytes. NULL when out of memory. */
void *arena_allocate(struct arena *arena, size_t bytes);
char *arena_copy_text(struct arena *arena, const char *text, size_t length); /* adds a NUL */
char *arena_format(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define ARENA_NEW(arena, type) ((type *)arena_allocate((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_allocate((arena), sizeof(type) * (size_t)(count)))

#endif
