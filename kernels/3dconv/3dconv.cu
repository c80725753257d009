/*
 * 3dconv: convolution of a 3D array with eleven weights, single precision; the border of the result is left alone.
 *
 * As in PolyBench/GPU, one 2-D launch per plane, one thread per element of it, thread blocks of 32 x 8: 254 launches of 256 thread
 * blocks for the program's own 256 x 256 x 256. The eleven points are that program's: of the planes before and after, one point
 * below left and the three of the column to the right; of the plane itself, the column of the point. Cycles on a Quadro V100 are
 * published, hence size v100.
 *
 * What limits it: memory, and the launches. An element is 4 bytes in and 4 bytes out, its neighbours come from the caches (three planes
 * fit the L2); but a plane is less than a V100 can hold at a time, so that each launch is latency from its start to its end.
 */
extern "C" __global__ void __launch_bounds__(256) convolution_3d(const float *in, float *out, int i, int nj, int nk)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (j < 1 || k < 1 || j >= nj - 1 || k >= nk - 1)
        return;
    int plane = nj * nk;
    int point = i * plane + j * nk + k;
    const float *here = in + point;
    const float *before = here - plane, *after = here + plane;
    out[point] = 0.1875f * before[-nk - 1] + 0.25f * after[-nk - 1] - 0.3125f * here[-nk] + 0.5625f * here[0] -
                 0.4375f * here[nk] + 0.375f * before[1 - nk] + 0.625f * after[1 - nk] - 0.5f * before[1] +
                 0.6875f * after[1] - 0.75f * before[nk + 1] + 0.125f * after[nk + 1];
}
