/* SPDX-License-Identifier: MIT */
/* Turns of a point around the origin, alike on CPU (rotation.c) and GPU (rotation.cu). */
#ifndef BENCH_SPLIT_ROTATION_H
#define BENCH_SPLIT_ROTATION_H

#if defined __CUDACC__ || defined __CUDA__
#define ROTATION_FUNCTION static __device__ __forceinline__
#else
#include <math.h>
#define ROTATION_FUNCTION static inline
#endif

enum { ROTATION_BLOCK = 256 }; /* points of a thread block */

/* Of the angle of a turn, a tenth. */
#define ROTATION_COSINE 0.995f
#define ROTATION_SINE 0.0998f

ROTATION_FUNCTION void rotation_turn(float *point, unsigned int turns)
{
    float x = point[0], y = point[1];
    for (unsigned int turn = 0; turn < turns; turn++) {
        float next = fmaf(x, ROTATION_COSINE, -(y * ROTATION_SINE));
        y = fmaf(y, ROTATION_COSINE, x * ROTATION_SINE);
        x = next;
    }
    point[0] = x;
    point[1] = y;
}

#endif
