/* SPDX-License-Identifier: MIT */
/* A hash table from texts to numbers, with open addressing; a table grows before it is full. */
#include "base/text_table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 16u

/* FNV-1a, and its upper half folded in: places are taken from the lower bits. */
static size_t hash(const char *text, size_t length)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++)
        value = (value ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return (size_t)(value ^ value >> 32);
}

/* Where a text is, or where it would be: at least a quarter is free. */
static struct text_table_entry *locate(const struct text_table *table, const char *text, size_t length)
{
    size_t mask = table->capacity - 1;
    for (size_t place = hash(text, length) & mask;; place = (place + 1) & mask) {
        struct text_table_entry *entry = &table->entries[place];
        if (!entry->text || (entry->length == length && !memcmp(entry->text, text, length)))
            return entry;
    }
}

static bool grow(struct text_table *table)
{
    struct text_table larger = {.capacity = table->capacity ? table->capacity * 2 : FIRST_CAPACITY};
    larger.entries = calloc(larger.capacity, sizeof *larger.entries);
    if (!larger.entries)
        return false;
    for (size_t i = 0; i < table->capacity; i++) {
        const struct text_table_entry *entry = &table->entries[i];
        if (entry->text)
            *locate(&larger, entry->text, entry->length) = *entry;
    }
    larger.count = table->count;
    free(table->entries);
    *table = larger;
    return true;
}

bool text_table_find(const struct text_table *table, const char *text, size_t length, size_t *found)
{
    const struct text_table_entry *entry = table->capacity ? locate(table, text, length) : NULL;
    if (!entry || !entry->text)
        return false;
    *found = entry->number;
    return true;
}

bool text_table_find_or_add(struct text_table *table, const char *text, size_t length, size_t number, size_t *found)
{
    if (text_table_find(table, text, length, found))
        return true;
    if (table->count >= table->capacity / 4 * 3 && !grow(table))
        return false;
    *locate(table, text, length) = (struct text_table_entry){text, length, number};
    table->count++;
    *found = number;
    return true;
}

void text_table_free(struct text_table *table)
{
    free(table->entries);
    *table = (struct text_table){0};
}
