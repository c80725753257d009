/* SPDX-License-Identifier: MIT */
/* Thread blocks that wait for each other in loops, without a cooperative launch: all fit the GPU at once. */
#include "check.h"

const int blocks = 24, rounds = 6;

/* The first ones wait for the last one. */
__global__ void wait_for_last(volatile int *flag, volatile int *seen)
{
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) {
        *flag = 42;
        __threadfence();
    }
    if (threadIdx.x == 0)
        while (*flag == 0)
            ;
    __syncthreads();
    seen[blockIdx.x * blockDim.x + threadIdx.x] = *flag;
}

/* A barrier of the whole grid, as programs make it by hand. */
__global__ void meet(int *arrived, volatile int *values, int *wrong)
{
    for (int i = 1; i <= rounds; i++) {
        values[blockIdx.x] = i;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(arrived, 1);
            while (*(volatile int *)arrived < i * blocks)
                ;
        }
        __syncthreads();
        if (values[(blockIdx.x + 1 + threadIdx.x) % blocks] < i)
            atomicAdd(wrong, 1);
    }
}

int main()
{
    int *words, got[blocks * 64];
    CHECK(cudaMalloc(&words, sizeof got + 4));
    CHECK(cudaMemset(words, 0, sizeof got + 4));
    wait_for_last<<<blocks, 64>>>(words, words + 1);
    CHECK(cudaMemcpy(got, words + 1, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < blocks * 64; i++)
        EXPECT(got[i] == 42);
    CHECK(cudaMemset(words, 0, sizeof got));
    meet<<<blocks, 64>>>(words, words + 2, words + 1);
    CHECK(cudaMemcpy(got, words, sizeof got, cudaMemcpyDeviceToHost));
    EXPECT(got[0] == blocks * rounds);
    EXPECT(got[1] == 0);
    return 0;
}
