/* Several devices, chosen by CUDA_VISIBLE_DEVICES: run with three GPUs of which 2 and 0 are visible. */
#include "check.h"

#include <cstring>

__global__ void write(int *p, int value)
{
    *p = value;
}

int main()
{
    int count, current, value, *device[2];
    CHECK(cudaGetDeviceCount(&count));
    EXPECT(count == 2);
    cudaDeviceProp properties[2];
    for (int i = 0; i < 2; i++) {
        CHECK(cudaGetDeviceProperties(&properties[i], i));
        CHECK(cudaSetDevice(i));
        CHECK(cudaMalloc(&device[i], sizeof(int)));
        write<<<1, 1>>>(device[i], 10 + i);
    }
    EXPECT(!strcmp(properties[0].name, "quadro-v100") && !strcmp(properties[1].name, "gtx980"));
    CHECK(cudaGetDevice(&current));
    EXPECT(current == 1);
    CHECK(cudaMemcpy(&value, device[1], sizeof value, cudaMemcpyDeviceToHost));
    EXPECT(value == 11);
    CHECK(cudaSetDevice(0));
    CHECK(cudaMemcpy(&value, device[0], sizeof value, cudaMemcpyDeviceToHost));
    EXPECT(value == 10);
    CHECK(cudaMemcpyPeer(device[0], 0, device[1], 1, sizeof value));
    CHECK(cudaMemcpy(&value, device[0], sizeof value, cudaMemcpyDeviceToHost));
    EXPECT(value == 11);
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, device[1]));
    EXPECT(attributes.device == 1);
    EXPECT_ERROR(cudaErrorInvalidDevice, cudaSetDevice(2));
    return 0;
}
