/* SPDX-License-Identifier: MIT */
#include "check.h"

__device__ int calls;
static __device__ int offset = 100;

__device__ int triple(int value)
{
    atomicAdd(&calls, 1);
    return 3 * value + offset;
}
