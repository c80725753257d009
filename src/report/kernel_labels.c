/* SPDX-License-Identifier: MIT */
/* Kernels with one name in a table get the part of their symbols that differs, or the whole symbol. */
#include "report/kernel_labels.h"

#include "base/kernel_name.h"

#include <stdbool.h>
#include <string.h>

#define NAME_BYTES 1024u
#define PART_BYTES 24u /* of a symbol, behind a name: with the figures of a table that is a line of a terminal */

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

/* The name and a part of the symbol, the middle of which is left out if it is long. */
static const char *label_of(struct arena *arena, const char *name, const char *part, size_t bytes, bool shortened)
{
    const int side = PART_BYTES / 2 - 1;
    if (!shortened || bytes <= PART_BYTES)
        return arena_format(arena, "%s [%.*s]", name, (int)bytes, part);
    return arena_format(arena, "%s [%.*s..%.*s]", name, side, part, side, part + bytes - side);
}

static bool is_taken(const char *const *labels, const char *const *symbols, uint32_t index)
{
    for (uint32_t k = 0; k < index; k++)
        if (!strcmp(labels[k], labels[index]) && strcmp(symbols[k], symbols[index]) != 0)
            return true;
    return false;
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
        labels[i] = label_of(arena, names[i], symbols[i] + common.head, middle, true);
        if (labels[i] && is_taken(labels, symbols, i))
            labels[i] = label_of(arena, names[i], symbols[i] + common.head, middle, false);
        if (!labels[i])
            return NULL;
        if (is_taken(labels, symbols, i))
            labels[i] = symbols[i];
    }
    return names && labels ? labels : NULL;
}
