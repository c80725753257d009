/* SPDX-License-Identifier: MIT */
/* What slicing costs: a launch that runs alone, whole or in slices of a size. */
#ifndef CORUN_RUNTIME_MEASURE_H
#define CORUN_RUNTIME_MEASURE_H

#include "runtime/runtime.h"

/*
 * Runs one job of a workload, with nobody else on the device, and times launch number `launch`: in slices of `slice` thread blocks
 * (0: whole, as the workload has it) that go round `streams` streams, all of them given as soon as it is ready. In one stream slices
 * follow one another, as those of a co-schedule do (Kernelet, section 4.1). Other launches of the job run whole. A first run finds caches empty that
 * later ones do not: who compares, runs once before. *nanoseconds: from the
 * moment at which the host begins to launch to the end of the last slice. ARGUMENT: the launch cannot be sliced, or other jobs are there;
 * what runtime_wait returns; FAULT: the kernel has failed.
 */
enum corun_status runtime_measure(struct runtime *runtime, uint32_t workload, uint32_t launch, uint64_t slice,
                                  uint32_t streams, struct corun_diagnostics *list, uint64_t *nanoseconds);

/*
 * The smallest slice, a multiple of the SMs, that makes the launch longer by no more than the share `most` (0.02 in the paper), with as
 * many streams as fill the GPU and one more; and its time whole, *nanoseconds. Slices are given one by one, as those before end, and one
 * waits: what the host does for a slice in a queue is in the time. *slice is the number of thread blocks of the launch if no smaller one does, or if it cannot
 * be sliced. Looks at 1, 2, 3, 4 thread blocks for each SM, then at half as many more each time, up to half the grid. Statuses as above.
 */
enum corun_status runtime_smallest_slice(struct runtime *runtime, uint32_t workload, uint32_t launch, double most,
                                         struct corun_diagnostics *list, uint64_t *slice, uint64_t *nanoseconds);

#endif
