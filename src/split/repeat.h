/* SPDX-License-Identifier: MIT */
/* A CPU part whose time is the median of several runs. */
#ifndef CORUN_SPLIT_REPEAT_H
#define CORUN_SPLIT_REPEAT_H

#include "split/engine.h"
#include "split/team.h"

/*
 * Runs [begin, end) as far as `limit_seconds` reaches (0: all), then as much again until it ran as often as the parameter `repeats` says. What is READ_WRITE is
 * restored in between. Status MEMORY if there is no room for the copies.
 */
struct team_result repeat_part(struct corun_split *split, uint64_t begin, uint64_t end, double limit_seconds,
                               bool hurried);

/* The bytes that a part needs of a buffer; 0 bytes if none. Clipped to the buffer. */
void buffer_range(const struct corun_split_task *task, uint32_t buffer, uint64_t begin, uint64_t end, size_t *offset,
                  size_t *bytes);
bool buffer_is_whole(const struct corun_split_buffer *buffer);
/* What is fetched, or is there, beyond parts: bytes of `kept` buffers that parts only read. */
bool buffer_is_fetchable(const struct corun_split_buffer *buffer);

/* A copy of what a part changes in place. */
struct snapshot;

/* Bytes that [begin, end) writes, all buffers together. */
double bytes_written(const struct corun_split_task *task, uint64_t begin, uint64_t end);
/* Results go back when so much of `copy_bytes` has gathered. */
#define GATHERED 0.5

struct snapshot *snapshot_take(const struct corun_split_task *task, uint64_t begin, uint64_t end,
                               bool *failed); /* NULL: nothing to keep, or failed */
void snapshot_restore(const struct snapshot *snapshot);
void snapshot_free(struct snapshot *snapshot);

#endif
