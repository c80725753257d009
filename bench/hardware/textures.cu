/* SPDX-License-Identifier: MIT */
/*
 * What texture fetches give, bit for bit: a line for each fetch, with its coordinates and its result as bits, on any GPU. Lines of two
 * GPUs (or of corun's) can be compared as text:
 *
 *     nvcc -o textures textures.cu
 *     ./textures > gpu.txt; corun exec -q --functional --gpu h100 -- ./textures > ours.txt; diff gpu.txt ours.txt
 */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) \
    do { \
        cudaError_t error = (call); \
        if (error != cudaSuccess) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
            exit(1); \
        } \
    } while (0)

enum { COUNT = 1024, WIDTH = 16, HEIGHT = 8, DEPTH = 4 };

__global__ void fetch(float *out, const float4 *at, int dimensions, cudaTextureObject_t texture)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 place = at[i];
    out[i] = dimensions == 1   ? tex1D<float>(texture, place.x)
             : dimensions == 2 ? tex2D<float>(texture, place.x, place.y)
                               : tex3D<float>(texture, place.x, place.y, place.z);
}

__global__ void gather(float *out, const float4 *at, cudaTextureObject_t texture)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 four = tex2Dgather<float4>(texture, at[i].x, at[i].y, 0);
    out[i] = i % 4 == 0 ? four.x : i % 4 == 1 ? four.y : i % 4 == 2 ? four.z : four.w;
}

static uint64_t state = 1;

static uint32_t draw()
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

static double draw_unit()
{
    return draw() / 4294967296.0;
}

static float coordinate(int i, int size, bool normalized)
{
    double texels;
    switch (i % 8) {
    case 0: /* in steps of 1/512 of a texel, and beside them */
        texels = (double)(draw() % (512 * size)) / 512;
        break;
    case 1:
        texels = (double)(draw() % (512 * size)) / 512 + 1.0 / 4096;
        break;
    case 2:
        texels = (double)(draw() % (512 * size)) / 512 - 1.0 / 65536;
        break;
    case 3: /* middles of texels */
        texels = draw() % size + 0.5;
        break;
    case 4: /* outside */
        texels = (draw_unit() * 6 - 3) * size;
        break;
    case 5:
        texels = (draw_unit() * 2000 - 1000) * size;
        break;
    default:
        texels = draw_unit() * size;
    }
    if (i % 64 == 13)
        texels = draw() & 1 ? INFINITY : NAN;
    return (float)(normalized ? texels / size : texels);
}

struct Kind {
    const char *name;
    cudaChannelFormatDesc format;
    cudaTextureReadMode read;
};

static const Kind kinds[] = {
    {"f32", {32, 0, 0, 0, cudaChannelFormatKindFloat}, cudaReadModeElementType},
    {"step", {32, 0, 0, 0, cudaChannelFormatKindFloat}, cudaReadModeElementType}, /* shows weights */
    {"f16", {16, 0, 0, 0, cudaChannelFormatKindFloat}, cudaReadModeElementType},
    {"u8", {8, 0, 0, 0, cudaChannelFormatKindUnsigned}, cudaReadModeNormalizedFloat},
    {"s8", {8, 0, 0, 0, cudaChannelFormatKindSigned}, cudaReadModeNormalizedFloat},
    {"u16", {16, 0, 0, 0, cudaChannelFormatKindUnsigned}, cudaReadModeNormalizedFloat},
    {"s16", {16, 0, 0, 0, cudaChannelFormatKindSigned}, cudaReadModeNormalizedFloat},
};

static std::vector<uint8_t> contents(const Kind &kind, int texels)
{
    int bytes = kind.format.x / 8;
    std::vector<uint8_t> data(texels * bytes);
    for (int i = 0; i < texels; i++) {
        uint32_t bits = draw();
        if (!strcmp(kind.name, "step")) {
            float value = i & 1 ? 1.0f : 0.0f;
            memcpy(&bits, &value, 4);
        } else if (kind.format.f == cudaChannelFormatKindFloat && bytes == 4) {
            float value = (float)std::ldexp(draw_unit() * 2 - 1, (int)(draw() % 12) - 6);
            memcpy(&bits, &value, 4);
        } else if (kind.format.f == cudaChannelFormatKindFloat) {
            bits = bits & 0xbfff; /* below 2 */
        }
        memcpy(&data[i * bytes], &bits, bytes);
    }
    return data;
}

static cudaArray_t make_array(const Kind &kind, int dimensions, unsigned flags)
{
    cudaArray_t array;
    size_t height = dimensions > 1 ? HEIGHT : 0, depth = dimensions > 2 ? DEPTH : 0;
    CHECK(cudaMalloc3DArray(&array, &kind.format, make_cudaExtent(WIDTH, height, depth), flags));
    std::vector<uint8_t> data = contents(kind, WIDTH * (height ? HEIGHT : 1) * (depth ? DEPTH : 1));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(data.data(), WIDTH * kind.format.x / 8, WIDTH, height ? HEIGHT : 1);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(WIDTH, height ? HEIGHT : 1, depth ? DEPTH : 1);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    return array;
}

static void show(const Kind &kind, int dimensions, cudaTextureAddressMode mode, cudaTextureFilterMode filter, bool normalized, bool gathers)
{
    static const char *const modes[] = {"wrap", "clamp", "mirror", "border"};
    cudaArray_t array = make_array(kind, dimensions, gathers ? cudaArrayTextureGather : 0);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc reading = {};
    for (int i = 0; i < 3; i++)
        reading.addressMode[i] = mode;
    reading.filterMode = filter;
    reading.readMode = kind.read;
    reading.normalizedCoords = normalized;
    reading.borderColor[0] = 0.75f;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &reading, NULL));
    std::vector<float4> at(COUNT);
    const int sizes[3] = {WIDTH, HEIGHT, DEPTH};
    for (int i = 0; i < COUNT; i++)
        at[i] = make_float4(coordinate(i, sizes[0], normalized), coordinate(i / 2, sizes[1], normalized),
                            coordinate(i / 3, sizes[2], normalized), 0);
    float4 *places;
    float *out;
    CHECK(cudaMalloc(&places, COUNT * sizeof *places));
    CHECK(cudaMalloc(&out, COUNT * sizeof *out));
    CHECK(cudaMemcpy(places, at.data(), COUNT * sizeof *places, cudaMemcpyHostToDevice));
    if (gathers)
        gather<<<COUNT / 128, 128>>>(out, places, texture);
    else
        fetch<<<COUNT / 128, 128>>>(out, places, dimensions, texture);
    CHECK(cudaGetLastError());
    std::vector<uint32_t> result(COUNT);
    CHECK(cudaMemcpy(result.data(), out, COUNT * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++) {
        uint32_t bits[3];
        memcpy(bits, &at[i], 12);
        printf("%s %dD %s %s %s", kind.name, dimensions, modes[mode], gathers ? "gather" : filter ? "linear" : "point",
               normalized ? "normalized" : "texels");
        for (int axis = 0; axis < dimensions; axis++)
            printf(" %08x", bits[axis]);
        printf(" %08x\n", result[i]);
    }
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFree(places));
    CHECK(cudaFree(out));
}

int main()
{
    for (const Kind &kind : kinds)
        for (int dimensions = 1; dimensions <= 3; dimensions++)
            for (int mode = 0; mode < 4; mode++) {
                bool normalized = mode == 0 || mode == 2 || dimensions == 2;
                show(kind, dimensions, (cudaTextureAddressMode)mode, cudaFilterModeLinear, normalized, false);
                if (kind.format.x == 32 || dimensions == 2)
                    show(kind, dimensions, (cudaTextureAddressMode)mode, cudaFilterModePoint, normalized, false);
                if (dimensions == 2)
                    show(kind, dimensions, (cudaTextureAddressMode)mode, cudaFilterModePoint, normalized, true);
            }
    return 0;
}
