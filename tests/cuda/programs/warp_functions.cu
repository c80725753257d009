/* SPDX-License-Identifier: MIT */
/*
 * What kernels have beside arithmetic: reductions and matches of a warp, clocks, address spaces, loads and stores by cache, memcpy and memset, places as
 * dim3, tiles; each against plain C.
 */
#include "check.h"

#include <cooperative_groups.h>
#include <cstring>

typedef unsigned int u32;
typedef unsigned long long u64;

/* ---- warps: threads with a bit in `part` go together, the others, too ---- */

struct of_warp {
    int value;
    u64 wide;
    u32 sum, least, most, conjunction, disjunction, difference;
    int signed_sum, signed_least, signed_most;
    u32 same, same_wide, same_double, all, all_wide;
    int is_all, is_all_wide;
};

__global__ void run_warps(of_warp *all, u32 part)
{
    of_warp *o = all + threadIdx.x;
    (void)part;
#ifndef TOOLKIT /* nvcc has reductions for compute capability 8.0 */
    u32 mask = part >> threadIdx.x & 1 ? part : ~part;
    if (part >> threadIdx.x & 1) {
        o->sum = __reduce_add_sync(mask, (u32)o->value);
        o->least = __reduce_min_sync(mask, (u32)o->value);
        o->most = __reduce_max_sync(mask, (u32)o->value);
        o->signed_sum = __reduce_add_sync(mask, o->value);
        o->signed_least = __reduce_min_sync(mask, o->value);
        o->signed_most = __reduce_max_sync(mask, o->value);
        o->conjunction = __reduce_and_sync(mask, (u32)o->value);
        o->disjunction = __reduce_or_sync(mask, (u32)o->value);
        o->difference = __reduce_xor_sync(mask, (u32)o->value);
    } else {
        o->sum = __reduce_add_sync(mask, (u32)o->value);
        o->least = __reduce_min_sync(mask, (u32)o->value);
        o->most = __reduce_max_sync(mask, (u32)o->value);
        o->signed_sum = __reduce_add_sync(mask, o->value);
        o->signed_least = __reduce_min_sync(mask, o->value);
        o->signed_most = __reduce_max_sync(mask, o->value);
        o->conjunction = __reduce_and_sync(mask, (u32)o->value);
        o->disjunction = __reduce_or_sync(mask, (u32)o->value);
        o->difference = __reduce_xor_sync(mask, (u32)o->value);
    }
    __syncwarp();
#endif
    o->same = __match_any_sync(~0u, o->value);
    o->same_wide = __match_any_sync(~0u, o->wide);
    o->same_double = __match_any_sync(~0u, (double)o->value);
    o->all = __match_all_sync(~0u, o->value, &o->is_all);
    o->all_wide = __match_all_sync(~0u, o->wide, &o->is_all_wide);
}

static void check_warps(of_warp *all, u32 part, int kinds)
{
    for (int i = 0; i < 32; i++) {
        all[i].value = (int)((u32)(i * 7919 % kinds) * 0x9e3779b9u);
        all[i].wide = (u64)(u32)all[i].value << 32 | 5;
    }
    run_warps<<<1, 32>>>(all, part);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++) {
        const of_warp *o = all + i;
        u32 mask = part >> i & 1 ? part : ~part, sum = 0, least = ~0u, most = 0, conjunction = ~0u, disjunction = 0, difference = 0, same = 0;
        int signed_least = 0x7fffffff, signed_most = -0x7fffffff - 1;
        for (int k = 0; k < 32; k++) {
            u32 value = (u32)all[k].value;
            same |= (u32)(value == (u32)o->value) << k;
            if (!(mask >> k & 1))
                continue;
            sum += value, conjunction &= value, disjunction |= value, difference ^= value;
            least = value < least ? value : least, most = value > most ? value : most;
            signed_least = (int)value < signed_least ? (int)value : signed_least;
            signed_most = (int)value > signed_most ? (int)value : signed_most;
        }
#ifndef TOOLKIT
        EXPECT(o->sum == sum && (u32)o->signed_sum == sum && o->least == least && o->most == most);
        EXPECT(o->signed_least == signed_least && o->signed_most == signed_most);
        EXPECT(o->conjunction == conjunction && o->disjunction == disjunction && o->difference == difference);
#endif
        EXPECT(o->same == same && o->same_wide == same && o->same_double == same);
        EXPECT(o->all == (kinds == 1 ? ~0u : 0) && o->all_wide == o->all);
        EXPECT(o->is_all == (kinds == 1) && o->is_all_wide == (kinds == 1));
    }
}

/* ---- loads and stores by cache ---- */

#define TYPES(F) \
    F(char) F(signed char) F(unsigned char) F(short) F(unsigned short) F(int) F(unsigned int) F(long) F(unsigned long) F(long long) F(unsigned long long) \
    F(float) F(double) F(char2) F(char4) F(uchar2) F(uchar4) F(short2) F(short4) F(ushort2) F(ushort4) F(int2) F(int4) F(uint2) F(uint4) F(longlong2) \
    F(ulonglong2) F(float2) F(float4) F(double2)
enum { LOADS = 6, STORES = 4, TYPE_ROOM = 40 };

__global__ void move(const char *from, char *to)
{
    int type = 0;
#define MOVE(T) \
    { \
        const T *source = (const T *)(from + 16 * type); \
        T *target = (T *)(to + 16 * (LOADS + STORES) * type++); \
        *(T *)((char *)target + 0) = __ldg(source); \
        *(T *)((char *)target + 16) = __ldca(source); \
        *(T *)((char *)target + 32) = __ldcg(source); \
        *(T *)((char *)target + 48) = __ldcs(source); \
        *(T *)((char *)target + 64) = __ldlu(source); \
        *(T *)((char *)target + 80) = __ldcv(source); \
        __stwb((T *)((char *)target + 96), *source); \
        __stcg((T *)((char *)target + 112), *source); \
        __stcs((T *)((char *)target + 128), *source); \
        __stwt((T *)((char *)target + 144), *source); \
    }
    TYPES(MOVE)
}

static void check_moves()
{
    char *from, *to;
    int type = 0;
    const size_t bytes = 16 * TYPE_ROOM * (LOADS + STORES);
    CHECK(cudaMallocManaged(&from, 16 * TYPE_ROOM));
    CHECK(cudaMallocManaged(&to, bytes));
    for (int i = 0; i < 16 * TYPE_ROOM; i++)
        from[i] = (char)(i * 37 + 1);
    memset(to, 0, bytes);
    move<<<1, 1>>>(from, to);
    CHECK(cudaDeviceSynchronize());
#define COMPARE(T) \
    for (int i = 0; i < LOADS + STORES; i++) \
        for (size_t k = 0; k < 16; k++) \
            EXPECT(to[16 * ((LOADS + STORES) * type + i) + k] == (k < sizeof(T) ? from[16 * type + k] : 0)); \
    type++;
    TYPES(COMPARE)
    EXPECT(type <= TYPE_ROOM);
}

/* ---- memory, places, clocks ---- */

struct seen {
    char copied[64], filled[64];
    u32 spaces, places[6];
    int later;
    long long cycles;
};
struct parameters {
    int bytes, value;
};

__device__ int in_global;

__device__ u32 volume(dim3 size)
{
    return size.x * size.y * size.z;
}

__global__ void look(const __grid_constant__ parameters p, const char *from, seen *to)
{
    __shared__ int in_shared;
    int in_local = p.value;
    long long begin = clock64();
    clock_t short_begin = clock();
    memcpy(to->copied, from, (size_t)p.bytes);
    memset(to->filled, p.value, (size_t)p.bytes);
    to->spaces = (__isGlobal(&in_global) ? 1 : 0) | (__isShared(&in_shared) ? 2 : 0) | (__isLocal(&in_local) ? 4 : 0) | (__isGlobal(&in_shared) ? 8 : 0) |
                 (__isShared(&in_global) ? 16 : 0) | (__isLocal(&in_global) ? 32 : 0) | (__isGlobal(from) ? 64 : 0);
    *(int *)__cvta_shared_to_generic(__cvta_generic_to_shared(&in_shared)) = 6;
    *(int *)__cvta_global_to_generic(__cvta_generic_to_global(&in_global)) = 7;
    __syncthreads();
    dim3 size = blockDim, grid = gridDim, index = blockIdx;
    to->places[0] = volume(size), to->places[1] = volume(blockDim), to->places[2] = grid.y, to->places[3] = index.x + threadIdx.x;
    to->places[4] = (u32)in_shared, to->places[5] = (u32)in_global;
    __nanosleep(20);
    to->later = clock() != short_begin;
    to->cycles = clock64() - begin;
}

static void check_look(bool timed)
{
    char *from;
    seen *to;
    CHECK(cudaMallocManaged(&from, 64));
    CHECK(cudaMallocManaged(&to, sizeof *to));
    memset(to, 0, sizeof *to);
    for (int i = 0; i < 64; i++)
        from[i] = (char)(i + 1);
    parameters p = {37, 0x55};
    look<<<dim3(1, 1, 1), dim3(1, 1, 1)>>>(p, from, to);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++)
        EXPECT(to->copied[i] == (i < 37 ? from[i] : 0) && to->filled[i] == (i < 37 ? 0x55 : 0));
    EXPECT(to->spaces == (1 | 2 | 4 | 64));
    EXPECT(to->places[0] == 1 && to->places[1] == 1 && to->places[2] == 1 && to->places[3] == 0 && to->places[4] == 6 && to->places[5] == 7);
    EXPECT(!timed || (to->cycles > 0 && to->later));
}

/* ---- a tile of a thread block where a tile of anything is wanted ---- */

template <int Size> __device__ int sum_of(cooperative_groups::thread_block_tile<Size> tile, int value)
{
    for (int i = Size / 2; i > 0; i /= 2)
        value += tile.shfl_down(value, i);
    return tile.shfl(value, 0);
}

__global__ void sum_by_tiles(int *to)
{
    int i = (int)threadIdx.x;
    auto four = cooperative_groups::tiled_partition<4>(cooperative_groups::this_thread_block());
    auto sixteen = cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block());
    cooperative_groups::thread_block_tile<4> plain = four;
    to[i] = sum_of<4>(four, i) + 1000 * sum_of<16>(sixteen, i) + 1000000 * (int)plain.thread_rank();
}

static void check_tiles()
{
    int *to;
    CHECK(cudaMallocManaged(&to, 64 * sizeof *to));
    sum_by_tiles<<<1, 64>>>(to);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++)
        EXPECT(to[i] == 4 * (i / 4 * 4) + 6 + 1000 * (16 * (i / 16 * 16) + 120) + 1000000 * (i % 4));
}

int main(int argc, char **)
{
    of_warp *all;
    CHECK(cudaMallocManaged(&all, 32 * sizeof *all));
    const u32 parts[] = {~0u, 1, 0x80000000u, 0x55555555u, 0xffff, 0x12345678};
    for (u32 part : parts) {
        check_warps(all, part, 1);
        check_warps(all, part, 5);
        check_warps(all, part, 1000);
    }
    check_moves();
    check_tiles();
    check_look(argc < 2);
    return 0;
}

/* nvcc compiles the programs together. */
#undef TYPES
#undef MOVE
#undef COMPARE
