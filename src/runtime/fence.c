/* SPDX-License-Identifier: MIT */
/*
 * Fenced workloads (rewrite/fence.h): each has an arena, one allocation of the device, in which all buffers of its jobs lie. In front of what kernels may
 * access stands the record of the first access that was left out.
 */
#include "rewrite/fence.h"
#include "base/kernel_name.h"

#include "ptx/module.h"
#include "ptx/printer.h"
#include "runtime/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FENCED_JOBS = 3,    /* of a workload that have memory at once, if there is so much */
    RECORD_BYTES = 512, /* the record, and what keeps the rest aligned */
    OUT_OF_MEMORY = 2
};

struct blocks *fence_blocks(struct runtime *runtime, struct workload *workload)
{
    return runtime->options.fence ? &workload->own : &runtime->memory;
}

/* The text of its kernels, fenced: what every other form is made of. */
enum corun_status fence_rewrite(struct workload *workload, const struct ptx_module *source,
                                struct corun_diagnostics *list, struct rewritten *fenced)
{
    const struct workload_commands *commands = workload->commands;
    size_t bytes;
    enum corun_status status = fence_module(source, list, fenced);
    for (uint32_t i = 0; i < commands->launch_count && status == CORUN_OK; i++) {
        const struct rewritten_kernel *kernel = rewritten_kernel_find(fenced, workload->launches[i].command->kernel);
        if (kernel && kernel->refusal)
            status =
                corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE, "%s: kernel %s cannot be fenced: line %u: %s",
                             commands->name, KERNEL_NAME(kernel->function->name), kernel->place.line, kernel->refusal);
    }
    if (status == CORUN_OK)
        status = ptx_print(fenced->module, &workload->texts[IMAGE_PLAIN], &bytes);
    for (uint32_t i = fenced->module ? fenced->module->variable_count : 0; i-- > 0 && !workload->fence_name;)
        if (fenced->module->variables[i]->space == PTX_SPACE_CONST && /* the pass adds it behind all others */
            !strncmp(fenced->module->variables[i]->name, FENCE_VARIABLE, strlen(FENCE_VARIABLE)))
            workload->fence_name = strdup(fenced->module->variables[i]->name);
    return status == CORUN_OK && !workload->fence_name ? CORUN_MEMORY : status;
}

bool fence_ready(struct runtime *runtime, struct workload *workload)
{
    uint64_t bytes = RECORD_BYTES + FENCED_JOBS * workload->cost, least;
    int error = 0;
    if (!runtime->options.fence || workload->own.arena.address)
        return true;
    for (size_t i = 0; i < workload->commands->buffer_count; i++)
        bytes += block_cost(workload->resident[i].bytes) + block_cost(workload->pristine[i].bytes);
    least = bytes - (FENCED_JOBS - 1) * workload->cost;
    struct block block;
    bool taken = blocks_take(&runtime->memory, bytes, &block, &error);
    for (; !taken && !error && bytes > least && workload->cost; bytes -= workload->cost)
        taken = blocks_take(&runtime->memory, bytes - workload->cost, &block, &error);
    if (!taken)
        return runtime_worked(runtime, error ? error : OUT_OF_MEMORY);
    workload->own = (struct blocks){.driver = &runtime->driver,
                                    .arena = block,
                                    .arena_used = RECORD_BYTES,
                                    .most_bytes = block.bytes - RECORD_BYTES};
    return CALL(runtime, memory_fill(block.address, 0, RECORD_BYTES, runtime->between_stream));
}

bool fence_set(struct runtime *runtime, struct workload *workload, void *module)
{
    unsigned long long place = 0;
    size_t size = 0;
    if (!fence_ready(runtime, workload) || !CALL(runtime, module_variable(&place, &size, module, workload->fence_name)))
        return false;
    const struct block *arena = &workload->own.arena;
    const struct fence_bounds bounds = {
        .first = arena->address + RECORD_BYTES, .bytes = arena->bytes - RECORD_BYTES, .record = arena->address};
    return CALL(runtime, copy_in(place, &bounds, sizeof bounds, runtime->between_stream)) &&
           CALL(runtime, stream_synchronize(runtime->between_stream));
}

bool fence_read(struct runtime *runtime, struct job *job, void *stream)
{
    const struct workload *workload = workload_of(runtime, job);
    int error = 0;
    if (!job->record.address && !blocks_take(&runtime->pinned, sizeof(uint64_t), &job->record, &error))
        return runtime_worked(runtime, error) && false;
    return CALL(runtime, copy_out((void *)(uintptr_t)job->record.address, workload->own.arena.address, sizeof(uint64_t),
                                  stream));
}

/* What the access is, in words. */
static void describe(const struct ptx_module *source, uint64_t record, char *text, size_t size)
{
    struct fence_access access;
    uint64_t address = fence_recorded_address(record);
    uint32_t number = fence_recorded_number(record);
    if (number == FENCE_MOST_NUMBER || !source || !fence_access_find(source, number, &access))
        snprintf(text, size, "it accesses 0x%" PRIx64 ", outside of its own memory", address);
    else
        snprintf(text, size, "%s, line %u (%s): %u bytes at 0x%" PRIx64 " lie outside of its own memory",
                 access.function->name, access.instruction->place.line, ptx_opcodes[access.instruction->opcode].word,
                 access.bytes, address);
}

const char *fence_trespass(struct runtime *runtime, const struct job *job)
{
    struct workload *workload = workload_of(runtime, job);
    const struct workload_commands *commands = workload->commands;
    const uint64_t *record = (const void *)(uintptr_t)job->record.address;
    struct ptx_module *source = NULL;
    char text[256];
    if (!record || !*record)
        return NULL;
    if (workload->trespass)
        return workload->trespass;
    if (ptx_parse(commands->name, commands->ptx, commands->ptx_bytes, NULL, &source) != CORUN_OK)
        source = NULL;
    describe(source, *record, text, sizeof text);
    ptx_module_destroy(source);
    workload->trespass = strdup(text);
    return workload->trespass ? workload->trespass : "it accesses memory outside of its own";
}
