/* SPDX-License-Identifier: MIT */
/* Recursion that needs the stack which the program has asked for, in long frames and in many short ones; more than that is a fault. */
#include "check.h"

/* A frame holds 200 numbers, so that 40 frames have 32 KB. */
__device__ __noinline__ int climb(int steps, int seed)
{
    volatile int kept[200];
    kept[steps % 200] = seed + steps;
    return steps ? climb(steps - 1, seed) + kept[steps % 200] : kept[0];
}

__global__ void climb_all(int *sums, int steps)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    sums[thread] = climb(steps + thread % 3, thread);
}

/* A short frame: thousands of them fit. */
__device__ __noinline__ unsigned descend(unsigned steps, unsigned seed)
{
    return steps ? 3 * descend(steps - 1, seed ^ steps) + steps : seed;
}

__global__ void descend_all(unsigned *sums, unsigned steps)
{
    sums[threadIdx.x] = descend(steps + threadIdx.x % 5, threadIdx.x);
}

static unsigned descended(unsigned steps, unsigned seed)
{
    unsigned sum = seed;
    for (unsigned i = 1; i <= steps; i++)
        sum ^= i;
    for (unsigned i = 1; i <= steps; i++)
        sum = 3 * sum + i;
    return sum;
}

static void descend_far()
{
    const unsigned threads = 64, steps = 6000;
    unsigned *sums, host[threads];
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 512 << 10));
    CHECK(cudaMalloc(&sums, sizeof host));
    descend_all<<<1, threads>>>(sums, steps);
    CHECK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < threads; i++)
        EXPECT(host[i] == descended(steps + i % 5, i));
}

static int wanted(int steps, int seed)
{
    return (steps + 1) * seed + steps * (steps + 1) / 2;
}

int main()
{
    const int threads = 256;
    int *sums, host[threads];
    size_t bytes = 0;
    descend_far();
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 64 << 10));
    CHECK(cudaDeviceGetLimit(&bytes, cudaLimitStackSize));
    EXPECT(bytes == 64 << 10);
    CHECK(cudaMalloc(&sums, sizeof host));
    climb_all<<<2, 128>>>(sums, 40);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < threads; i++)
        EXPECT(host[i] == wanted(40 + i % 3, i));
    /* more than was asked for is a fault */
    climb_all<<<1, 32>>>(sums, 100);
    CHECK(cudaGetLastError());
    EXPECT_ERROR(cudaErrorHardwareStackError, cudaDeviceSynchronize());
    return 0;
}
