/* SPDX-License-Identifier: MIT */
/*
 * pointer-chasing: every thread follows links through a big array, for a number of hops.
 *
 * An element of 8 bytes is the index of the next one and a payload. All of them form one cycle in random order; each
 * thread starts at an element of its own, adds up the payloads that it passes, and writes where it ended and the sum.
 *
 * Kernelet uses pointer chasing, written by its authors, as its most memory-intensive program (TPDS 2014: group MI with
 * stencil, spmv and SAD); the paper states no launch shape. Here: 256 threads to a thread block, enough of them to fill
 * the GPU several times.
 *
 * What limits it: memory. The address of a load is the result of the load before, so a thread has one access under way
 * at a time; the 32 lanes of a warp go to 32 places, and the array is many times the L2 cache, so that nearly every hop
 * of every lane is a sector from DRAM, in a row that is probably not open, for 8 useful bytes. With few warps latency
 * limits it, with many the rows of DRAM.
 */
#define THREADS 256

extern "C" __global__ void __launch_bounds__(THREADS)
    pointer_chase(const uint2 *__restrict__ elements, const unsigned int *__restrict__ starts,
                  unsigned int *__restrict__ ends, unsigned int *__restrict__ sums, int threads, int hops)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= threads)
        return;
    unsigned int at = starts[i];
    unsigned int sum = 0;
#pragma unroll 4
    for (int hop = 0; hop < hops; hop++) {
        uint2 element = __ldg(elements + at);
        at = element.x;
        sum += element.y;
    }
    ends[i] = at;
    sums[i] = sum;
}
