/* SPDX-License-Identifier: MIT */
/* The rows from `first` on, as many as the grid has, a pixel by each thread; convolution.c. Sums are made in the CPU's order. */
#include "convolution.h"

extern "C" __global__ void convolve(const float *picture, float *result, const float *filter, unsigned int first,
                                    unsigned int height)
{
    int x = blockIdx.x * CONVOLUTION_BLOCK + threadIdx.x;
    long long y = first + blockIdx.y;
    float sum = 0;
    for (int j = -CONVOLUTION_REACH; j <= CONVOLUTION_REACH; j++) {
        if (y + j < 0 || y + j >= height)
            continue;
        for (int i = -CONVOLUTION_REACH; i <= CONVOLUTION_REACH; i++) {
            if (x + i < 0 || x + i >= CONVOLUTION_WIDTH)
                continue;
            sum = fmaf(picture[(y + j) * CONVOLUTION_WIDTH + x + i],
                       filter[(j + CONVOLUTION_REACH) * CONVOLUTION_SIDE + i + CONVOLUTION_REACH], sum);
        }
    }
    result[y * CONVOLUTION_WIDTH + x] = sum;
}
