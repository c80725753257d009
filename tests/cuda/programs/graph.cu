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

/* Copies to an array and back from it, a part of each: shown as they were given, and changed. */
static void copy_arrays()
{
    const int columns = 9, rows = 5, slices = 3, texels = columns * rows * slices;
    static short from[texels], to[texels];
    cudaArray_t array, wider;
    const cudaExtent extent = make_cudaExtent(columns, rows, slices), part = make_cudaExtent(4, 2, 2);
    cudaChannelFormatDesc texel = cudaCreateChannelDesc<short>(), wide = cudaCreateChannelDesc<int>();
    for (int i = 0; i < texels; i++)
        from[i] = (short)(i + 1);
    CHECK(cudaMalloc3DArray(&array, &texel, extent));
    CHECK(cudaMalloc3DArray(&wider, &wide, extent));
    cudaMemcpy3DParms there = {}, back = {}, seen, wrong = {};
    there.srcPtr = make_cudaPitchedPtr(from, columns * sizeof *from, columns, rows);
    there.dstArray = array;
    there.extent = extent;
    there.kind = cudaMemcpyHostToDevice;
    back.srcArray = array;
    back.srcPos = make_cudaPos(3, 2, 1);
    back.dstPtr = make_cudaPitchedPtr(to, columns * sizeof *to, columns, rows);
    back.extent = part;
    back.kind = cudaMemcpyDeviceToHost;
    cudaGraph_t graph;
    cudaGraphNode_t nodes[2], none;
    cudaGraphExec_t executable;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemcpyNode(&nodes[0], graph, 0, 0, &there));
    CHECK(cudaGraphAddMemcpyNode(&nodes[1], graph, nodes, 1, &back));
    wrong.srcArray = array;
    wrong.dstArray = wider;
    wrong.extent = part;
    wrong.kind = cudaMemcpyDeviceToDevice;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddMemcpyNode(&none, graph, 0, 0, &wrong));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemcpy3D(&wrong));
    CHECK(cudaGraphMemcpyNodeGetParams(nodes[1], &seen));
    EXPECT(seen.srcArray == array && !seen.dstArray && seen.dstPtr.ptr == to && seen.kind == back.kind);
    EXPECT(seen.srcPos.x == 3 && seen.srcPos.y == 2 && seen.srcPos.z == 1);
    EXPECT(seen.extent.width == 4 && seen.extent.height == 2 && seen.extent.depth == 2);
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    for (int run = 0; run < 2; run++) {
        CHECK(cudaGraphLaunch(executable, 0));
        CHECK(cudaStreamSynchronize(0));
        const int first = run ? 0 : (1 * rows + 2) * columns + 3;
        for (int i = 0; i < 16; i++) {
            const int place = (i / 8 * rows + i / 4 % 2) * columns + i % 4;
            EXPECT(to[place] == from[first + place]);
        }
        seen.srcPos = make_cudaPos(0, 0, 0);
        CHECK(cudaGraphExecMemcpyNodeSetParams(executable, nodes[1], &seen));
    }
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFreeArray(wider));
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
    copy_arrays();
    return 0;
}
