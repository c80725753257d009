/*
 * When the tasks of a CUDA program start: rules that `corun exec` (cuda/engine.c) and replays of what it captured
 * (capture_timed.c) share, because both must take the same cycles. Streams and tasks are other ones there and here;
 * docs/captures.md has the whole model.
 */
#ifndef CORUN_WORKLOAD_STREAM_RULES_H
#define CORUN_WORKLOAD_STREAM_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STREAMS_MOST_RUNNING 16u   /* kernels of a program on a GPU at once */
#define STREAMS_MOST_WAITING 1024u /* launches that a host can be ahead of the GPU, as on the hardware */

/* Of two ready tasks: that of the more urgent stream, then the one that was asked for first. */
static inline bool streams_goes_first(int32_t priority, uint64_t sequence, int32_t other_priority,
                                      uint64_t other_sequence)
{
    return priority != other_priority ? priority < other_priority : sequence < other_sequence;
}

/*
 * May one more kernel start beside those that run? Thread blocks of a cooperative one wait for each other, so all must
 * find room: it has the GPU for itself. `alone`: such a one runs.
 */
static inline bool streams_have_room(size_t running, bool alone, bool cooperative)
{
    return !running || (running < STREAMS_MOST_RUNNING && !alone && !cooperative);
}

/* A kernel that could start at `since`, behind what its stream had ended at `free_cycle`. */
static inline uint64_t streams_kernel_since(uint64_t since, bool launched_before, uint64_t free_cycle,
                                            uint64_t launch_latency)
{
    uint64_t behind = launched_before ? free_cycle + launch_latency : 0;
    return behind > since ? behind : since;
}

#endif
