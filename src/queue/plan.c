/* SPDX-License-Identifier: MIT */
/* The plan of a ready queue: the scheduler is asked, what it wrote is checked, and slices are handed out. */
#include "queue/state.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

static enum corun_status refuse(const struct queue *queue, const char *format, ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return corun_report(queue->list, CORUN_POLICY, CORUN_NOWHERE, "scheduler %s at tick %llu, plan %llu: %s",
                        queue->scheduler->name, (unsigned long long)queue->view.now,
                        (unsigned long long)queue->costs.plans, what);
}

/* Processor time of this thread. */
static double processor_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static enum corun_status check_grant(const struct queue *queue, uint32_t index)
{
    const struct corun_queue_grant *grant = &queue->plan.grants[index];
    if (grant->launch >= queue->launches.count || !queue->states.data[grant->launch].pending)
        return refuse(queue, "grant %u is of launch %u, which is not pending", index, grant->launch);
    if (grant->in_flight_tbs && grant->in_flight_tbs < grant->slice_tbs)
        return refuse(queue, "grant %u: a slice of %u thread blocks never fits %u in flight", index, grant->slice_tbs,
                      grant->in_flight_tbs);
    if (grant->in_flight_tbs && !grant->slice_tbs)
        return refuse(queue, "grant %u: all that is left at once, and no more than %u thread blocks in flight", index,
                      grant->in_flight_tbs);
    if (queue->states.data[grant->launch].plan == queue->costs.plans)
        return refuse(queue, "grant %u is of launch %u, which another grant has already", index, grant->launch);
    return CORUN_OK;
}

/* The strand of a launch that is granted: the one that it has; else one that is free; else one whose launch has nothing left to hand out. */
static uint32_t find_strand(const struct queue *queue, uint32_t launch)
{
    const struct launch_state *states = queue->states.data;
    uint32_t strand = states[launch].strand, drained = 0;
    if (strand != CORUN_QUEUE_NONE && queue->strands[strand] == launch)
        return strand;
    for (strand = 0; strand < CORUN_QUEUE_MAX_GRANTS; strand++) {
        uint32_t holder = queue->strands[strand];
        if (holder == CORUN_QUEUE_NONE)
            return strand;
        if (states[holder].plan != queue->costs.plans)
            drained = strand;
    }
    return drained;
}

static enum corun_status check_plan(struct queue *queue)
{
    const struct corun_queue_plan *plan = &queue->plan;
    if (plan->grant_count > CORUN_QUEUE_MAX_GRANTS)
        return refuse(queue, "%u grants, more than %u", plan->grant_count, CORUN_QUEUE_MAX_GRANTS);
    if (!plan->grant_count && !queue->view.in_flight)
        return refuse(queue, "no grants, although %u launches are pending and nothing is in flight",
                      queue->view.pending);
    for (uint32_t i = 0; i < plan->grant_count; i++) {
        enum corun_status status = check_grant(queue, i);
        if (status != CORUN_OK)
            return status;
        queue->states.data[plan->grants[i].launch].plan = queue->costs.plans;
    }
    for (uint32_t i = 0; i < plan->grant_count; i++) {
        uint32_t launch = plan->grants[i].launch, strand = find_strand(queue, launch);
        queue->states.data[launch].strand = strand;
        queue->strands[strand] = launch;
    }
    return CORUN_OK;
}

static enum corun_status make_plan(struct queue *queue)
{
    struct queue_costs *costs = &queue->costs;
    struct corun_queue_view *view = &queue->view;
    struct corun_queue_plan plan = {.profit = NAN};
    view->kind_count = (uint32_t)queue->kinds.count;
    view->kinds = queue->kinds.data;
    view->launch_count = (uint32_t)queue->launches.count;
    view->launches = queue->launches.data;
    double seconds = -processor_seconds();
    enum corun_status status = queue->scheduler->plan(queue->scheduler_state, view, &plan);
    seconds += processor_seconds();
    costs->plans++;
    costs->seconds += seconds;
    costs->longest_seconds = fmax(costs->longest_seconds, seconds);
    if (status != CORUN_OK)
        return corun_report(queue->list, status, CORUN_NOWHERE, "scheduler %s: %s", queue->scheduler->name,
                            corun_status_meaning(status));
    queue->plan = plan;
    status = check_plan(queue);
    if (status != CORUN_OK)
        return status;
    if (queue->settings.planned)
        queue->settings.planned(queue->settings.user, costs->plans, view, &queue->plan);
    view->events = 0;
    queue->granted = plan.grant_count;
    queue->ended_plan = false;
    return CORUN_OK;
}

/* Hands out a slice of a grant, if it fits what may be in flight. */
static bool hand_out(struct queue *queue, const struct corun_queue_grant *grant, struct queue_slice *slice)
{
    struct launch_state *state = &queue->states.data[grant->launch];
    struct corun_queue_launch *launch = &queue->launches.data[grant->launch];
    if (!state->pending)
        return false;
    uint32_t left = launch->tbs - launch->handed_out;
    uint32_t tbs = grant->slice_tbs && grant->slice_tbs < left ? grant->slice_tbs : left;
    bool behind = grant->in_flight_tbs && state->in_flight_tbs && state->in_flight_tbs > grant->in_flight_tbs - tbs;
    if (behind &&
        (!queue->settings.ahead || state->waiting || tbs == left)) /* the last one ends the plan when it begins */
        return false;
    *slice = (struct queue_slice){.launch = grant->launch,
                                  .kind = launch->kind,
                                  .tag = state->tag,
                                  .strand = state->strand,
                                  .first = launch->handed_out,
                                  .tbs = tbs,
                                  .plan = queue->costs.plans,
                                  .last = tbs == left,
                                  .behind = behind};
    state->waiting |= behind;
    launch->handed_out += tbs;
    state->in_flight_tbs += tbs;
    state->in_flight_slices++;
    queue->view.in_flight++;
    queue->costs.slices++;
    if (slice->last) {
        queue_unlink(queue, grant->launch);
        queue_event(queue, CORUN_QUEUE_EXHAUSTED);
        if (!--queue->granted)
            queue->ended_plan = true;
    }
    return true;
}

enum corun_status queue_next(struct queue *queue, uint64_t now, struct queue_slice *slice, bool *any)
{
    *any = false;
    queue->view.now = now;
    if (queue->ended_plan) {
        if (!queue->view.pending)
            return CORUN_OK;
        enum corun_status status = make_plan(queue);
        if (status != CORUN_OK)
            return status;
    }
    for (uint32_t i = 0; i < queue->plan.grant_count && !*any; i++)
        *any = hand_out(queue, &queue->plan.grants[i], slice);
    return CORUN_OK;
}
