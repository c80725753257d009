/* SPDX-License-Identifier: MIT */
/*
 * Priority: launches of applications with goals come first, those of the others are held back. While one with a goal has a launch, the others get
 * a grant of `beside` thread blocks, none unless told otherwise; else one whose thread blocks are over within `wait`. So a launch with a goal
 * waits no longer than that for what was in flight when it came, as slices bound it (Zhong and He, Kernelet, TPDS 2014, section 4.1).
 *
 * How much is over within `wait` is measured: thread blocks done in an epoch. What is in flight is over after its number over that rate (Little's
 * law). But as many thread blocks as fit the GPU side by side, or a launch of fewer, are over in the time of one, however long that is: less than
 * that bounds nothing further, and is never granted.
 *
 * With `late`, a launch with a goal need not be alone: the others go on beside it until its application is so much behind what it would have done alone.
 * That is known when a launch has ended. Nothing makes up for it until the application has no launch, so it bounds what all its runs end later.
 *
 * With `within`, runs that are asked for need not end as soon as they can, but so long after that: the others go on beside them while all of these, one
 * after the other and alone from now on, would end earlier, and what is in flight of them may take as long as that is.
 *
 * With `apart`, what the others launch beside launches with a goal runs on so many SMs and on no others, and these launches run on the rest; each has all SMs
 * while the others have nothing or may launch nothing. How much is over within a time is measured for both.
 */
#include "share/policies.h"

#include <math.h>

enum { PARAMETER_WAIT, PARAMETER_BESIDE, PARAMETER_LATE, PARAMETER_WITHIN, PARAMETER_APART };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_WAIT] = {"wait", 100, 0, 1e9, false,
                        "microseconds that a launch with a goal waits at most for what is in flight of the others, "
                        "where their thread blocks are shorter",
                        NULL},
    [PARAMETER_BESIDE] = {"beside", 0, 0, 4e9, true,
                          "thread blocks of each of the others in flight while a launch with a goal is there", NULL},
    [PARAMETER_LATE] = {"late", 0, 0, 1e9, false,
                        "microseconds by which launches with a goal may be behind what they were alone before the "
                        "others are held back; for goals whose rate alone is known",
                        NULL},
    [PARAMETER_WITHIN] = {"within", 0, 0, 1e9, false,
                          "microseconds from a request on within which its run is to end; others are held back if one "
                          "would end later. For goals whose rate alone is known",
                          NULL},
    [PARAMETER_APART] =
        {"apart", 0, 0, 65535, true,
         "SMs on which the others run beside launches with a goal, which have the rest; 0: all run on all", NULL},
};

/* How far an application with a goal is behind, since it has had launches without a break. */
struct behind {
    bool busy;
    uint64_t begun, progress; /* then */
    double ticks;             /* when a launch ended last */
};

/* Runs of an application with a goal. */
struct runs {
    uint32_t count;    /* that have ended */
    uint64_t progress; /* then */
};

/* What an application without a goal may do at a time. */
enum way { ON_ALL, APART, HELD };

/* Thread blocks that an application has done, counted over its launches. */
struct count {
    uint32_t tbs, completed; /* of the launch that was seen last */
    uint64_t done, done_before;
    double rates[HELD]; /* of each way: thread blocks per tick; 0: not known */
    uint64_t since;
    uint32_t ways; /* since then, for some time: a set */
};

struct priority_state {
    double wait_ticks, late_ticks, within_ticks;
    uint32_t beside, apart;
    struct count counts[CORUN_MAX_APPLICATIONS];
    struct behind behind[CORUN_MAX_APPLICATIONS];
    struct runs runs[CORUN_MAX_APPLICATIONS];
};

static bool has_launch(const struct corun_application_view *application)
{
    return application->state == CORUN_APPLICATION_RUNNING && application->running.kernel;
}

/* What is told of its progress is exact when a launch has ended. */
static void look_behind(struct behind *behind, const struct corun_view *view, uint32_t a, bool launch_has_ended)
{
    const struct corun_application_view *application = &view->applications[a];
    bool busy = has_launch(application);
    if (busy && !behind->busy)
        *behind = (struct behind){.busy = true, .begun = view->cycle, .progress = application->progress};
    else if (busy && launch_has_ended)
        behind->ticks = (double)(view->cycle - behind->begun) -
                        (double)(application->progress - behind->progress) / application->isolated_ipc;
    behind->busy = busy;
}

/* What a run takes alone, as those that have ended tell; 0: not known. */
static double run_ticks(const struct runs *runs, const struct corun_application_view *application)
{
    bool known = runs->count && application->isolated_ipc > 0;
    return known ? (double)runs->progress / runs->count / application->isolated_ipc : 0;
}

/*
 * How much later all runs of an application could end that have been asked for, or would be now, and still be in time: if they went on alone from now on,
 * one after the other.
 */
static double time_to_spare(const struct priority_state *state, const struct corun_view *view, uint32_t a, double run)
{
    const struct corun_application_view *application = &view->applications[a];
    double done = (double)(application->progress - state->runs[a].progress) / application->isolated_ipc;
    double end = (double)view->cycle - done, spare = state->within_ticks - run;
    for (uint32_t i = 0; i < application->asked_count; i++) {
        end += run;
        spare = fmin(spare, (double)application->asked_cycles[i] + state->within_ticks - end);
    }
    return spare;
}

/* How long what is in flight of the others may take for an application; 0: they are held back. */
static double bound_of(const struct priority_state *state, const struct corun_view *view, uint32_t a)
{
    const struct corun_application_view *application = &view->applications[a];
    double run = run_ticks(&state->runs[a], application);
    bool early = state->late_ticks > 0 && application->isolated_ipc > 0 && state->behind[a].ticks < state->late_ticks;
    double spare = state->within_ticks > 0 && run > 0 ? time_to_spare(state, view, a, run) : 0;
    if (spare > state->wait_ticks)
        return spare;
    return has_launch(application) && !early ? 0 : state->wait_ticks;
}

static void count(struct count *count, const struct corun_grid_view *running, bool launch_is_new)
{
    uint32_t completed = running->kernel ? running->tbs_completed : 0;
    if (launch_is_new)
        count->done += count->tbs - count->completed + completed;
    else if (completed > count->completed)
        count->done += completed - count->completed;
    count->tbs = running->kernel ? running->tbs : 0;
    count->completed = completed;
}

/* Over epochs in which it was neither held back nor changed over, until something is done. */
static void measure(struct count *count, uint64_t now)
{
    uint64_t done = count->done - count->done_before;
    bool on_all = count->ways == 1u << ON_ALL, apart = count->ways == 1u << APART;
    if ((on_all || apart) && !done)
        return;
    if ((on_all || apart) && now > count->since)
        count->rates[on_all ? ON_ALL : APART] = (double)done / (double)(now - count->since);
    count->done_before = count->done;
    count->since = now;
    count->ways = 0;
}

/* Thread blocks that are over in time. */
static uint32_t bounded(const struct priority_state *state, const struct corun_view *view, uint32_t a, enum way way,
                        double ticks)
{
    const struct corun_grid_view *running = &view->applications[a].running;
    uint32_t fit = running->tbs_per_sm, sms = way == APART ? state->apart : view->sm_count;
    double wave = (double)sms * (fit && fit != UINT32_MAX ? fit : 1);
    double least = running->kernel && running->tbs < wave ? running->tbs : wave;
    double within = state->counts[a].rates[way] * ticks;
    double grant = within > least ? within : least;
    return grant < UINT32_MAX ? (uint32_t)grant : CORUN_UNLIMITED - 1;
}

static void grant(struct priority_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    double bound = INFINITY;
    bool first_has = false, others_have = false;
    for (uint32_t a = 0; a < view->application_count; a++) {
        const struct corun_application_view *application = &view->applications[a];
        bool first = application->goal != CORUN_GOAL_NONE;
        *(first ? &first_has : &others_have) |= has_launch(application);
        bound = first ? fmin(bound, bound_of(state, view, a)) : bound;
    }
    bound = isinf(bound) ? state->wait_ticks : bound;
    enum way way = state->apart && first_has ? APART : ON_ALL;
    bool parted = way == APART && others_have && (bound > 0 || state->beside);
    for (uint32_t a = 0; a < view->application_count; a++) {
        bool first = view->applications[a].goal != CORUN_GOAL_NONE;
        allowances->grant[a] = first       ? CORUN_UNLIMITED
                               : bound > 0 ? bounded(state, view, a, way, bound)
                                           : state->beside;
        allowances->sm_set[a] = !parted ? CORUN_SMS_ALL : first ? CORUN_SMS_REST : CORUN_SMS_APART;
        state->counts[a].ways |= 1u << (bound > 0 ? way : HELD);
    }
}

static enum corun_status priority_start(void *memory, const struct corun_view *view, const double *values,
                                        struct corun_allowances *allowances)
{
    struct priority_state *state = memory;
    state->wait_ticks = values[PARAMETER_WAIT] * view->clock_khz / 1000;
    state->late_ticks = values[PARAMETER_LATE] * view->clock_khz / 1000;
    state->within_ticks = values[PARAMETER_WITHIN] * view->clock_khz / 1000;
    state->beside = (uint32_t)values[PARAMETER_BESIDE];
    state->apart = (uint32_t)values[PARAMETER_APART];
    if (state->apart >= view->sm_count) {
        allowances->refusal = "apart: so many SMs would be all of them";
        return CORUN_ARGUMENT;
    }
    grant(state, view, allowances);
    return CORUN_OK;
}

static void priority_decide(void *memory, const struct corun_view *view, struct corun_policy_moment moment,
                            struct corun_allowances *allowances)
{
    struct priority_state *state = memory;
    const struct corun_application_view *who = &view->applications[moment.application];
    if (moment.event == CORUN_EVENT_ARRIVE) {
        state->counts[moment.application] = (struct count){.since = view->cycle};
        state->runs[moment.application] = (struct runs){0};
    } else if (moment.event == CORUN_EVENT_RUN_COMPLETE)
        state->runs[moment.application] = (struct runs){who->runs, who->progress};
    for (uint32_t a = 0; a < view->application_count; a++) {
        bool launch_is_new = moment.event == CORUN_EVENT_KERNEL_START && moment.application == a;
        count(&state->counts[a], &view->applications[a].running, launch_is_new);
        look_behind(&state->behind[a], view, a, launch_is_new);
        if (moment.event == CORUN_EVENT_EPOCH)
            measure(&state->counts[a], view->cycle);
    }
    grant(state, view, allowances);
}

const struct corun_policy priority_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "priority",
    .summary = "launches with goals first; what is in flight of the others is over within a given time",
    .paper = "held back in slices as in Zhong and He, Kernelet, TPDS 2014, section 4.1",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs = 1u << CORUN_CAN_GRANT,
    .observes =
        1u << CORUN_SEES_TB_PROGRESS | 1u << CORUN_SEES_OCCUPANCY | 1u << CORUN_SEES_PROGRESS | 1u << CORUN_SEES_RUNS,
    .state_bytes = sizeof(struct priority_state),
    .start = priority_start,
    .decide = priority_decide,
};
