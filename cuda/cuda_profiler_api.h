/* SPDX-License-Identifier: MIT */
/* The calls that enclose what a profiler looks at, and what `corun exec --profiled` times (docs/cuda.md): cuda_runtime_api.h has them. */
#ifndef CORUN_CUDA_PROFILER_API_H
#define CORUN_CUDA_PROFILER_API_H

#include "cuda_runtime.h"

#endif
