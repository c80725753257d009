/* SPDX-License-Identifier: MIT */
/*
 * Linear filters of textures, bit for bit: what one texel of 1 among zeros gives is its weight, and what drawn texels give shows how the products are added.
 * A line for each texture, with its texels, and one for each fetch: coordinates and result as bits. With an argument there are fewer.
 *
 *     nvcc -arch=sm_90 -std=c++17 -o filters filters.cu; ./filters > gpu.txt
 *     corun exec -q --functional --gpu h100 -- ./filters > ours.txt; diff gpu.txt ours.txt
 */
#include <cuda_runtime.h>

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

enum texels { ONE_AMONG_ZEROS, NEAR_ONE, WIDE, HALVES, BYTES, SHORTS, SIGNED_BYTES };
enum places { EVERY_4096TH, DRAWN, DRAWN_BEYOND };

struct filter {
    const char *name;
    int dimensions, width, height, depth, texels, hot, normalized, mode, places, count;
};

__global__ void fetch(float *out, const float4 *at, int dimensions, cudaTextureObject_t texture, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float4 place = at[i];
    out[i] = dimensions == 1   ? tex1D<float>(texture, place.x)
             : dimensions == 2 ? tex2D<float>(texture, place.x, place.y)
                               : tex3D<float>(texture, place.x, place.y, place.z);
}

static uint64_t state = 1;

static uint32_t draw()
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static uint32_t draw_texel(const filter &filter, int i)
{
    uint32_t drawn = draw();
    switch (filter.texels) {
    case ONE_AMONG_ZEROS:
        return i == filter.hot ? 0x3f800000 : 0;
    case NEAR_ONE:
        return (drawn & 0x80ffffff) | 0x3f000000;
    case WIDE:
        return (drawn & 0x807fffff) | (127 - 14 + (drawn >> 8) % 28) << 23;
    case HALVES:
        return (drawn & 0x83ff) | (10 + (drawn >> 20) % 8) << 10;
    default:
        return drawn;
    }
}

static int size_of(int texels)
{
    return texels == HALVES || texels == SHORTS ? 2 : texels == BYTES || texels == SIGNED_BYTES ? 1 : 4;
}

static std::vector<uint8_t> draw_texels(const filter &filter)
{
    int size = size_of(filter.texels);
    int count = filter.width * (filter.dimensions > 1 ? filter.height : 1) * (filter.dimensions > 2 ? filter.depth : 1);
    std::vector<uint8_t> data(count * 4);
    printf("T %s %d %d %d %d %d %d %d %d %d ", filter.name, filter.dimensions, filter.width, filter.height,
           filter.depth, filter.texels, filter.hot, filter.normalized, filter.mode, filter.places);
    for (int i = 0; i < count; i++) {
        uint32_t value = draw_texel(filter, i);
        memcpy(&data[i * size], &value, size);
        value = 0;
        memcpy(&value, &data[i * size], size);
        printf("%x,", value);
    }
    printf("\n");
    return data;
}

static cudaArray_t make_array(const filter &filter, std::vector<uint8_t> &data)
{
    int size = size_of(filter.texels), width = filter.width, height = filter.height;
    cudaChannelFormatKind kind = filter.texels == SIGNED_BYTES ? cudaChannelFormatKindSigned
                                 : filter.texels >= BYTES      ? cudaChannelFormatKindUnsigned
                                                               : cudaChannelFormatKindFloat;
    cudaChannelFormatDesc format = {size * 8, 0, 0, 0, kind};
    cudaArray_t array;
    if (filter.dimensions < 3) {
        int rows = filter.dimensions > 1 ? height : 1;
        CHECK(cudaMallocArray(&array, &format, width, filter.dimensions > 1 ? height : 0));
        CHECK(cudaMemcpy2DToArray(array, 0, 0, data.data(), width * size, width * size, rows, cudaMemcpyHostToDevice));
        return array;
    }
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(width, height, filter.depth)));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(data.data(), width * size, width, height);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(width, height, filter.depth);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    return array;
}

static cudaTextureObject_t make_texture(const filter &filter, cudaArray_t array)
{
    cudaResourceDesc resource = {};
    cudaTextureDesc description = {};
    cudaTextureObject_t texture;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    for (int i = 0; i < 3; i++)
        description.addressMode[i] = (cudaTextureAddressMode)filter.mode;
    description.filterMode = cudaFilterModeLinear;
    description.readMode = filter.texels > HALVES ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    description.normalizedCoords = filter.normalized;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, NULL));
    return texture;
}

static std::vector<float4> draw_places(const filter &filter)
{
    std::vector<float4> at(filter.count);
    for (int i = 0; i < filter.count; i++) {
        float place[3];
        int extent[3] = {filter.width, filter.height, filter.depth};
        for (int axis = 0; axis < 3; axis++) {
            double size = extent[axis], beyond = filter.places == DRAWN_BEYOND ? size : 0;
            double x =
                filter.places == EVERY_4096TH ? i / 4096.0 - 1 : draw() / 4294967296.0 * (size + 2 * beyond) - beyond;
            place[axis] = (float)(filter.normalized ? x / size : x);
        }
        at[i] = make_float4(place[0], place[1], place[2], 0);
    }
    return at;
}

static void run(const filter &filter)
{
    std::vector<uint8_t> data = draw_texels(filter);
    cudaArray_t array = make_array(filter, data);
    cudaTextureObject_t texture = make_texture(filter, array);
    std::vector<float4> at = draw_places(filter);
    std::vector<float> result(filter.count);
    float4 *place;
    float *out;
    CHECK(cudaMalloc(&place, filter.count * sizeof *place));
    CHECK(cudaMalloc(&out, filter.count * sizeof *out));
    CHECK(cudaMemcpy(place, at.data(), filter.count * sizeof *place, cudaMemcpyHostToDevice));
    fetch<<<(filter.count + 127) / 128, 128>>>(out, place, filter.dimensions, texture, filter.count);
    CHECK(cudaMemcpy(result.data(), out, filter.count * sizeof *out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < filter.count; i++) {
        printf("%x", bits_of(at[i].x));
        if (filter.dimensions > 1)
            printf(" %x", bits_of(at[i].y));
        if (filter.dimensions > 2)
            printf(" %x", bits_of(at[i].z));
        printf(" %x\n", bits_of(result[i]));
    }
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFree(place));
    CHECK(cudaFree(out));
}

int main(int argc, char **)
{
    int part = argc > 1 ? 16 : 1;
    run({"weight", 1, 4, 1, 1, ONE_AMONG_ZEROS, 1, 0, cudaAddressModeClamp, EVERY_4096TH, 4096 * 6 / part});
    run({"weight", 1, 4, 1, 1, ONE_AMONG_ZEROS, 1, 0, cudaAddressModeClamp, DRAWN, 4096 / part});
    run({"weight", 1, 64, 1, 1, ONE_AMONG_ZEROS, 33, 0, cudaAddressModeClamp, DRAWN, 4096 / part});
    for (int width : {4, 5, 7, 16, 100})
        for (int mode = cudaAddressModeWrap; mode <= cudaAddressModeBorder; mode++)
            run({"weight", 1, width, 1, 1, ONE_AMONG_ZEROS, 1, 1, mode, DRAWN_BEYOND, 2048 / part});
    for (int hot : {5, 6, 9, 10}) {
        state = 77;
        run({"weight", 2, 4, 4, 1, ONE_AMONG_ZEROS, hot, 0, cudaAddressModeClamp, DRAWN, 2048 / part});
    }
    for (int hot : {21, 22, 25, 26, 37, 38, 41, 42}) {
        state = 78;
        run({"weight", 3, 4, 4, 4, ONE_AMONG_ZEROS, hot, 0, cudaAddressModeClamp, DRAWN, 2048 / part});
    }
    for (int texels = NEAR_ONE; texels <= SIGNED_BYTES; texels++)
        for (int dimensions = 1; dimensions <= 3; dimensions++) {
            run({"sum", dimensions, 16, 8, 4, texels, 0, 0, cudaAddressModeClamp, DRAWN, 4096 / part});
            run({"sum", dimensions, 16, 8, 4, texels, 0, 1, cudaAddressModeWrap, DRAWN_BEYOND, 1024 / part});
        }
}
