/* SPDX-License-Identifier: MIT */
/*
 * Gaussian elimination as benchmark suites have it: two small kernels for each column, one after the other, and the back substitution on
 * the host; then the same system with a kernel that finds the pivot in its last thread block.
 */
#include "check.h"

#include <cmath>
#include <cstdlib>
#include <vector>

#define SIZE 96

__global__ void factors(const float *a, float *m, int column)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x + column + 1;
    if (row < SIZE)
        m[row] = a[row * SIZE + column] / a[column * SIZE + column];
}

__global__ void subtract(float *a, float *b, const float *m, int column)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x + column, row = blockIdx.y * blockDim.y + threadIdx.y + column + 1;
    if (row >= SIZE || x >= SIZE)
        return;
    a[row * SIZE + x] -= m[row] * a[column * SIZE + x];
    if (x == column)
        b[row] -= m[row] * b[column];
}

__device__ unsigned arrived;

/* The row with the largest element of the column, by all thread blocks; the last one to arrive exchanges the rows. */
__global__ void pivot(float *a, float *b, int column, float *best, int *best_row)
{
    __shared__ bool last;
    int row = column + blockIdx.x * blockDim.x + threadIdx.x;
    float mine = row < SIZE ? fabsf(a[row * SIZE + column]) : -1;
    int where = row;
    for (int distance = 16; distance; distance /= 2) {
        float other = __shfl_down_sync(0xffffffff, mine, distance);
        int place = __shfl_down_sync(0xffffffff, where, distance);
        if (other > mine) {
            mine = other;
            where = place;
        }
    }
    if (threadIdx.x == 0) {
        best[blockIdx.x] = mine;
        best_row[blockIdx.x] = where;
        __threadfence();
        last = atomicAdd(&arrived, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last)
        return;
    if (threadIdx.x == 0)
        arrived = 0;
    where = 0;
    for (unsigned i = 1; i < gridDim.x; i++)
        if (((volatile float *)best)[i] > ((volatile float *)best)[where])
            where = i;
    int from = ((volatile int *)best_row)[where];
    for (int x = threadIdx.x; x <= SIZE; x += blockDim.x) {
        float *one = x < SIZE ? &a[column * SIZE + x] : &b[column], *two = x < SIZE ? &a[from * SIZE + x] : &b[from];
        float kept = *one;
        *one = *two;
        *two = kept;
    }
}

static void solve(const std::vector<float> &a0, bool pivots)
{
    std::vector<float> a = a0, b(SIZE, 1.0f), x(SIZE);
    float *device_a, *device_b, *device_m, *best;
    int *best_row;
    CHECK(cudaMalloc(&device_a, a.size() * sizeof(float)));
    CHECK(cudaMalloc(&device_b, SIZE * sizeof(float)));
    CHECK(cudaMalloc(&device_m, SIZE * sizeof(float)));
    CHECK(cudaMalloc(&best, SIZE * sizeof(float)));
    CHECK(cudaMalloc(&best_row, SIZE * sizeof(int)));
    CHECK(cudaMemcpy(device_a, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_b, b.data(), SIZE * sizeof(float), cudaMemcpyHostToDevice));
    for (int column = 0; column < SIZE - 1; column++) {
        int rest = SIZE - column;
        if (pivots)
            pivot<<<(rest + 31) / 32, 32>>>(device_a, device_b, column, best, best_row);
        factors<<<(rest + 63) / 64, 64>>>(device_a, device_m, column);
        subtract<<<dim3((rest + 15) / 16, (rest + 15) / 16), dim3(16, 16)>>>(device_a, device_b, device_m, column);
        if (column % 10 == 0)
            CHECK(cudaDeviceSynchronize());
        CHECK(cudaGetLastError());
    }
    CHECK(cudaMemcpy(a.data(), device_a, a.size() * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(b.data(), device_b, SIZE * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_a));
    CHECK(cudaFree(device_b));
    CHECK(cudaFree(device_m));
    CHECK(cudaFree(best));
    CHECK(cudaFree(best_row));
    for (int row = SIZE - 1; row >= 0; row--) {
        x[row] = b[row];
        for (int i = row + 1; i < SIZE; i++)
            x[row] -= a[row * SIZE + i] * x[i];
        x[row] /= a[row * SIZE + row];
    }
    for (int row = 0; row < SIZE; row++) {
        double sum = 0;
        for (int i = 0; i < SIZE; i++)
            sum += (double)a0[row * SIZE + i] * x[i];
        EXPECT(std::fabs(sum - 1) < 1e-3);
    }
}

int main()
{
    std::vector<float> a(SIZE * SIZE);
    for (int row = 0; row < SIZE; row++)
        for (int i = 0; i < SIZE; i++)
            a[row * SIZE + i] = 10 * std::exp(-0.01f * (float)std::abs(row - i));
    solve(a, false);
    for (int row = 0; row < SIZE; row++)
        a[row * SIZE + row] = 0; /* cannot be without pivots */
    solve(a, true);
    return 0;
}
