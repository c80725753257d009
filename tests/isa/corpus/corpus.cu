/* SPDX-License-Identifier: MIT */
/*
 * Kernels whose PTX, as clang 14 and nvcc 13 made it, is committed beside this file: what compilers emit, not what we would write.
 *
 *   clang-14 -x cuda --cuda-device-only -nocudainc -nocudalib -S -O2 -fdeclspec --cuda-path=/nonexistent --cuda-gpu-arch=sm_70 \
 *       -Xclang -target-feature -Xclang +ptx63 -include kernels/include/device.h -o clang.ptx corpus.cu
 *   nvcc -ptx -arch=sm_75 -o nvcc.ptx corpus.cu
 */
#ifndef __NVCC__
extern "C" __device__ int printf(const char *, ...);
#else
#include <cstdio>
#endif

struct Pair {
    int first;
    double second;
};

__constant__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};

/* Loops of different length, 64-bit arithmetic, a switch. */
extern "C" __global__ void collatz(unsigned long long *steps, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned long long x = i + 1, count = 0;
    while (x != 1) {
        x = x & 1 ? 3 * x + 1 : x / 2;
        count++;
    }
    switch (i % 5) {
    case 0:
        count = count * 7 % 1000003;
        break;
    case 1:
        count += primes[i & 7];
        break;
    case 2:
        count ^= 0xff00ff00ff00ull;
        break;
    case 3:
        count = count / 3 + 5;
        break;
    }
    steps[i] = count;
}

/* Shared tile, two dimensions, partial blocks. */
extern "C" __global__ void transpose(const float *in, float *out, int width, int height)
{
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < width && y < height)
        tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    if (x < height && y < width)
        out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

/* A structure by value, double precision, a local array that is indexed at run time. */
extern "C" __global__ void polynomial(double *out, Pair pair, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int digits[12];
    for (int k = 0; k < 12; k++)
        digits[(k * 5 + pair.first) % 12] = i * k - k;
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum = sum * pair.second + digits[(i + k) % 12];
    out[i] = sum;
}

static __device__ __noinline__ unsigned square(unsigned x)
{
    return x * x;
}
static __device__ __noinline__ unsigned halve(unsigned x)
{
    return x / 2 + 1;
}
static __device__ __noinline__ unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}
typedef unsigned (*function)(unsigned);
__device__ function functions[2] = {square, halve};

extern "C" __global__ void indirect(unsigned *out)
{
    unsigned i = threadIdx.x;
    out[i] = functions[i % 3 == 0](i) + ackermann(i & 1, i % 4);
}

/* Histogram in shared memory with atomics, then global ones. */
extern "C" __global__ void histogram(const unsigned char *data, unsigned *bins, int n)
{
    extern __shared__ unsigned counts[];
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        counts[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&counts[data[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        atomicAdd(&bins[i], counts[i]);
}

/* A sum by shuffles, vector loads. */
extern "C" __global__ void sum(const float4 *in, float *out, int n)
{
    float total = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float4 v = in[i];
        total += v.x * v.y + v.z * v.w;
    }
    for (int step = 16; step > 0; step /= 2)
#ifdef __NVCC__
        total += __shfl_xor_sync(0xffffffff, total, step);
#else
        total += __nvvm_shfl_sync_bfly_f32(0xffffffff, total, step, 31);
#endif
    if ((threadIdx.x & 31) == 0)
        out[threadIdx.x / 32] = total;
}

extern "C" __global__ void speak(int n)
{
    if (threadIdx.x < n)
        printf("thread %d of %s: %5.2f %c %llx\n", (int)threadIdx.x, "corpus", threadIdx.x * 1.5, 'a' + (int)threadIdx.x,
               1ull << (threadIdx.x + 30));
}
