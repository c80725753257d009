/* SPDX-License-Identifier: MIT */
/* Barriers: what one costs a thread block in which nothing else happens. The parameter is the number of warps. */
#include "harness.h"

static void run_barriers(const struct bench *bench, uint32_t count, struct run *run)
{
    struct text kernel;
    text_begin(&kernel, NULL);
    text_add(&kernel, "mov.u64 %%rd30, %%clock64;\n");
    text_repeat(&kernel, count, "bar.sync 0;", 0, 1);
    text_add(&kernel, "mov.u64 %%rd31, %%clock64;\nsub.u64 %%rd31, %%rd31, %%rd30;\n"
                      "st.global.u64 [stamps], %%rd31;\n");
    text_end(&kernel);
    *run = (struct run){.text = kernel.data, .tbs = 1, .threads = bench->k * CORUN_WARP_LANES};
    run_kernel(bench, run);
    text_free(&kernel);
}

static struct reading measure_barrier(const struct bench *bench, const struct row *row)
{
    enum { LENGTH = 100 };
    (void)row;
    static const struct run nothing;
    struct run shorter = nothing, longer = nothing;
    run_barriers(bench, LENGTH, &shorter);
    run_barriers(bench, 2 * LENGTH, &longer);
    return (struct reading){(double)(longer.cycles - shorter.cycles) / LENGTH,
                            (double)(longer.stamps[0] - shorter.stamps[0]) / LENGTH};
}

/* A scheduler's warps arrive one after the other, or one after the other of the SM; the barrier opens barrier_cycles after the last one. */
static double implied_barrier(const struct bench *bench, const struct row *row)
{
    (void)row;
    const struct corun_gpu_config *c = bench->design;
    uint32_t warps = (bench->k + c->schedulers_per_sm - 1) / c->schedulers_per_sm;
    uint32_t issue = c->warp_issue_cycles, turns = (bench->k - 1) * c->barrier_warp_cycles;
    uint32_t arrivals = (warps - 1) * issue;
    return (turns > arrivals ? turns : arrivals) + (c->barrier_cycles > issue ? c->barrier_cycles : issue);
}

static const uint32_t warps[] = {1, 2, 4, 8, 16, 0};

const struct row barrier_rows[] = {
    {"barrier, warps:", "cycles", measure_barrier, implied_barrier, "sms=1,icache_perfect=1", "barrier_cycles=20", NULL,
     NULL, 0, NULL, warps},
    {"barrier, a turn for each of the warps:", "cycles", measure_barrier, implied_barrier,
     "sms=1,icache_perfect=1,barrier_cycles=14,barrier_warp_cycles=3", "barrier_warp_cycles=0,barrier_cycles=20", NULL,
     NULL, 0, NULL, warps},
    {0},
};
