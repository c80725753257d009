/* SPDX-License-Identifier: MIT */
/*
 * The loop of a run. At each tick at which something happens: submissions, then ends of copies, then ends of slices; then copies begin, then
 * slices are handed out. So everything of one tick is one event for the scheduler.
 */
#include "queue/run.h"

#include "queue/copies.h"

#include <stdlib.h>

/* What became of a submission. */
struct fate {
    uint64_t started, done; /* first thread block handed out; over, with its copies */
    uint32_t slices;
    bool has_started;
};

struct run {
    const struct queue_run_request *request;
    struct corun_diagnostics *list;
    struct queue *queue;
    struct queue_run_result *result;
    struct copies copies;
    struct fate *fates;
    size_t in_flight;       /* slices */
    size_t next, completed; /* submissions */
    uint64_t now;
    /* what the plan in force has side by side, since when */
    uint64_t plan_since;
    uint32_t plan_kinds[CORUN_QUEUE_MAX_GRANTS], plan_kind_count;
    enum corun_status planned; /* what the machine said of the last plan */
};

/* The time of the plan that is over goes to its kinds: those of its first two launches are side by side. */
static void account_plan(struct run *run)
{
    struct queue_run_kind_result *kinds = run->result->kinds;
    uint64_t ticks = run->now - run->plan_since;
    run->plan_since = run->now;
    if (run->plan_kind_count == 1) {
        kinds[run->plan_kinds[0]].beside[run->result->kind_count] += ticks;
    } else if (run->plan_kind_count > 1) {
        kinds[run->plan_kinds[0]].beside[run->plan_kinds[1]] += ticks;
        if (run->plan_kinds[0] != run->plan_kinds[1])
            kinds[run->plan_kinds[1]].beside[run->plan_kinds[0]] += ticks;
    }
}

static void planned(void *user, uint64_t number, const struct corun_queue_view *view,
                    const struct corun_queue_plan *plan)
{
    struct run *run = user;
    const struct queue_machine *machine = &run->request->machine;
    account_plan(run);
    run->plan_kind_count = 0;
    for (uint32_t i = 0; i < plan->grant_count; i++) {
        if (plan->grants[i].slice_tbs) /* of whole launches it is the GPU that knows what runs beside what */
            run->plan_kinds[run->plan_kind_count++] = view->launches[plan->grants[i].launch].kind;
    }
    if (view->pending > run->result->most_pending)
        run->result->most_pending = view->pending;
    run->planned = machine->planned ? machine->planned(machine->user, number, view, plan) : CORUN_OK;
}

static enum corun_status make_ready(struct run *run, size_t number)
{
    const struct queue_submission *submission = &run->request->submissions[number];
    const struct queue_run_kind *kind = &run->request->kinds[submission->kind];
    return queue_ready(run->queue, run->now, submission->kind, submission->user, kind->profile.tbs, submission->tick,
                       &run->fates[number], NULL);
}

static enum corun_status submit(struct run *run, size_t number)
{
    const struct queue_machine *machine = &run->request->machine;
    if (machine->submit)
        return machine->submit(machine->user, run->now, number, run->request->submissions[number].kind);
    if (!run->request->transfers.every_launch)
        return make_ready(run, number);
    return copies_add(&run->copies, COPY_IN, number) ? CORUN_OK : CORUN_MEMORY;
}

static void complete(struct run *run, size_t number)
{
    run->fates[number].done = run->now;
    run->completed++;
}

/* What a machine that copies by itself has copied. */
static enum corun_status take_moved(struct run *run)
{
    const struct queue_machine *machine = &run->request->machine;
    for (;;) {
        enum queue_moved what;
        size_t number;
        enum corun_status status = machine->moved(machine->user, &number, &what);
        if (status == CORUN_OK && what == QUEUE_ARRIVED)
            status = make_ready(run, number);
        else if (status == CORUN_OK && what == QUEUE_LEFT)
            complete(run, number);
        if (status != CORUN_OK || what == QUEUE_NOTHING_MOVED)
            return status;
    }
}

static enum corun_status take_copies(struct run *run)
{
    if (run->request->machine.submit)
        return take_moved(run);
    uint32_t direction;
    size_t number;
    enum corun_status status = CORUN_OK;
    while (status == CORUN_OK && copies_take(&run->copies, run->now, &direction, &number)) {
        if (direction == COPY_IN)
            status = make_ready(run, number);
        else
            complete(run, number);
    }
    return status;
}

static enum corun_status hand_out(struct run *run)
{
    const struct queue_machine *machine = &run->request->machine;
    for (;;) {
        struct queue_slice slice;
        bool any;
        enum corun_status status = queue_next(run->queue, run->now, &slice, &any);
        if (status == CORUN_OK)
            status = run->planned;
        if (status != CORUN_OK || !any)
            return status;
        struct fate *fate = slice.tag;
        slice.submission = (size_t)(fate - run->fates);
        slice.begin = run->now;
        fate->slices++;
        if (!fate->has_started)
            fate->started = run->now;
        fate->has_started = true;
        run->in_flight++;
        status = machine->launch(machine->user, run->now, &slice);
        if (status != CORUN_OK)
            return status;
    }
}

static enum corun_status end_slice(struct run *run, const struct queue_slice *slice)
{
    size_t number = slice->submission;
    bool launch_ended;
    run->in_flight--;
    if (run->request->slice)
        run->request->slice(run->request->user, slice->begin, run->now, number, slice);
    queue_end(run->queue, run->now, slice, &launch_ended);
    if (!launch_ended || run->request->machine.submit)
        return CORUN_OK;
    if (run->request->transfers.every_launch)
        return copies_add(&run->copies, COPY_OUT, number) ? CORUN_OK : CORUN_MEMORY;
    complete(run, number);
    return CORUN_OK;
}

/* Advances to the next thing that happens, and takes all that ends at that tick. */
static enum corun_status advance(struct run *run)
{
    const struct queue_run_request *request = run->request;
    uint64_t next = run->next < request->submission_count ? request->submissions[run->next].tick : UINT64_MAX;
    uint64_t copied = copies_next(&run->copies), before = run->now, until = copied < next ? copied : next;
    bool busy = run->in_flight > 0, copying = copies_busy(&run->copies);
    bool any = busy || request->machine.submit; /* which has copies of its own under way */
    if (!any && until == UINT64_MAX)
        return corun_report(run->list, CORUN_LIMIT, CORUN_NOWHERE,
                            "the queue stands still: %zu of %zu launches are complete", run->completed,
                            request->submission_count);
    if (!any)
        run->now = until;
    for (enum corun_status status; any; until = run->now) {
        struct queue_slice ended;
        status = request->machine.wait(request->machine.user, until, &run->now, &ended, &any);
        if (status == CORUN_OK && any)
            status = end_slice(run, &ended);
        if (status != CORUN_OK)
            return status;
        any = any && run->in_flight;
    }
    uint64_t ticks = run->now - before;
    run->result->busy_ticks += busy ? ticks : 0;
    run->result->copy_ticks += copying ? ticks : 0;
    run->result->overlapped_copy_ticks += busy && copying ? ticks : 0;
    return CORUN_OK;
}

/* One tick. */
static enum corun_status step(struct run *run)
{
    const struct queue_run_request *request = run->request;
    enum corun_status status = CORUN_OK;
    while (status == CORUN_OK && run->next < request->submission_count &&
           request->submissions[run->next].tick <= run->now)
        status = submit(run, run->next++);
    if (status == CORUN_OK)
        status = take_copies(run);
    /* Copies in no time follow one another at once. */
    while (status == CORUN_OK && !request->machine.submit && (request->transfers.overlap || !run->in_flight)) {
        copies_start(&run->copies, run->now);
        if (copies_next(&run->copies) > run->now)
            break;
        status = take_copies(run);
    }
    bool apart = request->transfers.every_launch && !request->transfers.overlap;
    if (status == CORUN_OK && !(apart && copies_busy(&run->copies)))
        status = hand_out(run);
    return status == CORUN_OK && run->completed < request->submission_count ? advance(run) : status;
}

static int compare_ticks(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void summarise_kind(const struct run *run, uint32_t kind, uint64_t *responses)
{
    const struct queue_run_request *request = run->request;
    struct queue_run_kind_result *result = &run->result->kinds[kind];
    double responded = 0, waited = 0;
    for (size_t i = 0; i < request->submission_count; i++) {
        const struct queue_submission *submission = &request->submissions[i];
        const struct fate *fate = &run->fates[i];
        if (submission->kind != kind || !fate->done)
            continue;
        responses[result->launches++] = fate->done - submission->tick;
        responded += (double)(fate->done - submission->tick);
        waited += (double)(fate->started - submission->tick);
        result->slices += fate->slices;
        if (fate->done > run->result->last_tick)
            run->result->last_tick = fate->done;
    }
    if (!result->launches)
        return;
    qsort(responses, result->launches, sizeof *responses, compare_ticks);
    result->p99_response_ticks = responses[(result->launches * 99 + 99) / 100 - 1];
    result->mean_response_ticks = responded / (double)result->launches;
    result->mean_wait_ticks = waited / (double)result->launches;
    const struct queue_run_kind *row = &request->kinds[kind];
    run->result->warp_instructions += (double)result->launches * row->profile.tb_instructions * row->profile.tbs;
    run->result->bytes_in += request->transfers.every_launch ? result->launches * row->bytes_in : 0;
    run->result->bytes_out += request->transfers.every_launch ? result->launches * row->bytes_out : 0;
}

static enum corun_status summarise(struct run *run)
{
    const struct queue_run_request *request = run->request;
    uint64_t *responses = calloc(request->submission_count + 1, sizeof *responses);
    if (!responses)
        return CORUN_MEMORY;
    run->result->first_tick = run->result->last_tick = request->submission_count ? request->submissions[0].tick : 0;
    for (uint32_t k = 0; k < request->kind_count; k++)
        summarise_kind(run, k, responses);
    free(responses);
    account_plan(run);
    run->result->makespan_ticks = run->result->last_tick - run->result->first_tick;
    queue_costs(run->queue, &run->result->costs);
    return CORUN_OK;
}

static struct queue_run_result *create_result(uint32_t kind_count)
{
    struct queue_run_result *result = calloc(1, sizeof *result);
    if (!result)
        return NULL;
    result->kind_count = kind_count;
    result->kinds = calloc(kind_count + 1, sizeof *result->kinds);
    for (uint32_t k = 0; result->kinds && k < kind_count; k++) {
        result->kinds[k].beside = calloc(kind_count + 1, sizeof(uint64_t));
        if (!result->kinds[k].beside) {
            queue_run_result_destroy(result);
            return NULL;
        }
    }
    if (result->kinds)
        return result;
    free(result);
    return NULL;
}

void queue_run_result_destroy(struct queue_run_result *result)
{
    for (uint32_t k = 0; result && result->kinds && k < result->kind_count; k++)
        free(result->kinds[k].beside);
    if (result)
        free(result->kinds);
    free(result);
}

static enum corun_status open_queue(struct run *run)
{
    const struct queue_run_request *request = run->request;
    struct queue_settings settings = {.scheduler = request->scheduler,
                                      .ahead = request->machine.ahead,
                                      .parameters = request->parameters,
                                      .device = request->device,
                                      .measure = request->measure,
                                      .measurer = request->measurer,
                                      .seed = request->seed,
                                      .planned = planned,
                                      .user = run};
    enum corun_status status = queue_create(&settings, run->list, &run->queue);
    for (uint32_t k = 0; status == CORUN_OK && k < request->kind_count; k++) {
        const struct queue_run_kind *kind = &request->kinds[k];
        uint32_t index;
        if (request->transfers.every_launch && kind->device_bytes > request->transfers.memory_bytes)
            return corun_report(run->list, CORUN_ARGUMENT, CORUN_NOWHERE,
                                "%s needs %llu bytes of device memory, there are %llu", kind->name,
                                (unsigned long long)kind->device_bytes,
                                (unsigned long long)request->transfers.memory_bytes);
        status = queue_kind(run->queue, kind->name, &kind->profile, &index);
    }
    return status;
}

enum corun_status queue_run(const struct queue_run_request *request, struct corun_diagnostics *list,
                            struct queue_run_result **result)
{
    struct run run = {.request = request, .list = list, .result = create_result(request->kind_count)};
    run.fates = calloc(request->submission_count + 1, sizeof *run.fates);
    bool copying = copies_begin(&run.copies, request);
    enum corun_status status = copying && run.result && run.fates ? open_queue(&run) : CORUN_MEMORY;
    if (status == CORUN_OK && request->submission_count)
        run.now = run.plan_since = request->submissions[0].tick;
    while (status == CORUN_OK && run.completed < request->submission_count && !run.result->interrupted) {
        status = step(&run);
        if (request->progress && !request->progress(request->progress_user, run.completed, request->submission_count))
            run.result->interrupted = true;
    }
    if (status == CORUN_OK)
        status = summarise(&run);
    queue_destroy(run.queue);
    copies_end(&run.copies);
    free(run.fates);
    if (status != CORUN_OK) {
        queue_run_result_destroy(run.result);
        run.result = NULL;
    }
    *result = run.result;
    return status;
}
