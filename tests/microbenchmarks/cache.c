/* SPDX-License-Identifier: MIT */
/* Misses of the instruction cache (code that is larger than it) and of the constant cache, both answered by the L2. */
#include "harness.h"

#include <string.h>

#define ALONE "sms=1,dram_tREFI=0,icnt=crossbar,"
#define SMALL_CODE_CACHE ALONE "constant_perfect=1,icache_perfect=0,icache_bytes=8K,icache_ways=4"
#define SMALL_CONSTANT_CACHE \
    ALONE "icache_perfect=1,constant_perfect=0,constant_bytes=2K,constant_ways=2,constant_line_bytes=64," \
          "constant_first_bytes=0"
#define TWO_CONSTANT_CACHES \
    ALONE "icache_perfect=1,constant_perfect=0,constant_bytes=64K,constant_ways=4,constant_line_bytes=64," \
          "constant_latency=90,constant_first_bytes=16K,constant_first_line_bytes=64,constant_first_latency=20"

/* ---- code ---- */

static void run_code(const struct bench *bench, uint32_t instructions, uint32_t turns, struct run *run)
{
    enum { REGISTERS = 12 };
    struct text kernel;
    text_begin(&kernel, NULL);
    for (uint32_t i = 0; i < REGISTERS; i++)
        text_add(&kernel, "mov.u32 %%r%u, 0;\n", 1 + i);
    text_loop_begin(&kernel, turns);
    text_repeat(&kernel, instructions, "add.u32 %r#, %r#, 1;", 1, REGISTERS);
    text_loop_end(&kernel);
    text_use(&kernel, 1, REGISTERS);
    text_end(&kernel);
    *run = (struct run){.text = kernel.data, .tbs = 1, .threads = 32};
    run_kernel(bench, run);
    text_free(&kernel);
}

/* Cycles per instruction of a loop of so many bytes. */
static struct reading loop(const struct bench *bench, uint32_t code_bytes)
{
    enum { TURNS = 3 };
    static const struct run nothing;
    struct run shorter = nothing, longer = nothing;
    uint32_t instructions = code_bytes / bench->design->instruction_bytes;
    run_code(bench, instructions, TURNS, &shorter);
    run_code(bench, instructions, 2 * TURNS, &longer);
    uint64_t issued = longer.counters.warp_instructions - shorter.counters.warp_instructions;
    return (struct reading){(double)(longer.cycles - shorter.cycles) / (double)issued, NAN};
}

static uint32_t issue_gap(const struct corun_gpu_config *c)
{
    uint32_t gap = c->int_add_interval > c->warp_issue_cycles ? c->int_add_interval : c->warp_issue_cycles;
    uint32_t turn = (c->collect_cycles + c->int_add_latency + 11) / 12; /* its register comes again after twelve */
    return gap > turn ? gap : turn;
}

static struct reading measure_code_fits(const struct bench *bench, const struct row *row)
{
    (void)row;
    return loop(bench, bench->design->icache_bytes / 2);
}

static double implied_code_fits(const struct bench *bench, const struct row *row)
{
    (void)row;
    return issue_gap(bench->design);
}

static struct reading measure_code_misses(const struct bench *bench, const struct row *row)
{
    (void)row;
    return loop(bench, bench->design->icache_bytes * 2);
}

/*
 * A line is asked for when the last instruction of the one before has been issued; its first one issues when it comes.
 */
static double implied_code_misses(const struct bench *bench, const struct row *row)
{
    (void)row;
    const struct corun_gpu_config *c = bench->design;
    uint32_t instructions = c->icache_line_bytes / c->instruction_bytes;
    return (round_trip(c, c->icache_line_bytes) + (instructions - 1) * issue_gap(c)) / instructions;
}

/* ---- constants ---- */

struct circle {
    uint32_t bytes, step;
};

static void link_lines(void *user, const struct bench *bench, uint64_t address, uint8_t *host)
{
    const struct circle *circle = user;
    (void)bench;
    for (uint32_t at = 0; at < circle->bytes; at += circle->step) {
        uint64_t next = address + (at + circle->step) % circle->bytes;
        memcpy(host + at, &next, sizeof next);
    }
}

/* Cycles of a step along a circle of so many bytes, a line a step, in all turns but the first. */
static struct reading chase_constants(const struct bench *bench, uint32_t bytes)
{
    enum { TURNS = 4 };
    struct circle circle = {bytes, bench->design->constant_line_bytes};
    uint32_t lines = bytes / circle.step;
    struct run run[2];
    for (uint32_t pass = 0; pass < 2; pass++) {
        struct text kernel;
        char variables[64];
        snprintf(variables, sizeof variables, ".const .align 256 .b8 table[%u];", bytes);
        text_begin(&kernel, variables);
        text_add(&kernel, "mov.u64 %%rd1, table;\nmov.u64 %%rd30, %%clock64;\n");
        text_repeat(&kernel, (2 + TURNS * pass) * lines, "ld.const.u64 %rd1, [%rd1];", 1, 1);
        text_add(&kernel, "and.b64 %%rd2, %%rd1, 0;\nmov.u64 %%rd31, %%clock64;\nsub.u64 %%rd31, %%rd31, %%rd30;\n"
                          "add.u64 %%rd31, %%rd31, %%rd2;\nst.global.u64 [stamps], %%rd31;\n");
        text_end(&kernel);
        run[pass] =
            (struct run){.text = kernel.data, .tbs = 1, .threads = 1, .fill_table = link_lines, .user = &circle};
        run_kernel(bench, &run[pass]);
        text_free(&kernel);
    }
    return (struct reading){(double)(run[1].cycles - run[0].cycles) / (TURNS * lines),
                            (double)(run[1].stamps[0] - run[0].stamps[0]) / (TURNS * lines)};
}

static struct reading measure_constants(const struct bench *bench, const struct row *row)
{
    (void)row;
    return chase_constants(bench, 4 * bench->design->constant_bytes);
}

static double implied_constants(const struct bench *bench, const struct row *row)
{
    (void)row;
    const struct corun_gpu_config *c = bench->design;
    return c->collect_cycles + c->constant_latency + round_trip(c, c->constant_line_bytes);
}

static struct reading measure_first_level(const struct bench *bench, const struct row *row)
{
    (void)row;
    return chase_constants(bench, bench->design->constant_first_bytes / 2);
}

static double implied_first_level(const struct bench *bench, const struct row *row)
{
    (void)row;
    return bench->design->collect_cycles + bench->design->constant_first_latency;
}

static struct reading measure_second_level(const struct bench *bench, const struct row *row)
{
    (void)row;
    return chase_constants(bench, 2 * bench->design->constant_first_bytes);
}

static double implied_second_level(const struct bench *bench, const struct row *row)
{
    (void)row;
    return bench->design->collect_cycles + bench->design->constant_latency;
}

const struct row cache_rows[] = {
    {"code that fits the instruction cache", "cycles per instruction", measure_code_fits, implied_code_fits,
     SMALL_CODE_CACHE, "icache_bytes=512", NULL, NULL, 0, NULL, NULL},
    {"code twice the instruction cache", "cycles per instruction", measure_code_misses, implied_code_misses,
     SMALL_CODE_CACHE, "icache_perfect=1", has_l2, NULL, 0, NULL, NULL},
    {"latency of four times the constant cache", "cycles", measure_constants, implied_constants, SMALL_CONSTANT_CACHE,
     "constant_perfect=1", has_l2, NULL, 0, NULL, NULL},
    {"latency of what fits the first level for constants", "cycles", measure_first_level, implied_first_level,
     TWO_CONSTANT_CACHES, "constant_first_bytes=0", NULL, NULL, 0, NULL, NULL},
    {"latency of twice the first level for constants", "cycles", measure_second_level, implied_second_level,
     TWO_CONSTANT_CACHES, "constant_first_bytes=64K", NULL, NULL, 0, NULL, NULL},
    {0},
};
