/* SPDX-License-Identifier: MIT */
/* Memory that programs allocate or register, and whose it is. */
#include "cuda/ranges.h"

#include "cuda/abi.h"
#include "cuda/capture.h"
#include "cuda/context.h"
#include "cuda/copy.h"
#include "cuda/device.h"
#include "cuda/interprocess.h"
#include "cuda/pool_bytes.h"
#include "cuda/process.h"
#include "isa/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Index of the first range that begins above `address`. */
static size_t first_above(const struct process *process, uint64_t address)
{
    size_t low = 0, high = process->ranges.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (process->ranges.data[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool range_of_device(const struct range *range)
{
    return range->kind == RANGE_DEVICE || range->kind == RANGE_MODULE || range->kind == RANGE_VIRTUAL;
}

static bool adopt(struct context *context, const struct range *range)
{
    void *host = (void *)(uintptr_t)range->address;
    return corun_memory_adopt(context->memory, range->address, host, range->bytes) == CORUN_OK;
}

bool ranges_share(struct process *process, struct context *context)
{
    for (size_t i = 0; i < process->ranges.count; i++)
        if (!range_of_device(&process->ranges.data[i]) && !adopt(context, &process->ranges.data[i]))
            return false;
    return true;
}

/* Takes it from the contexts whose it is not. */
static void take_back(struct process *process, const struct range *range)
{
    for (size_t i = 0; !range_of_device(range) && i < process->contexts.count; i++)
        if (process->contexts.data[i] != range->context)
            (void)corun_memory_free(process->contexts.data[i]->memory, range->address);
}

static bool share(struct process *process, const struct range *range)
{
    bool good = true;
    for (size_t i = 0; !range_of_device(range) && good && i < process->contexts.count; i++) {
        struct context *context = process->contexts.data[i];
        good = context == range->context || context->destroyed || adopt(context, range);
    }
    return good;
}

bool ranges_add(struct process *process, struct range range)
{
    size_t position = first_above(process, range.address);
    if (!share(process, &range) || !vector_push(&process->ranges, range)) {
        take_back(process, &range);
        return false;
    }
    struct range *all = process->ranges.data;
    memmove(all + position + 1, all + position, (process->ranges.count - 1 - position) * sizeof *all);
    all[position] = range;
    return true;
}

static void leave_pool(const struct range *range)
{
    if (!range->pool)
        return;
    pool_bytes_give(range->pool, range->bytes);
    pool_bytes_release(range->pool);
}

void ranges_remove(struct process *process, uint64_t address)
{
    size_t position = first_above(process, address);
    if (position == 0 || process->ranges.data[position - 1].address != address)
        return;
    struct range *all = process->ranges.data;
    take_back(process, &all[position - 1]);
    leave_pool(&all[position - 1]);
    process->ranges.count--;
    memmove(all + position - 1, all + position, (process->ranges.count - (position - 1)) * sizeof *all);
}

const struct range *ranges_find(const struct process *process, uint64_t address)
{
    size_t position = first_above(process, address);
    if (position == 0)
        return NULL;
    const struct range *range = &process->ranges.data[position - 1];
    return address - range->address < range->bytes ? range : NULL;
}

static void name(struct process *process, struct context *context, uint64_t address, const char *by)
{
    (void)memory_name(context->memory, address, "allocation %" PRIu64 " (%s)", ++process->allocations, by);
}

void memory_forget(struct process *process, struct context *context, uint64_t address, const char *by)
{
    char text[ORIGIN_BYTES];
    snprintf(text, sizeof text, "%s after %" PRIu64 " launch%s", by, process->launches,
             process->launches == 1 ? "" : "es");
    (void)memory_free(context->memory, address, text);
}

int memory_allocate(struct process *process, struct context *context, size_t bytes, uint64_t *address, const char *by)
{
    uint64_t used = context->allocated_bytes + context->device->physical_bytes;
    if (used > device_memory_bytes(context->device) || bytes > device_memory_bytes(context->device) - used)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (corun_memory_allocate(context->memory, bytes, address) != CORUN_OK)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!ranges_add(process, (struct range){*address, bytes, RANGE_DEVICE, 0, context, {0}, NULL})) {
        corun_memory_free(context->memory, *address);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    name(process, context, *address, by);
    context->allocated_bytes += bytes;
    capture_allocate(process, context, *address, bytes);
    return CUDA_SUCCESS;
}

int memory_allocate_host(struct process *process, struct context *context, size_t bytes, enum range_kind kind,
                         unsigned flags, uint64_t *address)
{
    void *host = NULL;
    if (bytes > UINT64_C(1) << 37 || corun_memory_allocate_shared(context->memory, bytes, address, &host) != CORUN_OK)
        return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t place = *address;
    if ((uint64_t)(uintptr_t)host != *address) {
        /* The host has something else there: then its address counts on both sides. */
        uint64_t other = (uint64_t)(uintptr_t)host;
        if (corun_memory_adopt(context->memory, other, host, bytes) != CORUN_OK) {
            corun_memory_free(context->memory, *address);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        *address = other;
    }
    if (!ranges_add(process, (struct range){*address, bytes, kind, flags, context, {0}, NULL})) {
        corun_memory_free(context->memory, *address);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    name(process, context, *address, kind == RANGE_MANAGED ? "cudaMallocManaged" : "cudaMallocHost");
    capture_allocate_host(process, context, place, *address, bytes);
    return CUDA_SUCCESS;
}

void memory_count(struct process *process, uint64_t address, struct pool_bytes *pool)
{
    size_t position = first_above(process, address);
    struct range *range = &process->ranges.data[position - 1];
    range->pool = pool;
    pool->references++;
    pool_bytes_take(pool, range->bytes);
}

int memory_release(struct process *process, uint64_t address, const char *by)
{
    const struct range *range = ranges_find(process, address);
    if (!range || range->address != address || range->kind == RANGE_REGISTERED || range->kind == RANGE_MODULE ||
        range->kind == RANGE_VIRTUAL)
        return CUDA_ERROR_INVALID_VALUE;
    if (range->kind == RANGE_DEVICE)
        range->context->allocated_bytes -= range->bytes;
    capture_free(process, range->context, address);
    interprocess_forget(process, address);
    memory_forget(process, range->context, address, by);
    ranges_remove(process, address);
    return CUDA_SUCCESS;
}

int memory_register(struct process *process, struct context *context, void *host, size_t bytes, unsigned flags)
{
    uint64_t address = (uint64_t)(uintptr_t)host;
    if (!host || !bytes || address + bytes < address || !host_has_mapped(host, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    size_t position = first_above(process, address + bytes - 1);
    if (position) {
        const struct range *below = &process->ranges.data[position - 1];
        if (below->address + below->bytes > address)
            return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    if (corun_memory_adopt(context->memory, address, host, bytes) != CORUN_OK)
        return CUDA_ERROR_INVALID_VALUE;
    if (!ranges_add(process, (struct range){address, bytes, RANGE_REGISTERED, flags, context, {0}, NULL})) {
        corun_memory_free(context->memory, address);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    name(process, context, address, "cudaHostRegister");
    capture_adopt(process, context, address, bytes, 0);
    return CUDA_SUCCESS;
}

int memory_unregister(struct process *process, void *host)
{
    uint64_t address = (uint64_t)(uintptr_t)host;
    const struct range *range = ranges_find(process, address);
    if (!range || range->address != address || range->kind != RANGE_REGISTERED)
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    capture_free(process, range->context, address);
    memory_forget(process, range->context, address, "cudaHostUnregister");
    ranges_remove(process, address);
    return CUDA_SUCCESS;
}
