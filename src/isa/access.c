/* SPDX-License-Identifier: MIT */
/*
 * Loads, stores and atomics of all spaces.
 *
 * The addresses of a warp are computed for all lanes at once, then their shape decides: all equal (one read, one bounds
 * check), one after the other (a copy of whole rows, one bounds check), or anything else (lane by lane).
 */
#include "isa/cluster.h"
#include "isa/elements.h"

#include "base/bits.h"

#include <string.h>

/* Where an address leads. CORUN_SPACE_CONSTANT and TEXTURE variables are in memory like global ones. */
enum path { PATH_MEMORY, PATH_SHARED, PATH_LOCAL, PATH_PARAMETER };

struct access {
    struct corun_warp *warp;
    const struct operation *op;
    struct executor_sm *sm;
    struct memory_cache *cache;
    uint64_t *address;        /* without window bits */
    const uint8_t *lane_path; /* not NULL: lanes disagree, enum path of each */
    uint32_t mask;
    uint32_t bytes; /* per lane */
    uint32_t shape; /* enum shape, of the lanes that take part */
    enum path path;
    uint32_t remote; /* lanes of the mask whose address is in shared memory of another thread block */
    const char *what;
};

static const uint8_t path_space[] = {CORUN_SPACE_GLOBAL, CORUN_SPACE_SHARED, CORUN_SPACE_LOCAL, CORUN_SPACE_CONSTANT};

static bool raise(const struct access *access, uint32_t lane, enum path path)
{
    enum corun_space space = access->op->space;
    uint64_t address = access->address[lane];
    bool misaligned = address % access->bytes;
    if (space == CORUN_SPACE_GENERIC)
        space = path_space[path];
    if (path == PATH_PARAMETER && *access->what != 'l')
        fault_raise(access->warp, lane,
                    "%s of %u bytes at offset 0x%llx of the kernel's parameters, which can only be read", access->what,
                    access->bytes, (unsigned long long)address);
    else if (path == PATH_LOCAL && *access->what == 'a')
        fault_raise(access->warp, lane,
                    "atomic of %u bytes at local address 0x%llx: atomics need global or shared memory", access->bytes,
                    (unsigned long long)address);
    else if (path == PATH_PARAMETER)
        fault_raise(access->warp, lane, "%s%s of %u bytes at offset 0x%llx of the kernel's %u bytes of parameters%s",
                    misaligned ? "misaligned " : "", access->what, access->bytes, (unsigned long long)address,
                    access->warp->tb->launch->parameter_bytes, misaligned ? "" : " is out of bounds");
    else
        fault_access(access->warp, lane, space, access->what, address, access->bytes);
    return false;
}

/* Of one lane, for spaces that are contiguous; NULL if out of bounds or misaligned. */
static inline uint8_t *lane_host(const struct access *access, enum path path, uint64_t address, uint64_t bytes)
{
    const struct corun_tb *tb = access->warp->tb;
    if (path == PATH_MEMORY)
        return memory_lookup(access->sm->memory, access->cache, address, bytes);
    if (path == PATH_SHARED) {
        uint64_t limit = tb->launch->grid.tb_shared_bytes;
        return bytes <= limit && address <= limit - bytes ? tb->shared + address : NULL;
    }
    uint64_t limit = tb->launch->parameter_bytes;
    return bytes <= limit && address <= limit - bytes ? tb->launch->parameters + address : NULL;
}

static inline bool local_in_bounds(const struct corun_warp *warp, uint64_t address, uint32_t bytes)
{
    uint64_t limit = warp->tb->launch->local_bytes;
    return bytes <= limit && address <= limit - bytes;
}

static inline uint8_t *local_byte(const struct corun_warp *warp, uint32_t lane, uint64_t address)
{
    return warp->local + (address >> 2) * (CORUN_WARP_LANES * 4) + lane * 4 + (address & 3);
}

static void local_read(const struct corun_warp *warp, uint32_t lane, uint64_t address, uint8_t *to, uint32_t bytes)
{
    if (bytes < 4) {
        memcpy(to, local_byte(warp, lane, address), bytes);
        return;
    }
    for (uint32_t i = 0; i < bytes; i += 4)
        memcpy(to + i, local_byte(warp, lane, address + i), 4);
}

static void local_write(const struct corun_warp *warp, uint32_t lane, uint64_t address, const uint8_t *from,
                        uint32_t bytes)
{
    if (bytes < 4) {
        memcpy(local_byte(warp, lane, address), from, bytes);
        return;
    }
    for (uint32_t i = 0; i < bytes; i += 4)
        memcpy(local_byte(warp, lane, address + i), from + i, 4);
}

static inline uint32_t compute_addresses(const struct corun_warp *warp, const struct operation *op, uint32_t mask,
                                         uint32_t bytes, uint64_t *address)
{
    uint64_t offset = (uint64_t)op->offset;
    if (op->variant & MEMORY_FRAME)
        offset += warp->frame;
    const void *base = lanes_source(&warp->lanes, op->source[0]);
    if (op->source[0] & OPERAND_CONSTANT) { /* always pairs */
        offset += *(const uint64_t *)base;
        for (uint32_t i = 0; i < CORUN_WARP_LANES; i++)
            address[i] = offset;
        return SHAPE_UNIFORM;
    }
    return warp->tb->sm->shapes->find(base, op->variant & MEMORY_ADDRESS_32, offset, address, mask,
                                      (uint32_t)__builtin_ctz(bytes));
}

static enum path path_of_window(uint64_t window)
{
    switch (window) {
    case WINDOW_SHARED:
        return PATH_SHARED;
    case WINDOW_LOCAL:
        return PATH_LOCAL;
    case WINDOW_PARAMETER:
        return PATH_PARAMETER;
    default:
        return PATH_MEMORY; /* what is no window at all is out of bounds there */
    }
}

/* Finds the path of a generic access and takes off the window. */
static void resolve_generic(struct access *access, uint8_t *lane_path)
{
    uint64_t *address = access->address;
    uint64_t first = address[lowest_bit(access->mask)] >> WINDOW_SHIFT, differ = 0;
    for (uint32_t rest = access->mask; rest; rest &= rest - 1)
        differ |= (address[lowest_bit(rest)] >> WINDOW_SHIFT) ^ first;
    access->path = path_of_window(first);
    if (!differ && access->path == PATH_MEMORY)
        return;
    for (uint32_t rest = access->mask; rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        enum path path = path_of_window(address[lane] >> WINDOW_SHIFT);
        lane_path[lane] = (uint8_t)path;
        if (path != PATH_MEMORY)
            address[lane] &= ~WINDOW_BASE(UINT64_C(0xff));
    }
    if (differ)
        access->lane_path = lane_path;
}

/* Which lanes name shared memory of other thread blocks. False: a fault was raised. */
static __attribute__((noinline)) bool find_remote(struct access *access)
{
    uint32_t shared = access->lane_path ? 0 : access->path == PATH_SHARED ? access->mask : 0;
    for (uint32_t rest = access->lane_path ? access->mask : 0; rest; rest &= rest - 1)
        if (access->lane_path[lowest_bit(rest)] == PATH_SHARED)
            shared |= rest & -rest;
    return cluster_split(access->warp, access->address, shared, &access->remote);
}

static bool begin(struct access *access, struct corun_warp *warp, const struct operation *op, uint32_t mask,
                  uint64_t *address, uint8_t *lane_path)
{
    access->warp = warp;
    access->op = op;
    access->sm = warp->tb->sm;
    access->cache = &access->sm->caches[warp->stack.pc % MEMORY_CACHES];
    access->address = address;
    access->lane_path = NULL;
    access->mask = mask;
    access->bytes = (uint32_t)op->width_bytes * op->vector;
    access->shape = compute_addresses(warp, op, mask, access->bytes, address);
    switch (op->space) {
    case CORUN_SPACE_SHARED:
        access->path = PATH_SHARED;
        break;
    case CORUN_SPACE_LOCAL:
        access->path = PATH_LOCAL;
        break;
    case CORUN_SPACE_CONSTANT:
        access->path = op->variant & MEMORY_PARAMETER ? PATH_PARAMETER : PATH_MEMORY;
        break;
    case CORUN_SPACE_GENERIC:
        resolve_generic(access, lane_path);
        break;
    default:
        access->path = PATH_MEMORY;
    }
    access->remote = 0;
    return !warp->tb->launch->kernel->maps || find_remote(access);
}

/* What the machine sees: device addresses that the caches can use. */
static void report(const struct access *access, struct corun_issue *result)
{
    const struct corun_warp *warp = access->warp;
    const struct corun_tb *tb = warp->tb;
    result->space = access->op->space == CORUN_SPACE_GENERIC ? path_space[access->path] : access->op->space;
    if (access->lane_path)
        result->space = CORUN_SPACE_GENERIC;
    result->shape = access->lane_path || access->path == PATH_LOCAL ? 0 : (uint8_t)access->shape;
    if (!access->lane_path && (access->path == PATH_MEMORY || access->path == PATH_SHARED))
        return;
    const struct launch *launch = tb->launch;
    if (!access->lane_path && access->path == PATH_PARAMETER) {
        for (uint64_t lane = 0, parameters = launch->instance->parameter_address; lane < CORUN_WARP_LANES; lane++)
            access->address[lane] += parameters; /* also of lanes that do not take part: no branch */
        return;
    }
    uint64_t local = ((uint64_t)(memory_application(access->sm->memory) + 1) << CORUN_APPLICATION_SHIFT) + LOCAL_FIRST;
    local += (uint64_t)(tb->home % LOCAL_SMS) << LOCAL_SM_SHIFT;
    local += (((uint64_t)tb->ordinal * launch->grid.tb_warps + warp->index) * launch->warp_local_bytes) &
             ((UINT64_C(1) << LOCAL_SM_SHIFT) - 1);
    for (uint32_t rest = access->mask; rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        uint64_t *address = &access->address[lane];
        enum path path = access->lane_path ? access->lane_path[lane] : access->path;
        if (access->lane_path)
            result->lane_space[lane] = path_space[path];
        if (path == PATH_PARAMETER)
            *address += tb->launch->instance->parameter_address;
        else if (path == PATH_LOCAL)
            *address = local + (*address >> 2) * (CORUN_WARP_LANES * 4) + lane * 4 + (*address & 3);
    }
}

/* What a run without timing counts: bytes that lanes moved from and to global memory, `times` each. */
static inline void count_bytes(const struct access *access, uint32_t times)
{
    if (access->op->space == CORUN_SPACE_CONSTANT)
        return;
    uint32_t lanes = access->mask;
    if (access->lane_path) {
        for (uint32_t rest = access->mask; rest; rest &= rest - 1) {
            if (access->lane_path[lowest_bit(rest)] != PATH_MEMORY)
                lanes &= ~(rest & -rest);
        }
    } else if (access->path != PATH_MEMORY) {
        return;
    }
    access->sm->global_bytes += (uint64_t)count_bits(lanes) * access->bytes * times;
}

void access_touch(const struct executor_sm *sm, const uint64_t *address, uint32_t mask, uint32_t shape, uint32_t bytes,
                  bool store)
{
    uint32_t first = lowest_bit(mask), last = 31u - (uint32_t)__builtin_clz(mask);
    bool gaps = mask != CORUN_FULL_MASK && mask & (mask + (1u << first)); /* nothing is stored there */
    if (shape & SHAPE_UNIFORM || (shape & SHAPE_UNIT && !(store && gaps))) {
        uint32_t lanes = shape & SHAPE_UNIFORM ? 1 : last - first + 1;
        sm->touch(sm->touch_user, address[first], lanes * bytes, store);
        return;
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        sm->touch(sm->touch_user, address[lowest_bit(rest)], bytes, store);
}

static void touch(const struct access *access, bool store)
{
    uint32_t lanes = access->path == PATH_MEMORY ? access->mask : 0, shape = access->shape;
    if (access->lane_path) {
        lanes = shape = 0;
        for (uint32_t rest = access->mask; rest; rest &= rest - 1)
            if (access->lane_path[lowest_bit(rest)] == PATH_MEMORY)
                lanes |= rest & -rest;
    }
    if (lanes)
        access_touch(access->sm, access->address, lanes, shape, access->bytes, store);
}

/* A run without timing has made an access, which moves its bytes `times`. */
static inline void note_untimed(const struct access *access, uint32_t times, bool store)
{
    count_bytes(access, times);
    if (access->sm->touch && access->op->space != CORUN_SPACE_CONSTANT)
        touch(access, store);
}

/* One value for all lanes of the mask. */
static inline void broadcast(const struct access *access, const uint8_t *bytes)
{
    const struct operation *op = access->op;
    for (uint32_t element = 0; element < op->vector; element++) {
        uint16_t slot = element_slot(op, element, op->destination);
        if (slot == OPERAND_DISCARD)
            continue;
        uint64_t value = element_read(bytes + element * op->width_bytes, op->width_bytes);
        value = element_extend(value, op);
        uint32_t mask = access->mask;
        bool full = mask == CORUN_FULL_MASK;
        if (op->extend & EXTEND_WIDE) {
            uint64_t *to = lanes_destination(&access->warp->lanes, slot);
            for (uint32_t i = 0; i < CORUN_WARP_LANES; i++)
                to[i] = full || mask >> i & 1 ? value : to[i];
        } else {
            uint32_t *to = lanes_destination(&access->warp->lanes, slot);
            for (uint32_t i = 0; i < CORUN_WARP_LANES; i++)
                to[i] = full || mask >> i & 1 ? (uint32_t)value : to[i];
        }
    }
}

/* Loads of lanes that lie one after the other: `from` has the data of lane `first`. */
static void load_rows(const struct access *access, const uint8_t *from, uint32_t first, uint32_t last)
{
    const struct operation *op = access->op;
    uint32_t mask = access->mask;
    if (op->vector == 1 && op->width_bytes == 4 && !(op->extend & EXTEND_WIDE) && op->destination != OPERAND_DISCARD) {
        uint32_t *to = lanes_destination(&access->warp->lanes, op->destination);
        if (mask == CORUN_FULL_MASK) {
            memcpy(to, from, 4 * CORUN_WARP_LANES);
            return;
        }
        for (uint32_t i = first; i <= last; i++)
            if (mask >> i & 1)
                memcpy(&to[i], from + 4 * (i - first), 4);
        return;
    }
    if (op->vector == 1 && op->width_bytes == 8 && mask == CORUN_FULL_MASK && op->destination != OPERAND_DISCARD) {
        memcpy(lanes_destination(&access->warp->lanes, op->destination), from, 8 * CORUN_WARP_LANES);
        return;
    }
    for (uint32_t element = 0; element < op->vector; element++) {
        uint16_t slot = element_slot(op, element, op->destination);
        if (slot == OPERAND_DISCARD)
            continue;
        const uint8_t *source = from + element * op->width_bytes;
        if (op->width_bytes == 4 && !(op->extend & EXTEND_WIDE) && mask == CORUN_FULL_MASK) {
            uint32_t *to = lanes_destination(&access->warp->lanes, slot);
            for (uint32_t i = 0; i < CORUN_WARP_LANES; i++)
                memcpy(&to[i], source + (size_t)i * access->bytes, 4);
            continue;
        }
        for (uint32_t rest = mask; rest; rest &= rest - 1) {
            uint32_t lane = lowest_bit(rest);
            uint64_t value = element_read(source + (size_t)(lane - first) * access->bytes, op->width_bytes);
            element_set(&access->warp->lanes, op, slot, lane, element_extend(value, op));
        }
    }
}

static void store_rows(const struct access *access, uint8_t *to, uint32_t first, uint32_t last)
{
    const struct operation *op = access->op;
    uint32_t mask = access->mask;
    if (op->vector == 1 && op->width_bytes == 4 && !(op->extend & EXTEND_WIDE)) {
        const uint32_t *from = lanes_source(&access->warp->lanes, op->source[1]);
        if (mask == CORUN_FULL_MASK) {
            memcpy(to, from, 4 * CORUN_WARP_LANES);
            return;
        }
        for (uint32_t i = first; i <= last; i++)
            if (mask >> i & 1)
                memcpy(to + 4 * (i - first), &from[i], 4);
        return;
    }
    if (op->vector == 1 && op->width_bytes == 8 && mask == CORUN_FULL_MASK) {
        memcpy(to, lanes_source(&access->warp->lanes, op->source[1]), 8 * CORUN_WARP_LANES);
        return;
    }
    for (uint32_t element = 0; element < op->vector; element++) {
        uint16_t slot = element_slot(op, element, op->source[1]);
        uint8_t *destination = to + element * op->width_bytes;
        if (op->width_bytes == 4 && !(op->extend & EXTEND_WIDE) && mask == CORUN_FULL_MASK) {
            const uint32_t *from = lanes_source(&access->warp->lanes, slot);
            for (uint32_t i = 0; i < CORUN_WARP_LANES; i++)
                memcpy(destination + (size_t)i * access->bytes, &from[i], 4);
            continue;
        }
        for (uint32_t rest = mask; rest; rest &= rest - 1) {
            uint32_t lane = lowest_bit(rest);
            uint64_t value = element_get(&access->warp->lanes, op, slot, lane);
            element_write(value, destination + (size_t)(lane - first) * access->bytes, op->width_bytes);
        }
    }
}

/* Loads that need no look at each lane. False: go lane by lane (which also finds out who is at fault). */
static bool load_together(const struct access *access)
{
    const struct operation *op = access->op;
    uint32_t first = lowest_bit(access->mask), last = 31u - (uint32_t)__builtin_clz(access->mask);
    uint64_t base = access->address[first];
    if (base & (access->bytes - 1))
        return false;
    if (access->shape & SHAPE_UNIFORM) {
        if (access->path == PATH_LOCAL) {
            if (access->bytes != 4 || op->vector != 1 || op->extend & EXTEND_WIDE || access->mask != CORUN_FULL_MASK ||
                op->destination == OPERAND_DISCARD || !local_in_bounds(access->warp, base, 4))
                return false;
            memcpy(lanes_destination(&access->warp->lanes, op->destination), local_byte(access->warp, 0, base),
                   SLOT_BYTES);
            return true;
        }
        const uint8_t *host = lane_host(access, access->path, base, access->bytes);
        if (!host)
            return false;
        if (access->path == PATH_MEMORY && store_buffer_may_hold(&access->sm->stores, base, access->bytes))
            return false;
        broadcast(access, host);
        return true;
    }
    if (access->path == PATH_LOCAL || !(access->shape & SHAPE_UNIT))
        return false;
    uint32_t bytes = (last - first + 1) * access->bytes;
    const uint8_t *host = lane_host(access, access->path, base, bytes);
    if (!host)
        return false;
    if (access->path == PATH_MEMORY && store_buffer_may_hold(&access->sm->stores, base, bytes)) {
        uint8_t copy[CORUN_WARP_LANES * 32];
        memcpy(copy, host, bytes);
        store_buffer_overlay(&access->sm->stores, base, copy, bytes);
        load_rows(access, copy, first, last);
        return true;
    }
    load_rows(access, host, first, last);
    return true;
}

/* Whether this is one word per lane of global or shared memory: the common case of scattered accesses. */
static inline bool is_plain_word(const struct access *access, uint16_t slot)
{
    const struct operation *op = access->op;
    return op->vector == 1 && op->width_bytes == 4 && !(op->extend & EXTEND_WIDE) && slot != OPERAND_DISCARD &&
           !access->lane_path && (access->path == PATH_MEMORY || access->path == PATH_SHARED);
}

/* Where the lanes' words lie, from address *first on: shared memory, or the first one's allocation. NULL: one does not, or is not aligned. */
static uint8_t *find_words(const struct access *access, uint64_t *first)
{
    const uint64_t *address = access->address;
    uint64_t bytes = access->warp->tb->launch->grid.tb_shared_bytes, bad = 0;
    uint8_t *host = access->warp->tb->shared;
    *first = 0;
    if (access->path == PATH_MEMORY) {
        if (!lane_host(access, PATH_MEMORY, address[lowest_bit(access->mask)], 4))
            return NULL;
        host = access->cache->host;
        *first = access->cache->base;
        bytes = access->cache->bytes;
    }
    uint64_t last = bytes - 4, base = *first;
#define BAD(lane) ((uint64_t)(address[lane] - base > last) | (address[lane] & 3))
    if (access->mask == CORUN_FULL_MASK) /* without an exit: SIMD */
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
            bad |= BAD(lane);
    else
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
            bad |= BAD(lane) & -(uint64_t)(access->mask >> lane & 1u);
#undef BAD
    return bytes < 4 || bad ? NULL : host;
}

/* False: something is not as usual, and load_lanes has to look at each lane. */
static bool gather_words(const struct access *access)
{
    uint32_t *to = lanes_destination(&access->warp->lanes, access->op->destination);
    const struct store_buffer *stores = &access->sm->stores;
    uint64_t first;
    const uint8_t *host = find_words(access, &first);
    if (!host)
        return false;
    for (uint32_t rest = access->path == PATH_MEMORY && stores->count ? access->mask : 0; rest; rest &= rest - 1)
        if (store_buffer_may_hold(stores, access->address[lowest_bit(rest)], 4))
            return false;
    if (access->mask == CORUN_FULL_MASK)
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
            memcpy(&to[lane], host + (access->address[lane] - first), 4);
    else
        for (uint32_t rest = access->mask; rest; rest &= rest - 1)
            memcpy(&to[lowest_bit(rest)], host + (access->address[lowest_bit(rest)] - first), 4);
    return true;
}

/* The same for stores that act at once. */
static bool scatter_words(const struct access *access)
{
    const uint32_t *from = lanes_source(&access->warp->lanes, access->op->source[1]);
    uint64_t first;
    uint8_t *host = find_words(access, &first);
    for (uint32_t rest = host ? access->mask : 0; rest; rest &= rest - 1)
        memcpy(host + (access->address[lowest_bit(rest)] - first), &from[lowest_bit(rest)], 4);
    return host != NULL;
}

static bool load_lanes(const struct access *access)
{
    const struct operation *op = access->op;
    struct corun_warp *warp = access->warp;
    const struct store_buffer *stores = &access->sm->stores;
    if (is_plain_word(access, op->destination) && gather_words(access))
        return true;
    for (uint32_t rest = access->mask; rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        enum path path = access->lane_path ? access->lane_path[lane] : access->path;
        uint64_t address = access->address[lane];
        uint8_t copy[32];
        const uint8_t *bytes = copy;
        if (address & (access->bytes - 1))
            return raise(access, lane, path);
        if (path == PATH_LOCAL) {
            if (!local_in_bounds(warp, address, access->bytes))
                return raise(access, lane, path);
            local_read(warp, lane, address, copy, access->bytes);
        } else {
            bytes = lane_host(access, path, address, access->bytes);
            if (!bytes && path != PATH_PARAMETER)
                bytes = outside_find(warp, path == PATH_SHARED, address, access->bytes, false);
            if (!bytes)
                return raise(access, lane, path);
            if (path == PATH_MEMORY && store_buffer_may_hold(stores, address, access->bytes)) {
                memcpy(copy, bytes, access->bytes);
                store_buffer_overlay(stores, address, copy, access->bytes);
                bytes = copy;
            }
        }
        elements_load(&access->warp->lanes, access->op, lane, bytes);
    }
    return true;
}

/* The lanes whose bytes may be waiting for an atomic, among those that go to memory. */
static uint32_t lanes_behind_atomics(const struct access *access)
{
    const struct pending *pending = &access->sm->pending;
    uint32_t lanes = 0;
    for (uint32_t rest = access->mask; rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        if ((access->lane_path ? access->lane_path[lane] : access->path) == PATH_MEMORY &&
            pending_may_hold(pending, access->address[lane], access->bytes))
            lanes |= 1u << lane;
    }
    return lanes;
}

/* Loads again what lanes load that may come behind atomics. All addresses are known to be good. */
static void load_behind_atomics(const struct access *access)
{
    for (uint32_t rest = lanes_behind_atomics(access); rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        uint64_t address = access->address[lane];
        struct memory_cache cache = {0};
        const uint8_t *host = memory_find(access->sm->memory, &cache, address, access->bytes);
        uint8_t bytes[32];
        if (!host) /* beside an allocation */
            continue;
        memcpy(bytes, host, access->bytes);
        store_buffer_overlay(&access->sm->stores, address, bytes, access->bytes);
        pending_load(access->sm, access->warp, address, bytes, access->bytes);
        elements_load(&access->warp->lanes, access->op, lane, bytes);
    }
}

typedef bool access_function(struct corun_warp *warp, const struct operation *op, uint32_t mask,
                             struct corun_issue *result, bool timed);

/* Some lanes go to other thread blocks of the cluster: first those that do not, in the usual way. */
static bool access_remote(const struct access *access, access_function *usual, struct corun_issue *result, bool timed)
{
    uint64_t address[CORUN_WARP_LANES];
    uint32_t here = access->mask & ~access->remote;
    memcpy(address, access->address, sizeof address);
    if (here && !usual(access->warp, access->op, here, result, timed))
        return false;
    if (timed) {
        if (here && result->space != CORUN_SPACE_GENERIC)
            memset(result->lane_space, result->space, sizeof result->lane_space);
        result->space = CORUN_SPACE_GENERIC;
        result->shape = 0;
    }
    return cluster_access(access->warp, access->op, access->mask, access->remote, address, result, timed);
}

bool access_load(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result,
                 bool timed)
{
    uint64_t addresses[CORUN_WARP_LANES];
    uint8_t lane_path[CORUN_WARP_LANES];
    struct access access;
    access.what = "load";
    if (!begin(&access, warp, op, mask, timed ? result->address : addresses, lane_path))
        return false;
    if (access.remote)
        return access_remote(&access, access_load, result, timed);
    if (access.lane_path || !load_together(&access))
        if (!load_lanes(&access))
            return false;
    if (access.sm->pending.count && (access.path == PATH_MEMORY || access.lane_path))
        load_behind_atomics(&access);
    if (!timed)
        note_untimed(&access, 1, false);
    else if (!(op->variant & MEMORY_SILENT))
        report(&access, result);
    return true;
}

/* Puts bytes into memory, or into the store buffer of the SM. */
static inline bool put(const struct access *access, uint64_t address, uint8_t *host, const uint8_t *from,
                       uint32_t bytes)
{
    if (access->sm->direct) {
        memcpy(host, from, bytes);
        return true;
    }
    if (store_buffer_write(&access->sm->stores, address, host, from, bytes))
        return true;
    fault_raise(access->warp, lowest_bit(access->mask), "the host is out of memory");
    return false;
}

/* 1: done; 0: go lane by lane; -1: fault. */
static int store_together(const struct access *access)
{
    const struct operation *op = access->op;
    uint32_t first = lowest_bit(access->mask), last = 31u - (uint32_t)__builtin_clz(access->mask);
    uint64_t base = access->address[first];
    if (base & (access->bytes - 1))
        return 0;
    if (access->path == PATH_LOCAL) {
        if (access->bytes != 4 || op->vector != 1 || op->extend & EXTEND_WIDE || access->mask != CORUN_FULL_MASK ||
            !(access->shape & SHAPE_UNIFORM) || !local_in_bounds(access->warp, base, 4))
            return 0;
        memcpy(local_byte(access->warp, 0, base), lanes_source(&access->warp->lanes, op->source[1]), SLOT_BYTES);
        return 1;
    }
    if (access->path == PATH_PARAMETER || !(access->shape & SHAPE_UNIT))
        return 0;
    uint32_t bytes = (last - first + 1) * access->bytes;
    uint8_t *host = lane_host(access, access->path, base, bytes);
    if (!host)
        return 0;
    if (access->path == PATH_SHARED || access->sm->direct) {
        store_rows(access, host, first, last);
        return 1;
    }
    uint32_t span = last - first + 1;
    if (access->mask >> first != (span == 32 ? CORUN_FULL_MASK : (1u << span) - 1))
        return 0; /* holes would be written too */
    uint8_t copy[CORUN_WARP_LANES * 32];
    store_rows(access, copy, first, last);
    return put(access, base, host, copy, bytes) ? 1 : -1;
}

static bool store_lanes(const struct access *access)
{
    const struct operation *op = access->op;
    if (is_plain_word(access, op->source[1]) && (access->sm->direct || access->path == PATH_SHARED) &&
        scatter_words(access))
        return true;
    for (uint32_t rest = access->mask; rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        enum path path = access->lane_path ? access->lane_path[lane] : access->path;
        uint64_t address = access->address[lane];
        uint8_t bytes[32];
        if (address & (access->bytes - 1) || path == PATH_PARAMETER)
            return raise(access, lane, path);
        elements_store(&access->warp->lanes, op, lane, bytes);
        if (path == PATH_LOCAL) {
            if (!local_in_bounds(access->warp, address, access->bytes))
                return raise(access, lane, path);
            local_write(access->warp, lane, address, bytes, access->bytes);
            continue;
        }
        uint8_t *host = lane_host(access, path, address, access->bytes);
        if (!host)
            host = outside_find(access->warp, path == PATH_SHARED, address, access->bytes, true);
        if (!host)
            return raise(access, lane, path);
        if (path == PATH_SHARED)
            memcpy(host, bytes, access->bytes);
        else if (!put(access, address, host, bytes, access->bytes))
            return false;
    }
    return true;
}

bool access_store(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result,
                  bool timed)
{
    uint64_t addresses[CORUN_WARP_LANES];
    uint8_t lane_path[CORUN_WARP_LANES];
    struct access access;
    access.what = "store";
    if (!begin(&access, warp, op, mask, timed ? result->address : addresses, lane_path))
        return false;
    if (access.remote)
        return access_remote(&access, access_store, result, timed);
    if (access.sm->pending.count && (access.path == PATH_MEMORY || access.lane_path))
        for (uint32_t rest = lanes_behind_atomics(&access); rest; rest &= rest - 1)
            pending_store(access.sm, warp, access.address[lowest_bit(rest)], access.bytes);
    int done = access.lane_path ? 0 : store_together(&access);
    if (done < 0 || (done == 0 && !store_lanes(&access)))
        return false;
    if (!timed)
        note_untimed(&access, 1, true);
    else if (!(op->variant & MEMORY_SILENT))
        report(&access, result);
    return true;
}

bool access_atomic(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result,
                   bool timed)
{
    uint64_t addresses[CORUN_WARP_LANES];
    uint8_t lane_path[CORUN_WARP_LANES];
    uint8_t *host[CORUN_WARP_LANES];
    struct access access;
    access.what = "atomic";
    if (!begin(&access, warp, op, mask, timed ? result->address : addresses, lane_path))
        return false;
    if (access.remote)
        return access_remote(&access, access_atomic, result, timed);
    uint32_t global = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        enum path path = access.lane_path ? lane_path[lane] : access.path;
        uint64_t address = access.address[lane];
        if (address & (access.bytes - 1) || path == PATH_LOCAL || path == PATH_PARAMETER)
            return raise(&access, lane, path);
        host[lane] = lane_host(&access, path, address, access.bytes);
        if (!host[lane])
            host[lane] = outside_find(warp, path == PATH_SHARED, address, access.bytes, true);
        if (!host[lane])
            return raise(&access, lane, path);
        if (path == PATH_MEMORY)
            global |= 1u << lane;
    }
    if (!timed)
        note_untimed(&access, 2, true); /* read and written */
    struct atomic_ticket *ticket = NULL;
    bool later = global && !access.sm->direct;
    if (later) {
        result->ticket = atomic_pool_take(&access.sm->atomics);
        if (result->ticket == UINT32_MAX) {
            fault_raise(warp, lowest_bit(mask), "the host is out of memory");
            return false;
        }
        ticket = &access.sm->atomics.tickets[result->ticket];
        ticket->op = op;
        ticket->warp = warp;
        ticket->lanes = global;
        ticket->remote = 0;
        ticket->performed = 0;
        ticket->barriers_met = warp->tb->barriers_met;
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        struct atomic_value b = element_operand(&warp->lanes, op, 1, lane), c = {0, 0};
        if (op->extra[0] == ATOMIC_COMPARE)
            c = element_operand(&warp->lanes, op, 2, lane);
        if (later && global >> lane & 1) {
            ticket->host[lane] = host[lane];
            ticket->b[lane] = b.low;
            ticket->c[lane] = c.low;
            ticket->high[lane].b = b.high;
            ticket->high[lane].c = c.high;
            ticket->high[lane].old = 0;
            ticket->old[lane] = 0; /* until it is performed: a checkpoint has it */
            ticket->address[lane] = access.address[lane];
            if (pending_add(&access.sm->pending, access.address[lane], access.bytes, result->ticket, lane))
                continue;
            fault_raise(warp, lane, "the host is out of memory");
            return false;
        }
        element_result(&warp->lanes, op, lane, atomic_apply_any(op, host[lane], b, c, global >> lane & 1));
    }
    if (timed)
        report(&access, result);
    return true;
}

bool access_read(struct corun_warp *warp, uint32_t lane, uint64_t address, void *destination, uint32_t bytes)
{
    enum path path = path_of_window(address >> WINDOW_SHIFT);
    struct memory_cache cache = {0};
    const struct access access = {.warp = warp, .sm = warp->tb->sm, .cache = &cache};
    if (path != PATH_MEMORY)
        address &= ~WINDOW_BASE(UINT64_C(0xff));
    if (path == PATH_LOCAL) {
        if (!local_in_bounds(warp, address, bytes))
            return false;
        for (uint32_t i = 0; i < bytes; i++)
            ((uint8_t *)destination)[i] = *local_byte(warp, lane, address + i);
        return true;
    }
    const uint8_t *host = path == PATH_MEMORY ? memory_find(access.sm->memory, &cache, address, bytes)
                                              : lane_host(&access, path, address, bytes);
    if (!host)
        return false;
    memcpy(destination, host, bytes);
    if (path == PATH_MEMORY)
        store_buffer_overlay(&access.sm->stores, address, destination, bytes);
    return true;
}
