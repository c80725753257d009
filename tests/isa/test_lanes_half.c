/* SPDX-License-Identifier: MIT */
/*
 * Half precision and bfloat16 against a table of all their values and 128-bit arithmetic: the exact result, then the
 * nearest entry, of two equally near ones that with an even last bit.
 */
#include "isa/lanes_harness.h"

#include <math.h>

typedef __float128 exact;

struct format {
    unsigned fraction_bits, bias;
    exact value[0x8000]; /* of the magnitude; the first infinity is where the next number would be */
    unsigned infinity;
};
static struct format f16 = {.fraction_bits = 10, .bias = 15}, bf16 = {.fraction_bits = 7, .bias = 127};

static exact power_of_2(int exponent)
{
    exact result = 1;
    for (; exponent > 0; exponent--)
        result *= 2;
    for (; exponent < 0; exponent++)
        result /= 2;
    return result;
}

static void fill(struct format *format)
{
    unsigned scale = 1u << format->fraction_bits;
    format->infinity = (2 * format->bias + 1) << format->fraction_bits;
    for (unsigned bits = 0; bits <= format->infinity; bits++) {
        unsigned biased = bits >> format->fraction_bits, fraction = bits % scale;
        int exponent = (int)(biased ? biased : 1) - (int)format->bias - (int)format->fraction_bits;
        format->value[bits] = (exact)(biased ? fraction + scale : fraction) * power_of_2(exponent);
    }
}

static bool is_nan(const struct format *format, uint32_t bits)
{
    return (bits & 0x7fff) > format->infinity;
}

static bool is_infinite(const struct format *format, uint32_t bits)
{
    return (bits & 0x7fff) == format->infinity;
}

/* NaN and infinities are made by the callers in double, where they behave as everywhere. */
static double as_double(const struct format *format, uint32_t bits)
{
    double magnitude = is_nan(format, bits)        ? (double)NAN
                       : is_infinite(format, bits) ? (double)INFINITY
                                                   : (double)format->value[bits & 0x7fff];
    return bits & 0x8000 ? -magnitude : magnitude;
}

static exact as_exact(const struct format *format, uint32_t bits)
{
    return bits & 0x8000 ? -format->value[bits & 0x7fff] : format->value[bits & 0x7fff];
}

/*
 * toward: 0 nearest, 1 to zero, 2 down, 3 up. `tail`: what 128 bits could not hold of x; it decides between two that
 * are equally near.
 */
static uint32_t nearest_with(const struct format *format, exact x, exact tail, unsigned toward)
{
    bool negative = x < 0;
    exact magnitude = negative ? -x : x;
    unsigned low = 0, high = format->infinity;
    while (low < high) { /* the largest that is not above */
        unsigned middle = (low + high + 1) / 2;
        if (format->value[middle] <= magnitude)
            low = middle;
        else
            high = middle - 1;
    }
    uint32_t sign = negative ? 0x8000 : 0;
    if (low >= format->infinity)
        low = format->infinity - 1;
    exact below = magnitude - format->value[low], above = format->value[low + 1] - magnitude;
    bool farther = (tail < 0) == negative && tail != 0;
    bool up = toward == 0 ? below > above || (below == above && (tail != 0 ? farther : low % 2))
                          : below > 0 && toward == (negative ? 2u : 3u);
    return sign | (low + up);
}

static uint32_t nearest(const struct format *format, exact x, unsigned toward)
{
    return nearest_with(format, x, 0, toward);
}

static uint32_t finish(const struct format *format, double special, exact x, exact tail)
{
    if (isnan(special))
        return 0x7fff;
    if (isinf(special))
        return (special < 0 ? 0x8000 : 0) | format->infinity;
    uint32_t bits = nearest_with(format, x, tail, 0);
    return bits == 0 && signbit(special) && x == 0 ? 0x8000 : bits;
}

enum { ADD, SUB, MUL, FMA, MIN, MAX, MIN_NAN, MAX_NAN, NEG, ABS };
static struct {
    const struct format *format;
    unsigned operation, toward;
    bool clamp, relu, flush, magnitudes, finite;
} now;

static bool is_special(uint32_t bits)
{
    return (bits & 0x7fff) >= now.format->infinity;
}

static uint32_t flushed(uint32_t bits)
{
    return now.flush && (bits & now.format->infinity) == 0 ? bits & 0x8000 : bits;
}

static uint32_t one(uint32_t a, uint32_t b, uint32_t c)
{
    a = flushed(a);
    b = flushed(b);
    c = flushed(c);
    uint32_t sign = now.magnitudes ? (a ^ b) & 0x8000 : 0;
    if (now.magnitudes) {
        a &= 0x7fff;
        b &= 0x7fff;
    }
    const struct format *f = now.format;
    double x = as_double(f, a), y = as_double(f, b), z = as_double(f, c);
    bool special = is_special(a) || is_special(b) || (now.operation == FMA && is_special(c));
    exact ex = special ? 0 : as_exact(f, a), ey = special ? 0 : as_exact(f, b), ez = special ? 0 : as_exact(f, c);
    uint32_t result;
    switch (now.operation) {
    case ADD:
        result = finish(f, special ? x + y : copysign(0.0, x + y), ex + ey, 0);
        break;
    case SUB:
        result = finish(f, special ? x - y : copysign(0.0, x - y), ex - ey, 0);
        break;
    case MUL:
        result = finish(f, special ? x * y : copysign(0.0, x * y), ex * ey, 0);
        break;
    case FMA: {
        exact product = ex * ey, sum = product + ez, part = sum - product; /* the error of the sum: Knuth's two-sum */
        exact tail = (product - (sum - part)) + (ez - part);
        result = finish(f, special ? x * y + z : copysign(0.0, x * y + z), sum, tail);
        break;
    }
    case NEG:
        return is_nan(f, a) ? 0x7fff : a ^ 0x8000;
    case ABS:
        return is_nan(f, a) ? 0x7fff : a & 0x7fff;
    default: {
        bool largest = now.operation == MAX || now.operation == MAX_NAN, strict = now.operation >= MIN_NAN;
        if (isnan(x) || isnan(y))
            result = strict || (isnan(x) && isnan(y)) ? 0x7fff : isnan(x) ? b : a;
        else if (x == y)
            result = largest ? a & b : a | b; /* of two zeros by the sign */
        else
            result = (x < y) == largest ? b : a;
        if (!is_nan(f, result))
            result |= sign;
    }
    }
    if (now.clamp)
        result = is_nan(f, result) || result & 0x8000 ? 0
                 : as_double(f, result) >= 1          ? (uint32_t)f->bias << f->fraction_bits
                                                      : result;
    if (now.relu && !is_nan(f, result) && result & 0x8000)
        result = 0;
    bool halfway = now.flush && !special && (now.operation == MUL || now.operation == FMA);
    if (halfway &&
        (result & 0x7fff) == 1u << f->fraction_bits) { /* it may have been rounded up to the smallest normal number */
        exact sum = ex * ey + (now.operation == FMA ? ez : 0), smallest = as_exact(f, 1u << f->fraction_bits);
        if ((sum < 0 ? -sum : sum) < smallest * (1 - ldexp(1, -2 - (int)f->fraction_bits)))
            result &= 0x8000;
    }
    return flushed(result);
}

static uint64_t scalar(const struct inputs *in)
{
    return one((uint32_t)in->value[0] & 0xffff, (uint32_t)in->value[1] & 0xffff, (uint32_t)in->value[2] & 0xffff);
}

static uint64_t pair(const struct inputs *in)
{
    const uint32_t a = (uint32_t)in->value[0], b = (uint32_t)in->value[1], c = (uint32_t)in->value[2];
    return one(a & 0xffff, b & 0xffff, c & 0xffff) | (uint64_t)one(a >> 16, b >> 16, c >> 16) << 16;
}

static void test_arithmetic(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned operation, operands;
    } cases[] = {{"add", ADD, 2},
                 {"sub", SUB, 2},
                 {"mul", MUL, 2},
                 {"fma.rn", FMA, 3},
                 {"fma.rn.relu", FMA, 3},
                 {"fma.rn.sat", FMA, 3},
                 {"add.sat", ADD, 2},
                 {"mul.ftz", MUL, 2},
                 {"add.rn.ftz", ADD, 2},
                 {"min", MIN, 2},
                 {"max", MAX, 2},
                 {"min.NaN", MIN_NAN, 2},
                 {"max.NaN", MAX_NAN, 2},
                 {"neg", NEG, 1},
                 {"abs", ABS, 1},
                 {"min.xorsign.abs", MIN, 2},
                 {"max.ftz.xorsign.abs", MAX, 2},
                 {"min.NaN.xorsign.abs", MIN_NAN, 2}};
    static const char *const types[] = {"f16", "f16x2", "bf16", "bf16x2"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (unsigned type = 0; type < 4; type++) {
            char name[64];
            const char *word = cases[i].name;
            now.format = type < 2 ? &f16 : &bf16;
            now.operation = cases[i].operation;
            now.clamp = strstr(word, ".sat") != NULL;
            now.relu = strstr(word, ".relu") != NULL;
            now.flush = strstr(word, ".ftz") != NULL;
            now.magnitudes = strstr(word, ".abs") != NULL;
            if (type >= 2 && (now.clamp || now.flush))
                continue;
            snprintf(name, sizeof name, "%s.%s", word, types[type]);
            const char *classes = type % 2 ? "rrrr" : "hhhh";
            char own[8];
            snprintf(own, sizeof own, "%.*s", (int)cases[i].operands + 1, classes);
            check_case(&(struct lanes_case){name, own, NULL, type % 2 ? pair : scalar, 400});
        }
}

static uint64_t from_f32(const struct inputs *in)
{
    float x = f32_from(in->value[0]);
    if (isnan(x))
        return now.clamp ? 0 : 0x7fff;
    if (now.clamp)
        x = x > 0 ? x < 1 ? x : 1 : 0;
    if (now.relu && x < 0)
        return 0;
    uint32_t bits = isinf(x) ? (x < 0 ? 0x8000 : 0) | now.format->infinity : nearest(now.format, x, now.toward);
    if (now.finite && (bits & 0x7fff) == now.format->infinity)
        return bits - 1;
    return bits == 0 && signbit(x) && !now.relu ? 0x8000 : bits;
}

/* f16 from bf16, and the other way round. */
static uint64_t from_other(const struct inputs *in)
{
    const struct format *other = now.format == &f16 ? &bf16 : &f16;
    double x = as_double(other, (uint32_t)in->value[0] & 0xffff);
    if (isnan(x))
        return 0x7fff;
    if (isinf(x))
        return (x < 0 ? 0x8000 : 0) | now.format->infinity;
    uint32_t bits = nearest(now.format, x, now.toward);
    return bits == 0 && signbit(x) ? 0x8000 : bits;
}

static uint64_t from_f64(const struct inputs *in)
{
    double x = f64_from(in->value[0]);
    int fraction = (int)now.format->fraction_bits; /* NaN become quiet and keep what fits of their payload */
    if (isnan(x))
        return (in->value[0] >> 63) << 15 | now.format->infinity | UINT64_C(1) << (fraction - 1) |
               (in->value[0] << 12 >> (64 - fraction));
    if (isinf(x))
        return (x < 0 ? 0x8000 : 0) | now.format->infinity;
    uint32_t bits = nearest(now.format, x, now.toward);
    return (bits & 0x7fff) == 0 && signbit(x) ? 0x8000 : bits;
}

static uint64_t from_u64(const struct inputs *in)
{
    return nearest(now.format, (exact)in->value[0], now.toward);
}

static uint64_t from_s32(const struct inputs *in)
{
    return nearest(now.format, (exact)(int32_t)in->value[0], now.toward);
}

static uint64_t to_f32(const struct inputs *in)
{
    uint32_t bits = (uint32_t)in->value[0] & 0xffff;
    if (is_nan(now.format, bits)) /* f32 has room for all of a bf16: it stays as it is */
        return now.format->fraction_bits == 7 ? (uint64_t)bits << 16 : 0x7fffffff;
    return f32_bits((float)as_double(now.format, bits));
}

static uint64_t to_f64(const struct inputs *in)
{
    uint64_t bits = in->value[0] & 0xffff, fraction = bits & ((1u << now.format->fraction_bits) - 1);
    if (is_nan(now.format, (uint32_t)bits)) /* sign and payload stay, and it is quiet */
        return bits >> 15 << 63 | UINT64_C(0x7ff8) << 48 | fraction << (52 - now.format->fraction_bits);
    return f64_bits(as_double(now.format, (uint32_t)bits));
}

static uint64_t to_s32(const struct inputs *in)
{
    double x = as_double(now.format, (uint32_t)in->value[0] & 0xffff);
    static double (*const whole[])(double) = {nearbyint, trunc, floor, ceil};
    x = whole[now.toward](x);
    return isnan(x) ? 0 : x >= 0x1p31 ? 0x7fffffff : x < -0x1p31 ? 0x80000000u : (uint32_t)(int32_t)x;
}

static uint64_t to_whole(const struct inputs *in)
{
    uint32_t bits = (uint32_t)in->value[0] & 0xffff;
    double x = as_double(now.format, bits);
    static double (*const whole[])(double) = {nearbyint, trunc, floor, ceil};
    if (is_special(bits))
        return is_nan(now.format, bits) ? 0x7fff : bits;
    x = whole[now.toward](x);
    return nearest(now.format, x, 0) | (x == 0 && signbit(x) ? 0x8000 : 0);
}

static uint64_t pair_from_f32(const struct inputs *in)
{
    struct inputs low = *in;
    low.value[0] = in->value[1];
    return from_f32(in) << 16 | from_f32(&low);
}

/* What a byte of sign, exponent and fraction stands for, from its definition (OCP 8-bit floating point specification, 2023). */
static double eighth(unsigned bits, bool e4m3)
{
    unsigned width = e4m3 ? 3 : 2, exponent = (bits & 0x7f) >> width, fraction = bits & ((1u << width) - 1);
    int bias = e4m3 ? 7 : 15;
    double value = exponent ? ldexp(1 + fraction / ldexp(1, (int)width), (int)exponent - bias)
                            : ldexp(fraction / ldexp(1, (int)width), 1 - bias);
    if (e4m3 ? (bits & 0x7f) == 0x7f : exponent == 31)
        value = !e4m3 && !fraction ? INFINITY : NAN;
    return bits & 0x80 ? -value : value;
}

/* The nearest of all finite bytes; of two that are as near, the even one. */
static unsigned nearest_eighth(double x)
{
    bool e4m3 = now.operation;
    if (isnan(x))
        return 0x7f;
    if (now.relu && x <= 0)
        return 0;
    unsigned best = 0, largest = e4m3 ? 0x7e : 0x7b;
    if (fabs(x) >= eighth(largest, e4m3)) /* beyond, distances round to the same */
        return largest | (signbit(x) ? 0x80u : 0);
    for (unsigned bits = 0; bits <= largest; bits++) {
        double distance = fabs(eighth(bits, e4m3) - fabs(x)), least = fabs(eighth(best, e4m3) - fabs(x));
        if (distance < least || (distance == least && bits % 2 == 0))
            best = bits;
    }
    return best | (signbit(x) ? 0x80u : 0);
}

static uint64_t eighths_of_f32(const struct inputs *in)
{
    return nearest_eighth((double)f32_from(in->value[0])) << 8 | nearest_eighth((double)f32_from(in->value[1]));
}

static uint64_t eighths_of_halves(const struct inputs *in)
{
    uint32_t bits = (uint32_t)in->value[0];
    double high = is_nan(&f16, bits >> 16) ? NAN : as_double(&f16, bits >> 16);
    double low = is_nan(&f16, bits & 0xffff) ? NAN : as_double(&f16, bits & 0xffff);
    return nearest_eighth(high) << 8 | nearest_eighth(low);
}

static uint64_t half_of_eighth(unsigned bits)
{
    double x = eighth(bits, now.operation);
    if (isnan(x))
        return 0x7fff;
    if (now.relu && x <= 0)
        return 0;
    uint32_t magnitude = isinf(x) ? f16.infinity : nearest(&f16, fabs(x), 0);
    return magnitude | (signbit(x) ? 0x8000 : 0);
}

static uint64_t halves_of_eighths(const struct inputs *in)
{
    return half_of_eighth(in->value[0] >> 8 & 0xff) << 16 | half_of_eighth(in->value[0] & 0xff);
}

static void test_8_bit_floats(void **state)
{
    (void)state;
    char name[64];
    now.clamp = now.flush = false;
    now.toward = 0;
    for (unsigned type = 0; type < 4; type++) {
        const char *word = type % 2 ? "e4m3x2" : "e5m2x2", *relu = type / 2 ? ".relu" : "";
        now.operation = type % 2;
        now.relu = type / 2;
        snprintf(name, sizeof name, "cvt.rn.satfinite%s.%s.f32", relu, word);
        check_case(&(struct lanes_case){name, "hff", NULL, eighths_of_f32, 4000});
        snprintf(name, sizeof name, "cvt.rn.satfinite%s.%s.f16x2", relu, word);
        check_case(&(struct lanes_case){name, "hr", NULL, eighths_of_halves, 4000});
        snprintf(name, sizeof name, "cvt.rn%s.f16x2.%s", relu, word);
        check_case(&(struct lanes_case){name, "rh", NULL, halves_of_eighths, 4000});
    }
    now.relu = false;
}

static void test_conversions(void **state)
{
    (void)state;
    static const char *const directed[] = {"rn", "rz", "rm", "rp"}, *const whole[] = {"rni", "rzi", "rmi", "rpi"};
    char name[64];
    now.clamp = now.relu = now.flush = false;
    for (unsigned type = 0; type < 2; type++)
        for (now.toward = 0; now.toward < 4; now.toward++) {
            const char *word = type ? "bf16" : "f16";
            now.format = type ? &bf16 : &f16;
#define CHECK(text, classes, reference, ...) \
    snprintf(name, sizeof name, text, __VA_ARGS__); \
    check_case(&(struct lanes_case){name, classes, NULL, reference, 400})
            CHECK("cvt.%s.%s.f32", "hf", from_f32, directed[now.toward], word);
            CHECK("cvt.%s.%s.f64", "hg", from_f64, directed[now.toward], word);
            CHECK("cvt.%s.%s.u64", "hd", from_u64, directed[now.toward], word);
            CHECK("cvt.%s.%s.s32", "hr", from_s32, directed[now.toward], word);
            CHECK("cvt.%s.%s.%s", "hh", from_other, directed[now.toward], word, type ? "f16" : "bf16");
            CHECK("cvt.%s.s32.%s", "rh", to_s32, whole[now.toward], word);
            CHECK("cvt.%s.%s.%s", "hh", to_whole, whole[now.toward], word, word);
            if (now.toward == 0) {
                CHECK("cvt.f32.%s", "fh", to_f32, word);
                CHECK("cvt.rn.%sx2.f32", "rff", pair_from_f32, word);
                now.clamp = true;
                CHECK("cvt.rn.sat.%s.f32", "hf", from_f32, word);
                now.clamp = false;
            }
        }
}

/* .satfinite: the largest finite number in place of infinity; NaN stay. */
static void test_finite_conversions(void **state)
{
    (void)state;
    static const char *const modes[] = {"rn", "rz"}, *const relus[] = {"", ".relu"};
    char name[64];
    now.clamp = now.flush = false;
    now.finite = true;
    for (unsigned type = 0; type < 2; type++)
        for (unsigned i = 0; i < 4; i++) {
            const char *word = type ? "bf16" : "f16", *mode = modes[i % 2], *relu = relus[i / 2];
            now.format = type ? &bf16 : &f16;
            now.toward = i % 2;
            now.relu = i / 2;
            CHECK("cvt.%s%s.satfinite.%s.f32", "hf", from_f32, mode, relu, word);
            CHECK("cvt.%s%s.satfinite.%sx2.f32", "rff", pair_from_f32, mode, relu, word);
        }
    now.finite = now.relu = false;
}

/* From bf16 a rounding may be written, though nothing is rounded. */
static void test_redundant_rounding(void **state)
{
    (void)state;
    static const char *const modes[] = {"rn", "rz", "rm", "rp"};
    char name[64];
    now.clamp = now.relu = now.flush = false;
    now.format = &bf16;
    for (now.toward = 0; now.toward < 4; now.toward++) {
        CHECK("cvt.%s.f32.bf16", "fh", to_f32, modes[now.toward]);
        CHECK("cvt.%s.f64.bf16", "gh", to_f64, modes[now.toward]);
    }
}

static bool in_order(const struct inputs *in, unsigned shift)
{
    double a = as_double(now.format, (uint32_t)in->value[0] >> shift & 0xffff);
    double b = as_double(now.format, (uint32_t)in->value[1] >> shift & 0xffff);
    switch (now.operation) {
    case 0:
        return a < b;
    case 1:
        return a == b;
    case 2:
        return !(a < b);
    default:
        return a != a || b != b;
    }
}

static uint64_t setp(const struct inputs *in)
{
    return in_order(in, 0) | (uint64_t)!in_order(in, 0) << 1;
}

static uint64_t setp_and(const struct inputs *in)
{
    return in_order(in, 0) && in->predicate;
}

static uint64_t setp_pair(const struct inputs *in)
{
    return in_order(in, 0) | (uint64_t)in_order(in, 16) << 1;
}

static uint64_t set_half(const struct inputs *in)
{
    return in_order(in, 0) ? (uint64_t)now.format->bias << now.format->fraction_bits : 0;
}

static uint64_t set_pair(const struct inputs *in)
{
    uint64_t truth = (uint64_t)now.format->bias << now.format->fraction_bits;
    return (in_order(in, 0) ? truth : 0) | (in_order(in, 16) ? truth << 16 : 0);
}

static uint64_t set_words(const struct inputs *in)
{
    return (in_order(in, 0) ? 0xffffu : 0) | (in_order(in, 16) ? 0xffff0000u : 0);
}

static uint64_t set_word(const struct inputs *in)
{
    return in_order(in, 0) ? 0xffffffffu : 0;
}

static void test_comparisons(void **state)
{
    (void)state;
    static const char *const words[] = {"lt", "eq", "geu", "nan"};
    char name[64];
    for (unsigned type = 0; type < 2; type++)
        for (now.operation = 0; now.operation < 4; now.operation++) {
            const char *word = type ? "bf16" : "f16", *comparison = words[now.operation];
            now.format = type ? &bf16 : &f16;
            CHECK("setp.%s.%s", "Qhh", setp, comparison, word);
            CHECK("setp.%s.and.%s", "phhp", setp_and, comparison, word);
            CHECK("setp.%s.%sx2", "Qrr", setp_pair, comparison, word);
            CHECK("set.%s.%s.%s", "hhh", set_half, comparison, word, word);
            CHECK("set.%s.u32.%s", "rhh", set_word, comparison, word);
            CHECK("set.%s.%sx2.%sx2", "rrr", set_pair, comparison, word, word);
            CHECK("set.%s.u32.%sx2", "rrr", set_words, comparison, word);
        }
}

int main(void)
{
    fill(&f16);
    fill(&bf16);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),         cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_finite_conversions), cmocka_unit_test(test_redundant_rounding),
        cmocka_unit_test(test_comparisons),        cmocka_unit_test(test_8_bit_floats)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
