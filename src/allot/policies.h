/* SPDX-License-Identifier: MIT */
/* The policies of a host, one file each, and what they share. */
#ifndef CORUN_ALLOT_POLICIES_H
#define CORUN_ALLOT_POLICIES_H

#include "corun/host.h"

extern const struct corun_host_policy allot_os, allot_fixed, allot_static_opt, allot_heracles, allot_emu, allot_pace;

/* The host gives cores ways of their own; else the cache is common, and a query is predicted, and runs, with all of it. */
bool allot_divides_ways(const struct corun_host_view *view);
/* Cores and ways that nobody has for its own, as the allowances stand: those of an application, and of queries that run. All ways
 * where the cache is common. */
struct corun_host_share allot_free(const struct corun_host_view *view, const struct corun_host_allowances *allowances);
/* The waiting query that arrived first, of any service; NONE. */
uint32_t allot_first_waiting(const struct corun_host_view *view, const struct corun_host_allowances *allowances);
/* Waiting queries start in order of arrival, as long as a service has fewer than `most` that run; 0: any number. */
void allot_start_up_to(const struct corun_host_view *view, uint32_t most, struct corun_host_allowances *allowances);

#endif
