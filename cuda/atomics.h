/* SPDX-License-Identifier: MIT */
/*
 * Atomic functions of CUDA C++ beside those that the suite's kernels need
 * (device.h). Those of a thread block (…_block) and of the system (…_system)
 * are those of the GPU: wider than asked for, or as wide, since memory of the
 * host is one with that of the GPU here.
 */
#ifndef CORUN_ATOMICS_H
#define CORUN_ATOMICS_H

#include "device.h"

#define CORUN_ATOMIC(name, type, builtin, as) \
    CORUN_DEVICE_FUNCTION type name(type *p, type v) \
    { \
        return (type)__nvvm_atom_##builtin((as *)p, (as)v); \
    }
CORUN_ATOMIC(atomicExch, int, xchg_gen_i, int)
CORUN_ATOMIC(atomicOr, int, or_gen_i, int)
CORUN_ATOMIC(atomicAnd, int, and_gen_i, int)
CORUN_ATOMIC(atomicAnd, unsigned int, and_gen_i, int)
CORUN_ATOMIC(atomicXor, int, xor_gen_i, int)
CORUN_ATOMIC(atomicXor, unsigned int, xor_gen_i, int)
CORUN_ATOMIC(atomicInc, unsigned int, inc_gen_ui, unsigned int)
CORUN_ATOMIC(atomicDec, unsigned int, dec_gen_ui, unsigned int)
CORUN_ATOMIC(atomicExch, unsigned long long, xchg_gen_ll, long long)
CORUN_ATOMIC(atomicAnd, unsigned long long, and_gen_ll, long long)
CORUN_ATOMIC(atomicOr, unsigned long long, or_gen_ll, long long)
CORUN_ATOMIC(atomicXor, unsigned long long, xor_gen_ll, long long)
CORUN_ATOMIC(atomicMin, unsigned long long, min_gen_ull, unsigned long long)
CORUN_ATOMIC(atomicMax, unsigned long long, max_gen_ull, unsigned long long)
CORUN_ATOMIC(atomicMin, long long, min_gen_ll, long long)
CORUN_ATOMIC(atomicMax, long long, max_gen_ll, long long)
#undef CORUN_ATOMIC

CORUN_DEVICE_FUNCTION int atomicSub(int *p, int v)
{
    return (int)atomicAdd((unsigned int *)p, 0u - (unsigned int)v);
}
CORUN_DEVICE_FUNCTION unsigned int atomicSub(unsigned int *p, unsigned int v)
{
    return atomicAdd(p, 0u - v);
}
CORUN_DEVICE_FUNCTION float atomicExch(float *p, float v)
{
    return __int_as_float(atomicExch((int *)p, __float_as_int(v)));
}
CORUN_DEVICE_FUNCTION int atomicCAS(int *p, int compare, int v)
{
    return __nvvm_atom_cas_gen_i(p, compare, v);
}
CORUN_DEVICE_FUNCTION unsigned long long atomicCAS(unsigned long long *p, unsigned long long compare,
                                                   unsigned long long v)
{
    return (unsigned long long)__nvvm_atom_cas_gen_ll((long long *)p, (long long)compare, (long long)v);
}
CORUN_DEVICE_FUNCTION unsigned short atomicCAS(unsigned short *p, unsigned short compare, unsigned short v)
{
    unsigned short before;
    asm volatile("atom.cas.b16 %0, [%1], %2, %3;" : "=h"(before) : "l"(p), "h"(compare), "h"(v) : "memory");
    return before;
}

/* Programs for older GPUs bring their own function of this name, which comes
 * before a template. */
template <int = 0> CORUN_DEVICE_FUNCTION double atomicAdd(double *p, double v)
{
    double before;
    asm volatile("atom.add.f64 %0, [%1], %2;" : "=d"(before) : "l"(p), "d"(v) : "memory");
    return before;
}

#define CORUN_SCOPED(name) \
    template <typename T, typename V> CORUN_DEVICE_FUNCTION T name##_block(T *p, V v) \
    { \
        return name(p, (T)v); \
    } \
    template <typename T, typename V> CORUN_DEVICE_FUNCTION T name##_system(T *p, V v) \
    { \
        return name(p, (T)v); \
    }
CORUN_SCOPED(atomicAdd)
CORUN_SCOPED(atomicSub)
CORUN_SCOPED(atomicExch)
CORUN_SCOPED(atomicMin)
CORUN_SCOPED(atomicMax)
CORUN_SCOPED(atomicInc)
CORUN_SCOPED(atomicDec)
CORUN_SCOPED(atomicAnd)
CORUN_SCOPED(atomicOr)
CORUN_SCOPED(atomicXor)
#undef CORUN_SCOPED
template <typename T, typename U, typename V> CORUN_DEVICE_FUNCTION T atomicCAS_block(T *p, U compare, V v)
{
    return atomicCAS(p, (T)compare, (T)v);
}
template <typename T, typename U, typename V> CORUN_DEVICE_FUNCTION T atomicCAS_system(T *p, U compare, V v)
{
    return atomicCAS(p, (T)compare, (T)v);
}

#endif
