/* SPDX-License-Identifier: MIT */
/*
 * A case: several applications share one simulated GPU under one policy for one window, each beside itself alone.
 *
 *     corun_gpu_config_load, corun_workload specifications, corun_policy_find → corun_case_run → results
 *
 * The results depend on what a case says and on nothing else; `threads`, `baseline_jobs` and the cache change only how
 * long it takes.
 */
#ifndef CORUN_CASE_H
#define CORUN_CASE_H

#include "corun/gpu.h"
#include "corun/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Changed whenever what is stored in the cache of isolated baselines changes its meaning or form. */
#define CORUN_RESULTS_VERSION 3u

/* What sharing without a policy is called: every SM takes what fits, in the order of arrival. */
#define CORUN_NO_POLICY "left-over"

struct corun_case_application {
    const char *workload; /* as corun_workload_load takes it: NAME, NAME@SIZE or a path */
    enum corun_goal_kind goal;
    double goal_value;            /* FRACTION: 0 < value <= 1; IPC; MILLISECONDS of one run; FRAMES_PER_SECOND: runs */
    double transfer_milliseconds; /* of such a time, what copies to and from the GPU take */
    uint64_t start_cycle;
};

/* What the run is called in which the applications are together. */
#define CORUN_STAGE_SHARED "shared"

struct corun_archive;

/* Moves the state of an observer to a checkpoint or from it, so that a run which goes on has the observer's state as well. */
struct corun_case_keeper {
    const char *settings; /* what the run that goes on has to ask for too: "of cycles 0 to 4000"; up to 79 bytes */
    void (*archive)(void *user, struct corun_archive *archive); /* NULL: there are no checkpoints with this observer */
};

/* What a long case is doing. `cycle` counts up to cycle_limit (0: not known beforehand). */
struct corun_case_progress {
    const char *stage; /* "isolated NAME" or CORUN_STAGE_SHARED */
    uint64_t cycle, cycle_limit;
    double done; /* share of all cycles, those of isolated runs that have to be simulated included; NAN: not known */
};

struct corun_case {
    const struct corun_gpu_config *gpu;
    const struct corun_policy *policy; /* NULL: CORUN_NO_POLICY */
    const double *parameters;          /* of the policy; NULL: the initial ones */
    const struct corun_case_application *applications;
    uint32_t application_count; /* 1..CORUN_MAX_APPLICATIONS */
    /* The window ends with the first limit that is reached; 0 means no such limit, at least one must be given. */
    uint64_t cycles;
    uint64_t thread_instructions; /* of the slowest application */
    uint32_t runs;                /* of every application */
    uint64_t watchdog_cycles;     /* 0: the machine's default */
    uint64_t seed;                /* of the workloads' data */
    uint32_t threads;             /* host threads of one simulated GPU, 0 and 1: one */
    uint32_t baseline_jobs; /* isolated baselines that are computed side by side; 0: as many as there are processors */
    bool no_baselines;      /* only those that a goal or the policy needs */
    const char *data_directory;  /* where workloads are looked up by name */
    const char *cache_directory; /* of baselines; created when needed; NULL: no cache */
    /*
     * Where records of workloads are kept, and made where there is none: the simulated runs replay them in place of executing the workloads
     * (docs/replay.md). Workloads that cannot be replayed are executed, with a warning. The results are the same. NULL: all are executed.
     */
    const char *replay_directory;
    bool profile;
    bool no_history; /* the result tells nothing of how the run went over time */
    /*
     * 0: the shared run goes on to the end of its window. Else it ends when the speeds over the whole window are known so well: to so many
     * millionths, half width of the interval of 95 %, and on which side of its goal each application is (docs/settling.md). For windows of
     * cycles, and several applications or a policy.
     */
    uint32_t settle;
    /* NULL: everything is timed; else one application, without a policy, is sampled (corun/sampling.h), and cycles are estimates */
    const struct corun_sampling *sampling;
    /* Called for every warp instruction issued in the shared run from trace_first to trace_last; may be NULL. */
    void (*trace)(void *user, const struct corun_trace_event *event);
    void *trace_user;
    uint64_t trace_first, trace_last;
    struct corun_case_keeper trace_keeper; /* called with trace_user, between two events */
    /* Observes the shared run (corun_gpu_observe); may be NULL. */
    void (*observe)(void *user, const struct corun_gpu *gpu, const struct corun_observation *seen);
    void *observe_user;
    uint64_t observe_sample_cycles;
    struct corun_case_keeper observe_keeper; /* called with observe_user, between two observations */
    /* Text that the applications print in the shared run; may be NULL. */
    void (*print)(void *user, const char *text, size_t bytes);
    void *print_user;
    bool print_once; /* only that of the first run of each application */
    /*
     * Called now and then, never by two threads at once; false ends the case early with what was measured. May be NULL.
     */
    bool (*progress)(void *user, const struct corun_case_progress *progress);
    void *progress_user;
    /* Before and after every call of the policy (corun_limits.policy_call); may be NULL. */
    void (*policy_call)(void *user, bool begins);
    void *policy_call_user;
    /*
     * Checkpoints of the shared run (docs/checkpoints.md): written to the file at checkpoint_cycle, at every multiple of checkpoint_every (0:
     * not), and when progress() ends the run early; each one replaces the one before. NULL: none.
     */
    const char *checkpoint_file;
    uint64_t checkpoint_cycle, checkpoint_every;
    double checkpoint_seconds; /* also whenever so much time of the host has passed since the last one; 0: not */
    bool checkpoint_optional;  /* where the case cannot have any (UNSUPPORTED), it runs without */
    /* The shared run goes on from this checkpoint; from cycle 0 if it is checkpoint_file and not there yet. NULL: from cycle 0. */
    const char *resume_file;
};

/* One PTX line of a kernel. Stall cycles as in struct corun_profile_row. */
struct corun_profile_line {
    uint32_t line;
    const char *text;   /* of the PTX, without blanks around it; "" if not known */
    const char *source; /* "heat.cu:12", as corun_module_source_line says; "" if not known */
    struct corun_profile_row counts;
};

/* Where a number is a ratio whose divisor is 0 or not known, it is NAN. */
struct corun_case_kernel {
    struct corun_kernel_result result;
    double ipc;          /* thread instructions per cycle while its launches ran */
    double ipc_isolated; /* the same in the isolated run */
    double normalised_ipc;
    uint32_t profile_count;                   /* 0: no profile */
    const struct corun_profile_line *profile; /* lines that were executed, ascending */
    const char *ptx;                          /* where it begins: "heat.ptx:27"; "" if it is of no PTX */
    const char *source;                       /* the same in the CUDA source, as in struct corun_profile_line */
};

enum corun_goal_outcome {
    CORUN_GOAL_NOT_SET,
    CORUN_GOAL_MET,
    CORUN_GOAL_MISSED,
    CORUN_GOAL_NOT_KNOWN,
    /* missed; it is more than the application reaches alone, or the policy had nothing more to give */
    CORUN_GOAL_OUT_OF_REACH
};

struct corun_case_application_result {
    const char *name, *size; /* of the workload */
    enum corun_goal_kind goal;
    double goal_value;
    double transfer_milliseconds;
    double goal_ipc;      /* NAN: none or not known */
    double goal_distance; /* ipc / goal_ipc - 1; NAN: none or not known */
    enum corun_goal_outcome goal_outcome;
    uint64_t start_cycle;
    struct corun_application_result result;
    uint64_t cycles; /* from its arrival until it left or the window ended */
    double
        ipc; /* thread instructions / cycles; of a run that has settled: the estimate of what that is over the whole window */
    double ipc_half_width; /* of the interval of 95 % of such an estimate, else 0 */
    double ipc_simulated;  /* thread instructions / cycles */
    double ipc_isolated;
    double normalised_ipc;
    bool isolated_from_cache;
    struct corun_counters counters; /* all its kernels */
    double energy_joules;           /* dynamic, of these */
    uint32_t kernel_count;
    const struct corun_case_kernel *kernels;
    const struct corun_counters *sms; /* [sm_count]: its counters on each SM */
};

/* An application over one interval: means. */
struct corun_case_history_share {
    double sms; /* that held thread blocks of it */
    double tbs; /* resident thread blocks of it, on all SMs */
    double ipc; /* thread instructions per cycle */
};

/* The shared run over time, in at most a hundred intervals that follow one another from cycle 0 to the end. */
struct corun_case_history {
    uint32_t count;
    const uint64_t *end_cycles;                    /* [count] */
    const struct corun_case_history_share *shares; /* [count][application_count] */
    const double *powered_sms;                     /* [count]: mean */
    uint32_t variable_count;
    const struct corun_policy_variable *variables; /* of the policy; [variable_count] */
    const double *values;                          /* [count][variable_count]: of these, at the end of the interval */
};

struct corun_case_result {
    struct corun_gpu_config gpu;
    const char *policy; /* CORUN_NO_POLICY without one */
    uint32_t parameter_count;
    const struct corun_policy_parameter *parameters;
    const double *parameter_values;
    uint64_t window_cycles, window_thread_instructions; /* as asked for */
    uint32_t window_runs;
    uint64_t seed;
    uint32_t threads;
    uint64_t cycles;  /* simulated, of the shared run */
    bool interrupted; /* progress() said so; with 0 cycles: during the isolated runs, and what is known is of these */
    uint32_t application_count;
    const struct corun_case_application_result *applications;
    const struct corun_sm_result *sms; /* [gpu.sms] */
    struct corun_counters counters;    /* everything */
    struct corun_memory_result memory;
    struct corun_energy_result energy;
    struct corun_case_history history; /* empty if the case wanted none */
    uint32_t settle;                   /* as asked for */
    uint64_t
        settled_cycle; /* when the run ended because it had settled: speeds, metrics and goals are estimates for the window; 0: it did not */
    bool estimated;         /* the case was sampled */
    uint32_t sampled_count; /* rows of that, as corun_gpu_sampled gives them */
    const struct corun_sampled_group *sampled;
    /* NAN unless every application's normalised IPC is known */
    double stp;      /* system throughput: sum of normalised IPC */
    double antt;     /* average normalised turnaround time: mean of 1 / normalised IPC; infinite if one did nothing */
    double fairness; /* smallest / largest normalised IPC */
    double wall_seconds; /* of the shared run */
    double warp_instructions_per_second;
    double baseline_wall_seconds; /* of the isolated runs that had to be simulated */
};

/*
 * Runs a case. OK if it was measured, also if an application was stopped: that is in its result's status and in a
 * diagnostic. With another status *result is NULL. Diagnostics whose status is OK are warnings. Errors: ARGUMENT (an
 * impossible case, or a checkpoint of another one), LIMIT, POLICY, MEMORY, UNSUPPORTED, SYNTAX, FILE (checkpoints) and those of corun_workload_load.
 */
enum corun_status corun_case_run(const struct corun_case *job, struct corun_diagnostics *list,
                                 struct corun_case_result **result);
void corun_case_result_destroy(struct corun_case_result *result);

/*
 * Everything, as `corun run --json` writes it: UTF-8, one JSON object. The caller's to free(). MEMORY; *text is NULL
 * then.
 */
enum corun_status corun_case_result_json(const struct corun_case_result *result, char **text);

#define CORUN_ALL UINT32_MAX
/*
 * Counters of one application on one SM, or of all of them with CORUN_ALL. What the memory system counts belongs to
 * applications and to no SM. ARGUMENT if there is no such SM or application.
 */
enum corun_status corun_case_result_counters(const struct corun_case_result *result, uint32_t sm, uint32_t application,
                                             struct corun_counters *counters);

/* $XDG_CACHE_HOME/corun or ~/.cache/corun; false if neither variable is set or it does not fit. */
bool corun_cache_directory(char *path, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
