/* SPDX-License-Identifier: MIT */
// SPDX-License-Identifier: MIT
// Two programs of which one is to be undisturbed: a server with requests of a fixed rate, and a batch program that fills the GPU.
//
//   share serve SECONDS INTERVAL_US KERNELS ROUNDS    requests, each KERNELS launches of 132 thread blocks and a wait; a row of latencies
//   share batch SECONDS BLOCKS ROUNDS                 launches of BLOCKS thread blocks, 8 of them under way; launches a second
//
// ROUNDS are iterations of a thread: how long a thread block takes. Times are those of the host (CLOCK_MONOTONIC). A request that is
// due while another one is answered waits, and its latency begins when it was due.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#define CHECK(call) \
    do { \
        cudaError_t error_ = (call); \
        if (error_ != cudaSuccess) { \
            std::fprintf(stderr, "share.cu:%d: %s\n", __LINE__, cudaGetErrorString(error_)); \
            std::exit(1); \
        } \
    } while (0)

__global__ void work(float *data, int rounds)
{
    float x = data[threadIdx.x];
    for (int i = 0; i < rounds; i++)
        x = x * 0.9999f + 1.0f;
    data[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

static double now()
{
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void serve(double seconds, double interval, int kernels, int rounds)
{
    float *data;
    cudaStream_t stream;
    std::vector<double> latencies;
    CHECK(cudaMalloc(&data, 132 * 256 * sizeof *data));
    CHECK(cudaMemset(data, 0, 132 * 256 * sizeof *data));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    work<<<132, 256, 0, stream>>>(data, rounds);
    CHECK(cudaStreamSynchronize(stream));
    double begun = now(), due = begun;
    for (; due < begun + seconds; due += interval) {
        while (now() < due)
            ;
        for (int i = 0; i < kernels; i++)
            work<<<132, 256, 0, stream>>>(data, rounds);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(stream));
        latencies.push_back(now() - due);
    }
    double took = now() - begun;
    std::sort(latencies.begin(), latencies.end());
    size_t count = latencies.size();
    auto rank = [&](double part) { return latencies[std::min(count - 1, (size_t)(part * count))] * 1e6; };
    std::printf("serve requests %zu seconds %.3f min_us %.1f p50_us %.1f p90_us %.1f p99_us %.1f max_us %.1f\n", count, took,
                latencies[0] * 1e6, rank(.5), rank(.9), rank(.99), latencies[count - 1] * 1e6);
}

static void batch(double seconds, int blocks, int rounds)
{
    enum { UNDER_WAY = 8 };
    float *data;
    cudaEvent_t ends[UNDER_WAY];
    CHECK(cudaMalloc(&data, (size_t)blocks * 256 * sizeof *data));
    CHECK(cudaMemset(data, 0, (size_t)blocks * 256 * sizeof *data));
    for (cudaEvent_t &end : ends)
        CHECK(cudaEventCreateWithFlags(&end, cudaEventDisableTiming));
    work<<<blocks, 256>>>(data, rounds);
    CHECK(cudaDeviceSynchronize());
    double begun = now();
    long launches = 0;
    for (; now() < begun + seconds; launches++) {
        if (launches >= UNDER_WAY)
            CHECK(cudaEventSynchronize(ends[launches % UNDER_WAY]));
        work<<<blocks, 256>>>(data, rounds);
        CHECK(cudaEventRecord(ends[launches % UNDER_WAY]));
    }
    CHECK(cudaDeviceSynchronize());
    double took = now() - begun;
    std::printf("batch launches %ld seconds %.3f each_us %.2f per_second %.1f\n", launches, took, took / launches * 1e6,
                launches / took);
}

int main(int count, char **words)
{
    if (count == 6 && std::strcmp(words[1], "serve") == 0)
        serve(std::atof(words[2]), std::atof(words[3]) * 1e-6, std::atoi(words[4]), std::atoi(words[5]));
    else if (count == 5 && std::strcmp(words[1], "batch") == 0)
        batch(std::atof(words[2]), std::atoi(words[3]), std::atoi(words[4]));
    else {
        std::fprintf(stderr, "share serve SECONDS INTERVAL_US KERNELS ROUNDS | share batch SECONDS BLOCKS ROUNDS\n");
        return 2;
    }
    return 0;
}
