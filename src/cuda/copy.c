/* SPDX-License-Identifier: MIT */
/* Copies and fills: which memory a pointer means, whether it lies within, and moving the bytes. */
#include "cuda/copy.h"

#include "cuda/abi.h"
#include "cuda/context.h"
#include "cuda/process.h"
#include "cuda/ranges.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES UINT64_C(4096)

int copy_resolve(struct process *process, uint64_t address, bool device_expected, struct copy_side *side)
{
    const struct range *range = ranges_find(process, address);
    side->address = address;
    side->host = NULL;
    side->context = NULL;
    side->pinned = false;
    if (!range) {
        if (device_expected)
            return CUDA_ERROR_INVALID_VALUE;
        side->host = (uint8_t *)(uintptr_t)address;
        return CUDA_SUCCESS;
    }
    side->context = range->context;
    if (range->kind == RANGE_HOST || range->kind == RANGE_REGISTERED || range->kind == RANGE_MANAGED) {
        side->host = (uint8_t *)(uintptr_t)address;
        side->pinned = true;
        /* Managed memory is on the device when the device is asked for. */
        if (range->kind != RANGE_MANAGED)
            side->context = NULL;
    }
    return CUDA_SUCCESS;
}

/* Device memory of a context; NULL where it has none, or is there no more itself. */
static void *memory_at(const struct context *context, uint64_t address, uint64_t bytes)
{
    return context->memory ? corun_memory_pointer(context->memory, address, bytes) : NULL;
}

/* The bytes that a side spans; 0 if they are more than there can be. */
static uint64_t span(const struct copy *copy, const struct copy_side *side)
{
    uint64_t rows = 0, slices = 0;
    if (__builtin_mul_overflow(copy->height - 1, side->pitch, &rows) ||
        __builtin_mul_overflow(copy->depth - 1, side->slice_bytes, &slices) ||
        __builtin_add_overflow(rows, slices, &rows) || __builtin_add_overflow(rows, copy->width_bytes, &rows))
        return 0;
    return rows;
}

bool host_has_mapped(const void *host, uint64_t bytes)
{
    uint64_t first = (uint64_t)(uintptr_t)host, page = first & ~(PAGE_BYTES - 1);
    /* Without a change to the memory: Linux looks whether all pages are there, and no more. */
    return bytes && first + bytes - 1 >= first && msync((void *)(uintptr_t)page, first + bytes - page, MS_ASYNC) == 0;
}

static bool lies_within(const struct copy *copy, const struct copy_side *side)
{
    uint64_t bytes = span(copy, side);
    if (bytes == 0)
        return false;
    if (!side->context) /* a freed device address is none of the host's, either */
        return side->host && (side->pinned || host_has_mapped(side->host, bytes));
    return memory_at(side->context, side->address, bytes) != NULL;
}

int copy_prepare(struct copy *copy)
{
    if (copy->width_bytes == 0 || copy->height == 0 || copy->depth == 0)
        return CUDA_SUCCESS;
    if ((copy->height > 1 && (copy->from.pitch < copy->width_bytes || copy->to.pitch < copy->width_bytes)))
        return CUDA_ERROR_INVALID_PITCH_VALUE;
    if (!lies_within(copy, &copy->from) || !lies_within(copy, &copy->to))
        return CUDA_ERROR_INVALID_VALUE;
    bool from_device = copy->from.context != NULL, to_device = copy->to.context != NULL;
    copy->engine = from_device == to_device ? ENGINE_WITHIN : to_device ? ENGINE_TO_DEVICE : ENGINE_TO_HOST;
    copy->pageable = (!from_device && !copy->from.pinned) || (!to_device && !copy->to.pinned);
    return CUDA_SUCCESS;
}

size_t copy_bytes(const struct copy *copy)
{
    return copy->width_bytes * copy->height * copy->depth;
}

/* Packs the rows: what the program does with its memory after the call does not matter any more. */
int copy_stage(struct copy *copy)
{
    size_t bytes = copy_bytes(copy);
    if (bytes == 0)
        return CUDA_SUCCESS;
    copy->staged = malloc(bytes);
    if (!copy->staged)
        return CUDA_ERROR_OUT_OF_MEMORY;
    uint8_t *to = copy->staged;
    for (size_t z = 0; z < copy->depth; z++)
        for (size_t y = 0; y < copy->height; y++, to += copy->width_bytes)
            memcpy(to, copy->from.host + z * copy->from.slice_bytes + y * copy->from.pitch, copy->width_bytes);
    copy->from.pitch = copy->width_bytes;
    copy->from.slice_bytes = copy->width_bytes * copy->height;
    copy->from.host = copy->staged;
    copy->from.context = NULL;
    return CUDA_SUCCESS;
}

static uint8_t *side_pointer(const struct copy *copy, const struct copy_side *side)
{
    if (!side->context)
        return side->host;
    return memory_at(side->context, side->address, span(copy, side));
}

int copy_perform(const struct copy *copy)
{
    if (copy_bytes(copy) == 0)
        return CUDA_SUCCESS;
    const uint8_t *from = side_pointer(copy, &copy->from);
    uint8_t *to = side_pointer(copy, &copy->to);
    if (!from || !to) /* freed since it was asked for */
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (size_t z = 0; z < copy->depth; z++) {
        const uint8_t *from_slice = from + z * copy->from.slice_bytes;
        uint8_t *to_slice = to + z * copy->to.slice_bytes;
        if (copy->from.pitch == copy->width_bytes && copy->to.pitch == copy->width_bytes) {
            memmove(to_slice, from_slice, copy->width_bytes * copy->height);
            continue;
        }
        for (size_t y = 0; y < copy->height; y++)
            memmove(to_slice + y * copy->to.pitch, from_slice + y * copy->from.pitch, copy->width_bytes);
    }
    return CUDA_SUCCESS;
}

void copy_visit(const struct copy *copy, const struct copy_side *side,
                void (*visit)(void *user, uint8_t *row, size_t bytes), void *user)
{
    uint8_t *at = copy_bytes(copy) ? side_pointer(copy, side) : NULL;
    for (size_t z = 0; at && z < copy->depth; z++)
        for (size_t y = 0; y < copy->height; y++)
            visit(user, at + z * side->slice_bytes + y * side->pitch, copy->width_bytes);
}

int fill_prepare(struct process *process, struct fill *fill)
{
    struct copy_side side;
    uint64_t rows, bytes;
    int error = copy_resolve(process, fill->address, true, &side);
    if (error != CUDA_SUCCESS || !fill->width_bytes || !fill->height || !fill->depth)
        return error;
    const struct range *range = ranges_find(process, fill->address);
    if (!range || (fill->height > 1 && fill->pitch < fill->width_bytes) ||
        __builtin_mul_overflow(fill->depth - 1, fill->slice_bytes, &bytes) ||
        __builtin_mul_overflow(fill->height - 1, fill->pitch, &rows) || __builtin_add_overflow(bytes, rows, &bytes) ||
        __builtin_add_overflow(bytes, fill->width_bytes, &bytes) ||
        bytes > range->bytes - (fill->address - range->address))
        return CUDA_ERROR_INVALID_VALUE;
    fill->host = side.host;
    fill->context = range->context;
    return CUDA_SUCCESS;
}

int fill_perform(const struct fill *fill)
{
    if (!fill->width_bytes || !fill->height || !fill->depth)
        return CUDA_SUCCESS;
    uint64_t bytes = (fill->depth - 1) * fill->slice_bytes + (fill->height - 1) * fill->pitch + fill->width_bytes;
    uint8_t *to = fill->host ? fill->host : memory_at(fill->context, fill->address, bytes);
    if (!to)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (size_t z = 0; z < fill->depth; z++)
        for (size_t y = 0; y < fill->height; y++) {
            uint8_t *row = to + z * fill->slice_bytes + y * fill->pitch;
            if (fill->element_bytes == 1)
                memset(row, (int)fill->value, fill->width_bytes);
            else
                for (size_t x = 0; x < fill->width_bytes; x += fill->element_bytes)
                    memcpy(row + x, &fill->value, fill->element_bytes);
        }
    return CUDA_SUCCESS;
}
