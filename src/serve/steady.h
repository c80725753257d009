/* SPDX-License-Identifier: MIT */
/*
 * What the discrete-event machine needs to know, measured on the simulated GPU once and kept by content: kernels alone, co-schedules in
 * their steady state, whole launches one behind the other. Ticks are core cycles. A measurement depends on the GPU, the kernels, their data
 * and the slices, and on nothing that was measured before it.
 */
#ifndef CORUN_SERVE_STEADY_H
#define CORUN_SERVE_STEADY_H

#include "queue/events.h"
#include "serve/kernel.h"

struct steady_request {
    const struct corun_gpu_config *gpu;
    const struct served_kernel *kernels;
    uint32_t kernel_count;       /* up to CORUN_MAX_APPLICATIONS */
    uint64_t seed;               /* of the data */
    const char *cache_directory; /* NULL: no cache */
    uint32_t jobs;               /* measurements side by side; 0: one for each processor */
    /* Told before each measurement that is simulated; false ends it. May be NULL. */
    bool (*progress)(void *user, const char *what, uint32_t done, uint32_t total);
    void *progress_user;
};

/* A kernel alone: one launch, from an idle GPU to its end. */
struct steady_alone {
    uint64_t ticks, warp_instructions;
    struct corun_counters counters;
};

struct steady;
/* The request must stay. MEMORY. */
enum corun_status steady_create(const struct steady_request *request, struct corun_diagnostics *list,
                                struct steady **steady);
void steady_destroy(struct steady *steady);

enum corun_status steady_alone(struct steady *steady, uint32_t kernel, struct steady_alone *alone);
/* One launch alone in slices of so many thread blocks, so many thread blocks in flight: its ticks. */
enum corun_status steady_sliced(struct steady *steady, uint32_t kernel, uint32_t slice_tbs, uint32_t in_flight_tbs,
                                uint64_t *ticks);
/* The steady state of a co-schedule. */
enum corun_status steady_speeds(struct steady *steady, const struct corun_queue_co_schedule *co_schedule,
                                struct corun_queue_speeds *speeds);
/*
 * Whole launches that are launched together, up to EVENT_MOST_LAUNCHES: from the end of all but the last to the end of all, at least 1; of
 * one, from its start.
 */
enum corun_status steady_sequence(struct steady *steady, const uint32_t *kernels, uint32_t count, uint64_t *ticks);
/* Measures co-schedules side by side, so that steady_speeds finds them. */
enum corun_status steady_prepare(struct steady *steady, const struct corun_queue_co_schedule *list, size_t count);

/* How many measurements were simulated, and how many were found. */
void steady_counts(const struct steady *steady, uint32_t *simulated, uint32_t *found);

#endif
