/* SPDX-License-Identifier: MIT */
/* What comes behind an atomic of the same thread, or behind a barrier, finds it done, whatever is still on its way to memory. */
#include "check.h"

const int threads = 128, rounds = 5;

__global__ void count_odd(int *counter, int *counts)
{
    int sum = 0;
#pragma unroll 1
    for (int i = 0; i < rounds; i++) {
        if (threadIdx.x == 0)
            *counter = 0;
        __syncthreads();
        atomicAdd(counter, threadIdx.x & 1);
        __syncthreads();
        sum += *(volatile int *)counter;
        __syncthreads();
    }
    counts[threadIdx.x] = sum;
}

__global__ void set_back(int *values)
{
#pragma unroll 1
    for (int i = 0; i < rounds; i++) {
        atomicAdd(&values[threadIdx.x], 5);
        ((volatile int *)values)[threadIdx.x] = i;
    }
}

__global__ void add_own(unsigned long long *values, unsigned long long *sums)
{
    unsigned long long sum = 0;
#pragma unroll 1
    for (int i = 0; i < rounds; i++) {
        atomicAdd(&values[threadIdx.x], (unsigned long long)threadIdx.x << 33);
        sum += ((volatile unsigned long long *)values)[threadIdx.x];
    }
    sums[threadIdx.x] = sum;
}

int main()
{
    int *counter, *counts, got[threads];
    unsigned long long *values, *sums, got_sums[threads];
    CHECK(cudaMalloc(&counter, sizeof(int)));
    CHECK(cudaMalloc(&counts, threads * sizeof(int)));
    CHECK(cudaMalloc(&values, threads * sizeof *values));
    CHECK(cudaMalloc(&sums, threads * sizeof *sums));
    count_odd<<<1, threads>>>(counter, counts);
    CHECK(cudaMemcpy(got, counts, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < threads; i++)
        EXPECT(got[i] == rounds * threads / 2);
    CHECK(cudaMemset(counts, 0, sizeof got));
    set_back<<<1, threads>>>(counts);
    CHECK(cudaMemcpy(got, counts, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < threads; i++)
        EXPECT(got[i] == rounds - 1);
    CHECK(cudaMemset(values, 0, sizeof got_sums));
    add_own<<<1, threads>>>(values, sums);
    CHECK(cudaMemcpy(got_sums, sums, sizeof got_sums, cudaMemcpyDeviceToHost));
    for (unsigned long long i = 0; i < threads; i++)
        EXPECT(got_sums[i] == (i << 33) * (rounds * (rounds + 1) / 2));
    return 0;
}
