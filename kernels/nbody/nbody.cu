/* SPDX-License-Identifier: MIT */
/*
 * nbody: one time step of bodies that attract one another, every pair of them, single precision.
 *
 * The positions of all bodies go through shared memory in tiles of 256; a thread block computes 64 bodies, and each of
 * its four rows of 64 threads takes a quarter of every tile. The rows' sums are added in shared memory at the end. Four
 * threads a body, not one, because that leaves 256 thread blocks for the paper's 16 K bodies instead of 64, and because
 * parts of the work are small. Squared distances are softened, as usual, so that a body needs no exception for itself.
 *
 * The CAP chapter splits such a step between CPU and GPU (nbody, 16 K bodies): so the kernel takes a sub-range. It
 * moves `count` bodies from `first` on, under the attraction of all, and writes nothing else.
 *
 * What limits it: arithmetic. A pair takes 14 instructions, one of them rsqrt and one a load from shared memory that
 * all lanes of a warp share; from global memory a thread block reads 16 bytes per body for 64 pairs.
 */
#define BODIES 64 /* a thread block */
#define ROWS 4
#define TILE (BODIES * ROWS)

extern "C" __global__ void __launch_bounds__(TILE)
    nbody_step(float4 *new_position, float4 *new_velocity, const float4 *position, const float4 *velocity, int bodies,
               int first, int count, float softening, float time_step)
{
    __shared__ float4 tile[TILE];
    int thread = threadIdx.y * BODIES + threadIdx.x;
    int index = blockIdx.x * BODIES + threadIdx.x;
    bool moves = index < count;
    float4 body = moves ? position[first + index] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float3 sum = make_float3(0.0f, 0.0f, 0.0f);
    float softening_squared = softening * softening;

    for (int start = 0; start < bodies; start += TILE) {
        int other = start + thread;
        tile[thread] = other < bodies ? position[other] : make_float4(0.0f, 0.0f, 0.0f, 0.0f); /* without mass */
        __syncthreads();
        if (moves) {
#pragma unroll 16
            for (int i = 0; i < BODIES; i++) {
                float4 from = tile[threadIdx.y * BODIES + i];
                float x = from.x - body.x;
                float y = from.y - body.y;
                float z = from.z - body.z;
                float inverse = rsqrtf(x * x + (y * y + (z * z + softening_squared)));
                float pull = from.w * inverse * inverse * inverse;
                sum.x += x * pull;
                sum.y += y * pull;
                sum.z += z * pull;
            }
        }
        __syncthreads();
    }

    tile[thread] = make_float4(sum.x, sum.y, sum.z, 0.0f);
    __syncthreads();
    if (threadIdx.y != 0 || !moves)
        return;
    for (int row = 1; row < ROWS; row++) {
        float4 part = tile[row * BODIES + threadIdx.x];
        sum.x += part.x;
        sum.y += part.y;
        sum.z += part.z;
    }
    float4 speed = velocity[first + index];
    speed.x += time_step * sum.x;
    speed.y += time_step * sum.y;
    speed.z += time_step * sum.z;
    new_velocity[first + index] = speed;
    body.x += time_step * speed.x;
    body.y += time_step * speed.y;
    body.z += time_step * speed.z;
    new_position[first + index] = body;
}
