/* SPDX-License-Identifier: MIT */
/*
 * Profiles: the numbers that the chain needs of a kernel (Zhong and He, Kernelet, TPDS 2014, section 4.3), in two ways: from the
 * counters of a run on a machine that has them, and from some thread blocks that are run without timing.
 *
 * A warp waits after a load and after an atomic whose result it wants; not after a store. So R_m counts loads and such atomics of
 * global, local and texture memory. Shared and constant memory are within the SM. An access is uncoalesced if its lanes touch more lines
 * than as many lanes in a row would, in the worst alignment.
 */
#ifndef CORUN_MODEL_PROFILE_H
#define CORUN_MODEL_PROFILE_H

#include "corun/gpu.h"
#include "model/kernel.h"

/*
 * From counters of the kernel alone on the whole GPU. `cycles`: core cycles from the start to the end of its launches; 0: not known, then
 * ipc and the utilisations are NAN. `grid`: one of its launches. tb_instructions are too many while thread blocks are under way, by what these
 * have done, and NAN if none has been completed. Counters without an instruction, or that contradict each other: ARGUMENT.
 */
enum corun_status model_profile_counters(const struct corun_gpu_config *config, const struct corun_grid *grid,
                                         const struct corun_counters *counters, uint64_t cycles,
                                         struct model_kernel *kernel);

/*
 * From `samples` thread blocks, spread evenly over the grid, run one after the other without timing; all of them if there are no more.
 * What they write into memory stays there: the data have to be set up again before the launch counts. A thread block that waits for
 * others cannot be sampled (DEADLOCK, or WATCHDOG after so many warp instructions); FAULT as in a launch. ipc and the utilisations are NAN.
 * `config` has the l1_bytes that the kernel's shared memory leaves.
 * The messages of the source go to `list`.
 */
enum corun_status model_profile_sample(const struct corun_gpu_config *config, const struct corun_grid *grid,
                                       uint32_t samples, uint64_t watchdog, struct corun_diagnostics *list,
                                       struct model_kernel *kernel);

#endif
