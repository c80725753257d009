/* SPDX-License-Identifier: MIT */
/* Null and wild handles everywhere: each call gives an error, and what comes after works. */
#include "check.h"

__global__ void nothing()
{
}

int main()
{
    cudaStream_t stream = (cudaStream_t)0x1234560, used;
    cudaEvent_t event = (cudaEvent_t)0xdeadbee0, gone;
    cudaGraph_t graph = (cudaGraph_t)&stream;
    cudaGraphExec_t executable = (cudaGraphExec_t)~0ull;
    cudaGraphNode_t node;
    char host[8];
    float time;
    size_t count;
    EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
    EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaStreamDestroy(stream));
    EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaEventRecord(event, 0));
    EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaEventDestroy(event));
    EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaEventSynchronize(0));
    EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&time, event, 0));
    EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaStreamWaitEvent(0, event, 0));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphLaunch(executable, 0));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphGetNodes(graph, 0, &count));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphDestroy(0));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, graph, 0, 0, 0));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaStreamCreate(0));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaEventCreate(0));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaFree((void *)0x77));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaFreeHost(host));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemcpy((void *)0x10000000123, host, 8, cudaMemcpyHostToDevice));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemcpy(0, 0, 8, cudaMemcpyDefault));
    EXPECT_ERROR(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(0, dim3(1), dim3(1), 0, 0, 0));
    CHECK(cudaStreamCreate(&used));
    CHECK(cudaStreamDestroy(used));
    EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(used));
    CHECK(cudaEventCreate(&gone));
    CHECK(cudaEventDestroy(gone));
    EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaEventRecord(gone, 0));
    (void)cudaGetLastError();
    nothing<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    return 0;
}
