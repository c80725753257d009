/* SPDX-License-Identifier: MIT */
/*
 * Latency of dependent operations. A chain of n and one of 2n instructions run on one warp; their difference takes away
 * what starting and ending cost. The same from the kernel's own %clock64.
 */
#include "harness.h"

#define ALONE "sms=1,icache_perfect=1"

static void chain(const struct bench *bench, const char *text, uint32_t count, struct run *run)
{
    struct text kernel;
    text_begin(&kernel, NULL);
    text_add(&kernel, "mov.u32 %%r1, 7;\nmov.f32 %%f1, 0f3F800000;\nmov.f64 %%fd1, 0d3FF0000000000000;\n"
                      "mov.u64 %%rd30, %%clock64;\n");
    text_repeat(&kernel, count, text, 1, 1);
    text_add(&kernel, "mov.u64 %%rd31, %%clock64;\nsub.u64 %%rd31, %%rd31, %%rd30;\n"
                      "st.global.u64 [stamps], %%rd31;\n");
    text_use(&kernel, 1, 1);
    text_end(&kernel);
    *run = (struct run){.text = kernel.data, .tbs = 1, .threads = 1};
    run_kernel(bench, run);
    text_free(&kernel);
}

static struct reading measure_chain(const struct bench *bench, const struct row *row)
{
    enum { LENGTH = 100 };
    static const struct run nothing;
    struct run shorter = nothing, longer = nothing;
    chain(bench, row->operation->text, LENGTH, &shorter);
    chain(bench, row->operation->text, 2 * LENGTH, &longer);
    return (struct reading){(double)(longer.cycles - shorter.cycles) / LENGTH,
                            (double)(longer.stamps[0] - shorter.stamps[0]) / LENGTH};
}

/* Operands are collected, the operation takes its latency; its pipeline and its scheduler must be free again, too. */
static double implied_chain(const struct bench *bench, const struct row *row)
{
    const struct corun_gpu_config *c = bench->design;
    uint32_t cycles = c->collect_cycles + config_at(c, row->operation->latency);
    uint32_t interval = config_at(c, row->operation->interval);
    cycles = cycles > interval ? cycles : interval;
    return cycles > c->warp_issue_cycles ? cycles : c->warp_issue_cycles;
}

#define CHAIN(name, text, unit, prefix) \
    { \
        "latency of " name, "cycles", measure_chain, implied_chain, ALONE, #prefix "_latency=1", NULL, NULL, 0, \
            &(const struct operation_class){text, CORUN_UNIT_##unit, \
                                            offsetof(struct corun_gpu_config, prefix##_latency), \
                                            offsetof(struct corun_gpu_config, prefix##_interval)}, \
            NULL \
    }

const struct row latency_rows[] = {
    CHAIN("integer add", "add.u32 %r1, %r1, %r1;", INT, int_add),
    CHAIN("integer maximum", "max.u32 %r1, %r1, %r1;", INT, int_max),
    CHAIN("integer multiply", "mul.lo.u32 %r1, %r1, %r1;", INT, int_mul),
    CHAIN("integer multiply-add", "mad.lo.u32 %r1, %r1, %r1, %r1;", INT, int_mad),
    CHAIN("integer divide", "div.u32 %r1, %r1, 3;", INT, int_div),
    CHAIN("fp32 add", "add.f32 %f1, %f1, %f1;", FP32, fp32_add),
    CHAIN("fp32 maximum", "max.f32 %f1, %f1, %f1;", FP32, fp32_max),
    CHAIN("fp32 multiply", "mul.f32 %f1, %f1, %f1;", FP32, fp32_mul),
    CHAIN("fp32 multiply-add", "fma.rn.f32 %f1, %f1, %f1, %f1;", FP32, fp32_mad),
    CHAIN("fp32 divide", "div.rn.f32 %f1, %f1, %f1;", FP32, fp32_div),
    CHAIN("fp32 square root", "sqrt.rn.f32 %f1, %f1;", FP32, fp32_sqrt),
    CHAIN("fp32 reciprocal", "rcp.rn.f32 %f1, %f1;", FP32, fp32_sqrt),
    CHAIN("fp64 add", "add.f64 %fd1, %fd1, %fd1;", FP64, fp64_add),
    CHAIN("fp64 multiply", "mul.f64 %fd1, %fd1, %fd1;", FP64, fp64_mul),
    CHAIN("fp64 multiply-add", "fma.rn.f64 %fd1, %fd1, %fd1, %fd1;", FP64, fp64_mad),
    CHAIN("fp64 divide", "div.rn.f64 %fd1, %fd1, %fd1;", FP64, fp64_div),
    CHAIN("fp64 square root", "sqrt.rn.f64 %fd1, %fd1;", FP64, fp64_sqrt),
    CHAIN("special function", "ex2.approx.f32 %f1, %f1;", SFU, sfu),
    {0},
};
