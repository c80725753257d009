/* SPDX-License-Identifier: MIT */
/*
 * Loads and stores of CUDA C++ that say which caches to use: __ldg, __ldca to
 * __ldcv, __stwb to __stwt, of scalars and vectors of 1, 2, 4, 8 and 16 bytes.
 * device.h has some types of __ldg.
 */
#ifndef CORUN_CACHED_H
#define CORUN_CACHED_H

#include "device.h"

/* As what a value is moved. */
template <unsigned long Bytes> struct corun_word;
template <> struct corun_word<1> {
    typedef unsigned char type;
};
template <> struct corun_word<2> {
    typedef unsigned short type;
};
template <> struct corun_word<4> {
    typedef unsigned int type;
};
template <> struct corun_word<8> {
    typedef unsigned long long type;
};
template <> struct corun_word<16> {
    typedef uint4 type;
};

#define CORUN_LOADS(name, operation, how, clobber) \
    CORUN_DEVICE_FUNCTION unsigned char corun_##name(const unsigned char *p) \
    { \
        unsigned short word; \
        asm how(operation ".u8 %0, [%1];" : "=h"(word) : "l"(p)clobber); \
        return (unsigned char)word; \
    } \
    CORUN_DEVICE_FUNCTION unsigned short corun_##name(const unsigned short *p) \
    { \
        unsigned short word; \
        asm how(operation ".u16 %0, [%1];" : "=h"(word) : "l"(p)clobber); \
        return word; \
    } \
    CORUN_DEVICE_FUNCTION unsigned int corun_##name(const unsigned int *p) \
    { \
        unsigned int word; \
        asm how(operation ".u32 %0, [%1];" : "=r"(word) : "l"(p)clobber); \
        return word; \
    } \
    CORUN_DEVICE_FUNCTION unsigned long long corun_##name(const unsigned long long *p) \
    { \
        unsigned long long word; \
        asm how(operation ".u64 %0, [%1];" : "=l"(word) : "l"(p)clobber); \
        return word; \
    } \
    CORUN_DEVICE_FUNCTION uint4 corun_##name(const uint4 *p) \
    { \
        uint4 word; \
        asm how(operation ".v4.u32 {%0, %1, %2, %3}, [%4];" \
                : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w) \
                : "l"(p)clobber); \
        return word; \
    } \
    template <typename T> CORUN_DEVICE_FUNCTION T __##name(const T *p) \
    { \
        typedef typename corun_word<sizeof(T)>::type word_of; \
        T value; \
        word_of word = corun_##name((const word_of *)p); \
        __builtin_memcpy(&value, &word, sizeof value); \
        return value; \
    }
#define CORUN_STORES(name, operation) \
    CORUN_DEVICE_FUNCTION void corun_##name(unsigned char *p, unsigned char word) \
    { \
        asm volatile(operation ".u8 [%0], %1;" ::"l"(p), "h"((unsigned short)word) : "memory"); \
    } \
    CORUN_DEVICE_FUNCTION void corun_##name(unsigned short *p, unsigned short word) \
    { \
        asm volatile(operation ".u16 [%0], %1;" ::"l"(p), "h"(word) : "memory"); \
    } \
    CORUN_DEVICE_FUNCTION void corun_##name(unsigned int *p, unsigned int word) \
    { \
        asm volatile(operation ".u32 [%0], %1;" ::"l"(p), "r"(word) : "memory"); \
    } \
    CORUN_DEVICE_FUNCTION void corun_##name(unsigned long long *p, unsigned long long word) \
    { \
        asm volatile(operation ".u64 [%0], %1;" ::"l"(p), "l"(word) : "memory"); \
    } \
    CORUN_DEVICE_FUNCTION void corun_##name(uint4 *p, uint4 word) \
    { \
        asm volatile(operation ".v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(word.x), "r"(word.y), "r"(word.z), \
                     "r"(word.w) \
                     : "memory"); \
    } \
    template <typename T> struct corun_type_of_##name { \
        typedef T type; \
    }; \
    template <typename T> CORUN_DEVICE_FUNCTION void __##name(T *p, typename corun_type_of_##name<T>::type value) \
    { \
        typedef typename corun_word<sizeof(T)>::type word_of; \
        word_of word; \
        __builtin_memcpy(&word, &value, sizeof value); \
        corun_##name((word_of *)p, word); \
    }
#define CORUN_ORDERED : "memory"
CORUN_LOADS(ldg, "ld.global.nc", , )
CORUN_LOADS(ldca, "ld.global.ca", volatile, CORUN_ORDERED)
CORUN_LOADS(ldcg, "ld.global.cg", volatile, CORUN_ORDERED)
CORUN_LOADS(ldcs, "ld.global.cs", volatile, CORUN_ORDERED)
CORUN_LOADS(ldlu, "ld.global.lu", volatile, CORUN_ORDERED)
CORUN_LOADS(ldcv, "ld.global.cv", volatile, CORUN_ORDERED)
CORUN_STORES(stwb, "st.global.wb")
CORUN_STORES(stcg, "st.global.cg")
CORUN_STORES(stcs, "st.global.cs")
CORUN_STORES(stwt, "st.global.wt")
#undef CORUN_LOADS
#undef CORUN_STORES
#undef CORUN_ORDERED

#endif
