/* SPDX-License-Identifier: MIT */
/* A bad access ends the context: every call gives its error until the device is reset. */
#include "check.h"

__global__ void store(int *p, int value)
{
    *p = value;
}

__global__ void misaligned(char *p)
{
    *(int *)(p + 1) = 1;
}

int main()
{
    int *device, value = 0;
    CHECK(cudaMalloc(&device, sizeof value));
    store<<<1, 1>>>(device + (1 << 26), 1);
    CHECK(cudaGetLastError()); /* the launch itself was fine */
    EXPECT_ERROR(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    EXPECT_ERROR(cudaErrorIllegalAddress, cudaGetLastError());
    CHECK(cudaGetLastError()); /* it was taken; the context keeps it */
    EXPECT_ERROR(cudaErrorIllegalAddress, cudaMalloc(&device, 4));
    EXPECT_ERROR(cudaErrorIllegalAddress, cudaMemcpy(&value, device, 4, cudaMemcpyDeviceToHost));
    CHECK(cudaDeviceReset());
    CHECK(cudaGetLastError());
    CHECK(cudaMalloc(&device, sizeof value));
    store<<<1, 1>>>(device, 77);
    CHECK(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost));
    EXPECT(value == 77);
    misaligned<<<1, 1>>>((char *)device);
    EXPECT_ERROR(cudaErrorMisalignedAddress, cudaDeviceSynchronize());
    CHECK(cudaDeviceReset());
    return 0;
}
