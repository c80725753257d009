/* SPDX-License-Identifier: MIT */
/*
 * A program whose state is saved (test_exec_checkpoints.py): rounds of kernels in two streams, one of which prints; results by copies, in pinned and in managed
 * memory; times of events; a host function. What it prints says all of that. "clock" and "argument" give the GPU what the host's clock says, "pause" rests
 * between its calls while kernels are under way, "leave" ends with a status of its own, "while FILE" ends when the file is gone.
 */
#include "check.h"

#include <cstring>
#include <time.h>
#include <unistd.h>

#define COUNT 4096
#define ROUNDS 6

__global__ void mix(unsigned *data, unsigned seed, int steps)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, value = data[i];
    for (int step = 0; step < steps; step++)
        value = value * 1664525 + seed + data[(i * 7 + step) % COUNT] % 2;
    __syncthreads();
    data[i] = value;
}

__global__ void total(const unsigned *data, unsigned *pinned, unsigned *managed, int round)
{
    atomicAdd(&pinned[round], data[blockIdx.x * blockDim.x + threadIdx.x]);
    atomicOr(&managed[round], data[blockIdx.x * blockDim.x + threadIdx.x]);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        printf("kernel of round %d\n", round);
}

static void count_call(void *user)
{
    ++*(int *)user;
}

static unsigned clock_now()
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned)now.tv_nsec;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    static unsigned host[COUNT];
    unsigned *first, *second, *pinned, *managed, seed = !strcmp(mode, "argument") ? clock_now() : 1013904223;
    int calls = 0;
    cudaStream_t streams[2];
    cudaEvent_t begin, end;
    for (int i = 0; i < COUNT; i++)
        host[i] = (unsigned)i * 2654435761u;
    if (!strcmp(mode, "clock"))
        host[COUNT / 2] = clock_now();
    CHECK(cudaMalloc(&first, sizeof host));
    CHECK(cudaMalloc(&second, sizeof host));
    CHECK(cudaMallocHost(&pinned, 3 * 4096));
    CHECK(cudaMallocManaged(&managed, 2 * 4096));
    memset(pinned, 0, 3 * 4096);
    memset(managed, 0, 2 * 4096);
    for (int i = 0; i < 2; i++)
        CHECK(cudaStreamCreate(&streams[i]));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaMemcpy(first, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(second, host, sizeof host, cudaMemcpyHostToDevice));
    for (int round = 0; round < ROUNDS; round++) {
        float milliseconds;
        if (!strcmp(mode, "while") && access(argv[2], F_OK))
            return 0;
        CHECK(cudaEventRecord(begin, streams[0]));
        mix<<<COUNT / 128, 128, 0, streams[0]>>>(first, seed, 20 + 10 * round);
        mix<<<COUNT / 256, 256, 0, streams[1]>>>(second, seed + round, 30);
        total<<<COUNT / 128, 128, 0, streams[0]>>>(first, pinned, managed, round);
        CHECK(cudaEventRecord(end, streams[0]));
        if (!strcmp(mode, "pause"))
            usleep(300000);
        while (cudaStreamQuery(streams[1]) == cudaErrorNotReady)
            ;
        CHECK(cudaLaunchHostFunc(streams[1], count_call, &calls));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
        CHECK(cudaMemcpy(host, second, sizeof host, cudaMemcpyDeviceToHost));
        pinned[1024 + round] = host[round]; /* of the host, on another page than what kernels write */
        printf("round %d: %u %u %u %u %.9f %d\n", round, pinned[round], managed[round], host[17], pinned[1024 + round],
               milliseconds, calls);
    }
    CHECK(cudaMemcpy(second, &pinned[1024], sizeof(unsigned) * ROUNDS, cudaMemcpyHostToDevice));
    CHECK(cudaDeviceReset());
    return !strcmp(mode, "leave") ? 7 : 0;
}
