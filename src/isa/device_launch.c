/* SPDX-License-Identifier: MIT */
/* Launches that threads ask for, their errors, and the pool of those that have not begun. */
#include "isa/device_launch.h"

#include "base/bits.h"
#include "base/kernel_name.h"
#include "base/launch_bounds.h"
#include "isa/address.h"
#include "isa/executor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ERRORS 65536u /* of threads of an SM that have not asked for theirs; older ones are forgotten */

/* Errors of CUDA's runtime API. */
enum {
    ERROR_INVALID_VALUE = 1,
    ERROR_INVALID_CONFIGURATION = 9,
    ERROR_LAUNCH_MAX_DEPTH = 65,
    ERROR_INVALID_DEVICE_FUNCTION = 98,
    ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    ERROR_NOT_SUPPORTED = 801
};

void device_launch_prepare(struct corun_module_instance *instance, const struct device_launch_limits *limits)
{
    instance->launch_pool = corun_module_instance_variable(instance, DEVICE_POOL_VARIABLE, NULL);
    instance->launch_limits = *limits;
}

void device_launch_set_depth(struct corun_grid *grid, uint32_t depth)
{
    ((struct launch *)grid)->depth = depth;
}

void device_launches_free(struct device_launches *launches)
{
    for (size_t i = 0; i < launches->made.count; i++)
        free(launches->made.data[i].parameters);
    vector_free(&launches->made);
    vector_free(&launches->errors);
}

/* ---- errors of threads ---- */

static uint32_t thread_of(const struct corun_warp *warp, uint32_t lane)
{
    return warp->index * CORUN_WARP_LANES + lane;
}

/* Index + 1; 0: the thread has none. Those that ask have mostly made theirs last. */
static size_t find_error(const struct corun_warp *warp, uint32_t lane)
{
    const struct device_launches *launches = &warp->tb->sm->launches;
    for (size_t i = launches->errors.count; i > 0; i--) {
        const struct device_error *error = &launches->errors.data[i - 1];
        if (error->launch == warp->tb->launch->id && error->tb == warp->tb->index &&
            error->thread == thread_of(warp, lane))
            return i;
    }
    return 0;
}

static void drop_error(struct device_launches *launches, size_t index)
{
    memmove(&launches->errors.data[index], &launches->errors.data[index + 1],
            (--launches->errors.count - index) * sizeof *launches->errors.data);
}

/* In place of one that the thread has not asked for. */
static void set_error(struct corun_warp *warp, uint32_t lane, uint32_t error)
{
    struct device_launches *launches = &warp->tb->sm->launches;
    size_t found = find_error(warp, lane);
    if (found) {
        launches->errors.data[found - 1].error = error;
        return;
    }
    if (launches->errors.count == MOST_ERRORS)
        drop_error(launches, 0);
    (void)vector_push(
        &launches->errors,
        ((struct device_error){
            .launch = warp->tb->launch->id, .tb = warp->tb->index, .thread = thread_of(warp, lane), .error = error}));
}

static uint32_t error_of(struct corun_warp *warp, uint32_t lane, uint32_t action, uint32_t error)
{
    struct device_launches *launches = &warp->tb->sm->launches;
    size_t found = find_error(warp, lane);
    uint32_t before = found ? launches->errors.data[found - 1].error : 0;
    if (action == DEVICE_ERROR_TAKE && found)
        drop_error(launches, found - 1);
    if (action == DEVICE_ERROR_SET)
        set_error(warp, lane, error);
    return before;
}

/* ---- launches ---- */

/* NULL if there is no kernel at that address. */
static const struct corun_kernel *kernel_at(const struct corun_module *module, uint64_t address)
{
    uint32_t index = function_index_at(address);
    for (uint32_t i = 0; i < module->kernel_count; i++)
        if (module->kernels[i].functions[0].ptx->index == index)
            return &module->kernels[i];
    return NULL;
}

static bool is_shape(struct corun_dim3 grid, struct corun_dim3 block, uint32_t most_threads)
{
    return grid.x && grid.y && grid.z && block.x && block.y && block.z && grid.x <= 0x7fffffff && grid.y <= 65535 &&
           grid.z <= 65535 && block.z <= 64 && (uint64_t)block.x * block.y <= most_threads &&
           (uint64_t)block.x * block.y * block.z <= most_threads && (uint64_t)grid.x * grid.y <= UINT32_MAX / grid.z;
}

static uint32_t check_launch(const struct launch *launch, const struct device_launch *asked)
{
    const struct device_launch_limits *limits = &launch->instance->launch_limits;
    const struct corun_kernel *kernel = asked->kernel;
    if (!kernel)
        return ERROR_INVALID_DEVICE_FUNCTION;
    if (!is_shape(asked->grid, asked->block, limits->gpu.threads_per_tb))
        return ERROR_INVALID_CONFIGURATION;
    uint32_t threads = asked->block.x * asked->block.y * asked->block.z;
    uint32_t rounded = (threads + CORUN_WARP_LANES - 1) / CORUN_WARP_LANES * CORUN_WARP_LANES;
    if ((kernel->info.max_threads_per_tb && threads > kernel->info.max_threads_per_tb) ||
        (uint64_t)rounded *
                launch_bounds_registers(&limits->gpu, kernel->info.registers_per_thread, &kernel->info.bounds) >
            limits->gpu.registers_per_sm)
        return ERROR_LAUNCH_OUT_OF_RESOURCES;
    if (asked->dynamic_shared_bytes > limits->gpu.shared_bytes_per_tb ||
        kernel->shared_bytes > limits->gpu.shared_bytes_per_tb - asked->dynamic_shared_bytes)
        return ERROR_INVALID_VALUE;
    if (kernel->info.cluster[0] || kernel->info.explicit_cluster ||
        kernel->info.parameter_bytes > DEVICE_SLOT_BYTES - DEVICE_SLOT_PARAMETERS)
        return ERROR_NOT_SUPPORTED;
    return launch->depth >= DEVICE_MOST_DEPTH ? ERROR_LAUNCH_MAX_DEPTH : 0;
}

static uint64_t argument(const struct corun_warp *warp, const struct call_site *site, uint32_t index, uint32_t lane)
{
    uint64_t value = 0;
    call_value_read(warp, &site->arguments[index], warp->frame, lane, (uint8_t *)&value);
    return value;
}

static uint32_t check_lane(struct corun_warp *warp, const struct call_site *site, uint32_t lane)
{
    uint32_t words[7];
    for (uint32_t i = 0; i < 7; i++)
        words[i] = (uint32_t)argument(warp, site, i + 1, lane);
    struct device_launch asked = {.kernel =
                                      kernel_at(warp->tb->launch->instance->module, argument(warp, site, 0, lane)),
                                  .grid = {words[0], words[1], words[2]},
                                  .block = {words[3], words[4], words[5]},
                                  .dynamic_shared_bytes = words[6]};
    uint32_t error = check_launch(warp->tb->launch, &asked);
    if (error)
        set_error(warp, lane, error);
    return error;
}

static bool is_slot(const struct corun_module_instance *instance, uint64_t slot)
{
    uint64_t pending = instance->launch_limits.pending, first = instance->launch_pool + device_pool_slots(pending);
    return instance->launch_pool && slot >= first && (slot - first) % DEVICE_SLOT_BYTES == 0 &&
           (slot - first) / DEVICE_SLOT_BYTES < pending;
}

/* What lies in the slot. False: a fault was raised. */
static bool read_slot(struct corun_warp *warp, uint32_t lane, struct device_launch *made)
{
    struct corun_module_instance *instance = warp->tb->launch->instance;
    struct {
        uint64_t kernel;
        uint32_t words[7];
    } front;
    if (!is_slot(instance, made->slot) || !access_read(warp, lane, made->slot, &front, 36) ||
        !(made->kernel = kernel_at(instance->module, front.kernel))) {
        fault_raise(warp, lane, "launch with 0x%" PRIx64 ", which is not from cudaGetParameterBuffer",
                    made->slot + DEVICE_SLOT_PARAMETERS);
        return false;
    }
    made->grid = (struct corun_dim3){front.words[0], front.words[1], front.words[2]};
    made->block = (struct corun_dim3){front.words[3], front.words[4], front.words[5]};
    made->dynamic_shared_bytes = front.words[6];
    uint32_t bytes = made->kernel->info.parameter_bytes;
    if (!bytes)
        return true;
    made->parameters = malloc(bytes);
    if (made->parameters && access_read(warp, lane, made->slot + DEVICE_SLOT_PARAMETERS, made->parameters, bytes))
        return true;
    free(made->parameters);
    fault_raise(warp, lane, "launch of %s: out of memory", KERNEL_NAME(made->kernel->info.name));
    return false;
}

static bool launch_lane(struct corun_warp *warp, const struct call_site *site, uint32_t lane)
{
    struct executor_sm *sm = warp->tb->sm;
    struct device_launch made = {.kind = (enum device_launch_kind)argument(warp, site, 2, lane),
                                 .parent = &warp->tb->launch->grid,
                                 .sm = sm->index,
                                 .direct = sm->direct,
                                 .tb = warp->tb->index,
                                 .thread = thread_of(warp, lane),
                                 .cycle = sm->direct || !warp->cycle ? 0 : *warp->cycle,
                                 .stream = argument(warp, site, 1, lane)};
    uint64_t what = argument(warp, site, 0, lane);
    if (made.kind == DEVICE_LAUNCH_GRID) {
        made.slot = what - DEVICE_SLOT_PARAMETERS;
        if (!read_slot(warp, lane, &made))
            return false;
        if (sm->direct) { /* what waits is bounded by nothing: nothing begins before the grid ends */
            device_launch_begun(sm->instance, made.slot);
            made.slot = 0;
        }
    } else {
        made.event = what;
    }
    if (vector_push(&sm->launches.made, made))
        return true;
    free(made.parameters);
    fault_raise(warp, lane, "out of memory for a launch");
    return false;
}

bool device_launch_execute(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    const struct call_site *site = &warp->tb->launch->kernel->calls[op->target];
    for (; mask; mask &= mask - 1) {
        uint32_t lane = lowest_bit(mask), result = 0;
        if (op->variant == DEVICE_OPERATION_CHECK)
            result = check_lane(warp, site, lane);
        else if (op->variant == DEVICE_OPERATION_ERROR)
            result =
                error_of(warp, lane, (uint32_t)argument(warp, site, 0, lane), (uint32_t)argument(warp, site, 1, lane));
        else if (!launch_lane(warp, site, lane))
            return false;
        if (site->result_count && !site->results[0].discarded && site->results[0].bytes == 4)
            call_value_write(warp, &site->results[0], warp->frame, lane, (const uint8_t *)&result);
    }
    return true;
}

/* ---- for whoever runs the grids ---- */

bool device_launched(const struct corun_grid *grid)
{
    const struct corun_module_instance *instance = ((const struct launch *)grid)->instance;
    for (uint32_t i = 0; i < instance->sm_count; i++)
        if (instance->sms[i]->launches.made.count)
            return true;
    return instance->functional && instance->functional->launches.made.count;
}

static bool take_from(struct device_launches *launches, struct device_launch_list *taken)
{
    for (size_t i = 0; i < launches->made.count; i++)
        if (!vector_push(&taken->launches, launches->made.data[i])) {
            memmove(launches->made.data, &launches->made.data[i],
                    (launches->made.count - i) * sizeof *launches->made.data);
            launches->made.count -= i;
            return false;
        }
    launches->made.count = 0;
    return true;
}

bool device_launch_take(struct corun_module_instance *instance, struct device_launch_list *taken)
{
    bool good = true;
    for (uint32_t i = 0; i < instance->sm_count; i++)
        good &= take_from(&instance->sms[i]->launches, taken);
    return good && (!instance->functional || take_from(&instance->functional->launches, taken));
}

void device_launch_begun(struct corun_module_instance *instance, uint64_t slot)
{
    uint64_t slots = instance->launch_limits.pending, first = instance->launch_pool + device_pool_slots(slots);
    uint8_t *pool = corun_memory_pointer(instance->memory, instance->launch_pool, device_pool_slots(slots));
    uint64_t given;
    uint32_t pending, number = (uint32_t)((slot - first) / DEVICE_SLOT_BYTES);
    if (!pool || !slot)
        return;
    memcpy(&given, pool + DEVICE_POOL_GIVEN, sizeof given);
    memcpy(&pending, pool + DEVICE_POOL_PENDING, sizeof pending);
    uint32_t place = (uint32_t)(given++ % slots), entry = (uint32_t)((number + slots - place) % slots);
    pending--;
    memcpy(pool + DEVICE_POOL_RING + (size_t)place * 4, &entry, sizeof entry);
    memcpy(pool + DEVICE_POOL_GIVEN, &given, sizeof given);
    memcpy(pool + DEVICE_POOL_PENDING, &pending, sizeof pending);
}
