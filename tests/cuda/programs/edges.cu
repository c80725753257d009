/* SPDX-License-Identifier: MIT */
/*
 * A stencil in tiles that loads beyond its image and does not use what it got, before the first and behind the last allocation;
 * more threads than elements that nobody held back, within the line in which an array ends; and lanes of a reduction that load beyond
 * the shared memory. A GPU lets all of it pass.
 */
#include "check.h"

#define TILE 16
#define WIDTH 64
#define HEIGHT 32

__global__ void blur(const float *from, float *to)
{
    __shared__ float tile[TILE][TILE], above[TILE], below[TILE];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    int column = threadIdx.x, row = threadIdx.y;
    tile[row][column] = from[y * WIDTH + x];
    if (row == 0) {
        above[column] = from[(y - 1) * WIDTH + x];
        below[column] = from[(y + TILE) * WIDTH + x];
    }
    __syncthreads();
    if (blockIdx.y == 0 && row == 0)
        above[column] = tile[0][column];
    if (blockIdx.y == gridDim.y - 1 && row == 0)
        below[column] = tile[TILE - 1][column];
    __syncthreads();
    float up = row == 0 ? above[column] : tile[row - 1][column];
    float down = row == TILE - 1 ? below[column] : tile[row + 1][column];
    to[y * WIDTH + x] = up + tile[row][column] + down;
}

/* The sum of a warp as old code has it: the upper lanes load what nobody has put there, and do not use it. */
__global__ void reduce(int *to)
{
    extern __shared__ int shared[];
    volatile int *sum = shared;
    int i = threadIdx.x;
    sum[i] = i;
    sum[i] += sum[i + 16];
    sum[i] += sum[i + 8];
    sum[i] += sum[i + 4];
    sum[i] += sum[i + 2];
    sum[i] += sum[i + 1];
    if (i == 0)
        *to = sum[0];
}

__global__ void unguarded(int *out)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;
}

__global__ void beyond(int *out)
{
    out[64 + threadIdx.x] = 1;
}

int main()
{
    static float from[HEIGHT][WIDTH], to[HEIGHT][WIDTH];
    float *device_from, *device_to;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            from[y][x] = (float)(y * y + x);
    /* The image that is read is the only allocation: nothing lies around it. */
    CHECK(cudaMalloc(&device_from, sizeof from));
    CHECK(cudaHostAlloc(&device_to, sizeof to, cudaHostAllocMapped));
    CHECK(cudaMemcpy(device_from, from, sizeof from, cudaMemcpyHostToDevice));
    blur<<<dim3(WIDTH / TILE, HEIGHT / TILE), dim3(TILE, TILE)>>>(device_from, device_to);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(to, device_to, sizeof to, cudaMemcpyDefault));
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            int up = y ? y - 1 : 0, down = y < HEIGHT - 1 ? y + 1 : y;
            EXPECT(to[y][x] == from[up][x] + from[y][x] + from[down][x]);
        }

    int *array, numbers[50];
    CHECK(cudaMalloc(&array, sizeof numbers));
    unguarded<<<2, 32>>>(array);
    CHECK(cudaMemcpy(numbers, array, sizeof numbers, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 50; i++)
        EXPECT(numbers[i] == i % 32);
    reduce<<<1, 32, 32 * sizeof(int)>>>(array);
    CHECK(cudaMemcpy(numbers, array, sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT(numbers[0] == 31 * 32 / 2);
    beyond<<<1, 1>>>(array);
    EXPECT_ERROR(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    CHECK(cudaDeviceReset());
    return 0;
}
