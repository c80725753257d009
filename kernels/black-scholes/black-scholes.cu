/* SPDX-License-Identifier: MIT */
/*
 * black-scholes: the fair prices of many European call and put options by the formula of Black and Scholes, single
 * precision.
 *
 * Each option has a price of the underlying stock, a strike price and a time to expiry; interest rate and volatility
 * are common to all. The cumulative normal distribution is the polynomial of fifth degree of Abramowitz and Stegun,
 * 26.2.17 (|error| < 7.5e-8). Logarithm and exponential come from the special function unit, divisions and the square
 * root are correctly rounded.
 *
 * Kernelet (TPDS 2014) uses the CUDA SDK's program as BS, one of its compute-intensive kernels: 480 thread blocks of
 * 128 threads that stride over 4 million options, again and again. The same shape here.
 *
 * What limits it: memory on a GTX 980. An option takes 69 instructions and moves 20 bytes, each used once; a warp of
 * options keeps the 64 schedulers busy for one cycle and DRAM for more than three. On the Tesla C2050 of that paper,
 * where an SM issues one warp instruction a cycle, the same program needs arithmetic and DRAM about equally, so its
 * class there is not its class here.
 */
__device__ __forceinline__ float cumulative_normal(float d)
{
    const float coefficient1 = 0.31938153f;
    const float coefficient2 = -0.356563782f;
    const float coefficient3 = 1.781477937f;
    const float coefficient4 = -1.821255978f;
    const float coefficient5 = 1.330274429f;
    const float inverse_root_of_2_pi = 0.39894228f;
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float polynomial =
        k * (coefficient1 + k * (coefficient2 + k * (coefficient3 + k * (coefficient4 + k * coefficient5))));
    float tail = inverse_root_of_2_pi * __expf(-0.5f * d * d) * polynomial;
    return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void __launch_bounds__(128)
    black_scholes(float *__restrict__ call, float *__restrict__ put, const float *__restrict__ price,
                  const float *__restrict__ strike, const float *__restrict__ years, float rate, float volatility,
                  int options)
{
    int stride = gridDim.x * blockDim.x;
#pragma unroll 1 /* an option at a time, as it is written: warps hide the latency */
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < options; i += stride) {
        float s = price[i];
        float x = strike[i];
        float t = years[i];
        float deviation = volatility * sqrtf(t);
        float d1 = (__logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / deviation;
        float d2 = d1 - deviation;
        float n1 = cumulative_normal(d1);
        float n2 = cumulative_normal(d2);
        float discounted = x * __expf(-rate * t);
        call[i] = s * n1 - discounted * n2;
        put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
    }
}
