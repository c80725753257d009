/* SPDX-License-Identifier: MIT */
/* The last error: kept until it is asked for, and what calls give for wrong arguments. */
#include "check.h"

#include <cstring>

__global__ void nothing(int)
{
}

__global__ void greedy()
{
    __shared__ volatile int room[1024];
    room[threadIdx.x] = 1;
}

/* From CUDA 13 on, <<<>>> launches a handle, and cudaLaunchKernel takes one: as on an H100 (docs/conformance.md). */
#if defined CUDART_VERSION && CUDART_VERSION >= 13000
static const cudaError_t of_launch = cudaErrorInvalidValue, of_no_function = cudaErrorInvalidResourceHandle;
#else
static const cudaError_t of_launch = cudaErrorInvalidConfiguration, of_no_function = cudaErrorInvalidDeviceFunction;
#endif

int main()
{
    void *device;
    char host[16];
    EXPECT_ERROR(cudaSuccess, cudaGetLastError());
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMalloc((void **)0, 16));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaPeekAtLastError());
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGetLastError());
    EXPECT_ERROR(cudaSuccess, cudaGetLastError());
    EXPECT_ERROR(cudaErrorMemoryAllocation, cudaMalloc(&device, (size_t)1 << 50));
    EXPECT_ERROR(cudaErrorMemoryAllocation, cudaGetLastError());
    EXPECT_ERROR(cudaErrorInvalidDevice, cudaSetDevice(99));
    EXPECT_ERROR(cudaErrorInvalidDevice, cudaSetDevice(-1));
    (void)cudaGetLastError();
    nothing<<<1, 2048>>>(1);
    EXPECT_ERROR(of_launch, cudaGetLastError());
    nothing<<<0, 1>>>(1);
    EXPECT_ERROR(of_launch, cudaGetLastError());
    /* Grids that no launch may have, also of a kernel that is known: who takes launches apart has it by now in another form. */
    for (int i = 0; i < 3; i++) {
        nothing<<<4096, 32>>>(1);
        CHECK(cudaDeviceSynchronize());
    }
    nothing<<<dim3(1, 65536), 32>>>(1);
    EXPECT_ERROR(of_launch, cudaGetLastError());
    nothing<<<dim3(1, 1, 65536), 32>>>(1);
    EXPECT_ERROR(of_launch, cudaGetLastError());
    greedy<<<1, 32, 47 * 1024>>>();
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGetLastError());
    CHECK(cudaMalloc(&device, 16));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemcpy(device, host, 17, cudaMemcpyHostToDevice));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemcpy(host, host, 16, cudaMemcpyDeviceToHost));
    EXPECT_ERROR(cudaErrorInvalidMemcpyDirection, cudaMemcpy(device, host, 16, (cudaMemcpyKind)9));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemset(device, 0, 32));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaFree((char *)device + 4));
    EXPECT_ERROR(cudaSuccess, cudaFree(device));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(device));
    EXPECT_ERROR(of_no_function,
                 cudaLaunchKernel((const void *)host, dim3(1), dim3(1), 0, 0, 0));
    EXPECT(!strcmp(cudaGetErrorName((cudaError_t)2), "cudaErrorMemoryAllocation"));
    EXPECT(!strcmp(cudaGetErrorString((cudaError_t)2), "out of memory"));
    EXPECT(cudaGetErrorString((cudaError_t)12345) != 0);
    (void)cudaGetLastError();
    nothing<<<1, 1>>>(1);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGetLastError());
    return 0;
}
