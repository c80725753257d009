/* SPDX-License-Identifier: MIT */
/*
 * histogram: a histogram with very many bins of very unevenly spread input, each bin saturating at 255.
 *
 * The papers use Parboil's histo as a memory-intensive program of several short kernels. Four here, too, of the same
 * shapes:
 *   histogram_prescan        the range of bins that occur (64 blocks of 512 threads)
 *   histogram_intermediates  for each input, which slice of the middle of that range it falls into and where in it
 *   histogram_main           a thread block counts one slice in shared memory (24 KB) and adds that to the counts in global
 *                            memory; inputs outside of every slice are added there directly (14 blocks of 768 threads a slice)
 *   histogram_final          saturates the counts to bytes and sets everything back for the next image (42 blocks of 512 threads)
 * The known program counts in bytes in shared memory and notes what overflows; here a count is a word and a slice a
 * quarter as long.
 *
 * What limits it: memory and atomics. Input is read once per slice, counts and result once per image, with little
 * arithmetic; many lanes of a warp add to the same bins of the middle, and the rest scatters atomics over memory.
 */
#define SLICE_BINS 6144
#define SLICES 3
#define OUTSIDE 0xffffffffu

extern "C" __global__ void __launch_bounds__(512)
    histogram_prescan(const unsigned int *input, int count, unsigned int *range)
{
    __shared__ unsigned int lowest;
    __shared__ unsigned int highest;
    if (threadIdx.x == 0) {
        lowest = 0xffffffffu;
        highest = 0;
    }
    __syncthreads();
    unsigned int least = 0xffffffffu;
    unsigned int most = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        unsigned int bin = input[i];
        least = min(least, bin);
        most = max(most, bin);
    }
    atomicMin(&lowest, least);
    atomicMax(&highest, most);
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicMin(&range[0], lowest);
        atomicMax(&range[1], highest);
    }
}

/* slice << 16 | bin within it, or OUTSIDE */
extern "C" __global__ void __launch_bounds__(512)
    histogram_intermediates(const unsigned int *input, unsigned int *places, int count, const unsigned int *range,
                            unsigned int *first_bin)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int middle = (range[0] + range[1]) / 2;
    unsigned int half = SLICES * SLICE_BINS / 2;
    unsigned int first = middle > half ? middle - half : 0;
    if (i == 0)
        *first_bin = first;
    if (i >= count)
        return;
    unsigned int offset = input[i] - first; /* wraps around for bins before the first */
    unsigned int place = OUTSIDE;
    if (offset < SLICES * SLICE_BINS)
        place = offset / SLICE_BINS << 16 | offset % SLICE_BINS;
    places[i] = place;
}

extern "C" __global__ void __launch_bounds__(768)
    histogram_main(const unsigned int *input, const unsigned int *places, int count, const unsigned int *first_bin,
                   unsigned int *counts, unsigned int bins)
{
    __shared__ unsigned int partial[SLICE_BINS];
    for (int i = threadIdx.x; i < SLICE_BINS; i += blockDim.x)
        partial[i] = 0;
    __syncthreads();
    unsigned int slice = blockIdx.y;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        unsigned int place = places[i];
        if (place >> 16 == slice)
            atomicAdd(&partial[place & 0xffff], 1u);
        else if (slice == 0 && place == OUTSIDE)
            atomicAdd(&counts[input[i]], 1u);
    }
    __syncthreads();
    unsigned int first = *first_bin + slice * SLICE_BINS;
    for (int i = threadIdx.x; i < SLICE_BINS; i += blockDim.x) {
        unsigned int value = partial[i];
        if (value && first + i < bins)
            atomicAdd(&counts[first + i], value);
    }
}

/* Four bins a thread; `bins` is a multiple of four. */
extern "C" __global__ void __launch_bounds__(512)
    histogram_final(uint4 *counts, unsigned int *result, int bins, unsigned int *range)
{
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    if (first == 0) {
        range[0] = 0xffffffffu;
        range[1] = 0;
    }
    for (int i = first; i < bins / 4; i += gridDim.x * blockDim.x) {
        uint4 four = counts[i];
        result[i] = min(four.x, 255u) | min(four.y, 255u) << 8 | min(four.z, 255u) << 16 | min(four.w, 255u) << 24;
        counts[i] = make_uint4(0, 0, 0, 0);
    }
}
