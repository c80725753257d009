/* SPDX-License-Identifier: MIT */
/*
 * nvcuda::wmma as the toolkit's header of that name has it: fragments of a warp, their loads, stores and products, of halves, bfloats, bytes, tf32 and
 * doubles. Each is one operation of PTX, which is named by its shape, layouts and types.
 */
#ifndef CORUN_MMA_H
#define CORUN_MMA_H

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"

namespace nvcuda
{
namespace wmma
{

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision
{
struct tf32;
}

#define CORUN_WMMA_FUNCTION static inline __attribute__((device))

/* What a thread has of a matrix: elements, and of which words they are made. */
template <typename T, unsigned Count> struct corun_fragment {
    enum { num_elements = Count, num_storage_elements = Count };
    typedef T element_type;
    typedef T storage_element_type;
    T x[Count];
};
template <typename Use, int M, int N, int K, typename T, typename Layout = void> struct fragment;

template <typename Use, int M, int N, int K, typename T, typename Layout, typename V>
CORUN_WMMA_FUNCTION void fill_fragment(fragment<Use, M, N, K, T, Layout> &to, const V &value)
{
    for (int i = 0; i < to.num_elements; i++)
        to.x[i] = value;
}
CORUN_WMMA_FUNCTION float __float_to_tf32(float x)
{
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return __uint_as_float(bits);
}

/* Operands by names: words n0, n1, and so on. */
#define CORUN_WMMA_1(n) "{%[" n "0]}"
#define CORUN_WMMA_2(n) "{%[" n "0], %[" n "1]}"
#define CORUN_WMMA_4(n) "{%[" n "0], %[" n "1], %[" n "2], %[" n "3]}"
#define CORUN_WMMA_8(n) "{%[" n "0], %[" n "1], %[" n "2], %[" n "3], %[" n "4], %[" n "5], %[" n "6], %[" n "7]}"
#define CORUN_WMMA_IN_1(n, letter, words) [n##0] letter(words[0])
#define CORUN_WMMA_OUT_1(n, letter, words) [n##0] "=" letter(words[0])
#define CORUN_WMMA_IN_2(n, letter, words) [n##0] letter(words[0]), [n##1] letter(words[1])
#define CORUN_WMMA_OUT_2(n, letter, words) [n##0] "=" letter(words[0]), [n##1] "=" letter(words[1])
#define CORUN_WMMA_IN_4(n, letter, words) \
    [n##0] letter(words[0]), [n##1] letter(words[1]), [n##2] letter(words[2]), [n##3] letter(words[3])
#define CORUN_WMMA_OUT_4(n, letter, words) \
    [n##0] "=" letter(words[0]), [n##1] "=" letter(words[1]), [n##2] "=" letter(words[2]), [n##3] "=" letter(words[3])
#define CORUN_WMMA_IN_8(n, letter, words) \
    [n##0] letter(words[0]), [n##1] letter(words[1]), [n##2] letter(words[2]), [n##3] letter(words[3]), \
        [n##4] letter(words[4]), [n##5] letter(words[5]), [n##6] letter(words[6]), [n##7] letter(words[7])
#define CORUN_WMMA_OUT_8(n, letter, words) \
    [n##0] "=" letter(words[0]), [n##1] "=" letter(words[1]), [n##2] "=" letter(words[2]), \
        [n##3] "=" letter(words[3]), [n##4] "=" letter(words[4]), [n##5] "=" letter(words[5]), \
        [n##6] "=" letter(words[6]), [n##7] "=" letter(words[7])

/* A matrix a or b of T in a layout: `count` words of `word`, with that letter in assembly. */
#define CORUN_WMMA_OPERAND(use, M, N, K, shape, T, element, elements, type, layout, kind, word, letter, count) \
    template <> struct fragment<matrix_##use, M, N, K, T, layout##_major> : corun_fragment<element, elements> { \
    }; \
    CORUN_WMMA_FUNCTION void load_matrix_sync(fragment<matrix_##use, M, N, K, T, layout##_major> &to, \
                                              const element *from, unsigned stride) \
    { \
        word words[count]; \
        asm volatile("wmma.load." kind ".sync.aligned." #layout "." shape "." type \
                     " " CORUN_WMMA_##count("d") ", [%[from]], %[stride];" \
                     : CORUN_WMMA_OUT_##count(d, letter, words) \
                     : [from] "l"(from), [stride] "r"(stride) \
                     : "memory"); \
        __builtin_memcpy(to.x, words, sizeof words); \
    }
#define CORUN_WMMA_OPERANDS(M, N, K, shape, T, element, a_elements, b_elements, type, word, letter, a_count, b_count) \
    CORUN_WMMA_OPERAND(a, M, N, K, shape, T, element, a_elements, type, row, "a", word, letter, a_count) \
    CORUN_WMMA_OPERAND(b, M, N, K, shape, T, element, b_elements, type, row, "b", word, letter, b_count) \
    CORUN_WMMA_OPERAND(a, M, N, K, shape, T, element, a_elements, type, col, "a", word, letter, a_count) \
    CORUN_WMMA_OPERAND(b, M, N, K, shape, T, element, b_elements, type, col, "b", word, letter, b_count)

/* An accumulator, which has no layout of its own. */
#define CORUN_WMMA_ACCUMULATOR_IN(M, N, K, shape, element, type, layout, word, letter, count) \
    CORUN_WMMA_FUNCTION void corun_load_##layout(fragment<accumulator, M, N, K, element> &to, const element *from, \
                                                 unsigned stride) \
    { \
        word words[count]; \
        asm volatile("wmma.load.c.sync.aligned." #layout "." shape "." type \
                     " " CORUN_WMMA_##count("d") ", [%[from]], %[stride];" \
                     : CORUN_WMMA_OUT_##count(d, letter, words) \
                     : [from] "l"(from), [stride] "r"(stride) \
                     : "memory"); \
        __builtin_memcpy(to.x, words, sizeof words); \
    } \
    CORUN_WMMA_FUNCTION void corun_store_##layout(element *to, const fragment<accumulator, M, N, K, element> &from, \
                                                  unsigned stride) \
    { \
        word words[count]; \
        __builtin_memcpy(words, from.x, sizeof words); \
        asm volatile("wmma.store.d.sync.aligned." #layout "." shape "." type \
                     " [%[to]], " CORUN_WMMA_##count("s") ", %[stride];" ::[to] "l"(to), \
                     [stride] "r"(stride), CORUN_WMMA_IN_##count(s, letter, words) \
                     : "memory"); \
    }
#define CORUN_WMMA_ACCUMULATOR(M, N, K, shape, element, elements, type, word, letter, count) \
    template <> struct fragment<accumulator, M, N, K, element> : corun_fragment<element, elements> { \
    }; \
    CORUN_WMMA_ACCUMULATOR_IN(M, N, K, shape, element, type, row, word, letter, count) \
    CORUN_WMMA_ACCUMULATOR_IN(M, N, K, shape, element, type, col, word, letter, count) \
    CORUN_WMMA_FUNCTION void load_matrix_sync(fragment<accumulator, M, N, K, element> &to, const element *from, \
                                              unsigned stride, layout_t layout) \
    { \
        if (layout == mem_row_major) \
            corun_load_row(to, from, stride); \
        else \
            corun_load_col(to, from, stride); \
    } \
    CORUN_WMMA_FUNCTION void store_matrix_sync(element *to, const fragment<accumulator, M, N, K, element> &from, \
                                               unsigned stride, layout_t layout) \
    { \
        if (layout == mem_row_major) \
            corun_store_row(to, from, stride); \
        else \
            corun_store_col(to, from, stride); \
    }

/* d = a * b + c; d and c may be of different types. `types` are as the operation has them behind the shape. */
#define CORUN_WMMA_PRODUCT(M, N, K, shape, T, D, C, types, a_layout, b_layout, word, letter, a_count, b_count, d_word, \
                           d_letter, d_count, c_word, c_letter, c_count) \
    CORUN_WMMA_FUNCTION void mma_sync( \
        fragment<accumulator, M, N, K, D> &d, const fragment<matrix_a, M, N, K, T, a_layout##_major> &a, \
        const fragment<matrix_b, M, N, K, T, b_layout##_major> &b, const fragment<accumulator, M, N, K, C> &c) \
    { \
        word a_words[a_count], b_words[b_count]; \
        c_word c_words[c_count]; \
        d_word d_words[d_count]; \
        __builtin_memcpy(a_words, a.x, sizeof a_words); \
        __builtin_memcpy(b_words, b.x, sizeof b_words); \
        __builtin_memcpy(c_words, c.x, sizeof c_words); \
        asm volatile("wmma.mma.sync.aligned." #a_layout "." #b_layout "." shape types \
                     " " CORUN_WMMA_##d_count("d") ", " CORUN_WMMA_##a_count("a") ", " CORUN_WMMA_##b_count( \
                         "b") ", " CORUN_WMMA_##c_count("c") ";" \
                     : CORUN_WMMA_OUT_##d_count(d, d_letter, d_words) \
                     : CORUN_WMMA_IN_##a_count(a, letter, a_words), CORUN_WMMA_IN_##b_count(b, letter, b_words), \
                       CORUN_WMMA_IN_##c_count(c, c_letter, c_words)); \
        __builtin_memcpy(d.x, d_words, sizeof d_words); \
    }
#define CORUN_WMMA_PRODUCTS(M, N, K, shape, T, D, C, types, ...) \
    CORUN_WMMA_PRODUCT(M, N, K, shape, T, D, C, types, row, row, __VA_ARGS__) \
    CORUN_WMMA_PRODUCT(M, N, K, shape, T, D, C, types, row, col, __VA_ARGS__) \
    CORUN_WMMA_PRODUCT(M, N, K, shape, T, D, C, types, col, row, __VA_ARGS__) \
    CORUN_WMMA_PRODUCT(M, N, K, shape, T, D, C, types, col, col, __VA_ARGS__)

/* The three shapes of halves, bfloats and bytes: how many words a and b have of the latter two. */
#define CORUN_WMMA_SHAPE(M, N, K, shape, bf_a, bf_b, bytes_a, bytes_b) \
    CORUN_WMMA_OPERANDS(M, N, K, shape, __half, __half, 16, 16, "f16", unsigned, "r", 8, 8) \
    CORUN_WMMA_OPERANDS(M, N, K, shape, __nv_bfloat16, __nv_bfloat16, 2 * bf_a, 2 * bf_b, "bf16", unsigned, "r", bf_a, \
                        bf_b) \
    CORUN_WMMA_OPERANDS(M, N, K, shape, signed char, signed char, 4 * bytes_a, 4 * bytes_b, "s8", unsigned, "r", \
                        bytes_a, bytes_b) \
    CORUN_WMMA_OPERANDS(M, N, K, shape, unsigned char, unsigned char, 4 * bytes_a, 4 * bytes_b, "u8", unsigned, "r", \
                        bytes_a, bytes_b) \
    CORUN_WMMA_ACCUMULATOR(M, N, K, shape, float, 8, "f32", float, "f", 8) \
    CORUN_WMMA_ACCUMULATOR(M, N, K, shape, __half, 8, "f16", unsigned, "r", 4) \
    CORUN_WMMA_ACCUMULATOR(M, N, K, shape, int, 8, "s32", int, "r", 8) \
    CORUN_WMMA_PRODUCTS(M, N, K, shape, __half, float, float, ".f32.f32", unsigned, "r", 8, 8, float, "f", 8, float, \
                        "f", 8) \
    CORUN_WMMA_PRODUCTS(M, N, K, shape, __half, __half, __half, ".f16.f16", unsigned, "r", 8, 8, unsigned, "r", 4, \
                        unsigned, "r", 4) \
    CORUN_WMMA_PRODUCTS(M, N, K, shape, __half, float, __half, ".f32.f16", unsigned, "r", 8, 8, float, "f", 8, \
                        unsigned, "r", 4) \
    CORUN_WMMA_PRODUCTS(M, N, K, shape, __half, __half, float, ".f16.f32", unsigned, "r", 8, 8, unsigned, "r", 4, \
                        float, "f", 8) \
    CORUN_WMMA_PRODUCTS(M, N, K, shape, __nv_bfloat16, float, float, ".f32.bf16.bf16.f32", unsigned, "r", bf_a, bf_b, \
                        float, "f", 8, float, "f", 8) \
    CORUN_WMMA_PRODUCTS(M, N, K, shape, signed char, int, int, ".s32.s8.s8.s32", unsigned, "r", bytes_a, bytes_b, int, \
                        "r", 8, int, "r", 8) \
    CORUN_WMMA_PRODUCTS(M, N, K, shape, unsigned char, int, int, ".s32.u8.u8.s32", unsigned, "r", bytes_a, bytes_b, \
                        int, "r", 8, int, "r", 8)
CORUN_WMMA_SHAPE(16, 16, 16, "m16n16k16", 4, 4, 2, 2)
CORUN_WMMA_SHAPE(32, 8, 16, "m32n8k16", 8, 2, 4, 1)
CORUN_WMMA_SHAPE(8, 32, 16, "m8n32k16", 2, 8, 1, 4)

CORUN_WMMA_OPERANDS(16, 16, 8, "m16n16k8", precision::tf32, float, 4, 4, "tf32", unsigned, "r", 4, 4)
CORUN_WMMA_ACCUMULATOR(16, 16, 8, "m16n16k8", float, 8, "f32", float, "f", 8)
CORUN_WMMA_PRODUCTS(16, 16, 8, "m16n16k8", precision::tf32, float, float, ".f32.tf32.tf32.f32", unsigned, "r", 4, 4,
                    float, "f", 8, float, "f", 8)

CORUN_WMMA_OPERANDS(8, 8, 4, "m8n8k4", double, double, 1, 1, "f64", double, "d", 1, 1)
CORUN_WMMA_ACCUMULATOR(8, 8, 4, "m8n8k4", double, 2, "f64", double, "d", 2)
CORUN_WMMA_PRODUCTS(8, 8, 4, "m8n8k4", double, double, double, ".f64.f64.f64.f64", double, "d", 1, 1, double, "d", 2,
                    double, "d", 2)

#undef CORUN_WMMA_FUNCTION
#undef CORUN_WMMA_OPERAND
#undef CORUN_WMMA_OPERANDS
#undef CORUN_WMMA_ACCUMULATOR_IN
#undef CORUN_WMMA_ACCUMULATOR
#undef CORUN_WMMA_PRODUCT
#undef CORUN_WMMA_PRODUCTS
#undef CORUN_WMMA_SHAPE
#undef CORUN_WMMA_1
#undef CORUN_WMMA_IN_1
#undef CORUN_WMMA_OUT_1
#undef CORUN_WMMA_2
#undef CORUN_WMMA_IN_2
#undef CORUN_WMMA_OUT_2
#undef CORUN_WMMA_4
#undef CORUN_WMMA_IN_4
#undef CORUN_WMMA_OUT_4
#undef CORUN_WMMA_8
#undef CORUN_WMMA_IN_8
#undef CORUN_WMMA_OUT_8

} // namespace wmma
} // namespace nvcuda

#endif
