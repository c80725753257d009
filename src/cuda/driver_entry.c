/* SPDX-License-Identifier: MIT */
/* Entry points found by name: cuGetProcAddress and its relatives. */
#include "cuda/abi.h"
#include "cuda/driver_api.h"
#include "cuda/entry.h"
#include "cuda/process.h"
#include "cuda/runtime_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* cuGetProcAddress: what was found */
enum { SYMBOL_FOUND = 0, SYMBOL_NOT_FOUND = 1, SYMBOL_VERSION_TOO_OLD = 2 };
enum { FLAG_LEGACY = 1, FLAG_PER_THREAD = 2 };

/*
 * Names of which more than one version came after CUDA 3.2, where _v2 began, or whose _v2 is asked for by that name
 * only: since when each is meant.
 */
static const struct {
    const char *name;
    int since;
    const char *symbol;
} versions[] = {
    {"cuCtxCreate", 12050, "cuCtxCreate_v4"},
    {"cuCtxCreate", 11040, "cuCtxCreate_v3"},
    {"cuCtxCreate", 3020, "cuCtxCreate_v2"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    {"cuGetProcAddress", 0, "cuGetProcAddress"},
    {"cuMemcpyBatchAsync", 13000, "cuMemcpyBatchAsync_v2"},
    {"cuMemcpyBatchAsync", 0, "cuMemcpyBatchAsync"},
    {"cuMemcpy3DBatchAsync", 13000, "cuMemcpy3DBatchAsync_v2"},
    {"cuMemcpy3DBatchAsync", 0, "cuMemcpy3DBatchAsync"},
    {"cuStreamBeginCapture", 10010, "cuStreamBeginCapture_v2"},
    {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"},
    {"cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2"},
    {"cuStreamGetCaptureInfo", 0, "cuStreamGetCaptureInfo"},
    {"cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"},
    {"cuGraphInstantiate", 11000, "cuGraphInstantiate_v2"},
    {"cuGraphAddKernelNode", 12000, "cuGraphAddKernelNode_v2"},
    {"cuGraphAddKernelNode", 0, "cuGraphAddKernelNode"},
    {"cuGraphKernelNodeGetParams", 12000, "cuGraphKernelNodeGetParams_v2"},
    {"cuGraphKernelNodeGetParams", 0, "cuGraphKernelNodeGetParams"},
    {"cuGraphKernelNodeSetParams", 12000, "cuGraphKernelNodeSetParams_v2"},
    {"cuGraphKernelNodeSetParams", 0, "cuGraphKernelNodeSetParams"},
    {"cuGraphExecKernelNodeSetParams", 12000, "cuGraphExecKernelNodeSetParams_v2"},
    {"cuGraphExecKernelNodeSetParams", 0, "cuGraphExecKernelNodeSetParams"},
    {"cuGraphExecUpdate", 12000, "cuGraphExecUpdate_v2"},
    {"cuGraphExecUpdate", 0, "cuGraphExecUpdate"},
    {"cuGraphGetEdges", 12030, "cuGraphGetEdges_v2"},
    {"cuGraphGetEdges", 0, "cuGraphGetEdges"},
    {"cuGraphAddDependencies", 12030, "cuGraphAddDependencies_v2"},
    {"cuGraphAddDependencies", 0, "cuGraphAddDependencies"},
    {"cuGraphRemoveDependencies", 12030, "cuGraphRemoveDependencies_v2"},
    {"cuGraphRemoveDependencies", 0, "cuGraphRemoveDependencies"},
    {"cuGraphNodeGetDependencies", 12030, "cuGraphNodeGetDependencies_v2"},
    {"cuGraphNodeGetDependencies", 0, "cuGraphNodeGetDependencies"},
    {"cuGraphNodeGetDependentNodes", 12030, "cuGraphNodeGetDependentNodes_v2"},
    {"cuGraphNodeGetDependentNodes", 0, "cuGraphNodeGetDependentNodes"},
    {"cuGraphAddNode", 12030, "cuGraphAddNode_v2"},
    {"cuGraphAddNode", 0, "cuGraphAddNode"},
    {"cuStreamUpdateCaptureDependencies", 12030, "cuStreamUpdateCaptureDependencies_v2"},
    {"cuStreamUpdateCaptureDependencies", 0, "cuStreamUpdateCaptureDependencies"},
    {"cuMemAdvise", 12020, "cuMemAdvise_v2"},
    {"cuMemAdvise", 0, "cuMemAdvise"},
    {"cuMemPrefetchAsync", 12020, "cuMemPrefetchAsync_v2"},
    {"cuMemPrefetchAsync", 0, "cuMemPrefetchAsync"},
    {"cuEventElapsedTime", 12080, "cuEventElapsedTime_v2"},
    {"cuEventElapsedTime", 0, "cuEventElapsedTime"},
    {"cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2"},
    {"cuDeviceGetUuid", 0, "cuDeviceGetUuid"},
    {"cuCtxGetDevice", 0, "cuCtxGetDevice"},
    {"cuCtxSynchronize", 0, "cuCtxSynchronize"},
    {"cuTexRefSetAddress2D", 4010, "cuTexRefSetAddress2D_v3"},
    {"cuStreamGetCtx", 12050, "cuStreamGetCtx_v2"},
    {"cuStreamGetCtx", 0, "cuStreamGetCtx"},
};

/* What a process has of it: set once, by the first question. */
static struct {
    pthread_once_t once;
    void *library; /* NULL: there is none */
} own = {.once = PTHREAD_ONCE_INIT};

/*
 * The libcuda.so.1 that lies beside this library: what else the program has under that name stands in front of it, and is not what a driver gives for its own entry points.
 * It stays open: a program that is linked with the runtime only has the library from here.
 */
static void open_own(void)
{
    char path[4096];
    Dl_info here;
    if (!dladdr((void *)(uintptr_t)corun_cuGetProcAddress_v2, &here) || !here.dli_fname)
        return;
    const char *slash = strrchr(here.dli_fname, '/');
    int folder_bytes = slash ? (int)(slash - here.dli_fname) : 0;
    if (snprintf(path, sizeof path, "%.*s/libcuda.so.1", folder_bytes, here.dli_fname) < (int)sizeof path)
        own.library = dlopen(path, RTLD_LAZY | RTLD_NODELETE);
}

static void *look_up(const char *symbol, int flags)
{
    char name[160];
    void *found = NULL;
    pthread_once(&own.once, open_own);
    if (!own.library)
        return NULL;
    if (flags == FLAG_PER_THREAD)
        for (int i = 0; i < 2 && !found; i++) {
            snprintf(name, sizeof name, "%.140s%s", symbol, i ? "_ptds" : "_ptsz");
            found = dlsym(own.library, name);
        }
    return found ? found : dlsym(own.library, symbol);
}

static void *find_entry(const char *name, int version, int flags)
{
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (!strcmp(versions[i].name, name) && version >= versions[i].since)
            return look_up(versions[i].symbol, flags);
    char second[160];
    snprintf(second, sizeof second, "%.140s_v2", name);
    void *found = version >= 3020 ? look_up(second, flags) : NULL;
    return found ? found : look_up(name, flags);
}

ENTRY(int, cuGetProcAddress_v2, const char *name, void **function, int version, uint64_t flags, int *status)
{
    if (!name || !function)
        return CUDA_ERROR_INVALID_VALUE;
    *function = find_entry(name, version, flags == 0 && corun_per_thread ? FLAG_PER_THREAD : (int)flags);
    corun_per_thread = false;
    if (status)
        *status = *function ? SYMBOL_FOUND : SYMBOL_NOT_FOUND;
    return *function || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

ENTRY(int, cuGetProcAddress, const char *name, void **function, int version, uint64_t flags)
{
    return corun_cuGetProcAddress_v2(name, function, version, flags, NULL);
}

ENTRY(int, cudaGetDriverEntryPointByVersion, const char *name, void **function, unsigned version, uint64_t flags,
      int *status)
{
    if (!name || !function)
        return thread_get()->last_error = CUDA_ERROR_INVALID_VALUE;
    int found = SYMBOL_NOT_FOUND;
    bool per_thread = flags == 0 && corun_per_thread;
    corun_per_thread = false;
    (void)process_driver()->cuGetProcAddress[0](name, function, (int)version, per_thread ? FLAG_PER_THREAD : flags,
                                                &found);
    if (status)
        *status = found;
    return CUDA_SUCCESS;
}

ENTRY(int, cudaGetDriverEntryPoint, const char *name, void **function, uint64_t flags, int *status)
{
    return corun_cudaGetDriverEntryPointByVersion(name, function, 13000, flags, status);
}

ENTRY(int, cudaGetDriverEntryPoint_11, const char *name, void **function, uint64_t flags)
{
    return corun_cudaGetDriverEntryPointByVersion(name, function, 11080, flags, NULL);
}

/* Tables of functions that only NVIDIA's own libraries know. */
ENTRY(int, cuGetExportTable, const void **table, const void *id)
{
    (void)id;
    if (table)
        *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}

ENTRY(int, cudaGetExportTable, const void **table, const void *id)
{
    return corun_cuGetExportTable(table, id);
}
