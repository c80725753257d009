/* SPDX-License-Identifier: MIT */
/* Tasks and samples of a thread. */
#include "trace/recorder.h"

#include <stdlib.h>
#include <string.h>

void recorder_begin(struct recorder *recorder, uint32_t thread, uint32_t rate, size_t most_samples)
{
    recorder->thread = thread;
    recorder->threshold = (UINT64_C(1) << 32) / (rate ? rate : 1);
    recorder->most_samples = most_samples;
}

void recorder_free(struct recorder *recorder)
{
    free(recorder->tasks);
    free(recorder->samples);
    memset(recorder, 0, sizeof *recorder);
}

static bool grow(void **data, size_t count, size_t *room, size_t bytes)
{
    if (count < *room)
        return true;
    size_t more = *room ? 2 * *room : 1024;
    void *grown = reallocarray(*data, more, bytes);
    if (!grown)
        return false;
    *data = grown;
    *room = more;
    return true;
}

void recorder_task(struct recorder *recorder, uint32_t query, uint32_t phase, uint32_t task)
{
    if (!grow((void **)&recorder->tasks, recorder->task_count, &recorder->task_room, sizeof *recorder->tasks)) {
        recorder->failed = true;
        recorder->recording = false;
        return;
    }
    recorder->recording = true;
    recorder->tasks[recorder->task_count++] =
        (struct trace_task){.query = query, .phase = phase, .task = task, .thread = recorder->thread};
    for (uint32_t w = 0; w < TRACE_WINDOWS; w++)
        recorder->leaders[w] = UINT64_MAX;
}

/* Samples of lines at or above that threshold are dropped. */
static void recorder_thin(struct recorder *recorder, uint64_t threshold)
{
    size_t from = 0, kept = 0;
    recorder->threshold = threshold;
    for (size_t t = 0; t < recorder->task_count; t++) {
        struct trace_task *task = &recorder->tasks[t];
        size_t end = from + task->samples;
        task->samples = 0;
        for (; from < end; from++)
            if (trace_hash(recorder->samples[from].line / 2) < threshold) {
                recorder->samples[kept++] = recorder->samples[from];
                task->samples++;
            }
    }
    recorder->sample_count = kept;
}

static void keep(struct recorder *recorder, struct trace_task *task, uint64_t line, bool written)
{
    if (trace_hash(line) >= recorder->threshold)
        return;
    if (!grow((void **)&recorder->samples, recorder->sample_count, &recorder->sample_room, sizeof *recorder->samples)) {
        recorder->failed = true;
        return;
    }
    recorder->samples[recorder->sample_count++] =
        (struct trace_sample){.line = line * 2 + written, .position = task->accesses};
    task->samples++;
    if (recorder->sample_count >= recorder->most_samples)
        recorder_thin(recorder, recorder->threshold / 2);
}

/* Whether the line is one or two behind the last of a stream, or before it; it is the last of one now. */
static bool is_streamed(struct recorder *recorder, uint64_t line)
{
    uint64_t *streams = recorder->streams;
    uint32_t s = 0;
    while (s < TRACE_STREAMS && (!streams[s] || line + 1 - streams[s] + 2 > 4))
        s++;
    bool found = s < TRACE_STREAMS;
    for (s = found ? s : TRACE_STREAMS - 1; s; s--)
        streams[s] = streams[s - 1];
    streams[0] = line + 1;
    return found;
}

static void group(struct recorder *recorder, struct trace_task *task)
{
    for (uint32_t w = 0; w < TRACE_WINDOWS; w++)
        if (recorder->leaders[w] == UINT64_MAX || task->accesses - recorder->leaders[w] >= TRACE_WINDOW(w)) {
            recorder->leaders[w] = task->accesses;
            task->groups[w]++;
        }
}

static void access_line(struct recorder *recorder, uint64_t line, bool store)
{
    struct filter_outcome outcome = filter_access(&recorder->filter, line, store);
    struct trace_task *task = &recorder->tasks[recorder->task_count - 1];
    if (outcome.miss) {
        task->misses++;
        if (is_streamed(recorder, line))
            task->streamed++;
        else
            group(recorder, task);
        keep(recorder, task, line, false);
    }
    for (uint32_t i = 0; i < outcome.written_count; i++)
        keep(recorder, task, outcome.written[i], true);
}

void recorder_access(struct recorder *recorder, uint64_t address, uint32_t bytes, bool store)
{
    if (!recorder->recording)
        return;
    uint64_t first = address / TRACE_LINE_BYTES, last = (address + bytes - 1) / TRACE_LINE_BYTES;
    recorder->tasks[recorder->task_count - 1].accesses++;
    access_line(recorder, first, store);
    if (last != first)
        access_line(recorder, last, store);
}

bool recorders_write(struct recorder *const *recorders, size_t count, FILE *file)
{
    struct trace_header header = {.magic = TRACE_MAGIC, .threshold = UINT64_C(1) << 32};
    bool good = true;
    for (size_t i = 0; i < count; i++)
        header.threshold = recorders[i]->threshold < header.threshold ? recorders[i]->threshold : header.threshold;
    for (size_t i = 0; i < count; i++) {
        recorder_thin(recorders[i], header.threshold);
        header.task_count += recorders[i]->task_count;
        header.sample_count += recorders[i]->sample_count;
        good &= !recorders[i]->failed;
    }
    good = good && fwrite(&header, sizeof header, 1, file) == 1;
    for (size_t i = 0; i < count && good; i++)
        good = fwrite(recorders[i]->tasks, sizeof *recorders[i]->tasks, recorders[i]->task_count, file) ==
               recorders[i]->task_count;
    for (size_t i = 0; i < count && good; i++)
        good = fwrite(recorders[i]->samples, sizeof *recorders[i]->samples, recorders[i]->sample_count, file) ==
               recorders[i]->sample_count;
    return good;
}
