/* SPDX-License-Identifier: MIT */
// The source of the .ptx files of the same name: nvcc_*.ptx by nvcc 13 (-ptx -arch=sm_75, with the option that the name says), comments removed.
#include <stdio.h>

struct point {
    float x, y, z;
    int n;
    double d;
};

__constant__ float table[16] = {1, 2, 3.5f};
__constant__ int pairs[4][2] = {{1, 2}, {3, 4}};
__device__ int counter = 7;
__device__ int *pointer = &counter;
__device__ const char *message = "hello";
typedef float (*function)(float);
__device__ __noinline__ float twice(float a)
{
    return a * 2 + counter;
}
__device__ __noinline__ float root(float a)
{
    return sqrtf(a);
}
__device__ function functions[2] = {twice, root};
__device__ __noinline__ point make(int n, float v)
{
    return point{v, v * 2, 1 / v, n, v / 3.0};
}
__device__ __noinline__ long long factorial(int n)
{
    return n < 2 ? 1 : n * factorial(n - 1);
}
extern __shared__ float dynamic[];

__global__ void __launch_bounds__(256, 2) calls(float *out, const float *in, point p)
{
    __shared__ float tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = in[i];
    __syncthreads();
    float v = functions[i & 1](tile[255 - threadIdx.x]);
    point q = make(i, v);
    out[i] = q.x + q.y + q.z + q.n + (float)q.d + p.x + p.d + factorial(i & 7) + dynamic[i & 3] + table[i & 15] + pairs[i & 3][1];
    if (i == 0)
        printf("v=%f %s\n", v, message);
}

__global__ void integers(int *o, const int *a, unsigned *u, long long *l, int n)
{
    int i = threadIdx.x, x = a[i];
    o[i] = x / n + x % n;
    u[i] = __popc(x) + __clz(x) + __brev(x) + __ffs(x) + __byte_perm(x, n, 0x3210) + __mulhi(x, n) + __umulhi(x, n);
    l[i] = l[i] / n + __popcll(l[i]) + __clzll(l[i]) + (l[i] << n) + __mul64hi(l[i], x);
    u[i] += __funnelshift_l(x, n, 3) + __sad(x, n, 1u) + __dp4a(x, n, 3);
    o[i] += __shfl_xor_sync(~0u, x, 1) + __shfl_up_sync(~0u, x, 2) + __shfl_sync(~0u, x, 3);
    u[i] += __ballot_sync(~0u, x > 0) + __any_sync(~0u, x > 1) + __all_sync(~0u, x > 2) + __activemask();
    atomicAdd(o, x);
    atomicMax(o, x);
    atomicCAS(o, x, 3);
    atomicExch(o, 4);
    atomicInc(u, 5);
    atomicAdd((float *)o + 1, 1.5f);
    atomicAdd((unsigned long long *)l, 2ull);
    __threadfence();
    __threadfence_block();
    __syncwarp();
}

__global__ void floats(float *f, double *d)
{
    int i = threadIdx.x;
    float x = f[i];
    double y = d[i];
    f[i] = sqrtf(x) + rsqrtf(x) + fminf(x, 2) + fmaxf(x, 3) + fabsf(x) + truncf(x) + rintf(x) + floorf(x) + __saturatef(x) +
           __sinf(x) + __expf(x) + __logf(x) + __fmul_rz(x, 2) + __fadd_rd(x, 1) + x / 3;
    d[i] = sqrt(y) + y / 3.3 + floor(y) + fma(y, y, y) + x + (float)y + (int)y + (unsigned long long)y;
    f[i] += (int)x + (unsigned)x + (long long)x + (char)i + (short)i + (unsigned char)i;
}

__global__ void local_array(int *o, int n)
{
    int a[32];
    for (int i = 0; i < 32; i++)
        a[i] = o[i] * n;
    for (int i = 0; i < n; i++)
        a[(i * 7) & 31] += a[i & 31];
    o[threadIdx.x] = a[threadIdx.x & 31];
}

__global__ void vectors(float4 *a, double2 *b, uchar4 *c, const float4 *__restrict__ r)
{
    int i = threadIdx.x;
    float4 v = r[i];
    a[i] = make_float4(v.x, v.w, a[i].z, 1);
    b[i].x += b[i].y;
    c[i].x++;
    c[i].w += c[i].z;
}

__global__ void clocks(long long *o)
{
    long long t = clock64();
    int c = clock();
    o[threadIdx.x] = clock64() - t + clock() - c;
    if (o[0] == 12345)
        __trap();
    __nanosleep(100);
}
