/* SPDX-License-Identifier: MIT */
/*
 * Cooperative: one application after the other, each on the whole GPU, until it yields (Adriaens et al., "The case for
 * GPGPU spatial multitasking", HPCA 2012, section 2).
 *
 * Only the application whose turn it is may start thread blocks; it keeps its turn until it has completed a run (or
 * several, by parameter) or has left. Then the next one in the order of arrival follows, and it goes to the end.
 */
#include "share/policies.h"

#include <string.h>

enum { PARAMETER_RUNS };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_RUNS] = {"runs", 1, 1, 1e6, true, "runs that an application completes before the next one has its turn",
                        NULL},
};

struct cooperative_state {
    uint32_t runs_per_turn;
    uint32_t runs_left; /* of the current turn */
    uint32_t count;
    uint32_t queue[CORUN_MAX_APPLICATIONS]; /* present applications; the first one has its turn */
};

static void enter(struct cooperative_state *state, uint32_t application)
{
    for (uint32_t i = 0; i < state->count; i++) {
        if (state->queue[i] == application)
            return;
    }
    if (state->count < CORUN_MAX_APPLICATIONS)
        state->queue[state->count++] = application;
    if (state->count == 1)
        state->runs_left = state->runs_per_turn;
}

static void leave(struct cooperative_state *state, uint32_t application)
{
    for (uint32_t i = 0; i < state->count; i++) {
        if (state->queue[i] != application)
            continue;
        state->count--;
        memmove(&state->queue[i], &state->queue[i + 1], (state->count - i) * sizeof state->queue[0]);
        if (i == 0)
            state->runs_left = state->runs_per_turn;
        return;
    }
}

static void end_run(struct cooperative_state *state, uint32_t application)
{
    if (!state->count || state->queue[0] != application || --state->runs_left)
        return;
    memmove(&state->queue[0], &state->queue[1], (state->count - 1) * sizeof state->queue[0]);
    state->queue[state->count - 1] = application;
    state->runs_left = state->runs_per_turn;
}

static void allow(const struct cooperative_state *state, const struct corun_view *view,
                  struct corun_allowances *allowances)
{
    for (uint32_t s = 0; s < view->sm_count; s++) {
        for (uint32_t a = 0; a < view->application_count; a++) {
            bool turn = state->count && state->queue[0] == a;
            allowances->tb_limit[s * view->application_count + a] = turn ? CORUN_UNLIMITED : 0;
            allowances->reclaim[s * view->application_count + a] = CORUN_RECLAIM_DRAIN;
        }
        allowances->exclusive[s] = true;
    }
}

static enum corun_status cooperative_start(void *memory, const struct corun_view *view, const double *values,
                                           struct corun_allowances *allowances)
{
    struct cooperative_state *state = memory;
    state->runs_per_turn = (uint32_t)values[PARAMETER_RUNS];
    for (uint32_t a = 0; a < view->application_count; a++) {
        if (view->applications[a].state == CORUN_APPLICATION_RUNNING)
            enter(state, a);
    }
    allow(state, view, allowances);
    return CORUN_OK;
}

static void cooperative_decide(void *memory, const struct corun_view *view, struct corun_policy_moment moment,
                               struct corun_allowances *allowances)
{
    struct cooperative_state *state = memory;
    switch (moment.event) {
    case CORUN_EVENT_ARRIVE:
        enter(state, moment.application);
        break;
    case CORUN_EVENT_LEAVE:
        leave(state, moment.application);
        break;
    case CORUN_EVENT_RUN_COMPLETE:
        end_run(state, moment.application);
        break;
    default:
        return;
    }
    allow(state, view, allowances);
}

const struct corun_policy cooperative_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "cooperative",
    .summary = "one application after the other, each for one run on the whole GPU",
    .paper = "Adriaens et al., The case for GPGPU spatial multitasking, HPCA 2012, section 2",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE | 1u << CORUN_CAN_DRAIN,
    .observes = 1u << CORUN_SEES_RUNS,
    .state_bytes = sizeof(struct cooperative_state),
    .start = cooperative_start,
    .decide = cooperative_decide,
};
