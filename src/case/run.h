/* SPDX-License-Identifier: MIT */
/* A case while it is being run: what case.c, isolated.c and collect.c share. */
#ifndef CORUN_CASE_RUN_H
#define CORUN_CASE_RUN_H

#include "base/arena.h"
#include "case/baseline.h"
#include "case/history.h"
#include "corun/case.h"
#include "corun/workload.h"

struct run;
struct settling;

/* One application while the case is being run. */
struct member {
    struct run *run;
    const struct corun_case_application *request;
    struct corun_workload *workload; /* shared by members with the same specification; the first one owns it */
    bool owns_workload;
    struct corun_record *record; /* NULL: it is executed. The one who owns the workload owns it */
    struct corun_workload_info info;
    struct corun_instance *instance;
    bool has_baseline, from_cache;
    struct baseline baseline;
    double goal_ipc;       /* NAN: none or not known */
    const double *speedup; /* with 1..speedup_count SMs over one, alone; NULL unless the policy needs it */
    uint32_t speedup_count;
    uint32_t restarts; /* of the instance */
};

struct run {
    const struct corun_case *job;
    struct corun_diagnostics *list;
    struct arena *arena;
    struct member members[CORUN_MAX_APPLICATIONS];
    struct corun_gpu *gpu;
    struct history *history;             /* NULL: none is wanted */
    struct checkpointing *checkpointing; /* NULL: none is wanted */
    struct settling *settling;           /* NULL: the run goes on to the end of its window */
    struct baseline_curve curve;         /* of the shared run, where it is its own baseline */
    bool interrupted;
    uint64_t cycles_done, cycles_all; /* of isolated runs that have ended, and of all that is known to be simulated */
    double baseline_seconds, shared_seconds;
};

/* Seconds of a clock that only goes forward. */
double run_clock(void);
/* Host threads that can be of use where so many are asked for: from 1 to one for each SM. */
uint32_t run_threads(uint32_t wanted, const struct corun_gpu_config *gpu);
/* The same, with a warning if they are fewer. */
void run_threads_warn(uint32_t wanted, const struct corun_gpu_config *gpu, struct corun_diagnostics *list);
/*
 * Tells the caller of the case how far a stage is, and that `cycles` beyond cycles_done have been simulated; false when it is to end
 * early. Not for two threads at once.
 */
bool run_progress(struct run *run, const char *stage, uint64_t cycle, uint64_t limit, uint64_t cycles);
/* Thread instructions per cycle alone; NAN if not known. */
double run_isolated_ipc(const struct member *member);
/* What the baseline of a member is computed from. */
struct baseline_request run_baseline_request(const struct run *run, const struct member *member);
/* The baselines of the members that need one: from the cache, or simulated side by side. */
enum corun_status run_find_baselines(struct run *run);
/* The speed-up curves of all members, if the policy needs them: isolated runs on fewer SMs. */
enum corun_status run_find_speedups(struct run *run);
/*
 * What one run of a member's instance launches, for policies; NULL when out of memory, which costs them foresight only.
 */
const struct corun_launch_view *launches_of_run(const struct run *run, const struct member *member, uint32_t *count);
/* Copies everything the GPU measured into the result, in memory of the arena. MEMORY. */
enum corun_status run_collect(struct run *run, struct arena *arena, struct corun_case_result *result);

/* Copies diagnostics from one list to the other. */
void diagnostics_pass_on(const struct corun_diagnostics *from, struct corun_diagnostics *to);

#endif
