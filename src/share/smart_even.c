/* SPDX-License-Identifier: MIT */
/*
 * Smart even: as even, but no application gets more SMs than it can use, by the number of its thread blocks (Adriaens
 * et al., "The case for GPGPU spatial multitasking", HPCA 2012, section 3.5).
 *
 * Thread blocks are dealt out to SMs in turn, so an application can use as many SMs as its largest grid has thread
 * blocks. What it cannot use is shared evenly by the others; if nobody can, it stays idle. An application whose
 * launches are not known beforehand is known by those of its first run, and the split follows.
 */
#include "share/launches.h"
#include "share/policies.h"
#include "share/split.h"

enum { PARAMETER_BY };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_BY] = {"by", 0, 0, 1, true,
                      "the thread blocks of all that a run launches, or those of the running kernel alone",
                      LAUNCH_SCOPE_CHOICES},
};

struct smart_even_state {
    struct launches launches;
    struct sm_owners owners;
};

static void split(struct smart_even_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    bool present[CORUN_MAX_APPLICATIONS];
    uint32_t counts[CORUN_MAX_APPLICATIONS], most[CORUN_MAX_APPLICATIONS];
    split_present(view, present);
    for (uint32_t a = 0; a < view->application_count; a++)
        most[a] = launches_most_sms(&state->launches, a);
    split_evenly(view->sm_count, view->application_count, present, most, counts);
    split_hand_over(&state->owners, view, counts);
    sm_owners_allow(&state->owners, view, CORUN_RECLAIM_DRAIN, false, allowances);
}

static enum corun_status smart_even_start(void *memory, const struct corun_view *view, const double *values,
                                          struct corun_allowances *allowances)
{
    struct smart_even_state *state = memory;
    state->launches.scope = (enum launch_scope)values[PARAMETER_BY];
    if (!sm_owners_start_apart(&state->owners, view, &allowances->refusal))
        return CORUN_POLICY;
    split(state, view, allowances);
    return CORUN_OK;
}

static void smart_even_decide(void *memory, const struct corun_view *view, struct corun_policy_moment moment,
                              struct corun_allowances *allowances)
{
    struct smart_even_state *state = memory;
    if (launches_note(&state->launches, view, moment))
        split(state, view, allowances);
}

const struct corun_policy smart_even_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "smart-even",
    .summary = "evenly, but nobody gets more SMs than it has thread blocks for",
    .paper = "Adriaens et al., The case for GPGPU spatial multitasking, HPCA 2012, section 3.5",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE | 1u << CORUN_CAN_DRAIN,
    .observes = 1u << CORUN_SEES_RESIDENT_TBS | 1u << CORUN_SEES_OCCUPANCY | 1u << CORUN_SEES_RUNS,
    .state_bytes = sizeof(struct smart_even_state),
    .start = smart_even_start,
    .decide = smart_even_decide,
};
