/* SPDX-License-Identifier: MIT */
/* The device heap is that of the context: what one module allocates another one frees, and its size can be set until it is used. */
#include "heaps.h"

__device__ int loaded = 5;

__global__ void fill(int **blocks)
{
    blocks[threadIdx.x] = (int *)malloc(BLOCK_BYTES);
    *blocks[threadIdx.x] = 100 + threadIdx.x;
}

int main()
{
    int **blocks, *counted, value;
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 256 * 1024));
    CHECK(cudaMalloc((void **)&blocks, BLOCKS * sizeof *blocks));
    CHECK(cudaMalloc((void **)&counted, sizeof *counted));
    CHECK(cudaMemset(counted, 0, sizeof *counted));
    CHECK(cudaMemcpyFromSymbol(&value, loaded, sizeof value)); /* the module is there now */
    EXPECT(value == 5);
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 256 * 1024)); /* nothing has been allocated */
    for (int round = 1; round <= 2; round++) {
        fill<<<1, BLOCKS>>>(blocks);
        free_there(blocks, counted);
        CHECK(cudaMemcpy(&value, counted, sizeof value, cudaMemcpyDeviceToHost));
        EXPECT(value == round * (100 * BLOCKS + BLOCKS * (BLOCKS - 1) / 2));
    }
    EXPECT_ERROR(cudaErrorInvalidValue, cudaDeviceSetLimit(cudaLimitMallocHeapSize, 512 * 1024));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaDeviceSetLimit(cudaLimitMallocHeapSize, 128 * 1024));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGetLastError());
    size_t limit;
    CHECK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    EXPECT(limit == 256 * 1024);

    /* the blocks that one module holds are not there for the other one */
    fill<<<1, BLOCKS>>>(blocks);
    int rest = exhaust_there(counted);
    EXPECT(rest > 0 && rest + BLOCKS <= 256);

    /* another context, another heap */
    CHECK(cudaDeviceReset());
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 512 * 1024));
    CHECK(cudaMalloc((void **)&counted, sizeof *counted));
    EXPECT(exhaust_there(counted) > rest + BLOCKS);
    return 0;
}
