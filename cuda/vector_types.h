/* SPDX-License-Identifier: MIT */
/*
 * Vector types of CUDA C++ up to four elements, and make_… of each, for host and device: all but those of device.h, which the suite's kernels
 * need. Alignment is that of the CUDA C++ Programming Guide, table "Alignment Requirements".
 */
#ifndef CORUN_VECTOR_TYPES_H
#define CORUN_VECTOR_TYPES_H

#include "device.h"

#define CORUN_MAKE1(type, element) \
    CORUN_EITHER_FUNCTION type make_##type(element x) \
    { \
        type value = {x}; \
        return value; \
    }
#define CORUN_MAKE3(type, element) \
    CORUN_EITHER_FUNCTION type make_##type(element x, element y, element z) \
    { \
        type value = {x, y, z}; \
        return value; \
    }
#define CORUN_VECTOR1(type, element) \
    struct type { \
        element x; \
    }; \
    CORUN_MAKE1(type, element)
#define CORUN_VECTOR2(type, element) \
    struct type { \
        element x, y; \
    } __attribute__((aligned(2 * sizeof(element)))); \
    CORUN_MAKE2(type, element)
#define CORUN_VECTOR3(type, element) \
    struct type { \
        element x, y, z; \
    }; \
    CORUN_MAKE3(type, element)
#define CORUN_VECTOR4(type, element) \
    struct type { \
        element x, y, z, w; \
    } __attribute__((aligned(sizeof(element) < 4 ? 4 * sizeof(element) : 16))); \
    CORUN_MAKE4(type, element)
#define CORUN_VECTORS(type, element) \
    CORUN_VECTOR1(type##1, element) \
    CORUN_VECTOR2(type##2, element) \
    CORUN_VECTOR3(type##3, element) \
    CORUN_VECTOR4(type##4, element)

CORUN_VECTORS(char, signed char)
CORUN_VECTOR1(uchar1, unsigned char)
CORUN_VECTOR2(uchar2, unsigned char)
CORUN_VECTOR3(uchar3, unsigned char)
CORUN_VECTOR1(short1, short)
CORUN_VECTOR3(short3, short)
CORUN_VECTOR4(short4, short)
CORUN_VECTOR1(ushort1, unsigned short)
CORUN_VECTOR3(ushort3, unsigned short)
CORUN_VECTOR4(ushort4, unsigned short)
CORUN_VECTOR1(int1, int)
CORUN_VECTOR3(int3, int)
CORUN_VECTOR1(uint1, unsigned int)
CORUN_VECTOR3(uint3, unsigned int)
CORUN_VECTORS(long, long)
CORUN_VECTORS(ulong, unsigned long)
CORUN_VECTORS(longlong, long long)
CORUN_VECTORS(ulonglong, unsigned long long)
CORUN_VECTOR1(float1, float)
CORUN_VECTORS(double, double)

#endif
