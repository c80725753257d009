/* SPDX-License-Identifier: MIT */
/* A graph put together node by node: copy, fill, kernels, host function; changed after it was instantiated; launched in two streams. */
#include "check.h"

__global__ void scale(const int *from, int *to, int factor)
{
    to[threadIdx.x] += factor * from[threadIdx.x];
}

static void note(void *user)
{
    ++*(int *)user;
}

int main()
{
    int host[32], result[32], runs = 0, factor = 3, *from, *to;
    for (int i = 0; i < 32; i++)
        host[i] = i;
    CHECK(cudaMalloc(&from, sizeof host));
    CHECK(cudaMalloc(&to, sizeof host));
    cudaGraph_t graph;
    cudaGraphNode_t copy, fill, kernel, second, back, call;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, 0, 0, from, host, sizeof host, cudaMemcpyHostToDevice));
    cudaMemsetParams fill_parameters = {};
    fill_parameters.dst = to;
    fill_parameters.value = 1;
    fill_parameters.elementSize = 4;
    fill_parameters.width = 32;
    fill_parameters.height = 1;
    CHECK(cudaGraphAddMemsetNode(&fill, graph, 0, 0, &fill_parameters));
    cudaGraphNode_t both[2] = {copy, fill};
    void *arguments[] = {&from, &to, &factor};
    cudaKernelNodeParams kernel_parameters = {};
    kernel_parameters.func = (void *)scale;
    kernel_parameters.gridDim = dim3(1);
    kernel_parameters.blockDim = dim3(32);
    kernel_parameters.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&kernel, graph, both, 2, &kernel_parameters));
    CHECK(cudaGraphAddKernelNode(&second, graph, &kernel, 1, &kernel_parameters));
    CHECK(cudaGraphAddMemcpyNode1D(&back, graph, &second, 1, result, to, sizeof result, cudaMemcpyDeviceToHost));
    cudaHostNodeParams host_parameters = {note, &runs};
    CHECK(cudaGraphAddHostNode(&call, graph, &back, 1, &host_parameters));
    size_t count = 0;
    CHECK(cudaGraphGetNodes(graph, 0, &count));
    EXPECT(count == 6);
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(fill, &type));
    EXPECT(type == cudaGraphNodeTypeMemset);
    cudaGraphExec_t executable;
    cudaStream_t stream;
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    CHECK(cudaStreamCreate(&stream));
    for (int i = 0; i < 3; i++)
        CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(runs == 3);
    for (int i = 0; i < 32; i++)
        EXPECT(result[i] == 1 + 6 * i);
    factor = 10;
    CHECK(cudaGraphExecKernelNodeSetParams(executable, second, &kernel_parameters));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < 32; i++)
        EXPECT(result[i] == 1 + 13 * i);
    /* A launch comes behind the one before, whose fill would else be done twice before its kernels. */
    cudaStream_t other;
    CHECK(cudaStreamCreate(&other));
    CHECK(cudaGraphLaunch(executable, other));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaDeviceSynchronize());
    EXPECT(runs == 6);
    for (int i = 0; i < 32; i++)
        EXPECT(result[i] == 1 + 13 * i);
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphLaunch(executable, stream));
    return 0;
}
