/* SPDX-License-Identifier: MIT */
/*
 * Order within a stream, between streams by events, and of the default stream; kernels of two streams overlap in time.
 */
#include "check.h"

__global__ void spin(int *out, int rounds)
{
    int value = threadIdx.x;
    for (int i = 0; i < rounds; i++)
        value = value * 1664525 + 1013904223;
    if (value == 42)
        *out = 1;
}

__global__ void append(int *list, int value)
{
    list[++list[0]] = value;
}

static float milliseconds(cudaStream_t first, cudaStream_t second, int *scratch)
{
    cudaEvent_t start, end, middle;
    float time;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventCreateWithFlags(&middle, cudaEventDisableTiming));
    CHECK(cudaEventRecord(start, first));
    CHECK(cudaStreamWaitEvent(second, start));
    spin<<<2, 64, 0, first>>>(scratch, 2000);
    spin<<<2, 64, 0, second>>>(scratch, 2000);
    CHECK(cudaEventRecord(middle, second));
    CHECK(cudaStreamWaitEvent(first, middle));
    CHECK(cudaEventRecord(end, first));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&time, start, end));
    EXPECT(cudaEventElapsedTime(&time, start, middle) == cudaErrorInvalidResourceHandle);
    CHECK(cudaEventElapsedTime(&time, start, end));
    return time;
}

int main(int argc, char **argv)
{
    bool timed = argc < 2;
    int *list, order[5] = {0}, *scratch;
    cudaStream_t a, b, free_one;
    cudaEvent_t event;
    (void)argv;
    CHECK(cudaMalloc(&list, sizeof order));
    CHECK(cudaMalloc(&scratch, 4));
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaStreamCreateWithFlags(&free_one, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMemset(list, 0, sizeof order));
    spin<<<1, 32, 0, a>>>(scratch, 3000);
    append<<<1, 1, 0, a>>>(list, 1);
    CHECK(cudaEventRecord(event, a));
    CHECK(cudaStreamWaitEvent(b, event));
    append<<<1, 1, 0, b>>>(list, 2);
    append<<<1, 1>>>(list, 3); /* after both */
    append<<<1, 1, 0, a>>>(list, 4); /* after the default stream */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(order, list, sizeof order, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 5; i++)
        EXPECT(order[i] == (i ? i : 4));
    if (timed) {
        float together = milliseconds(a, b, scratch), one_by_one = milliseconds(a, a, scratch);
        EXPECT(together > 0 && one_by_one > 1.8f * together && one_by_one < 2.2f * together);
    }
    int polls = 0;
    spin<<<1, 32, 0, free_one>>>(scratch, 20000);
    while (cudaStreamQuery(free_one) == cudaErrorNotReady)
        polls++;
    EXPECT(!timed || polls > 0);
    CHECK(cudaStreamQuery(free_one));
    CHECK(cudaStreamDestroy(a));
    CHECK(cudaStreamDestroy(b));
    CHECK(cudaStreamDestroy(free_one));
    return 0;
}
