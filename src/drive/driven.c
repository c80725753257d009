/* SPDX-License-Identifier: MIT */
/* Submissions and slices of a queue as jobs and slices of a runtime, and what has to be done again after another one's fault. */
#include "drive/driven.h"

#include "base/kernel_name.h"
#include "base/vector.h"
#include "runtime/measure.h"

#include <stdlib.h>
#include <string.h>

/* A slice that was handed out. */
struct handed {
    struct queue_slice slice;
    uint32_t stream;
    bool told;     /* the queue knows that it has ended */
    bool followed; /* a slice of the launch is behind it */
};

/* Results on the host that are compared later: a comparison takes the host longer than many slices take the device. */
struct kept {
    uint32_t job;
    const struct workload_commands *commands;
};

#define MOST_KEPT_BYTES (UINT64_C(4) << 30)

/* A submission, from driven_submit to OVER. */
struct served {
    size_t number;
    const struct workload_commands *commands;
    bool submitted;      /* and not only brought */
    bool ready;          /* the queue has been told */
    bool here;           /* its data are on the device */
    bool stays;          /* its results are not copied */
    bool has_results;    /* they have been copied, and nobody has looked at them */
    bool gone;           /* nothing of it runs any more, though the queue has not handed out all of it */
    const char *failure; /* gone, because its kernel has failed */
    VECTOR(struct handed) slices;
    size_t oldest; /* slices before this one have been told */
};

struct driven {
    struct corun_diagnostics *list;
    struct runtime *runtime;
    uint32_t *workloads, count;
    bool *seen; /* [kind]: had a submission; NULL: results of all are copied */
    const struct workload_commands *const *kinds;
    uint64_t begin_ns, begin_tick, last_tick, clock_khz, mismatches, failures;
    VECTOR(struct served *) jobs; /* by the runtime's number of the job; NULL: not of ours */
    VECTOR(uint32_t) numbers;     /* [submission]: its job; UINT32_MAX: over */
    VECTOR(struct driven_event) due;
    size_t next_due;
    VECTOR(struct kept) kept;
    size_t next_kept;
    uint64_t kept_bytes; /* of those from next_kept on */
};

static uint64_t to_tick(const struct driven *driven, uint64_t nanoseconds)
{
    uint64_t since = nanoseconds > driven->begin_ns ? nanoseconds - driven->begin_ns : 0;
    return driven->begin_tick + (uint64_t)((unsigned __int128)since * driven->clock_khz / 1000000);
}

/* The first nanosecond of a tick, rounded up, so that the tick has come then. */
static uint64_t to_nanoseconds(const struct driven *driven, uint64_t tick)
{
    uint64_t since = tick > driven->begin_tick ? tick - driven->begin_tick : 0;
    unsigned __int128 nanoseconds = ((unsigned __int128)since * 1000000 + driven->clock_khz - 1) / driven->clock_khz;
    return tick == UINT64_MAX ? tick : driven->begin_ns + (uint64_t)nanoseconds;
}

static bool tell(struct driven *driven, const struct driven_event *event)
{
    return vector_push(&driven->due, *event);
}

static const char *refusal_of(const struct driven *driven, uint32_t kind)
{
    struct runtime_launch launch;
    runtime_launch_at(driven->runtime, driven->workloads[kind], 0, &launch);
    return launch.refusal;
}

enum corun_status driven_create(const struct driven_request *request, struct corun_diagnostics *list,
                                struct driven **result)
{
    struct driven *driven = calloc(1, sizeof *driven);
    *result = NULL;
    if (!driven)
        return CORUN_MEMORY;
    driven->list = list;
    driven->clock_khz = request->clock_khz;
    driven->kinds = request->kinds;
    driven->count = request->count;
    driven->workloads = calloc(request->count + 1, sizeof *driven->workloads);
    driven->seen = request->results_stay ? calloc(request->count + 1, sizeof *driven->seen) : NULL;
    bool room = driven->workloads && (driven->seen || !request->results_stay);
    enum corun_status status = room ? runtime_open(&request->options, list, &driven->runtime) : CORUN_MEMORY;
    for (uint32_t k = 0; k < request->count && status == CORUN_OK; k++) {
        const struct workload_commands *commands = request->kinds[k];
        if (commands->launch_count != 1)
            status =
                corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s has %u launches, and a queue serves single ones",
                             commands->name, commands->launch_count);
        else
            status = runtime_add_workload(driven->runtime, commands, list, &driven->workloads[k]);
        const char *refusal = status == CORUN_OK ? refusal_of(driven, k) : NULL;
        if (refusal)
            status = corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE, "kernel %s of %s cannot be sliced: %s",
                                  KERNEL_NAME(commands->commands[0].kernel), commands->name, refusal);
    }
    if (status == CORUN_OK) {
        driven->begin_ns = runtime_now(driven->runtime);
        *result = driven;
    } else {
        driven_destroy(driven);
    }
    return status;
}

static void end_job(struct driven *driven, uint32_t job)
{
    struct served *served = driven->jobs.data[job];
    driven->jobs.data[job] = NULL;
    if (served)
        vector_free(&served->slices);
    free(served);
}

void driven_destroy(struct driven *driven)
{
    if (!driven)
        return;
    for (uint32_t i = 0; i < driven->jobs.count; i++)
        end_job(driven, i);
    vector_free(&driven->jobs);
    vector_free(&driven->numbers);
    vector_free(&driven->due);
    vector_free(&driven->kept);
    runtime_close(driven->runtime);
    free(driven->workloads);
    free(driven->seen);
    free(driven);
}

struct runtime *driven_runtime(struct driven *driven)
{
    return driven->runtime;
}

void driven_start(struct driven *driven, uint64_t tick)
{
    driven->begin_ns = runtime_now(driven->runtime);
    driven->begin_tick = driven->last_tick = tick;
    runtime_begin_statistics(driven->runtime);
}

enum corun_status driven_smallest_slice(struct driven *driven, uint32_t kind, double most, uint32_t *slice,
                                        uint64_t *nanoseconds)
{
    uint64_t tbs;
    enum corun_status status =
        runtime_smallest_slice(driven->runtime, driven->workloads[kind], 0, most, driven->list, &tbs, nanoseconds);
    *slice = (uint32_t)tbs;
    return status;
}

static uint64_t result_bytes(const struct workload_commands *commands)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < commands->buffer_count; i++)
        bytes += commands->buffers[i].is_output ? commands->buffers[i].bytes : 0;
    return bytes;
}

enum corun_status driven_prepare(struct driven *driven, uint32_t submissions)
{
    enum corun_status status = CORUN_OK;
    uint64_t nanoseconds;
    for (uint32_t k = 0; k < driven->count && status == CORUN_OK; k++) {
        struct runtime_launch about;
        runtime_launch_at(driven->runtime, driven->workloads[k], 0, &about);
        for (uint64_t parts = 1; parts <= 2 && status == CORUN_OK; parts++)
            status = runtime_measure(driven->runtime, driven->workloads[k], 0, about.tbs / parts + (parts > 1), 1,
                                     driven->list, &nanoseconds);
    }
    uint64_t bytes = 1;
    for (uint32_t k = 0; k < driven->count; k++)
        bytes += result_bytes(driven->kinds[k]);
    uint64_t rounds = driven->seen ? 1 : MOST_KEPT_BYTES / bytes + 1;
    uint32_t results = rounds < submissions ? (uint32_t)rounds : submissions;
    return status == CORUN_OK
               ? runtime_reserve(driven->runtime, driven->workloads, driven->count, submissions, results, driven->list)
               : status;
}

static uint32_t emptiest_stream(const struct driven *driven)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < RUNTIME_MOST_STREAMS; i++)
        if (runtime_in_flight(driven->runtime, i) < runtime_in_flight(driven->runtime, best))
            best = i;
    return best;
}

/* Gives a slice to the stream that has the fewest or, if it is to begin behind another one, to the stream of the oldest. */
static enum corun_status give(struct driven *driven, uint32_t job, size_t index)
{
    struct served *served = driven->jobs.data[job];
    struct handed *handed = &served->slices.data[index];
    handed->stream = emptiest_stream(driven);
    while (served->oldest < index && served->slices.data[served->oldest].told)
        served->oldest++;
    for (size_t i = served->oldest; i < index && handed->slice.behind; i++) {
        struct handed *other = &served->slices.data[i];
        if (other->told || other->followed)
            continue;
        other->followed = true;
        handed->stream = other->stream;
        break;
    }
    const struct queue_slice *slice = &handed->slice;
    enum corun_status status = runtime_slice(driven->runtime, job, slice->first, slice->tbs, handed->stream);
    return status == CORUN_FAULT ? CORUN_OK : status; /* runtime_wait looks after that */
}

/* Nothing of a launch that is gone runs any more; the queue still hands out the rest of it. */
static enum corun_status end_at_once(struct driven *driven, struct served *served, const struct queue_slice *slice)
{
    struct driven_event event = {
        .what = DRIVEN_SLICE, .tick = driven->last_tick, .number = served->number, .slice = *slice};
    return tell(driven, &event) ? CORUN_OK : CORUN_MEMORY;
}

/* Counts it if the oldest results that are kept are not what a run without timing leaves. */
static void check_oldest(struct driven *driven)
{
    const struct kept *kept = &driven->kept.data[driven->next_kept++];
    const struct workload_commands *commands = kept->commands;
    bool same = true;
    for (size_t i = 0; i < commands->buffer_count && same; i++)
        same = !commands->buffers[i].is_output || !memcmp(runtime_result(driven->runtime, kept->job, i),
                                                          commands->buffers[i].final, commands->buffers[i].bytes);
    driven->mismatches += !same;
    driven->kept_bytes -= result_bytes(commands);
    runtime_release(driven->runtime, kept->job);
}

/* The results of a job stay on the host until there are too many, or until they are asked for. */
static enum corun_status keep(struct driven *driven, uint32_t job, const struct workload_commands *commands)
{
    if (!vector_push(&driven->kept, ((struct kept){job, commands})))
        return CORUN_MEMORY;
    driven->kept_bytes += result_bytes(commands);
    while (driven->kept_bytes > MOST_KEPT_BYTES)
        check_oldest(driven);
    return CORUN_OK;
}

/* All of it has been handed out. */
static enum corun_status over(struct driven *driven, uint32_t job)
{
    struct served *served = driven->jobs.data[job];
    struct driven_event event = {
        .what = DRIVEN_OVER, .tick = driven->last_tick, .number = served->number, .failure = served->failure};
    driven->numbers.data[served->number] = UINT32_MAX;
    enum corun_status status = CORUN_OK;
    if (served->has_results)
        status = keep(driven, job, served->commands);
    else
        runtime_release(driven->runtime, job);
    end_job(driven, job);
    if (status != CORUN_OK)
        return status;
    return tell(driven, &event) ? CORUN_OK : CORUN_MEMORY;
}

enum corun_status driven_launch(struct driven *driven, size_t number, const struct queue_slice *slice)
{
    uint32_t job = number < driven->numbers.count ? driven->numbers.data[number] : UINT32_MAX;
    struct served *served = job == UINT32_MAX ? NULL : driven->jobs.data[job];
    if (!served)
        return CORUN_ARGUMENT;
    if (served->gone) {
        enum corun_status status = end_at_once(driven, served, slice);
        return status == CORUN_OK && slice->last ? over(driven, job) : status;
    }
    if (!vector_push(&served->slices, (struct handed){.slice = *slice}))
        return CORUN_MEMORY;
    if (!served->here) /* it is launched when the data have come again */
        return CORUN_OK;
    return give(driven, job, served->slices.count - 1);
}

/* Data have come, for the first time or again. */
static enum corun_status ready(struct driven *driven, uint32_t job, struct driven_event *event)
{
    struct served *served = driven->jobs.data[job];
    enum corun_status status = CORUN_OK;
    served->here = true;
    if (!served->ready) {
        served->ready = served->submitted;
        event->what = DRIVEN_READY;
        return !served->ready || tell(driven, event) ? CORUN_OK : CORUN_MEMORY;
    }
    for (size_t i = 0; i < served->slices.count && status == CORUN_OK; i++)
        status = give(driven, job, i);
    return status;
}

static enum corun_status slice_ended(struct driven *driven, uint32_t job, uint64_t first, struct driven_event *event)
{
    struct served *served = driven->jobs.data[job];
    size_t i = served->oldest;
    while (i < served->slices.count && served->slices.data[i].slice.first != first)
        i++;
    if (i == served->slices.count || served->slices.data[i].told) /* done once more */
        return CORUN_OK;
    served->slices.data[i].told = true;
    event->what = DRIVEN_SLICE;
    event->slice = served->slices.data[i].slice;
    return tell(driven, event) ? CORUN_OK : CORUN_MEMORY;
}

/*
 * Nothing of the job runs any more: all of it is done; or it has failed; or it was done alone, after another one's fault. What the queue
 * has in flight of it has ended, and what the queue still hands out of it will end at once.
 */
static enum corun_status finish(struct driven *driven, uint32_t job, const char *failure)
{
    struct served *served = driven->jobs.data[job];
    struct driven_event event = {.what = DRIVEN_READY, .tick = driven->last_tick, .number = served->number};
    enum corun_status status = CORUN_OK;
    bool all = false;
    served->gone = true;
    served->failure = failure;
    driven->failures += failure != NULL;
    for (size_t i = 0; i < served->slices.count && status == CORUN_OK; i++) {
        all |= served->slices.data[i].slice.last;
        if (!served->slices.data[i].told)
            status = end_at_once(driven, served, &served->slices.data[i].slice);
        served->slices.data[i].told = true;
    }
    if (status == CORUN_OK && !served->ready && served->submitted) /* it never came to the queue */
        status = tell(driven, &event) ? CORUN_OK : CORUN_MEMORY;
    served->ready = served->submitted;
    return status == CORUN_OK && all ? over(driven, job) : status;
}

static enum corun_status take(struct driven *driven, const struct runtime_event *from)
{
    if (from->kind == RUNTIME_NONE || from->kind == RUNTIME_LAUNCH_ENDED)
        return CORUN_OK;
    struct served *served = driven->jobs.data[from->job];
    struct driven_event event = {.tick = driven->last_tick, .number = served->number};
    switch (from->kind) {
    case RUNTIME_READY:
        return ready(driven, from->job, &event);
    case RUNTIME_SLICE_ENDED:
        return slice_ended(driven, from->job, from->first, &event);
    case RUNTIME_RETURNED:
        served->here = false;
        return CORUN_OK;
    case RUNTIME_FAILED:
        return finish(driven, from->job, from->failure);
    default:
        served->has_results = !served->stays;
        return finish(driven, from->job, NULL);
    }
}

/* Its data are on their way from now on. */
static enum corun_status bring(struct driven *driven, size_t number, uint32_t kind)
{
    uint32_t job;
    struct served *served = calloc(1, sizeof *served);
    if (!served)
        return CORUN_MEMORY;
    served->number = number;
    served->commands = driven->kinds[kind];
    enum corun_status status = runtime_submit(driven->runtime, driven->workloads[kind], &job);
    while (status == CORUN_OK && driven->jobs.count <= job)
        status = vector_push(&driven->jobs, NULL) ? CORUN_OK : CORUN_MEMORY;
    while (status == CORUN_OK && driven->numbers.count <= number)
        status = vector_push(&driven->numbers, UINT32_MAX) ? CORUN_OK : CORUN_MEMORY;
    if (status != CORUN_OK) {
        free(served);
        return status;
    }
    served->stays = driven->seen && driven->seen[kind];
    if (served->stays)
        runtime_leave_results(driven->runtime, job);
    if (driven->seen)
        driven->seen[kind] = true;
    driven->jobs.data[job] = served;
    driven->numbers.data[number] = job;
    return CORUN_OK;
}

enum corun_status driven_bring(struct driven *driven, const uint32_t *kinds, size_t count)
{
    enum corun_status status = CORUN_OK;
    struct runtime_event seen = {.kind = RUNTIME_LAUNCH_ENDED};
    for (size_t i = 0; i < count && status == CORUN_OK; i++)
        status = bring(driven, i, kinds[i]);
    while (status == CORUN_OK && seen.kind != RUNTIME_NONE) {
        status = runtime_wait(driven->runtime, UINT64_MAX, driven->list, &seen);
        if (status == CORUN_OK)
            status = take(driven, &seen);
    }
    return status;
}

enum corun_status driven_submit(struct driven *driven, size_t number, uint32_t kind, bool *ready)
{
    bool brought = number < driven->numbers.count && driven->numbers.data[number] != UINT32_MAX;
    enum corun_status status = brought ? CORUN_OK : bring(driven, number, kind);
    *ready = false;
    if (status != CORUN_OK)
        return status;
    struct served *served = driven->jobs.data[driven->numbers.data[number]];
    served->submitted = true;
    *ready = served->ready = served->here || served->gone;
    return status;
}

enum corun_status driven_wait(struct driven *driven, uint64_t until, struct driven_event *event)
{
    uint64_t until_ns = to_nanoseconds(driven, until);
    enum corun_status status = CORUN_OK;
    struct runtime_event seen = {.kind = RUNTIME_LAUNCH_ENDED};
    while (status == CORUN_OK && driven->next_due == driven->due.count && seen.kind != RUNTIME_NONE) {
        driven->next_due = driven->due.count = 0;
        status = runtime_wait(driven->runtime, until_ns, driven->list, &seen);
        uint64_t tick = to_tick(driven, seen.time);
        if (status == CORUN_OK && tick > driven->last_tick)
            driven->last_tick = tick;
        if (status == CORUN_OK)
            status = take(driven, &seen);
    }
    *event = (struct driven_event){.what = DRIVEN_NOTHING, .tick = driven->last_tick};
    if (status == CORUN_OK && driven->next_due < driven->due.count)
        *event = driven->due.data[driven->next_due++];
    return status;
}

uint64_t driven_mismatches(struct driven *driven)
{
    while (driven->next_kept < driven->kept.count)
        check_oldest(driven);
    return driven->mismatches;
}

uint64_t driven_now(struct driven *driven)
{
    uint64_t tick = to_tick(driven, runtime_now(driven->runtime));
    if (tick > driven->last_tick)
        driven->last_tick = tick;
    return driven->last_tick;
}

uint64_t driven_failures(const struct driven *driven)
{
    return driven->failures;
}
