/* SPDX-License-Identifier: MIT */
/*
 * A part on a GPU. One stream moves bytes in, one computes, one moves results back; a part that moves much is cut into chunks, so
 * that the three work at once. Only bytes that are not there already are moved.
 */
#include "split/gpu_state.h"

#include "split/clock.h"
#include "split/repeat.h"

#include <math.h>

/* What a part moves. */
struct traffic {
    uint64_t in, out, kept;
};

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
        traffic->in += count;
        traffic->kept += buffer->kept ? count : 0;
    }
    return ranges_add(&mirror->valid, offset, end) || gpu_fail(gpu, "the host is out of memory");
}

/* Enqueues the way back of what [begin, end) has written with that access. */
static bool move_out(struct corun_split_gpu *gpu, enum corun_split_access access, uint64_t begin, uint64_t end,
                     struct traffic *traffic)
{
    for (uint32_t i = 0; i < gpu->task->buffer_count; i++) {
        const struct corun_split_buffer *buffer = &gpu->task->buffers[i];
        size_t offset, bytes;
        if (buffer->access != access)
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
static bool set_up(struct corun_split_gpu *gpu, struct executor_event *event)
{
    struct traffic traffic = {0};
    double before = clock_seconds();
    if (gpu->set_up)
        return true;
    gpu->set_up = true;
    if (!TRY(gpu, event_record(gpu->base, gpu->in), "an event"))
        return false;
    for (uint32_t i = 0; i < gpu->task->buffer_count; i++) {
        const struct corun_split_buffer *buffer = &gpu->task->buffers[i];
        if (buffer_is_whole(buffer) && !move_in(gpu, i, 0, buffer->bytes, &traffic))
            return false;
    }
    if (!traffic.in)
        return true;
    if (!TRY(gpu, event_record(gpu->final, gpu->in), "an event") ||
        !TRY(gpu, event_synchronize(gpu->final), "moving what every part needs"))
        return false;
    event->setup_seconds = gpu->driver->simulated ? elapsed(gpu, gpu->base, gpu->final) : clock_seconds() - before;
    event->setup_again_seconds = event->setup_seconds * (1 - (double)traffic.kept / (double)traffic.in);
    event->part.bytes_in += traffic.in;
    return true;
}

/* In how many pieces [begin, end) goes: as many as there are times `copy_bytes` to move, but each fills the GPU. */
static uint32_t chunk_count(const struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
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
    double wanted = fmax(1, fmin(MOST_CHUNKS, floor(bytes_moved / gpu->copy_bytes)));
    if (gpu->full)
        wanted = fmax(1, fmin(wanted, floor((double)(end - begin) / (double)gpu->full)));
    return granules < 1 ? 1 : granules < (uint64_t)wanted ? (uint32_t)granules : (uint32_t)wanted;
}

static bool enqueue_chunk(struct corun_split_gpu *gpu, uint32_t chunk, uint64_t begin, uint64_t end,
                          struct traffic *traffic)
{
    for (uint32_t i = 0; i < gpu->task->buffer_count; i++) {
        size_t offset, bytes;
        if (gpu->task->buffers[i].access == CORUN_SPLIT_WRITE || buffer_is_whole(&gpu->task->buffers[i]))
            continue;
        buffer_range(gpu->task, i, begin, end, &offset, &bytes);
        if (!move_in(gpu, i, offset, bytes, traffic))
            return false;
    }
    if (!TRY(gpu, event_record(gpu->arrived[chunk], gpu->in), "an event") ||
        !TRY(gpu, stream_wait(gpu->work, gpu->arrived[chunk], 0), "an event") ||
        !TRY(gpu, event_record(gpu->begin[chunk], gpu->work), "an event"))
        return false;
    enum corun_status status = gpu->task->gpu(gpu->task->context, gpu, begin, end);
    if (status != CORUN_OK)
        return gpu_fail(gpu, "the task's function for GPUs: %s", corun_status_meaning(status));
    return TRY(gpu, event_record(gpu->end[chunk], gpu->work), "an event") &&
           TRY(gpu, stream_wait(gpu->out, gpu->end[chunk], 0), "an event") &&
           move_out(gpu, CORUN_SPLIT_WRITE, begin, end, traffic);
}

static uint64_t chunk_border(const struct corun_split_gpu *gpu, uint64_t begin, uint64_t end, uint32_t chunk,
                             uint32_t chunks)
{
    uint64_t granules = (end - begin) / gpu->task->granularity;
    return chunk == chunks ? end : begin + granules * chunk / chunks * gpu->task->granularity;
}

/* Everything of a part, up to the end. What is changed in place is saved while the GPU works and goes back last. */
static bool run_chunks(struct corun_split_gpu *gpu, uint64_t begin, uint64_t end, uint32_t chunks,
                       struct traffic *traffic, struct snapshot **saved)
{
    bool failed = false;
    if (!TRY(gpu, event_record(gpu->base, gpu->in), "an event"))
        return false;
    for (uint32_t i = 0; i < chunks; i++)
        if (!enqueue_chunk(gpu, i, chunk_border(gpu, begin, end, i, chunks),
                           chunk_border(gpu, begin, end, i + 1, chunks), traffic))
            return false;
    *saved = snapshot_take(gpu->task, begin, end, &failed);
    if (failed)
        return gpu_fail(gpu, "the host is out of memory");
    return move_out(gpu, CORUN_SPLIT_READ_WRITE, begin, end, traffic) &&
           TRY(gpu, event_record(gpu->final, gpu->out), "an event") &&
           TRY(gpu, event_synchronize(gpu->final), gpu->task->name);
}

/* Nothing of a part that has failed may still be moving when others do it again. */
static void give_up(struct corun_split_gpu *gpu, const struct snapshot *saved)
{
    (void)gpu->driver->stream_synchronize(gpu->in);
    (void)gpu->driver->stream_synchronize(gpu->work);
    (void)gpu->driver->stream_synchronize(gpu->out);
    snapshot_restore(saved);
}

void gpu_run_part(struct corun_split_gpu *gpu, uint64_t begin, uint64_t end, struct executor_event *event)
{
    struct traffic traffic = {0};
    struct snapshot *saved = NULL;
    void *outside = gpu_enter(gpu);
    bool ok = set_up(gpu, event);
    double before = clock_seconds(), working = 0;
    uint32_t chunks = chunk_count(gpu, begin, end);
    ok = ok && run_chunks(gpu, begin, end, chunks, &traffic, &saved);
    if (!ok)
        give_up(gpu, saved);
    snapshot_free(saved);
    for (uint32_t i = 0; i < chunks && ok; i++)
        working += elapsed(gpu, gpu->begin[i], gpu->end[i]);
    double seconds = clock_seconds() - before;
    if (gpu->driver->simulated)
        seconds = ok ? elapsed(gpu, gpu->base, gpu->final) : 0; /* a GPU that has failed tells no time */
    event->part.begin = begin;
    event->part.end = end;
    event->part.done = ok ? end - begin : 0;
    event->part.seconds = seconds;
    event->part.copy_seconds = ok ? fmax(0, seconds - working) : 0;
    event->part.bytes_in += traffic.in;
    event->part.bytes_out += traffic.out;
    event->kept_bytes = traffic.kept;
    event->status = ok ? CORUN_OK : CORUN_FAULT;
    event->failure = gpu_failure(gpu);
    gpu_leave(gpu, outside);
}
