/* SPDX-License-Identifier: MIT */
/*
 * Arrays, textures and surfaces as CUDA's headers have them, for `corun cc`: objects, fetches and accesses of every type of one, two or four components. clang has no builtins for the
 * instructions, so they are written here. References to textures, which CUDA 12 has no more, are not there.
 */
#ifndef CORUN_TEXTURES_H
#define CORUN_TEXTURES_H

#include "cuda_runtime_api.h"

/* What a fetch gives: four components of one kind. */
template <class Component> struct corun_texel {
    Component x, y, z, w;
};

/* A type of texels: the kind of its components, and itself of them. */
template <class T> struct corun_texel_of;
template <class T> struct corun_channels_of;
#define CORUN_TEXEL(type, element, component, width, channels, format, ...) \
    template <> struct corun_texel_of<type> { \
        typedef corun_texel<component> texel; \
        static __attribute__((device)) type of(const texel &from) \
        { \
            type value = __VA_ARGS__; \
            return value; \
        } \
    }; \
    template <> struct corun_channels_of<type> { \
        static cudaChannelFormatDesc get() \
        { \
            cudaChannelFormatDesc channel = {width, channels > 1 ? width : 0, channels > 2 ? width : 0, \
                                             channels > 3 ? width : 0, cudaChannelFormatKind##format}; \
            return channel; \
        } \
    };
#define CORUN_TEXELS(name, element, component, width, format) \
    CORUN_TEXEL(name##1, element, component, width, 1, format, {(element)from.x}) \
    CORUN_TEXEL(name##2, element, component, width, 2, format, {(element)from.x, (element)from.y}) \
    CORUN_TEXEL(name##4, element, component, width, 4, format, \
                {(element)from.x, (element)from.y, (element)from.z, (element)from.w}) \
    CORUN_TEXEL(element, element, component, width, 1, format, (element)from.x)
CORUN_TEXELS(char, signed char, int, 8, Signed)
CORUN_TEXELS(uchar, unsigned char, unsigned int, 8, Unsigned)
CORUN_TEXELS(short, short, int, 16, Signed)
CORUN_TEXELS(ushort, unsigned short, unsigned int, 16, Unsigned)
CORUN_TEXELS(int, int, int, 32, Signed)
CORUN_TEXELS(uint, unsigned int, unsigned int, 32, Unsigned)
CORUN_TEXELS(float, float, float, 32, Float)
CORUN_TEXEL(char, char, int, 8, 1, Signed, (char)from.x)
#undef CORUN_TEXELS
#undef CORUN_TEXEL

template <class T> static inline cudaChannelFormatDesc cudaCreateChannelDesc()
{
    return corun_channels_of<T>::get();
}

/*
 * Fetches. CORUN_FETCH(name, instruction and geometry, type of coordinates, operand with coordinates, (parameters), (arguments), operands of the instruction) makes the function that
 * gives its value, and the one that stores it.
 */
#define CORUN_UNPACK(...) __VA_ARGS__
#define CORUN_FETCH_INTO(name, geometry, type, letter, component, coordinate, operand, parameters, ...) \
    CORUN_DEVICE_FUNCTION void corun_##name(corun_texel<component> *texel, cudaTextureObject_t texture, \
                                            CORUN_UNPACK parameters) \
    { \
        asm volatile(geometry ".v4." type "." coordinate " {%0, %1, %2, %3}, [%4, " operand ";" \
                     : letter(texel->x), letter(texel->y), letter(texel->z), letter(texel->w) \
                     : "l"(texture), __VA_ARGS__); \
    }
#define CORUN_FETCH(name, geometry, coordinate, operand, parameters, arguments, ...) \
    CORUN_FETCH_INTO(name, geometry, "f32", "=f", float, coordinate, operand, parameters, __VA_ARGS__) \
    CORUN_FETCH_INTO(name, geometry, "s32", "=r", int, coordinate, operand, parameters, __VA_ARGS__) \
    CORUN_FETCH_INTO(name, geometry, "u32", "=r", unsigned int, coordinate, operand, parameters, __VA_ARGS__) \
    template <class T> CORUN_DEVICE_FUNCTION T name(cudaTextureObject_t texture, CORUN_UNPACK parameters) \
    { \
        typename corun_texel_of<T>::texel texel; \
        corun_##name(&texel, texture, CORUN_UNPACK arguments); \
        return corun_texel_of<T>::of(texel); \
    } \
    template <class T> CORUN_DEVICE_FUNCTION void name(T *value, cudaTextureObject_t texture, CORUN_UNPACK parameters) \
    { \
        *value = name<T>(texture, CORUN_UNPACK arguments); \
    }
CORUN_FETCH(tex1Dfetch, "tex.1d", "s32", "{%5}]", (int x), (x), "r"(x))
CORUN_FETCH(tex1D, "tex.1d", "f32", "{%5}]", (float x), (x), "f"(x))
CORUN_FETCH(tex2D, "tex.2d", "f32", "{%5, %6}]", (float x, float y), (x, y), "f"(x), "f"(y))
CORUN_FETCH(tex3D, "tex.3d", "f32", "{%5, %6, %7, %7}]", (float x, float y, float z), (x, y, z), "f"(x), "f"(y), "f"(z))
CORUN_FETCH(tex1DLayered, "tex.a1d", "f32", "{%5, %6}]", (float x, int layer), (x, layer), "r"(layer), "f"(x))
CORUN_FETCH(tex2DLayered, "tex.a2d", "f32", "{%5, %6, %7, %7}]", (float x, float y, int layer), (x, y, layer),
            "r"(layer), "f"(x), "f"(y))
CORUN_FETCH(texCubemap, "tex.cube", "f32", "{%5, %6, %7, %7}]", (float x, float y, float z), (x, y, z), "f"(x), "f"(y),
            "f"(z))
CORUN_FETCH(tex1DLod, "tex.level.1d", "f32", "{%5}], %6", (float x, float level), (x, level), "f"(x), "f"(level))
CORUN_FETCH(tex2DLod, "tex.level.2d", "f32", "{%5, %6}], %7", (float x, float y, float level), (x, y, level), "f"(x),
            "f"(y), "f"(level))
CORUN_FETCH(tex3DLod, "tex.level.3d", "f32", "{%5, %6, %7, %7}], %8", (float x, float y, float z, float level),
            (x, y, z, level), "f"(x), "f"(y), "f"(z), "f"(level))
#undef CORUN_FETCH
#undef CORUN_FETCH_INTO

/*
 * Surfaces: x counts bytes; what to do with what lies outside is a part of the instruction. A texel has 1, 2, 4, 8 or 16 bytes, which are moved in one, two or four words.
 */
#define CORUN_SURFACE_LOAD(geometry, how, operand, ...) \
    do { \
        if (sizeof(T) == 1) \
            asm volatile("suld.b." geometry ".b8." how " %[h], [%[s], " operand "];" : [h] "=h"(half) : __VA_ARGS__); \
        else if (sizeof(T) == 2) \
            asm volatile("suld.b." geometry ".b16." how " %[h], [%[s], " operand "];" : [h] "=h"(half) : __VA_ARGS__); \
        else if (sizeof(T) == 4) \
            asm volatile("suld.b." geometry ".b32." how " %[a], [%[s], " operand "];" : [a] "=r"(w[0]) : __VA_ARGS__); \
        else if (sizeof(T) == 8) \
            asm volatile("suld.b." geometry ".v2.b32." how " {%[a], %[b]}, [%[s], " operand "];" \
                         : [a] "=r"(w[0]), [b] "=r"(w[1]) \
                         : __VA_ARGS__); \
        else \
            asm volatile("suld.b." geometry ".v4.b32." how " {%[a], %[b], %[c], %[d]}, [%[s], " operand "];" \
                         : [a] "=r"(w[0]), [b] "=r"(w[1]), [c] "=r"(w[2]), [d] "=r"(w[3]) \
                         : __VA_ARGS__); \
    } while (0)
#define CORUN_SURFACE_STORE(geometry, how, operand, ...) \
    do { \
        if (sizeof(T) == 1) \
            asm volatile("sust.b." geometry ".b8." how " [%[s], " operand "], %[h];" \
                         : \
                         : [h] "h"(half), __VA_ARGS__ \
                         : "memory"); \
        else if (sizeof(T) == 2) \
            asm volatile("sust.b." geometry ".b16." how " [%[s], " operand "], %[h];" \
                         : \
                         : [h] "h"(half), __VA_ARGS__ \
                         : "memory"); \
        else if (sizeof(T) == 4) \
            asm volatile("sust.b." geometry ".b32." how " [%[s], " operand "], %[a];" \
                         : \
                         : [a] "r"(w[0]), __VA_ARGS__ \
                         : "memory"); \
        else if (sizeof(T) == 8) \
            asm volatile("sust.b." geometry ".v2.b32." how " [%[s], " operand "], {%[a], %[b]};" \
                         : \
                         : [a] "r"(w[0]), [b] "r"(w[1]), __VA_ARGS__ \
                         : "memory"); \
        else \
            asm volatile("sust.b." geometry ".v4.b32." how " [%[s], " operand "], {%[a], %[b], %[c], %[d]};" \
                         : \
                         : [a] "r"(w[0]), [b] "r"(w[1]), [c] "r"(w[2]), [d] "r"(w[3]), __VA_ARGS__ \
                         : "memory"); \
    } while (0)
#define CORUN_SURFACE_IN(mode, access, geometry, operand, ...) \
    do { \
        if ((mode) == cudaBoundaryModeZero) \
            access(geometry, "zero", operand, [s] "l"(surface), __VA_ARGS__); \
        else if ((mode) == cudaBoundaryModeClamp) \
            access(geometry, "clamp", operand, [s] "l"(surface), __VA_ARGS__); \
        else \
            access(geometry, "trap", operand, [s] "l"(surface), __VA_ARGS__); \
    } while (0)
#define CORUN_SURFACE(name, geometry, operand, parameters, arguments, ...) \
    template <class T> \
    CORUN_DEVICE_FUNCTION T name##read(cudaSurfaceObject_t surface, CORUN_UNPACK parameters, \
                                       cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) \
    { \
        static_assert(sizeof(T) <= 16 && !(sizeof(T) & (sizeof(T) - 1)), "a texel has 1, 2, 4, 8 or 16 bytes"); \
        short half = 0; \
        int w[4] = {0, 0, 0, 0}; \
        T value; \
        CORUN_SURFACE_IN(mode, CORUN_SURFACE_LOAD, geometry, operand, __VA_ARGS__); \
        if (sizeof(T) < 4) \
            w[0] = half; \
        __builtin_memcpy(&value, w, sizeof value); \
        return value; \
    } \
    template <class T> \
    CORUN_DEVICE_FUNCTION void name##read(T *value, cudaSurfaceObject_t surface, CORUN_UNPACK parameters, \
                                          cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) \
    { \
        *value = name##read<T>(surface, CORUN_UNPACK arguments, mode); \
    } \
    template <class T> \
    CORUN_DEVICE_FUNCTION void name##write(T value, cudaSurfaceObject_t surface, CORUN_UNPACK parameters, \
                                           cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) \
    { \
        static_assert(sizeof(T) <= 16 && !(sizeof(T) & (sizeof(T) - 1)), "a texel has 1, 2, 4, 8 or 16 bytes"); \
        int w[4] = {0, 0, 0, 0}; \
        __builtin_memcpy(w, &value, sizeof value); \
        short half = (short)w[0]; \
        (void)half; \
        CORUN_SURFACE_IN(mode, CORUN_SURFACE_STORE, geometry, operand, __VA_ARGS__); \
    }
CORUN_SURFACE(surf1D, "1d", "{%[x]}", (int x), (x), [x] "r"(x))
CORUN_SURFACE(surf2D, "2d", "{%[x], %[y]}", (int x, int y), (x, y), [x] "r"(x), [y] "r"(y))
CORUN_SURFACE(surf3D, "3d", "{%[x], %[y], %[z], %[z]}", (int x, int y, int z),
              (x, y, z), [x] "r"(x), [y] "r"(y), [z] "r"(z))
CORUN_SURFACE(surf1DLayered, "a1d", "{%[l], %[x]}", (int x, int layer), (x, layer), [x] "r"(x), [l] "r"(layer))
CORUN_SURFACE(surf2DLayered, "a2d", "{%[l], %[x], %[y], %[y]}", (int x, int y, int layer),
              (x, y, layer), [x] "r"(x), [y] "r"(y), [l] "r"(layer))
#undef CORUN_SURFACE
#undef CORUN_SURFACE_IN
#undef CORUN_SURFACE_STORE
#undef CORUN_SURFACE_LOAD
#undef CORUN_UNPACK

#endif
