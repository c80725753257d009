/* SPDX-License-Identifier: MIT */
/*
 * cp: the electrostatic potential of point charges on the points of a plane of a lattice, by direct summation
 * (Coulomb), single precision.
 *
 * Atoms come in chunks of at most 4000, copied to constant memory before each launch: position in the plane, square
 * of the distance from the plane (computed on the host), charge. A launch adds the potential of its chunk to every
 * point. A thread computes eight points of a row, 16 apart, so that a warp's stores are coalesced and dy, which they
 * share, is computed once; the inverse distance comes from the special function unit.
 *
 * SMQoS (Parallel Computing 2022, table 3) has a compute-intensive CP from Parboil and calls its kernel
 * cuda_cutoff_potential, which would be the cutoff variant (here: cutcp); the program named cp, of the first edition
 * of Parboil, is this one (cuenergy), known as compute-bound from many papers. The same shape here: a plane of 512 x
 * 512 points, thread blocks of 16 x 8, 256 of them, chunks of 4000 atoms. Where ours differs: the program has 40 000
 * atoms, ten launches; large has 4000, one full chunk, and small and medium several short ones, the last of them
 * shorter.
 *
 * What limits it: issue, and the special function unit. Each atom is 16 bytes that all threads read alike from the
 * constant cache, for 8 reciprocal square roots and some 30 other instructions; DRAM sees the plane once per launch.
 */
#define MAX_ATOMS 4000
#define POINTS 8 /* of a thread */
#define WIDTH 16
#define HEIGHT 8

__constant__ float4 atoms[MAX_ATOMS]; /* x, y, square of the distance from the plane, charge */

extern "C" __global__ void __launch_bounds__(WIDTH *HEIGHT)
    coulomb_potential(int count, float spacing, float *potential)
{
    const int column = blockIdx.x * WIDTH * POINTS + threadIdx.x;
    const int row = blockIdx.y * HEIGHT + threadIdx.y;
    const float x = spacing * column;
    const float y = spacing * row;
    const float stride = spacing * WIDTH;
    float sum[POINTS];
#pragma unroll
    for (int k = 0; k < POINTS; k++)
        sum[k] = 0.0f;

    for (int i = 0; i < count; i++) {
        float4 atom = atoms[i];
        float dy = y - atom.y;
        float dyz2 = dy * dy + atom.z;
        float dx = x - atom.x;
#pragma unroll
        for (int k = 0; k < POINTS; k++) {
            sum[k] += atom.w * rsqrtf(dx * dx + dyz2);
            dx += stride;
        }
    }

    float *point = potential + row * (gridDim.x * WIDTH * POINTS) + column;
#pragma unroll
    for (int k = 0; k < POINTS; k++)
        point[k * WIDTH] += sum[k];
}
