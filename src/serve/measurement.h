/* SPDX-License-Identifier: MIT */
/* One measurement on the simulated GPU, by itself: what is run, what came out. For steady.c, which keeps them. */
#ifndef CORUN_SERVE_MEASUREMENT_H
#define CORUN_SERVE_MEASUREMENT_H

#include "case/cache.h"
#include "serve/steady.h"

/* M(name, text: part of the content key) */
#define MEASUREMENTS(M) \
    M(ALONE, "one launch alone") \
    M(SLICED, "one launch alone in slices") \
    M(SPEEDS, "steady state of slices") \
    M(SEQUENCE, "launches one behind the other")

enum measurement_kind {
#define MEASUREMENT_ENUM(name, text) MEASUREMENT_##name,
    MEASUREMENTS(MEASUREMENT_ENUM)
#undef MEASUREMENT_ENUM
};

#define MEASURED_LAUNCHES EVENT_MOST_LAUNCHES

struct measurement {
    enum measurement_kind kind;
    uint32_t kernels
        [MEASURED_LAUNCHES]; /* CORUN_QUEUE_NONE: none; more than two only in a sequence, where the same may come again */
    uint32_t slice_tbs[2], in_flight_tbs[2];
    uint64_t most_cycles; /* SPEEDS: of the warm-up, and of what is counted */
};

struct outcome {
    struct corun_queue_speeds speeds;  /* SPEEDS */
    uint64_t ticks, warp_instructions; /* of the others */
    struct corun_counters counters;    /* ALONE */
};

/* Of so many kernels. */
struct measurement measurement_of(enum measurement_kind kind, const uint32_t *kernels, uint32_t count);

/* What a measurement is known by. MEMORY. */
enum corun_status measurement_key(const struct steady_request *request, const struct measurement *measurement,
                                  struct content_key *key);
bool measurement_load(const struct steady_request *request, const struct content_key *key,
                      const struct measurement *measurement, struct corun_diagnostics *list, struct outcome *outcome);
void measurement_store(const struct steady_request *request, const struct content_key *key,
                       const struct measurement *measurement, const struct outcome *outcome,
                       struct corun_diagnostics *list);
/*
 * Simulates it. `warp_instructions`: for SPEEDS, those of a launch of each kernel, from ALONE. What the
 * simulated GPU and the workloads return.
 */
enum corun_status measurement_run(const struct steady_request *request, const struct measurement *measurement,
                                  const uint64_t warp_instructions[2], struct corun_diagnostics *list,
                                  struct outcome *outcome);
/* What it is, in words. */
const char *measurement_words(const struct steady_request *request, const struct measurement *measurement, char *text,
                              size_t bytes);

#endif
