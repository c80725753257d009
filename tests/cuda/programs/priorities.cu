/* SPDX-License-Identifier: MIT */
/* The stream with the higher priority is served first when both wait for the same. */
#include "check.h"

__global__ void take(int *order, int who)
{
    if (blockIdx.x == 0 && threadIdx.x == 0)
        order[1 + atomicAdd(&order[0], 1)] = who;
    int value = who;
    for (int i = 0; i < 300; i++)
        value = value * 3 + 1;
    if (value == 12345)
        order[9] = 1;
}

int main()
{
    int least, greatest, priority, *device, host[10];
    cudaStream_t low, high;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    EXPECT(least == 0 && greatest < 0);
    CHECK(cudaStreamCreateWithPriority(&low, cudaStreamNonBlocking, least));
    CHECK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, greatest));
    CHECK(cudaStreamGetPriority(high, &priority));
    EXPECT(priority == greatest);
    CHECK(cudaMalloc(&device, sizeof host));
    CHECK(cudaMemset(device, 0, sizeof host));
    CHECK(cudaDeviceSynchronize());
    take<<<64, 256, 0, low>>>(device, 1);
    take<<<64, 256, 0, high>>>(device, 2);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[0] == 2 && host[1] == 2 && host[2] == 1);
    return 0;
}
