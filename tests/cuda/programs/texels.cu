/* SPDX-License-Identifier: MIT */
/* Texels of every type, by textures and by surfaces of each kind of array: what is fetched is what was stored, byte for byte. */
#include "../include/texture.h"
#include "check.h"

#include <cstring>
#include <vector>

enum { TEXEL_COLUMNS = 24, TEXEL_ROWS = 6, TEXEL_LAYERS = 4 };

/* By a texture, by a surface, and by a surface into another array. */
template <class T>
__global__ void move_2d(T *fetched, T *read, cudaTextureObject_t texture, cudaSurfaceObject_t from,
                        cudaSurfaceObject_t to)
{
    int x = threadIdx.x, y = blockIdx.x;
    fetched[y * TEXEL_COLUMNS + x] = tex2D<T>(texture, x + 0.5f, y + 0.5f);
    T value;
    surf2Dread(&value, from, x * (int)sizeof(T), y);
    read[y * TEXEL_COLUMNS + x] = value;
    surf2Dwrite(value, to, x * (int)sizeof(T), TEXEL_ROWS - 1 - y);
}

template <class T>
__global__ void move_3d(T *fetched, T *read, cudaTextureObject_t texture, cudaSurfaceObject_t surface)
{
    int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y, i = (z * TEXEL_ROWS + y) * TEXEL_COLUMNS + x;
    tex3D(&fetched[i], texture, x + 0.5f, y + 0.5f, z + 0.5f);
    read[i] = surf3Dread<T>(surface, x * (int)sizeof(T), y, z);
}

template <class T>
__global__ void move_layers(T *fetched, T *read, cudaTextureObject_t texture, cudaSurfaceObject_t from,
                            cudaSurfaceObject_t to)
{
    int x = threadIdx.x, y = blockIdx.x, layer = blockIdx.y, i = (layer * TEXEL_ROWS + y) * TEXEL_COLUMNS + x;
    fetched[i] = tex2DLayered<T>(texture, x + 0.5f, y + 0.5f, layer);
    T value = surf2DLayeredread<T>(from, x * (int)sizeof(T), y, layer);
    read[i] = value;
    surf2DLayeredwrite(value, to, x * (int)sizeof(T), y, TEXEL_LAYERS - 1 - layer);
}

template <class T> __global__ void move_1d(T *fetched, T *linear, cudaTextureObject_t array, cudaTextureObject_t memory)
{
    int x = threadIdx.x;
    fetched[x] = tex1D<T>(array, x + 0.5f);
    linear[x] = tex1Dfetch<T>(memory, TEXEL_COLUMNS - 1 - x);
}

/* An array with the texels, a texture and a surface of it. */
template <class T> struct Texels {
    cudaArray_t array;
    cudaTextureObject_t texture = 0;
    cudaSurfaceObject_t surface;

    Texels(const T *from, cudaExtent extent, unsigned flags)
    {
        cudaChannelFormatDesc channel = cudaCreateChannelDesc<T>();
        CHECK(cudaMalloc3DArray(&array, &channel, extent, flags | cudaArraySurfaceLoadStore));
        copy((T *)from, extent, true);
        cudaResourceDesc resource = {};
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
        cudaTextureDesc reading = {};
        reading.readMode = cudaReadModeElementType;
        CHECK(cudaCreateTextureObject(&texture, &resource, &reading, 0));
        CHECK(cudaCreateSurfaceObject(&surface, &resource));
    }
    ~Texels()
    {
        CHECK(cudaDestroyTextureObject(texture));
        CHECK(cudaDestroySurfaceObject(surface));
        CHECK(cudaFreeArray(array));
    }
    void copy(T *host, cudaExtent extent, bool there)
    {
        cudaMemcpy3DParms parameters = {};
        size_t height = extent.height ? extent.height : 1, depth = extent.depth ? extent.depth : 1;
        (there ? parameters.srcPtr : parameters.dstPtr) =
            make_cudaPitchedPtr(host, extent.width * sizeof(T), extent.width, height);
        (there ? parameters.dstArray : parameters.srcArray) = array;
        parameters.extent = make_cudaExtent(extent.width, height, depth);
        parameters.kind = there ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
        CHECK(cudaMemcpy3D(&parameters));
    }
};

/* Device memory for all texels, and what is in it. */
template <class T> struct Out {
    T *device;

    Out()
    {
        CHECK(cudaMalloc((void **)&device, TEXEL_COLUMNS * TEXEL_ROWS * TEXEL_LAYERS * sizeof(T)));
        CHECK(cudaMemset(device, 0xee, TEXEL_COLUMNS * TEXEL_ROWS * TEXEL_LAYERS * sizeof(T)));
    }
    ~Out()
    {
        CHECK(cudaFree(device));
    }
    bool has(const T *wanted, int count)
    {
        std::vector<T> host(count);
        CHECK(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
        return !memcmp(host.data(), wanted, count * sizeof(T));
    }
};

template <class T> static void try_1d(const T *texels)
{
    Out<T> fetched, linear;
    T *memory, mirrored[TEXEL_COLUMNS];
    cudaTextureObject_t texture;
    Texels<T> line(texels, make_cudaExtent(TEXEL_COLUMNS, 0, 0), cudaArrayDefault);
    CHECK(cudaMalloc((void **)&memory, TEXEL_COLUMNS * sizeof(T)));
    CHECK(cudaMemcpy(memory, texels, TEXEL_COLUMNS * sizeof(T), cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = cudaCreateChannelDesc<T>();
    resource.res.linear.sizeInBytes = TEXEL_COLUMNS * sizeof(T);
    cudaTextureDesc reading = {};
    CHECK(cudaCreateTextureObject(&texture, &resource, &reading, 0));
    move_1d<<<1, TEXEL_COLUMNS>>>(fetched.device, linear.device, line.texture, texture);
    CHECK(cudaDeviceSynchronize());
    for (int x = 0; x < TEXEL_COLUMNS; x++)
        mirrored[x] = texels[TEXEL_COLUMNS - 1 - x];
    EXPECT(fetched.has(texels, TEXEL_COLUMNS) && linear.has(mirrored, TEXEL_COLUMNS));
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFree(memory));
}

template <class T> static void try_2d(const T *texels)
{
    const cudaExtent extent = make_cudaExtent(TEXEL_COLUMNS, TEXEL_ROWS, 0);
    T turned[TEXEL_COLUMNS * TEXEL_ROWS];
    Out<T> fetched, read;
    Texels<T> from(texels, extent, cudaArrayDefault), to(texels, extent, cudaArrayDefault);
    move_2d<<<TEXEL_ROWS, TEXEL_COLUMNS>>>(fetched.device, read.device, from.texture, from.surface, to.surface);
    CHECK(cudaDeviceSynchronize());
    EXPECT(fetched.has(texels, TEXEL_COLUMNS * TEXEL_ROWS) && read.has(texels, TEXEL_COLUMNS * TEXEL_ROWS));
    to.copy(turned, extent, false);
    for (int y = 0; y < TEXEL_ROWS; y++)
        EXPECT(!memcmp(&turned[y * TEXEL_COLUMNS], &texels[(TEXEL_ROWS - 1 - y) * TEXEL_COLUMNS],
                       TEXEL_COLUMNS * sizeof(T)));
}

template <class T> static void try_3d(const T *texels)
{
    const cudaExtent extent = make_cudaExtent(TEXEL_COLUMNS, TEXEL_ROWS, TEXEL_LAYERS);
    const int all = TEXEL_COLUMNS * TEXEL_ROWS * TEXEL_LAYERS;
    std::vector<T> turned(all);
    Out<T> fetched, read;
    Texels<T> solid(texels, extent, cudaArrayDefault), from(texels, extent, cudaArrayLayered),
        to(texels, extent, cudaArrayLayered);
    move_3d<<<dim3(TEXEL_ROWS, TEXEL_LAYERS), TEXEL_COLUMNS>>>(fetched.device, read.device, solid.texture,
                                                               solid.surface);
    CHECK(cudaDeviceSynchronize());
    EXPECT(fetched.has(texels, all) && read.has(texels, all));
    move_layers<<<dim3(TEXEL_ROWS, TEXEL_LAYERS), TEXEL_COLUMNS>>>(fetched.device, read.device, from.texture,
                                                                   from.surface, to.surface);
    CHECK(cudaDeviceSynchronize());
    EXPECT(fetched.has(texels, all) && read.has(texels, all));
    to.copy(turned.data(), extent, false);
    for (int z = 0; z < TEXEL_LAYERS; z++)
        EXPECT(!memcmp(&turned[z * TEXEL_COLUMNS * TEXEL_ROWS],
                       &texels[(TEXEL_LAYERS - 1 - z) * TEXEL_COLUMNS * TEXEL_ROWS],
                       TEXEL_COLUMNS * TEXEL_ROWS * sizeof(T)));
}

/* Bytes that differ; as floats they are neither infinite nor NaN, nor subnormal. */
template <class T> static void try_type()
{
    std::vector<T> texels(TEXEL_COLUMNS * TEXEL_ROWS * TEXEL_LAYERS);
    unsigned char *bytes = (unsigned char *)texels.data();
    for (size_t i = 0; i < texels.size() * sizeof(T); i++)
        bytes[i] = (unsigned char)(i % 4 == 3 ? 0x40 | (i >> 2 & 1) << 7 : i * 37 + (i >> 8) * 11 + 5);
    try_1d(texels.data());
    try_2d(texels.data());
    try_3d(texels.data());
}

int main()
{
    try_type<char>(), try_type<signed char>(), try_type<unsigned char>(), try_type<char1>(), try_type<uchar2>(),
        try_type<char4>(), try_type<uchar4>();
    try_type<short>(), try_type<unsigned short>(), try_type<short2>(), try_type<ushort4>();
    try_type<int>(), try_type<unsigned int>(), try_type<int2>(), try_type<uint4>();
    try_type<float>(), try_type<float1>(), try_type<float2>(), try_type<float4>();
    return 0;
}
