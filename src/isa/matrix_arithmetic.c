/* SPDX-License-Identifier: MIT */
/* Dot products of rows and columns; isa/matrix.h says in which order, and how they are rounded. */
#include "isa/half.h"
#include "isa/matrix.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define KEPT_BITS 24      /* below the place of the largest exponent */
#define LOWEST (-1000000) /* an exponent below all others: of zeros */
#define SINGLE_NAN 0x7fffffffu
#define DOUBLE_NAN UINT64_C(0xfff8000000000000)
#define MOST_BLOCK 16u
#define MOST_COLUMNS 32u
#define TOGETHER 8u /* columns that are computed together; all shapes have a multiple of them */
#define MOST_ELEMENTS 1024u

/* A sum of products below 4 and of a c below 2 has 31 bits. */
_Static_assert(KEPT_BITS + 2 + 4 <= 30, "sums of a block are integers of 32 bits");

/* A float format: sign, exponent, fraction. */
struct format {
    uint32_t exponent_bits, fraction_bits;
    bool finite; /* all ones in the exponent is no infinity; NaN is all ones in the fraction, too (e4m3) */
};

/* significand * 2^(exponent - fraction bits of the format); zero has exponent LOWEST. */
struct number {
    int32_t significand, exponent;
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

static inline bool is_finite(uint32_t bits, struct format format)
{
    uint32_t ones = format.finite ? (1u << (format.exponent_bits + format.fraction_bits)) - 1
                                  : ((1u << format.exponent_bits) - 1) << format.fraction_bits;
    return (bits & ones) != ones;
}

/* Of a finite one. */
static inline struct number number_of(uint32_t bits, struct format format)
{
    uint32_t fraction = bits & ((1u << format.fraction_bits) - 1);
    uint32_t top = (1u << format.exponent_bits) - 1, biased = bits >> format.fraction_bits & top;
    int32_t minus = -(int32_t)(bits >> (format.exponent_bits + format.fraction_bits) & 1);
    int32_t significand = (int32_t)(fraction | (biased ? 1u << format.fraction_bits : 0));
    int32_t exponent = (int32_t)(biased ? biased : 1) - (int32_t)(top >> 1);
    return (struct number){(significand ^ minus) - minus, significand ? exponent : LOWEST};
}

/* tf32 stands in the upper bits of a single. */
static uint32_t significant_bits(enum ptx_type type, uint64_t value)
{
    return type == PTX_TYPE_TF32 ? (uint32_t)value >> 13 : (uint32_t)value;
}

/* sum * 2^scale, cut to a single. */
static inline uint32_t cut_to_single(int32_t sum, int32_t scale)
{
    if (!sum)
        return 0;
    uint32_t sign = sum < 0 ? 1u << 31 : 0, magnitude = sum < 0 ? 0 - (uint32_t)sum : (uint32_t)sum;
    int32_t exponent = 31 - __builtin_clz(magnitude) + scale; /* of its highest bit */
    int32_t lowest = exponent < -126 ? -149 : exponent - 23, drop = lowest - scale;
    magnitude = drop >= 32 ? 0 : drop > 0 ? magnitude >> drop : magnitude << (-drop & 31);
    if (exponent > 127)
        return sign | 0x7f800000u;
    return sign | (exponent < -126 ? magnitude : (uint32_t)((exponent + 126) << 23) + magnitude);
}

static float single_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t half_of(uint32_t single)
{
    return half_round((double)single_of(single), HALF_F16, 0);
}

static uint32_t widen_half(uint32_t half)
{
    float value = (float)half_value(half, HALF_F16);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Elements of a matrix, parts apart; those that are not finite mean nothing here. */
struct numbers {
    int32_t significand[MOST_ELEMENTS], exponent[MOST_ELEMENTS];
    bool finite; /* all */
};

/* With so many bits behind the point, as many as the format has or more. */
static void decode_numbers(const uint64_t *values, uint32_t count, enum ptx_type type, uint32_t fraction_bits,
                           struct numbers *numbers)
{
    const struct format format = format_of(type);
    uint32_t finite = 1;
    int32_t scale = 1 << (fraction_bits - format.fraction_bits);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bits = significant_bits(type, values[i]);
        struct number number = number_of(bits, format);
        numbers->significand[i] = number.significand * scale;
        numbers->exponent[i] = number.exponent;
        finite &= is_finite(bits, format);
    }
    numbers->finite = finite;
}

static double value_of(uint32_t bits, struct format format)
{
    uint32_t fraction = bits & ((1u << format.fraction_bits) - 1);
    if (!is_finite(bits, format)) {
        bool negative = bits >> (format.exponent_bits + format.fraction_bits) & 1;
        return format.finite || fraction ? NAN : negative ? -INFINITY : INFINITY;
    }
    struct number number = number_of(bits, format);
    return number.significand ? ldexp(number.significand, number.exponent - (int32_t)format.fraction_bits) : 0.0;
}

/* What rows and columns are made of: A, B, and which rows of B the elements of a sparse A go with. */
struct factors {
    const struct matrix_work *work;
    const struct matrix_values *values;
    struct numbers a, b;
    uint32_t stored, fraction_bits,
        block; /* elements in a row of A; bits of a product behind the point; products that are added at once */
};

/* The row of B that element i of that row of A goes with. */
static inline uint32_t row_of_b(const struct factors *factors, uint32_t row, uint32_t i)
{
    return factors->work->matrix.form == PTX_MATRIX_SPARSE ? factors->values->columns[row * factors->stored + i] : i;
}

/* Whether NaN or an infinity takes part; then *result is what they make of it. */
static bool is_special(const struct factors *factors, uint32_t row, uint32_t column, uint32_t c, uint32_t *result)
{
    const struct ptx_matrix *matrix = &factors->work->matrix;
    enum ptx_type type_a = (enum ptx_type)matrix->a, type_b = (enum ptx_type)matrix->b;
    struct format format_a = format_of(type_a), format_b = format_of(type_b);
    double sum = (double)single_of(c);
    bool special = isnan(sum) || isinf(sum);
    for (uint32_t i = 0; i < factors->stored; i++) {
        uint32_t a = significant_bits(type_a, factors->values->a[row * factors->stored + i]);
        uint32_t b = significant_bits(type_b, factors->values->b[row_of_b(factors, row, i) * matrix->n + column]);
        if (is_finite(a, format_a) && is_finite(b, format_b))
            continue;
        special = true;
        sum += value_of(a, format_a) * value_of(b, format_b);
    }
    *result = isnan(sum) ? SINGLE_NAN : sum < 0 ? 0xff800000u : 0x7f800000u;
    return special;
}

/* A number for each of TOGETHER columns; comparisons give all ones or zero. */
typedef int32_t vector __attribute__((vector_size(TOGETHER * sizeof(int32_t))));

static inline __attribute__((always_inline)) void load(const void *from, vector *to)
{
    memcpy(to, from, sizeof *to);
}

/* *significand * 2^(raise - shift), cut off; neither is negative. */
static inline __attribute__((always_inline)) void cut_off(vector *significand, int32_t raise, const vector *shift)
{
    vector minus = *significand >> 31, magnitude = ((*significand ^ minus) - minus) << raise;
    magnitude = magnitude >> (*shift & 31) & (*shift < 32);
    *significand = (magnitude ^ minus) - minus;
}

static inline bool any(const vector *mask)
{
    uint64_t words[sizeof *mask / sizeof(uint64_t)], all = 0;
    memcpy(words, mask, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        all |= words[i];
    return all != 0;
}

/* *sum * 2^*scale, cut to singles; an infinity that is there stays. */
static inline __attribute__((always_inline)) void cut_to_singles(const vector *sum, const vector *scale,
                                                                 uint32_t *singles)
{
    typedef float floats __attribute__((vector_size(TOGETHER * sizeof(float))));
    vector before, bits, minus = *sum >> 31, magnitude = (*sum ^ minus) - minus;
    /* Without the bit below the last that is kept, the nearest single is that towards zero. */
    floats nearest = __builtin_convertvector(magnitude & ~(magnitude >> 24), floats);
    memcpy(&bits, &nearest, sizeof bits);
    load(singles, &before);
    vector exponent = (bits >> 23) + *scale, zero = *sum == 0, stays = (before & 0x7f800000) == 0x7f800000;
    vector other = ((exponent < 1) | (exponent > 254)) & ~zero & ~stays; /* no normal number */
    if (any(&other)) {
        for (uint32_t n = 0; n < TOGETHER; n++)
            if (!stays[n])
                singles[n] = cut_to_single((*sum)[n], (*scale)[n]);
        return;
    }
    bits = ((bits + (*scale << 23)) | (minus & INT32_MIN)) & ~zero;
    bits = (before & stays) | (bits & ~stays);
    memcpy(singles, &bits, sizeof bits);
}

/* A block of products for TOGETHER columns: elements of the row of A, and the first of these columns in rows of B. */
struct block {
    const int32_t *a, *a_exponent;
    const int32_t *b[MOST_BLOCK], *b_exponent[MOST_BLOCK];
    uint32_t count, fraction_bits;
};

/* c + the products; an infinity that a block before this one made stays. */
static inline __attribute__((always_inline)) void add_block(const struct block *block, uint32_t *c)
{
    vector bits, exponent, most, b, sum, shift;
    load(c, &bits);
    vector biased = bits >> 23 & 0xff, fraction = bits & 0x7fffff, subnormal = biased == 0, minus = bits >> 31;
    vector start = fraction | (~subnormal & 0x800000), start_exponent = biased - 127 - subnormal;
    start_exponent = ((start == 0) & LOWEST) | (~(start == 0) & start_exponent);
    start = (start ^ minus) - minus;
    most = start_exponent;
    for (uint32_t i = 0; i < block->count; i++) {
        load(block->b_exponent[i], &exponent);
        exponent += block->a_exponent[i];
        vector larger = exponent > most;
        most = (exponent & larger) | (most & ~larger);
    }
    sum = start;
    shift = most - start_exponent;
    cut_off(&sum, KEPT_BITS - 23, &shift);
    for (uint32_t i = 0; i < block->count; i++) {
        load(block->b[i], &b);
        load(block->b_exponent[i], &exponent);
        b *= block->a[i];
        shift = most - exponent - block->a_exponent[i];
        cut_off(&b, KEPT_BITS - (int32_t)block->fraction_bits, &shift);
        sum += b;
    }
    most -= KEPT_BITS;
    cut_to_singles(&sum, &most, c);
}

/* One row of D, all in singles: c becomes d. Nothing but numbers takes part. */
static inline __attribute__((always_inline)) void add_row_body(const struct factors *factors, uint32_t row, uint32_t *c)
{
    uint32_t columns = factors->work->matrix.n, stored = factors->stored;
    for (uint32_t column = 0; column < columns; column += TOGETHER)
        for (uint32_t first = 0; first < stored; first += factors->block) {
            struct block block = {
                .a = factors->a.significand + row * stored + first,
                .a_exponent = factors->a.exponent + row * stored + first,
                .count = stored - first < factors->block ? stored - first : factors->block,
                .fraction_bits = factors->fraction_bits,
            };
            for (uint32_t i = 0; i < block.count; i++) {
                uint32_t at = row_of_b(factors, row, first + i) * columns + column;
                block.b[i] = factors->b.significand + at;
                block.b_exponent[i] = factors->b.exponent + at;
            }
            add_block(&block, c + column);
        }
}

static void add_row_baseline(const struct factors *factors, uint32_t row, uint32_t *c)
{
    add_row_body(factors, row, c);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void add_row_avx2(const struct factors *factors, uint32_t row, uint32_t *c)
{
    add_row_body(factors, row, c);
}
#else
#define add_row_avx2 add_row_baseline
#endif

static void compute_floats(const struct matrix_work *work, enum lanes_level level, struct matrix_values *values)
{
    const struct ptx_matrix *matrix = &work->matrix;
    enum ptx_type type_a = (enum ptx_type)matrix->a, type_b = (enum ptx_type)matrix->b;
    uint32_t fraction_a = format_of(type_a).fraction_bits, fraction_b = format_of(type_b).fraction_bits;
    /* e4m3 beside e5m2: as if both had the longer fraction */
    uint32_t fraction = fraction_a > fraction_b ? fraction_a : fraction_b;
    struct factors factors;
    factors.work = work;
    factors.values = values;
    factors.stored = matrix->form == PTX_MATRIX_SPARSE ? matrix->k / 2u : matrix->k;
    factors.fraction_bits = 2 * fraction;
    factors.block = 128u / ptx_types[matrix->a].bits;
    decode_numbers(values->a, matrix->m * factors.stored, type_a, fraction, &factors.a);
    decode_numbers(values->b, (uint32_t)matrix->k * matrix->n, type_b, fraction, &factors.b);
    assert(matrix->n % TOGETHER == 0 && matrix->n <= MOST_COLUMNS && factors.block <= MOST_BLOCK);
    for (uint32_t row = 0; row < matrix->m; row++) {
        uint32_t c[MOST_COLUMNS] = {0}, sums[MOST_COLUMNS] = {0}, specials = 0;
        for (uint32_t n = 0; n < matrix->n; n++) {
            uint32_t start = (uint32_t)values->c[row * matrix->n + n];
            c[n] = sums[n] = matrix->c == PTX_TYPE_F16 ? widen_half(start) : start;
            specials |= (c[n] & 0x7f800000u) == 0x7f800000u;
        }
        (level == LANES_V3 ? add_row_avx2 : add_row_baseline)(&factors, row, sums);
        for (uint32_t n = 0; n < matrix->n; n++) {
            uint32_t special;
            if ((specials || !factors.a.finite || !factors.b.finite) && is_special(&factors, row, n, c[n], &special))
                sums[n] = special;
            values->d[row * matrix->n + n] = matrix->d == PTX_TYPE_F16 ? half_of(sums[n]) : sums[n];
        }
    }
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void compute_doubles(const struct ptx_matrix *matrix, struct matrix_values *values)
{
    for (uint32_t row = 0; row < matrix->m; row++)
        for (uint32_t column = 0; column < matrix->n; column++) {
            uint32_t at = row * matrix->n + column;
            double sum = double_of(values->c[at]);
            for (uint32_t i = 0; i < matrix->k; i++)
                sum = fma(double_of(values->a[row * matrix->k + i]), double_of(values->b[i * matrix->n + column]), sum);
            memcpy(&values->d[at], &sum, sizeof sum);
            if (isnan(sum))
                values->d[at] = DOUBLE_NAN;
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
    bool bits = matrix->a == PTX_TYPE_B1, sparse = matrix->form == PTX_MATRIX_SPARSE;
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

void matrix_compute(const struct matrix_work *work, enum lanes_level level, struct matrix_values *values)
{
    if (work->matrix.d == PTX_TYPE_F64)
        compute_doubles(&work->matrix, values);
    else if (work->matrix.d == PTX_TYPE_S32)
        compute_integers(work, values);
    else
        compute_floats(work, level, values);
}
