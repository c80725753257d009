/* SPDX-License-Identifier: MIT */
/* The math functions that device.h offers, over arrays: libclc's and those of the special function unit. */
extern "C" __global__ void math_functions(const float *in, float *exponential, float *logarithm, float *sine,
                                          float *cosine, float *power, float *fast_sine, float *fast_cosine, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float x = in[i];
    exponential[i] = expf(x);
    logarithm[i] = logf(fabsf(x));
    sine[i] = sinf(x);
    cosine[i] = cosf(x);
    power[i] = powf(fabsf(x), 1.75f);
    fast_sine[i] = __sinf(x);
    fast_cosine[i] = __cosf(x);
}
