/* SPDX-License-Identifier: MIT */
/* printf of the device comes out in order with what the host prints. */
#include "check.h"

__global__ void greet(int who, double what)
{
    if (threadIdx.x < 2)
        printf("thread %u of block %u: %d %.2f %s\n", threadIdx.x, blockIdx.x, who, what, "done");
}

int main()
{
    printf("before\n");
    greet<<<1, 32>>>(42, 2.5);
    CHECK(cudaDeviceSynchronize());
    printf("after\n");
    return 0;
}
