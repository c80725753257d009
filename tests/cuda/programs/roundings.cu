/* SPDX-License-Identifier: MIT */
/* Conversions and arithmetic with a rounding in their name, each against the host's in that rounding: at edges, between them, and at drawn values. */
#include "check.h"

#include <cfenv>
#include <climits>
#include <cmath>
#include <cstring>

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

struct input {
    float a, b, c;
    double x, y, z;
    u32 i;
    u64 l;
};
enum { ROOM = 64 };

/* ---- what is wanted; the host's rounding is set around each ---- */

template <typename T> static u64 bits(T value)
{
    u64 result = 0;
    memcpy(&result, &value, sizeof value);
    return result;
}
/* What is no number is one and the same here. */
template <typename T> static u64 number(T value)
{
    return value == value ? bits(value) : ~0ull;
}
/* To an integer: what is too large is the largest; what is no number has a value of its own. */
template <typename T, typename F> static u64 integer(F value)
{
    const int width = 8 * sizeof(T);
    const bool is_signed = (T)-1 < (T)0, short_both = sizeof(F) == 4 && sizeof(T) == 4;
    const long double most = ldexpl(1, is_signed ? width - 1 : width), least = is_signed ? -most : 0;
    volatile long double rounded = rintl(value);
    if (value != value)
        return short_both ? 0 : (u64)1 << (width - 1);
    if (rounded >= most)
        return is_signed ? ((u64)1 << (width - 1)) - 1 : width == 64 ? ~0ull : ((u64)1 << width) - 1;
    if (rounded <= least)
        return is_signed ? (u64)1 << (width - 1) : 0;
    return bits((T)rounded);
}
static float narrow(long double value)
{
    volatile long double exact = value;
    volatile float result = (float)exact;
    return result;
}
static double narrow_to_double(long double value)
{
    volatile long double exact = value;
    volatile double result = (double)exact;
    return result;
}
template <typename T> static T sum(T p, T q)
{
    volatile T x = p, y = q, result = x + y;
    return result;
}
template <typename T> static T product(T p, T q)
{
    volatile T x = p, y = q, result = x * y;
    return result;
}
template <typename T> static T quotient(T p, T q)
{
    volatile T x = p, y = q, result = x / y;
    return result;
}
static float root(float p)
{
    volatile float x = p, result = sqrtf(x);
    return result;
}
static double root(double p)
{
    volatile double x = p, result = sqrt(x);
    return result;
}
static float fused(float p, float q, float r)
{
    volatile float x = p, y = q, z = r, result = fmaf(x, y, z);
    return result;
}
static double fused(double p, double q, double r)
{
    volatile double x = p, y = q, z = r, result = fma(x, y, z);
    return result;
}

/* F(what the device computes as bits, what is wanted), with a rounding's two letters. */
#define CONVERSIONS(F, r) \
    F(__float2int_##r(a), (u32)integer<int>(a)) \
    F(__float2uint_##r(a), (u32)integer<u32>(a)) \
    F(__float2ll_##r(a), integer<s64>(a)) \
    F(__float2ull_##r(a), integer<u64>(a)) \
    F(__double2int_##r(x), (u32)integer<int>(x)) \
    F(__double2uint_##r(x), (u32)integer<u32>(x)) \
    F(__double2ll_##r(x), integer<s64>(x)) \
    F(__double2ull_##r(x), integer<u64>(x)) \
    F(__double2float_##r(x), number(narrow(x))) \
    F(__int2float_##r((int)i), number(narrow((int)i))) \
    F(__uint2float_##r(i), number(narrow(i))) \
    F(__ll2float_##r((s64)l), number(narrow((s64)l))) \
    F(__ull2float_##r(l), number(narrow(l))) \
    F(__ll2double_##r((s64)l), number(narrow_to_double((s64)l))) \
    F(__ull2double_##r(l), number(narrow_to_double(l)))
#define ARITHMETIC(F, r) \
    F(__fadd_##r(a, b), number(sum(a, b))) \
    F(__fsub_##r(a, b), number(sum(a, -b))) \
    F(__fmul_##r(a, b), number(product(a, b))) \
    F(__fdiv_##r(a, b), number(quotient(a, b))) \
    F(__fmaf_##r(a, b, c), number(fused(a, b, c))) \
    F(__frcp_##r(a), number(quotient(1.0f, a))) \
    F(__fsqrt_##r(a), number(root(a))) \
    F(__dadd_##r(x, y), number(sum(x, y))) \
    F(__dsub_##r(x, y), number(sum(x, -y))) \
    F(__dmul_##r(x, y), number(product(x, y))) \
    F(__ddiv_##r(x, y), number(quotient(x, y))) \
    F(__fma_##r(x, y, z), number(fused(x, y, z))) \
    F(__drcp_##r(x), number(quotient(1.0, x))) \
    F(__dsqrt_##r(x), number(root(x)))
#define ROUNDED_ONCE(F, r) \
    CONVERSIONS(F, r) \
    ARITHMETIC(F, r)
#define ONLY_NEAREST(F, r) \
    ROUNDED_ONCE(F, r) \
    F(__int2double_rn((int)i), number((double)(int)i)) \
    F(__uint2double_rn(i), number((double)i)) \
    F(__frsqrt_rn(a), number(narrow_to_double(1.0L / sqrtl(a)) == 0 ? 0.0f : (float)(1.0L / sqrtl(a)))) \
    F(__float_as_uint(a), number_bits(a)) \
    F(__float_as_int(a), number_bits(a)) \
    F(__uint_as_float(__float_as_uint(a)), number(a)) \
    F(__double_as_longlong(x), bits(x)) \
    F(__longlong_as_double((s64)l), number(of_bits(l))) \
    F(__double2hiint(x), (u32)(bits(x) >> 32)) \
    F(__double2loint(x), (u32)bits(x)) \
    F(__hiloint2double((int)i, (int)l), number(of_bits((u64)i << 32 | (u32)l))) \
    F(__saturatef(a), number(a > 0 ? a < 1 ? a : 1.0f : 0.0f))
static u64 number_bits(float value)
{
    return bits(value);
}
static double of_bits(u64 value)
{
    double result;
    memcpy(&result, &value, sizeof result);
    return result;
}

/* ---- both sides ---- */

__device__ u64 seen(int value)
{
    return (u32)value;
}
__device__ u64 seen(u32 value)
{
    return value;
}
__device__ u64 seen(s64 value)
{
    return (u64)value;
}
__device__ u64 seen(u64 value)
{
    return value;
}
__device__ u64 seen(float value)
{
    return value == value ? (u64)__float_as_uint(value) : ~0ull;
}
__device__ u64 seen(double value)
{
    return value == value ? (u64)__double_as_longlong(value) : ~0ull;
}

#define ON_DEVICE(device, wanted) to[count++] = seen(device);
#define ON_HOST(device, wanted) \
    { \
        u64 want = (wanted); \
        if (from[count++] != want) { \
            fprintf(stderr, "%s of %a %a %a %a %a %a %x %llx is %llx, not %llx\n", #device, a, b, c, x, y, z, i, l, from[count - 1], want); \
            exit(1); \
        } \
    }
#define TAKE(k) \
    float a = inputs[k].a, b = inputs[k].b, c = inputs[k].c; \
    double x = inputs[k].x, y = inputs[k].y, z = inputs[k].z; \
    u32 i = inputs[k].i; \
    u64 l = inputs[k].l;
#define ROUNDING(r, list, mode) \
    __global__ void run_##r(const input *inputs, int inputs_count, u64 *results) \
    { \
        int k = (int)(blockIdx.x * blockDim.x + threadIdx.x), count = 0; \
        if (k >= inputs_count) \
            return; \
        TAKE(k) \
        u64 *to = results + k * ROOM; \
        list(ON_DEVICE, r) \
    } \
    static void check_##r(const input *inputs, int inputs_count, u64 *results) \
    { \
        run_##r<<<(inputs_count + 63) / 64, 64>>>(inputs, inputs_count, results); \
        CHECK(cudaDeviceSynchronize()); \
        fesetround(mode); \
        for (int k = 0; k < inputs_count; k++) { \
            TAKE(k) \
            const u64 *from = results + k * ROOM; \
            int count = 0; \
            list(ON_HOST, r) \
            if (count > ROOM) \
                exit(1); \
        } \
        fesetround(FE_TONEAREST); \
    }
ROUNDING(rn, ONLY_NEAREST, FE_TONEAREST)
ROUNDING(rz, ROUNDED_ONCE, FE_TOWARDZERO)
ROUNDING(ru, ROUNDED_ONCE, FE_UPWARD)
ROUNDING(rd, ROUNDED_ONCE, FE_DOWNWARD)

/* ---- approximations, which are near ---- */

__global__ void approximate(const float *from, float *to)
{
    float x = from[threadIdx.x], *at = to + 16 * threadIdx.x, sine, cosine;
    __sincosf(x, &sine, &cosine);
    at[0] = __log2f(x);
    at[1] = __log10f(x);
    at[2] = __exp10f(x);
    at[3] = __powf(x, 1.5f);
    at[4] = __tanf(x);
    at[5] = sine;
    at[6] = cosine;
    at[7] = __fdividef(x, 3.0f);
    at[8] = fdividef(x, 3.0f);
    at[9] = __expf(x);
    at[10] = __logf(x);
}

static void check_approximations()
{
    float *from, *to;
    CHECK(cudaMallocManaged(&from, 64 * sizeof *from));
    CHECK(cudaMallocManaged(&to, 64 * 16 * sizeof *to));
    for (int i = 0; i < 64; i++)
        from[i] = 0.02f + 0.021f * (float)i;
    approximate<<<1, 64>>>(from, to);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) {
        double x = from[i];
        const double wanted[] = {log2(x), log10(x), pow(10, x), pow(x, 1.5), tan(x), sin(x), cos(x), x / 3, x / 3, exp(x), log(x)};
        for (int k = 0; k < 11; k++)
            EXPECT(fabs(to[16 * i + k] - wanted[k]) <= 2e-6 * (1 + fabs(wanted[k])));
    }
}

int main()
{
    static const double edges[] = {0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, 0.1, 1e-40, -1e-40, 0x1p-149, 0x1.fffffep-127, 1e-310, 0x1p-1074, 16777217.0, 2147483647.0, 2147483647.5,
                                   -2147483648.5, 2147483648.0, 4294967295.5, 4294967296.0, 9.2e18, 0x1p63, -0x1p63, 0x1.fffffffffffffp63, 0x1p64, 1e30, 3e38, 1e39, -1e39, 1e300, INFINITY, -INFINITY, NAN};
    static const u64 wide_edges[] = {0, 1, 0x7fffffff, 0x80000000ull, 0xffffffffull, 0x1000001, 0x7fffffffffffffffull, 0x8000000000000000ull, ~0ull, 0x20000000000001ull};
    const int edge_count = sizeof edges / sizeof *edges, count = edge_count * edge_count + 400;
    input *inputs;
    u64 *results, drawn = 88172645463325252ull;
    CHECK(cudaMallocManaged(&inputs, count * sizeof *inputs));
    CHECK(cudaMallocManaged(&results, count * ROOM * sizeof *results));
    auto draw = [&]() {
        drawn ^= drawn << 13;
        drawn ^= drawn >> 7;
        return drawn ^= drawn << 17;
    };
    auto value = [&]() { return ldexp((double)(s64)draw(), (int)(draw() % 90) - 100); };
    for (int k = 0; k < count; k++) {
        bool edge = k < edge_count * edge_count;
        input *in = inputs + k;
        in->x = edge ? edges[k / edge_count] : value();
        in->y = edge ? edges[k % edge_count] : value();
        in->z = edge ? edges[(k * 7 + k / edge_count) % edge_count] : value();
        in->a = (float)in->x, in->b = (float)in->y, in->c = (float)in->z;
        in->l = k < 10 ? wide_edges[k] : draw() >> (k & 63);
        in->i = (u32)in->l ^ (u32)(k & 32 ? draw() : 0);
    }
    check_rn(inputs, count, results);
    check_rz(inputs, count, results);
    check_ru(inputs, count, results);
    check_rd(inputs, count, results);
    check_approximations();
    return 0;
}

/* nvcc compiles the programs together. */
#undef CONVERSIONS
#undef ARITHMETIC
#undef ROUNDED_ONCE
#undef ONLY_NEAREST
#undef ON_DEVICE
#undef ON_HOST
#undef TAKE
#undef ROUNDING
