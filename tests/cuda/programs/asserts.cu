/* SPDX-License-Identifier: MIT */
/* assert of <cassert> on both sides: one that holds does nothing, one that fails in a kernel ends it with an error that stays. */
#undef NDEBUG
#include "check.h"

#include <cassert>

__host__ __device__ int half_of(int value)
{
    assert(value % 2 == 0);
    return value / 2;
}

__global__ void halve(int *values)
{
    values[threadIdx.x] = half_of(values[threadIdx.x]);
    assert(values[threadIdx.x] >= 0 && "positive");
}

__global__ void trap_in_one(const int *values)
{
    if (values[threadIdx.x] == 3)
        __trap();
}

int main()
{
    int *values;
    CHECK(cudaMallocManaged(&values, 64 * sizeof *values));
    for (int i = 0; i < 64; i++)
        values[i] = 4 * i;
    halve<<<1, 64>>>(values);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++)
        EXPECT(values[i] == half_of(4 * i));
    trap_in_one<<<1, 62>>>(values + 2);
    CHECK(cudaDeviceSynchronize());
    values[37] = 3;
    halve<<<1, 64>>>(values); /* one of many threads */
    EXPECT_ERROR(cudaErrorAssert, cudaDeviceSynchronize());
    EXPECT_ERROR(cudaErrorAssert, cudaMalloc(&values, 4));
    CHECK(cudaDeviceReset());
    CHECK(cudaMallocManaged(&values, 64 * sizeof *values));
    for (int i = 0; i < 64; i++)
        values[i] = i;
    trap_in_one<<<1, 64>>>(values);
    EXPECT_ERROR(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    CHECK(cudaDeviceReset());
    CHECK(cudaGetLastError());
    return 0;
}
