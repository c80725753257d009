/* SPDX-License-Identifier: MIT */
/*
 * Bandwidth of L1, L2 and DRAM in bytes per core cycle: many warps load whole lines, as many as the level below could
 * deliver.
 */
#include "harness.h"

#define LINES 8u /* loads of a warp that are under way together */

static double least(double a, double b)
{
    return a < b ? a : b;
}

enum { TBS_PER_SM = 2, TB_THREADS = 256 };

enum pattern {
    SAME_EVERYWHERE, /* every thread block reads the same, again and again */
    SAME_EACH_TURN,  /* every warp reads its own, again and again */
    ONWARD           /* a turn begins behind what all warps have read in the turn before */
};

/* Every warp loads LINES times 128 bytes in a turn. */
static uint64_t stream(const struct bench *bench, const char *load, uint32_t turns, enum pattern pattern, uint32_t tbs)
{
    struct text kernel;
    bool shared = pattern == SAME_EVERYWHERE;
    uint32_t turn_bytes = (shared ? 1 : tbs) * TB_THREADS * 4 * LINES;
    text_begin(&kernel, NULL);
    text_add(&kernel,
             "mov.u32 %%r10, %s;\nmov.u32 %%r11, %%tid.x;\nmad.lo.u32 %%r10, %%r10, %u, %%r11;\n"
             "mul.wide.u32 %%rd1, %%r10, 4;\nadd.u64 %%rd1, %%rd1, %%rd0;\n",
             shared ? "0" : "%ctaid.x", TB_THREADS);
    for (uint32_t i = 0; i < turns * LINES; i++) {
        uint64_t offset = (uint64_t)(pattern == ONWARD ? i : i % LINES) * (turn_bytes / LINES);
        text_add(&kernel, "ld.global%s.u32 %%r%u, [%%rd1+%llu];\n", load, i % LINES + 1, (unsigned long long)offset);
    }
    text_use(&kernel, 1, LINES);
    text_end(&kernel);
    struct run run = {.text = kernel.data,
                      .tbs = tbs,
                      .threads = TB_THREADS,
                      .buffer_bytes = (uint64_t)turn_bytes * (pattern == ONWARD ? turns : 1)};
    run_kernel(bench, &run);
    text_free(&kernel);
    return run.cycles;
}

static struct reading bandwidth(const struct bench *bench, const char *load, uint32_t turns, enum pattern pattern,
                                uint32_t tbs)
{
    double bytes = (double)tbs * TB_THREADS * 4 * LINES * turns;
    uint64_t shorter = stream(bench, load, turns, pattern, tbs);
    uint64_t longer = stream(bench, load, 2 * turns, pattern, tbs);
    return (struct reading){bytes / (double)(longer - shorter), NAN};
}

static struct reading measure_l1(const struct bench *bench, const struct row *row)
{
    (void)row;
    return bandwidth(bench, "", 8, SAME_EVERYWHERE, bench->design->threads_per_sm / TB_THREADS);
}

/* One transaction per cycle. */
static double implied_l1(const struct bench *bench, const struct row *row)
{
    (void)row;
    return 4.0 * bench->design->access_lanes;
}

/* What the network and the slices let through, for requests of one group of lanes each. */
static double through_l2(const struct corun_gpu_config *c)
{
    uint32_t bytes = 4 * c->access_lanes, slices = c->memory_controllers * c->slices_per_controller;
    double per_link = bytes / (double)flits_of(c, bytes) / core_per(c, c->icnt_clock_khz);
    double per_port = least(c->l2_bytes_per_cycle, bytes) / core_per(c, c->l2_clock_khz);
    return least(c->sms * least(per_link, bytes), slices * least(per_link, per_port));
}

/* Many SMs end within some 200 cycles: that is to be little beside the difference of the two runs (4200 cycles of 8 turns on a100). */
static struct reading measure_l2(const struct bench *bench, const struct row *row)
{
    (void)row;
    uint32_t sms = bench->design->sms;
    return bandwidth(bench, ".cg", sms <= 32 ? 8 : 16, SAME_EACH_TURN, TBS_PER_SM * sms);
}

static double implied_l2(const struct bench *bench, const struct row *row)
{
    (void)row;
    return through_l2(bench->design);
}

static void set_sms(struct corun_gpu_config *config, uint32_t k)
{
    config->sms = k;
}

/*
 * On many SMs as many thread blocks as there can be, and twice as many, so that those that end late are followed by fewer: in long loops SMs drift
 * apart, and the end of a run is that of the last one (10 % of 10 turns on a100).
 */
static struct reading measure_dram(const struct bench *bench, const struct row *row)
{
    (void)row;
    const struct corun_gpu_config *c = bench->design;
    if (c->sms <= 32)
        return bandwidth(bench, ".cg", 6, ONWARD, TBS_PER_SM * c->sms);
    uint32_t turns = 6, tbs = c->threads_per_sm / TB_THREADS * c->sms;
    uint64_t shorter = stream(bench, ".cg", turns, ONWARD, tbs), longer = stream(bench, ".cg", turns, ONWARD, 2 * tbs);
    return (struct reading){4.0 * TB_THREADS * LINES * turns * tbs / (double)(longer - shorter), NAN};
}

/*
 * Long turns of the SMs at the slices: with short ones, fair to the SMs, their streams mix and rows are opened more
 * often (4 packets a turn cost 6 % of the bandwidth on gtx980). And without halves of the L2: what comes from the one
 * farther off is the end of so short a run (6 % on h100, within the 5 % when it is twice as long).
 */
#define DRAM_ALONE ALONE ",icnt_turn_packets=1024,l2_far_latency=0,tb_turn_latency=0"

/*
 * The pins of all channels, without the time of refreshes: rows are closed before and opened after them. A stream opens
 * rows all the time, and the last one before a refresh stays open for tRAS.
 */
static double implied_dram(const struct bench *bench, const struct row *row)
{
    (void)row;
    const struct corun_gpu_config *c = bench->design;
    double pins = (double)c->memory_controllers * c->dram_bus_bytes * c->dram_data_rate;
    uint32_t open = c->dram_tRAS > c->dram_tRTPL ? c->dram_tRAS : c->dram_tRTPL;
    uint32_t lost = open + c->dram_tRP + c->dram_tRFC + c->dram_tRCD;
    double refresh = c->dram_tREFI ? (double)lost / c->dram_tREFI : 0;
    return least(pins / core_per(c, c->dram_clock_khz) * (1 - refresh), through_l2(c));
}

#define ALONE "icache_perfect=1,constant_perfect=1,l1_mshrs=4096,tb_start_interval=0" /* enough under way */

static const uint32_t sm_counts[] = {1, 2, 3, 4, 6, 8, 12, 16, 0};

const struct row bandwidth_rows[] = {
    {"bandwidth of an L1", "bytes per cycle", measure_l1, implied_l1, ALONE ",sms=1,scheduler=lrr", "l1_bytes=0",
     has_l1, NULL, 0, NULL, NULL},
    {"bandwidth of the L2", "bytes per cycle", measure_l2, implied_l2, ALONE ",dram_tREFI=0",
     "icnt_flit_bytes=256,l2_bytes_per_cycle=256", has_l2, NULL, 0, NULL, NULL},
    {"L2 of one memory controller, SMs:", "bytes per cycle", measure_l2, implied_l2,
     ALONE ",dram_tREFI=0,memory_controllers=1,l2_bytes_per_cycle=256", "icnt_flit_bytes=256", has_l2, set_sms, 0, NULL,
     sm_counts},
    {"bandwidth of DRAM", "bytes per cycle", measure_dram, implied_dram, DRAM_ALONE, "dram_clock_khz=3500000", NULL,
     NULL, 0, NULL, NULL},
    {"bandwidth of DRAM that refreshes often", "bytes per cycle", measure_dram, implied_dram,
     DRAM_ALONE ",dram_tREFI=2000", "dram_tREFI=0", NULL, NULL, 0, NULL, NULL},
    {0},
};
