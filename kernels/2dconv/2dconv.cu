/*
 * 2dconv: convolution of a 2D array with nine weights, single precision; the border of the result is left alone.
 *
 * One kernel as in PolyBench/GPU: one thread per element, thread blocks of 32 x 8, nine loads from global memory, the weights are
 * constants in the code. One of the programs whose cycles on a Quadro V100 are published, hence size v100, its own 4096 x 4096.
 *
 * What limits it: DRAM bandwidth. An element is 4 bytes in and 4 bytes out for nine multiply-adds; the neighbours come from the
 * caches.
 */
extern "C" __global__ void __launch_bounds__(256) convolution_2d(const float *in, float *out, int ni, int nj)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || j < 1 || i >= ni - 1 || j >= nj - 1)
        return;
    const float *here = in + (i * nj + j);
    const float *above = here - nj, *below = here + nj;
    out[i * nj + j] = 0.1875f * above[-1] - 0.25f * above[0] + 0.3125f * above[1] + 0.4375f * here[-1] +
                      0.5625f * here[0] + 0.625f * here[1] - 0.75f * below[-1] - 0.875f * below[0] + 0.125f * below[1];
}
