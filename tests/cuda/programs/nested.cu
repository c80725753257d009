/* SPDX-License-Identifier: MIT */
/* Kernels that launch kernels (dynamic parallelism), as programs write them. The word says what; without one, everything but `fault`. */
#include "check.h"

#include <algorithm>
#include <cstring>
#include <vector>

/* ---- quicksort: each part in a stream of its own, small parts in one thread ---- */

__device__ void selection_sort(unsigned *data, int left, int right)
{
    for (int i = left; i <= right; i++) {
        int least = i;
        for (int j = i + 1; j <= right; j++)
            if (data[j] < data[least])
                least = j;
        unsigned value = data[i];
        data[i] = data[least];
        data[least] = value;
    }
}

__global__ void quicksort(unsigned *data, int left, int right, int depth)
{
    if (depth >= 12 || right - left <= 24) {
        selection_sort(data, left, right);
        return;
    }
    unsigned pivot = data[(left + right) / 2];
    int i = left, j = right;
    while (i <= j) {
        while (data[i] < pivot)
            i++;
        while (data[j] > pivot)
            j--;
        if (i <= j) {
            unsigned value = data[i];
            data[i++] = data[j];
            data[j--] = value;
        }
    }
    cudaStream_t stream;
    if (left < j) {
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        quicksort<<<1, 1, 0, stream>>>(data, left, j, depth + 1);
        cudaStreamDestroy(stream);
    }
    if (i < right) {
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        quicksort<<<1, 1, 0, stream>>>(data, i, right, depth + 1);
        cudaStreamDestroy(stream);
    }
}

static unsigned random_number(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void test_quicksort()
{
    const int count = 1500;
    std::vector<unsigned> host(count), sorted(count);
    unsigned state = 1, *device;
    for (int i = 0; i < count; i++)
        host[i] = random_number(&state) % 1000;
    CHECK(cudaMalloc(&device, count * sizeof *device));
    CHECK(cudaMemcpy(device, host.data(), count * sizeof *device, cudaMemcpyHostToDevice));
    quicksort<<<1, 1>>>(device, 0, count - 1, 0);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(sorted.data(), device, count * sizeof *device, cudaMemcpyDeviceToHost));
    std::sort(host.begin(), host.end());
    EXPECT(host == sorted);
    CHECK(cudaFree(device));
}

/* ---- the Mandelbrot set by subdivision: a square whose border has one number of rounds is filled ---- */

#define SIZE 128
#define ROUNDS 96
#define SIDES 4

__host__ __device__ int rounds_of(int x, int y)
{
    float c = -2.0f + 3.0f / SIZE * x, d = -1.5f + 3.0f / SIZE * y, a = c, b = d;
    int rounds = 0;
    for (; rounds < ROUNDS && a * a + b * b < 4.0f; rounds++) {
        float next = a * a - b * b + c;
        b = 2.0f * a * b + d;
        a = next;
    }
    return rounds;
}

__global__ void fill_square(int *image, int x, int y, int size, int rounds)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size * size; i += gridDim.x * blockDim.x)
        image[(y + i / size) * SIZE + x + i % size] = rounds;
}

__global__ void every_point(int *image, int x, int y, int size)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size * size)
        image[(y + i / size) * SIZE + x + i % size] = rounds_of(x + i % size, y + i / size);
}

__global__ void mandelbrot(int *image, int x0, int y0, int size)
{
    __shared__ int least, most;
    int x = x0 + size * blockIdx.x, y = y0 + size * blockIdx.y;
    if (threadIdx.x == 0) {
        least = ROUNDS + 1;
        most = -1;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < size; i += blockDim.x)
        for (int side = 0; side < SIDES; side++) {
            int rounds = rounds_of(side == 2   ? x
                                   : side == 3 ? x + size - 1
                                               : x + i,
                                   side == 0   ? y
                                   : side == 1 ? y + size - 1
                                               : y + i);
            atomicMin(&least, rounds);
            atomicMax(&most, rounds);
        }
    __syncthreads();
    if (threadIdx.x)
        return;
    if (least == most)
        fill_square<<<1, 64>>>(image, x, y, size, least);
    else if (size > 16)
        mandelbrot<<<dim3(2, 2), 32>>>(image, x, y, size / 2);
    else
        every_point<<<(size * size + 63) / 64, 64>>>(image, x, y, size);
}

static void test_mandelbrot()
{
    std::vector<int> host(SIZE * SIZE);
    int *device, wrong = 0;
    CHECK(cudaMalloc(&device, host.size() * sizeof(int)));
    mandelbrot<<<dim3(4, 4), 32>>>(device, 0, 0, SIZE / 4);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host.data(), device, host.size() * sizeof(int), cudaMemcpyDeviceToHost));
    for (int y = 0; y < SIZE; y++)
        for (int x = 0; x < SIZE; x++)
            wrong += host[y * SIZE + x] != rounds_of(x, y);
    EXPECT(wrong < SIZE * SIZE / 200); /* the compilers of host and device may round otherwise */
    CHECK(cudaFree(device));
}

/* ---- breadth-first search: a vertex with many edges gives them to a grid ---- */

__device__ void visit(int vertex, int level, int *levels, int *next, int *count)
{
    if (atomicCAS(&levels[vertex], -1, level) == -1)
        next[atomicAdd(count, 1)] = vertex;
}

__global__ void edges_of(const int *edges, int first, int end, int level, int *levels, int *next, int *count)
{
    int i = first + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < end)
        visit(edges[i], level, levels, next, count);
}

__global__ void expand(const int *starts, const int *edges, const int *front, int front_count, int level, int *levels,
                       int *next, int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= front_count)
        return;
    int first = starts[front[i]], end = starts[front[i] + 1];
    if (end - first > 32)
        edges_of<<<(end - first + 63) / 64, 64, 0, cudaStreamFireAndForget>>>(edges, first, end, level, levels, next,
                                                                              count);
    else
        for (int edge = first; edge < end; edge++)
            visit(edges[edge], level, levels, next, count);
}

static void test_search()
{
    const int vertices = 600;
    std::vector<int> starts(vertices + 1), edges, levels(vertices, -1), queue(1, 0), found(vertices);
    unsigned state = 7;
    for (int v = 0; v < vertices; v++) {
        int degree = v % 50 == 0 ? 150 : 2;
        for (int e = 0; e < degree; e++)
            edges.push_back((int)(random_number(&state) % vertices));
        starts[v + 1] = (int)edges.size();
    }
    levels[0] = 0;
    for (size_t at = 0; at < queue.size(); at++)
        for (int e = starts[queue[at]]; e < starts[queue[at] + 1]; e++)
            if (levels[edges[e]] < 0) {
                levels[edges[e]] = levels[queue[at]] + 1;
                queue.push_back(edges[e]);
            }
    int *d_starts, *d_edges, *d_levels, *fronts[2], *count, size = 1, zero = 0;
    CHECK(cudaMalloc(&d_starts, starts.size() * 4));
    CHECK(cudaMalloc(&d_edges, edges.size() * 4));
    CHECK(cudaMalloc(&d_levels, vertices * 4));
    CHECK(cudaMalloc(&fronts[0], vertices * 4));
    CHECK(cudaMalloc(&fronts[1], vertices * 4));
    CHECK(cudaMalloc(&count, 4));
    CHECK(cudaMemcpy(d_starts, starts.data(), starts.size() * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_edges, edges.data(), edges.size() * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_levels, 255, vertices * 4));
    CHECK(cudaMemcpy(d_levels, &zero, 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(fronts[0], &zero, 4, cudaMemcpyHostToDevice));
    for (int level = 1; size; level++) {
        CHECK(cudaMemset(count, 0, 4));
        expand<<<(size + 63) / 64, 64>>>(d_starts, d_edges, fronts[0], size, level, d_levels, fronts[1], count);
        CHECK(cudaMemcpy(&size, count, 4, cudaMemcpyDeviceToHost));
        std::swap(fronts[0], fronts[1]);
    }
    CHECK(cudaMemcpy(found.data(), d_levels, vertices * 4, cudaMemcpyDeviceToHost));
    EXPECT(found == levels);
}

/* ---- three deep; the host's next kernel comes after all of them ---- */

__global__ void leaf(int *sums, int place)
{
    atomicAdd(&sums[place], threadIdx.x + 1);
}

__global__ void middle(int *sums, int place)
{
    leaf<<<2, 32>>>(sums, place * 4 + threadIdx.x);
}

__global__ void top(int *sums)
{
    middle<<<1, 4>>>(sums, threadIdx.x);
}

__global__ void add_up(const int *sums, int *total)
{
    for (int i = 0; i < 16; i++)
        *total += sums[i];
}

static void test_depth()
{
    int *device, host[17];
    CHECK(cudaMalloc(&device, sizeof host));
    CHECK(cudaMemset(device, 0, sizeof host));
    top<<<1, 4>>>(device);
    add_up<<<1, 1>>>(device, device + 16);
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 16; i++)
        EXPECT(host[i] == 2 * 32 * 33 / 2);
    EXPECT(host[16] == 16 * 2 * 32 * 33 / 2);
    CHECK(cudaFree(device));
}

/* ---- order: the null stream of a thread block, streams, events, tail launches ---- */

struct Pair {
    int first;
    double second;
    char third;
};

__global__ void note(int *log, int *count, Pair pair, unsigned char word)
{
    extern __shared__ int scratch[];
    scratch[threadIdx.x] = pair.first;
    __syncthreads();
    for (int i = 0; i < 50 * word; i++)
        __threadfence();
    if (threadIdx.x == 0 && pair.second == 2.5 && pair.third == 'x')
        log[atomicAdd(count, 1)] = scratch[blockDim.x - 1];
}

__global__ void in_order(int *log, int *count)
{
    for (int i = 0; i < 8; i++)
        note<<<1, 32, 128>>>(log, count, Pair{i, 2.5, 'x'}, (unsigned char)(8 - i));
}

__global__ void with_tails(int *log, int *count)
{
    note<<<1, 32, 128, cudaStreamTailLaunch>>>(log, count, Pair{100, 2.5, 'x'}, 0);
    note<<<1, 32, 128, cudaStreamTailLaunch>>>(log, count, Pair{101, 2.5, 'x'}, 0);
    for (int i = 0; i < 4; i++)
        note<<<1, 32, 128, cudaStreamFireAndForget>>>(log, count, Pair{i, 2.5, 'x'}, (unsigned char)(4 * i));
}

__global__ void with_events(int *log, int *count)
{
    cudaStream_t streams[2];
    cudaEvent_t event;
    cudaStreamCreateWithFlags(&streams[0], cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    note<<<1, 32, 128, streams[0]>>>(log, count, Pair{0, 2.5, 'x'}, 20);
    cudaEventRecord(event, streams[0]);
    cudaStreamWaitEvent(streams[1], event, 0);
    note<<<1, 32, 128, streams[1]>>>(log, count, Pair{1, 2.5, 'x'}, 0);
    cudaEventRecord(event, streams[1]);
    cudaStreamWaitEvent(streams[0], event, 0);
    note<<<1, 32, 128, streams[0]>>>(log, count, Pair{2, 2.5, 'x'}, 0);
    cudaEventDestroy(event);
}

__global__ void chain(int *log, int *count, int left)
{
    log[atomicAdd(count, 1)] = left;
    if (left)
        chain<<<1, 1, 0, cudaStreamTailLaunch>>>(log, count, left - 1);
}

static void test_order()
{
    int *device, log[512], count;
    CHECK(cudaMalloc(&device, sizeof log + 4));
    CHECK(cudaMemset(device, 0, sizeof log + 4));
    in_order<<<1, 1>>>(device, device + 512);
    CHECK(cudaMemcpy(log, device, sizeof log, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&count, device + 512, 4, cudaMemcpyDeviceToHost));
    EXPECT(count == 8);
    for (int i = 0; i < 8; i++)
        EXPECT(log[i] == i);
    CHECK(cudaMemset(device, 0, sizeof log + 4));
    with_tails<<<1, 1>>>(device, device + 512);
    CHECK(cudaMemcpy(log, device, sizeof log, cudaMemcpyDeviceToHost));
    EXPECT(log[0] + log[1] + log[2] + log[3] == 6 && log[4] == 100 && log[5] == 101);
    CHECK(cudaMemset(device, 0, sizeof log + 4));
    with_events<<<1, 1>>>(device, device + 512);
    CHECK(cudaMemcpy(log, device, sizeof log, cudaMemcpyDeviceToHost));
    EXPECT(log[0] == 0 && log[1] == 1 && log[2] == 2);
    CHECK(cudaMemset(device, 0, sizeof log + 4));
    chain<<<1, 1>>>(device, device + 512, 300);
    CHECK(cudaMemcpy(log, device, sizeof log, cudaMemcpyDeviceToHost));
    for (int i = 0; i <= 300; i++)
        EXPECT(log[i] == 300 - i);
    CHECK(cudaFree(device));
}

/* ---- very many ---- */

__global__ void count_up(int *count)
{
    atomicAdd(count, 1);
}

__global__ void fan_out(int *counts, int each)
{
    for (int i = 0; i < each; i++) {
        count_up<<<1, 1, 0, cudaStreamFireAndForget>>>(counts);
        if (cudaGetLastError() != cudaSuccess)
            atomicAdd(counts + 1, 1);
    }
}

static void test_fan_out()
{
    int *device, host[2];
    CHECK(cudaMalloc(&device, sizeof host));
    CHECK(cudaMemset(device, 0, sizeof host));
    fan_out<<<10, 100>>>(device, 10); /* 10 000, and 16 384 may be pending */
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[0] == 10000 && host[1] == 0);
    CHECK(cudaFree(device));
}

/* ---- copies, fills, memory and what a kernel may ask ---- */

__global__ void moves(char *data, int *told)
{
    cudaMemsetAsync(data, 7, 1000, 0);
    cudaMemcpyAsync(data + 1024, data, 1000, cudaMemcpyDeviceToDevice, 0);
    cudaMemcpyAsync(data + 2049, data + 1, 33, cudaMemcpyDeviceToDevice, 0);
    int value;
    told[0] = cudaGetDevice(&value) + value;
    told[1] = cudaGetDeviceCount(&value) + value;
    told[2] = cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0) + value;
    size_t limit;
    told[3] = cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount) + (int)limit;
    int *memory;
    told[4] = cudaMalloc((void **)&memory, 100);
    *memory = 41;
    told[5] = *memory;
    told[6] = cudaFree(memory);
    const char *text = cudaGetErrorString(cudaErrorInvalidConfiguration), *name = cudaGetErrorName((cudaError_t)1);
    told[7] = text[0] == 'i' && text[8] == 'c' && name[9] == 'I' && name[20] == 'e' && name[21] == 0;
}

static void test_moves()
{
    char *device, host[4096];
    int *told, answers[8];
    CHECK(cudaMalloc(&device, sizeof host));
    CHECK(cudaMalloc(&told, sizeof answers));
    CHECK(cudaMemset(device, 0, sizeof host));
    moves<<<1, 1>>>(device, told);
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(answers, told, sizeof answers, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 4096; i++)
        EXPECT(host[i] == (i < 1000 || (i >= 1024 && i < 2024) || (i >= 2049 && i < 2049 + 33) ? 7 : 0));
    EXPECT(answers[0] == 0 && answers[1] >= 1 && answers[2] == 32 && answers[3] == 16384);
    EXPECT(answers[4] == 0 && answers[5] == 41 && answers[6] == 0 && answers[7] == 1);
}

/* ---- errors ---- */

__global__ void wrong_shapes(int *errors)
{
    count_up<<<1, 2048>>>(errors);
    errors[1] = cudaPeekAtLastError();
    errors[2] = cudaGetLastError();
    errors[3] = cudaGetLastError();
    count_up<<<0, 1>>>(errors);
    errors[4] = cudaGetLastError();
    count_up<<<1, 1, 1 << 20>>>(errors);
    errors[5] = cudaGetLastError();
    cudaStream_t stream;
    errors[6] = cudaStreamCreateWithFlags(&stream, cudaStreamDefault);
}

__global__ void deeper(int *errors, int depth)
{
    errors[1] = depth;
    deeper<<<1, 1>>>(errors, depth + 1);
    errors[0] = cudaGetLastError();
}

static void test_errors()
{
    int *device, host[7];
    CHECK(cudaMalloc(&device, sizeof host));
    CHECK(cudaMemset(device, 0, sizeof host));
    wrong_shapes<<<1, 1>>>(device);
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[0] == 0 && host[1] == 9 && host[2] == 9 && host[3] == 0 && host[4] == 9 && host[5] == 1);
    EXPECT(host[6] == 1);
    CHECK(cudaMemset(device, 0, sizeof host));
    deeper<<<1, 1>>>(device, 0);
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[0] == cudaErrorLaunchMaxDepthExceeded && host[1] == 24);
    CHECK(cudaFree(device));
}

/* With timing: of 64 launches of one thread block, all of which wait for the first, no more than 16 can be pending. */
static void test_pending()
{
    int *device, host[2];
    CHECK(cudaMalloc(&device, sizeof host));
    CHECK(cudaMemset(device, 0, sizeof host));
    fan_out<<<1, 32>>>(device, 2);
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[0] + host[1] == 64 && host[1] > 0);
    CHECK(cudaFree(device));
}

__global__ void bad_store(int *p)
{
    p[threadIdx.x] = 1;
}

__global__ void launch_bad(int *p)
{
    bad_store<<<1, 32>>>(p);
}

static void test_fault()
{
    launch_bad<<<1, 1>>>(nullptr);
    EXPECT_ERROR(cudaErrorIllegalAddress, cudaDeviceSynchronize());
}

int main(int count, char **words)
{
    const char *word = count > 1 ? words[1] : "";
    CHECK(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, strcmp(word, "pending") ? 16384 : 16));
    static const struct {
        const char *name;
        void (*test)();
    } tests[] = {{"quicksort", test_quicksort}, {"mandelbrot", test_mandelbrot}, {"search", test_search},
                 {"depth", test_depth},         {"order", test_order},           {"fan", test_fan_out},
                 {"moves", test_moves},         {"errors", test_errors},         {"pending", test_pending},
                 {"fault", test_fault}};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (*word ? !strcmp(word, tests[i].name) : i < sizeof tests / sizeof *tests - 2)
            tests[i].test();
    if (strcmp(word, "fault"))
        CHECK(cudaDeviceSynchronize());
    return 0;
}
