/* SPDX-License-Identifier: MIT */
/* Allocation, copies, a launch, and the result. */
#include "check.h"

__global__ void add(const float *a, const float *b, float *sum, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        sum[i] = a[i] + b[i];
}

int main()
{
    const int count = 10000;
    static float a[count], b[count], sum[count];
    float *device_a, *device_b, *device_sum;
    for (int i = 0; i < count; i++) {
        a[i] = (float)i;
        b[i] = 2.0f * (float)i;
    }
    CHECK(cudaMalloc(&device_a, sizeof a));
    CHECK(cudaMalloc(&device_b, sizeof b));
    CHECK(cudaMalloc(&device_sum, sizeof sum));
    CHECK(cudaMemcpy(device_a, a, sizeof a, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_b, b, sizeof b, cudaMemcpyHostToDevice));
    add<<<(count + 255) / 256, 256>>>(device_a, device_b, device_sum, count);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(sum, device_sum, sizeof sum, cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++)
        EXPECT(sum[i] == 3.0f * (float)i);
    CHECK(cudaFree(device_a));
    CHECK(cudaFree(device_b));
    CHECK(cudaFree(device_sum));
    CHECK(cudaFree(0));
    return 0;
}
