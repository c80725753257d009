/* SPDX-License-Identifier: MIT */
/*
 * Products of a warpgroup (wgmma): multiply-adds per cycle of an SM on which one warpgroup issues one product behind the other, and waits for the
 * one before the last. The parameter is the number of columns.
 */
#include "harness.h"

enum { ROWS = 64, ROW_BYTES = 32 }; /* of A, and of a column of B */

struct product {
    struct operation_class class; /* text: inner dimension and types; first */
    uint32_t inner, bits;
    bool registers, is_float, transposes;
    const char *bank;
};

static const struct product *product_of(const struct row *row)
{
    return (const struct product *)row->operation;
}

static void add_product(struct text *kernel, const struct product *product, uint32_t columns)
{
    text_add(kernel, "wgmma.mma_async.sync.aligned.m64n%u%s {", columns, product->class.text);
    for (uint32_t i = 0; i < columns / 2; i++)
        text_add(kernel, "%s%%%s%u", i ? ", " : "", product->bank, i);
    text_add(kernel, "}, %s, %%rd1, 1%s%s;\n", product->registers ? "{%r1, %r2, %r3, %r4}" : "%rd1",
             product->is_float ? ", 1, 1" : "",
             !product->transposes ? ""
             : product->registers ? ", 0"
                                  : ", 0, 0");
    text_add(kernel, "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 3;\n");
}

/* No swizzle: 128 bytes from one half of the rows to the other, 256 to the next 8 rows. */
static void run_products(const struct bench *bench, const struct product *product, uint32_t count, struct run *run)
{
    struct text kernel;
    text_begin(&kernel, ".shared .align 128 .b8 image[16384];\n");
    text_add(&kernel,
             ".reg .f32 %%d<128>;\n.reg .s32 %%i<128>;\n.reg .b32 %%image;\nmov.u32 %%image, image;\n"
             "shr.u32 %%image, %%image, 4;\ncvt.u64.u32 %%rd1, %%image;\nor.b64 %%rd1, %%rd1, 0x0000001000080000;\n"
             "mov.u32 %%r1, 0;\nmov.u32 %%r2, 0;\nmov.u32 %%r3, 0;\nmov.u32 %%r4, 0;\n");
    for (uint32_t i = 0; i < bench->k / 2; i++)
        text_add(&kernel, "mov.f32 %%d%u, 0f00000000;\nmov.s32 %%i%u, 0;\n", i, i);
    text_add(&kernel, "wgmma.fence.sync.aligned;\nmov.u64 %%rd30, %%clock64;\n");
    for (uint32_t i = 0; i < count; i++)
        add_product(&kernel, product, bench->k);
    text_add(&kernel, "wgmma.wait_group.sync.aligned 0;\nmov.u64 %%rd31, %%clock64;\nsub.u64 %%rd31, %%rd31, %%rd30;\n"
                      "st.global.u64 [stamps], %%rd31;\n");
    for (uint32_t i = 0; i < bench->k / 2; i++)
        text_add(&kernel, "st.global.%s [stamps+8], %%%s%u;\n", *product->bank == 'd' ? "f32" : "s32", product->bank,
                 i);
    text_end(&kernel);
    *run = (struct run){.text = kernel.data, .tbs = 1, .threads = 4 * CORUN_WARP_LANES};
    run_kernel(bench, run);
    text_free(&kernel);
}

static struct reading measure(const struct bench *bench, const struct row *row)
{
    uint32_t length = bench->k < 64 ? 64 : 16;
    static const struct run nothing;
    const struct product *product = product_of(row);
    struct run shorter = nothing, longer = nothing;
    run_products(bench, product, length, &shorter);
    run_products(bench, product, 2 * length, &longer);
    double more = (double)(longer.counters.tensor_multiply_adds - shorter.counters.tensor_multiply_adds);
    return (struct reading){more / (double)(longer.cycles - shorter.cycles),
                            more / (double)(longer.stamps[0] - shorter.stamps[0])};
}

/* The tensor pipelines, or what shared memory delivers. */
static double implied(const struct bench *bench, const struct row *row)
{
    const struct corun_gpu_config *c = bench->design;
    const struct product *product = product_of(row);
    double work = (double)ROWS * bench->k * product->inner;
    double compute = work / (c->tensor_units * c->tensor_warpgroup_rate * 16.0 / product->bits);
    double bytes = ((product->registers ? 0 : ROWS) + bench->k) * ROW_BYTES;
    double read = ceil(bytes / (c->shared_banks * c->shared_bank_bytes));
    return work / (compute > read ? compute : read);
}

static bool multiplies_in_groups(const struct corun_gpu_config *c)
{
    return c->tensor_units && c->tensor_warpgroup_rate;
}

static const struct product
    f16 = {{"k16.f32.f16.f16", CORUN_UNIT_TENSOR, 0, 0}, 16, 16, false, true, true, "d"},
    f16_registers = {{"k16.f32.f16.f16", CORUN_UNIT_TENSOR, 0, 0}, 16, 16, true, true, true, "d"},
    tf32 = {{"k8.f32.tf32.tf32", CORUN_UNIT_TENSOR, 0, 0}, 8, 32, false, true, false, "d"},
    e4m3 = {{"k32.f32.e4m3.e4m3", CORUN_UNIT_TENSOR, 0, 0}, 32, 8, false, true, false, "d"},
    s8 = {{"k32.s32.s8.s8", CORUN_UNIT_TENSOR, 0, 0}, 32, 8, false, false, false, "i"},
    b1 = {{"k256.s32.b1.b1.and.popc", CORUN_UNIT_TENSOR, 0, 0}, 256, 1, false, false, false, "i"};

static const uint32_t narrow[] = {8, 16, 32, 0}, wide[] = {64, 128, 256, 0}, any[] = {32, 64, 256, 0};

#define PRODUCT(name, product, columns, off) \
    { \
        "products of a warpgroup, " name ", columns:", "multiply-adds per cycle", measure, implied, \
            "sms=1,icache_perfect=1", off, multiplies_in_groups, NULL, 0, &(product).class, columns \
    }

const struct row warpgroup_rows[] = {
    PRODUCT("f16", f16, wide, "tensor_warpgroup_rate=0"),
    PRODUCT("f16, a in registers", f16_registers, any, "tensor_warpgroup_rate=0"),
    PRODUCT("f16, bound by shared memory", f16, narrow, "shared_banks=64"),
    PRODUCT("tf32", tf32, wide, "tensor_warpgroup_rate=0"),
    PRODUCT("e4m3", e4m3, wide, "tensor_warpgroup_rate=0"),
    PRODUCT("s8", s8, wide, "tensor_warpgroup_rate=0"),
    PRODUCT("b1", b1, wide, "tensor_warpgroup_rate=0"),
    {0},
};
