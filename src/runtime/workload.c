/* SPDX-License-Identifier: MIT */
/* Workloads: sliced once, their modules loaded as often as jobs need variables of their own. */
#include "base/arena.h"
#include "ptx/idempotence.h"
#include "ptx/module.h"
#include "ptx/printer.h"
#include "rewrite/slice.h"
#include "rewrite/workers.h"
#include "runtime/state.h"

#include <stdlib.h>
#include <string.h>

#define VOLTA 70u                 /* compute capability 7.0 */
#define PLAIN_SHARED_BYTES 49152u /* static and dynamic ones of a thread block whose kernel has not asked for more */

static bool is_set(const struct workload_commands *commands, const char *name)
{
    for (size_t i = 0; i < commands->buffer_count; i++)
        if (commands->buffers[i].symbol && !strcmp(commands->buffers[i].symbol, name))
            return !commands->buffers[i].kept;
    return false;
}

/* Variables in global memory, which a run may change, and those among them that are not set before each run. */
static void find_variables(struct workload *workload, const struct ptx_module *module)
{
    for (uint32_t i = 0; i < module->variable_count; i++) {
        if (module->variables[i]->space != PTX_SPACE_GLOBAL)
            continue;
        workload->rewritten_only = true;
        workload->fresh |= !is_set(workload->commands, module->variables[i]->name);
    }
    workload->has_variables |= workload->fresh;
}

struct arguments_of {
    const struct ptx_function *kernel;
    const struct workload_commands *commands;
    const struct command *command;
};

/* A buffer of the workload counts from 1; what no launch can tell is a buffer of its own. */
static uint64_t find_buffer(const void *user, const struct ptx_root *root)
{
    const struct arguments_of *arguments = user;
    for (uint32_t i = 0; i < arguments->kernel->signature.parameter_count && i < arguments->command->argument_count;
         i++)
        if (arguments->kernel->signature.parameters[i] == root->variable)
            return arguments->command->arguments[i].is_buffer ? arguments->command->arguments[i].buffer + 1 : 0;
    for (size_t i = 0; i < arguments->commands->buffer_count; i++)
        if (arguments->commands->buffers[i].symbol &&
            !strcmp(arguments->commands->buffers[i].symbol, root->variable->name))
            return i + 1;
    return (uint64_t)(uintptr_t)root->variable;
}

/* Why thread blocks of a launch cannot be begun again; NULL: they can. */
static enum corun_status find_keeps(const struct workload *workload, const struct workload_launch *launch,
                                    const struct ptx_function *kernel, const char **keeps)
{
    const struct arguments_of arguments = {kernel, workload->commands, launch->command};
    struct arena *arena = arena_create();
    struct ptx_idempotence idempotence;
    enum corun_status status = arena ? ptx_idempotence_create(kernel, arena, &idempotence) : CORUN_MEMORY;
    if (status == CORUN_OK && !ptx_idempotence_holds(&idempotence, find_buffer, &arguments))
        *keeps = idempotence.reason ? idempotence.reason : "it may read what it has written";
    arena_destroy(arena);
    return status;
}

/* Why this launch cannot run by workers, which its kernel has; NULL: it can. */
static const char *find_refusal(const struct runtime *runtime, const struct rewritten_kernel *kernel,
                                const struct workload_launch *launch)
{
    if (launch->tbs > WORKERS_MOST_BLOCKS)
        return "its grid has more thread blocks than a queue of workers";
    if (kernel->shared_bytes_most + launch->command->shared_bytes > PLAIN_SHARED_BYTES)
        return "its shared memory leaves no room for the index of the thread block";
    return runtime->info.capability >= VOLTA ? kernel->only_before_volta : NULL;
}

/* What the pass says of the kernel of a launch. */
static enum corun_status note_kernel(const struct runtime *runtime, const struct workload *workload,
                                     const struct rewritten *rewritten, struct workload_launch *launch,
                                     struct corun_diagnostics *list)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there are as many commands with a kernel as launches */
    const char *name = launch->command->kernel;
    const struct rewritten_kernel *kernel = rewritten_kernel_find(rewritten, name);
    const char *refusal = kernel ? kernel->refusal : NULL;
    bool workers = runtime_form(runtime) == IMAGE_WORKERS;
    if (workers && kernel && !refusal && (refusal = find_refusal(runtime, kernel, launch)) &&
        workload->rewritten_only) {
        if (!kernel->whole)
            return corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                                "%s declares a variable in global memory in its body, and cannot run by workers: %s",
                                name, refusal);
        if (!(launch->whole = strdup(kernel->whole->name)))
            return CORUN_MEMORY;
    }
    launch->noncoherent = kernel && kernel->reads_noncoherent;
    launch->ranges = kernel && kernel->ranges;
    return !refusal || (launch->refusal = strdup(refusal)) ? CORUN_OK : CORUN_MEMORY;
}

/* May thread blocks of a launch be left in the middle? By their text, by their arguments, and where the pass has found a place for that. */
static enum corun_status note_drops(const struct workload *workload, const struct ptx_module *module,
                                    const struct rewritten *rewritten, struct workload_launch *launch)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there are as many commands with a kernel as launches */
    const struct rewritten_kernel *kernel = rewritten_kernel_find(rewritten, launch->command->kernel);
    const struct ptx_function *function = ptx_module_function(module, launch->command->kernel);
    const char *keeps = !kernel || !function ? "it is not there" : kernel->drops_text;
    enum corun_status status = CORUN_OK;
    if (launch->refusal)
        keeps = launch->refusal;
    else if (kernel && function && kernel->drops != REWRITTEN_DROPS_NOWHERE) {
        keeps = NULL;
        status = find_keeps(workload, launch, function, &keeps);
    }
    if (status == CORUN_OK && keeps && !(launch->keeps = strdup(keeps)))
        status = CORUN_MEMORY;
    return status;
}

/* Whole launches of a module that is there as workers only need their kernels beside these. */
static rewrite_pass *pass_of(const struct runtime *runtime, const struct workload *workload)
{
    if (runtime_form(runtime) != IMAGE_WORKERS)
        return slice_module;
    if (runtime->options.drop)
        return workload->rewritten_only ? workers_dropping_beside_module : workers_dropping_module;
    return workload->rewritten_only ? workers_beside_module : workers_module;
}

static enum corun_status rewrite_module(const struct runtime *runtime, struct workload *workload,
                                        const struct ptx_module *module, struct corun_diagnostics *list)
{
    struct rewritten rewritten = {0};
    enum image_form form = runtime_form(runtime);
    size_t bytes;
    bool workers = form == IMAGE_WORKERS;
    if (workers && workload->commands->workers_ptx && !runtime->options.fence && !runtime->options.drop)
        return (workload->texts[form] = strdup(workload->commands->workers_ptx)) ? CORUN_OK : CORUN_MEMORY;
    enum corun_status status = pass_of(runtime, workload)(module, list, &rewritten);
    if (status != CORUN_OK)
        return status;
    for (uint32_t i = 0; i < workload->commands->launch_count && status == CORUN_OK; i++)
        status = note_kernel(runtime, workload, &rewritten, &workload->launches[i], list);
    for (uint32_t i = 0; workers && i < workload->commands->launch_count && status == CORUN_OK; i++)
        status = note_drops(workload, module, &rewritten, &workload->launches[i]);
    if (status == CORUN_OK)
        status = ptx_print(rewritten.module, &workload->texts[form], &bytes);
    rewritten_destroy(&rewritten);
    return status;
}

static enum corun_status rewrite_fenced(const struct runtime *runtime, struct workload *workload,
                                        const struct ptx_module *module, struct corun_diagnostics *list)
{
    struct rewritten fenced = {0};
    enum corun_status status = fence_rewrite(workload, module, list, &fenced);
    if (status == CORUN_OK)
        status = rewrite_module(runtime, workload, fenced.module, list);
    if (fenced.module)
        rewritten_destroy(&fenced);
    return status;
}

/* The text of the form that launches need which do not go whole. */
static enum corun_status rewrite(const struct runtime *runtime, struct workload *workload,
                                 struct corun_diagnostics *list)
{
    const struct workload_commands *commands = workload->commands;
    struct ptx_module *module = NULL;
    enum corun_status status = ptx_parse(commands->name, commands->ptx, commands->ptx_bytes, list, &module);
    if (status == CORUN_OK)
        find_variables(workload, module);
    if (status == CORUN_OK)
        status = runtime->options.fence ? rewrite_fenced(runtime, workload, module, list)
                                        : rewrite_module(runtime, workload, module, list);
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

static void find_kinds(struct runtime *runtime, struct workload *workload)
{
    const struct workload_commands *commands = workload->commands;
    for (size_t i = 0; i < commands->buffer_count; i++) {
        const struct command_buffer *buffer = &commands->buffers[i];
        bool stays = runtime->options.resident && buffer->is_constant && buffer->initial;
        if (buffer->symbol) { /* each module has its own, which is loaded, and compiled, for every job that has one */
            workload->has_variables |= !runtime->options.resident || !buffer->is_constant || is_copied_to(commands, i);
        } else if (stays) {
            workload->resident[i].bytes = buffer->bytes;
        } else {
            workload->cost += block_cost(buffer->bytes);
            workload->pristine[i].bytes = runtime->options.refilled && buffer->initial ? buffer->bytes : 0;
        }
    }
}

static enum corun_status check_memory(struct runtime *runtime, const struct workload *workload,
                                      struct corun_diagnostics *list)
{
    uint64_t bytes = workload->cost;
    for (size_t p = 0; p < runtime->workloads.count; p++) /* the new one is the last of them */
        for (size_t i = 0; i < runtime->workloads.data[p].commands->buffer_count; i++)
            bytes += block_cost(runtime->workloads.data[p].resident[i].bytes) +
                     block_cost(runtime->workloads.data[p].pristine[i].bytes);
    if (bytes <= runtime->memory.most_bytes)
        return CORUN_OK;
    return corun_report(
        list, CORUN_LIMIT, CORUN_NOWHERE,
        "a job of %s needs %llu bytes of the device together with what stays there, and %llu are for jobs",
        workload->commands->name, (unsigned long long)bytes, (unsigned long long)runtime->memory.most_bytes);
}

void workload_pin(struct runtime *runtime, const struct workload *workload)
{
    enum { HOST_FOR_ALL_CONTEXTS = 1 };
    const struct workload_commands *commands = workload->commands;
    for (size_t i = 0; i < commands->buffer_count; i++) /* refused where another runtime has done it: as good */
        if (commands->buffers[i].initial)
            (void)runtime->driver.host_register((void *)(uintptr_t)commands->buffers[i].initial,
                                                commands->buffers[i].bytes, HOST_FOR_ALL_CONTEXTS);
}

void workload_unpin(struct runtime *runtime, const struct workload *workload)
{
    const struct workload_commands *commands = workload->commands;
    for (size_t i = 0; i < commands->buffer_count; i++)
        if (commands->buffers[i].initial)
            (void)runtime->driver.host_unregister((void *)(uintptr_t)commands->buffers[i].initial);
}

static void free_image(struct image *image)
{
    for (uint32_t i = 0; image && i < IMAGE_FORMS; i++) {
        free(image->functions[i]);
        free(image->places[i]);
    }
    free(image);
}

static bool find_functions(struct runtime *runtime, const struct workload *workload, struct image *image,
                           uint32_t which)
{
    const struct workload_commands *commands = workload->commands;
    image->functions[which] = calloc(commands->launch_count + 1, sizeof *image->functions[which]);
    image->places[which] = calloc(commands->buffer_count + 1, sizeof *image->places[which]);
    if (!image->functions[which] || !image->places[which])
        return false;
    for (uint32_t i = 0; i < commands->launch_count; i++) {
        const struct workload_launch *launch = &workload->launches[i];
        const char *name = which == IMAGE_WORKERS && launch->whole ? launch->whole : launch->command->kernel;
        if (!CALL(runtime, module_function(&image->functions[which][i], image->modules[which], name)))
            return false;
    }
    for (size_t i = 0; i < commands->buffer_count; i++)
        if (commands->buffers[i].symbol &&
            !CALL(runtime, module_variable(&image->places[which][i], &(size_t){0}, image->modules[which],
                                           commands->buffers[i].symbol)))
            return false;
    return true;
}

static void unload(struct runtime *runtime, struct image *image)
{
    for (uint32_t i = 0; i < IMAGE_FORMS; i++)
        (void)(image->modules[i] && runtime->driver.module_unload(image->modules[i]));
    free_image(image);
}

static struct image *load(struct runtime *runtime, struct workload *workload)
{
    struct image *image = calloc(1, sizeof *image);
    bool good = image != NULL;
    for (uint32_t i = 0; i < IMAGE_FORMS && good; i++) {
        const char *text = i == IMAGE_PLAIN && !workload->texts[i] ? workload->commands->ptx : workload->texts[i];
        if (text)
            good = CALL(runtime, module_load(&image->modules[i], text)) && find_functions(runtime, workload, image, i);
        if (text && good && runtime->options.fence)
            good = fence_set(runtime, workload, image->modules[i]);
    }
    if (good)
        return image;
    if (image)
        unload(runtime, image);
    return NULL;
}

struct image *workload_take_image(struct runtime *runtime, struct workload *workload)
{
    struct image *image = workload->free_images;
    if (!image)
        image = load(runtime, workload);
    else if (workload->has_variables)
        workload->free_images = image->next;
    if (image)
        image->shared = !workload->has_variables;
    if (image && image->shared)
        workload->free_images = image;
    return image;
}

void workload_give_image(struct runtime *runtime, struct workload *workload, struct image *image)
{
    if (!image || image->shared)
        return;
    if (workload->fresh && runtime->context) {
        unload(runtime, image);
        return;
    }
    image->next = workload->free_images;
    workload->free_images = image;
}

void workload_forget(struct workload *workload)
{
    while (workload->free_images) {
        struct image *image = workload->free_images;
        workload->free_images = workload->has_variables ? image->next : NULL;
        free_image(image);
    }
    for (size_t i = 0; i < workload->commands->buffer_count; i++)
        workload->resident[i].address = workload->pristine[i].address = 0;
    blocks_forget(&workload->own);
    workload->resident_loaded = false;
    workload->resident_event = NULL;
}

void workload_free(struct workload *workload)
{
    if (workload->resident)
        workload_forget(workload);
    for (uint32_t i = 0; workload->launches && i < workload->commands->launch_count; i++) {
        free(workload->launches[i].refusal);
        free(workload->launches[i].whole);
        free(workload->launches[i].keeps);
    }
    free(workload->launches);
    free(workload->resident);
    free(workload->pristine);
    for (uint32_t i = 0; i < IMAGE_FORMS; i++)
        free(workload->texts[i]);
    free(workload->fence_name);
    free(workload->trespass);
}

enum { STATIC_SHARED_BYTES = 1, REGISTERS_OF_THREAD = 4 }; /* attributes of a function */

uint32_t workload_tb_registers(uint32_t threads, uint32_t registers)
{
    return (threads + 31) / 32 * ((registers * 32 + 255) / 256 * 256);
}

/* What a thread block takes of an SM: registers, and shared memory by 128 bytes (CUDA's occupancy calculator). */
static void find_needs(struct runtime *runtime, struct workload_launch *launch, void *function)
{
    int registers = 0, shared = 0;
    const uint32_t *block = launch->command->block;
    if (!runtime->driver.function_attribute ||
        runtime->driver.function_attribute(&registers, REGISTERS_OF_THREAD, function) ||
        runtime->driver.function_attribute(&shared, STATIC_SHARED_BYTES, function))
        return;
    launch->tb_registers = workload_tb_registers(block[0] * block[1] * block[2], (uint32_t)registers);
    launch->tb_shared_bytes = ((uint32_t)shared + launch->command->shared_bytes + 127) / 128 * 128;
}

static void find_occupancy(struct runtime *runtime, struct workload *workload, const struct image *image)
{
    for (uint32_t i = 0; runtime->driver.occupancy && i < workload->commands->launch_count; i++) {
        const struct command *command = workload->launches[i].command;
        enum image_form form = runtime->options.workers && !workload->launches[i].refusal ? IMAGE_WORKERS : IMAGE_PLAIN;
        void **functions = image->functions[form];
        int tbs = 0;
        if (!command || !functions)
            continue;
        find_needs(runtime, &workload->launches[i], functions[i]);
        if (!runtime->driver.occupancy(&tbs, functions[i],
                                       (int)(command->block[0] * command->block[1] * command->block[2]),
                                       command->shared_bytes))
            workload->launches[i].tbs_per_sm = (uint32_t)tbs;
    }
}

static enum corun_status make(struct runtime *runtime, struct workload *workload, struct corun_diagnostics *list)
{
    const struct workload_commands *commands = workload->commands;
    workload->launches = calloc(commands->launch_count + 1, sizeof *workload->launches);
    workload->resident = calloc(commands->buffer_count + 1, sizeof *workload->resident);
    workload->pristine = calloc(commands->buffer_count + 1, sizeof *workload->pristine);
    if (!workload->launches || !workload->resident || !workload->pristine)
        return CORUN_MEMORY;
    for (size_t i = 0, launch = 0; i < commands->command_count; i++)
        if (commands->commands[i].kernel)
            workload->launches[launch++] = (struct workload_launch){
                .command = &commands->commands[i], .place = i, .tbs = slice_total(commands->commands[i].grid)};
    find_kinds(runtime, workload);
    enum corun_status status = check_memory(runtime, workload, list);
    if (status == CORUN_OK)
        status = rewrite(runtime, workload, list);
    if (status != CORUN_OK)
        return status;
    runtime_enter(runtime);
    struct image *image = workload_take_image(runtime, workload);
    if (image) {
        workload_pin(runtime, workload);
        find_occupancy(runtime, workload, image);
        workload_give_image(runtime, workload, image);
    }
    runtime_leave(runtime);
    return image ? CORUN_OK : runtime_fault(runtime, list, commands->name);
}

enum corun_status runtime_add_workload(struct runtime *runtime, const struct workload_commands *commands,
                                       struct corun_diagnostics *list, uint32_t *number)
{
    *number = (uint32_t)runtime->workloads.count;
    if (!commands->launch_count)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s launches no kernel", commands->name);
    if (!vector_push(&runtime->workloads, (struct workload){.commands = commands}))
        return CORUN_MEMORY;
    struct workload *workload = &runtime->workloads.data[*number];
    enum corun_status status = make(runtime, workload, list);
    if (status != CORUN_OK) {
        workload_free(workload);
        runtime->workloads.count--;
    }
    return status;
}

uint32_t runtime_launch_count(const struct runtime *runtime, uint32_t workload)
{
    return runtime->workloads.data[workload].commands->launch_count;
}

void runtime_launch_at(const struct runtime *runtime, uint32_t workload, uint32_t index, struct runtime_launch *result)
{
    const struct workload_launch *launch = &runtime->workloads.data[workload].launches[index];
    *result = (struct runtime_launch){.kernel = launch->command->kernel,
                                      .tbs = launch->tbs,
                                      .shared_bytes = launch->command->shared_bytes,
                                      .tbs_per_sm = launch->tbs_per_sm,
                                      .tb_registers = launch->tb_registers,
                                      .tb_shared_bytes = launch->tb_shared_bytes,
                                      .refusal = launch->refusal,
                                      .noncoherent = launch->noncoherent,
                                      .ranges = launch->ranges,
                                      .keeps = launch->keeps,
                                      .thread_instructions = launch->command->thread_instructions};
    memcpy(result->grid, launch->command->grid, sizeof result->grid);
    memcpy(result->block, launch->command->block, sizeof result->block);
}
