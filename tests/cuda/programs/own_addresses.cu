/* SPDX-License-Identifier: MIT */
/*
 * A program that gives its GPU more than it means to, as many do: structures that hold an address of the host beside that of the device, from memory that nobody has
 * cleared, with bytes between their members (test_exec_checkpoints.py). Blocks of the host are small and large, and some are freed between.
 */
#include "check.h"

#include <cstdlib>

#define VECTORS 8
#define ROUNDS 6

struct vector {
    char kind;
    float *host, *device;
    int count;
    short last;
};

__global__ void twice(const vector *all)
{
    vector one = all[blockIdx.x];
    for (int i = threadIdx.x; i < one.count; i += blockDim.x)
        one.device[i] = one.device[i] * 2 + one.kind;
}

/* As a functor that remembers a variable of its caller. */
struct remembering {
    const int *variable; /* on the host's stack */
    int number;
};

__global__ void add(remembering one, int *to)
{
    atomicAdd(to, one.number);
}

static void test_address_of_stack()
{
    int number = 3, sum, *device;
    CHECK(cudaMalloc(&device, sizeof sum));
    CHECK(cudaMemset(device, 0, sizeof sum));
    add<<<2, 64>>>(remembering{&number, number}, device);
    CHECK(cudaMemcpy(&sum, device, sizeof sum, cudaMemcpyDeviceToHost));
    EXPECT(sum == 2 * 64 * number);
    CHECK(cudaFree(device));
}

static int count_of(int vector, int round)
{
    return vector == VECTORS - 1 ? 50000 + 1000 * round : 20 + 100 * vector;
}

int main()
{
    test_address_of_stack();
    vector *device;
    CHECK(cudaMalloc(&device, VECTORS * sizeof *device));
    for (int round = 0; round < ROUNDS; round++) {
        vector *all = (vector *)malloc(VECTORS * sizeof *all);
        for (int k = 0; k < VECTORS; k++) {
            all[k].kind = (char)k;
            all[k].count = count_of(k, round);
            all[k].last = 0;
            all[k].host = (float *)malloc(all[k].count * sizeof(float));
            CHECK(cudaMalloc(&all[k].device, all[k].count * sizeof(float)));
            for (int i = 0; i < all[k].count; i++)
                all[k].host[i] = (float)(i % 100 + round);
            CHECK(cudaMemcpy(all[k].device, all[k].host, all[k].count * sizeof(float), cudaMemcpyHostToDevice));
        }
        CHECK(cudaMemcpy(device, all, VECTORS * sizeof *all, cudaMemcpyHostToDevice));
        twice<<<VECTORS, 128>>>(device);
        for (int k = 0; k < VECTORS; k++) {
            CHECK(cudaMemcpy(all[k].host, all[k].device, all[k].count * sizeof(float), cudaMemcpyDeviceToHost));
            for (int i = 0; i < all[k].count; i++)
                EXPECT(all[k].host[i] == (float)(i % 100 + round) * 2 + k);
            if (round % 3)
                free(all[k].host);
            CHECK(cudaFree(all[k].device));
        }
        free(all);
    }
    return 0;
}
