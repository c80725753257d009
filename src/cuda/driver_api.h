/* SPDX-License-Identifier: MIT */
/*
 * Entry points of the driver API, in the order of the files that define them. A name here is that of the function
 * behind an entry point: entry_points.def says under which names programs find it.
 * Those that it shares with the runtime API are in runtime_api.h.
 */
#ifndef CORUN_CUDA_DRIVER_API_H
#define CORUN_CUDA_DRIVER_API_H

#include "cuda/abi.h"
#include "cuda/entry.h"

struct abi_access;
struct abi_allocation_properties;
struct abi_array_3d_descriptor;
struct abi_array_descriptor;
struct abi_driver_kernel_node;
struct abi_driver_resource;
struct abi_driver_texture;
struct abi_view;
struct abi_location;
struct abi_old_properties;
struct abi_resource;
struct abi_stream_operation;

/* driver_array.c */
ENTRY(int, cuArray3DCreate_v2, void **handle, const struct abi_array_3d_descriptor *from);
ENTRY(int, cuArrayCreate_v2, void **handle, const struct abi_array_descriptor *from);
ENTRY(int, cuMipmappedArrayCreate, void **handle, const struct abi_array_3d_descriptor *from, unsigned levels);
ENTRY(int, cuArrayDestroy, void *handle);
ENTRY(int, cuArray3DGetDescriptor_v2, struct abi_array_3d_descriptor *to, void *handle);
ENTRY(int, cuArrayGetDescriptor_v2, struct abi_array_descriptor *to, void *handle);
ENTRY(int, cuMemcpyHtoA_v2, void *array, size_t at, const void *from, size_t bytes);
ENTRY(int, cuMemcpyHtoAAsync_v2, void *array, size_t at, const void *from, size_t bytes, void *stream);
ENTRY(int, cuMemcpyAtoH_v2, void *to, void *array, size_t at, size_t bytes);
ENTRY(int, cuMemcpyAtoHAsync_v2, void *to, void *array, size_t at, size_t bytes, void *stream);
ENTRY(int, cuMemcpyDtoA_v2, void *array, size_t at, uint64_t from, size_t bytes);
ENTRY(int, cuMemcpyAtoD_v2, uint64_t to, void *array, size_t at, size_t bytes);
ENTRY(int, cuMemcpyAtoA_v2, void *to, size_t to_at, void *from, size_t from_at, size_t bytes);

/* driver_context.c */
ENTRY(int, cuDevicePrimaryCtxRetain, void **context, int device);
ENTRY(int, cuDevicePrimaryCtxRelease_v2, int device);
ENTRY(int, cuDevicePrimaryCtxReset_v2, int device);
ENTRY(int, cuDevicePrimaryCtxSetFlags_v2, int device, unsigned flags);
ENTRY(int, cuDevicePrimaryCtxGetState, int device, unsigned *flags, int *active);
ENTRY(int, cuCtxCreate_v2, void **context, unsigned flags, int device);
ENTRY(int, cuCtxCreate_v3, void **context, void *affinities, int count, unsigned flags, int device);
ENTRY(int, cuCtxCreate_v4, void **context, void *parameters, unsigned flags, int device);
ENTRY(int, cuCtxDestroy_v2, void *handle);
ENTRY(int, cuCtxPushCurrent_v2, void *handle);
ENTRY(int, cuCtxPopCurrent_v2, void **handle);
ENTRY(int, cuCtxSetCurrent, void *handle);
ENTRY(int, cuCtxGetCurrent, void **handle);
ENTRY(int, cuCtxGetDevice, int *device);
ENTRY(int, cuCtxGetFlags, unsigned *flags);
ENTRY(int, cuCtxGetId, void *handle, unsigned long long *id);
ENTRY(int, cuCtxGetApiVersion, void *handle, unsigned *version);
ENTRY(int, cuCtxGetDevice_v2, int *device, void *handle);
ENTRY(int, cuCtxSynchronize_v2, void *handle);
ENTRY(int, cuCtxSetFlags, unsigned flags);
ENTRY(int, cuCtxAttach, void **handle, unsigned flags);
ENTRY(int, cuCtxDetach, void *handle);
ENTRY(int, cuCtxEnablePeerAccess, void *peer, unsigned flags);
ENTRY(int, cuCtxDisablePeerAccess, void *peer);

/* driver_copy.c */
ENTRY(int, cuMemcpy, uint64_t to, uint64_t from, size_t bytes);
ENTRY(int, cuMemcpyAsync, uint64_t to, uint64_t from, size_t bytes, void *stream);
ENTRY(int, cuMemcpyHtoD_v2, uint64_t to, const void *from, size_t bytes);
ENTRY(int, cuMemcpyHtoDAsync_v2, uint64_t to, const void *from, size_t bytes, void *stream);
ENTRY(int, cuMemcpyDtoH_v2, void *to, uint64_t from, size_t bytes);
ENTRY(int, cuMemcpyDtoHAsync_v2, void *to, uint64_t from, size_t bytes, void *stream);
ENTRY(int, cuMemcpyDtoD_v2, uint64_t to, uint64_t from, size_t bytes);
ENTRY(int, cuMemcpyDtoDAsync_v2, uint64_t to, uint64_t from, size_t bytes, void *stream);
ENTRY(int, cuMemcpyPeer, uint64_t to, void *to_context, uint64_t from, void *from_context, size_t bytes);
ENTRY(int, cuMemcpyPeerAsync, uint64_t to, void *to_context, uint64_t from, void *from_context, size_t bytes,
      void *stream);
ENTRY(int, cuMemcpy2D_v2, const struct abi_driver_copy_2d *p);
ENTRY(int, cuMemcpy2DUnaligned_v2, const struct abi_driver_copy_2d *p);
ENTRY(int, cuMemcpy2DAsync_v2, const struct abi_driver_copy_2d *p, void *stream);
ENTRY(int, cuMemcpy3D_v2, const struct abi_driver_copy_3d *p);
ENTRY(int, cuMemcpy3DAsync_v2, const struct abi_driver_copy_3d *p, void *stream);
ENTRY(int, cuMemsetD8_v2, uint64_t to, unsigned char value, size_t count);
ENTRY(int, cuMemsetD8Async, uint64_t to, unsigned char value, size_t count, void *stream);
ENTRY(int, cuMemsetD2D8_v2, uint64_t to, size_t pitch, unsigned char value, size_t width, size_t height);
ENTRY(int, cuMemsetD2D8Async, uint64_t to, size_t pitch, unsigned char value, size_t width, size_t height,
      void *stream);
ENTRY(int, cuMemsetD16_v2, uint64_t to, unsigned short value, size_t count);
ENTRY(int, cuMemsetD16Async, uint64_t to, unsigned short value, size_t count, void *stream);
ENTRY(int, cuMemsetD2D16_v2, uint64_t to, size_t pitch, unsigned short value, size_t width, size_t height);
ENTRY(int, cuMemsetD2D16Async, uint64_t to, size_t pitch, unsigned short value, size_t width, size_t height,
      void *stream);
ENTRY(int, cuMemsetD32_v2, uint64_t to, unsigned value, size_t count);
ENTRY(int, cuMemsetD32Async, uint64_t to, unsigned value, size_t count, void *stream);
ENTRY(int, cuMemsetD2D32_v2, uint64_t to, size_t pitch, unsigned value, size_t width, size_t height);
ENTRY(int, cuMemsetD2D32Async, uint64_t to, size_t pitch, unsigned value, size_t width, size_t height, void *stream);

/* driver_device.c */
ENTRY(int, cuInit, unsigned flags);
ENTRY(int, cuDeviceGet, int *handle, int device);
ENTRY(int, cuDeviceGetCount, int *count);
ENTRY(int, cuDeviceGetName, char *name, int bytes, int device);
ENTRY(int, cuDeviceGetUuid, char uuid[16], int device);
ENTRY(int, cuDeviceGetLuid, char luid[8], unsigned *mask, int device);
ENTRY(int, cuDeviceTotalMem_v2, size_t *bytes, int device);
ENTRY(int, cuDeviceTotalMem, unsigned *bytes, int device);
ENTRY(int, cuDeviceGetAttribute, int *value, int attribute, int device);
ENTRY(int, cuDeviceComputeCapability, int *major, int *minor, int device);
ENTRY(int, cuDeviceGetProperties, struct abi_old_properties *properties, int device);

/* driver_entry.c */
ENTRY(int, cuGetProcAddress_v2, const char *name, void **function, int version, uint64_t flags, int *status);
ENTRY(int, cuGetProcAddress, const char *name, void **function, int version, uint64_t flags);
ENTRY(int, cuGetExportTable, const void **table, const void *id);

/* driver_error.c */
ENTRY(int, cuGetErrorName, int error, const char **name);
ENTRY(int, cuGetErrorString, int error, const char **text);

/* driver_function.c */
ENTRY(int, cuFuncIsLoaded, int *state, void *handle);
ENTRY(int, cuFuncLoad, void *handle);
ENTRY(int, cuKernelGetLibrary, void **library, void *handle);
ENTRY(int, cuFuncGetAttribute, int *value, int attribute, void *handle);
ENTRY(int, cuKernelGetAttribute, int *value, int attribute, void *kernel, int device);
ENTRY(int, cuKernelSetAttribute, int attribute, int value, void *kernel, int device);
ENTRY(int, cuKernelSetCacheConfig, void *kernel, int config, int device);
ENTRY(int, cuKernelGetFunction, void **function, void *kernel);
ENTRY(int, cuFuncGetModule, void **module, void *handle);
ENTRY(int, cuOccupancyMaxPotentialBlockSizeWithFlags, int *grid, int *block, void *handle, size_t (*shared_of)(int),
      size_t shared, int limit, unsigned flags);
ENTRY(int, cuOccupancyMaxPotentialBlockSize, int *grid, int *block, void *function, size_t (*shared_of)(int),
      size_t shared, int limit);

/* runtime_pool.c */
ENTRY(int, cuMemAllocAsync, void **pointer, size_t bytes, void *stream);
ENTRY(int, cuMemAllocFromPoolAsync, void **pointer, size_t bytes, void *pool, void *stream);
ENTRY(int, cuMemFreeAsync, void *pointer, void *stream);

/* runtime_capture.c */
ENTRY(int, cuStreamBeginCapture_v2, void *handle, int mode);
ENTRY(int, cuStreamBeginCaptureToGraph, void *handle, void *graph_handle, void *const *nodes, const void *edges,
      size_t count, int mode);
ENTRY(int, cuStreamEndCapture, void *handle, void **graph);

/* runtime_graph.c */
ENTRY(int, cuGraphLaunch, void *executable, void *stream);

/* driver_green.c */
ENTRY(int, cuDeviceGetDevResource, int device, struct abi_resource *resource, int kind);
ENTRY(int, cuCtxGetDevResource, void *context, struct abi_resource *resource, int kind);
ENTRY(int, cuGreenCtxGetDevResource, void *green, struct abi_resource *resource, int kind);
ENTRY(int, cuDevSmResourceSplitByCount, struct abi_resource *groups, unsigned *count, const struct abi_resource *from,
      struct abi_resource *rest, unsigned flags, unsigned least);
ENTRY(int, cuDevResourceGenerateDesc, uint64_t *description, const struct abi_resource *resources, unsigned count);
ENTRY(int, cuGreenCtxCreate, void **green, uint64_t description, int device, unsigned flags);
ENTRY(int, cuGreenCtxDestroy, void *green);
ENTRY(int, cuGreenCtxStreamCreate, void **stream, void *green, unsigned flags, int priority);
ENTRY(int, cuGreenCtxGetId, void *green, unsigned long long *id);
ENTRY(int, cuGreenCtxRecordEvent, void *green, void *event);
ENTRY(int, cuGreenCtxWaitEvent, void *green, void *event);

/* driver_graph.c */
ENTRY(int, cuGraphKernelNodeGetParams_v2, void *handle, struct abi_driver_kernel_node *values);
ENTRY(int, cuGraphAddKernelNode_v2, void **result, void *graph, void *const *nodes, size_t count,
      const struct abi_driver_kernel_node *values);
ENTRY(int, cuGraphKernelNodeSetParams_v2, void *handle, const struct abi_driver_kernel_node *values);
ENTRY(int, cuGraphExecKernelNodeSetParams_v2, void *executable, void *handle,
      const struct abi_driver_kernel_node *values);
ENTRY(int, cuGraphMemcpyNodeGetParams, void *handle, struct abi_driver_copy_3d *values);
ENTRY(int, cuGraphConditionalHandleCreate, uint64_t *result, void *graph, void *context, unsigned value,
      unsigned flags);
ENTRY(int, cuGraphAddMemcpyNode, void **result, void *handle, void *const *nodes, size_t count,
      const struct abi_driver_copy_3d *values, void *context);
ENTRY(int, cuGraphMemcpyNodeSetParams, void *node, const struct abi_driver_copy_3d *values);
ENTRY(int, cuGraphExecMemcpyNodeSetParams, void *executable, void *node, const struct abi_driver_copy_3d *values,
      void *context);

/* driver_launch.c */
ENTRY(int, cuLaunchKernel, void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
      unsigned shared, void *stream, void **arguments, void **extra);
ENTRY(int, cuLaunchCooperativeKernel, void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
      unsigned bz, unsigned shared, void *stream, void **arguments);
ENTRY(int, cuOccupancyMaxActiveClusters, int *clusters, void *function, const struct abi_driver_launch_config *config);
ENTRY(int, cuOccupancyMaxPotentialClusterSize, int *size, void *function,
      const struct abi_driver_launch_config *config);
ENTRY(int, cuLaunchKernelEx, const struct abi_driver_launch_config *config, void *function, void **arguments,
      void **extra);
ENTRY(int, cuFuncSetBlockShape, void *function, int x, int y, int z);
ENTRY(int, cuFuncSetSharedSize, void *function, unsigned bytes);
ENTRY(int, cuParamSetSize, void *function, unsigned bytes);
ENTRY(int, cuParamSetv, void *function, int offset, const void *values, unsigned bytes);
ENTRY(int, cuParamSeti, void *function, int offset, unsigned value);
ENTRY(int, cuParamSetf, void *function, int offset, float value);
ENTRY(int, cuLaunch, void *function);
ENTRY(int, cuLaunchGrid, void *function, int width, int height);
ENTRY(int, cuLaunchGridAsync, void *function, int width, int height, void *stream);

/* driver_link.c */
ENTRY(int, cuLinkCreate_v2, unsigned count, int *options, void **values, void **state);
ENTRY(int, cuLinkAddData_v2, void *state, int type, void *data, size_t bytes, const char *name, unsigned count,
      const int *options, void **values);
ENTRY(int, cuLinkAddFile_v2, void *state, int type, const char *path, unsigned count, const int *options,
      void **values);
ENTRY(int, cuLinkComplete, void *state, void **cubin, size_t *bytes);
ENTRY(int, cuLinkDestroy, void *state);

/* driver_memory.c */
ENTRY(int, cuMemAlloc_v2, uint64_t *address, size_t bytes);
ENTRY(int, cuMemAllocPitch_v2, uint64_t *address, size_t *pitch, size_t width, size_t height, unsigned element_bytes);
ENTRY(int, cuMemFree_v2, uint64_t address);
ENTRY(int, cuMemGetAddressRange_v2, uint64_t *base, size_t *bytes, uint64_t address);
ENTRY(int, cuPointerGetAttribute, void *value, int attribute, uint64_t address);
ENTRY(int, cuPointerGetAttributes, unsigned count, int *attributes, void **values, uint64_t address);
ENTRY(int, cuPointerSetAttribute, const void *value, int attribute, uint64_t address);
ENTRY(int, cuMemGetInfo_v2, size_t *available, size_t *total);
ENTRY(int, cuMemGetInfo, unsigned *available, unsigned *total);

/* driver_module.c */
ENTRY(int, cuModuleLoadDataEx, void **handle, const void *data, unsigned count, int *options, void **values);
ENTRY(int, cuModuleLoadData, void **handle, const void *data);
ENTRY(int, cuModuleLoadFatBinary, void **handle, const void *data);
ENTRY(int, cuModuleLoad, void **handle, const char *path);
ENTRY(int, cuModuleUnload, void *handle);
ENTRY(int, cuModuleGetFunction, void **handle, void *module_handle, const char *name);
ENTRY(int, cuModuleGetGlobal_v2, uint64_t *address, size_t *bytes, void *module_handle, const char *name);
ENTRY(int, cuLibraryGetGlobal, uint64_t *address, size_t *bytes, void *library, const char *name);
ENTRY(int, cuModuleGetFunctionCount, unsigned *count, void *module_handle);
ENTRY(int, cuLibraryGetKernelCount, unsigned *count, void *library);
ENTRY(int, cuModuleGetLoadingMode, int *mode);
ENTRY(int, cuLibraryLoadData, void **handle, const void *data, int *jit_options, void **jit_values, unsigned jit_count,
      const int *options, void **values, unsigned count);
ENTRY(int, cuLibraryLoadFromFile, void **handle, const char *path, const int *jit_options, void **jit_values,
      unsigned jit_count, const int *options, void **values, unsigned count);
ENTRY(int, cuLibraryGetModule, void **module, void *library);
ENTRY(int, cuModuleEnumerateFunctions, void **functions, unsigned count, void *handle);

/* driver_reference.c */
ENTRY(int, cuModuleGetTexRef, void **handle, void *module, const char *name);
ENTRY(int, cuModuleGetSurfRef, void **handle, void *module, const char *name);
ENTRY(int, cuTexRefSetArray, void *handle, void *array, unsigned flags);
ENTRY(int, cuSurfRefSetArray, void *handle, void *array, unsigned flags);
ENTRY(int, cuTexRefSetAddress_v2, size_t *offset, void *handle, uint64_t address, size_t bytes);
ENTRY(int, cuTexRefSetAddress2D_v3, void *handle, const struct abi_array_descriptor *picture, uint64_t address,
      size_t pitch);
ENTRY(int, cuTexRefSetFormat, void *handle, int format, int channels);
ENTRY(int, cuTexRefSetAddressMode, void *handle, int dimension, int mode);
ENTRY(int, cuTexRefSetFilterMode, void *handle, int filter);
ENTRY(int, cuTexRefSetFlags, void *handle, unsigned flags);

/* driver_stream.c */
ENTRY(int, cuStreamGetCtx, void *handle, void **context);
ENTRY(int, cuStreamGetGreenCtx, void *handle, void **green);
ENTRY(int, cuStreamGetCtx_v2, void *handle, void **context, void **green);
ENTRY(int, cuStreamWaitValue32, void *stream, uint64_t address, uint32_t value, unsigned flags);
ENTRY(int, cuStreamWaitValue64, void *stream, uint64_t address, uint64_t value, unsigned flags);
ENTRY(int, cuStreamWriteValue32, void *stream, uint64_t address, uint32_t value, unsigned flags);
ENTRY(int, cuStreamWriteValue64, void *stream, uint64_t address, uint64_t value, unsigned flags);
ENTRY(int, cuStreamBatchMemOp, void *stream, unsigned count, const struct abi_stream_operation *operations,
      unsigned flags);

/* driver_texture.c */
ENTRY(int, cuTexObjectCreate, uint64_t *handle, const struct abi_driver_resource *resource,
      const struct abi_driver_texture *reading, const struct abi_view *view);
ENTRY(int, cuSurfObjectCreate, uint64_t *handle, const struct abi_driver_resource *resource);
ENTRY(int, cuTexObjectGetResourceDesc, struct abi_driver_resource *resource, uint64_t handle);
ENTRY(int, cuTexObjectGetTextureDesc, struct abi_driver_texture *texture, uint64_t handle);
ENTRY(int, cuSurfObjectGetResourceDesc, struct abi_driver_resource *resource, uint64_t handle);

/* driver_virtual_memory.c */
ENTRY(int, cuMemGetAllocationGranularity, size_t *bytes, const struct abi_allocation_properties *properties,
      int option);
ENTRY(int, cuMemCreate, void **handle, size_t bytes, const struct abi_allocation_properties *properties,
      uint64_t flags);
ENTRY(int, cuMemRelease, void *handle);
ENTRY(int, cuMemGetAllocationPropertiesFromHandle, struct abi_allocation_properties *properties, void *handle);
ENTRY(int, cuMemAddressReserve, uint64_t *address, size_t bytes, size_t alignment, uint64_t wish, uint64_t flags);
ENTRY(int, cuMemAddressFree, uint64_t address, size_t bytes);
ENTRY(int, cuMemMap, uint64_t address, size_t bytes, size_t offset, void *handle, uint64_t flags);
ENTRY(int, cuMemUnmap, uint64_t address, size_t bytes);
ENTRY(int, cuMemSetAccess, uint64_t address, size_t bytes, const struct abi_access *access, size_t count);
ENTRY(int, cuMemGetAccess, uint64_t *flags, const struct abi_location *location, uint64_t address);
ENTRY(int, cuMemRetainAllocationHandle, void **handle, const void *address);
ENTRY(int, cuMemExportToShareableHandle, void *shared, void *handle, int type, uint64_t flags);
ENTRY(int, cuMemImportFromShareableHandle, void **handle, void *shared, int type);

/* driver_tensor_map.c */
ENTRY(int, cuTensorMapEncodeTiled, void *to, int type, unsigned rank, void *address, const uint64_t *sizes,
      const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave, int swizzle, int promotion,
      int fill);
ENTRY(int, cuTensorMapEncodeIm2col, void *to, int type, unsigned rank, void *address, const uint64_t *sizes,
      const uint64_t *strides, const int *lower, const int *upper, unsigned channels, unsigned pixels,
      const unsigned *steps, int interleave, int swizzle, int promotion, int fill);
ENTRY(int, cuTensorMapReplaceAddress, void *to, void *address);

#endif
