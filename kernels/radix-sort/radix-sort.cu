/* SPDX-License-Identifier: MIT */
/*
 * radix-sort: 32-bit keys, least significant digit first, four bits in each of eight passes.
 *
 * Four kernels, as in CUDPP's sort (the code is our own):
 *   radix_sort_blocks     a thread block sorts 1024 keys by the digit in shared memory: four splits, each with a scan
 *   radix_find_offsets    where each digit begins in each half of such a block, and how many keys have it
 *   radix_scan_counters   exclusive sums over the counters, digit by digit, in tiles; then over the sums of the tiles
 *   radix_reorder         each key to its digit's place among all keys; runs of equal digits are written side by side
 *
 * The spatial multitasking paper uses it as problem-size-bound (HPCA 2012, table 1: 4 kernels for 2^18 random integers,
 * on average over their time 357 thread blocks of 250 threads). Here they are 256, 512, 8 and 1, and 512 thread blocks
 * of 256 threads, 128 for the scans; on the paper's GPU that makes 340 of 250.
 *
 * What limits it: with 2^18 keys (large) the arithmetic and the shared memory of the sort by blocks, more than half of
 * the time: its 256 thread blocks are two waves on a GTX 980 and more on the paper's GPU, where two fit an SM, so that
 * it still gains from nearly every SM there is. With fewer keys (medium) the size of the problem: a pass is five
 * launches that wait for each other, scans by two thread blocks among them, and nothing hides the latency of the L2.
 */
#define THREADS 256
#define KEYS_SORTED (4 * THREADS)  /* by one thread block */
#define KEYS_ORDERED (2 * THREADS) /* the half that one of the other kernels handles */
#define DIGIT_BITS 4
#define DIGITS (1 << DIGIT_BITS)
#define SCAN_THREADS 128
#define COUNTERS_SCANNED (8 * SCAN_THREADS)
#define PADDING 0xffffffffu /* sorts behind every key, as it comes after all of them */

/* Where a warp scans: two rows that steps read and write in turn; the places before lane 0 stay zero. */
struct scan_rows {
    volatile unsigned int row[2][16 + 32];
};

__device__ __forceinline__ void prepare_scan(scan_rows *rows)
{
    int lane = threadIdx.x % 32;
    if (lane < 16) {
        rows[threadIdx.x / 32].row[0][lane] = 0;
        rows[threadIdx.x / 32].row[1][lane] = 0;
    }
}

/*
 * The sum of `value` over the threads before this one; *total is that over all of them. There is an element of `rows`
 * for each warp. Between two calls all threads meet at a barrier.
 */
template <int threads>
__device__ __forceinline__ unsigned int sum_before(unsigned int value, scan_rows *rows, unsigned int *total)
{
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    unsigned int sum = value;
#pragma unroll
    for (int step = 0; step < 5; step++) {
        rows[warp].row[step & 1][16 + lane] = sum;
        __syncwarp();
        sum += rows[warp].row[step & 1][16 + lane - (1 << step)];
    }
    rows[warp].row[1][16 + lane] = sum; /* lane 31 has the sum of the warp */
    __syncthreads();
    unsigned int before = 0;
    unsigned int all = 0;
#pragma unroll
    for (int i = 0; i < threads / 32; i++) {
        if (i == warp)
            before = all;
        all += rows[i].row[1][16 + 31];
    }
    *total = all;
    return before + sum - value;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    radix_sort_blocks(const unsigned int *__restrict__ keys, unsigned int *__restrict__ sorted, int count, int shift)
{
    __shared__ uint4 exchange[THREADS];
    __shared__ scan_rows rows[THREADS / 32];
    int thread = threadIdx.x;
    int first = blockIdx.x * KEYS_SORTED + 4 * thread;
    unsigned int key[4];
    if (first + 4 <= count) {
        uint4 four = __ldg((const uint4 *)(keys + first));
        key[0] = four.x;
        key[1] = four.y;
        key[2] = four.z;
        key[3] = four.w;
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++)
            key[i] = first + i < count ? keys[first + i] : PADDING;
    }

    prepare_scan(rows);
    unsigned int *places = (unsigned int *)exchange;
#pragma unroll 1
    for (int bit = shift; bit < shift + DIGIT_BITS; bit++) {
        unsigned int one[4];
        unsigned int ones = 0;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            one[i] = key[i] >> bit & 1;
            ones += one[i];
        }
        unsigned int all_ones;
        unsigned int ones_before = sum_before<THREADS>(ones, rows, &all_ones);
        unsigned int place_of_zero = 4 * thread - ones_before;
        unsigned int place_of_one = KEYS_SORTED - all_ones + ones_before;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            places[one[i] ? place_of_one : place_of_zero] = key[i];
            place_of_one += one[i];
            place_of_zero += 1 - one[i];
        }
        __syncthreads();
        uint4 four = exchange[thread];
        key[0] = four.x;
        key[1] = four.y;
        key[2] = four.z;
        key[3] = four.w;
    }

    if (first + 4 <= count) {
        *(uint4 *)(sorted + first) = make_uint4(key[0], key[1], key[2], key[3]);
    } else {
#pragma unroll
        for (int i = 0; i < 3; i++) {
            if (first + i < count)
                sorted[first + i] = key[i];
        }
    }
}

/* counters[digit][block] for the scan, starts[block][digit] for the reordering. */
extern "C" __global__ void __launch_bounds__(THREADS)
    radix_find_offsets(const unsigned int *__restrict__ sorted, unsigned int *__restrict__ counters,
                       unsigned int *__restrict__ starts, int count, int shift, int blocks)
{
    __shared__ unsigned int digits[KEYS_ORDERED];
    __shared__ unsigned int start[DIGITS];
    __shared__ unsigned int end[DIGITS];
    int thread = threadIdx.x;
    int first = blockIdx.x * KEYS_ORDERED;
#pragma unroll
    for (int i = 0; i < KEYS_ORDERED / THREADS; i++) {
        int place = i * THREADS + thread;
        unsigned int key = first + place < count ? sorted[first + place] : PADDING;
        digits[place] = key >> shift & (DIGITS - 1);
    }
    if (thread < DIGITS) {
        start[thread] = 0;
        end[thread] = 0;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < KEYS_ORDERED / THREADS; i++) {
        int place = i * THREADS + thread;
        unsigned int digit = digits[place];
        if (place == 0 || digits[place - 1] != digit)
            start[digit] = place;
        if (place == KEYS_ORDERED - 1 || digits[place + 1] != digit)
            end[digit] = place + 1;
    }
    __syncthreads();
    if (thread < DIGITS) {
        counters[thread * blocks + blockIdx.x] = end[thread] - start[thread];
        starts[blockIdx.x * DIGITS + thread] = start[thread];
    }
}

/* Exclusive sums within tiles of COUNTERS_SCANNED, in place; the sum of each tile apart. */
extern "C" __global__ void __launch_bounds__(SCAN_THREADS)
    radix_scan_counters(unsigned int *__restrict__ counters, unsigned int *__restrict__ tile_sums, int count)
{
    __shared__ scan_rows rows[SCAN_THREADS / 32];
    prepare_scan(rows);
    int first = blockIdx.x * COUNTERS_SCANNED + 8 * threadIdx.x;
    unsigned int value[8];
    unsigned int own = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        value[i] = first + i < count ? counters[first + i] : 0;
        own += value[i];
    }
    unsigned int total;
    unsigned int before = sum_before<SCAN_THREADS>(own, rows, &total);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        if (first + i < count)
            counters[first + i] = before;
        before += value[i];
    }
    if (threadIdx.x == 0)
        tile_sums[blockIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    radix_reorder(const unsigned int *__restrict__ sorted, unsigned int *__restrict__ keys,
                  const unsigned int *__restrict__ counters, const unsigned int *__restrict__ tile_sums,
                  const unsigned int *__restrict__ starts, int count, int shift, int blocks)
{
    __shared__ unsigned int target[DIGITS]; /* where place 0 of this block would go if it had that digit */
    int thread = threadIdx.x;
    int first = blockIdx.x * KEYS_ORDERED;
    if (thread < DIGITS) {
        int counter = thread * blocks + blockIdx.x;
        target[thread] =
            counters[counter] + tile_sums[counter / COUNTERS_SCANNED] - starts[blockIdx.x * DIGITS + thread];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < KEYS_ORDERED / THREADS; i++) {
        int place = i * THREADS + thread;
        if (first + place < count) {
            unsigned int key = sorted[first + place];
            keys[target[key >> shift & (DIGITS - 1)] + place] = key;
        }
    }
}
