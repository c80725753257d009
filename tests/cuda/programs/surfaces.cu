/* SPDX-License-Identifier: MIT */
/* Surfaces: reads and writes by coordinates, what lies outside, and the texture of the same array. */
#include "check.h"
#include "../include/texture.h"

#include <vector>

__global__ void twice(cudaSurfaceObject_t surface, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float value;
    if (x < width && y < height) {
        surf2Dread(&value, surface, x * 4, y);
        surf2Dwrite(value * 2, surface, x * 4, y);
    }
}

/* Outside: zero reads zero and writes nothing, clamp takes what is nearest. */
__global__ void outside(cudaSurfaceObject_t surface, int width, int height, float *out)
{
    surf2Dread(&out[0], surface, width * 4, 0, cudaBoundaryModeZero);
    surf2Dread(&out[1], surface, -4, 1, cudaBoundaryModeZero);
    surf2Dread(&out[2], surface, (width + 5) * 4, height + 9, cudaBoundaryModeClamp);
    surf2Dread(&out[3], surface, -8, -1, cudaBoundaryModeClamp);
    surf2Dwrite(-1.0f, surface, 0, height, cudaBoundaryModeZero);
}

__global__ void transpose(float *out, int width, int height, cudaTextureObject_t texture)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        out[x * height + y] = tex2D<float>(texture, x, y);
}

int main()
{
    const int width = 50, height = 18;
    std::vector<float> picture(width * height), result(width * height);
    for (int i = 0; i < width * height; i++)
        picture[i] = (float)(i + 1);
    cudaChannelFormatDesc channel = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    cudaArray_t array, other;
    CHECK(cudaMallocArray(&array, &channel, width, height, cudaArraySurfaceLoadStore));
    CHECK(cudaMallocArray(&other, &channel, width, height, cudaArrayDefault));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, picture.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    dim3 block(16, 4), grid((width + 15) / 16, (height + 3) / 4);
    twice<<<grid, block>>>(surface, width, height);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy2DFromArray(result.data(), width * 4, array, 0, 0, width * 4, height, cudaMemcpyDeviceToHost));
    for (int i = 0; i < width * height; i++)
        EXPECT(result[i] == 2 * picture[i]);
    float *out, edges[4];
    CHECK(cudaMalloc(&out, width * height * 4));
    outside<<<1, 1>>>(surface, width, height, out);
    CHECK(cudaMemcpy(edges, out, sizeof edges, cudaMemcpyDeviceToHost));
    EXPECT(edges[0] == 0 && edges[1] == 0 && edges[2] == 2.0f * width * height && edges[3] == 2);

    cudaTextureDesc reading = {};
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &reading, NULL));
    transpose<<<grid, block>>>(out, width, height, texture);
    CHECK(cudaMemcpy(result.data(), out, width * height * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < width * height; i++)
        EXPECT(result[i % width * height + i / width] == 2 * picture[i]);

    CHECK(cudaMemcpy2DArrayToArray(other, 0, 0, array, 40, 2, (width - 10) * 4, height - 2, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy2DFromArray(result.data(), 16, other, 4, 3, 16, 2, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++)
        EXPECT(result[i] == 2 * picture[(3 + i / 4 + 2) * width + 1 + i % 4 + 10]);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemcpy2DToArray(array, 8, 0, picture.data(), width * 4, width * 4, 1,
                                                            cudaMemcpyHostToDevice));
    /* The direction must be that of the copy: an array is on the device, and so is `out`. */
    EXPECT_ERROR(cudaErrorInvalidMemcpyDirection,
                 cudaMemcpy2DToArray(array, 0, 0, picture.data(), width * 4, width * 4, 1, cudaMemcpyDeviceToHost));
    EXPECT_ERROR(cudaErrorInvalidValue,
                 cudaMemcpy2DToArray(array, 0, 0, out, width * 4, width * 4, 1, cudaMemcpyHostToDevice));
    EXPECT_ERROR(cudaErrorInvalidMemcpyDirection,
                 cudaMemcpy2DToArray(array, 0, 0, out, width * 4, width * 4, 1, (cudaMemcpyKind)7));
    cudaMemcpy3DParms box = {};
    box.srcPtr = make_cudaPitchedPtr(picture.data(), width * 4, width, height);
    box.dstArray = array;
    box.extent = make_cudaExtent(width, height, 1);
    box.kind = cudaMemcpyDeviceToHost;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemcpy3D(&box));
    box.kind = cudaMemcpyDefault;
    CHECK(cudaMemcpy3D(&box));
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaFreeArray(other));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFree(out));
    return 0;
}
