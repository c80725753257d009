/*
 * Kernels whose cycles on real GPUs are published (PolyBench-GPU programs and vectorAdd, written anew from their definitions), and
 * two that reach for the peaks of a GPU. run.py runs them; docs/gpu-validation.md has the results.
 */

#define THREAD_X (blockIdx.x * blockDim.x + threadIdx.x)
#define THREAD_Y (blockIdx.y * blockDim.y + threadIdx.y)

/* 3x3 stencil over an n x n array; the border is left alone. */
extern "C" __global__ void convolution_2d(const float *a, float *b, int n)
{
    int j = THREAD_X, i = THREAD_Y;
    if (i < 1 || j < 1 || i >= n - 1 || j >= n - 1)
        return;
    const float *above = a + (i - 1) * n + j, *here = above + n, *below = here + n;
    b[i * n + j] = 0.2f * above[-1] - 0.3f * above[0] + 0.4f * above[1] + 0.5f * here[-1] + 0.6f * here[0] +
                   0.7f * here[1] - 0.8f * below[-1] - 0.9f * below[0] + 0.1f * below[1];
}

/* y += A x, one thread per row: neighbouring threads read 4 n bytes apart. The sum stays in memory, as in the program. */
extern "C" __global__ void rows_times_vector(const float *a, const float *x, float *y, int n)
{
    int i = THREAD_X;
    if (i >= n)
        return;
    for (int j = 0; j < n; j++)
        y[i] += a[i * n + j] * x[j];
}

/* y += A' x, one thread per column: neighbouring threads read neighbouring words. */
extern "C" __global__ void columns_times_vector(const float *a, const float *x, float *y, int n)
{
    int j = THREAD_X;
    if (j >= n)
        return;
    for (int i = 0; i < n; i++)
        y[j] += a[i * n + j] * x[i];
}

/* C = beta C + alpha A B, one thread per output; the sum stays in memory, as in the program. */
extern "C" __global__ void gemm(const float *a, const float *b, float *c, int n, float alpha, float beta)
{
    int j = THREAD_X, i = THREAD_Y;
    if (i >= n || j >= n)
        return;
    c[i * n + j] *= beta;
    for (int k = 0; k < n; k++)
        c[i * n + j] += alpha * a[i * n + k] * b[k * n + j];
}

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int i = THREAD_X;
    if (i < n)
        c[i] = a[i] + b[i];
}

/* Eight independent chains of multiply-adds per thread, 16 operations a step; two registers are read, so that banks are no limit. */
extern "C" __global__ void multiply_adds(float *out, int steps, float x)
{
    float s[8];
    for (int k = 0; k < 8; k++)
        s[k] = (float)(threadIdx.x + k);
    for (int i = 0; i < steps; i++)
#pragma unroll
        for (int k = 0; k < 8; k++)
            s[k] = __builtin_fmaf(s[k], x, x);
    float sum = 0;
    for (int k = 0; k < 8; k++)
        sum += s[k];
    out[THREAD_X] = sum;
}

/* Every thread reads `steps` words, neighbouring threads neighbouring ones, four loads at a time. */
extern "C" __global__ void stream_read(const float *a, float *out, int steps)
{
    unsigned int threads = gridDim.x * blockDim.x;
    float sum = 0;
    for (int i = 0; i < steps; i += 4) {
        const float *from = a + (unsigned long long)i * threads + THREAD_X;
        float p = from[0], q = from[threads], r = from[2ull * threads], s = from[3ull * threads];
        sum += (p + q) + (r + s);
    }
    out[THREAD_X] = sum;
}
