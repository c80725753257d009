/* SPDX-License-Identifier: MIT */
/* What is known of kernels and devices, and that it fits together. */
#include "check.h"

#include <cstring>

__global__ void __launch_bounds__(128) bounded(float *p)
{
    __shared__ float tile[256];
    tile[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = tile[127 - threadIdx.x];
}

/* Every thread holds 96 numbers at once. */
__device__ static inline void hold_many(const float *from, float *to)
{
    float value[96], sum = 0;
#pragma unroll
    for (int i = 0; i < 96; i++)
        value[i] = from[i * 7 + threadIdx.x];
#pragma unroll
    for (int i = 0; i < 96; i++)
        value[i] *= value[(i + 5) % 96];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 96; i++)
        sum += value[i] * value[(i + 41) % 96];
    to[threadIdx.x] = sum;
}

__global__ void many_registers(const float *from, float *to)
{
    hold_many(from, to);
}

/* The same with promises that an assembler keeps by spilling. */
__global__ void __launch_bounds__(1024) promised_threads(const float *from, float *to)
{
    hold_many(from, to);
}

__global__ void __launch_bounds__(256, 4) promised_blocks(const float *from, float *to)
{
    hold_many(from, to);
}

int main()
{
    cudaFuncAttributes kernel;
    int blocks, count = 0, value;
    CHECK(cudaGetDeviceCount(&count));
    EXPECT(count == 1);
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    EXPECT(!strcmp(device.name, "gtx980") && device.major == 5 && device.minor == 2 && device.warpSize == 32);
    EXPECT(device.multiProcessorCount == 16 && device.totalGlobalMem == (size_t)4 << 30);
    EXPECT(device.maxThreadsPerBlock == 1024 && device.maxGridSize[0] == 2147483647);
#ifndef TOOLKIT /* CUDA 13 has it as an attribute only */
    EXPECT(device.clockRate == 1216000);
#endif
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrClockRate, 0));
    EXPECT(value == 1216000);
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    EXPECT(value == device.multiProcessorCount);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, (cudaDeviceAttr)9999, 0));
    CHECK(cudaFuncGetAttributes(&kernel, bounded));
    EXPECT(kernel.sharedSizeBytes == 1024 && kernel.maxThreadsPerBlock == 128 && kernel.numRegs > 0);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 128, 0));
    EXPECT(blocks == 16); /* 2048 threads of an SM */
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 128, 31 * 1024));
    EXPECT(blocks == 3); /* 96 KB of shared memory */
    EXPECT_ERROR(cudaErrorInvalidValue,
                 cudaFuncSetAttribute(bounded, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));
    CHECK(cudaFuncSetAttribute(bounded, cudaFuncAttributeMaxDynamicSharedMemorySize, 32 * 1024));
    CHECK(cudaFuncGetAttributes(&kernel, many_registers));
    int most = kernel.maxThreadsPerBlock; /* 65536 registers of an SM */
    EXPECT(kernel.numRegs > 64 && most < 1024 && most % 32 == 0 && (most + 32) * kernel.numRegs > 65536 - 8 * 1024);
    size_t available, total, after;
    float *p;
    CHECK(cudaMemGetInfo(&available, &total));
    EXPECT(total == device.totalGlobalMem && available <= total);
    CHECK(cudaMalloc(&p, 1 << 20));
    CHECK(cudaMemGetInfo(&after, &total));
    EXPECT(available - after == 1 << 20);
    bounded<<<1, 256>>>(p);
    EXPECT_ERROR(cudaErrorLaunchOutOfResources, cudaGetLastError());
    many_registers<<<1, most + 32>>>(p, p);
    EXPECT_ERROR(cudaErrorLaunchOutOfResources, cudaGetLastError());
    many_registers<<<1, most>>>(p, p);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFuncGetAttributes(&kernel, promised_threads));
    EXPECT(kernel.maxThreadsPerBlock == 1024 && kernel.numRegs == 64);
    promised_threads<<<1, 1024>>>(p, p);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFuncGetAttributes(&kernel, promised_blocks));
    EXPECT(kernel.maxThreadsPerBlock == 256 && kernel.numRegs == 64);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, promised_blocks, 256, 0));
    EXPECT(blocks == 4);
    bounded<<<1, 128>>>(p);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaDriverGetVersion(&value));
    EXPECT(value >= 13000);
    CHECK(cudaRuntimeGetVersion(&value));
    EXPECT(value >= 11000 && value <= 13000);
    return 0;
}
