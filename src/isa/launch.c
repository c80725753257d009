/* SPDX-License-Identifier: MIT */
/* Launches: a kernel with its grid, parameters and dynamic shared memory, checked. */
#include "base/kernel_name.h"
#include "isa/cluster.h"
#include "isa/stack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TB_THREADS 1024u
#define MAX_GRID_X UINT32_C(0x7fffffff)
#define MAX_GRID_YZ 65535u
#define MAX_BLOCK_Z 64u
#define MAX_SHARED_BYTES (UINT32_C(1) << 20) /* no GPU has more; what the GPU at hand has is its own check */
#define PARAMETER_PADDING 32u

static enum corun_status check_dimensions(const struct corun_launch_description *description,
                                          struct corun_diagnostics *list, struct corun_place place)
{
    const char *name = description->kernel->info.name;
    struct corun_dim3 grid = description->grid, block = description->block;
    if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z)
        return corun_report(list, CORUN_ARGUMENT, place,
                            "kernel %s: grid (%u,%u,%u) of blocks (%u,%u,%u): a dimension is 0", KERNEL_NAME(name),
                            grid.x, grid.y, grid.z, block.x, block.y, block.z);
    if (grid.x > MAX_GRID_X || grid.y > MAX_GRID_YZ || grid.z > MAX_GRID_YZ ||
        (uint64_t)grid.x * grid.y > UINT32_MAX / grid.z)
        return corun_report(list, CORUN_LIMIT, place,
                            "kernel %s: grid (%u,%u,%u) is too large: at most (%" PRIu32 ",%u,%u) and 2^32 - 1 in all",
                            KERNEL_NAME(name), grid.x, grid.y, grid.z, MAX_GRID_X, MAX_GRID_YZ, MAX_GRID_YZ);
    if (block.x > MAX_TB_THREADS || block.y > MAX_TB_THREADS || block.z > MAX_BLOCK_Z ||
        block.x * block.y * block.z > MAX_TB_THREADS)
        return corun_report(list, CORUN_LIMIT, place,
                            "kernel %s: a block of (%u,%u,%u) is too large: at most (%u,%u,%u) and %u threads in all",
                            KERNEL_NAME(name), block.x, block.y, block.z, MAX_TB_THREADS, MAX_TB_THREADS, MAX_BLOCK_Z,
                            MAX_TB_THREADS);
    return CORUN_OK;
}

/* What a launch asks for goes before what the kernel requires, which must be the same. */
static struct corun_dim3 cluster_of(const struct corun_launch_description *description)
{
    const uint32_t *required = description->kernel->info.cluster;
    struct corun_dim3 asked = description->cluster;
    if (!asked.x && required[0])
        asked = (struct corun_dim3){required[0], required[1], required[2]};
    return asked.x ? asked : (struct corun_dim3){1, 1, 1};
}

static enum corun_status check_cluster(const struct corun_launch_description *description,
                                       struct corun_diagnostics *list, struct corun_place place)
{
    const struct corun_kernel_info *info = &description->kernel->info;
    const uint32_t *required = info->cluster;
    struct corun_dim3 grid = description->grid, asked = description->cluster, cluster = cluster_of(description);
    if (info->explicit_cluster && !required[0] && !asked.x)
        return corun_report(list, CORUN_ARGUMENT, place, "kernel %s wants a launch with clusters (.explicitcluster)",
                            KERNEL_NAME(info->name));
    if (required[0] && (cluster.x != required[0] || cluster.y != required[1] || cluster.z != required[2]))
        return corun_report(list, CORUN_ARGUMENT, place, "kernel %s requires clusters of (%u,%u,%u), not (%u,%u,%u)",
                            KERNEL_NAME(info->name), required[0], required[1], required[2], cluster.x, cluster.y,
                            cluster.z);
    uint32_t most = CORUN_LARGEST_CLUSTER;
    bool small = cluster.x <= most && cluster.y <= most && cluster.z <= most;
    uint32_t size = small ? cluster.x * cluster.y * cluster.z : UINT32_MAX;
    if (!cluster.y || !cluster.z || size > most)
        return corun_report(list, CORUN_LIMIT, place,
                            "kernel %s: clusters of (%u,%u,%u) thread blocks: 1 to %u in all are possible",
                            KERNEL_NAME(info->name), cluster.x, cluster.y, cluster.z, most);
    if (info->max_cluster_tbs && size > info->max_cluster_tbs)
        return corun_report(list, CORUN_ARGUMENT, place,
                            "kernel %s allows %u thread blocks in a cluster (.maxclusterrank), not %u",
                            KERNEL_NAME(info->name), info->max_cluster_tbs, size);
    if (grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z)
        return corun_report(list, CORUN_ARGUMENT, place,
                            "kernel %s: grid (%u,%u,%u) is no multiple of clusters of (%u,%u,%u)",
                            KERNEL_NAME(info->name), grid.x, grid.y, grid.z, cluster.x, cluster.y, cluster.z);
    return CORUN_OK;
}

static enum corun_status check(const struct corun_launch_description *description, struct corun_diagnostics *list)
{
    const struct corun_kernel *kernel = description->kernel;
    const struct corun_kernel_info *info = &kernel->info;
    const struct ptx_function *function = kernel->functions[0].ptx;
    struct corun_place place = {kernel->module->ptx->file, function->place.line, function->place.column};
    enum corun_status status = check_dimensions(description, list, place);
    if (status != CORUN_OK)
        return status;
    struct corun_dim3 block = description->block;
    uint32_t threads = block.x * block.y * block.z;
    if (function->reqntid[0] &&
        (block.x != function->reqntid[0] || block.y != function->reqntid[1] || block.z != function->reqntid[2]))
        return corun_report(list, CORUN_ARGUMENT, place, "kernel %s requires blocks of (%u,%u,%u), not (%u,%u,%u)",
                            KERNEL_NAME(info->name), function->reqntid[0], function->reqntid[1], function->reqntid[2],
                            block.x, block.y, block.z);
    if (info->max_threads_per_tb && threads > info->max_threads_per_tb)
        return corun_report(list, CORUN_ARGUMENT, place, "kernel %s allows %u threads in a block, not %u",
                            KERNEL_NAME(info->name), info->max_threads_per_tb, threads);
    if (description->parameter_bytes != info->parameter_bytes || (info->parameter_bytes && !description->parameters))
        return corun_report(list, CORUN_ARGUMENT, place, "kernel %s takes %u bytes of parameters, not %zu",
                            KERNEL_NAME(info->name), info->parameter_bytes, description->parameter_bytes);
    if (description->dynamic_shared_bytes > MAX_SHARED_BYTES ||
        kernel->shared_bytes > MAX_SHARED_BYTES - description->dynamic_shared_bytes)
        return corun_report(list, CORUN_LIMIT, place,
                            "kernel %s: %u bytes of static and %u of dynamic shared memory are too much",
                            KERNEL_NAME(info->name), kernel->shared_bytes, description->dynamic_shared_bytes);
    return check_cluster(description, list, place);
}

/* %tid of every lane; those behind the end of the block count further and are never active. */
static void number_threads(struct launch *launch)
{
    struct corun_dim3 next = {0, 0, 0};
    for (uint32_t warp = 0; warp < launch->grid.tb_warps; warp++)
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++) {
            launch->thread[warp][0][lane] = next.x;
            launch->thread[warp][1][lane] = next.y;
            launch->thread[warp][2][lane] = next.z;
            if (++next.x < launch->block.x)
                continue;
            next.x = 0;
            if (++next.y < launch->block.y)
                continue;
            next.y = 0;
            next.z++;
        }
}

/* The first address of what a root leads to in this launch; 0: nowhere, it is no pointer. */
static uint64_t buffer_of(const void *user, const struct ptx_root *root)
{
    const struct launch *launch = user;
    const struct corun_module_instance *instance = launch->instance;
    uint64_t address = 0;
    if (root->variable->declared != PTX_DECLARED_PARAMETER)
        return instance->variable_address[root->variable->index];
    if (root->offset + sizeof address <= launch->parameter_bytes)
        memcpy(&address, launch->parameters + root->offset, sizeof address);
    struct memory_cache cache = {0};
    return address && memory_find(instance->memory, &cache, address, 1) ? cache.base : 0;
}

static void fill_grid(struct launch *launch)
{
    const struct corun_kernel *kernel = launch->kernel;
    struct corun_module_instance *instance = launch->instance;
    uint32_t threads = launch->block.x * launch->block.y * launch->block.z;
    uint32_t shared = kernel->shared_bytes;
    if (launch->dynamic_shared_bytes)
        shared = (shared + kernel->dynamic_align - 1) / kernel->dynamic_align * kernel->dynamic_align +
                 launch->dynamic_shared_bytes;
    launch->grid = (struct corun_grid){
        .operations = &executor_operations,
        .name = kernel->info.name,
        .code = kernel->instructions,
        .code_length = kernel->code_length,
        .register_slots = kernel->register_slots,
        .predicate_slots = kernel->predicate_slots,
        .tb_count = launch->dim.x * launch->dim.y * launch->dim.z,
        .cluster_tbs = cluster_size(launch),
        .tb_threads = threads,
        .tb_warps = (threads + CORUN_WARP_LANES - 1) / CORUN_WARP_LANES,
        .tb_shared_bytes = shared,
        .registers_per_thread = kernel->info.registers_per_thread,
        .bounds = kernel->info.bounds,
        .barrier_count = kernel->barrier_count,
        .launches = kernel->launches,
        .file = kernel->module->ptx->file,
        .code_address = instance->code_address + (uint64_t)instance->code_offset[kernel->index] * 32,
    };
}

/* Beyond the stack that every kernel has which needs one of no fixed size. */
static uint32_t more_stack(const struct corun_kernel *kernel, uint64_t wanted)
{
    if (!kernel->grows || wanted <= STACK_BYTES)
        return 0;
    uint64_t bytes = wanted < STACK_MOST_BYTES ? wanted : STACK_MOST_BYTES;
    return (uint32_t)((bytes - STACK_BYTES + STACK_ALIGN - 1) / STACK_ALIGN * STACK_ALIGN);
}

enum corun_status corun_grid_create(struct corun_module_instance *instance,
                                    const struct corun_launch_description *description, struct corun_diagnostics *list,
                                    struct corun_grid **grid)
{
    *grid = NULL;
    const struct corun_kernel *kernel = description->kernel;
    if (!kernel || kernel->module != instance->module)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "the kernel is not of the instance's module");
    enum corun_status status = check(description, list);
    if (status != CORUN_OK)
        return status;
    struct launch *launch = calloc(1, sizeof *launch);
    if (!launch)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    launch->instance = instance;
    launch->kernel = kernel;
    launch->dim = description->grid;
    launch->block = description->block;
    launch->cluster = cluster_of(description);
    launch->explicit_cluster = description->cluster.x || kernel->info.cluster[0];
    launch->dynamic_shared_bytes = description->dynamic_shared_bytes;
    launch->parameter_bytes = (uint32_t)description->parameter_bytes;
    launch->meeting_address = description->meeting_address;
    launch->id = instance->launches++;
    launch->warp_register_bytes = (size_t)(kernel->register_slots + 1) * SLOT_BYTES;
    launch->warp_register_bytes = (launch->warp_register_bytes + 63) & ~(size_t)63;
    launch->local_bytes = kernel->local_bytes + more_stack(kernel, description->stack_bytes);
    launch->call_depth = kernel->call_depth;
    if (kernel->recurses)
        launch->call_depth += (launch->local_bytes - kernel->local_bytes) / STACK_FRAME_BYTES;
    launch->warp_local_bytes = (size_t)launch->local_bytes * CORUN_WARP_LANES;
    fill_grid(launch);
    launch->parameters = calloc(1, (size_t)launch->parameter_bytes + PARAMETER_PADDING);
    launch->thread = calloc(launch->grid.tb_warps, sizeof *launch->thread);
    if (!launch->parameters || !launch->thread) {
        corun_grid_destroy(&launch->grid);
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    }
    if (launch->parameter_bytes)
        memcpy(launch->parameters, description->parameters, launch->parameter_bytes);
    number_threads(launch);
    launch->grid.cluster_balanced = description->cluster_balanced;
    launch->grid.idempotent =
        cluster_size(launch) == 1 && ptx_idempotence_holds(&kernel->idempotence, buffer_of, launch);
    *grid = &launch->grid;
    return CORUN_OK;
}

void corun_grid_destroy(struct corun_grid *grid)
{
    if (!grid)
        return;
    struct launch *launch = (struct launch *)grid;
    for (uint32_t i = 0; i < launch->sm_count; i++) {
        pending_drop(launch->instance->sms[i], launch);
        bulk_drop(launch->instance->sms[i], launch);
    }
    cluster_free_all(launch);
    executor_tb_free_all(&launch->functional);
    for (uint32_t i = 0; i < launch->sm_count; i++)
        executor_tb_free_all(&launch->sms[i]);
    free(launch->sms);
    free(launch->parameters);
    free(launch->thread);
    free(launch);
}
