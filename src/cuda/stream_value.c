/* SPDX-License-Identifier: MIT */
/* Streams that wait for a value in memory, and write one. */
#include "cuda/stream_value.h"

#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/capture.h"
#include "cuda/checkpoint.h"
#include "cuda/console.h"
#include "cuda/context.h"
#include "cuda/engine.h"
#include "cuda/process.h"
#include "cuda/ranges.h"
#include "cuda/stream.h"
#include "cuda/task.h"

/* What a wait compares: the value there with the one that is given, as a number that may run over, bit by bit, … */
enum { WAIT_AT_LEAST = 0, WAIT_EQUAL = 1, WAIT_AND = 2, WAIT_NOR = 3, WAIT_KINDS = 3, WAIT_FLUSH = 1 << 30 };
enum { WRITE_NO_BARRIER = 1 };
static uint8_t *place_of(const struct context *context, uint64_t address, uint32_t bytes)
{
    const struct range *range = ranges_find(process_get(), address);
    if (!range || bytes > range->bytes - (address - range->address))
        return NULL;
    return range_of_device(range) ? corun_memory_pointer(range->context->memory, address, bytes)
                                  : (context->destroyed ? NULL : (uint8_t *)(uintptr_t)address);
}

bool stream_value_reached(const struct task *task)
{
    const uint8_t *place = place_of(task->stream->context, task->value.address, task->value.bytes);
    uint64_t there, wanted = task->value.value, mask = task->value.bytes == 8 ? UINT64_MAX : UINT32_MAX;
    if (!place) /* it has been freed: nobody will write it */
        return true;
    /* Threads of the program may write it meanwhile. */
    there = task->value.bytes == 8 ? __atomic_load_n((const uint64_t *)(const void *)place, __ATOMIC_ACQUIRE)
                                   : __atomic_load_n((const uint32_t *)(const void *)place, __ATOMIC_ACQUIRE);
    switch (task->value.flags & WAIT_KINDS) {
    case WAIT_EQUAL:
        return there == wanted;
    case WAIT_AND:
        return (there & wanted) != 0;
    case WAIT_NOR:
        return (~(there | wanted) & mask) != 0;
    default:
        return task->value.bytes == 8 ? (int64_t)(there - wanted) >= 0 : (int32_t)(uint32_t)(there - wanted) >= 0;
    }
}

int stream_value_write(const struct task *task)
{
    uint8_t *place = place_of(task->stream->context, task->value.address, task->value.bytes);
    if (!place)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (task->value.bytes == 8)
        __atomic_store_n((uint64_t *)(void *)place, task->value.value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((uint32_t *)(void *)place, (uint32_t)task->value.value, __ATOMIC_RELEASE);
    return CUDA_SUCCESS;
}

int stream_value_ask(struct call *call, void *handle, enum task_kind kind, uint64_t address, uint64_t value,
                     uint32_t bytes, unsigned flags)
{
    struct stream *stream;
    unsigned known = kind == TASK_WAIT_VALUE ? WAIT_KINDS | WAIT_FLUSH : WRITE_NO_BARRIER;
    int error = stream_of_handle(call, handle, &stream);
    if (error != CUDA_SUCCESS)
        return error;
    if (address % bytes || flags & ~known || !place_of(stream->context, address, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    struct task *task = task_create(kind);
    if (!task)
        return CUDA_ERROR_OUT_OF_MEMORY;
    task->value.address = address;
    task->value.value = bytes == 8 ? value : (uint32_t)value;
    task->value.bytes = bytes;
    task->value.flags = flags;
    checkpoint_refuse(call->process, "its streams wait for values in memory, or write them");
    capture_refuse(call->process, "the program's streams wait for values in memory or write them");
    return stream_ask(call->process, stream, task);
}

void stream_values_give_up(struct process *process)
{
    process->value_looks = 0;
    for (size_t c = 0; c < process->contexts.count; c++) {
        struct context *context = process->contexts.data[c];
        for (size_t i = 0; !context->destroyed && i < context->streams.count; i++) {
            const struct task *first = task_of(context->streams.data[i]->queue.first);
            if (!first || first->kind != TASK_WAIT_VALUE)
                continue;
            say("a stream has waited for seconds for a value at address %#llx that nobody writes",
                (unsigned long long)first->value.address);
            cuda_context_fail(context, CUDA_ERROR_LAUNCH_TIMEOUT);
            engine_abandon(process, context);
            break;
        }
    }
}
