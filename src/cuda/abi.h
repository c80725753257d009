/* SPDX-License-Identifier: MIT */
/*
 * What programs and CUDA's interfaces have agreed on in bytes and numbers: error codes, structures, flags. Names are
 * ours where the interface does not fix them.
 */
#ifndef CORUN_CUDA_ABI_H
#define CORUN_CUDA_ABI_H

#include "corun/module.h"

enum cuda_error {
#define E(number, runtime_name, driver_name, text) CUDA_##driver_name = (number),
#include "cuda/errors.def"
#undef E
};

/* Stream handles that are no objects. */
#define STREAM_LEGACY ((void *)1)
#define STREAM_PER_THREAD ((void *)2)

enum { STREAM_NON_BLOCKING = 1 };
enum { LEAST_PRIORITY = 0, GREATEST_PRIORITY = -5 };
enum { EVENT_BLOCKING_SYNC = 1, EVENT_DISABLE_TIMING = 2, EVENT_INTERPROCESS = 4 };
enum { HOST_PORTABLE = 1, HOST_MAPPED = 2, HOST_WRITE_COMBINED = 4 };

enum copy_kind { COPY_HOST_TO_HOST, COPY_HOST_TO_DEVICE, COPY_DEVICE_TO_HOST, COPY_DEVICE_TO_DEVICE, COPY_DEFAULT };
enum pointer_kind { POINTER_UNREGISTERED, POINTER_HOST, POINTER_DEVICE, POINTER_MANAGED };

enum memory_kind { MEMORY_HOST = 1, MEMORY_DEVICE, MEMORY_ARRAY, MEMORY_UNIFIED }; /* CUmemorytype */

struct abi_pitched {
    void *pointer;
    size_t pitch, width_bytes, height;
};

struct abi_extent {
    size_t width, height, depth;
};

struct abi_position {
    size_t x, y, z;
};

/* cudaMemLocation: LOCATION_…, and which of them */
struct abi_location {
    int kind, id;
};
enum { LOCATION_NOWHERE, LOCATION_DEVICE, LOCATION_HOST, LOCATION_HOST_NODE, LOCATION_HOST_NEAREST };

/* cudaMemcpy3D */
struct abi_copy_3d {
    void *from_array;
    struct abi_position from_position;
    struct abi_pitched from;
    void *to_array;
    struct abi_position to_position;
    struct abi_pitched to;
    struct abi_extent extent;
    int kind;
};

struct abi_copy_3d_peer {
    void *from_array;
    struct abi_position from_position;
    struct abi_pitched from;
    int from_device;
    void *to_array;
    struct abi_position to_position;
    struct abi_pitched to;
    int to_device;
    struct abi_extent extent;
};

/* cuMemcpy2D; types are MEMORY_… */
struct abi_driver_copy_2d {
    size_t from_x, from_y;
    int from_type;
    const void *from_host;
    uint64_t from_device;
    void *from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    int to_type;
    void *to_host;
    uint64_t to_device;
    void *to_array;
    size_t to_pitch;
    size_t width_bytes, height;
};

struct abi_driver_copy_3d {
    size_t from_x, from_y, from_z, from_level;
    int from_type;
    const void *from_host;
    uint64_t from_device;
    void *from_array, *reserved_from;
    size_t from_pitch, from_height;
    size_t to_x, to_y, to_z, to_level;
    int to_type;
    void *to_host;
    uint64_t to_device;
    void *to_array, *reserved_to;
    size_t to_pitch, to_height;
    size_t width_bytes, height, depth;
};

struct abi_pointer_attributes {
    int type, device;
    void *device_pointer, *host_pointer;
};

/* Up to preferred_carveout in CUDA 11; the rest since 12. */
struct abi_function_attributes {
    size_t shared_bytes, constant_bytes, local_bytes;
    int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared, preferred_carveout;
    int cluster_must_be_set, cluster_width, cluster_height, cluster_depth, cluster_policy, cluster_non_portable;
    int reserved[16];
};

struct abi_launch_attribute {
    int id;
    char padding[4];
    union {
        char bytes[64];
        int number;
        unsigned cluster[3];
    } value;
};
enum {
    LAUNCH_ACCESS_POLICY = 1,
    LAUNCH_COOPERATIVE,
    LAUNCH_SYNCHRONIZATION,
    LAUNCH_CLUSTER,
    LAUNCH_CLUSTER_POLICY,
    LAUNCH_PRIORITY = 8,
    LAUNCH_MEMORY_DOMAIN_MAP,
    LAUNCH_MEMORY_DOMAIN
};

/* cudaLaunchKernelExC */
struct abi_launch_config {
    struct corun_dim3 grid, block;
    size_t dynamic_shared;
    void *stream;
    const struct abi_launch_attribute *attributes;
    unsigned attribute_count;
};

/* cuLaunchKernelEx */
struct abi_driver_launch_config {
    struct corun_dim3 grid, block;
    unsigned dynamic_shared;
    void *stream;
    const struct abi_launch_attribute *attributes;
    unsigned attribute_count;
};

/* Markers of the `extra` way to give a launch its parameters. */
#define LAUNCH_PARAMETER_END ((void *)0)
#define LAUNCH_PARAMETER_POINTER ((void *)1)
#define LAUNCH_PARAMETER_BYTES ((void *)2)

/* A size as CUDA before 3.2 gives it. */
static inline unsigned abi_size_of_32_bits(size_t bytes)
{
    return bytes > UINT32_MAX ? UINT32_MAX : (unsigned)bytes;
}

typedef void (*abi_host_function)(void *user);
typedef void (*abi_stream_callback)(void *stream, int error, void *user);

#endif
