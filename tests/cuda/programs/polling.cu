/* SPDX-License-Identifier: MIT */
/* The host waits for a flag in mapped memory and calls nothing. */
#include "check.h"

__global__ void raise(volatile int *flag, int value)
{
    __threadfence();
    *flag = value;
}

int main()
{
    volatile int *flag;
    CHECK(cudaHostAlloc((void **)&flag, sizeof *flag, cudaHostAllocMapped));
    *flag = 0;
    raise<<<1, 1>>>(flag, 5);
    while (*flag == 0)
        ;
    EXPECT(*flag == 5);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
