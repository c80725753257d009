/* SPDX-License-Identifier: MIT */
/* A host that has nothing to do for a while, in simulated time. */
#ifndef CORUN_CUDA_HOST_SLEEP_H
#define CORUN_CUDA_HOST_SLEEP_H

#include "cuda/entry.h"

/*
 * What nanosleep is beside a GPU: the host asks for nothing until that time has passed, and the simulated GPU of the current context goes on
 * meanwhile. No entry point of CUDA's: whoever opens the driver at run time finds it by its name (driver/driver.h). Gives a CUresult.
 */
CORUN_CUDA_EXPORT int corun_host_sleep(unsigned long long nanoseconds);

#endif
