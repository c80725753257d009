/* SPDX-License-Identifier: MIT */
/* A number for each of many texts: a hash table. The texts belong to others and must outlive it. */
#ifndef CORUN_BASE_TEXT_TABLE_H
#define CORUN_BASE_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct text_table_entry {
    const char *text; /* NULL: free */
    size_t length, number;
};

/* Zeroed is empty; text_table_free ends it. */
struct text_table {
    struct text_table_entry *entries;
    size_t count, capacity; /* capacity: 0 or a power of two */
};

/* Finds a text of that length, or adds it with `number`. False when out of memory; *found is what it has. */
bool text_table_find_or_add(struct text_table *table, const char *text, size_t length, size_t number, size_t *found);
/* False if it is not in there. */
bool text_table_find(const struct text_table *table, const char *text, size_t length, size_t *found);
void text_table_free(struct text_table *table);

#endif
