/* SPDX-License-Identifier: MIT */
/* Many host threads at once, each with a stream, events and memory of its own. */
#include "check.h"

#include <thread>
#include <vector>

__global__ void work(int *p, int rounds)
{
    int value = p[threadIdx.x];
    for (int i = 0; i < rounds; i++)
        value += i;
    p[threadIdx.x] = value;
}

static void run(int index)
{
    cudaStream_t stream;
    cudaEvent_t event;
    int *device, host[64];
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&event));
    for (int round = 0; round < 5; round++) {
        CHECK(cudaMalloc(&device, sizeof host));
        for (int i = 0; i < 64; i++)
            host[i] = index * 100 + i;
        CHECK(cudaMemcpyAsync(device, host, sizeof host, cudaMemcpyHostToDevice, stream));
        work<<<1, 64, 0, stream>>>(device, 10 + index);
        CHECK(cudaEventRecord(event, stream));
        CHECK(cudaMemcpyAsync(host, device, sizeof host, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaEventSynchronize(event));
        CHECK(cudaStreamSynchronize(stream));
        for (int i = 0; i < 64; i++)
            EXPECT(host[i] == index * 100 + i + (10 + index) * (9 + index) / 2);
        EXPECT_ERROR(cudaErrorInvalidValue, cudaMemset(0, 0, 4));
        EXPECT_ERROR(cudaErrorInvalidValue, cudaGetLastError()); /* each thread has its own */
        CHECK(cudaFree(device));
    }
    CHECK(cudaStreamDestroy(stream));
}

int main()
{
    std::vector<std::thread> all;
    for (int i = 0; i < 8; i++)
        all.emplace_back(run, i);
    for (auto &one : all)
        one.join();
    return 0;
}
