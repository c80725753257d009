/* SPDX-License-Identifier: MIT */
/* assert, trap, a call of no function, and a kernel that never ends; and who hears of it. */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

#ifdef TOOLKIT
#include <cassert>
#else /* what assert becomes on the device */
#define assert(condition) ((condition) ? (void)0 : __assertfail(#condition, __FILE__, __LINE__, __func__, 1))
#endif

__global__ void check_positive(int value)
{
    assert(value > 0);
}

__global__ void trap()
{
    asm volatile("trap;");
}

__device__ int (*nobody)(int);

__global__ void call_nobody(int *result)
{
    *result = nobody(1);
}

__global__ void forever(volatile int *stop)
{
    while (!*stop)
        ;
}

struct called {
    int error, turn;
};
static int turns;

static void be_called(void *user)
{
    ((called *)user)->turn = ++turns;
}

static void be_told(cudaStream_t, cudaError_t error, void *user)
{
    ((called *)user)->error = error;
    be_called(user);
}

/* Behind what fails, functions are not called; callbacks hear of it, in their order. Who learns of it earlier may not add any. */
static void call_back()
{
    cudaStream_t stream;
    called function = {0, 0}, first = {0, 0}, second = {0, 0};
    CHECK(cudaStreamCreate(&stream));
    trap<<<1, 1, 0, stream>>>();
    cudaError_t status = cudaLaunchHostFunc(stream, be_called, &function);
    if (!status)
        status = cudaStreamAddCallback(stream, be_told, &first, 0);
    if (!status)
        status = cudaStreamAddCallback(stream, be_told, &second, 0);
    bool added = !status;
    EXPECT(added || status == cudaErrorLaunchFailure);
    EXPECT_ERROR(cudaErrorLaunchFailure, cudaStreamSynchronize(stream));
    EXPECT(function.turn == 0);
    EXPECT(!added || (first.turn == 1 && first.error == cudaErrorLaunchFailure));
    EXPECT(!added || (second.turn == 2 && second.error == cudaErrorLaunchFailure));
    CHECK(cudaDeviceReset());
}

static void be_told_later(cudaStream_t stream, cudaError_t error, void *user)
{
    usleep(100000);
    be_told(stream, error, user);
}

static void *ask_meanwhile(void *)
{
    usleep(50000);
    (void)cudaPeekAtLastError();
    (void)cudaStreamQuery(0);
    return NULL;
}

/* Who learns of the failure returns when all callbacks have been told, also while another thread calls CUDA. */
static void call_back_beside()
{
    cudaStream_t stream;
    called first = {0, 0}, second = {0, 0};
    pthread_t other;
    turns = 0;
    CHECK(cudaStreamCreate(&stream));
    trap<<<1, 1, 0, stream>>>();
    cudaError_t status = cudaStreamAddCallback(stream, be_told_later, &first, 0);
    if (!status)
        status = cudaStreamAddCallback(stream, be_told_later, &second, 0);
    bool added = !status;
    EXPECT(added || status == cudaErrorLaunchFailure);
    EXPECT(pthread_create(&other, NULL, ask_meanwhile, NULL) == 0);
    EXPECT_ERROR(cudaErrorLaunchFailure, cudaStreamSynchronize(stream));
    EXPECT(!added || (first.turn == 1 && second.turn == 2));
    EXPECT(pthread_join(other, NULL) == 0);
    CHECK(cudaDeviceReset());
}

int main(int argc, char **argv)
{
    bool timed = argc < 2;
    int *stop;
    (void)argv;
    check_positive<<<1, 32>>>(3);
    CHECK(cudaDeviceSynchronize());
    check_positive<<<1, 32>>>(-3);
    EXPECT_ERROR(cudaErrorAssert, cudaDeviceSynchronize());
    CHECK(cudaDeviceReset());
    trap<<<1, 1>>>();
    EXPECT_ERROR(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    CHECK(cudaDeviceReset());
    call_back();
    call_back_beside();
    call_nobody<<<1, 1>>>(NULL);
    EXPECT_ERROR(cudaErrorInvalidPc, cudaDeviceSynchronize());
    CHECK(cudaDeviceReset());
    if (timed) { /* without timing the watchdog waits for far more instructions */
        CHECK(cudaMalloc(&stop, sizeof *stop));
        CHECK(cudaMemset(stop, 0, sizeof *stop));
        forever<<<1, 1>>>(stop);
        EXPECT_ERROR(cudaErrorLaunchTimeout, cudaDeviceSynchronize());
        CHECK(cudaDeviceReset());
    }
    CHECK(cudaGetLastError());
    return 0;
}
