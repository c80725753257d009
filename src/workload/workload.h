/* A loaded workload, as the files of this layer see it. */
#ifndef CORUN_WORKLOAD_WORKLOAD_H
#define CORUN_WORKLOAD_WORKLOAD_H

#include "workload/plan.h"

struct corun_workload {
    struct description *description;
    struct plan *plan;
    const struct corun_reference *reference; /* NULL: none */
    char *ptx_path, *ptx;
    size_t ptx_bytes;
    struct corun_module *module;
    const struct corun_kernel **kernels; /* by launch_description.index */
};

#endif
