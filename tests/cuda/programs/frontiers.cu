/* SPDX-License-Identifier: MIT */
/*
 * Graphs as libraries for them have it: breadth-first search with queues in which warps reserve places together, shortest paths by a minimum of
 * floats that is made of compare-and-swap, components by hooking and pointer jumping. The host reads a flag that kernels set in mapped memory.
 */
#include "check.h"

#include <cmath>
#include <cstring>

#define NODES 600
#define MOST_EDGES 6000
#define THREADS 128
#define BLOCKS ((NODES + THREADS - 1) / THREADS)

struct graph {
    int first_edge[NODES + 1], to[MOST_EDGES];
    float length[MOST_EDGES];
};

static graph host;

static bool has_edge(const bool *edges, int from, int to)
{
    return edges[from * NODES + to];
}

/* Two halves without an edge between them; a few nodes have many edges. */
static void make_graph()
{
    static bool edges[NODES * NODES];
    unsigned random = 1;
    for (int i = 0; i < NODES * 4; i++) {
        random = random * 1664525 + 1013904223;
        int from = (int)(random >> 8) % NODES, to = (int)((random >> 12) % NODES * ((random >> 20) % NODES) / NODES);
        if (from == to || from / (NODES / 2) != to / (NODES / 2))
            continue;
        edges[from * NODES + to] = true;
        edges[to * NODES + from] = true;
    }
    for (int node = 0; node < NODES; node++) {
        int count = host.first_edge[node];
        for (int other = 0; other < NODES; other++) {
            if (!has_edge(edges, node, other))
                continue;
            host.length[count] = 0.25f + (float)((node + other) % 17) / 8;
            host.to[count++] = other;
        }
        EXPECT(count <= MOST_EDGES);
        host.first_edge[node + 1] = count;
    }
}

/* A place behind `*count` for each thread that wants one; one addition for all that come here together. */
__device__ int reserve(int *count, bool wants)
{
    unsigned wanting = __ballot_sync(__activemask(), wants);
    if (!wants)
        return -1;
    unsigned lane = threadIdx.x & 31;
    int leader = __ffs((int)wanting) - 1, base = 0;
    if ((int)lane == leader)
        base = atomicAdd(count, __popc(wanting));
    base = __shfl_sync(wanting, base, leader);
    return base + __popc(wanting & ((1u << lane) - 1));
}

/* A warp for each node of the frontier. */
__global__ void visit(const graph *graph, const int *frontier, int count, int *next, int *next_count, int *levels,
                      int level)
{
    int warp = (int)(blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = (int)threadIdx.x % 32;
    if (warp >= count)
        return;
    int node = frontier[warp], end = graph->first_edge[node + 1];
    for (int first = graph->first_edge[node]; first < end; first += 32) {
        int edge = first + lane, other = -1;
        bool is_new = false;
        if (edge < end) {
            other = graph->to[edge];
            is_new = atomicCAS(&levels[other], -1, level) == -1;
        }
        __syncwarp();
        int place = reserve(next_count, is_new);
        if (is_new)
            next[place] = other;
        __syncwarp();
    }
}

static void test_levels(const graph *device)
{
    static int levels[NODES], wanted[NODES];
    int *device_levels, *queues[2], *next_count, *device_count, count = 1, source = 0, level = 0;
    CHECK(cudaMalloc(&device_levels, sizeof levels));
    for (int i = 0; i < 2; i++)
        CHECK(cudaMalloc(&queues[i], NODES * sizeof(int)));
    CHECK(cudaHostAlloc(&next_count, sizeof *next_count, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&device_count, next_count, 0));
    CHECK(cudaMemset(device_levels, 0xff, sizeof levels));
    CHECK(cudaMemset(device_levels, 0, sizeof(int)));
    CHECK(cudaMemcpy(queues[0], &source, sizeof source, cudaMemcpyHostToDevice));
    while (count) {
        *next_count = 0;
        visit<<<(count * 32 + THREADS - 1) / THREADS, THREADS>>>(
            device, queues[level % 2], count, queues[(level + 1) % 2], device_count, device_levels, level + 1);
        CHECK(cudaDeviceSynchronize());
        count = *next_count;
        level++;
    }
    CHECK(cudaMemcpy(levels, device_levels, sizeof levels, cudaMemcpyDeviceToHost));
    memset(wanted, 0xff, sizeof wanted);
    wanted[0] = 0;
    for (int round = 0; round < NODES; round++)
        for (int node = 0; node < NODES; node++)
            for (int edge = host.first_edge[node]; wanted[node] == round && edge < host.first_edge[node + 1]; edge++)
                if (wanted[host.to[edge]] < 0)
                    wanted[host.to[edge]] = round + 1;
    EXPECT(!memcmp(levels, wanted, sizeof levels));
    EXPECT(level > 2);
    CHECK(cudaFree(device_levels));
    CHECK(cudaFree(queues[0]));
    CHECK(cudaFree(queues[1]));
    CHECK(cudaFreeHost(next_count));
}

/* Gives what was there before. */
__device__ float minimum(float *address, float value)
{
    int *bits = (int *)address, before = *bits;
    while (value < __int_as_float(before)) {
        int seen = atomicCAS(bits, before, __float_as_int(value));
        if (seen == before)
            break;
        before = seen;
    }
    return __int_as_float(before);
}

__global__ void relax(const graph *graph, float *distances, int *changed)
{
    int node = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (node >= NODES)
        return;
    float distance = *(volatile float *)&distances[node];
    for (int edge = graph->first_edge[node]; edge < graph->first_edge[node + 1]; edge++)
        if (distance + graph->length[edge] < minimum(&distances[graph->to[edge]], distance + graph->length[edge]))
            *changed = 1;
}

__global__ void hook(const graph *graph, int *roots, int *changed)
{
    int node = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (node >= NODES)
        return;
    for (int edge = graph->first_edge[node]; edge < graph->first_edge[node + 1]; edge++) {
        int mine = roots[node], other = roots[graph->to[edge]];
        if (mine < other && atomicMin(&roots[other], mine) > mine)
            *changed = 1;
    }
}

__global__ void jump(int *roots)
{
    int node = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (node < NODES)
        while (roots[node] != roots[roots[node]])
            roots[node] = roots[roots[node]];
}

static void test_distances_and_components(const graph *device)
{
    static float distances[NODES], wanted[NODES];
    static int roots[NODES];
    float *device_distances;
    int *device_roots, *changed;
    for (int i = 0; i < NODES; i++) {
        distances[i] = wanted[i] = i ? 1e30f : 0;
        roots[i] = i;
    }
    CHECK(cudaMalloc(&device_distances, sizeof distances));
    CHECK(cudaMalloc(&device_roots, sizeof roots));
    CHECK(cudaMallocManaged(&changed, sizeof *changed));
    CHECK(cudaMemcpy(device_distances, distances, sizeof distances, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_roots, roots, sizeof roots, cudaMemcpyHostToDevice));
    do {
        *changed = 0;
        relax<<<BLOCKS, THREADS>>>(device, device_distances, changed);
        CHECK(cudaDeviceSynchronize());
    } while (*changed);
    do {
        *changed = 0;
        hook<<<BLOCKS, THREADS>>>(device, device_roots, changed);
        jump<<<BLOCKS, THREADS>>>(device_roots);
        CHECK(cudaDeviceSynchronize());
    } while (*changed);
    CHECK(cudaMemcpy(distances, device_distances, sizeof distances, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(roots, device_roots, sizeof roots, cudaMemcpyDeviceToHost));
    for (bool again = true; again;) {
        again = false;
        for (int node = 0; node < NODES; node++)
            for (int edge = host.first_edge[node]; edge < host.first_edge[node + 1]; edge++)
                if (wanted[node] + host.length[edge] < wanted[host.to[edge]]) {
                    wanted[host.to[edge]] = wanted[node] + host.length[edge];
                    again = true;
                }
    }
    EXPECT(!memcmp(distances, wanted, sizeof distances));
    for (int node = 0; node < NODES; node++)
        for (int edge = host.first_edge[node]; edge < host.first_edge[node + 1]; edge++)
            EXPECT(roots[node] == roots[host.to[edge]]);
    EXPECT(roots[0] == 0 && roots[NODES - 1] >= NODES / 2);
    CHECK(cudaFree(device_distances));
    CHECK(cudaFree(device_roots));
    CHECK(cudaFree(changed));
}

int main()
{
    graph *device;
    make_graph();
    CHECK(cudaMalloc(&device, sizeof host));
    CHECK(cudaMemcpy(device, &host, sizeof host, cudaMemcpyHostToDevice));
    test_levels(device);
    test_distances_and_components(device);
    CHECK(cudaFree(device));
    return 0;
}
