/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait in a loop for another thread of their own warp: for a lock, a flag, their turn. They come on as independent threads do
 * that a GPU since Volta has; each sum is the one that the host computes.
 */
#include "check.h"

#ifdef TOOLKIT
#include <cuda/atomic>
#include <cuda/barrier>
#endif

#define BACKOFF_STEPS 5

struct __align__(8) account
{
    unsigned lock;
    int money;
};

/* The release is behind the loop, where all would meet. */
__global__ void bare_lock(unsigned *lock, volatile int *count, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        while (atomicCAS(lock, 0, 1))
            ;
        __threadfence();
        *count = *count + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}

__device__ void pause_for(unsigned nanoseconds)
{
    asm volatile("nanosleep.u32 %0;" ::"r"(nanoseconds));
}

__device__ unsigned time_now()
{
    unsigned now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now));
    return now;
}

/* As libraries have it: functions, tries counted, longer and longer pauses. */
__device__ __noinline__ int take(unsigned *lock)
{
    int tries = 0;
    for (unsigned pause = 8; atomicExch(lock, 1); tries++) {
        pause_for(pause);
        pause = pause < 8u << BACKOFF_STEPS ? 2 * pause : pause;
    }
    __threadfence();
    return tries;
}

__device__ __noinline__ void release(unsigned *lock)
{
    __threadfence();
    atomicExch(lock, 0);
}

__global__ void lock_in_functions(unsigned *lock, volatile int *count, int *tries)
{
    int mine = take(lock);
    *count = *count + (int)threadIdx.x;
    release(lock);
    atomicAdd(tries, mine);
}

/* Who is served: one after the other, in the order of tickets. */
__global__ void tickets(unsigned *next, volatile unsigned *serving, volatile unsigned *order)
{
    unsigned mine = atomicAdd(next, 1);
    while (*serving != mine)
        ;
    __threadfence();
    order[mine] = threadIdx.x;
    __threadfence();
    *serving = mine + 1;
}

/* The last lane comes first. */
__global__ void in_turn(volatile int *sum)
{
    __shared__ volatile int turn;
    int lane = (int)threadIdx.x;
    if (lane == 0)
        turn = 31;
    __syncwarp();
    while (turn != lane)
        ;
    *sum = *sum * 3 + lane;
    turn = lane - 1;
    __syncthreads();
    if (lane == 5)
        *sum = *sum + 1;
}

/* One waits on this side of a branch, the other sets what it waits for on that side, or behind it. */
__global__ void flags(volatile int *flag, volatile int *answer, int *to)
{
    int lane = (int)threadIdx.x;
    if (lane == 3) {
        while (*flag < 1)
            ;
        *answer = 10 * *flag;
        while (*flag < 2)
            ;
        to[32] = *flag;
    } else if (lane == 20) {
        *flag = 1;
        int got;
        while ((got = *answer) == 0)
            ;
        to[33] = got;
    }
    if (lane == 7) {
        while (*answer == 0)
            ;
        *flag = 2;
    }
    to[lane] = lane * lane;
}

/* Two locks at a time, the one with the lower number first. */
__global__ void transfers(account *accounts, int many)
{
    unsigned random = threadIdx.x * 747796405u + 2891336453u;
    int from = (int)(random >> 16) % many, to = (from + 1 + (int)(random >> 8) % (many - 1)) % many;
    account *first = &accounts[from < to ? from : to], *second = &accounts[from < to ? to : from];
    while (atomicCAS(&first->lock, 0, 1))
        ;
    while (atomicCAS(&second->lock, 0, 1))
        ;
    __threadfence();
    ((volatile account *)accounts)[from].money -= (int)threadIdx.x;
    ((volatile account *)accounts)[to].money += (int)threadIdx.x;
    __threadfence();
    atomicExch(&second->lock, 0);
    atomicExch(&first->lock, 0);
}

/* Pairs of lanes hand values over through one place, and wait for the time that a clock shows in between. */
__global__ void hand_over(unsigned *to, int rounds)
{
    __shared__ volatile unsigned place[16], full[16];
    unsigned lane = threadIdx.x, pair = lane % 16, sum = 0;
    full[pair] = 0;
    __syncwarp();
    if (lane < 16) {
        for (int i = 1; i <= rounds; i++) {
            while (full[pair])
                ;
            place[pair] = pair * 100 + i;
            __threadfence_block();
            full[pair] = 1;
        }
    } else {
        for (int i = 1; i <= rounds; i++) {
            while (!full[pair])
                for (unsigned begin = time_now(); time_now() - begin < 40;)
                    ;
            __threadfence_block();
            sum = sum * 5 + place[pair];
            full[pair] = 0;
        }
    }
    to[lane] = sum;
}

#ifdef TOOLKIT
/* One barrier of the thread block, waited for on both sides of a branch. */
__global__ void barrier_on_both_sides(unsigned *to)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ unsigned made[64];
    unsigned thread = threadIdx.x;
    if (thread == 0)
        init(&barrier, blockDim.x);
    __syncthreads();
    made[thread] = 3 * thread;
    if (thread % 2) {
        barrier.arrive_and_wait();
        to[thread] = made[thread ^ 1] + 1;
        barrier.arrive_and_wait();
        made[thread] = 7 * thread;
        barrier.arrive_and_wait();
    } else {
        barrier.wait(barrier.arrive());
        to[thread] = made[thread ^ 1];
        barrier.arrive_and_wait();
        barrier.arrive_and_wait();
        to[thread] += made[thread ^ 1];
    }
}

/* Each waits until the one behind it has notified. */
__global__ void notified(int *flag, unsigned *to)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> turn(*flag);
    int mine = (int)(blockDim.x - 1 - threadIdx.x);
    for (int seen = turn.load(); seen != mine; seen = turn.load())
        turn.wait(seen);
    to[mine] = threadIdx.x;
    turn.store(mine + 1);
    turn.notify_all();
}
#endif

int main()
{
    static int got[64];
    static unsigned order[96];
    int *words;
    account *accounts, kept[6];
    CHECK(cudaMalloc(&words, 4096));
    CHECK(cudaMalloc(&accounts, sizeof kept));
    CHECK(cudaMemset(words, 0, 4096));
    bare_lock<<<2, 48>>>((unsigned *)words, words + 1, 2);
    lock_in_functions<<<1, 40>>>((unsigned *)words + 2, words + 3, words + 4);
    CHECK(cudaMemcpy(got, words, 20, cudaMemcpyDeviceToHost));
    EXPECT(got[0] == 0 && got[1] == 2 * 48 * 2);
    EXPECT(got[2] == 0 && got[3] == 40 * 39 / 2 && got[4] > 0);

    tickets<<<1, 64>>>((unsigned *)words + 8, (unsigned *)words + 9, (unsigned *)words + 16);
    CHECK(cudaMemcpy(order, words + 8, sizeof order, cudaMemcpyDeviceToHost));
    EXPECT(order[0] == 64 && order[1] == 64);
    unsigned long long seen = 0;
    for (int i = 0; i < 64; i++)
        seen |= 1ull << order[8 + i];
    EXPECT(seen == ~0ull);

    CHECK(cudaMemset(words, 0, 4096));
    in_turn<<<1, 32>>>(words);
    CHECK(cudaMemcpy(got, words, 4, cudaMemcpyDeviceToHost));
    unsigned sum = 0;
    for (unsigned lane = 32; lane-- > 0;)
        sum = sum * 3 + lane;
    EXPECT((unsigned)got[0] == sum + 1);

    flags<<<1, 32>>>(words + 8, words + 9, words + 16);
    CHECK(cudaMemcpy(got, words + 16, 34 * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        EXPECT(got[i] == i * i);
    EXPECT(got[32] == 2 && got[33] == 10);

    for (int i = 0; i < 6; i++)
        kept[i] = {0, 1000};
    CHECK(cudaMemcpy(accounts, kept, sizeof kept, cudaMemcpyHostToDevice));
    transfers<<<1, 64>>>(accounts, 6);
    account after[6];
    CHECK(cudaMemcpy(after, accounts, sizeof after, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < 64; i++) {
        unsigned random = i * 747796405u + 2891336453u;
        int from = (int)(random >> 16) % 6, to = (from + 1 + (int)(random >> 8) % 5) % 6;
        kept[from].money -= (int)i;
        kept[to].money += (int)i;
    }
    for (int i = 0; i < 6; i++)
        EXPECT(after[i].lock == 0 && after[i].money == kept[i].money);

    hand_over<<<1, 32>>>((unsigned *)words + 64, 3);
    CHECK(cudaMemcpy(order, words + 64, 128, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < 32; i++) {
        unsigned value = 0, pair = i % 16;
        for (unsigned round = 1; round <= 3; round++)
            value = value * 5 + pair * 100 + round;
        EXPECT(order[i] == (i < 16 ? 0 : value));
    }
#ifdef TOOLKIT
    CHECK(cudaMemset(words, 0, 4096));
    barrier_on_both_sides<<<1, 64>>>((unsigned *)words);
    notified<<<1, 32>>>(words + 64, (unsigned *)words + 128);
    CHECK(cudaMemcpy(order, words, 256, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < 64; i++)
        EXPECT(order[i] == (i % 2 ? 3 * (i ^ 1) + 1 : 10 * (i ^ 1)));
    CHECK(cudaMemcpy(order, words + 128, 128, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < 32; i++)
        EXPECT(order[i] == 31 - i);
#endif
    return 0;
}
