/* SPDX-License-Identifier: MIT */
/* Programs: sliced once, their modules loaded as often as jobs need variables of their own. */
#include "base/arena.h"
#include "ptx/module.h"
#include "ptx/printer.h"
#include "rewrite/slice.h"
#include "runtime/state.h"

#include <stdlib.h>
#include <string.h>

/* Why the kernel of a launch cannot be sliced. */
static enum corun_status note_refusal(const struct slices *slices, const char *kernel, struct program_launch *launch)
{
    for (uint32_t i = 0; i < slices->kernel_count; i++)
        if (slices->kernels[i].refusal && !strcmp(slices->kernels[i].function->name, kernel) &&
            !(launch->refusal = strdup(slices->kernels[i].refusal)))
            return CORUN_MEMORY;
    return CORUN_OK;
}

static bool is_set(const struct workload_commands *commands, const char *name)
{
    for (size_t i = 0; i < commands->buffer_count; i++)
        if (commands->buffers[i].symbol && !strcmp(commands->buffers[i].symbol, name))
            return !commands->buffers[i].kept;
    return false;
}

/* Variables in global memory that a run may change and that are not set before each run. */
static void find_variables(struct program *program, const struct ptx_module *module)
{
    for (uint32_t i = 0; i < module->variable_count; i++)
        program->fresh |=
            module->variables[i]->space == PTX_SPACE_GLOBAL && !is_set(program->commands, module->variables[i]->name);
    program->has_variables |= program->fresh;
}

/* The text of the sliced module. */
static enum corun_status make_sliced(struct program *program, struct corun_diagnostics *list)
{
    const struct workload_commands *commands = program->commands;
    struct ptx_module *module = NULL;
    struct slices slices = {0};
    size_t bytes;
    enum corun_status status = ptx_parse(commands->name, commands->ptx, commands->ptx_bytes, list, &module);
    if (status == CORUN_OK)
        find_variables(program, module);
    if (status == CORUN_OK)
        status = slice_module(module, list, &slices);
    for (size_t i = 0, launch = 0; i < commands->command_count && status == CORUN_OK; i++)
        if (commands->commands[i].kernel)
            status = note_refusal(&slices, commands->commands[i].kernel, &program->launches[launch++]);
    if (status == CORUN_OK)
        status = ptx_print(slices.module, &program->sliced_text, &bytes);
    if (slices.module)
        ptx_module_destroy(slices.module);
    if (module)
        ptx_module_destroy(module);
    return status;
}

static bool is_copied_to(const struct workload_commands *commands, size_t buffer)
{
    for (size_t i = 0; i < commands->command_count; i++)
        if (!commands->commands[i].kernel && commands->commands[i].to == buffer)
            return true;
    return false;
}

static void find_kinds(struct runtime *runtime, struct program *program)
{
    const struct workload_commands *commands = program->commands;
    for (size_t i = 0; i < commands->buffer_count; i++) {
        const struct command_buffer *buffer = &commands->buffers[i];
        bool stays = runtime->options.resident && buffer->is_constant && buffer->initial && !buffer->symbol;
        if (buffer->symbol) {
            program->has_variables = true;
            program->sliced_only |= !buffer->is_constant && !is_copied_to(commands, i);
        } else if (stays) {
            program->resident[i].bytes = buffer->bytes;
        } else {
            program->cost += block_cost(buffer->bytes);
        }
    }
}

static enum corun_status check_memory(struct runtime *runtime, const struct program *program,
                                      struct corun_diagnostics *list)
{
    uint64_t bytes = program->cost;
    for (size_t p = 0; p < runtime->programs.count; p++) /* the new one is the last of them */
        for (size_t i = 0; i < runtime->programs.data[p].commands->buffer_count; i++)
            bytes += block_cost(runtime->programs.data[p].resident[i].bytes);
    if (bytes <= runtime->memory.most_bytes)
        return CORUN_OK;
    return corun_report(
        list, CORUN_LIMIT, CORUN_NOWHERE,
        "a job of %s needs %llu bytes of the device together with what stays there, and %llu are for jobs",
        program->commands->name, (unsigned long long)bytes, (unsigned long long)runtime->memory.most_bytes);
}

void program_pin(struct runtime *runtime, const struct program *program)
{
    enum { HOST_FOR_ALL_CONTEXTS = 1 };
    const struct workload_commands *commands = program->commands;
    for (size_t i = 0; i < commands->buffer_count; i++) /* refused where another runtime has done it: as good */
        if (commands->buffers[i].initial)
            (void)runtime->driver.host_register((void *)(uintptr_t)commands->buffers[i].initial,
                                                commands->buffers[i].bytes, HOST_FOR_ALL_CONTEXTS);
}

void program_unpin(struct runtime *runtime, const struct program *program)
{
    const struct workload_commands *commands = program->commands;
    for (size_t i = 0; i < commands->buffer_count; i++)
        if (commands->buffers[i].initial)
            (void)runtime->driver.host_unregister((void *)(uintptr_t)commands->buffers[i].initial);
}

static void free_image(struct image *image)
{
    for (uint32_t i = 0; image && i < 2; i++) {
        free(image->functions[i]);
        free(image->places[i]);
    }
    free(image);
}

static bool find_functions(struct runtime *runtime, const struct program *program, struct image *image, uint32_t which)
{
    const struct workload_commands *commands = program->commands;
    image->functions[which] = calloc(commands->launch_count + 1, sizeof *image->functions[which]);
    image->places[which] = calloc(commands->buffer_count + 1, sizeof *image->places[which]);
    if (!image->functions[which] || !image->places[which])
        return false;
    for (uint32_t i = 0; i < commands->launch_count; i++)
        if (!CALL(runtime, module_function(&image->functions[which][i], image->modules[which],
                                           program->launches[i].command->kernel)))
            return false;
    for (size_t i = 0; i < commands->buffer_count; i++)
        if (commands->buffers[i].symbol &&
            !CALL(runtime, module_variable(&image->places[which][i], &(size_t){0}, image->modules[which],
                                           commands->buffers[i].symbol)))
            return false;
    return true;
}

static void unload(struct runtime *runtime, struct image *image)
{
    for (uint32_t i = 0; i < 2; i++)
        (void)(image->modules[i] && runtime->driver.module_unload(image->modules[i]));
    free_image(image);
}

static struct image *load(struct runtime *runtime, const struct program *program)
{
    struct image *image = calloc(1, sizeof *image);
    const char *texts[] = {program->commands->ptx, program->sliced_text};
    bool good = image != NULL;
    for (uint32_t i = 0; i < 2 && good; i++)
        good = CALL(runtime, module_load(&image->modules[i], texts[i])) && find_functions(runtime, program, image, i);
    if (good)
        return image;
    if (image)
        unload(runtime, image);
    return NULL;
}

struct image *program_take_image(struct runtime *runtime, struct program *program)
{
    struct image *image = program->free_images;
    if (!image)
        image = load(runtime, program);
    else if (program->has_variables)
        program->free_images = image->next;
    if (image && !program->has_variables)
        program->free_images = image; /* shared */
    return image;
}

void program_give_image(struct runtime *runtime, struct program *program, struct image *image)
{
    if (!image || !program->has_variables)
        return;
    if (program->fresh && runtime->context) {
        unload(runtime, image);
        return;
    }
    image->next = program->free_images;
    program->free_images = image;
}

void program_forget(struct program *program)
{
    while (program->free_images) {
        struct image *image = program->free_images;
        program->free_images = program->has_variables ? image->next : NULL;
        free_image(image);
    }
    for (size_t i = 0; i < program->commands->buffer_count; i++)
        program->resident[i].address = 0;
    program->resident_loaded = false;
    program->resident_event = NULL;
}

void program_free(struct program *program)
{
    if (program->resident)
        program_forget(program);
    for (uint32_t i = 0; program->launches && i < program->commands->launch_count; i++)
        free(program->launches[i].refusal);
    free(program->launches);
    free(program->resident);
    free(program->sliced_text);
}

static void find_occupancy(struct runtime *runtime, struct program *program, const struct image *image)
{
    for (uint32_t i = 0; runtime->driver.occupancy && i < program->commands->launch_count; i++) {
        const struct command *command = program->launches[i].command;
        int tbs = 0;
        if (!runtime->driver.occupancy(&tbs, image->functions[0][i],
                                       (int)(command->block[0] * command->block[1] * command->block[2]),
                                       command->shared_bytes))
            program->launches[i].tbs_per_sm = (uint32_t)tbs;
    }
}

static enum corun_status make(struct runtime *runtime, struct program *program, struct corun_diagnostics *list)
{
    const struct workload_commands *commands = program->commands;
    program->launches = calloc(commands->launch_count + 1, sizeof *program->launches);
    program->resident = calloc(commands->buffer_count + 1, sizeof *program->resident);
    if (!program->launches || !program->resident)
        return CORUN_MEMORY;
    for (size_t i = 0, launch = 0; i < commands->command_count; i++)
        if (commands->commands[i].kernel)
            program->launches[launch++] = (struct program_launch){.command = &commands->commands[i],
                                                                  .tbs = slice_total(commands->commands[i].grid)};
    find_kinds(runtime, program);
    enum corun_status status = check_memory(runtime, program, list);
    if (status == CORUN_OK)
        status = make_sliced(program, list);
    if (status != CORUN_OK)
        return status;
    runtime_enter(runtime);
    struct image *image = program_take_image(runtime, program);
    if (image) {
        program_pin(runtime, program);
        find_occupancy(runtime, program, image);
        program_give_image(runtime, program, image);
    }
    runtime_leave(runtime);
    return image ? CORUN_OK : runtime_fault(runtime, list, commands->name);
}

enum corun_status runtime_add_program(struct runtime *runtime, const struct workload_commands *commands,
                                      struct corun_diagnostics *list, uint32_t *number)
{
    *number = (uint32_t)runtime->programs.count;
    if (!commands->launch_count)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s launches no kernel", commands->name);
    if (!vector_push(&runtime->programs, (struct program){.commands = commands}))
        return CORUN_MEMORY;
    struct program *program = &runtime->programs.data[*number];
    enum corun_status status = make(runtime, program, list);
    if (status != CORUN_OK) {
        program_free(program);
        runtime->programs.count--;
    }
    return status;
}

uint32_t runtime_launch_count(const struct runtime *runtime, uint32_t program)
{
    return runtime->programs.data[program].commands->launch_count;
}

void runtime_launch_at(const struct runtime *runtime, uint32_t program, uint32_t index, struct runtime_launch *result)
{
    const struct program_launch *launch = &runtime->programs.data[program].launches[index];
    *result = (struct runtime_launch){.kernel = launch->command->kernel,
                                      .tbs = launch->tbs,
                                      .shared_bytes = launch->command->shared_bytes,
                                      .tbs_per_sm = launch->tbs_per_sm,
                                      .refusal = launch->refusal};
    memcpy(result->grid, launch->command->grid, sizeof result->grid);
    memcpy(result->block, launch->command->block, sizeof result->block);
}
