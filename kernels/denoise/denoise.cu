/* SPDX-License-Identifier: MIT */
/*
 * denoise: a colour picture freed from noise by non-local means: a pixel becomes the mean of the 7 x 7 around it, each
 * weighted by how much its own surroundings (7 x 7 again) look like those of the pixel.
 *
 * In HPCA 2012 a "modified version" of the filter, compute-bound, on a picture of 3072 x 2304: 1 kernel, 110 592 thread
 * blocks of 64 threads, hence a pixel a thread and 8 x 8 a thread block. The modification assumed here is the
 * well-known quick one: weights are computed once for the middle of a thread block, one by each of 49 threads, and
 * shared by its 64 pixels, which takes 49 comparisons of surroundings a thread block where the plain filter takes 49 a
 * pixel.
 *
 * The 14 x 14 pixels that a thread block looks at go to shared memory as floats, where the known program has a texture
 * cache that converts. The known program also keeps much of the original pixel where few weights are above a threshold;
 * here the mean weight moves that share smoothly, so that no result hangs on the last bit of a weight. Results stay
 * floats (with the mean weight as the fourth element) for the filters that follow.
 *
 * What limits it: arithmetic and shared memory. A pixel of four bytes costs some 1270 instructions; the special
 * function unit is used once for each weight.
 */
#define TILE 8
#define REACH 3
#define SIDE (2 * REACH + 1)
#define AREA (SIDE * SIDE)
#define PATCH (TILE + 2 * REACH)
#define PITCH 24 /* four rows of eight lie in 32 different banks */

extern "C" __global__ void __launch_bounds__(TILE *TILE)
    denoise_non_local_means(const unsigned int *__restrict__ picture, float4 *result, int width, int height,
                            float strength)
{
    __shared__ float patch[3][PATCH][PITCH];
    __shared__ float weights[AREA];
    int thread = threadIdx.y * TILE + threadIdx.x;
    int left = blockIdx.x * TILE - REACH;
    int top = blockIdx.y * TILE - REACH;
    for (int i = thread; i < PATCH * PATCH; i += TILE * TILE) {
        int x = min(max(left + i % PATCH, 0), width - 1);
        int y = min(max(top + i / PATCH, 0), height - 1);
        unsigned int pixel = picture[y * width + x];
        patch[0][i / PATCH][i % PATCH] = (float)(pixel & 255) * (1.0f / 255);
        patch[1][i / PATCH][i % PATCH] = (float)(pixel >> 8 & 255) * (1.0f / 255);
        patch[2][i / PATCH][i % PATCH] = (float)(pixel >> 16 & 255) * (1.0f / 255);
    }
    __syncthreads();

    /* the middle is pixel (4, 4) of the thread block; that is (7, 7) of the patch; surroundings begin three before */
    if (threadIdx.x < SIDE && threadIdx.y < SIDE) {
        float difference = 0.0f;
#pragma unroll 1
        for (int y = 0; y < SIDE; y++) {
#pragma unroll
            for (int x = 0; x < SIDE; x++) {
#pragma unroll
                for (int channel = 0; channel < 3; channel++) {
                    float own = patch[channel][REACH + 1 + y][REACH + 1 + x];
                    float change = own - patch[channel][threadIdx.y + 1 + y][threadIdx.x + 1 + x];
                    difference += change * change;
                }
            }
        }
        int dx = (int)threadIdx.x - REACH;
        int dy = (int)threadIdx.y - REACH;
        weights[threadIdx.y * SIDE + threadIdx.x] =
            __expf(-(difference * strength + (float)(dx * dx + dy * dy) * (1.0f / AREA)));
    }
    __syncthreads();

    float red = 0.0f;
    float green = 0.0f;
    float blue = 0.0f;
    float sum = 0.0f;
#pragma unroll 1
    for (int y = 0; y < SIDE; y++) {
#pragma unroll
        for (int x = 0; x < SIDE; x++) {
            float weight = weights[y * SIDE + x];
            red += weight * patch[0][threadIdx.y + y][threadIdx.x + x];
            green += weight * patch[1][threadIdx.y + y][threadIdx.x + x];
            blue += weight * patch[2][threadIdx.y + y][threadIdx.x + x];
            sum += weight;
        }
    }
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float scale = __fdividef(1.0f, sum);
    float mean_weight = sum * (1.0f / AREA);
    float keep = 0.8f - 0.6f * mean_weight;
    float original_red = patch[0][threadIdx.y + REACH][threadIdx.x + REACH];
    float original_green = patch[1][threadIdx.y + REACH][threadIdx.x + REACH];
    float original_blue = patch[2][threadIdx.y + REACH][threadIdx.x + REACH];
    red *= scale;
    green *= scale;
    blue *= scale;
    result[y * width + x] = make_float4(red + (original_red - red) * keep, green + (original_green - green) * keep,
                                        blue + (original_blue - blue) * keep, mean_weight);
}
