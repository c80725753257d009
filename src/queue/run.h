/* SPDX-License-Identifier: MIT */
/*
 * A whole run of a queue: launches that are submitted, a memory command scheduler, the ready queue with its scheduler, a machine, and what
 * became of every launch (Kernelet, section 3.2 and figures 2 and 3).
 */
#ifndef CORUN_QUEUE_RUN_H
#define CORUN_QUEUE_RUN_H

#include "queue/machine.h"

/* A kind of kernel, as it is submitted. */
struct queue_run_kind {
    const char *name;
    struct corun_queue_profile profile;
    uint64_t bytes_in, bytes_out; /* that a launch copies to the device before, and back after it */
    uint64_t device_bytes;        /* that it takes of the device's memory meanwhile */
};

struct queue_submission {
    uint64_t tick;
    uint32_t kind, user;
};

/*
 * Copies over PCI Express, as the memory command scheduler issues them: kinds in turn (queue/copies.h), each as soon as there is device memory
 * and an engine. Results are copied back before inputs where both wait for the same engine, as that gives memory back.
 */
struct queue_transfers {
    bool every_launch;      /* brings its own data; false: the data are on the device already, and nothing is copied */
    bool overlap;           /* copies run beside kernels; false: either copies or kernels, data of all that fit first */
    uint32_t engines;       /* 1 or 2: one for each direction */
    uint64_t latency_ticks; /* of a copy */
    uint64_t bytes_per_second; /* above 0 where something is copied */
    uint64_t memory_bytes;     /* of the device */
};

struct queue_run_request {
    const struct corun_queue_device *device;
    const struct corun_queue_scheduler *scheduler;
    const double *parameters; /* NULL: the initial ones */
    struct queue_machine machine;
    bool (*measure)(void *measurer, const struct corun_queue_co_schedule *co_schedule,
                    struct corun_queue_speeds *speeds); /* NULL: the machine cannot */
    void *measurer;
    uint64_t seed;
    const struct queue_run_kind *kinds;
    uint32_t kind_count;
    const struct queue_submission *submissions; /* ascending by tick */
    size_t submission_count;
    struct queue_transfers transfers;
    /* Told what happens, for timelines; may be NULL. */
    void (*slice)(void *user, uint64_t begin, uint64_t end, size_t submission, const struct queue_slice *slice);
    void *user;
    /* Asked now and then; false ends the run early, INTERRUPTED in the result. May be NULL. */
    bool (*progress)(void *user, size_t completed, size_t submissions);
    void *progress_user;
};

struct queue_run_kind_result {
    uint64_t launches, slices;
    double mean_response_ticks;  /* from submission to the end of the kernel, or of the copy of its results */
    uint64_t p99_response_ticks; /* the smallest that 99 of 100 do not exceed */
    double mean_wait_ticks;      /* from submission until its first thread block was handed out */
    /*
     * Ticks during which the plan had a launch of this kind, in slices, beside one of kind i; [kind_count] is alone. Whole launches are
     * not counted: what runs beside them is decided by the GPU.
     */
    uint64_t *beside;
};

struct queue_run_result {
    bool interrupted;
    uint32_t kind_count;
    struct queue_run_kind_result *kinds;
    uint64_t first_tick, last_tick; /* of the first submission, and of the end of the last launch with its copies */
    uint64_t makespan_ticks;        /* between them */
    uint64_t busy_ticks;            /* with slices in flight */
    uint64_t copy_ticks, overlapped_copy_ticks; /* with copies under way; of these, with slices in flight */
    uint64_t bytes_in, bytes_out;
    double warp_instructions; /* of all kernels */
    uint32_t most_pending;    /* ready at a time */
    struct queue_costs costs;
};

/* Errors of the queue and of the machine; ARGUMENT: a launch needs more than the device's memory; MEMORY. *result is NULL then. */
enum corun_status queue_run(const struct queue_run_request *request, struct corun_diagnostics *list,
                            struct queue_run_result **result);
void queue_run_result_destroy(struct queue_run_result *result);

#endif
