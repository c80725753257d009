/* SPDX-License-Identifier: MIT */
/*
 * The nearest of `count` points for each of the queries [begin, end); nns.c. A thread block takes 32 queries. Tiles of 256 points go
 * through shared memory; each of the eight warps looks at an eighth of every tile, and the nearest of the eight
 * is the result; of points at the same distance it is the first.
 */
#define QUERIES 32
#define ROWS 8
#define TILE (QUERIES * ROWS)

/* Beyond the last one: far away. */
__device__ __forceinline__ float4 point_of(const float4 *points, unsigned int index, unsigned int count)
{
    return index < count ? points[index] : make_float4(1e15f, 0.0f, 0.0f, 0.0f);
}

extern "C" __global__ void __launch_bounds__(TILE)
    search(const float4 *points, const float4 *queries, int *nearest, unsigned int count, unsigned int begin,
           unsigned int end)
{
    __shared__ float4 tile[TILE];
    __shared__ int indices[TILE];
    unsigned int column = threadIdx.x % QUERIES, row = threadIdx.x / QUERIES;
    unsigned int query = begin + blockIdx.x * QUERIES + column;
    float4 at = queries[min(query, end - 1)];
    float least = 1e30f;
    int index = 0;

    unsigned int other = threadIdx.x;
    float4 next = point_of(points, other, count);
    for (unsigned int start = 0; start < count; start += TILE) {
        __syncthreads();
        tile[threadIdx.x] = next;
        __syncthreads();
        other += TILE;
        next = point_of(points, other, count); /* comes while this tile is used */
#pragma unroll 8
        for (int i = 0; i < QUERIES; i++) {
            float4 point = tile[row * QUERIES + i];
            float x = point.x - at.x, y = point.y - at.y, z = point.z - at.z, w = point.w - at.w;
            float square = fmaf(w, w, fmaf(z, z, fmaf(y, y, x * x)));
            index = square < least ? (int)(start + row * QUERIES + i) : index;
            least = fminf(square, least);
        }
    }
    __syncthreads();
    tile[threadIdx.x].x = least;
    indices[threadIdx.x] = index;
    __syncthreads();
    if (row != 0 || query >= end)
        return;
    for (int i = 1; i < ROWS; i++) {
        float square = tile[i * QUERIES + column].x;
        int candidate = indices[i * QUERIES + column];
        bool nearer = square < least || (square == least && candidate < index);
        index = nearer ? candidate : index;
        least = nearer ? square : least;
    }
    nearest[query] = index;
}
