/* SPDX-License-Identifier: MIT */
/* A cell for each unit of memory, in pages that are found by a hash. */
#include "record/shadow.h"

#include "base/bits.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_SHIFT 12u
#define FIRST_SLOTS 64u
#define SEVERAL 63u /* in place of a warp */
#define ORDERED 0x80u

/* Thread blocks are numbered through all launches, from 1 on; the number behind those of a launch stands for several of it. */
struct cell {
    uint32_t writer, writer_moment, reader, reader_moment; /* moment: barriers, and the warp in its low six bits */
    uint8_t kind;                                          /* of the last writer: 0: a store */
    bool changed; /* a thread block has written it first in one way, then in another */
    bool unordered;
};

struct page {
    uint64_t number; /* of the address; from 1 on */
    struct cell *cells;
};

struct record_shadow {
    uint32_t shift; /* of a unit */
    uint32_t first, several;
    bool forgets, unordered;
    struct page *pages; /* by hash */
    size_t slots, used;
    struct page last;
};

struct record_shadow *record_shadow_create(uint32_t bytes)
{
    struct record_shadow *shadow = calloc(1, sizeof *shadow);
    struct page *pages = calloc(FIRST_SLOTS, sizeof *pages);
    if (!shadow || !pages) {
        free(shadow);
        free(pages);
        return NULL;
    }
    shadow->shift = lowest_bit(bytes);
    shadow->several = 0;
    shadow->pages = pages;
    shadow->slots = FIRST_SLOTS;
    return shadow;
}

void record_shadow_destroy(struct record_shadow *shadow)
{
    if (!shadow)
        return;
    for (size_t i = 0; i < shadow->slots; i++)
        free(shadow->pages[i].cells);
    free(shadow->pages);
    free(shadow);
}

bool record_shadow_launch(struct record_shadow *shadow, uint32_t tb_count, bool forgets)
{
    if (tb_count >= UINT32_MAX - 1 - shadow->several)
        return false;
    shadow->first = shadow->several + 1;
    shadow->several = shadow->first + tb_count;
    shadow->forgets = forgets;
    return true;
}

bool record_shadow_is_unordered(const struct record_shadow *shadow)
{
    return shadow->unordered;
}

static struct page *find_slot(struct page *pages, size_t slots, uint64_t number)
{
    size_t slot = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (slots - 1);
    while (pages[slot].number && pages[slot].number != number)
        slot = (slot + 1) & (slots - 1);
    return &pages[slot];
}

static bool grow(struct record_shadow *shadow)
{
    size_t slots = 2 * shadow->slots;
    struct page *pages = calloc(slots, sizeof *pages);
    if (!pages)
        return false;
    for (size_t i = 0; i < shadow->slots; i++)
        if (shadow->pages[i].number)
            *find_slot(pages, slots, shadow->pages[i].number) = shadow->pages[i];
    free(shadow->pages);
    shadow->pages = pages;
    shadow->slots = slots;
    return true;
}

/* The cells of a page; NULL: out of memory. */
static struct cell *cells_of(struct record_shadow *shadow, uint64_t address)
{
    uint64_t number = (address >> PAGE_SHIFT) + 1;
    if (shadow->last.number == number)
        return shadow->last.cells;
    struct page *page = find_slot(shadow->pages, shadow->slots, number);
    if (!page->number) {
        struct cell *cells = calloc((size_t)1 << (PAGE_SHIFT - shadow->shift), sizeof *cells);
        if (!cells)
            return NULL;
        *page = (struct page){number, cells};
        shadow->used++;
        if (2 * shadow->used > shadow->slots && !grow(shadow))
            return NULL;
        page = find_slot(shadow->pages, shadow->slots, number);
    }
    shadow->last = *page;
    return page->cells;
}

/* Neither comes before the other: `tb` and `moment` are those of who was there, in this launch. */
static enum record_conflict meets(const struct record_shadow *shadow, uint32_t tb, uint32_t moment, uint32_t own_tb,
                                  uint32_t own_moment)
{
    if (tb < shadow->first)
        return RECORD_NO_CONFLICT;
    if (tb != own_tb)
        return RECORD_OTHER_TB;
    return moment >> 6 == own_moment >> 6 && moment != own_moment ? RECORD_OTHER_WARP : RECORD_NO_CONFLICT;
}

/* Who was there, now that one more has come. */
static void join(const struct record_shadow *shadow, uint32_t *tb, uint32_t *moment, uint32_t own_tb,
                 uint32_t own_moment)
{
    switch (meets(shadow, *tb, *moment, own_tb, own_moment)) {
    case RECORD_OTHER_TB:
        *tb = shadow->several;
        break;
    case RECORD_OTHER_WARP:
        *moment |= SEVERAL;
        break;
    default:
        *tb = own_tb;
        *moment = own_moment;
    }
}

static enum record_conflict load(const struct record_shadow *shadow, struct cell *cell, uint32_t tb, uint32_t moment)
{
    bool stale = shadow->forgets && cell->writer < shadow->first;
    enum record_conflict conflict = meets(shadow, cell->writer, cell->writer_moment, tb, moment);
    if (!conflict && cell->unordered && !stale)
        conflict = RECORD_UNORDERED;
    join(shadow, &cell->reader, &cell->reader_moment, tb, moment);
    return conflict;
}

static enum record_conflict change(struct record_shadow *shadow, struct cell *cell, uint32_t tb, uint32_t moment,
                                   uint32_t kind)
{
    enum record_conflict conflict = meets(shadow, cell->reader, cell->reader_moment, tb, moment);
    if (conflict)
        return conflict;
    bool first = cell->writer < shadow->first, same = kind == cell->kind;
    conflict = meets(shadow, cell->writer, cell->writer_moment, tb, moment);
    if (first)
        cell->changed = false;
    if (kind & ORDERED || (conflict && (!kind || !same)) || (conflict == RECORD_OTHER_TB && cell->changed)) {
        cell->unordered = true;
        shadow->unordered = true;
    } else if ((first && shadow->forgets) || (!kind && !conflict)) {
        cell->unordered = false;
    }
    cell->changed |= !first && !same;
    cell->kind = (uint8_t)kind;
    join(shadow, &cell->writer, &cell->writer_moment, tb, moment);
    return RECORD_NO_CONFLICT;
}

enum record_conflict record_shadow_access(struct record_shadow *shadow, const struct record_actor *actor,
                                          enum record_access access, uint32_t kind, uint64_t address, uint32_t bytes)
{
    uint32_t tb = shadow->first + actor->tb, moment = actor->barriers << 6 | actor->warp;
    uint64_t unit = UINT64_C(1) << shadow->shift, end = address + bytes;
    for (address &= ~(unit - 1); address < end; address += unit) {
        struct cell *cells = cells_of(shadow, address);
        if (!cells)
            return RECORD_NO_MEMORY;
        struct cell *cell = &cells[(address & ((UINT64_C(1) << PAGE_SHIFT) - 1)) >> shadow->shift];
        enum record_conflict conflict =
            access == RECORD_LOAD ? load(shadow, cell, tb, moment) : change(shadow, cell, tb, moment, kind);
        if (conflict)
            return conflict;
    }
    return RECORD_NO_CONFLICT;
}
