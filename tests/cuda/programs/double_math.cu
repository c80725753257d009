/* SPDX-License-Identifier: MIT */
/* The math library in double precision, beside that of the host; a width of shuffles; atomics of 64 bits. For `corun cc`. */
#include <cmath>
#include <cstdio>

__constant__ double coefficients[3];
__device__ unsigned long long counter;

__global__ void evaluate(double *to, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    double x = 0.5 + i;
    to[i] = fma(fma(coefficients[2], x, coefficients[1]), x, coefficients[0]) + sin(x) + cos(x) + exp(-x) + log(x) +
            sqrt(x) + pow(x, 1.5) + fabs(-x) + floor(x);
    atomicAdd(&counter, 1ull);
    __threadfence_system();
}

/* Sums of 8 lanes side by side. */
__global__ void add_eights(double *to)
{
    double sum = threadIdx.x;
    for (int delta = 4; delta; delta /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, delta, 8);
    to[threadIdx.x] = __shfl_sync(0xffffffffu, sum, 0, 8);
}

int main()
{
    const int count = 100;
    double values[count], three[] = {1, 2, 3}, *to, worst = 0;
    unsigned long long counted = 0;
    cudaMalloc(&to, sizeof values);
    cudaMemcpyToSymbol(coefficients, three, sizeof three);
    evaluate<<<1, 128>>>(to, count);
    cudaMemcpy(values, to, sizeof values, cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(&counted, counter, sizeof counted);
    for (int i = 0; i < count; i++) {
        double x = 0.5 + i, right = 1 + 2 * x + 3 * x * x + std::sin(x) + std::cos(x) + std::exp(-x) + std::log(x) +
                                    std::sqrt(x) + std::pow(x, 1.5) + x + std::floor(x);
        worst = std::fmax(worst, std::fabs(values[i] / right - 1));
    }
    printf("%d %llu\n", worst < 1e-14, counted);
    add_eights<<<1, 32>>>(to);
    cudaMemcpy(values, to, 32 * sizeof *values, cudaMemcpyDeviceToHost);
    printf("%g %g %g\n", values[0], values[9], values[31]);
    return cudaGetLastError();
}
