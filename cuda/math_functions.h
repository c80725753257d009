/* SPDX-License-Identifier: MIT */
/*
 * Functions of <cmath> in device code, for float and double, under their C and
 * C++ names and in namespace std: operations of PTX where there is one, else
 * those of libclc, which are declared here under the names that they have
 * there. They are declared before <cmath>, whose own functions are the host's
 * then: that is why this counts as a header of the system.
 */
#ifndef CORUN_MATH_FUNCTIONS_H
#define CORUN_MATH_FUNCTIONS_H

#pragma clang system_header

#include "device.h"
#include "roundings.h"

/* ---- of libclc: NAME(float), NAME(double), NAMEf(float) ---- */

#define CORUN_MATH_F1(name) \
    CORUN_DEVICE_FUNCTION float name##f(float x) \
    { \
        return name(x); \
    }
#define CORUN_MATH_F2(name) \
    CORUN_DEVICE_FUNCTION float name##f(float x, float y) \
    { \
        return name(x, y); \
    }
#define CORUN_MATH_1(name) \
    __device__ float name(float x); \
    __device__ double name(double x); \
    CORUN_MATH_F1(name)
#define CORUN_MATH_2(name) \
    __device__ float name(float x, float y); \
    __device__ double name(double x, double y); \
    CORUN_MATH_F2(name)
__device__ double exp(double x);
__device__ double log(double x);
__device__ double cos(double x);
__device__ double pow(double x, double y);
CORUN_MATH_1(asin)
CORUN_MATH_1(acos)
CORUN_MATH_1(tanh)
CORUN_MATH_1(asinh)
CORUN_MATH_1(acosh)
CORUN_MATH_1(atanh)
CORUN_MATH_1(exp10)
CORUN_MATH_1(log2)
CORUN_MATH_1(log10)
CORUN_MATH_1(log1p)
CORUN_MATH_1(logb)
CORUN_MATH_1(cbrt)
/*
 * Powers and numbers with another exponent, which libclc rounds to zero where they are below the normal ones. What libclc declares as a
 * function gets its body here: libclc's own is not linked then.
 */
CORUN_DEVICE_FUNCTION float corun_scale(float x, int exponent)
{
    int half = exponent >> 1; /* twice, so that only the last product is rounded; -300 < exponent < 250 */
    return x * __uint_as_float((unsigned)(127 + half) << 23) * __uint_as_float((unsigned)(127 + exponent - half) << 23);
}
__device__ inline float exp(float x)
{
    float bounded = __nvvm_fmax_f(__nvvm_fmin_f(x, 90), -106), n = rintf(bounded * 1.44269504f);
    float rest = fmaf(n, -1.42860677e-6f, fmaf(n, -0.693145752f, bounded)); /* of x, without n * log(2) in two parts */
    return x == x ? corun_scale(__nvvm_ex2_approx_f(rest * 1.44269504f), (int)n) : x;
}
__device__ double exp2(double x);
__device__ inline float exp2(float x)
{
    float bounded = __nvvm_fmax_f(__nvvm_fmin_f(x, 130), -152), n = rintf(bounded);
    return x == x ? corun_scale(__nvvm_ex2_approx_f(bounded - n), (int)n) : x;
}
CORUN_MATH_F1(exp2)
__device__ inline float ldexp(float x, int exponent)
{
    int bounded = exponent < -300 ? -300 : exponent > 300 ? 300 : exponent;
    return (float)((double)x * __longlong_as_double((long long)(1023 + bounded) << 52));
}
/* Those of libclc for floats are off by up to 50 units in the last place. */
#define CORUN_MATH_BY_DOUBLE(name) \
    __device__ double name(double x); \
    CORUN_DEVICE_FUNCTION float name(float x) \
    { \
        return (float)name((double)x); \
    } \
    CORUN_MATH_F1(name)
CORUN_MATH_BY_DOUBLE(erfc)
CORUN_MATH_BY_DOUBLE(tgamma)
#undef CORUN_MATH_BY_DOUBLE
CORUN_MATH_1(lgamma)
CORUN_MATH_1(sinpi)
CORUN_MATH_1(cospi)
CORUN_MATH_1(round)
CORUN_MATH_2(atan2)
CORUN_MATH_2(fmod)
CORUN_MATH_2(hypot)
CORUN_MATH_2(fdim)

/* Those that lose the sign of a zero. */
#define CORUN_MATH_ZERO(name, symbol) \
    __device__ double corun_libclc_##name(double x) __asm__(symbol); \
    CORUN_DEVICE_FUNCTION double name(double x) \
    { \
        return x == 0 ? x : corun_libclc_##name(x); \
    }
CORUN_MATH_ZERO(sin, "_Z3sind")
CORUN_MATH_ZERO(tan, "_Z3tand")
CORUN_MATH_ZERO(atan, "_Z4atand")
CORUN_MATH_ZERO(expm1, "_Z5expm1d")
CORUN_MATH_ZERO(erf, "_Z3erfd")
#undef CORUN_MATH_ZERO
__device__ double corun_libclc_remainder(double x, double y) __asm__("_Z9remainderdd");
CORUN_DEVICE_FUNCTION double remainder(double x, double y)
{
    double rest = corun_libclc_remainder(x, y);
    return rest == 0 ? x * 0 : rest;
}
/* Those of libclc for floats round to zero what is below the normal numbers. */
#define CORUN_SMALL_DIVISOR 0x1p-100f
__device__ float corun_libclc_remainder(float x, float y) __asm__("_Z9remainderff");
CORUN_DEVICE_FUNCTION float remainder(float x, float y)
{
    if (fabsf(y) < CORUN_SMALL_DIVISOR)
        return (float)remainder((double)x, (double)y);
    float rest = corun_libclc_remainder(x, y);
    return rest == 0 ? x * 0 : rest;
}
__device__ double remquo(double x, double y, int *quotient);
__device__ float corun_libclc_remquo(float x, float y, int *quotient) __asm__("_Z6remquoffPi");
CORUN_DEVICE_FUNCTION float remquo(float x, float y, int *quotient)
{
    return fabsf(y) < CORUN_SMALL_DIVISOR ? (float)remquo((double)x, (double)y, quotient)
                                          : corun_libclc_remquo(x, y, quotient);
}
#define CORUN_MATH_STEP(type, symbol) \
    __device__ type corun_libclc_nextafter(type x, type y) __asm__(symbol); \
    CORUN_DEVICE_FUNCTION type nextafter(type x, type y) \
    { \
        type next = corun_libclc_nextafter(x, y); \
        return next != 0 ? next : x == 0 ? y : x * 0; \
    }
CORUN_MATH_STEP(float, "_Z9nextafterff")
CORUN_MATH_STEP(double, "_Z9nextafterdd")
#undef CORUN_MATH_STEP
/* Those that look beyond their tables where the result is infinite or no number. */
#define CORUN_MATH_BOUNDED(name, symbol) \
    __device__ double corun_libclc_##name(double x) __asm__(symbol); \
    CORUN_DEVICE_FUNCTION double name(double x) \
    { \
        double bounded = __nvvm_fmax_d(__nvvm_fmin_d(x, 720.0), -720.0); \
        return x == x ? corun_libclc_##name(bounded) : x; \
    }
CORUN_MATH_BOUNDED(sinh, "_Z4sinhd")
CORUN_MATH_BOUNDED(cosh, "_Z4coshd")
#undef CORUN_MATH_BOUNDED
__device__ float tan(float x);
__device__ float atan(float x);
__device__ float sinh(float x);
__device__ float cosh(float x);
__device__ float expm1(float x);
__device__ float erf(float x);
CORUN_MATH_F1(tan)
CORUN_MATH_F1(atan)
CORUN_MATH_F1(sinh)
CORUN_MATH_F1(cosh)
CORUN_MATH_F1(expm1)
CORUN_MATH_F1(erf)
CORUN_MATH_F2(remainder)
CORUN_MATH_F2(nextafter)
__device__ double ldexp(double x, int exponent);
__device__ int ilogb(float x);
__device__ int ilogb(double x);
__device__ float frexp(float x, int *exponent);
__device__ double frexp(double x, int *exponent);
__device__ float modf(float x, float *whole);
__device__ double modf(double x, double *whole);

CORUN_DEVICE_FUNCTION float ldexpf(float x, int exponent)
{
    return ldexp(x, exponent);
}
CORUN_DEVICE_FUNCTION int ilogbf(float x)
{
    return ilogb(x);
}
CORUN_DEVICE_FUNCTION float frexpf(float x, int *exponent)
{
    return frexp(x, exponent);
}
CORUN_DEVICE_FUNCTION float modff(float x, float *whole)
{
    return modf(x, whole);
}
CORUN_DEVICE_FUNCTION float remquof(float x, float y, int *quotient)
{
    return remquo(x, y, quotient);
}

/* ---- operations of PTX ---- */

CORUN_DEVICE_FUNCTION double fma(double x, double y, double z)
{
    return __nvvm_fma_rn_d(x, y, z);
}
CORUN_DEVICE_FUNCTION double sqrt(double x)
{
    return __nvvm_sqrt_rn_d(x);
}
CORUN_DEVICE_FUNCTION double rsqrt(double x)
{
    return 1.0 / __nvvm_sqrt_rn_d(x);
}
CORUN_DEVICE_FUNCTION double fabs(double x)
{
    return __builtin_fabs(x);
}
CORUN_DEVICE_FUNCTION double fmin(double x, double y)
{
    return __nvvm_fmin_d(x, y);
}
CORUN_DEVICE_FUNCTION double fmax(double x, double y)
{
    return __nvvm_fmax_d(x, y);
}
CORUN_DEVICE_FUNCTION double floor(double x)
{
    return __nvvm_floor_d(x);
}
CORUN_DEVICE_FUNCTION double ceil(double x)
{
    return __nvvm_ceil_d(x);
}
CORUN_DEVICE_FUNCTION double trunc(double x)
{
    return __nvvm_trunc_d(x);
}
CORUN_DEVICE_FUNCTION double rint(double x)
{
    return __builtin_rint(x);
}
CORUN_DEVICE_FUNCTION double copysign(double x, double y)
{
    return __longlong_as_double((__double_as_longlong(x) & 0x7fffffffffffffffll) |
                                (__double_as_longlong(y) & (long long)0x8000000000000000ull));
}
CORUN_DEVICE_FUNCTION float copysignf(float x, float y)
{
    return __uint_as_float((__float_as_uint(x) & 0x7fffffffu) | (__float_as_uint(y) & 0x80000000u));
}

/* The names of C++ for floats that have only those of C so far. */
#define CORUN_MATH_PLAIN_1(name) \
    CORUN_DEVICE_FUNCTION float name(float x) \
    { \
        return name##f(x); \
    }
#define CORUN_MATH_PLAIN_2(name) \
    CORUN_DEVICE_FUNCTION float name(float x, float y) \
    { \
        return name##f(x, y); \
    }
CORUN_MATH_PLAIN_1(sqrt)
CORUN_MATH_PLAIN_1(rsqrt)
CORUN_MATH_PLAIN_1(fabs)
CORUN_MATH_PLAIN_1(floor)
CORUN_MATH_PLAIN_1(ceil)
CORUN_MATH_PLAIN_1(trunc)
CORUN_MATH_PLAIN_1(rint)
CORUN_MATH_PLAIN_2(fmin)
CORUN_MATH_PLAIN_2(fmax)
CORUN_MATH_PLAIN_2(copysign)
CORUN_DEVICE_FUNCTION float fma(float x, float y, float z)
{
    return fmaf(x, y, z);
}

/* ---- made of these ---- */

#define CORUN_MATH_BOTH_1(result, name, expression) \
    CORUN_DEVICE_FUNCTION result name(double x) \
    { \
        return (expression); \
    } \
    CORUN_DEVICE_FUNCTION result name(float x) \
    { \
        return (expression); \
    } \
    CORUN_DEVICE_FUNCTION result name##f(float x) \
    { \
        return (expression); \
    }
CORUN_MATH_BOTH_1(long long, llrint, __double2ll_rn(x))
CORUN_MATH_BOTH_1(long, lrint, (long)__double2ll_rn(x))
CORUN_MATH_BOTH_1(long long, llround, __double2ll_rz(round(x)))
CORUN_MATH_BOTH_1(long, lround, (long)__double2ll_rz(round(x)))
#undef CORUN_MATH_BOTH_1
CORUN_DEVICE_FUNCTION double nearbyint(double x)
{
    return rint(x);
}
CORUN_DEVICE_FUNCTION float nearbyintf(float x)
{
    return rintf(x);
}
CORUN_MATH_PLAIN_1(nearbyint)
CORUN_DEVICE_FUNCTION double scalbn(double x, int exponent)
{
    return ldexp(x, exponent);
}
CORUN_DEVICE_FUNCTION float scalbnf(float x, int exponent)
{
    return ldexp(x, exponent);
}
CORUN_DEVICE_FUNCTION float scalbn(float x, int exponent)
{
    return ldexp(x, exponent);
}
/* Beyond these bounds the result is zero or infinite in any case. */
CORUN_DEVICE_FUNCTION int corun_exponent(long exponent)
{
    return exponent < -10000 ? -10000 : exponent > 10000 ? 10000 : (int)exponent;
}
CORUN_DEVICE_FUNCTION double scalbln(double x, long exponent)
{
    return ldexp(x, corun_exponent(exponent));
}
CORUN_DEVICE_FUNCTION float scalblnf(float x, long exponent)
{
    return ldexp(x, corun_exponent(exponent));
}
CORUN_DEVICE_FUNCTION float scalbln(float x, long exponent)
{
    return ldexp(x, corun_exponent(exponent));
}
CORUN_DEVICE_FUNCTION double pow(double x, int y)
{
    return pow(x, (double)y);
}
CORUN_DEVICE_FUNCTION float pow(float x, int y)
{
    return pow(x, (float)y);
}
CORUN_DEVICE_FUNCTION void sincos(double x, double *sine, double *cosine)
{
    *sine = sin(x);
    *cosine = cos(x);
}
CORUN_DEVICE_FUNCTION void sincosf(float x, float *sine, float *cosine)
{
    *sine = sin(x);
    *cosine = cos(x);
}
CORUN_DEVICE_FUNCTION void sincospi(double x, double *sine, double *cosine)
{
    *sine = sinpi(x);
    *cosine = cospi(x);
}
CORUN_DEVICE_FUNCTION void sincospif(float x, float *sine, float *cosine)
{
    *sine = sinpi(x);
    *cosine = cospi(x);
}
CORUN_DEVICE_FUNCTION double rcbrt(double x)
{
    return 1.0 / cbrt(x);
}
CORUN_DEVICE_FUNCTION float rcbrtf(float x)
{
    return (float)(1.0 / cbrt((double)x));
}
CORUN_DEVICE_FUNCTION double rhypot(double x, double y)
{
    return 1.0 / hypot(x, y);
}
CORUN_DEVICE_FUNCTION float rhypotf(float x, float y)
{
    return (float)(1.0 / hypot((double)x, (double)y));
}
CORUN_DEVICE_FUNCTION double norm3d(double x, double y, double z)
{
    return hypot(hypot(x, y), z);
}
CORUN_DEVICE_FUNCTION float norm3df(float x, float y, float z)
{
    return (float)hypot(hypot((double)x, (double)y), (double)z);
}
CORUN_DEVICE_FUNCTION double norm4d(double x, double y, double z, double w)
{
    return hypot(hypot(x, y), hypot(z, w));
}
CORUN_DEVICE_FUNCTION float norm4df(float x, float y, float z, float w)
{
    return (float)hypot(hypot((double)x, (double)y), hypot((double)z, (double)w));
}
CORUN_DEVICE_FUNCTION double normcdf(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752440);
}
CORUN_DEVICE_FUNCTION float normcdff(float x)
{
    return (float)normcdf((double)x);
}

/* ---- kinds of numbers ---- */

#define CORUN_MATH_KIND(name, builtin) \
    CORUN_DEVICE_FUNCTION bool name(float x) \
    { \
        return builtin(x); \
    } \
    CORUN_DEVICE_FUNCTION bool name(double x) \
    { \
        return builtin(x); \
    }
CORUN_MATH_KIND(isnan, __builtin_isnan)
CORUN_MATH_KIND(isinf, __builtin_isinf)
CORUN_MATH_KIND(isfinite, __builtin_isfinite)
CORUN_MATH_KIND(isnormal, __builtin_isnormal)
CORUN_MATH_KIND(signbit, __builtin_signbit)
#undef CORUN_MATH_KIND
CORUN_DEVICE_FUNCTION float nanf(const char *)
{
    return __uint_as_float(0x7fc00000u);
}
CORUN_DEVICE_FUNCTION double nan(const char *)
{
    return __longlong_as_double(0x7ff8000000000000);
}

/* ---- integers ---- */

CORUN_DEVICE_FUNCTION long abs(long x)
{
    return x < 0 ? -x : x;
}
CORUN_DEVICE_FUNCTION long long abs(long long x)
{
    return x < 0 ? -x : x;
}
CORUN_DEVICE_FUNCTION float abs(float x)
{
    return fabsf(x);
}
CORUN_DEVICE_FUNCTION double abs(double x)
{
    return fabs(x);
}
CORUN_DEVICE_FUNCTION long labs(long x)
{
    return abs(x);
}
CORUN_DEVICE_FUNCTION long long llabs(long long x)
{
    return abs(x);
}

/* Arguments that are integers count as doubles. */
template <bool Integer> struct corun_if_integer {
};
template <> struct corun_if_integer<true> {
    typedef double type;
};
template <typename T> struct corun_is_integer {
    static constexpr bool value = false;
};
#define CORUN_INTEGER(type) \
    template <> struct corun_is_integer<type> { \
        static constexpr bool value = true; \
    };
CORUN_INTEGER(bool)
CORUN_INTEGER(char)
CORUN_INTEGER(signed char)
CORUN_INTEGER(unsigned char)
CORUN_INTEGER(short)
CORUN_INTEGER(unsigned short)
CORUN_INTEGER(int)
CORUN_INTEGER(unsigned int)
CORUN_INTEGER(long)
CORUN_INTEGER(unsigned long)
CORUN_INTEGER(long long)
CORUN_INTEGER(unsigned long long)
#undef CORUN_INTEGER
#define CORUN_MATH_INTEGER(name) \
    template <typename T> CORUN_DEVICE_FUNCTION typename corun_if_integer<corun_is_integer<T>::value>::type name(T x) \
    { \
        return name((double)x); \
    }
CORUN_MATH_INTEGER(acos)
CORUN_MATH_INTEGER(acosh)
CORUN_MATH_INTEGER(asin)
CORUN_MATH_INTEGER(asinh)
CORUN_MATH_INTEGER(atan)
CORUN_MATH_INTEGER(atanh)
CORUN_MATH_INTEGER(cbrt)
CORUN_MATH_INTEGER(ceil)
CORUN_MATH_INTEGER(cos)
CORUN_MATH_INTEGER(cosh)
CORUN_MATH_INTEGER(erf)
CORUN_MATH_INTEGER(erfc)
CORUN_MATH_INTEGER(exp)
CORUN_MATH_INTEGER(exp2)
CORUN_MATH_INTEGER(expm1)
CORUN_MATH_INTEGER(fabs)
CORUN_MATH_INTEGER(floor)
CORUN_MATH_INTEGER(lgamma)
CORUN_MATH_INTEGER(log)
CORUN_MATH_INTEGER(log10)
CORUN_MATH_INTEGER(log1p)
CORUN_MATH_INTEGER(log2)
CORUN_MATH_INTEGER(logb)
CORUN_MATH_INTEGER(nearbyint)
CORUN_MATH_INTEGER(rint)
CORUN_MATH_INTEGER(round)
CORUN_MATH_INTEGER(sin)
CORUN_MATH_INTEGER(sinh)
CORUN_MATH_INTEGER(sqrt)
CORUN_MATH_INTEGER(tan)
CORUN_MATH_INTEGER(tanh)
CORUN_MATH_INTEGER(tgamma)
CORUN_MATH_INTEGER(trunc)
#undef CORUN_MATH_INTEGER
#undef CORUN_MATH_PLAIN_1
#undef CORUN_MATH_PLAIN_2
#undef CORUN_MATH_F1
#undef CORUN_MATH_F2
#undef CORUN_MATH_1
#undef CORUN_MATH_2

namespace std
{
using ::abs;
using ::acos;
using ::acosf;
using ::acosh;
using ::acoshf;
using ::asin;
using ::asinf;
using ::asinh;
using ::asinhf;
using ::atan;
using ::atan2;
using ::atan2f;
using ::atanf;
using ::atanh;
using ::atanhf;
using ::cbrt;
using ::cbrtf;
using ::ceil;
using ::ceilf;
using ::copysign;
using ::copysignf;
using ::cos;
using ::cosf;
using ::cosh;
using ::coshf;
using ::erf;
using ::erfc;
using ::erfcf;
using ::erff;
using ::exp;
using ::exp2;
using ::exp2f;
using ::expf;
using ::expm1;
using ::expm1f;
using ::fabs;
using ::fabsf;
using ::fdim;
using ::fdimf;
using ::floor;
using ::floorf;
using ::fma;
using ::fmaf;
using ::fmax;
using ::fmaxf;
using ::fmin;
using ::fminf;
using ::fmod;
using ::fmodf;
using ::frexp;
using ::frexpf;
using ::hypot;
using ::hypotf;
using ::ilogb;
using ::ilogbf;
using ::isfinite;
using ::isinf;
using ::isnan;
using ::isnormal;
using ::labs;
using ::ldexp;
using ::ldexpf;
using ::lgamma;
using ::lgammaf;
using ::llabs;
using ::llrint;
using ::llrintf;
using ::llround;
using ::llroundf;
using ::log;
using ::log10;
using ::log10f;
using ::log1p;
using ::log1pf;
using ::log2;
using ::log2f;
using ::logb;
using ::logbf;
using ::logf;
using ::lrint;
using ::lrintf;
using ::lround;
using ::lroundf;
using ::modf;
using ::modff;
using ::nan;
using ::nanf;
using ::nearbyint;
using ::nearbyintf;
using ::nextafter;
using ::nextafterf;
using ::pow;
using ::powf;
using ::remainder;
using ::remainderf;
using ::remquo;
using ::remquof;
using ::rint;
using ::rintf;
using ::round;
using ::roundf;
using ::scalbln;
using ::scalblnf;
using ::scalbn;
using ::scalbnf;
using ::signbit;
using ::sin;
using ::sinf;
using ::sinh;
using ::sinhf;
using ::sqrt;
using ::sqrtf;
using ::tan;
using ::tanf;
using ::tanh;
using ::tanhf;
using ::tgamma;
using ::tgammaf;
using ::trunc;
using ::truncf;
} // namespace std

#endif
