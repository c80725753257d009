/* SPDX-License-Identifier: MIT */
/*
 * Arrays, textures and surfaces as CUDA's headers have them, for clang alone: structures and functions of the host, and
 * the fetches that the tests use, which the compiler has no builtins for. With nvcc they are the toolkit's.
 */
#ifndef CORUN_TEST_TEXTURE_H
#define CORUN_TEST_TEXTURE_H

#ifndef TOOLKIT

enum cudaChannelFormatKind {
    cudaChannelFormatKindSigned,
    cudaChannelFormatKindUnsigned,
    cudaChannelFormatKindFloat,
    cudaChannelFormatKindNone
};
enum { cudaArrayDefault = 0, cudaArrayLayered = 1, cudaArraySurfaceLoadStore = 2 };
enum cudaResourceType {
    cudaResourceTypeArray,
    cudaResourceTypeMipmappedArray,
    cudaResourceTypeLinear,
    cudaResourceTypePitch2D
};
enum cudaTextureAddressMode { cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder };
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap };

typedef struct cudaArray *cudaArray_t;
typedef const struct cudaArray *cudaArray_const_t;
typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t;
struct cudaChannelFormatDesc {
    int x, y, z, w;
    cudaChannelFormatKind f;
};
struct cudaResourceDesc {
    cudaResourceType resType;
    union {
        struct {
            cudaArray_t array;
        } array;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
        int reserved[32];
    } res;
    unsigned int flags;
};
struct cudaTextureDesc {
    cudaTextureAddressMode addressMode[3];
    cudaTextureFilterMode filterMode;
    cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned int maxAnisotropy;
    cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, seamlessCubemap;
};

extern "C" {
cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind);
cudaError_t cudaMallocArray(cudaArray_t *array, const cudaChannelFormatDesc *channel, size_t width, size_t height,
                            unsigned int flags);
cudaError_t cudaMalloc3DArray(cudaArray_t *array, const cudaChannelFormatDesc *channel, cudaExtent extent,
                              unsigned int flags);
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc *channel, cudaExtent *extent, unsigned int *flags,
                             cudaArray_t array);
cudaError_t cudaMemcpy2DToArray(cudaArray_t array, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                                size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t array, size_t x, size_t y, size_t width,
                                  size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                                     size_t from_y, size_t width, size_t height, cudaMemcpyKind kind);
cudaError_t cudaCreateTextureObject(cudaTextureObject_t *texture, const cudaResourceDesc *resource,
                                    const cudaTextureDesc *reading, const void *view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture);
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc *reading, cudaTextureObject_t texture);
cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc *resource, cudaTextureObject_t texture);
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *surface, const cudaResourceDesc *resource);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface);
}

/* The four components that every fetch has, as the instruction gives them, and as a texel of type T. */
struct corun_texel_f {
    float x, y, z, w;
};
struct corun_texel_i {
    int x, y, z, w;
};
CORUN_DEVICE_FUNCTION void corun_take(const corun_texel_f &texel, float *value)
{
    *value = texel.x;
}
CORUN_DEVICE_FUNCTION void corun_take(const corun_texel_f &texel, float2 *value)
{
    *value = make_float2(texel.x, texel.y);
}
CORUN_DEVICE_FUNCTION void corun_take(const corun_texel_f &texel, float4 *value)
{
    *value = make_float4(texel.x, texel.y, texel.z, texel.w);
}
CORUN_DEVICE_FUNCTION void corun_take(const corun_texel_i &texel, int *value)
{
    *value = texel.x;
}
CORUN_DEVICE_FUNCTION void corun_take(const corun_texel_i &texel, short2 *value)
{
    *value = make_short2((short)texel.x, (short)texel.y);
}
CORUN_DEVICE_FUNCTION void corun_take(const corun_texel_i &texel, uchar4 *value)
{
    *value =
        make_uchar4((unsigned char)texel.x, (unsigned char)texel.y, (unsigned char)texel.z, (unsigned char)texel.w);
}
template <class T> struct corun_texel_of {
    typedef corun_texel_f type;
};
template <> struct corun_texel_of<int> {
    typedef corun_texel_i type;
};
template <> struct corun_texel_of<short2> {
    typedef corun_texel_i type;
};
template <> struct corun_texel_of<uchar4> {
    typedef corun_texel_i type;
};

/* One fetch, into floats and into integers. */
#define CORUN_COMMA ,
#define CORUN_FETCH(name, geometry, coordinate, coordinates, parameters, ...) \
    CORUN_DEVICE_FUNCTION void corun_##name(corun_texel_f *texel, cudaTextureObject_t texture, parameters) \
    { \
        asm volatile("tex." geometry ".v4.f32." coordinate " {%0, %1, %2, %3}, [%4, " coordinates "];" \
                     : "=f"(texel->x), "=f"(texel->y), "=f"(texel->z), "=f"(texel->w) \
                     : "l"(texture), __VA_ARGS__); \
    } \
    CORUN_DEVICE_FUNCTION void corun_##name(corun_texel_i *texel, cudaTextureObject_t texture, parameters) \
    { \
        asm volatile("tex." geometry ".v4.s32." coordinate " {%0, %1, %2, %3}, [%4, " coordinates "];" \
                     : "=r"(texel->x), "=r"(texel->y), "=r"(texel->z), "=r"(texel->w) \
                     : "l"(texture), __VA_ARGS__); \
    }
CORUN_FETCH(fetch, "1d", "s32", "{%5}", int x, "r"(x))
CORUN_FETCH(tex1D, "1d", "f32", "{%5}", float x, "f"(x))
CORUN_FETCH(tex2D, "2d", "f32", "{%5, %6}", float x CORUN_COMMA float y, "f"(x), "f"(y))
CORUN_FETCH(tex3D, "3d", "f32", "{%5, %6, %7, %7}", float x CORUN_COMMA float y CORUN_COMMA float z, "f"(x), "f"(y),
            "f"(z))
CORUN_FETCH(layered, "a2d", "f32", "{%5, %6, %7, %7}", float x CORUN_COMMA float y CORUN_COMMA int layer, "r"(layer),
            "f"(x), "f"(y))
#undef CORUN_FETCH

template <class T> CORUN_DEVICE_FUNCTION T tex1Dfetch(cudaTextureObject_t texture, int x)
{
    typename corun_texel_of<T>::type texel;
    T value;
    corun_fetch(&texel, texture, x);
    corun_take(texel, &value);
    return value;
}
template <class T> CORUN_DEVICE_FUNCTION T tex1D(cudaTextureObject_t texture, float x)
{
    typename corun_texel_of<T>::type texel;
    T value;
    corun_tex1D(&texel, texture, x);
    corun_take(texel, &value);
    return value;
}
template <class T> CORUN_DEVICE_FUNCTION T tex2D(cudaTextureObject_t texture, float x, float y)
{
    typename corun_texel_of<T>::type texel;
    T value;
    corun_tex2D(&texel, texture, x, y);
    corun_take(texel, &value);
    return value;
}
template <class T> CORUN_DEVICE_FUNCTION T tex3D(cudaTextureObject_t texture, float x, float y, float z)
{
    typename corun_texel_of<T>::type texel;
    T value;
    corun_tex3D(&texel, texture, x, y, z);
    corun_take(texel, &value);
    return value;
}
template <class T> CORUN_DEVICE_FUNCTION T tex2DLayered(cudaTextureObject_t texture, float x, float y, int layer)
{
    typename corun_texel_of<T>::type texel;
    T value;
    corun_layered(&texel, texture, x, y, layer);
    corun_take(texel, &value);
    return value;
}

/* x counts bytes. The way to treat what is outside is part of the instruction. */
#define CORUN_SURFACE_READ(how) \
    asm volatile("suld.b.2d.b32." how " %0, [%1, {%2, %3}];" : "=r"(bits) : "l"(surface), "r"(x), "r"(y))
#define CORUN_SURFACE_WRITE(how) \
    asm volatile("sust.b.2d.b32." how " [%0, {%1, %2}], %3;" : : "l"(surface), "r"(x), "r"(y), "r"(bits) : "memory")
CORUN_DEVICE_FUNCTION void surf2Dread(float *value, cudaSurfaceObject_t surface, int x, int y,
                                      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)
{
    int bits;
    if (mode == cudaBoundaryModeZero)
        CORUN_SURFACE_READ("zero");
    else if (mode == cudaBoundaryModeClamp)
        CORUN_SURFACE_READ("clamp");
    else
        CORUN_SURFACE_READ("trap");
    *value = __builtin_bit_cast(float, bits);
}
CORUN_DEVICE_FUNCTION void surf2Dwrite(float value, cudaSurfaceObject_t surface, int x, int y,
                                       cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)
{
    int bits = __builtin_bit_cast(int, value);
    if (mode == cudaBoundaryModeZero)
        CORUN_SURFACE_WRITE("zero");
    else if (mode == cudaBoundaryModeClamp)
        CORUN_SURFACE_WRITE("clamp");
    else
        CORUN_SURFACE_WRITE("trap");
}

#endif
#endif
