/* SPDX-License-Identifier: MIT */
/* What a thread block takes of an SM, and how many an empty SM holds. */
#include "gpu/occupancy.h"

#include "base/bits.h"
#include "base/launch_bounds.h"

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return divide_up(value, unit) * unit;
}

void tb_needs_compute(const struct corun_gpu_config *config, const struct corun_grid *grid, struct tb_needs *needs)
{
    uint32_t registers = launch_bounds_registers(config, grid->registers_per_thread, &grid->bounds);
    if (registers > config->registers_per_thread) /* the rest would be spilled */
        registers = config->registers_per_thread;
    needs->warps = grid->tb_warps;
    needs->threads = grid->tb_warps * CORUN_WARP_LANES;
    needs->registers =
        (uint32_t)round_up((uint64_t)registers * CORUN_WARP_LANES, config->register_unit) * grid->tb_warps;
    needs->shared_bytes = (uint32_t)round_up(grid->tb_shared_bytes, config->shared_unit_bytes);
    needs->barriers = grid->barrier_count;
}

/* Settings of the shared memory, KB; beyond these, all of it. */
#define MOST_SETTINGS 9
static const uint16_t settings[CORUN_L1_SPLIT_COUNT][MOST_SETTINGS + 1] = {
    [CORUN_L1_SPLIT_VOLTA] = {0, 8, 16, 32, 64, UINT16_MAX},
    [CORUN_L1_SPLIT_AMPERE] = {0, 8, 16, 32, 64, 100, 132, UINT16_MAX},
    [CORUN_L1_SPLIT_HOPPER] = {0, 8, 16, 32, 64, 100, 132, 164, 196, UINT16_MAX},
};

uint32_t shared_setting_for(const struct corun_gpu_config *config, uint32_t bytes)
{
    const uint16_t *setting = settings[config->l1_split];
    if (config->l1_split == CORUN_L1_SPLIT_FIXED || !config->l1_bytes)
        return config->shared_bytes_per_sm;
    while (*setting * 1024u < bytes)
        setting++;
    return *setting * 1024u < config->shared_bytes_per_sm ? *setting * 1024u : config->shared_bytes_per_sm;
}

uint32_t corun_gpu_l1_bytes(const struct corun_gpu_config *config, uint32_t shared_setting)
{
    return config->l1_bytes ? config->l1_bytes + config->shared_bytes_per_sm - shared_setting : 0;
}

uint32_t corun_gpu_shared_setting(const struct corun_gpu_config *config, const struct corun_grid *grid)
{
    struct tb_needs needs;
    tb_needs_compute(config, grid, &needs);
    return shared_setting_for(config, needs.shared_bytes * corun_gpu_occupancy(config, grid, NULL));
}

uint32_t corun_gpu_occupancy(const struct corun_gpu_config *config, const struct corun_grid *grid, const char **limit)
{
    struct tb_needs needs;
    tb_needs_compute(config, grid, &needs);
    const struct {
        uint64_t available, needed;
        const char *name;
    } rows[] = {
        {config->registers_per_sm, needs.registers, "registers"},
        {config->shared_bytes_per_sm, needs.shared_bytes, "shared memory"},
        {config->threads_per_sm, needs.threads, "threads"},
        {config->barriers_per_sm, needs.barriers, "barriers"},
        {config->tbs_per_sm, 1, "thread blocks"},
    };
    uint64_t fewest = UINT32_MAX;
    const char *name = "thread blocks";
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t count = rows[i].needed ? rows[i].available / rows[i].needed : UINT32_MAX;
        if (count < fewest) {
            fewest = count;
            name = rows[i].name;
        }
    }
    if (grid->tb_threads > config->threads_per_tb) {
        fewest = 0;
        name = "threads";
    }
    if (grid->tb_shared_bytes > config->shared_bytes_per_tb) {
        fewest = 0;
        name = "shared memory";
    }
    if (limit)
        *limit = name;
    return (uint32_t)fewest;
}
