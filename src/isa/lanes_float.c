/* SPDX-License-Identifier: MIT */
/* Floating point operations; the list is lanes_float.def. */
#include "isa/lanes_approximate.h"

/* Where the operands are equal, only zeros of unlike sign differ in their bits. */
#define EXTREME(name, T, bits_type, relation, zero_operator) \
    static inline bits_type name(T a, T b) \
    { \
        bits_type x, y; \
        memcpy(&x, &a, sizeof x); \
        memcpy(&y, &b, sizeof y); \
        bits_type ordered = a == b ? x zero_operator y : a relation b ? x : y; \
        return a != a ? y : b != b ? x : ordered; \
    }
EXTREME(minimum_f32, float, uint32_t, <, |)
EXTREME(maximum_f32, float, uint32_t, >, &)
EXTREME(minimum_f64, double, uint64_t, <, |)
EXTREME(maximum_f64, double, uint64_t, >, &)

/* .xorsign.abs: what was made of two magnitudes, with the sign of the product of both; NaN has none. */
static inline float with_both_signs(float magnitude, float a, float b)
{
    uint32_t sign = (bits_of_f32(a) ^ bits_of_f32(b)) & 0x80000000u;
    return magnitude != magnitude ? magnitude : f32_of_bits(bits_of_f32(magnitude) | sign);
}

/* What .ftz leaves of a rounded result: nothing if it is below the smallest normal number when 24 bits are kept of it. */
static inline float flush_tiny(double exact, enum rounding rounding, float rounded)
{
    return __builtin_fabsf(narrow(exact * 0x1p30, rounding)) < 0x1p-96f ? rounded * 0.0f : rounded;
}

static inline double quiet(double x)
{
    return f64_of_bits(bits_of_f64(x) | UINT64_C(1) << 51);
}

/* f64: the NaN of the first operand that is one, else that of an invalid operation. */
static inline double nan_of_two(double first, double second, double result)
{
    double nan = first != first ? quiet(first) : second != second ? quiet(second) : f64_of_bits(F64_NAN_BITS);
    return result != result ? nan : result;
}

static inline double nan_of_three(double first, double second, double third, double result)
{
    return first != first ? nan_of_two(first, first, result) : nan_of_two(second, third, result);
}

/* For instructions of machines that stand for two of PTX: what the first of these gives, to the bit. */
static inline float product_f32z(float a, float b)
{
    return load_f32z(bits_of_f32(flush_tiny((double)a * b, ROUND_NEAREST, a * b)));
}

static inline double product_f64(double a, double b)
{
    return nan_of_two(b, a, a * b);
}

static inline double negative_f64(double a)
{
    return a != a ? quiet(a) : -a;
}

#include "isa/lanes_float.def"
