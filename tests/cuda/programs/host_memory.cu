/* SPDX-License-Identifier: MIT */
/* Pinned, mapped and registered memory of the host, used by kernels at their own addresses. */
#include "check.h"

#include <cstring>

__global__ void twice(const int *from, int *to, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        to[i] = 2 * from[i];
}

/* Whoever registers a block registers the pages on which the heap writes down what is behind it. */
static void blocks_of_the_heap()
{
    const int blocks = 16, count = 1500;
    int *registered[blocks];
    void *between[blocks];
    for (int i = 0; i < blocks; i++) {
        registered[i] = (int *)malloc(count * sizeof(int));
        for (int k = 0; k < count; k++)
            registered[i][k] = i + k;
        CHECK(cudaHostRegister(registered[i], count * sizeof(int), cudaHostRegisterDefault));
        between[i] = malloc(8192);
        memset(between[i], 0, 8192);
    }
    for (int i = 0; i < blocks; i++) {
        EXPECT(registered[i][0] == i && registered[i][count - 1] == i + count - 1);
        CHECK(cudaHostUnregister(registered[i]));
        free(registered[i]);
        free(between[i]);
    }
}

int main()
{
    const int count = 1000;
    int *mapped, *device, *plain, *seen;
    CHECK(cudaHostAlloc(&mapped, count * sizeof(int), cudaHostAllocMapped));
    CHECK(cudaMalloc(&device, count * sizeof(int)));
    plain = (int *)malloc(count * sizeof(int));
    for (int i = 0; i < count; i++)
        mapped[i] = i;
    CHECK(cudaHostGetDevicePointer(&seen, mapped, 0));
    twice<<<4, 256>>>(seen, device, count);
    CHECK(cudaMemcpy(plain, device, count * sizeof(int), cudaMemcpyDefault));
    EXPECT(plain[999] == 1998);
    CHECK(cudaHostRegister(plain, count * sizeof(int), cudaHostAllocDefault));
    EXPECT_ERROR(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(plain, 8, 0));
    twice<<<4, 256>>>(plain, mapped, count);
    CHECK(cudaDeviceSynchronize());
    EXPECT(mapped[999] == 3996 && mapped[1] == 4);
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, mapped + 3));
    EXPECT(attributes.type == cudaMemoryTypeHost && attributes.hostPointer == mapped + 3);
    CHECK(cudaPointerGetAttributes(&attributes, device));
    EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.devicePointer == device);
    CHECK(cudaHostUnregister(plain));
    CHECK(cudaPointerGetAttributes(&attributes, plain));
    EXPECT(attributes.type == cudaMemoryTypeUnregistered);
    EXPECT_ERROR(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(plain));
    CHECK(cudaMemcpy(device, plain, count * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaFreeHost(mapped));
    free(plain);
    blocks_of_the_heap();
    return 0;
}
