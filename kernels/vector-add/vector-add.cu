/* SPDX-License-Identifier: MIT */
/*
 * vector-add: c = a + b, single precision, one thread per element, thread blocks of 256.
 *
 * The first program of every CUDA course. Its cycles on a Quadro V100 are published for 4 000 000 and 6 000 000
 * elements, hence the sizes v100 and v100-6m: the difference of the two is bandwidth alone, what remains is the cost of
 * a launch.
 *
 * What limits it: DRAM bandwidth. 12 bytes per element, each used once, for one addition; two reads to one write.
 */
extern "C" __global__ void __launch_bounds__(256) vector_add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
