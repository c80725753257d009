/* SPDX-License-Identifier: MIT */
/*
 * Integer intrinsics of CUDA C++ beside those that the suite's kernels need
 * (device.h): bits, high halves of products, dot products, and lanes of 8 and
 * 16 bits in a word.
 */
#ifndef CORUN_INTEGERS_H
#define CORUN_INTEGERS_H

#include "device.h"
#include "vector_types.h"

/* ---- bits ---- */

CORUN_DEVICE_FUNCTION int __clzll(long long x)
{
    return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}
CORUN_DEVICE_FUNCTION int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
CORUN_DEVICE_FUNCTION int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}
CORUN_DEVICE_FUNCTION unsigned long long __brevll(unsigned long long x)
{
    return __builtin_bitreverse64(x);
}

/* 32 bits of `high` and `low` side by side, shifted; by the shift's five low
 * bits, or (c) by 32 at most. */
CORUN_DEVICE_FUNCTION unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift)
{
    unsigned long long both = (unsigned long long)high << 32 | low;
    return (unsigned int)(both << (shift & 31) >> 32);
}
CORUN_DEVICE_FUNCTION unsigned int __funnelshift_lc(unsigned int low, unsigned int high, unsigned int shift)
{
    return shift < 32 ? __funnelshift_l(low, high, shift) : low;
}
CORUN_DEVICE_FUNCTION unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift)
{
    unsigned long long both = (unsigned long long)high << 32 | low;
    return (unsigned int)(both >> (shift & 31));
}
CORUN_DEVICE_FUNCTION unsigned int __funnelshift_rc(unsigned int low, unsigned int high, unsigned int shift)
{
    return shift < 32 ? __funnelshift_r(low, high, shift) : high;
}

/* The place of the bit that is set for the `offset`th time, upwards from
 * `base`, or downwards from it; base itself has to be set for 0. */
CORUN_DEVICE_FUNCTION unsigned int __fns(unsigned int mask, unsigned int base, int offset)
{
    int step = offset < 0 ? -1 : 1;
    int left = offset < 0 ? -offset : offset;
    if (offset == 0)
        return mask >> (base & 31) & 1 ? base : 0xffffffffu;
    for (int i = (int)base; i >= 0 && i < 32; i += step)
        if (mask >> i & 1 && --left == 0)
            return (unsigned int)i;
    return 0xffffffffu;
}

/* ---- products and sums ---- */

CORUN_DEVICE_FUNCTION int __mulhi(int x, int y)
{
    return (int)(((long long)x * y) >> 32);
}
CORUN_DEVICE_FUNCTION long long __mul64hi(long long x, long long y)
{
    return __nvvm_mulhi_ll(x, y);
}
CORUN_DEVICE_FUNCTION unsigned long long __umul64hi(unsigned long long x, unsigned long long y)
{
    return __nvvm_mulhi_ull(x, y);
}
/* Of the low 24 bits, with their sign and without. */
CORUN_DEVICE_FUNCTION int __mul24(int x, int y)
{
    return __nvvm_mul24_i(x, y);
}
CORUN_DEVICE_FUNCTION unsigned int __umul24(unsigned int x, unsigned int y)
{
    return __nvvm_mul24_ui(x, y);
}
CORUN_DEVICE_FUNCTION unsigned int __sad(int x, int y, unsigned int z)
{
    return z + (x > y ? (unsigned int)x - (unsigned int)y : (unsigned int)y - (unsigned int)x);
}
CORUN_DEVICE_FUNCTION unsigned int __usad(unsigned int x, unsigned int y, unsigned int z)
{
    return z + (x > y ? x - y : y - x);
}
CORUN_DEVICE_FUNCTION int __hadd(int x, int y)
{
    return (int)(((long long)x + y) >> 1);
}
CORUN_DEVICE_FUNCTION int __rhadd(int x, int y)
{
    return (int)(((long long)x + y + 1) >> 1);
}
CORUN_DEVICE_FUNCTION unsigned int __uhadd(unsigned int x, unsigned int y)
{
    return (unsigned int)(((unsigned long long)x + y) >> 1);
}
CORUN_DEVICE_FUNCTION unsigned int __urhadd(unsigned int x, unsigned int y)
{
    return (unsigned int)(((unsigned long long)x + y + 1) >> 1);
}

#define CORUN_DOT(name, type, first, second, operation) \
    CORUN_DEVICE_FUNCTION type name(first a, second b, type c) \
    { \
        unsigned int x, y; \
        type result; \
        __builtin_memcpy(&x, &a, sizeof x); \
        __builtin_memcpy(&y, &b, sizeof y); \
        asm(operation " %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(y), "r"(c)); \
        return result; \
    }
CORUN_DOT(__dp4a, int, int, int, "dp4a.s32.s32")
CORUN_DOT(__dp4a, int, char4, char4, "dp4a.s32.s32")
CORUN_DOT(__dp4a, unsigned int, unsigned int, unsigned int, "dp4a.u32.u32")
CORUN_DOT(__dp4a, unsigned int, uchar4, uchar4, "dp4a.u32.u32")
CORUN_DOT(__dp2a_lo, int, int, int, "dp2a.lo.s32.s32")
CORUN_DOT(__dp2a_hi, int, int, int, "dp2a.hi.s32.s32")
CORUN_DOT(__dp2a_lo, unsigned int, unsigned int, unsigned int, "dp2a.lo.u32.u32")
CORUN_DOT(__dp2a_hi, unsigned int, unsigned int, unsigned int, "dp2a.hi.u32.u32")
CORUN_DOT(__dp2a_lo, int, short2, char4, "dp2a.lo.s32.s32")
CORUN_DOT(__dp2a_hi, int, short2, char4, "dp2a.hi.s32.s32")
CORUN_DOT(__dp2a_lo, unsigned int, ushort2, uchar4, "dp2a.lo.u32.u32")
CORUN_DOT(__dp2a_hi, unsigned int, ushort2, uchar4, "dp2a.hi.u32.u32")
#undef CORUN_DOT

/* ---- four bytes, or two halves, in a word ---- */

/* `Lane` says how wide the lanes are, and whether they have a sign; what is
 * computed is cut to that width. */
template <typename Lane, typename F>
static inline __attribute__((device, always_inline)) unsigned int corun_by_lane(unsigned int a, unsigned int b,
                                                                                F compute)
{
    const unsigned int width = 8 * sizeof(Lane), mask = (1u << width) - 1;
    unsigned int result = 0;
#pragma unroll
    for (unsigned int i = 0; i < 32; i += width)
        result |= ((unsigned int)compute((int)(Lane)(a >> i), (int)(Lane)(b >> i)) & mask) << i;
    return result;
}
CORUN_DEVICE_FUNCTION int corun_between(int least, int x, int most)
{
    return x < least ? least : x > most ? most : x;
}
#define CORUN_LANES(name, lane, expression) \
    CORUN_DEVICE_FUNCTION unsigned int name(unsigned int a, unsigned int b) \
    { \
        return corun_by_lane<lane>(a, b, [](int x, int y) -> int { return (expression); }); \
    }
#define CORUN_LANES_1(name, lane, expression) \
    CORUN_DEVICE_FUNCTION unsigned int name(unsigned int a) \
    { \
        return corun_by_lane<lane>(a, 0, [](int x, int) -> int { return (expression); }); \
    }
#define CORUN_LANES_COMPARED(word, symbol, lane, n) \
    CORUN_LANES(__vcmp##word##n, lane, x symbol y ? -1 : 0) \
    CORUN_LANES(__vset##word##n, lane, x symbol y ? 1 : 0)
#define CORUN_LANES_OF(n, signed_lane, unsigned_lane, least, most, most_unsigned) \
    CORUN_LANES(__vadd##n, unsigned_lane, x + y) \
    CORUN_LANES(__vsub##n, unsigned_lane, x - y) \
    CORUN_LANES(__vaddss##n, signed_lane, corun_between(least, x + y, most)) \
    CORUN_LANES(__vsubss##n, signed_lane, corun_between(least, x - y, most)) \
    CORUN_LANES(__vaddus##n, unsigned_lane, corun_between(0, x + y, most_unsigned)) \
    CORUN_LANES(__vsubus##n, unsigned_lane, corun_between(0, x - y, most_unsigned)) \
    CORUN_LANES(__vavgs##n, signed_lane, (x + y + (x + y >= 0)) >> 1) \
    CORUN_LANES(__vavgu##n, unsigned_lane, (x + y + 1) >> 1) \
    CORUN_LANES(__vhaddu##n, unsigned_lane, (x + y) >> 1) \
    CORUN_LANES(__vabsdiffs##n, signed_lane, x > y ? x - y : y - x) \
    CORUN_LANES(__vabsdiffu##n, unsigned_lane, x > y ? x - y : y - x) \
    CORUN_LANES(__vmins##n, signed_lane, x < y ? x : y) \
    CORUN_LANES(__vmaxs##n, signed_lane, x > y ? x : y) \
    CORUN_LANES(__vminu##n, unsigned_lane, x < y ? x : y) \
    CORUN_LANES(__vmaxu##n, unsigned_lane, x > y ? x : y) \
    CORUN_LANES_1(__vabs##n, signed_lane, x < 0 ? -x : x) \
    CORUN_LANES_1(__vabsss##n, signed_lane, corun_between(0, x < 0 ? -x : x, most)) \
    CORUN_LANES_1(__vneg##n, signed_lane, -x) \
    CORUN_LANES_1(__vnegss##n, signed_lane, corun_between(least, -x, most)) \
    CORUN_LANES_COMPARED(eq, ==, unsigned_lane, n) \
    CORUN_LANES_COMPARED(ne, !=, unsigned_lane, n) \
    CORUN_LANES_COMPARED(lts, <, signed_lane, n) \
    CORUN_LANES_COMPARED(les, <=, signed_lane, n) \
    CORUN_LANES_COMPARED(gts, >, signed_lane, n) \
    CORUN_LANES_COMPARED(ges, >=, signed_lane, n) \
    CORUN_LANES_COMPARED(ltu, <, unsigned_lane, n) \
    CORUN_LANES_COMPARED(leu, <=, unsigned_lane, n) \
    CORUN_LANES_COMPARED(gtu, >, unsigned_lane, n) \
    CORUN_LANES_COMPARED(geu, >=, unsigned_lane, n) \
    CORUN_DEVICE_FUNCTION unsigned int __vsads##n(unsigned int a, unsigned int b) \
    { \
        return corun_lane_sum<unsigned_lane>(__vabsdiffs##n(a, b)); \
    } \
    CORUN_DEVICE_FUNCTION unsigned int __vsadu##n(unsigned int a, unsigned int b) \
    { \
        return corun_lane_sum<unsigned_lane>(__vabsdiffu##n(a, b)); \
    }
template <typename Lane>
static inline __attribute__((device, always_inline)) unsigned int corun_lane_sum(unsigned int a)
{
    unsigned int result = 0;
#pragma unroll
    for (unsigned int i = 0; i < 32; i += 8 * sizeof(Lane))
        result += (Lane)(a >> i);
    return result;
}
CORUN_LANES_OF(4, signed char, unsigned char, -128, 127, 255)
CORUN_LANES_OF(2, short, unsigned short, -32768, 32767, 65535)
#undef CORUN_LANES
#undef CORUN_LANES_1
#undef CORUN_LANES_COMPARED
#undef CORUN_LANES_OF

#endif
