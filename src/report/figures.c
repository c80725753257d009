/* SPDX-License-Identifier: MIT */
/* Figures from counters: hit rates, utilisations, occupancy, instructions per joule, a goal in words. */
#include "report/figures.h"

#include "case/metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STALL_PREFIX "stall_"

double figure_l1_hit_rate(const struct corun_counters *counters)
{
    return metrics_ratio(counters->l1_hits, counters->l1_accesses);
}

double figure_l2_hit_rate(const struct corun_counters *counters)
{
    return metrics_ratio(counters->l2_hits, counters->l2_accesses);
}

double figure_row_hit_rate(const struct corun_counters *counters)
{
    return metrics_ratio(counters->dram_row_hits, counters->dram_row_hits + counters->dram_row_misses);
}

uint64_t figure_dram_bytes(const struct corun_counters *counters)
{
    return counters->dram_read_bytes + counters->dram_write_bytes;
}

double figure_interconnect_latency(const struct corun_counters *counters)
{
    return metrics_ratio(counters->icnt_request_latency + counters->icnt_reply_latency,
                         counters->icnt_requests + counters->icnt_replies);
}

double figure_dram_utilisation(const struct corun_memory_result *memory)
{
    return metrics_ratio(memory->dram_busy_cycles, memory->dram_cycles);
}

double figure_interconnect_utilisation(const struct corun_memory_result *memory)
{
    return metrics_ratio(memory->icnt_busy_cycles, memory->icnt_cycles);
}

double figure_occupancy(const struct corun_gpu_config *gpu, uint32_t sms, uint64_t cycles,
                        const struct corun_counters *counters)
{
    uint64_t warps = gpu->threads_per_sm / CORUN_WARP_LANES;
    return metrics_ratio(counters->warp_cycles, warps * sms * cycles);
}

uint64_t figure_completed_instructions(const struct corun_counters *counters)
{
    return counters->thread_instructions - counters->thread_instructions_dropped;
}

double figure_instructions_per_joule(uint64_t thread_instructions, double joules)
{
    return joules > 0 ? (double)thread_instructions / joules : (double)NAN;
}

double figure_static_part(const struct corun_energy_result *energy)
{
    return energy->total > 0 ? (energy->static_sm + energy->static_rest) / energy->total : (double)NAN;
}

uint64_t figure_counter(const struct corun_counters *counters, const struct corun_counter_row *row)
{
    uint64_t value;
    memcpy(&value, (const char *)counters + row->offset, sizeof value);
    return value;
}

const char *figure_stall_name(const struct corun_counter_row *row)
{
    size_t length = strlen(STALL_PREFIX);
    return strncmp(row->name, STALL_PREFIX, length) ? NULL : row->name + length;
}

uint64_t figure_scheduler_cycles(const struct corun_counters *counters)
{
    size_t count;
    const struct corun_counter_row *rows = corun_counter_rows(&count);
    uint64_t sum = counters->issue_cycles;
    for (size_t i = 0; i < count; i++) {
        if (figure_stall_name(&rows[i]))
            sum += figure_counter(counters, &rows[i]);
    }
    return sum;
}

void figure_goal(const struct corun_case_application_result *application, char *text, size_t bytes)
{
    int used;
    switch (application->goal) {
    case CORUN_GOAL_FRACTION:
        snprintf(text, bytes, "%g%%", application->goal_value * 100);
        break;
    case CORUN_GOAL_IPC:
        snprintf(text, bytes, "ipc=%g", application->goal_value);
        break;
    case CORUN_GOAL_MILLISECONDS:
    case CORUN_GOAL_FRAMES_PER_SECOND:
        used = snprintf(text, bytes, "%s=%g", application->goal == CORUN_GOAL_MILLISECONDS ? "ms" : "fps",
                        application->goal_value);
        if (application->transfer_milliseconds > 0 && used > 0 && (size_t)used < bytes)
            snprintf(text + used, bytes - (size_t)used, ",transfer=%g", application->transfer_milliseconds);
        break;
    default:
        snprintf(text, bytes, "%s", "");
    }
}
