/* SPDX-License-Identifier: MIT */
/*
 * 3dconv: convolution of a 3D array with eleven weights, single precision; the border of the result is left alone.
 *
 * As in PolyBench/GPU, one 2-D launch per plane, one thread per element of it, thread blocks of 32 x 8: 254 launches of
 * 256 thread blocks for the program's own 256 x 256 x 256. The eleven points are that program's: the column above, at
 * and below the point in its own plane; of the planes before and after, the column to the right and the point above
 * left. Cycles on a Quadro V100 are published, hence size v100.
 *
 * What limits it: memory, and the launches. An element is 4 bytes in and 4 bytes out, its neighbours come from the
 * caches (three planes fit the L2; all loads are under way before the first is used, as assemblers for the hardware
 * arrange it anyway). But a plane of 256 x 256 is less than a large GPU holds at a time: each launch is latency from
 * its start to its end.
 */
extern "C" __global__ void __launch_bounds__(256) convolution_3d(const float *in, float *out, int i, int nj, int nk)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (j < 1 || k < 1 || j >= nj - 1 || k >= nk - 1)
        return;
    int plane = nj * nk;
    int point = i * plane + j * nk + k;
    const float *here = in + point, *above = here - nk, *below = here + nk;
    float a = above[0], b = here[0], c = below[0];
    float d = (above - plane)[-1], e = (above - plane)[1], f = (here - plane)[1], g = (below - plane)[1];
    float h = (above + plane)[-1], l = (above + plane)[1], m = (here + plane)[1], n = (below + plane)[1];
    out[point] = -0.3125f * a + 0.5625f * b - 0.4375f * c + 0.1875f * d + 0.375f * e - 0.5f * f - 0.75f * g +
                 0.25f * h + 0.625f * l + 0.6875f * m + 0.125f * n;
}
