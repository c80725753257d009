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

/* Gives it its turn, as soon as it can start: at `since` or later. */
void transfer_start(struct corun_gpu *gpu, const struct corun_gpu_config *config, const struct transfer *transfer,
                    uint64_t since, uint64_t *start_cycle, uint64_t *end_cycle);

#endif
