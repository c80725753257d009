/* SPDX-License-Identifier: MIT */
/*
 * Branches in which some threads may end (a return, an exit, a failed assertion, a loop without end) before the others come to a barrier or a shuffle: all that
 * are left come together, on every GPU.
 */
#include "check.h"

#include <assert.h>

enum { COMERS = 128, ROOM = 256 };
enum way_out { OUT_BY_RETURN, OUT_BY_EXIT, OUT_BY_TRAP, OUT_NEVER, OUT_BY_MESSAGE };

__global__ void exchange(const int *from, int *to, enum way_out how)
{
    __shared__ int words[COMERS];
    int i = threadIdx.x, value;
    words[i] = -1;
    if (i % 3) {
        value = from[i];
        if (value < 0) {
            if (how == OUT_BY_RETURN)
                return;
            if (how == OUT_BY_EXIT)
                asm volatile("exit;");
            if (how == OUT_BY_TRAP)
                __trap();
            if (how == OUT_BY_MESSAGE) {
                printf("thread %d has %d\n", i, value);
                return;
            }
            for (;;)
                atomicAdd(to + ROOM - 1, 1);
        }
        value = value * 2 + from[i + 7];
        words[i] = value;
    } else {
        words[i] = i;
    }
    __syncthreads();
    int other = __shfl_xor_sync(~0u, words[(i + 37) % COMERS], 5);
    to[i] = words[(i + 64) % COMERS] * 3 + other;
}

__device__ __noinline__ int turned(int *words, int i, int value)
{
    words[i] = value;
    __syncthreads();
    return words[COMERS - 1 - i];
}

/* The barrier is in a function, and so is what ends. */
__global__ void turn(const int *from, int *to)
{
    __shared__ int words[COMERS];
    int i = threadIdx.x, value = from[i];
    if (value & 1) {
        assert(value > 0);
        value *= 3;
    }
    to[i] = turned(words, i, value);
}

/* Each round has one of its own; some threads leave for good. */
__global__ void rounds(const int *from, int *to, int count)
{
    __shared__ int words[COMERS];
    int i = threadIdx.x, value = from[i];
    for (int round = 0; round < count; round++) {
        if ((value + round) & 1) {
            if (value == 1001)
                return;
            value += round;
        } else {
            if (value == 1003)
                return;
            value -= from[round];
        }
        words[i] = value;
        __syncthreads();
        value += words[i ^ 33];
        __syncthreads();
    }
    to[i] = value;
}

/* Some threads have something to do before they end, in which they choose their ways. */
__global__ void leave(const int *from, int *to)
{
    __shared__ int words[COMERS];
    int i = threadIdx.x;
    words[i] = 1000;
    __syncthreads();
    if (i % 5 == 2) {
        for (int k = 0; k < i % 7; k++)
            if (from[k] & 1)
                atomicAdd(to + ROOM - 1, from[k]);
        return;
    }
    words[i] = from[i];
    __syncthreads();
    to[i] = words[(i + 9) % COMERS];
}

static int word(const int *from, int i)
{
    return i % 3 ? from[i] * 2 + from[i + 7] : i;
}

int main()
{
    int from[ROOM], got[COMERS], *device_from, *device_to;
    for (int i = 0; i < ROOM; i++)
        from[i] = i * 13 % 97 + 1;
    CHECK(cudaMalloc(&device_from, sizeof from));
    CHECK(cudaMalloc(&device_to, sizeof from));
    CHECK(cudaMemcpy(device_from, from, sizeof from, cudaMemcpyHostToDevice));
    for (int how = OUT_BY_RETURN; how <= OUT_BY_MESSAGE; how++) {
        exchange<<<1, COMERS>>>(device_from, device_to, (enum way_out)how);
        CHECK(cudaMemcpy(got, device_to, sizeof got, cudaMemcpyDeviceToHost));
        for (int i = 0; i < COMERS; i++)
            EXPECT(got[i] == word(from, (i + 64) % COMERS) * 3 + word(from, ((i ^ 5) + 37) % COMERS));
    }
    turn<<<1, COMERS>>>(device_from, device_to);
    CHECK(cudaMemcpy(got, device_to, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < COMERS; i++)
        EXPECT(got[i] == from[COMERS - 1 - i] * (from[COMERS - 1 - i] & 1 ? 3 : 1));
    int left = 0;
    CHECK(cudaMemset(device_to, 0, sizeof from));
    leave<<<1, COMERS>>>(device_from, device_to);
    CHECK(cudaMemcpy(got, device_to, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < COMERS; i++) {
        EXPECT(got[i] == (i % 5 == 2 ? 0 : (i + 9) % COMERS % 5 == 2 ? 1000 : from[(i + 9) % COMERS]));
        for (int k = 0; k < i % 7 && i % 5 == 2; k++)
            left += from[k] & 1 ? from[k] : 0;
    }
    CHECK(cudaMemcpy(got, device_to + ROOM - 1, sizeof *got, cudaMemcpyDeviceToHost));
    EXPECT(got[0] == left);
    rounds<<<1, COMERS>>>(device_from, device_to, 5);
    CHECK(cudaMemcpy(got, device_to, sizeof got, cudaMemcpyDeviceToHost));
    int values[COMERS], words[COMERS];
    for (int i = 0; i < COMERS; i++)
        values[i] = from[i];
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < COMERS; i++)
            words[i] = (values[i] + round) & 1 ? values[i] + round : values[i] - from[round];
        for (int i = 0; i < COMERS; i++)
            values[i] = words[i] + words[i ^ 33];
    }
    for (int i = 0; i < COMERS; i++)
        EXPECT(got[i] == values[i]);
    return 0;
}
