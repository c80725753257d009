/* SPDX-License-Identifier: MIT */
/* Rows with a pitch, boxes, and fills of both. */
#include "check.h"

#include <vector>

__global__ void number(char *base, size_t pitch, int width, int height)
{
    int x = threadIdx.x, y = blockIdx.x;
    if (x < width && y < height)
        ((int *)(base + y * pitch))[x] = 100 * y + x;
}

int main()
{
    const int width = 30, height = 9, depth = 4;
    char *device;
    size_t pitch;
    CHECK(cudaMallocPitch(&device, &pitch, width * sizeof(int), height));
    EXPECT(pitch >= width * sizeof(int) && pitch % 256 == 0);
    number<<<height, 32>>>(device, pitch, width, height);
    std::vector<int> host(width * height, -1);
    CHECK(cudaMemcpy2D(host.data(), width * sizeof(int), device, pitch, width * sizeof(int), height,
                       cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            EXPECT(host[y * width + x] == 100 * y + x);
    CHECK(cudaMemset2D(device, pitch, 0x11, 8, 2));
    CHECK(cudaMemcpy2D(host.data(), width * sizeof(int), device, pitch, width * sizeof(int), height,
                       cudaMemcpyDeviceToHost));
    EXPECT(host[0] == 0x11111111 && host[1] == 0x11111111 && host[2] == 2 && host[width] == 0x11111111 &&
           host[2 * width] == 200);
    EXPECT_ERROR(cudaErrorInvalidPitchValue,
                 cudaMemcpy2D(host.data(), 8, device, pitch, 16, 2, cudaMemcpyDeviceToHost));

    cudaPitchedPtr box;
    CHECK(cudaMalloc3D(&box, make_cudaExtent(width, height, depth)));
    EXPECT(box.xsize == (size_t)width && box.ysize == (size_t)height);
    CHECK(cudaMemset3D(box, 5, make_cudaExtent(width, height, depth)));
    std::vector<unsigned char> bytes(width * height * depth);
    for (size_t i = 0; i < bytes.size(); i++)
        bytes[i] = (unsigned char)i;
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(bytes.data(), width, width, height);
    copy.dstPtr = box;
    copy.srcPos = make_cudaPos(2, 1, 1);
    copy.dstPos = make_cudaPos(3, 2, 0);
    copy.extent = make_cudaExtent(10, 5, 2);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    std::vector<unsigned char> back(width * height * depth);
    cudaMemcpy3DParms all = {};
    all.srcPtr = box;
    all.dstPtr = make_cudaPitchedPtr(back.data(), width, width, height);
    all.extent = make_cudaExtent(width, height, depth);
    all.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&all));
    for (int z = 0; z < depth; z++)
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                bool inside = x >= 3 && x < 13 && y >= 2 && y < 7 && z < 2;
                int from = ((z + 1) * height + (y - 1)) * width + (x - 1);
                EXPECT(back[(z * height + y) * width + x] == (inside ? (unsigned char)from : 5));
            }
    return 0;
}
