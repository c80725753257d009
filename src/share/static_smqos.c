/* SPDX-License-Identifier: MIT */
/*
 * Static SMQoS: SMQoS without its adjustment. Each kernel with a goal gets the part of the SMs that the goal is of its
 * isolated IPC, the batch kernels share the rest evenly (Sun et al., SMQoS, Parallel Computing 2022, section 5.2:
 * "statically sets the SM allocation ratio of the LS task as QoS policy").
 *
 * Parts of an SM are rounded up, so that the ratio is not below the goal; but every other kernel keeps an SM. The split
 * is made anew only when an application arrives or leaves or a goal is changed. Nothing is switched off.
 */
#include "share/policies.h"
#include "share/sm_owners.h"

#include <math.h>

#define ROUNDING 1e-9 /* 0.95 of 20 SMs are 19, whatever floating point makes of it */

struct static_state {
    struct sm_owners owners;
    double goals[CORUN_MAX_APPLICATIONS];
};

/* The goal as a fraction of what the application reaches alone; 0: none, or not known. */
static double ratio(const struct corun_application_view *application)
{
    if (application->goal == CORUN_GOAL_NONE || application->state != CORUN_APPLICATION_RUNNING)
        return 0;
    if (application->goal == CORUN_GOAL_FRACTION)
        return application->goal_value;
    return application->isolated_ipc > 0 ? fmin(application->goal_ipc / application->isolated_ipc, 1) : 0;
}

static void split(struct static_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    uint32_t counts[CORUN_MAX_APPLICATIONS] = {0}, batch = 0, others = 0, turn = 0, left = view->sm_count;
    for (uint32_t a = 0; a < view->application_count; a++) {
        bool running = view->applications[a].state == CORUN_APPLICATION_RUNNING;
        others += running;
        batch += running && !(ratio(&view->applications[a]) > 0);
    }
    for (uint32_t a = 0; a < view->application_count; a++) {
        double part = ratio(&view->applications[a]) * view->sm_count;
        if (!(part > 0))
            continue;
        others--; /* those that have none yet */
        uint32_t wanted = (uint32_t)ceil(part - ROUNDING), available = left - others;
        counts[a] = wanted < available ? wanted : available;
        left -= counts[a];
    }
    for (uint32_t a = 0; a < view->application_count; a++) {
        bool running = view->applications[a].state == CORUN_APPLICATION_RUNNING;
        if (running && !(ratio(&view->applications[a]) > 0))
            counts[a] = left / batch + (turn++ < left % batch);
    }
    sm_owners_split(&state->owners, counts);
    sm_owners_allow(&state->owners, CORUN_RECLAIM_DRAIN, false, allowances);
}

static enum corun_status static_start(void *memory, const struct corun_view *view, const double *values,
                                      struct corun_allowances *allowances)
{
    (void)values;
    struct static_state *state = memory;
    double sum = 0;
    for (uint32_t a = 0; a < view->application_count; a++) {
        struct corun_application_view application = view->applications[a];
        application.state = CORUN_APPLICATION_RUNNING; /* also those that are yet to come */
        sum += ratio(&application);
    }
    if (sum > 1 + ROUNDING) {
        allowances->refusal = "the goals add up to more than the whole GPU";
        return CORUN_POLICY;
    }
    if (!sm_owners_start_apart(&state->owners, view, &allowances->refusal))
        return CORUN_POLICY;
    split(state, view, allowances);
    return CORUN_OK;
}

static void static_decide(void *memory, const struct corun_view *view, struct corun_policy_moment moment,
                          struct corun_allowances *allowances)
{
    struct static_state *state = memory;
    bool changed = moment.event == CORUN_EVENT_ARRIVE || moment.event == CORUN_EVENT_LEAVE;
    for (uint32_t a = 0; a < view->application_count; a++) {
        double goal = ratio(&view->applications[a]);
        changed |= goal != state->goals[a];
        state->goals[a] = goal;
    }
    if (changed)
        split(state, view, allowances);
}

const struct corun_policy static_smqos_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "static-smqos",
    .summary = "the part of the SMs that a goal is of the isolated IPC, the rest evenly to the others",
    .paper = "Sun et al., SMQoS, Parallel Computing 2022, section 5.2",
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE | 1u << CORUN_CAN_DRAIN,
    .needs_isolated_ipc = true,
    .state_bytes = sizeof(struct static_state),
    .start = static_start,
    .decide = static_decide,
};
