/* SPDX-License-Identifier: MIT */
/* Products of matrices by nvcuda::wmma: every type, shape and layout, with accumulators that are filled, loaded and stored both ways, against plain C. */
#include "check.h"

#include <cstring>
#include <mma.h>

namespace wmma = nvcuda::wmma;

/* What a matrix is made of, and what it is computed in. */
template <typename T> struct element {
    typedef T type;
};
#ifndef TOOLKIT
template <> struct element<wmma::precision::tf32> {
    typedef float type;
};
#endif

/* d = a * b + c, d once by rows and once by columns; c is by rows. */
template <typename T, typename C, typename D, int M, int N, int K, typename LayoutA, typename LayoutB>
__global__ void multiply(const typename element<T>::type *a, const typename element<T>::type *b, const C *c, D *rows, D *columns, int a_stride, int b_stride)
{
    wmma::fragment<wmma::matrix_a, M, N, K, T, LayoutA> of_a;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> of_b;
    wmma::fragment<wmma::accumulator, M, N, K, C> of_c, zero;
    wmma::fragment<wmma::accumulator, M, N, K, D> of_d;
    wmma::load_matrix_sync(of_a, a, a_stride);
    wmma::load_matrix_sync(of_b, b, b_stride);
    wmma::load_matrix_sync(of_c, c, N, wmma::mem_row_major);
    wmma::fill_fragment(zero, (C)2.0f);
    for (int i = 0; i < of_c.num_elements; i++)
        of_c.x[i] = of_c.x[i] + zero.x[i];
    wmma::mma_sync(of_d, of_a, of_b, of_c);
    wmma::store_matrix_sync(rows, of_d, N, wmma::mem_row_major);
    wmma::store_matrix_sync(columns, of_d, M, wmma::mem_col_major);
}

template <typename T> struct rows_first {
    static const bool value = false;
};
template <> struct rows_first<wmma::row_major> {
    static const bool value = true;
};

/* Small whole numbers, which all types have exactly. */
template <typename T, typename C, typename D, int M, int N, int K, typename LayoutA, typename LayoutB> static void check()
{
    typedef typename element<T>::type E;
    const bool a_rows = rows_first<LayoutA>::value, b_rows = rows_first<LayoutB>::value;
    E *a, *b;
    C *c;
    D *rows, *columns;
    CHECK(cudaMallocManaged(&a, M * K * sizeof *a));
    CHECK(cudaMallocManaged(&b, K * N * sizeof *b));
    CHECK(cudaMallocManaged(&c, M * N * sizeof *c));
    CHECK(cudaMallocManaged(&rows, M * N * sizeof *rows));
    CHECK(cudaMallocManaged(&columns, M * N * sizeof *columns));
    auto of_a = [](int i, int k) { return (i * 5 + k * 3) % 7; };
    auto of_b = [](int k, int j) { return (k * 2 + j * 11) % 5; };
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++)
            a[a_rows ? i * K + k : k * M + i] = (E)(float)of_a(i, k);
    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++)
            b[b_rows ? k * N + j : j * K + k] = (E)(float)of_b(k, j);
    for (int i = 0; i < M * N; i++)
        c[i] = (C)(float)(i % 13);
    multiply<T, C, D, M, N, K, LayoutA, LayoutB><<<1, 32>>>(a, b, c, rows, columns, a_rows ? K : M, b_rows ? N : K);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            int wanted = (i * N + j) % 13 + 2;
            for (int k = 0; k < K; k++)
                wanted += of_a(i, k) * of_b(k, j);
            EXPECT((float)rows[i * N + j] == (float)wanted && (float)columns[j * M + i] == (float)wanted);
        }
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
    CHECK(cudaFree(rows));
    CHECK(cudaFree(columns));
}

template <typename T, typename C, typename D, int M, int N, int K> static void check_layouts()
{
    check<T, C, D, M, N, K, wmma::row_major, wmma::row_major>();
    check<T, C, D, M, N, K, wmma::row_major, wmma::col_major>();
    check<T, C, D, M, N, K, wmma::col_major, wmma::row_major>();
    check<T, C, D, M, N, K, wmma::col_major, wmma::col_major>();
}

template <typename T, typename C, typename D> static void check_shapes()
{
    check_layouts<T, C, D, 16, 16, 16>();
    check_layouts<T, C, D, 32, 8, 16>();
    check_layouts<T, C, D, 8, 32, 16>();
}

int main()
{
    check_shapes<__half, float, float>();
    check_shapes<__half, __half, __half>();
    check_layouts<__half, float, __half, 16, 16, 16>();
    check_layouts<__half, __half, float, 16, 16, 16>();
    check_shapes<signed char, int, int>();
    check_shapes<unsigned char, int, int>();
#ifndef TOOLKIT /* nvcc has these for compute capability 8.0 */
    check_shapes<__nv_bfloat16, float, float>();
    check_layouts<wmma::precision::tf32, float, float, 16, 16, 8>();
    check_layouts<double, double, double, 8, 8, 4>();
#endif
    return 0;
}
