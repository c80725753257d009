/* SPDX-License-Identifier: MIT */
/*
 * Floating point operations over lanes against the host's scalar arithmetic under fesetround, and the .approx
 * operations against long double with the error limits that the PTX ISA documents.
 */
#include "isa/lanes_harness.h"

#include <fenv.h>
#include <math.h>

static const int host_rounding[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
static const char *const rounding_words[] = {".rn", ".rz", ".rm", ".rp"};

enum arithmetic { ADD, SUB, MUL, FMA, DIV, RCP, SQRT, ARITHMETIC_COUNT };
static const char *const arithmetic_words[] = {"add", "sub", "mul", "fma", "div", "rcp", "sqrt"};

/* What the reference computes now; tests are single-threaded. */
static struct {
    enum arithmetic operation;
    unsigned rounding;
    bool flush, saturate;
} current;

static float flushed(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x;
}

/* Whether 24 bits of the exact result are below the smallest normal number, in the rounding that is set. */
static bool is_tiny(float a, float b, float c)
{
    volatile long double x = a, y = b, z = c, exact = 1;
    if (current.operation == MUL || current.operation == FMA)
        exact = x * y;
    if (current.operation == FMA)
        exact = exact + z;
    else if (current.operation == DIV || current.operation == RCP)
        exact = (current.operation == DIV ? x : 1) / (current.operation == DIV ? y : x);
    volatile float kept = (float)(exact * 0x1p30L);
    return fabsf(kept) < 0x1p-96f;
}

/* volatile keeps the operation between the two calls. */
static uint64_t arithmetic_f32(const struct inputs *in)
{
    volatile float a = f32_from(in->value[0]), b = f32_from(in->value[1]), c = f32_from(in->value[2]), result = 0;
    if (current.flush) {
        a = flushed(a);
        b = flushed(b);
        c = flushed(c);
    }
    fesetround(host_rounding[current.rounding]);
    switch (current.operation) {
    case ADD:
        result = a + b;
        break;
    case SUB:
        result = a - b;
        break;
    case MUL:
        result = a * b;
        break;
    case FMA:
        result = fmaf(a, b, c);
        break;
    case DIV:
        result = a / b;
        break;
    case RCP:
        result = 1.0f / a;
        break;
    default:
        result = sqrtf(a);
        break;
    }
    bool tiny = is_tiny(a, b, c);
    fesetround(FE_TONEAREST);
    float x = result;
    if (current.flush)
        x = tiny ? copysignf(0.0f, x) : flushed(x);
    if (current.saturate)
        x = x >= 1 ? 1 : x > 0 ? x : 0;
    return isnan(x) ? 0x7fffffff : f32_bits(x);
}

#define QUIET (UINT64_C(1) << 51)

/* Which NaN the H100 gives: for each operation the order in which it looks at its operands. */
static uint64_t nan_f64(const struct inputs *in)
{
    static const char orders[ARITHMETIC_COUNT][4] = {"10", "10", "10", "120", "01", "0", "0"};
    for (const char *order = orders[current.operation]; *order; order++)
        if (isnan(f64_from(in->value[*order - '0'])))
            return in->value[*order - '0'] | QUIET;
    return UINT64_C(0xfff8000000000000);
}

static uint64_t arithmetic_f64(const struct inputs *in)
{
    volatile double a = f64_from(in->value[0]), b = f64_from(in->value[1]), c = f64_from(in->value[2]), result = 0;
    fesetround(host_rounding[current.rounding]);
    switch (current.operation) {
    case ADD:
        result = a + b;
        break;
    case SUB:
        result = a - b;
        break;
    case MUL:
        result = a * b;
        break;
    case FMA:
        result = fma(a, b, c);
        break;
    case DIV:
        result = a / b;
        break;
    case RCP:
        result = 1.0 / a;
        break;
    default:
        result = sqrt(a);
        break;
    }
    fesetround(FE_TONEAREST);
    double x = result;
    return isnan(x) ? nan_f64(in) : f64_bits(x);
}

static void test_f32(void **state)
{
    (void)state;
    for (unsigned operation = 0; operation < ARITHMETIC_COUNT; operation++)
        for (unsigned rounding = 0; rounding < 4; rounding++)
            for (unsigned flags = 0; flags < (operation <= FMA ? 4u : 2u); flags++) {
                char name[64];
                snprintf(name, sizeof name, "%s%s%s%s.f32", arithmetic_words[operation], rounding_words[rounding],
                         flags & 1 ? ".ftz" : "", flags & 2 ? ".sat" : "");
                current.operation = operation;
                current.rounding = rounding;
                current.flush = flags & 1;
                current.saturate = flags & 2;
                const char *classes = operation == FMA ? "ffff" : operation >= RCP ? "ff" : "fff";
                check_case(&(struct lanes_case){name, classes, NULL, arithmetic_f32, 250});
            }
}

static void test_f64(void **state)
{
    (void)state;
    for (unsigned operation = 0; operation < ARITHMETIC_COUNT; operation++)
        for (unsigned rounding = 0; rounding < 4; rounding++) {
            char name[64];
            snprintf(name, sizeof name, "%s%s.f64", arithmetic_words[operation], rounding_words[rounding]);
            current.operation = operation;
            current.rounding = rounding;
            const char *classes = operation == FMA ? "gggg" : operation >= RCP ? "gg" : "ggg";
            check_case(&(struct lanes_case){name, classes, NULL, arithmetic_f64, 1000});
        }
}

/* Sums that nearly cancel and products at the border of the subnormals: random operands hardly ever are. */
static uint64_t fma_operands[3][32];

static void test_f64_fma_cancellation(void **state)
{
    (void)state;
    uint64_t random = 77;
    for (unsigned rounding = 0; rounding < 4; rounding++) {
        char text[64];
        snprintf(text, sizeof text, "fma%s.f64 %%g0, %%g1, %%g2, %%g3;", rounding_words[rounding]);
        const struct ptx_instruction *instruction;
        struct ptx_module *module = parse_instruction(text, &instruction);
        current.operation = FMA;
        current.rounding = rounding;
        for (unsigned round = 0; round < 400; round++) {
            struct machine machine = {.predicates = {0}};
            struct lanes lanes = {machine.registers, machine.predicates, machine.constants};
            struct operation op = {.source = {2, 4, 6}};
            for (unsigned lane = 0; lane < 32; lane++) {
                int scale = (int)(next_random(&random) % 2000) - 1000;
                double a = ldexp(1.0 + ldexp((double)(next_random(&random) >> 12), -52), scale / 2);
                double b = ldexp(1.0 + ldexp((double)(next_random(&random) >> 12), -52),
                                 scale - scale / 2 - (round & 1 ? 70 : 0));
                double c = -a * b;
                int64_t nudge = (int64_t)(next_random(&random) % 5) - 2;
                fma_operands[0][lane] = f64_bits(a);
                fma_operands[1][lane] = f64_bits(b);
                fma_operands[2][lane] = f64_bits(c) + (uint64_t)nudge;
                for (unsigned s = 0; s < 3; s++)
                    put_lane(machine.registers, 2 + 2 * s, lane, 8, fma_operands[s][lane]);
            }
            for (int level = 0; level <= (int)lanes_level_best(); level++) {
                lanes_select_at((enum lanes_level)level, instruction, &op)(&op, &lanes, 0xffffffffu);
                for (unsigned lane = 0; lane < 32; lane++) {
                    struct inputs in = {.value = {fma_operands[0][lane], fma_operands[1][lane], fma_operands[2][lane]}};
                    assert_true(get_lane(machine.registers, 0, lane, 8) == arithmetic_f64(&in));
                }
            }
        }
        ptx_module_destroy(module);
    }
}

static uint64_t extreme_f32(uint64_t a, uint64_t b, bool flush, bool maximum, bool propagate)
{
    float x = f32_from(a), y = f32_from(b);
    if (flush) {
        x = flushed(x);
        y = flushed(y);
    }
    if (isnan(x) && isnan(y))
        return 0x7fffffff;
    if (isnan(x) || isnan(y))
        return propagate ? 0x7fffffff : f32_bits(isnan(x) ? y : x);
    bool first = x < y || (x == y && signbit(x)); /* the smaller */
    return f32_bits(first != maximum ? x : y);
}

/* .xorsign.abs */
static uint64_t extreme_magnitude_f32(uint64_t a, uint64_t b, bool flush, bool maximum, bool propagate)
{
    uint64_t result = extreme_f32(a & 0x7fffffff, b & 0x7fffffff, flush, maximum, propagate);
    return result == 0x7fffffff ? result : result | ((a ^ b) & 0x80000000);
}

static uint64_t extreme_f64(uint64_t a, uint64_t b, bool maximum)
{
    double x = f64_from(a), y = f64_from(b);
    if (isnan(x) && isnan(y))
        return b | QUIET;
    if (isnan(x) || isnan(y))
        return f64_bits(isnan(x) ? y : x);
    bool first = x < y || (x == y && signbit(x));
    return f64_bits(first != maximum ? x : y);
}

static uint64_t flush_bits(uint64_t a)
{
    return f32_bits(flushed(f32_from(a)));
}

#define SIGN32 UINT64_C(0x80000000)
#define SIGN64 UINT64_C(0x8000000000000000)
#define CASES(X) \
    X(min, "min.f32", "fff", extreme_f32(a, b, 0, 0, 0)) \
    X(max, "max.f32", "fff", extreme_f32(a, b, 0, 1, 0)) \
    X(minz, "min.ftz.f32", "fff", extreme_f32(a, b, 1, 0, 0)) \
    X(maxz, "max.ftz.f32", "fff", extreme_f32(a, b, 1, 1, 0)) \
    X(minn, "min.NaN.f32", "fff", extreme_f32(a, b, 0, 0, 1)) \
    X(maxn, "max.NaN.f32", "fff", extreme_f32(a, b, 0, 1, 1)) \
    X(minnz, "min.ftz.NaN.f32", "fff", extreme_f32(a, b, 1, 0, 1)) \
    X(minx, "min.xorsign.abs.f32", "fff", extreme_magnitude_f32(a, b, 0, 0, 0)) \
    X(maxx, "max.xorsign.abs.f32", "fff", extreme_magnitude_f32(a, b, 0, 1, 0)) \
    X(minxz, "min.ftz.xorsign.abs.f32", "fff", extreme_magnitude_f32(a, b, 1, 0, 0)) \
    X(maxxn, "max.NaN.xorsign.abs.f32", "fff", extreme_magnitude_f32(a, b, 0, 1, 1)) \
    X(minxnz, "min.ftz.NaN.xorsign.abs.f32", "fff", extreme_magnitude_f32(a, b, 1, 0, 1)) \
    X(min64, "min.f64", "ggg", extreme_f64(a, b, 0)) \
    X(max64, "max.f64", "ggg", extreme_f64(a, b, 1)) \
    X(abs, "abs.f32", "ff", isnan(f32_from(a)) ? 0x7fffffff : a & ~SIGN32) \
    X(absz, "abs.ftz.f32", "ff", isnan(f32_from(a)) ? 0x7fffffff : flush_bits(a) & ~SIGN32) \
    X(abs64, "abs.f64", "gg", isnan(f64_from(a)) ? a | QUIET : a & ~SIGN64) \
    X(neg, "neg.f32", "ff", isnan(f32_from(a)) ? 0x7fffffff : a ^ SIGN32) \
    X(negz, "neg.ftz.f32", "ff", isnan(f32_from(a)) ? 0x7fffffff : flush_bits(a) ^ SIGN32) \
    X(neg64, "neg.f64", "gg", isnan(f64_from(a)) ? a | QUIET : a ^ SIGN64) \
    X(copysign, "copysign.f32", "fff", (a & SIGN32) | (b & ~SIGN32)) \
    X(copysign64, "copysign.f64", "ggg", (a & SIGN64) | (b & ~SIGN64)) \
    X(mov, "mov.f32", "ff", a) \
    X(mov64, "mov.f64", "gg", a)
#define AS_REFERENCE(id, name, classes, expression) REFERENCE(id##_reference, expression)
CASES(AS_REFERENCE)

static void test_bits(void **state)
{
    (void)state;
#define AS_CASE(id, name, classes, expression) {name, classes, NULL, id##_reference, 0},
    static const struct lanes_case cases[] = {CASES(AS_CASE)};
    check_cases(cases, sizeof cases / sizeof cases[0]);
}

/* Approximations: the exact value, and how the manual measures the error. */
enum measure { ULP, RELATIVE, ABSOLUTE, LOGARITHM };

static long double exact_reciprocal(long double x)
{
    return 1 / x;
}

static long double exact_rsqrt(long double x)
{
    return 1 / sqrtl(x);
}

static double ulp_of(long double exact)
{
    int exponent;
    frexpl(exact, &exponent);
    return ldexp(1.0, (exponent < -125 ? -125 : exponent) - 24);
}

static double error_of(float found, long double exact, long double x, enum measure measure)
{
    double absolute = (double)fabsl(found - exact);
    switch (measure) {
    case ULP:
        return absolute / ulp_of(exact);
    case RELATIVE:
        return absolute / (double)fabsl(exact);
    case LOGARITHM: /* absolute between 0.5 and 2 */
        return x > 0.5L && x < 2 ? absolute : absolute / (double)fabsl(exact);
    default:
        return absolute;
    }
}

static const struct approximation {
    const char *name;
    long double (*exact)(long double);
    double low, high; /* random arguments; 0, 0: all positive finite floats */
    enum measure measure;
    double limit;
    uint64_t hash; /* of the results: the same bits from every compiler and on every processor */
} approximations[] = {
    {"rcp.approx.f32", exact_reciprocal, 0, 0, ULP, 1.0, 0xd00f59373e8c8406},
    {"sqrt.approx.f32", sqrtl, 0, 0, RELATIVE, 0x1p-23, 0x438bec1ab09e2d7},
    {"rsqrt.approx.f32", exact_rsqrt, 0, 0, RELATIVE, 1.2789769e-7, 0x7db717b5342b2ce1},         /* 2^-22.9 */
    {"sin.approx.f32", sinl, -6.2831853, 6.2831853, ABSOLUTE, 6.7434957e-7, 0x5ecf8fdac6bf45cd}, /* 2^-20.5 */
    {"sin.approx.f32", sinl, -314.159265, 314.159265, ABSOLUTE, 3.7565e-5, 0xeacd6d95cfd36f74},  /* 2^-14.7 */
    {"cos.approx.f32", cosl, -6.2831853, 6.2831853, ABSOLUTE, 6.7434957e-7, 0x91487c0b9edb4bbc},
    {"cos.approx.f32", cosl, -314.159265, 314.159265, ABSOLUTE, 3.7565e-5, 0x46c06ded3f53eda},
    {"ex2.approx.f32", exp2l, -151, 128, ULP, 2.0, 0xaf69dea8159a5956},
    {"ex2.approx.f32", exp2l, -1, 1, ULP, 2.0, 0x16633a21212dc8e0},
    {"lg2.approx.f32", log2l, 0, 0, LOGARITHM, 0x1p-22, 0x56d1f0de6eaebbe6},
    {"lg2.approx.f32", log2l, 0.4, 2.5, LOGARITHM, 0x1p-22, 0x69fd9a64717fc505},
    {"tanh.approx.f32", tanhl, -12, 12, RELATIVE, 0x1p-11, 0xfd36f480ba945ba4},
    {"tanh.approx.f32", tanhl, -0.001, 0.001, RELATIVE, 0x1p-11, 0x2280813c9f94906e},
};

static float argument(const struct approximation *approximation, uint64_t *random)
{
    uint64_t bits = next_random(random);
    if (approximation->low == approximation->high)
        return f32_from(1 + bits % 0x7f7fffff);
    double share = (double)(bits >> 11) * 0x1p-53;
    return (float)(approximation->low + (approximation->high - approximation->low) * share);
}

static void test_approximations(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (size_t i = 0; i < sizeof approximations / sizeof approximations[0]; i++) {
        const struct approximation *approximation = &approximations[i];
        char text[64];
        snprintf(text, sizeof text, "%s %%f0, %%f1;", approximation->name);
        const struct ptx_instruction *instruction;
        struct ptx_module *module = parse_instruction(text, &instruction);
        double worst = 0;
        uint64_t hash = 0;
        for (unsigned round = 0; round < 2000; round++) {
            struct machine machine = {.predicates = {0}};
            struct lanes lanes = {machine.registers, machine.predicates, machine.constants};
            struct operation op = {.source = {1}};
            float x[32];
            for (unsigned lane = 0; lane < 32; lane++) {
                x[lane] = argument(approximation, &random);
                put_lane(machine.registers, 1, lane, 4, f32_bits(x[lane]));
            }
            for (int level = (int)lanes_level_best(); level >= 0; level--) {
                op.destination = (uint16_t)(2 + level);
                lanes_select_at((enum lanes_level)level, instruction, &op)(&op, &lanes, 0xffffffffu);
            }
            if (lanes_level_best() != LANES_BASELINE)
                assert_memory_equal(machine.registers + 2 * 128, machine.registers + 3 * 128, 128);
            for (unsigned lane = 0; lane < 32; lane++) {
                hash = (hash ^ get_lane(machine.registers, 2, lane, 4)) * UINT64_C(0x9e3779b97f4a7c15);
                long double exact = approximation->exact(x[lane]);
                if (exact == 0 || fabsl(exact) > 0x1.fffffep127L)
                    continue;
                double error =
                    error_of(f32_from(get_lane(machine.registers, 2, lane, 4)), exact, x[lane], approximation->measure);
                worst = error > worst ? error : worst;
            }
        }
        print_message("%-17s [%g, %g]: %.3g of the %.3g allowed\n", approximation->name, approximation->low,
                      approximation->high, worst, approximation->limit);
        assert_true(worst <= approximation->limit);
        if (hash != approximation->hash)
            fail_msg("%s: other bits, hash %" PRIx64, approximation->name, hash);
        ptx_module_destroy(module);
    }
}

/* Corner cases that the manual lists. */
static void test_approximation_corners(void **state)
{
    (void)state;
    static const uint32_t inputs[] = {0xff800000, 0x80000000, 0x00000000, 0x7f800000, 0x7fc00001, 0xbf800000};
    static const struct {
        const char *name;
        uint32_t results[6];
    } corners[] = {
        {"rcp.approx.f32", {0x80000000, 0xff800000, 0x7f800000, 0x00000000, 0x7fffffff, 0xbf800000}},
        {"sqrt.approx.f32", {0x7fffffff, 0x80000000, 0x00000000, 0x7f800000, 0x7fffffff, 0x7fffffff}},
        {"rsqrt.approx.f32", {0x7fffffff, 0xff800000, 0x7f800000, 0x00000000, 0x7fffffff, 0x7fffffff}},
        {"sin.approx.f32", {0x7fffffff, 0x80000000, 0x00000000, 0x7fffffff, 0x7fffffff, 0xbf576aa4}},
        {"cos.approx.f32", {0x7fffffff, 0x3f800000, 0x3f800000, 0x7fffffff, 0x7fffffff, 0x3f0a5140}},
        {"ex2.approx.f32", {0x00000000, 0x3f800000, 0x3f800000, 0x7f800000, 0x7fffffff, 0x3f000000}},
        {"lg2.approx.f32", {0x7fffffff, 0xff800000, 0xff800000, 0x7f800000, 0x7fffffff, 0x7fffffff}},
        {"tanh.approx.f32", {0xbf800000, 0x80000000, 0x00000000, 0x3f800000, 0x7fffffff, 0xbf42f7d6}},
        {"rsqrt.approx.ftz.f32", {0x7fffffff, 0xff800000, 0x7f800000, 0x00000000, 0x7fffffff, 0x7fffffff}},
        {"lg2.approx.ftz.f32", {0x7fffffff, 0xff800000, 0xff800000, 0x7f800000, 0x7fffffff, 0x7fffffff}},
    };
    for (size_t i = 0; i < sizeof corners / sizeof corners[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s %%f0, %%f1;", corners[i].name);
        const struct ptx_instruction *instruction;
        struct ptx_module *module = parse_instruction(text, &instruction);
        for (int level = 0; level <= (int)lanes_level_best(); level++) {
            struct machine machine = {.predicates = {0}};
            struct lanes lanes = {machine.registers, machine.predicates, machine.constants};
            struct operation op = {.source = {1}};
            for (unsigned lane = 0; lane < 6; lane++)
                put_lane(machine.registers, 1, lane, 4, inputs[lane]);
            lanes_select_at((enum lanes_level)level, instruction, &op)(&op, &lanes, 0x3f);
            for (unsigned lane = 0; lane < 6; lane++)
                if (get_lane(machine.registers, 0, lane, 4) != corners[i].results[lane])
                    fail_msg("%s of %08x gives %08" PRIx64, corners[i].name, inputs[lane],
                             get_lane(machine.registers, 0, lane, 4));
        }
        ptx_module_destroy(module);
    }
}

static uint64_t divide_approximately(const struct inputs *in)
{
    float a = f32_from(in->value[0]), b = f32_from(in->value[1]);
    if (current.flush) {
        a = flushed(a);
        b = flushed(b);
    }
    volatile float quotient = a / b;
    float x = quotient;
    if (current.operation == ADD && fabsf(b) > 0x1p126f && isfinite(b)) /* .approx, not .full */
        x = isinf(a) || isnan(a) ? NAN : copysignf(0, signbit(a) != signbit(b) ? -1.0f : 1.0f);
    if (current.flush)
        x = flushed(x);
    return isnan(x) ? 0x7fffffff : f32_bits(x);
}

/* Ours are rounded right wherever the manual allows 2 ulp. */
static void test_divisions(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool flush, full;
    } divisions[] = {
        {"div.approx.f32", 0, 0}, {"div.approx.ftz.f32", 1, 0}, {"div.full.f32", 0, 1}, {"div.full.ftz.f32", 1, 1}};
    for (size_t i = 0; i < 4; i++) {
        current.flush = divisions[i].flush;
        current.operation = divisions[i].full ? DIV : ADD;
        check_case(&(struct lanes_case){divisions[i].name, "fff", NULL, divide_approximately, 300});
    }
}

/* The fast forms of f64: within 2^-19 of the exact value, the lower word 0. */
static void test_upper_words(void **state)
{
    (void)state;
    static const char *const names[] = {"rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64", "rsqrt.approx.f64"};
    uint64_t random = 13;
    for (unsigned i = 0; i < 3; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s %%g0, %%g1;", names[i]);
        const struct ptx_instruction *instruction;
        struct ptx_module *module = parse_instruction(text, &instruction);
        for (unsigned round = 0; round < 300; round++) {
            struct machine machine = {.predicates = {0}};
            struct lanes lanes = {machine.registers, machine.predicates, machine.constants};
            struct operation op = {.source = {2}};
            for (unsigned lane = 0; lane < 32; lane++)
                put_lane(machine.registers, 2, lane, 8, draw('g', &random));
            for (int level = 0; level <= (int)lanes_level_best(); level++) {
                lanes_select_at((enum lanes_level)level, instruction, &op)(&op, &lanes, 0xffffffffu);
                for (unsigned lane = 0; lane < 32; lane++) {
                    uint64_t input = get_lane(machine.registers, 2, lane, 8);
                    double x = f64_from(input);
                    if (i < 2 && isnan(x)) /* a payload in the lower word is not seen: it is an infinity */
                        x = f64_from(input >> 32 << 32);
                    uint64_t bits = get_lane(machine.registers, 0, lane, 8);
                    double found = f64_from(bits);
                    if (i < 2 && fabs(x) < 0x1p-1022)
                        x = copysign(0.0, x);
                    long double exact = i == 0 ? 1 / (long double)x : 1 / sqrtl(x);
                    if (isnan(x) || (i > 0 && x < 0)) {
                        uint64_t nan = isnan(x) ? input | QUIET : UINT64_C(0xfff8000000000000);
                        assert_true(bits == (i < 2 ? UINT64_C(0x7fffffff00000000) : nan));
                        continue;
                    }
                    if (i < 2)
                        assert_int_equal(bits & 0xffffffff, 0);
                    if (isinf(exact) || exact == 0)
                        assert_true(found == (double)exact);
                    else if (fabsl(exact) < 0x1p-1022L)
                        assert_true(found == 0 || i == 2);
                    else
                        assert_true(fabsl(found - exact) <= fabsl(exact) * (i < 2 ? 0x1p-19L : 0x1p-51L));
                }
            }
        }
        ptx_module_destroy(module);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_f32),
                                       cmocka_unit_test(test_f64),
                                       cmocka_unit_test(test_f64_fma_cancellation),
                                       cmocka_unit_test(test_bits),
                                       cmocka_unit_test(test_approximations),
                                       cmocka_unit_test(test_approximation_corners),
                                       cmocka_unit_test(test_divisions),
                                       cmocka_unit_test(test_upper_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
