/* SPDX-License-Identifier: MIT */
/* Memory that graphs allocate: by nodes and by captured streams, launched again and again, freed in the graph, by the program or at the next launch. */
#include "check.h"
#include <cstdint>

static const int count = 500;

__global__ void add(const int *a, const int *b, int *sum)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        sum[i] = a[i] + b[i];
}

static uint64_t in_use(void)
{
    uint64_t bytes = 0;
    CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &bytes));
    return bytes;
}

static void nodes(cudaStream_t stream, const int *host, int *device)
{
    int result[count], *temporary;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaGraphNode_t allocation, copy, kernel, back, end;
    cudaMemAllocNodeParams wanted = {};
    CHECK(cudaGraphCreate(&graph, 0));
    wanted.poolProps.allocType = cudaMemAllocationTypePinned;
    wanted.poolProps.location.type = cudaMemLocationTypeDevice;
    wanted.bytesize = sizeof result;
    CHECK(cudaGraphAddMemAllocNode(&allocation, graph, 0, 0, &wanted));
    temporary = (int *)wanted.dptr;
    EXPECT(temporary);
    CHECK(
        cudaGraphAddMemcpyNode1D(&copy, graph, &allocation, 1, temporary, host, sizeof result, cudaMemcpyHostToDevice));
    void *arguments[] = {&temporary, &device, &temporary};
    cudaKernelNodeParams launch = {};
    launch.func = (void *)add;
    launch.gridDim = dim3(4);
    launch.blockDim = dim3(128);
    launch.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&kernel, graph, &copy, 1, &launch));
    CHECK(cudaGraphAddMemcpyNode1D(&back, graph, &kernel, 1, result, temporary, sizeof result, cudaMemcpyDeviceToHost));
    CHECK(cudaGraphAddMemFreeNode(&end, graph, &back, 1, temporary));
    int other;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&end, graph, &back, 1, &other));
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    for (int run = 1; run < 4; run++) {
        for (int i = 0; i < count; i++)
            result[i] = -1;
        CHECK(cudaGraphLaunch(executable, stream));
        CHECK(cudaStreamSynchronize(stream));
        EXPECT(in_use() == 0);
        for (int i = 0; i < count; i++)
            EXPECT(result[i] == 2 * i);
    }
    CHECK(cudaGraphExecDestroy(executable));
}

static void captured(cudaStream_t stream, const int *host, int *device)
{
    int result[count], *a, *kept;
    cudaGraph_t graph;
    cudaGraphExec_t once, again;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync((void **)&a, sizeof result, stream));
    CHECK(cudaMallocAsync((void **)&kept, sizeof result, stream));
    CHECK(cudaMemcpyAsync(a, host, sizeof result, cudaMemcpyHostToDevice, stream));
    add<<<4, 128, 0, stream>>>(a, device, kept);
    CHECK(cudaFreeAsync(a, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&once, graph, 0));
    CHECK(cudaGraphInstantiateWithFlags(&again, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    CHECK(cudaGraphLaunch(once, stream));
    EXPECT(in_use() == sizeof result);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphLaunch(once, stream)); /* what it allocates is allocated */
    add<<<4, 128, 0, stream>>>(kept, device, kept);
    CHECK(cudaMemcpyAsync(result, kept, sizeof result, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(kept, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < count; i++)
        EXPECT(result[i] == 3 * i);
    EXPECT(in_use() == 0);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(kept));
    for (int run = 0; run < 3; run++)
        CHECK(cudaGraphLaunch(again, stream));
    CHECK(cudaMemcpyAsync(result, kept, sizeof result, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < count; i++)
        EXPECT(result[i] == 2 * i);
    CHECK(cudaGraphExecDestroy(once));
    CHECK(cudaGraphExecDestroy(again));
    CHECK(cudaGraphDestroy(graph));
    EXPECT(in_use() == sizeof result); /* still the program's */
    CHECK(cudaFree(kept));
    EXPECT(in_use() == 0);
}

int main()
{
    int host[count], *device;
    for (int i = 0; i < count; i++)
        host[i] = i;
    CHECK(cudaMalloc((void **)&device, sizeof host));
    CHECK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    nodes(stream, host, device);
    captured(stream, host, device);
    uint64_t bytes = 0;
    CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &bytes));
    EXPECT(bytes == 0);
    CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &bytes));
    EXPECT(bytes == 2 * sizeof host);
    bytes = 0;
    CHECK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &bytes));
    CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &bytes));
    EXPECT(bytes == 0);
    CHECK(cudaDeviceGraphMemTrim(0));
    printf("passed\n");
    return 0;
}
