/* SPDX-License-Identifier: MIT */
/*
 * A workload's kernel as the analytical model wants it, in both ways (src/model/profile.h), with what the model makes of it: the kernel in
 * which most of the workload's time goes by.
 */
#ifndef CORUN_CASE_KERNEL_PROFILE_H
#define CORUN_CASE_KERNEL_PROFILE_H

#include "base/arena.h"
#include "case/baseline.h"
#include "model/co_schedule.h"
#include "model/profile.h"

struct kernel_profile_request {
    const struct corun_gpu_config *config;
    const struct model_gpu *gpu; /* with its latency lines */
    const struct corun_workload *workload;
    uint64_t seed;
    uint64_t cycles;             /* the window in which the kernel is counted, alone on the GPU */
    uint32_t samples;            /* thread blocks that are run without timing; 0: none */
    const char *cache_directory; /* NULL: no cache */
};

/* One of the two ways, and the model's prediction from it. */
struct kernel_view {
    enum corun_status status; /* other than OK: it cannot be had, and `message` says why */
    const char *message;      /* "" if OK */
    struct model_kernel inputs;
    struct model_prediction prediction; /* alone, `residents` thread blocks on each SM */
};

struct kernel_profile {
    const char *workload; /* NAME@SIZE */
    const char *kernel;
    uint64_t cycles;    /* of its launches within the window */
    uint32_t residents; /* thread blocks on each SM: as many as fit, and as there are */
    struct corun_counters counters;
    struct kernel_view counted, sampled;
};

/*
 * Strings live in the arena. `progress` is that of baseline_compute, may be NULL. A way that cannot be had has its status in its view;
 * other than OK: the run alone was stopped or could not be made, UNSUPPORTED (a captured program, whose launches nobody has before they
 * are made), TIMEOUT (interrupted), MEMORY.
 */
enum corun_status kernel_profile_measure(const struct kernel_profile_request *request, struct arena *arena,
                                         struct corun_diagnostics *list, bool (*progress)(void *user, uint64_t cycle),
                                         void *user, struct kernel_profile *profile);

#endif
