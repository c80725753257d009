/* SPDX-License-Identifier: MIT */
/* Two kernels that reach for the peaks of a GPU: arithmetic and DRAM. simulated.py runs them; docs/gpu-validation.md has the results. */

#define THREAD_X (blockIdx.x * blockDim.x + threadIdx.x)

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
