/* SPDX-License-Identifier: MIT */
/* What one thread does, from loads and stores to tasks and samples in memory. */
#ifndef CORUN_TRACE_RECORDER_H
#define CORUN_TRACE_RECORDER_H

#include "trace/filter.h"
#include "trace/format.h"

#include <stddef.h>
#include <stdio.h>

struct recorder {
    struct filter filter;
    uint32_t thread;
    bool recording; /* a task is under way */
    bool failed;    /* there was no memory: what is here is worth nothing */
    uint64_t threshold;
    size_t most_samples; /* when there are more, half of the lines are no longer kept */
    uint64_t leaders[TRACE_WINDOWS];
    uint64_t streams[TRACE_STREAMS]; /* the last line + 1 of each, latest first */
    struct trace_task *tasks;
    struct trace_sample *samples;
    size_t task_count, task_room, sample_count, sample_room;
};

/* Begins to sample one line in `rate`. The recorder is zeroed before; recorder_free ends it. */
void recorder_begin(struct recorder *recorder, uint32_t thread, uint32_t rate, size_t most_samples);
void recorder_free(struct recorder *recorder);
void recorder_task(struct recorder *recorder, uint32_t query, uint32_t phase, uint32_t task);
void recorder_access(struct recorder *recorder, uint64_t address, uint32_t bytes, bool store);
/* All of them as one file, at the lowest of their thresholds. False if it could not be written, or a recorder has failed. */
bool recorders_write(struct recorder *const *recorders, size_t count, FILE *file);

#endif
