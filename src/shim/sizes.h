/* SPDX-License-Identifier: MIT */
/*
 * Sizes of allocations by their addresses, in a table without locks. An address has a few places there, in a line of the cache; whoever finds none keeps the size elsewhere. An address
 * is put in by one thread at a time, and taken by one. What every allocation runs is here.
 */
#ifndef CORUN_SHIM_SIZES_H
#define CORUN_SHIM_SIZES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SIZES_LINE_BITS 10
#define SIZES_LINES (1u << SIZES_LINE_BITS)
#define SIZES_PLACES 4u

struct sizes_line {
    struct {
        _Atomic uint64_t address, bytes; /* address 0: the place is nobody's */
    } places[SIZES_PLACES];
};
extern struct sizes_line sizes_lines[SIZES_LINES];

/* Twice: addresses at equal distances would be in few lines, some of them. */
static inline struct sizes_line *sizes_line_of(uint64_t address)
{
    const uint64_t golden = UINT64_C(11400714819323198485); /* 2^64 times the golden section */
    uint64_t mixed = address * golden;
    return &sizes_lines[(mixed ^ mixed >> 32) * golden >> (64 - SIZES_LINE_BITS)];
}

/* False: there is no place. Neither address nor bytes are 0. */
static inline bool sizes_put(uint64_t address, uint64_t bytes)
{
    struct sizes_line *line = sizes_line_of(address);
    for (uint32_t i = 0; i < SIZES_PLACES; i++) {
        uint64_t nobody = 0;
        if (atomic_load_explicit(&line->places[i].address, memory_order_relaxed) ||
            !atomic_compare_exchange_strong(&line->places[i].address, &nobody, address))
            continue;
        atomic_store_explicit(&line->places[i].bytes, bytes, memory_order_release);
        return true;
    }
    return false;
}

/* What was put in at that place, which somebody else may take meanwhile: then 0. */
static inline uint64_t sizes_take_from(struct sizes_line *line, uint32_t place, uint64_t address)
{
    uint64_t bytes = atomic_load_explicit(&line->places[place].bytes, memory_order_acquire);
    return atomic_compare_exchange_strong(&line->places[place].address, &address, 0) ? bytes : 0;
}

/* Of an address that is in the table, and then no more; 0: it is not. */
static inline uint64_t sizes_take(uint64_t address)
{
    struct sizes_line *line = sizes_line_of(address);
    for (uint32_t i = 0; i < SIZES_PLACES && address; i++)
        if (atomic_load_explicit(&line->places[i].address, memory_order_relaxed) == address)
            return sizes_take_from(line, i, address);
    return 0;
}

/* Takes all those that `is_gone` says, which it is asked of each. Their bytes together. */
uint64_t sizes_take_gone(bool (*is_gone)(uint64_t address));

#endif
