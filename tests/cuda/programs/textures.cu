/* SPDX-License-Identifier: MIT */
/* Textures over arrays, linear and pitched memory: modes, filters, types; what may not be made is refused. */
#include "check.h"
#include "../include/texture.h"

#include <cmath>
#include <vector>

__global__ void fetch_2d(float *out, const float2 *at, int count, cudaTextureObject_t texture)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = tex2D<float>(texture, at[i].x, at[i].y);
}

__global__ void fetch_1d(float *out, const float *at, int count, cudaTextureObject_t texture)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = tex1D<float>(texture, at[i]);
}

__global__ void fetch_linear(int *out, int from, int count, cudaTextureObject_t texture)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = tex1Dfetch<int>(texture, from - i);
}

__global__ void fetch_colors(float4 *out, uchar4 *bytes, int width, int height, cudaTextureObject_t normalized,
                             cudaTextureObject_t plain)
{
    int x = threadIdx.x, y = blockIdx.x;
    if (x < width && y < height) {
        out[y * width + x] = tex2D<float4>(normalized, x + 0.5f, y + 0.5f);
        bytes[y * width + x] = tex2D<uchar4>(plain, x + 0.5f, y + 0.5f);
    }
}

__global__ void fetch_3d(short2 *points, float *between, int width, int height, int depth, cudaTextureObject_t point,
                         cudaTextureObject_t linear)
{
    int x = threadIdx.x, y = blockIdx.x % height, z = blockIdx.x / height, i = blockIdx.x * width + x;
    if (x < width && z < depth) {
        points[i] = tex3D<short2>(point, x + 0.5f, y + 0.5f, z + 0.5f);
        between[i] = tex3D<float>(linear, x + 1.0f, y + 1.0f, z + 1.0f);
    }
}

__global__ void fetch_layers(float2 *out, int width, int height, cudaTextureObject_t texture)
{
    int x = threadIdx.x, y = blockIdx.x % height, layer = blockIdx.x / height;
    if (x < width)
        out[blockIdx.x * width + x] = tex2DLayered<float2>(texture, x + 0.5f, y + 0.5f, layer);
}

static const cudaChannelFormatDesc one_float = {32, 0, 0, 0, cudaChannelFormatKindFloat};

/* Device memory that goes with its scope. */
template <class T> struct Device {
    T *data;
    explicit Device(size_t count)
    {
        CHECK(cudaMalloc(&data, count * sizeof(T)));
    }
    ~Device()
    {
        CHECK(cudaFree(data));
    }
    void put(const std::vector<T> &from)
    {
        CHECK(cudaMemcpy(data, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    std::vector<T> get(size_t count) const
    {
        std::vector<T> result(count);
        CHECK(cudaMemcpy(result.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
        return result;
    }
};

static cudaResourceDesc of_array(cudaArray_t array)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}

static cudaTextureObject_t make(const cudaResourceDesc &resource, cudaTextureAddressMode mode,
                                cudaTextureFilterMode filter, cudaTextureReadMode read, bool normalized)
{
    cudaTextureDesc reading = {};
    for (int i = 0; i < 3; i++)
        reading.addressMode[i] = mode;
    reading.filterMode = filter;
    reading.readMode = read;
    reading.normalizedCoords = normalized;
    reading.borderColor[0] = -7.0f;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &reading, NULL));
    return texture;
}

static int wrapped(int i, int size)
{
    return (i % size + size) % size;
}

/* A point between four texels of a picture that repeats, in full precision. */
static double between(const std::vector<float> &picture, int width, int height, double u, double v)
{
    double x = u * width - 0.5, y = v * height - 0.5, a = x - std::floor(x), b = y - std::floor(y);
    int x0 = wrapped((int)std::floor(x), width), x1 = wrapped(x0 + 1, width);
    int y0 = wrapped((int)std::floor(y), height), y1 = wrapped(y0 + 1, height);
    return (1 - b) * ((1 - a) * picture[y0 * width + x0] + a * picture[y0 * width + x1]) +
           b * ((1 - a) * picture[y1 * width + x0] + a * picture[y1 * width + x1]);
}

static void rotated_picture()
{
    const int width = 64, height = 32, count = 1000;
    std::vector<float> picture(width * height);
    for (int i = 0; i < width * height; i++)
        picture[i] = (float)(i * 7919 % 1000);
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &one_float, width, height, cudaArrayDefault));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, picture.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice));
    cudaTextureObject_t texture = make(of_array(array), cudaAddressModeWrap, cudaFilterModeLinear,
                                       cudaReadModeElementType, true);
    std::vector<float2> at(count);
    for (int i = 0; i < count; i++) {
        at[i].x = (float)(0.01 * i * std::cos(0.5) - 3.0); /* far outside, too */
        at[i].y = (float)(0.013 * i * std::sin(0.5) - 2.0);
        if (i % 10 == 0) { /* the middle of a texel: no weights, the very value */
            at[i].x = (float)(i % width) / width + 0.5f / width;
            at[i].y = (float)(i % height) / height + 0.5f / height;
        }
    }
    Device<float2> places(count);
    Device<float> out(count);
    places.put(at);
    fetch_2d<<<(count + 127) / 128, 128>>>(out.data, places.data, count, texture);
    CHECK(cudaGetLastError());
    std::vector<float> result = out.get(count);
    for (int i = 0; i < count; i++) {
        /* Weights have 8 bits: two of them are off by half a bit each, between values up to 1000. */
        double want = between(picture, width, height, at[i].x, at[i].y);
        EXPECT(std::fabs(result[i] - want) <= (i % 10 ? 1000.0 * 2 / 512 + 0.1 : 0.0));
    }
    cudaTextureDesc told;
    cudaResourceDesc resource;
    CHECK(cudaGetTextureObjectTextureDesc(&told, texture));
    CHECK(cudaGetTextureObjectResourceDesc(&resource, texture));
    EXPECT(told.filterMode == cudaFilterModeLinear && told.normalizedCoords && resource.res.array.array == array);
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeArray(array));
}

static void modes_of_one_dimension()
{
    const int width = 8, count = 5;
    const float whole[count] = {-1.5f, 0.5f, 7.5f, 8.5f, 11.5f}; /* in texels */
    const float want[4][count] = {{6, 0, 7, 0, 3}, {0, 0, 7, 7, 7}, {1, 0, 7, 7, 4}, {-7, 0, 7, -7, -7}};
    std::vector<float> line(width), at(count);
    for (int i = 0; i < width; i++)
        line[i] = (float)i;
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &one_float, width, 0, cudaArrayDefault));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, line.data(), width * 4, width * 4, 1, cudaMemcpyHostToDevice));
    for (int i = 0; i < count; i++)
        at[i] = whole[i] / width;
    Device<float> places(count), out(count);
    places.put(at);
    for (int mode = cudaAddressModeWrap; mode <= cudaAddressModeBorder; mode++) {
        cudaTextureObject_t texture = make(of_array(array), (cudaTextureAddressMode)mode, cudaFilterModePoint,
                                           cudaReadModeElementType, true);
        fetch_1d<<<1, 32>>>(out.data, places.data, count, texture);
        std::vector<float> result = out.get(count);
        for (int i = 0; i < count; i++)
            EXPECT(result[i] == want[mode][i]);
        CHECK(cudaDestroyTextureObject(texture));
    }
    CHECK(cudaFreeArray(array));
}

static void linear_memory()
{
    const int count = 1000;
    std::vector<int> numbers(count);
    for (int i = 0; i < count; i++)
        numbers[i] = 3 * i - 500;
    Device<int> memory(count), out(count + 64);
    memory.put(numbers);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory.data;
    resource.res.linear.desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned);
    resource.res.linear.sizeInBytes = count * sizeof(int);
    cudaTextureObject_t texture =
        make(resource, cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeElementType, false);
    fetch_linear<<<(count + 64 + 255) / 256, 256>>>(out.data, count + 31, count + 64, texture);
    std::vector<int> result = out.get(count + 64);
    for (int i = 0; i < count + 64; i++) {
        int from = count + 31 - i;
        EXPECT(result[i] == (from >= 0 && from < count ? numbers[from] : 0));
    }
    CHECK(cudaDestroyTextureObject(texture));
    cudaTextureDesc reading = {};
    reading.filterMode = cudaFilterModeLinear; /* between integers there is nothing */
    EXPECT_ERROR(cudaErrorInvalidFilterSetting, cudaCreateTextureObject(&texture, &resource, &reading, NULL));
}

static void pitched_colors()
{
    const int width = 20, height = 6;
    size_t pitch;
    char *memory;
    std::vector<unsigned char> colors(width * height * 4);
    for (size_t i = 0; i < colors.size(); i++)
        colors[i] = (unsigned char)(i * 37);
    CHECK(cudaMallocPitch(&memory, &pitch, width * 4, height));
    CHECK(cudaMemcpy2D(memory, pitch, colors.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = memory;
    resource.res.pitch2D.desc = cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindUnsigned);
    resource.res.pitch2D.width = width;
    resource.res.pitch2D.height = height;
    resource.res.pitch2D.pitchInBytes = pitch;
    cudaTextureObject_t normalized =
        make(resource, cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeNormalizedFloat, false);
    cudaTextureObject_t plain =
        make(resource, cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeElementType, false);
    Device<float4> out(width * height);
    Device<uchar4> bytes(width * height);
    fetch_colors<<<height, 32>>>(out.data, bytes.data, width, height, normalized, plain);
    std::vector<float4> result = out.get(width * height);
    std::vector<uchar4> same = bytes.get(width * height);
    for (int i = 0; i < width * height; i++) {
        const unsigned char *want = &colors[i * 4];
        EXPECT(std::fabs(result[i].x - want[0] / 255.0) < 1e-6 && std::fabs(result[i].y - want[1] / 255.0) < 1e-6 &&
               std::fabs(result[i].z - want[2] / 255.0) < 1e-6 && std::fabs(result[i].w - want[3] / 255.0) < 1e-6);
        EXPECT(same[i].x == want[0] && same[i].y == want[1] && same[i].z == want[2] && same[i].w == want[3]);
    }
    CHECK(cudaDestroyTextureObject(normalized));
    CHECK(cudaDestroyTextureObject(plain));
    CHECK(cudaFree(memory));
}

static cudaArray_t make_box(const cudaChannelFormatDesc &channel, cudaExtent extent, const void *from,
                            size_t texel_bytes, unsigned flags)
{
    cudaArray_t array;
    cudaMemcpy3DParms copy = {};
    CHECK(cudaMalloc3DArray(&array, &channel, extent, flags));
    copy.srcPtr = make_cudaPitchedPtr((void *)from, extent.width * texel_bytes, extent.width, extent.height);
    copy.dstArray = array;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    return array;
}

static void boxes()
{
    const int width = 12, height = 7, depth = 5, count = width * height * depth;
    std::vector<short2> pairs(count);
    std::vector<float> values(count);
    for (int i = 0; i < count; i++) {
        pairs[i].x = (short)(i - 200);
        pairs[i].y = (short)(-3 * i);
        values[i] = (float)(i % width + 10 * (i / width % height) + 100 * (i / width / height));
    }
    cudaExtent extent = make_cudaExtent(width, height, depth);
    cudaArray_t of_pairs = make_box(cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindSigned), extent,
                                    pairs.data(), 4, cudaArrayDefault);
    cudaArray_t of_values = make_box(one_float, extent, values.data(), 4, cudaArrayDefault);
    cudaTextureObject_t point =
        make(of_array(of_pairs), cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeElementType, false);
    cudaTextureObject_t linear =
        make(of_array(of_values), cudaAddressModeClamp, cudaFilterModeLinear, cudaReadModeElementType, false);
    Device<short2> points(count);
    Device<float> middles(count);
    fetch_3d<<<height * depth, 32>>>(points.data, middles.data, width, height, depth, point, linear);
    std::vector<short2> got = points.get(count);
    std::vector<float> got_between = middles.get(count);
    for (int i = 0; i < count; i++) {
        int x = i % width, y = i / width % height, z = i / width / height;
        double want = (x < width - 1 ? x + 0.5 : x) + 10 * (y < height - 1 ? y + 0.5 : y) +
                      100 * (z < depth - 1 ? z + 0.5 : z);
        EXPECT(got[i].x == pairs[i].x && got[i].y == pairs[i].y);
        EXPECT(std::fabs(got_between[i] - want) < 1e-3);
    }
    std::vector<float> back(count);
    cudaMemcpy3DParms copy = {};
    copy.srcArray = of_values;
    copy.srcPos = make_cudaPos(2, 1, 1);
    copy.dstPtr = make_cudaPitchedPtr(back.data(), 4 * 4, 4, 3);
    copy.extent = make_cudaExtent(4, 3, 2);
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&copy));
    for (int i = 0; i < 4 * 3 * 2; i++)
        EXPECT(back[i] == (2 + i % 4) + 10 * (1 + i / 4 % 3) + 100 * (1 + i / 12));
    CHECK(cudaDestroyTextureObject(point));
    CHECK(cudaDestroyTextureObject(linear));
    CHECK(cudaFreeArray(of_pairs));
    CHECK(cudaFreeArray(of_values));
}

static void layers()
{
    const int width = 9, height = 4, number = 3, count = width * height * number;
    std::vector<float> pairs(count * 2);
    for (int i = 0; i < count * 2; i++)
        pairs[i] = (float)(i * i % 1013);
    cudaArray_t array = make_box(cudaCreateChannelDesc(32, 32, 0, 0, cudaChannelFormatKindFloat),
                                 make_cudaExtent(width, height, number), pairs.data(), 8, cudaArrayLayered);
    cudaChannelFormatDesc channel;
    cudaExtent extent;
    unsigned flags;
    CHECK(cudaArrayGetInfo(&channel, &extent, &flags, array));
    EXPECT(channel.y == 32 && extent.depth == (size_t)number && flags == cudaArrayLayered);
    cudaTextureObject_t texture =
        make(of_array(array), cudaAddressModeClamp, cudaFilterModeLinear, cudaReadModeElementType, false);
    Device<float2> out(count);
    fetch_layers<<<height * number, 32>>>(out.data, width, height, texture);
    std::vector<float2> result = out.get(count);
    for (int i = 0; i < count; i++)
        EXPECT(result[i].x == pairs[2 * i] && result[i].y == pairs[2 * i + 1]);
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeArray(array));
}

int main()
{
    rotated_picture();
    modes_of_one_dimension();
    linear_memory();
    pitched_colors();
    boxes();
    layers();
    CHECK(cudaDeviceSynchronize());
    return 0;
}
