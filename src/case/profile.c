/* SPDX-License-Identifier: MIT */
/* The text of PTX lines, and counts of instructions summed up by line. */
#include "case/profile.h"

#include "corun/module.h"
#include "isa/profile_lines.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Line `line` (from 1) without blanks around it; `*cursor` and `*at` remember where the last search ended. */
static const char *quote(struct arena *arena, const struct corun_workload_ptx *ptx, uint32_t line, size_t *cursor,
                         uint32_t *at)
{
    const char *text = ptx ? ptx->text : "";
    size_t bytes = ptx ? ptx->bytes : 0;
    while (*at < line && *cursor < bytes) {
        const char *end = memchr(text + *cursor, '\n', bytes - *cursor);
        *cursor = end ? (size_t)(end - text) + 1 : bytes;
        ++*at;
    }
    if (*at != line || *cursor >= bytes)
        return "";
    const char *first = text + *cursor, *end = memchr(first, '\n', bytes - *cursor);
    if (!end)
        end = text + bytes;
    while (first < end && isspace((unsigned char)*first))
        first++;
    while (first < end && isspace((unsigned char)end[-1]))
        end--;
    return arena_copy_text(arena, first, (size_t)(end - first));
}

static int compare_lines(const void *a, const void *b)
{
    uint32_t first = ((const struct corun_profile_line *)a)->line,
             second = ((const struct corun_profile_line *)b)->line;
    return (first > second) - (first < second);
}

uint32_t profile_merge(struct corun_profile_line *lines, uint32_t count, int (*order)(const void *, const void *))
{
    uint32_t merged = 0;
    qsort(lines, count, sizeof *lines, order);
    for (uint32_t i = 0; i < count; i++)
        if (merged && !order(&lines[merged - 1], &lines[i]))
            profile_row_add(&lines[merged - 1].counts, &lines[i].counts);
        else
            lines[merged++] = lines[i];
    return merged;
}

enum corun_status profile_lines(struct arena *arena, const struct corun_workload_ptx *ptx,
                                const struct corun_profile_row *rows, const struct corun_instruction *code,
                                uint32_t count, struct corun_case_kernel *kernel)
{
    struct corun_profile_line *lines = ARENA_ARRAY(arena, struct corun_profile_line, count + 1);
    if (!lines)
        return CORUN_MEMORY;
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!profile_row_is_empty(&rows[i]))
            lines[used++] = (struct corun_profile_line){code[i].line, "", "", rows[i]};
    }
    uint32_t merged = profile_merge(lines, used, compare_lines);
    size_t cursor = 0;
    uint32_t at = 1;
    for (uint32_t i = 0; i < merged; i++) {
        lines[i].text = quote(arena, ptx, lines[i].line, &cursor, &at);
        char place[CORUN_SOURCE_LINE_BYTES] = "";
        if (ptx)
            corun_module_source_line(ptx->module, lines[i].line, place);
        lines[i].source = *place ? arena_copy_text(arena, place, strlen(place)) : "";
        if (!lines[i].text || !lines[i].source)
            return CORUN_MEMORY;
    }
    kernel->profile = lines;
    kernel->profile_count = merged;
    return CORUN_OK;
}
