/* SPDX-License-Identifier: MIT */
/*
 * A kernel's profile from some of its thread blocks, run through the contract of sources: no machine, no time. Warps take turns
 * instruction by instruction. What the L1 will answer is guessed by one that holds the thread block's part of it and forgets the line
 * that was used longest ago; other thread blocks that want the same lines are not there to bring them.
 */
#include "base/kernel_name.h"
#include "model/accesses.h"
#include "model/profile.h"

#include "base/coalesced.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BARRIERS CORUN_MEETINGS

struct cached_line {
    uint64_t line, used;
    uint32_t sectors;
};

struct small_cache {
    struct cached_line *lines;
    uint32_t count, capacity;
    uint64_t now;
};

struct barrier {
    uint32_t arrived, waiting; /* warps */
    uint32_t threads, wanted;
};

struct sample {
    const struct corun_gpu_config *config;
    const struct corun_grid *grid;
    struct corun_diagnostics *list;
    struct small_cache cache;
    struct model_accesses accesses;
    uint64_t left, cycle; /* warp instructions until the watchdog; the clock that the kernel reads */
    /* of the thread block that runs */
    struct corun_warp *warps[CORUN_WARP_LANES];
    uint32_t live, ready;
    struct barrier barriers[BARRIERS];
};

/* ---- the L1 ---- */

/* Whether the line is there with these sectors; it is from now on. */
static bool look_up(struct small_cache *cache, uint64_t line, uint32_t sectors)
{
    struct cached_line *oldest = cache->lines;
    cache->now++;
    for (uint32_t i = 0; i < cache->count; i++) {
        struct cached_line *one = &cache->lines[i];
        if (one->line == line) {
            bool hit = (sectors & ~one->sectors) == 0;
            one->sectors |= sectors;
            one->used = cache->now;
            return hit;
        }
        if (one->used < oldest->used)
            oldest = one;
    }
    if (cache->capacity == 0)
        return false;
    if (cache->count < cache->capacity)
        oldest = &cache->lines[cache->count++];
    *oldest = (struct cached_line){line, cache->now, sectors};
    return false;
}

static bool is_cached(const struct corun_gpu_config *config, uint32_t space, uint32_t flags)
{
    if (flags & (CORUN_ATOMIC | CORUN_BYPASS_L1))
        return false;
    if (space == CORUN_SPACE_TEXTURE && config->texture_bytes)
        return true;
    return config->l1_bytes && (space == CORUN_SPACE_LOCAL ? config->local_cached : config->l1_caches_global);
}

/* ---- accesses ---- */

struct touched {
    uint64_t line;
    uint32_t sectors;
};

/* The lines that some lanes touch; returns how many there are. */
static uint32_t touch_lines(const struct sample *sample, const struct corun_issue *issue, uint32_t lanes,
                            uint32_t line_bytes, struct touched *touched)
{
    const struct corun_gpu_config *config = sample->config;
    uint32_t count = 0;
    for (uint32_t group = 0; group < CORUN_WARP_LANES; group += config->access_lanes) {
        uint32_t part = config->access_lanes >= CORUN_WARP_LANES ? lanes : lanes & 0xffffu << group, first = count;
        for (; part; part &= part - 1) {
            uint64_t address = issue->address[lowest_bit(part)], line = address / line_bytes;
            uint32_t i = first;
            while (i < count && touched[i].line != line)
                i++;
            if (i == count)
                touched[count++] = (struct touched){.line = line};
            touched[i].sectors |= 1u << address % line_bytes / config->l1_sector_bytes;
        }
    }
    return count;
}

static void count_load(struct sample *sample, const struct corun_instruction *op, const struct corun_issue *issue,
                       uint32_t space, uint32_t lanes)
{
    const struct corun_gpu_config *config = sample->config;
    struct touched touched[CORUN_WARP_LANES];
    if (!lanes || space == CORUN_SPACE_SHARED || space == CORUN_SPACE_CONSTANT)
        return;
    bool cached = is_cached(config, space, op->flags);
    uint32_t line_bytes = !cached                        ? config->l2_line_bytes
                          : space == CORUN_SPACE_TEXTURE ? config->texture_line_bytes
                                                         : config->l1_line_bytes;
    uint32_t count = touch_lines(sample, issue, lanes, line_bytes, touched), missed = 0;
    for (uint32_t i = 0; i < count; i++)
        missed += !cached || !look_up(&sample->cache, touched[i].line, touched[i].sectors);
    if (missed == 0)
        return;
    bool uncoalesced = is_uncoalesced(count, lanes, op->access_bytes, line_bytes, config->access_lanes);
    sample->accesses.loads++;
    sample->accesses.lines += missed;
    sample->accesses.uncoalesced += uncoalesced;
    sample->accesses.uncoalesced_lines += uncoalesced ? missed : 0;
}

static void count_access(struct sample *sample, const struct corun_instruction *op, const struct corun_issue *issue)
{
    if (!(op->flags & (CORUN_LOAD | CORUN_ATOMIC)) || op->destination_count == 0)
        return;
    if (issue->space != CORUN_SPACE_GENERIC) {
        count_load(sample, op, issue, issue->space, issue->active);
        return;
    }
    static const uint32_t spaces[] = {CORUN_SPACE_GLOBAL, CORUN_SPACE_LOCAL};
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t lanes = 0;
        for (uint32_t rest = issue->active; rest; rest &= rest - 1)
            if (issue->lane_space[lowest_bit(rest)] == spaces[i])
                lanes |= 1u << lowest_bit(rest);
        count_load(sample, op, issue, spaces[i], lanes);
    }
}

/* ---- thread blocks ---- */

static void open_if_met(struct sample *sample, struct corun_tb *tb, uint32_t index)
{
    struct barrier *barrier = &sample->barriers[index];
    if (!barrier->arrived)
        return;
    if (barrier->wanted ? barrier->threads < barrier->wanted : (sample->live & ~barrier->arrived) != 0)
        return;
    if (sample->grid->operations->barrier_met)
        sample->grid->operations->barrier_met(tb, index);
    sample->ready |= barrier->waiting & sample->live;
    *barrier = (struct barrier){0};
}

static void arrive(struct sample *sample, struct corun_tb *tb, uint32_t warp, const struct corun_issue *issue)
{
    struct barrier *barrier = &sample->barriers[issue->barrier];
    barrier->arrived |= 1u << warp;
    barrier->threads += CORUN_WARP_LANES;
    barrier->wanted = issue->barrier_threads;
    if (issue->barrier_waits) {
        barrier->waiting |= 1u << warp;
        sample->ready &= ~(1u << warp);
    }
    open_if_met(sample, tb, issue->barrier);
}

/* What others would see a while later, they see at once. */
static void settle_memory(struct sample *sample, const struct corun_instruction *op, const struct corun_issue *issue)
{
    const struct corun_source_operations *operations = sample->grid->operations;
    if (op->flags & CORUN_ATOMIC && issue->active && issue->space != CORUN_SPACE_SHARED) {
        uint32_t lanes = issue->active;
        for (uint32_t lane = 0; issue->space == CORUN_SPACE_GENERIC && lane < CORUN_WARP_LANES; lane++)
            if (issue->lane_space[lane] == CORUN_SPACE_SHARED)
                lanes &= ~(1u << lane);
        operations->commit(sample->grid, 0);
        operations->perform(sample->grid, 0, issue->ticket, lanes);
        operations->complete(sample->grid, 0, issue->ticket);
    }
}

static enum corun_status run_warp(struct sample *sample, struct corun_tb *tb, uint32_t warp)
{
    const struct corun_grid *grid = sample->grid;
    struct corun_issue issue;
    const struct corun_instruction *op = &grid->code[grid->operations->warp_pc(sample->warps[warp])];
    struct corun_place place = {grid->file, op->line, 0};
    if (sample->left-- == 0)
        return corun_report(sample->list, CORUN_WATCHDOG, place,
                            "kernel %s: a thread block that was sampled is not at its end here",
                            KERNEL_NAME(grid->name));
    grid->operations->issue(sample->warps[warp], &issue);
    sample->cycle++;
    if (issue.outcome == CORUN_OUTCOME_FAULT) {
        const char *message = grid->operations->fault(sample->warps[warp], &place);
        return corun_report(sample->list, CORUN_FAULT, place, "%s", message);
    }
    sample->accesses.instructions++;
    if (op->unit == CORUN_UNIT_MEMORY && issue.active) {
        count_access(sample, op, &issue);
        settle_memory(sample, op, &issue);
    }
    if (issue.outcome == CORUN_OUTCOME_BARRIER) {
        arrive(sample, tb, warp, &issue);
    } else if (issue.outcome == CORUN_OUTCOME_EXIT) {
        sample->live &= ~(1u << warp);
        sample->ready &= ~(1u << warp);
        for (uint32_t b = 0; b < BARRIERS; b++)
            open_if_met(sample, tb, b);
    }
    return CORUN_OK;
}

static enum corun_status run_tb(struct sample *sample, uint32_t index, uint64_t watchdog)
{
    const struct corun_grid *grid = sample->grid;
    struct corun_tb *tb = grid->operations->tb_begin(grid, index, 0, sample->warps);
    if (!tb)
        return CORUN_MEMORY;
    sample->live = sample->ready = grid->tb_warps >= 32 ? CORUN_FULL_MASK : (1u << grid->tb_warps) - 1;
    sample->left = watchdog ? watchdog : UINT64_MAX;
    sample->cache.count = 0;
    memset(sample->barriers, 0, sizeof sample->barriers);
    for (uint32_t warp = 0; warp < grid->tb_warps; warp++)
        grid->operations->warp_place(sample->warps[warp], warp, 1, &sample->cycle);
    enum corun_status status = CORUN_OK;
    while (sample->live && status == CORUN_OK) {
        if (!sample->ready)
            status = corun_report(sample->list, CORUN_DEADLOCK, (struct corun_place){grid->file, 0, 0},
                                  "kernel %s, thread block %u: its warps wait at barriers that are never met",
                                  KERNEL_NAME(grid->name), index);
        for (uint32_t turn = sample->ready; turn && status == CORUN_OK; turn &= turn - 1)
            if (sample->ready >> lowest_bit(turn) & 1u)
                status = run_warp(sample, tb, lowest_bit(turn));
    }
    grid->operations->commit(grid, 0);
    grid->operations->tb_end(tb);
    return status;
}

enum corun_status model_profile_sample(const struct corun_gpu_config *config, const struct corun_grid *grid,
                                       uint32_t samples, uint64_t watchdog, struct corun_diagnostics *list,
                                       struct model_kernel *kernel)
{
    struct sample sample = {.config = config, .grid = grid, .list = list};
    if (samples == 0 || grid->tb_count == 0 || grid->tb_warps == 0 || grid->tb_warps > CORUN_WARP_LANES)
        return CORUN_ARGUMENT;
    if (grid->cluster_tbs > 1)
        return corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                            "not supported: a profile of kernel %s, which has clusters of thread blocks",
                            KERNEL_NAME(grid->name));
    if (samples > grid->tb_count)
        samples = grid->tb_count;
    struct model_gpu gpu;
    model_gpu_describe(config, &gpu);
    model_profile_place(config, grid, kernel);
    uint32_t residents = model_kernel_residents(&gpu, kernel);
    sample.cache.capacity = config->l1_bytes / config->l1_line_bytes / (residents ? residents : 1);
    sample.cache.lines = calloc(sample.cache.capacity + 1u, sizeof *sample.cache.lines);
    if (!sample.cache.lines)
        return CORUN_MEMORY;
    enum corun_status status = grid->operations->attach(grid, 1, config->core_clock_khz);
    for (uint32_t i = 0; i < samples && status == CORUN_OK; i++)
        status = run_tb(&sample, (uint32_t)((uint64_t)grid->tb_count * (2u * i + 1) / (2u * samples)), watchdog);
    if (status == CORUN_OK) {
        model_profile_accesses(kernel, &sample.accesses);
        kernel->tb_instructions = (double)sample.accesses.instructions / samples;
    }
    free(sample.cache.lines);
    return status;
}
