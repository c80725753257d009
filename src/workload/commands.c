/* SPDX-License-Identifier: MIT */
/* Commands are made from a plan and from an instance, which has the data before and after a run. */
#include "workload/commands.h"

#include "base/arena.h"
#include "workload/instance.h"

#include <stdlib.h>
#include <string.h>

struct maker {
    const struct corun_workload *workload;
    uint32_t launch; /* WORKLOAD_ALL_LAUNCHES, or only that one */
    uint32_t compute_capability;
    struct corun_instance *instance;
    struct workload_commands *commands;
    struct command_buffer *buffers;
    struct command *made;
};

static bool is_all(const struct maker *maker)
{
    return maker->launch == WORKLOAD_ALL_LAUNCHES;
}

static const void *memory_of(const struct maker *maker, size_t storage)
{
    return corun_memory_pointer(maker->instance->memory, maker->instance->addresses[storage],
                                maker->workload->plan->buffers[storage].bytes);
}

static const void *copy_of(const struct maker *maker, size_t storage)
{
    uint64_t bytes = maker->workload->plan->buffers[storage].bytes;
    const void *from = memory_of(maker, storage);
    void *copy = from ? arena_allocate(maker->commands->arena, bytes) : NULL;
    return copy ? memcpy(copy, from, bytes) : NULL;
}

#define PAGE 4096u

static const void *pages_of(const struct maker *maker, size_t storage)
{
    uint64_t bytes = maker->workload->plan->buffers[storage].bytes;
    const void *from = memory_of(maker, storage);
    void *copy = from ? aligned_alloc(PAGE, (bytes + PAGE) / PAGE * PAGE) : NULL;
    return copy ? memcpy(copy, from, bytes) : NULL;
}

static void free_pages(struct command_buffer *buffer)
{
    free((void *)(uintptr_t)buffer->initial);
    buffer->initial = NULL;
}

static bool is_zero(const uint8_t *data, uint64_t bytes)
{
    return !bytes || (data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0);
}

/* Before the run. False when out of memory. */
static bool take_buffers(struct maker *maker)
{
    const struct description *description = maker->workload->description;
    struct workload_commands *commands = maker->commands;
    commands->buffer_count = description->buffers.count;
    commands->buffers = maker->buffers = ARENA_ARRAY(commands->arena, struct command_buffer, commands->buffer_count);
    for (size_t i = 0; maker->buffers && i < commands->buffer_count; i++) {
        const struct buffer_description *from = &description->buffers.data[i];
        struct command_buffer *buffer = &maker->buffers[i];
        *buffer = (struct command_buffer){.name = arena_copy_text(commands->arena, from->name, strlen(from->name)),
                                          .bytes = maker->workload->plan->buffers[i].bytes,
                                          .initial = pages_of(maker, i),
                                          .kept = from->kind == INITIAL_KEEP && is_all(maker)};
        if (from->symbol.text)
            buffer->symbol = arena_copy_text(commands->arena, from->symbol.text, strlen(from->symbol.text));
        if (!buffer->name || !buffer->initial || (from->symbol.text && !buffer->symbol))
            return false;
    }
    return maker->buffers != NULL;
}

/* After the run. */
static bool take_results(struct maker *maker)
{
    const struct description *description = maker->workload->description;
    for (size_t i = 0; i < description->buffers.count; i++)
        if (description->buffers.data[i].is_output)
            maker->buffers[maker->workload->plan->final_storage[i]].is_output = true;
    for (size_t i = 0; i < description->buffers.count; i++) {
        struct command_buffer *buffer = &maker->buffers[i];
        if (!(buffer->final = copy_of(maker, i)))
            return false;
        buffer->is_constant = memcmp(buffer->initial, buffer->final, buffer->bytes) == 0;
        buffer->is_output = is_all(maker) ? buffer->is_output : !buffer->is_constant;
        if (buffer->kept || is_zero(buffer->initial, buffer->bytes))
            free_pages(buffer);
    }
    return true;
}

static bool make_launch(const struct maker *maker, const struct planned_operation *from, struct command *launch)
{
    struct corun_kernel_info info;
    struct arena *arena = maker->commands->arena;
    const char *name = from->launch->kernel.text;
    corun_kernel_describe(maker->workload->kernels[from->launch->index], &info);
    struct command_argument *arguments = ARENA_ARRAY(arena, struct command_argument, info.parameter_count + 1);
    *launch = (struct command){.kernel = arena_copy_text(arena, name, strlen(name)),
                               .shared_bytes = from->shared_bytes,
                               .argument_count = info.parameter_count,
                               .arguments = arguments};
    memcpy(launch->grid, from->grid, sizeof launch->grid);
    memcpy(launch->block, from->block, sizeof launch->block);
    for (uint32_t i = 0; arguments && i < info.parameter_count; i++)
        arguments[i] = (struct command_argument){.bytes = info.parameters[i].bytes,
                                                 .is_buffer = from->launch->arguments.data[i].is_buffer,
                                                 .buffer = from->arguments[i].buffer,
                                                 .bits = from->arguments[i].bits};
    maker->commands->launch_count++;
    return launch->kernel && arguments;
}

static bool make_commands(struct maker *maker)
{
    const struct plan *plan = maker->workload->plan;
    struct workload_commands *commands = maker->commands;
    struct command *made = maker->made = ARENA_ARRAY(commands->arena, struct command, plan->operations.count + 1);
    if (made && !is_all(maker)) {
        commands->command_count = 1;
        commands->commands = made;
        return make_launch(maker, &plan->operations.data[maker->instance->operation_of[maker->launch]], made);
    }
    commands->commands = made;
    commands->command_count = plan->operations.count;
    for (size_t i = 0; made && i < plan->operations.count; i++) {
        const struct planned_operation *from = &plan->operations.data[i];
        if (from->launch->kind == LAUNCH_COPY)
            made[i] = (struct command){.from = from->from,
                                       .to = from->to,
                                       .from_offset = from->from_offset,
                                       .to_offset = from->to_offset,
                                       .copy_bytes = from->copy_bytes};
        else if (!make_launch(maker, from, &made[i]))
            return false;
    }
    return made != NULL;
}

/* What a launch of the run has counted. */
static void note_instructions(const struct maker *maker, uint32_t launch, uint64_t thread_instructions)
{
    if (is_all(maker))
        maker->made[maker->instance->operation_of[launch]].thread_instructions = thread_instructions;
    else if (launch == maker->launch)
        maker->made->thread_instructions = thread_instructions;
}

/* A run without timing; the buffers are taken before and after what is wanted of it. */
static enum corun_status run(struct maker *maker, struct corun_diagnostics *list)
{
    uint32_t count = corun_instance_grid_count(maker->instance);
    enum corun_status status = CORUN_OK;
    if (is_all(maker) && !take_buffers(maker))
        return CORUN_MEMORY;
    for (uint32_t i = 0; i < count && status == CORUN_OK; i++) {
        struct corun_functional_result result;
        struct corun_grid *grid = (struct corun_grid *)(uintptr_t)corun_instance_grid(maker->instance, i);
        if (i == maker->launch && !take_buffers(maker))
            return CORUN_MEMORY;
        status = corun_run_functional(grid, 0, list, NULL, NULL, &result);
        note_instructions(maker, i, result.thread_instructions);
        if (i == maker->launch && status == CORUN_OK && !take_results(maker))
            return CORUN_MEMORY;
    }
    if (status == CORUN_OK)
        (void)corun_instance_grid(maker->instance, count); /* copies behind the last launch */
    return status == CORUN_OK && is_all(maker) && !take_results(maker) ? CORUN_MEMORY : status;
}

static bool take_texts(const struct maker *maker)
{
    struct corun_workload_info info;
    struct workload_commands *commands = maker->commands;
    corun_workload_describe(maker->workload, &info);
    commands->name = arena_format(commands->arena, "%s@%s", info.name, info.size);
    commands->ptx = arena_copy_text(commands->arena, maker->workload->ptx, maker->workload->ptx_bytes);
    commands->ptx_bytes = maker->workload->ptx_bytes;
    return commands->name && commands->ptx;
}

static enum corun_status make(struct maker *maker, uint64_t seed, struct corun_diagnostics *list)
{
    struct corun_workload_info info;
    maker->commands->arena = arena_create();
    if (!maker->commands->arena)
        return CORUN_MEMORY;
    enum corun_status status = corun_instance_create(maker->workload, 1, seed, list, &maker->instance);
    if (status != CORUN_OK)
        return status;
    if (maker->compute_capability)
        corun_module_instance_architecture(maker->instance->module, maker->compute_capability);
    if (!is_all(maker) && maker->launch >= corun_instance_grid_count(maker->instance))
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "workload '%s' has no launch %u",
                            workload_name(maker->workload), maker->launch);
    if (!take_texts(maker) || !make_commands(maker))
        return CORUN_MEMORY;
    corun_workload_describe(maker->workload, &info);
    status = run(maker, list);
    return status == CORUN_OK && info.has_reference
               ? corun_instance_verify(maker->instance, list, &(struct corun_verification){0})
               : status;
}

enum corun_status workload_commands_create(const struct corun_workload *workload, uint32_t launch, uint64_t seed,
                                           uint32_t compute_capability, struct corun_diagnostics *list,
                                           struct workload_commands **commands)
{
    *commands = NULL;
    if (workload->traced)
        return corun_report(list, CORUN_UNSUPPORTED, (struct corun_place){workload->traced->path, 0, 0},
                            "not supported: the kernels of a trace as jobs; a trace has no data");
    if (workload->captured)
        return corun_report(list, CORUN_UNSUPPORTED, (struct corun_place){workload->captured->path, 0, 0},
                            "not supported: the kernels of a captured program as jobs; its data hold addresses of the "
                            "memory that it ran in");
    struct maker maker = {.workload = workload,
                          .launch = launch,
                          .compute_capability = compute_capability,
                          .commands = calloc(1, sizeof *maker.commands)};
    enum corun_status status = maker.commands ? make(&maker, seed, list) : CORUN_MEMORY;
    corun_instance_destroy(maker.instance);
    if (status != CORUN_OK)
        workload_commands_destroy(maker.commands);
    else
        *commands = maker.commands;
    return status == CORUN_MEMORY ? corun_report(list, status, CORUN_NOWHERE, "out of memory for the commands of %s",
                                                 workload_name(workload))
                                  : status;
}

void workload_commands_destroy(struct workload_commands *commands)
{
    if (!commands)
        return;
    for (size_t i = 0; commands->buffers && i < commands->buffer_count; i++)
        free((void *)(uintptr_t)commands->buffers[i].initial);
    if (commands->arena)
        arena_destroy(commands->arena);
    free(commands);
}
