/* SPDX-License-Identifier: MIT */
/*
 * Threads that call CUDA in all kinds of ways, each in a stream of its own, until the GPU is gone or standard input has ended: what they find is what they
 * have asked for, no call waits for ever, and whoever has heard that the GPU is gone hears nothing else, whatever is called.
 *
 *   lost_gpu    prints what each kind has heard, "ready" before it all
 */
#include "check.h"

#include <atomic>
#include <chrono>
#include <poll.h>
#include <thread>
#include <unistd.h>
#include <vector>

enum { LOST_VALUES = 4096, LOST_BLOCK = 128 };

__global__ void add_one(unsigned *values)
{
    values[blockIdx.x * blockDim.x + threadIdx.x]++;
}

static std::atomic<bool> ends;

/* What one thread has. */
struct caller {
    cudaStream_t stream;
    cudaEvent_t event;
    unsigned *device, *other, *host;
    unsigned rounds;
    std::atomic<int> called; /* 0: not yet; else what the callback was told, and one more */
};

static caller callers[16];

static void begin(caller &one)
{
    CHECK(cudaStreamCreateWithFlags(&one.stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&one.event));
    CHECK(cudaMalloc(&one.device, LOST_VALUES * sizeof(unsigned)));
    CHECK(cudaMalloc(&one.other, LOST_VALUES * sizeof(unsigned)));
    CHECK(cudaMemset(one.device, 0, LOST_VALUES * sizeof(unsigned)));
    one.host = (unsigned *)calloc(LOST_VALUES, sizeof(unsigned));
    CHECK(cudaDeviceSynchronize());
}

static cudaError_t launch(caller &one)
{
    add_one<<<LOST_VALUES / LOST_BLOCK, LOST_BLOCK, 0, one.stream>>>(one.device);
    return cudaGetLastError();
}

static void expect_rounds(const caller &one)
{
    for (int i = 0; i < LOST_VALUES; i++)
        EXPECT(one.host[i] == one.rounds);
}

static cudaError_t launches(caller &one)
{
    cudaError_t error = launch(one);
    return error ? error : launch(one);
}

static cudaError_t stream_waits(caller &one)
{
    cudaError_t error = launch(one);
    return error ? error : cudaStreamSynchronize(one.stream);
}

static cudaError_t device_waits(caller &one)
{
    cudaError_t error = launch(one);
    return error ? error : cudaDeviceSynchronize();
}

/* Counts launches whose results have been copied. */
static cudaError_t copies(caller &one)
{
    cudaError_t error = launch(one);
    if (!error)
        error =
            cudaMemcpyAsync(one.host, one.device, LOST_VALUES * sizeof(unsigned), cudaMemcpyDeviceToHost, one.stream);
    if (!error)
        error = cudaStreamSynchronize(one.stream);
    if (!error) {
        one.rounds++;
        expect_rounds(one);
    }
    return error;
}

static cudaError_t copies_that_wait(caller &one)
{
    cudaError_t error = cudaMemset(one.other, (int)++one.rounds & 127, LOST_VALUES * sizeof(unsigned));
    if (!error)
        error = cudaMemcpy(one.host, one.other, LOST_VALUES * sizeof(unsigned), cudaMemcpyDeviceToHost);
    for (int i = 0; i < LOST_VALUES && !error; i++)
        EXPECT(one.host[i] == (one.rounds & 127) * 0x01010101u);
    if (!error)
        error = cudaMemcpy(one.other, one.host, LOST_VALUES * sizeof(unsigned), cudaMemcpyHostToDevice);
    return error;
}

static cudaError_t allocations(caller &)
{
    void *memory = 0, *pitched = 0, *managed = 0;
    size_t pitch, room, all;
    cudaError_t error = cudaMalloc(&memory, 1 << 16);
    if (!error)
        error = cudaMallocPitch(&pitched, &pitch, 1000, 10);
    if (!error)
        error = cudaMallocManaged(&managed, 1 << 16);
    if (!error)
        error = cudaMemGetInfo(&room, &all);
    for (void *one : {memory, pitched, managed})
        if (one && !error)
            error = cudaFree(one);
    return error;
}

static cudaError_t pools(caller &one)
{
    void *memory = 0;
    cudaError_t error = cudaMallocAsync(&memory, 1 << 16, one.stream);
    if (!error)
        error = cudaMemsetAsync(memory, 7, 1 << 16, one.stream);
    return error ? error : cudaFreeAsync(memory, one.stream);
}

static cudaError_t queries(caller &one)
{
    cudaError_t error = launch(one);
    if (!error)
        error = cudaEventRecord(one.event, one.stream);
    while (!error && (error = cudaEventQuery(one.event)) == cudaErrorNotReady)
        error = cudaSuccess;
    while (!error && (error = cudaStreamQuery(one.stream)) == cudaErrorNotReady)
        error = cudaSuccess;
    return error;
}

static cudaError_t events(caller &one)
{
    cudaError_t error = launch(one);
    if (!error)
        error = cudaEventRecord(one.event, one.stream);
    return error ? error : cudaEventSynchronize(one.event);
}

static void be_called(void *user)
{
    ((caller *)user)->called = 1;
}

static cudaError_t functions(caller &one)
{
    one.called = 0;
    cudaError_t error = launch(one);
    if (!error)
        error = cudaLaunchHostFunc(one.stream, be_called, &one);
    if (!error)
        error = cudaStreamSynchronize(one.stream);
    EXPECT(error || one.called == 1);
    return error;
}

static void be_told(cudaStream_t, cudaError_t error, void *user)
{
    ((caller *)user)->called = (int)error + 1;
}

/* Nothing is called until the callback has been: it hears of the GPU. */
static cudaError_t callbacks(caller &one)
{
    one.called = 0;
    cudaError_t error = launch(one);
    if (!error)
        error = cudaStreamAddCallback(one.stream, be_told, &one, 0);
    for (int i = 0; !error && !one.called; i++) {
        EXPECT(i < 60000);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return error ? error : (cudaError_t)(one.called - 1);
}

static const struct {
    const char *name;
    cudaError_t (*call)(caller &one);
} kinds[] = {{"launches", launches},
             {"stream_waits", stream_waits},
             {"device_waits", device_waits},
             {"copies", copies},
             {"copies_that_wait", copies_that_wait},
             {"allocations", allocations},
             {"pools", pools},
             {"queries", queries},
             {"events", events},
             {"functions", functions},
             {"callbacks", callbacks}};
enum { LOST_KINDS = sizeof kinds / sizeof *kinds };
static int heard[LOST_KINDS];

static void call(int kind)
{
    while (!heard[kind] && !ends)
        heard[kind] = kinds[kind].call(callers[kind]);
}

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < LOST_KINDS; i++)
        begin(callers[i]);
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < LOST_KINDS; i++)
        threads.emplace_back(call, i);
    std::thread listener([] {
        struct pollfd input = {0, POLLIN, 0};
        while (!ends && poll(&input, 1, 20) == 0)
            ;
        ends = true;
    });
    for (int i = 0; i < LOST_KINDS; i++)
        threads[i].join();
    ends = true;
    listener.join();
    for (int i = 0; i < LOST_KINDS; i++)
        printf("%s %d\n", kinds[i].name, heard[i]);
    bool gone = heard[0] != 0;
    for (int i = 0; i < LOST_KINDS; i++)
        EXPECT_ERROR(gone ? heard[0] : 0,
                     kinds[i].call(callers[i])); /* whatever the thread itself has heard of before */
    return gone ? 3 : 0;
}
