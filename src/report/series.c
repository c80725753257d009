/* SPDX-License-Identifier: MIT */
/* Records that are kept while there is room, and thinned out by halves when there is none. */
#include "report/series.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 64u

void series_init(struct series *series, size_t record_bytes, size_t limit)
{
    *series = (struct series){.record_bytes = record_bytes, .limit = limit ? limit : 1};
}

static uint64_t key_of(const void *record)
{
    uint64_t key;
    memcpy(&key, record, sizeof key);
    return key;
}

static void thin_out(struct series *series)
{
    size_t kept = 0;
    series->mask = series->mask * 2 + 1;
    for (size_t i = 0; i < series->count; i++) {
        if (key_of(series_at(series, i)) & series->mask)
            continue;
        if (kept != i)
            memcpy(series_at(series, kept), series_at(series, i), series->record_bytes);
        kept++;
    }
    series->count = kept;
}

bool series_add(struct series *series, const void *record)
{
    uint64_t key = key_of(record);
    series->seen++;
    while (series->count == series->limit && !(key & series->mask) && series->mask != UINT64_MAX)
        thin_out(series);
    if (key & series->mask || series->count == series->limit)
        return true;
    if (series->count == series->capacity) {
        size_t capacity = series->capacity ? series->capacity * 2 : FIRST_CAPACITY;
        char *data = realloc(series->data, capacity * series->record_bytes);
        if (!data)
            return false;
        series->data = data;
        series->capacity = capacity;
    }
    memcpy(series_at(series, series->count++), record, series->record_bytes);
    return true;
}

void series_free(struct series *series)
{
    free(series->data);
    series->data = NULL;
}
