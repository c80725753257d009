/* SPDX-License-Identifier: MIT */
/* The centroid nearest to a point, alike on CPU (kmeans.c) and GPU (kmeans.cu): chains of fused multiply-adds in one order. */
#ifndef BENCH_SPLIT_KMEANS_H
#define BENCH_SPLIT_KMEANS_H

#if defined __CUDACC__ || defined __CUDA__
#define KMEANS_FUNCTION static __device__ __forceinline__
#else
#include <math.h>
#define KMEANS_FUNCTION static inline
#endif

enum {
    KMEANS_DIMENSIONS = 8,
    KMEANS_CENTROIDS = 32,
    KMEANS_BLOCK = 128 /* points of a thread block */
};

KMEANS_FUNCTION int kmeans_nearest(const float *point, const float *centroids)
{
    float least = 1e30f;
    int nearest = -1;
    for (int k = 0; k < KMEANS_CENTROIDS; k++) {
        float sum = 0;
        for (int d = 0; d < KMEANS_DIMENSIONS; d++) {
            float difference = point[d] - centroids[k * KMEANS_DIMENSIONS + d];
            sum = fmaf(difference, difference, sum);
        }
        if (sum < least) {
            least = sum;
            nearest = k;
        }
    }
    return nearest;
}

#endif
