/* SPDX-License-Identifier: MIT */
/*
 * Intrinsics of CUDA C++ that say how they round, or only look at bits:
 * conversions and arithmetic, each of which is an operation of PTX and is not
 * contracted. device.h has some with rounding to nearest.
 */
#ifndef CORUN_ROUNDINGS_H
#define CORUN_ROUNDINGS_H

#include "device.h"

/* ---- bits ---- */

CORUN_DEVICE_FUNCTION unsigned int __float_as_uint(float x)
{
    return (unsigned int)__float_as_int(x);
}
CORUN_DEVICE_FUNCTION float __uint_as_float(unsigned int x)
{
    return __int_as_float((int)x);
}
CORUN_DEVICE_FUNCTION long long __double_as_longlong(double x)
{
    return __nvvm_bitcast_d2ll(x);
}
CORUN_DEVICE_FUNCTION double __longlong_as_double(long long x)
{
    return __nvvm_bitcast_ll2d(x);
}
CORUN_DEVICE_FUNCTION int __double2hiint(double x)
{
    return (int)(__double_as_longlong(x) >> 32);
}
CORUN_DEVICE_FUNCTION int __double2loint(double x)
{
    return (int)__double_as_longlong(x);
}
CORUN_DEVICE_FUNCTION double __hiloint2double(int high, int low)
{
    return __longlong_as_double((long long)((unsigned long long)(unsigned int)high << 32 | (unsigned int)low));
}

/* ---- conversions ---- */

#define CORUN_CONVERT(name, to, from, operation, to_letter, from_letter) \
    CORUN_DEVICE_FUNCTION to name(from x) \
    { \
        to result; \
        asm("cvt." operation " %0, %1;" : "=" to_letter(result) : from_letter(x)); \
        return result; \
    }
#define CORUN_CONVERT_ROUNDED(name, to, from, integer, operation, to_letter, from_letter) \
    CORUN_CONVERT(name##_rz, to, from, "rz" integer operation, to_letter, from_letter) \
    CORUN_CONVERT(name##_ru, to, from, "rp" integer operation, to_letter, from_letter) \
    CORUN_CONVERT(name##_rd, to, from, "rm" integer operation, to_letter, from_letter)
#define CORUN_CONVERT_ALL(name, to, from, integer, operation, to_letter, from_letter) \
    CORUN_CONVERT(name##_rn, to, from, "rn" integer operation, to_letter, from_letter) \
    CORUN_CONVERT_ROUNDED(name, to, from, integer, operation, to_letter, from_letter)
CORUN_CONVERT_ROUNDED(__float2int, int, float, "i", ".s32.f32", "r", "f")
CORUN_CONVERT_ALL(__float2uint, unsigned int, float, "i", ".u32.f32", "r", "f")
CORUN_CONVERT_ALL(__float2ll, long long, float, "i", ".s64.f32", "l", "f")
CORUN_CONVERT_ALL(__float2ull, unsigned long long, float, "i", ".u64.f32", "l", "f")
CORUN_CONVERT_ALL(__double2int, int, double, "i", ".s32.f64", "r", "d")
CORUN_CONVERT_ALL(__double2uint, unsigned int, double, "i", ".u32.f64", "r", "d")
CORUN_CONVERT_ALL(__double2ll, long long, double, "i", ".s64.f64", "l", "d")
CORUN_CONVERT_ALL(__double2ull, unsigned long long, double, "i", ".u64.f64", "l", "d")
CORUN_CONVERT_ALL(__double2float, float, double, "", ".f32.f64", "f", "d")
CORUN_CONVERT_ALL(__int2float, float, int, "", ".f32.s32", "f", "r")
CORUN_CONVERT_ALL(__uint2float, float, unsigned int, "", ".f32.u32", "f", "r")
CORUN_CONVERT_ALL(__ll2float, float, long long, "", ".f32.s64", "f", "l")
CORUN_CONVERT_ALL(__ull2float, float, unsigned long long, "", ".f32.u64", "f", "l")
CORUN_CONVERT_ALL(__ll2double, double, long long, "", ".f64.s64", "d", "l")
CORUN_CONVERT_ALL(__ull2double, double, unsigned long long, "", ".f64.u64", "d", "l")
CORUN_CONVERT(__int2double_rn, double, int, "rn.f64.s32", "d", "r")
CORUN_CONVERT(__uint2double_rn, double, unsigned int, "rn.f64.u32", "d", "r")
#undef CORUN_CONVERT
#undef CORUN_CONVERT_ROUNDED
#undef CORUN_CONVERT_ALL

/* ---- arithmetic ---- */

#define CORUN_ROUND_1(name, type, operation, rounding, suffix, letter) \
    CORUN_DEVICE_FUNCTION type name(type x) \
    { \
        type result; \
        asm(operation "." rounding suffix " %0, %1;" : "=" letter(result) : letter(x)); \
        return result; \
    }
#define CORUN_ROUND_2(name, type, operation, rounding, suffix, letter) \
    CORUN_DEVICE_FUNCTION type name(type x, type y) \
    { \
        type result; \
        asm(operation "." rounding suffix " %0, %1, %2;" : "=" letter(result) : letter(x), letter(y)); \
        return result; \
    }
#define CORUN_ROUND_3(name, type, operation, rounding, suffix, letter) \
    CORUN_DEVICE_FUNCTION type name(type x, type y, type z) \
    { \
        type result; \
        asm(operation "." rounding suffix " %0, %1, %2, %3;" : "=" letter(result) : letter(x), letter(y), letter(z)); \
        return result; \
    }
#define CORUN_ROUND_OTHERS(n, name, type, operation, suffix, letter) \
    CORUN_ROUND_##n(name##_rz, type, operation, "rz", suffix, letter) \
        CORUN_ROUND_##n(name##_ru, type, operation, "rp", suffix, letter) \
            CORUN_ROUND_##n(name##_rd, type, operation, "rm", suffix, letter)
#define CORUN_ROUND_ALL(n, name, type, operation, suffix, letter) \
    CORUN_ROUND_##n(name##_rn, type, operation, "rn", suffix, letter) \
        CORUN_ROUND_OTHERS(n, name, type, operation, suffix, letter)
CORUN_ROUND_OTHERS(2, __fadd, float, "add", ".f32", "f")
CORUN_ROUND_OTHERS(2, __fsub, float, "sub", ".f32", "f")
CORUN_ROUND_OTHERS(2, __fmul, float, "mul", ".f32", "f")
CORUN_ROUND_OTHERS(2, __fdiv, float, "div", ".f32", "f")
CORUN_ROUND_OTHERS(3, __fmaf, float, "fma", ".f32", "f")
CORUN_ROUND_OTHERS(1, __frcp, float, "rcp", ".f32", "f")
CORUN_ROUND_ALL(1, __fsqrt, float, "sqrt", ".f32", "f")
CORUN_ROUND_ALL(2, __dadd, double, "add", ".f64", "d")
CORUN_ROUND_ALL(2, __dsub, double, "sub", ".f64", "d")
CORUN_ROUND_ALL(2, __dmul, double, "mul", ".f64", "d")
CORUN_ROUND_ALL(2, __ddiv, double, "div", ".f64", "d")
CORUN_ROUND_ALL(3, __fma, double, "fma", ".f64", "d")
CORUN_ROUND_ALL(1, __drcp, double, "rcp", ".f64", "d")
CORUN_ROUND_ALL(1, __dsqrt, double, "sqrt", ".f64", "d")
#undef CORUN_ROUND_1
#undef CORUN_ROUND_2
#undef CORUN_ROUND_3
#undef CORUN_ROUND_OTHERS
#undef CORUN_ROUND_ALL

/* By way of double precision, which has more than twice the bits. */
CORUN_DEVICE_FUNCTION float __frsqrt_rn(float x)
{
    return __double2float_rn(__ddiv_rn(1.0, __dsqrt_rn(x)));
}
CORUN_DEVICE_FUNCTION float fdividef(float x, float y)
{
    return x / y;
}

/* ---- special function unit ---- */

CORUN_DEVICE_FUNCTION float __log2f(float x)
{
    return __nvvm_lg2_approx_f(x);
}
CORUN_DEVICE_FUNCTION float __log10f(float x)
{
    return __nvvm_lg2_approx_f(x) * 0.30102999f;
}
CORUN_DEVICE_FUNCTION float __exp10f(float x)
{
    return __nvvm_ex2_approx_f(x * 3.32192809f);
}
CORUN_DEVICE_FUNCTION float __powf(float x, float y)
{
    return __nvvm_ex2_approx_f(y * __nvvm_lg2_approx_f(x));
}
CORUN_DEVICE_FUNCTION float __tanf(float x)
{
    return __fdividef(__sinf(x), __cosf(x));
}
CORUN_DEVICE_FUNCTION void __sincosf(float x, float *sine, float *cosine)
{
    *sine = __sinf(x);
    *cosine = __cosf(x);
}

#endif
