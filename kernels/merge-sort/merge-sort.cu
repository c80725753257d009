/* SPDX-License-Identifier: MIT */
/*
 * merge-sort: sorts pairs of a 32-bit key and a 32-bit value by key; stable.
 *
 * Each thread block sorts 1024 pairs in shared memory: runs of 1, 2, 4, ... pairs are merged two by two, each thread
 * finding the rank of two elements in the other run by binary search. Then, from runs of 1024 on, a pass doubles
 * their length in three kernels:
 *   sample_ranks    the rank of every 128th element of a run in its partner run, by binary search in global memory
 *   merge_ranks     puts the ranks of both runs in order: where the elementary intervals begin (once for each run)
 *   merge_intervals merges the intervals, at most 128 elements of either run, in shared memory, one thread block each
 * Passes alternate between two arrays. A run without a partner at the end goes through the same kernels with an empty
 * partner.
 *
 * SMQoS (Parallel Computing 2022, table 3) uses the CUDA SDK's program as MERGE, a compute-intensive one
 * (mergeSortSharedKernel). The shape is the SDK's: 512 threads and 8 KB of shared memory for the first kernel, 256
 * threads for the two of the ranks, 128 and 2 KB for the intervals, a sample every 128 elements; a million pairs in
 * large (the SDK: four). Where ours differs: the SDK copies the run without a partner.
 *
 * What limits it: issue, in the first kernel, which is the one that the paper names: a GTX 980 issues in four cycles
 * of five, and the rest goes to bank conflicts, as lanes probe anywhere. The passes are another matter:
 * merge_intervals moves every pair once, in short thread blocks that begin with one thread fetching their limits, and
 * the kernels of the ranks wait for one probe of global memory after the other, in very few thread blocks while the
 * array is small (two fifths of the time in medium, whose class over a whole run is therefore problem-size).
 */
#define RUN 1024   /* pairs that a thread block sorts */
#define SAMPLE 128 /* elements from one sample to the next */

/*
 * How many of the first `count` elements, in order, belong before x: those below it or, with `equal`, also those
 * equal to it. `top` is a power of two above count / 2; the search takes one probe for each of its halvings.
 */
__device__ __forceinline__ int rank_of(unsigned int x, const unsigned int *elements, int count, int top, bool equal)
{
    int rank = 0;
    for (int jump = top; jump > 0; jump >>= 1) {
        int probe = min(rank + jump, count);
        unsigned int element = elements[probe - 1];
        if (element < x || (equal && element == x))
            rank = probe;
    }
    return rank;
}

/* The least power of two that is not below count (1 for 0). */
__device__ __forceinline__ int power_of_two(int count)
{
    return count < 2 ? 1 : 1 << (32 - __clz(count - 1));
}

extern "C" __global__ void __launch_bounds__(RUN / 2)
    merge_sort_shared(const unsigned int *keys, const unsigned int *values, unsigned int *sorted_keys,
                      unsigned int *sorted_values)
{
    __shared__ unsigned int key[RUN];
    __shared__ unsigned int value[RUN];
    const int thread = threadIdx.x;
    const int first = blockIdx.x * RUN + thread;
    key[thread] = keys[first];
    value[thread] = values[first];
    key[thread + RUN / 2] = keys[first + RUN / 2];
    value[thread + RUN / 2] = values[first + RUN / 2];

    for (int run = 1; run < RUN; run <<= 1) {
        int within = thread & (run - 1);
        unsigned int *pair = key + 2 * (thread - within); /* of runs */
        unsigned int *pair_value = value + 2 * (thread - within);
        __syncthreads();
        unsigned int left = pair[within];
        unsigned int left_value = pair_value[within];
        unsigned int right = pair[run + within];
        unsigned int right_value = pair_value[run + within];
        int left_place = within + rank_of(left, pair + run, run, run, false);
        int right_place = within + rank_of(right, pair, run, run, true);
        __syncthreads();
        pair[left_place] = left;
        pair_value[left_place] = left_value;
        pair[right_place] = right;
        pair_value[right_place] = right_value;
    }

    __syncthreads();
    sorted_keys[first] = key[thread];
    sorted_values[first] = value[thread];
    sorted_keys[first + RUN / 2] = key[thread + RUN / 2];
    sorted_values[first + RUN / 2] = value[thread + RUN / 2];
}

/* A pair of runs, `run` elements each; those at the end of the array may be shorter, or empty. */
struct pair_of_runs {
    int first;       /* element of the left run */
    int left, right; /* elements */
};

__device__ __forceinline__ struct pair_of_runs find_pair(int first, int run, int count)
{
    struct pair_of_runs pair;
    pair.first = first;
    pair.left = min(run, count - first);
    pair.right = max(0, min(run, count - first - run));
    return pair;
}

/*
 * One thread for a sample of the left run and one of the right. For each sample its rank in both runs; those of the
 * right run follow those of the left.
 */
extern "C" __global__ void __launch_bounds__(256)
    sample_ranks(const unsigned int *keys, int *ranks_left, int *ranks_right, int run, int count, int threads)
{
    const int position = blockIdx.x * blockDim.x + threadIdx.x;
    if (position >= threads)
        return;
    const int samples = run / SAMPLE;
    const int i = position & (samples - 1);
    const struct pair_of_runs pair = find_pair((position - i) * 2 * SAMPLE, run, count);
    keys += pair.first;
    ranks_left += pair.first / SAMPLE;
    ranks_right += pair.first / SAMPLE;
    const int place = i * SAMPLE;
    if (place < pair.left) {
        ranks_left[i] = place;
        ranks_right[i] = pair.right ? rank_of(keys[place], keys + run, pair.right, power_of_two(pair.right), false) : 0;
    }
    if (place < pair.right) {
        ranks_right[samples + i] = place;
        ranks_left[samples + i] = rank_of(keys[run + place], keys, pair.left, power_of_two(pair.left), true);
    }
}

/* The same ranks in ascending order. */
extern "C" __global__ void __launch_bounds__(256)
    merge_ranks(const unsigned int *ranks, unsigned int *limits, int run, int count, int threads)
{
    const int position = blockIdx.x * blockDim.x + threadIdx.x;
    if (position >= threads)
        return;
    const int samples = run / SAMPLE;
    const int i = position & (samples - 1);
    const struct pair_of_runs pair = find_pair((position - i) * 2 * SAMPLE, run, count);
    const int samples_left = pair.left / SAMPLE;
    const int samples_right = pair.right / SAMPLE;
    ranks += pair.first / SAMPLE;
    limits += pair.first / SAMPLE;
    if (i < samples_left) {
        unsigned int rank = ranks[i];
        int place =
            samples_right ? rank_of(rank, ranks + samples_left, samples_right, power_of_two(samples_right), false) : 0;
        limits[i + place] = rank;
    }
    if (i < samples_right) {
        unsigned int rank = ranks[samples_left + i];
        limits[i + rank_of(rank, ranks, samples_left, power_of_two(samples_left), true)] = rank;
    }
}

extern "C" __global__ void __launch_bounds__(SAMPLE)
    merge_intervals(const unsigned int *keys, const unsigned int *values, unsigned int *merged_keys,
                    unsigned int *merged_values, const int *limits_left, const int *limits_right, int run, int count)
{
    __shared__ unsigned int key[2 * SAMPLE];
    __shared__ unsigned int value[2 * SAMPLE];
    __shared__ int first_left, first_right, left, right; /* the interval: where it begins, how long it is */
    const int thread = threadIdx.x;
    const int interval = blockIdx.x & (2 * run / SAMPLE - 1);
    const struct pair_of_runs pair = find_pair((blockIdx.x - interval) * SAMPLE, run, count);
    keys += pair.first;
    values += pair.first;

    if (thread == 0) {
        bool last = interval == (pair.left + pair.right) / SAMPLE - 1;
        first_left = limits_left[blockIdx.x];
        first_right = limits_right[blockIdx.x];
        left = (last ? pair.left : limits_left[blockIdx.x + 1]) - first_left;
        right = (last ? pair.right : limits_right[blockIdx.x + 1]) - first_right;
    }
    __syncthreads();

    if (thread < left) {
        key[thread] = keys[first_left + thread];
        value[thread] = values[first_left + thread];
    }
    if (thread < right) {
        key[SAMPLE + thread] = keys[run + first_right + thread];
        value[SAMPLE + thread] = values[run + first_right + thread];
    }
    __syncthreads();

    unsigned int left_key, left_value, right_key, right_value;
    int left_place, right_place;
    if (thread < left) {
        left_key = key[thread];
        left_value = value[thread];
        left_place = thread + (right ? rank_of(left_key, key + SAMPLE, right, SAMPLE, false) : 0);
    }
    if (thread < right) {
        right_key = key[SAMPLE + thread];
        right_value = value[SAMPLE + thread];
        right_place = thread + (left ? rank_of(right_key, key, left, SAMPLE, true) : 0);
    }
    __syncthreads();
    if (thread < left) {
        key[left_place] = left_key;
        value[left_place] = left_value;
    }
    if (thread < right) {
        key[right_place] = right_key;
        value[right_place] = right_value;
    }
    __syncthreads();

    int to = pair.first + first_left + first_right;
    for (int i = thread; i < left + right; i += SAMPLE) {
        merged_keys[to + i] = key[i];
        merged_values[to + i] = value[i];
    }
}
