/* SPDX-License-Identifier: MIT */
/* Memory that graphs allocate: made with a node, used by launches, given back when nobody needs it any more. */
#include "cuda/graph_memory.h"

#include "cuda/abi.h"
#include "cuda/context.h"
#include "cuda/engine.h"
#include "cuda/graph.h"
#include "cuda/process.h"
#include "cuda/ranges.h"

#include <stdlib.h>

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
