/* SPDX-License-Identifier: MIT */
/* Profiles: from rows per instruction to rows per PTX line, with the text of the line. */
#ifndef CORUN_CASE_PROFILE_H
#define CORUN_CASE_PROFILE_H

#include "base/arena.h"
#include "corun/case.h"
#include "corun/workload.h"

/*
 * Sets profile and profile_count of a kernel: one row per line that was executed or waited at, ascending. `ptx` is what lines are quoted from;
 * NULL: nothing. MEMORY.
 */
enum corun_status profile_lines(struct arena *arena, const struct corun_workload_ptx *ptx,
                                const struct corun_profile_row *rows, const struct corun_instruction *code,
                                uint32_t count, struct corun_case_kernel *kernel);

/* Sorts rows by an order; those that are the same by it become one. How many there are then. */
uint32_t profile_merge(struct corun_profile_line *lines, uint32_t count, int (*order)(const void *, const void *));

#endif
