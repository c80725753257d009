/* SPDX-License-Identifier: MIT */
/*
 * Device functions of CUDA C++ beside those that the suite's kernels need
 * (device.h): barriers, shuffles of all types, the smaller and the larger one,
 * memory, assert; and the headers that have the others.
 */
#ifndef CORUN_DEVICE_FUNCTIONS_H
#define CORUN_DEVICE_FUNCTIONS_H

#include "atomics.h"
#include "cached.h"
#include "device.h"
#include "integers.h"
#include "math_functions.h"
#include "roundings.h"
#include "vector_types.h"
#include "warps.h"

#define __grid_constant__ /* a promise about parameters, which changes no      \
                             result */
#define __builtin_align__(bytes) __align__(bytes)

/* clang takes a variable that no other file can name, in a namespace without a
 * name or of a type without one, for a constant if no kernel writes it: the
 * program may. Where it is declared alone there is nothing to keep. */
#undef __constant__
#define __constant__ __attribute__((constant, used))
#pragma clang diagnostic ignored "-Wignored-attributes"

/* The C++ library's operators new and delete name these in device code. */
extern "C" {
__device__ void *malloc(__SIZE_TYPE__ bytes);
__device__ void free(void *pointer);
}

/* Device code may use new and delete without a header of the C++ library. What
 * nvcc includes, programs use without a word, too. */
#include <alloca.h>
#include <math.h>
#include <new>
#include <stdlib.h>
#include <string.h>

/* clang's back end knows no alloca, PTX does. It lasts until the function of
 * PTX returns into which this is inlined. */
#ifdef __CUDA_ARCH__
__attribute__((host, device, always_inline)) static inline void *corun_alloca(__SIZE_TYPE__ bytes)
{
    void *block;
    __asm__ volatile("{\n\t.reg .b64 %%here;\n\talloca.u64 %%here, %1, 16;\n\tcvta.local.u64 %0, %%here;\n\t}"
                     : "=l"(block)
                     : "l"(bytes)
                     : "memory");
    return block;
}
#undef alloca
#define alloca(bytes) corun_alloca(bytes)
#endif

/* ---- memory and ends ---- */

CORUN_DEVICE_FUNCTION void *memcpy(void *to, const void *from, size_t bytes)
{
    return __builtin_memcpy(to, from, bytes);
}
CORUN_DEVICE_FUNCTION void *memset(void *to, int value, size_t bytes)
{
    return __builtin_memset(to, value, bytes);
}

/* What assert of <assert.h> calls; the CUDA function that it becomes ends the
 * kernel with cudaErrorAssert. */
extern "C" __device__ void __assertfail(const char *message, const char *file, unsigned line, const char *function,
                                        size_t bytes);
static inline __attribute__((device, noreturn)) void __assert_fail(const char *message, const char *file, unsigned line,
                                                                   const char *function)
{
    __assertfail(message, file, line, function, 1);
    __builtin_unreachable();
}

/* ---- barriers ---- */

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

/* Of `width` lanes side by side, a power of two: the first of them, and where a
 * shuffle may not go beyond. */
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

/* Of two types: in the wider one, or in the one without a sign. */
#define CORUN_LEAST_AND_MOST_OF(first, second, type) \
    CORUN_DEVICE_FUNCTION type min(first x, second y) \
    { \
        return min((type)x, (type)y); \
    } \
    CORUN_DEVICE_FUNCTION type max(first x, second y) \
    { \
        return max((type)x, (type)y); \
    }
CORUN_LEAST_AND_MOST_OF(int, unsigned int, unsigned int)
CORUN_LEAST_AND_MOST_OF(unsigned int, int, unsigned int)
CORUN_LEAST_AND_MOST_OF(long, unsigned long, unsigned long)
CORUN_LEAST_AND_MOST_OF(unsigned long, long, unsigned long)
CORUN_LEAST_AND_MOST_OF(long long, unsigned long long, unsigned long long)
CORUN_LEAST_AND_MOST_OF(unsigned long long, long long, unsigned long long)
CORUN_LEAST_AND_MOST_OF(float, double, double)
CORUN_LEAST_AND_MOST_OF(double, float, double)
#undef CORUN_LEAST_AND_MOST_OF
#undef CORUN_LEAST_AND_MOST

/* nvcc's headers have these on the host, too. */
#define CORUN_LEAST_AND_MOST_ON_HOST(first, second, type) \
    static inline __attribute__((host)) type min(first x, second y) \
    { \
        return (type)x < (type)y ? (type)x : (type)y; \
    } \
    static inline __attribute__((host)) type max(first x, second y) \
    { \
        return (type)x > (type)y ? (type)x : (type)y; \
    }
CORUN_LEAST_AND_MOST_ON_HOST(int, int, int)
CORUN_LEAST_AND_MOST_ON_HOST(unsigned int, unsigned int, unsigned int)
CORUN_LEAST_AND_MOST_ON_HOST(int, unsigned int, unsigned int)
CORUN_LEAST_AND_MOST_ON_HOST(unsigned int, int, unsigned int)
CORUN_LEAST_AND_MOST_ON_HOST(long, long, long)
CORUN_LEAST_AND_MOST_ON_HOST(unsigned long, unsigned long, unsigned long)
CORUN_LEAST_AND_MOST_ON_HOST(long, unsigned long, unsigned long)
CORUN_LEAST_AND_MOST_ON_HOST(unsigned long, long, unsigned long)
CORUN_LEAST_AND_MOST_ON_HOST(long long, long long, long long)
CORUN_LEAST_AND_MOST_ON_HOST(unsigned long long, unsigned long long, unsigned long long)
CORUN_LEAST_AND_MOST_ON_HOST(long long, unsigned long long, unsigned long long)
CORUN_LEAST_AND_MOST_ON_HOST(unsigned long long, long long, unsigned long long)
CORUN_LEAST_AND_MOST_ON_HOST(float, float, float)
CORUN_LEAST_AND_MOST_ON_HOST(double, double, double)
CORUN_LEAST_AND_MOST_ON_HOST(float, double, double)
CORUN_LEAST_AND_MOST_ON_HOST(double, float, double)
#undef CORUN_LEAST_AND_MOST_ON_HOST

#endif
