/* SPDX-License-Identifier: MIT */
/* The data that a run starts from. */
#ifndef CORUN_WORKLOAD_INITIAL_DATA_H
#define CORUN_WORKLOAD_INITIAL_DATA_H

#include "workload/workload.h"

/*
 * Fills the buffers of a problem (in the order of the description), each from the seed and its name alone. A
 * variable of the module without initial data is left as it is. ARGUMENT if a generator refuses its parameters.
 */
enum corun_status initial_data_fill(const struct corun_workload *workload, const struct corun_problem *problem,
                                    struct corun_diagnostics *list);

#endif
