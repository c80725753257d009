/* SPDX-License-Identifier: MIT */
/* Memory and events that other processes open by handles. */
#include "cuda/interprocess.h"

#include "base/vector.h"
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/capture.h"
#include "cuda/checkpoint.h"
#include "cuda/console.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/engine.h"
#include "cuda/pool_bytes.h"
#include "cuda/process.h"
#include "cuda/ranges.h"
#include "cuda/stream.h"
#include "cuda/virtual_memory.h"
#include "isa/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_BYTES UINT64_C(4096)
enum content { CONTENT_MEMORY = 0x6d70692e, CONTENT_EVENT = 0x6570692e, CONTENT_POOLED = 0x7070692e };

/* What a handle says: the file that a descriptor of a process stands for. */
struct place {
    uint32_t content;
    int32_t process, file;
    uint32_t flags; /* of an event */
    uint64_t inode, bytes;
    uint64_t pool; /* inode of the file of the pool that memory is from; 0: none */
};
_Static_assert(sizeof(struct place) <= sizeof(struct abi_interprocess_handle), "a handle has 64 bytes");

/* In a page of its own: records that were asked for and reached, in whatever process. */
struct shared_counts {
    uint64_t recorded, reached;
};

struct exported {
    uint64_t address, bytes;
    int file;
};

struct imported {
    struct context *context;
    uint64_t address, bytes, inode;
    uint32_t opened;
    bool pooled;
};

struct interprocess {
    VECTOR(struct exported) exported;
    VECTOR(struct imported) imported;
    VECTOR(struct event *) events;
};

/* NULL with the call's error. */
static struct interprocess *get(struct call *call)
{
    struct process *process = call->process;
    if (process->remote) {
        say("not supported: handles for other processes (cudaIpc…) of a GPU that programs share");
        call->error = CUDA_ERROR_NOT_SUPPORTED;
        return NULL;
    }
    if (!process->interprocess)
        process->interprocess = calloc(1, sizeof *process->interprocess);
    if (!process->interprocess)
        call->error = CUDA_ERROR_OUT_OF_MEMORY;
    checkpoint_refuse(process, "it shares memory or events with other processes (cudaIpc…)");
    capture_refuse(process, "the program shares memory or events with other processes (cudaIpc…)");
    return process->interprocess;
}

bool interprocess_allowed(struct call *call)
{
    return get(call) != NULL;
}

static bool write_handle(struct abi_interprocess_handle *handle, enum content content, int file, uint64_t bytes,
                         unsigned flags, uint64_t pool)
{
    struct stat about;
    if (fstat(file, &about))
        return false;
    const struct place place = {content, (int32_t)getpid(), file, flags, about.st_ino, bytes, pool};
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &place, sizeof place);
    return true;
}

/* A descriptor of the file that a handle names; -1 with the call's error. */
static int open_handle(struct call *call, const struct abi_interprocess_handle *handle, enum content content,
                       struct place *place)
{
    char path[64];
    struct stat about;
    memcpy(place, handle, sizeof *place);
    if (place->content != content || place->process <= 0 || place->file < 0) {
        call->error = CUDA_ERROR_INVALID_VALUE;
        return -1;
    }
    if (place->process == getpid()) {
        call->error = CUDA_ERROR_INVALID_CONTEXT; /* as on the hardware */
        return -1;
    }
    snprintf(path, sizeof path, "/proc/%d/fd/%d", place->process, place->file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file >= 0 && (fstat(file, &about) || !S_ISREG(about.st_mode) || about.st_ino != place->inode ||
                      about.st_size <= 0 || (uint64_t)about.st_size < place->bytes)) {
        close(file);
        file = -1;
    }
    if (file < 0)
        call->error = CUDA_ERROR_INVALID_HANDLE; /* its process has ended, or has given it back */
    return file;
}

/* ---- memory ---- */

static struct exported *exported_at(struct interprocess *all, uint64_t address)
{
    for (size_t i = 0; i < all->exported.count; i++)
        if (all->exported.data[i].address == address)
            return &all->exported.data[i];
    return NULL;
}

static int move_to_file(struct process *process, struct interprocess *all, const struct range *range)
{
    uint64_t address = range->address, bytes = range->bytes;
    int error = engine_wait_context(process, range->context), file = -1;
    if (error != CUDA_SUCCESS)
        return error;
    uint64_t whole = (bytes + GRANULARITY - 1) / GRANULARITY * GRANULARITY;
    file = memfd_create("corun-device-memory", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)whole) ||
        !vector_push(&all->exported, ((struct exported){address, bytes, file}))) {
        if (file >= 0)
            close(file);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!memory_move_to_file(range->context->memory, address, file)) {
        all->exported.count--;
        close(file);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

/* `pool`: of the range, 0 if there is none. */
static int export_range(struct call *call, const struct range *range, enum content content, uint64_t pool,
                        struct abi_interprocess_handle *handle)
{
    struct interprocess *all = get(call);
    if (!all)
        return call->error;
    uint64_t first = range->address, bytes = range->bytes;
    int error = exported_at(all, first) ? CUDA_SUCCESS : move_to_file(call->process, all, range);
    if (error == CUDA_SUCCESS && !write_handle(handle, content, exported_at(all, first)->file, bytes, 0, pool))
        error = CUDA_ERROR_OPERATING_SYSTEM;
    return error;
}

int interprocess_export_memory(struct call *call, uint64_t address, struct abi_interprocess_handle *handle)
{
    const struct range *range = ranges_find(call->process, address);
    if (!handle || !range || range->kind != RANGE_DEVICE || range->pool)
        return CUDA_ERROR_INVALID_VALUE;
    return export_range(call, range, CONTENT_MEMORY, 0, handle);
}

int interprocess_export_pooled(struct call *call, uint64_t address, struct abi_interprocess_handle *handle)
{
    const struct range *range = ranges_find(call->process, address);
    if (!handle || !range || range->address != address || range->kind != RANGE_DEVICE || !range->pool ||
        !range->pool->file)
        return CUDA_ERROR_INVALID_VALUE;
    return export_range(call, range, CONTENT_POOLED, range->pool->file, handle);
}

int interprocess_pool_file(void)
{
    return memfd_create("corun-memory-pool", MFD_CLOEXEC);
}

bool interprocess_is_pool(int file)
{
    char path[64], name[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    ssize_t length = readlink(path, name, sizeof name - 1);
    return length > 0 && (name[length] = 0, strncmp(name, "/memfd:corun-memory-pool", 24) == 0);
}

void interprocess_forget(struct process *process, uint64_t address)
{
    struct interprocess *all = process->interprocess;
    struct exported *exported = all ? exported_at(all, address) : NULL;
    if (!exported)
        return;
    close(exported->file);
    *exported = all->exported.data[--all->exported.count];
}

/* A file is mapped at new addresses of the context's device. */
static int map_file(struct call *call, int file, uint64_t bytes, uint64_t *address)
{
    struct process *process = call->process;
    struct device *device = call->context->device;
    struct physical *physical = physical_create(process, device, bytes, file);
    if (!physical) {
        close(file);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *address = virtual_reserve(process, bytes, GRANULARITY);
    int error = *address ? virtual_map(process, *address, bytes, 0, physical) : CUDA_ERROR_OUT_OF_MEMORY;
    if (error == CUDA_SUCCESS) {
        error = virtual_set_access(process, *address, bytes, device->ordinal, true);
        if (error != CUDA_SUCCESS)
            (void)virtual_unmap(process, *address, bytes);
    }
    if (error != CUDA_SUCCESS && *address)
        (void)virtual_free(process, *address, bytes);
    physical_release(process, physical); /* the mapping keeps it */
    return error;
}

static int import(struct call *call, const struct abi_interprocess_handle *handle, enum content content, uint64_t pool,
                  uint64_t *address)
{
    struct interprocess *all = get(call);
    struct place place;
    struct stat about;
    int file = all ? open_handle(call, handle, content, &place) : -1;
    if (file < 0)
        return call->error;
    if (place.pool != pool) {
        close(file);
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; i < all->imported.count; i++) {
        struct imported *imported = &all->imported.data[i];
        if (imported->inode == place.inode && imported->context == call->context) {
            close(file);
            imported->opened++;
            *address = imported->address;
            return CUDA_SUCCESS;
        }
    }
    struct imported imported = {call->context, 0, 0, place.inode, 1, pool != 0};
    if (fstat(file, &about) || (uint64_t)about.st_size % GRANULARITY) {
        close(file);
        return CUDA_ERROR_INVALID_VALUE;
    }
    imported.bytes = (uint64_t)about.st_size;
    int error = map_file(call, file, imported.bytes, &imported.address);
    if (error == CUDA_SUCCESS && !vector_push(&all->imported, imported)) {
        (void)virtual_unmap(call->process, imported.address, imported.bytes);
        (void)virtual_free(call->process, imported.address, imported.bytes);
        error = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (error == CUDA_SUCCESS)
        *address = imported.address;
    return error;
}

int interprocess_import_memory(struct call *call, const struct abi_interprocess_handle *handle, uint64_t *address)
{
    return import(call, handle, CONTENT_MEMORY, 0, address);
}

int interprocess_import_pooled(struct call *call, const struct abi_interprocess_handle *handle, uint64_t pool,
                               uint64_t *address)
{
    return import(call, handle, CONTENT_POOLED, pool, address);
}

bool interprocess_is_pooled(const struct process *process, uint64_t address)
{
    const struct interprocess *all = process->interprocess;
    for (size_t i = 0; all && i < all->imported.count; i++)
        if (all->imported.data[i].address == address)
            return all->imported.data[i].pooled;
    return false;
}

int interprocess_close_memory(struct call *call, uint64_t address)
{
    struct interprocess *all = call->process->interprocess;
    for (size_t i = 0; all && i < all->imported.count; i++) {
        struct imported *imported = &all->imported.data[i];
        if (imported->address != address)
            continue;
        if (--imported->opened)
            return CUDA_SUCCESS;
        uint64_t bytes = imported->bytes;
        *imported = all->imported.data[--all->imported.count];
        int error = virtual_unmap(call->process, address, bytes); /* waits for what is under way */
        (void)virtual_free(call->process, address, bytes);
        return error;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- events ---- */

/* Takes the file over. False when out of memory. */
static bool share(struct interprocess *all, struct event *event, int file)
{
    struct shared_counts *counts = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (counts != MAP_FAILED && vector_push(&all->events, event)) {
        event->shared = counts;
        event->shared_file = file;
        return true;
    }
    if (counts != MAP_FAILED)
        munmap(counts, PAGE_BYTES);
    close(file);
    return false;
}

int interprocess_export_event(struct call *call, struct event *event, struct abi_interprocess_handle *handle)
{
    if (!handle || !(event->flags & EVENT_INTERPROCESS))
        return CUDA_ERROR_INVALID_VALUE;
    struct interprocess *all = get(call);
    if (!all)
        return call->error;
    if (!event->shared) {
        int file = memfd_create("corun-event", MFD_CLOEXEC);
        if (file < 0 || ftruncate(file, (off_t)PAGE_BYTES)) {
            if (file >= 0)
                close(file);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        if (!share(all, event, file))
            return CUDA_ERROR_OUT_OF_MEMORY;
        *event->shared = (struct shared_counts){event->recorded, event->reached.completed};
        event->recorded_here = event->recorded;
    }
    return write_handle(handle, CONTENT_EVENT, event->shared_file, PAGE_BYTES, event->flags, 0)
               ? CUDA_SUCCESS
               : CUDA_ERROR_OPERATING_SYSTEM;
}

struct event *interprocess_import_event(struct call *call, const struct abi_interprocess_handle *handle)
{
    struct interprocess *all = get(call);
    struct place place;
    int file = all ? open_handle(call, handle, CONTENT_EVENT, &place) : -1;
    if (file < 0)
        return NULL;
    struct event *event = event_create(call->process, call->context, place.flags);
    bool good = event && share(all, event, file);
    if (event && !good)
        event_release(call->process, event);
    if (!event)
        close(file);
    if (!good)
        call->error = CUDA_ERROR_OUT_OF_MEMORY;
    return good ? event : NULL;
}

uint64_t interprocess_record(struct event *event)
{
    return event->recorded = event->recorded_here = __atomic_add_fetch(&event->shared->recorded, 1, __ATOMIC_ACQ_REL);
}

void interprocess_reached(struct event *event, uint64_t count)
{
    uint64_t before = __atomic_load_n(&event->shared->reached, __ATOMIC_ACQUIRE);
    while (before < count && !__atomic_compare_exchange_n(&event->shared->reached, &before, count, false,
                                                          __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
}

/* What others have reached. */
static void catch_up(struct event *event)
{
    uint64_t reached = __atomic_load_n(&event->shared->reached, __ATOMIC_ACQUIRE);
    if (reached <= event->reached.completed)
        return;
    event->reached.completed = reached;
    event->reached.cycle = event->context->device->cycle;
}

void interprocess_follow(struct event *event)
{
    if (!event->shared)
        return;
    event->recorded = __atomic_load_n(&event->shared->recorded, __ATOMIC_ACQUIRE);
    catch_up(event);
}

bool interprocess_look(struct process *process)
{
    const struct interprocess *all = process->interprocess;
    bool waits = false;
    for (size_t i = 0; all && i < all->events.count; i++) {
        struct event *event = all->events.data[i];
        catch_up(event);
        waits |= event->recorded != event->recorded_here && event->reached.completed < event->recorded;
    }
    return waits;
}

void interprocess_end(struct process *process, struct event *event)
{
    struct interprocess *all = process->interprocess;
    if (!event->shared)
        return;
    for (size_t i = 0; i < all->events.count; i++)
        if (all->events.data[i] == event)
            all->events.data[i--] = all->events.data[--all->events.count];
    munmap(event->shared, PAGE_BYTES);
    close(event->shared_file);
    event->shared = NULL;
}
