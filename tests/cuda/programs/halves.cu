/* SPDX-License-Identifier: MIT */
/*
 * __half and __nv_bfloat16, one and two at a time: every operation is rounded once. The host has the exact result in double precision, with what is cut off noted in its last bit, and
 * rounds that. Conversions of the host are held against those of the device over all bit patterns.
 */
#include "check.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>
#include <string.h>

enum { HALVES = 4096, OF_HALF = 20 };

template <typename H> struct of;
template <> struct of<__half> {
    typedef __half2 pair;
    static __host__ __device__ __half make(unsigned short bits)
    {
        return __ushort_as_half(bits);
    }
    static __host__ __device__ unsigned short bits(__half x)
    {
        return __half_as_ushort(x);
    }
    static __host__ __device__ float wide(__half x)
    {
        return __half2float(x);
    }
    static __host__ __device__ __half round(double x)
    {
        return __double2half(x);
    }
    static __device__ int whole(__half x)
    {
        return __half2int_rd(x);
    }
    static __device__ __half cut(float x)
    {
        return __float2half_rz(x);
    }
    static __host__ __device__ __half2 two(__half x, __half y)
    {
        return __halves2half2(x, y);
    }
};
template <> struct of<__nv_bfloat16> {
    typedef __nv_bfloat162 pair;
    static __host__ __device__ __nv_bfloat16 make(unsigned short bits)
    {
        return __ushort_as_bfloat16(bits);
    }
    static __host__ __device__ unsigned short bits(__nv_bfloat16 x)
    {
        return __bfloat16_as_ushort(x);
    }
    static __host__ __device__ float wide(__nv_bfloat16 x)
    {
        return __bfloat162float(x);
    }
    static __host__ __device__ __nv_bfloat16 round(double x)
    {
        return __double2bfloat16(x);
    }
    static __device__ int whole(__nv_bfloat16 x)
    {
        return __bfloat162int_rd(x);
    }
    static __device__ __nv_bfloat16 cut(float x)
    {
        return __float2bfloat16_rz(x);
    }
    static __host__ __device__ __nv_bfloat162 two(__nv_bfloat16 x, __nv_bfloat16 y)
    {
        return __halves2bfloat162(x, y);
    }
};

template <typename H>
__global__ void calculate(const unsigned short *a, const unsigned short *b, const unsigned short *c, unsigned short *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    typedef of<H> as;
    H x = as::make(a[i]), y = as::make(b[i]), z = as::make(c[i]);
    unsigned short *p = to + i * OF_HALF;
    p[0] = as::bits(x + y);
    p[1] = as::bits(x - y);
    p[2] = as::bits(x * y);
    p[3] = as::bits(x / y);
    p[4] = as::bits(__hfma(x, y, z));
    p[5] = as::bits(__hmin(x, y));
    p[6] = as::bits(__hmax_nan(x, y));
    p[7] = (unsigned short)(__hlt(x, y) | __heq(x, y) << 1 | __hge(x, y) << 2 | __hltu(x, y) << 3 | __hne(x, y) << 4);
    p[8] = as::bits(__hadd_sat(x, y));
    p[9] = (unsigned short)as::whole(x);
    p[10] = as::bits(hsqrt(x));
    p[11] = as::bits(-x);
    p[12] = as::bits(__habs(x));
    p[13] = as::bits(as::cut(as::wide(x) * 1.37f));
    typename of<H>::pair two = __hfma2(as::two(x, y), as::two(z, z), as::two(y, x)),
                         sum = as::two(x, y) + as::two(y, z);
    p[14] = as::bits(two.x);
    p[15] = as::bits(two.y);
    p[16] = as::bits(sum.x);
    p[17] = as::bits(sum.y);
    p[18] = as::bits(__shfl_xor_sync(0xffffffff, x, 5));
    p[19] = as::bits(hrint(x));
}

template <typename H> __global__ void convert(float *wide, unsigned short *narrow)
{
    unsigned bits = blockIdx.x * blockDim.x + threadIdx.x;
    wide[bits] = of<H>::wide(of<H>::make((unsigned short)bits));
    /* Between two neighbours, on the middle, and beside it. */
    narrow[bits] = of<H>::bits(of<H>::round((double)wide[bits] * 1.0009765625));
}

template <typename H> __global__ void add_up(H *sum, typename of<H>::pair *two)
{
    atomicAdd(sum, of<H>::round(1.0));
    atomicAdd(two, of<H>::two(of<H>::round(1.0), of<H>::round(0.5)));
}

static bool is_nan(float x)
{
    return x != x;
}

template <typename H> static bool same(unsigned short found, H wanted)
{
    return found == of<H>::bits(wanted) || (is_nan(of<H>::wide(of<H>::make(found))) && is_nan(of<H>::wide(wanted)));
}

/* a * b + c as a double whose last bit says whether something was cut off: products are exact, and what a sum lacks is known. */
static double multiply_add(double a, double b, double c)
{
    double product = a * b, sum = product + c, part = sum - product;
    double lost = (product - (sum - part)) + (c - part);
    unsigned long long bits;
    if (is_nan((float)sum) || isinf(sum) || lost == 0)
        return sum;
    memcpy(&bits, &sum, sizeof bits);
    if (!(bits & 1))
        bits += (lost > 0) == (sum > 0) ? 1 : -1;
    memcpy(&sum, &bits, sizeof bits);
    return sum;
}

template <typename H> static void check_operations(unsigned seed, unsigned one)
{
    typedef of<H> as;
    static unsigned short a[HALVES], b[HALVES], c[HALVES], found[HALVES * OF_HALF];
    unsigned short *device[4];
    for (int i = 0; i < HALVES; i++) {
        unsigned short *const of_all[] = {&a[i], &b[i], &c[i]};
        for (int k = 0; k < 3; k++) {
            seed = seed * 1664525u + 1013904223u;
            unsigned short drawn = (unsigned short)(seed >> 13);
            *of_all[k] = i % 3 ? (unsigned short)(one + (drawn & 0x81ff)) : drawn; /* near one, or anything */
        }
        if (i % 5 == 0)
            b[i] = (unsigned short)(a[i] ^ 0x8000 ^ (seed >> 20 & 1));
    }
    for (int k = 0; k < 4; k++)
        CHECK(cudaMalloc(&device[k], k < 3 ? sizeof a : sizeof found));
    CHECK(cudaMemcpy(device[0], a, sizeof a, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device[1], b, sizeof b, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device[2], c, sizeof c, cudaMemcpyHostToDevice));
    calculate<H><<<HALVES / 128, 128>>>(device[0], device[1], device[2], device[3]);
    CHECK(cudaMemcpy(found, device[3], sizeof found, cudaMemcpyDeviceToHost));
    for (int i = 0; i < HALVES; i++) {
        const unsigned short *p = found + i * OF_HALF;
        double x = as::wide(as::make(a[i])), y = as::wide(as::make(b[i])), z = as::wide(as::make(c[i]));
        bool unordered = is_nan((float)x) || is_nan((float)y);
        EXPECT(same(p[0], as::round(multiply_add(x, 1, y))) && same(p[1], as::round(multiply_add(-y, 1, x))));
        EXPECT(same(p[2], as::round(x * y)) && same(p[4], as::round(multiply_add(x, y, z))));
        EXPECT(same(p[3], as::round((double)((float)x / (float)y))));
        EXPECT(p[7] ==
               ((x < y) | (x == y) << 1 | (x >= y) << 2 | (unordered || x < y) << 3 | (!unordered && x != y) << 4));
        if (!unordered) {
            double sum = as::wide(as::round(multiply_add(x, 1, y)));
            EXPECT(as::wide(as::make(p[5])) == (x < y ? x : y) && as::wide(as::make(p[6])) == (x > y ? x : y));
            EXPECT(as::wide(as::make(p[8])) == (sum > 1 ? 1 : sum > 0 ? sum : 0));
        }
        if (fabs(x) < 30000)
            EXPECT((short)p[9] == (short)floor(x));
        EXPECT(same(p[10], as::round((double)sqrtf((float)x))));
        EXPECT(same(p[11], as::make(a[i] ^ 0x8000)) && same(p[12], as::make(a[i] & 0x7fff)));
        if (!is_nan((float)x)) {
            double scaled = (float)x * 1.37f, cut = as::wide(as::make(p[13]));
            EXPECT(fabs(cut) <= fabs(scaled) && same(p[19], as::round(rint(x))));
        }
        EXPECT(same(p[14], as::round(multiply_add(x, z, y))) && same(p[15], as::round(multiply_add(y, z, x))));
        EXPECT(same(p[16], as::round(multiply_add(x, 1, y))) && same(p[17], as::round(multiply_add(y, 1, z))));
        EXPECT(p[18] == a[i ^ 5]);
    }
}

template <typename H> static void check_conversions()
{
    typedef of<H> as;
    static float wide[65536];
    static unsigned short narrow[65536];
    float *device_wide;
    unsigned short *device_narrow;
    CHECK(cudaMalloc(&device_wide, sizeof wide));
    CHECK(cudaMalloc(&device_narrow, sizeof narrow));
    convert<H><<<256, 256>>>(device_wide, device_narrow);
    CHECK(cudaMemcpy(wide, device_wide, sizeof wide, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(narrow, device_narrow, sizeof narrow, cudaMemcpyDeviceToHost));
    for (unsigned bits = 0; bits < 65536; bits++) {
        float here = as::wide(as::make((unsigned short)bits));
        EXPECT(here == wide[bits] || (is_nan(here) && is_nan(wide[bits])));
        EXPECT(same(narrow[bits], as::round((double)here * 1.0009765625)));
        EXPECT(is_nan(here) || as::bits(H(here)) == bits);
    }
}

template <typename H> static void check_atomics()
{
    H *sum, result;
    typename of<H>::pair *two, both;
    CHECK(cudaMalloc(&sum, 4));
    CHECK(cudaMalloc(&two, 4));
    CHECK(cudaMemset(sum, 0, 4));
    CHECK(cudaMemset(two, 0, 4));
    add_up<H><<<2, 64>>>(sum, two);
    CHECK(cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&both, two, sizeof both, cudaMemcpyDeviceToHost));
    EXPECT(float(result) == 128 && float(both.x) == 128 && float(both.y) == 64);
}

int main()
{
    check_operations<__half>(3, 0x3b00);
#ifndef TOOLKIT /* which has them from compute capability 8.0 on; this is built for 7.5 */
    check_operations<__nv_bfloat16>(5, 0x3f00);
#endif
    check_conversions<__half>();
    check_conversions<__nv_bfloat16>();
    check_atomics<__half>();
    check_atomics<__nv_bfloat16>();
    return 0;
}
