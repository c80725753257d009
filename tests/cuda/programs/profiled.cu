/* SPDX-License-Identifier: MIT */
/* Ten steps of two kernels in two streams, of which the fourth to the sixth are between cudaProfilerStart and cudaProfilerStop. */
#include "check.h"

#include <cuda_profiler_api.h>

static const int count = 4096, steps = 10;

__global__ void advance(int *values)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    values[i] = values[i] * 3 + i;
}

template <int less> __global__ void turn(int *to, const int *from)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[count - 1 - i] - less;
}

int main()
{
    static int values[count], turned[count];
    int *device_values, *device_turned;
    cudaStream_t streams[2];
    cudaEvent_t advanced, turned_over;
    CHECK(cudaMalloc(&device_values, sizeof values));
    CHECK(cudaMalloc(&device_turned, sizeof turned));
    CHECK(cudaMemset(device_values, 0, sizeof values));
    for (int s = 0; s < 2; s++)
        CHECK(cudaStreamCreate(&streams[s]));
    CHECK(cudaEventCreate(&advanced));
    CHECK(cudaEventCreate(&turned_over));
    CHECK(cudaDeviceSynchronize());
    for (int step = 0; step < steps; step++) {
        if (step == 3)
            CHECK(cudaProfilerStart());
        advance<<<count / 128, 128, 0, streams[0]>>>(device_values);
        CHECK(cudaEventRecord(advanced, streams[0]));
        CHECK(cudaStreamWaitEvent(streams[1], advanced, 0));
        turn<7><<<count / 128, 128, 0, streams[1]>>>(device_turned, device_values);
        CHECK(cudaEventRecord(turned_over, streams[1]));
        CHECK(cudaStreamWaitEvent(streams[0], turned_over, 0));
        if (step == 5)
            CHECK(cudaProfilerStop());
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(turned, device_turned, sizeof turned, cudaMemcpyDeviceToHost));
    for (int step = 0; step < steps; step++)
        for (int i = 0; i < count; i++)
            values[i] = (int)((unsigned)values[i] * 3 + (unsigned)i);
    for (int i = 0; i < count; i++)
        EXPECT(turned[i] == values[count - 1 - i] - 7);
    CHECK(cudaFree(device_values));
    CHECK(cudaFree(device_turned));
    return 0;
}
