/* SPDX-License-Identifier: MIT */
/* Allocation in streams: freed when the stream comes to it. */
#include "check.h"

__global__ void fill(int *p, int value)
{
    p[threadIdx.x] = value;
}

int main()
{
    cudaStream_t stream;
    cudaMemPool_t pool;
    int host[32], *first;
    size_t before, after, total;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    EXPECT(pool != 0);
    CHECK(cudaMalloc(&first, sizeof host));
    fill<<<1, 32, 0, stream>>>(first, 0); /* a module may take memory when its first kernel is launched */
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemGetInfo(&before, &total));
    for (int i = 0; i < 50; i++) {
        int *p;
        CHECK(cudaMallocAsync(&p, sizeof host, stream));
        fill<<<1, 32, 0, stream>>>(p, i);
        CHECK(cudaMemcpyAsync(host, p, sizeof host, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaFreeAsync(p, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(host[0] == 49 && host[31] == 49);
    CHECK(cudaMemPoolTrimTo(pool, 0)); /* before that, a pool may keep what it has */
    CHECK(cudaMemGetInfo(&after, &total));
    EXPECT(before == after);
    return 0;
}
