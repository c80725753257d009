/* SPDX-License-Identifier: MIT */
/* What programs of this folder that are linked with the driver have in common: calls that must succeed, and the host's clock. */
#ifndef CORUN_BENCH_HARDWARE_DRIVER_H
#define CORUN_BENCH_HARDWARE_DRIVER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuModuleLoadData(void **module, const void *text);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuStreamSynchronize(void *stream);
int cuCtxSynchronize(void);
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **parameters,
                   void **extra);

#define GOOD(call) \
    do { \
        int error_ = (call); \
        if (error_) { \
            fprintf(stderr, "%s:%d: error %d\n", __FILE__, __LINE__, error_); \
            exit(1); \
        } \
    } while (0)

/* Seconds. */
static inline double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

#endif
