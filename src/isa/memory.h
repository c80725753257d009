/* SPDX-License-Identifier: MIT */
/* What the executor needs of an application's memory beside the public interface: quick lookups and places. */
#ifndef CORUN_ISA_MEMORY_H
#define CORUN_ISA_MEMORY_H

#include "corun/memory.h"
#include "corun/texture.h"
#include "isa/freed.h"

/*
 * The last allocation that somebody found. Held by the caller, because SMs on several threads read one memory: a cache inside it
 * would be shared by them. Valid as long as memory_generation gives what it gave when the cache was cleared.
 */
struct memory_cache {
    uint64_t base, bytes;
    uint8_t *host;
};

/*
 * Memory that two processes have: its allocations lie in a file, which both have mapped, each at the offset that its address has in the
 * application's range. One process decides what is allocated, and is told here what it did, so that the other can do the same. What the
 * file holds where nothing is allocated is zero.
 */
struct memory_backing {
    int file;
    uint8_t *storage; /* MEMORY_BACKING_BYTES of the file, mapped by the caller; outlives the memory */
    void *user;
    /* All NULL in the process that follows. A status other than OK: the operation fails with it, and has not happened. */
    enum corun_status (*allocated)(void *user, uint64_t address, uint64_t bytes, bool pages);
    enum corun_status (*adopted)(void *user, uint64_t address, const void *host, uint64_t bytes);
    enum corun_status (*texture_created)(void *user, const struct corun_texture *texture, uint64_t handle);
    void (*texture_destroyed)(void *user, uint64_t handle);
    void (*named)(void *user, uint64_t address, const char *name);
    void (*freed)(void *user, uint64_t address, const char *freer);
};
/* What may be allocated there ends with the file. The preset valgrind has less, as 256 GB are more addresses than valgrind has. */
#ifndef MEMORY_BACKING_BITS
#define MEMORY_BACKING_BITS 38u
#endif
_Static_assert(MEMORY_BACKING_BITS <= 38, "more than an application may allocate (ALLOCATIONS_END)");
#define MEMORY_BACKING_BYTES (UINT64_C(1) << MEMORY_BACKING_BITS)
/* To be called before anything is allocated. */
void memory_back(struct corun_memory *memory, const struct memory_backing *backing);
/* Another descriptor of the file, with the same content at the same place. */
void memory_back_file(struct corun_memory *memory, int file);
/* While it is quiet, nothing is told: what happens now, the other process does by itself. */
void memory_be_quiet(struct corun_memory *memory, bool quiet);

/* The address at which the memory's own storage has what the host has there; 0: it is not of that storage, or of several allocations. */
uint64_t memory_address_of(const struct corun_memory *memory, const void *host, uint64_t bytes);

/* Host pointer to [address, address + bytes), NULL if it is out of bounds. */
uint8_t *memory_find(const struct corun_memory *memory, struct memory_cache *cache, uint64_t address, uint64_t bytes);
/* The same, NULL also where an allocation is guarded: kernels come to it only after a closer look (outside_find). */
uint8_t *memory_find_unguarded(const struct corun_memory *memory, struct memory_cache *cache, uint64_t address,
                               uint64_t bytes);
/* The allocation at `address` lies in a file of at least as many bytes from now on, from the file's start. False: it cannot. */
bool memory_move_to_file(struct corun_memory *memory, uint64_t address, int file);
/*
 * The allocation at `address` has from now on the bytes of another memory's at `there`, which keeps them and is to outlive this, or to be
 * followed: memory_follow. False where that cannot be: one has its storage with another process, or they are not of the same size.
 */
bool memory_share(struct corun_memory *memory, uint64_t address, const struct corun_memory *other, uint64_t there);
/* The bytes that it shares so are this memory's own from now on, and the other one's are only shared. */
void memory_follow(struct corun_memory *memory, uint64_t address, struct corun_memory *other, uint64_t there);
/* The allocation at `address` is guarded from now on. */
void memory_guard(struct corun_memory *memory, uint64_t address);

/*
 * The same where nothing is allocated, of memory that is mapped by pages: what is behind an allocation in its last line or, to load
 * only, zeros near one. NULL: nothing is mapped there.
 */
uint8_t *memory_find_outside(const struct corun_memory *memory, uint64_t address, uint32_t bytes, bool store);

/* Did corun_memory_map_pages say so? */
bool memory_by_pages(const struct corun_memory *memory);

static inline uint8_t *memory_lookup(const struct corun_memory *memory, struct memory_cache *cache, uint64_t address,
                                     uint64_t bytes)
{
    uint64_t offset = address - cache->base;
    if (offset < cache->bytes && bytes <= cache->bytes - offset)
        return cache->host + offset;
    return memory_find_unguarded(memory, cache, address, bytes);
}

/* Changes when an allocation is freed: caches filled before are stale. */
uint64_t memory_generation(const struct corun_memory *memory);

/* A range of addresses without storage (code, parameters), 256-byte aligned; 0 if there is no room. */
uint64_t memory_reserve(struct corun_memory *memory, uint64_t bytes);

/* Sets all bytes of the allocation at `address` to zero, without touching pages that nobody has touched. */
void memory_clear(struct corun_memory *memory, uint64_t address);

/* NULL if there is none of that handle; valid until it is destroyed. */
const struct corun_texture *memory_texture(const struct corun_memory *memory, uint64_t handle);
/* One whose texels hold an address and lie in blocks; NULL: none. All of the same array have the same blocks. */
const struct corun_texture *memory_texture_at(const struct corun_memory *memory, uint64_t address);
/* From its first texel to the end of the last row. */
uint64_t memory_texture_bytes(const struct corun_texture *texture);

uint32_t memory_application(const struct corun_memory *memory);

/*
 * What messages call the allocation at `address` ("allocation 3 (cudaMalloc)", "variable table"), cut to ORIGIN_BYTES; without
 * effect where none begins. False when out of memory.
 */
bool memory_name(struct corun_memory *memory, uint64_t address, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* No message takes the allocation at `address` for what a program meant: it is corun's own. Without effect where none begins. */
void memory_conceal(struct corun_memory *memory, uint64_t address);
/* corun_memory_free, and who it was for messages about later accesses ("cudaFree after 2 launches"). */
enum corun_status memory_free(struct corun_memory *memory, uint64_t address, const char *freer);

/* The allocation nearest to an address in none, of those that are not concealed; its name may be "". Valid until the memory changes. */
struct memory_nearest {
    uint64_t address, bytes;
    const char *name;
};
/* False if there is none at all. */
bool memory_nearest(const struct corun_memory *memory, uint64_t address, struct memory_nearest *nearest);
/* What an address was part of before it was freed; NULL if nothing is known. Valid until the memory changes. */
const struct freed *memory_freed(const struct corun_memory *memory, uint64_t address);

#endif
