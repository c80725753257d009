/* SPDX-License-Identifier: MIT */
/* threadIdx, blockIdx, blockDim, gridDim and warpSize, under the name that the
 * toolkit has for them. */
#ifndef CORUN_DEVICE_LAUNCH_PARAMETERS_H
#define CORUN_DEVICE_LAUNCH_PARAMETERS_H

#include "cuda_runtime.h"

#endif
