/* SPDX-License-Identifier: MIT */
/* Lists of messages with their places, and the table of statuses in words (corun/status.h). */
#include "base/arena.h"
#include "base/vector.h"
#include "corun/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_DIAGNOSTICS 100u

struct corun_diagnostics {
    struct arena *arena;
    VECTOR(struct corun_diagnostic) items;
};

static const struct {
    const char *name, *meaning;
    int exit_status;
} status_rows[] = {
#define STATUS_ROW(name, exit_status, meaning) {#name, meaning, exit_status},
    CORUN_STATUSES(STATUS_ROW)
#undef STATUS_ROW
};

struct corun_diagnostics *corun_diagnostics_create(void)
{
    struct corun_diagnostics *list = calloc(1, sizeof *list);
    if (list && !(list->arena = arena_create())) {
        free(list);
        return NULL;
    }
    return list;
}

void corun_diagnostics_destroy(struct corun_diagnostics *list)
{
    if (!list)
        return;
    arena_destroy(list->arena);
    vector_free(&list->items);
    free(list);
}

void corun_diagnostics_clear(struct corun_diagnostics *list)
{
    struct arena *fresh = arena_create();
    if (fresh) { /* without memory for a fresh arena the old texts just live on */
        arena_destroy(list->arena);
        list->arena = fresh;
    }
    list->items.count = 0;
}

size_t corun_diagnostics_count(const struct corun_diagnostics *list)
{
    return list->items.count;
}

const struct corun_diagnostic *corun_diagnostics_get(const struct corun_diagnostics *list, size_t index)
{
    return &list->items.data[index];
}

enum corun_status corun_report(struct corun_diagnostics *list, enum corun_status status, struct corun_place place,
                               const char *format, ...)
{
    if (!list || list->items.count >= KEPT_DIAGNOSTICS)
        return status;
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct corun_diagnostic item = {status, place, arena_copy_text(list->arena, text, strlen(text))};
    if (place.file)
        item.place.file = arena_copy_text(list->arena, place.file, strlen(place.file));
    if (item.message)
        (void)!vector_push(&list->items, item);
    return status;
}

const char *corun_status_name(enum corun_status status)
{
    return status < CORUN_STATUS_COUNT ? status_rows[status].name : "?";
}

const char *corun_status_meaning(enum corun_status status)
{
    return status < CORUN_STATUS_COUNT ? status_rows[status].meaning : "?";
}

int corun_status_exit(enum corun_status status)
{
    return status < CORUN_STATUS_COUNT ? status_rows[status].exit_status : 1;
}
