/* SPDX-License-Identifier: MIT */
/*
 * A case on the software machine (docs/software-machine.md): the applications, goals, policy and window of `corun run`, through a CUDA driver.
 * Each application is measured alone as its program has it; then all share the device.
 */
#ifndef CORUN_EVALUATE_EVALUATE_H
#define CORUN_EVALUATE_EVALUATE_H

#include "base/arena.h"
#include "corun/case.h"
#include "software/software.h"

struct evaluate_request {
    const struct corun_case *job; /* what is for observers of the simulated GPU in it is not heeded */
    const char *library;          /* the driver's, as driver_open takes it */
    bool native; /* the driver is not corun's: the GPU is what it says, and nothing is kept in the cache */
    enum software_launching launching;
    enum software_favour favour; /* of the first application, beside others; as are its SMs */
    uint32_t own_sms;
    double
        start_at; /* seconds since 1970: the shared run begins then, on a GPU that is not corun's; 0: as soon as it can */
    uint64_t epoch_cycles; /* of the device; 0: as the machine has it */
    /*
     * Requests come to the first application at random (Poisson), at a rate at which it would be busy for this part of the time alone; each is
     * a run. 0: it runs again and again.
     */
    double load;
    /*
     * Runs are compared with what a run without timing leaves; on a GPU that is not corun's, whose rounding may differ, with what the program's own
     * launches leave there, alone.
     */
    bool check;
    const char *calls; /* a file for the driver's calls of the shared run; NULL: none */
    bool fence;        /* as in struct software_options; alone they run without */
};

/* Beside what `corun run` tells of an application. Times are cycles of the device's clock. */
struct evaluate_application {
    uint64_t launches, whole, slices, crews, workers; /* as in struct software_result */
    uint32_t requests;
    const char *refusal;
    uint64_t returned;        /* thread blocks that were given back, where the policy drops */
    const char *kept, *keeps; /* a kernel that is drained there, and why; NULL: none is */
    const char *failure;
    uint64_t mean_run_cycles, median_run_cycles, p99_run_cycles; /* of runs that have ended; 0: none has */
    uint32_t mismatches;
};

struct evaluate_result {
    struct arena *arena; /* of all of it */
    /*
     * Of this, what the software machine can tell: of applications their name, size, goal, speed, runs and status; the history; how they
     * compare with themselves alone. Counters, caches, DRAM, energy are not known, and are all zero.
     */
    struct corun_case_result common;
    const struct evaluate_application *applications; /* [common.application_count] */
    struct software_control control;
    enum software_launching launching;
    enum software_favour favour;
    char device[128];
    uint32_t own_sms, apart_sms, clock_khz; /* what cycles are counted in */
    bool simulated, native, check;
    double load;
    uint64_t epoch_cycles;
};

/*
 * ARGUMENT: a window of instructions, or what no device can do; what corun_workload_load, workload_commands_create, software_create and
 * software_run return. *result is NULL unless the status is OK.
 */
enum corun_status evaluate_case(const struct evaluate_request *request, struct corun_diagnostics *list,
                                struct evaluate_result **result);
void evaluate_result_destroy(struct evaluate_result *result);

#endif
