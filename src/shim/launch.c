/* SPDX-License-Identifier: MIT */
/* Launches. */
#include "shim/below.h"

#include <stdint.h>

#define LAUNCH_KERNEL(symbol) \
    SHIM_EXPORT int symbol(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
                           unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, \
                           void **parameters, void **extra); \
    int symbol(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
               unsigned block_z, unsigned shared_bytes, void *stream, void **parameters, void **extra) \
    { \
        int (*real)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, \
                    void **) = below(LOOKED_AT_##symbol); \
        trace_line("launch", #symbol, ""); \
        return real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters, \
                    extra); \
    }
LAUNCH_KERNEL(cuLaunchKernel)
LAUNCH_KERNEL(cuLaunchKernel_ptsz)

#define LAUNCH_EX(symbol) \
    SHIM_EXPORT int symbol(const void *configuration, void *function, void **parameters, void **extra); \
    int symbol(const void *configuration, void *function, void **parameters, void **extra) \
    { \
        int (*real)(const void *, void *, void **, void **) = below(LOOKED_AT_##symbol); \
        trace_line("launch", #symbol, ""); \
        return real(configuration, function, parameters, extra); \
    }
LAUNCH_EX(cuLaunchKernelEx)
LAUNCH_EX(cuLaunchKernelEx_ptsz)

#define LAUNCH_COOPERATIVE(symbol) \
    SHIM_EXPORT int symbol(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
                           unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, \
                           void **parameters); \
    int symbol(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
               unsigned block_z, unsigned shared_bytes, void *stream, void **parameters) \
    { \
        int (*real)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **) = \
            below(LOOKED_AT_##symbol); \
        trace_line("launch", #symbol, ""); \
        return real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters); \
    }
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz)

#define LAUNCH_GRAPH(symbol) \
    SHIM_EXPORT int symbol(void *graph, void *stream); \
    int symbol(void *graph, void *stream) \
    { \
        int (*real)(void *, void *) = below(LOOKED_AT_##symbol); \
        trace_line("launch", #symbol, ""); \
        return real(graph, stream); \
    }
LAUNCH_GRAPH(cuGraphLaunch)
LAUNCH_GRAPH(cuGraphLaunch_ptsz)
