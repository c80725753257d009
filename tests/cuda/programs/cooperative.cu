/* SPDX-License-Identifier: MIT */
/*
 * Thread blocks of a cooperative launch meet: as the toolkit's header does it, with the words that %envreg1 and 2 name.
 */
#include "check.h"

__device__ static void meet(unsigned blocks)
{
    unsigned high, low;
    asm volatile("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm volatile("mov.u32 %0, %%envreg2;" : "=r"(low));
    volatile unsigned *word = (volatile unsigned *)(((unsigned long long)high << 32 | low) + 4);
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        unsigned mine = blockIdx.x == 0 ? 0x80000000u - (blocks - 1) : 1;
        unsigned before = atomicAdd((unsigned *)word, mine);
        while (((before ^ *word) & 0x80000000u) == 0)
            ;
        __threadfence();
    }
    __syncthreads();
}

/* Each round adds the neighbour's value: wrong unless all blocks have finished the round before. */
__global__ void rounds(volatile int *values, int count)
{
    unsigned blocks = gridDim.x;
    for (int round = 0; round < count; round++) {
        int next = values[(blockIdx.x + 1) % blocks];
        meet(blocks);
        if (threadIdx.x == 0)
            values[blockIdx.x] += next;
        meet(blocks);
    }
}

int main()
{
    const int blocks = 12, count = 4;
    int host[blocks], want[blocks], *device;
    for (int i = 0; i < blocks; i++)
        host[i] = want[i] = i + 1;
    for (int round = 0; round < count; round++) {
        int before[blocks];
        for (int i = 0; i < blocks; i++)
            before[i] = want[i];
        for (int i = 0; i < blocks; i++)
            want[i] += before[(i + 1) % blocks];
    }
    CHECK(cudaMalloc(&device, sizeof host));
    CHECK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    int rounds_count = count;
    void *arguments[] = {&device, &rounds_count};
    CHECK(cudaLaunchCooperativeKernel((const void *)rounds, dim3(blocks), dim3(64), arguments, 0, 0));
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < blocks; i++)
        EXPECT(host[i] == want[i]);
    EXPECT_ERROR(cudaErrorCooperativeLaunchTooLarge,
                 cudaLaunchCooperativeKernel((const void *)rounds, dim3(100000), dim3(64), arguments, 0, 0));
    return 0;
}
