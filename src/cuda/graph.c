/* SPDX-License-Identifier: MIT */
/* Graphs: their nodes, sorted, copied, captured from streams, and launched. */
#include "cuda/graph.h"

#include "cuda/abi.h"
#include "cuda/context.h"
#include "cuda/graph_memory.h"
#include "cuda/object.h"
#include "cuda/process.h"
#include "cuda/stream.h"
#include "cuda/task.h"

#include <stdlib.h>
#include <string.h>

struct graph *graph_create(struct process *process, struct context *context)
{
    struct graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return NULL;
    *graph = (struct graph){.object = {OBJECT_GRAPH}, .id = ++process->next_stream_id, .context = context};
    if (!object_add(process, &graph->object)) {
        free(graph);
        return NULL;
    }
    return graph;
}

struct graph *graph_find(struct process *process, const void *handle, enum object_kind kind)
{
    struct graph *graph = object_find(process, handle, kind);
    return graph && !graph->context->destroyed ? graph : NULL;
}

/* All but its place. */
static void graph_node_empty(struct process *process, struct graph_node *node)
{
    object_remove(process, &node->object);
    if (node->task)
        task_free(process, node->task);
    if (node->child)
        graph_destroy(process, node->child);
    if (node->memory)
        graph_memory_release(process, node->memory);
    if (node->condition)
        graph_condition_release(process, node->condition);
    vector_free(&node->dependencies);
    vector_free(&node->arguments);
}

static void graph_node_destroy(struct process *process, struct graph_node *node)
{
    graph_node_empty(process, node);
    free(node);
}

bool graph_holds(struct process *process, const struct graph *graph, const void *handle)
{
    const struct graph_node *node = object_find(process, handle, OBJECT_GRAPH_NODE);
    return node && node->graph == graph;
}

bool graph_holds_all(struct process *process, const struct graph *graph, void *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!nodes || !graph_holds(process, graph, nodes[i]))
            return false;
    return true;
}

void graph_remove(struct process *process, struct graph_node *node)
{
    struct graph *graph = node->graph;
    size_t kept = 0;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        struct graph_node *other = graph->nodes.data[i];
        for (size_t d = 0; d < other->dependencies.count;)
            if (other->dependencies.data[d] == node)
                other->dependencies.data[d] = other->dependencies.data[--other->dependencies.count];
            else
                d++;
        if (other != node)
            graph->nodes.data[kept++] = other;
    }
    graph->nodes.count = kept;
    for (size_t i = 0; !graph->context->destroyed && i < graph->context->streams.count; i++) {
        struct stream *stream = graph->context->streams.data[i];
        for (size_t f = 0; f < stream->capture_front.count;)
            if (stream->capture_front.data[f] == node)
                stream->capture_front.data[f] = stream->capture_front.data[--stream->capture_front.count];
            else
                f++;
    }
    graph_node_empty(process, node);
    if (!vector_push(&graph->removed, node))
        free(node);
}

void graph_destroy(struct process *process, struct graph *graph)
{
    object_remove(process, &graph->object);
    for (size_t i = 0; i < graph->nodes.count; i++)
        graph_node_destroy(process, graph->nodes.data[i]);
    for (size_t i = 0; !graph->context->destroyed && i < graph->tracks.count; i++) { /* else gone with the context */
        struct stream *track = graph->tracks.data[i];
        track->destroyed = true;
        if (stream_idle(track))
            stream_free(process, track);
    }
    user_references_free(process, &graph->users);
    for (size_t i = 0; i < graph->removed.count; i++)
        free(graph->removed.data[i]);
    vector_free(&graph->removed);
    vector_free(&graph->nodes);
    vector_free(&graph->handles);
    vector_free(&graph->tracks);
    free(graph);
}

struct graph_node *graph_add(struct process *process, struct graph *graph, struct task *task,
                             struct graph_node *const *dependencies, size_t count)
{
    struct graph_node *node = calloc(1, sizeof *node);
    if (!node) {
        if (task)
            task_free(process, task);
        return NULL;
    }
    *node = (struct graph_node){
        .object = {OBJECT_GRAPH_NODE}, .graph = graph, .kind = task ? task->kind : TASK_NOTHING, .task = task};
    bool good = true;
    for (size_t i = 0; i < count && good; i++)
        good = vector_push(&node->dependencies, dependencies[i]);
    if (!good || !object_add(process, &node->object) || !vector_push(&graph->nodes, node)) {
        graph_node_destroy(process, node);
        return NULL;
    }
    return node;
}

bool graph_sort(struct graph *graph)
{
    struct graph_node **nodes = graph->nodes.data;
    for (size_t i = 0; i < graph->nodes.count; i++)
        nodes[i]->place = 0;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        size_t k = i;
        for (; k < graph->nodes.count; k++) {
            bool free = true;
            for (size_t d = 0; d < nodes[k]->dependencies.count; d++)
                free &= nodes[k]->dependencies.data[d]->place != 0;
            if (free)
                break;
        }
        if (k == graph->nodes.count)
            return false;
        struct graph_node *node = nodes[k];
        memmove(&nodes[i + 1], &nodes[i], (k - i) * sizeof *nodes);
        nodes[i] = node;
        node->place = (uint32_t)i + 1;
        if (node->child && !graph_sort(node->child))
            return false;
        for (size_t b = 0; node->condition && b < node->condition->bodies.count; b++)
            if (!graph_sort(node->condition->bodies.data[b]))
                return false;
    }
    return true;
}

static struct graph *copy_nodes(struct process *process, struct graph *graph, struct graph *to)
{
    for (size_t i = 0; i < graph->handles.count; i++)
        if (!vector_push(&to->handles, graph->handles.data[i]))
            return NULL;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        struct graph_node *node = graph->nodes.data[i];
        struct task *task = node->task ? task_copy(node->task) : NULL;
        if (node->task && !task)
            return NULL;
        struct graph_node *copy = graph_add(process, to, task, NULL, 0);
        if (!copy)
            return NULL;
        copy->disabled = node->disabled;
        copy->frees = node->frees;
        if (node->memory) {
            copy->memory = node->memory;
            copy->memory->references++;
        }
        copy->place = node->place;
        copy->origin = node;
        node->copy = copy;
        for (size_t d = 0; d < node->dependencies.count; d++)
            if (!vector_push(&copy->dependencies, node->dependencies.data[d]->copy))
                return NULL;
        if (node->child && !(copy->child = graph_copy(process, node->child, to->object.kind)))
            return NULL;
        if (copy->child)
            copy->child->owned = true;
        if (node->condition && !(copy->condition = graph_condition_copy(process, node->condition, to, to->object.kind)))
            return NULL;
    }
    return to;
}

struct graph *graph_copy(struct process *process, struct graph *graph, enum object_kind kind)
{
    struct graph *copy = graph_create(process, graph->context);
    if (!copy)
        return NULL;
    copy->object.kind = kind;
    if (!user_references_copy(&copy->users, &graph->users, false) || !copy_nodes(process, graph, copy)) {
        graph_destroy(process, copy);
        return NULL;
    }
    return copy;
}

/* A stream waits until another one has come to where that one is now. */
static int cross(struct process *process, struct stream *from, struct stream *to)
{
    if (from == to)
        return CUDA_SUCCESS;
    struct event *event = event_create(process, from->context, EVENT_DISABLE_TIMING);
    struct task *record = event ? task_create(TASK_RECORD) : NULL, *wait = record ? task_create(TASK_WAIT) : NULL;
    if (!wait) {
        free(record);
        if (event)
            event_release(process, event);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    event->references += 2;
    record->event.event = wait->event.event = event;
    record->event.count = wait->event.count = event->recorded = 1;
    int error = stream_ask(process, from, record);
    if (error == CUDA_SUCCESS)
        error = stream_ask(process, to, wait);
    event_release(process, event);
    return error;
}

static struct stream *track(struct process *process, struct graph *graph, uint32_t index)
{
    while (graph->tracks.count <= index) {
        struct stream *stream = stream_create(process, graph->context, STREAM_NON_BLOCKING, 0);
        if (!stream || !vector_push(&graph->tracks, stream))
            return NULL;
    }
    return graph->tracks.data[index];
}

/* Which streams the nodes go to: whoever is the first to follow a node stays in its stream. */
static uint32_t assign_tracks(struct graph *graph)
{
    uint32_t count = 0;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        struct graph_node *node = graph->nodes.data[i];
        node->track = UINT32_MAX;
        node->followed_in_track = false;
        for (size_t d = 0; d < node->dependencies.count && node->track == UINT32_MAX; d++)
            if (!node->dependencies.data[d]->followed_in_track)
                node->track = node->dependencies.data[d]->track;
        if (node->track == UINT32_MAX)
            node->track = count++;
        for (size_t d = 0; d < node->dependencies.count; d++)
            if (node->dependencies.data[d]->track == node->track)
                node->dependencies.data[d]->followed_in_track = true;
    }
    return count;
}

/* A task that does nothing has what the launch keeps until then. */
static int keep_users(struct process *process, const struct graph *graph, struct stream *stream)
{
    if (!graph->users.list.count)
        return CUDA_SUCCESS;
    struct task *task = task_create(TASK_NOTHING);
    if (task && user_references_copy(&task->users, &graph->users, true))
        return stream_ask(process, stream, task);
    if (task)
        task_free(process, task);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static int append_nodes(struct process *process, struct graph *graph, struct stream *stream)
{
    uint32_t tracks = assign_tracks(graph);
    int error = CUDA_SUCCESS;
    for (uint32_t t = 0; t < tracks && error == CUDA_SUCCESS; t++) {
        struct stream *own = track(process, graph, t);
        error = own ? cross(process, stream, own) : CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < graph->nodes.count && error == CUDA_SUCCESS; i++) {
        struct graph_node *node = graph->nodes.data[i];
        struct stream *own = graph->tracks.data[node->track];
        for (size_t d = 0; d < node->dependencies.count && error == CUDA_SUCCESS; d++)
            error = cross(process, graph->tracks.data[node->dependencies.data[d]->track], own);
        if (error != CUDA_SUCCESS || node->disabled)
            continue;
        if (node->child) {
            error = append_nodes(process, node->child, own);
        } else if (node->condition) {
            error = graph_condition_ask(process, node->condition, own);
        } else if (node->task) {
            struct task *task = task_copy(node->task);
            if (task && task->kind == TASK_RECORD)
                task->event.count = ++task->event.event->recorded;
            if (task && task->kind == TASK_WAIT)
                task->event.count = task->event.event->recorded;
            error = task ? stream_ask(process, own, task) : CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    for (uint32_t t = 0; t < tracks && error == CUDA_SUCCESS; t++)
        error = cross(process, graph->tracks.data[t], stream);
    return error == CUDA_SUCCESS ? keep_users(process, graph, stream) : error;
}

/* A launch comes behind those before of the same executable graph, in whatever streams these were. */
static int follow_launch_before(struct process *process, struct graph *graph, struct stream *stream)
{
    int error = CUDA_SUCCESS;
    if (graph->launched_in == stream->id)
        return error;
    for (size_t t = 0; t < graph->tracks.count && error == CUDA_SUCCESS; t++)
        error = cross(process, graph->tracks.data[t], stream);
    graph->launched_in = stream->id;
    return error;
}

int graph_launch(struct process *process, struct graph *graph, struct stream *stream)
{
    int error = graph_memory_launch(graph);
    if (error == CUDA_SUCCESS)
        error = follow_launch_before(process, graph, stream);
    if (error == CUDA_SUCCESS)
        error = graph_condition_begin(process, graph, stream);
    return error == CUDA_SUCCESS ? append_nodes(process, graph, stream) : error;
}

static void set_front(struct stream *stream, struct graph_node *node)
{
    stream->capture_front.count = 0;
    if (!vector_push(&stream->capture_front, node))
        stream->capture_broken = true;
}

bool graph_join_front(struct stream *stream, struct graph_node *node)
{
    for (size_t i = 0; i < stream->capture_front.count; i++)
        if (stream->capture_front.data[i] == node)
            return true;
    return vector_push(&stream->capture_front, node);
}

int graph_capture_memory(struct process *process, struct stream *stream, struct graph_memory *memory, bool frees)
{
    struct graph_node *node =
        graph_add(process, stream->capture, NULL, stream->capture_front.data, stream->capture_front.count);
    if (!node)
        return CUDA_ERROR_OUT_OF_MEMORY;
    node->memory = memory;
    node->frees = frees;
    memory->references++;
    set_front(stream, node);
    return CUDA_SUCCESS;
}

int graph_capture_launch(struct process *process, struct stream *stream, struct graph *graph)
{
    struct graph *child = graph_copy(process, graph, OBJECT_GRAPH);
    if (!child)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct graph_node *node =
        graph_add(process, stream->capture, NULL, stream->capture_front.data, stream->capture_front.count);
    if (!node) {
        graph_destroy(process, child);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    node->child = child;
    child->owned = true;
    set_front(stream, node);
    return CUDA_SUCCESS;
}

int graph_spoil_capture(struct stream *stream)
{
    const struct context *context = stream->context;
    if (stream->capture_broken)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    for (size_t i = 0; i < context->streams.count; i++)
        if (context->streams.data[i]->capture == stream->capture)
            context->streams.data[i]->capture_broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

int graph_capture(struct process *process, struct stream *stream, struct task *task)
{
    if (stream->capture_broken) {
        task_free(process, task);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    bool names_event = task->kind == TASK_RECORD || task->kind == TASK_WAIT;
    struct event *event = names_event ? task->event.event : NULL;
    if (task->kind == TASK_RECORD) { /* no node: the event stands for where the stream is */
        bool kept = true;
        event->capture = stream->capture->id;
        event->capture_front.count = 0;
        for (size_t i = 0; i < stream->capture_front.count && kept; i++)
            kept = vector_push(&event->capture_front, stream->capture_front.data[i]);
        task_free(process, task);
        return kept ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (task->kind == TASK_WAIT) {
        bool same = event->capture == stream->capture->id, kept = true;
        for (size_t i = 0; same && i < event->capture_front.count && kept; i++)
            if (graph_holds(process, stream->capture, event->capture_front.data[i])) /* else destroyed meanwhile */
                kept = graph_join_front(stream, event->capture_front.data[i]);
        task_free(process, task);
        if (!same)
            (void)graph_spoil_capture(stream);
        return !same ? CUDA_ERROR_STREAM_CAPTURE_ISOLATION : kept ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (task->kind == TASK_FREE) {
        struct graph_memory *memory = graph_memory_find(stream->context, task->address);
        task_free(process, task);
        return memory ? graph_capture_memory(process, stream, memory, true) : CUDA_ERROR_INVALID_VALUE;
    }
    struct graph_node *node =
        graph_add(process, stream->capture, task, stream->capture_front.data, stream->capture_front.count);
    if (!node)
        return CUDA_ERROR_OUT_OF_MEMORY;
    set_front(stream, node);
    return CUDA_SUCCESS;
}

struct graph *graph_being_captured(const struct context *context, uint64_t id)
{
    for (size_t i = 0; id && i < context->streams.count; i++)
        if (context->streams.data[i]->capture && context->streams.data[i]->capture->id == id)
            return context->streams.data[i]->capture;
    return NULL;
}

bool graph_refuse_join(const struct process *process, const struct context *context, uint64_t id)
{
    for (size_t c = 0; id && c < process->contexts.count; c++) {
        const struct context *other = process->contexts.data[c];
        for (size_t i = 0; other != context && i < other->streams.count; i++)
            if (other->streams.data[i]->capture && other->streams.data[i]->capture->id == id) {
                (void)graph_spoil_capture(other->streams.data[i]);
                return true;
            }
    }
    return false;
}

int graph_refuse_unsafe(const struct process *process, const struct thread_state *thread)
{
    int error = CUDA_SUCCESS;
    for (size_t c = 0; c < process->contexts.count; c++)
        for (size_t i = 0; i < process->contexts.data[c]->streams.count; i++) {
            struct stream *stream = process->contexts.data[c]->streams.data[i];
            bool own = stream->capture_thread == thread && stream->capture_mode != CAPTURE_RELAXED;
            bool of_others = thread->capture_mode == CAPTURE_GLOBAL && stream->capture_mode == CAPTURE_GLOBAL;
            if (!stream->capture || !stream->capture_origin || thread->capture_mode == CAPTURE_RELAXED ||
                !(own || of_others))
                continue;
            (void)graph_spoil_capture(stream);
            error = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    return error;
}

int graph_refuse_implicit(const struct stream *legacy)
{
    int error = CUDA_SUCCESS;
    for (size_t i = 0; i < legacy->context->streams.count; i++) {
        struct stream *stream = legacy->context->streams.data[i];
        if (!stream->capture || !stream->queue.blocking)
            continue;
        (void)graph_spoil_capture(stream);
        error = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return error;
}

int graph_begin_capture(struct process *process, struct stream *stream, const struct thread_state *thread, int mode)
{
    if (mode < CAPTURE_GLOBAL || mode > CAPTURE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream == stream->context->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    stream->capture = graph_create(process, stream->context);
    if (!stream->capture)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stream->capture_front.count = 0;
    stream->capture_origin = true;
    stream->capture_broken = stream->capture_given = false;
    stream->capture_mode = mode;
    stream->capture_thread = thread;
    return CUDA_SUCCESS;
}

int graph_begin_capture_into(struct process *process, struct stream *stream, struct graph *graph, void *const *nodes,
                             size_t count, const struct thread_state *thread, int mode)
{
    if (!graph_holds_all(process, graph, nodes, count) || graph_being_captured(graph->context, graph->id))
        return CUDA_ERROR_INVALID_VALUE;
    int error = graph_begin_capture(process, stream, thread, mode);
    if (error != CUDA_SUCCESS)
        return error;
    graph_destroy(process, stream->capture);
    stream->capture = graph;
    stream->capture_given = true;
    for (size_t i = 0; i < count; i++)
        if (!graph_join_front(stream, nodes[i]))
            stream->capture_broken = true;
    return CUDA_SUCCESS;
}

/* Is every node of a stream that joined a way to the origin's front? */
static bool joined(const struct stream *origin, const struct stream *other)
{
    for (size_t i = 0; i < other->capture_front.count; i++) {
        const struct graph_node *node = other->capture_front.data[i];
        bool found = false;
        const struct graph *graph = origin->capture;
        for (size_t f = 0; f < origin->capture_front.count; f++)
            found |= origin->capture_front.data[f] == node;
        for (size_t k = 0; k < graph->nodes.count && !found; k++)
            for (size_t d = 0; d < graph->nodes.data[k]->dependencies.count; d++)
                found |= graph->nodes.data[k]->dependencies.data[d] == node;
        if (!found)
            return false;
    }
    return true;
}

int graph_end_capture(struct process *process, struct stream *stream, const struct thread_state *thread,
                      struct graph **graph)
{
    *graph = NULL;
    if (!stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (!stream->capture_origin)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (stream->capture_thread != thread && stream->capture_mode != CAPTURE_RELAXED)
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    struct graph *captured = stream->capture;
    int error = stream->capture_broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
    struct context *context = stream->context;
    for (size_t i = 0; i < context->streams.count; i++) {
        struct stream *other = context->streams.data[i];
        if (other == stream || other->capture != captured)
            continue;
        if (other->capture_broken)
            error = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        else if (error == CUDA_SUCCESS && !joined(stream, other))
            error = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
        other->capture = NULL;
        other->capture_front.count = 0;
    }
    stream->capture = NULL;
    stream->capture_front.count = 0;
    stream->capture_origin = false;
    if (error != CUDA_SUCCESS) {
        if (!stream->capture_given)
            graph_destroy(process, captured);
        return error;
    }
    *graph = captured;
    return CUDA_SUCCESS;
}
