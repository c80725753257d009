/* SPDX-License-Identifier: MIT */
/* One mistake of a kernel or of its host, named by the first argument: what `corun exec` says of it is what is tried. */
#include "check.h"

#include <cstring>

#ifndef TOOLKIT
extern "C" {
__device__ void *malloc(size_t bytes);
__device__ void free(void *pointer);
}
#endif

__global__ void store(int *to)
{
    to[threadIdx.x] = 1;
}

__global__ void load(const int *from, int *to)
{
    *to = from[threadIdx.x];
}

__global__ void shared_store(int *to, int at)
{
    extern __shared__ volatile int room[];
    room[at] = threadIdx.x;
    *to = room[0];
}

/* free is called through a pointer, so that no compiler knows what it was given. */
__device__ void *volatile kept;

__global__ void allocate()
{
    kept = malloc(100);
}

__global__ void use(int *to)
{
    int *block = (int *)kept;
    block[3] = 7;
    *to = block[3];
}

__global__ void release(int offset)
{
    free((char *)kept + offset);
}

__global__ void half_a_warp(int *to, unsigned limit)
{
    if (threadIdx.x < limit) {
        to[threadIdx.x] = 1;
        __syncthreads();
        to[threadIdx.x] = 2;
    }
    to[threadIdx.x + 64] = 3;
}

/* The others wait behind the branch. */
__global__ void whole_mask(int *to, unsigned limit)
{
    int got = 0;
    if (threadIdx.x < limit)
        got = __shfl_down_sync(0xffffffffu, (int)threadIdx.x, 1);
    to[threadIdx.x] = got;
}

/* As compilers leave threads that have nothing to do. */
__global__ void early_end(int *to, unsigned limit)
{
    if (threadIdx.x >= limit)
        return;
    to[threadIdx.x] = 1;
    __syncthreads();
    to[threadIdx.x] = 2;
}

int main(int argc, char **argv)
{
    int *device, *other, host = 0;
    const char *mistake = argc > 1 ? argv[1] : "";
    CHECK(cudaMalloc(&device, 1024));
    CHECK(cudaMalloc(&other, 4096));
    store<<<1, 32>>>(other);
    CHECK(cudaDeviceSynchronize());
    if (!strcmp(mistake, "store after free")) {
        CHECK(cudaFree(other));
        store<<<1, 32>>>(other + 4);
        EXPECT_ERROR(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    } else if (!strcmp(mistake, "load after free")) {
        CHECK(cudaFree(other));
        load<<<1, 1>>>(other + 4, device);
        cudaError_t error = cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost);
        EXPECT(error == cudaSuccess ? host == 0 : error == cudaErrorIllegalAddress);
    } else if (!strcmp(mistake, "free twice")) {
        CHECK(cudaFree(other));
        EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(other));
        EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(device + 1));
    } else if (!strcmp(mistake, "shared")) {
        shared_store<<<1, 1, 40>>>(device, 64);
        EXPECT_ERROR(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    } else if (!strcmp(mistake, "host pointer")) {
        store<<<1, 1>>>(&host);
        EXPECT_ERROR(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    } else if (!strcmp(mistake, "free twice on the device")) {
        allocate<<<1, 1>>>();
        release<<<1, 1>>>(0);
        CHECK(cudaDeviceSynchronize());
        release<<<1, 1>>>(0);
        EXPECT_ERROR(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    } else if (!strcmp(mistake, "free by all")) {
        allocate<<<1, 1>>>();
        release<<<1, 32>>>(0);
        EXPECT_ERROR(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    } else if (!strcmp(mistake, "free of nothing")) {
        allocate<<<1, 1>>>();
        release<<<1, 1>>>(32);
        EXPECT_ERROR(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    } else if (!strcmp(mistake, "use after free on the device")) {
        for (int round = 0; round < 3; round++) { /* the block is used, freed, and given again */
            allocate<<<1, 1>>>();
            use<<<1, 1>>>(device);
            release<<<1, 1>>>(0);
        }
        CHECK(cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost));
        EXPECT(host == 7);
        use<<<1, 1>>>(device);
        cudaError_t error = cudaDeviceSynchronize();
        EXPECT(error == cudaSuccess || error == cudaErrorIllegalAddress);
    } else if (!strcmp(mistake, "barrier")) {
        half_a_warp<<<1, 64>>>(device, 16);
        cudaError_t error = cudaDeviceSynchronize();
        EXPECT(error == cudaSuccess || error == cudaErrorLaunchFailure);
    } else if (!strcmp(mistake, "mask")) {
        whole_mask<<<1, 64>>>(device, 16);
        cudaError_t error = cudaDeviceSynchronize();
        EXPECT(error == cudaSuccess || error == cudaErrorLaunchFailure);
    } else if (!strcmp(mistake, "none")) {
        early_end<<<1, 64>>>(device, 16);
        CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaDeviceReset());
    return 0;
}
