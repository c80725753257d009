/* SPDX-License-Identifier: MIT */
/*
 * Accelerations of the bodies [begin, end) under the attraction of all `count`; nbody.c. A thread block takes 32 bodies. Tiles of
 * 256 bodies go through shared memory; each of the eight warps takes an eighth of every tile, and their sums
 * are added at the end: a part has eight times as many threads as bodies, and a small one keeps more of the GPU busy.
 */
#define BODIES 32
#define ROWS 8
#define TILE (BODIES * ROWS)

/* Beyond the last one: without mass. */
__device__ __forceinline__ float4 body_of(const float4 *bodies, unsigned int index, unsigned int count)
{
    return index < count ? bodies[index] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

extern "C" __global__ void __launch_bounds__(TILE)
    attract(const float4 *bodies, float4 *accelerations, unsigned int count, float softening, unsigned int begin,
            unsigned int end)
{
    __shared__ float4 tile[TILE];
    unsigned int column = threadIdx.x % BODIES, row = threadIdx.x / BODIES, body = begin + blockIdx.x * BODIES + column;
    float4 at = bodies[min(body, end - 1)];
    float3 sum = make_float3(0.0f, 0.0f, 0.0f);

    unsigned int other = threadIdx.x;
    float4 next = body_of(bodies, other, count);
    for (unsigned int start = 0; start < count; start += TILE) {
        __syncthreads();
        tile[threadIdx.x] = next;
        __syncthreads();
        other += TILE;
        next = body_of(bodies, other, count); /* comes while this tile is used */
#pragma unroll 8
        for (int i = 0; i < BODIES; i++) {
            float4 from = tile[row * BODIES + i];
            float x = from.x - at.x, y = from.y - at.y, z = from.z - at.z;
            float inverse = rsqrtf(fmaf(x, x, fmaf(y, y, fmaf(z, z, softening))));
            float pull = from.w * inverse * inverse * inverse;
            sum.x = fmaf(pull, x, sum.x);
            sum.y = fmaf(pull, y, sum.y);
            sum.z = fmaf(pull, z, sum.z);
        }
    }
    __syncthreads();
    tile[threadIdx.x] = make_float4(sum.x, sum.y, sum.z, 0.0f);
    __syncthreads();
    if (row != 0 || body >= end)
        return;
    for (int i = 1; i < ROWS; i++) {
        float4 part = tile[i * BODIES + column];
        sum.x += part.x;
        sum.y += part.y;
        sum.z += part.z;
    }
    accelerations[body] = make_float4(sum.x, sum.y, sum.z, 0.0f);
}
