/* SPDX-License-Identifier: MIT */
/*
 * A recorded grid as a source of warp instructions: what the record says happens, in its order, at the time that the machine decides. Nothing is
 * computed, so there are no stores to commit and no atomics to perform.
 */
#include "base/bits.h"
#include "record/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAULT_BYTES 512u

/* A launch of the record. */
struct record_launch {
    struct corun_grid grid; /* first: the machine hands it back */
    struct record_kernel *kernel;
    struct record_launch *next; /* of the kernel */
    const struct record_launch_row *row;
    uint32_t *starts; /* pieces in which thread blocks begin, by their place among those of the launch */
    uint32_t start_count;
    struct record_piece *places[]; /* pieces in memory, by their place */
};

/* What an SM keeps of a kernel: thread blocks that have ended. */
struct sm_places {
    struct corun_tb *free, *all;
    uint32_t made;
};

struct record_kernel {
    struct record_file *file;
    const struct corun_grid *grid;
    struct record_grid_facts facts;
    uint64_t base; /* of the application's range */
    struct sm_places *sms;
    uint32_t sm_count;
    struct record_launch *launches;
};

struct corun_warp {
    uint32_t pc, lanes, lanes_before;
    uint32_t run; /* plain instructions that follow */
    const uint8_t *control, *control_end, *addresses, *addresses_end;
    const struct corun_instruction *code;
    uint32_t code_length;
    uint32_t index, piece_number; /* of the launch's pieces */
    struct record_piece *piece;   /* NULL: there is none, it cannot be read */
    uint64_t base, local;         /* what addresses of the application, and of the warp's local memory, are told from */
    uint64_t passed;              /* words, for digests */
    struct corun_tb *tb;
    uint64_t places[RECORD_PLACES];
};

struct corun_tb {
    struct record_launch *launch;
    struct corun_tb *next_free, *next_made;
    uint32_t index, sm;
    uint32_t home, ordinal; /* name its place in the local memory range, as those of the executor do */
    char fault[FAULT_BYTES];
    struct corun_warp warps[];
};

static struct record_launch *launch_of(const struct corun_grid *grid)
{
    return (struct record_launch *)(uintptr_t)grid;
}

static enum corun_status attach(const struct corun_grid *grid, uint32_t sm_count, uint32_t clock_khz)
{
    (void)clock_khz;
    struct record_kernel *kernel = launch_of(grid)->kernel;
    if (sm_count <= kernel->sm_count)
        return CORUN_OK;
    struct sm_places *sms = realloc(kernel->sms, sm_count * sizeof *sms);
    if (!sms)
        return CORUN_MEMORY;
    memset(sms + kernel->sm_count, 0, (sm_count - kernel->sm_count) * sizeof *sms);
    kernel->sms = sms;
    kernel->sm_count = sm_count;
    return CORUN_OK;
}

/* The piece in which a thread block begins. */
static uint32_t find_piece(const struct record_launch *launch, uint32_t tb)
{
    const struct record_piece_row *pieces = launch->kernel->file->pieces + launch->row->first_piece;
    uint32_t low = 0, high = launch->start_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (pieces[launch->starts[middle]].first_tb <= tb)
            low = middle;
        else
            high = middle;
    }
    return launch->starts[low];
}

static struct record_piece *take_piece(struct record_launch *launch, uint32_t number, uint32_t users)
{
    return record_piece_take(launch->kernel->file, launch->row->first_piece + number, launch->row->tb_warps,
                             &launch->places[number], users);
}

static void read_from(struct corun_warp *warp, struct record_piece *piece, uint32_t number)
{
    const struct record_span *span =
        &piece->spans[(size_t)(warp->tb->index - piece->first_tb) * warp->tb->launch->row->tb_warps + warp->index];
    warp->piece = piece;
    warp->piece_number = number;
    warp->control = span->control;
    warp->control_end = span->control_end;
    warp->addresses = span->addresses;
    warp->addresses_end = span->addresses_end;
}

static struct corun_tb *make_tb(struct record_launch *launch, struct sm_places *places, uint32_t sm)
{
    struct corun_tb *tb = calloc(1, sizeof *tb + launch->grid.tb_warps * sizeof tb->warps[0]);
    if (!tb)
        return NULL;
    tb->home = sm;
    tb->ordinal = places->made++;
    tb->next_made = places->all;
    places->all = tb;
    return tb;
}

static void begin_warp(struct corun_tb *tb, uint32_t index)
{
    const struct record_launch *launch = tb->launch;
    const struct record_kernel *kernel = launch->kernel;
    const struct record_grid_facts *facts = &kernel->facts;
    uint64_t number = (uint64_t)tb->ordinal * launch->grid.tb_warps + index;
    uint64_t local = facts->local_first + ((uint64_t)(tb->home % facts->local_sms) << facts->local_sm_shift) +
                     (number * facts->warp_local_bytes & ((UINT64_C(1) << facts->local_sm_shift) - 1));
    tb->warps[index] = (struct corun_warp){.code = launch->grid.code,
                                           .code_length = launch->grid.code_length,
                                           .index = index,
                                           .base = kernel->base,
                                           .local = kernel->base + local,
                                           .tb = tb};
}

static struct corun_tb *tb_begin(const struct corun_grid *grid, uint32_t index, uint32_t sm, struct corun_warp **warps)
{
    struct record_launch *launch = launch_of(grid);
    struct sm_places *places = &launch->kernel->sms[sm];
    struct corun_tb *tb = places->free;
    if (tb)
        places->free = tb->next_free;
    else if (!(tb = make_tb(launch, places, sm)))
        return NULL;
    tb->launch = launch;
    tb->index = index;
    tb->sm = sm;
    uint32_t number = find_piece(launch, index);
    struct record_piece *piece = take_piece(launch, number, grid->tb_warps);
    for (uint32_t i = 0; i < grid->tb_warps; i++) {
        begin_warp(tb, i);
        if (piece)
            read_from(&tb->warps[i], piece, number);
        warps[i] = &tb->warps[i];
    }
    return tb;
}

static void tb_end(struct corun_tb *tb)
{
    struct record_kernel *kernel = tb->launch->kernel;
    for (uint32_t i = 0; i < tb->launch->grid.tb_warps; i++)
        if (tb->warps[i].piece)
            record_piece_give(kernel->file, tb->warps[i].piece, 1);
    tb->next_free = kernel->sms[tb->sm].free;
    kernel->sms[tb->sm].free = tb;
}

static void tb_move(struct corun_tb *tb, uint32_t sm)
{
    tb->sm = sm;
}

static void warp_place(struct corun_warp *warp, uint32_t warp_slot, uint32_t sm_count, const uint64_t *cycle)
{
    (void)warp;
    (void)warp_slot;
    (void)sm_count;
    (void)cycle;
}

static uint32_t warp_pc(const struct corun_warp *warp)
{
    return warp->pc;
}

/* Each word of a record is passed once, so a digest that comes back is that of a warp that stands. */
static uint64_t warp_state(const struct corun_warp *warp)
{
    return warp->passed << 8 | warp->run;
}

/* ---- one instruction ---- */

/* Up to ten bytes; there are as many behind each stream. */
static inline uint64_t number_at(const uint8_t **at)
{
    const uint8_t *next = *at;
    uint64_t number = *next & 0x7f;
    for (uint32_t shift = 7; *next & 0x80 && shift < 64; shift += 7)
        number |= (uint64_t)(*++next & 0x7f) << shift;
    *at = next + 1;
    return number;
}

static inline uint64_t difference_at(const uint8_t **at)
{
    return record_unfold(number_at(at));
}

static void damaged(struct corun_warp *warp, struct corun_issue *result)
{
    snprintf(warp->tb->fault, sizeof warp->tb->fault, "record %s is damaged, or cannot be read: thread block %u",
             warp->tb->launch->kernel->file->path, warp->tb->index);
    result->active = 0;
    result->outcome = CORUN_OUTCOME_FAULT;
    result->pc = warp->pc;
    result->jumped = result->diverged = false;
}

/* What is added to an address of the record. */
static uint64_t origin(const struct corun_warp *warp, uint32_t space)
{
    return space == CORUN_SPACE_LOCAL ? warp->local : record_is_ranged(space) ? warp->base : 0;
}

/* The lanes behind the first one, whose address is `first`: `type` each, times 1 << shift. */
#define READ_DISTANCES(type) \
    for (; rest; rest &= rest - 1, at += sizeof(type)) { \
        type distance; \
        memcpy(&distance, at, sizeof distance); \
        address[lowest_bit(rest)] = first + ((uint64_t)(int64_t)distance << shift); \
    }

/* The same where all lanes are active. */
#define READ_ALL_DISTANCES(type) \
    for (uint32_t lane = 1; lane < CORUN_WARP_LANES; lane++) { \
        type distance; \
        memcpy(&distance, at + (lane - 1) * sizeof distance, sizeof distance); \
        address[lane] = first + ((uint64_t)(int64_t)distance << shift); \
    } \
    at += (CORUN_WARP_LANES - 1) * sizeof(type);

#define READ(type) \
    if (lanes == CORUN_FULL_MASK) { \
        READ_ALL_DISTANCES(type) \
    } else { \
        READ_DISTANCES(type) \
    }

static void read_distances(struct corun_warp *warp, uint64_t first, uint64_t *address)
{
    const uint8_t *at = warp->addresses;
    uint32_t lanes = warp->lanes, rest = lanes & (lanes - 1), width = *at & 3u, shift = *at >> 2;
    at++;
    address[lowest_bit(lanes)] = first;
    if (width == 0) {
        READ(int8_t)
    } else if (width == 1) {
        READ(int16_t)
    } else if (width == 2) {
        READ(int32_t)
    } else {
        READ(int64_t)
    }
    warp->addresses = at;
}

static void address_list(struct corun_warp *warp, bool mixed, uint64_t address, struct corun_issue *result)
{
    uint32_t lanes = warp->lanes;
    read_distances(warp, address + (mixed ? 0 : origin(warp, result->space)), result->address);
    for (uint32_t rest = lanes; mixed && rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest), space = *warp->addresses++;
        /* Of those that a generic address can have; what a damaged record says is none of others. */
        space = space == CORUN_SPACE_SHARED || space == CORUN_SPACE_LOCAL ? space : CORUN_SPACE_GLOBAL;
        result->lane_space[lane] = (uint8_t)space;
        result->address[lane] += origin(warp, space);
    }
}

/* Addresses of two lanes, as every 64-bit host adds them at once. */
typedef uint64_t address_pair __attribute__((vector_size(16)));

/* Of all lanes, whether they are active or not: without a branch. */
static void put_row(uint64_t *address, uint64_t first, uint64_t stride)
{
    address_pair pair = {first, first + stride}, step = {2 * stride, 2 * stride};
    for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane += 2, pair += step)
        memcpy(&address[lane], &pair, sizeof pair);
}

static void access(struct corun_warp *warp, uint32_t word, uint32_t space, struct corun_issue *result)
{
    const struct corun_instruction *code = &warp->code[warp->pc];
    uint64_t *place = &warp->places[record_place(warp->pc)];
    uint64_t address = *place += difference_at(&warp->addresses), stride = 0;
    result->space = (uint8_t)(word == RECORD_MIXED ? CORUN_SPACE_GENERIC : space);
    result->shape = 0;
    if (word == RECORD_LIST || word == RECORD_MIXED) {
        address_list(warp, word == RECORD_MIXED, address, result);
        return;
    }
    address += origin(warp, space);
    if (word == RECORD_UNIFORM) {
        result->shape = CORUN_SHAPE_UNIFORM;
    } else if (word == RECORD_UNIT) {
        result->shape = CORUN_SHAPE_UNIT;
        stride = code->access_bytes;
    } else {
        stride = difference_at(&warp->addresses);
    }
    put_row(result->address, address - stride * lowest_bit(warp->lanes), stride);
}

/* The instruction at the warp's pc was run; the next one is `pc`. */
static bool go_on(struct corun_warp *warp, uint64_t pc, struct corun_issue *result)
{
    if (pc >= warp->code_length)
        return false;
    result->active = warp->lanes;
    result->jumped = pc != warp->pc + 1;
    result->pc = warp->pc = (uint32_t)pc;
    return true;
}

/* The rest of the warp is in the next piece. */
static bool take_next_piece(struct corun_warp *warp)
{
    struct record_launch *launch = warp->tb->launch;
    uint32_t next = warp->piece_number + 1;
    if (next >= launch->row->piece_count || launch->kernel->file->pieces[launch->row->first_piece + next].tb_count)
        return false;
    struct record_piece *piece = take_piece(launch, next, 1);
    if (!piece)
        return false;
    record_piece_give(launch->kernel->file, warp->piece, 1);
    read_from(warp, piece, next);
    return true;
}

static bool meet(struct corun_warp *warp, struct corun_issue *result)
{
    uint32_t which = *warp->control++;
    result->outcome = CORUN_OUTCOME_BARRIER;
    result->barrier = (uint8_t)(which & 0x7f);
    result->barrier_waits = which & 0x80;
    result->barrier_threads = (uint32_t)number_at(&warp->control);
    return result->barrier < CORUN_MEETINGS;
}

/* Words that say something of the next one. False: there are none of these. */
static bool prepare(struct corun_warp *warp, uint32_t word, uint64_t *next, uint32_t *space, bool *good)
{
    uint32_t before = warp->lanes_before;
    switch (word) {
    case RECORD_SWAP:
        warp->lanes_before = warp->lanes;
        warp->lanes = before;
        return true;
    case RECORD_LANES:
        warp->lanes_before = warp->lanes;
        memcpy(&warp->lanes, warp->control, sizeof warp->lanes);
        warp->control += sizeof warp->lanes;
        return true;
    case RECORD_THEN:
        *next += difference_at(&warp->control);
        return true;
    case RECORD_SPACE:
        *space = *warp->control++;
        *good = *space < CORUN_SPACE_COUNT && *space != CORUN_SPACE_CLUSTER && *space != CORUN_SPACE_GENERIC;
        return true;
    case RECORD_PART:
        *good = take_next_piece(warp);
        return true;
    default:
        return false;
    }
}

static bool run_word(struct corun_warp *warp, uint32_t word, uint64_t next, uint32_t space, struct corun_issue *result)
{
    switch (word) {
    case RECORD_JUMP:
        return go_on(warp, next + difference_at(&warp->control), result);
    case RECORD_DIVERGE:
        result->diverged = true;
        return go_on(warp, next + difference_at(&warp->control), result);
    case RECORD_BARRIER:
        return meet(warp, result) && go_on(warp, next, result);
    case RECORD_EXIT:
        result->outcome = CORUN_OUTCOME_EXIT;
        return go_on(warp, warp->pc, result);
    case RECORD_UNIFORM:
    case RECORD_UNIT:
    case RECORD_STRIDE:
    case RECORD_LIST:
    case RECORD_MIXED:
        if (!warp->lanes || !record_accesses(&warp->code[warp->pc]) ||
            (space == CORUN_SPACE_GENERIC && word != RECORD_MIXED))
            return false;
        access(warp, word, space, result);
        return go_on(warp, next, result);
    default:
        return false;
    }
}

/* The words of one instruction, or of the first of several plain ones. */
static __attribute__((noinline)) void read_words(struct corun_warp *warp, struct corun_issue *result)
{
    uint32_t word = 0, space = warp->code[warp->pc].space;
    uint64_t next = warp->pc + UINT64_C(1);
    bool good = warp->piece != NULL, more = true;
    result->outcome = CORUN_OUTCOME_NEXT;
    result->diverged = false;
    result->ticket = 0;
    warp->passed++;
    while (good && more) {
        good = warp->control < warp->control_end;
        if (!good)
            break;
        word = *warp->control++;
        more = word >= RECORD_RUNS && prepare(warp, word, &next, &space, &good);
    }
    if (good && word < RECORD_RUNS) {
        warp->run = word;
        good = next < warp->code_length && next + word < warp->code_length && go_on(warp, next, result);
    } else if (good) {
        good = run_word(warp, word, next, space, result);
    }
    if (!good || warp->control > warp->control_end || warp->addresses > warp->addresses_end)
        damaged(warp, result);
}

static void issue(struct corun_warp *warp, struct corun_issue *result)
{
    if (!warp->run) {
        read_words(warp, result);
        return;
    }
    warp->run--;
    result->active = warp->lanes;
    result->outcome = CORUN_OUTCOME_NEXT;
    result->jumped = result->diverged = false;
    result->pc = ++warp->pc;
}

/* ---- what has nothing to do ---- */

static void perform(const struct corun_grid *grid, uint32_t sm, uint32_t ticket, uint32_t lanes)
{
    (void)grid;
    (void)sm;
    (void)ticket;
    (void)lanes;
}

static void complete(const struct corun_grid *grid, uint32_t sm, uint32_t ticket)
{
    perform(grid, sm, ticket, 0);
}

static void commit(const struct corun_grid *grid, uint32_t sm)
{
    perform(grid, sm, 0, 0);
}

static bool dirty(const struct corun_grid *grid, uint32_t sm)
{
    perform(grid, sm, 0, 0);
    return false;
}

static const char *fault(const struct corun_warp *warp, struct corun_place *place)
{
    *place = CORUN_NOWHERE;
    return warp->tb->fault;
}

static const char *printed(const struct corun_grid *grid, uint32_t sm, size_t *bytes)
{
    perform(grid, sm, 0, 0);
    *bytes = 0;
    return "";
}

static const struct corun_source_operations operations = {
    .attach = attach,
    .tb_begin = tb_begin,
    .tb_end = tb_end,
    .tb_move = tb_move,
    .warp_place = warp_place,
    .warp_pc = warp_pc,
    .warp_state = warp_state,
    .issue = issue,
    .perform = perform,
    .complete = complete,
    .commit = commit,
    .dirty = dirty,
    .fault = fault,
    .printed = printed,
};

/* ---- kernels and their launches ---- */

struct record_kernel *record_kernel_create(struct record_file *file, const struct corun_grid *grid,
                                           const struct record_grid_facts *facts, uint32_t application)
{
    struct record_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return NULL;
    kernel->file = file;
    kernel->grid = grid;
    kernel->facts = *facts;
    kernel->base = ((uint64_t)application + 1) << CORUN_APPLICATION_SHIFT;
    return kernel;
}

void record_kernel_destroy(struct record_kernel *kernel)
{
    if (!kernel)
        return;
    for (uint32_t s = 0; s < kernel->sm_count; s++)
        for (struct corun_tb *tb = kernel->sms[s].all, *next; tb; tb = next) {
            next = tb->next_made;
            free(tb);
        }
    for (struct record_launch *launch = kernel->launches, *next; launch; launch = next) {
        next = launch->next;
        record_pieces_forget(kernel->file, launch->places, launch->row->piece_count);
        free(launch->starts);
        free(launch);
    }
    free(kernel->sms);
    free(kernel);
}

const struct corun_grid *record_kernel_launch(struct record_kernel *kernel, uint32_t number)
{
    const struct record_launch_row *row = &kernel->file->launches[number];
    struct record_launch *launch = calloc(1, sizeof *launch + row->piece_count * sizeof(launch->places[0]));
    if (!launch)
        return NULL;
    launch->starts = calloc((size_t)row->piece_count + 1, sizeof *launch->starts);
    if (!launch->starts) {
        free(launch);
        return NULL;
    }
    for (uint32_t i = 0; i < row->piece_count; i++)
        if (kernel->file->pieces[row->first_piece + i].tb_count)
            launch->starts[launch->start_count++] = i;
    launch->kernel = kernel;
    launch->row = row;
    launch->grid = *kernel->grid;
    launch->grid.operations = &operations;
    launch->next = kernel->launches;
    kernel->launches = launch;
    return &launch->grid;
}
