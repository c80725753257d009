/* SPDX-License-Identifier: MIT */
/*
 * Even: the SMs are split as evenly as possible over the running applications (Adriaens et al., "The case for GPGPU
 * spatial multitasking", HPCA 2012, section 3.5), and anew whenever one arrives or leaves (section 4).
 *
 * Where the division leaves a remainder, the first ones get one SM more: the paper says "arbitrarily". Its applications
 * start together and never hand an SM over: here an SM that changes hands drains, and stays closed to its new owner
 * until the old thread blocks are gone.
 */
#include "share/policies.h"
#include "share/split.h"

enum { PARAMETER_EXCLUSIVE };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_EXCLUSIVE] = {"exclusive", 1, 0, 1, true,
                             "an SM that changes hands is emptied before its new owner's first thread block enters",
                             "off|on"},
};

struct even_state {
    bool exclusive;
    struct sm_owners owners;
};

static void split(struct even_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    bool present[CORUN_MAX_APPLICATIONS];
    uint32_t counts[CORUN_MAX_APPLICATIONS];
    split_present(view, present);
    split_evenly(view->sm_count, view->application_count, present, NULL, counts);
    split_hand_over(&state->owners, view, counts);
    sm_owners_allow(&state->owners, view, CORUN_RECLAIM_DRAIN, false, allowances);
    for (uint32_t s = 0; s < view->sm_count; s++)
        allowances->exclusive[s] = state->exclusive;
}

static enum corun_status even_start(void *memory, const struct corun_view *view, const double *values,
                                    struct corun_allowances *allowances)
{
    struct even_state *state = memory;
    state->exclusive = values[PARAMETER_EXCLUSIVE] != 0;
    if (!sm_owners_start_apart(&state->owners, view, &allowances->refusal))
        return CORUN_POLICY;
    split(state, view, allowances);
    return CORUN_OK;
}

static void even_decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                        struct corun_allowances *allowances)
{
    if (moment.event == CORUN_EVENT_ARRIVE || moment.event == CORUN_EVENT_LEAVE)
        split(state, view, allowances);
}

const struct corun_policy even_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "even",
    .summary = "the SMs are split evenly over the running applications",
    .paper = "Adriaens et al., The case for GPGPU spatial multitasking, HPCA 2012, section 3.5",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE | 1u << CORUN_CAN_DRAIN,
    .observes = 1u << CORUN_SEES_RESIDENT_TBS,
    .state_bytes = sizeof(struct even_state),
    .start = even_start,
    .decide = even_decide,
};
