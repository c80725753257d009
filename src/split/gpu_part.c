/* SPDX-License-Identifier: MIT */
/*
 * A part on a GPU. One stream moves bytes in, others compute, one moves results back; a part that moves much is cut into chunks, so
 * that all work at once. Only bytes that are not there already are moved. Nothing is on its way to the host's memory that has not been
 * computed: a GPU that hangs writes nothing there later.
 */
#include "split/gpu_state.h"

#include "split/clock.h"
#include "split/repeat.h"

#include <math.h>

enum { LITTLE = 16 }; /* such a fraction of the bytes that are moved at a time */

/* Enqueues the bytes [offset, offset + bytes) of a buffer that are not there yet. */
static bool move_in(struct corun_split_gpu *gpu, uint32_t index, size_t offset, size_t bytes, struct traffic *traffic)
{
    const struct corun_split_buffer *buffer = &gpu->task->buffers[index];
    struct mirror *mirror = &gpu->mirrors[index];
    uint64_t from = offset, end = offset + bytes;
    struct range gap;
    while (ranges_next_gap(&mirror->valid, &from, end, &gap)) {
        size_t count = gap.end - gap.begin;
        if (!TRY(gpu, copy_in(mirror->address + gap.begin, (const char *)buffer->data + gap.begin, count, gpu->in),
                 buffer->name))
            return false;
        gpu->moving = true;
        traffic->in += count;
        traffic->kept += buffer->kept ? count : 0;
    }
    return ranges_add(&mirror->valid, offset, end) || gpu_fail(gpu, "the host is out of memory");
}

/* Bytes of [offset, offset + bytes) of a buffer that are not there yet. */
static size_t missing_bytes(const struct corun_split_gpu *gpu, uint32_t index, size_t offset, size_t bytes)
{
    uint64_t from = offset, end = offset + bytes;
    size_t sum = 0;
    struct range gap;
    while (ranges_next_gap(&gpu->mirrors[index].valid, &from, end, &gap))
        sum += gap.end - gap.begin;
    return sum;
}

static bool is_read(const struct corun_split_buffer *buffer, bool fetches)
{
    return fetches ? buffer_is_fetchable(buffer) : buffer->access != CORUN_SPLIT_WRITE && !buffer_is_whole(buffer);
}

/*
 * Enqueues what [begin, end) reads and the GPU does not have; of a fetch, only what can be fetched. A copy of a few bytes takes as long as one of many, and would be made
 * again and again: of what can be fetched, all of a buffer is moved that the GPU lacks little of.
 */
static bool move_in_all(struct corun_split_gpu *gpu, uint64_t begin, uint64_t end, bool fetches,
                        struct traffic *traffic)
{
    size_t offset, bytes, sum = 0;
    for (uint32_t i = 0; i < gpu->task->buffer_count; i++) {
        if (!is_read(&gpu->task->buffers[i], fetches))
            continue;
        buffer_range(gpu->task, i, begin, end, &offset, &bytes);
        sum += missing_bytes(gpu, i, offset, bytes);
    }
    for (uint32_t i = 0; i < gpu->task->buffer_count; i++) {
        const struct corun_split_buffer *buffer = &gpu->task->buffers[i];
        if (!is_read(buffer, fetches))
            continue;
        buffer_range(gpu->task, i, begin, end, &offset, &bytes);
        bool all = buffer_is_fetchable(buffer) && missing_bytes(gpu, i, offset, bytes) &&
                   LITTLE * missing_bytes(gpu, i, 0, buffer->bytes) <= sum;
        if (!move_in(gpu, i, all ? 0 : offset, all ? buffer->bytes : bytes, traffic))
            return false;
    }
    return true;
}

/* Enqueues the way back of what [begin, end) has written. */
static bool move_out(struct corun_split_gpu *gpu, uint64_t begin, uint64_t end, struct traffic *traffic)
{
    for (uint32_t i = 0; i < gpu->task->buffer_count; i++) {
        const struct corun_split_buffer *buffer = &gpu->task->buffers[i];
        size_t offset, bytes;
        if (buffer->access == CORUN_SPLIT_READ)
            continue;
        buffer_range(gpu->task, i, begin, end, &offset, &bytes);
        if (bytes &&
            !TRY(gpu, copy_out((char *)buffer->data + offset, gpu->mirrors[i].address + offset, bytes, gpu->out),
                 buffer->name))
            return false;
        traffic->out += bytes;
    }
    return true;
}

static double elapsed(const struct corun_split_gpu *gpu, void *begin, void *end)
{
    float milliseconds = 0;
    return gpu->driver->event_elapsed(&milliseconds, begin, end) ? 0 : 1e-3 * (double)milliseconds;
}

/* Buffers that every part needs, before the first part of a run. */
static bool set_up(struct corun_split_gpu *gpu, struct flight *flight)
{
    struct traffic traffic = {0};
    if (gpu->set_up)
        return true;
    gpu->set_up = true;
    for (uint32_t i = 0; i < gpu->task->buffer_count; i++) {
        const struct corun_split_buffer *buffer = &gpu->task->buffers[i];
        if (buffer_is_whole(buffer) && !move_in(gpu, i, 0, buffer->bytes, &traffic))
            return false;
    }
    if (!traffic.in)
        return true;
    flight->sets_up = true;
    flight->setup_bytes = traffic.in;
    flight->setup_kept = traffic.kept;
    return TRY(gpu, event_record(flight->set, gpu->in), "an event");
}

/*
 * In how many pieces [begin, end) goes: as many as there are times `copy_bytes` to move. A part that is fed stays whole: its copies overlap
 * with the kernels of other parts, and as many parts are under way as there are streams.
 */
static uint32_t chunk_count(const struct corun_split_gpu *gpu, uint64_t begin, uint64_t end, bool fed)
{
    if (fed)
        return 1;
    double bytes_moved = 0;
    uint64_t granules = (end - begin) / gpu->task->granularity;
    for (uint32_t i = 0; i < gpu->task->buffer_count; i++) {
        const struct corun_split_buffer *buffer = &gpu->task->buffers[i];
        size_t offset, bytes;
        struct range gap;
        buffer_range(gpu->task, i, begin, end, &offset, &bytes);
        uint64_t from = offset;
        while (buffer->access != CORUN_SPLIT_WRITE &&
               ranges_next_gap(&gpu->mirrors[i].valid, &from, offset + bytes, &gap))
            bytes_moved += (double)(gap.end - gap.begin);
        bytes_moved += buffer->access == CORUN_SPLIT_WRITE ? (double)bytes : 0;
    }
    uint64_t wanted = (uint64_t)fmax(1, fmin(MOST_CHUNKS, floor(bytes_moved / gpu->copy_bytes)));
    return granules < 1 ? 1 : (uint32_t)(granules < wanted ? granules : wanted);
}

/* What is enqueued next on the stream `work` waits for all that was moved in, by this part or others: a call of a driver may take 10 us. */
static bool wait_for_arrival(struct corun_split_gpu *gpu, struct flight *flight, uint32_t chunk)
{
    if (gpu->moving) {
        if (!TRY(gpu, event_record(flight->arrived[chunk], gpu->in), "an event"))
            return false;
        gpu->arrived = flight->last_arrived = flight->arrived[chunk];
        gpu->moving = false;
    }
    return !gpu->arrived || TRY(gpu, stream_wait(gpu->work, gpu->arrived, 0), "an event");
}

static bool enqueue_chunk(struct corun_split_gpu *gpu, struct flight *flight, uint32_t chunk, uint64_t begin,
                          uint64_t end)
{
    if (!move_in_all(gpu, begin, end, false, &flight->traffic))
        return false;
    gpu->work = gpu->works[gpu->next_work++ % MOST_CHUNKS];
    if (!wait_for_arrival(gpu, flight, chunk) || !TRY(gpu, event_record(flight->starts[chunk], gpu->work), "an event"))
        return false;
    enum corun_status status = gpu->task->gpu(gpu->task->user, gpu, begin, end);
    if (status != CORUN_OK)
        return gpu_fail(gpu, "the task's function for GPUs: %s", corun_status_meaning(status));
    return TRY(gpu, event_record(flight->ends[chunk], gpu->work), "an event");
}

static uint64_t chunk_border(const struct corun_split_gpu *gpu, const struct flight *flight, uint32_t chunk)
{
    uint64_t granules = (flight->end - flight->begin) / gpu->task->granularity;
    return chunk == flight->chunks ? flight->end
                                   : flight->begin + granules * chunk / flight->chunks * gpu->task->granularity;
}

void gpu_set_origin(struct corun_split_gpu *gpu)
{
    void *outside = gpu_enter(gpu);
    (void)TRY(gpu, event_record(gpu->origin, gpu->in), "an event");
    gpu_leave(gpu, outside);
}

void gpu_begin_part(struct corun_split_gpu *gpu, uint64_t begin, uint64_t end, bool fed)
{
    struct flight *flight = &gpu->flights[gpu->begun++ % MOST_PARTS];
    bool failed = false;
    void *outside = gpu_enter(gpu);
    flight->begin = begin;
    flight->end = end;
    flight->fed = fed;
    flight->sets_up = flight->writing = false;
    flight->computed = flight->sent = 0;
    flight->from = begin;
    flight->setup_bytes = flight->setup_kept = 0;
    flight->traffic = (struct traffic){0};
    flight->saved = NULL;
    flight->last_arrived = NULL;
    flight->chunks = chunk_count(gpu, begin, end, fed);
    flight->started = clock_seconds();
    bool based = gpu->driver->simulated || !gpu->set_up; /* a time is told from there */
    flight->ok = (!based || TRY(gpu, event_record(flight->base, gpu->in), "an event")) && set_up(gpu, flight);
    for (uint32_t i = 0; i < flight->chunks && flight->ok; i++)
        flight->ok = enqueue_chunk(gpu, flight, i, chunk_border(gpu, flight, i), chunk_border(gpu, flight, i + 1));
    flight->handing = clock_seconds() - flight->started;
    if (flight->ok && !fed) { /* what is changed in place is saved while the GPU works */
        flight->saved = snapshot_take(gpu->task, begin, end, &failed);
        flight->ok = !failed || gpu_fail(gpu, "the host is out of memory");
    }
    gpu_leave(gpu, outside);
}

/* Nothing of a part that has failed may still be moving when others do it again. */
static void give_up(struct corun_split_gpu *gpu, const struct snapshot *saved)
{
    (void)gpu->driver->stream_synchronize(gpu->in);
    (void)gpu->driver->stream_synchronize(gpu->out);
    snapshot_restore(saved);
}

/* Asked before results go back. false: the GPU has failed, or nobody waits for it. */
static bool begin_writing(struct corun_split_gpu *gpu)
{
    pthread_mutex_lock(&gpu->mutex);
    bool may = !gpu->failure[0];
    gpu->writing += may;
    pthread_mutex_unlock(&gpu->mutex);
    return may;
}

static void end_writing(struct corun_split_gpu *gpu)
{
    pthread_mutex_lock(&gpu->mutex);
    gpu->writing--;
    pthread_mutex_unlock(&gpu->mutex);
}

/* Whether an event of a part has come, or its GPU has failed, which the part notes. `wait`: until then. */
static bool has_come(struct corun_split_gpu *gpu, struct flight *flight, void *event, bool wait)
{
    int result = wait ? gpu->driver->event_synchronize(event) : gpu->driver->event_query(event);
    if (result == NOT_READY)
        return false;
    flight->ok = gpu_worked(gpu, result, gpu->task->name);
    return true;
}

/* Enqueues the way back of what is computed, when enough has gathered for the time of a copy to exceed its latency. */
static bool send_back(struct corun_split_gpu *gpu, struct flight *flight)
{
    flight->writing = flight->writing || begin_writing(gpu);
    if (!flight->writing)
        return false;
    while (flight->sent < flight->computed) {
        uint64_t to = chunk_border(gpu, flight, ++flight->sent);
        if (flight->sent < flight->chunks && bytes_written(gpu->task, flight->from, to) < GATHERED * gpu->copy_bytes)
            continue;
        if (!move_out(gpu, flight->from, to, &flight->traffic))
            return false;
        flight->from = to;
    }
    return flight->sent < flight->chunks || TRY(gpu, event_record(flight->final, gpu->out), "an event");
}

/*
 * Goes on with a part as far as its kernels and, unless the part is fed, its results are. What is changed in place goes back when all of it
 * is computed. true: the part is over, or has failed. `wait`: until then.
 */
static bool advance(struct corun_split_gpu *gpu, struct flight *flight, bool wait)
{
    while (flight->ok && flight->computed < flight->chunks) {
        if (!has_come(gpu, flight, flight->ends[flight->computed], wait))
            return false;
        if (!flight->ok)
            return true;
        flight->computed++;
        if (!flight->fed && (!flight->saved || flight->computed == flight->chunks))
            flight->ok = send_back(gpu, flight);
    }
    return !flight->ok || flight->fed || has_come(gpu, flight, flight->final, wait);
}

/* Waits for the kernels and, unless the part is fed, for the results. */
static bool finish(struct corun_split_gpu *gpu, struct flight *flight)
{
    (void)advance(gpu, flight, true);
    if (!flight->ok && flight->writing)
        give_up(gpu, flight->saved);
    if (flight->writing)
        end_writing(gpu);
    return flight->ok;
}

/* When the part ended, since the event `from`: its results are back, or the last of its kernels is done. */
static double end_since(const struct corun_split_gpu *gpu, const struct flight *flight, void *from)
{
    double last = flight->fed ? 0 : elapsed(gpu, from, flight->final);
    for (uint32_t i = 0; i < flight->chunks; i++)
        last = fmax(last, elapsed(gpu, from, flight->ends[i]));
    return last;
}

/* Of the iterations of a part, those whose `kept` bytes it has moved in. */
static double moved_iterations(const struct corun_split_gpu *gpu, const struct flight *flight)
{
    double all = 0;
    for (uint32_t i = 0; i < gpu->task->buffer_count; i++) {
        size_t offset, bytes;
        buffer_range(gpu->task, i, flight->begin, flight->end, &offset, &bytes);
        all += buffer_is_fetchable(&gpu->task->buffers[i]) ? (double)bytes : 0;
    }
    return all > 0 ? (double)(flight->end - flight->begin) * fmin(1, (double)flight->traffic.kept / all) : 0;
}

/* Copies of a part follow each other on the stream, from the time at which the stream has come to the part. */
static void tell_moves(const struct corun_split_gpu *gpu, const struct flight *flight, struct executor_event *event)
{
    bool alone = flight->traffic.kept && flight->traffic.kept == flight->traffic.in;
    event->kept_bytes = flight->traffic.kept;
    if (!alone || !flight->last_arrived || !gpu->driver->simulated)
        return;
    event->kept_iterations = moved_iterations(gpu, flight);
    event->kept_seconds = elapsed(gpu, flight->sets_up ? flight->set : flight->base, flight->last_arrived);
}

void gpu_end_part(struct corun_split_gpu *gpu, struct executor_event *event)
{
    struct flight *flight = &gpu->flights[gpu->ended++ % MOST_PARTS];
    void *outside = gpu_enter(gpu);
    double working = 0, setup = 0;
    bool ok = finish(gpu, flight);
    snapshot_free(flight->saved);
    flight->saved = NULL;
    for (uint32_t i = 0; i < flight->chunks && ok; i++)
        working += elapsed(gpu, flight->starts[i], flight->ends[i]);
    if (flight->sets_up && ok)
        setup = elapsed(gpu, flight->base, flight->set);
    double seconds = clock_seconds() - flight->started - setup;
    if (gpu->driver->simulated) { /* a GPU that has failed tells no time */
        seconds = ok ? end_since(gpu, flight, flight->base) - setup : 0;
        event->time = ok ? end_since(gpu, flight, gpu->origin) : 0;
    }
    event->handing_seconds = gpu->driver->simulated ? 0 : flight->handing;
    event->setup_seconds = setup;
    event->setup_again_seconds =
        flight->setup_bytes ? setup * (1 - (double)flight->setup_kept / (double)flight->setup_bytes) : 0;
    event->part.begin = flight->begin;
    event->part.end = flight->end;
    event->part.done = ok ? flight->end - flight->begin : 0;
    event->part.seconds = fmax(seconds, 0);
    event->part.copy_seconds = ok ? fmax(0, seconds - working) : 0;
    event->part.bytes_in = flight->traffic.in + flight->setup_bytes;
    event->part.bytes_out = flight->traffic.out;
    if (ok)
        tell_moves(gpu, flight, event);
    event->status = ok ? CORUN_OK : CORUN_FAULT;
    event->failure = gpu_failure(gpu);
    gpu_leave(gpu, outside);
}

void gpu_begin_delivery(struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    struct delivery *delivery = &gpu->deliveries[gpu->deliveries_begun++ % MOST_DELIVERIES];
    bool failed = false;
    void *outside = gpu_enter(gpu);
    delivery->begin = begin;
    delivery->end = end;
    delivery->traffic = (struct traffic){0};
    delivery->started = clock_seconds();
    delivery->writes = begin_writing(gpu);
    delivery->saved = delivery->writes ? snapshot_take(gpu->task, begin, end, &failed) : NULL;
    delivery->ok = delivery->writes && (!failed || gpu_fail(gpu, "the host is out of memory")) &&
                   TRY(gpu, event_record(delivery->base, gpu->out), "an event") &&
                   move_out(gpu, begin, end, &delivery->traffic) &&
                   TRY(gpu, event_record(delivery->final, gpu->out), "an event");
    gpu_leave(gpu, outside);
}

void gpu_end_delivery(struct corun_split_gpu *gpu, struct executor_event *event)
{
    struct delivery *delivery = &gpu->deliveries[gpu->deliveries_ended++ % MOST_DELIVERIES];
    void *outside = gpu_enter(gpu);
    bool ok = delivery->ok && TRY(gpu, event_synchronize(delivery->final), gpu->task->name);
    if (!ok && delivery->writes)
        give_up(gpu, delivery->saved);
    if (delivery->writes)
        end_writing(gpu);
    snapshot_free(delivery->saved);
    delivery->saved = NULL;
    double seconds = clock_seconds() - delivery->started;
    if (gpu->driver->simulated) {
        seconds = ok ? elapsed(gpu, delivery->base, delivery->final) : 0;
        event->time = ok ? elapsed(gpu, gpu->origin, delivery->final) : 0;
    }
    event->part = (struct corun_split_part){.begin = delivery->begin,
                                            .end = delivery->end,
                                            .done = ok ? delivery->end - delivery->begin : 0,
                                            .seconds = seconds,
                                            .copy_seconds = seconds,
                                            .bytes_out = delivery->traffic.out};
    event->status = ok ? CORUN_OK : CORUN_FAULT;
    event->failure = gpu_failure(gpu);
    gpu_leave(gpu, outside);
}

bool gpu_delivery_ready(struct corun_split_gpu *gpu)
{
    const struct delivery *delivery = &gpu->deliveries[gpu->deliveries_ended % MOST_DELIVERIES];
    float milliseconds;
    void *outside = gpu_enter(gpu);
    bool ready = !delivery->ok || gpu->driver->event_elapsed(&milliseconds, gpu->origin, delivery->final) != NOT_READY;
    gpu_leave(gpu, outside);
    return ready;
}

bool gpu_part_ready(struct corun_split_gpu *gpu)
{
    const struct flight *flight = &gpu->flights[gpu->ended % MOST_PARTS];
    float milliseconds;
    bool ready = true;
    void *outside = gpu_enter(gpu);
    for (uint32_t i = 0; i < flight->chunks && ready && flight->ok; i++)
        ready = gpu->driver->event_elapsed(&milliseconds, gpu->origin, flight->ends[i]) != NOT_READY;
    gpu_leave(gpu, outside);
    return ready;
}

void gpu_work_for(struct corun_split_gpu *gpu, double seconds)
{
    void *outside = gpu_enter(gpu);
    (void)driver_sleep(gpu->driver,
                       (uint64_t)(seconds * 1e9)); /* a GPU that has failed says so when it is waited for */
    gpu_leave(gpu, outside);
}

bool gpu_part_over(struct corun_split_gpu *gpu)
{
    void *outside = gpu_enter(gpu);
    bool over = advance(gpu, &gpu->flights[gpu->ended % MOST_PARTS], false);
    gpu_leave(gpu, outside);
    return over;
}

bool gpu_delivery_over(struct corun_split_gpu *gpu)
{
    const struct delivery *delivery = &gpu->deliveries[gpu->deliveries_ended % MOST_DELIVERIES];
    void *outside = gpu_enter(gpu);
    bool over = !delivery->ok || gpu->driver->event_query(delivery->final) != NOT_READY;
    gpu_leave(gpu, outside);
    return over;
}

void gpu_fetch(struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    struct traffic traffic = {0};
    void *outside = gpu_enter(gpu);
    bool ok =
        TRY(gpu, event_record(gpu->fetch_begin, gpu->in), "an event") && move_in_all(gpu, begin, end, true, &traffic);
    (void)(ok && TRY(gpu, event_record(gpu->fetch_end, gpu->in), "an event"));
    gpu->fetched_bytes = traffic.in;
    gpu_leave(gpu, outside);
}

bool gpu_fetched(struct corun_split_gpu *gpu, double *seconds)
{
    void *outside = gpu_enter(gpu);
    float milliseconds = 0;
    int result = gpu->driver->event_elapsed(&milliseconds, gpu->fetch_begin, gpu->fetch_end);
    *seconds = result || !gpu->fetched_bytes ? 0 : 1e-3 * (double)milliseconds;
    gpu_leave(gpu, outside);
    return result != NOT_READY;
}

static bool is_held(const struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    for (uint32_t i = 0; i < gpu->task->buffer_count; i++) {
        size_t offset, bytes;
        struct range gap;
        if (!buffer_is_fetchable(&gpu->task->buffers[i]))
            continue;
        buffer_range(gpu->task, i, begin, end, &offset, &bytes);
        uint64_t from = offset;
        if (ranges_next_gap(&gpu->mirrors[i].valid, &from, offset + bytes, &gap))
            return false;
    }
    return true;
}

uint64_t gpu_held(const struct corun_split_gpu *gpu, uint64_t end)
{
    uint64_t granule = gpu->task->granularity, low = 0, high = (end + granule - 1) / granule; /* granules */
    bool any = false;
    for (uint32_t i = 0; i < gpu->task->buffer_count; i++)
        any = any || buffer_is_fetchable(&gpu->task->buffers[i]);
    for (uint64_t last = high; any && low < high;) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (is_held(gpu, (last - middle) * granule, end))
            low = middle;
        else
            high = middle - 1;
    }
    uint64_t ragged = (granule - end % granule) % granule; /* that the last granule lacks */
    return any && low ? low * granule - ragged : 0;
}

double gpu_lacks(const struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    size_t offset, bytes;
    double all = 0, missing = 0;
    for (uint32_t i = 0; i < gpu->task->buffer_count && begin < end; i++) {
        if (!buffer_is_fetchable(&gpu->task->buffers[i]))
            continue;
        buffer_range(gpu->task, i, begin, end, &offset, &bytes);
        all += (double)bytes;
        missing += (double)missing_bytes(gpu, i, offset, bytes);
    }
    return all > 0 ? missing / all : 0;
}
