/* SPDX-License-Identifier: MIT */
/* An instance of a workload, as the files of this layer see it. */
#ifndef CORUN_WORKLOAD_INSTANCE_H
#define CORUN_WORKLOAD_INSTANCE_H

#include "workload/workload.h"

struct corun_instance {
    struct replay *replay; /* of a captured program; NULL: of a description. Then only workload and seed are set, too */
    const struct corun_workload *workload;
    uint64_t seed;
    struct corun_memory *memory;
    struct corun_module_instance *module;
    uint64_t addresses[DESCRIPTION_MAX_BUFFERS]; /* of storage i */
    struct recorded *recorded;                   /* NULL: its launches are executed. Else buffers hold no data */
    struct corun_grid **grids;                   /* distinct ones */
    size_t distinct;
    uint32_t *grid_of;      /* [plan->grid_count]: index into grids */
    uint32_t *operation_of; /* [plan->grid_count]: index into the plan's operations */
};

#endif
