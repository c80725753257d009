/* SPDX-License-Identifier: MIT */
/*
 * The file that a traced program leaves: header, tasks, and the samples of all tasks one after the other, as they lie in memory.
 *
 * Loads and stores go through private caches (filter.h). What leaves these, misses and lines that are written back, goes to the last-level
 * cache; of that, all accesses to a random part of the lines are kept (spatial sampling: Waldspurger et al., Efficient MRC Construction with
 * SHARDS, FAST 2015).
 */
#ifndef CORUN_TRACE_FORMAT_H
#define CORUN_TRACE_FORMAT_H

#include <stdint.h>

#define TRACE_MAGIC "corunTR1"
#define TRACE_LINE_BYTES 64u
#define TRACE_STREAMS 16u
#define TRACE_WINDOWS 6u /* misses are grouped by windows of 16, 32, …, 512 loads and stores */
#define TRACE_WINDOW(index) (UINT64_C(16) << (index))

struct trace_header {
    char magic[8];
    uint64_t threshold; /* of 2^32: lines whose trace_hash is below are kept */
    uint64_t task_count, sample_count;
};

/* A run of one task, or of the serial part before a phase. Tasks of one thread are in the order in which they ran. */
struct trace_task {
    uint32_t query, phase, task, thread;
    uint64_t accesses; /* loads and stores */
    uint64_t misses;   /* of the private caches */
    uint64_t
        streamed; /* of these, such that follow the last line of one of the last TRACE_STREAMS streams: what hardware prefetches */
    uint64_t samples; /* that follow in the file */
    /*
     * Misses that are not streamed, and not within a window of loads and stores from the one that began the last group: misses that are not
     * streamed divided by groups is how many could be on their way together.
     */
    uint64_t groups[TRACE_WINDOWS];
};

struct trace_sample {
    uint64_t line;     /* address / TRACE_LINE_BYTES * 2; + 1: written back, else a miss */
    uint64_t position; /* loads and stores of the task before it */
};

/* 32 bits of which every part is as good as random. */
static inline uint32_t trace_hash(uint64_t line)
{
    uint64_t z = (line ^ line >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ z >> 31) >> 32);
}

#endif
