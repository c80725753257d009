/* SPDX-License-Identifier: MIT */
/* A step of Jacobi's method for the rows [begin, end): next = x + (b - A x) / diagonal; jacobi.c. */
#include "dense.cuh"

extern "C" __global__ void __launch_bounds__(ROWS *WARP)
    step(const float *matrix, const float *b, const float *x, float *next, unsigned int n, unsigned int begin,
         unsigned int end)
{
    unsigned int row = begin + blockIdx.x * ROWS + threadIdx.x / WARP;
    bool works = row < end;
    float sum = dense_row(matrix, x, n, works ? row : begin, works);
    if (works && threadIdx.x % WARP == 0)
        next[row] = x[row] + (b[row] - sum) / matrix[(unsigned long long)row * n + row];
}
