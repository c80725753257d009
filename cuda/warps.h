/* SPDX-License-Identifier: MIT */
/* What CUDA C++ has for a warp beside votes and shuffles, and for a thread's
 * place and time: reductions, matches, clocks, address spaces. */
#ifndef CORUN_WARPS_H
#define CORUN_WARPS_H

#include "device.h"

#include <stddef.h>
#include <time.h> /* the type of clock() */

#define CORUN_REDUCE(name, type, operation) \
    CORUN_DEVICE_FUNCTION type name(unsigned int mask, type value) \
    { \
        type result; \
        asm volatile("redux.sync." operation " %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask)); \
        return result; \
    }
CORUN_REDUCE(__reduce_add_sync, unsigned int, "add.u32")
CORUN_REDUCE(__reduce_min_sync, unsigned int, "min.u32")
CORUN_REDUCE(__reduce_max_sync, unsigned int, "max.u32")
CORUN_REDUCE(__reduce_add_sync, int, "add.s32")
CORUN_REDUCE(__reduce_min_sync, int, "min.s32")
CORUN_REDUCE(__reduce_max_sync, int, "max.s32")
CORUN_REDUCE(__reduce_and_sync, unsigned int, "and.b32")
CORUN_REDUCE(__reduce_or_sync, unsigned int, "or.b32")
CORUN_REDUCE(__reduce_xor_sync, unsigned int, "xor.b32")
#undef CORUN_REDUCE

/* The lanes that have this lane's value; all lanes of the mask where they have
 * the same one, else none. */
template <typename T> CORUN_DEVICE_FUNCTION unsigned int __match_any_sync(unsigned int mask, T value)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a value of 32 or 64 bits");
    unsigned int lanes, word;
    unsigned long long words;
    if (sizeof(T) == 4) {
        __builtin_memcpy(&word, &value, 4);
        asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(lanes) : "r"(word), "r"(mask));
    } else {
        __builtin_memcpy(&words, &value, sizeof value);
        asm volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(lanes) : "l"(words), "r"(mask));
    }
    return lanes;
}
template <typename T> CORUN_DEVICE_FUNCTION unsigned int __match_all_sync(unsigned int mask, T value, int *same)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a value of 32 or 64 bits");
    unsigned int lanes, word;
    unsigned long long words;
    int all;
    if (sizeof(T) == 4) {
        __builtin_memcpy(&word, &value, 4);
        asm volatile("{.reg .pred p; match.all.sync.b32 %0|p, %2, %3; selp.s32 %1, 1, 0, p;}"
                     : "=r"(lanes), "=r"(all)
                     : "r"(word), "r"(mask));
    } else {
        __builtin_memcpy(&words, &value, sizeof value);
        asm volatile("{.reg .pred p; match.all.sync.b64 %0|p, %2, %3; selp.s32 %1, 1, 0, p;}"
                     : "=r"(lanes), "=r"(all)
                     : "l"(words), "r"(mask));
    }
    *same = all;
    return lanes;
}

/* ---- time ---- */

CORUN_DEVICE_FUNCTION clock_t clock()
{
    int cycles;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
    return cycles;
}
CORUN_DEVICE_FUNCTION long long clock64()
{
    long long cycles;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
    return cycles;
}
CORUN_DEVICE_FUNCTION void __nanosleep(unsigned int nanoseconds)
{
    asm volatile("nanosleep.u32 %0;" ::"r"(nanoseconds) : "memory");
}

/* ---- ends ---- */

CORUN_DEVICE_FUNCTION void __trap()
{
    asm volatile("trap;" ::: "memory");
}
CORUN_DEVICE_FUNCTION void __brkpt()
{
    asm volatile("brkpt;" ::: "memory");
}

/* ---- address spaces ---- */

#define CORUN_IS_IN(name, space) \
    CORUN_DEVICE_FUNCTION unsigned int name(const void *pointer) \
    { \
        unsigned int in; \
        asm("{.reg .pred p; isspacep." space " p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(in) : "l"(pointer)); \
        return in; \
    }
CORUN_IS_IN(__isGlobal, "global")
CORUN_IS_IN(__isShared, "shared")
CORUN_IS_IN(__isLocal, "local")
#undef CORUN_IS_IN
#define CORUN_ADDRESS_IN(name, space) \
    CORUN_DEVICE_FUNCTION size_t __cvta_generic_to_##name(const void *pointer) \
    { \
        size_t address; \
        asm("cvta.to." space ".u64 %0, %1;" : "=l"(address) : "l"(pointer)); \
        return address; \
    } \
    CORUN_DEVICE_FUNCTION void *__cvta_##name##_to_generic(size_t address) \
    { \
        void *pointer; \
        asm("cvta." space ".u64 %0, %1;" : "=l"(pointer) : "l"(address)); \
        return pointer; \
    }
CORUN_ADDRESS_IN(global, "global")
CORUN_ADDRESS_IN(shared, "shared")
CORUN_ADDRESS_IN(local, "local")
#undef CORUN_ADDRESS_IN

#endif
