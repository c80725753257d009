/* SPDX-License-Identifier: MIT */
/*
 * The simulated GPU: a machine that runs the grids of several applications and obeys a policy.
 *
 *     corun_gpu_create → corun_gpu_add (each application) → corun_gpu_run → corun_gpu_… (results) → corun_gpu_destroy
 *
 * Or, driven from outside, with applications that come and go: corun_gpu_open, below.
 *
 * A GPU holds no state outside its handle: several can live in one process. The results of a run depend on the configuration, the
 * applications, the policy and the limits, and on nothing else: not on time, memory layout or the number of threads.
 */
#ifndef CORUN_GPU_H
#define CORUN_GPU_H

#include "corun/config.h"
#include "corun/machine.h"
#include "corun/policy.h"
#include "corun/sampling.h"
#include "corun/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Changed whenever the model may give other cycle counts: part of the content key of cached results. */
#define CORUN_MODEL_VERSION 21u

struct corun_counters {
#define N(name, unit, meaning) uint64_t name;
#include "corun/statistics.def"
#undef N
};

struct corun_counter_row {
    const char *name, *unit, *meaning;
    size_t offset;
};
const struct corun_counter_row *corun_counter_rows(size_t *count);
void corun_counters_add(struct corun_counters *sum, const struct corun_counters *part);

struct corun_gpu;

/* One call of an application's `proceed`. */
struct corun_proceeding {
    uint64_t start_cycle; /* of this run */
    bool ended;           /* to be set at its end, with the cycle of that */
    uint64_t end_cycle;
};

/* An application: a sequence of grids, run one after the other or as they say, again and again while the window lasts. */
struct corun_application_description {
    const char *name;
    enum corun_goal_kind goal;
    double goal_value;   /* FRACTION: 0..1; IPC; MILLISECONDS; FRAMES_PER_SECOND */
    double goal_ipc;     /* the same as thread instructions per cycle; 0 if none, or to be made from the value */
    double isolated_ipc; /* 0 if not known */
    uint64_t run_thread_instructions; /* of one run: with them a time is a goal without goal_ipc; 0 if not known */
    const double *speedup;            /* as in struct corun_application_view; must live until it is gone, or the GPU */
    uint32_t speedup_count;
    const struct corun_launch_view *run_launches; /* the same */
    uint32_t run_launch_count;
    uint64_t start_cycle; /* when it arrives */
    /*
     * The SMs that it may be on: so many from the first one on; 0: all. On an opened GPU that has no policy: a policy would say so itself.
     */
    uint32_t first_sm, sm_count;
    /*
     * Grid `index` (0, 1, …) of the current run, or NULL when the run has ended. Must give at least one grid per run. Called
     * in order, once per index and run, when grid index - 1 has completed and its stores are visible: copies between
     * launches happen in it. NULL: see corun_gpu_open.
     */
    const struct corun_grid *(*grid)(void *user, uint32_t index);
    /*
     * In place of `grid`, for applications whose grids overlap. The machine calls `proceed` when a run begins, after a step in
     * which a launch of the application has ended, and when the cycle has come that the application gave to corun_gpu_wake.
     * `proceed` asks what has ended (corun_gpu_launched), launches (corun_gpu_launch), copies (corun_gpu_copy), and says when
     * the run has ended. At the end of a run no grid of the run is in flight, and the run has launched at least one grid. A
     * status other than OK stops the application with that status.
     */
    enum corun_status (*proceed)(void *user, struct corun_gpu *gpu, uint32_t application,
                                 struct corun_proceeding *proceeding);
    /* Called between two runs (data is set back); may be NULL. Anything but OK stops the application with that status. */
    enum corun_status (*restart)(void *user);
    void (*print)(void *user, const char *text, size_t bytes); /* text of vprintf; may be NULL */
    void *user;
    struct corun_diagnostics
        *list; /* where is said why it was stopped, while it is there; NULL: in the list of the GPU */
};

enum corun_status corun_gpu_create(const struct corun_gpu_config *config, struct corun_diagnostics *list,
                                   struct corun_gpu **gpu);
void corun_gpu_destroy(struct corun_gpu *gpu);
/*
 * An application is known by its handle: before the run 0, 1, … in the order of corun_gpu_add. Its slot is the number under which policies,
 * observers and energies know it; on an opened GPU another one may have the slot after it, and a handle says which of them is meant.
 */
#define CORUN_SLOT_BITS 4u
static inline uint32_t corun_application_slot(uint32_t application)
{
    return application & ((1u << CORUN_SLOT_BITS) - 1u);
}
#define CORUN_NO_APPLICATION UINT32_MAX /* no handle is this */

/*
 * Copies the description; *application is the handle. LIMIT if there are CORUN_MAX_APPLICATIONS already, or no slot is free.
 * On an opened GPU the lowest free slot is taken; the application arrives at its start_cycle, or at once if that has come, and then what
 * the policy answers to ARRIVE is returned. ARGUMENT: corun_gpu_run has begun, or a step of the GPU is under way; it names SMs that are not
 * there, or where a policy has the say.
 */
enum corun_status corun_gpu_add(struct corun_gpu *gpu, const struct corun_application_description *description,
                                uint32_t *application);
/*
 * Gives an application another goal, or none: the counterpart of cudaSetQoS (Sun et al., SMQoS, section 4.1). May be
 * called before the run and during it: from `progress` of the limits, or between two calls of corun_gpu_advance.
 * Policies see it from their next moment on.
 * goal_ipc is the goal as thread instructions per cycle; 0 for a FRACTION or an IPC: it follows from the value.
 * ARGUMENT: there is no such application; the goal is of unknown kind, not above 0, or above 100 % of the isolated IPC;
 * it is a time without goal_ipc where run_thread_instructions are not known, or a fraction of an isolated IPC that is not.
 */
enum corun_status corun_gpu_set_goal(struct corun_gpu *gpu, uint32_t application, enum corun_goal_kind kind,
                                     double value, double goal_ipc, struct corun_diagnostics *list);
/*
 * Before the run, once. `parameters` has parameter_count values (NULL: the initial ones). Without a policy, every SM takes what fits.
 * POLICY: it was built for another version of the contract, or asks for what does not exist. ARGUMENT: a parameter is out of its range, or it
 * comes too late.
 */
enum corun_status corun_gpu_set_policy(struct corun_gpu *gpu, const struct corun_policy *policy,
                                       const double *parameters, struct corun_diagnostics *list);
/*
 * On an opened GPU, between two calls of corun_gpu_advance: another policy, or none (NULL), takes over now. It starts as on a GPU that begins, and is
 * told of every application that is there as if it arrived now. What the old one has ordered ends with it: limits, quotas, partitions; thread blocks that
 * are being swapped out are swapped in again. Parameters as above. POLICY, with a message: it is refused as above, or its start refuses;
 * ARGUMENT: a parameter is out of its range, or a step is under way. Then the old one goes on as if nothing had been asked. POLICY, too, for what
 * policies do afterwards: then the GPU cannot continue, which corun_gpu_advance says as well.
 */
enum corun_status corun_gpu_change_policy(struct corun_gpu *gpu, const struct corun_policy *policy,
                                          const double *parameters, struct corun_diagnostics *list);
/* NULL: none. */
const struct corun_policy *corun_gpu_policy(const struct corun_gpu *gpu);

/*
 * Samples instead of simulating everything. Before the run. ARGUMENT: it comes too late, or there is a policy, whose decisions would be about
 * what is not simulated.
 */
enum corun_status corun_gpu_sample(struct corun_gpu *gpu, const struct corun_sampling *sampling);
/* What came of it, by kernel and shape in order of first launch: how many rows there are; the first `room` of them are written. */
size_t corun_gpu_sampled(const struct corun_gpu *gpu, struct corun_sampled_group *groups, size_t room);

struct corun_limits {
    uint64_t cycles;              /* window in core cycles; 0: none */
    uint64_t thread_instructions; /* of the slowest application; 0: none */
    uint32_t runs;                /* every application has completed this many runs and leaves; 0: none */
    uint64_t watchdog_cycles;     /* an application is stopped after so many cycles without progress; 0: 5 million */
    /*
     * An application is stopped (TIMEOUT) at the first end of an epoch at which one of its launches has run for more cycles, from the
     * start of its first thread block; 0: none.
     */
    uint64_t launch_cycles;
    uint32_t threads;      /* host threads that advance SMs, at most one for each; 0 and 1: the calling thread */
    double policy_seconds; /* that a call of the policy may take, else POLICY; 0: CORUN_POLICY_SECONDS */
    /* Called now and then (about every 100 000 cycles) with the current cycle; returning false ends the run early. May be NULL. */
    bool (*progress)(void *user, uint64_t cycle);
    /*
     * Called after the first step that ends at each multiple of look_cycles or behind it, with that cycle; true ends the window there. May be NULL.
     */
    bool (*look)(void *user, uint64_t cycle);
    uint64_t look_cycles;
    void *user; /* of both */
    /* Before and after every call of the policy, for those that want to know what they are in when it does not come back. May be NULL. */
    void (*policy_call)(void *user, bool begins);
    void *policy_call_user;
    uint32_t applications; /* corun_gpu_open: slots; 0: for those that were added before */
};

/*
 * Runs until a limit is reached or every application has left or stopped. An application that faults, deadlocks or is caught by the
 * watchdog is stopped and the others continue: its status is in its results and a diagnostic has the message. Returns OK unless
 * the run as a whole could not continue (POLICY, also for what the policy does at its end, and where it starves for ever whose instructions the run waits
 * for, WATCHDOG if that is without a policy; MEMORY), LIMIT if a launch can never fit an SM.
 */
enum corun_status corun_gpu_run(struct corun_gpu *gpu, const struct corun_limits *limits,
                                struct corun_diagnostics *list);

/*
 * Launches from outside, for those who do not know beforehand what they will run: an application whose description has neither `grid`
 * nor `proceed` waits until it is given launches.
 *
 *     corun_gpu_create → corun_gpu_open → { corun_gpu_add …, corun_gpu_launch …, corun_gpu_advance, corun_gpu_launched …, corun_gpu_leave … }
 *
 * `limits` as for corun_gpu_run; those that end a run do not apply. The list stays in use until the GPU is destroyed.
 * Applications may be added before and after; `applications` says for how many at a time there are slots, and policies see all slots.
 * ARGUMENT: there are more applications already, or too many slots are asked for.
 *
 * Stale handles (their slot has been taken again) and those that never were do no harm: what asks gets ARGUMENT or nothing but zeros.
 */
enum corun_status corun_gpu_open(struct corun_gpu *gpu, const struct corun_limits *limits,
                                 struct corun_diagnostics *list);
/*
 * The application leaves now: what is in flight is dropped, thread blocks leave their SMs, the policy is told (LEAVE, unless the
 * application has been stopped before). From the return on the GPU names nothing of the caller's: grids, module instances, memory, speed-ups may be
 * destroyed. Results may be asked until its slot is taken again, which can be at once; code of profiles is gone.
 * Memory that another application uses at the same addresses may still be in caches. A module instance whose grids were dropped has atomics
 * that are never performed: its data are not to be relied on.
 * Also for an application that was stopped: without, it keeps its slot. ARGUMENT: it has left so before, or a step is
 * under way; POLICY, MEMORY from the moment: the GPU cannot continue then.
 */
enum corun_status corun_gpu_leave(struct corun_gpu *gpu, uint32_t application);
/*
 * Any number of grids of an application may be in flight; the same grid object may be in flight only once. Where there is room, thread
 * blocks of lower priority numbers start first, then thread blocks of earlier launches. The first thread block starts no earlier than one
 * dispatch latency after `cycle`, and not before now. The machine tells that a launch ended at `cycle` early enough: a launch that follows
 * upon that end loses no cycle. *launch is the number of the launch within the application: 0, 1, … ARGUMENT: the application does not
 * take launches. LIMIT: the grid can never fit an SM, and the application has been stopped.
 * The grid may be destroyed once corun_gpu_launched says that it has ended, and after corun_gpu_leave.
 */
enum corun_status corun_gpu_launch(struct corun_gpu *gpu, uint32_t application, const struct corun_grid *grid,
                                   uint64_t cycle, int32_t priority, uint32_t *launch);
/*
 * Advances the machine, step by step, until one of these has happened: a launch of an application that is launched from outside has ended; an
 * application was stopped; the cycle has come that an application gave to corun_gpu_wake; the cycle `until` has come.
 */
enum corun_status corun_gpu_advance(struct corun_gpu *gpu, uint64_t until);
/*
 * The cycle at which the application wants to be asked, in addition to the ends of its launches. UINT64_MAX: no such cycle. The machine
 * forgets the cycle when it has come.
 * CORUN_NO_APPLICATION in place of an application: the cycle at which corun_gpu_advance is to return, whoever is there.
 */
void corun_gpu_wake(struct corun_gpu *gpu, uint32_t application, uint64_t cycle);
struct corun_launched {
    bool ended; /* or the application was stopped: then `status` says why, and it takes no more launches */
    enum corun_status status; /* of the application */
    uint64_t first_cycle, last_cycle;
    bool estimated; /* not all of its cycles were simulated: corun_gpu_sample */
};
/*
 * Counters of its kernel are up to date when it has ended. Of one that was forgotten or dropped: ended, with the status of the application
 * or ARGUMENT.
 */
void corun_gpu_launched(struct corun_gpu *gpu, uint32_t application, uint32_t launch, struct corun_launched *launched);
/* Nobody will ask about it any more: until then, or until its application leaves, it takes some memory. ARGUMENT: it is in flight, or unknown. */
enum corun_status corun_gpu_forget(struct corun_gpu *gpu, uint32_t application, uint32_t launch);
/*
 * What a launch is counted under: together with earlier launches of its kernel, but with none that it overlaps. What it has
 * done is the difference between its end and when it was launched.
 */
void corun_gpu_launch_counters(const struct corun_gpu *gpu, uint32_t application, uint32_t launch,
                               struct corun_counters *counters);

/*
 * Copy engines: a copy that could start at `since` and takes `cycles` is given its turn, behind those that asked before.
 * Returns the cycle at which it starts. With one engine (copy_engines), both directions share it.
 */
enum corun_copy_engine { CORUN_COPY_TO_DEVICE, CORUN_COPY_TO_HOST, CORUN_COPY_WITHIN, CORUN_COPY_ENGINES };
uint64_t corun_gpu_copy(struct corun_gpu *gpu, enum corun_copy_engine engine, uint64_t since, uint64_t cycles);

uint64_t corun_gpu_cycles(const struct corun_gpu *gpu);
const struct corun_gpu_config *corun_gpu_configuration(const struct corun_gpu *gpu);

struct corun_application_result {
    enum corun_status status; /* OK, or why it was stopped */
    uint32_t runs;            /* completed */
    uint64_t arrived_cycle;
    uint64_t ended_cycle;         /* when it left or was stopped, else the end of the window */
    uint64_t first_run_cycles;    /* length of its first completed run, 0 if none */
    uint64_t thread_instructions; /* completed over all runs */
    /* With a limit on thread instructions: where the application stood when it reached that; else at its end. */
    uint64_t measured_until_cycle;
    uint64_t measured_thread_instructions;
    uint64_t warp_instructions;
    uint32_t kernel_count;
    double best_epoch_ipc; /* of the epochs that it began and ended in; 0: none */
    bool out_of_reach;     /* what the policy wrote last (struct corun_allowances) */
};
void corun_gpu_application(const struct corun_gpu *gpu, uint32_t application, struct corun_application_result *result);

struct corun_kernel_result {
    const char *name;    /* that of its grids; once its application has left, until its slot is taken again */
    uint32_t launches;   /* completed */
    uint64_t cycles;     /* from the start to the end of its launches, summed up; one still running counts up to now */
    uint32_t tbs_per_sm; /* occupancy */
    uint32_t registers_per_thread, tb_shared_bytes, tb_threads;
    struct corun_counters counters; /* all SMs and the memory system */
};
/* Kernels of an application in order of first launch; `kernel` below kernel_count. */
void corun_gpu_kernel(const struct corun_gpu *gpu, uint32_t application, uint32_t kernel,
                      struct corun_kernel_result *result);

struct corun_sm_result {
    uint64_t busy_cycles;           /* at least one resident warp */
    uint64_t idle_scheduler_cycles; /* no live warp of any application there */
    uint64_t gated_cycles;          /* switched off */
    struct corun_counters counters;
    /*
     * issue_cycles and stall_... only: every scheduler cycle with live warps of any application once. In `counters`, a cycle without an issue
     * is counted for each application with live warps there. The cause nearest to issuing decides.
     */
    struct corun_counters schedulers;
};
void corun_gpu_sm(const struct corun_gpu *gpu, uint32_t sm, struct corun_sm_result *result);
/* Counters of one application on one SM. */
void corun_gpu_share(const struct corun_gpu *gpu, uint32_t sm, uint32_t application, struct corun_counters *counters);

struct corun_memory_result {
    uint64_t dram_cycles;      /* DRAM clock cycles of the run, times controllers */
    uint64_t dram_busy_cycles; /* of these, cycles with data on the bus */
    uint64_t icnt_cycles;      /* interconnect cycles of the run, times links of both directions */
    uint64_t icnt_busy_cycles; /* of these, cycles with a flit on the link */
};
void corun_gpu_memory(const struct corun_gpu *gpu, struct corun_memory_result *result);

/*
 * Energy of the run so far, in joules: events times the configuration's energy of each, and static power over time. It is
 * for comparing policies on one GPU; the absolute values are no better than the sources of the energies. G(name, meaning)
 */
#define CORUN_DYNAMIC_ENERGIES(G) \
    G(issue, "fetching, decoding and scheduling warp instructions") \
    G(lanes, "arithmetic") \
    G(registers, "register files") \
    G(shared, "shared memory") \
    G(l1, "L1, texture and constant caches") \
    G(interconnect, "interconnect") \
    G(l2, "L2 cache") \
    G(dram, "DRAM")
#define CORUN_STATIC_ENERGIES(G) \
    G(static_sm, "static power of the powered SMs") \
    G(static_rest, "static power of the rest")
struct corun_energy_result {
#define CORUN_ENERGY_FIELD(name, meaning) double name;
    CORUN_DYNAMIC_ENERGIES(CORUN_ENERGY_FIELD)
    CORUN_STATIC_ENERGIES(CORUN_ENERGY_FIELD)
#undef CORUN_ENERGY_FIELD
    double total;
    double average_watts;                        /* NAN before the first cycle */
    double applications[CORUN_MAX_APPLICATIONS]; /* dynamic energy of each, by slot; of those that have it now */
};
void corun_gpu_energy(const struct corun_gpu *gpu, struct corun_energy_result *result);
/* Dynamic energy of what was counted: of a kernel, an application, an SM. Joules. */
double corun_counters_energy(const struct corun_gpu_config *config, const struct corun_counters *counters);

/*
 * Profile: per instruction of one kernel, filled when profiling was switched on before the run.
 * stall_cycles: warp cycles for which a warp waited with this instruction as its next one, by cause as in
 * struct corun_counters (data, memory data, pipeline, memory, barrier, other causes).
 */
struct corun_profile_row {
    uint64_t warp_instructions, thread_instructions;
    uint64_t stall_data, stall_memory_data, stall_pipeline, stall_memory, stall_barrier, stall_other;
};
void corun_gpu_profile(struct corun_gpu *gpu, bool on);
/* Rows indexed by instruction (as struct corun_grid.code); NULL if profiling is off. */
const struct corun_profile_row *corun_gpu_kernel_profile(const struct corun_gpu *gpu, uint32_t application,
                                                         uint32_t kernel, uint32_t *count,
                                                         const struct corun_instruction **code);

/* Trace: called for every issued warp instruction in [first_cycle, last_cycle], in SM order within a cycle range. */
struct corun_trace_event {
    uint64_t cycle;
    uint32_t sm, scheduler, warp, application, tb;
    const struct corun_grid *grid;
    uint32_t pc;
    uint32_t active;
};
void corun_gpu_trace(struct corun_gpu *gpu, uint64_t first_cycle, uint64_t last_cycle,
                     void (*event)(void *user, const struct corun_trace_event *event), void *user);

/*
 * Observation: what happens to launches and thread blocks, and what the policy wants, told between two steps of the machine and
 * therefore on the calling thread, in the same order with any number of host threads. Observers change nothing.
 */
enum corun_observed {
    CORUN_OBSERVED_LAUNCH_START, /* thread blocks of `launch` (1, 2, … over the GPU) may start from `cycle` on */
    CORUN_OBSERVED_LAUNCH_END,   /* complete, or its application was `stopped`: its thread blocks have gone with it */
    CORUN_OBSERVED_TB_START,     /* told when it is dispatched: `cycle` may lie ahead */
    CORUN_OBSERVED_TB_END,
    CORUN_OBSERVED_TB_PREEMPTED, /* it stops: its instructions in flight complete, then its state is saved (or it is dropped) */
    CORUN_OBSERVED_TB_SAVED,     /* its state is in memory and its place free; dropped: it will start anew */
    CORUN_OBSERVED_TB_RESTORING, /* its state is being loaded on `sm`; told when it is dispatched: `cycle` may lie ahead */
    CORUN_OBSERVED_TB_RESUMED, /* it runs again there */
    CORUN_OBSERVED_POWER,      /* `sm` was switched off or on: `powered` */
    CORUN_OBSERVED_MOMENT,     /* `event` at `cycle`; `allowances` as they are after it, NULL without a policy */
    CORUN_OBSERVED_SAMPLE      /* time to look at counters; `cycle` is now */
};
struct corun_observation {
    enum corun_observed kind;
    uint64_t cycle;
    uint32_t sm, application, tb;  /* where they apply; application: its slot */
    uint64_t launch;               /* LAUNCH, TB */
    const struct corun_grid *grid; /* LAUNCH, TB */
    bool stopped;                  /* LAUNCH_END: it is not complete */
    bool powered;                  /* POWER */
    enum corun_policy_event event; /* MOMENT; of those that complete a thread block, only what the policy asked for */
    const struct corun_allowances *allowances;
};
/* Samples come at the first step that ends `sample_cycles` or more after the last one, and at the end of the run; 0: only then. */
void corun_gpu_observe(struct corun_gpu *gpu, uint64_t sample_cycles,
                       void (*see)(void *user, const struct corun_gpu *gpu, const struct corun_observation *seen),
                       void *user);

/*
 * How many thread blocks of a grid an empty SM holds, and what limits it: "registers", "shared memory", "threads",
 * "thread blocks". 0 if one does not fit.
 */
uint32_t corun_gpu_occupancy(const struct corun_gpu_config *config, const struct corun_grid *grid, const char **limit);
/* How many clusters of so many thread blocks an empty GPU holds whose SMs hold `tbs_per_sm` of these: each cluster is on SMs of one GPC. */
uint32_t corun_gpu_clusters(const struct corun_gpu_config *config, uint32_t tbs_per_sm, uint32_t cluster_tbs);
/*
 * Shared memory that an SM is set to for a grid, in bytes, and what that leaves of the L1. Where both share a memory (l1_split), it is
 * the smallest setting that holds as many thread blocks as the rest of the SM does (CUDA C++ Programming Guide, compute capability
 * 7.x: shared memory is to be no bottleneck of occupancy); else, all of it.
 */
uint32_t corun_gpu_shared_setting(const struct corun_gpu_config *config, const struct corun_grid *grid);
uint32_t corun_gpu_l1_bytes(const struct corun_gpu_config *config, uint32_t shared_setting);

#ifdef __cplusplus
}
#endif
#endif
