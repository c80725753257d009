/* SPDX-License-Identifier: MIT */
/* A loaded workload, as the files of this layer see it. */
#ifndef CORUN_WORKLOAD_WORKLOAD_H
#define CORUN_WORKLOAD_WORKLOAD_H

#include "sass/trace.h"
#include "workload/capture.h"
#include "workload/plan.h"

#include <stdbool.h>

struct corun_workload {
    uint32_t rewrites;         /* of its modules (src/assemble) */
    struct captured *captured; /* NULL: of a description. Else the only member below that is set */
    struct sass_trace *traced; /* the same, of a trace (trace:FOLDER) */
    struct description *description;
    struct plan *plan;
    const struct corun_reference *reference; /* NULL: none */
    char *ptx_path, *ptx;
    size_t ptx_bytes;
    struct corun_module *module;
    const struct corun_kernel **kernels; /* by launch_description.index */
};

/* Launches in one run. */
static inline uint32_t workload_grid_count(const struct corun_workload *workload)
{
    if (workload->traced)
        return (uint32_t)workload->traced->launches.count;
    return workload->captured ? (uint32_t)workload->captured->launches.count : workload->plan->grid_count;
}

/* Whether the text for corun_workload_load() names a workload that has sizes, and none of them. */
bool workload_lacks_size(const char *specification);

static inline const char *workload_name(const struct corun_workload *workload)
{
    if (workload->traced)
        return workload->traced->name;
    return workload->captured ? workload->captured->name : workload->description->name;
}

#endif
