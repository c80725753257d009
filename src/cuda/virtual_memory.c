/* SPDX-License-Identifier: MIT */
/* Virtual memory management: reservations, memory files of the host, and their mappings. */
#include "cuda/virtual_memory.h"

#include "cuda/abi.h"
#include "cuda/capture.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/engine.h"
#include "cuda/object.h"
#include "cuda/process.h"
#include "cuda/ranges.h"

#include "corun/source.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Above the devices' own addresses, below those of programs and their libraries. */
#define FIRST_RESERVATION (UINT64_C(32) << CORUN_APPLICATION_SHIFT)
#define LAST_RESERVATION (UINT64_C(80) << CORUN_APPLICATION_SHIFT)

struct virtual_memory *virtual_memory_get(struct process *process)
{
    if (!process->virtual_memory)
        process->virtual_memory = calloc(1, sizeof *process->virtual_memory);
    return process->virtual_memory;
}

void physical_release(struct process *process, struct physical *physical)
{
    if (--physical->references)
        return;
    object_remove(process, &physical->object);
    physical->device->physical_bytes -= physical->bytes;
    close(physical->file);
    free(physical);
}

/* A part of a reservation that is neither mapped nor anything else of the program's. */
static void *reserve_pages(uint64_t address, uint64_t bytes, int how)
{
    return mmap((void *)(uintptr_t)address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | how, -1, 0);
}

/*
 * Where the next reservation is wished for: behind the last one, in a part of the address space that the host gives to nobody by itself. So addresses, and with
 * them cycles, do not depend on what else is in the process. Where something is in the way, the host gives another place.
 */
static uint64_t next_place(struct virtual_memory *all)
{
    if (!all->reservations.count || all->next < FIRST_RESERVATION || all->next >= LAST_RESERVATION)
        all->next = FIRST_RESERVATION;
    return all->next;
}

uint64_t virtual_reserve(struct process *process, uint64_t bytes, uint64_t alignment)
{
    struct virtual_memory *all = virtual_memory_get(process);
    uint64_t whole;
    if (!all || __builtin_add_overflow(bytes, alignment, &whole))
        return 0;
    uint8_t *block = reserve_pages(next_place(all), whole, 0);
    if (block == MAP_FAILED)
        return 0;
    uint64_t first = (uint64_t)(uintptr_t)block, address = (first + alignment - 1) / alignment * alignment;
    if (address > first)
        munmap(block, address - first);
    if (first + whole > address + bytes)
        munmap(block + (address - first) + bytes, first + whole - address - bytes);
    if (!vector_push(&all->reservations, ((struct reservation){address, bytes}))) {
        munmap(block + (address - first), bytes);
        return 0;
    }
    all->next = first + whole; /* apart from the next one, so that a kernel that goes beyond its end is noticed */
    return address;
}

/* The reservation that holds all of a part; NULL if there is none. */
static const struct reservation *reservation_of(const struct virtual_memory *all, uint64_t address, uint64_t bytes)
{
    for (size_t i = 0; i < all->reservations.count; i++) {
        const struct reservation *reservation = &all->reservations.data[i];
        uint64_t offset = address - reservation->address;
        if (address >= reservation->address && offset < reservation->bytes && bytes <= reservation->bytes - offset)
            return reservation;
    }
    return NULL;
}

static bool overlaps(const struct mapping *mapping, uint64_t address, uint64_t bytes)
{
    return address < mapping->address + mapping->bytes && mapping->address < address + bytes;
}

int virtual_free(struct process *process, uint64_t address, uint64_t bytes)
{
    struct virtual_memory *all = virtual_memory_get(process);
    for (size_t i = 0; all && i < all->mappings.count; i++)
        if (overlaps(&all->mappings.data[i], address, bytes))
            return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; all && i < all->reservations.count; i++)
        if (all->reservations.data[i].address == address && all->reservations.data[i].bytes == bytes) {
            munmap((void *)(uintptr_t)address, bytes);
            all->reservations.data[i] = all->reservations.data[--all->reservations.count];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

/* In ascending address. */
static bool insert(struct virtual_memory *all, struct mapping mapping)
{
    if (!vector_push(&all->mappings, mapping))
        return false;
    size_t i = all->mappings.count - 1;
    for (; i && all->mappings.data[i - 1].address > mapping.address; i--)
        all->mappings.data[i] = all->mappings.data[i - 1];
    all->mappings.data[i] = mapping;
    return true;
}

int virtual_map(struct process *process, uint64_t address, uint64_t bytes, uint64_t offset, struct physical *physical)
{
    struct virtual_memory *all = virtual_memory_get(process);
    if (!all)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!bytes || address % GRANULARITY || bytes % GRANULARITY || offset % GRANULARITY || offset > physical->bytes ||
        bytes > physical->bytes - offset || !reservation_of(all, address, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < all->mappings.count; i++)
        if (overlaps(&all->mappings.data[i], address, bytes))
            return CUDA_ERROR_INVALID_VALUE;
    if (!insert(all, (struct mapping){address, bytes, physical, 0}))
        return CUDA_ERROR_OUT_OF_MEMORY;
    physical->references++;
    if (mmap((void *)(uintptr_t)address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, physical->file,
             (off_t)offset) == MAP_FAILED) {
        (void)virtual_unmap(process, address, bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

/* Whole reservations: addresses from `first` up to `end`. */
struct extent {
    uint64_t first, end;
};

static struct extent extent_of(const struct virtual_memory *all, uint64_t address, uint64_t bytes)
{
    struct extent extent = {address, address + bytes};
    for (size_t i = 0; i < all->reservations.count; i++) {
        const struct reservation *reservation = &all->reservations.data[i];
        if (reservation->address >= address + bytes || reservation->address + reservation->bytes <= address)
            continue;
        extent.first = reservation->address < extent.first ? reservation->address : extent.first;
        uint64_t end = reservation->address + reservation->bytes;
        extent.end = end > extent.end ? end : extent.end;
    }
    return extent;
}

static bool within(struct extent extent, uint64_t address)
{
    return address >= extent.first && address < extent.end;
}

/* What contexts know of mappings there is taken back. */
static void forget(struct process *process, struct virtual_memory *all, struct extent extent)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->adopted.count; i++) {
        struct adopted adopted = all->adopted.data[i];
        if (!within(extent, adopted.address)) {
            all->adopted.data[kept++] = adopted;
            continue;
        }
        if (adopted.context->destroyed)
            continue;
        memory_forget(process, adopted.context, adopted.address, "cuMemUnmap");
        if (adopted.owner)
            ranges_remove(process, adopted.address);
    }
    all->adopted.count = kept;
}

/* A context gets a run of mappings. */
static int adopt(struct process *process, struct virtual_memory *all, struct context *context, uint64_t address,
                 uint64_t bytes)
{
    bool owner = !ranges_find(process, address);
    if (!vector_push(&all->adopted, ((struct adopted){context, address, owner})))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (corun_memory_adopt(context->memory, address, (void *)(uintptr_t)address, bytes) != CORUN_OK ||
        (owner && !ranges_add(process, (struct range){address, bytes, RANGE_VIRTUAL, 0, context, {0}, NULL})))
        return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

static bool continues(const struct virtual_memory *all, const struct mapping *before, const struct mapping *after)
{
    return after->address == before->address + before->bytes &&
           reservation_of(all, before->address, 1) == reservation_of(all, after->address, 1);
}

/*
 * Contexts see runs of neighbouring mappings that their device may use as one piece each: a copy may go over the seam
 * between two of them. A run lies in one reservation, so only the reservations with a part of [address, address + bytes)
 * are told anew; all of them when there is a context that knows of none yet.
 */
static int tell_contexts(struct process *process, uint64_t address, uint64_t bytes)
{
    struct virtual_memory *all = process->virtual_memory;
    bool everything = all->contexts_told != process->contexts.count;
    struct extent extent = everything ? (struct extent){0, UINT64_MAX} : extent_of(all, address, bytes);
    int error = CUDA_SUCCESS;
    forget(process, all, extent);
    all->contexts_told = process->contexts.count;
    for (size_t c = 0; c < process->contexts.count; c++) {
        struct context *context = process->contexts.data[c];
        uint32_t bit = 1u << context->device->ordinal;
        for (size_t i = 0; !context->destroyed && i < all->mappings.count && error == CUDA_SUCCESS;) {
            const struct mapping *first = &all->mappings.data[i++];
            uint64_t run_bytes = first->bytes;
            if (!(first->devices & bit) || !within(extent, first->address))
                continue;
            for (; i < all->mappings.count && all->mappings.data[i].devices & bit &&
                   continues(all, &all->mappings.data[i - 1], &all->mappings.data[i]);
                 i++)
                run_bytes += all->mappings.data[i].bytes;
            capture_refuse(process, "the program uses virtual memory management (cuMemMap)");
            error = adopt(process, all, context, first->address, run_bytes);
        }
    }
    return error;
}

/* What is under way may use what is there now. */
static int wait_for_all(struct process *process)
{
    int error = CUDA_SUCCESS;
    for (size_t c = 0; c < process->contexts.count; c++)
        if (!process->contexts.data[c]->destroyed) {
            int own = engine_wait_context(process, process->contexts.data[c]);
            error = error == CUDA_SUCCESS ? own : error;
        }
    return error;
}

int virtual_unmap(struct process *process, uint64_t address, uint64_t bytes)
{
    struct virtual_memory *all = virtual_memory_get(process);
    uint64_t covered = 0;
    for (size_t i = 0; all && i < all->mappings.count; i++) {
        const struct mapping *mapping = &all->mappings.data[i];
        bool whole = mapping->address >= address && mapping->address - address < bytes &&
                     mapping->bytes <= bytes - (mapping->address - address);
        if (whole)
            covered += mapping->bytes;
        else if (overlaps(mapping, address, bytes))
            return CUDA_ERROR_INVALID_VALUE; /* mappings go as they came */
    }
    if (!bytes || covered != bytes)
        return CUDA_ERROR_INVALID_VALUE;
    int error = wait_for_all(process);
    size_t kept = 0;
    for (size_t i = 0; i < all->mappings.count; i++) {
        struct mapping mapping = all->mappings.data[i];
        if (overlaps(&mapping, address, bytes))
            physical_release(process, mapping.physical);
        else
            all->mappings.data[kept++] = mapping;
    }
    all->mappings.count = kept;
    int told = tell_contexts(process, address, bytes);
    (void)reserve_pages(address, bytes, MAP_FIXED);
    return error == CUDA_SUCCESS ? told : error;
}

int virtual_set_access(struct process *process, uint64_t address, uint64_t bytes, uint32_t device, bool accessible)
{
    struct virtual_memory *all = virtual_memory_get(process);
    uint64_t covered = 0;
    if (!all)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < all->mappings.count; i++) {
        const struct mapping *mapping = &all->mappings.data[i];
        if (mapping->address >= address && mapping->address + mapping->bytes <= address + bytes)
            covered += mapping->bytes;
    }
    if (!bytes || covered != bytes)
        return CUDA_ERROR_INVALID_VALUE;
    int error = wait_for_all(process);
    if (error != CUDA_SUCCESS)
        return error;
    for (size_t i = 0; i < all->mappings.count; i++) {
        struct mapping *mapping = &all->mappings.data[i];
        if (!overlaps(mapping, address, bytes))
            continue;
        if (accessible)
            mapping->devices |= 1u << device;
        else
            mapping->devices &= ~(1u << device);
    }
    return tell_contexts(process, address, bytes);
}

const struct mapping *virtual_find(struct process *process, uint64_t address)
{
    const struct virtual_memory *all = virtual_memory_get(process);
    for (size_t i = 0; all && i < all->mappings.count; i++)
        if (address - all->mappings.data[i].address < all->mappings.data[i].bytes)
            return &all->mappings.data[i];
    return NULL;
}

struct physical *physical_create(struct process *process, struct device *device, uint64_t bytes, int file)
{
    struct physical *physical = calloc(1, sizeof *physical);
    if (physical)
        *physical = (struct physical){
            .object = {OBJECT_PHYSICAL}, .device = device, .bytes = bytes, .references = 1, .handles = 1, .file = file};
    if (physical && file < 0) {
        physical->file = memfd_create("corun-device-memory", MFD_CLOEXEC);
        if (physical->file >= 0 && ftruncate(physical->file, (off_t)bytes)) {
            close(physical->file);
            physical->file = -1;
        }
    }
    if (!physical || physical->file < 0 || !object_add(process, &physical->object)) {
        if (physical && physical->file >= 0 && file < 0)
            close(physical->file);
        free(physical);
        return NULL;
    }
    device->physical_bytes += bytes;
    return physical;
}
