/* SPDX-License-Identifier: MIT */
/* Turns the points [begin, end), one by each thread; rotation.c. */
#include "rotation.h"

extern "C" __global__ void rotate(float *points, unsigned int turns, unsigned long long begin, unsigned long long end)
{
    unsigned long long i = begin + blockIdx.x * (unsigned long long)ROTATION_BLOCK + threadIdx.x;
    if (i < end)
        rotation_turn(points + 2 * i, turns);
}
