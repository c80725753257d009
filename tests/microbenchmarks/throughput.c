/* SPDX-License-Identifier: MIT */
/*
 * Throughput of the pipelines: an SM full of warps, each with four independent chains. Warp instructions per cycle from
 * the difference of two lengths.
 */
#include "harness.h"

#define ALONE "sms=1,icache_perfect=1,scheduler=lrr" /* greedy-then-oldest leaves the youngest warps for a slow end */

static void fill_sm(const struct bench *bench, const char *lines, uint32_t count, struct run *run)
{
    const struct corun_gpu_config *c = bench->design;
    struct text kernel;
    text_begin(&kernel, NULL);
    for (uint32_t i = 1; i <= 4; i++)
        text_add(&kernel, "mov.u32 %%r%u, 7;\nmov.f32 %%f%u, 0f3F800000;\nmov.f64 %%fd%u, 0d3FF0000000000000;\n", i, i,
                 i);
    text_repeat(&kernel, count, lines, 1, 4);
    text_end(&kernel);
    uint32_t threads = c->threads_per_sm / 2 < c->threads_per_tb ? c->threads_per_sm / 2 : c->threads_per_tb;
    *run = (struct run){.text = kernel.data, .tbs = c->threads_per_sm / threads, .threads = threads};
    run_kernel(bench, run);
    text_free(&kernel);
}

static struct reading rate_of(const struct bench *bench, const char *lines, uint32_t count)
{
    static const struct run nothing;
    struct run shorter = nothing, longer = nothing;
    fill_sm(bench, lines, count, &shorter);
    fill_sm(bench, lines, 2 * count, &longer);
    uint64_t instructions = longer.counters.warp_instructions - shorter.counters.warp_instructions;
    return (struct reading){(double)instructions / (double)(longer.cycles - shorter.cycles), NAN};
}

static struct reading measure_rate(const struct bench *bench, const struct row *row)
{
    uint32_t interval = config_at(bench->design, row->operation->interval);
    return rate_of(bench, row->operation->text, interval < 16 ? 64 : interval < 64 ? 16 : 8);
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* Matrix multiply-accumulates on tensor pipelines that know their type: the interval of the class is the offset of the rate. */
static const struct {
    size_t rate;
    uint32_t multiply_adds;
} products[] = {
    {offsetof(struct corun_gpu_config, tensor_f16_rate), 16 * 8 * 16},
    {offsetof(struct corun_gpu_config, tensor_tf32_rate), 16 * 8 * 8},
    {offsetof(struct corun_gpu_config, tensor_s8_rate), 16 * 8 * 32},
    {offsetof(struct corun_gpu_config, tensor_f64_rate), 8 * 8 * 4},
};

static struct reading measure_product(const struct bench *bench, const struct row *row)
{
    return rate_of(bench, row->operation->text, 16);
}

static double implied_product(const struct bench *bench, const struct row *row)
{
    const struct corun_gpu_config *c = bench->design;
    double rate = NAN;
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (products[i].rate == row->operation->interval)
            rate = (double)c->tensor_units * config_at(c, products[i].rate) / products[i].multiply_adds;
    return rate;
}

static bool multiplies_halves(const struct corun_gpu_config *c)
{
    return c->tensor_units && c->tensor_f16_rate;
}

static bool multiplies_all(const struct corun_gpu_config *c)
{
    return c->tensor_units && c->tensor_tf32_rate && c->tensor_s8_rate && c->tensor_f64_rate;
}

/* Where there are no tensor pipelines, the others do a multiply-add for each lane and instruction. */
static bool has_no_tensors(const struct corun_gpu_config *c)
{
    return !c->tensor_units;
}

static double implied_elsewhere(const struct bench *bench, const struct row *row)
{
    (void)row;
    const struct corun_gpu_config *c = bench->design;
    return (double)c->fp32_units / (8.0 * 8 * 128 / 32 * c->fp32_mad_interval);
}

/* The slowest of: schedulers, fetch, and the pipelines of the kind. */
static double implied_rate(const struct bench *bench, const struct row *row)
{
    const struct corun_gpu_config *c = bench->design;
    double issue = least((double)c->schedulers_per_sm / c->warp_issue_cycles, c->fetch_width);
    return least(issue, (double)units_of(c, row->operation->unit) / config_at(c, row->operation->interval));
}

/* Precise quotients and roots keep two kinds of pipelines. */
static double implied_quotients(const struct bench *bench, const struct row *row)
{
    const struct corun_gpu_config *c = bench->design;
    double rate = implied_rate(bench, row);
    return c->fp32_div_specials ? least(rate, (double)c->sfu_units / (c->fp32_div_specials * c->sfu_interval)) : rate;
}

static struct reading measure_quotient_and_specials(const struct bench *bench, const struct row *row)
{
    (void)row;
    return rate_of(bench,
                   "sqrt.rn.f32 %f1, %f1;\nrsqrt.approx.f32 %f2, %f2;\nrsqrt.approx.f32 %f3, %f3;\n"
                   "rsqrt.approx.f32 %f4, %f4;",
                   16);
}

static double implied_quotient_and_specials(const struct bench *bench, const struct row *row)
{
    (void)row;
    const struct corun_gpu_config *c = bench->design;
    return 4.0 * c->sfu_units / ((3 + c->fp32_div_specials) * c->sfu_interval);
}

static bool quotients_have_specials(const struct corun_gpu_config *c)
{
    return c->fp32_div_specials > 0;
}

static struct reading measure_two_units(const struct bench *bench, const struct row *row)
{
    (void)row;
    return rate_of(bench,
                   "fma.rn.f32 %f1, %f1, %f1, %f1;\nrsqrt.approx.f32 %f2, %f2;\n"
                   "fma.rn.f32 %f3, %f3, %f3, %f3;\nrsqrt.approx.f32 %f4, %f4;",
                   32);
}

static double implied_two_units(const struct bench *bench, const struct row *row)
{
    (void)row;
    const struct corun_gpu_config *c = bench->design;
    double pipelines = 2 * least(c->fp32_units, c->sfu_units);
    double issue = (double)c->schedulers_per_sm * c->issue_width / c->warp_issue_cycles;
    return least(least(issue, c->fetch_width), pipelines);
}

/* As many of both as there are schedulers: none waits for the other's. */
static void set_units(struct corun_gpu_config *config, uint32_t k)
{
    (void)k;
    config->fp32_units = config->sfu_units = config->schedulers_per_sm;
}

static bool issues_two(const struct corun_gpu_config *c)
{
    return c->issue_width > 1;
}

static bool issues_slowly(const struct corun_gpu_config *c)
{
    return c->warp_issue_cycles > 1;
}

#define RATE_IF(name, text, unit, prefix, isolate, off, applies) \
    { \
        "throughput of " name, "warp instructions per cycle", measure_rate, implied_rate, ALONE isolate, off, applies, \
            NULL, 0, \
            &(const struct operation_class){text, CORUN_UNIT_##unit, \
                                            offsetof(struct corun_gpu_config, prefix##_latency), \
                                            offsetof(struct corun_gpu_config, prefix##_interval)}, \
            NULL \
    }
#define RATE(name, text, unit, prefix, off) RATE_IF(name, text, unit, prefix, "", #prefix "_interval=" off, NULL)

#define QUOTIENTS(name, text, prefix) \
    { \
        "throughput of " name, "warp instructions per cycle", measure_rate, implied_quotients, ALONE, \
            #prefix "_interval=1", NULL, NULL, 0, \
            &(const struct operation_class){text, CORUN_UNIT_FP32, \
                                            offsetof(struct corun_gpu_config, prefix##_latency), \
                                            offsetof(struct corun_gpu_config, prefix##_interval)}, \
            NULL \
    }

#define PRODUCT(name, text, type, off, applies) \
    { \
        "throughput of matrices of " name, "warp instructions per cycle", measure_product, implied_product, ALONE, \
            "tensor_" #type "_rate=" off, applies, NULL, 0, \
            &(const struct operation_class){text, CORUN_UNIT_TENSOR, \
                                            offsetof(struct corun_gpu_config, tensor_latency), \
                                            offsetof(struct corun_gpu_config, tensor_##type##_rate)}, \
            NULL \
    }

const struct row throughput_rows[] = {
    RATE("integer add", "add.u32 %r#, %r#, %r#;", INT, int_add, "3"),
    RATE("integer multiply", "mul.lo.u32 %r#, %r#, %r#;", INT, int_mul, "3"),
    RATE("integer multiply-add", "mad.lo.u32 %r#, %r#, %r#, %r#;", INT, int_mad, "3"),
    RATE("integer divide", "div.u32 %r#, %r#, 3;", INT, int_div, "1"),
    RATE("fp32 add", "add.f32 %f#, %f#, %f#;", FP32, fp32_add, "3"),
    RATE("fp32 multiply", "mul.f32 %f#, %f#, %f#;", FP32, fp32_mul, "5"),
    RATE("fp32 multiply-add", "fma.rn.f32 %f#, %f#, %f#, %f#;", FP32, fp32_mad, "3"),
    QUOTIENTS("fp32 divide", "div.rn.f32 %f#, %f#, %f#;", fp32_div),
    QUOTIENTS("fp32 square root", "sqrt.rn.f32 %f#, %f#;", fp32_sqrt),
    {"three special functions beside a square root", "warp instructions per cycle", measure_quotient_and_specials,
     implied_quotient_and_specials, ALONE, "fp32_div_specials=0", quotients_have_specials, NULL, 0, NULL, NULL},
    RATE("fp64 multiply-add", "fma.rn.f64 %fd#, %fd#, %fd#, %fd#;", FP64, fp64_mad, "1"),
    RATE("fp64 divide", "div.rn.f64 %fd#, %fd#, %fd#;", FP64, fp64_div, "1"),
    RATE("fp64 square root", "sqrt.rn.f64 %fd#, %fd#;", FP64, fp64_sqrt, "1"),
    RATE("special functions", "ex2.approx.f32 %f#, %f#;", SFU, sfu, "3"),
    PRODUCT("f16",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f#, %f1#, %f2#, %f3#}, {%r#, %r1#, %r2#, %r3#}, "
            "{%r1#, %r2#}, {%f#, %f1#, %f2#, %f3#};",
            f16, "37", multiplies_halves),
    PRODUCT("tf32",
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f#, %f1#, %f2#, %f3#}, {%r#, %r1#, %r2#, %r3#}, "
            "{%r1#, %r2#}, {%f#, %f1#, %f2#, %f3#};",
            tf32, "37", multiplies_all),
    PRODUCT("s8",
            "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r#, %r1#, %r2#, %r3#}, {%r5, %r6, %r7, %r8}, "
            "{%r9, %r10}, {%r#, %r1#, %r2#, %r3#};",
            s8, "37", multiplies_all),
    PRODUCT("f64", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd#, %fd1#}, {%fd5}, {%fd6}, {%fd#, %fd1#};", f64,
            "5", multiplies_all),
    {"throughput of matrices without tensor pipelines", "warp instructions per cycle", measure_product,
     implied_elsewhere, ALONE, "fp32_mad_interval=9", has_no_tensors, NULL, 0,
     &(const struct operation_class){"mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%r#, %r1#}, {%r5}, "
                                     "{%r6}, {%r#, %r1#};",
                                     CORUN_UNIT_TENSOR, offsetof(struct corun_gpu_config, tensor_latency),
                                     offsetof(struct corun_gpu_config, tensor_b1_rate)},
     NULL},
    RATE_IF("instruction fetch", "fma.rn.f32 %f#, %f#, %f#, %f#;", FP32, fp32_mad,
            ",fetch_width=1,fp32_mad_interval=1,warp_issue_cycles=1", "fetch_width=64", NULL),
    RATE_IF("slow issue", "fma.rn.f32 %f#, %f#, %f#, %f#;", FP32, fp32_mad, ",fp32_mad_interval=1",
            "warp_issue_cycles=1", issues_slowly),
    {"two units issued together", "warp instructions per cycle", measure_two_units, implied_two_units,
     ALONE ",sfu_interval=1,fp32_mad_interval=1,sfu_latency=4,fp32_mad_latency=4", "issue_width=1", issues_two,
     set_units, 0, NULL, NULL},
    {0},
};
