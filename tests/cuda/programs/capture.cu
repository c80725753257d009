/* SPDX-License-Identifier: MIT */
/* A graph captured from streams that fork and join. */
#include "check.h"

__global__ void add(int *p, int what)
{
    p[threadIdx.x] += what;
}

__global__ void join(const int *a, const int *b, int *sum)
{
    sum[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}

int main()
{
    int *a, *b, *sum, *host;
    cudaStream_t main_stream, side;
    cudaEvent_t fork, joined;
    CHECK(cudaMalloc(&a, 128));
    CHECK(cudaMalloc(&b, 128));
    CHECK(cudaMalloc(&sum, 128));
    CHECK(cudaMallocHost(&host, 128));
    CHECK(cudaMemset(a, 0, 128));
    CHECK(cudaMemset(b, 0, 128));
    CHECK(cudaStreamCreate(&main_stream));
    CHECK(cudaStreamCreate(&side));
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&joined));
    cudaGraph_t graph = (cudaGraph_t)1;
    CHECK(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(fork, main_stream));
    CHECK(cudaStreamWaitEvent(side, fork));
    EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(side)); /* which spoils all of it */
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(main_stream, &status));
    EXPECT(status == cudaStreamCaptureStatusInvalidated);
    EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaMemsetAsync(a, 0, 128, main_stream));
    EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(main_stream, &graph));
    EXPECT(graph == 0);
    EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaGetLastError());
    CHECK(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(fork, main_stream));
    CHECK(cudaStreamWaitEvent(side, fork));
    add<<<1, 32, 0, main_stream>>>(a, 1);
    add<<<1, 32, 0, side>>>(b, 2);
    CHECK(cudaEventRecord(joined, side));
    CHECK(cudaStreamWaitEvent(main_stream, joined));
    join<<<1, 32, 0, main_stream>>>(a, b, sum);
    CHECK(cudaMemcpyAsync(host, sum, 128, cudaMemcpyDeviceToHost, main_stream));
    CHECK(cudaStreamEndCapture(main_stream, &graph));
    size_t count;
    CHECK(cudaGraphGetNodes(graph, 0, &count));
    EXPECT(count == 4);
    cudaGraphExec_t executable;
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    host[0] = -1;
    for (int i = 1; i <= 5; i++) {
        CHECK(cudaGraphLaunch(executable, main_stream));
        CHECK(cudaStreamSynchronize(main_stream));
        EXPECT(host[0] == 3 * i && host[31] == 3 * i);
    }
    add<<<1, 32, 0, side>>>(b, 100); /* not captured any more */
    CHECK(cudaGraphLaunch(executable, side));
    CHECK(cudaStreamSynchronize(side));
    EXPECT(host[7] == 3 * 6 + 100);
    return 0;
}
