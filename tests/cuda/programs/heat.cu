/* SPDX-License-Identifier: MIT */
/* Heat in a plate until it no longer changes: tiles in shared memory, a reduction, a loop on the host, events. Usage: heat [TILES [ENOUGH]] */
#include "check.h"

#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

static const int tile = 16;

__global__ void diffuse(const float *from, float *to, int size)
{
    __shared__ float plate[tile + 2][tile + 2];
    int x = blockIdx.x * tile + threadIdx.x + 1, y = blockIdx.y * tile + threadIdx.y + 1, at = y * size + x;
    int i = threadIdx.x + 1, j = threadIdx.y + 1;
    plate[j][i] = from[at];
    if (i == 1)
        plate[j][0] = from[at - 1];
    if (i == tile)
        plate[j][tile + 1] = from[at + 1];
    if (j == 1)
        plate[0][i] = from[at - size];
    if (j == tile)
        plate[tile + 1][i] = from[at + size];
    __syncthreads();
    to[at] = 0.25f * (plate[j][i - 1] + plate[j][i + 1] + plate[j - 1][i] + plate[j + 1][i]);
}

/* Differences are not negative: as such, floats and their bits have the same order. */
__global__ void largest_change(const float *a, const float *b, int count, int *largest)
{
    __shared__ float changes[256];
    float change = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        change = fmaxf(change, fabsf(a[i] - b[i]));
    changes[threadIdx.x] = change;
    for (int half = 128; half; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half)
            changes[threadIdx.x] = fmaxf(changes[threadIdx.x], changes[threadIdx.x + half]);
    }
    if (threadIdx.x == 0)
        atomicMax(largest, __float_as_int(changes[0]));
}

static int on_the_host(std::vector<float> plate, int size, int every, float enough, std::vector<float> &result)
{
    std::vector<float> next = plate;
    for (int step = 1;; step++) {
        float change = 0;
        for (int y = 1; y < size - 1; y++)
            for (int x = 1; x < size - 1; x++) {
                int at = y * size + x;
                next[at] = 0.25f * (plate[at - 1] + plate[at + 1] + plate[at - size] + plate[at + size]);
                change = std::fmax(change, std::fabs(next[at] - plate[at]));
            }
        plate.swap(next);
        if (step % every == 0 && change < enough) {
            result = plate;
            return step;
        }
    }
}

int main(int argc, char **argv)
{
    const int inner = tile * (argc > 2 ? atoi(argv[1]) : 6), size = inner + 2, every = 10;
    const float enough = argc > 2 ? (float)atof(argv[2]) : 0.2f;
    EXPECT(inner > 0 && enough > 0);
    std::vector<float> plate(size * size), want, result(size * size);
    for (int i = 0; i < size; i++) {
        plate[i] = 100; /* one edge is hot */
        plate[i * size] = (float)i;
    }
    float *from, *to, milliseconds;
    int *largest, bits, steps = 0;
    size_t bytes = plate.size() * sizeof(float);
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaMalloc(&from, bytes));
    CHECK(cudaMalloc(&to, bytes));
    CHECK(cudaMalloc(&largest, sizeof *largest));
    CHECK(cudaMemcpy(from, plate.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice));
    CHECK(cudaEventRecord(start));
    float change;
    do {
        for (int i = 0; i < every; i++) {
            diffuse<<<dim3(inner / tile, inner / tile), dim3(tile, tile)>>>(from, to, size);
            CHECK(cudaGetLastError());
            std::swap(from, to);
            steps++;
        }
        CHECK(cudaMemset(largest, 0, sizeof *largest));
        largest_change<<<8, 256>>>(from, to, size * size, largest);
        CHECK(cudaMemcpy(&bits, largest, sizeof bits, cudaMemcpyDeviceToHost));
        memcpy(&change, &bits, sizeof change);
    } while (change >= enough);
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&milliseconds, start, end));
    CHECK(cudaMemcpy(result.data(), from, bytes, cudaMemcpyDeviceToHost));
    EXPECT(steps == on_the_host(plate, size, every, enough, want));
    for (int i = 0; i < size * size; i++)
        EXPECT(result[i] == want[i]);
    EXPECT(milliseconds >= 0);
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
    CHECK(cudaFree(largest));
    return 0;
}
