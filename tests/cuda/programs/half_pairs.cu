/* SPDX-License-Identifier: MIT */
/* Pairs of halves: comparisons that are true where one is no number, saturated arithmetic, and some functions; each against single precision on the host. */
#include "check.h"

#include <cmath>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum { VALUES = 12, RESULTS = 32 };

/* F(what the device computes, what is wanted of each half), x, y and z are the host's. */
#define COMPARISON(F, name, symbol) \
    F(__h##name##2(a, b), x symbol y ? 1 : 0) \
    F(__h##name##u2(a, b), x symbol y || unordered ? 1 : 0) \
    F(both_or_none<Pair>(__hb##name##2(a, b)), both([](float p, float q) { return p symbol q; })) \
    F(both_or_none<Pair>(__hb##name##u2(a, b)), both([](float p, float q) { return p symbol q || std::isnan(p) || std::isnan(q); }))
#define ALL(F) \
    COMPARISON(F, lt, <) \
    COMPARISON(F, le, <=) \
    COMPARISON(F, gt, >) \
    COMPARISON(F, ge, >=) \
    COMPARISON(F, eq, ==) \
    F(__hadd2_sat(a, b), saturated(x + y)) \
    F(__hsub2_sat(a, b), saturated(x - y)) \
    F(__hmul2_sat(a, b), saturated(x * y)) \
    F(__hfma2_sat(a, b, a), saturated(x * y + x)) \
    F(__hisnan2(a), std::isnan(x) ? 1 : 0) \
    F(h2exp2(a), exp2f(x)) \
    F(h2exp10(a), powf(10, x)) \
    F(h2log2(a), log2f(x)) \
    F(h2log10(a), log10f(x))

template <typename Pair> __device__ Pair both_or_none(bool truth)
{
    Pair pair;
    pair.x = pair.y = truth ? 1.0f : 0.0f;
    return pair;
}

template <typename Pair> __global__ void run(const Pair *values, Pair *results)
{
    Pair a = values[threadIdx.x / VALUES], b = values[threadIdx.x % VALUES], *to = results + RESULTS * threadIdx.x;
    int count = 0;
#define ON_DEVICE(device, wanted) to[count++] = device;
    ALL(ON_DEVICE)
}

static float saturated(float x)
{
    return x > 0 ? x < 1 ? x : 1 : 0;
}

template <typename Pair, typename Half> static void check(float step)
{
    const float edges[VALUES] = {0, -0.0f, 0.25f, 0.5f, -0.5f, 1, 1.5f, -3, 60000, INFINITY, -INFINITY, NAN};
    Pair *values, *results;
    CHECK(cudaMallocManaged(&values, VALUES * sizeof *values));
    CHECK(cudaMallocManaged(&results, VALUES * VALUES * RESULTS * sizeof *results));
    for (int i = 0; i < VALUES; i++) {
        values[i].x = Half(edges[i]);
        values[i].y = Half(edges[(i + 5) % VALUES]);
    }
    run<<<1, VALUES * VALUES>>>(values, results);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < VALUES * VALUES; i++)
        for (int half = 0; half < 2; half++) {
            const Pair *from = results + RESULTS * i, p = values[i / VALUES], q = values[i % VALUES];
            float x = half ? (float)p.y : (float)p.x, y = half ? (float)q.y : (float)q.x;
            bool unordered = x != x || y != y;
            int count = 0;
            auto both = [&](bool (*compare)(float, float)) {
                return compare((float)p.x, (float)q.x) && compare((float)p.y, (float)q.y) ? 1 : 0;
            };
#define ON_HOST(device, wanted) \
    { \
        float found = half ? (float)from[count].y : (float)from[count].x, want = (float)(wanted); \
        if (!(fabsf(found - want) <= step * (1 + fabsf(want))) && found != want && !(std::isnan(found) && std::isnan(want))) { \
            fprintf(stderr, "%s of %g and %g is %g, not %g\n", #device, x, y, found, want); \
            exit(1); \
        } \
        count++; \
    }
            ALL(ON_HOST)
            if (count > RESULTS)
                exit(1);
        }
}

int main()
{
    check<__half2, __half>(0x1p-11f);
#ifndef TOOLKIT /* nvcc has those of saturated arithmetic for compute capability 8.0 */
    check<__nv_bfloat162, __nv_bfloat16>(0x1p-8f);
#endif
    return 0;
}

/* nvcc compiles the programs together. */
#undef COMPARISON
#undef ALL
#undef ON_DEVICE
#undef ON_HOST
