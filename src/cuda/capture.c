/* SPDX-License-Identifier: MIT */
/* The capture of a program: modules, memory, launches and copies, written to a compressed file as they happen. */
#include "cuda/capture.h"

#include "base/arena.h"
#include "base/kernel_name.h"
#include "base/text_table.h"
#include "cuda/abi.h"
#include "cuda/console.h"
#include "cuda/context.h"
#include "cuda/copy.h"
#include "cuda/device.h"
#include "cuda/module.h"
#include "cuda/own_file.h"
#include "cuda/pointer_map.h"
#include "cuda/process.h"
#include "cuda/settings.h"
#include "cuda/stream.h"
#include "cuda/task.h"
#include "isa/executor.h"
#include "workload/capture_format.h"

#include <errno.h>
#include <sha2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define COMPRESSION_LEVEL 5
#define PAGE_BYTES UINT64_C(4096)
#define PATH_BYTES 4096

/* Memory that the host writes without telling anybody: what was new is found by comparing. */
struct seen_by_host {
    uint64_t address, bytes;
    uint8_t *known; /* its contents as a replay has them */
};

struct capture {
    FILE *file;
    char path[PATH_BYTES];
    ZSTD_CCtx *compressor;
    SHA2_CTX packed_hash;
    uint64_t bytes, packed_bytes, launches;
    const struct context *context; /* the only one that is captured; NULL: none yet */
    struct arena *arena;
    struct text_table blocks; /* hashes */
    struct pointer_map modules, streams, events;
    uint32_t module_count, event_count;
    VECTOR(struct seen_by_host) seen;
    char refused[512]; /* empty: not */
    int problem;       /* errno of a write; 0: none */
};

struct capture *capture_open(const struct process *process)
{
    const char *folder = getenv(setting_CAPTURE);
    struct capture *capture = folder && *folder && process->functional ? calloc(1, sizeof *capture) : NULL;
    if (!capture)
        return NULL;
    static const uint8_t nothing[CAPTURE_HEADER_BYTES];
    int descriptor = own_file_create(folder, capture->path, sizeof capture->path);
    capture->file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    capture->compressor = ZSTD_createCCtx();
    capture->arena = arena_create();
    if (!capture->file || !capture->compressor || !capture->arena ||
        fwrite(nothing, 1, sizeof nothing, capture->file) != sizeof nothing) {
        say("the capture cannot be written to %s: %s", capture->path, strerror(errno));
        if (capture->file)
            fclose(capture->file);
        else if (descriptor >= 0)
            close(descriptor);
        ZSTD_freeCCtx(capture->compressor);
        arena_destroy(capture->arena);
        free(capture);
        return NULL;
    }
    ZSTD_CCtx_setParameter(capture->compressor, ZSTD_c_compressionLevel, COMPRESSION_LEVEL);
    SHA256Init(&capture->packed_hash);
    return capture;
}

void capture_refuse(struct process *process, const char *format, ...)
{
    struct capture *capture = process->capture;
    if (!capture || capture->refused[0])
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(capture->refused, sizeof capture->refused, format, arguments);
    va_end(arguments);
}

/* The disk is full, or the like. */
static void cannot_write(struct process *process, int problem)
{
    process->capture->problem = problem ? problem : EIO;
    capture_refuse(process, "the file cannot be written: %s", strerror(process->capture->problem));
}

static void put(struct process *process, const void *data, size_t bytes, ZSTD_EndDirective end)
{
    struct capture *capture = process->capture;
    uint8_t packed[1 << 14];
    ZSTD_inBuffer in = {data, bytes, 0};
    capture->bytes += bytes;
    for (;;) {
        ZSTD_outBuffer out = {packed, sizeof packed, 0};
        size_t left = ZSTD_compressStream2(capture->compressor, &out, &in, end);
        if (ZSTD_isError(left)) {
            capture_refuse(process, "the file cannot be written: %s", ZSTD_getErrorName(left));
            return;
        }
        if (fwrite(packed, 1, out.pos, capture->file) != out.pos) {
            cannot_write(process, errno);
            return;
        }
        SHA256Update(&capture->packed_hash, packed, out.pos);
        capture->packed_bytes += out.pos;
        if (end == ZSTD_e_end ? left == 0 : in.pos == in.size)
            return;
    }
}

static void put_number(struct process *process, uint64_t value)
{
    uint8_t bytes[10];
    size_t count = 0;
    do {
        bytes[count++] = (uint8_t)((value & 127) | (value > 127 ? 128 : 0));
        value >>= 7;
    } while (value);
    put(process, bytes, count, ZSTD_e_continue);
}

static void put_text(struct process *process, const void *text, size_t bytes)
{
    put_number(process, bytes);
    put(process, text, bytes, ZSTD_e_continue);
}

/* One operation with its numbers; texts follow. */
#define PUT(process, kind, ...) \
    put_operation(process, kind, (const uint64_t[]){__VA_ARGS__}, \
                  sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void put_kind(struct process *process, enum capture_kind kind)
{
    uint8_t byte = (uint8_t)kind;
    put(process, &byte, 1, ZSTD_e_continue);
}

static void put_operation(struct process *process, enum capture_kind kind, const uint64_t *numbers, size_t count)
{
    put_kind(process, kind);
    for (size_t i = 0; i < count; i++)
        put_number(process, numbers[i]);
}

/* Is this to be captured? The first context is; others only matter once they launch. */
static bool wanted(struct process *process, const struct context *context)
{
    struct capture *capture = process->capture;
    if (!capture || capture->refused[0])
        return false;
    if (!capture->context) {
        capture->context = context;
        if (context->memory_index)
            capture_refuse(process, "the program uses more than one context");
        put_kind(process, CAPTURE_PROGRAM);
        const char *name = program_invocation_short_name;
        put_text(process, name, strlen(name));
        name = context->device->config.name;
        put_text(process, name, strlen(name));
    }
    return capture->context == context;
}

void capture_module(struct process *process, const struct module *module, const char *text, size_t bytes)
{
    if (!wanted(process, module->context))
        return;
    struct capture *capture = process->capture;
    put_kind(process, CAPTURE_MODULE);
    put_text(process, module->name, strlen(module->name));
    put_text(process, text, bytes);
    if (!pointer_map_set(&capture->modules, module, (void *)(uintptr_t)++capture->module_count))
        capture_refuse(process, "out of memory");
}

void capture_allocate(struct process *process, struct context *context, uint64_t address, uint64_t bytes)
{
    if (wanted(process, context))
        PUT(process, CAPTURE_ALLOCATE, address, bytes);
}

static void watch(struct process *process, uint64_t address, uint64_t bytes)
{
    struct seen_by_host seen = {address, bytes, calloc(1, bytes)};
    if (!seen.known || !vector_push(&process->capture->seen, seen)) {
        free(seen.known);
        capture_refuse(process, "out of memory");
    }
}

void capture_allocate_host(struct process *process, struct context *context, uint64_t place, uint64_t address,
                           uint64_t bytes)
{
    if (!wanted(process, context))
        return;
    PUT(process, CAPTURE_ALLOCATE_PAGES, place, bytes);
    if (address != place)
        PUT(process, CAPTURE_ALIAS, address, bytes, place);
    watch(process, address, bytes);
}

void capture_adopt(struct process *process, struct context *context, uint64_t address, uint64_t bytes, uint64_t same_as)
{
    if (!wanted(process, context))
        return;
    if (same_as)
        PUT(process, CAPTURE_ALIAS, address, bytes, same_as);
    else
        PUT(process, CAPTURE_ADOPT, address, bytes);
    watch(process, address, bytes);
}

void capture_free(struct process *process, struct context *context, uint64_t address)
{
    if (!wanted(process, context))
        return;
    struct capture *capture = process->capture;
    for (size_t i = 0; i < capture->seen.count; i++)
        if (capture->seen.data[i].address == address) {
            free(capture->seen.data[i].known);
            capture->seen.data[i] = capture->seen.data[--capture->seen.count];
            break;
        }
    PUT(process, CAPTURE_FREE, address);
}

static uint64_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

void capture_texture(struct process *process, struct context *context, uint64_t handle, const struct corun_texture *t)
{
    if (t->levels > 1)
        capture_refuse(process, "the program uses mipmapped arrays");
    if (wanted(process, context))
        PUT(process, CAPTURE_TEXTURE, handle, t->address, t->width, t->height, t->depth,
            (uint64_t)t->layered | (uint64_t)t->gob_rows << 1, t->row_bytes, t->slice_bytes, t->channels,
            t->channel_bits, t->kind, t->mode[0], t->mode[1], t->mode[2], t->linear, t->normalized_coordinates,
            t->normalized_values, bits_of(t->border[0]), bits_of(t->border[1]), bits_of(t->border[2]),
            bits_of(t->border[3]));
}

void capture_texture_end(struct process *process, struct context *context, uint64_t handle)
{
    if (wanted(process, context))
        PUT(process, CAPTURE_NO_TEXTURE, handle);
}

/* The number of a piece of contents, which is written if it is new. SIZE_MAX when out of memory. */
static size_t put_block(struct process *process, const uint8_t *data, size_t bytes)
{
    struct capture *capture = process->capture;
    uint8_t hash[CAPTURE_HASH_BYTES];
    SHA2_CTX context;
    SHA256Init(&context);
    SHA256Update(&context, data, bytes);
    SHA256Final(hash, &context);
    size_t number;
    if (text_table_find(&capture->blocks, (const char *)hash, sizeof hash, &number))
        return number;
    char *kept = arena_copy_text(capture->arena, (const char *)hash, sizeof hash);
    if (!kept || !text_table_find_or_add(&capture->blocks, kept, sizeof hash, capture->blocks.count, &number)) {
        capture_refuse(process, "out of memory");
        return SIZE_MAX;
    }
    put_kind(process, CAPTURE_BLOCK);
    put_text(process, data, bytes);
    return number;
}

/* Rows of bytes in device memory, which the host has at `host`. */
struct rows {
    uint64_t address, pitch, slice, width, height, depth;
    const uint8_t *host;
};

#define ROWS(rows) (rows).address, (rows).pitch, (rows).slice, (rows).width, (rows).height, (rows).depth

/* Rows without gaps are one row. */
static struct rows joined(struct rows rows)
{
    if (rows.height > 1 && rows.pitch == rows.width && (rows.depth == 1 || rows.slice == rows.width * rows.height)) {
        rows.width *= rows.height * rows.depth;
        rows.height = rows.depth = 1;
    }
    if (rows.height == 1)
        rows.pitch = 0;
    if (rows.depth == 1)
        rows.slice = 0;
    return rows;
}

struct packer {
    struct process *process;
    uint8_t piece[CAPTURE_BLOCK_BYTES];
    size_t used;
    VECTOR(uint8_t) numbers;
};

static void pack_piece(struct packer *packer)
{
    size_t number = put_block(packer->process, packer->piece, packer->used);
    packer->used = 0;
    do {
        uint8_t byte = (uint8_t)((number & 127) | (number > 127 ? 128 : 0));
        if (!vector_push(&packer->numbers, byte))
            capture_refuse(packer->process, "out of memory");
        number >>= 7;
    } while (number);
}

static void put_write(struct process *process, struct rows rows)
{
    struct packer *packer = calloc(1, sizeof *packer);
    if (!packer) {
        capture_refuse(process, "out of memory");
        return;
    }
    packer->process = process;
    rows = joined(rows);
    for (uint64_t z = 0; z < rows.depth; z++)
        for (uint64_t y = 0; y < rows.height; y++) {
            const uint8_t *row = rows.host + z * rows.slice + y * rows.pitch;
            for (uint64_t x = 0; x < rows.width;) {
                size_t room = CAPTURE_BLOCK_BYTES - packer->used;
                size_t part = rows.width - x < room ? (size_t)(rows.width - x) : room;
                memcpy(packer->piece + packer->used, row + x, part);
                packer->used += part;
                x += part;
                if (packer->used == CAPTURE_BLOCK_BYTES)
                    pack_piece(packer);
            }
        }
    if (packer->used)
        pack_piece(packer);
    PUT(process, CAPTURE_WRITE, ROWS(rows));
    put_text(process, packer->numbers.data, packer->numbers.count);
    vector_free(&packer->numbers);
    free(packer);
}

static void put_check(struct process *process, struct rows rows)
{
    uint8_t hash[CAPTURE_HASH_BYTES];
    SHA2_CTX context;
    SHA256Init(&context);
    rows = joined(rows);
    for (uint64_t z = 0; z < rows.depth; z++)
        for (uint64_t y = 0; y < rows.height; y++)
            SHA256Update(&context, rows.host + z * rows.slice + y * rows.pitch, rows.width);
    SHA256Final(hash, &context);
    PUT(process, CAPTURE_CHECK, ROWS(rows));
    put_text(process, hash, sizeof hash);
}

/*
 * Pages that are not as they were: the host has written them since the launch before (`write`), by itself (`host`) or
 * in a function in a stream; or the launch has.
 */
static void follow_host(struct process *process, bool write, bool host)
{
    struct capture *capture = process->capture;
    bool said = false;
    for (size_t i = 0; i < capture->seen.count; i++) {
        struct seen_by_host *seen = &capture->seen.data[i];
        const uint8_t *now = corun_memory_pointer(capture->context->memory, seen->address, seen->bytes);
        for (uint64_t at = 0; now && at < seen->bytes;) {
            uint64_t first = at;
            while (at < seen->bytes) {
                uint64_t part = seen->bytes - at < PAGE_BYTES ? seen->bytes - at : PAGE_BYTES;
                if (!memcmp(now + at, seen->known + at, part))
                    break;
                memcpy(seen->known + at, now + at, part);
                at += part;
            }
            struct rows rows = {seen->address + first, 0, 0, at - first, 1, 1, now + first};
            if (at > first && host && !said) {
                put_kind(process, CAPTURE_HOST);
                said = true;
            }
            if (at > first && write)
                put_write(process, rows);
            else if (at > first) /* the host may read it without a copy */
                put_check(process, rows);
            at += at < seen->bytes ? PAGE_BYTES : 0;
        }
    }
}

/* Does the host see it, so that comparing finds what happens to it? */
static bool host_sees(const struct process *process, uint64_t address)
{
    const struct capture *capture = process->capture;
    for (size_t i = 0; i < capture->seen.count; i++)
        if (address - capture->seen.data[i].address < capture->seen.data[i].bytes)
            return true;
    return false;
}

static uint64_t stream_number(struct process *process, const struct stream *stream)
{
    struct capture *capture = process->capture;
    if (!pointer_map_get(&capture->streams, (void *)(uintptr_t)(stream->id + 1))) {
        if (!pointer_map_set(&capture->streams, (void *)(uintptr_t)(stream->id + 1), capture))
            capture_refuse(process, "out of memory");
        PUT(process, CAPTURE_STREAM, stream->id,
            (stream->flags & STREAM_NON_BLOCKING) | (stream == stream->context->legacy ? CAPTURE_LEGACY : 0),
            (uint64_t)((int64_t)stream->queue.priority + (INT64_C(1) << 31)));
    }
    return stream->id;
}

static uint64_t event_number(struct process *process, const struct event *event)
{
    struct capture *capture = process->capture;
    void *number = pointer_map_get(&capture->events, event);
    if (!number) {
        number = (void *)(uintptr_t)++capture->event_count;
        if (!pointer_map_set(&capture->events, event, number))
            capture_refuse(process, "out of memory");
    }
    return (uint64_t)(uintptr_t)number;
}

void capture_event_end(struct process *process, const struct event *event)
{
    if (process->capture)
        pointer_map_remove(&process->capture->events, event);
}

void capture_launch(struct process *process, const struct task *task, const struct corun_grid *grid)
{
    const struct launch_request *request = &task->launch.request;
    if (!process->capture)
        return;
    if (!wanted(process, task->stream->context)) {
        capture_refuse(process, "the program launches kernels in more than one context");
        return;
    }
    struct capture *capture = process->capture;
    follow_host(process, true, true);
    uint64_t module = (uintptr_t)pointer_map_get(&capture->modules, request->function->module);
    if (!module)
        capture_refuse(process, "kernel %s is of a module that was not seen", KERNEL_NAME(request->function->name));
    if (request->cluster.shape.x)
        capture_refuse(process, "kernel %s is launched with clusters of thread blocks",
                       KERNEL_NAME(request->function->name));
    uint64_t stream = stream_number(process, task->stream);
    PUT(process, CAPTURE_LAUNCH, stream, module - 1, request->grid.x, request->grid.y, request->grid.z,
        request->block.x, request->block.y, request->block.z, request->dynamic_shared_bytes,
        ((const struct launch *)grid)->meeting_address);
    put_text(process, request->function->name, strlen(request->function->name));
    put_text(process, request->parameters, request->parameter_bytes);
    capture->launches++;
}

void capture_launched(struct process *process)
{
    if (process->capture && !process->capture->refused[0])
        follow_host(process, false, false);
}

static void put_copy(struct process *process, const struct task *task)
{
    const struct copy *copy = &task->copy;
    const struct capture *capture = process->capture;
    PUT(process, CAPTURE_TRANSFER, stream_number(process, task->stream), copy->engine, copy->pageable, 0,
        copy_bytes(copy));
    if (!copy_bytes(copy))
        return;
    bool from_device = copy->from.context == capture->context && !host_sees(process, copy->from.address);
    bool to_device = copy->to.context == capture->context && !host_sees(process, copy->to.address);
    const struct copy_side *side = to_device ? &copy->to : &copy->from;
    struct rows rows = {side->address, side->pitch, side->slice_bytes, copy->width_bytes, copy->height,
                        copy->depth,   NULL};
    if (to_device && from_device) {
        PUT(process, CAPTURE_COPY, ROWS(rows), copy->from.address, copy->from.pitch, copy->from.slice_bytes);
        return;
    }
    if (!to_device && !from_device)
        return;
    uint64_t bytes = (rows.depth - 1) * rows.slice + (rows.height - 1) * rows.pitch + rows.width;
    rows.host = corun_memory_pointer(capture->context->memory, rows.address, bytes);
    if (!rows.host)
        return;
    if (to_device)
        put_write(process, rows);
    else
        put_check(process, rows);
}

static void put_fill(struct process *process, const struct task *task)
{
    const struct fill *fill = &task->fill;
    PUT(process, CAPTURE_TRANSFER, stream_number(process, task->stream), ENGINE_WITHIN, 0, 1,
        fill->width_bytes * fill->height * fill->depth);
    if (fill->width_bytes && fill->height && fill->depth && !fill->host && !host_sees(process, fill->address))
        PUT(process, CAPTURE_FILL, fill->address, fill->pitch, fill->slice_bytes, fill->width_bytes, fill->height,
            fill->depth, fill->value, fill->element_bytes);
}

void capture_task(struct process *process, const struct task *task)
{
    const struct context *context = task->stream->context;
    if (!process->capture)
        return;
    if (!wanted(process, context)) {
        /* A copy may be asked for in another context's stream. */
        if (task->kind == TASK_COPY && process->capture->context && copy_bytes(&task->copy) &&
            (task->copy.to.context == process->capture->context))
            capture_refuse(process, "the program copies between contexts");
        if (task->kind == TASK_FILL && process->capture->context && !task->fill.host &&
            task->fill.context == process->capture->context)
            capture_refuse(process, "the program fills memory of another context");
        return;
    }
    if (task->kind == TASK_COPY)
        put_copy(process, task);
    else if (task->kind == TASK_FILL)
        put_fill(process, task);
    else if (task->kind == TASK_RECORD || task->kind == TASK_WAIT) {
        uint64_t stream = stream_number(process, task->stream);
        uint64_t event = event_number(process, task->event.event);
        PUT(process, task->kind == TASK_RECORD ? CAPTURE_RECORD : CAPTURE_WAIT, stream, event, task->event.count);
    } else if (task->kind == TASK_WAIT_VALUE || task->kind == TASK_WRITE_VALUE)
        capture_refuse(process, "its streams wait for values in memory or write them");
    else {
        PUT(process, CAPTURE_POINT, stream_number(process, task->stream));
    }
}

void capture_called(struct process *process)
{
    if (process->capture && !process->capture->refused[0] && process->capture->context)
        follow_host(process, true, false);
}

void capture_wait(struct process *process, struct context *context, const struct stream *stream,
                  const struct event *event, uint64_t count)
{
    const struct capture *capture = process->capture;
    if (!capture || !capture->context || !wanted(process, context) || !count)
        return;
    if (event)
        PUT(process, CAPTURE_AWAIT_EVENT, event_number(process, event), count);
    else if (stream)
        PUT(process, CAPTURE_AWAIT_STREAM, stream_number(process, stream));
    else
        put_kind(process, CAPTURE_AWAIT_ALL);
}

static void put_little_endian(uint8_t *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static bool write_header(struct capture *capture)
{
    uint8_t header[CAPTURE_HEADER_BYTES] = CAPTURE_MAGIC;
    put_little_endian(header + CAPTURE_AT_VERSION, CAPTURE_VERSION, 4);
    put_little_endian(header + CAPTURE_AT_BYTES, capture->bytes, 8);
    put_little_endian(header + CAPTURE_AT_PACKED_BYTES, capture->packed_bytes, 8);
    SHA256Final(header + CAPTURE_AT_HASH, &capture->packed_hash);
    return fseek(capture->file, 0, SEEK_SET) == 0 && fwrite(header, 1, sizeof header, capture->file) == sizeof header;
}

/* Where nothing can be written, a name can still be changed: the number of the error is its ending. */
static void tell_problem(const struct capture *capture)
{
    char *name = NULL;
    if (asprintf(&name, "%s.%d", capture->path, capture->problem) >= 0)
        (void)rename(capture->path, name);
    free(name);
}

void capture_close(struct process *process)
{
    struct capture *capture = process->capture;
    if (!capture)
        return;
    if (!capture->refused[0] && capture->launches) {
        PUT(process, CAPTURE_END, capture->launches);
        put(process, NULL, 0, ZSTD_e_end);
        if (!write_header(capture))
            cannot_write(process, errno);
    }
    if (fclose(capture->file))
        cannot_write(process, errno);
    if (capture->problem) {
        tell_problem(capture);
    } else if (capture->refused[0] || !capture->launches) {
        FILE *file = capture->refused[0] ? fopen(capture->path, "we") : NULL;
        if (file) {
            fprintf(file, "%s\n", capture->refused);
            fclose(file);
        } else {
            unlink(capture->path);
        }
    }
    ZSTD_freeCCtx(capture->compressor);
    for (size_t i = 0; i < capture->seen.count; i++)
        free(capture->seen.data[i].known);
    vector_free(&capture->seen);
    text_table_free(&capture->blocks);
    pointer_map_free(&capture->modules);
    pointer_map_free(&capture->streams);
    pointer_map_free(&capture->events);
    arena_destroy(capture->arena);
    free(capture);
    process->capture = NULL;
}
