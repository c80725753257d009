/* SPDX-License-Identifier: MIT */
/*
 * Energy: what the counters and the cycles of a run cost. It observes and decides nothing: the same run has the same
 * cycles whatever the energies are. Femtojoules are added up in 128-bit integers, so that no result depends on the order
 * of the additions or on the compiler; only the end is a double.
 */
#include "gpu/gpu.h"

#include <math.h>

#define FEMTOJOULES_PER_JOULE 1e15

typedef unsigned __int128 femtojoules;

#define TENSOR_LANE_MULTIPLY_ADDS 64u /* that energy_tensor_lane stands for */

/* Dynamic energy by group. */
struct groups {
#define G(name, meaning) femtojoules name;
    CORUN_DYNAMIC_ENERGIES(G)
#undef G
};

static femtojoules cost(uint64_t count, uint32_t each)
{
    return (femtojoules)count * each;
}

static struct groups dynamic_of(const struct corun_gpu_config *c, const struct corun_counters *n)
{
    return (struct groups){
        .issue = cost(n->warp_instructions, c->energy_issue),
        .lanes = cost(n->int_lanes, c->energy_int_lane) + cost(n->fp32_lanes, c->energy_fp32_lane) +
                 cost(n->fp64_lanes, c->energy_fp64_lane) + cost(n->sfu_lanes, c->energy_sfu_lane) +
                 cost(n->tensor_multiply_adds, c->energy_tensor_lane) / TENSOR_LANE_MULTIPLY_ADDS,
        .registers = cost(n->register_accesses, c->energy_register),
        /* the first cycle of each access, and those that conflicts add */
        .shared = cost(n->shared_accesses, c->energy_shared) + cost(n->shared_conflict_cycles, c->energy_shared),
        .l1 = cost(n->l1_accesses, c->energy_l1) + cost(n->texture_accesses, c->energy_l1) +
              cost(n->constant_accesses, c->energy_l1),
        .interconnect = cost(n->icnt_request_flits, c->energy_flit) + cost(n->icnt_reply_flits, c->energy_flit),
        .l2 = cost(n->l2_accesses, c->energy_l2) + cost(n->l2_writebacks, c->energy_l2),
        .dram = cost(n->dram_read_bytes, c->energy_dram_byte) + cost(n->dram_write_bytes, c->energy_dram_byte) +
                cost(n->dram_row_misses, c->energy_dram_activate),
    };
}

static femtojoules sum_of(const struct groups *groups)
{
    femtojoules sum = 0;
#define G(name, meaning) sum += groups->name;
    CORUN_DYNAMIC_ENERGIES(G)
#undef G
    return sum;
}

static double joules(const struct corun_gpu_config *config, femtojoules energy)
{
    return (double)(energy * config->energy_scale) / (1000 * FEMTOJOULES_PER_JOULE);
}

/* A milliwatt for a cycle is 1e12 fJ/s over (1000 kHz) cycles per second. Time comes in thousandths of a cycle. */
static femtojoules static_energy(const struct corun_gpu_config *config, uint32_t milliwatts, femtojoules millicycles)
{
    return millicycles * milliwatts * 1000000u / config->core_clock_khz;
}

/* Cycles of powered SMs, and those of gated ones as far as they cost the same. */
static femtojoules sm_millicycles(const struct corun_gpu *gpu)
{
    femtojoules sum = 0;
    for (uint32_t s = 0; s < gpu->config.sms; s++) {
        uint64_t gated = power_gated_cycles(gpu, s);
        sum += (femtojoules)(gpu->now - gated) * 1000u + (femtojoules)gated * gpu->config.power_gated_fraction;
    }
    return sum;
}

double corun_counters_energy(const struct corun_gpu_config *config, const struct corun_counters *counters)
{
    struct groups groups = dynamic_of(config, counters);
    return joules(config, sum_of(&groups));
}

void corun_gpu_energy(const struct corun_gpu *gpu, struct corun_energy_result *result)
{
    const struct corun_gpu_config *config = &gpu->config;
    struct corun_counters all;
    sum_all(gpu, &all);
    *result = (struct corun_energy_result){0};
    for (uint32_t a = 0; a < gpu->application_count; a++) {
        struct corun_counters counters;
        sum_application(gpu, a, &counters);
        result->applications[a] = corun_counters_energy(config, &counters);
    }
    struct groups groups = dynamic_of(config, &all);
#define G(name, meaning) result->name = joules(config, groups.name);
    CORUN_DYNAMIC_ENERGIES(G)
#undef G
    femtojoules of_sms = static_energy(config, config->static_power_sm, sm_millicycles(gpu));
    femtojoules of_rest = static_energy(config, config->static_power_rest, (femtojoules)gpu->now * 1000u);
    result->static_sm = joules(config, of_sms);
    result->static_rest = joules(config, of_rest);
    result->total = joules(config, sum_of(&groups) + of_sms + of_rest);
    double seconds = (double)gpu->now / (config->core_clock_khz * 1e3);
    result->average_watts = gpu->now ? result->total / seconds : (double)NAN;
}
