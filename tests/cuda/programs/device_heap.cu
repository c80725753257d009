/* SPDX-License-Identifier: MIT */
/* malloc and free of kernels: blocks of one's own, used again; the heap has an end, and what was asked for in vain takes nothing of it. */
#include "check.h"

#ifndef TOOLKIT
extern "C" {
__device__ void *malloc(size_t bytes);
__device__ void free(void *pointer);
}
#endif

__global__ void churn(int *wrong)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 0; round < 20; round++) {
        int count = 4 + (thread + round) % 20;
        int *mine = (int *)malloc(count * sizeof(int));
        if (!mine) {
            atomicAdd(wrong, 1);
            continue;
        }
        for (int i = 0; i < count; i++)
            mine[i] = thread * 100 + i;
        __syncthreads();
        for (int i = 0; i < count; i++)
            if (mine[i] != thread * 100 + i)
                atomicAdd(wrong, 1);
        free(mine);
    }
}

__device__ void *volatile last; /* so that no compiler finds blocks useless */

/* What one thread cannot have takes nothing away from the others. */
__global__ void in_vain(int *wrong)
{
    void *block = malloc(threadIdx.x % 2 ? 100 : 200000);
    last = block;
    if ((block == 0) == (threadIdx.x % 2 != 0))
        atomicAdd(wrong, 1);
    free(block);
}

__global__ void large(int *got)
{
    void *block = malloc(100000);
    last = block;
    *got = block != 0;
    free(block);
}

/* The large block of before is one of them. */
__global__ void exhaust(int *got)
{
    while (void *block = malloc(4000)) {
        last = block;
        ++*got;
    }
}

int main()
{
    int *device, host = 0;
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 256 * 1024)); /* less than all rounds together need */
    CHECK(cudaMalloc(&device, sizeof host));
    CHECK(cudaMemset(device, 0, sizeof host));
    churn<<<4, 128>>>(device);
    CHECK(cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host == 0);
    in_vain<<<1, 64>>>(device);
    CHECK(cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host == 0);
    large<<<1, 1>>>(device);
    CHECK(cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host == 1);
    CHECK(cudaMemset(device, 0, sizeof host));
    exhaust<<<1, 1>>>(device);
    CHECK(cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host >= 20 && host < 64);
    return 0;
}
