/* SPDX-License-Identifier: MIT */
/*
 * The orders of an application: launches of its program, run after run, each of which has a queue in the table. Some are given to the
 * device before the one before has ended. Runs are jobs of the runtime; the data of the next one come while one goes on.
 */
#include "software/state.h"

#include <stdlib.h>
#include <string.h>

bool orders_idle(const struct application *a)
{
    return a->state != CORUN_APPLICATION_RUNNING || a->status != CORUN_OK ||
           !requests_has(a, a->head / a->launch_count);
}

struct job_of_run *orders_job(struct application *a, uint64_t run)
{
    for (uint32_t i = 0; i < JOBS; i++)
        if (a->jobs[i].used && a->jobs[i].run == run)
            return &a->jobs[i];
    return NULL;
}

static bool more_runs(const struct software *software, const struct application *a)
{
    return !software->limits.runs || a->submitted < software->limits.runs;
}

enum corun_status orders_submit(struct software *software, struct application *a)
{
    for (uint32_t i = 0; i < JOBS && more_runs(software, a); i++) {
        struct job_of_run *job = &a->jobs[i];
        if (job->used)
            continue;
        enum corun_status status = runtime_submit(software->runtime, a->program, &job->job);
        if (status != CORUN_OK)
            return status;
        job->used = true;
        job->ready = job->over = false;
        job->run = a->submitted++;
    }
    return CORUN_OK;
}

/*
 * Short thread blocks are drawn several at a time, as far as it is known how long they take: a range takes less than a look, in which nobody would hear that a worker has
 * left.
 */
static struct worker_arguments ranges_of(const struct software *software, const struct kind *kind)
{
    struct worker_arguments arguments;
    const uint64_t most = software->look_ns / 2 < WORKERS_RANGE_NS ? software->look_ns / 2 : WORKERS_RANGE_NS;
    worker_arguments_set(&arguments, kind->about.grid, 0);
    if (kind->about.ranges && !software->drops)
        worker_arguments_range(&arguments, worker_range_blocks((uint64_t)kind->tb_ns, most),
                               software->places * kind->about.tbs_per_sm);
    return arguments;
}

/* Queues of the next half of the ring, when nobody looks at those that were there. */
static enum corun_status set_queues(struct software *software, struct application *a)
{
    struct worker_queue queues[HALF];
    if (a->halves >= 2 && a->retired <= (a->halves - 1) * HALF)
        return CORUN_OK;
    if (a->halves * HALF > a->given + MOST_AHEAD)
        return CORUN_OK;
    memset(queues, 0, sizeof queues);
    for (uint32_t i = 0; i < HALF; i++) {
        uint64_t n = a->halves * HALF + i;
        const struct worker_arguments arguments = ranges_of(software, kind_at(a, n));
        *order_at(a, n) = (struct order){
            .total = kind_at(a, n)->draws, .ranges = arguments.ranges, .range_more = arguments.range_more};
        if (!kind_at(a, n)->about.refusal)
            queues[i].total = worker_draws(&arguments);
    }
    struct runtime_rows rows = {.offset = queues_offset(software, a->index) + a->halves % 2 * HALF * sizeof *queues,
                                .pitch = sizeof queues,
                                .bytes = sizeof queues,
                                .rows = 1,
                                .data = queues,
                                .at_once = true};
    a->halves++;
    enum corun_status status = runtime_table_write(software->runtime, &rows);
    return status == CORUN_FAULT ? CORUN_OK : status; /* runtime_wait looks after that */
}

static bool goes_whole(const struct software *software, const struct kind *kind)
{
    return software->options.launching != SOFTWARE_WORKERS || kind->about.refusal;
}

/* Can what comes behind order n begin before n is known to be complete? */
static bool can_follow(const struct software *software, struct application *a, uint64_t n)
{
    const struct kind *kind = kind_at(a, n + 1), *before = kind_at(a, n);
    struct order *order = order_at(a, n);
    if (order->sliced)
        return false;
    if (goes_whole(software, before) || order->once) /* the stream keeps the order */
        return true;
    if (goes_whole(software, kind))
        return false;
    if (!kind->about.noncoherent)
        return true;
    /* It must not be there while workers of n write. Its stream waits for the first crew; of others there must be none. */
    if (order->in_flight != 1 || order->next < order->total)
        return false;
    order->sealed = true;
    return true;
}

/*
 * Launches that go as their program has them run before an SM changes hands. Those that are given and not over take as long as an SM takes for that, at
 * most: the host sees the end of each, and there is time to give the next.
 */
static bool has_enough_ahead(const struct software *software, struct application *a)
{
    uint64_t length = 0;
    for (uint64_t n = a->head; n < a->given; n++) {
        const struct kind *kind = kind_at(a, n);
        if (order_at(a, n)->once)
            length += kind->launch_ns ? kind->launch_ns : kind->alone_ns;
    }
    return length > HAND_OVER_LOOKS * software->look_ns;
}

/* Is the next order to be given one that can be given now? */
bool orders_can_give(const struct software *software, struct application *a)
{
    uint64_t n = a->given;
    uint32_t first, end, launch = (uint32_t)(n % a->launch_count);
    const struct job_of_run *job = orders_job(a, n / a->launch_count);
    if (!job || !job->ready || n >= a->halves * HALF || n > a->head + a->ahead || !requests_has(a, n / a->launch_count))
        return false;
    if (software->options.launching == SOFTWARE_WORKERS &&
        (crew_is_soon_to_run_once(software, a, n) || has_enough_ahead(software, a)))
        return false;
    runtime_horizon(software->runtime, job->job, &first, &end);
    return launch >= first && launch < end && (n == a->head || can_follow(software, a, n - 1));
}

/* The first crews have gone, all of them, and the order is not complete: nothing was owed for a while, or they have not found it. */
static void give_again(const struct software *software, struct application *a)
{
    for (uint64_t n = a->head; n < a->given; n++)
        if (order_at(a, n)->in_flight || order_at(a, n)->complete || order_at(a, n)->ended_ns >= software->look_began)
            return;
    if (a->head < a->given)
        crews_look_for_scattered(software, a);
    for (uint64_t n = a->head; n < a->given; n++)
        order_at(a, n)->sealed = false;
    a->given = a->head;
}

/* As workers, or as its program has it. *any: the next launch has gone. */
static enum corun_status give_next(struct software *software, struct application *a, bool *any)
{
    if (!orders_can_give(software, a))
        return CORUN_OK;
    bool whole = goes_whole(software, kind_at(a, a->given));
    uint32_t workers = whole ? 0 : crew_size(software, a, a->given);
    if (whole ? !crew_is_owed(software, a) : !workers)
        return CORUN_OK;
    struct order *order = order_at(a, a->given);
    order->once = order->sealed = !whole && crew_can_run_once(software, a, a->given);
    workers = order->once ? 0 : workers;
    if (!order->workers) /* not again */
        a->launches++;
    a->whole += whole;
    *any = true;
    return crew_give(software, a, a->given++, workers);
}

static enum corun_status bring(struct software *software, struct application *a)
{
    enum corun_status status = orders_submit(software, a);
    return status == CORUN_OK ? set_queues(software, a) : status;
}

enum corun_status orders_prepare(struct software *software, struct application *a)
{
    if (a->state != CORUN_APPLICATION_RUNNING || a->status != CORUN_OK)
        return CORUN_OK;
    enum corun_status status = bring(software, a);
    if (status == CORUN_OK)
        give_again(software, a);
    return status;
}

enum corun_status orders_proceed(struct software *software, struct application *a, bool *any)
{
    *any = false;
    if (a->state != CORUN_APPLICATION_RUNNING || a->status != CORUN_OK)
        return CORUN_OK;
    if (software->options.launching == SOFTWARE_WORKERS)
        return give_next(software, a, any);
    enum corun_status status = bring(software, a);
    return status == CORUN_OK ? grants_proceed(software, a, any) : status;
}

static enum corun_status leave(struct software *software, struct application *a, uint64_t time)
{
    a->state = CORUN_APPLICATION_LEFT;
    a->left_ns = time;
    software->limits_due = true;
    return governor_moment(software->governor, time, CORUN_EVENT_LEAVE, 0, a->index);
}

/* The last launch of a run is complete. */
static enum corun_status end_run(struct software *software, struct application *a, uint64_t run, uint64_t time)
{
    struct job_of_run *job = orders_job(a, run);
    if (job)
        job->over = true;
    if (!vector_push(&a->runs, time - requests_time(a, run)))
        return CORUN_MEMORY;
    a->last_run_ns = time;
    enum corun_status status = governor_moment(software->governor, time, CORUN_EVENT_RUN_COMPLETE, 0, a->index);
    if (status == CORUN_OK && software->limits.runs && a->runs.count >= software->limits.runs)
        status = leave(software, a, time);
    return status;
}

/* The order at the head is complete. */
static enum corun_status end_order(struct software *software, struct application *a, uint64_t time)
{
    uint64_t n = a->head++;
    const struct kind *kind = kind_at(a, n);
    software->limits_due = true; /* it may be idle now */
    struct order *order = order_at(a, n);
    const struct job_of_run *job = orders_job(a, n / a->launch_count);
    uint32_t launch = (uint32_t)(n % a->launch_count);
    order->complete = true;
    order_at(a, a->head)->could_begin_ns = time;
    a->progress_before += kind->progress;
    a->worth_before += kind->worth;
    a->thread_blocks += kind->about.tbs;
    a->returned += order->total - kind->draws;
    a->skipped += goes_whole(software, kind) || order->once ? 0 : kind->about.tbs;
    a->progress = a->progress_before;
    a->progress_ns = time;
    enum corun_status status = order->sliced ? CORUN_OK : runtime_complete(software->runtime, job->job, launch);
    status = status == CORUN_FAULT ? CORUN_OK : status;
    if (status == CORUN_OK && launch + 1 == a->launch_count)
        status = end_run(software, a, n / a->launch_count, time);
    if (status == CORUN_OK && !orders_idle(a))
        status = governor_moment(software->governor, time, CORUN_EVENT_KERNEL_START, 0, a->index);
    return status;
}

static bool is_complete(const struct software *software, struct application *a, uint64_t n)
{
    const struct kind *kind = kind_at(a, n);
    const struct order *order = order_at(a, n);
    if (n >= a->given || !order->given)
        return false;
    if (order->sliced)
        return order->done == kind->about.tbs;
    if (goes_whole(software, kind) || order->once)
        return !order->in_flight;
    if (software->drops && order->ended_ns >= software->look_began) /* somebody may have given something back since */
        return false;
    return !order->first_in_flight && order->next >= order->total && !order->alive;
}

static void retire(struct application *a)
{
    while (a->retired < a->head && !order_at(a, a->retired)->in_flight)
        a->retired++;
}

enum corun_status orders_complete(struct software *software, struct application *a, uint64_t time)
{
    enum corun_status status = CORUN_OK;
    uint32_t completed = 0;
    while (status == CORUN_OK && a->status == CORUN_OK && a->head < a->given && is_complete(software, a, a->head)) {
        status = end_order(software, a, time);
        completed++;
    }
    if (2 * completed + 2 > a->ahead) /* as many as end until the next look has been heeded */
        a->ahead = 2 * completed + 2 < MOST_AHEAD ? 2 * completed + 2 : MOST_AHEAD;
    retire(a);
    return status;
}

static struct application *find_job(struct software *software, uint32_t number, struct job_of_run **job)
{
    for (uint32_t a = 0; a < software->count; a++)
        for (uint32_t i = 0; i < JOBS; i++)
            if (software->applications[a].jobs[i].used && software->applications[a].jobs[i].job == number) {
                *job = &software->applications[a].jobs[i];
                return &software->applications[a];
            }
    return NULL;
}

static bool ends_with_its_crew(const struct software *software, struct application *a, const struct job_of_run *job,
                               const struct runtime_event *event)
{
    return goes_whole(software, &a->kinds[event->launch]) ||
           order_at(a, job->run * a->launch_count + event->launch)->once;
}

uint64_t orders_began(struct application *a, uint64_t n)
{
    const struct order *before = n ? order_at(a, n - 1) : NULL;
    uint64_t begin = order_at(a, n)->could_begin_ns;
    return before && before->ended_ns > begin ? before->ended_ns : begin;
}

/* All crews of order n have ended. */
static void note_length(struct application *a, uint64_t n)
{
    const struct order *order = order_at(a, n);
    uint64_t begin = orders_began(a, n);
    uint64_t *least = &a->kinds[n % a->launch_count].launch_ns;
    if (order->ended_ns > begin && (!*least || order->ended_ns - begin < *least))
        *least = order->ended_ns - begin;
}

static void crew_ended(struct software *software, struct application *a, const struct job_of_run *job,
                       const struct runtime_event *event, uint64_t time)
{
    struct order *order = order_at(a, job->run * a->launch_count + event->launch);
    order->in_flight--;
    order->first_in_flight -= event->stream == crews_first_stream(software, a);
    if (software->options.launching != SOFTWARE_WORKERS)
        a->tbs_in_flight -= a->kinds[event->launch].about.tbs;
    if (time > order->ended_ns)
        order->ended_ns = time;
    if (!ends_with_its_crew(software, a, job, event)) /* whether the launch is complete, only a look can tell */
        software->look_wanted = true;
    if (!order->in_flight)
        note_length(a, job->run * a->launch_count + event->launch);
}

/* Are the results what is expected? */
static bool is_right(const struct software *software, const struct application *a, uint32_t job)
{
    const struct workload_commands *commands = a->description.commands;
    for (size_t i = 0; i < commands->buffer_count; i++) {
        const struct command_buffer *buffer = &commands->buffers[i];
        const void *expected = a->description.expected ? a->description.expected[i] : buffer->final;
        if (buffer->is_output && memcmp(runtime_result(software->runtime, job, i), expected, buffer->bytes) != 0)
            return false;
    }
    return true;
}

/* False when out of memory. */
static bool keep_results(const struct software *software, struct application *a, uint32_t job)
{
    const struct workload_commands *commands = a->description.commands;
    a->left = calloc(commands->buffer_count + 1, sizeof *a->left);
    for (size_t i = 0; a->left && i < commands->buffer_count; i++) {
        const struct command_buffer *buffer = &commands->buffers[i];
        if (!buffer->is_output || !buffer->bytes)
            continue;
        a->left[i] = malloc(buffer->bytes);
        if (!a->left[i])
            return false;
        memcpy(a->left[i], runtime_result(software->runtime, job, i), buffer->bytes);
    }
    return a->left != NULL;
}

/* A run is over, or was done alone after another one's fault. */
static enum corun_status job_ended(struct software *software, struct application *a, struct job_of_run *job,
                                   uint64_t time)
{
    enum corun_status status = CORUN_OK;
    if (software->options.check && !is_right(software, a, job->job))
        a->mismatches++;
    if (software->options.keep && !a->left && !keep_results(software, a, job->job))
        return CORUN_MEMORY;
    if (!job->over) { /* all its orders at once */
        uint64_t end = (job->run + 1) * a->launch_count;
        for (; a->head < end; a->head++) {
            a->progress_before += kind_at(a, a->head)->progress;
            a->worth_before += kind_at(a, a->head)->worth;
            a->thread_blocks += kind_at(a, a->head)->about.tbs;
        }
        a->given = a->retired = a->head;
        software->limits_due = true;
        a->halves = a->head / HALF;
        status = end_run(software, a, job->run, time);
    }
    runtime_release(software->runtime, job->job);
    job->used = false;
    return status;
}

static enum corun_status job_failed(struct software *software, struct application *a, struct job_of_run *job,
                                    const struct runtime_event *event, uint64_t time)
{
    a->failure = event->failure;
    a->status = CORUN_FAULT;
    software->limits_due = true;
    runtime_release(software->runtime, job->job);
    job->used = false;
    return a->state == CORUN_APPLICATION_RUNNING ? leave(software, a, time) : CORUN_OK;
}

enum corun_status orders_take(struct software *software, const struct runtime_event *event)
{
    struct job_of_run *job;
    struct application *a = find_job(software, event->job, &job);
    uint64_t time = event->time > software->begin_ns ? event->time - software->begin_ns : 0;
    if (!a)
        return CORUN_OK;
    switch (event->kind) {
    case RUNTIME_READY:
        job->ready = true;
        return CORUN_OK;
    case RUNTIME_RETURNED:
        job->ready = false;
        return CORUN_OK;
    case RUNTIME_CREW_ENDED:
        crew_ended(software, a, job, event, time);
        return ends_with_its_crew(software, a, job, event) ? orders_complete(software, a, time) : CORUN_OK;
    case RUNTIME_SLICE_ENDED:
        return grants_slice_ended(software, a, event, job->run, time);
    case RUNTIME_ENDED:
        return job_ended(software, a, job, time);
    case RUNTIME_FAILED:
        return job_failed(software, a, job, event, time);
    default:
        return CORUN_OK;
    }
}

/* The orders of the run that was under way begin again, with queues that are set up anew. */
static void start_over(struct software *software, struct application *a)
{
    uint64_t first = a->head / a->launch_count * a->launch_count;
    for (; a->head > first; a->head--) {
        a->progress_before -= kind_at(a, a->head - 1)->progress;
        a->worth_before -= kind_at(a, a->head - 1)->worth;
        a->thread_blocks -= kind_at(a, a->head - 1)->about.tbs;
    }
    a->given = a->retired = a->head;
    software->limits_due = true;
    a->skipped = a->done = a->tbs_in_flight = a->likely = 0;
    a->halves = a->head / HALF;
    memset(a->orders, 0, sizeof a->orders);
    for (uint32_t place = 0; place < software->places; place++) {
        struct share *share = share_of(software, place, a->index);
        *share = (struct share){0};
        software->limit_rows[a->index * software->places + place] = 0;
    }
}

void orders_start_over(struct software *software)
{
    for (uint32_t a = 0; a < software->count; a++)
        start_over(software, &software->applications[a]);
    plugs_start_over(software);
    software->looking = false;
}
