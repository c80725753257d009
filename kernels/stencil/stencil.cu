/*
 * stencil: Jacobi iteration with the 7-point stencil on a 3D grid, single precision, several time steps between two grids.
 *
 * The papers use Parboil's stencil as a memory-intensive kernel (block2Dregtiling in table 2-2 of the SMK chapter: 75 % of the
 * registers, no shared memory, all 2048 threads of a GTX 980 SM, that is 24 registers; 91 % of the cycles stalled). The same blocking:
 * a thread block of 32 by 4 threads walks through z, each thread keeps the points below, at and above it in registers.
 *
 * What limits it: DRAM bandwidth. A point is 4 bytes in and 4 bytes out for 8 floating point operations; neighbours in x
 * and y come from the caches.
 */
extern "C" __global__ void __launch_bounds__(128)
    stencil_step(float centre_weight, float neighbour_weight, const float *in, float *out, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1)
        return;
    long row = nx;
    long plane = nx * ny;
    const float *from = in + (y * nx + x) + plane;
    float *to = out + (y * nx + x) + plane;
    float below = from[-plane];
    float centre = *from;
    for (int z = 1; z < nz - 1; z++) {
        float above = from[plane];
        float neighbours = above + below + from[row] + from[-row] + from[1] + from[-1];
        *to = neighbours * neighbour_weight - centre * centre_weight;
        from += plane;
        to += plane;
        below = centre;
        centre = above;
    }
}
