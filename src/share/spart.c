/* SPDX-License-Identifier: MIT */
/*
 * Spart: the SMs are split evenly, and an SM changes hands by a switch: it stalls, all its state is saved, and its
 * new owner runs there (Tanasic et al., "Enabling preemptive multiprogramming on GPUs", ISCA 2014, dynamic spatial
 * sharing, as Wang's thesis on simultaneous multikernel, SMK, section 2.5, compares with it: an equal number of SMs for
 * each kernel; the SM stalls meanwhile).
 *
 * It is the even split of HPCA 2012 otherwise: made anew when an application arrives or leaves, as few SMs as possible
 * changing hands. With lend=on, an SM that is empty at the end of an epoch, and whose owner has nothing to start, is
 * lent to the application that has thread blocks waiting and the fewest SMs; an owner that starts a kernel, or has
 * thread blocks waiting, gets as much of its even share back as it has thread blocks for.
 */
#include "share/policies.h"
#include "share/split.h"

enum { PARAMETER_RECLAIM, PARAMETER_IDEAL, PARAMETER_LEND };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_RECLAIM] = {"reclaim", SM_RECLAIM_SWITCH, 0, 2, true, "how an SM changes hands", SM_RECLAIM_WORDS},
    [PARAMETER_IDEAL] = {"ideal", 0, 0, 1, true, "state is saved and restored in no time", "off|on"},
    [PARAMETER_LEND] = {"lend", 0, 0, 1, true, "SMs that their owner has no thread blocks for are lent", "off|on"},
};

struct spart_state {
    enum corun_reclaim reclaim;
    bool lends;
    uint32_t even[CORUN_MAX_APPLICATIONS];
    struct sm_owners owners;
};

static void split(struct spart_state *state, const struct corun_view *view)
{
    bool present[CORUN_MAX_APPLICATIONS];
    split_present(view, present);
    split_evenly(view->sm_count, view->application_count, present, NULL, state->even);
    split_hand_over(&state->owners, view, state->even);
}

/* Thread blocks that are not on an SM. */
static uint32_t waiting(const struct corun_view *view, uint32_t a)
{
    const struct corun_grid_view *grid = &view->applications[a].running;
    bool runs = view->applications[a].state == CORUN_APPLICATION_RUNNING && grid->kernel;
    return runs ? grid->tbs_waiting + grid->tbs_preempted : 0;
}

static bool uses(const struct corun_view *view, uint32_t s, uint32_t a)
{
    const struct corun_share_view *share = &view->shares[s * view->application_count + a];
    return share->resident_tbs || share->pending_tbs;
}

/* Who takes an SM that `owner` does not need: SM_NOBODY if nobody does. */
static uint32_t find_borrower(const struct spart_state *state, const struct corun_view *view, uint32_t owner)
{
    uint32_t best = SM_NOBODY, best_sms = 0;
    for (uint32_t a = 0; a < view->application_count; a++) {
        uint32_t sms = sm_owners_count(&state->owners, a);
        if (a != owner && waiting(view, a) && (best == SM_NOBODY || sms < best_sms)) {
            best = a;
            best_sms = sms;
        }
    }
    return best;
}

static void lend(struct spart_state *state, const struct corun_view *view)
{
    for (uint32_t s = 0; s < view->sm_count; s++) {
        uint32_t owner = state->owners.owner[s];
        if (owner == SM_NOBODY || waiting(view, owner) || uses(view, s, owner))
            continue;
        uint32_t borrower = find_borrower(state, view, owner);
        if (borrower != SM_NOBODY)
            state->owners.owner[s] = (uint8_t)borrower;
    }
}

/* As much of its even share as an application can use, from those that have most above theirs. */
static void take_back(struct spart_state *state, const struct corun_view *view, uint32_t a)
{
    uint32_t can_use = waiting(view, a);
    for (uint32_t s = 0; s < view->sm_count; s++)
        can_use += state->owners.owner[s] == a && uses(view, s, a);
    uint32_t due = can_use < state->even[a] ? can_use : state->even[a];
    while (sm_owners_count(&state->owners, a) < due) {
        uint32_t best = SM_NOBODY, best_excess = 0;
        for (uint32_t other = 0; other < view->application_count; other++) {
            uint32_t sms = sm_owners_count(&state->owners, other);
            if (sms > state->even[other] && sms - state->even[other] > best_excess) {
                best = other;
                best_excess = sms - state->even[other];
            }
        }
        if (best == SM_NOBODY || !sm_owners_move(&state->owners, view, best, a))
            return;
    }
}

static enum corun_status spart_start(void *memory, const struct corun_view *view, const double *values,
                                     struct corun_allowances *allowances)
{
    struct spart_state *state = memory;
    state->reclaim = sm_reclaim(values[PARAMETER_RECLAIM]);
    if (!sm_owners_start_apart(&state->owners, view, &allowances->refusal) ||
        !sm_owners_can(view, state->reclaim, &allowances->refusal))
        return CORUN_POLICY;
    state->lends = values[PARAMETER_LEND] != 0;
    allowances->free_transfers = values[PARAMETER_IDEAL] != 0;
    split(state, view);
    sm_owners_allow(&state->owners, view, state->reclaim, false, allowances);
    return CORUN_OK;
}

static void spart_decide(void *memory, const struct corun_view *view, struct corun_policy_moment moment,
                         struct corun_allowances *allowances)
{
    struct spart_state *state = memory;
    switch (moment.event) {
    case CORUN_EVENT_ARRIVE:
    case CORUN_EVENT_LEAVE:
        split(state, view);
        break;
    case CORUN_EVENT_KERNEL_START:
        if (state->lends)
            take_back(state, view, moment.application);
        break;
    case CORUN_EVENT_EPOCH:
        if (!state->lends)
            return;
        for (uint32_t a = 0; a < view->application_count; a++)
            take_back(state, view, a);
        lend(state, view);
        break;
    default:
        return;
    }
    sm_owners_allow(&state->owners, view, state->reclaim, false, allowances);
}

const struct corun_policy spart_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "spart",
    .summary = "the SMs are split evenly, and an SM changes hands by a switch with all its state",
    .paper = "Tanasic et al., Enabling preemptive multiprogramming on GPUs, ISCA 2014, as in Wang, SMK, section 2.5",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE,
    .observes = 1u << CORUN_SEES_RESIDENT_TBS | SM_RECLAIM_OBSERVES | 1u << CORUN_SEES_TB_PROGRESS |
                1u << CORUN_SEES_PREEMPTIONS,
    .state_bytes = sizeof(struct spart_state),
    .start = spart_start,
    .decide = spart_decide,
};
