/* SPDX-License-Identifier: MIT */
/*
 * Profile: the split with the best speed-ups by the curves that profiling runs gave: each application alone on 1..N SMs
 * (Adriaens et al., "The case for GPGPU spatial multitasking", HPCA 2012, section 3.5, equation 2).
 *
 * The equation is printed as a sum over S(i, j)^(1/N), where N applications share the GPU and application i is S(i, j)
 * times as fast on j SMs as on one. The exponent says that a geometric mean is meant, which is a product: that is the
 * objective unless told otherwise. All SMs are handed out, at least one each; among equal splits the one closest to the
 * even split. One that comes later and whose curve nobody knows is taken to be as much faster as it has SMs.
 */
#include "share/policies.h"
#include "share/split.h"

#include <math.h>

enum { PARAMETER_OBJECTIVE, PARAMETER_WINDOW, PARAMETER_POINTS };
enum { OBJECTIVE_PRODUCT, OBJECTIVE_SUM };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_OBJECTIVE] = {"objective", OBJECTIVE_PRODUCT, OBJECTIVE_PRODUCT, OBJECTIVE_SUM, true,
                             "what of S(i, j)^(1/N) over all applications becomes as large as possible", "product|sum"},
    [PARAMETER_WINDOW] = {"window", 0, 0, 1e12, true, "cycles of each profiling run; 0: the window of the case", NULL},
    [PARAMETER_POINTS] = {"points", 0, 0, SM_OWNERS_MAX, true,
                          "numbers of SMs that are profiled, from 1 to all, linear in between; 0: each", NULL},
};

struct profile_state {
    bool product;
    struct sm_owners owners;
    struct split_search search;
};

static bool is_known(const struct corun_application_view *application, uint32_t sm_count)
{
    bool known = application->speedup && application->speedup_count >= sm_count;
    for (uint32_t sms = 0; known && sms < sm_count; sms++)
        known = application->speedup[sms] > 0 && isfinite(application->speedup[sms]);
    return known;
}

static void split(struct profile_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    bool present[CORUN_MAX_APPLICATIONS];
    uint32_t even[CORUN_MAX_APPLICATIONS], rows[CORUN_MAX_APPLICATIONS], counts[CORUN_MAX_APPLICATIONS] = {0};
    struct split_search *search = &state->search;
    *search = (struct split_search){.product = state->product, .sm_count = view->sm_count};
    uint32_t sharing = split_present(view, present);
    split_evenly(view->sm_count, view->application_count, present, NULL, even);
    for (uint32_t a = 0; a < view->application_count; a++) {
        if (!present[a])
            continue;
        uint32_t row = search->application_count++;
        search->even[row] = even[a];
        search->least[row] = 1;
        search->most[row] = view->sm_count;
        bool known = is_known(&view->applications[a], view->sm_count);
        for (uint32_t sms = 1; sms <= view->sm_count; sms++) {
            double speedup = known ? view->applications[a].speedup[sms - 1] : sms;
            /* the N-th root does not change which product is the largest */
            search->value[row][sms] = state->product ? speedup : pow(speedup, 1.0 / sharing);
        }
    }
    bool found = split_search(search, rows);
    for (uint32_t a = 0, row = 0; a < view->application_count && found; a++) {
        if (present[a])
            counts[a] = rows[row++];
    }
    split_hand_over(&state->owners, view, counts);
    sm_owners_allow(&state->owners, view, CORUN_RECLAIM_DRAIN, false, allowances);
}

static enum corun_status profile_start(void *memory, const struct corun_view *view, const double *values,
                                       struct corun_allowances *allowances)
{
    struct profile_state *state = memory;
    state->product = values[PARAMETER_OBJECTIVE] == OBJECTIVE_PRODUCT;
    if (!sm_owners_start_apart(&state->owners, view, &allowances->refusal))
        return CORUN_POLICY;
    for (uint32_t a = 0; a < view->application_count && !allowances->refusal; a++) {
        const char *name = view->applications[a].name;
        bool for_anybody = name && !name[0]; /* a slot */
        if (!for_anybody && !is_known(&view->applications[a], view->sm_count))
            allowances->refusal = "the speed-up of an application over the number of SMs is not known";
    }
    if (allowances->refusal)
        return CORUN_POLICY;
    split(state, view, allowances);
    return CORUN_OK;
}

static void profile_decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                           struct corun_allowances *allowances)
{
    if (moment.event == CORUN_EVENT_ARRIVE || moment.event == CORUN_EVENT_LEAVE)
        split(state, view, allowances);
}

const struct corun_policy profile_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "profile",
    .summary = "the best split by speed-ups over the number of SMs, measured alone beforehand",
    .paper = "Adriaens et al., The case for GPGPU spatial multitasking, HPCA 2012, section 3.5, equation 2",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE | 1u << CORUN_CAN_DRAIN,
    .observes = 1u << CORUN_SEES_RESIDENT_TBS,
    .needs_speedup = true,
    .state_bytes = sizeof(struct profile_state),
    .start = profile_start,
    .decide = profile_decide,
};
