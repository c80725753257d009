/* SPDX-License-Identifier: MIT */
/*
 * Floats of 16 bits and pairs of them, once for cuda_fp16.h and once for cuda_bf16.h, which say what CUDA calls them:
 * CORUN_HALF and CORUN_PAIR (types), CORUN_NAMED (their word in names of functions), CORUN_WORD (in PTX).
 * Arithmetic is an operation of PTX, or one of single precision that is rounded: 24 bits are more than twice 11 and 2, so a sum, a product, a quotient and a root that were rounded
 * to single precision before are still rounded as once.
 */
#define CORUN_JOIN(a, b) CORUN_JOIN_(a, b)
#define CORUN_JOIN_(a, b) a##b
#define CORUN_JOIN3(a, b, c) CORUN_JOIN(CORUN_JOIN(a, b), c)
#define CORUN_FROM(type) CORUN_JOIN(__##type##2, CORUN_NAMED)
#define CORUN_TO(type) CORUN_JOIN3(__, CORUN_NAMED, 2##type)
#define CORUN_BOTH_SIDES static inline __attribute__((host, device))
#define CORUN_HOST_SIDE static inline __attribute__((host))

struct CORUN_HALF;
CORUN_HOST_SIDE CORUN_HALF corun_round(float x, CORUN_HALF *);
CORUN_DEVICE_FUNCTION CORUN_HALF corun_round(float x, CORUN_HALF *);
CORUN_HOST_SIDE float corun_widen(CORUN_HALF x);
CORUN_DEVICE_FUNCTION float corun_widen(CORUN_HALF x);

struct __attribute__((aligned(2))) CORUN_HALF {
    unsigned short __x;
    CORUN_HALF() = default;
    __attribute__((host, device)) CORUN_HALF(float x) : __x(corun_round(x, (CORUN_HALF *)0).__x)
    {
    }
    __attribute__((host, device)) CORUN_HALF(double x);
    __attribute__((host, device)) CORUN_HALF(int x) : CORUN_HALF((double)x)
    {
    }
    __attribute__((host, device)) CORUN_HALF(unsigned x) : CORUN_HALF((double)x)
    {
    }
    __attribute__((host, device)) operator float() const
    {
        return corun_widen(*this);
    }
};

CORUN_BOTH_SIDES CORUN_HALF CORUN_JOIN(__ushort_as_, CORUN_NAMED)(unsigned short bits)
{
    CORUN_HALF half;
    half.__x = bits;
    return half;
}
CORUN_BOTH_SIDES unsigned short CORUN_JOIN3(__, CORUN_NAMED, _as_ushort)(CORUN_HALF x)
{
    return x.__x;
}
CORUN_BOTH_SIDES CORUN_HALF CORUN_JOIN(__short_as_, CORUN_NAMED)(short bits)
{
    return CORUN_JOIN(__ushort_as_, CORUN_NAMED)((unsigned short)bits);
}
CORUN_BOTH_SIDES short CORUN_JOIN3(__, CORUN_NAMED, _as_short)(CORUN_HALF x)
{
    return (short)x.__x;
}

CORUN_DEVICE_FUNCTION CORUN_HALF corun_round(float x, CORUN_HALF *)
{
    unsigned short bits;
    asm("cvt.rn." CORUN_WORD ".f32 %0, %1;" : "=h"(bits) : "f"(x));
    return CORUN_JOIN(__ushort_as_, CORUN_NAMED)(bits);
}
CORUN_DEVICE_FUNCTION float corun_widen(CORUN_HALF x)
{
    float wide;
    asm("cvt.f32." CORUN_WORD " %0, %1;" : "=f"(wide) : "h"(x.__x));
    return wide;
}
CORUN_HOST_SIDE CORUN_HALF corun_round(float x, CORUN_HALF *)
{
    return CORUN_JOIN(__ushort_as_, CORUN_NAMED)(CORUN_ROUND_BITS(x));
}
CORUN_HOST_SIDE float corun_widen(CORUN_HALF x)
{
    return CORUN_WIDEN_BITS(x.__x);
}

/* To single precision so that what is cut off is seen in the last bit: rounding that is as rounding once. */
CORUN_BOTH_SIDES CORUN_HALF corun_round_double(double x, CORUN_HALF *)
{
    float narrow = (float)x;
    unsigned bits;
    __builtin_memcpy(&bits, &narrow, sizeof bits);
    if ((double)narrow != x && x == x) {
        bits -= (narrow < 0 ? -(double)narrow : (double)narrow) > (x < 0 ? -x : x);
        bits |= 1;
        __builtin_memcpy(&narrow, &bits, sizeof bits);
    }
    return corun_round(narrow, (CORUN_HALF *)0);
}
inline __attribute__((host, device)) CORUN_HALF::CORUN_HALF(double x) : __x(corun_round_double(x, (CORUN_HALF *)0).__x)
{
}

CORUN_BOTH_SIDES CORUN_HALF CORUN_FROM(float)(float x)
{
    return CORUN_HALF(x);
}
CORUN_BOTH_SIDES CORUN_HALF CORUN_JOIN(CORUN_FROM(float), _rn)(float x)
{
    return CORUN_HALF(x);
}
CORUN_BOTH_SIDES CORUN_HALF CORUN_FROM(double)(double x)
{
    return CORUN_HALF(x);
}
CORUN_BOTH_SIDES float CORUN_TO(float)(CORUN_HALF x)
{
    return corun_widen(x);
}

/* To and from integers, and from single precision, in all roundings. */
#define CORUN_HALF_FROM(name, type, word, constraint, rounding) \
    CORUN_DEVICE_FUNCTION CORUN_HALF CORUN_JOIN(CORUN_FROM(name), _##rounding)(type x) \
    { \
        unsigned short bits; \
        asm("cvt." CORUN_ROUND_##rounding "." CORUN_WORD "." word " %0, %1;" : "=h"(bits) : constraint(x)); \
        return CORUN_JOIN(__ushort_as_, CORUN_NAMED)(bits); \
    }
#define CORUN_HALF_TO(name, type, word, constraint, rounding) \
    CORUN_DEVICE_FUNCTION type CORUN_JOIN(CORUN_TO(name), _##rounding)(CORUN_HALF x) \
    { \
        type result; \
        asm("cvt." CORUN_ROUND_##rounding "i." word "." CORUN_WORD " %0, %1;" : "=" constraint(result) : "h"(x.__x)); \
        return result; \
    }
#define CORUN_HALF_INTEGER(name, type, word, constraint) \
    CORUN_HALF_FROM(name, type, word, constraint, rn) \
    CORUN_HALF_FROM(name, type, word, constraint, rz) \
    CORUN_HALF_FROM(name, type, word, constraint, rd) \
    CORUN_HALF_FROM(name, type, word, constraint, ru) \
    CORUN_HALF_TO(name, type, word, constraint, rn) \
    CORUN_HALF_TO(name, type, word, constraint, rz) \
    CORUN_HALF_TO(name, type, word, constraint, rd) \
    CORUN_HALF_TO(name, type, word, constraint, ru)
CORUN_HALF_INTEGER(int, int, "s32", "r")
CORUN_HALF_INTEGER(uint, unsigned, "u32", "r")
CORUN_HALF_INTEGER(short, short, "s16", "h")
CORUN_HALF_INTEGER(ushort, unsigned short, "u16", "h")
CORUN_HALF_INTEGER(ll, long long, "s64", "l")
CORUN_HALF_INTEGER(ull, unsigned long long, "u64", "l")
CORUN_HALF_FROM(float, float, "f32", "f", rz)
CORUN_HALF_FROM(float, float, "f32", "f", rd)
CORUN_HALF_FROM(float, float, "f32", "f", ru)

/* ---- pairs ---- */

struct __attribute__((aligned(4))) CORUN_PAIR {
    CORUN_HALF x, y;
    CORUN_PAIR() = default;
    __attribute__((host, device)) CORUN_PAIR(CORUN_HALF low, CORUN_HALF high) : x(low), y(high)
    {
    }
};

CORUN_BOTH_SIDES unsigned corun_bits_of(CORUN_PAIR pair)
{
    return (unsigned)pair.x.__x | (unsigned)pair.y.__x << 16;
}
CORUN_BOTH_SIDES CORUN_PAIR corun_pair_of(unsigned bits, CORUN_PAIR *)
{
    return CORUN_PAIR(CORUN_JOIN(__ushort_as_, CORUN_NAMED)((unsigned short)bits),
                      CORUN_JOIN(__ushort_as_, CORUN_NAMED)((unsigned short)(bits >> 16)));
}
CORUN_BOTH_SIDES CORUN_PAIR CORUN_JOIN3(__halves2, CORUN_NAMED, 2)(CORUN_HALF low, CORUN_HALF high)
{
    return CORUN_PAIR(low, high);
}
CORUN_BOTH_SIDES CORUN_PAIR CORUN_JOIN3(CORUN_JOIN3(__, CORUN_NAMED, 2), CORUN_NAMED, 2)(CORUN_HALF both)
{
    return CORUN_PAIR(both, both);
}
CORUN_BOTH_SIDES CORUN_PAIR CORUN_JOIN3(__float2, CORUN_NAMED, 2_rn)(float both)
{
    return CORUN_PAIR(CORUN_HALF(both), CORUN_HALF(both));
}
CORUN_BOTH_SIDES CORUN_PAIR CORUN_JOIN3(__floats2, CORUN_NAMED, 2_rn)(float low, float high)
{
    return CORUN_PAIR(CORUN_HALF(low), CORUN_HALF(high));
}
CORUN_BOTH_SIDES CORUN_PAIR CORUN_JOIN3(__float22, CORUN_NAMED, 2_rn)(float2 both)
{
    return CORUN_PAIR(CORUN_HALF(both.x), CORUN_HALF(both.y));
}
CORUN_BOTH_SIDES float2 CORUN_JOIN3(__, CORUN_NAMED, 22float2)(CORUN_PAIR pair)
{
    float2 both;
    both.x = corun_widen(pair.x);
    both.y = corun_widen(pair.y);
    return both;
}
CORUN_BOTH_SIDES CORUN_HALF CORUN_JOIN(__low2, CORUN_NAMED)(CORUN_PAIR pair)
{
    return pair.x;
}
CORUN_BOTH_SIDES CORUN_HALF CORUN_JOIN(__high2, CORUN_NAMED)(CORUN_PAIR pair)
{
    return pair.y;
}
CORUN_BOTH_SIDES CORUN_PAIR CORUN_JOIN3(__low2, CORUN_NAMED, 2)(CORUN_PAIR pair)
{
    return CORUN_PAIR(pair.x, pair.x);
}
CORUN_BOTH_SIDES CORUN_PAIR CORUN_JOIN3(__high2, CORUN_NAMED, 2)(CORUN_PAIR pair)
{
    return CORUN_PAIR(pair.y, pair.y);
}
CORUN_BOTH_SIDES CORUN_PAIR __lowhigh2highlow(CORUN_PAIR pair)
{
    return CORUN_PAIR(pair.y, pair.x);
}
CORUN_BOTH_SIDES CORUN_PAIR CORUN_JOIN3(__lows2, CORUN_NAMED, 2)(CORUN_PAIR a, CORUN_PAIR b)
{
    return CORUN_PAIR(a.x, b.x);
}
CORUN_BOTH_SIDES CORUN_PAIR CORUN_JOIN3(__highs2, CORUN_NAMED, 2)(CORUN_PAIR a, CORUN_PAIR b)
{
    return CORUN_PAIR(a.y, b.y);
}
CORUN_BOTH_SIDES float __low2float(CORUN_PAIR pair)
{
    return corun_widen(pair.x);
}
CORUN_BOTH_SIDES float __high2float(CORUN_PAIR pair)
{
    return corun_widen(pair.y);
}

/* ---- arithmetic ---- */

#define CORUN_HALF_1(name, operation) \
    CORUN_DEVICE_FUNCTION CORUN_HALF name(CORUN_HALF a) \
    { \
        unsigned short bits; \
        asm(operation "." CORUN_WORD " %0, %1;" : "=h"(bits) : "h"(a.__x)); \
        return CORUN_JOIN(__ushort_as_, CORUN_NAMED)(bits); \
    } \
    CORUN_DEVICE_FUNCTION CORUN_PAIR name##2(CORUN_PAIR a) \
    { \
        unsigned bits; \
        asm(operation "." CORUN_WORD "x2 %0, %1;" : "=r"(bits) : "r"(corun_bits_of(a))); \
        return corun_pair_of(bits, (CORUN_PAIR *)0); \
    }
#define CORUN_HALF_2(name, second, operation) \
    CORUN_DEVICE_FUNCTION CORUN_HALF name(CORUN_HALF a, CORUN_HALF b) \
    { \
        unsigned short bits; \
        asm(operation "." CORUN_WORD " %0, %1, %2;" : "=h"(bits) : "h"(a.__x), "h"(b.__x)); \
        return CORUN_JOIN(__ushort_as_, CORUN_NAMED)(bits); \
    } \
    CORUN_DEVICE_FUNCTION CORUN_PAIR second(CORUN_PAIR a, CORUN_PAIR b) \
    { \
        unsigned bits; \
        asm(operation "." CORUN_WORD "x2 %0, %1, %2;" : "=r"(bits) : "r"(corun_bits_of(a)), "r"(corun_bits_of(b))); \
        return corun_pair_of(bits, (CORUN_PAIR *)0); \
    }
#define CORUN_HALF_3(name, second, operation) \
    CORUN_DEVICE_FUNCTION CORUN_HALF name(CORUN_HALF a, CORUN_HALF b, CORUN_HALF c) \
    { \
        unsigned short bits; \
        asm(operation "." CORUN_WORD " %0, %1, %2, %3;" : "=h"(bits) : "h"(a.__x), "h"(b.__x), "h"(c.__x)); \
        return CORUN_JOIN(__ushort_as_, CORUN_NAMED)(bits); \
    } \
    CORUN_DEVICE_FUNCTION CORUN_PAIR second(CORUN_PAIR a, CORUN_PAIR b, CORUN_PAIR c) \
    { \
        unsigned bits; \
        asm(operation "." CORUN_WORD "x2 %0, %1, %2, %3;" \
            : "=r"(bits) \
            : "r"(corun_bits_of(a)), "r"(corun_bits_of(b)), "r"(corun_bits_of(c))); \
        return corun_pair_of(bits, (CORUN_PAIR *)0); \
    }
CORUN_HALF_1(__hneg, "neg")
CORUN_HALF_1(__habs, "abs")
CORUN_HALF_2(__hadd, __hadd2, "add.rn")
CORUN_HALF_2(__hsub, __hsub2, "sub.rn")
CORUN_HALF_2(__hmul, __hmul2, "mul.rn")
CORUN_HALF_2(__hadd_rn, __hadd2_rn, "add.rn")
CORUN_HALF_2(__hsub_rn, __hsub2_rn, "sub.rn")
CORUN_HALF_2(__hmul_rn, __hmul2_rn, "mul.rn")
CORUN_HALF_2(__hmin, __hmin2, "min")
CORUN_HALF_2(__hmax, __hmax2, "max")
CORUN_HALF_2(__hmin_nan, __hmin2_nan, "min.NaN")
CORUN_HALF_2(__hmax_nan, __hmax2_nan, "max.NaN")
CORUN_HALF_3(__hfma, __hfma2, "fma.rn")
CORUN_HALF_3(__hfma_relu, __hfma2_relu, "fma.rn.relu")

/* Saturated: NaN is 0, as the larger of NaN and 0 is. */
CORUN_DEVICE_FUNCTION CORUN_HALF corun_saturated(CORUN_HALF x)
{
    return __hmin(__hmax(x, CORUN_HALF(0.0f)), CORUN_HALF(1.0f));
}
CORUN_DEVICE_FUNCTION CORUN_HALF __hadd_sat(CORUN_HALF a, CORUN_HALF b)
{
    return corun_saturated(__hadd(a, b));
}
CORUN_DEVICE_FUNCTION CORUN_HALF __hsub_sat(CORUN_HALF a, CORUN_HALF b)
{
    return corun_saturated(__hsub(a, b));
}
CORUN_DEVICE_FUNCTION CORUN_HALF __hmul_sat(CORUN_HALF a, CORUN_HALF b)
{
    return corun_saturated(__hmul(a, b));
}
CORUN_DEVICE_FUNCTION CORUN_HALF __hfma_sat(CORUN_HALF a, CORUN_HALF b, CORUN_HALF c)
{
    return corun_saturated(__hfma(a, b, c));
}
#define CORUN_PAIR_SATURATED(name, half) \
    CORUN_DEVICE_FUNCTION CORUN_PAIR name(CORUN_PAIR a, CORUN_PAIR b) \
    { \
        return CORUN_PAIR(half(a.x, b.x), half(a.y, b.y)); \
    }
CORUN_PAIR_SATURATED(__hadd2_sat, __hadd_sat)
CORUN_PAIR_SATURATED(__hsub2_sat, __hsub_sat)
CORUN_PAIR_SATURATED(__hmul2_sat, __hmul_sat)
#undef CORUN_PAIR_SATURATED
CORUN_DEVICE_FUNCTION CORUN_PAIR __hfma2_sat(CORUN_PAIR a, CORUN_PAIR b, CORUN_PAIR c)
{
    return CORUN_PAIR(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y));
}
CORUN_DEVICE_FUNCTION CORUN_HALF __hdiv(CORUN_HALF a, CORUN_HALF b)
{
    return CORUN_HALF(corun_widen(a) / corun_widen(b));
}
CORUN_DEVICE_FUNCTION CORUN_PAIR __h2div(CORUN_PAIR a, CORUN_PAIR b)
{
    return CORUN_PAIR(__hdiv(a.x, b.x), __hdiv(a.y, b.y));
}

/* `u`: also true where one of them is no number. */
#define CORUN_HALF_COMPARE(name, word) \
    CORUN_DEVICE_FUNCTION bool name(CORUN_HALF a, CORUN_HALF b) \
    { \
        unsigned truth; \
        asm("{.reg .pred p; setp." word "." CORUN_WORD " p, %1, %2; selp.u32 %0, 1, 0, p;}" \
            : "=r"(truth) \
            : "h"(a.__x), "h"(b.__x)); \
        return truth; \
    }
#define CORUN_PAIR_COMPARISON(name, pair, both) \
    CORUN_DEVICE_FUNCTION CORUN_PAIR pair(CORUN_PAIR a, CORUN_PAIR b) \
    { \
        return CORUN_PAIR(CORUN_HALF((float)name(a.x, b.x)), CORUN_HALF((float)name(a.y, b.y))); \
    } \
    CORUN_DEVICE_FUNCTION bool both(CORUN_PAIR a, CORUN_PAIR b) \
    { \
        return name(a.x, b.x) && name(a.y, b.y); \
    }
#define CORUN_HALF_COMPARISON(name, word) \
    CORUN_HALF_COMPARE(__h##name, word) \
    CORUN_HALF_COMPARE(__h##name##u, word "u") \
    CORUN_PAIR_COMPARISON(__h##name, __h##name##2, __hb##name##2) \
    CORUN_PAIR_COMPARISON(__h##name##u, __h##name##u2, __hb##name##u2)
CORUN_HALF_COMPARISON(eq, "eq")
CORUN_HALF_COMPARISON(ne, "ne")
CORUN_HALF_COMPARISON(lt, "lt")
CORUN_HALF_COMPARISON(le, "le")
CORUN_HALF_COMPARISON(gt, "gt")
CORUN_HALF_COMPARISON(ge, "ge")
CORUN_BOTH_SIDES bool __hisnan(CORUN_HALF x)
{
    float wide = corun_widen(x);
    return wide != wide;
}
CORUN_BOTH_SIDES CORUN_PAIR __hisnan2(CORUN_PAIR pair)
{
    return CORUN_PAIR(CORUN_HALF((float)__hisnan(pair.x)), CORUN_HALF((float)__hisnan(pair.y)));
}
CORUN_BOTH_SIDES int __hisinf(CORUN_HALF x)
{
    float wide = corun_widen(x);
    return wide == __builtin_inff() ? 1 : wide == -__builtin_inff() ? -1 : 0;
}

#define CORUN_HALF_MATH(name, pair, of_float) \
    CORUN_DEVICE_FUNCTION CORUN_HALF name(CORUN_HALF a) \
    { \
        float x = corun_widen(a); \
        return CORUN_HALF(of_float); \
    } \
    CORUN_DEVICE_FUNCTION CORUN_PAIR pair(CORUN_PAIR a) \
    { \
        return CORUN_PAIR(name(a.x), name(a.y)); \
    }
CORUN_HALF_MATH(hsqrt, h2sqrt, sqrtf(x))
CORUN_HALF_MATH(hrsqrt, h2rsqrt, 1.0f / sqrtf(x))
CORUN_HALF_MATH(hrcp, h2rcp, 1.0f / x)
CORUN_HALF_MATH(hexp, h2exp, expf(x))
CORUN_HALF_MATH(hlog, h2log, logf(x))
CORUN_HALF_MATH(hexp2, h2exp2, exp2f(x))
CORUN_HALF_MATH(hexp10, h2exp10, exp10f(x))
CORUN_HALF_MATH(hlog2, h2log2, log2f(x))
CORUN_HALF_MATH(hlog10, h2log10, log10f(x))
CORUN_HALF_MATH(hsin, h2sin, sinf(x))
CORUN_HALF_MATH(hcos, h2cos, cosf(x))
CORUN_HALF_MATH(hfloor, h2floor, floorf(x))
CORUN_HALF_MATH(hceil, h2ceil, __nvvm_ceil_f(x))
CORUN_HALF_MATH(htrunc, h2trunc, __nvvm_trunc_f(x))
CORUN_HALF_MATH(hrint, h2rint, __builtin_rintf(x))

/* ---- operators; on the host by way of single precision ---- */

#define CORUN_HALF_OPERATOR(symbol, name, pair) \
    CORUN_DEVICE_FUNCTION CORUN_HALF operator symbol(const CORUN_HALF &a, const CORUN_HALF &b) \
    { \
        return name(a, b); \
    } \
    CORUN_HOST_SIDE CORUN_HALF operator symbol(const CORUN_HALF &a, const CORUN_HALF &b) \
    { \
        return CORUN_HALF(corun_widen(a) symbol corun_widen(b)); \
    } \
    CORUN_BOTH_SIDES CORUN_HALF &operator symbol##=(CORUN_HALF &a, const CORUN_HALF &b) \
    { \
        return a = a symbol b; \
    } \
    CORUN_DEVICE_FUNCTION CORUN_PAIR operator symbol(const CORUN_PAIR &a, const CORUN_PAIR &b) \
    { \
        return pair(a, b); \
    } \
    CORUN_HOST_SIDE CORUN_PAIR operator symbol(const CORUN_PAIR &a, const CORUN_PAIR &b) \
    { \
        return CORUN_PAIR(a.x symbol b.x, a.y symbol b.y); \
    } \
    CORUN_BOTH_SIDES CORUN_PAIR &operator symbol##=(CORUN_PAIR &a, const CORUN_PAIR &b) \
    { \
        return a = a symbol b; \
    }
CORUN_HALF_OPERATOR(+, __hadd, __hadd2)
CORUN_HALF_OPERATOR(-, __hsub, __hsub2)
CORUN_HALF_OPERATOR(*, __hmul, __hmul2)
CORUN_HALF_OPERATOR(/, __hdiv, __h2div)
#define CORUN_HALF_RELATION(symbol) \
    CORUN_BOTH_SIDES bool operator symbol(const CORUN_HALF &a, const CORUN_HALF &b) \
    { \
        return corun_widen(a) symbol corun_widen(b); \
    } \
    CORUN_BOTH_SIDES bool operator symbol(const CORUN_PAIR &a, const CORUN_PAIR &b) \
    { \
        return a.x symbol b.x && a.y symbol b.y; \
    }
CORUN_HALF_RELATION(==)
CORUN_HALF_RELATION(!=)
CORUN_HALF_RELATION(<)
CORUN_HALF_RELATION(<=)
CORUN_HALF_RELATION(>)
CORUN_HALF_RELATION(>=)
CORUN_BOTH_SIDES CORUN_HALF operator-(const CORUN_HALF &x)
{
    return CORUN_JOIN(__ushort_as_, CORUN_NAMED)((unsigned short)(x.__x ^ 0x8000));
}
CORUN_BOTH_SIDES CORUN_PAIR operator-(const CORUN_PAIR &x)
{
    return CORUN_PAIR(-x.x, -x.y);
}

/* ---- atomics and shuffles ---- */

CORUN_DEVICE_FUNCTION CORUN_HALF atomicAdd(CORUN_HALF *p, CORUN_HALF v)
{
    unsigned short before;
    asm volatile("atom.add.noftz." CORUN_WORD " %0, [%1], %2;" : "=h"(before) : "l"(p), "h"(v.__x) : "memory");
    return CORUN_JOIN(__ushort_as_, CORUN_NAMED)(before);
}
CORUN_DEVICE_FUNCTION CORUN_PAIR atomicAdd(CORUN_PAIR *p, CORUN_PAIR v)
{
    unsigned before;
    asm volatile("atom.add.noftz." CORUN_WORD "x2 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(p), "r"(corun_bits_of(v))
                 : "memory");
    return corun_pair_of(before, (CORUN_PAIR *)0);
}
#define CORUN_HALF_SHUFFLE(name, third) \
    CORUN_DEVICE_FUNCTION CORUN_HALF name(unsigned mask, CORUN_HALF value, third by, int width = 32) \
    { \
        return CORUN_JOIN(__ushort_as_, CORUN_NAMED)((unsigned short)name(mask, (int)value.__x, by, width)); \
    } \
    CORUN_DEVICE_FUNCTION CORUN_PAIR name(unsigned mask, CORUN_PAIR value, third by, int width = 32) \
    { \
        return corun_pair_of((unsigned)name(mask, (int)corun_bits_of(value), by, width), (CORUN_PAIR *)0); \
    }
CORUN_HALF_SHUFFLE(__shfl_sync, int)
CORUN_HALF_SHUFFLE(__shfl_up_sync, unsigned)
CORUN_HALF_SHUFFLE(__shfl_down_sync, unsigned)
CORUN_HALF_SHUFFLE(__shfl_xor_sync, int)

#undef CORUN_JOIN
#undef CORUN_JOIN_
#undef CORUN_JOIN3
#undef CORUN_FROM
#undef CORUN_TO
#undef CORUN_BOTH_SIDES
#undef CORUN_HOST_SIDE
#undef CORUN_HALF_FROM
#undef CORUN_HALF_TO
#undef CORUN_HALF_INTEGER
#undef CORUN_HALF_1
#undef CORUN_HALF_2
#undef CORUN_HALF_3
#undef CORUN_HALF_COMPARE
#undef CORUN_HALF_COMPARISON
#undef CORUN_PAIR_COMPARISON
#undef CORUN_HALF_MATH
#undef CORUN_HALF_OPERATOR
#undef CORUN_HALF_RELATION
#undef CORUN_HALF_SHUFFLE
#undef CORUN_HALF
#undef CORUN_PAIR
#undef CORUN_NAMED
#undef CORUN_WORD
#undef CORUN_ROUND_BITS
#undef CORUN_WIDEN_BITS
