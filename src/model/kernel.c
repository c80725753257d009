/* SPDX-License-Identifier: MIT */
/* What a thread block takes of an SM, and how many fit beside others: as src/gpu/occupancy.c has it, for two kernels. */
#include "model/kernel.h"

#include "base/bits.h"

#define LANES 32u

static uint32_t round_up(uint64_t value, uint64_t unit)
{
    uint64_t rounded = divide_up(value, unit) * unit;
    return rounded < UINT32_MAX ? (uint32_t)rounded : UINT32_MAX;
}

struct model_capacity model_kernel_needs(const struct corun_gpu_config *config, uint32_t tb_threads,
                                         uint32_t registers_per_thread, uint32_t shared_bytes, uint32_t barriers)
{
    uint32_t warps = (uint32_t)divide_up(tb_threads, LANES);
    uint32_t registers =
        registers_per_thread < config->registers_per_thread ? registers_per_thread : config->registers_per_thread;
    bool fits = tb_threads <= config->threads_per_tb && shared_bytes <= config->shared_bytes_per_tb;
    return (struct model_capacity){
        .threads = fits ? warps * LANES : UINT32_MAX,
        .tbs = 1,
        .registers = round_up((uint64_t)registers * LANES, config->register_unit) * warps,
        .shared_bytes = round_up(shared_bytes, config->shared_unit_bytes),
        .barriers = barriers,
    };
}

/* How often `need` goes into what `taken` leaves of `available`. */
static uint32_t times(uint32_t available, uint64_t taken, uint32_t need)
{
    if (taken > available)
        return 0;
    return need ? (uint32_t)((available - taken) / need) : UINT32_MAX;
}

uint32_t model_kernel_residents_beside(const struct model_gpu *gpu, const struct model_kernel *kernel,
                                       const struct model_kernel *other, uint32_t beside)
{
    static const struct model_capacity nothing;
    const struct model_capacity *all = &gpu->capacity, *one = &kernel->needs,
                                *theirs = other ? &other->needs : &nothing;
    const uint32_t counts[] = {
        times(all->threads, (uint64_t)theirs->threads * beside, one->threads),
        times(all->tbs, (uint64_t)theirs->tbs * beside, one->tbs),
        times(all->registers, (uint64_t)theirs->registers * beside, one->registers),
        times(all->shared_bytes, (uint64_t)theirs->shared_bytes * beside, one->shared_bytes),
        times(all->barriers, (uint64_t)theirs->barriers * beside, one->barriers),
    };
    uint32_t fewest = counts[0];
    for (uint32_t i = 1; i < sizeof counts / sizeof *counts; i++)
        fewest = counts[i] < fewest ? counts[i] : fewest;
    return fewest;
}

uint32_t model_kernel_residents(const struct model_gpu *gpu, const struct model_kernel *kernel)
{
    return model_kernel_residents_beside(gpu, kernel, NULL, 0);
}
