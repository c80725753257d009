/* SPDX-License-Identifier: MIT */
/*
 * mri-gridding: samples of k-space at any places are spread over a regular grid: a grid point gets the sum of the
 * samples nearer than half the width of a Kaiser-Bessel window, weighted by it and by the sample's own weight. Single
 * precision.
 *
 * The papers use Parboil's mri-gridding as a memory-intensive program (MRI-G; SMQoS names its binning_kernel). The same
 * kernels:
 *   gridding_bin             a thread per sample, 512 a block: its bin, the unit cube it lies in, with an atomic count; what does
 *                            not fit into a bin goes to the last one, which is the host's share
 *   gridding_split           for every four bits of the bins' numbers, a block of 256 threads sorts its 1024 samples by them in
 *   gridding_rearrange       shared memory, counts them, and, when those counts have been scanned, moves all to their places
 *   gridding_scan_blocks     exclusive prefix sum, of those counts and at last of the bins' own: 1024 elements a block in shared
 *   gridding_scan_up         memory, then up and down the tree over the blocks' sums, 128 at a time, and these sums are
 *   gridding_scan_down       added
 *   gridding_scan_add
 *   gridding_reorder         the samples in the order of their bins, as structure of arrays
 *   gridding_gather          a block of 8 x 4 x 2 threads computes 8 x 4 x 8 grid points, four in z per thread; rows of bins in
 *                            reach, neighbours in memory, go through shared memory, 64 samples at a time
 *
 * What limits it: memory, as long as samples are sorted: each pass reads and writes them all, with little arithmetic,
 * and scatters them over 16 places per block; atomics on the bins near the centre meet. The last kernel computes more:
 * some 20 multiply-adds for each of the points near a sample, but few threads of a warp are near the same sample, rows
 * without samples still cost a dependent load, and the blocks at the centre of k-space, where the samples are, take
 * longest.
 */
#define SPLIT_THREADS 256
#define SPLIT_KEYS 1024
#define DIGIT_BITS 4
#define DIGITS (1 << DIGIT_BITS)
#define SCAN_BLOCK 1024
#define SCAN_TREE 128
#define WARP 32
#define TILE 64
#define BLOCK_X 8
#define BLOCK_Y 4
#define BLOCK_Z 2
#define POINTS_Z 4 /* of a thread */
#define WINDOW_TERMS 18

struct plan {
    float cutoff; /* half the width of the window */
    float cutoff2;
    float inverse_cutoff2;
    float quarter_beta2; /* of the window's shape parameter, squared */
};
__constant__ plan window;

struct sample {
    float x, y, z; /* in grid points */
    float real, imaginary, weight;
};

extern "C" __global__ void __launch_bounds__(512)
    gridding_bin(const float2 *samples, int count, unsigned int *keys, unsigned int *values, unsigned int *bin_counts,
                 unsigned int capacity, int nx, int ny, unsigned int host_bin)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float2 xy = samples[3 * i];
    float2 z_real = samples[3 * i + 1];
    unsigned int bin = ((unsigned int)z_real.x * ny + (unsigned int)xy.y) * nx + (unsigned int)xy.x;
    unsigned int key = host_bin;
    if (bin_counts[bin] < capacity) {
        if (atomicAdd(&bin_counts[bin], 1u) < capacity)
            key = bin;
        else
            atomicAdd(&bin_counts[bin], 0xffffffffu); /* one too many */
    }
    keys[i] = key;
    values[i] = i;
}

/* Exclusive prefix sum over the block's threads; every thread gets the total, too. */
static __device__ __forceinline__ unsigned int scan_threads(unsigned int value, unsigned int *total)
{
    __shared__ unsigned int warp_sums[SPLIT_THREADS / WARP];
    unsigned int lane = threadIdx.x % WARP;
    unsigned int warp = threadIdx.x / WARP;
    unsigned int sum = value;
    for (unsigned int distance = 1; distance < WARP; distance *= 2) {
        unsigned int before = __shfl_up_sync(0xffffffffu, sum, distance);
        if (lane >= distance)
            sum += before;
    }
    if (lane == WARP - 1)
        warp_sums[warp] = sum;
    __syncthreads();
    unsigned int before_warp = 0;
    unsigned int all = 0;
#pragma unroll
    for (unsigned int i = 0; i < SPLIT_THREADS / WARP; i++) {
        if (i == warp)
            before_warp = all;
        all += warp_sums[i];
    }
    *total = all;
    return before_warp + sum - value;
}

/* Sorts 1024 samples by one digit, stably, in their place; how often each digit occurs goes to counts[digit][block]. */
extern "C" __global__ void __launch_bounds__(SPLIT_THREADS)
    gridding_split(unsigned int *keys, unsigned int *values, int count, int shift, unsigned int *counts)
{
    __shared__ unsigned int key_of[SPLIT_KEYS];
    __shared__ unsigned int value_of[SPLIT_KEYS];
    __shared__ unsigned int digit_counts[DIGITS];

    unsigned int thread = threadIdx.x;
    unsigned int first = blockIdx.x * SPLIT_KEYS + 4 * thread;
    unsigned int key[4], value[4];
#pragma unroll
    for (unsigned int i = 0; i < 4; i++) {
        key[i] = 0xffffffffu; /* no sample: goes last and stays there */
        value[i] = 0;
    }
    if (first + 3 < (unsigned int)count) {
        uint4 four = *(const uint4 *)(keys + first);
        key[0] = four.x, key[1] = four.y, key[2] = four.z, key[3] = four.w;
        four = *(const uint4 *)(values + first);
        value[0] = four.x, value[1] = four.y, value[2] = four.z, value[3] = four.w;
    } else {
#pragma unroll
        for (unsigned int i = 0; i < 4; i++) {
            if (first + i < (unsigned int)count) {
                key[i] = keys[first + i];
                value[i] = values[first + i];
            }
        }
    }
    if (thread < DIGITS)
        digit_counts[thread] = 0;

#pragma unroll 1
    for (int bit = shift; bit < shift + DIGIT_BITS; bit++) {
        unsigned int zeros = 0;
#pragma unroll
        for (int i = 0; i < 4; i++)
            zeros += (key[i] >> bit & 1) ^ 1;
        unsigned int all_zeros;
        unsigned int zero_place = scan_threads(zeros, &all_zeros);
        unsigned int one_place = all_zeros + 4 * thread - zero_place;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            unsigned int place = key[i] >> bit & 1 ? one_place++ : zero_place++;
            key_of[place] = key[i];
            value_of[place] = value[i];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 4; i++) {
            key[i] = key_of[4 * thread + i];
            value[i] = value_of[4 * thread + i];
        }
    }

#pragma unroll
    for (unsigned int i = 0; i < 4; i++) {
        if (first + i < (unsigned int)count) {
            keys[first + i] = key[i];
            values[first + i] = value[i];
            atomicAdd(&digit_counts[key[i] >> shift & (DIGITS - 1)], 1u);
        }
    }
    __syncthreads();
    if (thread < DIGITS)
        counts[thread * gridDim.x + blockIdx.x] = digit_counts[thread];
}

/* `starts` is the prefix sum of the counts: where the first sample of each digit of each block goes. */
extern "C" __global__ void __launch_bounds__(SPLIT_THREADS)
    gridding_rearrange(const unsigned int *keys, const unsigned int *values, int count, int shift,
                       const unsigned int *starts, unsigned int *sorted_keys, unsigned int *sorted_values)
{
    __shared__ unsigned int digit_of[SPLIT_KEYS];
    __shared__ unsigned int offset_of[DIGITS]; /* from the place in the block to the place in memory */

    unsigned int thread = threadIdx.x;
    unsigned int first = blockIdx.x * SPLIT_KEYS;
    unsigned int in_block = min((unsigned int)count - first, (unsigned int)SPLIT_KEYS);
    for (unsigned int i = thread; i < in_block; i += SPLIT_THREADS)
        digit_of[i] = keys[first + i] >> shift & (DIGITS - 1);
    __syncthreads();
    for (unsigned int i = thread; i < in_block; i += SPLIT_THREADS) {
        unsigned int digit = digit_of[i];
        if (i == 0 || digit_of[i - 1] != digit)
            offset_of[digit] = starts[digit * gridDim.x + blockIdx.x] - i;
    }
    __syncthreads();
    for (unsigned int i = thread; i < in_block; i += SPLIT_THREADS) {
        unsigned int place = offset_of[digit_of[i]] + i;
        sorted_keys[place] = keys[first + i];
        sorted_values[place] = values[first + i];
    }
}

/* Up a binary tree over `length` elements in shared memory: an element gets the sum of its part. */
static __device__ __forceinline__ void sweep_up(unsigned int *tree, unsigned int length)
{
#pragma unroll 1
    for (unsigned int distance = 1; distance < length; distance *= 2) {
        __syncthreads();
        unsigned int right = 2 * distance * (threadIdx.x + 1) - 1;
        if (right < length)
            tree[right] += tree[right - distance];
    }
    __syncthreads();
}

/* And down: the last element has what comes before all; each gets what comes before it. */
static __device__ __forceinline__ void sweep_down(unsigned int *tree, unsigned int length)
{
#pragma unroll 1
    for (unsigned int distance = length / 2; distance > 0; distance /= 2) {
        __syncthreads();
        unsigned int right = 2 * distance * (threadIdx.x + 1) - 1;
        if (right < length) {
            unsigned int left_sum = tree[right - distance];
            tree[right - distance] = tree[right];
            tree[right] += left_sum;
        }
    }
    __syncthreads();
}

/* Each block scans 1024 elements in their place and leaves their sum. */
extern "C" __global__ void __launch_bounds__(SCAN_BLOCK / 2)
    gridding_scan_blocks(unsigned int *data, int count, unsigned int *sums)
{
    __shared__ unsigned int tree[SCAN_BLOCK];
    unsigned int low = threadIdx.x;
    unsigned int high = threadIdx.x + SCAN_BLOCK / 2;
    unsigned int first = blockIdx.x * SCAN_BLOCK;
    tree[low] = first + low < (unsigned int)count ? data[first + low] : 0;
    tree[high] = first + high < (unsigned int)count ? data[first + high] : 0;
    sweep_up(tree, SCAN_BLOCK);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = tree[SCAN_BLOCK - 1];
        tree[SCAN_BLOCK - 1] = 0;
    }
    sweep_down(tree, SCAN_BLOCK);
    if (first + low < (unsigned int)count)
        data[first + low] = tree[low];
    if (first + high < (unsigned int)count)
        data[first + high] = tree[high];
}

/* One level of the tree over the blocks' sums: 128 nodes, `stride` elements apart. */
extern "C" __global__ void __launch_bounds__(SCAN_TREE / 2) gridding_scan_up(unsigned int *sums, int stride)
{
    __shared__ unsigned int tree[SCAN_TREE];
    unsigned int *node = sums + (blockIdx.x * SCAN_TREE + threadIdx.x + 1) * stride - 1;
    tree[threadIdx.x] = node[0];
    tree[threadIdx.x + SCAN_TREE / 2] = node[SCAN_TREE / 2 * stride];
    sweep_up(tree, SCAN_TREE);
    node[0] = tree[threadIdx.x];
    node[SCAN_TREE / 2 * stride] = tree[threadIdx.x + SCAN_TREE / 2];
}

extern "C" __global__ void __launch_bounds__(SCAN_TREE / 2)
    gridding_scan_down(unsigned int *sums, int stride, int is_root)
{
    __shared__ unsigned int tree[SCAN_TREE];
    unsigned int *node = sums + (blockIdx.x * SCAN_TREE + threadIdx.x + 1) * stride - 1;
    unsigned int last = threadIdx.x == SCAN_TREE / 2 - 1;
    tree[threadIdx.x] = node[0];
    tree[threadIdx.x + SCAN_TREE / 2] = is_root && last ? 0 : node[SCAN_TREE / 2 * stride];
    sweep_down(tree, SCAN_TREE);
    node[0] = tree[threadIdx.x];
    node[SCAN_TREE / 2 * stride] = tree[threadIdx.x + SCAN_TREE / 2];
}

extern "C" __global__ void __launch_bounds__(SCAN_BLOCK / 2)
    gridding_scan_add(unsigned int *data, int count, const unsigned int *sums)
{
    int first = blockIdx.x * SCAN_BLOCK + threadIdx.x;
    unsigned int before = sums[blockIdx.x];
    if (first < count)
        data[first] += before;
    if (first + SCAN_BLOCK / 2 < count)
        data[first + SCAN_BLOCK / 2] += before;
}

extern "C" __global__ void __launch_bounds__(512)
    gridding_reorder(const float2 *samples, int count, const unsigned int *values, float4 *places, float2 *data)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    unsigned int from = 3 * values[i];
    float2 xy = samples[from];
    float2 z_real = samples[from + 1];
    float2 imaginary_weight = samples[from + 2];
    places[i] = make_float4(xy.x, xy.y, z_real.x, imaginary_weight.y);
    data[i] = make_float2(z_real.y, imaginary_weight.x);
}

/*
 * The Kaiser-Bessel window at the square of a distance: I0(beta sqrt(1 - d^2 / c^2)), by the power series of the modified Bessel
 * function, I0(t) = sum of (t^2/4)^k / (k!)^2: all terms are positive, so that nothing cancels. Good for windows up to 5 wide.
 */
static __device__ __forceinline__ float window_at(float distance2)
{
    float z = window.quarter_beta2 * (1.0f - distance2 * window.inverse_cutoff2);
    double coefficient = 1.0; /* the compiler computes these */
#pragma unroll
    for (int k = 2; k <= WINDOW_TERMS; k++)
        coefficient /= (double)(k * k);
    float sum = (float)coefficient;
#pragma unroll
    for (int k = WINDOW_TERMS; k > 0; k--) {
        coefficient *= (double)(k * k);
        sum = sum * z + (float)coefficient;
    }
    return sum;
}

extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y *BLOCK_Z)
    gridding_gather(const float4 *places, const float2 *data, const unsigned int *bin_starts, int nx, int ny, int nz,
                    float2 *grid, float *density)
{
    __shared__ float4 place_of[TILE];
    __shared__ float2 data_of[TILE];

    int thread = (threadIdx.z * BLOCK_Y + threadIdx.y) * BLOCK_X + threadIdx.x;
    int blocks_y = ny / BLOCK_Y;
    int x0 = blockIdx.x * BLOCK_X;
    int y0 = (int)blockIdx.y % blocks_y * BLOCK_Y;
    int z0 = (int)blockIdx.y / blocks_y * BLOCK_Z * POINTS_Z;
    float x = (float)(x0 + (int)threadIdx.x);
    float y = (float)(y0 + (int)threadIdx.y);
    float z = (float)(z0 + (int)threadIdx.z);

    /* bins that have samples in reach of the block */
    int reach = (int)ceilf(window.cutoff);
    int low_x = max(x0 - reach, 0), high_x = min(x0 + BLOCK_X - 1 + reach, nx - 1);
    int low_y = max(y0 - reach, 0), high_y = min(y0 + BLOCK_Y - 1 + reach, ny - 1);
    int low_z = max(z0 - reach, 0), high_z = min(z0 + BLOCK_Z * POINTS_Z - 1 + reach, nz - 1);

    float real[POINTS_Z] = {0, 0, 0, 0};
    float imaginary[POINTS_Z] = {0, 0, 0, 0};
    float hits[POINTS_Z] = {0, 0, 0, 0};
    for (int row_z = low_z; row_z <= high_z; row_z++) {
        for (int row_y = low_y; row_y <= high_y; row_y++) {
            const unsigned int *row = bin_starts + (row_z * ny + row_y) * nx;
            int start = (int)row[low_x];
            int end = (int)row[high_x + 1];
            for (; start < end; start += TILE) {
                int length = min(TILE, end - start);
                __syncthreads();
                if (thread < length) {
                    place_of[thread] = places[start + thread];
                    data_of[thread] = data[start + thread];
                }
                __syncthreads();
#pragma unroll 1
                for (int i = 0; i < length; i++) {
                    float4 place = place_of[i];
                    float dx = place.x - x;
                    float dy = place.y - y;
                    float across2 = fmaf(dy, dy, __fmul_rn(dx, dx));
                    if (across2 < window.cutoff2) {
                        float2 value = data_of[i];
#pragma unroll
                        for (int k = 0; k < POINTS_Z; k++) {
                            float dz = place.z - (z + (float)(k * BLOCK_Z));
                            float distance2 = fmaf(dz, dz, across2);
                            if (distance2 < window.cutoff2) {
                                float weight = window_at(distance2) * place.w;
                                real[k] += weight * value.x;
                                imaginary[k] += weight * value.y;
                                hits[k] += 1.0f;
                            }
                        }
                    }
                }
            }
        }
    }

#pragma unroll
    for (int k = 0; k < POINTS_Z; k++) {
        int point = ((z0 + (int)threadIdx.z + k * BLOCK_Z) * ny + y0 + (int)threadIdx.y) * nx + x0 + (int)threadIdx.x;
        grid[point] = make_float2(real[k], imaginary[k]);
        density[point] = hits[k];
    }
}
