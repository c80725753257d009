/* SPDX-License-Identifier: MIT */
/* The isolated baseline: one application alone on the whole GPU, for the same window and with the same input. */
#ifndef CORUN_CASE_BASELINE_H
#define CORUN_CASE_BASELINE_H

#include "base/arena.h"
#include "case/cache.h"
#include "corun/gpu.h"
#include "corun/workload.h"

struct baseline_window {
    uint64_t cycles, thread_instructions; /* as in struct corun_limits */
    uint32_t runs;
    uint64_t watchdog_cycles;
};

struct baseline_request {
    const struct corun_gpu_config *gpu;
    const struct corun_workload *workload;
    struct corun_record *record; /* NULL: the workload is executed; the result is the same */
    uint64_t seed;
    struct baseline_window window;
    uint32_t threads;
};

/* How far it had come, at even distances over a window of cycles: what lies ahead of a run that shares the GPU (case/settle.h). */
#define BASELINE_POINTS 100u
struct baseline_point {
    uint64_t cycles, thread_instructions; /* since its arrival */
};
struct baseline_curve {
    uint32_t count; /* 0: the window is not one of cycles, or the run was ended early */
    struct baseline_point points[BASELINE_POINTS + 2]; /* from {0, 0} on, both ascending */
};

struct baseline {
    enum corun_status status; /* OK, or why it cannot be used: the application was stopped */
    bool interrupted;
    uint64_t cycles, thread_instructions;
    uint32_t runs; /* completed */
    struct corun_memory_result memory;
    uint32_t kernel_count;
    const struct corun_kernel_result *kernels;
    struct baseline_curve curve;
};

/* Cycles between two points of a curve. */
uint64_t baseline_curve_step(uint64_t window_cycles);
/* Another point, behind the last one; one that is not, or for which there is no room, is left out. */
void baseline_curve_add(struct baseline_curve *curve, uint64_t cycles, uint64_t thread_instructions);

/* Adds a workload with its data, and the model that runs it, to a key. MEMORY. */
enum corun_status baseline_digest_workload(struct content_digest *digest, const struct corun_workload *workload,
                                           uint64_t seed);
/* Adds every parameter of a GPU. */
void baseline_digest_gpu(struct content_digest *digest, const struct corun_gpu_config *gpu);
/* Adds every parameter but those of copies between host and device: for what copies nothing. */
void baseline_digest_kernels_gpu(struct content_digest *digest, const struct corun_gpu_config *gpu);

/* A copy whose names and kernels live in the arena. MEMORY. */
enum corun_status baseline_copy(struct arena *arena, const struct baseline *from, struct baseline *to);
/* Everything counted, over all kernels. */
struct corun_counters baseline_counters(const struct baseline *baseline);

/* MEMORY. */
enum corun_status baseline_key(const struct baseline_request *request, struct content_key *key);
/* Strings and arrays of *baseline live in the arena. False if there is none, or none that can be used. */
bool baseline_load(const char *cache_directory, const struct content_key *key, struct arena *arena,
                   struct corun_diagnostics *list, struct baseline *baseline);
void baseline_store(const char *cache_directory, const struct content_key *key, const struct baseline_request *request,
                    const struct baseline *baseline, struct corun_diagnostics *list);
/* What a GPU measured for one of its applications, all but the curve. MEMORY. */
enum corun_status baseline_take(const struct corun_gpu *gpu, uint32_t application, struct arena *arena,
                                struct baseline *baseline);
/* Simulates it. Other than OK: what corun_gpu_run and its preparations return. */
enum corun_status baseline_compute(const struct baseline_request *request, struct arena *arena,
                                   struct corun_diagnostics *list, bool (*progress)(void *user, uint64_t cycle),
                                   void *user, struct baseline *baseline);

/*
 * Thread instructions of one run, from the cache or else from a run without timing. What corun_instance_run returns.
 */
enum corun_status baseline_run_instructions(const struct corun_workload *workload, uint64_t seed,
                                            const char *cache_directory, struct corun_diagnostics *list,
                                            uint64_t *thread_instructions);

#endif
