/* SPDX-License-Identifier: MIT */
/*
 * Sums of products as the tests of matrices expect them, computed in another way than the executor's: floats as doubles that are cut off, where the
 * executor shifts integers. The rules are those of an H100, whose bits the executor has (docs/conformance.md), and of an A100; for
 * wgmma with 8-bit floats those that are published.
 */
#ifndef TESTS_ISA_SUMS_H
#define TESTS_ISA_SUMS_H

#include "runner.h"

#include <math.h>

#include "ptx/module.h"

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint32_t draw(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 32);
}

/* Floats */

struct kind {
    enum ptx_type type;
    const char *word;
    int bits, fraction, exponent_bits; /* of a float */
    bool is_float, is_signed;
};

static const struct kind kinds[] = {
    {PTX_TYPE_F16, "f16", 16, 10, 5, true, true},   {PTX_TYPE_BF16, "bf16", 16, 7, 8, true, true},
    {PTX_TYPE_TF32, "tf32", 32, 10, 8, true, true}, {PTX_TYPE_F32, "f32", 32, 23, 8, true, true},
    {PTX_TYPE_F64, "f64", 64, 52, 11, true, true},  {PTX_TYPE_E4M3, "e4m3", 8, 3, 4, true, true},
    {PTX_TYPE_E5M2, "e5m2", 8, 2, 5, true, true},   {PTX_TYPE_S8, "s8", 8, 0, 0, false, true},
    {PTX_TYPE_U8, "u8", 8, 0, 0, false, false},     {PTX_TYPE_S4, "s4", 4, 0, 0, false, true},
    {PTX_TYPE_U4, "u4", 4, 0, 0, false, false},     {PTX_TYPE_B1, "b1", 1, 0, 0, false, false},
    {PTX_TYPE_S32, "s32", 32, 0, 0, false, true},
};

static const struct kind *kind_of(enum ptx_type type)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == type)
            return &kinds[i];
    fail();
    return NULL;
}

static uint64_t field(uint64_t value, int bits)
{
    return bits == 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

/* Exact, except that NaN is one. */
static double value_of(const struct kind *kind, uint64_t bits)
{
    if (!kind->is_float) {
        bool negative = kind->is_signed && bits >> (kind->bits - 1) & 1;
        return (double)bits - (negative ? ldexp(1, kind->bits) : 0);
    }
    double value;
    if (kind->type == PTX_TYPE_F64) {
        memcpy(&value, &bits, 8);
        return value;
    }
    if (kind->type == PTX_TYPE_TF32)
        bits >>= 13;
    int biased = (int)(bits >> kind->fraction) & ((1 << kind->exponent_bits) - 1), top = (1 << kind->exponent_bits) - 1;
    double fraction = (double)field(bits, kind->fraction),
           sign = bits >> (kind->fraction + kind->exponent_bits) & 1 ? -1 : 1;
    if (kind->type == PTX_TYPE_E4M3 ? biased == top && fraction == 7 : biased == top)
        return kind->type == PTX_TYPE_E4M3 || fraction != 0 ? NAN : sign * INFINITY;
    int exponent = biased ? biased : 1;
    return sign * ldexp(fraction + (biased ? ldexp(1, kind->fraction) : 0), exponent - top / 2 - kind->fraction);
}

/* The exponent that a number is stored with. */
static int exponent_of(const struct kind *kind, double value)
{
    int lowest = 2 - (1 << (kind->exponent_bits - 1)), exponent;
    (void)frexp(value, &exponent);
    return exponent - 1 < lowest ? lowest : exponent - 1;
}

static uint64_t draw_bits(const struct kind *kind, bool tame)
{
    uint64_t bits = (uint64_t)draw() << 32 | draw();
    if (!kind->is_float)
        return field(bits, kind->bits);
    if (draw() % 8 == 0)
        return 0;
    int fraction = kind->fraction & 63, unused = kind->type == PTX_TYPE_TF32 ? 13 : 0;
    uint64_t exponent = (UINT64_C(1) << (kind->exponent_bits - 1)) - 1, sign = bits >> 63;
    uint32_t what = draw() % 16;
    if (what == 0)
        exponent = 0; /* subnormal */
    else if (what == 1 && !tame)
        exponent = field(bits >> 53, kind->exponent_bits); /* any, infinity and NaN too */
    else
        exponent += bits >> 56 & 7;
    uint64_t value = sign << ((kind->exponent_bits + fraction) & 63) | exponent << fraction | field(bits, fraction);
    if (kind->type == PTX_TYPE_TF32)
        return value << unused | (draw() & 0x1fff); /* what stands there is not looked at */
    return field(value, kind->bits);
}

/* Sums */

struct sum {
    const struct kind *a, *b, *c, *d;
    bool saturates, exclusive;
    bool old, quad; /* on an A100; mma.m8n8k4 of f16 */
    bool wmma_tf32;
    bool group; /* wgmma */
};

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

/* Towards zero; beyond the largest number: infinity. */
static float cut(double value, int digits)
{
    if (fabs(value) >= ldexp(1, 128))
        return value < 0 ? -INFINITY : INFINITY;
    if (value == 0)
        return 0;
    int exponent = exponent_of(kind_of(PTX_TYPE_F32), value);
    return (float)(trunc(ldexp(value, digits - exponent)) * ldexp(1, exponent - digits) + 0.0); /* no -0 */
}

#define NO_EXPONENT (-100000)

/* The factors of a sum, as the unit has them, and what it keeps. */
struct series {
    const struct kind *a, *b;
    double x[256], y[256];
    int count, block, kept, digits; /* digits: of the fraction of a sum */
    int lowest;                     /* exponent of a c of 0 */
    bool to_half;
};

/* One block: everything is a multiple of one quantum, so that adding doubles is exact. */
static double add_block(const struct series *series, double c, int first, int count)
{
    int most = series->lowest;
    const double *a = series->x + first, *b = series->y + first;
    if (c != 0)
        most = exponent_of(kind_of(PTX_TYPE_F32), c);
    for (int i = 0; i < count; i++)
        if (a[i] != 0 && b[i] != 0 && exponent_of(series->a, a[i]) + exponent_of(series->b, b[i]) > most)
            most = exponent_of(series->a, a[i]) + exponent_of(series->b, b[i]);
    if (most == NO_EXPONENT)
        return 0;
    double total = trunc(ldexp(c, series->kept - most));
    for (int i = 0; i < count; i++)
        total += trunc(ldexp(a[i] * b[i], series->kept - most));
    return ldexp(total, most - series->kept);
}

static uint32_t to_half(double value)
{
    if (isnan(value))
        return 0x7fff;
    uint32_t sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs(value);
    if (magnitude >= 65520)
        return sign | 0x7c00;
    int exponent = magnitude == 0 ? -14 : exponent_of(kind_of(PTX_TYPE_F16), magnitude);
    double digits = nearbyint(ldexp(magnitude, 10 - exponent)); /* to even */
    if (digits >= 2048) {
        digits /= 2;
        exponent++;
    }
    if (digits == 0)
        return 0;
    return sign | (digits < 1024 ? (uint32_t)digits : (uint32_t)(exponent + 14) * 1024 + (uint32_t)digits);
}

static double half_rounded(double value)
{
    return value_of(kind_of(PTX_TYPE_F16), to_half(value));
}

/* total + the products, as a float or a half. */
static double add_series(const struct series *series, double total)
{
    for (int i = 0; i < series->count; i += series->block) {
        int count = series->count - i < series->block ? series->count - i : series->block;
        double special = total;
        bool any = !isfinite(total);
        for (int k = i; k < i + count; k++)
            if (!isfinite(series->x[k]) || !isfinite(series->y[k])) {
                special += series->x[k] * series->y[k];
                any = true;
            }
        total = any ? special : add_block(series, total, i, count);
        if (!any && (!series->to_half || i + count < series->count))
            total = (double)cut(total, series->digits);
    }
    return series->to_half ? half_rounded(total) : total;
}

/* 8-bit floats on an H100: two sums of f16, of the lower and the upper half of each four, then c. */
static double add_pairs(const struct series *all, double c)
{
    double total = 0;
    for (int part = 0; part < 2; part++) {
        struct series half = *all;
        half.a = half.b = kind_of(PTX_TYPE_F16);
        half.count = 0;
        for (int i = 0; i < all->count; i++)
            if ((i & 2) == part * 2) {
                half.x[half.count] = all->x[i];
                half.y[half.count++] = all->y[i];
            }
        total = add_series(&half, total);
    }
    return all->to_half ? half_rounded(c + total) : (double)((float)c + (float)total);
}

/* mma.m8n8k4 on an H100. */
static double add_fused(const struct series *series, double c)
{
    const double *x = series->x, *y = series->y;
    float low = fmaf((float)x[1], (float)y[1], (float)(x[0] * y[0]));
    if (series->to_half)
        return half_rounded((double)((float)c + low + fmaf((float)x[3], (float)y[3], (float)(x[2] * y[2]))));
    return (double)((float)c + fmaf((float)x[3], (float)y[3], fmaf((float)x[2], (float)y[2], low)));
}

static uint64_t sum_of_floats(const struct sum *sum, const uint64_t *a, const uint64_t *b, uint64_t c, int count)
{
    bool coarse = sum->a->bits == 8 && sum->group, eighths = sum->a->bits == 8 && !sum->old && !sum->group;
    struct series series = {.a = sum->a,
                            .b = sum->b,
                            .count = count,
                            .block = (sum->old || sum->wmma_tf32 ? 128 : 256) / (eighths ? 16 : sum->a->bits),
                            .kept = coarse     ? 13
                                    : sum->old ? 24
                                               : 25,
                            .digits = coarse ? 13 : 23,
                            .lowest = sum->old && !sum->group ? NO_EXPONENT : -133,
                            .to_half = sum->d->type == PTX_TYPE_F16 && (sum->c->type == PTX_TYPE_F16 || sum->old)};
    for (int i = 0; i < count; i++) {
        series.x[i] = value_of(sum->a, a[i]);
        series.y[i] = value_of(sum->b, b[i]);
    }
    double start = value_of(sum->c, c), total = eighths                  ? add_pairs(&series, start)
                                                : sum->quad && !sum->old ? add_fused(&series, start)
                                                                         : add_series(&series, start);
    if (sum->d->type == PTX_TYPE_F16)
        return to_half(total);
    return isnan(total) ? 0x7fffffff : bits_of((float)total);
}

/* NaN of b, c or a; a double may not carry them. */
static uint64_t fused_f64(uint64_t a, uint64_t b, uint64_t c)
{
    const struct kind *f64 = kind_of(PTX_TYPE_F64);
    double total = fma(value_of(f64, a), value_of(f64, b), value_of(f64, c));
    uint64_t bits, quiet = UINT64_C(1) << 51;
    if (isnan(total))
        return isnan(value_of(f64, b))   ? b | quiet
               : isnan(value_of(f64, c)) ? c | quiet
               : isnan(value_of(f64, a)) ? a | quiet
                                         : UINT64_C(0xfff8000000000000);
    memcpy(&bits, &total, 8);
    return bits;
}

static uint64_t sum_of(const struct sum *sum, const uint64_t *a, const uint64_t *b, uint64_t c, int count)
{
    if (sum->d->type == PTX_TYPE_F64) {
        for (int i = 0; i < count; i++)
            c = fused_f64(a[i], b[i], c);
        return c;
    }
    if (sum->d->is_float)
        return sum_of_floats(sum, a, b, c, count);
    double total = value_of(sum->c, c);
    for (int i = 0; i < count; i++)
        total += sum->a->bits == 1 ? (double)(sum->exclusive ? a[i] != b[i] : a[i] && b[i])
                                   : value_of(sum->a, a[i]) * value_of(sum->b, b[i]);
    if (sum->saturates)
        total = fmin(fmax(total, INT32_MIN), INT32_MAX);
    return (uint32_t)(int64_t)total;
}

#endif
