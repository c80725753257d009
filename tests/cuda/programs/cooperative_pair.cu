/* SPDX-License-Identifier: MIT */
/*
 * Two cooperative kernels of two streams, each as large as the GPU: one after the other, or they would wait for ever.
 */
#include "check.h"

__device__ unsigned arrived[2];

__global__ void together(int which)
{
    if (threadIdx.x == 0) {
        atomicAdd(&arrived[which], 1u);
        while (atomicAdd(&arrived[which], 0u) < gridDim.x)
            ;
    }
    __syncthreads();
}

int main()
{
    int blocks, multiprocessors, first = 0, second = 1;
    unsigned host[2];
    cudaStream_t streams[2];
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, together, 256, 0));
    void *arguments[2][1] = {{&first}, {&second}};
    for (int i = 0; i < 2; i++) {
        CHECK(cudaStreamCreate(&streams[i]));
        CHECK(cudaLaunchCooperativeKernel((const void *)together, dim3(blocks * multiprocessors), dim3(256),
                                          arguments[i], 0, streams[i]));
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpyFromSymbol(host, arrived, sizeof host));
    EXPECT(host[0] == (unsigned)(blocks * multiprocessors) && host[1] == host[0]);
    return 0;
}
