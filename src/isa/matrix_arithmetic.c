/* SPDX-License-Identifier: MIT */
/* Dot products of rows and columns; isa/matrix.h says in which order, and how they are rounded. */
#include "isa/half.h"
#include "isa/matrix.h"
#include "isa/matrix_rows.h"

#include <math.h>
#include <string.h>

#define SINGLE_NAN 0x7fffffffu
#define COARSE_BITS 13u      /* of fraction, in sums of 8-bit floats by wgmma */
#define ZERO_EXPONENT (-133) /* of a c of 0, on the H100 */
#define DOUBLE_NAN UINT64_C(0xfff8000000000000)

/* A float format: sign, exponent, fraction. */
struct format {
    uint32_t exponent_bits, fraction_bits;
    bool finite; /* all ones in the exponent is no infinity; NaN is all ones in the fraction, too (e4m3) */
};

/* significand * 2^(exponent - fraction bits of the format); zero has exponent MATRIX_LOWEST. */
struct number {
    int32_t significand, exponent;
    bool nan, infinite;
};

static struct format format_of(enum ptx_type type)
{
    switch (type) {
    case PTX_TYPE_F16:
        return (struct format){5, 10, false};
    case PTX_TYPE_BF16:
        return (struct format){8, 7, false};
    case PTX_TYPE_TF32:
        return (struct format){8, 10, false};
    case PTX_TYPE_E4M3:
        return (struct format){4, 3, true};
    case PTX_TYPE_E5M2:
        return (struct format){5, 2, false};
    default:
        return (struct format){8, 23, false};
    }
}

static struct number number_of(uint32_t bits, struct format format)
{
    uint32_t fraction = bits & ((1u << format.fraction_bits) - 1);
    uint32_t top = (1u << format.exponent_bits) - 1, biased = bits >> format.fraction_bits & top;
    bool negative = bits >> (format.exponent_bits + format.fraction_bits) & 1;
    struct number number = {.exponent = (int32_t)(biased ? biased : 1) - (int32_t)(top >> 1)};
    if (biased == top && (!format.finite || fraction == (1u << format.fraction_bits) - 1)) {
        number.nan = format.finite || fraction;
        number.infinite = !number.nan;
    }
    int32_t significand = (int32_t)(fraction | (biased ? 1u << format.fraction_bits : 0));
    number.significand = negative ? -significand : significand;
    if (!significand)
        number.exponent = MATRIX_LOWEST;
    return number;
}

/* tf32 stands in the upper bits of a single. */
static uint32_t significant_bits(enum ptx_type type, uint64_t value)
{
    return type == PTX_TYPE_TF32 ? (uint32_t)value >> 13 : (uint32_t)value;
}

/* A product or an accumulator that is to be added: significand * 2^(exponent - fraction). */
struct term {
    int32_t significand, exponent;
};

/* sum * 2^scale */
struct fixed {
    int64_t sum;
    int32_t scale;
};

/* c + the products of one block, of which `kept` bits below the place of the largest exponent are added. `zero`: that of c if it is 0. */
static struct fixed add_block(uint32_t c, const struct term *products, uint32_t count, uint32_t fraction, uint32_t kept,
                              int32_t zero)
{
    struct number start = number_of(c, format_of(PTX_TYPE_F32));
    if (!start.significand)
        start.exponent = zero;
    int32_t most = start.exponent;
    for (uint32_t i = 0; i < count; i++)
        most = products[i].exponent > most ? products[i].exponent : most;
    if (most == MATRIX_LOWEST)
        return (struct fixed){0, 0};
    int64_t sum = 0;
    for (uint32_t i = 0; i <= count; i++) {
        int32_t significand = i < count ? products[i].significand : start.significand;
        int32_t shift = most - (i < count ? products[i].exponent : start.exponent);
        uint32_t magnitude = (uint32_t)(significand < 0 ? -significand : significand);
        int32_t raise = (int32_t)kept - (int32_t)(i < count ? fraction : 23);
        magnitude = raise < 0 ? magnitude >> -raise : magnitude << raise;
        magnitude = shift > 31 ? 0 : magnitude >> shift;
        sum += significand < 0 ? -(int64_t)magnitude : (int64_t)magnitude;
    }
    return (struct fixed){sum, most - (int32_t)kept};
}

static double value_of(struct number number, uint32_t fraction_bits)
{
    if (number.nan)
        return NAN;
    if (number.infinite)
        return number.significand < 0 ? -INFINITY : INFINITY;
    return number.significand ? ldexp(number.significand, number.exponent - (int32_t)fraction_bits) : 0.0;
}

static float single_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A row and a column. */
struct dot {
    const struct number *a, *b;
    const uint8_t *columns; /* NULL: a has them all */
    uint32_t count, stride; /* of b */
    uint32_t fraction_bits, block, kept, lost;
    int32_t zero; /* exponent of a c of 0 */
    bool to_half; /* the result is f16, rounded once */
};

static const struct number *factor(const struct dot *dot, uint32_t i)
{
    return &dot->b[(dot->columns ? dot->columns[i] : i) * dot->stride];
}

/* Whether NaN or an infinity takes part; then *result is what they make of it. */
static bool is_special(const struct dot *dot, uint32_t c, uint32_t *result)
{
    double sum = (double)single_of(c);
    bool special = isnan(sum) || isinf(sum);
    for (uint32_t i = 0; i < dot->count; i++) {
        const struct number *b = factor(dot, i);
        if (!dot->a[i].nan && !dot->a[i].infinite && !b->nan && !b->infinite)
            continue;
        special = true;
        sum += value_of(dot->a[i], dot->fraction_bits) * value_of(*b, dot->fraction_bits);
    }
    *result = isnan(sum) ? SINGLE_NAN : sum < 0 ? 0xff800000u : 0x7f800000u;
    return special;
}

static uint32_t half_of(uint32_t single)
{
    return half_round((double)single_of(single), HALF_F16, 0);
}

/* One block, which may be the last. c is a single. */
static uint32_t add_part(const struct dot *part, uint32_t c, bool last)
{
    struct term products[MATRIX_BLOCK];
    uint32_t special;
    bool to_half = part->to_half && last;
    if (is_special(part, c, &special))
        return to_half ? half_of(special) : special;
    for (uint32_t i = 0; i < part->count; i++) {
        const struct number *a = &part->a[i], *b = factor(part, i);
        products[i].significand = a->significand * b->significand;
        products[i].exponent = products[i].significand ? a->exponent + b->exponent : MATRIX_LOWEST;
    }
    struct fixed sum = add_block(c, products, part->count, 2 * part->fraction_bits, part->kept, part->zero);
    return to_half ? matrix_round_to_half(sum.sum, sum.scale) : matrix_cut_to_single(sum.sum, sum.scale, part->lost);
}

static uint32_t add_products(const struct dot *dot, uint32_t c)
{
    for (uint32_t first = 0; first < dot->count; first += dot->block) {
        struct dot part = *dot;
        part.count = dot->count - first < dot->block ? dot->count - first : dot->block;
        part.a += first;
        if (dot->columns)
            part.columns += first;
        else
            part.b += first * dot->stride;
        c = add_part(&part, c, first + part.count == dot->count);
    }
    return c;
}

static uint32_t widen_half(uint32_t half)
{
    float value = (float)half_value(half, HALF_F16);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* With as many more bits behind the point. */
static void decode_numbers(const uint64_t *values, uint32_t count, enum ptx_type type, uint32_t more_bits,
                           struct number *numbers)
{
    struct format format = format_of(type);
    for (uint32_t i = 0; i < count; i++) {
        numbers[i] = number_of(significant_bits(type, values[i]), format);
        numbers[i].significand *= 1 << more_bits;
    }
}

/* Of matrix_numbers. */
struct range {
    bool finite, moderate; /* all are numbers; values are defined */
};

/* The same, parts apart and without a branch, so that several are decoded at once. */
static inline __attribute__((always_inline)) struct range decode_parts_here(const uint64_t *values, uint32_t count,
                                                                            enum ptx_type type, uint32_t more_bits,
                                                                            struct matrix_numbers *parts)
{
    struct format format = format_of(type);
    uint32_t most = (1u << format.fraction_bits) - 1, top = (1u << format.exponent_bits) - 1, others = 0, far = 0;
    int32_t to_unit = 127 - (int32_t)(format.fraction_bits + more_bits);
    uint32_t least = format.finite ? most : 0; /* fraction of what is no number */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bits = significant_bits(type, values[i]), fraction = bits & most;
        uint32_t biased = bits >> format.fraction_bits & top, normal = biased != 0;
        int32_t sign = -(int32_t)(bits >> (format.exponent_bits + format.fraction_bits) & 1);
        int32_t significand = (int32_t)((fraction | normal << format.fraction_bits) << more_bits);
        others |= (biased == top) & (fraction >= least);
        int32_t exponent = significand ? (int32_t)(biased + !normal) - (int32_t)(top >> 1) : 0;
        uint32_t unit_bits = (uint32_t)(exponent + to_unit) << 23;
        float unit;
        memcpy(&unit, &unit_bits, sizeof unit);
        far |= (exponent > MATRIX_MODERATE) | (exponent < -MATRIX_MODERATE);
        parts->significand[i] = (significand ^ sign) - sign;
        parts->exponent[i] = significand ? exponent : MATRIX_LOWEST;
        parts->value[i] = (float)parts->significand[i] * unit;
    }
    return (struct range){.finite = !others, .moderate = !others && !far};
}

static struct range decode_parts_baseline(const uint64_t *values, uint32_t count, enum ptx_type type,
                                          uint32_t more_bits, struct matrix_numbers *parts)
{
    return decode_parts_here(values, count, type, more_bits, parts);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static struct range decode_parts_avx2(const uint64_t *values, uint32_t count,
                                                                      enum ptx_type type, uint32_t more_bits,
                                                                      struct matrix_numbers *parts)
{
    return decode_parts_here(values, count, type, more_bits, parts);
}
#else
#define decode_parts_avx2 decode_parts_baseline
#endif

/* The factors of all rows and columns. */
struct factors {
    struct number a[MATRIX_ELEMENTS], b[MATRIX_ELEMENTS]; /* only of what is computed one by one */
    struct matrix_numbers parts_of_a, parts_of_b;
    enum ptx_type type_a, type_b;
    uint32_t count_a, count_b, fraction_bits, more_bits_a, more_bits_b;
    bool single; /* some element could not be computed with its row */
    struct range range;
};

static bool is_eighth(uint32_t type)
{
    return type == PTX_TYPE_E4M3 || type == PTX_TYPE_E5M2;
}

static void widen_eighths(uint64_t *values, uint32_t count, uint32_t type)
{
    for (uint32_t i = 0; i < count; i++)
        values[i] = half_round(eighth_value((uint32_t)values[i], type == PTX_TYPE_E4M3), HALF_F16, 0);
}

static void decode_factors(const struct ptx_matrix *matrix, const struct matrix_values *values, bool widened,
                           struct factors *factors)
{
    factors->type_a = widened ? PTX_TYPE_F16 : (enum ptx_type)matrix->a;
    factors->type_b = widened ? PTX_TYPE_F16 : (enum ptx_type)matrix->b;
    factors->count_a = matrix->m * matrix->k / (matrix->sparse ? 2u : 1u);
    factors->count_b = (uint32_t)matrix->k * matrix->n;
    uint32_t bits_a = format_of(factors->type_a).fraction_bits, bits_b = format_of(factors->type_b).fraction_bits;
    /* e4m3 beside e5m2: as if both had the longer fraction */
    factors->fraction_bits = bits_a > bits_b ? bits_a : bits_b;
    factors->more_bits_a = factors->fraction_bits - bits_a;
    factors->more_bits_b = factors->fraction_bits - bits_b;
    struct range (*decode)(const uint64_t *, uint32_t, enum ptx_type, uint32_t, struct matrix_numbers *) =
        lanes_level_best() >= LANES_V3 ? decode_parts_avx2 : decode_parts_baseline;
    struct range a = decode(values->a, factors->count_a, factors->type_a, factors->more_bits_a, &factors->parts_of_a);
    struct range b = decode(values->b, factors->count_b, factors->type_b, factors->more_bits_b, &factors->parts_of_b);
    factors->range = (struct range){a.finite && b.finite, a.moderate && b.moderate};
}

static void decode_singles(const struct matrix_values *values, struct factors *factors)
{
    decode_numbers(values->a, factors->count_a, factors->type_a, factors->more_bits_a, factors->a);
    decode_numbers(values->b, factors->count_b, factors->type_b, factors->more_bits_b, factors->b);
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return isnan(value) ? SINGLE_NAN : bits;
}

/*
 * 8-bit floats on the H100, which has no instruction for them: as f16, first the products of the first two of each four elements along k, then,
 * added to those, the products of the others; c is added to that by itself.
 */
static uint32_t add_eighths(const struct dot *dot, uint32_t c)
{
    uint32_t sum = 0;
    for (uint32_t part = 0; part < 2; part++) {
        struct number a[64];
        uint8_t columns[64];
        struct dot half = *dot;
        half.a = a;
        half.columns = columns;
        half.count = 0;
        for (uint32_t i = 0; i < dot->count; i++)
            if (i % 4 / 2 == part) {
                a[half.count] = dot->a[i];
                columns[half.count++] = dot->columns ? dot->columns[i] : (uint8_t)i;
            }
        sum = add_products(&half, dot->to_half && part ? widen_half(sum) : sum);
    }
    if (!dot->to_half)
        return bits_of(single_of(c) + single_of(sum));
    return half_round(half_value(c, HALF_F16) + half_value(sum, HALF_F16), HALF_F16, 0);
}

/* mma.m8n8k4 on the H100, which has no instruction for it: multiply-adds in single precision. c is a single. */
static uint32_t add_singles(const struct dot *dot, uint32_t c)
{
    float product[4], factors[4];
    for (uint32_t i = 0; i < 4; i++) {
        product[i] = (float)value_of(dot->a[i], dot->fraction_bits);
        factors[i] = (float)value_of(*factor(dot, i), dot->fraction_bits);
    }
    float sum = fmaf(product[1], factors[1], product[0] * factors[0]);
    if (dot->to_half) {
        float rest = fmaf(product[3], factors[3], product[2] * factors[2]);
        return half_of(bits_of(single_of(c) + sum + rest));
    }
    return bits_of(single_of(c) + fmaf(product[3], factors[3], fmaf(product[2], factors[2], sum)));
}

/* How the sums of one kind of product are computed. */
struct plan {
    const struct factors *factors;
    const struct matrix_values *values;
    uint32_t stored, block, kept, lost; /* elements in a row of A */
    int32_t zero;
    bool singles, eighths, from_half;
    bool to_half; /* the last sum is rounded to f16 as it is */
};

static uint32_t compute_element(const struct ptx_matrix *matrix, const struct plan *plan, uint32_t row, uint32_t column)
{
    bool sparse = matrix->sparse;
    uint32_t c = (uint32_t)plan->values->c[row * matrix->n + column];
    const struct dot dot = {.a = plan->factors->a + row * plan->stored,
                            .b = plan->factors->b + column,
                            .columns = sparse ? plan->values->columns + row * plan->stored : NULL,
                            .count = plan->stored,
                            .stride = matrix->n,
                            .fraction_bits = plan->factors->fraction_bits,
                            .block = plan->block,
                            .kept = plan->kept,
                            .lost = plan->lost,
                            .zero = plan->zero,
                            .to_half = plan->to_half};
    uint32_t single = plan->from_half ? widen_half(c) : c;
    return plan->singles   ? add_singles(&dot, single)
           : plan->eighths ? add_eighths(&dot, c)
                           : add_products(&dot, single);
}

/* Each c as a single. */
static struct range load_c(const uint64_t *c, uint32_t count, bool from_half, uint32_t *singles)
{
    uint32_t others = 0, small = 0;
    for (uint32_t i = 0; i < count; i++)
        singles[i] = (uint32_t)c[i];
    for (uint32_t i = 0; from_half && i < count; i++)
        singles[i] = widen_half(singles[i]);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t magnitude = singles[i] & INT32_MAX;
        others |= magnitude >= 0x7f800000u;
        small |= (magnitude != 0) & (magnitude < MATRIX_SMALLEST);
    }
    return (struct range){.finite = !others, .moderate = !others && !small};
}

/* Rows are computed at once if nothing but numbers takes part. */
static void compute_rows(const struct ptx_matrix *matrix, const struct plan *plan, struct factors *factors, uint32_t *d)
{
    struct range c = load_c(plan->values->c, (uint32_t)matrix->m * matrix->n, plan->from_half, d);
    bool in_rows = !plan->singles && !plan->eighths && factors->range.finite;
    enum lanes_level level = lanes_level_best();
    struct matrix_rows work = {.a = &factors->parts_of_a,
                               .b = &factors->parts_of_b,
                               .lines = matrix->m,
                               .rows = matrix->sparse ? plan->values->columns : NULL,
                               .count = plan->stored,
                               .columns = matrix->n,
                               .fraction_bits = 2 * factors->fraction_bits,
                               .block = plan->block,
                               .kept = plan->kept,
                               .lost = plan->lost,
                               .zero = plan->zero,
                               .to_half = plan->to_half,
                               .moderate = factors->range.moderate && c.moderate};
    if (in_rows && c.finite) {
        matrix_add_rows(&work, level, d);
        return;
    }
    decode_singles(plan->values, factors);
    work.lines = 1;
    for (work.first = 0; work.first < matrix->m; work.first++, d += matrix->n) {
        c = load_c(plan->values->c + work.first * matrix->n, matrix->n, plan->from_half, d);
        if (in_rows && c.finite) {
            work.moderate = factors->range.moderate && c.moderate;
            matrix_add_rows(&work, level, d);
            continue;
        }
        for (uint32_t column = 0; column < matrix->n; column++)
            d[column] = compute_element(matrix, plan, work.first, column);
    }
}

static void compute_floats(const struct matrix_work *work, struct matrix_values *values, enum matrix_unit unit)
{
    const struct ptx_matrix *matrix = &work->matrix;
    bool warpgroup = matrix->form == PTX_MATRIX_WARPGROUP, coarse = warpgroup && is_eighth(matrix->a);
    bool new_unit = unit == MATRIX_H100 || warpgroup, eighths = new_unit && is_eighth(matrix->a) && !coarse;
    bool from_half = matrix->c == PTX_TYPE_F16, halves = matrix->d == PTX_TYPE_F16;
    /* an H100 does wmma of tf32 in steps of 4 */
    bool long_blocks = new_unit && !(matrix->form == PTX_MATRIX_WMMA && matrix->a == PTX_TYPE_TF32);
    struct factors factors;
    const struct plan plan = {.factors = &factors,
                              .values = values,
                              .stored = matrix->sparse ? matrix->k / 2u : matrix->k,
                              .block = (long_blocks ? 256u : 128u) / (eighths ? 16u : ptx_types[matrix->a].bits),
                              .kept = coarse     ? COARSE_BITS
                                      : new_unit ? 25
                                                 : 24,
                              .lost = coarse ? (1u << (23 - COARSE_BITS)) - 1 : 0,
                              .zero = new_unit ? ZERO_EXPONENT : MATRIX_LOWEST,
                              .singles = new_unit && matrix->form == PTX_MATRIX_MMA && matrix->m == 8 &&
                                         matrix->a == PTX_TYPE_F16,
                              .eighths = eighths,
                              .to_half = halves && (from_half || !new_unit),
                              .from_half = from_half};
    if (eighths) {
        widen_eighths(values->a, matrix->m * plan.stored, matrix->a);
        widen_eighths(values->b, (uint32_t)matrix->k * matrix->n, matrix->b);
    }
    decode_factors(matrix, values, eighths, &factors);
    uint32_t d[sizeof values->d / sizeof *values->d], count = (uint32_t)matrix->m * matrix->n;
    compute_rows(matrix, &plan, &factors, d);
    /* from c in single precision: the sum is one, too, before it is rounded */
    for (uint32_t i = 0; halves && !plan.to_half && i < count; i++)
        d[i] = half_of(d[i]);
    for (uint32_t i = 0; i < count; i++)
        values->d[i] = d[i];
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* NaN as of fma.f64: that of b, c or a. */
static double fused(double a, double b, double c)
{
    double sum = fma(a, b, c);
    uint64_t bits = DOUBLE_NAN;
    if (!isnan(sum))
        return sum;
    if (isnan(b) || isnan(c) || isnan(a)) {
        double nan = isnan(b) ? b : isnan(c) ? c : a;
        memcpy(&bits, &nan, sizeof bits);
    }
    return double_of(bits | UINT64_C(1) << 51);
}

static void compute_doubles(const struct ptx_matrix *matrix, struct matrix_values *values)
{
    for (uint32_t row = 0; row < matrix->m; row++)
        for (uint32_t column = 0; column < matrix->n; column++) {
            uint32_t at = row * matrix->n + column;
            double sum = double_of(values->c[at]);
            for (uint32_t i = 0; i < matrix->k; i++)
                sum =
                    fused(double_of(values->a[row * matrix->k + i]), double_of(values->b[i * matrix->n + column]), sum);
            memcpy(&values->d[at], &sum, sizeof sum);
        }
}

static int64_t integer_of(uint64_t value, enum ptx_type type)
{
    uint32_t shift = 64u - ptx_types[type].bits;
    return ptx_type_is_signed(type) || type == PTX_TYPE_S4 ? (int64_t)(value << shift) >> shift : (int64_t)value;
}

static void compute_integers(const struct matrix_work *work, struct matrix_values *values)
{
    const struct ptx_matrix *matrix = &work->matrix;
    bool bits = matrix->a == PTX_TYPE_B1, sparse = matrix->sparse;
    uint32_t stored = bits ? matrix->k / 32u : sparse ? matrix->k / 2u : matrix->k;
    for (uint32_t row = 0; row < matrix->m; row++)
        for (uint32_t column = 0; column < matrix->n; column++) {
            uint32_t at = row * matrix->n + column;
            int64_t sum = (int32_t)(uint32_t)values->c[at];
            for (uint32_t i = 0; i < stored; i++) {
                uint32_t from = sparse ? values->columns[row * stored + i] : i;
                uint64_t a = values->a[row * stored + i], b = values->b[from * matrix->n + column];
                if (bits)
                    sum += __builtin_popcountll(work->exclusive ? a ^ b : a & b);
                else
                    sum += integer_of(a, (enum ptx_type)matrix->a) * integer_of(b, (enum ptx_type)matrix->b);
            }
            if (work->saturates)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            values->d[at] = (uint32_t)sum;
        }
}

void matrix_compute(const struct matrix_work *work, struct matrix_values *values, enum matrix_unit unit)
{
    if (work->matrix.d == PTX_TYPE_F64)
        compute_doubles(&work->matrix, values);
    else if (work->matrix.d == PTX_TYPE_S32)
        compute_integers(work, values);
    else
        compute_floats(work, values, unit);
}
