/* SPDX-License-Identifier: MIT */
/*
 * The simulated GPU as the machine of a queue: every slice is a launch, simulated cycle by cycle. Ticks are core cycles. All kernels are
 * launched by one application of the GPU, so that thread blocks go to SMs in the order of the launches, as from the streams of one program.
 *
 * A strand has as many streams as it has slices in flight. Launches cost time: the host begins one every `launch_interval_ns`, and a slice
 * follows the one before it in its stream after `launch_gap_ns`.
 */
#ifndef CORUN_SERVE_SIMULATED_H
#define CORUN_SERVE_SIMULATED_H

#include "corun/gpu.h"
#include "queue/machine.h"

/* Nanoseconds as core cycles, rounded up. */
uint64_t simulated_cycles(const struct corun_gpu_config *config, uint64_t nanoseconds);

struct simulated;

/*
 * `grids`: the whole grid of each kind; of different instances (corun_instance_create with different numbers). They must outlive the
 * machine, as must `list`. What corun_gpu_create and corun_gpu_open return.
 */
enum corun_status simulated_create(const struct corun_gpu_config *config, const struct corun_grid *const *grids,
                                   struct corun_diagnostics *list, struct simulated **machine);
void simulated_destroy(struct simulated *machine);
struct queue_machine simulated_operations(struct simulated *machine);
const struct corun_gpu *simulated_gpu(const struct simulated *machine);
/* Everything counted so far of a kind, and the cycles during which slices of it were in flight. */
void simulated_counters(const struct simulated *machine, uint32_t kind, struct corun_counters *counters,
                        uint64_t *cycles);

#endif
