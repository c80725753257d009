/* SPDX-License-Identifier: MIT */
/*
 * jacobi: Jacobi's method for a dense system A x = b with a dominant diagonal, single precision: each step computes
 * every element of x from all the old ones, x_new = (b - R x) / d, where d is the diagonal of A and R the rest.
 *
 * A thread block takes eight rows, one a warp. Tiles of 1024 elements of x go through shared memory for all eight; each
 * lane multiplies every 32nd element of its row by the one of x, and the warp sums up in shared memory. The kernel sums
 * the whole row and takes what the diagonal should not have added out of the end result: x + (b - A x) / d is the same.
 * A run is `steps` steps, in which x and its successor change places.
 *
 * The CAP chapter splits it between CPU and GPU by rows (jacobi, 16K by 16K): so the kernel takes a sub-range, the rows
 * from `first` to before `last`, and writes nothing else. Both vectors begin alike, so that over several steps the
 * other elements stay as they are. Parts make the whole for one step; then they would have to be exchanged.
 *
 * What limits it: memory. Each element of the matrix is read once a step, for one multiply-add.
 */
#define ROWS 8
#define LANES 32
#define TILE 1024

extern "C" __global__ void __launch_bounds__(ROWS *LANES)
    jacobi_step(float *next, const float *a, const float *x, const float *b, int n, int first, int last)
{
    __shared__ float tile[TILE];
    __shared__ float sums[ROWS][LANES];
    int lane = threadIdx.x;
    int warp = threadIdx.y;
    int thread = warp * LANES + lane;
    int row = first + blockIdx.x * ROWS + warp;
    bool works = row < last;
    const float *elements = a + (long long)row * n;
    float sum = 0.0f;

    for (int start = 0; start < n; start += TILE) {
        int size = min(TILE, n - start);
        for (int i = thread; i < size; i += ROWS * LANES)
            tile[i] = x[start + i];
        __syncthreads();
        if (works) {
#pragma unroll 8
            for (int i = lane; i < size; i += LANES)
                sum += elements[start + i] * tile[i];
        }
        __syncthreads();
    }
    sums[warp][lane] = sum;
    __syncthreads();
#pragma unroll
    for (int half = LANES / 2; half > 0; half /= 2) {
        if (lane < half)
            sums[warp][lane] += sums[warp][lane + half];
        __syncthreads();
    }
    if (works && lane == 0)
        next[row] = x[row] + (b[row] - sums[warp][0]) / elements[row];
}
