/* SPDX-License-Identifier: MIT */
/*
 * The two allocators of EMU (Wang, thesis, SJTU 2017, section 5.4) as functions of plain values: how many cores and ways a query needs, before
 * it runs (algorithm 5-3) and while it runs (algorithm 5-4).
 */
#ifndef CORUN_ALLOT_EMU_SEARCH_H
#define CORUN_ALLOT_EMU_SEARCH_H

#include "corun/host.h"

/*
 * Algorithm 5-3, lines 1 to 20: the fewest cores with which the query, with all `most.ways`, is predicted to take less than limit_ns; then the
 * fewest ways with those cores. All cores, or all ways, where none do. `most` has a core and a way at least.
 */
struct corun_host_share emu_search(const struct corun_host_model *model, double size, double limit_ns,
                                   struct corun_host_share most);

/* Its first half alone, lines 1 to 10: the fewest cores, with all `most.ways`. */
uint32_t emu_search_cores(const struct corun_host_model *model, double size, double limit_ns,
                          struct corun_host_share most);

/* What algorithm 5-4 keeps of a query. Work is instructions per cycle times ns. */
struct emu_query {
    double ipc_predicted, work_predicted;
    double work_completed, run_ns;
    double limit_ns;                 /* T_ub, equation 5-1: what queueing has left of the target */
    struct corun_host_share initial; /* the lower bounds */
};

/*
 * Algorithm 5-4 at the end of an interval: `share` is what the query has, `most` all that it could have. Rounded to the nearest whole number, halves
 * up, as in the example of figure 5-8. Line 13 bounds the ways from below by Core_initial, by its letters; the example takes the initial ways there, and
 * so does this. A query that has done nothing in the interval gets all.
 */
struct corun_host_share emu_adjust(struct emu_query *query, double ipc_current, double interval_ns,
                                   struct corun_host_share share, struct corun_host_share most);

#endif
