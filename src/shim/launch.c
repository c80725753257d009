/* SPDX-License-Identifier: MIT */
/* Launches: each waits until it may go, and is noted. */
#include "shim/below.h"
#include "shim/cut.h"
#include "shim/govern.h"
#include "shim/memory.h"
#include "shim/times.h"

#include <stdint.h>

#define LAUNCH_KERNEL(symbol, own) \
    SHIM_EXPORT int symbol(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
                           unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **parameters, \
                           void **extra); \
    int symbol(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
               unsigned block_z, unsigned shared_bytes, void *stream, void **parameters, void **extra) \
    { \
        const struct launch launch = {.real = below(LOOKED_AT_##symbol), \
                                      .function = function, \
                                      .grid = {grid_x, grid_y, grid_z}, \
                                      .block = {block_x, block_y, block_z}, \
                                      .shared_bytes = shared_bytes, \
                                      .stream = stream, \
                                      .parameters = parameters, \
                                      .extra = extra, \
                                      .per_thread = (own)}; \
        return launch_make(&launch); \
    }
LAUNCH_KERNEL(cuLaunchKernel, false)
LAUNCH_KERNEL(cuLaunchKernel_ptsz, true)

/* CUlaunchConfig, as far as it matters. */
struct launch_configuration {
    unsigned grid[3], block[3], shared_bytes;
    void *stream;
    const void *attributes;
    unsigned attribute_count;
};

/* Without attributes it is a launch like any other. `same`: cuLaunchKernel of that variant. */
#define LAUNCH_EX(symbol, same, own) \
    SHIM_EXPORT int symbol(const struct launch_configuration *configuration, void *function, void **parameters, \
                           void **extra); \
    int symbol(const struct launch_configuration *configuration, void *function, void **parameters, void **extra) \
    { \
        int (*real)(const struct launch_configuration *, void *, void **, void **) = below(LOOKED_AT_##symbol); \
        struct governed governed; \
        if (configuration && !configuration->attribute_count) { \
            const struct launch launch = { \
                .real = below(LOOKED_AT_##same), \
                .function = function, \
                .grid = {configuration->grid[0], configuration->grid[1], configuration->grid[2]}, \
                .block = {configuration->block[0], configuration->block[1], configuration->block[2]}, \
                .shared_bytes = configuration->shared_bytes, \
                .stream = configuration->stream, \
                .parameters = parameters, \
                .extra = extra, \
                .per_thread = (own)}; \
            return launch_make(&launch); \
        } \
        void *stream = configuration ? configuration->stream : NULL; \
        govern_look(&governed, stream, own); \
        uint32_t timed = times_begin(&governed); \
        govern_begin(&governed, NULL, 0); \
        int error = real(configuration, function, parameters, extra); \
        govern_end(&governed, error); \
        times_end(timed, &governed, error); \
        return error; \
    }
LAUNCH_EX(cuLaunchKernelEx, cuLaunchKernel, false)
LAUNCH_EX(cuLaunchKernelEx_ptsz, cuLaunchKernel_ptsz, true)

#define LAUNCH_COOPERATIVE(symbol, per_thread) \
    SHIM_EXPORT int symbol(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
                           unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, \
                           void **parameters); \
    int symbol(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
               unsigned block_z, unsigned shared_bytes, void *stream, void **parameters) \
    { \
        int (*real)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **) = \
            below(LOOKED_AT_##symbol); \
        struct governed launch; \
        govern_look(&launch, stream, per_thread); \
        uint32_t timed = times_begin(&launch); \
        govern_begin(&launch, NULL, 0); \
        int error = \
            real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters); \
        govern_end(&launch, error); \
        times_end(timed, &launch, error); \
        return error; \
    }
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel, false)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz, true)

#define LAUNCH_GRAPH(symbol, per_thread) \
    SHIM_EXPORT int symbol(void *graph, void *stream); \
    int symbol(void *graph, void *stream) \
    { \
        int (*real)(void *, void *) = below(LOOKED_AT_##symbol); \
        struct governed launch; \
        govern_look(&launch, stream, per_thread); \
        uint32_t timed = times_begin(&launch); \
        govern_begin(&launch, NULL, 0); \
        int error = real(graph, stream); \
        govern_end(&launch, error); \
        memory_graph_launched(); \
        times_end(timed, &launch, error); \
        return error; \
    }
LAUNCH_GRAPH(cuGraphLaunch, false)
LAUNCH_GRAPH(cuGraphLaunch_ptsz, true)
