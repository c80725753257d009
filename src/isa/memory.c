/* SPDX-License-Identifier: MIT */
/* The memory of an application: allocations by address, each with its bytes on the host; lookups; textures. */
#include "isa/memory.h"

#include "base/vector.h"
#include "isa/address.h"
#include "isa/archive.h"

#include <assert.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGN_BYTES UINT64_C(256)
#define GAP_BYTES UINT64_C(256)
#define PAGE_BYTES UINT64_C(4096)
#define MAPPED_BYTES (UINT64_C(1) << 21)   /* a GPU's memory is mapped in pages of 2 MiB */
#define MAP_FROM_BYTES (UINT64_C(1) << 17) /* larger blocks are mapped: pages that nobody touches cost nothing */

/* How the storage of an allocation is given back. */
enum storage { STORAGE_OWN, STORAGE_PAGES, STORAGE_ADOPTED, STORAGE_FILE };

struct allocation {
    uint64_t address, bytes;
    uint8_t *host;
    enum storage storage : 8;
    bool guarded;
    uint32_t name;  /* index + 1 in the names; 0: it has none */
    bool concealed; /* from messages */
};

/* What messages call an allocation. */
struct allocation_name {
    char text[ORIGIN_BYTES];
    uint32_t next_free; /* the same kind of index, of those that nobody has */
};

struct corun_memory {
    uint32_t application;
    uint64_t first, next, end; /* device addresses; `next` is behind the highest allocation and its gap */
    uint64_t reserved_next, reserved_end;
    uint64_t allocated_bytes;
    uint64_t generation;
    bool pages;                            /* accesses near an allocation are good */
    VECTOR(struct corun_texture) textures; /* by handle - 1; width 0: destroyed */
    VECTOR(struct allocation) allocations; /* in ascending address; adopted ones lie below `first` or behind `end` */
    VECTOR(struct allocation_name) names;
    uint32_t free_name;
    struct freed_list freed;
    struct memory_backing backing; /* storage NULL: there is none */
    bool quiet;
};

static bool tells(const struct corun_memory *memory)
{
    return memory->backing.allocated && !memory->quiet;
}

void memory_back(struct corun_memory *memory, const struct memory_backing *backing)
{
    assert(memory->allocations.count == 0);
    memory->backing = *backing;
    memory->end = ((uint64_t)(memory->application + 1) << CORUN_APPLICATION_SHIFT) + MEMORY_BACKING_BYTES;
}

void memory_back_file(struct corun_memory *memory, int file)
{
    memory->backing.file = file;
}

void memory_be_quiet(struct corun_memory *memory, bool quiet)
{
    memory->quiet = quiet;
}

/* Where a device address lies in the file. */
static uint64_t file_offset(uint64_t address)
{
    return address & ((UINT64_C(1) << CORUN_APPLICATION_SHIFT) - 1);
}

static uint64_t round_up(uint64_t value)
{
    return (value + ALIGN_BYTES - 1) & ~(ALIGN_BYTES - 1);
}

/* The block is padded to whole lines, so that a line of 128 bytes can be copied wherever one of its bytes is valid. */
static uint8_t *host_allocate(uint64_t bytes)
{
    uint64_t padded = round_up(bytes);
    if (padded >= MAP_FROM_BYTES) {
        void *block = mmap(NULL, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return block == MAP_FAILED ? NULL : block;
    }
    uint8_t *block = aligned_alloc(ALIGN_BYTES, padded);
    if (block)
        memset(block, 0, padded);
    return block;
}

static void host_free(const struct allocation *allocation)
{
    uint64_t padded = round_up(allocation->bytes);
    if (allocation->storage == STORAGE_ADOPTED || allocation->storage == STORAGE_FILE)
        return;
    if (padded >= MAP_FROM_BYTES || allocation->storage == STORAGE_PAGES)
        munmap(allocation->host, padded);
    else
        free(allocation->host);
}

struct corun_memory *corun_memory_create(uint32_t application)
{
    assert(application < CORUN_MAX_APPLICATIONS);
    struct corun_memory *memory = calloc(1, sizeof *memory);
    if (!memory || !freed_reserve(&memory->freed)) {
        free(memory);
        return NULL;
    }
    uint64_t range = (uint64_t)(application + 1) << CORUN_APPLICATION_SHIFT;
    memory->application = application;
    memory->first = memory->next = range + ALLOCATIONS_FIRST;
    memory->end = range + ALLOCATIONS_END;
    memory->reserved_next = range + RESERVED_FIRST;
    memory->reserved_end = range + RESERVED_END;
    return memory;
}

void corun_memory_map_pages(struct corun_memory *memory)
{
    assert(memory->allocations.count == 0);
    memory->pages = true;
    memory->first += MAPPED_BYTES; /* what is loaded in front of the first allocation is the application's, too */
    memory->next = memory->first;
}

void corun_memory_destroy(struct corun_memory *memory)
{
    if (!memory)
        return;
    for (size_t i = 0; i < memory->allocations.count; i++)
        host_free(&memory->allocations.data[i]);
    vector_free(&memory->allocations);
    vector_free(&memory->names);
    vector_free(&memory->freed.entries);
    vector_free(&memory->textures);
    free(memory);
}

/* Where a block of `span` bytes (gap included) goes, a multiple of `align`; false if there is no room. */
static bool find_room(const struct corun_memory *memory, uint64_t span, uint64_t align, uint64_t *address)
{
    *address = (memory->next + align - 1) & ~(align - 1);
    if (*address <= memory->end && span <= memory->end - *address)
        return true;
    uint64_t from = memory->first;
    for (size_t i = 0; i < memory->allocations.count; i++) {
        const struct allocation *allocation = &memory->allocations.data[i];
        if (allocation->address < memory->first || allocation->address >= memory->end)
            continue;
        from = (from + align - 1) & ~(align - 1);
        if (allocation->address >= from && allocation->address - from >= span) {
            *address = from;
            return true;
        }
        from = allocation->address + round_up(allocation->bytes) + GAP_BYTES;
    }
    return false;
}

/* Index of the last allocation that starts at or below `address`, SIZE_MAX if there is none. */
static size_t find_below(const struct corun_memory *memory, uint64_t address)
{
    size_t low = 0, high = memory->allocations.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memory->allocations.data[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

/* Part of the file becomes zero: whole pages of it are given back. */
static void zero_file(const struct corun_memory *memory, uint64_t first, uint64_t end)
{
    uint8_t *storage = memory->backing.storage;
    uint64_t page = (first + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1), behind = end & ~(PAGE_BYTES - 1);
    bool whole = page < behind;
    if (whole)
        whole = fallocate(memory->backing.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)file_offset(page),
                          (off_t)(behind - page)) == 0;
    if (!whole) {
        memset(storage + file_offset(first), 0, end - first);
        return;
    }
    memset(storage + file_offset(first), 0, page - first);
    memset(storage + file_offset(behind), 0, end - behind);
}

/* What is no allocation any more is zero in the file again, and pages that it had for itself are given back. */
static void empty_file(const struct corun_memory *memory, const struct allocation *freed)
{
    if (!memory->backing.allocated || freed->storage == STORAGE_ADOPTED)
        return;
    uint64_t first = freed->address, end = first + round_up(freed->bytes);
    size_t below = find_below(memory, first);
    const struct allocation *all = memory->allocations.data;
    uint64_t left = below == SIZE_MAX ? 0 : all[below].address + round_up(all[below].bytes);
    uint64_t right = below + 1 < memory->allocations.count ? all[below + 1].address : UINT64_MAX;
    uint64_t page = first & ~(PAGE_BYTES - 1), behind = (end + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    zero_file(memory, left <= page ? page : first, behind <= right ? behind : end);
}

/* Puts it in its place. */
static bool insert(struct corun_memory *memory, struct allocation allocation)
{
    size_t position = find_below(memory, allocation.address) + 1;
    if (!vector_push(&memory->allocations, allocation))
        return false;
    freed_forget(&memory->freed, allocation.address, allocation.bytes);
    struct allocation *all = memory->allocations.data;
    memmove(all + position + 1, all + position, (memory->allocations.count - 1 - position) * sizeof *all);
    all[position] = allocation;
    return true;
}

static enum corun_status keep(struct corun_memory *memory, const struct allocation *allocation)
{
    if (!insert(memory, *allocation)) {
        host_free(allocation);
        return CORUN_MEMORY;
    }
    uint64_t behind = allocation->address + round_up(allocation->bytes) + GAP_BYTES;
    if (behind > memory->next)
        memory->next = behind;
    memory->allocated_bytes += allocation->bytes;
    return CORUN_OK;
}

enum corun_status corun_memory_allocate(struct corun_memory *memory, uint64_t bytes, uint64_t *address)
{
    *address = 0;
    if (bytes == 0 || bytes > ALLOCATIONS_END)
        return CORUN_MEMORY;
    uint64_t place;
    if (!find_room(memory, round_up(bytes) + GAP_BYTES, ALIGN_BYTES, &place))
        return CORUN_MEMORY;
    struct allocation allocation = {place, bytes, NULL, STORAGE_OWN, false, 0, false};
    if (memory->backing.storage)
        allocation.storage = STORAGE_FILE;
    enum corun_status status =
        tells(memory) ? memory->backing.allocated(memory->backing.user, place, bytes, false) : CORUN_OK;
    if (status != CORUN_OK)
        return status;
    allocation.host = memory->backing.storage ? memory->backing.storage + file_offset(place) : host_allocate(bytes);
    if (!allocation.host)
        return CORUN_MEMORY;
    status = keep(memory, &allocation);
    if (status == CORUN_OK)
        *address = place;
    return status;
}

/* Pages of the process that decides, at a device's address if that is free there; the other one has them as all others. */
static uint8_t *map_pages(const struct corun_memory *memory, uint64_t place, uint64_t whole)
{
    const struct memory_backing *backing = &memory->backing;
    if (backing->storage && !backing->allocated)
        return backing->storage + file_offset(place);
    int flags = backing->storage ? MAP_SHARED | MAP_NORESERVE : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    int file = backing->storage ? backing->file : -1;
    off_t offset = backing->storage ? (off_t)file_offset(place) : 0;
    void *block = mmap((void *)(uintptr_t)place, whole, PROT_READ | PROT_WRITE, flags, file, offset);
    return block == MAP_FAILED ? NULL : block;
}

enum corun_status corun_memory_allocate_shared(struct corun_memory *memory, uint64_t bytes, uint64_t *address,
                                               void **host)
{
    *address = 0;
    if (bytes == 0 || bytes > ALLOCATIONS_END)
        return CORUN_MEMORY;
    uint64_t whole = (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1), place;
    if (!find_room(memory, whole + GAP_BYTES, PAGE_BYTES, &place))
        return CORUN_MEMORY;
    enum corun_status status =
        tells(memory) ? memory->backing.allocated(memory->backing.user, place, bytes, true) : CORUN_OK;
    if (status != CORUN_OK)
        return status;
    /* The address is a wish: where the host has something there already, it gives another one. */
    uint8_t *block = map_pages(memory, place, whole);
    if (!block)
        return CORUN_MEMORY;
    bool follows = memory->backing.storage && !memory->backing.allocated;
    struct allocation allocation = {place, bytes, block, follows ? STORAGE_FILE : STORAGE_PAGES, false, 0, false};
    status = keep(memory, &allocation);
    if (status == CORUN_OK) {
        *address = place;
        *host = block;
    }
    return status;
}

enum corun_status corun_memory_adopt(struct corun_memory *memory, uint64_t address, void *host, uint64_t bytes)
{
    uint64_t behind = address + bytes;
    if (bytes == 0 || behind < address || behind > UINT64_C(1) << WINDOW_SHIFT ||
        (behind > memory->first && address < memory->reserved_end))
        return CORUN_ARGUMENT;
    size_t below = find_below(memory, behind - 1);
    if (below != SIZE_MAX && memory->allocations.data[below].address + memory->allocations.data[below].bytes > address)
        return CORUN_ARGUMENT;
    enum corun_status status =
        tells(memory) ? memory->backing.adopted(memory->backing.user, address, host, bytes) : CORUN_OK;
    if (status != CORUN_OK)
        return status;
    struct allocation allocation = {address, bytes, host, STORAGE_ADOPTED, false, 0, false};
    return insert(memory, allocation) ? CORUN_OK : CORUN_MEMORY;
}

uint64_t memory_address_of(const struct corun_memory *memory, const void *host, uint64_t bytes)
{
    uint64_t first = (uint64_t)(uintptr_t)host;
    for (size_t i = 0; i < memory->allocations.count; i++) {
        const struct allocation *allocation = &memory->allocations.data[i];
        uint64_t offset = first - (uint64_t)(uintptr_t)allocation->host;
        if (allocation->storage != STORAGE_ADOPTED && offset < allocation->bytes && bytes <= allocation->bytes - offset)
            return allocation->address + offset;
    }
    return 0;
}

static struct allocation *allocation_at(const struct corun_memory *memory, uint64_t address)
{
    size_t i = find_below(memory, address);
    return i != SIZE_MAX && memory->allocations.data[i].address == address ? &memory->allocations.data[i] : NULL;
}

bool memory_share(struct corun_memory *memory, uint64_t address, const struct corun_memory *other, uint64_t there)
{
    struct allocation *mine = allocation_at(memory, address), *theirs = allocation_at(other, there);
    if (!mine || !theirs || mine->storage != STORAGE_OWN || memory->backing.storage || other->backing.storage ||
        mine->bytes != theirs->bytes)
        return false;
    host_free(mine);
    memory->allocated_bytes -= mine->bytes;
    mine->storage = STORAGE_ADOPTED;
    mine->host = theirs->host;
    memory->generation++;
    return true;
}

void memory_follow(struct corun_memory *memory, uint64_t address, struct corun_memory *other, uint64_t there)
{
    struct allocation *mine = allocation_at(memory, address), *theirs = allocation_at(other, there);
    assert(mine && theirs && mine->host == theirs->host && mine->storage == STORAGE_ADOPTED);
    mine->storage = theirs->storage;
    theirs->storage = STORAGE_ADOPTED;
    memory->allocated_bytes += mine->bytes;
    other->allocated_bytes -= theirs->bytes;
}

bool memory_name(struct corun_memory *memory, uint64_t address, const char *format, ...)
{
    size_t i = find_below(memory, address);
    if (i == SIZE_MAX || memory->allocations.data[i].address != address)
        return true;
    struct allocation *allocation = &memory->allocations.data[i];
    if (!allocation->name && memory->free_name) {
        allocation->name = memory->free_name;
        memory->free_name = memory->names.data[allocation->name - 1].next_free;
    } else if (!allocation->name && memory->names.count < UINT32_MAX &&
               vector_push(&memory->names, ((struct allocation_name){{0}, 0}))) {
        allocation->name = (uint32_t)memory->names.count;
    }
    if (!allocation->name)
        return false;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(memory->names.data[allocation->name - 1].text, ORIGIN_BYTES, format, arguments);
    va_end(arguments);
    if (tells(memory))
        memory->backing.named(memory->backing.user, address, memory->names.data[allocation->name - 1].text);
    return true;
}

void memory_conceal(struct corun_memory *memory, uint64_t address)
{
    size_t i = find_below(memory, address);
    if (i != SIZE_MAX && memory->allocations.data[i].address == address)
        memory->allocations.data[i].concealed = true;
}

static const char *name_of(const struct corun_memory *memory, const struct allocation *allocation)
{
    return allocation->name ? memory->names.data[allocation->name - 1].text : "";
}

enum corun_status memory_free(struct corun_memory *memory, uint64_t address, const char *freer)
{
    size_t i = find_below(memory, address);
    if (i == SIZE_MAX || memory->allocations.data[i].address != address)
        return CORUN_ARGUMENT;
    struct allocation *all = memory->allocations.data;
    freed_add(&memory->freed, address, all[i].bytes, name_of(memory, &all[i]), freer);
    if (all[i].name) {
        memory->names.data[all[i].name - 1].next_free = memory->free_name;
        memory->free_name = all[i].name;
    }
    if (all[i].storage != STORAGE_ADOPTED)
        memory->allocated_bytes -= all[i].bytes;
    struct allocation gone = all[i];
    host_free(&gone);
    memory->allocations.count--;
    memmove(all + i, all + i + 1, (memory->allocations.count - i) * sizeof *all);
    memory->generation++;
    empty_file(memory, &gone);
    if (tells(memory)) /* who may free more */
        memory->backing.freed(memory->backing.user, address, freer);
    return CORUN_OK;
}

enum corun_status corun_memory_free(struct corun_memory *memory, uint64_t address)
{
    return memory_free(memory, address, "");
}

/* `i` is what find_below gives for the address. */
static inline uint8_t *find_in(const struct corun_memory *memory, size_t i, struct memory_cache *cache,
                               uint64_t address, uint64_t bytes)
{
    if (i == SIZE_MAX)
        return NULL;
    const struct allocation *allocation = &memory->allocations.data[i];
    uint64_t offset = address - allocation->address;
    if (offset >= allocation->bytes || bytes > allocation->bytes - offset)
        return NULL;
    *cache = (struct memory_cache){allocation->address, allocation->bytes, allocation->host};
    return allocation->host + offset;
}

uint8_t *memory_find(const struct corun_memory *memory, struct memory_cache *cache, uint64_t address, uint64_t bytes)
{
    return find_in(memory, find_below(memory, address), cache, address, bytes);
}

uint8_t *memory_find_unguarded(const struct corun_memory *memory, struct memory_cache *cache, uint64_t address,
                               uint64_t bytes)
{
    size_t i = find_below(memory, address);
    if (i != SIZE_MAX && memory->allocations.data[i].guarded)
        return NULL;
    return find_in(memory, i, cache, address, bytes);
}

/* Bytes that are zero stay holes of the file. */
static void copy_pages(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    static const uint8_t zeros[PAGE_BYTES];
    for (uint64_t done = 0; done < bytes; done += PAGE_BYTES) {
        uint64_t some = bytes - done < PAGE_BYTES ? bytes - done : PAGE_BYTES;
        if (memcmp(from + done, zeros, some) != 0)
            memcpy(to + done, from + done, some);
    }
}

bool memory_move_to_file(struct corun_memory *memory, uint64_t address, int file)
{
    size_t i = find_below(memory, address);
    struct allocation *allocation = i == SIZE_MAX ? NULL : &memory->allocations.data[i];
    if (!allocation || allocation->address != address || allocation->storage != STORAGE_OWN)
        return false;
    uint64_t bytes = round_up(allocation->bytes);
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (block == MAP_FAILED)
        return false;
    copy_pages(block, allocation->host, bytes);
    host_free(allocation);
    allocation->host = block;
    allocation->storage = STORAGE_PAGES;
    memory->generation++; /* it may be in caches */
    return true;
}

void memory_guard(struct corun_memory *memory, uint64_t address)
{
    size_t i = find_below(memory, address);
    if (i == SIZE_MAX || memory->allocations.data[i].address != address)
        return;
    memory->allocations.data[i].guarded = true;
    memory->generation++; /* it may be in caches */
}

uint8_t *memory_find_outside(const struct corun_memory *memory, uint64_t address, uint32_t bytes, bool store)
{
    static const uint8_t zeros[ALIGN_BYTES];
    if (!memory->pages || bytes > sizeof zeros || address < memory->first - MAPPED_BYTES || address >= memory->end)
        return NULL;
    size_t i = find_below(memory, address);
    const struct allocation *all = memory->allocations.data;
    bool above = i != SIZE_MAX && all[i].address >= memory->first;
    uint64_t padded = above ? round_up(all[i].bytes) : 0, offset = above ? address - all[i].address : 0;
    if (above && offset < padded && bytes <= padded - offset)
        return all[i].host + offset;
    if (store)
        return NULL;
    bool behind = above && (offset < padded || offset - padded < MAPPED_BYTES);
    size_t next = i == SIZE_MAX ? 0 : i + 1;
    while (next < memory->allocations.count && all[next].address < memory->first)
        next++;
    bool before = next < memory->allocations.count && all[next].address - address <= MAPPED_BYTES;
    return behind || before ? (uint8_t *)zeros : NULL; /* only read: stores do not get it */
}

bool memory_by_pages(const struct corun_memory *memory)
{
    return memory->pages;
}

void *corun_memory_pointer(struct corun_memory *memory, uint64_t address, uint64_t bytes)
{
    struct memory_cache cache = {0};
    return memory_find(memory, &cache, address, bytes);
}

enum corun_status corun_memory_write(struct corun_memory *memory, uint64_t address, const void *source, uint64_t bytes)
{
    if (bytes == 0)
        return CORUN_OK;
    void *pointer = corun_memory_pointer(memory, address, bytes);
    if (!pointer)
        return CORUN_FAULT;
    memcpy(pointer, source, bytes);
    return CORUN_OK;
}

enum corun_status corun_memory_read(const struct corun_memory *memory, uint64_t address, void *destination,
                                    uint64_t bytes)
{
    if (bytes == 0)
        return CORUN_OK;
    struct memory_cache cache = {0};
    const void *pointer = memory_find(memory, &cache, address, bytes);
    if (!pointer)
        return CORUN_FAULT;
    memcpy(destination, pointer, bytes);
    return CORUN_OK;
}

uint64_t corun_memory_allocated_bytes(const struct corun_memory *memory)
{
    return memory->allocated_bytes;
}

uint64_t memory_generation(const struct corun_memory *memory)
{
    return memory->generation;
}

uint64_t memory_reserve(struct corun_memory *memory, uint64_t bytes)
{
    if (bytes > memory->reserved_end - memory->reserved_next - ALIGN_BYTES)
        return 0;
    uint64_t address = memory->reserved_next;
    memory->reserved_next += round_up(bytes ? bytes : 1);
    return address;
}

void memory_clear(struct corun_memory *memory, uint64_t address)
{
    size_t i = find_below(memory, address);
    if (i == SIZE_MAX || memory->allocations.data[i].address != address)
        return;
    const struct allocation *allocation = &memory->allocations.data[i];
    uint64_t padded = round_up(allocation->bytes);
    if (memory->backing.storage && allocation->storage != STORAGE_ADOPTED)
        zero_file(memory, address, address + padded);
    else if (padded < MAP_FROM_BYTES || madvise(allocation->host, padded, MADV_DONTNEED) != 0)
        memset(allocation->host, 0, padded);
}

uint32_t memory_application(const struct corun_memory *memory)
{
    return memory->application;
}

bool memory_nearest(const struct corun_memory *memory, uint64_t address, struct memory_nearest *nearest)
{
    const struct allocation *all = memory->allocations.data;
    size_t below = find_below(memory, address), above = below + 1; /* SIZE_MAX + 1 is 0 */
    while (below != SIZE_MAX && all[below].concealed)
        below--;
    while (above < memory->allocations.count && all[above].concealed)
        above++;
    if (below == SIZE_MAX && above == memory->allocations.count)
        return false;
    size_t i = below == SIZE_MAX ? above : below;
    if (below != SIZE_MAX && above < memory->allocations.count) {
        uint64_t end = all[below].address + all[below].bytes;
        uint64_t behind = address >= end ? address - end : 0;
        if (all[above].address - address < behind)
            i = above;
    }
    *nearest = (struct memory_nearest){all[i].address, all[i].bytes, name_of(memory, &all[i])};
    return true;
}

const struct freed *memory_freed(const struct corun_memory *memory, uint64_t address)
{
    return freed_find(&memory->freed, address);
}

static bool makes_sense(const struct corun_texture *t)
{
    bool bits =
        t->channel_bits == 32 || t->channel_bits == 16 || (t->channel_bits == 8 && t->kind != CORUN_TEXEL_FLOAT);
    bool shape = t->width > 0 && (t->depth == 0 || t->height > 0 || t->layered);
    return bits && shape && (t->channels == 1 || t->channels == 2 || t->channels == 4) && t->kind <= CORUN_TEXEL_FLOAT;
}

#define MOST_BLOCK_GOBS 16u
#define MOST_LEVELS 32u
#define LEVEL_ALIGN 256u /* bytes; rows of levels and, so, the levels */

uint32_t corun_texture_block_rows(uint32_t height, uint32_t gob_rows)
{
    uint32_t gobs = MOST_BLOCK_GOBS;
    while (gobs > 1 && gob_rows * (gobs / 2) >= height)
        gobs /= 2;
    return gob_rows * gobs;
}

/* Rows of memory that a slice takes; 0: no blocks are like that. */
static uint64_t rows_of_slice(const struct corun_texture *t)
{
    uint64_t rows = t->height ? t->height : 1;
    if (!t->gob_rows)
        return rows;
    if ((t->gob_rows != 4 && t->gob_rows != 8) || t->row_bytes % 64 || t->address % 256 || rows > INT32_MAX)
        return 0;
    uint64_t block = corun_texture_block_rows(t->height, t->gob_rows);
    rows = (rows + block - 1) / block * block;
    return t->depth > 1 && t->slice_bytes < rows * t->row_bytes ? 0 : rows;
}

static uint32_t halved(uint32_t size, uint32_t level)
{
    return size && level < 32 && size >> level ? size >> level : size ? 1 : 0;
}

void corun_texture_level(const struct corun_texture *texture, uint32_t level, struct corun_texture *result)
{
    *result = *texture;
    result->levels = 0;
    for (uint32_t i = 1; i <= level; i++) {
        result->address += (result->depth ? result->depth : 1) * result->slice_bytes;
        result->width = halved(texture->width, i);
        result->height = halved(texture->height, i);
        if (!texture->layered)
            result->depth = halved(texture->depth, i);
        uint64_t bytes = (uint64_t)result->width * texture->channels * texture->channel_bits / 8;
        uint64_t rows = result->height ? result->height : 1;
        result->row_bytes = (bytes + LEVEL_ALIGN - 1) / LEVEL_ALIGN * LEVEL_ALIGN;
        result->gob_rows = result->height > 1 ? texture->gob_rows : 0; /* one row is no block */
        uint64_t block = result->gob_rows ? corun_texture_block_rows(result->height, result->gob_rows) : 1;
        result->slice_bytes = (rows + block - 1) / block * block * result->row_bytes;
    }
}

/* All but the first one, whose slices they follow. */
static bool levels_make_sense(struct corun_memory *memory, const struct corun_texture *texture)
{
    struct corun_texture last;
    if (texture->levels < 2)
        return true;
    if (texture->levels > MOST_LEVELS || !texture->normalized_coordinates || texture->row_bytes > UINT32_MAX ||
        texture->slice_bytes > UINT64_C(1) << 44)
        return false;
    corun_texture_level(texture, texture->levels - 1, &last);
    uint64_t bytes = (last.depth ? last.depth : 1) * last.slice_bytes;
    return corun_memory_pointer(memory, texture->address, last.address + bytes - texture->address) != NULL;
}

enum corun_status corun_texture_create(struct corun_memory *memory, const struct corun_texture *texture,
                                       uint64_t *handle)
{
    *handle = 0;
    if (!makes_sense(texture))
        return CORUN_ARGUMENT;
    uint64_t texel = (uint64_t)texture->channels * texture->channel_bits / 8;
    uint64_t rows = rows_of_slice(texture), slices = texture->depth ? texture->depth : 1;
    if (!rows)
        return CORUN_ARGUMENT;
    /* no overflow: factors have 32 bits, and steps beyond an allocation are found out first */
    uint64_t bytes = texture->width * texel;
    if ((rows > 1 && (texture->row_bytes < bytes || texture->row_bytes > UINT32_MAX)) ||
        (slices > 1 && texture->slice_bytes > UINT64_C(1) << 44))
        return CORUN_ARGUMENT;
    bytes += (rows - 1) * (rows > 1 ? texture->row_bytes : 0);
    unsigned __int128 all = (unsigned __int128)(slices - 1) * (slices > 1 ? texture->slice_bytes : 0) + bytes;
    if (all > UINT64_C(1) << 44 || !corun_memory_pointer(memory, texture->address, (uint64_t)all) ||
        !levels_make_sense(memory, texture))
        return CORUN_ARGUMENT;
    size_t place = 0;
    while (place < memory->textures.count && memory->textures.data[place].width)
        place++;
    if (place == memory->textures.count && !vector_push(&memory->textures, (struct corun_texture){0}))
        return CORUN_MEMORY;
    enum corun_status status =
        tells(memory) ? memory->backing.texture_created(memory->backing.user, texture, place + 1) : CORUN_OK;
    if (status != CORUN_OK)
        return status;
    memory->textures.data[place] = *texture;
    *handle = place + 1;
    return CORUN_OK;
}

enum corun_status corun_texture_destroy(struct corun_memory *memory, uint64_t handle)
{
    if (!memory_texture(memory, handle))
        return CORUN_ARGUMENT;
    if (tells(memory))
        memory->backing.texture_destroyed(memory->backing.user, handle);
    memory->textures.data[handle - 1].width = 0;
    return CORUN_OK;
}

const struct corun_texture *memory_texture(const struct corun_memory *memory, uint64_t handle)
{
    if (handle == 0 || handle > memory->textures.count || !memory->textures.data[handle - 1].width)
        return NULL;
    return &memory->textures.data[handle - 1];
}

uint64_t memory_texture_bytes(const struct corun_texture *texture)
{
    uint64_t slice = (texture->height ? texture->height : 1) * texture->row_bytes;
    return texture->depth > 1 ? (texture->depth - 1) * texture->slice_bytes + slice : slice;
}

const struct corun_texture *memory_texture_at(const struct corun_memory *memory, uint64_t address)
{
    for (size_t i = 0; i < memory->textures.count; i++) {
        const struct corun_texture *texture = &memory->textures.data[i];
        if (texture->width && texture->gob_rows && address - texture->address < memory_texture_bytes(texture))
            return texture;
    }
    return NULL;
}

/* ---- checkpoints ---- */

void memory_archive(struct corun_archive *archive, struct corun_memory *memory)
{
    memory_archive_but(archive, memory, NULL, NULL);
}

void memory_archive_but(struct corun_archive *archive, struct corun_memory *memory,
                        bool (*leave)(void *user, uint64_t address), void *user)
{
    archive_section(archive, "device memory", 1);
    if (memory->backing.storage)
        archive_fail(archive, CORUN_UNSUPPORTED, "memory of a CUDA program cannot be saved");
    archive_same(archive, memory->allocations.count, "allocations of device memory");
    archive_same(archive, memory->generation, "allocations that were freed");
    archive_same(archive, memory->reserved_next, "addresses that are reserved");
    for (size_t i = 0; i < memory->allocations.count && archive_fine(archive); i++) {
        const struct allocation *allocation = &memory->allocations.data[i];
        archive_same(archive, allocation->address, "the address of an allocation");
        archive_same(archive, allocation->bytes, "the bytes of an allocation");
        if (archive_fine(archive) && !(leave && leave(user, allocation->address)))
            archive_sparse(archive, allocation->host, allocation->bytes);
    }
}
