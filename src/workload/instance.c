/* SPDX-License-Identifier: MIT */
/* An instance is created, filled, run functionally, launched grid by grid on a machine, and set back between runs. */
#include "workload/instance.h"

#include "base/host_memory.h"
#include "corun/checkpoint.h"
#include "isa/archive.h"
#include "isa/memory.h"
#include "workload/initial_data.h"
#include "workload/recorded.h"

#include <stdio.h>
#include <stdlib.h>

/* Repeated launches mostly alternate between two sets of arguments; beyond the last few, another grid costs little. */
#define RECENT_GRIDS 4u

struct made_grid {
    uint32_t launch; /* launch_description.index */
    uint32_t grid[3], block[3], shared_bytes;
    uint8_t *parameters;
    size_t parameter_bytes;
};

struct grid_maker {
    struct corun_instance *instance;
    struct corun_diagnostics *list;
    VECTOR(struct made_grid) made;
};

static enum corun_status out_of_memory(const struct corun_workload *workload, struct corun_diagnostics *list)
{
    return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory for workload '%s'", workload_name(workload));
}

/* The parameter block of a launch; to be freed. */
static uint8_t *build_parameters(const struct corun_instance *instance, const struct planned_operation *operation,
                                 const struct corun_kernel_info *info)
{
    uint8_t *block = calloc(1, info->parameter_bytes ? info->parameter_bytes : 1);
    for (uint32_t i = 0; block && i < info->parameter_count; i++) {
        uint64_t bits = operation->arguments[i].bits;
        if (operation->launch->arguments.data[i].is_buffer)
            bits += instance->addresses[operation->arguments[i].buffer];
        memcpy(block + info->parameters[i].offset_bytes, &bits, info->parameters[i].bytes);
    }
    return block;
}

static bool same_grid(const struct made_grid *left, const struct made_grid *right)
{
    return left->launch == right->launch && memcmp(left->grid, right->grid, sizeof left->grid) == 0 &&
           memcmp(left->block, right->block, sizeof left->block) == 0 && left->shared_bytes == right->shared_bytes &&
           left->parameter_bytes == right->parameter_bytes &&
           memcmp(left->parameters, right->parameters, left->parameter_bytes) == 0;
}

/* Finds or makes the grid of a launch; *index is its place in instance->grids. */
static enum corun_status make_grid(struct grid_maker *maker, const struct planned_operation *operation, uint32_t *index)
{
    struct corun_instance *instance = maker->instance;
    const struct corun_kernel *kernel = instance->workload->kernels[operation->launch->index];
    struct corun_kernel_info info;
    corun_kernel_describe(kernel, &info);
    struct made_grid made = {
        .launch = operation->launch->index,
        .shared_bytes = operation->shared_bytes,
        .parameters = build_parameters(instance, operation, &info),
        .parameter_bytes = info.parameter_bytes,
    };
    memcpy(made.grid, operation->grid, sizeof made.grid);
    memcpy(made.block, operation->block, sizeof made.block);
    if (!made.parameters)
        return out_of_memory(instance->workload, maker->list);
    size_t oldest = maker->made.count > RECENT_GRIDS ? maker->made.count - RECENT_GRIDS : 0;
    for (size_t i = maker->made.count; i-- > oldest;) {
        if (same_grid(&maker->made.data[i], &made)) {
            free(made.parameters);
            *index = (uint32_t)i;
            return CORUN_OK;
        }
    }
    *index = (uint32_t)maker->made.count;
    if (!vector_push(&maker->made, made)) {
        free(made.parameters);
        return out_of_memory(instance->workload, maker->list);
    }
    struct corun_launch_description launch = {
        .kernel = kernel,
        .grid = {made.grid[0], made.grid[1], made.grid[2]},
        .block = {made.block[0], made.block[1], made.block[2]},
        .dynamic_shared_bytes = made.shared_bytes,
        .parameters = made.parameters,
        .parameter_bytes = made.parameter_bytes,
    };
    enum corun_status status = corun_grid_create(instance->module, &launch, maker->list, &instance->grids[*index]);
    if (status)
        return corun_report(maker->list, status, operation->launch->place, "kernel '%s' cannot be launched like this",
                            info.name);
    instance->distinct = *index + 1;
    return CORUN_OK;
}

static enum corun_status make_grids(struct corun_instance *instance, struct corun_diagnostics *list)
{
    const struct plan *plan = instance->workload->plan;
    instance->grids = calloc(plan->grid_count, sizeof(*instance->grids));
    instance->grid_of = calloc(plan->grid_count, sizeof(*instance->grid_of));
    instance->operation_of = calloc(plan->grid_count, sizeof(*instance->operation_of));
    if (!instance->grids || !instance->grid_of || !instance->operation_of)
        return out_of_memory(instance->workload, list);
    struct grid_maker maker = {.instance = instance, .list = list};
    enum corun_status status = CORUN_OK;
    uint32_t index = 0;
    for (uint32_t i = 0; i < plan->operations.count && !status; i++) {
        if (plan->operations.data[i].launch->kind != LAUNCH_KERNEL)
            continue;
        instance->operation_of[index] = i;
        status = make_grid(&maker, &plan->operations.data[i], &instance->grid_of[index]);
        index++;
    }
    for (size_t i = 0; i < maker.made.count; i++)
        free(maker.made.data[i].parameters);
    vector_free(&maker.made);
    return status;
}

/* All buffers are filled, so they take what they promise. */
static enum corun_status check_memory(const struct corun_instance *instance, struct corun_diagnostics *list)
{
    const struct description *description = instance->workload->description;
    uint64_t bytes = 0;
    for (size_t i = 0; i < description->buffers.count; i++)
        bytes += description->buffers.data[i].symbol.text ? 0 : instance->workload->plan->buffers[i].bytes;
    char what[128];
    snprintf(what, sizeof what, "workload '%.80s'", description->name);
    return host_memory_check(bytes, what, CORUN_NOWHERE, list);
}

static enum corun_status place_buffers(struct corun_instance *instance, struct corun_diagnostics *list)
{
    const struct description *description = instance->workload->description;
    for (size_t i = 0; i < description->buffers.count; i++) {
        const struct buffer_description *buffer = &description->buffers.data[i];
        uint64_t bytes = instance->workload->plan->buffers[i].bytes;
        if (!buffer->symbol.text) {
            if (corun_memory_allocate(instance->memory, bytes, &instance->addresses[i]) != CORUN_OK ||
                !memory_name(instance->memory, instance->addresses[i], "buffer %s", buffer->name))
                return corun_report(list, CORUN_MEMORY, buffer->place, "out of memory for buffer '%s' of %llu bytes",
                                    buffer->name, (unsigned long long)bytes);
            continue;
        }
        uint64_t variable_bytes = 0;
        instance->addresses[i] = corun_module_instance_variable(instance->module, buffer->symbol.text, &variable_bytes);
        if (!instance->addresses[i])
            return corun_report(list, CORUN_NOT_FOUND, buffer->symbol.place, "there is no variable '%.80s' in %s",
                                buffer->symbol.text, instance->workload->ptx_path);
        if (bytes > variable_bytes)
            return corun_report(list, CORUN_ARGUMENT, buffer->place,
                                "buffer '%s' has %llu bytes, but variable '%s' has only %llu", buffer->name,
                                (unsigned long long)bytes, buffer->symbol.text, (unsigned long long)variable_bytes);
    }
    return CORUN_OK;
}

static enum corun_status set_initial_data(struct corun_instance *instance, struct corun_diagnostics *list)
{
    const struct description *description = instance->workload->description;
    const struct plan *plan = instance->workload->plan;
    struct corun_problem_buffer buffers[DESCRIPTION_MAX_BUFFERS];
    for (size_t i = 0; i < description->buffers.count; i++) {
        buffers[i] = (struct corun_problem_buffer){
            .name = description->buffers.data[i].name,
            .element = description->buffers.data[i].element,
            .count = plan->buffers[i].count,
            .data = corun_memory_pointer(instance->memory, instance->addresses[i], plan->buffers[i].bytes),
        };
        if (!buffers[i].data)
            return corun_report(list, CORUN_FAULT, description->buffers.data[i].place,
                                "buffer '%s' is not in device memory", buffers[i].name);
    }
    struct corun_problem problem = {
        .seed = instance->seed,
        .buffers = buffers,
        .buffer_count = description->buffers.count,
        .parameters = plan->parameters.data,
        .parameter_count = plan->parameters.count,
    };
    return initial_data_fill(instance->workload, &problem, list);
}

/* A grid for each kernel of a trace. */
static enum corun_status make_traced_grids(struct corun_instance *instance, uint32_t application,
                                           struct corun_diagnostics *list)
{
    const struct sass_trace *trace = instance->workload->traced;
    instance->grids = calloc(trace->kernels.count, sizeof(*instance->grids));
    instance->grid_of = calloc(trace->launches.count, sizeof(*instance->grid_of));
    if (!instance->grids || !instance->grid_of)
        return out_of_memory(instance->workload, list);
    memcpy(instance->grid_of, trace->launches.data, trace->launches.count * sizeof *instance->grid_of);
    for (uint32_t i = 0; i < trace->kernels.count; i++) {
        instance->grids[i] = sass_grid_create(trace, i, application);
        if (!instance->grids[i])
            return out_of_memory(instance->workload, list);
        instance->distinct = i + 1u;
    }
    return CORUN_OK;
}

/* `record`: NULL, or what its launches are taken from; buffers have their addresses then, and no data. */
static enum corun_status create(struct corun_instance *instance, uint32_t application, struct corun_record *record,
                                struct corun_diagnostics *list)
{
    if (instance->workload->traced)
        return make_traced_grids(instance, application, list);
    if (instance->workload->captured)
        return replay_create(instance->workload->captured, application, list, &instance->replay);
    instance->memory = corun_memory_create(application);
    if (!instance->memory)
        return out_of_memory(instance->workload, list);
    enum corun_status status =
        corun_module_instance_create(instance->workload->module, instance->memory, list, &instance->module);
    if (!status)
        status = check_memory(instance, list);
    if (!status)
        status = place_buffers(instance, list);
    if (!status && !record)
        status = set_initial_data(instance, list);
    if (!status)
        status = make_grids(instance, list);
    if (!status && record)
        status = recorded_create(record, instance->grids, instance->distinct, instance->grid_of,
                                 instance->workload->plan->grid_count, application, list, &instance->recorded);
    return status;
}

enum corun_status corun_instance_create(const struct corun_workload *workload, uint32_t application, uint64_t seed,
                                        struct corun_diagnostics *list, struct corun_instance **result)
{
    return corun_instance_create_from(workload, application, seed, NULL, list, result);
}

enum corun_status corun_instance_create_from(const struct corun_workload *workload, uint32_t application, uint64_t seed,
                                             struct corun_record *record, struct corun_diagnostics *list,
                                             struct corun_instance **result)
{
    *result = NULL;
    struct corun_instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return out_of_memory(workload, list);
    instance->workload = workload;
    instance->seed = seed;
    enum corun_status status = create(instance, application, record, list);
    if (status)
        corun_instance_destroy(instance);
    else
        *result = instance;
    return status;
}

void corun_instance_destroy(struct corun_instance *instance)
{
    if (!instance)
        return;
    replay_destroy(instance->replay);
    recorded_destroy(instance->recorded); /* before the grids that it copied */
    for (size_t i = 0; i < instance->distinct; i++)
        instance->workload->traced ? sass_grid_destroy(instance->grids[i]) : corun_grid_destroy(instance->grids[i]);
    free(instance->grids);
    free(instance->grid_of);
    free(instance->operation_of);
    if (instance->module)
        corun_module_instance_destroy(instance->module);
    if (instance->memory)
        corun_memory_destroy(instance->memory);
    free(instance);
}

static void copy(struct corun_instance *instance, const struct planned_operation *operation)
{
    const struct plan *plan = instance->workload->plan;
    uint8_t *from = corun_memory_pointer(instance->memory, instance->addresses[operation->from],
                                         plan->buffers[operation->from].bytes);
    uint8_t *to =
        corun_memory_pointer(instance->memory, instance->addresses[operation->to], plan->buffers[operation->to].bytes);
    memmove(to + operation->to_offset, from + operation->from_offset, operation->copy_bytes);
}

/* Performs the copies that stand between launch `index` - 1 and launch `index`. */
static void copy_before(struct corun_instance *instance, uint32_t index)
{
    const struct plan *plan = instance->workload->plan;
    if (instance->workload->traced || instance->recorded)
        return;
    if (instance->replay) {
        replay_before(instance->replay, index);
        return;
    }
    uint32_t first = index ? instance->operation_of[index - 1] + 1 : 0;
    uint32_t end = index < plan->grid_count ? instance->operation_of[index] : (uint32_t)plan->operations.count;
    for (uint32_t i = first; i < end; i++)
        copy(instance, &plan->operations.data[i]);
}

const struct corun_grid *corun_instance_grid(void *user, uint32_t index)
{
    struct corun_instance *instance = user;
    uint32_t count = workload_grid_count(instance->workload);
    if (index > count)
        return NULL;
    copy_before(instance, index);
    if (instance->recorded)
        return index < count ? recorded_grid(instance->recorded, index) : NULL;
    return index < count ? corun_instance_grid_at(instance, index) : NULL;
}

enum corun_status corun_instance_proceed(void *user, struct corun_gpu *gpu, uint32_t application,
                                         struct corun_proceeding *proceeding)
{
    return replay_proceed(((struct corun_instance *)user)->replay, gpu, application, proceeding);
}

enum corun_status corun_instance_restart(void *user)
{
    struct corun_instance *instance = user;
    if (instance->workload->traced || instance->recorded)
        return CORUN_OK;
    if (instance->replay) {
        replay_restart(instance->replay);
        return CORUN_OK;
    }
    corun_module_instance_reset(instance->module);
    return set_initial_data(instance, NULL);
}

void corun_instance_fill(struct corun_instance *instance, struct corun_application_description *description)
{
    description->name = workload_name(instance->workload);
    description->grid = instance->replay ? NULL : corun_instance_grid;
    description->proceed = instance->replay ? corun_instance_proceed : NULL;
    description->restart = corun_instance_restart;
    description->user = instance;
}

const struct corun_grid *corun_instance_grid_at(const struct corun_instance *instance, uint32_t index)
{
    return instance->replay ? replay_grid(instance->replay, index) : instance->grids[instance->grid_of[index]];
}

uint32_t corun_instance_grid_count(const struct corun_instance *instance)
{
    return workload_grid_count(instance->workload);
}

/* What the lines of a trace say is what runs. */
static void count_traced(const struct sass_trace *trace, struct corun_functional_result *sum)
{
    for (size_t i = 0; i < trace->launches.count; i++) {
        const struct sass_kernel *kernel = trace->kernels.data[trace->launches.data[i]];
        sum->warp_instructions += kernel->instructions.count;
        sum->thread_instructions += kernel->thread_instructions;
        sum->ptx_thread_instructions += kernel->thread_instructions;
    }
}

enum corun_status corun_instance_run(struct corun_instance *instance, uint64_t watchdog, struct corun_diagnostics *list,
                                     void (*print)(void *user, const char *text, size_t bytes), void *user,
                                     struct corun_functional_result *result)
{
    struct corun_functional_result sum = {0};
    if (instance->workload->traced) {
        count_traced(instance->workload->traced, &sum);
        if (result)
            *result = sum;
        return CORUN_OK;
    }
    enum corun_status status = corun_instance_restart(instance);
    for (uint32_t i = 0; i < workload_grid_count(instance->workload) && !status; i++) {
        copy_before(instance, i);
        struct corun_functional_result part = {0};
        struct corun_grid *grid = (struct corun_grid *)(uintptr_t)corun_instance_grid_at(instance, i);
        status = corun_run_functional(grid, watchdog, list, print, user, &part);
        sum.warp_instructions += part.warp_instructions;
        sum.thread_instructions += part.thread_instructions;
        sum.ptx_thread_instructions += part.ptx_thread_instructions;
        sum.global_bytes += part.global_bytes;
    }
    if (!status)
        copy_before(instance, workload_grid_count(instance->workload));
    if (result)
        *result = sum;
    return status;
}

size_t corun_instance_buffer_count(const struct corun_instance *instance)
{
    return instance->workload->description ? instance->workload->description->buffers.count : 0;
}

void corun_instance_buffer_at(const struct corun_instance *instance, size_t index, struct corun_buffer_info *info)
{
    const struct buffer_description *buffer = &instance->workload->description->buffers.data[index];
    const struct plan *plan = instance->workload->plan;
    *info = (struct corun_buffer_info){
        .name = buffer->name,
        .element = buffer->element,
        .count = plan->buffers[index].count,
        .bytes = plan->buffers[index].bytes,
        .address = instance->addresses[plan->final_storage[index]],
        .is_output = buffer->is_output,
    };
}

struct corun_memory *corun_instance_memory(struct corun_instance *instance)
{
    return instance->replay ? replay_memory(instance->replay) : instance->memory;
}

/* ---- checkpoints ---- */

const struct corun_grid *corun_instance_grid_numbered(const struct corun_instance *instance, uint32_t number)
{
    if (instance->replay)
        return replay_grid_numbered(instance->replay, number);
    return number < instance->distinct ? instance->grids[number] : NULL;
}

void corun_instance_archive(struct corun_instance *instance, struct corun_archive *archive)
{
    archive_section(archive, "workload", 1);
    if (instance->replay) {
        replay_archive(instance->replay, archive);
        return;
    }
    if (instance->workload->traced) {
        for (size_t i = 0; i < instance->distinct; i++)
            sass_grid_archive(archive, instance->grids[i]);
        return;
    }
    module_instance_archive(archive, instance->module, instance->grids, (uint32_t)instance->distinct);
    memory_archive(archive, instance->memory);
}
