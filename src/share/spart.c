/*
 * Spart: the SMs are split evenly, and an SM changes hands by a switch: it stalls, all its contexts are saved, and its
 * new owner goes on there (Tanasic et al., "Enabling preemptive multiprogramming on GPUs", ISCA 2014, as section 2.5 of
 * the thesis on simultaneous multikernel, SMK, by Wang describes and compares with it: an equal number of SMs for each
 * kernel; the SM stalls meanwhile).
 *
 * It is the even split of HPCA 2012 otherwise: made anew when an application arrives or leaves, as few SMs as possible
 * changing hands.
 */
#include "share/policies.h"
#include "share/split.h"

enum { PARAMETER_RECLAIM, PARAMETER_IDEAL };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_RECLAIM] = {"reclaim", 0, 0, 1, true, "how an SM changes hands", SPLIT_RECLAIM_CHOICES},
    [PARAMETER_IDEAL] = {"ideal", 0, 0, 1, true, "contexts are saved and restored in no time", "off|on"},
};

struct spart_state {
    enum corun_reclaim reclaim;
    struct sm_owners owners;
};

static void split(struct spart_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    bool present[CORUN_MAX_APPLICATIONS];
    uint32_t counts[CORUN_MAX_APPLICATIONS];
    split_present(view, present);
    split_evenly(view->sm_count, view->application_count, present, NULL, counts);
    split_hand_over(&state->owners, view, counts);
    sm_owners_allow(&state->owners, state->reclaim, false, allowances);
}

static enum corun_status spart_start(void *memory, const struct corun_view *view, const double *values,
                                     struct corun_allowances *allowances)
{
    struct spart_state *state = memory;
    allowances->refusal = split_refuse(view);
    if (allowances->refusal ||
        !split_reclaim(view, (uint32_t)values[PARAMETER_RECLAIM], &state->reclaim, &allowances->refusal) ||
        !sm_owners_start(&state->owners, view, &allowances->refusal))
        return CORUN_POLICY;
    allowances->free_transfers = values[PARAMETER_IDEAL] != 0;
    split(state, view, allowances);
    return CORUN_OK;
}

static void spart_decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                         struct corun_allowances *allowances)
{
    if (moment.event == CORUN_EVENT_ARRIVE || moment.event == CORUN_EVENT_LEAVE)
        split(state, view, allowances);
}

const struct corun_policy spart_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "spart",
    .summary = "the SMs are split evenly, and an SM changes hands by a switch of all its contexts",
    .paper = "Tanasic et al., Enabling preemptive multiprogramming on GPUs, ISCA 2014, as in Wang, SMK, section 2.5",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE,
    .state_bytes = sizeof(struct spart_state),
    .start = spart_start,
    .decide = spart_decide,
};
