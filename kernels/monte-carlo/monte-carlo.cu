/* SPDX-License-Identifier: MIT */
/*
 * monte-carlo: the price of a European call option by simulation: random final prices of the underlying stock, averaged
 * payoffs.
 *
 * The price of the stock moves by geometric Brownian motion, so one normal number gives its final price. Random numbers
 * come from a counter, not from a state: Philox 4x32 with ten rounds (Salmon et al., SC 2011) of the number of a path
 * gives four words, two Box-Muller transforms make four normal numbers of them, each one path. So any part of the paths
 * gets the same numbers, on CPU and GPU alike.
 *
 * A thread block takes 4096 paths, 16 a thread, and reduces payoffs and their squares in shared memory to two sums,
 * which it adds to those of its 4096 paths in global memory. The last step, their average, is left to the host.
 *
 * The CAP chapter splits this program between CPU and GPU (mc, 64 M iterations): so the kernel takes a sub-range, the
 * `count` paths from `first` on; paths outside count nothing.
 *
 * What limits it: arithmetic. Integer multiplications for Philox, special functions for normal numbers and prices; 16
 * bytes of memory traffic for 4096 paths.
 */
#define THREADS 256
#define PATHS 4096 /* a thread block */

__constant__ float option[4]; /* price of the stock, strike, mean and deviation of the logarithm of its growth */
__constant__ unsigned int key[2];

/* Ten rounds over the counter (number, 0, 0, 0). */
__device__ __forceinline__ uint4 philox(unsigned int number)
{
    uint4 word = make_uint4(number, 0, 0, 0);
    unsigned int key0 = key[0];
    unsigned int key1 = key[1];
#pragma unroll
    for (int round = 0; round < 10; round++) {
        unsigned int high0 = __umulhi(0xd2511f53u, word.x);
        unsigned int low0 = 0xd2511f53u * word.x;
        unsigned int high1 = __umulhi(0xcd9e8d57u, word.z);
        unsigned int low1 = 0xcd9e8d57u * word.z;
        word = make_uint4(high1 ^ word.y ^ key0, low1, high0 ^ word.w ^ key1, low0);
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return word;
}

/* In the middle of one of 2^23 equal parts of (0, 1), exact in single precision. */
__device__ __forceinline__ float unit(unsigned int word)
{
    return ((float)(word >> 9) + 0.5f) * (1.0f / 8388608.0f);
}

__device__ __forceinline__ float2 normal_pair(unsigned int first, unsigned int second)
{
    float radius = sqrtf(-2.0f * __logf(unit(first)));
    float angle = 6.28318531f * (unit(second) - 0.5f);
    return make_float2(radius * __cosf(angle), radius * __sinf(angle));
}

__device__ __forceinline__ void add_payoff(float2 &sum, float normal, bool counts)
{
    float final_price = option[0] * __expf(option[2] + option[3] * normal);
    float payoff = counts ? fmaxf(final_price - option[1], 0.0f) : 0.0f;
    sum.x += payoff;
    sum.y += payoff * payoff;
}

extern "C" __global__ void __launch_bounds__(THREADS) monte_carlo(float2 *sums, unsigned int first, unsigned int count)
{
    __shared__ float2 partial[THREADS];
    unsigned int part = first / PATHS + blockIdx.x;
    float2 sum = make_float2(0.0f, 0.0f);
#pragma unroll 1
    for (unsigned int i = threadIdx.x; i < PATHS / 4; i += THREADS) {
        unsigned int number = part * (PATHS / 4) + i;
        uint4 words = philox(number);
        float2 one = normal_pair(words.x, words.y);
        float2 two = normal_pair(words.z, words.w);
        unsigned int path = 4 * number - first; /* very large for paths before the first */
        add_payoff(sum, one.x, path < count);
        add_payoff(sum, one.y, path + 1 < count);
        add_payoff(sum, two.x, path + 2 < count);
        add_payoff(sum, two.y, path + 3 < count);
    }

    partial[threadIdx.x] = sum;
    for (unsigned int distance = THREADS / 2; distance > 0; distance /= 2) {
        __syncthreads();
        if (threadIdx.x < distance) {
            float2 other = partial[threadIdx.x + distance];
            sum.x += other.x;
            sum.y += other.y;
            partial[threadIdx.x] = sum;
        }
    }
    if (threadIdx.x == 0) {
        sums[part].x += sum.x;
        sums[part].y += sum.y;
    }
}
