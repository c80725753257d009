/* SPDX-License-Identifier: MIT */
/* Nodes of graphs that run their bodies by a number in device memory. */
#include "cuda/graph_condition.h"

#include "cuda/abi.h"
#include "cuda/context.h"
#include "cuda/graph.h"
#include "cuda/process.h"
#include "cuda/stream.h"

#include <stdlib.h>

enum { PAGE_BYTES = 4096, NUMBER_BYTES = 4 };

uint64_t graph_condition_number(struct context *context)
{
    if (!context->numbers_left) {
        if (corun_memory_allocate(context->memory, PAGE_BYTES, &context->numbers) != CORUN_OK)
            return 0;
        context->numbers_left = PAGE_BYTES / NUMBER_BYTES;
    }
    return context->numbers + (uint64_t)--context->numbers_left * NUMBER_BYTES;
}

bool graph_condition_is_known(const struct graph *graph, uint64_t address)
{
    for (; graph; graph = graph->parent)
        for (size_t i = 0; i < graph->handles.count; i++)
            if (graph->handles.data[i].address == address)
                return true;
    return false;
}

static struct graph_condition *make(enum condition_kind kind, uint64_t address)
{
    struct graph_condition *condition = calloc(1, sizeof *condition);
    if (condition)
        *condition = (struct graph_condition){.kind = kind, .address = address, .references = 1};
    return condition;
}

/* Takes the body over. */
static bool add_body(struct process *process, struct graph_condition *condition, struct graph *graph,
                     struct graph *body)
{
    if (!body)
        return false;
    body->owned = true;
    body->parent = graph;
    if (vector_push(&condition->bodies, body))
        return true;
    graph_destroy(process, body);
    return false;
}

struct graph_condition *graph_condition_create(struct process *process, struct graph *graph, enum condition_kind kind,
                                               uint64_t address, unsigned bodies)
{
    struct graph_condition *condition = make(kind, address);
    for (unsigned i = 0; condition && i < bodies; i++)
        if (!add_body(process, condition, graph, graph_create(process, graph->context))) {
            graph_condition_release(process, condition);
            return NULL;
        }
    return condition;
}

struct graph_condition *graph_condition_copy(struct process *process, const struct graph_condition *condition,
                                             struct graph *graph, enum object_kind kind)
{
    struct graph_condition *copy = make(condition->kind, condition->address);
    for (size_t i = 0; copy && i < condition->bodies.count; i++)
        if (!add_body(process, copy, graph, graph_copy(process, condition->bodies.data[i], kind))) {
            graph_condition_release(process, copy);
            return NULL;
        }
    return copy;
}

void graph_condition_release(struct process *process, struct graph_condition *condition)
{
    if (--condition->references)
        return;
    for (size_t i = 0; i < condition->bodies.count; i++)
        graph_destroy(process, condition->bodies.data[i]);
    vector_free(&condition->bodies);
    free(condition);
}

int graph_condition_begin(struct process *process, const struct graph *graph, struct stream *stream)
{
    int error = CUDA_SUCCESS;
    for (size_t i = 0; i < graph->handles.count && error == CUDA_SUCCESS; i++) {
        const struct graph_handle *handle = &graph->handles.data[i];
        if (!handle->assigned)
            continue;
        struct task *task = task_create(TASK_SET_CONDITION);
        if (!task)
            return CUDA_ERROR_OUT_OF_MEMORY;
        task->value.address = handle->address;
        task->value.value = handle->value;
        error = stream_ask(process, stream, task);
    }
    for (size_t i = 0; i < graph->nodes.count && error == CUDA_SUCCESS; i++) {
        const struct graph_node *node = graph->nodes.data[i];
        if (node->child)
            error = graph_condition_begin(process, node->child, stream);
        for (size_t b = 0; node->condition && b < node->condition->bodies.count && error == CUDA_SUCCESS; b++)
            error = graph_condition_begin(process, node->condition->bodies.data[b], stream);
    }
    return error;
}

static struct task *condition_task(struct graph_condition *condition)
{
    struct task *task = task_create(TASK_CONDITION);
    if (task) {
        task->condition = condition;
        condition->references++;
    }
    return task;
}

int graph_condition_ask(struct process *process, struct graph_condition *condition, struct stream *stream)
{
    struct task *task = condition_task(condition);
    return task ? stream_ask(process, stream, task) : CUDA_ERROR_OUT_OF_MEMORY;
}

int graph_condition_set(const struct task *task)
{
    uint32_t value = (uint32_t)task->value.value;
    return corun_memory_write(task->stream->context->memory, task->value.address, &value, sizeof value) == CORUN_OK
               ? CUDA_SUCCESS
               : CUDA_ERROR_ILLEGAL_ADDRESS;
}

/* The nodes of a sorted graph, one after the other; *last becomes the task of the last one. */
static int put_nodes(struct process *process, const struct graph *graph, struct task **last)
{
    int error = CUDA_SUCCESS;
    for (size_t i = 0; i < graph->nodes.count && error == CUDA_SUCCESS; i++) {
        const struct graph_node *node = graph->nodes.data[i];
        if (node->disabled)
            continue;
        if (node->child) {
            error = put_nodes(process, node->child, last);
            continue;
        }
        if (!node->task && !node->condition)
            continue;
        struct task *task = node->task ? task_copy(node->task) : condition_task(node->condition);
        if (!task)
            return CUDA_ERROR_OUT_OF_MEMORY;
        stream_ask_behind(process, *last, task);
        *last = task;
    }
    return error;
}

int graph_condition_run(struct process *process, struct task *task)
{
    struct graph_condition *condition = task->condition;
    uint32_t value = 0;
    if (corun_memory_read(task->stream->context->memory, condition->address, &value, sizeof value) != CORUN_OK)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    uint64_t which = condition->kind == CONDITION_SWITCH ? value : value == 0;
    if (which >= condition->bodies.count)
        return CUDA_SUCCESS;
    struct task *last = task;
    int error = put_nodes(process, condition->bodies.data[which], &last);
    if (error != CUDA_SUCCESS || condition->kind != CONDITION_WHILE)
        return error;
    struct task *again = condition_task(condition);
    if (!again)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stream_ask_behind(process, last, again);
    return CUDA_SUCCESS;
}
