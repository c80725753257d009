/* SPDX-License-Identifier: MIT */
/*
 * The lists of a ready queue. A launch stands in two of them, in the order in which launches became ready: that of all, and that of its
 * kind. It leaves both when its last thread block is handed out, and its index is given to another one when its last slice has ended.
 */
#include "queue/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One parameter may not be what it is; the name of the scheduler is known. */
static enum corun_status check_parameters(const struct queue_settings *settings, struct corun_diagnostics *list)
{
    const struct corun_queue_scheduler *scheduler = settings->scheduler;
    for (uint32_t i = 0; settings->parameters && i < scheduler->parameter_count; i++) {
        const struct corun_policy_parameter *row = &scheduler->parameters[i];
        double value = settings->parameters[i];
        if (!(value >= row->lowest && value <= row->highest) || (row->integer && value != floor(value)))
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "scheduler %s: %s is %s from %g to %g, not %g",
                                scheduler->name, row->name, row->integer ? "a whole number" : "a number", row->lowest,
                                row->highest, value);
    }
    return CORUN_OK;
}

static enum corun_status check_scheduler(const struct queue_settings *settings, struct corun_diagnostics *list)
{
    const struct corun_queue_scheduler *scheduler = settings->scheduler;
    if (scheduler->version != CORUN_QUEUE_VERSION)
        return corun_report(
            list, CORUN_POLICY, CORUN_NOWHERE,
            "scheduler %s was built for version %u of corun/queue.h, this is version %u: compile it again",
            scheduler->name ? scheduler->name : "(no name)", scheduler->version, CORUN_QUEUE_VERSION);
    if (!scheduler->name || !scheduler->plan || (scheduler->parameter_count && !scheduler->parameters))
        return corun_report(list, CORUN_POLICY, CORUN_NOWHERE, "scheduler %s lacks a name, `plan`, or its parameters",
                            scheduler->name ? scheduler->name : "(no name)");
    if (scheduler->needs_measured && !settings->measure)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "scheduler %s needs a machine that measures co-schedules; %s does not", scheduler->name,
                            settings->device->name);
    return check_parameters(settings, list);
}

static enum corun_status start_scheduler(struct queue *queue)
{
    const struct corun_queue_scheduler *scheduler = queue->scheduler;
    const char *refusal = NULL;
    for (uint32_t i = 0; i < scheduler->parameter_count; i++)
        queue->parameters[i] =
            queue->settings.parameters ? queue->settings.parameters[i] : scheduler->parameters[i].initial;
    enum corun_status status = CORUN_OK;
    if (scheduler->start)
        status = scheduler->start(queue->scheduler_state, queue->settings.device, queue->parameters, &refusal);
    queue->started = true; /* `stop` frees what a failed `start` has left */
    if (status == CORUN_OK || status == CORUN_MEMORY)
        return status;
    return corun_report(queue->list, CORUN_POLICY, CORUN_NOWHERE, "scheduler %s does not start: %s", scheduler->name,
                        refusal ? refusal : corun_status_meaning(status));
}

enum corun_status queue_create(const struct queue_settings *settings, struct corun_diagnostics *list,
                               struct queue **result)
{
    *result = NULL;
    enum corun_status status = check_scheduler(settings, list);
    if (status != CORUN_OK)
        return status;
    const struct corun_queue_scheduler *scheduler = settings->scheduler;
    struct queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return CORUN_MEMORY;
    *queue = (struct queue){.scheduler = scheduler,
                            .list = list,
                            .settings = *settings,
                            .parameters = calloc(scheduler->parameter_count + 1, sizeof(double)),
                            .scheduler_state = calloc(1, scheduler->state_bytes + 1),
                            .last = CORUN_QUEUE_NONE,
                            .first_free = CORUN_QUEUE_NONE,
                            .plan = {.profit = NAN},
                            .ended_plan = true};
    for (uint32_t strand = 0; strand < CORUN_QUEUE_MAX_GRANTS; strand++)
        queue->strands[strand] = CORUN_QUEUE_NONE;
    queue->view = (struct corun_queue_view){.version = CORUN_QUEUE_VERSION,
                                            .device = settings->device,
                                            .first = CORUN_QUEUE_NONE,
                                            .plan = &queue->plan,
                                            .measure = scheduler->needs_measured ? settings->measure : NULL,
                                            .measurer = settings->measurer,
                                            .seed = settings->seed};
    status = queue->parameters && queue->scheduler_state ? start_scheduler(queue) : CORUN_MEMORY;
    if (status != CORUN_OK) {
        queue_destroy(queue);
        return status;
    }
    *result = queue;
    return CORUN_OK;
}

void queue_destroy(struct queue *queue)
{
    if (!queue)
        return;
    if (queue->started && queue->scheduler->stop)
        queue->scheduler->stop(queue->scheduler_state);
    for (size_t i = 0; i < queue->kinds.count; i++)
        free((char *)queue->kinds.data[i].name);
    vector_free(&queue->kinds);
    vector_free(&queue->last_of_kind);
    vector_free(&queue->launches);
    vector_free(&queue->states);
    free(queue->parameters);
    free(queue->scheduler_state);
    free(queue);
}

enum corun_status queue_kind(struct queue *queue, const char *name, const struct corun_queue_profile *profile,
                             uint32_t *kind)
{
    if (!profile->tbs_per_sm || !profile->tbs)
        return corun_report(queue->list, CORUN_ARGUMENT, CORUN_NOWHERE, "kernel %s: %s", name,
                            profile->tbs ? "no thread block of it fits an SM" : "it has no thread blocks");
    if (queue->kinds.count == CORUN_QUEUE_MAX_KINDS)
        return corun_report(queue->list, CORUN_LIMIT, CORUN_NOWHERE, "kernel %s: there are %u kinds of kernels already",
                            name, CORUN_QUEUE_MAX_KINDS);
    struct corun_queue_kind row = {.name = strdup(name), .profile = *profile, .first = CORUN_QUEUE_NONE};
    if (!row.name || !vector_push(&queue->last_of_kind, CORUN_QUEUE_NONE) || !vector_push(&queue->kinds, row)) {
        free((char *)row.name);
        return CORUN_MEMORY;
    }
    *kind = (uint32_t)queue->kinds.count - 1;
    return CORUN_OK;
}

void queue_event(struct queue *queue, uint32_t event)
{
    queue->view.events |= event;
    if (queue->plan.until & event)
        queue->ended_plan = true;
}

/* An index for a launch: those that nobody has are linked by `next`. */
static bool take_index(struct queue *queue, uint32_t *index)
{
    *index = queue->first_free;
    if (*index != CORUN_QUEUE_NONE) {
        queue->first_free = queue->launches.data[*index].next;
        return true;
    }
    *index = (uint32_t)queue->launches.count;
    if (!vector_grow((void **)&queue->states.data, queue->states.count, &queue->states.capacity,
                     sizeof *queue->states.data) ||
        !vector_push(&queue->launches, (struct corun_queue_launch){0}))
        return false;
    return vector_push(&queue->states, (struct launch_state){0});
}

enum corun_status queue_ready(struct queue *queue, uint64_t now, uint32_t kind, uint32_t user, uint32_t tbs,
                              uint64_t arrived, void *tag, uint32_t *launch)
{
    uint32_t index;
    if (!take_index(queue, &index))
        return CORUN_MEMORY;
    struct corun_queue_kind *row = &queue->kinds.data[kind];
    struct corun_queue_launch *launches = queue->launches.data;
    uint32_t *last_of_kind = &queue->last_of_kind.data[kind];
    launches[index] = (struct corun_queue_launch){.kind = kind,
                                                  .user = user,
                                                  .number = queue->next_number++,
                                                  .arrived = arrived,
                                                  .ready = now,
                                                  .tbs = tbs,
                                                  .next = CORUN_QUEUE_NONE,
                                                  .next_of_kind = CORUN_QUEUE_NONE};
    queue->states.data[index] = (struct launch_state){.tag = tag,
                                                      .previous = queue->last,
                                                      .previous_of_kind = *last_of_kind,
                                                      .strand = CORUN_QUEUE_NONE,
                                                      .pending = true};
    *(queue->last == CORUN_QUEUE_NONE ? &queue->view.first : &launches[queue->last].next) = index;
    *(*last_of_kind == CORUN_QUEUE_NONE ? &row->first : &launches[*last_of_kind].next_of_kind) = index;
    queue->last = *last_of_kind = index;
    queue->view.pending++;
    queue->view.now = now;
    queue_event(queue, CORUN_QUEUE_READY | (row->pending++ ? 0 : CORUN_QUEUE_NEW_KIND));
    if (!queue->plan.grant_count)
        queue->ended_plan = true; /* nothing was wanted, or possible */
    if (launch)
        *launch = index;
    return CORUN_OK;
}

void queue_unlink(struct queue *queue, uint32_t index)
{
    struct corun_queue_launch *launches = queue->launches.data, *launch = &launches[index];
    struct launch_state *states = queue->states.data, *state = &states[index];
    struct corun_queue_kind *kind = &queue->kinds.data[launch->kind];
    uint32_t *last_of_kind = &queue->last_of_kind.data[launch->kind];
    *(state->previous == CORUN_QUEUE_NONE ? &queue->view.first : &launches[state->previous].next) = launch->next;
    *(launch->next == CORUN_QUEUE_NONE ? &queue->last : &states[launch->next].previous) = state->previous;
    *(state->previous_of_kind == CORUN_QUEUE_NONE ? &kind->first : &launches[state->previous_of_kind].next_of_kind) =
        launch->next_of_kind;
    *(launch->next_of_kind == CORUN_QUEUE_NONE ? last_of_kind : &states[launch->next_of_kind].previous_of_kind) =
        state->previous_of_kind;
    state->pending = false;
    kind->pending--;
    queue->view.pending--;
}

void queue_end(struct queue *queue, uint64_t now, const struct queue_slice *slice, bool *launch_ended)
{
    struct corun_queue_launch *launch = &queue->launches.data[slice->launch];
    struct launch_state *state = &queue->states.data[slice->launch];
    state->in_flight_slices--;
    state->in_flight_tbs -= slice->tbs;
    state->waiting = false;
    launch->completed += slice->tbs;
    queue->view.in_flight--;
    queue->view.now = now;
    *launch_ended = launch->completed == launch->tbs;
    queue_event(queue, CORUN_QUEUE_SLICE_END | (*launch_ended ? CORUN_QUEUE_LAUNCH_END : 0));
    if (!*launch_ended)
        return;
    if (queue->strands[state->strand] == slice->launch)
        queue->strands[state->strand] = CORUN_QUEUE_NONE;
    if (!queue->plan.grant_count)
        queue->ended_plan = true;
    launch->next = queue->first_free;
    queue->first_free = slice->launch;
}

const struct corun_queue_view *queue_view(const struct queue *queue)
{
    return &queue->view;
}

void queue_costs(const struct queue *queue, struct queue_costs *costs)
{
    *costs = queue->costs;
    costs->bytes = sizeof *queue + queue->scheduler->state_bytes +
                   queue->kinds.capacity * (sizeof *queue->kinds.data + sizeof *queue->last_of_kind.data) +
                   queue->launches.capacity * sizeof *queue->launches.data +
                   queue->states.capacity * sizeof *queue->states.data;
}
