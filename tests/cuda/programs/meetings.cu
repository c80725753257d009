/* SPDX-License-Identifier: MIT */
/*
 * Threads of a warp come to one operation of the warp on different paths: both sides of a branch, loops that some leave earlier, functions,
 * with others that have ended. Against what threads get that go on by themselves and wait for each other only there.
 */
#include "check.h"

#ifdef TOOLKIT
#include <cooperative_groups.h>
#endif

#define FULL 0xffffffffu

/* Shuffles and ballots on both sides of a branch, with values of different expressions; then all are together again. */
__global__ void both_arms(unsigned *to, int limit)
{
    int i = (int)threadIdx.x, got;
    unsigned ballot;
    if (i < limit) {
        got = __shfl_down_sync(FULL, i * i, 1);
        ballot = __ballot_sync(FULL, i % 3 == 0);
        to[i + 96] = 1;
    } else {
        to[i + 96] = 2;
        got = __shfl_down_sync(FULL, 1000 + i, 1) + 7;
        ballot = __ballot_sync(FULL, i % 5 == 0) ^ FULL;
    }
    to[i] = (unsigned)got;
    to[i + 32] = ballot;
    to[i + 64] = __ballot_sync(FULL, 1);
}

/* Odd threads count in steps of their own; whoever is done leaves, and the mask is that of those who stay. */
__global__ void loops(unsigned *to)
{
    unsigned mask = FULL, hash = 0;
    int i = (int)threadIdx.x, rounds = i * 7 % 8, round = 0;
    if (i & 1) {
        for (unsigned stay = mask; stay; mask = stay) {
            round++;
            stay = __ballot_sync(mask, round < rounds);
            hash = hash * 33 + stay;
            if (round >= rounds)
                break;
        }
    } else {
        do {
            mask = __ballot_sync(mask, ++round < rounds);
            hash = hash * 33 + mask;
        } while (round < rounds);
    }
    to[i] = hash;
}

/* A loop that compilers unroll: some go at once to the rest behind it, and take part there in the rounds that others are in before. */
__global__ void unrolled(unsigned *to)
{
    int i = (int)threadIdx.x, rounds = i * 7 % 8;
    unsigned hash = 0, mask = __ballot_sync(FULL, rounds > 0);
#pragma unroll 4
    for (int round = 0; round < rounds; round++) {
        mask = __ballot_sync(mask, round + 1 < rounds);
        hash = hash * 33 + mask;
    }
    to[i] = hash;
    __syncthreads();
    to[i + 32] = __ballot_sync(FULL, hash & 1);
}

/* One half makes, the other takes. */
__global__ void hand_over(unsigned *to)
{
    __shared__ volatile unsigned buffer[16];
    unsigned i = threadIdx.x, sum = 0;
    if (i < 16) {
        for (unsigned round = 0; round < 6; round++) {
            buffer[i] = round * 100 + i;
            __syncwarp();
            __syncwarp();
        }
    } else {
        for (unsigned round = 0; round < 6; round++) {
            __syncwarp();
            sum = sum * 3 + buffer[31 - i];
            __syncwarp();
        }
    }
    to[i] = sum;
}

__device__ __attribute__((noinline)) int deep(int value, int levels)
{
    if (levels == 0)
        return __shfl_xor_sync(FULL, value, 16);
    int below = deep(value + 1, levels - 1);
    return levels <= 2 ? below * 3 + __shfl_xor_sync(FULL, levels * value, 16) : below * 3 + value;
}

__global__ void recursive(unsigned *to)
{
    int i = (int)threadIdx.x;
    to[i] = (unsigned)(i < 16 ? deep(i, 5) : deep(2 * i, 2));
}

/* A thread that has ended is not waited for. */
__global__ void ends(unsigned *to, int gone)
{
    int i = (int)threadIdx.x;
    if (i < 8) {
        to[i] = __ballot_sync(FULL, i & 1);
        return;
    }
    if (i == gone)
        return;
    to[i] = __ballot_sync(FULL, !(i & 1)) + 5;
}

/* Threads of a side of a branch add to its counter once for all of them. */
__device__ int add_together(int *counter, unsigned mask)
{
    unsigned below;
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    int leader = __ffs((int)mask) - 1, first = 0;
    if ((int)threadIdx.x % 32 == leader)
        first = atomicAdd(counter, __popc(mask));
    return __shfl_sync(mask, first, leader) + __popc(mask & below);
}

__global__ void aggregated(int *counters, unsigned *to)
{
    int i = (int)threadIdx.x, place;
    unsigned thirds = __ballot_sync(FULL, i % 3 == 0);
    if (i % 3 == 0)
        place = add_together(&counters[0], thirds);
    else
        place = add_together(&counters[1], ~thirds) + 100;
    to[i] = (unsigned)place;
}

/* Each thread meets the one before it, and then the one behind it. */
__global__ void chain(unsigned *to)
{
    const int lane = threadIdx.x, mine = lane * lane + 5;
    int before = 0, behind = 0;
    if (lane > 0)
        before = __shfl_sync(3u << (lane - 1), mine, lane - 1);
    if (lane < 31)
        behind = __shfl_sync(3u << lane, mine, lane + 1);
    to[lane] = (unsigned)(before * 2000 + behind);
}

#ifdef TOOLKIT
namespace cg = cooperative_groups;

/* Tiles whose threads come from both sides of a branch, and groups by what they say. */
__global__ void groups(unsigned *to)
{
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int i = (int)threadIdx.x, sum = i;
    if (i % 8 < 3) {
        for (int offset = 4; offset; offset /= 2)
            sum += tile.shfl_xor(sum, offset);
    } else {
        sum *= 2;
        for (int offset = 4; offset; offset /= 2)
            sum += tile.shfl_xor(sum, offset) + 1;
    }
    cg::coalesced_group some = cg::labeled_partition(cg::coalesced_threads(), i % 3);
    to[i] = (unsigned)sum;
    to[i + 32] = some.size() * 100 + some.thread_rank();
}
#endif

static unsigned hash_unrolled(int thread)
{
    unsigned hash = 0;
    for (int round = 0; round < thread * 7 % 8; round++) {
        unsigned stay = 0;
        for (int i = 0; i < 32; i++)
            stay |= (unsigned)(round + 1 < i * 7 % 8) << i;
        hash = hash * 33 + stay;
    }
    return hash;
}

int main()
{
    static unsigned got[128];
    unsigned *to, hash[32] = {0}, mask = FULL;
    int *counters;
    CHECK(cudaMalloc(&to, sizeof got));
    CHECK(cudaMalloc(&counters, 8));
    CHECK(cudaMemset(counters, 0, 8));
    both_arms<<<1, 32>>>(to, 11);
    CHECK(cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost));
    unsigned ballot = 0;
    for (int i = 0; i < 32; i++)
        ballot |= (unsigned)(i < 11 ? i % 3 == 0 : i % 5 == 0) << i;
    for (int i = 0; i < 32; i++) {
        int from = i < 31 ? i + 1 : 31;
        EXPECT(got[i] == (unsigned)((from < 11 ? from * from : 1000 + from) + (i < 11 ? 0 : 7)));
        EXPECT(got[i + 32] == (i < 11 ? ballot : ~ballot));
        EXPECT(got[i + 64] == FULL);
    }
    loops<<<1, 32>>>(to);
    CHECK(cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost));
    for (int round = 1; mask; round++) {
        unsigned stay = 0;
        for (int i = 0; i < 32; i++)
            stay |= (unsigned)(mask >> i & 1 && round < i * 7 % 8) << i;
        for (int i = 0; i < 32; i++)
            hash[i] = mask >> i & 1 ? hash[i] * 33 + stay : hash[i];
        mask = stay;
    }
    for (int i = 0; i < 32; i++)
        EXPECT(got[i] == hash[i]);
    unrolled<<<1, 32>>>(to);
    CHECK(cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost));
    ballot = 0;
    for (int i = 0; i < 32; i++)
        ballot |= hash_unrolled(i) % 2 << i;
    for (int i = 0; i < 32; i++) {
        EXPECT(got[i] == hash_unrolled(i));
        EXPECT(got[i + 32] == ballot);
    }
    hand_over<<<1, 32>>>(to);
    CHECK(cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < 32; i++) {
        unsigned sum = 0;
        for (unsigned round = 0; round < 6 && i >= 16; round++)
            sum = sum * 3 + round * 100 + 31 - i;
        EXPECT(got[i] == sum);
    }
    recursive<<<1, 32>>>(to);
    CHECK(cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++) {
        /* Level by level on the way back: the value that a thread had there is its first one and the levels above. */
        int mine = i < 16 ? i : 2 * i, top = i < 16 ? 5 : 2, other = i < 16 ? 2 * (i + 16) : i - 16,
            other_top = 7 - top;
        int result = other + other_top;
        for (int level = 1; level <= top; level++)
            result = result * 3 + (level <= 2 ? level * (other + other_top - level) : mine + top - level);
        EXPECT(got[i] == (unsigned)result);
    }
    for (int gone = 12; gone <= 31; gone += 19) {
        CHECK(cudaMemset(to, 0, sizeof got));
        ends<<<1, 32>>>(to, gone);
        CHECK(cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost));
        unsigned all = 0;
        for (int i = 0; i < 32; i++)
            all |= (unsigned)(i != gone && (i < 8 ? i & 1 : !(i & 1))) << i;
        for (int i = 0; i < 32; i++)
            EXPECT(got[i] == (i == gone ? 0 : i < 8 ? all : all + 5));
    }
    aggregated<<<1, 32>>>(counters, to);
    CHECK(cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        EXPECT(got[i] == (unsigned)(i % 3 == 0 ? i / 3 : i - i / 3 - 1 + 100));
    chain<<<1, 32>>>(to);
    CHECK(cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        EXPECT(got[i] == (unsigned)((i > 0 ? (i - 1) * (i - 1) + 5 : 0) * 2000 + (i < 31 ? (i + 1) * (i + 1) + 5 : 0)));
#ifdef TOOLKIT
    groups<<<1, 32>>>(to);
    CHECK(cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++) {
        int sums[8], next[8];
        for (int k = 0; k < 8; k++)
            sums[k] = (i - i % 8 + k) * (k < 3 ? 1 : 2);
        for (int offset = 4; offset; offset /= 2) {
            for (int k = 0; k < 8; k++)
                next[k] = sums[k] + sums[k ^ offset] + (k < 3 ? 0 : 1);
            for (int k = 0; k < 8; k++)
                sums[k] = next[k];
        }
        EXPECT(got[i] == (unsigned)sums[i % 8]);
        EXPECT(got[i + 32] == (unsigned)((i % 3 < 2 ? 11 : 10) * 100 + i / 3));
    }
#endif
    return 0;
}
