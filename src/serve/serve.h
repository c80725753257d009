/* SPDX-License-Identifier: MIT */
/*
 * A queue of kernels on the simulated GPU, under one scheduler after the other: kernels are loaded and profiled, launches arrive by chance,
 * and each scheduler serves the same arrivals. Time advances by events, at speeds that were measured on the simulated GPU (steady.h), or
 * cycle by cycle.
 */
#ifndef CORUN_SERVE_SERVE_H
#define CORUN_SERVE_SERVE_H

#include "queue/run.h"
#include "serve/steady.h"

struct serve_scheduler {
    const char *text; /* as it was asked for */
    const struct corun_queue_scheduler *scheduler;
    const double *parameters; /* NULL: the initial ones */
};

/* What users submit. */
struct serve_load {
    uint32_t instances; /* of each kernel */
    double
        rate_per_second; /* of each kernel: arrivals are Poisson, from the seed; 0: everything at tick 0, kernel by kernel in turn */
};

struct serve_request {
    const struct corun_gpu_config *gpu;
    const char *const *kernels; /* served_kernel_load */
    uint32_t kernel_count;      /* 1 to CORUN_MAX_APPLICATIONS */
    const struct serve_scheduler *schedulers;
    uint32_t scheduler_count;
    struct serve_load load;
    double slicing_cost; /* p: the smallest slices make a kernel alone longer by this share at most */
    bool full;           /* every slice is simulated */
    /*
     * Path of a CUDA driver, through which everything goes, in place of the machines here: corun's own or NVIDIA's (driver/driver.h).
     * NULL: none. Kernels are still profiled on the simulated GPU, unless `sampled`.
     */
    const char *driver;
    /*
     * With a driver: profiles come from a sample of thread blocks that run without timing and from the driver's times, and nothing
     * is simulated (serve/sampled.h). USAGE with `pairs` or a scheduler that needs measured co-schedules.
     */
    bool sampled;
    bool pairs; /* every co-schedule of every pair is predicted and measured, */
    bool
        balanced_pairs; /* of each pair the one that equation 7 gives; all with `pairs`, or where a scheduler needs them */
    bool
        transfers; /* every launch brings its data, over PCI Express as the GPU's parameters say, from page-locked memory */
    bool overlap;          /* of copies and kernels; with transfers */
    uint64_t memory_bytes; /* of the device, for the data of launches; 0: all that the GPU has */
    uint64_t seed;
    uint32_t jobs;
    const char *data_directory, *cache_directory;
    bool (*progress)(void *user, const char *what, uint32_t done, uint32_t total); /* may be NULL; false ends it */
    void *progress_user;
    /* Told the slices of each run, for timelines; may be NULL. */
    void (*slice)(void *user, uint32_t scheduler, uint64_t begin, uint64_t end, size_t submission,
                  const struct queue_slice *slice);
    void *slice_user;
};

struct serve_kernel_result {
    const char *name, *workload, *size, *function;
    struct corun_queue_profile profile;
};

/* A co-schedule of two of the kernels. */
struct serve_pair {
    uint32_t kernels[2], residents[2];
    bool balanced;                           /* the one of its pair that equation 7 gives */
    double predicted_ipc[2];                 /* side by side, of an SM */
    double predicted_profit;                 /* against both alone, as predicted */
    double measured_ipc[2], measured_profit; /* the same, measured */
};

struct serve_run {
    const char *scheduler; /* as it was asked for */
    struct queue_run_result *result;
};

struct serve_result {
    struct arena *arena; /* of all of it */
    struct corun_gpu_config gpu;
    struct corun_queue_device device;
    struct serve_load load;
    double slicing_cost;
    bool full, transfers, overlap, interrupted;
    bool driven;  /* through a CUDA driver */
    bool sampled; /* profiles are from samples and the driver's times */
    uint64_t seed;
    uint32_t kernel_count;
    struct serve_kernel_result *kernels;
    uint32_t pair_count; /* with `pairs`, or a scheduler that needs measured co-schedules */
    struct serve_pair *pairs;
    double *predicted_alone, *measured_alone; /* [kernel_count]: IPC of an SM, in slices; with pairs */
    uint32_t run_count;
    struct serve_run *runs;
    uint32_t measured, found; /* measurements that were simulated, and that were in the cache */
};

/* Errors of all that is below; ARGUMENT: an impossible load. *result is NULL then. */
enum corun_status serve(const struct serve_request *request, struct corun_diagnostics *list,
                        struct serve_result **result);
/* How often a launch of a kernel fills the GPU alone: below 1, speeds that were measured say little of how such launches share it. */
double serve_fills(const struct serve_result *result, uint32_t kernel);
void serve_result_destroy(struct serve_result *result);

#endif
