/* SPDX-License-Identifier: MIT */
/*
 * Allocations of device memory: each is noted with its size, so that corund can say how much a program has, and refuse what is beyond its limit before the
 * driver is asked. Counted are bytes that the program asks for; of managed memory as well, all of which may be on the GPU. What the driver itself has is not. Memory of graphs, which the
driver takes when they are launched and keeps for their next launches, is counted when it has it.
 */
#include "shim/memory.h"

#include "shim/below.h"
#include "shim/captures.h"
#include "shim/govern.h"
#include "shim/sizes.h"
#include "wire/board.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    OUT_OF_MEMORY = 2,
    PLACES = 4096,
    SPARES = 64,
    DEVICES = 16,
    RESERVED_BY_GRAPHS = 2,
    ALLOCATES = 10,
    ON_DEVICE = 1,
    MEMORY_TYPE_OF = 2,
    PITCH = 512
};

/* Out of the way of what every allocation runs. */
#define SELDOM __attribute__((noinline, cold))

enum kind { POINTER, HANDLE, ARRAY };

struct held {
    struct held *next; /* of the same place */
    uint64_t key;      /* an address or a handle */
    uint64_t bytes;
    enum kind kind;
    uint32_t owners;     /* of a handle */
    const void *context; /* of an array */
};

static struct {
    pthread_mutex_t lock;
    _Atomic uint64_t total;
    struct held *places[PLACES];
    struct held *spare;
    _Atomic uint32_t addresses;  /* that are in `places`, since they had no place among sizes */
    atomic_bool in_graphs;       /* there has been a node that allocates */
    uint64_t of_graphs[DEVICES]; /* that the driver has for such nodes */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

uint64_t memory_total(void)
{
    return atomic_load(&state.total);
}

static struct held **place_of(enum kind kind, uint64_t key)
{
    return &state.places[((key >> 9 ^ key >> 4) + kind) % PLACES];
}

/* ---- records ---- */

/* Under the lock. NULL when out of memory. */
static struct held *make_held(void)
{
    struct held *held = state.spare;
    if (!held) {
        struct held *several = malloc(SPARES * sizeof *several);
        for (int i = 0; several && i < SPARES; i++) {
            several[i].next = state.spare;
            state.spare = &several[i];
        }
        held = state.spare;
    }
    if (held)
        state.spare = held->next;
    return held;
}

/* Under the lock. */
static void drop_held(struct held *held)
{
    held->next = state.spare;
    state.spare = held;
}

/* ---- what may be had ---- */

/* Of an allocation at hand. */
enum grant {
    NOT_NOTED, /* nobody will ever ask how much there is */
    NOTED,     /* corund is told when it is there */
    GRANTED,   /* corund has been asked, and counts it already */
    REFUSED
};

/* Asked for before the driver is, where corund says what may be had. */
SELDOM static enum grant reserve(uint64_t bytes)
{
    enum govern_memory way = govern_memory();
    if (way != GOVERN_ASKED)
        return way == GOVERN_NOTED ? NOTED : NOT_NOTED;
    pthread_mutex_lock(&state.lock);
    uint64_t total = atomic_load(&state.total);
    bool may = bytes <= UINT64_MAX - total && govern_hold(total + bytes, true);
    if (may)
        atomic_fetch_add(&state.total, bytes);
    pthread_mutex_unlock(&state.lock);
    return may ? GRANTED : REFUSED;
}

/* From any thread: whoever tells last has told the last of all. */
static inline void tell(struct board *board)
{
    uint64_t told;
    do {
        told = atomic_load(&state.total);
        atomic_store(&board->bytes, told);
    } while (atomic_load(&state.total) != told);
}

/* Under the lock, which orders what corund is told. */
static void count(uint64_t more, uint64_t less)
{
    atomic_fetch_add(&state.total, more - less);
    struct board *board = govern_noting();
    if (board)
        tell(board);
    else
        (void)govern_hold(atomic_load(&state.total), false);
}

/* The same without the lock, where corund only wants to know. */
static inline void count_quickly(struct board *board, uint64_t more, uint64_t less)
{
    atomic_fetch_add(&state.total, more - less);
    tell(board);
}

/* Under the lock: a record of what is counted. False when out of memory. */
static bool put_in(enum kind kind, uint64_t key, uint64_t bytes, uint32_t owners, const void *context)
{
    struct held *held = make_held(), **place = place_of(kind, key);
    if (!held)
        return false;
    *held = (struct held){*place, key, bytes, kind, owners, context};
    *place = held;
    if (kind == POINTER)
        atomic_fetch_add(&state.addresses, 1);
    return true;
}

/* Under the lock. What cannot be kept is not counted. */
static void keep(enum grant grant, enum kind kind, uint64_t key, uint64_t bytes)
{
    void *context = NULL;
    if (kind == ARRAY) {
        int (*current)(void **) = (int (*)(void **))below_called(CALLED_cuCtxGetCurrent);
        if (!current || current(&context) != BELOW_OK)
            context = NULL;
    }
    bool kept = put_in(kind, key, bytes, 1, context);
    if (kept && grant == NOTED)
        count(bytes, 0);
    else if (!kept && grant == GRANTED)
        count(0, bytes);
}

/* Among sizes. */
static inline bool is_put(uint64_t address, uint64_t bytes)
{
    return address && bytes && sizes_put(address, bytes);
}

static void count_with_lock(uint64_t more, uint64_t less)
{
    pthread_mutex_lock(&state.lock);
    count(more, less);
    pthread_mutex_unlock(&state.lock);
}

SELDOM static int settle(enum grant grant, int error, enum kind kind, uint64_t key, uint64_t bytes)
{
    if (grant == NOT_NOTED || (grant == NOTED && error != BELOW_OK))
        return error;
    if (error == BELOW_OK && kind == POINTER && is_put(key, bytes)) {
        if (grant == NOTED)
            count_with_lock(bytes, 0);
        return error;
    }
    pthread_mutex_lock(&state.lock);
    if (error == BELOW_OK)
        keep(grant, kind, key, bytes);
    else
        count(0, bytes);
    pthread_mutex_unlock(&state.lock);
    return error;
}

/* Under the lock: it is in no place any more. */
static void end_held(struct held *held)
{
    if (held->kind == POINTER)
        atomic_fetch_sub(&state.addresses, 1);
    drop_held(held);
}

/* What is about to be freed. */
struct taken {
    bool known, counted_off;
    struct held held;
};

/*
 * Before it is freed, since another thread may be given the same address just behind that. It is counted until it is free where that decides what others may have.
 */
SELDOM static void take_out(struct taken *taken, enum kind kind, uint64_t key)
{
    enum govern_memory way = govern_memory();
    taken->known = false;
    if (way == GOVERN_UNNOTED)
        return;
    uint64_t bytes = kind == POINTER ? sizes_take(key) : 0;
    if (bytes) {
        *taken = (struct taken){true, way == GOVERN_NOTED, {NULL, key, bytes, kind, 1, NULL}};
        if (taken->counted_off)
            count_with_lock(0, bytes);
        return;
    }
    if (kind == POINTER && !atomic_load_explicit(&state.addresses, memory_order_relaxed))
        return;
    pthread_mutex_lock(&state.lock);
    struct held **at = place_of(kind, key);
    while (*at && ((*at)->kind != kind || (*at)->key != key))
        at = &(*at)->next;
    struct held *found = *at;
    if (found) {
        taken->known = true;
        taken->counted_off = way == GOVERN_NOTED && found->owners == 1;
        taken->held = *found;
        *at = found->next;
        end_held(found);
        if (taken->counted_off)
            count(0, taken->held.bytes);
    }
    pthread_mutex_unlock(&state.lock);
}

/* It has one owner more. */
static void retain(enum kind kind, uint64_t key)
{
    pthread_mutex_lock(&state.lock);
    struct held *held = *place_of(kind, key);
    while (held && (held->kind != kind || held->key != key))
        held = held->next;
    if (held)
        held->owners++;
    pthread_mutex_unlock(&state.lock);
}

SELDOM static int settle_free(int error, struct taken *taken)
{
    if (!taken->known || (taken->counted_off && error == BELOW_OK))
        return error;
    pthread_mutex_lock(&state.lock);
    bool stays = error != BELOW_OK || --taken->held.owners, counted = !taken->counted_off;
    if (stays)
        stays = put_in(taken->held.kind, taken->held.key, taken->held.bytes, taken->held.owners, taken->held.context);
    if (stays != counted)
        count(stays ? taken->held.bytes : 0, stays ? 0 : taken->held.bytes);
    pthread_mutex_unlock(&state.lock);
    return error;
}

/* Whether it went with a context. */
static bool address_is_gone(uint64_t address)
{
    int (*ask)(void *, int, uint64_t) = (int (*)(void *, int, uint64_t))below_called(CALLED_cuPointerGetAttribute);
    unsigned type = 0;
    return ask && ask(&type, MEMORY_TYPE_OF, address) != BELOW_OK;
}

static bool is_gone(const struct held *held, const void *context)
{
    if (held->kind == ARRAY)
        return context && held->context == context;
    return held->kind == POINTER && address_is_gone(held->key);
}

/* Of a device. What is not told is none. */
static void look_at_graphs(int device)
{
    int (*ask)(int, int, uint64_t *) = (int (*)(int, int, uint64_t *))below_called(CALLED_cuDeviceGetGraphMemAttribute);
    uint64_t bytes = 0;
    if (device < 0 || device >= DEVICES)
        return;
    if (!ask || ask(device, RESERVED_BY_GRAPHS, &bytes) != BELOW_OK)
        bytes = 0;
    pthread_mutex_lock(&state.lock);
    if (bytes != state.of_graphs[device]) {
        count(bytes, state.of_graphs[device]);
        state.of_graphs[device] = bytes;
    }
    pthread_mutex_unlock(&state.lock);
}

void memory_graph_launched(void)
{
    int (*current)(int *);
    int device;
    if (!atomic_load_explicit(&state.in_graphs, memory_order_relaxed))
        return;
    current = (int (*)(int *))below_called(CALLED_cuCtxGetDevice);
    if (current && current(&device) == BELOW_OK)
        look_at_graphs(device);
}

void memory_context_ended(const void *context)
{
    for (int i = 0; i < DEVICES && atomic_load(&state.in_graphs); i++)
        look_at_graphs(i);
    pthread_mutex_lock(&state.lock);
    uint64_t gone = sizes_take_gone(address_is_gone);
    if (gone)
        count(0, gone);
    for (size_t i = 0; i < PLACES; i++) {
        struct held **at = &state.places[i];
        while (*at) {
            struct held *held = *at;
            if (is_gone(held, context)) {
                *at = held->next;
                count(0, held->bytes);
                end_held(held);
            } else {
                at = &held->next;
            }
        }
    }
    pthread_mutex_unlock(&state.lock);
}

void memory_forked(void)
{
    (void)pthread_mutex_init(&state.lock, NULL);
}

/* Before the driver is asked. */
static inline enum grant begin_address(struct board *board, uint64_t bytes)
{
    return board ? NOTED : reserve(bytes);
}

/* Behind that, in as few steps as there can be where corund only wants to know. */
static inline int end_address(struct board *board, enum grant grant, int error, uint64_t address, uint64_t bytes)
{
    if (!board || error != BELOW_OK || !is_put(address, bytes))
        return settle(grant, error, POINTER, address, bytes);
    count_quickly(board, bytes, 0);
    return error;
}

/* Before an address is freed: so many bytes are taken from what is counted, and put back if it is not. 0: take_out is to look for it. */
static inline uint64_t begin_free(struct board *board, uint64_t address)
{
    uint64_t bytes = board ? sizes_take(address) : 0;
    if (bytes)
        count_quickly(board, 0, bytes);
    return bytes;
}

/* It is there still, in whatever way corund wants to know that by now. */
SELDOM static int put_back(int error, uint64_t address, uint64_t bytes)
{
    (void)settle(NOTED, BELOW_OK, POINTER, address, bytes);
    return error;
}

/* ---- what the program calls ---- */

SHIM_EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    int (*real)(uint64_t *, size_t) = below(LOOKED_AT_cuMemAlloc_v2);
    if (!address)
        return real(address, bytes);
    struct board *board = govern_noting();
    enum grant grant = begin_address(board, bytes);
    if (grant == REFUSED)
        return OUT_OF_MEMORY;
    int error = real(address, bytes);
    return end_address(board, grant, error, *address, bytes);
}

SHIM_EXPORT int cuMemAllocPitch_v2(uint64_t *address, size_t *pitch, size_t width, size_t height, unsigned element);
int cuMemAllocPitch_v2(uint64_t *address, size_t *pitch, size_t width, size_t height, unsigned element)
{
    int (*real)(uint64_t *, size_t *, size_t, size_t, unsigned) = below(LOOKED_AT_cuMemAllocPitch_v2);
    uint64_t bytes = 0;
    if (!address || __builtin_mul_overflow((width + PITCH - 1) / PITCH * PITCH, height, &bytes))
        return real(address, pitch, width, height, element);
    enum grant grant = reserve(bytes);
    if (grant == REFUSED)
        return OUT_OF_MEMORY;
    int error = real(address, pitch, width, height, element);
    return settle(grant, error, POINTER, *address, bytes);
}

SHIM_EXPORT int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags);
int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags)
{
    int (*real)(uint64_t *, size_t, unsigned) = below(LOOKED_AT_cuMemAllocManaged);
    if (!address)
        return real(address, bytes, flags);
    enum grant grant = reserve(bytes);
    if (grant == REFUSED)
        return OUT_OF_MEMORY;
    int error = real(address, bytes, flags);
    return settle(grant, error, POINTER, *address, bytes);
}

SHIM_EXPORT int cuMemFree_v2(uint64_t address);
int cuMemFree_v2(uint64_t address)
{
    int (*real)(uint64_t) = below(LOOKED_AT_cuMemFree_v2);
    struct taken taken;
    uint64_t bytes = begin_free(govern_noting(), address);
    if (bytes) {
        int error = real(address);
        return error == BELOW_OK ? error : put_back(error, address, bytes);
    }
    take_out(&taken, POINTER, address);
    return settle_free(real(address), &taken);
}

/* A stream that is captured gets a node of a graph, and memory when that is launched. */
static bool becomes_node(void *stream, bool per_thread)
{
    bool captured = captures_under_way() && govern_is_captured(stream, per_thread);
    if (captured)
        atomic_store(&state.in_graphs, true);
    return captured;
}

#define IN_STREAMS(suffix, own) \
    SHIM_EXPORT int cuMemAllocAsync##suffix(uint64_t *address, size_t bytes, void *stream); \
    int cuMemAllocAsync##suffix(uint64_t *address, size_t bytes, void *stream) \
    { \
        int (*real)(uint64_t *, size_t, void *) = below(LOOKED_AT_cuMemAllocAsync##suffix); \
        if (!address || becomes_node(stream, own)) \
            return real(address, bytes, stream); \
        struct board *board = govern_noting(); \
        enum grant grant = begin_address(board, bytes); \
        if (grant == REFUSED) \
            return OUT_OF_MEMORY; \
        int error = real(address, bytes, stream); \
        return end_address(board, grant, error, *address, bytes); \
    } \
    SHIM_EXPORT int cuMemAllocFromPoolAsync##suffix(uint64_t *address, size_t bytes, void *pool, void *stream); \
    int cuMemAllocFromPoolAsync##suffix(uint64_t *address, size_t bytes, void *pool, void *stream) \
    { \
        int (*real)(uint64_t *, size_t, void *, void *) = below(LOOKED_AT_cuMemAllocFromPoolAsync##suffix); \
        if (!address || becomes_node(stream, own)) \
            return real(address, bytes, pool, stream); \
        struct board *board = govern_noting(); \
        enum grant grant = begin_address(board, bytes); \
        if (grant == REFUSED) \
            return OUT_OF_MEMORY; \
        int error = real(address, bytes, pool, stream); \
        return end_address(board, grant, error, *address, bytes); \
    } \
    SHIM_EXPORT int cuMemFreeAsync##suffix(uint64_t address, void *stream); \
    int cuMemFreeAsync##suffix(uint64_t address, void *stream) \
    { \
        int (*real)(uint64_t, void *) = below(LOOKED_AT_cuMemFreeAsync##suffix); \
        struct taken taken; \
        uint64_t counted = begin_free(govern_noting(), address); \
        if (counted) { \
            int error = real(address, stream); \
            return error == BELOW_OK ? error : put_back(error, address, counted); \
        } \
        take_out(&taken, POINTER, address); \
        return settle_free(real(address, stream), &taken); \
    }
IN_STREAMS(, false)
IN_STREAMS(_ptsz, true)

SHIM_EXPORT int cuGraphAddMemAllocNode(void **node, void *graph, const void *const *behind, size_t count, void *how);
int cuGraphAddMemAllocNode(void **node, void *graph, const void *const *behind, size_t count, void *how)
{
    int (*real)(void **, void *, const void *const *, size_t, void *) = below(LOOKED_AT_cuGraphAddMemAllocNode);
    atomic_store(&state.in_graphs, true);
    return real(node, graph, behind, count, how);
}

/* What CUgraphNodeParams begins with is its kind. */
SHIM_EXPORT int cuGraphAddNode(void **node, void *graph, const void *const *behind, size_t count, int *how);
int cuGraphAddNode(void **node, void *graph, const void *const *behind, size_t count, int *how)
{
    int (*real)(void **, void *, const void *const *, size_t, int *) = below(LOOKED_AT_cuGraphAddNode);
    if (how && *how == ALLOCATES)
        atomic_store(&state.in_graphs, true);
    return real(node, graph, behind, count, how);
}

SHIM_EXPORT int cuGraphAddNode_v2(void **node, void *graph, const void *const *behind, const void *edges, size_t count,
                                  int *how);
int cuGraphAddNode_v2(void **node, void *graph, const void *const *behind, const void *edges, size_t count, int *how)
{
    int (*real)(void **, void *, const void *const *, const void *, size_t, int *) = below(LOOKED_AT_cuGraphAddNode_v2);
    if (how && *how == ALLOCATES)
        atomic_store(&state.in_graphs, true);
    return real(node, graph, behind, edges, count, how);
}

SHIM_EXPORT int cuDeviceGraphMemTrim(int device);
int cuDeviceGraphMemTrim(int device)
{
    int (*real)(int) = below(LOOKED_AT_cuDeviceGraphMemTrim);
    int error = real(device);
    if (atomic_load(&state.in_graphs))
        look_at_graphs(device);
    return error;
}

/* The head of CUmemAllocationProp. */
struct allocation {
    int type, handles, place, number;
};

SHIM_EXPORT int cuMemCreate(uint64_t *handle, size_t bytes, const struct allocation *how, uint64_t flags);
int cuMemCreate(uint64_t *handle, size_t bytes, const struct allocation *how, uint64_t flags)
{
    int (*real)(uint64_t *, size_t, const struct allocation *, uint64_t) = below(LOOKED_AT_cuMemCreate);
    if (!handle || !how || how->place != ON_DEVICE)
        return real(handle, bytes, how, flags);
    enum grant grant = reserve(bytes);
    if (grant == REFUSED)
        return OUT_OF_MEMORY;
    int error = real(handle, bytes, how, flags);
    return settle(grant, error, HANDLE, *handle, bytes);
}

SHIM_EXPORT int cuMemRetainAllocationHandle(uint64_t *handle, void *address);
int cuMemRetainAllocationHandle(uint64_t *handle, void *address)
{
    int (*real)(uint64_t *, void *) = below(LOOKED_AT_cuMemRetainAllocationHandle);
    int error = real(handle, address);
    if (error == BELOW_OK)
        retain(HANDLE, *handle);
    return error;
}

SHIM_EXPORT int cuMemRelease(uint64_t handle);
int cuMemRelease(uint64_t handle)
{
    int (*real)(uint64_t) = below(LOOKED_AT_cuMemRelease);
    struct taken taken;
    take_out(&taken, HANDLE, handle);
    return settle_free(real(handle), &taken);
}

/* CUDA_ARRAY_DESCRIPTOR and the head of CUDA_ARRAY3D_DESCRIPTOR. */
struct flat {
    size_t width, height;
    unsigned format, channels;
};
struct deep {
    size_t width, height, depth;
    unsigned format, channels;
};

/* CUarray_format: of 8, 16 and 32 bits; others are counted as the smallest. */
static uint64_t bytes_of(size_t width, size_t height, size_t depth, unsigned format, unsigned channels)
{
    uint64_t element = format == 3 || format == 10 || format == 32  ? 4
                       : format == 2 || format == 9 || format == 16 ? 2
                                                                    : 1;
    return element * channels * width * (height ? height : 1) * (depth ? depth : 1);
}

SHIM_EXPORT int cuArrayCreate_v2(void **array, const struct flat *from);
int cuArrayCreate_v2(void **array, const struct flat *from)
{
    int (*real)(void **, const struct flat *) = below(LOOKED_AT_cuArrayCreate_v2);
    uint64_t bytes = from ? bytes_of(from->width, from->height, 0, from->format, from->channels) : 0;
    if (!array || !from)
        return real(array, from);
    enum grant grant = reserve(bytes);
    if (grant == REFUSED)
        return OUT_OF_MEMORY;
    int error = real(array, from);
    return settle(grant, error, ARRAY, (uint64_t)(uintptr_t)*array, bytes);
}

SHIM_EXPORT int cuArray3DCreate_v2(void **array, const struct deep *from);
int cuArray3DCreate_v2(void **array, const struct deep *from)
{
    int (*real)(void **, const struct deep *) = below(LOOKED_AT_cuArray3DCreate_v2);
    uint64_t bytes = from ? bytes_of(from->width, from->height, from->depth, from->format, from->channels) : 0;
    if (!array || !from)
        return real(array, from);
    enum grant grant = reserve(bytes);
    if (grant == REFUSED)
        return OUT_OF_MEMORY;
    int error = real(array, from);
    return settle(grant, error, ARRAY, (uint64_t)(uintptr_t)*array, bytes);
}

SHIM_EXPORT int cuArrayDestroy(void *array);
int cuArrayDestroy(void *array)
{
    int (*real)(void *) = below(LOOKED_AT_cuArrayDestroy);
    struct taken taken;
    take_out(&taken, ARRAY, (uint64_t)(uintptr_t)array);
    return settle_free(real(array), &taken);
}

/* Within a limit, a GPU that is as large as that, and has free what is left of it. */
SHIM_EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *all_bytes);
int cuMemGetInfo_v2(size_t *free_bytes, size_t *all_bytes)
{
    int (*real)(size_t *, size_t *) = below(LOOKED_AT_cuMemGetInfo_v2);
    uint64_t limit, used;
    int error = real(free_bytes, all_bytes);
    if (error != BELOW_OK || !free_bytes || !all_bytes)
        return error;
    pthread_mutex_lock(&state.lock);
    if (govern_room(atomic_load(&state.total), &limit, &used)) {
        uint64_t left = used < limit ? limit - used : 0;
        *all_bytes = *all_bytes < limit ? *all_bytes : limit;
        *free_bytes = *free_bytes < left ? *free_bytes : left;
    }
    pthread_mutex_unlock(&state.lock);
    return error;
}
