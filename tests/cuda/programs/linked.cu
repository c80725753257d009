/* SPDX-License-Identifier: MIT */
/* Two translation units whose device code is linked (-rdc=true): functions and variables of each other. */
#include "check.h"

extern __device__ int calls;
__device__ int triple(int value);
static __device__ int offset = 1;

__global__ void run(int *p)
{
    p[threadIdx.x] = triple(threadIdx.x) + offset;
}

__global__ void launch_child(int *p)
{
    run<<<1, 32>>>(p);
}

int main()
{
    int *device, host[32], count;
    CHECK(cudaMalloc(&device, sizeof host));
    run<<<1, 32>>>(device);
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        EXPECT(host[i] == 3 * i + 100 + 1);
    CHECK(cudaMemcpyFromSymbol(&count, calls, sizeof count));
    EXPECT(count == 32);
    CHECK(cudaMemset(device, 0, sizeof host));
    launch_child<<<1, 1>>>(device);
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        EXPECT(host[i] == 3 * i + 100 + 1);
    run<<<1, 32>>>(device);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
