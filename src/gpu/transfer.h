/* SPDX-License-Identifier: MIT */
/* Copies and fills of a CUDA program on the machine's copy engines: `corun exec` and replays of captures alike. */
#ifndef CORUN_GPU_TRANSFER_H
#define CORUN_GPU_TRANSFER_H

#include "corun/gpu.h"

struct transfer {
    enum corun_copy_engine engine;
    bool pageable; /* memory of the host that is not page-locked */
    bool fill;     /* writes only; within the device */
    uint64_t bytes;
};

/* How long it takes once it has its turn at its engine (corun_gpu_copy). */
uint64_t transfer_cycles(const struct corun_gpu_config *config, const struct transfer *transfer);

#endif
