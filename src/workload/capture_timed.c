/*
 * A captured program on the machine: its host asks for tasks in streams and waits where it waited, and they run when
 * the streams let them, as under `corun exec` (src/cuda/engine.c, whose rules these are; docs/captures.md, "Time").
 */
#include "gpu/transfer.h"
#include "workload/capture_replay.h"
#include "workload/stream_rules.h"

#include <stdlib.h>
#include <string.h>

#define NON_BLOCKING 1u

struct timed_stream;

struct timed_task {
    struct timed_task *next; /* in its stream */
    struct timed_stream *stream;
    const struct capture_operation *operation;
    size_t first_effect, effect_end; /* operations */
    uint64_t sequence, submitted_cycle, end_cycle;
    bool started;
    bool in_order; /* LAUNCH: nothing else ran, so what it left in the host's memory can be compared */
    struct corun_grid *grid;
    uint32_t number; /* of the machine's application */
};

struct timed_stream {
    bool blocking, legacy, launched;
    int32_t priority;
    struct timed_task *first, *last;
    uint64_t free_cycle; /* when the task before has ended */
};

struct timed_event {
    uint64_t completed, cycle;
};

struct timed {
    VECTOR(struct timed_stream *) streams; /* by index */
    VECTOR(struct timed_event) events;     /* by number - 1 */
    VECTOR(struct timed_task *) running;   /* launches in flight */
    VECTOR(struct timed_task *) copies;    /* under way */
    size_t next;                           /* operation that the host comes to */
    bool begun, host_ended, full, alone;
    uint64_t host_cycle, room_cycle, sequence;
    uint64_t ended, last_ended; /* tasks; the highest of their sequence numbers */
    uint32_t launches_waiting;
    struct corun_gpu *gpu;
    uint32_t application;
};

static struct timed_event *event_of(struct timed *timed, uint64_t number)
{
    while (timed->events.count < number)
        if (!vector_push(&timed->events, (struct timed_event){0}))
            return NULL;
    return &timed->events.data[number - 1];
}

static void task_destroy(struct timed_task *task)
{
    corun_launch_destroy(task->grid);
    free(task);
}

void timed_destroy(struct timed *timed)
{
    if (!timed)
        return;
    for (size_t i = 0; i < timed->streams.count; i++) {
        struct timed_stream *stream = timed->streams.data[i];
        while (stream->first) {
            struct timed_task *task = stream->first;
            stream->first = task->next;
            task_destroy(task);
        }
        free(stream);
    }
    vector_free(&timed->streams);
    vector_free(&timed->events);
    vector_free(&timed->running);
    vector_free(&timed->copies);
    free(timed);
}

/* ---- the host ---- */

static bool add_stream(struct timed *timed, const uint64_t *numbers)
{
    struct timed_stream *stream = calloc(1, sizeof *stream);
    if (!stream || !vector_push(&timed->streams, stream)) {
        free(stream);
        return false;
    }
    stream->blocking = !(numbers[1] & NON_BLOCKING);
    stream->legacy = numbers[1] & CAPTURE_LEGACY;
    stream->priority = (int32_t)((int64_t)numbers[2] - (INT64_C(1) << 31));
    return true;
}

static bool is_effect(enum capture_kind kind)
{
    return kind == CAPTURE_BLOCK || kind == CAPTURE_WRITE || kind == CAPTURE_FILL || kind == CAPTURE_COPY ||
           kind == CAPTURE_CHECK;
}

/* The host asks for the task at timed->next and goes on behind what belongs to it. */
static bool ask(struct replay *replay, struct timed *timed)
{
    const struct captured *captured = replay->captured;
    struct timed_task *task = calloc(1, sizeof *task);
    if (!task)
        return false;
    task->operation = &captured->operations.data[timed->next++];
    task->stream = timed->streams.data[task->operation->numbers[0]];
    task->first_effect = timed->next;
    while (timed->next < captured->operations.count && is_effect(captured->operations.data[timed->next].kind))
        timed->next++;
    task->effect_end = timed->next;
    task->sequence = ++timed->sequence;
    task->submitted_cycle = timed->host_cycle;
    timed->launches_waiting += task->operation->kind == CAPTURE_LAUNCH;
    if (task->stream->last)
        task->stream->last->next = task;
    else
        task->stream->first = task;
    task->stream->last = task;
    return true;
}

/* Has what the host waits for here ended? Then it goes on, from when it had. */
static bool arrives(struct timed *timed, const struct capture_operation *operation)
{
    uint64_t cycle = 0;
    if (operation->kind == CAPTURE_AWAIT_EVENT) {
        const struct timed_event *event = event_of(timed, operation->numbers[0]);
        if (!event || event->completed < operation->numbers[1])
            return false;
        cycle = event->cycle;
    }
    for (size_t i = 0; operation->kind != CAPTURE_AWAIT_EVENT && i < timed->streams.count; i++) {
        const struct timed_stream *stream = timed->streams.data[i];
        if (operation->kind == CAPTURE_AWAIT_STREAM && i != operation->numbers[0])
            continue;
        if (stream->first)
            return false;
        cycle = stream->free_cycle > cycle ? stream->free_cycle : cycle;
    }
    if (cycle > timed->host_cycle)
        timed->host_cycle = cycle;
    return true;
}

/* The host goes on until it has to wait. False when out of memory. */
static bool run_host(struct replay *replay, struct timed *timed)
{
    const struct captured *captured = replay->captured;
    while (timed->next < captured->operations.count) {
        const struct capture_operation *operation = &captured->operations.data[timed->next];
        bool was_full = timed->full;
        timed->full = timed->launches_waiting >= STREAMS_MOST_WAITING;
        if (timed->full)
            return true;
        if (was_full && timed->room_cycle > timed->host_cycle)
            timed->host_cycle = timed->room_cycle;
        switch (operation->kind) {
        case CAPTURE_LAUNCH:
        case CAPTURE_TRANSFER:
        case CAPTURE_POINT:
        case CAPTURE_RECORD:
        case CAPTURE_WAIT:
            if (!ask(replay, timed))
                return false;
            continue;
        case CAPTURE_AWAIT_STREAM:
        case CAPTURE_AWAIT_ALL:
        case CAPTURE_AWAIT_EVENT:
            if (!arrives(timed, operation))
                return true;
            break;
        case CAPTURE_STREAM:
            if (!add_stream(timed, operation->numbers))
                return false;
            break;
        default:
            replay_perform(replay, timed->next);
        }
        timed->next++;
    }
    timed->host_ended = true;
    return true;
}

/* ---- streams ---- */

static bool precedes(const struct timed_stream *stream, const struct timed_task *task)
{
    return stream->first && stream->first->sequence < task->sequence;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Is the first task of its stream free to start, and since when? */
static bool is_ready(struct timed *timed, const struct timed_task *task, uint64_t *since)
{
    const struct timed_stream *stream = task->stream;
    *since = later(stream->free_cycle, task->submitted_cycle);
    for (size_t i = 0; stream->blocking && i < timed->streams.count; i++) {
        const struct timed_stream *other = timed->streams.data[i];
        if (other == stream || !other->blocking || stream->legacy == other->legacy)
            continue;
        if (precedes(other, task))
            return false;
        *since = later(*since, other->free_cycle);
    }
    if (task->operation->kind == CAPTURE_WAIT) {
        const struct timed_event *event = event_of(timed, task->operation->numbers[1]);
        if (!event || event->completed < task->operation->numbers[2])
            return false;
        *since = later(*since, event->cycle);
    }
    return true;
}

static bool is_cooperative(const struct timed_task *task)
{
    return task->operation->kind == CAPTURE_LAUNCH && task->operation->numbers[9];
}

static bool may_start(const struct timed *timed, const struct timed_task *task)
{
    return task->operation->kind != CAPTURE_LAUNCH ||
           streams_have_room(timed->running.count, timed->alone, is_cooperative(task));
}

static bool goes_first(const struct timed_task *task, const struct timed_task *other)
{
    return streams_goes_first(task->stream->priority, task->sequence, other->stream->priority, other->sequence);
}

static struct timed_task *next_ready(struct timed *timed, uint64_t *since)
{
    struct timed_task *best = NULL;
    for (size_t i = 0; i < timed->streams.count; i++) {
        struct timed_task *task = timed->streams.data[i]->first;
        uint64_t cycle;
        if (!task || task->started || !may_start(timed, task) || (best && !goes_first(task, best)) ||
            !is_ready(timed, task, &cycle))
            continue;
        best = task;
        *since = cycle;
    }
    return best;
}

/* ---- tasks ---- */

/* What the host can see without copying is compared only where nothing else can have changed it. */
static void do_effects(struct replay *replay, const struct timed_task *task)
{
    bool launch = task->operation->kind == CAPTURE_LAUNCH;
    for (size_t i = task->first_effect; i < task->effect_end; i++)
        if (!launch || task->in_order)
            replay_perform(replay, i);
}

/* Takes the first task off its stream. */
static void finish(struct replay *replay, struct timed *timed, struct timed_task *task, uint64_t cycle)
{
    struct timed_stream *stream = task->stream;
    timed->ended++;
    timed->last_ended = later(timed->last_ended, task->sequence);
    task->in_order &= timed->ended == task->sequence && timed->last_ended == task->sequence;
    do_effects(replay, task);
    stream->first = task->next;
    if (!stream->first)
        stream->last = NULL;
    stream->free_cycle = later(stream->free_cycle, cycle);
    if (task->operation->kind == CAPTURE_LAUNCH) {
        timed->launches_waiting--;
        timed->room_cycle = cycle;
    }
    task_destroy(task);
}

static enum corun_status start_launch(struct replay *replay, struct timed *timed, struct timed_task *task,
                                      uint64_t since)
{
    const struct corun_gpu_config *config = corun_gpu_configuration(timed->gpu);
    enum corun_status status = replay_make_grid(replay, task->operation->shape, NULL, &task->grid);
    since = streams_kernel_since(since, task->stream->launched, task->stream->free_cycle, config->launch_latency);
    replay_perform(replay, task->first_effect - 1); /* a cooperative one needs its two words at zero */
    if (status == CORUN_OK && !vector_push(&timed->running, task))
        status = CORUN_MEMORY;
    if (status != CORUN_OK)
        return status;
    task->started = task->stream->launched = true;
    task->in_order = timed->running.count == 1;
    for (size_t i = 0; timed->running.count > 1 && i < timed->running.count; i++)
        timed->running.data[i]->in_order = false;
    timed->alone = is_cooperative(task);
    /* One that can never fit stops the application, which says so. */
    (void)corun_gpu_launch(timed->gpu, timed->application, task->grid, since, task->stream->priority, &task->number);
    return CORUN_OK;
}

static enum corun_status start(struct replay *replay, struct timed *timed, struct timed_task *task, uint64_t since)
{
    const uint64_t *numbers = task->operation->numbers;
    if (task->operation->kind == CAPTURE_LAUNCH)
        return start_launch(replay, timed, task, since);
    if (task->operation->kind == CAPTURE_TRANSFER) {
        struct transfer transfer = {(enum corun_copy_engine)numbers[1], numbers[2], numbers[3], numbers[4]};
        uint64_t from;
        transfer_start(timed->gpu, corun_gpu_configuration(timed->gpu), &transfer, since, &from, &task->end_cycle);
        task->started = true;
        return vector_push(&timed->copies, task) ? CORUN_OK : CORUN_MEMORY;
    }
    if (task->operation->kind == CAPTURE_RECORD) {
        struct timed_event *event = event_of(timed, numbers[1]);
        if (!event)
            return CORUN_MEMORY;
        *event = (struct timed_event){numbers[2], since};
    }
    finish(replay, timed, task, since);
    return CORUN_OK;
}

/* Launches in the order in which they were started, then copies in theirs. */
static void collect(struct replay *replay, struct timed *timed)
{
    for (size_t i = 0; i < timed->running.count;) {
        struct timed_task *task = timed->running.data[i];
        struct corun_launched launched;
        corun_gpu_launched(timed->gpu, timed->application, task->number, &launched);
        if (!launched.ended) {
            i++;
            continue;
        }
        memmove(&timed->running.data[i], &timed->running.data[i + 1],
                (--timed->running.count - i) * sizeof *timed->running.data);
        finish(replay, timed, task, launched.last_cycle);
    }
    uint64_t now = corun_gpu_cycles(timed->gpu);
    for (size_t i = 0; i < timed->copies.count;) {
        struct timed_task *task = timed->copies.data[i];
        if (task->end_cycle > now) {
            i++;
            continue;
        }
        memmove(&timed->copies.data[i], &timed->copies.data[i + 1],
                (--timed->copies.count - i) * sizeof *timed->copies.data);
        finish(replay, timed, task, task->end_cycle);
    }
}

struct timed *timed_create(void)
{
    return calloc(1, sizeof(struct timed));
}

static bool all_ended(const struct timed *timed, uint64_t *cycle)
{
    *cycle = timed->host_cycle;
    for (size_t i = 0; i < timed->streams.count; i++) {
        if (timed->streams.data[i]->first)
            return false;
        *cycle = later(*cycle, timed->streams.data[i]->free_cycle);
    }
    return timed->host_ended;
}

enum corun_status timed_proceed(struct replay *replay, struct timed *timed, struct corun_gpu *gpu, uint32_t application,
                                struct corun_proceeding *proceeding)
{
    timed->gpu = gpu;
    timed->application = application;
    if (!timed->begun)
        timed->host_cycle = proceeding->start_cycle;
    timed->begun = true;
    collect(replay, timed);
    for (;;) {
        uint64_t since = 0;
        if (!run_host(replay, timed))
            return CORUN_MEMORY;
        struct timed_task *task = next_ready(timed, &since);
        if (!task)
            break;
        enum corun_status status = start(replay, timed, task, since);
        if (status != CORUN_OK)
            return status;
    }
    uint64_t wake = UINT64_MAX;
    for (size_t i = 0; i < timed->copies.count; i++)
        wake = timed->copies.data[i]->end_cycle < wake ? timed->copies.data[i]->end_cycle : wake;
    corun_gpu_wake(gpu, application, wake);
    proceeding->ended = all_ended(timed, &proceeding->end_cycle);
    return CORUN_OK;
}
