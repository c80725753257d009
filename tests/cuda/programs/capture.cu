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

/* What spoils the captures of other streams, and in which modes. */
static void spoil(cudaStream_t stream, int *a)
{
    static const cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                                  cudaStreamCaptureModeRelaxed};
    cudaStream_t aside;
    cudaGraph_t graph;
    CHECK(cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking));
    for (int mode = 0; mode < 3; mode++)
        for (int what = 0; what < 6; what++) {
            /* Only the null stream waits for streams, whatever the modes; and only for those that block. */
            bool of_null = what == 4, spoilt = of_null || (what < 4 && mode != 2);
            int *p = 0;
            cudaError_t error = cudaSuccess;
            CHECK(cudaStreamBeginCapture(what == 5 ? aside : stream, modes[mode]));
            switch (what) {
            case 0:
                error = cudaMalloc(&p, 64);
                break;
            case 1:
                error = cudaFree(a + 1); /* refused before its argument is looked at */
                break;
            case 2:
                error = cudaDeviceSynchronize();
                break;
            case 3:
                error = cudaMallocManaged((void **)&p, 64, cudaMemAttachGlobal);
                break;
            default:
                error = cudaMemset(a, 0, 128);
            }
            if (spoilt)
                EXPECT(error == (of_null ? cudaErrorStreamCaptureImplicit : cudaErrorStreamCaptureUnsupported));
            else
                EXPECT(error == (what == 1 ? cudaErrorInvalidValue : cudaSuccess));
            cudaError_t end = cudaStreamEndCapture(what == 5 ? aside : stream, &graph);
            EXPECT(end == (spoilt ? cudaErrorStreamCaptureInvalidated : cudaSuccess));
            (void)cudaGetLastError();
        }
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    int *p;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT(mode == cudaStreamCaptureModeGlobal);
    CHECK(cudaMalloc(&p, 64)); /* this thread knows what it does */
    CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
    CHECK(cudaStreamEndCapture(stream, &graph));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaStreamBeginCapture(stream, (cudaStreamCaptureMode)3));
    (void)cudaGetLastError();
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
    spoil(main_stream, a);
    return 0;
}
