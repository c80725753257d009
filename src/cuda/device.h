/* SPDX-License-Identifier: MIT */
/* Devices: a configured GPU, what a program is told of it, its streams' scheduler and its machine. */
#ifndef CORUN_CUDA_DEVICE_H
#define CORUN_CUDA_DEVICE_H

#include "corun/gpu.h"
#include "cuda/nested.h"
#include "stream/scheduler.h"

struct context;

#define MAX_DEVICES 16u

struct device {
    uint32_t ordinal;
    struct corun_gpu_config config;
    struct context *primary; /* NULL until it is used */
    uint32_t primary_uses;   /* retained by the driver API, and once by the runtime */
    bool runtime_uses;       /* the runtime has retained it */
    unsigned flags;
    uint64_t physical_bytes; /* of virtual memory management */
    void *pool;              /* the default one, once it was asked for */
    void *current_pool;      /* that cudaDeviceSetMemPool has named; NULL: the default one */
    /* Its streams and its machine, which the first task makes that takes time. */
    struct stream_scheduler scheduler;
    struct nested_launches nested; /* by its kernels */
    uint64_t cycle;                /* the machine's, from the base of the scheduler on */
    /*
     * Where the host is: what it asks for now was asked for when that ended what it last waited for. The machine may
     * have gone on by less than a dispatch latency since.
     */
    uint64_t host_cycle;
};

/* The value of a cudaDeviceAttr; an error if there is none such. */
int device_attribute(const struct device *device, int attribute, int *value);
/* cudaDeviceProp as CUDA `version` (11, 12, 13) has it. */
void device_copy_properties(const struct device *device, int version, void *properties);
uint64_t device_memory_bytes(const struct device *device);
double device_nanoseconds(const struct device *device, uint64_t cycle);
uint64_t device_cycles(const struct device *device, uint64_t nanoseconds); /* whole ones; up to 10^13 ns */

#endif
