/* SPDX-License-Identifier: MIT */
/* Variables of the device and constants: copied by name, found, changed by kernels. */
#include "check.h"

__constant__ float weights[4] = {1.0f, 2.0f, 3.0f, 4.0f};
__device__ int counter = 7;
__device__ double table[16];

__global__ void use(float *out)
{
    out[threadIdx.x] = weights[threadIdx.x];
    atomicAdd(&counter, 1);
    table[threadIdx.x] = 0.5 * threadIdx.x;
}

int main()
{
    float out[4], changed[2] = {10.0f, 20.0f}, *device;
    int count = 0;
    double tables[16];
    CHECK(cudaMalloc(&device, sizeof out));
    use<<<1, 4>>>(device);
    CHECK(cudaMemcpy(out, device, sizeof out, cudaMemcpyDeviceToHost));
    EXPECT(out[0] == 1.0f && out[3] == 4.0f);
    CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    EXPECT(count == 11);
    CHECK(cudaMemcpyFromSymbol(tables, table, sizeof tables));
    EXPECT(tables[3] == 1.5 && tables[4] == 0.0);
    CHECK(cudaMemcpyToSymbol((const void *)weights, changed, sizeof changed, sizeof(float), cudaMemcpyHostToDevice));
    use<<<1, 4>>>(device);
    CHECK(cudaMemcpy(out, device, sizeof out, cudaMemcpyDeviceToHost));
    EXPECT(out[0] == 1.0f && out[1] == 10.0f && out[2] == 20.0f && out[3] == 4.0f);
    void *address;
    size_t bytes;
    CHECK(cudaGetSymbolAddress(&address, counter));
    CHECK(cudaGetSymbolSize(&bytes, table));
    EXPECT(bytes == sizeof tables);
    CHECK(cudaMemset(address, 0, sizeof(int)));
    CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    EXPECT(count == 0);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemcpyFromSymbol(tables, table, sizeof tables + 1));
    EXPECT_ERROR(cudaErrorInvalidSymbol,
                 cudaMemcpyFromSymbol(tables, (const void *)tables, 8, 0, cudaMemcpyDeviceToHost));
    return 0;
}
