/* SPDX-License-Identifier: MIT */
/*
 * Entry points of the runtime API, in the order of the files that define them. A name here is that of the function
 * behind an entry point: entry_points.def says under which names programs find it.
 * The driver API shares many of these; its own are in driver_api.h.
 */
#ifndef CORUN_CUDA_RUNTIME_API_H
#define CORUN_CUDA_RUNTIME_API_H

#include "cuda/abi.h"
#include "cuda/entry.h"
#include "cuda/interprocess.h"

struct abi_allocation_node;
struct abi_batch_copy;
struct abi_channel;
struct abi_copy_attributes;
struct abi_fill_node;
struct abi_host_node;
struct abi_instantiate;
struct abi_kernel_node;
struct abi_node;
struct abi_pool_access;
struct abi_pool_properties;
struct abi_resource;
struct abi_texture;
struct abi_update_result;
struct abi_view;

/* driver_entry.c */
ENTRY(int, cudaGetDriverEntryPointByVersion, const char *name, void **function, unsigned version, uint64_t flags,
      int *status);
ENTRY(int, cudaGetDriverEntryPoint, const char *name, void **function, uint64_t flags, int *status);
ENTRY(int, cudaGetDriverEntryPoint_11, const char *name, void **function, uint64_t flags);
ENTRY(int, cudaGetExportTable, const void **table, const void *id);

/* runtime_graph_condition.c */
ENTRY(int, cudaGraphConditionalHandleCreate, uint64_t *result, void *graph, unsigned value, unsigned flags);

/* runtime_array.c */
ENTRY(struct abi_channel, cudaCreateChannelDesc, int x, int y, int z, int w, int kind);
ENTRY(int, cudaMallocArray, void **handle, const struct abi_channel *channel, size_t width, size_t height,
      unsigned flags);
ENTRY(int, cudaMalloc3DArray, void **handle, const struct abi_channel *channel, struct abi_extent extent,
      unsigned flags);
ENTRY(int, cudaFreeArray, void *handle);
ENTRY(int, cudaMallocMipmappedArray, void **handle, const struct abi_channel *channel, struct abi_extent extent,
      unsigned levels, unsigned flags);
ENTRY(int, cudaGetMipmappedArrayLevel, void **array, const void *handle, unsigned level);
ENTRY(int, cudaFreeMipmappedArray, void *handle);
ENTRY(int, cudaArrayGetInfo, struct abi_channel *channel, struct abi_extent *extent, unsigned *flags, void *handle);
ENTRY(int, cudaGetChannelDesc, struct abi_channel *channel, const void *handle);
ENTRY(int, cudaMemcpy2DToArray, void *array, size_t x, size_t y, const void *from, size_t pitch, size_t width,
      size_t height, int kind);
ENTRY(int, cudaMemcpy2DToArrayAsync, void *array, size_t x, size_t y, const void *from, size_t pitch, size_t width,
      size_t height, int kind, void *stream);
ENTRY(int, cudaMemcpy2DFromArray, void *to, size_t pitch, const void *array, size_t x, size_t y, size_t width,
      size_t height, int kind);
ENTRY(int, cudaMemcpy2DFromArrayAsync, void *to, size_t pitch, const void *array, size_t x, size_t y, size_t width,
      size_t height, int kind, void *stream);
ENTRY(int, cudaMemcpyToArray, void *array, size_t x, size_t y, const void *from, size_t bytes, int kind);
ENTRY(int, cudaMemcpyToArrayAsync, void *array, size_t x, size_t y, const void *from, size_t bytes, int kind,
      void *stream);
ENTRY(int, cudaMemcpyFromArray, void *to, const void *array, size_t x, size_t y, size_t bytes, int kind);
ENTRY(int, cudaMemcpyFromArrayAsync, void *to, const void *array, size_t x, size_t y, size_t bytes, int kind,
      void *stream);
ENTRY(int, cudaMemcpy2DArrayToArray, void *to, size_t to_x, size_t to_y, const void *from, size_t from_x, size_t from_y,
      size_t width, size_t height, int kind);

/* runtime_capture.c */
ENTRY(int, cudaStreamBeginCapture, void *handle, int mode);
ENTRY(int, cudaStreamBeginCaptureToGraph, void *handle, void *graph_handle, void *const *nodes, const void *edges,
      size_t count, int mode);
ENTRY(int, cudaStreamEndCapture, void *handle, void **graph);
ENTRY(int, cudaStreamIsCapturing, void *handle, int *status);
ENTRY(int, cudaStreamGetCaptureInfo_11, void *stream, int *status, unsigned long long *id);
ENTRY(int, cudaStreamGetCaptureInfo_v2, void *stream, int *status, unsigned long long *id, void **graph, void ***front,
      size_t *count);
ENTRY(int, cudaStreamGetCaptureInfo_v3, void *stream, int *status, unsigned long long *id, void **graph, void ***front,
      const void **edges, size_t *count);
ENTRY(int, cudaStreamUpdateCaptureDependencies, void *stream, void *const *nodes, size_t count, unsigned flags);
ENTRY(int, cudaStreamUpdateCaptureDependencies_v2, void *stream, void *const *nodes, const void *edges, size_t count,
      unsigned flags);
ENTRY(int, cudaThreadExchangeStreamCaptureMode, int *mode);

/* runtime_copy.c */
ENTRY(int, cudaMemcpy, void *to, const void *from, size_t bytes, int kind);
ENTRY(int, cudaMemcpyAsync, void *to, const void *from, size_t bytes, int kind, void *stream);
ENTRY(int, cudaMemcpyPeer, void *to, int to_device, const void *from, int from_device, size_t bytes);
ENTRY(int, cudaMemcpyPeerAsync, void *to, int to_device, const void *from, int from_device, size_t bytes, void *stream);
ENTRY(int, cudaMemcpyToSymbol, const void *symbol, const void *from, size_t bytes, size_t offset, int kind);
ENTRY(int, cudaMemcpyFromSymbol, void *to, const void *symbol, size_t bytes, size_t offset, int kind);
ENTRY(int, cudaMemcpyToSymbolAsync, const void *symbol, const void *from, size_t bytes, size_t offset, int kind,
      void *stream);
ENTRY(int, cudaMemcpyFromSymbolAsync, void *to, const void *symbol, size_t bytes, size_t offset, int kind,
      void *stream);
ENTRY(int, cudaMemcpy2D, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
      int kind);
ENTRY(int, cudaMemcpy2DAsync, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
      size_t height, int kind, void *stream);
ENTRY(int, cudaMemcpy3D, const struct abi_copy_3d *p);
ENTRY(int, cudaMemcpy3DAsync, const struct abi_copy_3d *p, void *stream);
ENTRY(int, cudaMemcpy3DPeer, const struct abi_copy_3d_peer *p);
ENTRY(int, cudaMemcpy3DPeerAsync, const struct abi_copy_3d_peer *p, void *stream);
ENTRY(int, cudaMemset, void *to, int value, size_t bytes);
ENTRY(int, cudaMemsetAsync, void *to, int value, size_t bytes, void *stream);
ENTRY(int, cudaMemset2D, void *to, size_t pitch, int value, size_t width, size_t height);
ENTRY(int, cudaMemset2DAsync, void *to, size_t pitch, int value, size_t width, size_t height, void *stream);
ENTRY(int, cudaMemset3D, struct abi_pitched to, int value, struct abi_extent extent);
ENTRY(int, cudaMemset3DAsync, struct abi_pitched to, int value, struct abi_extent extent, void *stream);

/* runtime_device.c */
ENTRY(int, cudaGetDeviceCount, int *count);
ENTRY(int, cudaGetDevice, int *device);
ENTRY(int, cudaSetDevice, int device);
ENTRY(int, cudaSetDevice_11, int device);
ENTRY(int, cudaInitDevice, int device, unsigned device_flags, unsigned flags);
ENTRY(int, cudaSetValidDevices, int *devices, int count);
ENTRY(int, cudaGetDeviceProperties_11, void *properties, int device);
ENTRY(int, cudaGetDeviceProperties_12, void *properties, int device);
ENTRY(int, cudaGetDeviceProperties_13, void *properties, int device);
ENTRY(int, cudaChooseDevice, int *device, const void *properties);
ENTRY(int, cudaDeviceGetAttribute, int *value, int attribute, int device);
ENTRY(int, cudaDeviceSynchronize, void);
ENTRY(int, cudaDeviceReset, void);
ENTRY(int, cudaSetDeviceFlags, unsigned flags);
ENTRY(int, cudaGetDeviceFlags, unsigned *flags);
ENTRY(int, cudaDeviceGetLimit, size_t *value, int limit);
ENTRY(int, cudaDeviceSetLimit, int limit, size_t value);
ENTRY(int, cudaDeviceSetCacheConfig, int config);
ENTRY(int, cudaDeviceGetCacheConfig, int *config);
ENTRY(int, cudaDeviceSetSharedMemConfig, int config);
ENTRY(int, cudaDeviceGetSharedMemConfig, int *config);
ENTRY(int, cudaCtxResetPersistingL2Cache, void);
ENTRY(int, cudaDeviceGetPCIBusId, char *text, int bytes, int device);
ENTRY(int, cudaDeviceGetByPCIBusId, int *device, const char *text);
ENTRY(int, cudaDeviceCanAccessPeer, int *can, int device, int peer);
ENTRY(int, cudaDeviceEnablePeerAccess, int peer, unsigned flags);
ENTRY(int, cudaDeviceDisablePeerAccess, int peer);
ENTRY(int, cudaDeviceGetP2PAttribute, int *value, int attribute, int from, int to);
ENTRY(int, cudaDriverGetVersion, int *version);
ENTRY(int, cudaRuntimeGetVersion_11, int *version);
ENTRY(int, cudaRuntimeGetVersion_12, int *version);
ENTRY(int, cudaRuntimeGetVersion_13, int *version);
ENTRY(int, cudaProfilerStart, void);
ENTRY(int, cudaProfilerStop, void);
ENTRY(int, cudaThreadSynchronize, void);
ENTRY(int, cudaThreadExit, void);
ENTRY(int, cudaThreadSetLimit, int limit, size_t value);
ENTRY(int, cudaThreadGetLimit, size_t *value, int limit);
ENTRY(int, cudaThreadSetCacheConfig, int config);
ENTRY(int, cudaThreadGetCacheConfig, int *config);

/* runtime_error.c */
ENTRY(const char *, cudaGetErrorName, int error);
ENTRY(const char *, cudaGetErrorString, int error);
ENTRY(int, cudaGetLastError, void);
ENTRY(int, cudaPeekAtLastError, void);
ENTRY(int, absent, const char *name);

/* runtime_event.c */
ENTRY(int, cudaEventCreateWithFlags, void **handle, unsigned flags);
ENTRY(int, cudaEventCreate, void **event);
ENTRY(int, cudaEventDestroy, void *handle);
ENTRY(int, cudaEventRecord, void *handle, void *stream);
ENTRY(int, cudaEventRecordWithFlags, void *handle, void *stream, unsigned flags);
ENTRY(int, cudaEventSynchronize, void *handle);
ENTRY(int, cudaEventQuery, void *handle);
ENTRY(int, cudaEventElapsedTime, float *milliseconds, void *start, void *end);

/* runtime_function.c */
ENTRY(int, cudaFuncGetAttributes, struct abi_function_attributes *attributes, const void *host);
ENTRY(int, cudaFuncGetAttributes_11, struct abi_function_attributes *attributes, const void *host);
ENTRY(int, cudaFuncSetAttribute, const void *host, int attribute, int value);
ENTRY(int, cudaFuncSetCacheConfig, const void *host, int config);
ENTRY(int, cudaFuncSetSharedMemConfig, const void *host, int config);
ENTRY(int, cudaFuncGetName, const char **name, const void *host);
ENTRY(int, cudaFuncGetParamInfo, const void *host, size_t index, size_t *offset, size_t *bytes);
ENTRY(int, cudaGetFuncBySymbol, void **function, const void *host);
ENTRY(int, cudaGetKernel, void **kernel, const void *host);
ENTRY(int, cudaOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, const void *host, int threads, size_t shared);
ENTRY(int, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks, const void *host, int threads,
      size_t shared, unsigned flags);
ENTRY(int, cudaOccupancyMaxActiveClusters, int *clusters, const void *host, const struct abi_launch_config *config);
ENTRY(int, cudaOccupancyMaxPotentialClusterSize, int *size, const void *host, const struct abi_launch_config *config);
ENTRY(int, cudaOccupancyAvailableDynamicSMemPerBlock, size_t *bytes, const void *host, int blocks, int threads);
ENTRY(int, cudaKernelSetAttributeForDevice, void *kernel, int attribute, int value, int device);
ENTRY(int, __cudaGetKernel, void **kernel, const void *host);

/* runtime_graph.c */
ENTRY(int, cudaGraphCreate, void **graph, unsigned flags);
ENTRY(int, cudaGraphDestroy, void *graph);
ENTRY(int, cudaGraphExecDestroy, void *graph);
ENTRY(int, cudaGraphClone, void **clone, void *handle);
ENTRY(int, cudaGraphInstantiate_11, void **executable, void *graph, void **node, char *log, size_t bytes);
ENTRY(int, cudaGraphInstantiate, void **executable, void *graph, unsigned long long flags);
ENTRY(int, cudaGraphInstantiateWithFlags, void **executable, void *graph, unsigned long long flags);
ENTRY(int, cudaGraphInstantiateWithParams, void **executable, void *graph, struct abi_instantiate *parameters);
ENTRY(int, cudaGraphLaunch, void *executable, void *stream);
ENTRY(int, cudaGraphUpload, void *executable, void *stream);
ENTRY(int, cudaGraphExecGetFlags, void *executable, unsigned long long *flags);
ENTRY(int, cudaGraphAddDependencies, void *graph, void *const *from, void *const *to, size_t count);
ENTRY(int, cudaGraphAddDependencies_v2, void *graph, void *const *from, void *const *to, const void *edges,
      size_t count);
ENTRY(int, cudaGraphRemoveDependencies, void *graph, void *const *from, void *const *to, size_t count);
ENTRY(int, cudaGraphRemoveDependencies_v2, void *graph, void *const *from, void *const *to, const void *edges,
      size_t count);
ENTRY(int, cudaGraphGetNodes, void *graph, void **nodes, size_t *count);
ENTRY(int, cudaGraphGetRootNodes, void *graph, void **nodes, size_t *count);
ENTRY(int, cudaGraphGetEdges, void *graph, void **from, void **to, size_t *count);
ENTRY(int, cudaGraphGetEdges_v2, void *graph, void **from, void **to, void *edges, size_t *count);
ENTRY(int, cudaGraphNodeFindInClone, void **result, void *handle, void *clone_handle);
ENTRY(int, cudaGraphDebugDotPrint, void *handle, const char *path, unsigned flags);

/* runtime_graph_any.c */
ENTRY(int, cudaGraphAddNode, void **result, void *graph, void *const *nodes, size_t count, const struct abi_node *node);
ENTRY(int, cudaGraphAddNode_v2, void **result, void *graph, void *const *nodes, const void *edges, size_t count,
      const struct abi_node *node);
ENTRY(int, cudaGraphNodeSetParams, void *handle, const struct abi_node *node);
ENTRY(int, cudaGraphExecNodeSetParams, void *executable, void *handle, const struct abi_node *node);

/* runtime_graph_memory.c */
ENTRY(int, cudaGraphAddMemAllocNode, void **result, void *handle, void *const *nodes, size_t count,
      struct abi_allocation_node *values);
ENTRY(int, cudaGraphAddMemFreeNode, void **result, void *handle, void *const *nodes, size_t count, void *pointer);
ENTRY(int, cudaGraphMemAllocNodeGetParams, void *node, struct abi_allocation_node *values);
ENTRY(int, cudaGraphMemFreeNodeGetParams, void *node, void **pointer);
ENTRY(int, cudaDeviceGraphMemTrim, int device);
ENTRY(int, cudaDeviceGetGraphMemAttribute, int device, int attribute, void *value);
ENTRY(int, cudaDeviceSetGraphMemAttribute, int device, int attribute, void *value);

/* runtime_graph_node.c */
ENTRY(int, cudaGraphAddKernelNode, void **result, void *handle, void *const *nodes, size_t count,
      const struct abi_kernel_node *node);
ENTRY(int, cudaGraphAddMemcpyNode, void **result, void *handle, void *const *nodes, size_t count,
      const struct abi_copy_3d *p);
ENTRY(int, cudaGraphAddMemcpyNode1D, void **result, void *handle, void *const *nodes, size_t count, void *to,
      const void *from, size_t bytes, int kind);
ENTRY(int, cudaGraphAddMemcpyNodeToSymbol, void **result, void *graph, void *const *nodes, size_t count,
      const void *symbol, const void *from, size_t bytes, size_t offset, int kind);
ENTRY(int, cudaGraphAddMemcpyNodeFromSymbol, void **result, void *graph, void *const *nodes, size_t count, void *to,
      const void *symbol, size_t bytes, size_t offset, int kind);
ENTRY(int, cudaGraphAddMemsetNode, void **result, void *handle, void *const *nodes, size_t count,
      const struct abi_fill_node *node);
ENTRY(int, cudaGraphAddHostNode, void **result, void *handle, void *const *nodes, size_t count,
      const struct abi_host_node *node);
ENTRY(int, cudaGraphAddEventRecordNode, void **result, void *graph, void *const *nodes, size_t count, void *event);
ENTRY(int, cudaGraphAddEventWaitNode, void **result, void *graph, void *const *nodes, size_t count, void *event);
ENTRY(int, cudaGraphAddEmptyNode, void **result, void *handle, void *const *nodes, size_t count);
ENTRY(int, cudaGraphAddChildGraphNode, void **result, void *handle, void *const *nodes, size_t count,
      void *child_handle);
ENTRY(int, cudaGraphNodeGetDependencies, void *node, void **nodes, size_t *count);
ENTRY(int, cudaGraphNodeGetDependencies_v2, void *node, void **nodes, void *edges, size_t *count);
ENTRY(int, cudaGraphNodeGetDependentNodes, void *node, void **nodes, size_t *count);
ENTRY(int, cudaGraphNodeGetDependentNodes_v2, void *node, void **nodes, void *edges, size_t *count);
ENTRY(int, cudaGraphNodeGetType, void *handle, int *type);
ENTRY(int, cudaGraphDestroyNode, void *handle);
ENTRY(int, cudaGraphNodeSetEnabled, void *executable, void *handle, unsigned enabled);
ENTRY(int, cudaGraphNodeGetEnabled, void *executable, void *handle, unsigned *enabled);

/* runtime_graph_parameters.c */
ENTRY(int, cudaGraphKernelNodeGetParams, void *handle, struct abi_kernel_node *values);
ENTRY(int, cudaGraphKernelNodeGetAttribute, void *node, int attribute, void *value);
ENTRY(int, cudaGraphKernelNodeSetAttribute, void *node, int attribute, const void *value);
ENTRY(int, cudaGraphKernelNodeCopyAttributes, void *to, void *from);
ENTRY(int, cudaGraphMemcpyNodeGetParams, void *handle, struct abi_copy_3d *values);
ENTRY(int, cudaGraphMemcpyNodeSetParamsToSymbol, void *node, const void *symbol, const void *from, size_t bytes,
      size_t offset, int kind);
ENTRY(int, cudaGraphMemcpyNodeSetParamsFromSymbol, void *node, void *to, const void *symbol, size_t bytes,
      size_t offset, int kind);
ENTRY(int, cudaGraphExecMemcpyNodeSetParamsToSymbol, void *executable, void *node, const void *symbol, const void *from,
      size_t bytes, size_t offset, int kind);
ENTRY(int, cudaGraphExecMemcpyNodeSetParamsFromSymbol, void *executable, void *node, void *to, const void *symbol,
      size_t bytes, size_t offset, int kind);
ENTRY(int, cudaGraphMemsetNodeGetParams, void *handle, struct abi_fill_node *values);
ENTRY(int, cudaGraphHostNodeGetParams, void *handle, struct abi_host_node *values);
ENTRY(int, cudaGraphEventRecordNodeGetEvent, void *node, void **event);
ENTRY(int, cudaGraphEventWaitNodeGetEvent, void *node, void **event);
ENTRY(int, cudaGraphEventRecordNodeSetEvent, void *node, void *event);
ENTRY(int, cudaGraphEventWaitNodeSetEvent, void *node, void *event);
ENTRY(int, cudaGraphExecEventRecordNodeSetEvent, void *executable, void *node, void *event);
ENTRY(int, cudaGraphExecEventWaitNodeSetEvent, void *executable, void *node, void *event);
ENTRY(int, cudaGraphChildGraphNodeGetGraph, void *handle, void **graph);
ENTRY(int, cudaGraphKernelNodeSetParams, void *node, const struct abi_kernel_node *values);
ENTRY(int, cudaGraphExecKernelNodeSetParams, void *executable, void *node, const struct abi_kernel_node *values);
ENTRY(int, cudaGraphMemsetNodeSetParams, void *node, const struct abi_fill_node *values);
ENTRY(int, cudaGraphExecMemsetNodeSetParams, void *executable, void *node, const struct abi_fill_node *values);
ENTRY(int, cudaGraphHostNodeSetParams, void *node, const struct abi_host_node *values);
ENTRY(int, cudaGraphExecHostNodeSetParams, void *executable, void *node, const struct abi_host_node *values);
ENTRY(int, cudaGraphMemcpyNodeSetParams, void *node, const struct abi_copy_3d *values);
ENTRY(int, cudaGraphExecMemcpyNodeSetParams, void *executable, void *node, const struct abi_copy_3d *values);
ENTRY(int, cudaGraphMemcpyNodeSetParams1D, void *node, void *to, const void *from, size_t bytes, int kind);
ENTRY(int, cudaGraphExecMemcpyNodeSetParams1D, void *executable, void *node, void *to, const void *from, size_t bytes,
      int kind);

/* runtime_graph_update.c */
ENTRY(int, cudaGraphExecUpdate_11, void *executable, void *graph, void **node, int *result);
ENTRY(int, cudaGraphExecUpdate, void *executable, void *graph, struct abi_update_result *result);
ENTRY(int, cudaGraphExecChildGraphNodeSetParams, void *executable, void *handle, void *child_handle);

/* runtime_launch.c */
ENTRY(unsigned, __cudaPushCallConfiguration, struct corun_dim3 grid, struct corun_dim3 block, size_t shared,
      void *stream);
ENTRY(int, __cudaPopCallConfiguration, struct corun_dim3 *grid, struct corun_dim3 *block, size_t *shared,
      void **stream);
ENTRY(int, cudaConfigureCall, struct corun_dim3 grid, struct corun_dim3 block, size_t shared, void *stream);
ENTRY(int, cudaLaunchKernel, const void *host, struct corun_dim3 grid, struct corun_dim3 block, void **arguments,
      size_t shared, void *stream);
ENTRY(int, cudaLaunchKernel_13, const void *host, struct corun_dim3 grid, struct corun_dim3 block, void **arguments,
      size_t shared, void *stream);
ENTRY(int, cudaLaunchKernel_of_handle, const void *kernel, struct corun_dim3 grid, struct corun_dim3 block,
      void **arguments, size_t shared, void *stream);
ENTRY(int, cudaLaunchCooperativeKernel, const void *host, struct corun_dim3 grid, struct corun_dim3 block,
      void **arguments, size_t shared, void *stream);
ENTRY(int, cudaLaunchKernelExC, const struct abi_launch_config *config, const void *host, void **arguments);

/* runtime_memory.c */
ENTRY(int, cudaMalloc, void **pointer, size_t bytes);
ENTRY(int, cudaMallocPitch, void **pointer, size_t *pitch, size_t width, size_t height);
ENTRY(int, cudaMalloc3D, struct abi_pitched *pitched, struct abi_extent extent);
ENTRY(int, cudaMallocHost, void **pointer, size_t bytes);
ENTRY(int, cudaHostAlloc, void **pointer, size_t bytes, unsigned flags);
ENTRY(int, cudaMallocManaged, void **pointer, size_t bytes, unsigned flags);
ENTRY(int, cudaFree, void *pointer);
ENTRY(int, cudaFreeHost, void *pointer);
ENTRY(int, cudaHostRegister, void *pointer, size_t bytes, unsigned flags);
ENTRY(int, cudaHostUnregister, void *pointer);
ENTRY(int, cudaHostGetDevicePointer, void **device, void *host, unsigned flags);
ENTRY(int, cudaHostGetFlags, unsigned *flags, void *host);
ENTRY(int, cudaMemGetInfo, size_t *available, size_t *total);
ENTRY(int, cudaPointerGetAttributes, struct abi_pointer_attributes *attributes, const void *pointer);
ENTRY(int, cudaGetSymbolAddress, void **pointer, const void *host);
ENTRY(int, cudaGetSymbolSize, size_t *size, const void *host);

/* runtime_memory_advice.c */
ENTRY(int, cudaMemAdvise, const void *pointer, size_t bytes, int advice, int device);
ENTRY(int, cudaMemAdvise_v2, const void *pointer, size_t bytes, int advice, uint64_t location);
/* runtime_interprocess.c; the driver API's, too */
ENTRY(int, cudaIpcGetMemHandle, struct abi_interprocess_handle *handle, void *pointer);
ENTRY(int, cudaIpcOpenMemHandle, void **pointer, struct abi_interprocess_handle handle, unsigned flags);
ENTRY(int, cudaIpcCloseMemHandle, void *pointer);
ENTRY(int, cudaIpcGetEventHandle, struct abi_interprocess_handle *handle, void *event);
ENTRY(int, cudaIpcOpenEventHandle, void **event, struct abi_interprocess_handle handle);

ENTRY(int, cudaMemPrefetchAsync, const void *pointer, size_t bytes, int device, void *stream);
ENTRY(int, cudaMemPrefetchAsync_v2, const void *pointer, size_t bytes, uint64_t location, unsigned flags, void *stream);
ENTRY(int, cudaMemPrefetchBatchAsync, void *const *pointers, const size_t *bytes, size_t count,
      const struct abi_location *locations, const size_t *indices, size_t location_count, uint64_t flags, void *stream);
ENTRY(int, cudaMemDiscardBatchAsync, void *const *pointers, const size_t *bytes, size_t count, uint64_t flags,
      void *stream);
ENTRY(int, cudaMemDiscardAndPrefetchBatchAsync, void *const *pointers, const size_t *bytes, size_t count,
      const struct abi_location *locations, const size_t *indices, size_t location_count, uint64_t flags, void *stream);
ENTRY(int, cudaStreamAttachMemAsync, void *handle, void *pointer, size_t bytes, unsigned flags);
ENTRY(int, cudaMemRangeGetAttribute, void *data, size_t bytes, int which, const void *pointer, size_t count);
ENTRY(int, cudaMemRangeGetAttributes, void **data, const size_t *bytes, const int *which, size_t attributes,
      const void *pointer, size_t count);

/* runtime_batch.c; the driver API's, too. Names without _v2 are of CUDA 12: `failed` (may be NULL) gets the copy that is wrong. */
ENTRY(int, cudaMemcpyBatchAsync, void *const *to, const void *const *from, const size_t *bytes, size_t count,
      const struct abi_copy_attributes *attributes, const size_t *indices, size_t attribute_count, size_t *failed,
      void *stream);
ENTRY(int, cudaMemcpyBatchAsync_v2, void *const *to, const void *const *from, const size_t *bytes, size_t count,
      const struct abi_copy_attributes *attributes, const size_t *indices, size_t attribute_count, void *stream);
ENTRY(int, cudaMemcpy3DBatchAsync, size_t count, const struct abi_batch_copy *batch, size_t *failed, uint64_t flags,
      void *stream);
ENTRY(int, cudaMemcpy3DBatchAsync_v2, size_t count, const struct abi_batch_copy *batch, uint64_t flags, void *stream);

/* runtime_pool.c */
ENTRY(int, cudaDeviceGetDefaultMemPool, void **pool, int device);
ENTRY(int, cudaDeviceGetMemPool, void **pool, int device);
ENTRY(int, cudaDeviceSetMemPool, int device, void *pool);
ENTRY(int, cudaMemGetDefaultMemPool, void **pool, const struct abi_location *location, int kind);
ENTRY(int, cudaMemGetMemPool, void **pool, const struct abi_location *location, int kind);
ENTRY(int, cudaMemSetMemPool, const struct abi_location *location, int kind, void *pool);
ENTRY(int, cudaMemPoolCreate, void **result, const struct abi_pool_properties *properties);
ENTRY(int, cudaMemPoolDestroy, void *handle);
ENTRY(int, cudaMemPoolGetAttribute, void *pool, int attribute, void *value);
ENTRY(int, cudaMemPoolSetAttribute, void *pool, int attribute, void *value);
ENTRY(int, cudaMemPoolTrimTo, void *pool, size_t bytes);
ENTRY(int, cudaMallocAsync, void **pointer, size_t bytes, void *stream);
ENTRY(int, cudaMallocFromPoolAsync, void **pointer, size_t bytes, void *pool, void *stream);
ENTRY(int, cudaFreeAsync, void *pointer, void *handle);
ENTRY(int, cudaMemPoolSetAccess, void *handle, const struct abi_pool_access *access, size_t count);
ENTRY(int, cudaMemPoolGetAccess, int *flags, void *handle, const struct abi_pool_access *location);

/* runtime_pool_handles.c */
ENTRY(int, cudaMemPoolExportToShareableHandle, void *handle, void *pool, int type, unsigned flags);
ENTRY(int, cudaMemPoolImportFromShareableHandle, void **pool, void *handle, int type, unsigned flags);
ENTRY(int, cudaMemPoolExportPointer, struct abi_interprocess_handle *handle, const void *pointer);
ENTRY(int, cudaMemPoolImportPointer, void **pointer, void *pool, const struct abi_interprocess_handle *handle);

/* runtime_reference.c */
ENTRY(void, __cudaRegisterTexture, void **handle, const void *host, const void **address, const char *name,
      int dimensions, int normalized_values, int external);
ENTRY(void, __cudaRegisterSurface, void **handle, const void *host, const void **address, const char *name,
      int dimensions, int external);
ENTRY(int, cudaBindTexture, size_t *offset, const void *host, const void *address, const struct abi_channel *channel,
      size_t bytes);
ENTRY(int, cudaBindTexture2D, size_t *offset, const void *host, const void *address, const struct abi_channel *channel,
      size_t width, size_t height, size_t pitch);
ENTRY(int, cudaBindTextureToArray, const void *host, const void *array, const struct abi_channel *channel);
ENTRY(int, cudaBindSurfaceToArray, const void *host, const void *array, const struct abi_channel *channel);
ENTRY(int, cudaUnbindTexture, const void *host);
ENTRY(int, cudaGetTextureReference, const void **reference, const void *symbol);
ENTRY(int, cudaGetSurfaceReference, const void **reference, const void *symbol);
ENTRY(int, cudaGetTextureAlignmentOffset, size_t *offset, const void *host);

/* runtime_register.c */
ENTRY(void **, __cudaRegisterFatBinary, void *data);
ENTRY(void, __cudaRegisterFatBinaryEnd, void **handle);
ENTRY(void, __cudaUnregisterFatBinary, void **handle);
ENTRY(void, __cudaRegisterFunction, void **handle, const char *host, const char *device, const char *name,
      int thread_limit, void *thread_id, void *block_id, void *block_dim, void *grid_dim, const int *warp_size);
ENTRY(void, __cudaRegisterVar, void **handle, char *host, const char *device, const char *name, int external,
      size_t bytes, int constant, int global);
ENTRY(void, __cudaRegisterManagedVar, void **handle, void **host, const char *device, const char *name, int external,
      size_t bytes, int constant, int global);
ENTRY(void, __cudaRegisterHostVar, void **handle, const char *name, char *host, size_t bytes);
ENTRY(char, __cudaInitModule, void **handle);

/* runtime_stream.c */
ENTRY(int, cudaStreamCreate, void **stream);
ENTRY(int, cudaStreamCreateWithFlags, void **stream, unsigned flags);
ENTRY(int, cudaStreamCreateWithPriority, void **stream, unsigned flags, int priority);
ENTRY(int, cudaDeviceGetStreamPriorityRange, int *least, int *greatest);
ENTRY(int, cudaStreamDestroy, void *handle);
ENTRY(int, cudaStreamSynchronize, void *handle);
ENTRY(int, cudaStreamQuery, void *handle);
ENTRY(int, cudaStreamWaitEvent, void *stream, void *handle, unsigned flags);
ENTRY(int, cudaLaunchHostFunc, void *stream, abi_host_function function, void *user);
ENTRY(int, cudaStreamAddCallback, void *stream, abi_stream_callback callback, void *user, unsigned flags);
ENTRY(int, cudaStreamGetFlags, void *handle, unsigned *flags);
ENTRY(int, cudaStreamGetPriority, void *handle, int *priority);
ENTRY(int, cudaStreamGetId, void *handle, unsigned long long *id);
ENTRY(int, cudaStreamGetDevice, void *handle, int *device);
ENTRY(int, cudaStreamSetAttribute, void *handle, int attribute, const void *value);
ENTRY(int, cudaStreamGetAttribute, void *handle, int attribute, void *value);
ENTRY(int, cudaStreamCopyAttributes, void *to, void *from);

/* runtime_user_object.c */
ENTRY(int, cudaUserObjectCreate, void **result, void *value, void (*destroy)(void *), unsigned references,
      unsigned flags);
ENTRY(int, cudaUserObjectRetain, void *handle, unsigned count);
ENTRY(int, cudaUserObjectRelease, void *handle, unsigned count);
ENTRY(int, cudaGraphRetainUserObject, void *handle, void *value, unsigned count, unsigned flags);
ENTRY(int, cudaGraphReleaseUserObject, void *handle, void *value, unsigned count);

/* runtime_texture.c */
ENTRY(int, cudaCreateTextureObject, uint64_t *handle, const struct abi_resource *resource,
      const struct abi_texture *texture, const struct abi_view *view);
ENTRY(int, cudaCreateSurfaceObject, uint64_t *handle, const struct abi_resource *resource);
ENTRY(int, cudaDestroyTextureObject, uint64_t handle);
ENTRY(int, cudaDestroySurfaceObject, uint64_t handle);
ENTRY(int, cudaGetTextureObjectResourceDesc, struct abi_resource *resource, uint64_t handle);
ENTRY(int, cudaGetTextureObjectTextureDesc, struct abi_texture *texture, uint64_t handle);
ENTRY(int, cudaGetTextureObjectResourceViewDesc, struct abi_view *view, uint64_t handle);
ENTRY(int, cudaGetSurfaceObjectResourceDesc, struct abi_resource *resource, uint64_t handle);
ENTRY(int, cudaDeviceGetTexture1DLinearMaxWidth, size_t *width, const struct abi_channel *channel, int device);

#endif
