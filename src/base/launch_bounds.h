/* SPDX-License-Identifier: MIT */
/*
 * Registers that launch bounds leave a thread.
 *
 * An assembler keeps a kernel that promises thread blocks of n threads (.maxntid, .reqntid) able to run with n: a thread gets no more registers than
 * let n threads fit an SM, times the thread blocks of .minnctapersm, and the rest is spilled. This is what ptxas 13.0 does for sm_75, sm_80 and sm_90:
 * warps are divided evenly among the warp schedulers, each of which has its part of the registers, and a warp's share is rounded down to the unit of
 * allocation. A promise that the SM cannot keep with any number of registers counts for nothing: thread blocks that are too many for it, then threads.
 * The directives of a kernel with .maxnreg limit nothing, and neither do those of a kernel whose registers an assembler has told.
 */
#ifndef CORUN_BASE_LAUNCH_BOUNDS_H
#define CORUN_BASE_LAUNCH_BOUNDS_H

#include "corun/config.h"
#include "corun/source.h"

/* Of `registers` that a thread takes by itself, those that it has under the bounds on a GPU. */
uint32_t launch_bounds_registers(const struct corun_gpu_config *config, uint32_t registers,
                                 const struct corun_launch_bounds *bounds);

#endif
