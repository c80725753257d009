/* SPDX-License-Identifier: MIT */
/* y[i] is the mean of x around i; a thread each. `trap` makes the thread of that iteration fail. */
extern "C" __global__ void smooth(const float *x, float *y, unsigned long long begin, unsigned long long end,
                                  unsigned long long count, unsigned long long trap)
{
    unsigned long long i = begin + (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= end)
        return;
    if (i == trap)
        asm volatile("trap;");
    float sum = 0;
    for (int offset = -32; offset <= 32; offset++) {
        long long place = (long long)i + offset;
        sum += place < 0 || place >= (long long)count ? 0.0f : x[place];
    }
    y[i] = sum * (1.0f / 65);
}
