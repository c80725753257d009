/* SPDX-License-Identifier: MIT */
/*
 * Turns: the whole GPU in turns, by grants. Whose turn it is may have so many thread blocks in flight as fit the GPU `waves` times over; nobody else
 * launches anything. What is in flight when a turn ends runs to its end beside the next one, as the time slices of a driver that cannot preempt
 * have it. One that has no launch is passed over.
 */
#include "share/policies.h"

enum { PARAMETER_MICROSECONDS, PARAMETER_WAVES };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_MICROSECONDS] = {"microseconds", 100, 0.001, 1e9, false,
                                "of a turn, which ends with the first epoch that is not before", NULL},
    [PARAMETER_WAVES] = {"waves", 2, 1, 1e6, true,
                         "thread blocks in flight, in multiples of what the GPU holds at once", NULL},
};

#define NOBODY UINT32_MAX

struct turns_state {
    uint64_t length, end;
    uint32_t turn, waves;
};

static bool has_launch(const struct corun_view *view, uint32_t a)
{
    const struct corun_application_view *application = &view->applications[a];
    return application->state == CORUN_APPLICATION_RUNNING && application->running.kernel;
}

/* The next one with a launch; the present one comes last. */
static uint32_t find_next(const struct turns_state *state, const struct corun_view *view)
{
    uint32_t count = view->application_count, first = state->turn == NOBODY ? 0 : state->turn + 1;
    for (uint32_t i = 0; i < count; i++)
        if (has_launch(view, (first + i) % count))
            return (first + i) % count;
    return NOBODY;
}

static void grant(const struct turns_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    for (uint32_t a = 0; a < view->application_count; a++) {
        uint32_t fit = view->applications[a].running.tbs_per_sm;
        uint64_t wave = (uint64_t)view->sm_count * (fit && fit != UINT32_MAX ? fit : 1), most = CORUN_UNLIMITED - 1;
        uint64_t granted = a == state->turn ? wave * state->waves : 0;
        allowances->grant[a] = (uint32_t)(granted < most ? granted : most);
    }
}

static enum corun_status turns_start(void *memory, const struct corun_view *view, const double *values,
                                     struct corun_allowances *allowances)
{
    struct turns_state *state = memory;
    state->length = (uint64_t)(values[PARAMETER_MICROSECONDS] * view->clock_khz / 1000);
    state->waves = (uint32_t)values[PARAMETER_WAVES];
    state->turn = NOBODY;
    grant(state, view, allowances);
    return CORUN_OK;
}

static void turns_decide(void *memory, const struct corun_view *view, struct corun_policy_moment moment,
                         struct corun_allowances *allowances)
{
    struct turns_state *state = memory;
    bool idle = state->turn == NOBODY || !has_launch(view, state->turn);
    bool over = moment.event == CORUN_EVENT_EPOCH && view->cycle >= state->end;
    if (idle || over) {
        state->turn = find_next(state, view);
        state->end = view->cycle + state->length;
    }
    grant(state, view, allowances);
}

const struct corun_policy turns_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "turns",
    .summary = "the whole GPU in turns, by holding launches back",
    .paper = "time slices as in Adriaens et al., HPCA 2012, section 2, without preemption",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs = 1u << CORUN_CAN_GRANT,
    .observes = 1u << CORUN_SEES_OCCUPANCY,
    .state_bytes = sizeof(struct turns_state),
    .start = turns_start,
    .decide = turns_decide,
};
