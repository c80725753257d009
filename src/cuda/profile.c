/* SPDX-License-Identifier: MIT */
/* What a kernel did, from rows for each instruction to rows for each line of the PTX, with that line and the source's. */
#include "cuda/profile.h"

#include "cuda/context.h"
#include "cuda/module.h"
#include "cuda/process.h"
#include "cuda/record.h"
#include "isa/kernel.h"

#include <stdlib.h>
#include <string.h>

static void add(struct corun_profile_row *sum, const struct corun_profile_row *row)
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

static bool is_empty(const struct corun_profile_row *row)
{
    return !(row->warp_instructions | row->stall_data | row->stall_memory_data | row->stall_pipeline |
             row->stall_memory | row->stall_barrier | row->stall_other);
}

/* The module of the context that has this code; NULL: none. */
static const struct module *module_of(const struct context *context, const struct corun_instruction *code)
{
    for (size_t m = 0; m < context->modules.count; m++) {
        const struct module *module = context->modules.data[m];
        for (size_t k = 0; module->code && k < corun_module_kernel_count(module->code); k++)
            if (corun_module_kernel_at(module->code, k)->instructions == code)
                return module;
    }
    return NULL;
}

/* The rest of a line of the text, without blanks around it; `*at` is where that line begins, and becomes where the next one does. */
static const char *take_line(const char **at, int *length)
{
    const char *first = *at, *end = first + strcspn(first, "\n");
    *at = *end ? end + 1 : end;
    first += strspn(first, " \t");
    while (end > first && strchr(" \t\r", end[-1]))
        end--;
    *length = (int)(end - first);
    return first;
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
        add(&lines[code[i].line], &rows[i]);
    return lines;
}

static void record_kernel(struct process *process, const struct context *context, const char *name, uint32_t number)
{
    uint32_t count, most;
    const struct corun_instruction *code;
    const struct corun_profile_row *rows = corun_gpu_kernel_profile(context->device->scheduler.machine.machine,
                                                                    context->application, number, &count, &code);
    const struct module *module = rows ? module_of(context, code) : NULL;
    struct corun_profile_row *lines = module ? sum_lines(rows, code, count, &most) : NULL;
    if (!lines)
        return;
    const char *at = module->text ? module->text : "";
    for (uint32_t line = 1; line <= most; line++) {
        char source[CORUN_SOURCE_LINE_BYTES];
        struct record_profile_line row = {name, line, NULL, source, 0, lines[line]};
        row.text = take_line(&at, &row.text_bytes);
        if (is_empty(&row.counts))
            continue;
        corun_module_source_line(module->code, line, source);
        record_profile(process, context->device, &row);
    }
    free(lines);
}

void profile_record(struct process *process, const struct context *context)
{
    if (!process->profiles || process->remote || context->application == CORUN_NO_APPLICATION || !process->record)
        return;
    struct corun_gpu *gpu = context->device->scheduler.machine.machine;
    struct corun_application_result result;
    corun_gpu_application(gpu, context->application, &result);
    for (uint32_t k = 0; k < result.kernel_count; k++) {
        struct corun_kernel_result kernel;
        corun_gpu_kernel(gpu, context->application, k, &kernel);
        record_kernel(process, context, kernel.name, k);
    }
}
