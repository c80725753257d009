/* SPDX-License-Identifier: MIT */
/* A slice of a grid: every operation that is given a grid goes to the whole one. */
#include "serve/slice_grid.h"

static const struct slice_grid *slice_of(const struct corun_grid *grid)
{
    return (const struct slice_grid *)grid;
}

static enum corun_status attach(const struct corun_grid *grid, uint32_t sm_count, uint32_t clock_khz)
{
    const struct corun_grid *whole = slice_of(grid)->whole;
    return whole->operations->attach(whole, sm_count, clock_khz);
}

static struct corun_tb *tb_begin(const struct corun_grid *grid, uint32_t index, uint32_t sm, struct corun_warp **warps)
{
    const struct slice_grid *slice = slice_of(grid);
    return slice->whole->operations->tb_begin(slice->whole, slice->first + index, sm, warps);
}

static void perform(const struct corun_grid *grid, uint32_t sm, uint32_t ticket, uint32_t lanes)
{
    const struct corun_grid *whole = slice_of(grid)->whole;
    whole->operations->perform(whole, sm, ticket, lanes);
}

static void complete(const struct corun_grid *grid, uint32_t sm, uint32_t ticket)
{
    const struct corun_grid *whole = slice_of(grid)->whole;
    whole->operations->complete(whole, sm, ticket);
}

static bool copy_next(const struct corun_grid *grid, uint32_t sm, uint32_t copy, uint32_t line_bytes,
                      struct corun_copy_part *part)
{
    const struct corun_grid *whole = slice_of(grid)->whole;
    return whole->operations->copy_next(whole, sm, copy, line_bytes, part);
}

static bool copy_done(const struct corun_grid *grid, uint32_t sm, uint32_t copy)
{
    const struct corun_grid *whole = slice_of(grid)->whole;
    return whole->operations->copy_done(whole, sm, copy);
}

static void commit(const struct corun_grid *grid, uint32_t sm)
{
    const struct corun_grid *whole = slice_of(grid)->whole;
    whole->operations->commit(whole, sm);
}

static bool dirty(const struct corun_grid *grid, uint32_t sm)
{
    const struct corun_grid *whole = slice_of(grid)->whole;
    return whole->operations->dirty(whole, sm);
}

static const char *printed(const struct corun_grid *grid, uint32_t sm, size_t *bytes)
{
    const struct corun_grid *whole = slice_of(grid)->whole;
    return whole->operations->printed(whole, sm, bytes);
}

void slice_grid_make(struct slice_grid *slice, const struct corun_grid *whole, uint32_t first, uint32_t tbs)
{
    slice->grid = *whole;
    slice->operations = *whole->operations;
    slice->whole = whole;
    slice->first = first;
    slice->grid.operations = &slice->operations;
    slice->grid.tb_count = tbs;
    slice->operations.attach = attach;
    slice->operations.tb_begin = tb_begin;
    slice->operations.perform = perform;
    slice->operations.complete = complete;
    slice->operations.copy_next = copy_next;
    slice->operations.copy_done = copy_done;
    slice->operations.commit = commit;
    slice->operations.dirty = dirty;
    slice->operations.cluster_begin = NULL; /* clusters are not divided */
    slice->operations.printed = printed;
}
