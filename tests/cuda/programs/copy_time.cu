/* SPDX-License-Identifier: MIT */
/*
 * Copies take the latency and the bytes over the bandwidth of the configuration: 2 us, 10 GB/s pinned, 4 GB/s pageable.
 */
#include "check.h"

#include <vector>

static float copy_time(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    cudaEvent_t start, end;
    float time;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(start));
    CHECK(cudaMemcpy(to, from, bytes, kind));
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&time, start, end));
    return time;
}

static bool about(float got, double want)
{
    return got > want * 0.999 - 2e-6 && got < want * 1.001 + 2e-6;
}

int main()
{
    const size_t bytes = 1 << 20;
    void *device, *other, *pinned;
    std::vector<char> pageable(bytes);
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaMalloc(&other, bytes));
    CHECK(cudaMallocHost(&pinned, bytes));
    double latency = 2e-3, fast = bytes / 10e9 * 1e3, slow = bytes / 4e9 * 1e3;
    EXPECT(about(copy_time(device, pinned, bytes, cudaMemcpyHostToDevice), latency + fast));
    EXPECT(about(copy_time(pinned, device, bytes, cudaMemcpyDeviceToHost), latency + fast));
    EXPECT(about(copy_time(device, pageable.data(), bytes, cudaMemcpyHostToDevice), latency + slow));
    EXPECT(about(copy_time(device, pinned, bytes / 2, cudaMemcpyHostToDevice), latency + fast / 2));
    /* within the device: read and written at the 224 GB/s of its DRAM */
    float within = copy_time(other, device, bytes, cudaMemcpyDeviceToDevice);
    EXPECT(within > 2 * bytes / 224e9 * 1e3 * 0.99 && within < 2 * bytes / 224e9 * 1e3 * 1.01 + 1e-3);
    /* both directions at once: two engines */
    cudaStream_t up, down;
    cudaEvent_t start, end, joined;
    float both;
    CHECK(cudaStreamCreateWithFlags(&up, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&down, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventCreate(&joined));
    void *second;
    CHECK(cudaMallocHost(&second, bytes));
    CHECK(cudaEventRecord(start, up));
    CHECK(cudaStreamWaitEvent(down, start));
    CHECK(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, up));
    CHECK(cudaMemcpyAsync(second, other, bytes, cudaMemcpyDeviceToHost, down));
    CHECK(cudaEventRecord(joined, down));
    CHECK(cudaStreamWaitEvent(up, joined));
    CHECK(cudaEventRecord(end, up));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&both, start, end));
    EXPECT(about(both, latency + fast));
    return 0;
}
