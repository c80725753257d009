/* SPDX-License-Identifier: MIT */
/* Static and dynamic shared memory, barriers, shuffles, atomics, templates. */
#include "check.h"

template <int width> __global__ void reduce(const int *values, int count, int *sum)
{
    extern __shared__ int dynamic[];
    __shared__ int warps[width / 32];
    int part = 0;
    for (int i = blockIdx.x * width + threadIdx.x; i < count; i += gridDim.x * width)
        part += values[i];
    dynamic[threadIdx.x] = part;
    __syncthreads();
    part = dynamic[width - 1 - threadIdx.x];
    for (int offset = 16; offset; offset /= 2)
        part += __shfl_down_sync(0xffffffffu, part, offset);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = part;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < width / 32; i++)
            part += warps[i];
        atomicAdd(sum, part);
    }
}

int main()
{
    const int count = 20000;
    static int values[count];
    int want = 0, got = -1, *device_values, *device_sum;
    for (int i = 0; i < count; i++)
        want += values[i] = (i * 7919) % 1000 - 400;
    CHECK(cudaMalloc(&device_values, sizeof values));
    CHECK(cudaMalloc(&device_sum, sizeof got));
    CHECK(cudaMemcpy(device_values, values, sizeof values, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(device_sum, 0, sizeof got));
    reduce<128><<<8, 128, 128 * sizeof(int)>>>(device_values, count, device_sum);
    CHECK(cudaMemcpy(&got, device_sum, sizeof got, cudaMemcpyDeviceToHost));
    EXPECT(got == want);
    CHECK(cudaMemset(device_sum, 0, sizeof got));
    reduce<256><<<3, 256, 256 * sizeof(int)>>>(device_values, count, device_sum);
    CHECK(cudaMemcpy(&got, device_sum, sizeof got, cudaMemcpyDeviceToHost));
    EXPECT(got == want);
    return 0;
}
