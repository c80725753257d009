/* SPDX-License-Identifier: MIT */
/*
 * The forms that the runtime API has in C++: what is left out, types, templates, launches by name; and its structures and numbers. The headers that only
 * have other names come along.
 */
#include "check.h"

#include <cuComplex.h>
#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <device_launch_parameters.h>
#include <math_constants.h>
#include <vector_functions.h>

#include <cmath>
#include <cstring>

struct pair_of {
    int first;
    double second;
};

__constant__ int factors[4];
__device__ double totals[2];

__global__ void scale(int *values, int count, short by, pair_of more)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count)
        values[i] = values[i] * by + more.first + (int)more.second + factors[i & 3];
}
__global__ void __launch_bounds__(256) add_shared(int *to)
{
    extern __shared__ int room[];
    room[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0)
        to[blockIdx.x] = room[blockDim.x - 1];
}
__global__ void nothing()
{
}

static bool all_are(const int *values, int count, int first, int wanted_by_four)
{
    for (int i = 0; i < count; i++)
        if (values[i] != first + (i & 3) * wanted_by_four)
            return false;
    return true;
}

static void check_memory()
{
    int *values, *pinned, *device, *at;
    int host[64];
    cudaEvent_t event, other;
    cudaStream_t stream;
    CHECK(cudaMalloc(&device, sizeof host));
    CHECK(cudaMallocManaged(&values, sizeof host, cudaMemAttachGlobal));
    CHECK(cudaMallocHost(&pinned, sizeof host));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaMallocHost(&pinned, sizeof host, cudaHostAllocPortable));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaHostAlloc(&pinned, sizeof host, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&at, pinned, 0));
    CHECK(cudaMemsetAsync(device, 0, sizeof host));
    CHECK(cudaMemcpyAsync(pinned, device, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy2DAsync(host, 16, device, 16, 16, 16, cudaMemcpyDeviceToHost));
    CHECK(cudaEventCreate(&event, cudaEventDisableTiming | cudaEventBlockingSync));
    CHECK(cudaEventCreate(&other));
    CHECK(cudaEventRecord(event));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamWaitEvent(stream, event));
    CHECK(cudaEventSynchronize(event));
    EXPECT(all_are(pinned, 64, 0, 0) && all_are(host, 64, 0, 0));
    CHECK(cudaStreamAttachMemAsync(stream, values));
    CHECK(cudaStreamSynchronize(stream));
    int device_now = -1;
    CHECK(cudaGetDevice(&device_now));
#if CUDART_VERSION < 13000
    CHECK(cudaMemAdvise(values, sizeof host, cudaMemAdviseSetReadMostly, device_now));
    CHECK(cudaMemPrefetchAsync(values, sizeof host, device_now));
    CHECK(cudaMemPrefetchAsync(values, sizeof host, cudaCpuDeviceId, stream));
#endif
#ifndef TOOLKIT
    const cudaMemLocation here = {cudaMemLocationTypeDevice, device_now};
    CHECK(cudaMemAdvise(values, sizeof host, cudaMemAdviseSetPreferredLocation, here));
    CHECK(cudaMemPrefetchAsync(values, sizeof host, here, 0));
#endif
    cudaArray_t array;
    const cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocArray(&array, &channel, 32));
    CHECK(cudaFreeArray(array));
    CHECK(cudaMallocArray(&array, &channel, 32, 4));
    CHECK(cudaFreeArray(array));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventDestroy(event));
    CHECK(cudaEventDestroy(other));
    CHECK(cudaFree(device));
    CHECK(cudaFree(values));
    CHECK(cudaFreeHost(pinned));
}

static void check_symbols()
{
    const int host[4] = {1, 2, 3, 4};
    int back[4] = {0, 0, 0, 0};
    double sums[2] = {1.5, 2.5}, sum = 0;
    size_t bytes = 0;
    void *address;
    CHECK(cudaMemcpyToSymbol(factors, host, sizeof host));
    CHECK(cudaMemcpyFromSymbol(back, factors, 2 * sizeof(int), 2 * sizeof(int)));
    EXPECT(back[0] == 3 && back[1] == 4);
    CHECK(cudaMemcpyToSymbolAsync(totals, sums, sizeof sums));
    CHECK(cudaMemcpyFromSymbolAsync(&sum, totals, sizeof sum, sizeof sum));
    CHECK(cudaDeviceSynchronize());
    EXPECT(sum == 2.5);
    CHECK(cudaGetSymbolAddress(&address, totals));
    CHECK(cudaGetSymbolSize(&bytes, factors));
    EXPECT(bytes == sizeof host);
}

static void check_launches()
{
    const int zeros[4] = {0, 0, 0, 0};
    int *values, count = 64, grid = 0, block = 0, blocks = 0;
    short by = 3;
    pair_of more = {5, 2.0};
    CHECK(cudaMemcpyToSymbol(factors, zeros, sizeof zeros));
    CHECK(cudaMallocManaged(&values, 64 * sizeof *values));
    auto fill = [&]() {
        CHECK(cudaDeviceSynchronize());
        for (int i = 0; i < 64; i++)
            values[i] = i & 3;
    };
    void *arguments[] = {&values, &count, &by, &more};
    fill();
    CHECK(cudaLaunchKernel(scale, dim3(2), dim3(32), arguments));
    CHECK(cudaDeviceSynchronize());
    EXPECT(all_are(values, 64, 7, 3));
    fill();
    CHECK(cudaLaunchKernel((void *)scale, 2, 32, arguments, 0, 0));
    CHECK(cudaDeviceSynchronize());
    EXPECT(all_are(values, 64, 7, 3));
    fill();
    CHECK(cudaLaunchCooperativeKernel(scale, 1, 64, arguments));
    CHECK(cudaDeviceSynchronize());
    EXPECT(all_are(values, 64, 7, 3));
    fill();
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    config.gridDim = 2, config.blockDim = 32, config.attrs = &attribute, config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, scale, values, 64, 3, more)); /* an int that becomes a short */
    CHECK(cudaDeviceSynchronize());
    EXPECT(all_are(values, 64, 7, 3));
    fill();
    CHECK(cudaLaunchKernelExC(&config, (const void *)scale, arguments));
    CHECK(cudaLaunchKernelEx(&config, nothing));
    CHECK(cudaDeviceSynchronize());
    EXPECT(all_are(values, 64, 7, 3));

    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, add_shared));
    EXPECT(attributes.maxThreadsPerBlock == 256 && attributes.sharedSizeBytes == 0);
    CHECK(cudaFuncSetAttribute(add_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 16384));
    CHECK(cudaFuncSetCacheConfig(add_shared, cudaFuncCachePreferShared));
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, add_shared));
    EXPECT(block > 0 && block <= 256 && block % 32 == 0 && grid > 0);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add_shared, block, 0));
    int sms = 0, most = 0, most_threads = 0;
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaDeviceGetAttribute(&most_threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
    EXPECT(grid == blocks * sms);
    for (int threads = 32; threads <= 256; threads += 32) {
        CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add_shared, threads, 0));
        most = blocks * threads > most ? blocks * threads : most;
    }
    EXPECT(grid / sms * block == most && most <= most_threads);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, add_shared, 4096, 100));
    EXPECT(block <= 100);
    CHECK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, add_shared, [](int threads) { return (size_t)threads * 64; }, 128));
    EXPECT(block <= 128 && grid > 0);
    add_shared<<<2, 64, 64 * sizeof(int)>>>(values);
    CHECK(cudaDeviceSynchronize());
    EXPECT(values[0] == 63 && values[1] == 63);
    CHECK(cudaFree(values));
}

static void check_graphs()
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    int *values;
    pair_of more = {0, 0.0};
    CHECK(cudaMallocManaged(&values, 64 * sizeof *values));
    for (int i = 0; i < 64; i++)
        values[i] = 1;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    scale<<<1, 64, 0, stream>>>(values, 64, 2, more);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph));
    CHECK(cudaGraphLaunch(executable, stream));
#if CUDART_VERSION < 13000
    cudaGraphExecUpdateResultInfo result;
    CHECK(cudaGraphExecUpdate(executable, graph, &result));
    EXPECT(result.result == cudaGraphExecUpdateSuccess);
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphInstantiate(&executable, graph, NULL, NULL, 0));
#endif
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(all_are(values, 64, 4, 0));
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
}

/* Each field is where the library writes it: what is also asked for by a number is the same. */
static void check_properties()
{
    cudaDeviceProp p;
    int count = 0, can = 1;
    CHECK(cudaGetDeviceCount(&count));
    EXPECT(count >= 1);
    memset(&p, 0x5a, sizeof p);
    CHECK(cudaGetDeviceProperties(&p, 0));
#define SAME(attribute, field) \
    { \
        int value = 0; \
        CHECK(cudaDeviceGetAttribute(&value, cudaDevAttr##attribute, 0)); \
        EXPECT((long long)value == (long long)(p.field)); \
    }
    SAME(MaxThreadsPerBlock, maxThreadsPerBlock)
    SAME(MaxBlockDimZ, maxThreadsDim[2])
    SAME(MaxGridDimX, maxGridSize[0])
    SAME(MaxSharedMemoryPerBlock, sharedMemPerBlock)
    SAME(TotalConstantMemory, totalConstMem)
    SAME(WarpSize, warpSize)
    SAME(MaxPitch, memPitch)
    SAME(MaxRegistersPerBlock, regsPerBlock)
    SAME(TextureAlignment, textureAlignment)
    SAME(TexturePitchAlignment, texturePitchAlignment)
    SAME(MultiProcessorCount, multiProcessorCount)
    SAME(Integrated, integrated)
    SAME(CanMapHostMemory, canMapHostMemory)
    SAME(ConcurrentKernels, concurrentKernels)
    SAME(EccEnabled, ECCEnabled)
    SAME(PciBusId, pciBusID)
    SAME(GlobalMemoryBusWidth, memoryBusWidth)
    SAME(L2CacheSize, l2CacheSize)
    SAME(MaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor)
    SAME(AsyncEngineCount, asyncEngineCount)
    SAME(UnifiedAddressing, unifiedAddressing)
    SAME(ComputeCapabilityMajor, major)
    SAME(ComputeCapabilityMinor, minor)
    SAME(StreamPrioritiesSupported, streamPrioritiesSupported)
    SAME(MaxSharedMemoryPerMultiprocessor, sharedMemPerMultiprocessor)
    SAME(MaxRegistersPerMultiprocessor, regsPerMultiprocessor)
    SAME(ManagedMemory, managedMemory)
    SAME(MaxTexture3DDepth, maxTexture3D[2])
    SAME(MaxSurface2DLayeredLayers, maxSurface2DLayered[2])
    SAME(SurfaceAlignment, surfaceAlignment)
    SAME(ConcurrentManagedAccess, concurrentManagedAccess)
    SAME(CooperativeLaunch, cooperativeLaunch)
    SAME(MaxSharedMemoryPerBlockOptin, sharedMemPerBlockOptin)
    SAME(MaxBlocksPerMultiprocessor, maxBlocksPerMultiProcessor)
    SAME(ReservedSharedMemoryPerBlock, reservedSharedMemPerBlock)
    SAME(HostRegisterSupported, hostRegisterSupported)
    SAME(MemoryPoolsSupported, memoryPoolsSupported)
    SAME(ClusterLaunch, clusterLaunch)
#if CUDART_VERSION < 13000
    SAME(ClockRate, clockRate)
    SAME(MemoryClockRate, memoryClockRate)
    SAME(SingleToDoublePrecisionPerfRatio, singleToDoublePrecisionPerfRatio)
    EXPECT(sizeof p == 1032);
#endif
    CHECK(cudaDeviceCanAccessPeer(&can, 0, 0));
    EXPECT(can == 0);
    EXPECT_ERROR(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(0, 0));
    EXPECT(cudaErrorNoDevice == 100 && cudaErrorUnknown == 999 && cudaErrorNoKernelImageForDevice == 209 && cudaErrorPeerAccessNotEnabled == 705);
    EXPECT(!strcmp(cudaGetErrorName(cudaErrorNoDevice), "cudaErrorNoDevice") && !strcmp(cudaGetErrorName(cudaErrorUnknown), "cudaErrorUnknown"));
    (void)cudaGetLastError();
}

/* The driver API beside it. */
static void check_driver()
{
    CUdevice device;
    CUdeviceptr address;
    size_t total = 0;
    int warp = 0, values[4] = {1, 2, 3, 4}, back[4] = {0, 0, 0, 0};
    char name[64];
    EXPECT(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, 0) == CUDA_SUCCESS);
    EXPECT(cuDeviceGetAttribute(&warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device) == CUDA_SUCCESS && warp == 32);
    EXPECT(cuDeviceGetName(name, sizeof name, device) == CUDA_SUCCESS && name[0]);
    EXPECT(cuDeviceTotalMem(&total, device) == CUDA_SUCCESS && total > 0);
    EXPECT(cuMemAlloc(&address, sizeof values) == CUDA_SUCCESS && cuMemcpyHtoD(address, values, sizeof values) == CUDA_SUCCESS);
    EXPECT(cuMemcpyDtoH(back, address, sizeof back) == CUDA_SUCCESS && !memcmp(values, back, sizeof back));
    EXPECT(cuMemFree(address) == CUDA_SUCCESS && cuMemFree(address + 1) == CUDA_ERROR_INVALID_VALUE);
}

__global__ void compute_complex(const cuFloatComplex *x, cuFloatComplex *to, const cuDoubleComplex *y, cuDoubleComplex *wide, float *constants)
{
    to[0] = cuCaddf(x[0], x[1]);
    to[1] = cuCsubf(x[0], x[1]);
    to[2] = cuCmulf(x[0], x[1]);
    to[3] = cuCdivf(x[0], x[1]);
    to[4] = make_cuFloatComplex(cuCabsf(x[0]), cuCimagf(cuConjf(x[0])));
    wide[0] = cuCdiv(cuCmul(y[0], y[1]), y[1]);
    wide[1] = make_cuDoubleComplex(cuCabs(y[0]), cuCreal(cuCfma(y[0], y[1], y[0])));
    constants[0] = CUDART_PI_F;
    constants[1] = CUDART_INF_F;
    constants[2] = (float)CUDART_PI;
    constants[3] = make_uchar3(1, 2, 3).z + make_double4(1, 2, 3, 4).w;
}

static void check_complex()
{
    cuFloatComplex *x, *to;
    cuDoubleComplex *y, *wide;
    float *constants;
    CHECK(cudaMallocManaged(&x, 2 * sizeof *x));
    CHECK(cudaMallocManaged(&to, 5 * sizeof *to));
    CHECK(cudaMallocManaged(&y, 2 * sizeof *y));
    CHECK(cudaMallocManaged(&wide, 2 * sizeof *wide));
    CHECK(cudaMallocManaged(&constants, 4 * sizeof *constants));
    x[0] = make_cuComplex(3, -4), x[1] = make_cuComplex(1, 2);
    y[0] = cuComplexFloatToDouble(x[0]), y[1] = make_cuDoubleComplex(0.5, -2);
    compute_complex<<<1, 1>>>(x, to, y, wide, constants);
    CHECK(cudaDeviceSynchronize());
    EXPECT(to[0].x == 4 && to[0].y == -2 && to[1].x == 2 && to[1].y == -6 && to[2].x == 11 && to[2].y == 2);
    EXPECT(fabsf(to[3].x + 1) < 1e-6f && fabsf(to[3].y + 2) < 1e-6f && fabsf(to[4].x - 5) < 1e-6f && to[4].y == 4);
    EXPECT(fabs(wide[0].x - 3) < 1e-14 && fabs(wide[0].y + 4) < 1e-14 && fabs(wide[1].x - 5) < 1e-14 && wide[1].y == -3.5);
    EXPECT(fabsf(cuCabsf(x[0]) - 5) < 1e-6f && cuCabs(make_cuDoubleComplex(3e300, 4e300)) > 4.99e300); /* the host's */
    EXPECT(cuCabs(make_cuDoubleComplex(0, -INFINITY)) == INFINITY && cuCabs(make_cuDoubleComplex(0, 0)) == 0);
    EXPECT(constants[0] == 3.14159274f && std::isinf(constants[1]) && constants[2] == constants[0] && constants[3] == 7);
}

__global__ void with_attributes(int *total)
{
    *total += 1;
}

/* Attributes of streams, and those of launches that came later. */
static void check_attributes()
{
    int *total;
    cudaStream_t from, to;
    cudaStreamAttrValue given = {}, found = {};
    cudaLaunchConfig_t shape = {};
    cudaLaunchAttribute attributes[2] = {};
    CHECK(cudaMallocManaged(&total, sizeof *total));
    CHECK(cudaStreamCreate(&from));
    CHECK(cudaStreamCreate(&to));
    given.accessPolicyWindow.base_ptr = total;
    given.accessPolicyWindow.num_bytes = sizeof *total;
    given.accessPolicyWindow.hitRatio = 0.5f;
    given.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    given.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    CHECK(cudaStreamSetAttribute(from, cudaStreamAttributeAccessPolicyWindow, &given));
    CHECK(cudaStreamCopyAttributes(to, from));
    CHECK(cudaStreamGetAttribute(to, cudaStreamAttributeAccessPolicyWindow, &found));
    EXPECT(found.accessPolicyWindow.base_ptr == total &&
           found.accessPolicyWindow.missProp == cudaAccessPropertyStreaming);
    given = cudaStreamAttrValue{};
    given.syncPolicy = cudaSyncPolicyYield;
    CHECK(cudaStreamSetAttribute(to, cudaStreamAttributeSynchronizationPolicy, &given));
    CHECK(cudaStreamGetAttribute(to, cudaStreamAttributeSynchronizationPolicy, &found));
    EXPECT(found.syncPolicy == cudaSyncPolicyYield);
    attributes[0].id = cudaLaunchAttributeMemSyncDomain;
    attributes[0].val.memSyncDomain = cudaLaunchMemSyncDomainRemote;
    attributes[1].id = cudaLaunchAttributePriority;
    shape.gridDim = shape.blockDim = dim3(1);
    shape.stream = to;
    shape.attrs = attributes;
    shape.numAttrs = 2;
    *total = 0;
    CHECK(cudaLaunchKernelEx(&shape, with_attributes, total));
    CHECK(cudaStreamSynchronize(to));
    EXPECT(*total == 1);
    CHECK(cudaStreamDestroy(from));
    CHECK(cudaStreamDestroy(to));
    CHECK(cudaFree(total));
}

int main()
{
    CHECK(cudaProfilerStart());
    check_memory();
    check_symbols();
    check_launches();
    check_graphs();
    check_properties();
    check_driver();
    check_complex();
    check_attributes();
    CHECK(cudaProfilerStop());
    return 0;
}

/* nvcc compiles the programs together. */
#undef SAME
