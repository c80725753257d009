/* SPDX-License-Identifier: MIT */
/* Rows of instructions summed up by line, with the text of the line. */
#include "isa/profile_lines.h"

#include "isa/kernel.h"

#include <stdlib.h>
#include <string.h>

void profile_row_add(struct corun_profile_row *sum, const struct corun_profile_row *row)
{
    sum->warp_instructions += row->warp_instructions;
    sum->thread_instructions += row->thread_instructions;
    sum->stall_data += row->stall_data;
    sum->stall_memory_data += row->stall_memory_data;
    sum->stall_pipeline += row->stall_pipeline;
    sum->stall_memory += row->stall_memory;
    sum->stall_barrier += row->stall_barrier;
    sum->stall_other += row->stall_other;
}

bool profile_row_is_empty(const struct corun_profile_row *row)
{
    return !(row->warp_instructions | row->stall_data | row->stall_memory_data | row->stall_pipeline |
             row->stall_memory | row->stall_barrier | row->stall_other);
}

bool profile_is_of(const struct corun_module *module, const struct corun_instruction *code)
{
    for (size_t k = 0; k < corun_module_kernel_count(module); k++)
        if (corun_module_kernel_at(module, k)->instructions == code)
            return true;
    return false;
}

/* A copy of a line of the text, without blanks around it; `*at` is where that line begins, and becomes where the next one does. */
static char *take_line(const char **at)
{
    const char *first = *at, *end = first + strcspn(first, "\n");
    *at = *end ? end + 1 : end;
    first += strspn(first, " \t");
    while (end > first && strchr(" \t\r", end[-1]))
        end--;
    return strndup(first, (size_t)(end - first));
}

/* Lines with the sums of their instructions, [most + 1]; NULL when out of memory. */
static struct corun_profile_row *sum_lines(const struct corun_profile_row *rows, const struct corun_instruction *code,
                                           uint32_t count, uint32_t *most)
{
    *most = 0;
    for (uint32_t i = 0; i < count; i++)
        *most = code[i].line > *most ? code[i].line : *most;
    struct corun_profile_row *lines = calloc((size_t)*most + 1, sizeof *lines);
    for (uint32_t i = 0; lines && i < count; i++)
        profile_row_add(&lines[code[i].line], &rows[i]);
    return lines;
}

bool profile_tell_lines(const struct corun_module *module, const char *text, const struct corun_profile_row *rows,
                        const struct corun_instruction *code, uint32_t count,
                        void (*tell)(void *user, const struct corun_profile_line *line), void *user)
{
    uint32_t most;
    struct corun_profile_row *lines = sum_lines(rows, code, count, &most);
    bool whole = lines != NULL;
    for (uint32_t line = 1; lines && line <= most; line++) {
        char source[CORUN_SOURCE_LINE_BYTES], *own = take_line(&text);
        whole &= own != NULL;
        if (own && !profile_row_is_empty(&lines[line])) {
            corun_module_source_line(module, line, source);
            tell(user, &(struct corun_profile_line){line, own, source, lines[line]});
        }
        free(own);
    }
    free(lines);
    return whole;
}
