/* SPDX-License-Identifier: MIT */
/* The nearest centroid of each of the points [begin, end), one by each thread; kmeans.c. Centroids are in shared memory. */
#include "kmeans.h"

extern "C" __global__ void assign(const float *points, const float *centroids, int *nearest, unsigned long long begin,
                                  unsigned long long end)
{
    __shared__ float shared[KMEANS_CENTROIDS * KMEANS_DIMENSIONS];
    for (int i = threadIdx.x; i < KMEANS_CENTROIDS * KMEANS_DIMENSIONS; i += KMEANS_BLOCK)
        shared[i] = centroids[i];
    __syncthreads();
    unsigned long long i = begin + blockIdx.x * (unsigned long long)KMEANS_BLOCK + threadIdx.x;
    if (i >= end)
        return;
    float point[KMEANS_DIMENSIONS];
    for (int d = 0; d < KMEANS_DIMENSIONS; d++)
        point[d] = points[i * KMEANS_DIMENSIONS + d];
    nearest[i] = kmeans_nearest(point, shared);
}
