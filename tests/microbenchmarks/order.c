/* SPDX-License-Identifier: MIT */
/*
 * Issue order. Every scheduler has eight warps that are always ready. Greedy-then-oldest takes one to its end before
 * the next, round robin takes them in turn, two-level takes turns within its active set: the first warp that ends has
 * shared its scheduler with none, all, or the active ones. From the kernel's clock; the trace tells how many warps the
 * scheduler had issued from by the time at which one of them could be half done.
 */
#include "harness.h"

enum { LENGTH = 240, SHARERS = 8, REGISTERS = 12 };

struct watch {
    uint64_t warps; /* mask of those that the first scheduler issued from */
    uint32_t issued;
};

static void note(void *user, const struct corun_trace_event *event)
{
    struct watch *watch = user;
    if (event->scheduler == 0 && watch->issued < LENGTH / 2) {
        watch->issued++;
        watch->warps |= UINT64_C(1) << event->warp;
    }
}

static struct reading measure_order(const struct bench *bench, const struct row *row)
{
    (void)row;
    struct text kernel;
    struct watch watch = {0, 0};
    uint32_t warps = SHARERS * bench->design->schedulers_per_sm;
    text_begin(&kernel, NULL);
    for (uint32_t i = 0; i < REGISTERS; i++)
        text_add(&kernel, "mov.u32 %%r%u, 0;\n", 1 + i);
    text_add(&kernel, "mov.u64 %%rd30, %%clock64;\n");
    text_repeat(&kernel, LENGTH, "add.u32 %r#, %r#, 1;", 1, REGISTERS);
    text_add(&kernel, "mov.u64 %%rd31, %%clock64;\nsub.u64 %%rd31, %%rd31, %%rd30;\n"
                      "mov.u32 %%r30, %%tid.x;\nshr.u32 %%r30, %%r30, 5;\nmul.wide.u32 %%rd1, %%r30, 8;\n"
                      "mov.u64 %%rd2, stamps;\nadd.u64 %%rd2, %%rd2, %%rd1;\nst.global.u64 [%%rd2], %%rd31;\n");
    text_use(&kernel, 1, REGISTERS);
    text_end(&kernel);
    struct run run = {
        .text = kernel.data, .tbs = 1, .threads = warps * CORUN_WARP_LANES, .trace = note, .user = &watch};
    run_kernel(bench, &run);
    text_free(&kernel);
    uint64_t first = run.stamps[0];
    for (uint32_t warp = 1; warp < warps; warp++)
        first = run.stamps[warp] < first ? run.stamps[warp] : first;
    uint32_t sharers = 0;
    for (; watch.warps; watch.warps &= watch.warps - 1)
        sharers++;
    return (struct reading){(double)first / LENGTH, sharers};
}

static double implied_order(const struct bench *bench, const struct row *row)
{
    (void)row;
    switch (bench->design->scheduler) {
    case CORUN_SCHEDULER_GTO:
        return 1;
    case CORUN_SCHEDULER_LRR:
        return SHARERS;
    default:
        return bench->design->two_level_active_warps;
    }
}

/* An add every cycle that is ready again before its register's next turn; nothing issued beside it. */
#define ALONE \
    "sms=1,icache_perfect=1,constant_perfect=1,issue_width=1,warp_issue_cycles=1,fetch_width=8,int_add_latency=4," \
    "int_add_interval=1,two_level_active_warps=4,constant_latency=1"

const struct row order_rows[] = {
    {"sharers of a scheduler, greedy then oldest", "warps", measure_order, implied_order, ALONE ",scheduler=gto",
     "scheduler=lrr", NULL, NULL, 0, NULL, NULL},
    {"sharers of a scheduler, round robin", "warps", measure_order, implied_order, ALONE ",scheduler=lrr",
     "scheduler=gto", NULL, NULL, 0, NULL, NULL},
    {"sharers of a scheduler, two-level", "warps", measure_order, implied_order, ALONE ",scheduler=two_level",
     "scheduler=lrr", NULL, NULL, 0, NULL, NULL},
    {0},
};
