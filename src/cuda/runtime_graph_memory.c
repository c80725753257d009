/* SPDX-License-Identifier: MIT */
/* Memory nodes of graphs in the runtime API, and what programs ask about memory of graphs. */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/graph.h"
#include "cuda/graph_memory.h"
#include "cuda/graph_node.h"
#include "cuda/object.h"
#include "cuda/process.h"
#include "cuda/runtime_api.h"

struct abi_allocation_node {
    struct {
        int kind, handle_kinds, location_kind, location_id;
        void *security;
        size_t most_bytes;
        unsigned short usage;
        unsigned char reserved[54];
    } pool;
    const void *access;
    size_t access_count, bytes;
    void *pointer;
};

/* A node that allocates or frees; it takes a reference over. */
static int add_node(struct call *call, struct graph *graph, struct graph_memory *memory, bool frees, void *const *nodes,
                    size_t count, void **result)
{
    struct graph_node *node = graph_add(call->process, graph, NULL, (struct graph_node *const *)nodes, count);
    if (!node) {
        graph_memory_release(call->process, memory);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    node->memory = memory;
    node->frees = frees;
    *result = node;
    return CUDA_SUCCESS;
}

ENTRY(int, cudaGraphAddMemAllocNode, void **result, void *handle, void *const *nodes, size_t count,
      struct abi_allocation_node *values)
{
    struct call call;
    struct graph_memory *memory = NULL;
    struct graph *graph = graph_node_begin_new(&call, result, handle, nodes, count);
    if (graph)
        call.error = values ? graph_memory_create(call.process, graph->context, values->bytes, &memory)
                            : CUDA_ERROR_INVALID_VALUE;
    if (memory)
        values->pointer = (void *)(uintptr_t)memory->address;
    if (memory)
        call.error = add_node(&call, graph, memory, false, nodes, count, result);
    return runtime_end(&call);
}

ENTRY(int, cudaGraphAddMemFreeNode, void **result, void *handle, void *const *nodes, size_t count, void *pointer)
{
    struct call call;
    struct graph *graph = graph_node_begin_new(&call, result, handle, nodes, count);
    struct graph_memory *memory = graph ? graph_memory_find(graph->context, (uint64_t)(uintptr_t)pointer) : NULL;
    if (memory) {
        memory->references++;
        call.error = add_node(&call, graph, memory, true, nodes, count, result);
    } else if (graph) {
        call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
}

static const struct graph_memory *memory_of_node(struct call *call, void *handle, bool frees)
{
    const struct graph_node *node = runtime_begin(call) ? object_find(call->process, handle, OBJECT_GRAPH_NODE) : NULL;
    bool good = node && node->memory && node->frees == frees;
    if (!good && call->error == CUDA_SUCCESS)
        call->error = CUDA_ERROR_INVALID_VALUE;
    return good ? node->memory : NULL;
}

ENTRY(int, cudaGraphMemAllocNodeGetParams, void *node, struct abi_allocation_node *values)
{
    struct call call;
    const struct graph_memory *memory = memory_of_node(&call, node, false);
    if (memory && values) {
        *values = (struct abi_allocation_node){.bytes = memory->bytes, .pointer = (void *)(uintptr_t)memory->address};
        values->pool.kind = values->pool.location_kind = 1; /* pinned, on a device */
        values->pool.location_id = memory->context ? (int)memory->context->device->ordinal : 0;
    } else if (memory) {
        call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGraphMemFreeNodeGetParams, void *node, void **pointer)
{
    struct call call;
    const struct graph_memory *memory = memory_of_node(&call, node, true);
    if (memory && pointer)
        *pointer = (void *)(uintptr_t)memory->address;
    else if (memory)
        call.error = CUDA_ERROR_INVALID_VALUE;
    return runtime_end(&call);
}

enum { BYTES_USED, BYTES_MOST_USED, BYTES_RESERVED, BYTES_MOST_RESERVED };

/* Memory is given back when the last node and launch let go of it: there is nothing more to trim. */
ENTRY(int, cudaDeviceGraphMemTrim, int device)
{
    struct call call;
    if (runtime_begin(&call) && !process_device(call.process, device))
        call.error = CUDA_ERROR_INVALID_DEVICE;
    return runtime_end(&call);
}

static int bytes_attribute(int ordinal, int attribute, uint64_t *value, bool set)
{
    struct call call;
    if (!runtime_begin(&call))
        return runtime_end(&call);
    struct device *device = process_device(call.process, ordinal);
    struct context *context = device ? device->primary : NULL;
    if (!device)
        call.error = CUDA_ERROR_INVALID_DEVICE;
    else if (!value || attribute < BYTES_USED || attribute > BYTES_MOST_RESERVED ||
             (set && (*value || (attribute != BYTES_MOST_USED && attribute != BYTES_MOST_RESERVED))))
        call.error = CUDA_ERROR_INVALID_VALUE;
    if (call.error != CUDA_SUCCESS)
        return runtime_end(&call);
    struct graph_bytes none = {0}, *bytes = context ? &context->graph_bytes : &none;
    if (set && attribute == BYTES_MOST_USED)
        bytes->most_used = bytes->used;
    else if (set)
        bytes->most_reserved = bytes->reserved;
    else
        *value = attribute == BYTES_USED        ? bytes->used
                 : attribute == BYTES_MOST_USED ? bytes->most_used
                 : attribute == BYTES_RESERVED  ? bytes->reserved
                                                : bytes->most_reserved;
    return runtime_end(&call);
}

ENTRY(int, cudaDeviceGetGraphMemAttribute, int device, int attribute, void *value)
{
    return bytes_attribute(device, attribute, value, false);
}

ENTRY(int, cudaDeviceSetGraphMemAttribute, int device, int attribute, void *value)
{
    return bytes_attribute(device, attribute, value, true);
}
