/* SPDX-License-Identifier: MIT */
/*
 * Conversions over lanes: every pair of types, every rounding, against long double (which holds every integer and
 * double) under fesetround.
 */
#include "isa/lanes_harness.h"

#include <fenv.h>
#include <math.h>

struct type {
    const char *word;
    char class; /* of a register that holds it */
    unsigned bits;
    bool is_signed, is_float;
};

static const struct type types[] = {{"u8", 'r', 8, 0, 0},   {"s8", 'r', 8, 1, 0},   {"u16", 'h', 16, 0, 0},
                                    {"s16", 'h', 16, 1, 0}, {"u32", 'r', 32, 0, 0}, {"s32", 'r', 32, 1, 0},
                                    {"u64", 'd', 64, 0, 0}, {"s64", 'd', 64, 1, 0}, {"f32", 'f', 32, 1, 1},
                                    {"f64", 'g', 64, 1, 1}};
enum { TYPE_COUNT = sizeof types / sizeof types[0] };

static const int host_rounding[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
static const char *const rounding_words[] = {".rn", ".rz", ".rm", ".rp"}, *const whole_words[] = {".rni", ".rzi",
                                                                                                  ".rmi", ".rpi"};

/* What the reference computes now; tests are single-threaded. */
static struct {
    const struct type *to, *from;
    unsigned rounding;
    bool whole, flush, saturate;
} current;

static uint64_t ones(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static long double source_value(uint64_t bits)
{
    const struct type *from = current.from;
    if (from->is_float) {
        long double value = from->bits == 32 ? (long double)f32_from(bits) : (long double)f64_from(bits);
        return current.flush && from->bits == 32 && fabsl(value) < 0x1p-126L ? copysignl(0, value) : value;
    }
    uint64_t low = bits & ones(from->bits);
    if (from->is_signed && low >> (from->bits - 1))
        return -(long double)(ones(from->bits) - low) - 1;
    return (long double)low;
}

static uint64_t to_integer(long double value)
{
    const struct type *to = current.to;
    long double top = to->is_signed ? ldexpl(1, (int)to->bits - 1) : ldexpl(1, (int)to->bits),
                bottom = to->is_signed ? -top : 0;
    uint64_t result;
    if (isnan(value))
        return current.from->bits == 64 || to->bits == 64 ? UINT64_C(1) << (to->bits - 1) : 0;
    if (value >= top)
        result = ones(to->bits - to->is_signed);
    else if (value <= bottom)
        result = to->is_signed ? 0 - (UINT64_C(1) << (to->bits - 1)) : 0;
    else
        result = value < 0 ? 0 - (uint64_t)-value : (uint64_t)value;
    return result;
}

/*
 * NaN of a float from a float, as the H100 has them: cvt.f32.f32 and cvt.f64.f64 alone move bits; between the two, and where f64 is
 * rounded, NaN become quiet and keep sign and what fits of their payload; f32 with .ftz, or rounded, is the one NaN of f32.
 */
static uint64_t nan_of(uint64_t bits)
{
    bool moves = !current.whole && !current.flush && current.to->bits == current.from->bits;
    if (current.saturate)
        return 0;
    if (moves)
        return bits;
    if (current.from->bits == 32)
        bits = current.flush || current.to->bits == 32 ? 0x7fffffff : bits;
    uint64_t sign = bits >> (current.from->bits - 1) << (current.to->bits - 1), payload = bits;
    if (current.from->bits == current.to->bits)
        return current.to->bits == 64 ? bits | UINT64_C(1) << 51 : bits;
    if (current.to->bits == 64)
        return sign | UINT64_C(0x7ff8) << 48 | (payload & 0x3fffff) << 29;
    return sign | 0x7fc00000 | (payload >> 29 & 0x3fffff);
}

static uint64_t converted(const struct inputs *in)
{
    const struct type *to = current.to;
    volatile long double value = source_value(in->value[0]);
    volatile float single = 0;
    volatile double twice = 0;
    fesetround(host_rounding[current.rounding]);
    if (current.whole)
        value = rintl(value);
    if (to->is_float && to->bits == 32)
        single = (float)value;
    else if (to->is_float)
        twice = (double)value;
    fesetround(FE_TONEAREST);
    if (!to->is_float) {
        uint64_t result;
        if (current.saturate || current.from->is_float) {
            result = to_integer(value);
        } else { /* truncation of the source, extended from its own type */
            result = value < 0 ? 0 - (uint64_t)-value : (uint64_t)value;
            result &= ones(to->bits);
        }
        if (current.from->is_float && isnan(value))
            result &= ones(to->bits);
        if (to->bits > 0 && to->bits < 32)
            result = to->is_signed && result >> (to->bits - 1) & 1 ? result | 0xffffffffu << to->bits
                                                                   : result & ones(to->bits);
        return result;
    }
    if (current.from->is_float && isnan(value))
        return nan_of(in->value[0]);
    if (to->bits == 64) {
        double x = twice;
        if (current.saturate)
            x = x >= 1 ? 1 : x > 0 ? x : 0;
        return f64_bits(x);
    }
    float x = single;
    if (current.flush && fabsf(x) < 0x1p-126f)
        x = copysignf(0, x);
    if (current.saturate)
        x = x >= 1 ? 1 : x > 0 ? x : 0;
    return f32_bits(x);
}

static void check(const char *rounding, bool flush, bool saturate)
{
    char name[64], classes[3] = {current.to->class, current.from->class, 0};
    snprintf(name, sizeof name, "cvt%s%s%s.%s.%s", rounding, flush ? ".ftz" : "", saturate ? ".sat" : "",
             current.to->word, current.from->word);
    current.flush = flush;
    current.saturate = saturate;
    check_case(&(struct lanes_case){name, classes, NULL, converted, current.from->is_float ? 120 : 40});
}

static void test_conversions(void **state)
{
    (void)state;
    for (unsigned to = 0; to < TYPE_COUNT; to++)
        for (unsigned from = 0; from < TYPE_COUNT; from++) {
            current.to = &types[to];
            current.from = &types[from];
            bool to_float = types[to].is_float, from_float = types[from].is_float,
                 single = types[to].bits == 32 || types[from].bits == 32;
            current.whole = false;
            current.rounding = 0;
            if (!to_float && !from_float) {
                check("", false, false);
                check("", false, true);
            }
            if (to_float && from_float && types[to].bits >= types[from].bits) {
                check("", false, false);
                check("", false, true);
                if (types[from].bits == 32) {
                    check("", true, false);
                    check("", true, true);
                }
            }
            for (current.rounding = 0; current.rounding < 4; current.rounding++) {
                current.whole = false;
                if (to_float && (!from_float || types[to].bits < types[from].bits)) {
                    check(rounding_words[current.rounding], false, false);
                    if (from_float) {
                        check(rounding_words[current.rounding], true, false);
                        check(rounding_words[current.rounding], true, true);
                    }
                }
                current.whole = true;
                if (from_float && (!to_float || to == from)) {
                    check(whole_words[current.rounding], false, false);
                    check(whole_words[current.rounding], false, true);
                    if (single && types[from].bits == 32)
                        check(whole_words[current.rounding], true, false);
                }
            }
        }
}

/* A narrow result in a wider register is extended as its type says. */
REFERENCE(extended, (uint32_t)(int32_t)(int8_t)a)

static void test_extension(void **state)
{
    (void)state;
    check_case(&(struct lanes_case){"cvt.s8.s32", "rr", NULL, extended, 20});
}

/* tf32 with .satfinite: digits are counted in units of the last place, the largest finite number stands in place of more. */
static enum { AWAY, EVEN, CUT } digits;
static bool above;

static uint64_t finite_tf32(const struct inputs *in)
{
    double x = (double)f32_from(in->value[0]), largest = (double)f32_from(0x7f7fe000), result = largest;
    if (isnan(x))
        return 0x7fffe000;
    if (above && x <= 0)
        return 0;
    if (isfinite(x) && x != 0) {
        int exponent = ilogb(x) < -126 ? -126 : ilogb(x);
        double count = ldexp(fabs(x), 10 - exponent);
        count = digits == AWAY ? round(count) : digits == EVEN ? nearbyint(count) : trunc(count);
        result = fmin(ldexp(count, exponent - 10), largest);
    } else if (x == 0) {
        result = 0;
    }
    return f32_bits((float)copysign(result, x));
}

static void test_finite_tf32(void **state)
{
    (void)state;
    static const char *const names[] = {"cvt.rna.satfinite.tf32.f32", "cvt.rn.satfinite.tf32.f32",
                                        "cvt.rz.satfinite.tf32.f32", "cvt.rn.relu.satfinite.tf32.f32",
                                        "cvt.rz.satfinite.relu.tf32.f32"};
    for (unsigned i = 0; i < 5; i++) {
        digits = i == 0 ? AWAY : i % 2 ? EVEN : CUT;
        above = i > 2;
        check_case(&(struct lanes_case){names[i], "rf", NULL, finite_tf32, 400});
    }
}

/* Without the rounding that PTX asks for, or with the wrong one, there is no such conversion. */
static void test_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"cvt.f32.f64 %f0, %g0;", "cvt.rni.f32.f64 %f0, %g0;", "cvt.s32.f32 %r0, %f0;",
                                        "cvt.f32.s32 %f0, %r0;", "cvt.rn.s32.f32 %r0, %f0;"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 ".version 8.1\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %%r<8>;\n.reg .f32 "
                 "%%f<8>;\n"
                 ".reg .f64 %%g<8>;\n%s\nret;\n}\n",
                 texts[i]);
        struct corun_diagnostics *list = corun_diagnostics_create();
        struct ptx_module *module = NULL;
        if (ptx_parse("test", text, strlen(text), list, &module) == CORUN_OK) {
            struct operation op = {.variant = 0};
            assert_null(lanes_select(&module->functions[0]->instructions[0], &op));
            ptx_module_destroy(module);
        }
        corun_diagnostics_destroy(list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_conversions), cmocka_unit_test(test_extension),
                                       cmocka_unit_test(test_finite_tf32), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
