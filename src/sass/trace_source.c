/* SPDX-License-Identifier: MIT */
/*
 * A traced kernel as a source of warp instructions: what the lines say happens, in their order, at the time that the machine
 * decides. Nothing is computed, so there are no stores to commit and no atomics to perform.
 */
#include "base/archive.h"
#include "base/bits.h"
#include "sass/opcodes.h"
#include "sass/trace.h"

#include <stdlib.h>
#include <string.h>

/* Within the range of an application (src/isa/address.h): code and constants have addresses only, local memory is private. */
#define CODE_FIRST (UINT64_C(1) << 38)
#define CODE_BYTES (UINT64_C(1) << 24) /* of a kernel */
#define CONSTANT_FIRST (CODE_FIRST + (UINT64_C(1) << 37))
#define LOCAL_FIRST (UINT64_C(1) << 39)
#define LOCAL_WARP_BYTES (UINT64_C(1) << 19) /* 16 KiB of each lane */
#define LOCAL_WARPS (UINT64_C(1) << 19)
#define FIRST_PAGE 1u /* address 0 is nobody's */

struct traced_grid {
    struct corun_grid grid; /* first: the machine hands it back */
    const struct sass_trace *trace;
    const struct sass_kernel *kernel;
    uint64_t base;         /* of the application's range */
    struct corun_tb **tbs; /* by index: those that have begun. Each SM writes those that it has. */
    bool twice;            /* one has begun again while it was there: two launches at once */
};

struct corun_warp {
    const struct traced_grid *grid;
    const struct sass_instruction *at, *end;
    uint64_t local;  /* address of its local memory */
    uint64_t number; /* in its grid, from 1 on */
};

struct corun_tb {
    uint32_t index, warp_count;
    struct corun_warp warps[];
};

static const struct traced_grid *traced(const struct corun_grid *grid)
{
    return (const struct traced_grid *)(const void *)grid;
}

static enum corun_status attach(const struct corun_grid *grid, uint32_t sm_count, uint32_t clock_khz)
{
    (void)grid;
    (void)sm_count;
    (void)clock_khz;
    return CORUN_OK;
}

static struct corun_tb *tb_begin(const struct corun_grid *grid, uint32_t index, uint32_t sm, struct corun_warp **warps)
{
    (void)sm;
    struct traced_grid *own = (struct traced_grid *)(uintptr_t)grid;
    struct corun_tb *tb = calloc(1, sizeof *tb + grid->tb_warps * sizeof tb->warps[0]);
    if (!tb)
        return NULL;
    if (own->tbs[index])
        own->twice = true;
    own->tbs[index] = tb;
    tb->index = index;
    tb->warp_count = grid->tb_warps;
    for (uint32_t i = 0; i < tb->warp_count; i++) {
        size_t number = (size_t)index * grid->tb_warps + i;
        const struct sass_warp *warp = &own->kernel->warps.data[number];
        const struct sass_instruction *at = warp->count ? own->kernel->instructions.data + warp->first : NULL;
        tb->warps[i] = (struct corun_warp){
            .grid = own,
            .at = at,
            .end = at ? at + warp->count : NULL,
            .local = own->base + LOCAL_FIRST + number % LOCAL_WARPS * LOCAL_WARP_BYTES,
            .number = number + 1,
        };
        warps[i] = &tb->warps[i];
    }
    return tb;
}

static void tb_end(struct corun_tb *tb)
{
    const struct traced_grid *own = tb->warps[0].grid;
    if (own->tbs[tb->index] == tb)
        own->tbs[tb->index] = NULL;
    free(tb);
}

static void tb_move(struct corun_tb *tb, uint32_t sm)
{
    (void)tb;
    (void)sm;
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
    return warp->at < warp->end ? warp->at->code : warp->grid->grid.code_length - 1;
}

/* Each place in a trace is passed once, so a digest that comes back is that of a warp that stands. */
static uint64_t warp_state(const struct corun_warp *warp)
{
    return (uint64_t)(uintptr_t)(warp->end - warp->at);
}

static uint64_t machine_address(const struct corun_warp *warp, enum corun_space space, uint64_t address, uint32_t lane)
{
    const struct sass_kernel *kernel = warp->grid->kernel;
    switch (space) {
    case CORUN_SPACE_SHARED:
        return (address >= kernel->shared_base ? address - kernel->shared_base : address) & (CODE_BYTES - 1);
    case CORUN_SPACE_LOCAL:
        address = address >= kernel->local_base ? address - kernel->local_base : address;
        return warp->local + ((address >> 2) * (4 * CORUN_WARP_LANES) + lane * 4 + (address & 3)) % LOCAL_WARP_BYTES;
    default:
        return warp->grid->base +
               ((uint64_t)(sass_pages_find(&warp->grid->trace->pages, address >> SASS_PAGE_SHIFT) + FIRST_PAGE)
                << SASS_PAGE_SHIFT) +
               (address & ((UINT64_C(1) << SASS_PAGE_SHIFT) - 1));
    }
}

/* Constants lie where a trace does not tell: each instruction has its own word. */
static void address_constant(const struct corun_warp *warp, const struct corun_instruction *code,
                             struct corun_issue *result)
{
    uint64_t place = (uint64_t)(code - warp->grid->grid.code) * 4;
    for (uint32_t lanes = result->active; lanes; lanes &= lanes - 1)
        result->address[lowest_bit(lanes)] = warp->grid->base + CONSTANT_FIRST + place;
}

static void address_lanes(const struct corun_warp *warp, const struct corun_instruction *code,
                          struct corun_issue *result)
{
    uint32_t spaces = 0;
    for (uint32_t lanes = result->active; lanes; lanes &= lanes - 1) {
        uint32_t lane = lowest_bit(lanes);
        uint64_t address = sass_address(warp->grid->kernel, warp->at, lane);
        enum corun_space space = sass_space(warp->grid->kernel, code, address);
        result->address[lane] = machine_address(warp, space, address, lane);
        result->lane_space[lane] = (uint8_t)space;
        result->space = (uint8_t)space;
        spaces |= 1u << space;
    }
    if (spaces & (spaces - 1))
        result->space = CORUN_SPACE_GENERIC;
}

static void issue(struct corun_warp *warp, struct corun_issue *result)
{
    const struct corun_grid *grid = &warp->grid->grid;
    uint32_t pc = warp_pc(warp);
    const struct corun_instruction *code = &grid->code[pc];
    result->outcome = CORUN_OUTCOME_EXIT;
    result->jumped = result->diverged = false;
    result->ticket = 0;
    result->space = code->space;
    result->active = warp->at < warp->end ? warp->at->mask : 0;
    if (warp->at == warp->end)
        return;
    if (code->space == CORUN_SPACE_CONSTANT)
        address_constant(warp, code, result);
    else if (code->access_bytes && result->active)
        address_lanes(warp, code, result);
    uint32_t mask = warp->at->mask;
    warp->at++;
    if (warp->at == warp->end && code->flags & CORUN_EXIT)
        return;
    result->outcome = CORUN_OUTCOME_NEXT;
    result->pc = warp_pc(warp);
    result->jumped = result->pc != pc + 1;
    result->diverged = code->flags & CORUN_BRANCH && warp->at < warp->end && warp->at->mask != mask;
    if (code->flags & CORUN_BARRIER && mask) {
        result->outcome = CORUN_OUTCOME_BARRIER;
        result->barrier = 0;
        result->barrier_threads = 0;
        result->barrier_waits = code->operation != SASS_BARRIER_ARRIVES;
    }
}

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
    *place = (struct corun_place){warp->grid->kernel->path, 0, 0};
    return "a trace has no faults";
}

static const char *printed(const struct corun_grid *grid, uint32_t sm, size_t *bytes)
{
    perform(grid, sm, 0, 0);
    *bytes = 0;
    return NULL;
}

/* ---- checkpoints: names from 1 on ---- */

static uint64_t tb_number(const struct corun_tb *tb)
{
    return tb->index + UINT64_C(1);
}

static struct corun_tb *tb_of(const struct corun_grid *grid, uint64_t number)
{
    return number && number <= grid->tb_count ? traced(grid)->tbs[number - 1] : NULL;
}

static uint64_t warp_number(const struct corun_warp *warp)
{
    return warp->number;
}

static struct corun_warp *warp_of(const struct corun_grid *grid, uint64_t number)
{
    struct corun_tb *tb = number ? tb_of(grid, (number - 1) / grid->tb_warps + 1) : NULL;
    return tb ? &tb->warps[(number - 1) % grid->tb_warps] : NULL;
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
    .tb_number = tb_number,
    .warp_number = warp_number,
    .tb_of = tb_of,
    .warp_of = warp_of,
};

/* One more than the highest register that the code names. */
static uint32_t count_registers(const struct sass_kernel *kernel)
{
    uint32_t count = 1;
    for (size_t i = 0; i < kernel->code.count; i++) {
        const struct corun_instruction *code = &kernel->code.data[i];
        for (uint32_t k = 0; k < code->source_count; k++)
            count = code->sources[k] >= count ? code->sources[k] + 1u : count;
        for (uint32_t k = 0; k < code->destination_count; k++)
            count = code->destinations[k] >= count ? code->destinations[k] + 1u : count;
    }
    return count;
}

/* Where the warps of a thread block are in the trace: how much is left for each. */
static void archive_tb(struct corun_archive *archive, struct corun_tb *tb)
{
    for (uint32_t i = 0; i < tb->warp_count && archive_fine(archive); i++) {
        struct corun_warp *warp = &tb->warps[i];
        uint64_t all = (uint64_t)(warp->end - warp->at), left = all;
        ARCHIVE(archive, left);
        if (left > all)
            archive_fail(archive, CORUN_SYNTAX, "%llu lines of a warp of %llu", (unsigned long long)left,
                         (unsigned long long)all);
        else if (archive->reads)
            warp->at += all - left;
    }
}

void sass_grid_archive(struct corun_archive *archive, struct corun_grid *grid)
{
    struct traced_grid *own = (struct traced_grid *)(void *)grid;
    struct corun_warp **warps = archive->reads ? calloc(grid->tb_warps, sizeof *warps) : NULL;
    archive_same(archive, grid->tb_count, "thread blocks of a traced kernel");
    if (own->twice)
        archive_fail(archive, CORUN_UNSUPPORTED, "two launches of traced kernel %s at once", grid->name);
    if (archive->reads && !warps)
        archive_fail(archive, CORUN_MEMORY, "out of memory");
    for (uint32_t i = 0; i < grid->tb_count && archive_fine(archive); i++) {
        bool there = own->tbs[i] != NULL;
        ARCHIVE(archive, there);
        if (!there || !archive_fine(archive))
            continue;
        struct corun_tb *tb = archive->reads ? tb_begin(grid, i, 0, warps) : own->tbs[i];
        if (tb)
            archive_tb(archive, tb);
        else
            archive_fail(archive, CORUN_MEMORY, "out of memory");
    }
    free(warps);
}

struct corun_grid *sass_grid_create(const struct sass_trace *trace, uint32_t index, uint32_t application)
{
    const struct sass_kernel *kernel = trace->kernels.data[index];
    struct traced_grid *own = calloc(1, sizeof *own);
    if (!own || !(own->tbs = calloc(kernel->tb_count, sizeof(*own->tbs)))) {
        free(own);
        return NULL;
    }
    uint32_t registers = count_registers(kernel);
    own->trace = trace;
    own->kernel = kernel;
    own->base = ((uint64_t)application + 1) << CORUN_APPLICATION_SHIFT;
    own->grid = (struct corun_grid){
        .operations = &operations,
        .name = kernel->name,
        .code = kernel->code.data,
        .code_length = (uint32_t)kernel->code.count,
        .register_slots = registers,
        .tb_count = kernel->tb_count,
        .tb_threads = kernel->block[0] * kernel->block[1] * kernel->block[2],
        .tb_warps = kernel->tb_warps,
        .tb_shared_bytes = kernel->shared_bytes,
        .registers_per_thread = kernel->registers ? kernel->registers : registers,
        .barrier_count = 1,
        .file = kernel->path,
        .code_address = own->base + CODE_FIRST + index % 4096 * CODE_BYTES,
    };
    return &own->grid;
}

void sass_grid_destroy(struct corun_grid *grid)
{
    if (grid)
        free(((struct traced_grid *)(void *)grid)->tbs);
    free(grid);
}
