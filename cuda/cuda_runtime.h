/* SPDX-License-Identifier: MIT */
/*
 * What CUDA programs need of CUDA's headers where no toolkit is, so that clang
 * alone can compile them (`corun cc`): device_functions.h for device code,
 * cuda_runtime_api.h for the functions of the runtime API, and here the forms
 * of these that C++ has: typed ones, and templates. The tests' programs are
 * compiled with it, too. nvcc brings its own. In a file that is not CUDA (no
 * __CUDACC__), only what is of the host is there.
 */
#ifndef CORUN_CUDA_RUNTIME_H
#define CORUN_CUDA_RUNTIME_H

#include <stddef.h>

/* clang says only __CUDA__ by itself. */
#if defined(__CUDA__) && !defined(__CUDACC__)
#define __CUDACC__
#endif

#ifdef __CUDACC__
#include "device_functions.h"
#endif

#include "cuda_runtime_api.h"

#if defined(__cplusplus) && __cplusplus >= 201103L
#include <utility> /* as the toolkit's header: std::swap, std::move, lists of initial values */
#endif

#ifdef __CUDACC__
#define CORUN_HOST_FUNCTION static inline __attribute__((host))
extern "C" {
__device__ int vprintf(const char *format, const char *arguments);
__device__ int printf(const char *format, ...);
}
#else
#define CORUN_HOST_FUNCTION static inline
#endif

CORUN_HOST_FUNCTION struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth)
{
    struct cudaExtent extent = {width, height, depth};
    return extent;
}
CORUN_HOST_FUNCTION struct cudaPos make_cudaPos(size_t x, size_t y, size_t z)
{
    struct cudaPos position = {x, y, z};
    return position;
}
CORUN_HOST_FUNCTION struct cudaPitchedPtr make_cudaPitchedPtr(void *pointer, size_t pitch, size_t width, size_t height)
{
    struct cudaPitchedPtr pitched = {pointer, pitch, width, height};
    return pitched;
}

#ifdef __cplusplus

/* ---- memory ---- */

template <class T> CORUN_HOST_FUNCTION cudaError_t cudaMalloc(T **pointer, size_t bytes)
{
    return cudaMalloc((void **)pointer, bytes);
}
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaMallocHost(T **pointer, size_t bytes, unsigned int flags = cudaHostAllocDefault)
{
    return cudaHostAlloc((void **)pointer, bytes, flags);
}
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaHostAlloc(T **pointer, size_t bytes, unsigned int flags = cudaHostAllocDefault)
{
    return cudaHostAlloc((void **)pointer, bytes, flags);
}
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaMallocManaged(T **pointer, size_t bytes, unsigned int flags = cudaMemAttachGlobal)
{
    return cudaMallocManaged((void **)pointer, bytes, flags);
}
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaMallocPitch(T **pointer, size_t *pitch, size_t width, size_t height)
{
    return cudaMallocPitch((void **)pointer, pitch, width, height);
}
template <class T> CORUN_HOST_FUNCTION cudaError_t cudaMallocAsync(T **pointer, size_t bytes, cudaStream_t stream)
{
    return cudaMallocAsync((void **)pointer, bytes, stream);
}
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaMallocAsync(T **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    return cudaMallocFromPoolAsync((void **)pointer, bytes, pool, stream);
}
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaMallocFromPoolAsync(T **pointer, size_t bytes, cudaMemPool_t pool,
                                                        cudaStream_t stream)
{
    return cudaMallocFromPoolAsync((void **)pointer, bytes, pool, stream);
}
template <class T> CORUN_HOST_FUNCTION cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned int flags)
{
    return cudaHostGetDevicePointer((void **)device, host, flags);
}
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T *pointer, size_t bytes = 0,
                                                         unsigned int flags = cudaMemAttachSingle)
{
    return cudaStreamAttachMemAsync(stream, (void *)pointer, bytes, flags);
}
/* As CUDA 13 has them. */
CORUN_HOST_FUNCTION cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, cudaMemoryAdvise advice,
                                              cudaMemLocation location)
{
    return cudaMemAdvise_v2(pointer, bytes, advice, location);
}
CORUN_HOST_FUNCTION cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, cudaMemLocation location,
                                                     unsigned int flags, cudaStream_t stream = 0)
{
    return cudaMemPrefetchAsync_v2(pointer, bytes, location, flags, stream);
}

/* ---- symbols ---- */

template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                                   cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return cudaMemcpyToSymbol((const void *)&symbol, from, bytes, offset, kind);
}
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t bytes,
                                                        size_t offset = 0, cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                                        cudaStream_t stream = 0)
{
    return cudaMemcpyToSymbolAsync((const void *)&symbol, from, bytes, offset, kind, stream);
}
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                                     cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return cudaMemcpyFromSymbol(to, (const void *)&symbol, bytes, offset, kind);
}
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                                          cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                                          cudaStream_t stream = 0)
{
    return cudaMemcpyFromSymbolAsync(to, (const void *)&symbol, bytes, offset, kind, stream);
}
template <class T> CORUN_HOST_FUNCTION cudaError_t cudaGetSymbolAddress(void **pointer, const T &symbol)
{
    return cudaGetSymbolAddress(pointer, (const void *)&symbol);
}
template <class T> CORUN_HOST_FUNCTION cudaError_t cudaGetSymbolSize(size_t *bytes, const T &symbol)
{
    return cudaGetSymbolSize(bytes, (const void *)&symbol);
}

/* ---- events, streams and graphs ---- */

CORUN_HOST_FUNCTION cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned int flags)
{
    return cudaEventCreateWithFlags(event, flags);
}
/* As CUDA 11 has it. */
CORUN_HOST_FUNCTION cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, cudaGraphNode_t *,
                                                     char *, size_t)
{
    return cudaGraphInstantiate(executable, graph, 0);
}
CORUN_HOST_FUNCTION cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                                    cudaGraphNode_t *node, cudaGraphExecUpdateResult *result)
{
    cudaGraphExecUpdateResultInfo info;
    cudaError_t error = cudaGraphExecUpdate(executable, graph, &info);
    if (node)
        *node = info.errorNode;
    if (result)
        *result = info.result;
    return error;
}

/* ---- functions and their launches ---- */

template <class T> CORUN_HOST_FUNCTION cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, T *function)
{
    return cudaFuncGetAttributes(attributes, (const void *)function);
}
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaFuncSetAttribute(T *function, cudaFuncAttribute attribute, int value)
{
    return cudaFuncSetAttribute((const void *)function, attribute, value);
}
template <class T> CORUN_HOST_FUNCTION cudaError_t cudaFuncSetCacheConfig(T *function, cudaFuncCache preferred)
{
    return cudaFuncSetCacheConfig((const void *)function, preferred);
}
template <class T> CORUN_HOST_FUNCTION cudaError_t cudaFuncSetSharedMemConfig(T *function, cudaSharedMemConfig banks)
{
    return cudaFuncSetSharedMemConfig((const void *)function, banks);
}
template <class T> CORUN_HOST_FUNCTION cudaError_t cudaFuncGetName(const char **name, T *function)
{
    return cudaFuncGetName(name, (const void *)function);
}
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaLaunchKernel(T *function, dim3 grid, dim3 block, void **arguments,
                                                 size_t shared = 0, cudaStream_t stream = 0)
{
    return cudaLaunchKernel((const void *)function, grid, block, arguments, shared, stream);
}
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaLaunchCooperativeKernel(T *function, dim3 grid, dim3 block, void **arguments,
                                                            size_t shared = 0, cudaStream_t stream = 0)
{
    return cudaLaunchCooperativeKernel((const void *)function, grid, block, arguments, shared, stream);
}
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, T *function, void **arguments)
{
    return cudaLaunchKernelExC(config, (const void *)function, arguments);
}
/* Values become what the kernel's parameters are. */
template <class T> struct corun_parameter {
    typedef T type;
};
template <class... T>
CORUN_HOST_FUNCTION cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(T...),
                                                   typename corun_parameter<T>::type... values)
{
    void *pointers[sizeof...(T) + 1] = {(void *)&values...};
    return cudaLaunchKernelExC(config, (const void *)kernel, pointers);
}

template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, T function, int threads,
                                                                              size_t shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void *)function, threads, shared);
}
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, T function,
                                                                                       int threads, size_t shared,
                                                                                       unsigned int flags)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, (const void *)function, threads, shared,
                                                                  flags);
}
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, T *function, int blocks,
                                                                          int threads)
{
    return cudaOccupancyAvailableDynamicSMemPerBlock(bytes, (const void *)function, blocks, threads);
}
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaOccupancyMaxPotentialClusterSize(int *blocks, T *function,
                                                                     const cudaLaunchConfig_t *config)
{
    return cudaOccupancyMaxPotentialClusterSize(blocks, (const void *)function, config);
}
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, T *function,
                                                               const cudaLaunchConfig_t *config)
{
    return cudaOccupancyMaxActiveClusters(clusters, (const void *)function, config);
}

/* The largest thread block, in whole warps, of those with which most threads
 * are on a multiprocessor; and how many of them fill the GPU. */
template <class T, class F>
CORUN_HOST_FUNCTION cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(int *grid, int *block,
                                                                                        T function, F shared_of,
                                                                                        int limit = 0,
                                                                                        unsigned int flags = 0)
{
    int device = 0, warp = 0, multiprocessors = 0, most = 0, best_threads = 0;
    cudaFuncAttributes attributes;
    if (!grid || !block)
        return cudaErrorInvalidValue;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxThreadsPerBlock, device);
    if (error == cudaSuccess)
        error = cudaFuncGetAttributes(&attributes, (const void *)function);
    if (error != cudaSuccess)
        return error;
    most = most < attributes.maxThreadsPerBlock ? most : attributes.maxThreadsPerBlock;
    most = limit > 0 && limit < most ? limit : most;
    for (int rounded = (most + warp - 1) / warp * warp; rounded > 0; rounded -= warp) {
        int threads = rounded < most ? rounded : most, blocks = 0;
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, (const void *)function, threads,
                                                                       shared_of(threads), flags);
        if (error != cudaSuccess)
            return error;
        if (blocks * threads > best_threads) {
            best_threads = blocks * threads;
            *block = threads;
            *grid = blocks * multiprocessors;
        }
    }
    return cudaSuccess;
}
template <class T, class F>
CORUN_HOST_FUNCTION cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *grid, int *block, T function,
                                                                               F shared_of, int limit = 0)
{
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(grid, block, function, shared_of, limit, 0);
}
struct corun_same_shared {
    size_t bytes;
    size_t operator()(int) const
    {
        return bytes;
    }
};
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, T function,
                                                                            size_t shared = 0, int limit = 0,
                                                                            unsigned int flags = 0)
{
    corun_same_shared same = {shared};
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(grid, block, function, same, limit, flags);
}
template <class T>
CORUN_HOST_FUNCTION cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, T function, size_t shared = 0,
                                                                   int limit = 0)
{
    return cudaOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared, limit, 0);
}
#endif

#undef CORUN_HOST_FUNCTION

#ifdef __CUDACC__
#include "textures.h"
#endif

#endif
