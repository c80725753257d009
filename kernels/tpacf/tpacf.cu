/* SPDX-License-Identifier: MIT */
/*
 * tpacf: two-point angular correlation of points on the sky: how many pairs of galaxies lie at which angle, compared
 * with pairs of random points. One set D of observed points, several sets R of random ones; a thread block counts the
 * pairs of one combination into 20 bins of angle (five to a factor of ten, 1 to 10 000 arc minutes): block 0 those
 * within D, then one block for the pairs within each R, then one for those between D and each R.
 *
 * The papers use Parboil's tpacf as a compute-intensive kernel (gen_hists in table 2-2 of the SMK chapter: 76.6 % of
 * the registers, 94.8 % of the shared memory, 87.5 % of the threads of a GTX 980 SM, that is 7 thread blocks of 256
 * threads with 28 registers and 13 KB; 60 % of the cycles stalled; also in SMQoS). The same shape here: 256 points of
 * the first set at a time go to shared memory (3 KB), each thread keeps one point of the second set in registers and
 * takes its cosine with all of them; the bin is found by binary search over the cosines of the bins' borders in
 * constant memory; two threads share one of 128 histograms in shared memory (10 KB), which lie side by side so that the
 * bank depends on the thread and not on the bin. They are added up at the end.
 *
 * What limits it: instructions. A pair takes three multiply-adds and a search of four or five steps, each of which
 * waits for the one before and reads constants at addresses that differ from lane to lane, then an atomic in shared
 * memory; points are read from global memory once per 256 pairs. Shared memory limits occupancy.
 *
 * The cosine is computed in a fixed order of operations, so that every implementation finds the same bin.
 */
#define THREADS 256
#define BINS 20
#define SHARING 2 /* threads that share a histogram */
#define HISTOGRAMS (THREADS / SHARING)
#define WARP 32

__constant__ float border_cosine[BINS + 1]; /* falling */

struct point {
    float x, y, z;
};

/* The bin whose cosines include this one, which lies between the first and the last border. */
static __device__ __forceinline__ unsigned int bin_of(float cosine)
{
    unsigned int low = 0; /* border_cosine[low] >= cosine > border_cosine[high] */
    unsigned int high = BINS;
    do {
        unsigned int middle = (low + high) / 2;
        if (cosine > border_cosine[middle])
            high = middle;
        else
            low = middle;
    } while (high > low + 1);
    return low;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    tpacf_histograms(const float *x, const float *y, const float *z, unsigned int *result, int points, int random_sets)
{
    __shared__ point tile[THREADS];
    __shared__ unsigned int histogram[BINS * HISTOGRAMS];

    int thread = threadIdx.x;
    for (int i = thread; i < BINS * HISTOGRAMS; i += THREADS)
        histogram[i] = 0;

    int combination = blockIdx.x;
    bool within = combination <= random_sets; /* pairs of one set: each once */
    int first_set = within ? combination * points : 0;
    int second_set = within ? first_set : (combination - random_sets) * points;

    for (int start = 0; start < points; start += THREADS) {
        int length = min(THREADS, points - start);
        __syncthreads();
        if (thread < length) {
            int i = first_set + start + thread;
            tile[thread].x = x[i];
            tile[thread].y = y[i];
            tile[thread].z = z[i];
        }
        __syncthreads();
        for (int other = (within ? start : 0) + thread; other < points; other += THREADS) {
            float px = x[second_set + other];
            float py = y[second_set + other];
            float pz = z[second_set + other];
            int partners = within ? min(length, other - start) : length;
#pragma unroll 1
            for (int k = 0; k < partners; k++) {
                float cosine = fmaf(px, tile[k].x, fmaf(py, tile[k].y, __fmul_rn(pz, tile[k].z)));
                if (cosine <= border_cosine[0] && cosine > border_cosine[BINS])
                    atomicAdd(&histogram[bin_of(cosine) * HISTOGRAMS + threadIdx.x / SHARING], 1u);
            }
        }
    }
    __syncthreads();

    for (int bin = thread / WARP; bin < BINS; bin += THREADS / WARP) {
        int sum = 0;
        for (int i = thread % WARP; i < HISTOGRAMS; i += WARP)
            sum += (int)histogram[bin * HISTOGRAMS + i];
        for (unsigned int distance = WARP / 2; distance > 0; distance /= 2)
            sum += __shfl_down_sync(0xffffffffu, sum, distance);
        if (thread % WARP == 0)
            result[combination * BINS + bin] = (unsigned int)sum;
    }
}
