/* SPDX-License-Identifier: MIT */
/*
 * Sums of products as vectors of eight columns: the largest exponent of a block is found, everything is brought to that exponent and added. Products of a
 * block fit in 32 bits (16 of 27 bits, f16: 16 * 2047^2 * 2^5 < 2^31; 32 of 8-bit floats: less), and c may go beyond them: such a column is added in 64 bits.
 */
#include "isa/matrix_rows.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "isa/half.h"

#define TOGETHER 8u
#define INLINE static inline __attribute__((always_inline))

/* A number for each of the columns; comparisons give all ones or zero. */
typedef int32_t vector __attribute__((vector_size(TOGETHER * sizeof(int32_t))));
typedef uint32_t bit_vector __attribute__((vector_size(TOGETHER * sizeof(uint32_t))));
typedef float float_vector __attribute__((vector_size(TOGETHER * sizeof(float))));

uint32_t matrix_cut_to_single(int64_t sum, int32_t scale, uint32_t lost)
{
    if (!sum)
        return 0;
    uint32_t sign = sum < 0 ? 1u << 31 : 0;
    uint64_t magnitude = sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum;
    int32_t exponent = 63 - __builtin_clzll(magnitude) + scale; /* of its highest bit */
    int32_t lowest = exponent < -126 ? -149 : exponent - 23, drop = lowest - scale;
    magnitude = drop >= 64 ? 0 : drop > 0 ? magnitude >> drop : magnitude << (-drop & 63);
    if (exponent > 127)
        return sign | 0x7f800000u;
    if (!magnitude)
        return 0;
    uint32_t bits = exponent < -126 ? (uint32_t)magnitude : (uint32_t)((exponent + 126) << 23) + (uint32_t)magnitude;
    return sign | (bits & ~lost);
}

uint32_t matrix_round_to_half(int64_t sum, int32_t scale)
{
    uint32_t bits = half_round(ldexp((double)sum, scale), HALF_F16, 0);
    return bits == 0x8000u ? 0 : bits;
}

INLINE void load(const void *from, vector *to)
{
    memcpy(to, from, sizeof *to);
}

/* *significand * 2^(raise - shift), cut off; shift is not negative. */
INLINE void cut_off(vector *significand, int32_t raise, const vector *shift)
{
    vector minus = *significand >> 31, magnitude = (*significand ^ minus) - minus;
    magnitude = raise < 0 ? magnitude >> -raise : magnitude << raise;
    magnitude = magnitude >> (*shift & 31) & (*shift < 32);
    *significand = (magnitude ^ minus) - minus;
}

INLINE bool any(const vector *mask)
{
    uint64_t words[sizeof *mask / sizeof(uint64_t)], all = 0;
    memcpy(words, mask, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        all |= words[i];
    return all != 0;
}

/* (products + start) * 2^scale for each column. */
struct sums {
    vector products, start, scale;
    uint32_t lost;
};

static void cut_each(const struct sums *sums, uint32_t *singles)
{
    for (uint32_t n = 0; n < TOGETHER; n++)
        if ((singles[n] & 0x7f800000u) != 0x7f800000u)
            singles[n] = matrix_cut_to_single((int64_t)sums->products[n] + sums->start[n], sums->scale[n], sums->lost);
}

static void round_each(const struct sums *sums, uint32_t *singles)
{
    for (uint32_t n = 0; n < TOGETHER; n++) {
        if ((singles[n] & 0x7f800000u) == 0x7f800000u)
            singles[n] = half_round(singles[n] >> 31 ? -INFINITY : INFINITY, HALF_F16, 0);
        else
            singles[n] = matrix_round_to_half((int64_t)sums->products[n] + sums->start[n], sums->scale[n]);
    }
}

/* An infinity that is there stays. */
INLINE void cut_to_singles(const struct sums *sums, uint32_t *singles)
{
    vector before, bits, sum = (vector)((bit_vector)sums->products + (bit_vector)sums->start);
    vector beyond = ((sums->products ^ sum) & (sums->start ^ sum)) >> 31, minus = sum >> 31;
    vector magnitude = (vector)(((bit_vector)sum ^ (bit_vector)minus) - (bit_vector)minus);
    /* Without the bit below the last that is kept, the nearest single is that towards zero. */
    float_vector nearest = __builtin_convertvector(magnitude & ~(magnitude >> 24), float_vector);
    memcpy(&bits, &nearest, sizeof bits);
    load(singles, &before);
    vector exponent = (bits >> 23) + sums->scale, zero = sum == 0, stays = (before & 0x7f800000) == 0x7f800000;
    vector other = (beyond | (((exponent < 1) | (exponent > 254)) & ~zero)) & ~stays; /* no normal number */
    if (any(&other)) {
        cut_each(sums, singles);
        return;
    }
    bits = (vector)((bit_vector)bits + ((bit_vector)sums->scale << 23));
    bits = ((bits & ~(int32_t)sums->lost) | (minus & INT32_MIN)) & ~zero;
    bits = (before & stays) | (bits & ~stays);
    memcpy(singles, &bits, sizeof bits);
}

/* A block of products: elements of the row of A, and of the rows of B from the first of eight columns on. */
struct block {
    const int32_t *a, *a_exponent, *b, *b_exponent;
    const float *a_value, *b_value;
    const uint8_t *rows; /* NULL: in order */
    uint32_t count, stride;
    int32_t fraction_bits, kept, zero;
};

/* Where the factors of product i are from the first column on. */
INLINE uint32_t row_of(const struct block *block, uint32_t i)
{
    return (block->rows ? block->rows[i] : i) * block->stride;
}

/* *most becomes the largest exponent of a product, too. */
INLINE void find_most(const struct block *block, vector *most)
{
    vector exponent;
    for (uint32_t i = 0; i < block->count; i++) {
        load(block->b_exponent + row_of(block, i), &exponent);
        exponent += block->a_exponent[i];
        vector larger = exponent > *most;
        *most = (exponent & larger) | (*most & ~larger);
    }
}

INLINE void add_block(const struct block *block, const uint32_t *c, struct sums *sums)
{
    vector bits, exponent, most, b, shift;
    load(c, &bits);
    vector biased = bits >> 23 & 0xff, fraction = bits & 0x7fffff, subnormal = biased == 0, minus = bits >> 31;
    vector start = fraction | (~subnormal & 0x800000), start_exponent = biased - 127 - subnormal;
    start_exponent = ((start == 0) & block->zero) | (~(start == 0) & start_exponent);
    start = (start ^ minus) - minus;
    most = start_exponent;
    find_most(block, &most);
    shift = most - start_exponent;
    cut_off(&start, block->kept - 23, &shift);
    sums->start = start;
    sums->products = (vector){0};
    for (uint32_t i = 0; i < block->count; i++) {
        uint32_t at = row_of(block, i);
        load(block->b + at, &b);
        load(block->b_exponent + at, &exponent);
        b *= block->a[i];
        shift = most - exponent - block->a_exponent[i];
        cut_off(&b, block->kept - block->fraction_bits, &shift);
        sums->products += b;
    }
    sums->scale = most - block->kept;
}

/*
 * The same in floats: a product is exact, and so is what it is in units of the last bit that is kept; the integer of that is cut off. With exponents of
 * factors and c as matrix_rows.h says, neither underflows where it is not cut off to 0, sums of products are 0 or at least 2^-97, and no unit that
 * something else than 0 is counted in is below 2^-125.
 */
INLINE void add_block_as_floats(const struct block *block, const uint32_t *c, struct sums *sums)
{
    vector bits, most = (vector){0} + MATRIX_LOWEST;
    float_vector b, unit;
    load(c, &bits);
    vector exponent = (bits >> 23 & 0xff) - 127, none = (bits & INT32_MAX) == 0;
    exponent = (none & block->zero) | (~none & exponent);
    find_most(block, &most);
    vector larger = exponent > most;
    most = (exponent & larger) | (most & ~larger);
    vector biased = 127 + block->kept - most, above = biased > 252; /* nothing but zeros */
    biased = ((above & 252) | (biased & ~above)) << 23;
    memcpy(&unit, &biased, sizeof unit);
    bits &= exponent < 128; /* an infinity stays whatever is added */
    memcpy(&b, &bits, sizeof b);
    sums->start = __builtin_convertvector(b * unit, vector);
    sums->products = (vector){0};
    for (uint32_t i = 0; i < block->count; i++) {
        memcpy(&b, block->b_value + row_of(block, i), sizeof b);
        sums->products += __builtin_convertvector(b * block->a_value[i] * unit, vector);
    }
    sums->scale = most - block->kept;
}

/* Sums of add_block_as_floats. */
INLINE void cut_floats_to_singles(const struct sums *sums, uint32_t *singles)
{
    vector before, bits, sum = (vector)((bit_vector)sums->products + (bit_vector)sums->start);
    load(singles, &before);
    vector minus = sum >> 31, beyond = ((sums->products ^ sum) & (sums->start ^ sum)) >> 31;
    vector other = beyond | ((before & 0x7f800000) == 0x7f800000);
    if (any(&other)) {
        cut_each(sums, singles);
        return;
    }
    vector magnitude = (sum ^ minus) - minus, biased = 127 + sums->scale, below = biased < 2;
    biased = ((below & 2) | (biased & ~below)) << 23;
    float_vector unit, nearest = __builtin_convertvector(magnitude & ~(magnitude >> 24), float_vector);
    memcpy(&unit, &biased, sizeof unit);
    nearest *= unit; /* exact, or an infinity */
    memcpy(&bits, &nearest, sizeof bits);
    bits = (bits & ~(int32_t)sums->lost) | (minus & INT32_MIN);
    memcpy(singles, &bits, sizeof bits);
}

/* How rows are added; constants, so that there is code for each way. */
struct way {
    bool floats, ordered; /* rows of B are in order */
    uint32_t whole;       /* products of each block; 0: `block`, and the last may have less */
};

INLINE void add_row(const struct matrix_rows *work, uint32_t row, const struct way *way, uint32_t *c)
{
    uint32_t most = way->whole ? way->whole : work->block;
    for (uint32_t first = 0; first < work->count; first += most)
        for (uint32_t column = 0; column < work->columns; column += TOGETHER) {
            uint32_t in_a = row * work->count + first, in_b = (way->ordered ? first * work->columns : 0) + column;
            const struct block block = {
                .a = work->a->significand + in_a,
                .a_exponent = work->a->exponent + in_a,
                .a_value = work->a->value + in_a,
                .b = work->b->significand + in_b,
                .b_exponent = work->b->exponent + in_b,
                .b_value = work->b->value + in_b,
                .rows = way->ordered ? NULL : work->rows + in_a,
                .count = way->whole || work->count - first > most ? most : work->count - first,
                .stride = work->columns,
                .fraction_bits = (int32_t)work->fraction_bits,
                .kept = (int32_t)work->kept,
                .zero = work->zero,
            };
            struct sums sums;
            sums.lost = work->lost;
            (way->floats ? add_block_as_floats : add_block)(&block, c + column, &sums);
            if (work->to_half && first + block.count == work->count)
                round_each(&sums, c + column);
            else
                (way->floats ? cut_floats_to_singles : cut_to_singles)(&sums, c + column);
        }
}

INLINE void add_rows_in_this_way(const struct matrix_rows *work, struct way way, uint32_t *c)
{
    for (uint32_t row = 0; row < work->lines; row++)
        add_row(work, work->first + row, &way, c + row * work->columns);
}

INLINE void add_rows(const struct matrix_rows *work, uint32_t *c)
{
    if (!work->moderate && work->rows)
        add_rows_in_this_way(work, (struct way){.floats = false}, c);
    else if (!work->moderate)
        add_rows_in_this_way(work, (struct way){.ordered = true}, c);
    else if (work->rows)
        add_rows_in_this_way(work, (struct way){.floats = true}, c);
    else if (work->block == 16 && work->count % 16 == 0)
        add_rows_in_this_way(work, (struct way){true, true, 16}, c);
    else if (work->block == 8 && work->count % 8 == 0)
        add_rows_in_this_way(work, (struct way){true, true, 8}, c);
    else
        add_rows_in_this_way(work, (struct way){.floats = true, .ordered = true}, c);
}

static void add_rows_baseline(const struct matrix_rows *work, uint32_t *c)
{
    add_rows(work, c);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void add_rows_avx2(const struct matrix_rows *work, uint32_t *c)
{
    add_rows(work, c);
}
#else
#define add_rows_avx2 add_rows_baseline
#endif

void matrix_add_rows(const struct matrix_rows *work, enum lanes_level level, uint32_t *c)
{
    assert(work->columns % TOGETHER == 0 && work->block <= MATRIX_BLOCK);
    (level >= LANES_V3 ? add_rows_avx2 : add_rows_baseline)(work, c);
}
