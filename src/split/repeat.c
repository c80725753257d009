/* SPDX-License-Identifier: MIT */
/* The bytes of a part's buffers; snapshots of what a part changes, so that it can be computed again. */
#include "split/repeat.h"

#include <stdlib.h>
#include <string.h>

bool buffer_is_whole(const struct corun_split_buffer *buffer)
{
    return !buffer->range && !buffer->iteration_bytes;
}

bool buffer_is_fetchable(const struct corun_split_buffer *buffer)
{
    return buffer->kept && buffer->access == CORUN_SPLIT_READ && !buffer_is_whole(buffer);
}

void buffer_range(const struct corun_split_task *task, uint32_t index, uint64_t begin, uint64_t end, size_t *offset,
                  size_t *bytes)
{
    const struct corun_split_buffer *buffer = &task->buffers[index];
    *offset = 0;
    *bytes = buffer->bytes;
    if (buffer->range) {
        buffer->range(task->user, begin, end, offset, bytes);
    } else if (buffer->iteration_bytes) {
        *offset = begin * buffer->iteration_bytes;
        *bytes = (end - begin) * buffer->iteration_bytes;
    }
    *offset = *offset > buffer->bytes ? buffer->bytes : *offset;
    *bytes = *bytes > buffer->bytes - *offset ? buffer->bytes - *offset : *bytes;
}

double bytes_written(const struct corun_split_task *task, uint64_t begin, uint64_t end)
{
    double sum = 0;
    for (uint32_t i = 0; i < task->buffer_count; i++) {
        size_t offset, bytes;
        buffer_range(task, i, begin, end, &offset, &bytes);
        sum += task->buffers[i].access == CORUN_SPLIT_READ ? 0 : (double)bytes;
    }
    return sum;
}

struct piece {
    char *place;
    size_t bytes;
};

struct snapshot {
    uint32_t count;
    char *copy;
    struct piece pieces[];
};

struct snapshot *snapshot_take(const struct corun_split_task *task, uint64_t begin, uint64_t end, bool *failed)
{
    size_t total = 0, offset, bytes;
    *failed = false;
    for (uint32_t i = 0; i < task->buffer_count; i++) {
        buffer_range(task, i, begin, end, &offset, &bytes);
        total += task->buffers[i].access == CORUN_SPLIT_READ_WRITE ? bytes : 0;
    }
    if (!total)
        return NULL;
    struct snapshot *snapshot = calloc(1, sizeof *snapshot + task->buffer_count * sizeof snapshot->pieces[0]);
    char *copy = malloc(total);
    if (!snapshot || !copy) {
        free(snapshot);
        free(copy);
        *failed = true;
        return NULL;
    }
    snapshot->copy = copy;
    for (uint32_t i = 0; i < task->buffer_count; i++) {
        if (task->buffers[i].access != CORUN_SPLIT_READ_WRITE)
            continue;
        buffer_range(task, i, begin, end, &offset, &bytes);
        struct piece piece = {(char *)task->buffers[i].data + offset, bytes};
        memcpy(copy, piece.place, bytes);
        copy += bytes;
        snapshot->pieces[snapshot->count++] = piece;
    }
    return snapshot;
}

void snapshot_restore(const struct snapshot *snapshot)
{
    if (!snapshot)
        return;
    const char *copy = snapshot->copy;
    for (uint32_t i = 0; i < snapshot->count; i++) {
        memcpy(snapshot->pieces[i].place, copy, snapshot->pieces[i].bytes);
        copy += snapshot->pieces[i].bytes;
    }
}

void snapshot_free(struct snapshot *snapshot)
{
    if (!snapshot)
        return;
    free(snapshot->copy);
    free(snapshot);
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

struct team_result repeat_part(struct corun_split *split, uint64_t begin, uint64_t end, double limit_seconds,
                               bool hurried)
{
    unsigned repeats = (unsigned)split->parameters.repeats;
    double seconds[99];
    bool failed;
    struct snapshot *snapshot = repeats > 1 ? snapshot_take(&split->task, begin, end, &failed) : NULL;
    if (repeats > 1 && failed)
        return (struct team_result){.status = CORUN_MEMORY};
    struct team_result result = split_team_run(split->team, begin, end, limit_seconds, hurried);
    seconds[0] = result.seconds;
    for (unsigned i = 1; i < repeats && result.status == CORUN_OK && result.done; i++) {
        snapshot_restore(snapshot);
        struct team_result again = split_team_run(split->team, begin, begin + result.done, 0, hurried);
        seconds[i] = again.seconds;
        result.status = again.status;
    }
    snapshot_free(snapshot);
    if (result.status == CORUN_OK) {
        qsort(seconds, repeats, sizeof seconds[0], by_size);
        result.seconds = seconds[repeats / 2];
    }
    return result;
}
