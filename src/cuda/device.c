/* SPDX-License-Identifier: MIT */
/* Devices: what a configured GPU tells a program of itself, and its time. */
#include "cuda/device.h"

#include "cuda/abi.h"

#include <string.h>

uint64_t device_memory_bytes(const struct device *device)
{
    return (uint64_t)device->config.memory_mib << 20;
}

double device_nanoseconds(const struct device *device, uint64_t cycle)
{
    return (double)cycle * 1e6 / device->config.core_clock_khz;
}

uint64_t device_cycles(const struct device *device, uint64_t nanoseconds)
{
    return nanoseconds * device->config.core_clock_khz / 1000000;
}

static int memory_bus_bits(const struct corun_gpu_config *c)
{
    return (int)(c->memory_controllers * c->dram_bus_bytes * 8);
}

/* Programs multiply it by two and by the width of the bus: what gives the right bandwidth then. */
static int memory_clock_khz(const struct corun_gpu_config *c)
{
    return (int)((uint64_t)c->dram_clock_khz * c->dram_data_rate / 2);
}

static int single_to_double(const struct corun_gpu_config *c)
{
    uint32_t fp32 = c->fp32_units * c->fp64_mad_interval, fp64 = c->fp64_units * c->fp32_mad_interval;
    return fp64 ? (int)(fp32 / fp64) : 1;
}

/* What a block may have without asking for more. */
static uint32_t plain_shared_bytes(const struct corun_gpu_config *c)
{
    return c->shared_bytes_per_tb < 49152 ? c->shared_bytes_per_tb : 49152;
}

/* Different for each device, the same in every run. */
static char uuid_byte(const struct device *d, size_t i)
{
    static const char start[16] = "corun-simulated";
    return i < 15 ? start[i] : (char)('0' + d->ordinal);
}

int device_attribute(const struct device *d, int attribute, int *value)
{
    const struct corun_gpu_config *c = &d->config;
    switch (attribute) {
#define A(number, what) \
    case number: \
        *value = (int)(what); \
        return CUDA_SUCCESS;
#include "cuda/device_attributes.def"
#undef A
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

enum { OLD = 1, MID = 2, NEW = 4, ALL = 7 };

void device_copy_properties(const struct device *d, int version, void *properties)
{
    const struct corun_gpu_config *c = &d->config;
    int layout = version >= 13 ? NEW : version == 12 ? MID : OLD;
    char *out = properties;
    size_t at = 0;
    /* Field after field, each aligned to its type, as a compiler lays a structure out. */
#define P(type, field, count, layouts, value) \
    if ((layouts)&layout) { \
        at = (at + sizeof(type) - 1) & ~(sizeof(type) - 1); \
        for (size_t i = 0; i < (count); i++, at += sizeof(type)) { \
            type element = (type)(value); \
            memcpy(out + at, &element, sizeof element); \
        } \
    }
#include "cuda/device_properties.def"
#undef P
}
