/* SPDX-License-Identifier: MIT */
/*
 * Contention: MSHRs that bound what is under way, rows of a DRAM bank that close each other, the order in which a
 * controller serves its queue, atomics that meet at one slice or spread over all.
 */
#include "harness.h"

#include "gpu/address_map.h"
#include "gpu/dram.h"

#include <stdlib.h>
#include <string.h>

#define ALONE "icache_perfect=1,constant_perfect=1,dram_tREFI=0,icnt=crossbar"

/* ---- parallelism limited by MSHRs ---- */

/* Every load goes out: many more than there are MSHRs, whichever scheduler they come from. */
static void run_misses(const struct bench *bench, uint32_t count, struct run *run)
{
    struct text kernel;
    text_begin(&kernel, NULL);
    text_add(&kernel, "mov.u32 %%r10, %%tid.x;\nshr.u32 %%r10, %%r10, 5;\nmul.wide.u32 %%rd1, %%r10, 256;\n"
                      "add.u64 %%rd1, %%rd1, %%rd0;\n");
    text_repeat(&kernel, count, "ld.global.cg.u32 %r#, [%rd1];", 1, 8);
    text_use(&kernel, 1, 8);
    text_end(&kernel);
    *run = (struct run){.text = kernel.data,
                        .tbs = bench->design->threads_per_sm / 256,
                        .threads = 256,
                        .buffer_bytes = 256 / CORUN_WARP_LANES * 256};
    run_kernel(bench, run);
    text_free(&kernel);
}

static struct reading measure_mshrs(const struct bench *bench, const struct row *row)
{
    enum { LENGTH = 32 };
    (void)row;
    static const struct run nothing;
    struct run shorter = nothing, longer = nothing;
    run_misses(bench, LENGTH, &shorter);
    run_misses(bench, 2 * LENGTH, &longer);
    return (struct reading){
        (double)(longer.counters.loads - shorter.counters.loads) / (double)(longer.cycles - shorter.cycles), NAN};
}

/* Little's law: each request holds its MSHR for a round trip. */
static double implied_mshrs(const struct bench *bench, const struct row *row)
{
    (void)row;
    double rate = bench->design->l1_mshrs / round_trip(bench->design, bench->design->l2_sector_bytes);
    return rate < 1 ? rate : 1;
}

static void set_mshrs(struct corun_gpu_config *config, uint32_t k)
{
    config->l1_mshrs = k;
}

/* ---- one DRAM bank ---- */

enum pattern { ROW_AFTER_ROW, A_LINE_OF_EACH_ROW, TWO_ROWS_IN_TURN };

enum { REQUESTS = 512, REGISTERS = 16, REQUEST_BYTES = 4 };

struct bank_walk {
    enum pattern pattern;
    uint32_t *offsets; /* of REQUESTS lines */
};

struct bank_rows {
    uint64_t *numbers;
    uint32_t *lines; /* [row][lines_per_row], offsets */
    uint32_t *line_counts, count, capacity, lines_per_row;
};

static void note_line(struct bank_rows *rows, uint64_t number, uint32_t offset)
{
    uint32_t at = rows->count;
    while (at > 0 && rows->numbers[at - 1] != number)
        at--;
    if (at == 0) {
        if (rows->count == rows->capacity)
            return;
        rows->numbers[rows->count++] = number;
        at = rows->count;
    }
    at--;
    if (rows->line_counts[at] < rows->lines_per_row)
        rows->lines[at * rows->lines_per_row + rows->line_counts[at]++] = offset;
}

/* The lines of rows of one bank, in order of address; rows that lie in the buffer only partly are left out. */
static void find_rows(const struct bench *bench, uint64_t address, uint64_t bytes, struct bank_rows *rows)
{
    struct address_map map;
    address_map_create(&map, bench->design);
    uint32_t controller = 0, bank = 0;
    for (uint64_t offset = 0; offset < bytes; offset += bench->design->l2_line_bytes) {
        uint64_t local, row;
        uint32_t slice = address_map_slice(&map, address + offset, &local);
        uint32_t in_bank = address_map_bank(&map, slice % map.slices_per_controller, local, &row);
        if (offset == 0) {
            controller = slice / map.slices_per_controller;
            bank = in_bank;
        }
        if (slice / map.slices_per_controller == controller && in_bank == bank)
            note_line(rows, row, (uint32_t)offset);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rows->count; i++)
        if (rows->line_counts[i] == rows->lines_per_row) {
            memmove(rows->lines + kept * rows->lines_per_row, rows->lines + i * rows->lines_per_row,
                    rows->lines_per_row * sizeof *rows->lines);
            kept++;
        }
    rows->count = kept;
}

static void order_lines(struct bank_walk *walk, const struct bank_rows *rows)
{
    uint32_t per_row = rows->lines_per_row;
    for (uint32_t i = 0; i < REQUESTS; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): the configuration has been checked */
        uint32_t row = i / per_row, line = i % per_row;
        if (walk->pattern == A_LINE_OF_EACH_ROW) {
            row = i;
            line = 0;
        } else if (walk->pattern == TWO_ROWS_IN_TURN) {
            row = i / per_row / 2 * 2 + i % 2;
            line = i / 2 % per_row;
        }
        if (row >= rows->count)
            abort(); /* the buffer is too small */
        walk->offsets[i] = rows->lines[row * per_row + line];
    }
}

static uint64_t walk_bytes(const struct bench *bench, enum pattern pattern)
{
    const struct corun_gpu_config *c = bench->design;
    uint32_t per_row = c->dram_row_bytes / c->l2_line_bytes;
    uint64_t rows = pattern == A_LINE_OF_EACH_ROW ? REQUESTS : REQUESTS / per_row;
    return (rows + 8) * c->dram_row_bytes * c->dram_banks * c->memory_controllers;
}

static void fill_walk(void *user, const struct bench *bench, uint64_t address,
                      uint8_t *host) /* NOLINT(readability-non-const-parameter): as struct run has it */
{
    (void)host;
    struct bank_walk *walk = user;
    struct bank_rows rows = {.capacity = REQUESTS + 8};
    rows.lines_per_row = bench->design->dram_row_bytes / bench->design->l2_line_bytes;
    rows.numbers = calloc(rows.capacity, sizeof *rows.numbers);
    rows.line_counts = calloc(rows.capacity, sizeof *rows.line_counts);
    rows.lines = calloc((size_t)rows.capacity * rows.lines_per_row, sizeof *rows.lines);
    walk->offsets = calloc(REQUESTS, sizeof *walk->offsets);
    if (!rows.numbers || !rows.line_counts || !rows.lines || !walk->offsets)
        abort();
    find_rows(bench, address, walk_bytes(bench, walk->pattern), &rows);
    order_lines(walk, &rows);
    free(rows.numbers);
    free(rows.line_counts);
    free(rows.lines);
}

static void fill_offsets(void *user, const struct bench *bench, uint64_t address, uint8_t *host)
{
    (void)bench;
    (void)address;
    const struct bank_walk *walk = user;
    memcpy(host, walk->offsets, REQUESTS * sizeof *walk->offsets);
}

/*
 * One warp reads a sector of each of 32 lines with every load; all its loads are under way together. Those from `loads`
 * on are switched off by their guard, so that runs of different lengths differ in nothing else.
 */
static uint64_t run_walk(const struct bench *bench, enum pattern pattern, uint32_t loads)
{
    struct bank_walk walk = {pattern, NULL};
    struct text kernel;
    char variables[64];
    snprintf(variables, sizeof variables, ".const .align 256 .b8 table[%u];", REQUESTS * 4);
    text_begin(&kernel, variables);
    text_add(&kernel, "mov.u32 %%r0, %%laneid;\nmul.wide.u32 %%rd1, %%r0, 4;\nmov.u64 %%rd2, table;\n"
                      "add.u64 %%rd1, %%rd1, %%rd2;\nsetp.eq.u32 %%p1, %%r0, 32;\n");
    for (uint32_t i = 0; i < REGISTERS; i++)
        text_add(&kernel, "ld.const.u32 %%r%u, [%%rd1+%u];\n", 1 + i, i * CORUN_WARP_LANES * 4);
    for (uint32_t i = 0; i < REGISTERS; i++)
        text_add(&kernel, "cvt.u64.u32 %%rd%u, %%r%u;\nadd.u64 %%rd%u, %%rd%u, %%rd0;\n", 3 + i, 1 + i, 3 + i, 3 + i);
    for (uint32_t i = 0; i < REGISTERS; i++)
        text_add(&kernel, "%sld.global.cg.u32 %%r%u, [%%rd%u];\n", i < loads ? "" : "@%p1 ", 1 + i, 3 + i);
    /* the sums below must not begin before the last load has come back and its data have passed the L1 */
    text_add(&kernel, "membar.gl;\nmov.u32 %%r0, %%r%u;\n", loads);
    text_use(&kernel, 1, REGISTERS);
    text_end(&kernel);
    struct run run = {.text = kernel.data,
                      .tbs = 1,
                      .threads = CORUN_WARP_LANES,
                      .buffer_bytes = walk_bytes(bench, pattern),
                      .fill = fill_walk,
                      .fill_table = fill_offsets,
                      .user = &walk};
    run_kernel(bench, &run);
    text_free(&kernel);
    free(walk.offsets);
    return run.cycles;
}

static struct reading walk_bank(const struct bench *bench, enum pattern pattern, uint32_t loads)
{
    uint64_t shorter = run_walk(bench, pattern, loads), longer = run_walk(bench, pattern, 2 * loads);
    return (struct reading){(double)(longer - shorter) / (loads * CORUN_WARP_LANES), NAN};
}

/* DRAM cycles from row to row of a bank if each serves `visit` requests, of one burst each, when it is opened. */
static uint32_t bank_period(const struct corun_gpu_config *c, uint32_t visit)
{
    uint32_t bus = c->dram_bus_bytes * c->dram_data_rate, burst = (c->dram_burst_bytes + bus - 1) / bus;
    uint32_t gap = c->dram_tCCDL > burst ? c->dram_tCCDL : burst;
    uint32_t open = c->dram_tRCD + (visit - 1) * gap + c->dram_tRTPL;
    uint32_t period = (open > c->dram_tRAS ? open : c->dram_tRAS) + c->dram_tRP;
    return period > c->dram_tRC ? period : c->dram_tRC;
}

/* Core cycles per request. */
static double bank_cycles(const struct corun_gpu_config *c, uint32_t visit)
{
    return bank_period(c, visit) * core_per(c, c->dram_clock_khz) / visit;
}

static struct reading measure_hits(const struct bench *bench, const struct row *row)
{
    (void)row;
    return walk_bank(bench, ROW_AFTER_ROW, REGISTERS / 2);
}

static double implied_hits(const struct bench *bench, const struct row *row)
{
    (void)row;
    return bank_cycles(bench->design, bench->design->dram_row_bytes / bench->design->l2_line_bytes);
}

static struct reading measure_conflicts(const struct bench *bench, const struct row *row)
{
    (void)row;
    return walk_bank(bench, A_LINE_OF_EACH_ROW, REGISTERS / 2);
}

static double implied_conflicts(const struct bench *bench, const struct row *row)
{
    (void)row;
    return bank_cycles(bench->design, 1);
}

/*
 * Loads of the shorter walk over two rows in turn: whole pairs of rows, and so few that the longer one ends before any
 * request has waited for DRAM_AGE_CAP. From then on the bank serves its requests in order of age, whether their row is
 * open or not.
 */
static uint32_t loads_in_time(const struct corun_gpu_config *c)
{
    uint32_t per_row = c->dram_row_bytes / c->l2_line_bytes;
    uint32_t pairs = 2 * per_row > CORUN_WARP_LANES ? 2 * per_row : CORUN_WARP_LANES;
    uint32_t requests = DRAM_AGE_CAP / bank_period(c, per_row) * per_row / 2;
    requests = (requests < REQUESTS / 2 ? requests : REQUESTS / 2) / pairs * pairs;
    if (requests == 0)
        abort(); /* no request can wait for two pairs of rows */
    return requests / CORUN_WARP_LANES;
}

/* Two rows in turn: in order of age every request closes a row; else the queue collects what belongs together. */
static struct reading measure_turns(const struct bench *bench, const struct row *row)
{
    (void)row;
    return walk_bank(bench, TWO_ROWS_IN_TURN, loads_in_time(bench->design));
}

static double implied_turns(const struct bench *bench, const struct row *row)
{
    return bench->design->dram_scheduler == CORUN_DRAM_SCHEDULER_FCFS ? implied_conflicts(bench, row)
                                                                      : implied_hits(bench, row);
}

/* ---- atomics ---- */

static double atomic_rate(const struct bench *bench, bool spread)
{
    enum { LENGTH = 16, WARPS = 8 };
    uint64_t cycles[2], atomics[2];
    for (uint32_t pass = 0; pass < 2; pass++) {
        struct text kernel;
        text_begin(&kernel, NULL);
        text_add(&kernel,
                 "mov.u32 %%r10, %%ctaid.x;\nmov.u32 %%r11, %%tid.x;\nshr.u32 %%r11, %%r11, 5;\n"
                 "mad.lo.u32 %%r10, %%r10, %u, %%r11;\nmul.wide.u32 %%rd1, %%r10, %u;\nadd.u64 %%rd1, %%rd1, %%rd0;\n",
                 WARPS, spread ? 2048 : 0);
        for (uint32_t i = 0; i < (pass + 1) * LENGTH; i++)
            text_add(&kernel, "red.global.add.u32 [%%rd1+%u], 1;\n", spread ? i % 8 * 256 : 0);
        text_end(&kernel);
        uint32_t sms = bench->design->sms;
        struct run run = {.text = kernel.data,
                          .tbs = sms,
                          .threads = WARPS * CORUN_WARP_LANES,
                          .buffer_bytes = (uint64_t)sms * WARPS * 2048};
        run_kernel(bench, &run);
        text_free(&kernel);
        cycles[pass] = run.cycles;
        atomics[pass] = run.counters.atomics;
    }
    return (double)(atomics[1] - atomics[0]) / (double)(cycles[1] - cycles[0]);
}

/* Every lane of a warp goes to one address: a slice performs them one after the other. */
static double slice_rate(const struct corun_gpu_config *c)
{
    return 1.0 / (CORUN_WARP_LANES * c->atomic_interval * core_per(c, c->l2_clock_khz));
}

static struct reading measure_one_address(const struct bench *bench, const struct row *row)
{
    (void)row;
    return (struct reading){atomic_rate(bench, false), NAN};
}

static double implied_one_address(const struct bench *bench, const struct row *row)
{
    (void)row;
    return slice_rate(bench->design);
}

static struct reading measure_many_addresses(const struct bench *bench, const struct row *row)
{
    (void)row;
    return (struct reading){atomic_rate(bench, true), NAN};
}

static double implied_many_addresses(const struct bench *bench, const struct row *row)
{
    (void)row;
    const struct corun_gpu_config *c = bench->design;
    double slices = slice_rate(c) * c->memory_controllers * c->slices_per_controller;
    double sms = c->sms / core_per(c, c->icnt_clock_khz);
    sms = sms < c->sms ? sms : c->sms;
    return slices < sms ? slices : sms;
}

/* ---- stores of parts of sectors ---- */

/* Sectors a core cycle: each lane stores a word of a sector of its own. */
static struct reading measure_parts(const struct bench *bench, const struct row *row)
{
    enum { LENGTH = 16, WARPS = 8, SECTOR = 32 };
    (void)row;
    uint64_t cycles[2];
    uint32_t sms = bench->design->sms, lanes = sms * WARPS * CORUN_WARP_LANES;
    for (uint32_t pass = 0; pass < 2; pass++) {
        struct text kernel;
        text_begin(&kernel, NULL);
        text_add(&kernel,
                 "mov.u32 %%r10, %%ctaid.x;\nmov.u32 %%r11, %%tid.x;\nmad.lo.u32 %%r10, %%r10, %u, %%r11;\n"
                 "mul.wide.u32 %%rd1, %%r10, %u;\nadd.u64 %%rd1, %%rd1, %%rd0;\n",
                 WARPS * CORUN_WARP_LANES, SECTOR);
        for (uint32_t i = 0; i < (pass + 1) * LENGTH; i++)
            text_add(&kernel, "st.global.u32 [%%rd1+%u], %%r10;\n", i % (SECTOR / 4) * 4);
        text_end(&kernel);
        struct run run = {.text = kernel.data,
                          .tbs = sms,
                          .threads = WARPS * CORUN_WARP_LANES,
                          .buffer_bytes = (uint64_t)lanes * SECTOR};
        run_kernel(bench, &run);
        text_free(&kernel);
        cycles[pass] = run.cycles;
    }
    return (struct reading){(double)lanes * LENGTH / (double)(cycles[1] - cycles[0]), NAN};
}

static double implied_parts(const struct bench *bench, const struct row *row)
{
    (void)row;
    const struct corun_gpu_config *c = bench->design;
    return c->memory_controllers * c->slices_per_controller / (c->l2_part_write_cycles * core_per(c, c->l2_clock_khz));
}

static const uint32_t mshrs[] = {4, 8, 16, 32, 0};

#define FREE_ROWS "dram_tRP=1,dram_tRCD=1,dram_tRAS=1,dram_tRC=1"
/* Requests come through one slice, in the order in which they were sent, and all find a place in the queue at once. */
#define ONE_SM ALONE ",sms=1,l1_mshrs=2048,l2_mshrs=2048,dram_queue=1024,slices_per_controller=1"

const struct row contention_rows[] = {
    {"misses per cycle, MSHRs:", "requests per cycle", measure_mshrs, implied_mshrs, ALONE ",sms=1,scheduler=lrr",
     "l1_mshrs=4096", has_l2, set_mshrs, 0, NULL, mshrs},
    {"requests to one bank, row after row", "cycles per request", measure_hits, implied_hits, ONE_SM, FREE_ROWS, NULL,
     NULL, 0, NULL, NULL},
    {"requests to one bank, each to another row", "cycles per request", measure_conflicts, implied_conflicts, ONE_SM,
     FREE_ROWS, NULL, NULL, 0, NULL, NULL},
    {"two rows in turn, row hits first", "cycles per request", measure_turns, implied_turns,
     ONE_SM ",dram_scheduler=fr_fcfs", "dram_scheduler=fcfs", NULL, NULL, 0, NULL, NULL},
    {"two rows in turn, in order of age", "cycles per request", measure_turns, implied_turns,
     ONE_SM ",dram_scheduler=fcfs", "dram_scheduler=fr_fcfs", NULL, NULL, 0, NULL, NULL},
    {"atomics to one address", "warp instructions per cycle", measure_one_address, implied_one_address,
     ALONE ",atomic_interval=4", "atomic_interval=1", has_l2, NULL, 0, NULL, NULL},
    {"atomics to many addresses", "warp instructions per cycle", measure_many_addresses, implied_many_addresses,
     ALONE ",atomic_interval=4", "atomic_interval=1", has_l2, NULL, 0, NULL, NULL},
    {"stores of single words", "sectors per cycle", measure_parts, implied_parts, ALONE ",l2_part_write_cycles=4",
     "l2_part_write_cycles=0", has_l2, NULL, 0, NULL, NULL},
    {0},
};
