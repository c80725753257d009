/* SPDX-License-Identifier: MIT */
/* Two translation units, each with a static variable and a kernel of the same name. */
#include "check.h"

int run_more(int *device);

static __device__ int offset = 1;

static __global__ void shift(int *p)
{
    p[threadIdx.x] += offset;
}

int main()
{
    int *device, host[32] = {0};
    CHECK(cudaMalloc(&device, sizeof host));
    CHECK(cudaMemset(device, 0, sizeof host));
    shift<<<1, 32>>>(device);
    EXPECT(run_more(device) == 100);
    shift<<<1, 32>>>(device);
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[0] == 102 && host[31] == 102);
    return 0;
}
