/* SPDX-License-Identifier: MIT */
/* Compiled for default streams of each thread: they do not wait for each other, and each keeps its order. */
#include "check.h"

#include <thread>

__global__ void count(int *p)
{
    *p += 1;
}

static unsigned long long ids[2];

static void work(int index)
{
    int *device, value = -1;
    CHECK(cudaMalloc(&device, sizeof value));
    CHECK(cudaMemset(device, 0, sizeof value));
    for (int i = 0; i < 10; i++)
        count<<<1, 1, 0, cudaStreamPerThread>>>(device);
    CHECK(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost));
    EXPECT(value == 10);
    CHECK(cudaStreamGetId(0, &ids[index]));
}

int main()
{
    std::thread other(work, 1);
    work(0);
    other.join();
    EXPECT(ids[0] != ids[1]);
    return 0;
}
