/* SPDX-License-Identifier: MIT */
/*
 * 2dconv: convolution of a 2D array with nine weights, single precision; the border of the result is left alone.
 *
 * One kernel as in PolyBench/GPU: one thread per element, thread blocks of 32 x 8, nine loads from global memory, the
 * weights are constants in the code. One of the programs whose cycles on a Quadro V100 are published, hence size v100,
 * its own 4096 x 4096.
 *
 * What limits it: the L1 of each SM on a GTX 980, DRAM bandwidth elsewhere. An element is 4 bytes in and 4 bytes out
 * for nine multiply-adds; the neighbours come from the caches. All loads are under way before the first is used, as
 * assemblers for the hardware arrange it anyway; then nine loads of a warp and those of its neighbours want the same
 * lines at once, more than an MSHR of that L1 merges (8). The load/store unit waits for three cycles of four, DRAM is
 * busy for two fifths of the time, and speed grows with the SMs.
 */
extern "C" __global__ void __launch_bounds__(256) convolution_2d(const float *in, float *out, int ni, int nj)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || j < 1 || i >= ni - 1 || j >= nj - 1)
        return;
    const float *here = in + (i * nj + j);
    const float *above = here - nj, *below = here + nj;
    float a = above[-1], b = above[0], c = above[1];
    float d = here[-1], e = here[0], f = here[1];
    float g = below[-1], h = below[0], k = below[1];
    out[i * nj + j] = 0.1875f * a - 0.25f * b + 0.3125f * c + 0.4375f * d + 0.5625f * e + 0.625f * f - 0.75f * g -
                      0.875f * h + 0.125f * k;
}
