/* SPDX-License-Identifier: MIT */
/*
 * Rounds: the split with the fewest rounds of thread blocks over all applications, in which none takes more rounds than
 * with the even split (Adriaens et al., "The case for GPGPU spatial multitasking", HPCA 2012, section 3.5).
 *
 * A kernel of t thread blocks, of which an SM holds h, takes ceil(t / (h x SMs)) rounds; a run takes those of all
 * its launches. Each application gets at least the fewest SMs with which it takes as many rounds as with the even
 * split; among all such splits that with the smallest sum of rounds is taken, among equal ones the one closest to the
 * even split. As with smart-even, a run that is not known beforehand is known by what was launched in the first
 * run; one of which nothing is known yet keeps its even share.
 */
#include "share/launches.h"
#include "share/policies.h"
#include "share/split.h"

enum { PARAMETER_BY };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_BY] = {"by", 0, 0, 1, true,
                      "the rounds of all that a run launches, or those of the running kernel alone",
                      LAUNCH_SCOPE_CHOICES},
};

struct rounds_state {
    struct launches launches;
    struct sm_owners owners;
    struct split_search search;
};

/* Row `row` of the search is application `a`, which would get `even` SMs. */
static void describe(struct rounds_state *state, uint32_t row, uint32_t a, uint32_t even)
{
    struct split_search *search = &state->search;
    uint64_t rounds_even = launches_rounds(&state->launches, a, even);
    uint32_t least = even;
    while (rounds_even && least > 1 && launches_rounds(&state->launches, a, least - 1) <= rounds_even)
        least--;
    search->even[row] = even;
    search->least[row] = least;
    search->most[row] = search->sm_count;
    for (uint32_t sms = 1; sms <= search->sm_count; sms++)
        search->value[row][sms] = -(double)launches_rounds(&state->launches, a, sms);
}

static void split(struct rounds_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    bool present[CORUN_MAX_APPLICATIONS];
    uint32_t even[CORUN_MAX_APPLICATIONS], rows[CORUN_MAX_APPLICATIONS], counts[CORUN_MAX_APPLICATIONS] = {0};
    struct split_search *search = &state->search;
    *search = (struct split_search){.sm_count = view->sm_count};
    split_present(view, present);
    split_evenly(view->sm_count, view->application_count, present, NULL, even);
    for (uint32_t a = 0; a < view->application_count; a++) {
        if (present[a])
            describe(state, search->application_count++, a, even[a]);
    }
    bool found = split_search(search, rows); /* the even split is one of them: none is found only if nobody is there */
    for (uint32_t a = 0, row = 0; a < view->application_count && found; a++) {
        if (present[a])
            counts[a] = rows[row++];
    }
    split_hand_over(&state->owners, view, counts);
    sm_owners_allow(&state->owners, view, CORUN_RECLAIM_DRAIN, false, allowances);
}

static enum corun_status rounds_start(void *memory, const struct corun_view *view, const double *values,
                                      struct corun_allowances *allowances)
{
    struct rounds_state *state = memory;
    state->launches.scope = (enum launch_scope)values[PARAMETER_BY];
    if (!sm_owners_start_apart(&state->owners, view, &allowances->refusal))
        return CORUN_POLICY;
    split(state, view, allowances);
    return CORUN_OK;
}

static void rounds_decide(void *memory, const struct corun_view *view, struct corun_policy_moment moment,
                          struct corun_allowances *allowances)
{
    struct rounds_state *state = memory;
    if (launches_note(&state->launches, view, moment))
        split(state, view, allowances);
}

const struct corun_policy rounds_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "rounds",
    .summary = "the fewest rounds of thread blocks over all applications, for none more than with an even split",
    .paper = "Adriaens et al., The case for GPGPU spatial multitasking, HPCA 2012, section 3.5",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE | 1u << CORUN_CAN_DRAIN,
    .observes = 1u << CORUN_SEES_RESIDENT_TBS | 1u << CORUN_SEES_OCCUPANCY | 1u << CORUN_SEES_RUNS,
    .state_bytes = sizeof(struct rounds_state),
    .start = rounds_start,
    .decide = rounds_decide,
};
