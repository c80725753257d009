/* SPDX-License-Identifier: MIT */
/* The ratio estimator, in integers. */
#include "base/ratio.h"

#include <stdbool.h>
#include <stddef.h>

#define POINT_BITS 20u /* that are kept of each number: their products fit into 128 bits */
#define MILLION UINT64_C(1000000)

typedef unsigned __int128 wide;

/* Thousandths of Student's t for 95 %, two-sided, by degrees of freedom from 1 on. */
static const uint32_t student[] = {12706, 4303, 3182, 2776, 2571, 2447, 2365, 2306, 2262, 2228, 2201,
                                   2179,  2160, 2145, 2131, 2120, 2110, 2101, 2093, 2086, 2080, 2074,
                                   2069,  2064, 2060, 2056, 2052, 2048, 2045, 2042, 2040};

_Static_assert(sizeof student / sizeof *student == RATIO_POINTS - 1, "a row for each number of points from 2 on");

static uint64_t root(wide value)
{
    wide low = 0, high = (wide)1 << 64;
    while (high - low > 1) {
        wide middle = low + (high - low) / 2;
        if (middle <= value / middle)
            low = middle;
        else
            high = middle;
    }
    return (uint64_t)low;
}

/* How far to shift so that the largest number keeps POINT_BITS bits. */
static uint32_t shift_of(const struct ratio_point *points, uint32_t count, size_t offset)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < count; i++)
        largest |= *(const uint64_t *)((const char *)&points[i] + offset);
    uint32_t bits = largest ? 64u - (uint32_t)__builtin_clzll(largest) : 0;
    return bits > POINT_BITS ? bits - POINT_BITS : 0;
}

/* What the points are, beside the squares of what they stray from their ratio, and the products of neighbours. */
struct residuals {
    uint64_t cycles, instructions;
    wide squares;
    __int128 products;
};

/* False: a point is empty, or there are too few or too many. */
static bool sum_residuals(const struct ratio_point *points, uint32_t count, struct residuals *sum)
{
    *sum = (struct residuals){0};
    if (count < 2 || count > RATIO_POINTS)
        return false;
    uint32_t cycle_shift = shift_of(points, count, offsetof(struct ratio_point, cycles));
    uint32_t instruction_shift = shift_of(points, count, offsetof(struct ratio_point, instructions));
    for (uint32_t i = 0; i < count; i++) {
        sum->cycles += points[i].cycles >> cycle_shift;
        sum->instructions += points[i].instructions >> instruction_shift;
        if (!points[i].cycles || !points[i].instructions)
            return false;
    }
    int64_t before = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t left = (points[i].cycles >> cycle_shift) * sum->instructions;
        uint64_t right = (points[i].instructions >> instruction_shift) * sum->cycles;
        int64_t residual = (int64_t)left - (int64_t)right;
        sum->squares += (wide)((__int128)residual * residual);
        sum->products += (__int128)residual * before;
        before = residual;
    }
    return true;
}

static uint64_t half_width(const struct residuals *sum, uint32_t count)
{
    /* Of squares of millionths one would be lost below 1e12: both are scaled, the smaller one up. */
    wide product = (wide)sum->cycles * sum->instructions, square = product * product, million = (wide)MILLION * MILLION;
    wide scaled = sum->squares * count / (count - 1);
    wide relative = scaled <= ~(wide)0 / million ? scaled * million / square : scaled / (square / million);
    return root(relative) * student[count - 2] / 1000;
}

uint64_t ratio_half_width(const struct ratio_point *points, uint32_t count)
{
    struct residuals sum;
    return sum_residuals(points, count, &sum) ? half_width(&sum, count) : RATIO_UNKNOWN;
}

uint64_t ratio_half_width_in_turn(const struct ratio_point *points, uint32_t count)
{
    struct residuals sum;
    if (!sum_residuals(points, count, &sum))
        return RATIO_UNKNOWN;
    /* r is alike / whole: products over squares, and one over the count. */
    __int128 whole = (__int128)sum.squares * count, alike = sum.products * count + (__int128)sum.squares;
    if (alike <= 0)
        return half_width(&sum, count);
    uint32_t most = count * 1000, grown = most; /* thousandths */
    if (alike < whole && (whole + alike) / (whole - alike) < count)
        grown = (uint32_t)((whole + alike) * 1000 / (whole - alike));
    return ratio_root(half_width(&sum, count), grown, 1000);
}

uint64_t ratio_deviation(const struct ratio_point *point, const struct ratio_point *others, uint32_t count)
{
    uint64_t cycles = 0, instructions = 0;
    for (uint32_t i = 0; i < count; i++) {
        cycles += others[i].cycles;
        instructions += others[i].instructions;
    }
    if (!cycles || !instructions || !point->instructions)
        return RATIO_UNKNOWN;
    uint64_t expected = ratio_scale(point->instructions, cycles, instructions);
    uint64_t off = point->cycles > expected ? point->cycles - expected : expected - point->cycles;
    return ratio_scale(off, MILLION, expected ? expected : 1);
}

uint64_t ratio_scale(uint64_t value, uint64_t numerator, uint64_t denominator)
{
    wide result = (wide)value * numerator / denominator;
    return result > UINT64_MAX ? UINT64_MAX : (uint64_t)result;
}

uint64_t ratio_join(uint64_t a, uint64_t b)
{
    return root((wide)a * a + (wide)b * b);
}

uint64_t ratio_root(uint64_t value, uint32_t numerator, uint32_t denominator)
{
    return ratio_scale(value, root(((wide)numerator << 64) / denominator), UINT64_C(1) << 32);
}
