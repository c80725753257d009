/* SPDX-License-Identifier: MIT */
/*
 * Fixed: a split that is given and never changes. The searches for the best and the worst one consist of such runs
 * (Adriaens et al., "The case for GPGPU spatial multitasking", HPCA 2012, section 3.5: Oracle Best and Oracle Worst).
 *
 * The SMs of an application that is not there stay idle.
 */
#include "share/policies.h"
#include "share/sm_owners.h"

#include <stdio.h>

enum { PARAMETER_SPLIT, PARAMETER_SPLIT_LAST = PARAMETER_SPLIT + CORUN_MAX_APPLICATIONS - 1, PARAMETER_REST };
_Static_assert(CORUN_MAX_APPLICATIONS == 16, "there is one row for each application that can share a GPU");

#define SPLIT(number) \
    { \
        "split_" number, 0, 0, SM_OWNERS_MAX, true, "SMs of each application, in their order", NULL \
    }

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_SPLIT] = SPLIT("1"),
    SPLIT("2"),
    SPLIT("3"),
    SPLIT("4"),
    SPLIT("5"),
    SPLIT("6"),
    SPLIT("7"),
    SPLIT("8"),
    SPLIT("9"),
    SPLIT("10"),
    SPLIT("11"),
    SPLIT("12"),
    SPLIT("13"),
    SPLIT("14"),
    SPLIT("15"),
    SPLIT("16"),
    [PARAMETER_REST] = {"rest", 0, 0, 1, true, "SMs that the split leaves over: an error, or idle", "error|idle"},
};

struct fixed_state {
    struct sm_owners owners;
    char refusal[160];
};

static enum corun_status fixed_start(void *memory, const struct corun_view *view, const double *values,
                                     struct corun_allowances *allowances)
{
    struct fixed_state *state = memory;
    uint32_t counts[CORUN_MAX_APPLICATIONS], sum = 0, given = 0;
    for (uint32_t a = 0; a < CORUN_MAX_APPLICATIONS; a++) {
        counts[a] = (uint32_t)values[PARAMETER_SPLIT + a];
        given = counts[a] ? a + 1 : given;
        sum += counts[a];
        if (a < view->application_count && !counts[a] && !state->refusal[0])
            snprintf(state->refusal, sizeof state->refusal, "split gives application %u no SM", a + 1);
    }
    if (!given)
        snprintf(state->refusal, sizeof state->refusal, "the split is missing, like split=8/22");
    else if (given > view->application_count)
        snprintf(state->refusal, sizeof state->refusal, "split is for %u applications", given);
    else if (!state->refusal[0] && (sum > view->sm_count || (sum < view->sm_count && !values[PARAMETER_REST])))
        snprintf(state->refusal, sizeof state->refusal, "the parts of split are together %u SMs%s", sum,
                 sum < view->sm_count ? " (rest=idle leaves the others unused)" : "");
    allowances->refusal = state->refusal[0] ? state->refusal : NULL;
    if (allowances->refusal || !sm_owners_start(&state->owners, view, &allowances->refusal))
        return CORUN_POLICY;
    sm_owners_split(&state->owners, counts);
    sm_owners_allow(&state->owners, view, CORUN_RECLAIM_DRAIN, false, allowances);
    return CORUN_OK;
}

static void fixed_decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                         struct corun_allowances *allowances)
{
    (void)state, (void)view, (void)moment, (void)allowances;
}

const struct corun_policy fixed_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "fixed",
    .summary = "a given split of the SMs, like split=8/22, that never changes",
    .paper = "Adriaens et al., The case for GPGPU spatial multitasking, HPCA 2012, section 3.5",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE,
    .state_bytes = sizeof(struct fixed_state),
    .start = fixed_start,
    .decide = fixed_decide,
};
