/* SPDX-License-Identifier: MIT */
/* assert, trap, and a kernel that never ends. */
#include "check.h"

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
