/* SPDX-License-Identifier: MIT */
/*
 * cg: the method of conjugate gradients for a system A x = b with a dense, symmetric, positive definite matrix, single
 * precision.
 *
 * A run computes the residual of the first guess and then `steps` steps. All scalars stay on the device, so a step is
 * six launches: the product q = A p; the dot product of p and q, in two stages: a sum per thread block, then one thread
 * block for the sum of those, which also makes alpha of it; the update of x and r together with the first stage of r's
 * dot product with itself; its second stage, which makes beta; the new direction p. The product takes four rows a
 * thread block: 256 threads go along them side by side and share what they load of p, then sum up in shared memory.
 *
 * The CAP chapter splits it between CPU and GPU by rows (cg, 16K by 16K): so the kernels take a sub-range, `count` rows
 * from `first` on. Nothing outside of these rows is written, and p is zero there: such a run solves for these elements
 * of x while the others stay as they are, a block of a block relaxation. Parts make the whole as long as nothing has to
 * pass between them: with `steps` zero, a matrix-vector product of some rows, what the paper's program splits.
 *
 * What limits it: memory. The product reads each element of the matrix once, for one multiply-add; everything else is a
 * few percent of it.
 */
#define THREADS 256
#define ROWS 4 /* of a thread block of the product */

/* Elements of `scalars` */
#define SQUARE 0 /* r * r */
#define ALPHA 1
#define BETA 2

/* The sum of what the threads have, for thread 0; the same order every time. */
__device__ __forceinline__ float sum_of_block(float *shared, float value)
{
    int thread = threadIdx.x;
    shared[thread] = value;
    __syncthreads();
#pragma unroll
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (thread < half)
            shared[thread] += shared[thread + half];
        __syncthreads();
    }
    return shared[0];
}

/* q = A v */
extern "C" __global__ void __launch_bounds__(THREADS)
    cg_multiply(float *q, const float *a, const float *v, int n, int first, int count)
{
    __shared__ float shared[ROWS][THREADS];
    int thread = threadIdx.x;
    int row = blockIdx.x * ROWS;
    const float *elements[ROWS];
    float sums[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        elements[i] = a + (long long)(first + min(row + i, count - 1)) * n; /* beyond the last one, that one again */
        sums[i] = 0.0f;
    }
    for (int column = thread; column < n; column += THREADS) {
        float factor = v[column];
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            sums[i] += elements[i][column] * factor;
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++)
        shared[i][thread] = sums[i];
    __syncthreads();
#pragma unroll
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (thread < half) {
#pragma unroll
            for (int i = 0; i < ROWS; i++)
                shared[i][thread] += shared[i][thread + half];
        }
        __syncthreads();
    }
    if (thread < ROWS && row + thread < count)
        q[first + row + thread] = shared[thread][0];
}

/* r = b - q, p = r; per thread block the sum of r * r */
extern "C" __global__ void __launch_bounds__(THREADS)
    cg_begin(float *parts, float *r, float *p, const float *b, const float *q, int first, int count)
{
    __shared__ float shared[THREADS];
    int index = blockIdx.x * THREADS + threadIdx.x;
    float residual = 0.0f;
    if (index < count) {
        residual = b[first + index] - q[first + index];
        r[first + index] = residual;
        p[first + index] = residual;
    }
    float sum = sum_of_block(shared, residual * residual);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = sum;
}

/* per thread block the sum of p * q */
extern "C" __global__ void __launch_bounds__(THREADS)
    cg_dot(float *parts, const float *p, const float *q, int first, int count)
{
    __shared__ float shared[THREADS];
    int index = blockIdx.x * THREADS + threadIdx.x;
    float sum = sum_of_block(shared, index < count ? p[first + index] * q[first + index] : 0.0f);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = sum;
}

/* One thread block: alpha from the sum of p * q. */
extern "C" __global__ void __launch_bounds__(THREADS) cg_alpha(float *scalars, const float *parts, int count)
{
    __shared__ float shared[THREADS];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < count; i += THREADS)
        sum += parts[i];
    sum = sum_of_block(shared, sum);
    if (threadIdx.x == 0)
        scalars[ALPHA] = scalars[SQUARE] / sum;
}

/* x += alpha p, r -= alpha q; per thread block the sum of r * r */
extern "C" __global__ void __launch_bounds__(THREADS)
    cg_update(float *parts, float *x, float *r, const float *p, const float *q, const float *scalars, int first,
              int count)
{
    __shared__ float shared[THREADS];
    int index = blockIdx.x * THREADS + threadIdx.x;
    float residual = 0.0f;
    if (index < count) {
        float alpha = scalars[ALPHA];
        x[first + index] += alpha * p[first + index];
        residual = r[first + index] - alpha * q[first + index];
        r[first + index] = residual;
    }
    float sum = sum_of_block(shared, residual * residual);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = sum;
}

/* One thread block: r * r, and beta, by how much it has changed. */
extern "C" __global__ void __launch_bounds__(THREADS) cg_beta(float *scalars, const float *parts, int count)
{
    __shared__ float shared[THREADS];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < count; i += THREADS)
        sum += parts[i];
    sum = sum_of_block(shared, sum);
    if (threadIdx.x == 0) {
        scalars[BETA] = sum / scalars[SQUARE];
        scalars[SQUARE] = sum;
    }
}

/* p = r + beta p */
extern "C" __global__ void __launch_bounds__(THREADS)
    cg_direction(float *p, const float *r, const float *scalars, int first, int count)
{
    int index = blockIdx.x * THREADS + threadIdx.x;
    if (index < count)
        p[first + index] = r[first + index] + scalars[BETA] * p[first + index];
}
