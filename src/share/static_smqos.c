/* SPDX-License-Identifier: MIT */
/*
 * Static SMQoS: SMQoS without its adjustment. Each kernel with a goal gets the part of the SMs that the goal is of its
 * isolated IPC, the batch kernels share the rest evenly (Sun et al., SMQoS, Parallel Computing 2022, section 5.2:
 * "statically sets the SM allocation ratio of the LS task as QoS policy").
 *
 * Parts of an SM are rounded up, so that the ratio is not below the goal; but every other kernel keeps an SM. The split
 * is made anew only when an application arrives or leaves or a goal is changed. Nothing is switched off.
 */
#include "share/goal_split.h"
#include "share/policies.h"
#include "share/sm_owners.h"

struct static_state {
    struct sm_owners owners;
    double goals[CORUN_MAX_APPLICATIONS];
};

static double ratio(const struct corun_application_view *application)
{
    return application->state == CORUN_APPLICATION_RUNNING ? goal_split_ratio(application) : 0;
}

static void split(struct static_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    uint32_t counts[CORUN_MAX_APPLICATIONS];
    bool present[CORUN_MAX_APPLICATIONS];
    for (uint32_t a = 0; a < view->application_count; a++)
        present[a] = view->applications[a].state == CORUN_APPLICATION_RUNNING;
    goal_split_counts(view, present, counts);
    sm_owners_split(&state->owners, counts);
    sm_owners_allow(&state->owners, view, CORUN_RECLAIM_DRAIN, false, allowances);
}

static enum corun_status static_start(void *memory, const struct corun_view *view, const double *values,
                                      struct corun_allowances *allowances)
{
    (void)values;
    struct static_state *state = memory;
    if (goal_split_too_much(view, &allowances->refusal) ||
        !sm_owners_start_apart(&state->owners, view, &allowances->refusal))
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
