/* SPDX-License-Identifier: MIT */
/* Figures that the table and the JSON both show. NAN where the divisor is 0. */
#ifndef CORUN_REPORT_FIGURES_H
#define CORUN_REPORT_FIGURES_H

#include "corun/case.h"

double figure_l1_hit_rate(const struct corun_counters *counters);
double figure_l2_hit_rate(const struct corun_counters *counters);
double figure_row_hit_rate(const struct corun_counters *counters);
uint64_t figure_dram_bytes(const struct corun_counters *counters);
/* Mean core cycles of a packet from injection to delivery, both directions. */
double figure_interconnect_latency(const struct corun_counters *counters);
double figure_dram_utilisation(const struct corun_memory_result *memory);
double figure_interconnect_utilisation(const struct corun_memory_result *memory);
/* Resident warps over the warps that `sms` SMs can hold, mean of `cycles`. */
double figure_occupancy(const struct corun_gpu_config *gpu, uint32_t sms, uint64_t cycles,
                        const struct corun_counters *counters);
/* Without those of thread blocks that were dropped, which are of no use. */
uint64_t figure_completed_instructions(const struct corun_counters *counters);
/* Thread instructions per joule, which is instructions per second and watt. */
double figure_instructions_per_joule(uint64_t thread_instructions, double joules);
/* The part of the energy that is static. */
double figure_static_part(const struct corun_energy_result *energy);
/* A counter by its row. */
uint64_t figure_counter(const struct corun_counters *counters, const struct corun_counter_row *row);
/* The name of a cause of stalling ("data"), NULL if the row is not one. */
const char *figure_stall_name(const struct corun_counter_row *row);
/* Scheduler cycles in which there were live warps: all that issued or stalled. */
uint64_t figure_scheduler_cycles(const struct corun_counters *counters);
/* As on the command line: "90%", "ipc=800", "ms=1.5"; "" without a goal. */
void figure_goal(const struct corun_case_application_result *application, char *text, size_t bytes);

#endif
