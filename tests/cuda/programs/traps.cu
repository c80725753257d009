/* SPDX-License-Identifier: MIT */
/* assert, trap, and a kernel that never ends; and who hears of it. */
#include "check.h"

#include <atomic>
#include <thread>

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

static std::atomic<bool> all_there(false);

static void wait_for_all(void *)
{
    while (!all_there)
        std::this_thread::yield();
}

/* Behind what fails, functions are not called; callbacks hear of it, in their order. It fails when all of them are there. */
static void call_back()
{
    cudaStream_t stream;
    called function = {0, 0}, first = {0, 0}, second = {0, 0};
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaLaunchHostFunc(stream, wait_for_all, 0));
    trap<<<1, 1, 0, stream>>>();
    CHECK(cudaLaunchHostFunc(stream, be_called, &function));
    CHECK(cudaStreamAddCallback(stream, be_told, &first, 0));
    CHECK(cudaStreamAddCallback(stream, be_told, &second, 0));
    all_there = true;
    EXPECT_ERROR(cudaErrorLaunchFailure, cudaStreamSynchronize(stream));
    EXPECT(function.turn == 0);
    EXPECT(first.turn == 1 && first.error == cudaErrorLaunchFailure);
    EXPECT(second.turn == 2 && second.error == cudaErrorLaunchFailure);
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
