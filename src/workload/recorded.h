/* SPDX-License-Identifier: MIT */
/* The launches of an instance as a record has them. */
#ifndef CORUN_WORKLOAD_RECORDED_H
#define CORUN_WORKLOAD_RECORDED_H

#include "workload/workload.h"

struct recorded;

/*
 * For the grids of an application: launch i is of grids[grid_of[i]], of `distinct`. All stay the caller's and must stay, as must the record.
 * ARGUMENT: the record is of other launches; MEMORY.
 */
enum corun_status recorded_create(struct corun_record *record, struct corun_grid *const *grids, size_t distinct,
                                  const uint32_t *grid_of, uint32_t count, uint32_t application,
                                  struct corun_diagnostics *list, struct recorded **recorded);
void recorded_destroy(struct recorded *recorded);
/* NULL: out of memory. */
const struct corun_grid *recorded_grid(struct recorded *recorded, uint32_t launch);

#endif
