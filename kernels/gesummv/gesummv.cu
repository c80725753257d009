/* SPDX-License-Identifier: MIT */
/*
 * gesummv: y = alpha * A * x + beta * B * x, single precision, A and B square and stored by rows.
 *
 * One kernel as in PolyBench/GPU, one thread per row, both sums side by side in memory (tmp and y); thread blocks of
 * 256 threads in one dimension (grid 16 for the program's own 4096 x 4096). SMQoS (Parallel Computing 2022) counts it
 * among its memory-intensive programs (GESUMMV), and its cycles on a Quadro V100 are published, hence size v100.
 *
 * What limits it: memory. Every element of both matrices is used once. The threads of a warp read words a row apart, 32
 * lines per load and two loads per iteration: one thread block walks through 512 lines at a time (64 KB), which is more
 * than the L1 of a GTX 980 holds, so that lines are fetched again and again.
 */
extern "C" __global__ void __launch_bounds__(256)
    gesummv(const float *a, const float *b, const float *x, float *tmp, float *y, int n, float alpha, float beta)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    for (int j = 0; j < n; j++) {
        tmp[i] += a[i * n + j] * x[j];
        y[i] += b[i * n + j] * x[j];
    }
    y[i] = alpha * tmp[i] + beta * y[i];
}
