/* SPDX-License-Identifier: MIT */
/*
 * Slate with goals: each kernel has the part of the SMs that its goal is of its isolated IPC, those without goals share the rest evenly, and a
 * kernel that is given other SMs is launched again (Allen, Feng and Ge, Slate, IPDPS 2019; SlateQoS in Sun et al., SMQoS, Parallel Computing 2022,
 * section 6.1). An application without a kernel leaves its SMs to those that have one.
 *
 * Launched again: what runs of it ends first, on all of its SMs, also on those that it keeps. Everybody whose set of SMs changes has no thread
 * block anywhere before anybody of them begins with the new set.
 */
#include "share/goal_split.h"
#include "share/policies.h"
#include "share/sm_owners.h"

#include <string.h>

struct slate_state {
    struct sm_owners owners;
    bool present[CORUN_MAX_APPLICATIONS]; /* has a kernel */
    bool ends[CORUN_MAX_APPLICATIONS];    /* is about to be launched again */
};

static bool has_kernel(const struct corun_application_view *application)
{
    return application->state == CORUN_APPLICATION_RUNNING && application->running.kernel;
}

static bool has_tbs(const struct corun_view *view, uint32_t a)
{
    bool has = false;
    for (uint32_t s = 0; s < view->sm_count; s++) {
        const struct corun_share_view *share = &view->shares[s * view->application_count + a];
        has |= share->resident_tbs || share->pending_tbs;
    }
    return has;
}

/* The new split; those whose sets are not what they were have to end. */
static void split(struct slate_state *state, const struct corun_view *view)
{
    uint32_t counts[CORUN_MAX_APPLICATIONS], others = 0;
    struct sm_owners before = state->owners;
    goal_split_counts(view, state->present, counts);
    for (uint32_t a = 0; a < view->application_count; a++)
        others += counts[a];
    for (uint32_t a = 0; a < view->application_count && others < view->sm_count; a++)
        if (counts[a]) { /* nobody is there to have the rest */
            counts[a] += view->sm_count - others;
            others = view->sm_count;
        }
    sm_owners_split(&state->owners, counts);
    for (uint32_t s = 0; s < view->sm_count; s++) {
        if (before.owner[s] == state->owners.owner[s])
            continue;
        if (before.owner[s] != SM_NOBODY)
            state->ends[before.owner[s]] = true;
        if (state->owners.owner[s] != SM_NOBODY)
            state->ends[state->owners.owner[s]] = true;
    }
}

static void allow(struct slate_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    bool ending = false;
    for (uint32_t a = 0; a < view->application_count; a++)
        ending |= state->ends[a] && has_tbs(view, a);
    if (!ending)
        memset(state->ends, 0, sizeof state->ends);
    sm_owners_allow(&state->owners, view, CORUN_RECLAIM_DRAIN, false, allowances);
    for (uint32_t s = 0; s < view->sm_count && ending; s++)
        for (uint32_t a = 0; a < view->application_count; a++)
            if (state->ends[a])
                allowances->tb_limit[s * view->application_count + a] = 0;
}

static void look(struct slate_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    bool changed = false;
    for (uint32_t a = 0; a < view->application_count; a++) {
        bool present = has_kernel(&view->applications[a]);
        changed |= present != state->present[a];
        state->present[a] = present;
    }
    if (changed)
        split(state, view);
    allow(state, view, allowances);
}

static enum corun_status slate_start(void *memory, const struct corun_view *view, const double *values,
                                     struct corun_allowances *allowances)
{
    (void)values;
    struct slate_state *state = memory;
    if (goal_split_too_much(view, &allowances->refusal) ||
        !sm_owners_start_apart(&state->owners, view, &allowances->refusal))
        return CORUN_POLICY;
    look(state, view, allowances);
    return CORUN_OK;
}

static void slate_decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                         struct corun_allowances *allowances)
{
    if (moment.event == CORUN_EVENT_LIMIT_REACHED || moment.event == CORUN_EVENT_RUN_COMPLETE) /* about to start over */
        allow(state, view, allowances);
    else
        look(state, view, allowances);
}

const struct corun_policy slate_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "slate",
    .summary = "SMs as goals say, for kernels that are there; a kernel that gets others is launched again",
    .paper = "SlateQoS in Sun et al., SMQoS, Parallel Computing 2022, section 6.1",
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE | 1u << CORUN_CAN_DRAIN,
    .observes = 1u << CORUN_SEES_RESIDENT_TBS,
    .needs_isolated_ipc = true,
    .state_bytes = sizeof(struct slate_state),
    .start = slate_start,
    .decide = slate_decide,
};
