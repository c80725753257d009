/* SPDX-License-Identifier: MIT */
/*
 * Draws of several thread blocks: worker_arguments_range. Texts of worker_sheet.h, for the elected thread, with registers of worker_loop.c. What a range has left is in shared
 * memory, behind the two slots.
 */
#ifndef CORUN_REWRITE_WORKER_RANGES_H
#define CORUN_REWRITE_WORKER_RANGES_H

/* %a: the first thread block of draw %drawn, or the only one. %ranging: others follow, %further of them. */
extern const char worker_range_number[];
/* These are kept, */
extern const char worker_range_left[];
/* and counted beforehand: all of a range but the last one. */
extern const char worker_range_count[];
/* In place of a draw: %a is the next one of the range. */
extern const char worker_range_step[];
/* %u, thread blocks of the grid, becomes draws. */
extern const char worker_range_draws[];

#endif
