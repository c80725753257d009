/* SPDX-License-Identifier: MIT */
/* Kernels with one name in a table get the part of their symbols that differs, or the whole symbol. */
#include "report/kernel_labels.h"

#include "base/kernel_name.h"

#include <string.h>

#define NAME_BYTES 1024u

/* How many bytes all symbols with that name have in common: at the beginning, and at the end behind them. */
struct common {
    size_t head, tail;
};

static struct common compare(const char *const *symbols, const char *const *names, uint32_t count, uint32_t index)
{
    const char *symbol = symbols[index];
    size_t length = strlen(symbol);
    struct common common = {length, length};
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], names[index]) != 0 || !strcmp(symbols[i], symbol))
            continue;
        size_t other = strlen(symbols[i]), head = 0, tail = 0;
        while (symbol[head] && symbol[head] == symbols[i][head])
            head++;
        while (tail < length - head && tail < other - head && symbol[length - 1 - tail] == symbols[i][other - 1 - tail])
            tail++;
        common.head = head < common.head ? head : common.head;
        common.tail = tail < common.tail ? tail : common.tail;
    }
    return common;
}

const char *const *kernel_labels(struct arena *arena, const char *const *symbols, uint32_t count)
{
    const char **names = ARENA_ARRAY(arena, const char *, count + 1),
               **labels = ARENA_ARRAY(arena, const char *, count + 1);
    for (uint32_t i = 0; names && labels && i < count; i++) {
        char name[NAME_BYTES];
        kernel_name(symbols[i], name, sizeof name);
        if (!(names[i] = arena_copy_text(arena, name, strlen(name))))
            return NULL;
    }
    for (uint32_t i = 0; names && labels && i < count; i++) {
        size_t length = strlen(symbols[i]);
        struct common common = compare(symbols, names, count, i);
        labels[i] = names[i];
        if (common.head == length && common.tail == length)
            continue;
        size_t middle = length - common.head > common.tail ? length - common.head - common.tail : 0;
        labels[i] = arena_format(arena, "%s [%.*s]", names[i], (int)middle, symbols[i] + common.head);
        if (!labels[i])
            return NULL;
        for (uint32_t k = 0; k < i; k++) {
            if (!strcmp(labels[k], labels[i]) && strcmp(symbols[k], symbols[i]) != 0)
                labels[i] = symbols[i];
        }
    }
    return names && labels ? labels : NULL;
}
