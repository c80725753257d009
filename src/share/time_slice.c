/* SPDX-License-Identifier: MIT */
/*
 * Time slice: the whole GPU in turns. When a turn has ended, all SMs stall, their state is saved, and the next
 * application resumes where it was stopped. That is what processes of their own get on GPUs of today, the temporal
 * multitasking that Adriaens et al. ("The case for GPGPU spatial multitasking", HPCA 2012, section 2) set spatial
 * multitasking against.
 *
 * Turns go round in the order of the applications; one that has nothing to run is passed over. Policies are called at
 * the ends of epochs: a turn ends with the first one that is not before the end of its slice. The time of the switch is
 * part of the turn that begins.
 */
#include "share/policies.h"
#include "share/sm_owners.h"

enum { PARAMETER_SLICE, PARAMETER_MICROSECONDS, PARAMETER_RECLAIM, PARAMETER_IDEAL };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_SLICE] = {"slice", 100e3, 1, 1e12, true, "core cycles of a turn", NULL},
    [PARAMETER_MICROSECONDS] = {"microseconds", 0, 0, 1e9, false, "of a turn, in place of slice; 0: slice counts",
                                NULL},
    [PARAMETER_RECLAIM] = {"reclaim", SM_RECLAIM_SWITCH, 0, 2, true, "how the SMs change hands", SM_RECLAIM_WORDS},
    [PARAMETER_IDEAL] = {"ideal", 0, 0, 1, true, "state is saved and restored in no time", "off|on"},
};

struct time_slice_state {
    uint64_t slice_cycles, turn_end;
    uint32_t turn; /* whose it is, or SM_NOBODY */
    enum corun_reclaim reclaim;
    struct sm_owners owners;
};

static bool has_work(const struct corun_view *view, uint32_t a)
{
    const struct corun_application_view *application = &view->applications[a];
    return application->state == CORUN_APPLICATION_RUNNING &&
           (application->running.kernel || application->grids_queued);
}

/* The next one after the present turn: one with work before one without; SM_NOBODY if nobody is there. */
static uint32_t find_next(const struct time_slice_state *state, const struct corun_view *view)
{
    uint32_t count = view->application_count, next = SM_NOBODY;
    uint32_t first = state->turn == SM_NOBODY ? 0 : state->turn + 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t a = (first + i) % count;
        if (has_work(view, a))
            return a;
        if (next == SM_NOBODY && view->applications[a].state == CORUN_APPLICATION_RUNNING)
            next = a;
    }
    return next;
}

static void begin_turn(struct time_slice_state *state, const struct corun_view *view,
                       struct corun_allowances *allowances)
{
    uint32_t counts[CORUN_MAX_APPLICATIONS] = {0};
    state->turn = find_next(state, view);
    state->turn_end = view->cycle + state->slice_cycles;
    if (state->turn != SM_NOBODY)
        counts[state->turn] = view->sm_count;
    sm_owners_split(&state->owners, counts);
    sm_owners_allow(&state->owners, view, state->reclaim, false, allowances);
}

static enum corun_status time_slice_start(void *memory, const struct corun_view *view, const double *values,
                                          struct corun_allowances *allowances)
{
    struct time_slice_state *state = memory;
    double microseconds = values[PARAMETER_MICROSECONDS];
    state->slice_cycles =
        microseconds > 0 ? (uint64_t)(microseconds * view->clock_khz / 1000) : (uint64_t)values[PARAMETER_SLICE];
    state->turn = SM_NOBODY;
    state->reclaim = sm_reclaim(values[PARAMETER_RECLAIM]);
    if (state->slice_cycles < view->epoch_cycles)
        allowances->refusal = "a turn is shorter than an epoch, and turns end with epochs";
    if (allowances->refusal || !sm_owners_can(view, state->reclaim, &allowances->refusal) ||
        !sm_owners_start(&state->owners, view, &allowances->refusal))
        return CORUN_POLICY;
    allowances->free_transfers = values[PARAMETER_IDEAL] != 0;
    begin_turn(state, view, allowances);
    return CORUN_OK;
}

static void time_slice_decide(void *memory, const struct corun_view *view, struct corun_policy_moment moment,
                              struct corun_allowances *allowances)
{
    struct time_slice_state *state = memory;
    bool over = false;
    switch (moment.event) {
    case CORUN_EVENT_ARRIVE:
        over = state->turn == SM_NOBODY;
        break;
    case CORUN_EVENT_LEAVE:
        over = state->turn == moment.application;
        break;
    case CORUN_EVENT_KERNEL_START: /* the one whose turn it is may have nothing to do */
        over = state->turn != SM_NOBODY && state->turn != moment.application && !has_work(view, state->turn);
        break;
    case CORUN_EVENT_EPOCH:
        over = state->turn != SM_NOBODY && (view->cycle >= state->turn_end || !has_work(view, state->turn));
        break;
    default:
        break;
    }
    if (over)
        begin_turn(state, view, allowances);
}

const struct corun_policy time_slice_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "time-slice",
    .summary = "the whole GPU in turns, all state saved and restored between them",
    .paper = "temporal multitasking as in Adriaens et al., HPCA 2012, section 2, with preemption",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE,
    .observes = 1u << CORUN_SEES_RUNS | SM_RECLAIM_OBSERVES,
    .state_bytes = sizeof(struct time_slice_state),
    .start = time_slice_start,
    .decide = time_slice_decide,
};
