/* SPDX-License-Identifier: MIT */
/* q = A p for the rows [begin, end); cg.c. */
#include "dense.cuh"

extern "C" __global__ void __launch_bounds__(ROWS *WARP)
    multiply(const float *matrix, const float *p, float *q, unsigned int n, unsigned int begin, unsigned int end)
{
    unsigned int row = begin + blockIdx.x * ROWS + threadIdx.x / WARP;
    bool works = row < end;
    float sum = dense_row(matrix, p, n, works ? row : begin, works);
    if (works && threadIdx.x % WARP == 0)
        q[row] = sum;
}
