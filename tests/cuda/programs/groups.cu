/* SPDX-License-Identifier: MIT */
/* Cooperative groups: a grid that meets between phases, tiles of all sizes, and threads that came together by chance. */
#include "check.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

enum { GROUP_THREADS = 128, GRID_BLOCKS = 6, OF_EACH = 10 };

/* Each phase needs what all of the grid did in the one before. */
__global__ void phases(int *a, int *b, int count, int rounds)
{
    cg::grid_group grid = cg::this_grid();
    for (int round = 0; round < rounds; round++) {
        for (int i = (int)grid.thread_rank(); i < count; i += (int)grid.size())
            b[i] = a[(i + 1) % count] + a[(i + count - 1) % count];
        grid.sync();
        for (int i = (int)grid.thread_rank(); i < count; i += (int)grid.size())
            a[i] = b[i] & 0xffff;
        grid.sync();
    }
    if (cg::this_thread_block().thread_rank() == 0)
        b[grid.block_rank()] = grid.is_valid() ? (int)grid.num_blocks() : -1;
}

template <unsigned Lanes> __global__ void tiles(const int *values, int *to)
{
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<Lanes>(block);
    int i = (int)(block.group_index().x * block.size() + block.thread_rank()), value = values[i];
    int *p = to + i * OF_EACH;
    p[0] = cg::reduce(tile, value, cg::plus<int>());
    p[1] = cg::reduce(tile, value, cg::greater<int>());
    p[2] = cg::inclusive_scan(tile, value);
    p[3] = cg::exclusive_scan(tile, value, cg::plus<int>());
    p[4] = tile.shfl_xor(value, Lanes / 2);
    p[5] = (int)tile.ballot(value & 1);
    p[6] = (int)(tile.meta_group_rank() * 100 + tile.thread_rank());
    p[7] = tile.shfl(value, Lanes - 1);
    p[8] = (int)(cg::reduce(tile, 0.5 * value, cg::less<double>()) * 2);
    p[9] = tile.any(value == 7) * 2 + tile.all(value >= 0);
    tile.sync();
}

__global__ void by_chance(const int *values, int *to)
{
    int value = values[threadIdx.x], *p = to + threadIdx.x * 4;
    if (value % 3 == 0) {
        cg::coalesced_group together = cg::coalesced_threads();
        p[0] = (int)together.size();
        p[1] = (int)together.thread_rank();
        p[2] = cg::reduce(together, value, cg::plus<int>());
        p[3] = together.shfl(value, 0) + 1000 * together.shfl_up(value, 1);
    }
}

static void check_grid(int count, int rounds)
{
    int a[1000], b[1000], *device_a, *device_b;
    for (int i = 0; i < count; i++)
        a[i] = i * 37 % 1000;
    CHECK(cudaMalloc(&device_a, sizeof a));
    CHECK(cudaMalloc(&device_b, sizeof b));
    CHECK(cudaMemcpy(device_a, a, sizeof a, cudaMemcpyHostToDevice));
    void *arguments[] = {&device_a, &device_b, &count, &rounds};
    CHECK(cudaLaunchCooperativeKernel((const void *)phases, dim3(GRID_BLOCKS), dim3(GROUP_THREADS), arguments, 0, 0));
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < count; i++)
            b[i] = a[(i + 1) % count] + a[(i + count - 1) % count];
        for (int i = 0; i < count; i++)
            a[i] = b[i] & 0xffff;
    }
    static int found[1000];
    CHECK(cudaMemcpy(found, device_a, count * sizeof *found, cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++)
        EXPECT(found[i] == a[i]);
    CHECK(cudaMemcpy(found, device_b, GRID_BLOCKS * sizeof *found, cudaMemcpyDeviceToHost));
    for (int i = 0; i < GRID_BLOCKS; i++)
        EXPECT(found[i] == GRID_BLOCKS);
}

template <unsigned Lanes> static void check_tiles(const int *values, const int *device, int *to)
{
    static int found[2 * GROUP_THREADS * OF_EACH];
    tiles<Lanes><<<2, GROUP_THREADS>>>(device, to);
    CHECK(cudaMemcpy(found, to, sizeof found, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 2 * GROUP_THREADS; i++) {
        int first = i / (int)Lanes * (int)Lanes, sum = 0, most = -1, least = 1000, up_to = 0, seven = 0;
        unsigned odd = 0;
        for (int k = 0; k < (int)Lanes; k++) {
            int value = values[first + k];
            sum += value;
            most = value > most ? value : most;
            least = value < least ? value : least;
            up_to += first + k <= i ? value : 0;
            odd |= (unsigned)(value & 1) << k;
            seven |= value == 7;
        }
        const int *p = found + i * OF_EACH;
        EXPECT(p[0] == sum && p[1] == most && p[2] == up_to && p[3] == up_to - values[i]);
        EXPECT(p[4] == values[i ^ (int)(Lanes / 2)] && (unsigned)p[5] == odd && p[7] == values[first + (int)Lanes - 1]);
        EXPECT(p[6] == i % GROUP_THREADS / (int)Lanes * 100 + i % (int)Lanes && p[8] == least && p[9] == seven * 2 + 1);
    }
}

int main()
{
    int values[2 * GROUP_THREADS], found[128], *device, *to;
    for (int i = 0; i < 2 * GROUP_THREADS; i++)
        values[i] = (i * 71 + 13) % 97;
    CHECK(cudaMalloc(&device, sizeof values));
    CHECK(cudaMalloc(&to, 2 * GROUP_THREADS * OF_EACH * sizeof(int)));
    CHECK(cudaMemcpy(device, values, sizeof values, cudaMemcpyHostToDevice));
    check_grid(1000, 5);
    check_tiles<2>(values, device, to);
    check_tiles<4>(values, device, to);
    check_tiles<8>(values, device, to);
    check_tiles<16>(values, device, to);
    check_tiles<32>(values, device, to);
    by_chance<<<1, 32>>>(device, to);
    CHECK(cudaMemcpy(found, to, sizeof found, cudaMemcpyDeviceToHost));
    int count = 0, sum = 0, first = -1, rank = 0, before = -1;
    for (int i = 0; i < 32; i++)
        if (values[i] % 3 == 0) {
            first = count++ ? first : values[i];
            sum += values[i];
        }
    for (int i = 0; i < 32; i++)
        if (values[i] % 3 == 0) {
            const int *p = found + i * 4;
            EXPECT(p[0] == count && p[1] == rank && p[2] == sum);
            EXPECT(p[3] == first + 1000 * (rank ? before : values[i]));
            before = values[i];
            rank++;
        }
    return 0;
}
