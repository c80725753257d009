/* SPDX-License-Identifier: MIT */
/* Functions of the host in streams: in order, and with what the stream did before. */
#include "check.h"

struct state {
    int *value;
    int seen, calls;
};

__global__ void add(int *p, int what)
{
    *p += what;
}

static void look(void *user)
{
    state *s = (state *)user;
    s->seen = *s->value;
    s->calls++;
}

static void called(cudaStream_t, cudaError_t error, void *user)
{
    state *s = (state *)user;
    s->calls += error == cudaSuccess ? 10 : 1000;
}

int main()
{
    int *host, *device;
    cudaStream_t stream;
    CHECK(cudaMallocHost(&host, sizeof *host));
    CHECK(cudaMalloc(&device, sizeof *device));
    CHECK(cudaStreamCreate(&stream));
    state s = {host, -1, 0};
    CHECK(cudaMemsetAsync(device, 0, sizeof *device, stream));
    add<<<1, 1, 0, stream>>>(device, 5);
    CHECK(cudaMemcpyAsync(host, device, sizeof *host, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaLaunchHostFunc(stream, look, &s));
    CHECK(cudaStreamAddCallback(stream, called, &s, 0));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(s.seen == 5 && s.calls == 11);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaLaunchHostFunc(stream, 0, 0));
    return 0;
}
