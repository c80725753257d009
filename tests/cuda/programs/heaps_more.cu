/* SPDX-License-Identifier: MIT */
/* The other module of heaps.cu. */
#include "heaps.h"

__global__ void free_all(int **blocks, int *sum)
{
    atomicAdd(sum, *blocks[threadIdx.x]);
    free(blocks[threadIdx.x]);
}

__device__ void *volatile last;

__global__ void exhaust(int *got)
{
    while (void *block = malloc(BLOCK_BYTES)) {
        last = block;
        ++*got;
    }
}

void free_there(int **blocks, int *sum)
{
    free_all<<<1, BLOCKS>>>(blocks, sum);
}

int exhaust_there(int *got)
{
    int host = 0;
    CHECK(cudaMemset(got, 0, sizeof host));
    exhaust<<<1, 1>>>(got);
    CHECK(cudaMemcpy(&host, got, sizeof host, cudaMemcpyDeviceToHost));
    return host;
}
