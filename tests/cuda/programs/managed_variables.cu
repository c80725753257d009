/* SPDX-License-Identifier: MIT */
/* Managed variables, which nvcc alone has: one for all devices and the host, whichever was first to use it. Run with two GPUs or with one. */
#include "check.h"

__managed__ int everywhere[2] = {5, 100};

__global__ void add(int what)
{
    everywhere[0] += what;
}

__global__ void add_to(int *total, const int *p)
{
    atomicAdd(total, *p);
}

/* By its name, as other variables. */
static void by_name()
{
    void *address;
    size_t bytes;
    int values[2] = {7, 8};
    CHECK(cudaGetSymbolAddress(&address, everywhere));
    EXPECT(address == everywhere);
    CHECK(cudaGetSymbolSize(&bytes, everywhere));
    EXPECT(bytes == sizeof everywhere);
    CHECK(cudaMemcpyToSymbol(everywhere, values, sizeof values));
    EXPECT(everywhere[0] == 7 && everywhere[1] == 8);
    add<<<1, 1>>>(10);
    CHECK(cudaMemcpyFromSymbol(values, everywhere, sizeof *values, 0));
    CHECK(cudaMemcpyFromSymbol(values + 1, everywhere, sizeof *values, sizeof *values));
    EXPECT(values[0] == 17 && values[1] == 8);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemcpyToSymbol(everywhere, values, sizeof values, 4));
    EXPECT_ERROR(cudaErrorInvalidSymbol, cudaGetSymbolSize(&bytes, everywhere[1]));
    (void)cudaGetLastError();
    everywhere[0] = 5, everywhere[1] = 100;
}

int main()
{
    int count;
    CHECK(cudaGetDeviceCount(&count));
    EXPECT(everywhere[0] == 5 && everywhere[1] == 100);
    by_name();
    for (int i = 0; i < 6; i++) {
        CHECK(cudaSetDevice(i % count));
        if (i == 4 && count > 1)
            CHECK(cudaDeviceReset()); /* of the first that had it: the other one still has it */
        EXPECT(everywhere[0] == 5 + 11 * i);
        add<<<1, 1>>>(10);
        CHECK(cudaDeviceSynchronize());
        everywhere[0]++;
        /* Pointers that the host has taken are good on every device. */
        add_to<<<1, 1>>>(&everywhere[1], &everywhere[0]);
        CHECK(cudaDeviceSynchronize());
        EXPECT(everywhere[1] == 100 + 11 * (i + 1) * (i + 2) / 2 + 5 * (i + 1));
    }
    for (int i = 0; i < count; i++) {
        CHECK(cudaSetDevice(i));
        CHECK(cudaDeviceReset());
    }
    /* When no device has it any more, the next one begins with its first values. */
    add<<<1, 1>>>(1);
    CHECK(cudaDeviceSynchronize());
    EXPECT(everywhere[0] == 6 && everywhere[1] == 100);
    return 0;
}
