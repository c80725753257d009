/* Memory nodes of graphs, and what programs ask about them. */
#include "cuda/graph_memory.h"

#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/engine.h"
#include "cuda/graph.h"
#include "cuda/graph_node.h"
#include "cuda/object.h"
#include "cuda/process.h"
#include "cuda/ranges.h"
#include "cuda/runtime_api.h"

#include <stdlib.h>
#include <string.h>

int graph_memory_create(struct process *process, struct context *context, size_t bytes, struct graph_memory **result)
{
    struct graph_memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *memory = (struct graph_memory){.context = context, .bytes = bytes, .references = 1};
    int error =
        bytes ? memory_allocate(process, context, bytes, &memory->address, "a graph") : CUDA_ERROR_INVALID_VALUE;
    if (error == CUDA_SUCCESS && !vector_push(&context->graph_memories, memory)) {
        memory_release(process, memory->address, "its graph");
        error = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (error != CUDA_SUCCESS) {
        free(memory);
        return error;
    }
    context->graph_bytes.reserved += bytes;
    if (context->graph_bytes.reserved > context->graph_bytes.most_reserved)
        context->graph_bytes.most_reserved = context->graph_bytes.reserved;
    *result = memory;
    return CUDA_SUCCESS;
}

struct graph_memory *graph_memory_find(const struct context *context, uint64_t address)
{
    for (size_t i = 0; i < context->graph_memories.count; i++)
        if (context->graph_memories.data[i]->address == address)
            return context->graph_memories.data[i];
    return NULL;
}

static void give_back_if_unused(struct process *process, struct graph_memory *memory)
{
    struct context *context = memory->context;
    if (memory->references || memory->allocated)
        return;
    for (size_t i = 0; i < context->graph_memories.count; i++) {
        if (context->graph_memories.data[i] != memory)
            continue;
        context->graph_memories.data[i] = context->graph_memories.data[--context->graph_memories.count];
        context->graph_bytes.reserved -= memory->bytes;
        uint64_t address = memory->address;
        free(memory);
        (void)engine_wait_context(process, context); /* an error stays with the context, and memory goes all the same */
        (void)memory_release(process, address, "its graph");
        return;
    }
}

void graph_memory_release(struct process *process, struct graph_memory *memory)
{
    memory->references--;
    if (!memory->context) {
        if (!memory->references)
            free(memory);
        return;
    }
    give_back_if_unused(process, memory);
}

static void set_allocated(struct graph_memory *memory, bool allocated)
{
    if (!memory->context || memory->allocated == allocated)
        return;
    struct graph_bytes *bytes = &memory->context->graph_bytes;
    memory->allocated = allocated;
    bytes->used = allocated ? bytes->used + memory->bytes : bytes->used - memory->bytes;
    if (bytes->used > bytes->most_used)
        bytes->most_used = bytes->used;
}

int graph_memory_free(struct process *process, struct graph_memory *memory)
{
    if (!memory->allocated)
        return CUDA_ERROR_INVALID_VALUE;
    set_allocated(memory, false);
    give_back_if_unused(process, memory);
    return CUDA_SUCCESS;
}

static bool is_allocated_by(const struct graph *graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct graph_node *node = graph->nodes.data[i];
        if ((node->memory && !node->frees && node->memory->allocated) || (node->child && is_allocated_by(node->child)))
            return true;
    }
    return false;
}

static void allocate_and_free(const struct graph *graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct graph_node *node = graph->nodes.data[i];
        if (node->memory && !node->disabled)
            set_allocated(node->memory, !node->frees);
        if (node->child)
            allocate_and_free(node->child);
    }
}

int graph_memory_launch(struct graph *graph)
{
    if (!graph->frees_on_launch && is_allocated_by(graph))
        return CUDA_ERROR_INVALID_VALUE;
    allocate_and_free(graph);
    return CUDA_SUCCESS;
}

void graph_memory_forget(struct context *context)
{
    for (size_t i = 0; i < context->graph_memories.count; i++)
        if (context->graph_memories.data[i]->references)
            context->graph_memories.data[i]->context = NULL; /* nodes of graphs still know it */
        else
            free(context->graph_memories.data[i]);
    vector_free(&context->graph_memories);
}

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

static struct device *device_of_ordinal(const struct call *call, int ordinal)
{
    bool there = ordinal >= 0 && (uint32_t)ordinal < call->process->device_count;
    return there ? &call->process->devices[ordinal] : NULL;
}

enum { BYTES_USED, BYTES_MOST_USED, BYTES_RESERVED, BYTES_MOST_RESERVED };

/* Memory is given back when the last node and launch let go of it: there is nothing more to trim. */
ENTRY(int, cudaDeviceGraphMemTrim, int device)
{
    struct call call;
    if (runtime_begin(&call) && !device_of_ordinal(&call, device))
        call.error = CUDA_ERROR_INVALID_DEVICE;
    return runtime_end(&call);
}

static int bytes_attribute(int ordinal, int attribute, uint64_t *value, bool set)
{
    struct call call;
    if (!runtime_begin(&call))
        return runtime_end(&call);
    struct device *device = device_of_ordinal(&call, ordinal);
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
