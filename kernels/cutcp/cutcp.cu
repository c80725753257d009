/* SPDX-License-Identifier: MIT */
/*
 * cutcp: the Coulomb potential of a box of water at the points of a fine lattice, cut off smoothly at a distance c: the
 * sum over the atoms nearer than c of q / r * (1 - r^2 / c^2)^2. Single precision.
 *
 * The papers use Parboil's cutcp as a compute-intensive kernel (lattice6overlap in table 2-2 of the SMK chapter: 87.5 %
 * of the registers, 67.1 % of the shared memory, all 2048 threads of a GTX 980 SM, that is 16 thread blocks of 128
 * threads with 28 registers and 4 KB; 54.5 % of the cycles stalled; by its kernel's name the CP of SMQoS, but see cp).
 * The same shape here. Space is cut into cubes of 4 A: a bin has room for the 8 atoms (x, y, z, q) of one cube, a
 * region is the 8 x 8 x 8 lattice points of one cube. A launch computes one layer of regions, a thread block of 8 x 2 x
 * 8 threads one region, four points in y per thread. Which bins are near enough to matter is the same for all regions:
 * a list of offsets in constant memory. 32 bins of it at a time go to shared memory (a warp fetches one of them, 128
 * bytes), then every thread walks over their atoms, in each bin until its first empty place. The bins around the box
 * are empty, so that nothing needs to be checked at its sides.
 *
 * In the known program the host computes, meanwhile, what the few atoms contribute that found their bins full. Here
 * there are none: the generator leaves out molecules that do not fit.
 *
 * What limits it: arithmetic. An atom costs 30 to 51 instructions for four points with a reciprocal square root in
 * each, and atoms come from shared memory. Threads of a warp disagree on which points are near enough. Threads limit
 * occupancy.
 */
#define BIN_DEPTH 8
#define BIN_FLOATS (4 * BIN_DEPTH)
#define CACHED_BINS 32
#define REGION 8
#define SPACING 0.5f /* of the lattice, in angstrom: a region is as long as a bin */
#define REGION_POINTS (REGION * REGION * REGION)
#define THREADS_Y 2
#define THREADS (REGION * THREADS_Y * REGION)
#define MAX_NEIGHBOURS 1331

__constant__ unsigned int neighbour_count;
__constant__ int neighbours[MAX_NEIGHBOURS]; /* of any region: bins relative to its own */

/* `bins` points to the bin of the first region; bins_x and bins_y count those around the box, too. */
extern "C" __global__ void __launch_bounds__(THREADS)
    cutcp_lattice(const float *bins, int bins_x, int bins_y, int region_z, int cutoff, float *potential)
{
    __shared__ float4 cache[CACHED_BINS * BIN_DEPTH];
    __shared__ const float *home; /* the region's own bin and lattice points: not in registers of every thread */
    __shared__ float *region;

    unsigned int thread = (threadIdx.z * THREADS_Y + threadIdx.y) * REGION + threadIdx.x;
    if (thread == 0) {
        home = bins + ((region_z * bins_y + (int)blockIdx.y) * bins_x + (int)blockIdx.x) * BIN_FLOATS;
        region = potential + ((region_z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * REGION_POINTS;
    }
    float cutoff2 = (float)(cutoff * cutoff);
    float inverse_cutoff2 = 1.0f / cutoff2;

    float x = SPACING * (float)(REGION * blockIdx.x + threadIdx.x);
    float y = SPACING * (float)(REGION * blockIdx.y + threadIdx.y);
    float z = SPACING * (float)(REGION * region_z + threadIdx.z);
    float sum[REGION / THREADS_Y] = {0.0f, 0.0f, 0.0f, 0.0f};

    for (unsigned int first = 0; first < neighbour_count; first += CACHED_BINS) {
        unsigned int floats = min((unsigned int)CACHED_BINS, neighbour_count - first) * BIN_FLOATS;
        __syncthreads();
        for (unsigned int i = thread; i < floats; i += THREADS)
            ((float *)cache)[i] = home[neighbours[first + i / BIN_FLOATS] * BIN_FLOATS + (int)(i % BIN_FLOATS)];
        __syncthreads();
#pragma unroll 1
        for (unsigned int i = 0; i < floats / 4; i++) {
            float4 atom = cache[i];
            if (atom.w == 0.0f) {
                i |= BIN_DEPTH - 1; /* the bin has no more: on to the next */
                continue;
            }
            float dx = atom.x - x;
            float dy = atom.y - y;
            float dz = atom.z - z;
            float dxdz2 = dx * dx + dz * dz;
#pragma unroll
            for (int point = 0; point < REGION / THREADS_Y; point++) {
                float r2 = dy * dy + dxdz2;
                if (r2 < cutoff2) {
                    float window = 1.0f - r2 * inverse_cutoff2;
                    sum[point] += atom.w * rsqrtf(r2) * window * window;
                }
                dy -= SPACING * (float)THREADS_Y;
            }
        }
    }

    unsigned int point_z = thread / (REGION * THREADS_Y);
    unsigned int point_y = thread / REGION % THREADS_Y;
    float *to = region + (point_z * REGION + point_y) * REGION + thread % REGION;
#pragma unroll
    for (int point = 0; point < REGION / THREADS_Y; point++)
        to[point * THREADS_Y * REGION] = sum[point];
}
