/* SPDX-License-Identifier: MIT */
#include "check.h"

static __device__ int offset = 100;

static __global__ void shift(int *p)
{
    p[threadIdx.x] += offset;
}

int run_more(int *device)
{
    int value;
    shift<<<1, 32>>>(device);
    CHECK(cudaMemcpyFromSymbol(&value, offset, sizeof value));
    return value;
}
