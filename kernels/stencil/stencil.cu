/* SPDX-License-Identifier: MIT */
/*
 * stencil: Jacobi iteration with the 7-point stencil on a 3D grid, single precision, several time steps between two
 * grids.
 *
 * The papers use Parboil's stencil as a memory-intensive kernel (block2Dregtiling in table 2-2 of the SMK chapter: 75 %
 * of the registers, no shared memory, all 2048 threads of a GTX 980 SM, that is 24 registers; 91 % of the cycles
 * stalled). The same blocking: a thread block of 32 by 4 threads walks through z, each thread keeps the points below,
 * at and above it in registers.
 *
 * What limits it: DRAM bandwidth. A point is 4 bytes in and 4 bytes out for 8 floating point operations; neighbours
 * in x and y come from the caches.
 */
extern "C" __global__ void __launch_bounds__(128)
    stencil_step(float centre_weight, float neighbour_weight, const float *in, float *out, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1)
        return;
    int plane = nx * ny;
    int point = plane + y * nx + x;
    float below = in[point - plane];
    float centre = in[point];
#pragma unroll 1
    for (int z = nz - 2; z > 0; z--) {
        float above = in[point + plane];
        float neighbours = above + below + in[point + nx] + in[point - nx] + in[point + 1] + in[point - 1];
        out[point] = neighbours * neighbour_weight - centre * centre_weight;
        point += plane;
        below = centre;
        centre = above;
    }
}
