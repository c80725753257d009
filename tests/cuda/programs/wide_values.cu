/* SPDX-License-Identifier: MIT */
/* Integers of 128 bits, whose division nvcc makes of chains that both add and subtract, and atomic additions to vectors of floats. */
#include "check.h"

#include <cuda_runtime.h>

typedef unsigned __int128 wide;
typedef unsigned long long word;

__host__ __device__ static void compute(wide a, wide b, wide *results)
{
    results[0] = a * b + a;
    results[1] = a / b;
    results[2] = a % b;
    results[3] = (wide)((__int128)(a >> 3) - (__int128)b);
    results[4] = (wide)(-(__int128)(a >> 3) / (__int128)(b >> 1 | 1));
}

__global__ void divide(const word *pairs, word *results)
{
    const word *pair = pairs + threadIdx.x * 4;
    wide found[5];
    compute((wide)pair[1] << 64 | pair[0], (wide)pair[3] << 64 | pair[2], found);
    for (int i = 0; i < 5; i++) {
        results[threadIdx.x * 10 + i * 2] = (word)found[i];
        results[threadIdx.x * 10 + i * 2 + 1] = (word)(found[i] >> 64);
    }
}

__global__ void add(float2 *two, float4 *four, float *seen)
{
    atomicAdd(two, make_float2(1, 2));
    float4 before = atomicAdd(four, make_float4(1, 2, 3, 4));
    seen[blockIdx.x * blockDim.x + threadIdx.x] = before.x;
}

int main()
{
    const int pairs = 128;
    word *inputs, *results;
    CHECK(cudaMallocManaged(&inputs, sizeof(word) * 4 * pairs));
    CHECK(cudaMallocManaged(&results, sizeof(word) * 10 * pairs));
    word random = 1;
    for (int i = 0; i < 4 * pairs; i++) {
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        inputs[i] = random ^ random >> 31;
        if (i % 4 >= 2) /* divisors of every length, with high words of 0 */
            inputs[i] = i / 4 % 2 && i % 4 == 3 ? 0 : inputs[i] >> i / 4 % 63 | (i % 4 == 2);
    }
    divide<<<1, pairs>>>(inputs, results);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < pairs; i++) {
        wide expected[5];
        const word *pair = inputs + i * 4, *found = results + i * 10;
        compute((wide)pair[1] << 64 | pair[0], (wide)pair[3] << 64 | pair[2], expected);
        for (int k = 0; k < 5; k++)
            EXPECT(found[2 * k] == (word)expected[k] && found[2 * k + 1] == (word)(expected[k] >> 64));
    }

    float2 *two;
    float4 *four;
    float *seen;
    CHECK(cudaMallocManaged(&two, sizeof *two));
    CHECK(cudaMallocManaged(&four, sizeof *four));
    CHECK(cudaMallocManaged(&seen, sizeof *seen * 128));
    *two = make_float2(0, 0);
    *four = make_float4(0, 0, 0, 0);
    add<<<2, 64>>>(two, four, seen);
    CHECK(cudaDeviceSynchronize());
    EXPECT(two->x == 128 && two->y == 256);
    EXPECT(four->x == 128 && four->y == 256 && four->z == 384 && four->w == 512);
    bool met[128] = {false};
    for (int i = 0; i < 128; i++) { /* each thread found another sum */
        EXPECT(seen[i] >= 0 && seen[i] < 128 && !met[(int)seen[i]]);
        met[(int)seen[i]] = true;
    }
    return 0;
}
