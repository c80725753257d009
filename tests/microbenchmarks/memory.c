/* SPDX-License-Identifier: MIT */
/*
 * The memory hierarchy: pointer chases in each of its levels, bank conflicts, coalescing.
 *
 * A chase reads the address of its next step from memory; its cells are put where the configuration says that they
 * share a row, a bank, a cache or none of these. The kernel is straight code: what is measured are loads that wait for
 * loads.
 */
#include "harness.h"

#include "gpu/address_map.h"
#include "gpu/interconnect.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define CACHED "icache_perfect=1,constant_perfect=1,dram_tREFI=0"
#define ALONE "sms=1,icnt=crossbar," CACHED

/* ---- chases ---- */

enum order { IN_TURN, ONE_ROW, ROWS_OF_ONE_BANK, ONE_SLICE };

struct chase {
    uint32_t cells, stride_bytes; /* IN_TURN and ONE_SLICE: a circle */
    enum order order;
    uint32_t slice;
};

static void link_in_turn(const struct chase *chase, uint64_t address, uint8_t *host)
{
    for (uint32_t i = 0; i < chase->cells; i++) {
        uint64_t next = address + (uint64_t)((i + 1) % chase->cells) * chase->stride_bytes;
        memcpy(host + (size_t)i * chase->stride_bytes, &next, sizeof next);
    }
}

struct location {
    uint32_t controller, bank;
    uint64_t row;
};

static struct location locate(const struct address_map *map, uint64_t address)
{
    uint64_t local;
    struct location location;
    uint32_t slice = address_map_slice(map, address, &local);
    location.controller = slice / map->slices_per_controller;
    location.bank = address_map_bank(map, slice % map->slices_per_controller, local, &location.row);
    return location;
}

/* Links those sectors of the buffer that the order wants, in order of address; the last one points to itself. */
static void link_by_location(const struct bench *bench, const struct chase *chase, uint64_t address, uint8_t *host,
                             uint64_t bytes)
{
    struct address_map map;
    address_map_create(&map, bench->design);
    struct location first = locate(&map, address), last = first;
    uint8_t *cell = host;
    uint32_t count = 1;
    uint32_t step = chase->order == ONE_ROW ? bench->design->l2_sector_bytes : bench->design->l2_line_bytes;
    for (uint64_t offset = step; offset < bytes && count < chase->cells; offset += step) {
        struct location location = locate(&map, address + offset);
        if (location.controller != first.controller || location.bank != first.bank)
            continue;
        if ((chase->order == ONE_ROW) != (location.row == last.row))
            continue;
        uint64_t next = address + offset;
        memcpy(cell, &next, sizeof next);
        cell = host + offset;
        last = location;
        count++;
    }
    uint64_t self = address + (uint64_t)(cell - host);
    memcpy(cell, &self, sizeof self);
    if (count < chase->cells)
        abort(); /* the buffer is too small for the chase */
}

/* The first cell of the buffer leads into a circle of lines of one slice. */
static void link_in_slice(const struct bench *bench, const struct chase *chase, uint64_t address, uint8_t *host,
                          uint64_t bytes)
{
    struct address_map map;
    address_map_create(&map, bench->design);
    uint8_t *cell = host;
    uint64_t first = 0, local;
    uint32_t count = 0;
    for (uint64_t offset = bench->design->l2_line_bytes; offset < bytes && count < chase->cells;
         offset += bench->design->l2_line_bytes) {
        uint64_t next = address + offset;
        if (address_map_slice(&map, next, &local) != chase->slice)
            continue;
        memcpy(cell, &next, sizeof next);
        cell = host + offset;
        first = count++ ? first : next;
    }
    memcpy(cell, &first, sizeof first);
    if (count < chase->cells)
        abort(); /* the buffer is too small for the chase */
}

#define CHASE_BYTES(chase) ((uint64_t)(chase)->cells * (chase)->stride_bytes)

static void fill_chase(void *user, const struct bench *bench, uint64_t address, uint8_t *host)
{
    const struct chase *chase = user;
    if (chase->order == IN_TURN)
        link_in_turn(chase, address, host);
    else if (chase->order == ONE_SLICE)
        link_in_slice(bench, chase, address, host, CHASE_BYTES(chase));
    else
        link_by_location(bench, chase, address, host, CHASE_BYTES(chase));
}

static void run_chase(const struct bench *bench, const struct chase *chase, const char *load, uint32_t steps,
                      struct run *run)
{
    struct text kernel;
    text_begin(&kernel, NULL);
    text_add(&kernel, "mov.u64 %%rd1, %%rd0;\nmov.u64 %%rd30, %%clock64;\n");
    text_repeat(&kernel, steps, load, 1, 1);
    /* the clock is read once the last address has come */
    text_add(&kernel, "and.b64 %%rd2, %%rd1, 0;\nmov.u64 %%rd31, %%clock64;\nsub.u64 %%rd31, %%rd31, %%rd30;\n"
                      "add.u64 %%rd31, %%rd31, %%rd2;\nst.global.u64 [stamps], %%rd31;\n");
    text_end(&kernel);
    *run = (struct run){.text = kernel.data,
                        .tbs = 1,
                        .threads = 1,
                        .buffer_bytes = CHASE_BYTES(chase),
                        .fill = fill_chase,
                        .user = (void *)chase};
    run_kernel(bench, run);
    text_free(&kernel);
}

static struct reading chase_from_to(const struct bench *bench, const struct chase *chase, const char *load,
                                    uint32_t fewer, uint32_t more)
{
    static const struct run nothing;
    struct run shorter = nothing, longer = nothing;
    run_chase(bench, chase, load, fewer, &shorter);
    run_chase(bench, chase, load, more, &longer);
    return (struct reading){(double)(longer.cycles - shorter.cycles) / (more - fewer),
                            (double)(longer.stamps[0] - shorter.stamps[0]) / (more - fewer)};
}

#define LOAD "ld.global.u64 %rd1, [%rd1];"
#define LOAD_L2 "ld.global.cg.u64 %rd1, [%rd1];"

/* One turn around the circle fetches, the second one is measured. */
static struct reading circle(const struct bench *bench, uint32_t bytes, const char *load)
{
    struct chase chase = {bytes / bench->design->l1_line_bytes, bench->design->l1_line_bytes, IN_TURN, 0};
    return chase_from_to(bench, &chase, load, chase.cells, 2 * chase.cells);
}

static struct reading measure_l1(const struct bench *bench, const struct row *row)
{
    (void)row;
    return circle(bench, bench->design->l1_bytes / 2, LOAD);
}

static double implied_l1(const struct bench *bench, const struct row *row)
{
    (void)row;
    return bench->design->collect_cycles + bench->design->l1_latency;
}

static struct reading measure_beyond_l1(const struct bench *bench, const struct row *row)
{
    (void)row;
    const struct corun_gpu_config *c = bench->design;
    uint32_t shared =
        c->l1_split == CORUN_L1_SPLIT_FIXED ? 0 : c->shared_bytes_per_sm; /* the L1's while nobody wants it */
    return circle(bench, (c->l1_bytes + shared) * 2, LOAD);
}

static double implied_beyond_l1(const struct bench *bench, const struct row *row)
{
    (void)row;
    uint32_t bytes = bench->design->l1_sector_bytes;
    if (bytes < bench->design->l2_sector_bytes)
        bytes = bench->design->l2_sector_bytes;
    return bench->design->collect_cycles + l1_way(bench->design) + round_trip(bench->design, bytes);
}

static struct reading measure_l2(const struct bench *bench, const struct row *row)
{
    (void)row;
    struct chase chase = {100, 2 * bench->design->l2_line_bytes, IN_TURN, 0};
    return chase_from_to(bench, &chase, LOAD_L2, 100, 200);
}

static double implied_l2(const struct bench *bench, const struct row *row)
{
    (void)row;
    const struct corun_gpu_config *c = bench->design;
    return c->collect_cycles + l1_way(c) + round_trip(c, c->l2_sector_bytes);
}

static struct reading chase_dram(const struct bench *bench, enum order order, uint32_t cells)
{
    struct chase chase = {cells, 0, order, 0};
    const struct corun_gpu_config *design = bench->design;
    uint32_t row_of_all_banks = design->memory_controllers * design->dram_banks * design->dram_row_bytes;
    /* far enough for all rows: cells of one row lie within a few rows of all banks, rows of one bank farther apart */
    chase.stride_bytes = 1u << (order == ONE_ROW ? 18 : 21);
    while (order == ROWS_OF_ONE_BANK && chase.stride_bytes <= row_of_all_banks)
        chase.stride_bytes *= 2;
    struct reading reading = chase_from_to(bench, &chase, LOAD_L2, cells / 4, cells - 1);
    return reading;
}

static double dram_access(const struct corun_gpu_config *c, uint32_t commands)
{
    uint32_t bus = c->dram_bus_bytes * c->dram_data_rate;
    uint32_t bursts = (c->l2_sector_bytes + c->dram_burst_bytes - 1) / c->dram_burst_bytes;
    uint32_t data = bursts * ((c->dram_burst_bytes + bus - 1) / bus);
    return (commands + c->dram_tCL + data) * core_per(c, c->dram_clock_khz) + c->dram_latency;
}

static struct reading measure_row_hit(const struct bench *bench, const struct row *row)
{
    (void)row;
    return chase_dram(bench, ONE_ROW, bench->design->dram_row_bytes / bench->design->l2_sector_bytes / 2);
}

static double implied_row_hit(const struct bench *bench, const struct row *row)
{
    return implied_l2(bench, row) + dram_access(bench->design, 0);
}

static struct reading measure_row_conflict(const struct bench *bench, const struct row *row)
{
    (void)row;
    return chase_dram(bench, ROWS_OF_ONE_BANK, 48);
}

static double implied_row_conflict(const struct bench *bench, const struct row *row)
{
    return implied_l2(bench, row) + dram_access(bench->design, bench->design->dram_tRP + bench->design->dram_tRCD);
}

/* ---- the mesh ---- */

struct way {
    uint32_t slice, hops;
};

/* From the first SM to the slice next to it and to the one farthest from it. */
static void find_ways(const struct bench *bench, struct way *near, struct way *far)
{
    struct network network;
    if (!network_create(&network, bench->design, true))
        abort();
    const struct mesh *mesh = &network.mesh;
    *near = (struct way){0, UINT32_MAX};
    *far = (struct way){0, 0};
    for (uint32_t slice = 0; slice < network.destinations; slice++) {
        int from = mesh->source_position[0], to = mesh->destination_position[slice], columns = (int)mesh->columns;
        struct way way = {slice, (uint32_t)(abs(from % columns - to % columns) + abs(from / columns - to / columns))};
        *near = way.hops < near->hops ? way : *near;
        *far = way.hops > far->hops ? way : *far;
    }
    network_free(&network);
}

static struct reading chase_slice(const struct bench *bench, uint32_t slice)
{
    const struct corun_gpu_config *c = bench->design;
    uint32_t stride = 2 * c->l2_line_bytes * c->memory_controllers * c->slices_per_controller; /* two lines of each */
    struct chase chase = {50, stride, ONE_SLICE, slice};
    return chase_from_to(bench, &chase, LOAD_L2, 100, 200);
}

/* A request and its reply go all the way. */
static struct reading measure_hop(const struct bench *bench, const struct row *row)
{
    (void)row;
    struct way near, far;
    find_ways(bench, &near, &far);
    struct reading less = chase_slice(bench, near.slice), more = chase_slice(bench, far.slice);
    double hops = 2.0 * (far.hops - near.hops);
    return (struct reading){(more.value - less.value) / hops, (more.other - less.other) / hops};
}

static double implied_hop(const struct bench *bench, const struct row *row)
{
    (void)row;
    return bench->design->icnt_latency * core_per(bench->design, bench->design->icnt_clock_khz);
}

static bool is_mesh(const struct corun_gpu_config *config)
{
    return config->icnt == CORUN_ICNT_MESH;
}

/* ---- chases on the SM ---- */

static void run_cells(const struct bench *bench, const char *variables, const char *base, const char *load,
                      uint32_t steps, struct run *run)
{
    struct text kernel;
    text_begin(&kernel, variables);
    text_add(&kernel, "mov.u64 %%rd1, %s;\nst.shared.u64 [cell], %%rd1;\nmov.u64 %%rd30, %%clock64;\n", base);
    text_repeat(&kernel, steps, load, 1, 1);
    text_add(&kernel, "and.b64 %%rd2, %%rd1, 0;\nmov.u64 %%rd31, %%clock64;\nsub.u64 %%rd31, %%rd31, %%rd30;\n"
                      "add.u64 %%rd31, %%rd31, %%rd2;\nst.global.u64 [stamps], %%rd31;\n");
    text_end(&kernel);
    *run = (struct run){.text = kernel.data, .tbs = 1, .threads = 1};
    run_kernel(bench, run);
    text_free(&kernel);
}

static struct reading measure_cells(const struct bench *bench, const char *variables, const char *base,
                                    const char *load)
{
    static const struct run nothing;
    struct run shorter = nothing, longer = nothing;
    run_cells(bench, variables, base, load, 100, &shorter);
    run_cells(bench, variables, base, load, 200, &longer);
    return (struct reading){(double)(longer.cycles - shorter.cycles) / 100,
                            (double)(longer.stamps[0] - shorter.stamps[0]) / 100};
}

static struct reading measure_shared(const struct bench *bench, const struct row *row)
{
    (void)row;
    return measure_cells(bench, ".shared .align 8 .u64 cell[1];", "cell", "ld.shared.u64 %rd1, [%rd1];");
}

static double implied_shared(const struct bench *bench, const struct row *row)
{
    (void)row;
    return bench->design->collect_cycles + bench->design->shared_latency;
}

static struct reading measure_constant(const struct bench *bench, const struct row *row)
{
    (void)row;
    return measure_cells(bench, ".shared .align 8 .u64 cell[1];\n.const .align 8 .u64 table[1] = {table};", "table",
                         "ld.const.u64 %rd1, [%rd1];");
}

static double implied_constant(const struct bench *bench, const struct row *row)
{
    (void)row;
    return bench->design->collect_cycles + bench->design->constant_latency;
}

/* ---- strides ---- */

static void run_stride(const struct bench *bench, const char *load, uint32_t count, struct run *run)
{
    uint32_t stride = 4 * bench->k;
    struct text kernel;
    text_begin(&kernel, ".shared .align 16 .b8 cells[4096];");
    text_add(&kernel, "mov.u32 %%r10, %%laneid;\nmul.lo.u32 %%r10, %%r10, %u;\n", stride);
    text_add(&kernel, "mov.u32 %%r11, cells;\nadd.u32 %%r11, %%r11, %%r10;\n");
    text_add(&kernel, "cvt.u64.u32 %%rd1, %%r10;\nadd.u64 %%rd1, %%rd1, %%rd0;\n");
    text_repeat(&kernel, count, load, 1, 8);
    text_use(&kernel, 1, 8);
    text_end(&kernel);
    /*
     * The schedulers' order in a cycle is fixed: one alone must be able to keep the unit busy when the others have
     * ended.
     */
    const struct corun_gpu_config *c = bench->design;
    uint32_t threads = c->threads_per_sm / 2 < c->threads_per_tb ? c->threads_per_sm / 2 : c->threads_per_tb;
    *run = (struct run){
        .text = kernel.data, .tbs = c->threads_per_sm / threads, .threads = threads, .buffer_bytes = 32 * stride};
    run_kernel(bench, run);
    text_free(&kernel);
}

/* No SM is faster than its schedulers. */
static double issue_cycles(const struct corun_gpu_config *config)
{
    return (double)config->warp_issue_cycles / config->schedulers_per_sm;
}

/* Cycles that the load/store unit takes per warp instruction, and the same from a counter. */
static struct reading cycles_per_access(const struct bench *bench, const char *load, size_t counter, uint64_t base)
{
    enum { LENGTH = 32 };
    static const struct run nothing;
    struct run shorter = nothing, longer = nothing;
    run_stride(bench, load, LENGTH, &shorter);
    run_stride(bench, load, 2 * LENGTH, &longer);
    uint64_t loads = longer.counters.loads - shorter.counters.loads, counts[2];
    memcpy(&counts[0], (const char *)&shorter.counters + counter, sizeof counts[0]);
    memcpy(&counts[1], (const char *)&longer.counters + counter, sizeof counts[1]);
    double counted = (double)(counts[1] - counts[0]) / (double)loads + (double)base;
    return (struct reading){(double)(longer.cycles - shorter.cycles) / (double)loads, counted};
}

static struct reading measure_conflicts(const struct bench *bench, const struct row *row)
{
    (void)row;
    struct reading reading = cycles_per_access(bench, "ld.shared.u32 %r#, [%r11];",
                                               offsetof(struct corun_counters, shared_conflict_cycles), 1);
    reading.other = fmax(reading.other, issue_cycles(bench->design));
    return reading;
}

static uint32_t greatest_divisor(uint32_t a, uint32_t b)
{
    return b ? greatest_divisor(b, a % b) : a;
}

/*
 * Lanes that are served together: half a warp or as many as there are banks. They use banks / gcd(stride, banks) banks.
 */
static double implied_conflicts(const struct bench *bench, const struct row *row)
{
    (void)row;
    const struct corun_gpu_config *c = bench->design;
    uint32_t together = c->access_lanes < c->shared_banks ? c->access_lanes : c->shared_banks;
    uint32_t used = c->shared_banks / greatest_divisor(bench->k, c->shared_banks);
    assert(used);
    uint32_t groups = CORUN_WARP_LANES / together, degree = (together + used - 1) / used;
    return fmax(groups * degree, issue_cycles(c));
}

static bool hits_several_lines(const struct corun_gpu_config *config)
{
    return has_l1(config) && config->l1_lines_per_cycle > 1;
}

static struct reading measure_coalescing(const struct bench *bench, const struct row *row)
{
    (void)row;
    struct reading reading =
        cycles_per_access(bench, "ld.global.u32 %r#, [%rd1];", offsetof(struct corun_counters, global_transactions), 0);
    /* what comes after the coalescer may be slower than it is, or takes several lines at once: only the counter can tell */
    if (!has_l1(bench->design) || hits_several_lines(bench->design))
        reading = (struct reading){reading.other, NAN};
    return reading;
}

/* Lines that the lanes of each group touch. */
static double implied_coalescing(const struct bench *bench, const struct row *row)
{
    (void)row;
    const struct corun_gpu_config *c = bench->design;
    uint32_t line_bytes = has_l1(c) ? c->l1_line_bytes : c->l2_line_bytes, lines = 0;
    for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++) {
        uint32_t line = lane * 4 * bench->k / line_bytes;
        lines += lane % c->access_lanes == 0 || line != (lane - 1) * 4 * bench->k / line_bytes;
    }
    return lines;
}

static struct reading measure_lines(const struct bench *bench, const struct row *row)
{
    (void)row;
    struct reading reading =
        cycles_per_access(bench, "ld.global.u32 %r#, [%rd1];", offsetof(struct corun_counters, global_transactions), 0);
    return (struct reading){reading.value, NAN};
}

/* As many lookups as there are lines for, or as many cycles as the fullest bank has words. */
static double implied_lines(const struct bench *bench, const struct row *row)
{
    uint32_t each = bench->design->l1_lines_per_cycle, lines = (uint32_t)implied_coalescing(bench, row);
    uint32_t lookups = (lines + each - 1) / each;
    return fmax(lookups, implied_conflicts(bench, row));
}

/* ---- constants ---- */

/* The lanes of a warp load k different words: lane i the word i modulo k. */
static void run_words(const struct bench *bench, uint32_t count, struct run *run)
{
    struct text kernel;
    text_begin(&kernel, ".const .align 256 .b8 words[128];");
    text_add(&kernel, "mov.u32 %%r10, %%laneid;\nrem.u32 %%r10, %%r10, %u;\n", bench->k);
    text_add(&kernel, "mul.wide.u32 %%rd1, %%r10, 4;\nmov.u64 %%rd2, words;\nadd.u64 %%rd1, %%rd1, %%rd2;\n");
    text_repeat(&kernel, count, "ld.const.u32 %r#, [%rd1];", 1, 8);
    text_use(&kernel, 1, 8);
    text_end(&kernel);
    const struct corun_gpu_config *c = bench->design;
    uint32_t threads = c->threads_per_sm / 2 < c->threads_per_tb ? c->threads_per_sm / 2 : c->threads_per_tb;
    *run = (struct run){.text = kernel.data, .tbs = c->threads_per_sm / threads, .threads = threads};
    run_kernel(bench, run);
    text_free(&kernel);
}

static struct reading measure_words(const struct bench *bench, const struct row *row)
{
    (void)row;
    struct run shorter, longer;
    run_words(bench, 32, &shorter);
    run_words(bench, 64, &longer);
    uint64_t loads = longer.counters.loads - shorter.counters.loads;
    return (struct reading){(double)(longer.cycles - shorter.cycles) / (double)loads, NAN};
}

static double implied_words(const struct bench *bench, const struct row *row)
{
    (void)row;
    const struct corun_gpu_config *c = bench->design;
    uint32_t groups = CORUN_WARP_LANES / c->access_lanes;
    return fmax(groups * fmin(bench->k, c->access_lanes), issue_cycles(c));
}

static const uint32_t words[] = {32, 16, 8, 4, 2, 1, 0};

/* The last one tells most when the unit is switched off. */
static const uint32_t upwards[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
                                   18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 0};
static const uint32_t odd[] = {3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 0};
static const uint32_t downwards[] = {32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
                                     15, 14, 13, 12, 11, 10, 9,  8,  7,  6,  5,  4,  3,  2,  1,  0};

static bool has_narrow_banks(const struct corun_gpu_config *config)
{
    return config->shared_bank_bytes == 4;
}

static bool has_whole_accesses(const struct corun_gpu_config *config)
{
    return config->access_lanes == CORUN_WARP_LANES;
}

const struct row memory_rows[] = {
    {"latency of shared memory", "cycles", measure_shared, implied_shared, ALONE, "shared_latency=1", NULL, NULL, 0,
     NULL, NULL},
    {"latency of the constant cache", "cycles", measure_constant, implied_constant, ALONE, "constant_latency=1", NULL,
     NULL, 0, NULL, NULL},
    {"constant cache, different words:", "cycles per access", measure_words, implied_words, ALONE ",scheduler=lrr",
     "access_lanes=16", has_whole_accesses, NULL, 0, NULL, words},
    {"latency of the L1", "cycles", measure_l1, implied_l1, ALONE, "l1_bytes=0", has_l1, NULL, 0, NULL, NULL},
    {"latency of twice the L1", "cycles", measure_beyond_l1, implied_beyond_l1, ALONE, "l1_bytes=384K,l1_ways=96",
     has_l1, NULL, 0, NULL, NULL},
    {"latency of the L2", "cycles", measure_l2, implied_l2, ALONE, "l2_bytes=0", has_l2, NULL, 0, NULL, NULL},
    {"latency of a hop through the mesh", "cycles", measure_hop, implied_hop, CACHED, "icnt_latency=1", is_mesh, NULL,
     0, NULL, NULL},
    {"latency of DRAM, row hit", "cycles", measure_row_hit, implied_row_hit, ALONE, "dram_latency=0,dram_tCL=1", NULL,
     NULL, 0, NULL, NULL},
    {"latency of DRAM, row conflict", "cycles", measure_row_conflict, implied_row_conflict, ALONE,
     "dram_tRP=1,dram_tRCD=1", NULL, NULL, 0, NULL, NULL},
    {"shared memory at a stride of", "cycles per access", measure_conflicts, implied_conflicts, ALONE ",scheduler=lrr",
     "shared_banks=64", has_narrow_banks, NULL, 0, NULL, upwards},
    {"coalescing at a stride of", "transactions per access", measure_coalescing, implied_coalescing,
     ALONE ",scheduler=lrr", "access_lanes=16", NULL, NULL, 0, NULL, downwards},
    {"lines of the L1 at a stride of", "cycles per access", measure_lines, implied_lines, ALONE ",scheduler=lrr",
     "l1_lines_per_cycle=1", hits_several_lines, NULL, 0, NULL, odd},
    {0},
};
