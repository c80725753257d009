/* SPDX-License-Identifier: MIT */
/* What every host asks of the allowances that a policy wrote, a simulated one and a real one. */
#ifndef CORUN_HOST_ALLOWANCES_H
#define CORUN_HOST_ALLOWANCES_H

#include "corun/host.h"

/*
 * Shares of applications and of queries that run, together; *common is what they leave. `ended` is a query that has just been answered, whose
 * share counts no more; NONE. Where the host cannot give ways, all of them stay common. POLICY, with the policy's name: more than the host has, or ways without cores.
 */
enum corun_status host_check_shares(const struct corun_host_view *view, const struct corun_host_allowances *allowances,
                                    uint32_t ended, const char *policy, struct corun_diagnostics *list,
                                    struct corun_host_share *common);

/* Before a policy starts: the version of the contract, what it needs, models. ARGUMENT. */
enum corun_status host_check_policy(const struct corun_host_view *view, const struct corun_host_policy *policy,
                                    struct corun_diagnostics *list);

#endif
