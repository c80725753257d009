/* SPDX-License-Identifier: MIT */
/* malloc and free of kernels: blocks of one's own, used again; the heap has an end. */
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

__device__ void *volatile last;

__global__ void exhaust(int *got)
{
    while (void *block = malloc(4000)) {
        last = block; /* so that no compiler finds it useless */
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
    CHECK(cudaMemset(device, 0, sizeof host));
    exhaust<<<1, 1>>>(device);
    CHECK(cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host >= 20 && host < 64);
    return 0;
}
