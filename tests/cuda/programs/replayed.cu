/* SPDX-License-Identifier: MIT */
/*
 * Everything that a capture has to keep: device memory that holds pointers, allocations that come and go, the same
 * contents again and again, copies within the device, memory of the host that is registered twice, a texture that is
 * made anew.
 */
#include "check.h"
#include "../include/texture.h"

#include <cstring>
#include <vector>

static cudaTextureObject_t texture_of(int *device, size_t count)
{
    cudaTextureObject_t texture = 0;
    cudaResourceDesc resource;
    cudaTextureDesc reading;
    memset(&resource, 0, sizeof resource);
    memset(&reading, 0, sizeof reading);
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = device;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = count * sizeof(int);
    CHECK(cudaCreateTextureObject(&texture, &resource, &reading, 0));
    return texture;
}

/* Sums what the entries of a table point to, the texture and a counter that stays from launch to launch. */
__device__ int launches;

__global__ void gather(int *const *table, int entries, unsigned long long texture, const int *mapped, int *out,
                       int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    int sum = mapped[i];
    for (int e = 0; e < entries; e++)
        sum += table[e][i];
    int x, y, z, w;
    asm("tex.1d.v4.s32.s32 {%0, %1, %2, %3}, [%4, {%5}];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(texture), "r"(i));
    out[i] = sum + x + launches;
}

__global__ void count_launch()
{
    launches++;
}

int main()
{
    const int count = 32768, rounds = 4, entries = 3;
    const size_t bytes = count * sizeof(int);
    std::vector<int> numbers(count), back(count), mapped(count + 1024);
    int *out, *copy, **table;
    CHECK(cudaMalloc((void **)&out, bytes));
    CHECK(cudaMalloc((void **)&copy, bytes));
    CHECK(cudaMalloc((void **)&table, entries * sizeof(int *)));
    for (int i = 0; i < count; i++)
        numbers[i] = 7 * i + 1;
    for (int round = 0; round < rounds; round++) {
        int *of[entries];
        for (int e = 0; e < entries; e++) { /* the same contents again and again */
            CHECK(cudaMalloc((void **)&of[e], bytes));
            CHECK(cudaMemcpy(of[e], numbers.data(), bytes, cudaMemcpyHostToDevice));
        }
        CHECK(cudaMemset(of[1], round, bytes));
        CHECK(cudaMemcpy(copy, of[0], bytes, cudaMemcpyDeviceToDevice));
        CHECK(cudaMemcpy(table, of, sizeof of, cudaMemcpyHostToDevice));
        int *host = mapped.data() + 256 * (round % 2), *device;
        for (int i = 0; i < count; i++)
            host[i] = round * i;
        CHECK(cudaHostRegister(host, bytes, 2)); /* mapped */
        CHECK(cudaHostGetDevicePointer((void **)&device, host, 0));
        cudaTextureObject_t texture = texture_of(round % 2 ? copy : of[2], count);
        count_launch<<<1, 1>>>();
        gather<<<count / 256, 256>>>(table, entries, texture, device, out, count);
        CHECK(cudaMemcpy(back.data(), out, bytes, cudaMemcpyDeviceToHost));
        for (int i = 0; i < count; i++)
            EXPECT(back[i] == round * i + 3 * numbers[i] + round * 0x01010101 + round + 1);
        CHECK(cudaDestroyTextureObject(texture));
        CHECK(cudaHostUnregister(host));
        for (int e = 0; e < entries; e++)
            CHECK(cudaFree(of[e]));
    }
    return 0;
}
