/* SPDX-License-Identifier: MIT */
/* Clusters of launches and functions, and how many of them a device holds. */
#include "cuda/launch_cluster.h"

#include "cuda/call.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/driver_api.h"
#include "cuda/image.h"
#include "cuda/module.h"
#include "cuda/object.h"
#include "cuda/occupancy.h"
#include "cuda/process.h"
#include "cuda/refusal.h"
#include "cuda/runtime_api.h"

#include <stdio.h>

bool launch_cluster_take(struct launch_cluster *cluster, const struct abi_launch_attribute *attribute)
{
    if (attribute->id == LAUNCH_CLUSTER)
        cluster->shape =
            (struct corun_dim3){attribute->value.cluster[0], attribute->value.cluster[1], attribute->value.cluster[2]};
    else if (attribute->id == LAUNCH_CLUSTER_POLICY)
        cluster->policy = attribute->value.number;
    else
        return false;
    return true;
}

/* What the PTX requires, or what the program has set for the function. */
static struct corun_dim3 required_of(const struct function *function, bool *by_compiler, bool *must)
{
    struct corun_kernel_info info;
    corun_kernel_describe(function->kernel, &info);
    *by_compiler = info.cluster[0] != 0;
    *must = info.explicit_cluster || function->cluster.must_be_set;
    return *by_compiler ? (struct corun_dim3){info.cluster[0], info.cluster[1], info.cluster[2]}
                        : function->cluster.required;
}

static bool same(struct corun_dim3 a, struct corun_dim3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

struct corun_dim3 launch_cluster_grid(const struct function *function, struct corun_dim3 grid)
{
    struct corun_kernel_info info;
    corun_kernel_describe(function->kernel, &info);
    if (!info.blocks_are_clusters)
        return grid;
    /* What has more than 32 bits is too large for a grid whatever it is. */
    uint64_t x = (uint64_t)grid.x * info.cluster[0], y = (uint64_t)grid.y * info.cluster[1],
             z = (uint64_t)grid.z * info.cluster[2];
    return (struct corun_dim3){x > UINT32_MAX ? UINT32_MAX : (uint32_t)x, y > UINT32_MAX ? UINT32_MAX : (uint32_t)y,
                               z > UINT32_MAX ? UINT32_MAX : (uint32_t)z};
}

struct corun_dim3 launch_cluster_grid_shown(const struct function *function, struct corun_dim3 grid)
{
    struct corun_kernel_info info;
    corun_kernel_describe(function->kernel, &info);
    if (!info.blocks_are_clusters)
        return grid;
    return (struct corun_dim3){grid.x / info.cluster[0], grid.y / info.cluster[1], grid.z / info.cluster[2]};
}

/* 0: more than any GPU has. */
static uint32_t size_of(struct corun_dim3 shape)
{
    uint32_t most = CORUN_LARGEST_CLUSTER;
    return shape.x > most || shape.y > most || shape.z > most ? 0 : shape.x * shape.y * shape.z;
}

static uint32_t most_tbs(const struct function *function)
{
    uint32_t most = function->module->context->device->config.cluster_tbs;
    return !function->cluster.not_portable && most > CLUSTER_PORTABLE_TBS ? CLUSTER_PORTABLE_TBS : most;
}

static int refuse(const struct function *function, const char *reason)
{
    launch_refuse(process_get(), function, function->name, reason);
    return CUDA_ERROR_NOT_SUPPORTED;
}

int launch_cluster_settle(struct function *function, struct corun_dim3 grid, struct launch_cluster *cluster)
{
    const struct corun_gpu_config *config = &function->module->context->device->config;
    bool by_compiler, must, asked = cluster->shape.x || cluster->shape.y || cluster->shape.z;
    struct corun_dim3 required = required_of(function, &by_compiler, &must), shape = asked ? cluster->shape : required;
    char text[160];
    if (asked && !(shape.x && shape.y && shape.z))
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (!cluster->policy)
        cluster->policy = function->cluster.policy;
    if (cluster->policy < CLUSTER_POLICY_DEFAULT || cluster->policy > CLUSTER_POLICY_BALANCED)
        return CUDA_ERROR_INVALID_VALUE;
    if ((must && !shape.x) || (asked && by_compiler && !same(cluster->shape, required)))
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    cluster->shape = shape;
    if (!shape.x)
        return CUDA_SUCCESS;
    uint32_t size = size_of(shape);
    if (size != 1 && !config->cluster_tbs) {
        snprintf(text, sizeof text,
                 "not supported: clusters of thread blocks on %.60s (from compute capability 9.0 on)", config->name);
        return refuse(function, text);
    }
    if (size != 1 && function->rewritten)
        return refuse(function, "not supported: clusters of thread blocks in slices or as workers");
    struct corun_kernel_info info;
    corun_kernel_describe(function->kernel, &info);
    if (!size || (size > 1 && size > most_tbs(function)) || (info.max_cluster_tbs && size > info.max_cluster_tbs) ||
        grid.x % shape.x || grid.y % shape.y || grid.z % shape.z)
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return CUDA_SUCCESS;
}

int launch_cluster_most(struct function *function, uint32_t threads, size_t dynamic_shared_bytes, uint32_t cluster_tbs,
                        uint32_t *clusters)
{
    uint32_t tbs;
    int error = occupancy_of_function(function, threads, dynamic_shared_bytes, &tbs);
    *clusters =
        error == CUDA_SUCCESS ? corun_gpu_clusters(&function->module->context->device->config, tbs, cluster_tbs) : 0;
    return error;
}

int function_cluster_set(struct function *function, int attribute, int value)
{
    struct function_cluster *cluster = &function->cluster;
    struct corun_kernel_info info;
    corun_kernel_describe(function->kernel, &info);
    uint32_t *const dimensions[] = {&cluster->required.x, &cluster->required.y, &cluster->required.z};
    if (value < 0)
        return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case FUNCTION_CLUSTER_FIRST:
        cluster->must_be_set = value != 0;
        return CUDA_SUCCESS;
    case FUNCTION_CLUSTER_FIRST + 1:
    case FUNCTION_CLUSTER_FIRST + 2:
    case FUNCTION_CLUSTER_FIRST + 3:
        if (info.cluster[0]) /* documented is 800; driver 580 on an H100 gives 1 */
            return CUDA_ERROR_INVALID_VALUE;
        *dimensions[attribute - FUNCTION_CLUSTER_FIRST - 1] = (uint32_t)value;
        return CUDA_SUCCESS;
    case FUNCTION_CLUSTER_FIRST + 4:
        cluster->not_portable = value != 0;
        return CUDA_SUCCESS;
    default:
        if (value > CLUSTER_POLICY_BALANCED)
            return CUDA_ERROR_INVALID_VALUE;
        cluster->policy = value;
        return CUDA_SUCCESS;
    }
}

void function_cluster_describe(const struct function *function, struct abi_function_attributes *attributes)
{
    bool by_compiler, must;
    struct corun_dim3 required = required_of(function, &by_compiler, &must);
    attributes->cluster_must_be_set = must;
    attributes->cluster_width = (int)required.x;
    attributes->cluster_height = (int)required.y;
    attributes->cluster_depth = (int)required.z;
    attributes->cluster_policy = function->cluster.policy;
    attributes->cluster_non_portable = function->cluster.not_portable;
}

/* ---- occupancy ---- */

/* Clusters at once, with those attributes of a launch; `largest`: the size of the largest one that fits instead, whatever the launch asks for. */
static int ask(struct function *function, struct corun_dim3 grid, struct corun_dim3 block, size_t shared,
               const struct abi_launch_attribute *attributes, unsigned count, bool largest, int *result)
{
    struct launch_cluster cluster = {0};
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    uint32_t clusters = 0;
    for (unsigned i = 0; i < count; i++)
        (void)launch_cluster_take(&cluster, &attributes[i]);
    int error = launch_cluster_settle(function, launch_cluster_grid(function, grid), &cluster);
    if (error != CUDA_SUCCESS)
        return error;
    *result = 0;
    if (threads > function->module->context->device->config.threads_per_tb || shared > function->dynamic_shared_limit)
        return CUDA_SUCCESS;
    if (!largest) {
        if (cluster.shape.x)
            error = launch_cluster_most(function, (uint32_t)threads, shared, size_of(cluster.shape), &clusters);
        *result = (int)clusters;
        return error;
    }
    for (uint32_t size = 1; size <= most_tbs(function) && error == CUDA_SUCCESS; size++) {
        error = launch_cluster_most(function, (uint32_t)threads, shared, size, &clusters);
        if (clusters)
            *result = (int)size;
    }
    return error;
}

static int ask_runtime(int *result, const void *host, const struct abi_launch_config *config, bool largest)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct function *function = NULL;
        call.error =
            result && config ? function_of_host(call.process, call.context, host, &function) : CUDA_ERROR_INVALID_VALUE;
        if (call.error == CUDA_SUCCESS && !function->kernel)
            call.error = CUDA_ERROR_NOT_SUPPORTED;
        if (call.error == CUDA_SUCCESS) {
            call.error = ask(function, config->grid, config->block, config->dynamic_shared, config->attributes,
                             config->attribute_count, largest, result);
        }
    }
    return runtime_end(&call);
}

ENTRY(int, cudaOccupancyMaxActiveClusters, int *clusters, const void *host, const struct abi_launch_config *config)
{
    return ask_runtime(clusters, host, config, false);
}

ENTRY(int, cudaOccupancyMaxPotentialClusterSize, int *size, const void *host, const struct abi_launch_config *config)
{
    return ask_runtime(size, host, config, true);
}

static int ask_driver(int *result, void *handle, const struct abi_driver_launch_config *config, bool largest)
{
    struct call call;
    struct function *function = driver_begin_object(&call, handle, OBJECT_FUNCTION, result ? config : NULL);
    if (function && !function->kernel)
        call.error = CUDA_ERROR_NOT_SUPPORTED;
    else if (function && result) {
        call.error = ask(function, config->grid, config->block, config->dynamic_shared, config->attributes,
                         config->attribute_count, largest, result);
    }
    return call_end(&call);
}

ENTRY(int, cuOccupancyMaxActiveClusters, int *clusters, void *function, const struct abi_driver_launch_config *config)
{
    return ask_driver(clusters, function, config, false);
}

ENTRY(int, cuOccupancyMaxPotentialClusterSize, int *size, void *function, const struct abi_driver_launch_config *config)
{
    return ask_driver(size, function, config, true);
}
