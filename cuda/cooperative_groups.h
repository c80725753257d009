/* SPDX-License-Identifier: MIT */
/*
 * The part of CUDA's header of that name which programs use most, for `corun cc`: thread blocks, grids of cooperative launches, tiles of a warp, and threads that are together.
 * cooperative_groups/reduce.h and scan.h have what such groups compute.
 */
#ifndef CORUN_COOPERATIVE_GROUPS_H
#define CORUN_COOPERATIVE_GROUPS_H

#include "cuda_runtime.h"

namespace cooperative_groups
{

#define CORUN_GROUP_FUNCTION static inline __attribute__((device, always_inline))
#define CORUN_GROUP_MEMBER __attribute__((device, always_inline))

CORUN_GROUP_FUNCTION unsigned corun_lane()
{
    return __nvvm_read_ptx_sreg_laneid();
}

/* ---- thread blocks ---- */

struct thread_block {
    CORUN_GROUP_MEMBER static void sync()
    {
        __syncthreads();
    }
    CORUN_GROUP_MEMBER static unsigned thread_rank()
    {
        return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    }
    CORUN_GROUP_MEMBER static unsigned num_threads()
    {
        return blockDim.x * blockDim.y * blockDim.z;
    }
    CORUN_GROUP_MEMBER static unsigned size()
    {
        return num_threads();
    }
    CORUN_GROUP_MEMBER static dim3 group_index()
    {
        return dim3(blockIdx.x, blockIdx.y, blockIdx.z);
    }
    CORUN_GROUP_MEMBER static dim3 thread_index()
    {
        return dim3(threadIdx.x, threadIdx.y, threadIdx.z);
    }
    CORUN_GROUP_MEMBER static dim3 dim_threads()
    {
        return dim3(blockDim.x, blockDim.y, blockDim.z);
    }
    CORUN_GROUP_MEMBER static dim3 group_dim()
    {
        return dim_threads();
    }
};

CORUN_GROUP_FUNCTION thread_block this_thread_block()
{
    return thread_block();
}

/* ---- grids ---- */

struct grid_group {
    /* A cooperative launch has words for this in memory; their address is in two registers, which are 0 in any other launch. */
    CORUN_GROUP_MEMBER static unsigned long long corun_words()
    {
        unsigned high, low;
        asm volatile("mov.u32 %0, %%envreg1;" : "=r"(high));
        asm volatile("mov.u32 %0, %%envreg2;" : "=r"(low));
        return (unsigned long long)high << 32 | low;
    }
    CORUN_GROUP_MEMBER static bool is_valid()
    {
        return corun_words() != 0;
    }
    /* The last bit of the word changes when all thread blocks have come. */
    CORUN_GROUP_MEMBER static void sync()
    {
        const unsigned last = 0x80000000u;
        if (!is_valid())
            asm volatile("trap;");
        __syncthreads();
        if (thread_block::thread_rank() == 0) {
            volatile unsigned *word = (volatile unsigned *)(corun_words() + 4);
            bool first = blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0;
            __threadfence();
            unsigned before = atomicAdd((unsigned *)word, first ? last - ((unsigned)num_blocks() - 1) : 1u);
            while (((before ^ *word) & last) == 0)
                ;
            __threadfence();
        }
        __syncthreads();
    }
    CORUN_GROUP_MEMBER static unsigned long long num_blocks()
    {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    CORUN_GROUP_MEMBER static unsigned long long block_rank()
    {
        return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    CORUN_GROUP_MEMBER static unsigned long long num_threads()
    {
        return num_blocks() * thread_block::num_threads();
    }
    CORUN_GROUP_MEMBER static unsigned long long size()
    {
        return num_threads();
    }
    CORUN_GROUP_MEMBER static unsigned long long thread_rank()
    {
        return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
    }
    CORUN_GROUP_MEMBER static dim3 group_dim()
    {
        return dim3(gridDim.x, gridDim.y, gridDim.z);
    }
    CORUN_GROUP_MEMBER static dim3 dim_blocks()
    {
        return group_dim();
    }
    CORUN_GROUP_MEMBER static dim3 block_index()
    {
        return thread_block::group_index();
    }
};

CORUN_GROUP_FUNCTION grid_group this_grid()
{
    return grid_group();
}

/* ---- groups of a warp ---- */

/* Lanes of a warp by a mask. `lane_of` gives the lane of a rank, and -1 where there is none. */
struct corun_lanes {
    unsigned mask;
    CORUN_GROUP_MEMBER unsigned thread_rank() const
    {
        return (unsigned)__builtin_popcount(mask & ((1u << corun_lane()) - 1));
    }
    CORUN_GROUP_MEMBER unsigned num_threads() const
    {
        return (unsigned)__builtin_popcount(mask);
    }
    CORUN_GROUP_MEMBER unsigned size() const
    {
        return num_threads();
    }
    CORUN_GROUP_MEMBER void sync() const
    {
        __syncwarp(mask);
    }
    CORUN_GROUP_MEMBER int lane_of(unsigned rank) const
    {
        unsigned rest = mask;
        for (unsigned i = 0; i < rank && rest; i++)
            rest &= rest - 1;
        return __builtin_ffs((int)rest) - 1;
    }
    /* A vote of lanes, as one of ranks. */
    CORUN_GROUP_MEMBER unsigned by_rank(unsigned votes) const
    {
        unsigned result = 0, rank = 0;
        for (unsigned rest = mask; rest; rest &= rest - 1, rank++)
            result |= (votes >> (__builtin_ffs((int)rest) - 1) & 1) << rank;
        return result;
    }
    CORUN_GROUP_MEMBER int any(int predicate) const
    {
        return __ballot_sync(mask, predicate) != 0;
    }
    CORUN_GROUP_MEMBER int all(int predicate) const
    {
        return __ballot_sync(mask, predicate) == mask;
    }
    CORUN_GROUP_MEMBER unsigned ballot(int predicate) const
    {
        return by_rank(__ballot_sync(mask, predicate));
    }
    /* From a lane of the group; a thread for which there is none keeps its own. */
    template <typename T> CORUN_GROUP_MEMBER T corun_from(T value, int lane) const
    {
        unsigned group = mask;
        int from = lane < 0 ? (int)corun_lane() : lane;
        return corun_shuffle(value, [=](int word) { return __nvvm_shfl_sync_idx_i32(group, word, from, 0x1f); });
    }
    template <typename T> CORUN_GROUP_MEMBER T shfl(T value, unsigned rank) const
    {
        return corun_from(value, lane_of(rank % num_threads()));
    }
    template <typename T> CORUN_GROUP_MEMBER T shfl_up(T value, unsigned delta) const
    {
        unsigned rank = thread_rank();
        return corun_from(value, delta > rank ? -1 : lane_of(rank - delta));
    }
    template <typename T> CORUN_GROUP_MEMBER T shfl_down(T value, unsigned delta) const
    {
        return corun_from(value, delta >= num_threads() - thread_rank() ? -1 : lane_of(thread_rank() + delta));
    }
    template <typename T> CORUN_GROUP_MEMBER T shfl_xor(T value, unsigned ranks) const
    {
        unsigned rank = thread_rank() ^ ranks;
        return corun_from(value, rank >= num_threads() ? -1 : lane_of(rank));
    }
};

/* Whoever comes together at this place. */
struct coalesced_group : corun_lanes {
    CORUN_GROUP_MEMBER unsigned meta_group_size() const
    {
        return 1;
    }
    CORUN_GROUP_MEMBER unsigned meta_group_rank() const
    {
        return 0;
    }
};

CORUN_GROUP_FUNCTION coalesced_group coalesced_threads()
{
    coalesced_group group;
    asm volatile("activemask.b32 %0;" : "=r"(group.mask));
    return group;
}

/* Threads of a block side by side, a power of two up to a warp. */
template <unsigned Size> struct corun_tile : corun_lanes {
    static_assert(Size && Size <= 32 && !(Size & (Size - 1)), "a tile is of 1, 2, 4, 8, 16 or 32 threads");
    CORUN_GROUP_MEMBER corun_tile()
    {
        mask = (Size == 32 ? 0xffffffffu : (1u << Size % 32) - 1) << (corun_lane() & ~(Size - 1));
    }
    CORUN_GROUP_MEMBER static unsigned thread_rank()
    {
        return corun_lane() & (Size - 1);
    }
    CORUN_GROUP_MEMBER static constexpr unsigned num_threads()
    {
        return Size;
    }
    CORUN_GROUP_MEMBER static constexpr unsigned size()
    {
        return Size;
    }
    CORUN_GROUP_MEMBER static unsigned meta_group_rank()
    {
        return thread_block::thread_rank() / Size;
    }
    CORUN_GROUP_MEMBER static unsigned meta_group_size()
    {
        return (thread_block::num_threads() + Size - 1) / Size;
    }
    CORUN_GROUP_MEMBER unsigned ballot(int predicate) const
    {
        return __ballot_sync(mask, predicate) >> (corun_lane() & ~(Size - 1)) &
               (Size == 32 ? 0xffffffffu : (1u << Size % 32) - 1);
    }
    template <typename T> CORUN_GROUP_MEMBER T shfl(T value, int rank) const
    {
        return corun_from(value, (int)((corun_lane() & ~(Size - 1)) | ((unsigned)rank & (Size - 1))));
    }
    template <typename T> CORUN_GROUP_MEMBER T shfl_up(T value, unsigned delta) const
    {
        return corun_from(value, delta > thread_rank() ? -1 : (int)(corun_lane() - delta));
    }
    template <typename T> CORUN_GROUP_MEMBER T shfl_down(T value, unsigned delta) const
    {
        return corun_from(value, delta >= Size - thread_rank() ? -1 : (int)(corun_lane() + delta));
    }
    template <typename T> CORUN_GROUP_MEMBER T shfl_xor(T value, unsigned ranks) const
    {
        return corun_from(value, (thread_rank() ^ ranks) >= Size ? -1 : (int)(corun_lane() ^ ranks));
    }
};

/* A tile of any group is also one of which the group is not told. */
template <unsigned Size, typename Parent = void> struct thread_block_tile : thread_block_tile<Size, void> {
};
template <unsigned Size> struct thread_block_tile<Size, void> : corun_tile<Size> {
};

template <unsigned Size, typename Parent>
CORUN_GROUP_FUNCTION thread_block_tile<Size, Parent> tiled_partition(const Parent &)
{
    return thread_block_tile<Size, Parent>();
}

/* ---- all kinds ---- */

template <typename Group> CORUN_GROUP_FUNCTION void sync(const Group &group)
{
    group.sync();
}
template <typename Group, typename F> CORUN_GROUP_FUNCTION void invoke_one(const Group &group, F call)
{
    if (group.thread_rank() == 0)
        call();
}

} // namespace cooperative_groups

#endif
