/* SPDX-License-Identifier: MIT */
/*
 * Device functions of CUDA C++ beside those that the suite's kernels need (device.h): double precision, other integers, shuffles of all types,
 * atomics of 64 bits, malloc. What libclc has is declared, under the names that it has there.
 */
#ifndef CORUN_DEVICE_FUNCTIONS_H
#define CORUN_DEVICE_FUNCTIONS_H

#include "device.h"
#include "vector_types.h"

/* The C++ library's operators new and delete name these in device code. */
extern "C" {
__device__ void *malloc(__SIZE_TYPE__ bytes);
__device__ void free(void *pointer);
}

/* Device code may use new and delete without a header of the C++ library. */
#include <new>

CORUN_DEVICE_FUNCTION void __threadfence_system()
{
    asm volatile("membar.sys;" ::: "memory");
}
CORUN_DEVICE_FUNCTION int __syncthreads_count(int predicate)
{
    return __nvvm_bar0_popc(predicate);
}
CORUN_DEVICE_FUNCTION int __syncthreads_and(int predicate)
{
    return __nvvm_bar0_and(predicate);
}
CORUN_DEVICE_FUNCTION int __syncthreads_or(int predicate)
{
    return __nvvm_bar0_or(predicate);
}

/* ---- warps ---- */

CORUN_DEVICE_FUNCTION unsigned __activemask()
{
    unsigned mask;
    asm volatile("activemask.b32 %0;" : "=r"(mask));
    return mask;
}

/* Of `width` lanes side by side, a power of two: the first of them, and where a shuffle may not go beyond. */
#define CORUN_SHUFFLE_BOUND(width, end) (((32 - (width)) << 8) | (end))

/* A value as words of 32 bits, each of which goes its way. */
template <typename T, typename F> static inline __attribute__((device)) T corun_shuffle(T value, F move)
{
    static_assert(sizeof(T) % 4 == 0, "a value of 32 or 64 bits");
    int words[sizeof(T) / 4];
    __builtin_memcpy(words, &value, sizeof value);
    for (unsigned i = 0; i < sizeof(T) / 4; i++)
        words[i] = move(words[i]);
    __builtin_memcpy(&value, words, sizeof value);
    return value;
}

#define CORUN_SHUFFLES(type) \
    CORUN_DEVICE_FUNCTION type __shfl_sync(unsigned int mask, type value, int lane, int width) \
    { \
        return corun_shuffle(value, [=](int word) { \
            return __nvvm_shfl_sync_idx_i32(mask, word, lane, CORUN_SHUFFLE_BOUND(width, 0x1f)); \
        }); \
    } \
    CORUN_DEVICE_FUNCTION type __shfl_up_sync(unsigned int mask, type value, unsigned int delta, int width) \
    { \
        return corun_shuffle(value, [=](int word) { \
            return __nvvm_shfl_sync_up_i32(mask, word, (int)delta, CORUN_SHUFFLE_BOUND(width, 0)); \
        }); \
    } \
    CORUN_DEVICE_FUNCTION type __shfl_down_sync(unsigned int mask, type value, unsigned int delta, int width) \
    { \
        return corun_shuffle(value, [=](int word) { \
            return __nvvm_shfl_sync_down_i32(mask, word, (int)delta, CORUN_SHUFFLE_BOUND(width, 0x1f)); \
        }); \
    } \
    CORUN_DEVICE_FUNCTION type __shfl_xor_sync(unsigned int mask, type value, int lanes, int width) \
    { \
        return corun_shuffle(value, [=](int word) { \
            return __nvvm_shfl_sync_bfly_i32(mask, word, lanes, CORUN_SHUFFLE_BOUND(width, 0x1f)); \
        }); \
    }
#define CORUN_SHUFFLE_IN_WARP(name, type, third) \
    CORUN_DEVICE_FUNCTION type name(unsigned int mask, type value, third by) \
    { \
        return name(mask, value, by, 32); \
    }
#define CORUN_SHUFFLES_IN_WARP(type) \
    CORUN_SHUFFLE_IN_WARP(__shfl_sync, type, int) \
    CORUN_SHUFFLE_IN_WARP(__shfl_up_sync, type, unsigned int) \
    CORUN_SHUFFLE_IN_WARP(__shfl_down_sync, type, unsigned int) \
    CORUN_SHUFFLE_IN_WARP(__shfl_xor_sync, type, int)

CORUN_SHUFFLES(int)
CORUN_SHUFFLES(unsigned int)
CORUN_SHUFFLES(float)
CORUN_SHUFFLES(long)
CORUN_SHUFFLES(unsigned long)
CORUN_SHUFFLES(long long)
CORUN_SHUFFLES(unsigned long long)
CORUN_SHUFFLES(double)
CORUN_SHUFFLES_IN_WARP(long)
CORUN_SHUFFLES_IN_WARP(unsigned long)
CORUN_SHUFFLES_IN_WARP(long long)
CORUN_SHUFFLES_IN_WARP(unsigned long long)
CORUN_SHUFFLES_IN_WARP(double)
/* What device.h has not of the others. */
CORUN_SHUFFLE_IN_WARP(__shfl_sync, float, int)
CORUN_SHUFFLE_IN_WARP(__shfl_up_sync, float, unsigned int)
CORUN_SHUFFLE_IN_WARP(__shfl_down_sync, unsigned int, unsigned int)
CORUN_SHUFFLE_IN_WARP(__shfl_xor_sync, unsigned int, int)

/* ---- double precision, as libclc has it, and as operations of PTX ---- */

#define CORUN_DOUBLE_1(name) __device__ double name(double x);
#define CORUN_DOUBLE_2(name) __device__ double name(double x, double y);
CORUN_DOUBLE_1(exp)
CORUN_DOUBLE_1(log)
CORUN_DOUBLE_1(sin)
CORUN_DOUBLE_1(cos)
CORUN_DOUBLE_2(pow)

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

/* The same names for floats, as in C++. */
CORUN_DEVICE_FUNCTION float fma(float x, float y, float z)
{
    return fmaf(x, y, z);
}
CORUN_DEVICE_FUNCTION float sqrt(float x)
{
    return sqrtf(x);
}
CORUN_DEVICE_FUNCTION float fabs(float x)
{
    return fabsf(x);
}

#define CORUN_LEAST_AND_MOST(type) \
    CORUN_DEVICE_FUNCTION type min(type x, type y) \
    { \
        return x < y ? x : y; \
    } \
    CORUN_DEVICE_FUNCTION type max(type x, type y) \
    { \
        return x > y ? x : y; \
    }
CORUN_LEAST_AND_MOST(long)
CORUN_LEAST_AND_MOST(unsigned long)
CORUN_LEAST_AND_MOST(long long)
CORUN_LEAST_AND_MOST(unsigned long long)
CORUN_DEVICE_FUNCTION float min(float x, float y)
{
    return fminf(x, y);
}
CORUN_DEVICE_FUNCTION float max(float x, float y)
{
    return fmaxf(x, y);
}
CORUN_DEVICE_FUNCTION double min(double x, double y)
{
    return fmin(x, y);
}
CORUN_DEVICE_FUNCTION double max(double x, double y)
{
    return fmax(x, y);
}

/* ---- atomics ---- */

CORUN_DEVICE_FUNCTION unsigned long long atomicCAS(unsigned long long *p, unsigned long long compare,
                                                   unsigned long long v)
{
    return (unsigned long long)__nvvm_atom_cas_gen_ll((long long *)p, (long long)compare, (long long)v);
}
CORUN_DEVICE_FUNCTION int atomicCAS(int *p, int compare, int v)
{
    return __nvvm_atom_cas_gen_i(p, compare, v);
}
CORUN_DEVICE_FUNCTION unsigned long long atomicExch(unsigned long long *p, unsigned long long v)
{
    return (unsigned long long)__nvvm_atom_xchg_gen_ll((long long *)p, (long long)v);
}
CORUN_DEVICE_FUNCTION int atomicExch(int *p, int v)
{
    return __nvvm_atom_xchg_gen_i(p, v);
}
CORUN_DEVICE_FUNCTION int atomicSub(int *p, int v)
{
    return __nvvm_atom_add_gen_i(p, -v);
}
CORUN_DEVICE_FUNCTION unsigned int atomicSub(unsigned int *p, unsigned int v)
{
    return (unsigned int)__nvvm_atom_add_gen_i((int *)p, -(int)v);
}
CORUN_DEVICE_FUNCTION int atomicOr(int *p, int v)
{
    return __nvvm_atom_or_gen_i(p, v);
}
CORUN_DEVICE_FUNCTION unsigned int atomicAnd(unsigned int *p, unsigned int v)
{
    return (unsigned int)__nvvm_atom_and_gen_i((int *)p, (int)v);
}
CORUN_DEVICE_FUNCTION int atomicAnd(int *p, int v)
{
    return __nvvm_atom_and_gen_i(p, v);
}

#endif
