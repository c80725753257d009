/* SPDX-License-Identifier: MIT */
/*
 * binomial-options: prices of European call options on a binomial tree (Cox, Ross and Rubinstein), single precision.
 *
 * A thread block prices one option. The values of the present level of its tree lie in global memory; a slab of 32
 * levels is walked down at a time, in chunks of 256 nodes that go through shared memory, two arrays in turn, and give
 * 224 nodes of the level 32 below: neighbouring chunks share 32 nodes, which are computed twice. What an option is
 * (price, strike, logarithmic step, the two discounted probabilities) is in constant memory, prepared by the host.
 *
 * SMQoS (Parallel Computing 2022, table 3) uses the CUDA SDK's program as BINO, a compute-intensive one
 * (binomialOptionsKernel). That program in its classic form: 512 options of 2048 steps, 256 threads a thread block, a
 * cache of 256 nodes, slabs of 32 levels. The same here, with 2048 steps in size large, for half the options; medium
 * has fewer steps. Later editions of the SDK keep several nodes a thread in registers instead, with 128 threads.
 * Where ours differs: an option has a volatility of its own, and threads outside of the level do not touch global
 * memory.
 *
 * What limits it: arithmetic and shared memory. A step of a node is two reads and a write of shared memory, a
 * multiply, a multiply-add and a barrier, so that on a GTX 980 shared memory is busy before the schedulers are;
 * global memory is touched once in 32 steps, and DRAM idles. Eight thread blocks fill the threads of an SM.
 */
#define THREADS 256
#define SLAB 32 /* levels a chunk is walked down; even */
#define STEP \
    (THREADS - SLAB) /* from one chunk to the next; a multiple of SLAB, so that no chunk is shorter than a slab */
#define MAX_OPTIONS 1024

struct option {
    float price, strike, log_step, up, down;
};
__constant__ struct option options[MAX_OPTIONS];

/* `steps` is a multiple of SLAB; an option's level has room for steps + 16 values. */
extern "C" __global__ void __launch_bounds__(THREADS) binomial_options(float *levels, float *values, int steps)
{
    __shared__ float even[THREADS + 1];
    __shared__ float odd[THREADS + 1];
    const int thread = threadIdx.x;
    const struct option option = options[blockIdx.x];
    float *level = levels + blockIdx.x * (steps + 16);

    /* at expiry */
    for (int i = thread; i <= steps; i += THREADS) {
        float value = option.price * __expf(option.log_step * (2.0f * i - steps)) - option.strike;
        level[i] = fmaxf(value, 0.0f);
    }

    for (int height = steps; height > 0; height -= SLAB) {
        for (int base = 0; base < height; base += STEP) {
            int last = min(THREADS - 1, height - base); /* node of the chunk */
            __syncthreads();
            if (thread <= last)
                even[thread] = level[base + thread];
            /* beyond `last`, and further and further below it, are numbers that nobody uses */
            for (int k = 0; k < SLAB; k += 2) {
                __syncthreads();
                odd[thread] = option.up * even[thread + 1] + option.down * even[thread];
                __syncthreads();
                even[thread] = option.up * odd[thread + 1] + option.down * odd[thread];
            }
            if (thread <= last - SLAB)
                level[base + thread] = even[thread];
        }
    }
    if (thread == 0)
        values[blockIdx.x] = even[0];
}
