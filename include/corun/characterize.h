/* SPDX-License-Identifier: MIT */
/*
 * Characterisation of workloads: each alone on one GPU, over numbers of SMs, memory clocks and interconnect clocks, and
 * the class that a fixed rule gives it (Adriaens et al., "The case for GPGPU spatial multitasking", HPCA 2012, section 3.2,
 * figures 2 to 4 and the classes of section 3.3).
 *
 * Every point does the same work: on the GPU as configured the workload runs for a window of cycles, and at every other point until
 * it has completed as many thread instructions as it did there. Each point is kept in the cache of results, so that a
 * characterisation which was interrupted continues where it stopped.
 */
#ifndef CORUN_CHARACTERIZE_H
#define CORUN_CHARACTERIZE_H

#include "corun/workload.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CORUN_SWEEP_MAX_POINTS 12u

/* S(NAME, title) */
#define CORUN_SWEEPS(S) \
    S(SMS, "number of SMs") \
    S(MEMORY, "memory clock") \
    S(INTERCONNECT, "interconnect and L2 clock")

enum corun_sweep {
#define CORUN_SWEEP_ENUM(name, title) CORUN_SWEEP_##name,
    CORUN_SWEEPS(CORUN_SWEEP_ENUM)
#undef CORUN_SWEEP_ENUM
        CORUN_SWEEP_COUNT
};
const char *corun_sweep_title(enum corun_sweep sweep);

struct corun_sweep_point {
    uint32_t value;  /* SMs; kHz of the memory clock; kHz of the interconnect clock */
    double ipc;      /* thread instructions per core cycle */
    double speed_up; /* over the first, lowest point of the sweep, as the paper's figures have it */
};

struct corun_characterization {
    const struct corun_workload *workload;
    enum corun_status status; /* other than OK: why it could not be run on this GPU */
    const char *message;      /* the same in words; "" if OK */
    bool complete;            /* every point was measured; else the fields below are not set */
    /* On the GPU as configured. */
    uint64_t cycles, thread_instructions;
    uint32_t runs; /* that were completed; 0: the window ended within the first one */
    struct corun_counters counters;
    struct corun_memory_result memory;
    uint32_t kernel_count;
    const struct corun_kernel_result *kernels;
    /* The sweeps, ascending. */
    struct {
        uint32_t count;
        struct corun_sweep_point points[CORUN_SWEEP_MAX_POINTS];
    } sweeps[CORUN_SWEEP_COUNT];
    /* Speed = resource ^ exponent between half of the resource and all that the GPU has: 1 is linear, 0 indifferent. */
    double exponents[CORUN_SWEEP_COUNT];
    /* Resident warps over those that the SMs could hold of the kernel that was running, mean over the time of the kernels. */
    double fill;
    enum corun_character measured;
    const char *clause; /* of the rule, that gave it */
};

/*
 * The rule, a list of clauses: the first one that holds gives the class. `sms` is the exponent of the SMs, `clocks` the greater one
 * of those of the two clocks, `fill` how far the SMs were filled. C(character, condition, the same in words)
 *
 * The paper decides in words, by its figures ("scale well", "do not scale well") and by the thread blocks of its table 1
 * ("sufficiently parallel"); the numbers are ours. A clock helps a program with too little to do at a time as well, if
 * less: latency is all that counts then.
 */
#define CORUN_CLASS_RULE(C) \
    C(COMPUTE, sms >= 0.75 && sms > clocks, \
      "doubling the SMs gives 1.68 times the speed (2^0.75) or more, and more than a clock does") \
    C(MEMORY, clocks >= 0.5, "doubling one of the clocks gives 1.41 times the speed (2^0.5) or more") \
    C(PROBLEM_SIZE, fill < 0.5, \
      "less than half of the places that the SMs have for its thread blocks were taken on average") \
    C(MEMORY, clocks >= 0.25, "doubling one of the clocks gives 1.19 times the speed (2^0.25) or more") \
    C(PROBLEM_SIZE, true, "neither SMs nor clocks help")

/* *clause (may be NULL): the clause that holds, in words. */
enum corun_character corun_classify(const double exponents[CORUN_SWEEP_COUNT], double fill, const char **clause);

struct corun_characterize_progress {
    const char *workload;
    uint32_t done, total; /* points, of all workloads */
};

struct corun_characterize_request {
    const struct corun_gpu_config *gpu;
    struct corun_workload *const *workloads;
    size_t workload_count;
    uint64_t cycles;          /* the window on the GPU as configured */
    uint64_t watchdog_cycles; /* 0: the machine's default */
    uint64_t seed;
    uint32_t jobs;               /* points simulated side by side; 0: as many as there are processors */
    const char *cache_directory; /* NULL: no cache */
    /* Called now and then, never by two threads at once; false ends the characterisation early. May be NULL. */
    bool (*progress)(void *user, const struct corun_characterize_progress *progress);
    void *progress_user;
};

/* The results belong to *result and refer to the request's workloads, in their order. */
struct corun_characterize_result {
    struct corun_gpu_config gpu;
    uint64_t cycles, seed;
    bool interrupted; /* progress() said so */
    size_t count;
    const struct corun_characterization *items;
};

/* A workload that cannot run on the GPU is reported in its item and the others continue. MEMORY, ARGUMENT. */
enum corun_status corun_characterize(const struct corun_characterize_request *request, struct corun_diagnostics *list,
                                     struct corun_characterize_result **result);
void corun_characterize_result_destroy(struct corun_characterize_result *result);

#ifdef __cplusplus
}
#endif
#endif
