/* SPDX-License-Identifier: MIT */
/*
 * Plain loads and stores without timing: one element for each lane or loads of several words, as wide as its register or extended to 32 bits, in memory that
 * the SM found last, in shared memory or in the parameters. What is not so plain, and what may be a fault, is left to access.c.
 */
#include "isa/elements.h"
#include "isa/executor.h"

#include "base/bits.h"

/* What an access comes to: host bytes of the space, and how many there are from `first` on. */
struct place {
    uint8_t *host;
    uint64_t first, bytes;
    bool counts; /* global memory: its bytes are counted */
};

/* False: it takes a closer look. */
static inline bool find_place(const struct corun_warp *warp, const struct operation *op, struct place *place)
{
    const struct corun_tb *tb = warp->tb;
    const struct launch *launch = tb->launch;
    const struct executor_sm *sm = tb->sm;
    if (op->space == CORUN_SPACE_SHARED) {
        *place = (struct place){tb->shared, 0, launch->grid.tb_shared_bytes, false};
        return !launch->kernel->maps;
    }
    if (op->space == CORUN_SPACE_CONSTANT && op->variant & MEMORY_PARAMETER) {
        *place = (struct place){launch->parameters, 0, launch->parameter_bytes, false};
        return true;
    }
    /* An address in a window is in no allocation. */
    const struct memory_cache *cache = &sm->caches[warp->stack.pc % MEMORY_CACHES];
    *place = (struct place){cache->host, cache->base, cache->bytes, op->space != CORUN_SPACE_CONSTANT};
    return sm->direct && !launch->kernel->maps;
}

/* NULL: not all of it is there. */
static inline uint8_t *host_of(const struct place *place, uint64_t address, uint64_t bytes)
{
    uint64_t offset = address - place->first;
    return offset < place->bytes && bytes <= place->bytes - offset && !(address & (bytes - 1)) ? place->host + offset
                                                                                               : NULL;
}

/* The same of a row, whose elements have so many bytes. */
static inline uint8_t *row_of(const struct place *place, uint64_t address, uint64_t bytes, uint64_t each)
{
    uint64_t offset = address - place->first;
    return offset < place->bytes && bytes <= place->bytes - offset && !(address & (each - 1)) ? place->host + offset
                                                                                              : NULL;
}

/* Lanes side by side. */
static inline bool is_row(uint32_t mask)
{
    uint32_t at_bottom = mask >> lowest_bit(mask);
    return (at_bottom & (at_bottom + 1)) == 0;
}

/* Has been moved, at addresses of that shape. */
static inline void note_moved(const struct corun_warp *warp, const struct operation *op, const struct place *place,
                              uint32_t mask, const uint64_t *address, uint32_t shape)
{
    struct executor_sm *sm = warp->tb->sm;
    uint32_t bytes = (uint32_t)op->width_bytes * op->vector;
    if (!place->counts)
        return;
    sm->global_bytes += (uint64_t)count_bits(mask) * bytes;
    if (sm->touch)
        access_touch(sm, address, mask, shape, bytes, op->kind == OPERATION_STORE);
}

typedef uint32_t word __attribute__((may_alias));
typedef uint64_t pair __attribute__((may_alias));

#define LANES_OF(mask, body) \
    if ((mask) == CORUN_FULL_MASK) { \
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++) \
            body \
    } else { \
        for (uint32_t rest = (mask); rest; rest &= rest - 1) { \
            uint32_t lane = lowest_bit(rest); \
            body \
        } \
    }

/* The usual lengths without a loop. */
#define ROW_OF(count, body) \
    if ((count) == CORUN_WARP_LANES) { \
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++) \
            body \
    } else if ((count) == CORUN_WARP_LANES / 2) { \
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES / 2; lane++) \
            body \
    } else { \
        for (uint32_t lane = 0; lane < (count); lane++) \
            body \
    }

/*
 * Rows for each element type. All lanes have been looked up before anything is moved: the address may be in a register that the load
 * writes, and access.c begins anew.
 */
#define ELEMENT(name, type, to_register) \
    static void broadcast_##name(void *to, const uint8_t *host, uint32_t mask) \
    { \
        type value; \
        memcpy(&value, host, sizeof value); \
        to_register *lanes = to, extended = (to_register)value; \
        LANES_OF(mask, { lanes[lane] = extended; }) \
    } \
    static void load_row_##name(void *to, const uint8_t *host, uint32_t first, uint32_t lanes_in_row) \
    { \
        to_register *lanes = (to_register *)to + first; \
        ROW_OF(lanes_in_row, { \
            type value; \
            memcpy(&value, host + lane * sizeof value, sizeof value); \
            lanes[lane] = (to_register)value; \
        }) \
    } \
    static void gather_##name(void *to, const struct place *place, const uint64_t *address, uint32_t mask) \
    { \
        to_register *lanes = to; \
        LANES_OF(mask, { \
            type value; \
            memcpy(&value, place->host + (address[lane] - place->first), sizeof value); \
            lanes[lane] = (to_register)value; \
        }) \
    } \
    static void store_row_##name(uint8_t *host, const void *from, uint32_t first, uint32_t lanes_in_row) \
    { \
        const to_register *lanes = (const to_register *)from + first; \
        ROW_OF(lanes_in_row, { \
            type value = (type)lanes[lane]; \
            memcpy(host + lane * sizeof value, &value, sizeof value); \
        }) \
    } \
    static void scatter_##name(const struct place *place, const void *from, const uint64_t *address, uint32_t mask) \
    { \
        const to_register *lanes = from; \
        LANES_OF(mask, { \
            type value = (type)lanes[lane]; \
            memcpy(place->host + (address[lane] - place->first), &value, sizeof value); \
        }) \
    }

ELEMENT(u8, uint8_t, word)
ELEMENT(s8, int8_t, word)
ELEMENT(u16, uint16_t, word)
ELEMENT(s16, int16_t, word)
ELEMENT(32, uint32_t, word)
ELEMENT(64, uint64_t, pair)

struct element_functions {
    void (*broadcast)(void *to, const uint8_t *host, uint32_t mask);
    void (*load_row)(void *to, const uint8_t *host, uint32_t first, uint32_t lanes_in_row);
    void (*gather)(void *to, const struct place *place, const uint64_t *address, uint32_t mask);
    void (*store_row)(uint8_t *host, const void *from, uint32_t first, uint32_t lanes_in_row);
    void (*scatter)(const struct place *place, const void *from, const uint64_t *address, uint32_t mask);
};

#define FUNCTIONS(name) \
    { \
        broadcast_##name, load_row_##name, gather_##name, store_row_##name, scatter_##name \
    }
static const struct element_functions functions[] = {
    [ELEMENT_U8] = FUNCTIONS(u8),   [ELEMENT_S8] = FUNCTIONS(s8), [ELEMENT_U16] = FUNCTIONS(u16),
    [ELEMENT_S16] = FUNCTIONS(s16), [ELEMENT_32] = FUNCTIONS(32), [ELEMENT_64] = FUNCTIONS(64)};

/* Where each row of a whole warp is. */
struct rows {
    uint32_t count, lanes; /* lanes of each */
    uint8_t *host[CORUN_WARP_LANES / 8];
};

/* False: the lanes are no rows, or one is not there. */
static inline bool find_rows(const struct executor_sm *sm, const struct place *place, const uint64_t *address,
                             uint32_t mask, uint32_t width, struct rows *rows)
{
    if (mask != CORUN_FULL_MASK || !(rows->lanes = sm->shapes->rows(address, (uint32_t)__builtin_ctz(width))))
        return false;
    rows->count = 0;
    for (uint32_t at = 0; at < CORUN_WARP_LANES; at += rows->lanes)
        if (!(rows->host[rows->count++] = row_of(place, address[at], (uint64_t)width * rows->lanes, width)))
            return false;
    return true;
}

static inline bool reaches(const struct executor_sm *sm, const struct place *place, const uint64_t *address,
                           uint32_t mask, uint32_t width)
{
    const struct span span = {place->first, place->bytes, width};
    return sm->shapes->reach(address, mask, &span);
}

static inline uint32_t addresses_of(const struct corun_warp *warp, const struct operation *op, uint32_t mask,
                                    uint64_t *address)
{
    return warp->tb->sm->shapes->find(lanes_source(&warp->lanes, op->source[0]), op->variant & MEMORY_ADDRESS_32,
                                      (uint64_t)op->offset, address, mask,
                                      (uint32_t)__builtin_ctz((uint32_t)op->width_bytes * op->vector));
}

/* Several words for each lane, of which all lanes load the same or the whole warp a row. */
static bool load_vector(const struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    uint64_t address[CORUN_WARP_LANES];
    uint32_t bytes = 4u * op->vector, first = lowest_bit(mask), shape = SHAPE_UNIFORM;
    struct place place;
    if (!find_place(warp, op, &place))
        return false;
    if (op->source[0] & OPERAND_CONSTANT)
        address[first] = (uint64_t)op->offset + *(const pair *)lanes_source(&warp->lanes, op->source[0]);
    else
        shape = addresses_of(warp, op, mask, address);
    bool uniform = shape & SHAPE_UNIFORM;
    if (!uniform && (!(shape & SHAPE_UNIT) || mask != CORUN_FULL_MASK))
        return false;
    const uint8_t *host = row_of(&place, address[first], uniform ? bytes : bytes * CORUN_WARP_LANES, bytes);
    if (!host)
        return false;
    for (uint32_t element = 0; element < op->vector; element++, host += 4) {
        uint16_t slot = element_slot(op, element, op->destination);
        if (slot == OPERAND_DISCARD)
            continue;
        if (uniform)
            broadcast_32(lanes_destination(&warp->lanes, slot), host, mask);
        else
            for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
                memcpy((uint8_t *)lanes_destination(&warp->lanes, slot) + (size_t)4 * lane, host + (size_t)bytes * lane,
                       4);
    }
    note_moved(warp, op, &place, mask, address, shape);
    return true;
}

/* As rows, or lane by lane. */
static inline bool load_apart(const struct executor_sm *sm, const struct element_functions *element, void *to,
                              const struct place *place, const uint64_t *address, uint32_t mask, uint32_t width)
{
    struct rows rows;
    if (find_rows(sm, place, address, mask, width, &rows)) {
        for (uint32_t i = 0; i < rows.count; i++)
            element->load_row(to, rows.host[i], i * rows.lanes, rows.lanes);
        return true;
    }
    if (!reaches(sm, place, address, mask, width))
        return false;
    element->gather(to, place, address, mask);
    return true;
}

bool access_load_quick(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    if (op->quick == ELEMENT_WORDS)
        return load_vector(warp, op, mask);
    const struct element_functions *element = &functions[op->quick];
    void *to = lanes_destination(&warp->lanes, op->destination);
    uint64_t address[CORUN_WARP_LANES], width = op->width_bytes;
    struct place place;
    if (!find_place(warp, op, &place))
        return false;
    uint32_t first = lowest_bit(mask), shape = SHAPE_UNIFORM;
    if (op->source[0] & OPERAND_CONSTANT)
        address[first] = (uint64_t)op->offset + *(const pair *)lanes_source(&warp->lanes, op->source[0]);
    else
        shape = addresses_of(warp, op, mask, address);
    if (shape & SHAPE_UNIFORM) {
        const uint8_t *host = host_of(&place, address[first], width);
        if (!host)
            return false;
        element->broadcast(to, host, mask);
    } else if (shape & SHAPE_UNIT && is_row(mask)) {
        const uint8_t *host = row_of(&place, address[first], width * count_bits(mask), width);
        if (!host)
            return false;
        element->load_row(to, host, first, count_bits(mask));
    } else if (!load_apart(warp->tb->sm, element, to, &place, address, mask, op->width_bytes)) {
        return false;
    }
    note_moved(warp, op, &place, mask, address, shape);
    return true;
}

/* As rows, or lane by lane. */
static inline bool store_apart(const struct executor_sm *sm, const struct element_functions *element, const void *from,
                               const struct place *place, const uint64_t *address, uint32_t mask, uint32_t width)
{
    struct rows rows;
    if (find_rows(sm, place, address, mask, width, &rows)) {
        for (uint32_t i = 0; i < rows.count; i++)
            element->store_row(rows.host[i], from, i * rows.lanes, rows.lanes);
        return true;
    }
    if (!reaches(sm, place, address, mask, width))
        return false;
    element->scatter(place, from, address, mask);
    return true;
}

bool access_store_quick(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    const struct element_functions *element = &functions[op->quick];
    const void *from = lanes_source(&warp->lanes, op->source[1]);
    uint64_t address[CORUN_WARP_LANES], width = op->width_bytes;
    struct place place;
    if (op->source[0] & OPERAND_CONSTANT || !find_place(warp, op, &place))
        return false;
    uint32_t shape = addresses_of(warp, op, mask, address);
    if (shape & SHAPE_UNIT && is_row(mask)) {
        uint32_t first = lowest_bit(mask);
        uint8_t *host = row_of(&place, address[first], width * count_bits(mask), width);
        if (!host)
            return false;
        element->store_row(host, from, first, count_bits(mask));
    } else if (!store_apart(warp->tb->sm, element, from, &place, address, mask, op->width_bytes)) {
        return false;
    }
    note_moved(warp, op, &place, mask, address, shape);
    return true;
}

static bool adds_words(const struct operation *op)
{
    return op->extra[0] == ATOMIC_ADD && op->width_bytes == 4 && !(op->extend & EXTEND_WIDE) &&
           (op->extra[1] == PTX_TYPE_U32 || op->extra[1] == PTX_TYPE_S32);
}

/* Lane by lane, in the order of lanes: they may change one word. */
bool access_atomic_quick(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    const struct lanes *lanes = &warp->lanes;
    struct executor_sm *sm = warp->tb->sm;
    uint64_t address[CORUN_WARP_LANES];
    struct place place;
    if (op->vector != 1 || op->width_bytes > 8 || op->source[0] & OPERAND_CONSTANT || sm->touch ||
        !find_place(warp, op, &place))
        return false;
    addresses_of(warp, op, mask, address);
    if (!reaches(sm, &place, address, mask, op->width_bytes))
        return false;
    const bool words = adds_words(op);
    const uint32_t *added = lanes_source(lanes, op->source[1]);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        uint8_t *host = place.host + (address[lane] - place.first);
        struct atomic_value old = {0, 0}, c = {0, 0};
        if (words) {
            uint32_t value;
            memcpy(&value, host, sizeof value);
            old.low = value;
            value += added[lane];
            memcpy(host, &value, sizeof value);
        } else {
            if (op->extra[0] == ATOMIC_COMPARE)
                c = element_operand(lanes, op, 2, lane);
            old = atomic_apply_any(op, host, element_operand(lanes, op, 1, lane), c, place.counts);
        }
        element_result(lanes, op, lane, old);
    }
    if (place.counts)
        sm->global_bytes += (uint64_t)count_bits(mask) * 2 * op->width_bytes; /* read and written */
    return true;
}
