/* SPDX-License-Identifier: MIT */
/* os: the operating system alone. Everything shares all cores and the whole cache, and queries start when they arrive. */
#include "allot/policies.h"

enum { SHARE };

static const struct corun_host_parameter parameters[] = {
    [SHARE] = {"share", 0, 0, 1, true, "who gets equal turns on the cores", "threads|applications"},
};

static enum corun_status start(void *state, const struct corun_host_view *view, const double *values,
                               struct corun_host_allowances *allowances)
{
    (void)state, (void)view;
    allowances->fairness = values[SHARE] > 0 ? CORUN_HOST_FAIR_APPLICATIONS : CORUN_HOST_FAIR_THREADS;
    return CORUN_OK;
}

static void decide(void *state, const struct corun_host_view *view, struct corun_host_moment moment,
                   struct corun_host_allowances *allowances)
{
    (void)state, (void)moment;
    allot_start_all(view, allowances);
}

const struct corun_host_policy allot_os = {
    .version = CORUN_HOST_POLICY_VERSION,
    .name = "os",
    .summary = "everything shares all cores and the whole cache",
    .paper = "EMU, section 5.3.2",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .start = start,
    .decide = decide,
};
