/* SPDX-License-Identifier: MIT */
/* Feeds lines to what makes names of kernels for people: alone, and as the kernels of one table, of which no two may look alike. */
#include "report/kernel_labels.h"

#include "base/kernel_signature.h"

#include <stdlib.h>
#include <string.h>

#define MOST_LINES 16u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create();
    const char *symbols[MOST_LINES];
    uint32_t count = 0;
    char *text = arena ? arena_copy_text(arena, (const char *)data, size) : NULL;
    if (!text)
        abort();
    for (char *line = strtok(text, "\n"); line && count < MOST_LINES; line = strtok(NULL, "\n")) {
        (void)kernel_signature(arena, line);
        symbols[count++] = line;
    }
    const char *const *labels = kernel_labels(arena, symbols, count);
    for (uint32_t i = 0; labels && i < count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(labels[i], labels[k]) && strcmp(symbols[i], symbols[k]) != 0 &&
                strcmp(labels[i], symbols[i]) != 0 && strcmp(labels[k], symbols[k]) != 0)
                abort();
    arena_destroy(arena);
    return 0;
}
