/* SPDX-License-Identifier: MIT */
/*
 * The simulated GPU behind struct corun_gpu: what its files share.
 *
 *   gpu.c          create, the run loop, limits
 *   opened_gpu.c   a GPU that is driven from outside: applications that come and go, launches, waiting
 *   application.c  arriving, grids one after the other, runs, leaving, being stopped
 *   slot.c         the places of applications, one after the other in each; handles
 *   kernel.c       kernels and the slots under which they are counted
 *   dispatcher.c   thread blocks to SMs under the allowances
 *   preemption.c   thread blocks that have to leave their SM, and those that have left
 *   governed_gpu.c the GPU as a machine (corun/machine.h): what it tells its governor, and how it obeys
 *   partition.c    where thread blocks lie in registers and shared memory
 *   power.c        SMs switched off and on
 *   sampling.c     which launches and thread blocks are timed, and estimates of the others; sample_group.c has what those that were
 *                  timed tell, ratio.c the statistics
 *   results.c      counters summed up
 *   energy.c       what they and the cycles cost in joules
 *   follower.c     the SMs' packets to the memory system, and when that follows
 *   team.c         host threads that advance SMs, and channels of the memory system, side by side
 */
#ifndef CORUN_GPU_GPU_H
#define CORUN_GPU_GPU_H

#include "corun/checkpoint.h"
#include "govern/governor.h"
#include "gpu/cluster.h"
#include "gpu/cluster_network.h"
#include "gpu/follower.h"
#include "gpu/sampling.h"
#include "gpu/sm.h"
#include "gpu/team.h"

#define DEFAULT_WATCHDOG_CYCLES UINT64_C(5000000)
#define MOST_GPCS 64u
#define SAMPLES_PER_EPOCH 100u /* of idle warps: ISCA 2017, section 3.6 */

struct application {
    struct corun_application_description description; /* its goal is the one it came with; the governor has it now */
    char *name;                                       /* NULL: nobody has had the slot yet */
    uint32_t generation;                              /* how many had the slot before */
    bool released;                                    /* it has left for good: the slot may be taken again */
    enum corun_application_state state;
    enum corun_status status;
    VECTOR(struct machine_kernel *) kernels; /* in order of first launch; further ones of the same code are twins */
    VECTOR(struct launch *) launches;        /* those that may be asked about, by index; from launches_first on */
    size_t launches_first;
    uint32_t launch_count;       /* so far */
    struct launch *running;      /* the first of those in flight: by priority, then by number */
    struct instruction_sum past; /* of the kernels; of those in flight, until their last launches */
    uint32_t in_flight;          /* how many there are */
    uint64_t wake;               /* when it wants to be asked for more; NEVER: after a launch has ended */
    struct saved_tb *preempted;  /* thread blocks swapped out, the first that left first */
    uint32_t preempted_count;
    uint32_t grid_index; /* launches of the run that have ended */
    uint32_t runs;
    uint64_t arrived_cycle, ended_cycle, run_started_cycle, first_run_cycles;
    uint64_t arrival_order;
    uint64_t progress_cycle;
    uint64_t watched_instructions; /* when the watchdog last looked */
    uint64_t no_place_since;       /* its next cluster finds no room in any GPC as the allowances are */
    struct standstill *standstill; /* its warps, while the watchdog looks at them; NULL */
    uint64_t reached_cycle;        /* the limit on thread instructions; 0: not yet */
    uint64_t reached_thread_instructions;
};

/* Where a thread block lies that is on an SM or on its way there. */
struct sm_place {
    const struct launch *launch;
    uint32_t tb_index;
    uint8_t application;
    bool scattered; /* not in one piece */
    uint32_t threads;
    uint32_t first_register, registers, first_shared_byte, shared_bytes;
};

/* The dispatcher's account of an SM: what is there or on its way. */
struct sm_use {
    uint32_t registers, shared_bytes, threads, tbs, barriers;
    uint32_t application_tbs[CORUN_MAX_APPLICATIONS];
    uint64_t freed_cycle;                         /* of the last completion */
    uint64_t next_start;                          /* one thread block per cycle and SM */
    uint32_t leaving_tbs[CORUN_MAX_APPLICATIONS]; /* with the order to leave, or doing so */
    uint32_t switching;                           /* of these, in a switch of the whole SM */
    struct sm_place places[MAX_TBS];              /* [place_count], in the order in which they came */
    uint32_t place_count;
    bool partitioned;
    uint32_t fragmented; /* applications that were refused a place only for that, since places last changed: a mask */
};

/* A thread block that has the order to leave its SM, until it has. */
struct leaving {
    struct launch *launch;
    struct saved_tb *saved; /* NULL: it is dropped */
    uint32_t sm, tb_index;
    uint8_t preemption; /* enum preemption */
};

/* A place that a preempted thread block has left and nobody has taken yet. */
struct vacated {
    uint64_t stopped; /* cycle */
    uint32_t sm;
    uint16_t kernel; /* slot */
};

struct sm_power {
    bool wanted;           /* by the policy */
    bool on, waking;       /* waking: it has power, but takes no thread block before `awake` */
    uint64_t from;         /* when what is wanted takes effect, or later */
    uint64_t since;        /* off: since when */
    uint64_t awake;        /* on: from then on it takes thread blocks */
    uint64_t gated_cycles; /* off, until it was last switched on */
};

/* The slots under which kernels are counted, in the SMs and in the memory system (kernel.c). */
struct kernel_slots {
    VECTOR(struct machine_kernel *) used; /* by slot; NULL: of nobody now; owned by the applications */
    VECTOR(uint16_t) free;
    struct retired_kernels retired; /* those of applications that have gone: packets and lines may still name them */
    uint32_t retired_count;
    bool has_heir;
};

struct corun_gpu {
    struct corun_gpu_config config;
    uint64_t now;
    uint64_t quantum;
    struct follower *follower; /* with the memory system */
    struct cluster_network *cluster_network;
    struct sm **sms;
    struct sm_use *use;
    struct sm_power *power;
    bool power_pending;  /* some SM is not yet as it is wanted, or wakes */
    uint64_t power_next; /* next cycle at which power_follow has something to do by itself; NEVER: none */
    struct application applications[CORUN_MAX_APPLICATIONS];
    uint32_t application_count;
    uint64_t arrivals, launch_numbers;
    struct kernel_slots kernels;
    struct team *team;
    struct team_kind sm_rounds;
    bool backwards;            /* the SMs' order in the next step: those that came last are still in the host's cache */
    struct sampling *sampling; /* NULL: everything is timed */

    /* dispatch */
    bool dispatch_due;   /* something changed since the last dispatch */
    uint64_t next_start; /* thousandths of a cycle: the next thread block may start, on whichever SM */
    uint32_t round_robin;
    VECTOR(struct machine_cluster) clusters; /* that have started, and not ended */
    bool cluster_ended;                      /* a thread block of one has completed in this step */
    uint32_t gpc_held_by[MOST_GPCS];         /* application whose cluster waits for places there; NOTHING: none */

    /* preemption */
    VECTOR(struct saved_tb *) saved_tbs; /* by place; NULL: free */
    VECTOR(struct leaving) leaving;      /* in the order in which they were told */
    VECTOR(struct vacated) vacated;
    uint32_t restoring; /* thread blocks that are being swapped in */

    /* sharing */
    struct governor *governor;
    const struct corun_allowances *allowances; /* the governor's, from the start of the run on */
    uint64_t allowances_cycle;                 /* when they were last written */
    struct corun_partition *partitions_given;  /* [s][a] that have been followed */
    uint64_t no_tb_since, no_quota_since, starved_since;
    uint32_t starved,
        starved_runs
            [CORUN_MAX_APPLICATIONS]; /* for whom alone the run goes on (a mask); runs of each, at starved_since */

    /* the run */
    struct corun_limits limits;
    struct corun_diagnostics *list;
    uint64_t watchdog;
    uint64_t next_progress, next_look;
    bool started, opened, stop, tracing, profiling;
    bool busy;      /* in a step or a moment: whoever is called back must not change who is there */
    bool attention; /* a launch from outside has ended, or it is time: corun_gpu_advance returns */
    uint64_t wake;  /* when whoever drives the GPU wants it to return, beside what applications want; NEVER: not */
    uint64_t engine_free_cycle[CORUN_COPY_ENGINES];
    uint64_t trace_first, trace_last;
    void (*trace)(void *user, const struct corun_trace_event *event);
    void *trace_user;
    void (*see)(void *user, const struct corun_gpu *gpu, const struct corun_observation *seen); /* NULL: nobody looks */
    void *see_user;
    uint64_t sample_cycles, next_sample;
    struct corun_checkpoints checkpoints; /* save NULL: none are wanted */
    uint64_t checkpoint_next;             /* cycle of the next one; NEVER: none */
};

static inline void observe(const struct corun_gpu *gpu, const struct corun_observation *seen)
{
    if (gpu->see)
        gpu->see(gpu->see_user, gpu, seen);
}

/* application.c */
void applications_arrive(struct corun_gpu *gpu);
enum corun_status applications_advance(struct corun_gpu *gpu);
void application_stop(struct corun_gpu *gpu, uint32_t application, enum corun_status status, struct corun_place place,
                      const char *message);
void application_leave(struct corun_gpu *gpu, uint32_t application);
/* When the next one arrives, or wants to be asked; NEVER: none does. */
uint64_t application_next_moment(const struct corun_gpu *gpu);
/* Its launches, and its kernels that no slot names any more. */
void application_destroy(struct application *application);
/* Not before its start_cycle. */
enum corun_status application_arrive(struct corun_gpu *gpu, uint32_t application);
/* Everything of it is dropped where it is; LEAVE. What the policy says to that. */
enum corun_status application_withdraw(struct corun_gpu *gpu, uint32_t application);
/* NULL: it has been forgotten, or there never was such a launch. */
struct launch *application_find_launch(const struct application *application, uint32_t index);
/* It has ended. */
void application_forget_launch(struct application *application, struct launch *launch);
void application_forget_launches(struct application *application);
/* A launch from outside, or of `proceed`. ARGUMENT unless the application is there and takes them. */
enum corun_status application_launch(struct corun_gpu *gpu, uint32_t application, const struct corun_grid *grid,
                                     uint64_t cycle, int32_t priority);

/* watchdog.c */
/*
 * Once an epoch, while no SM runs: stops applications that make no progress, and the run if the policy lets nobody make any. POLICY,
 * MEMORY.
 */
enum corun_status watchdog_look(struct corun_gpu *gpu);
/* What it knows of an application that ends or leaves. */
void watchdog_forget(struct application *application);

/* launch_limit.c */
/* Stops applications with a launch that has run for longer than limits.launch_cycles. */
void launches_watch(struct corun_gpu *gpu);

/* kernel.c */
/* What launches of the grid are counted under: no other launch is now. NULL: out of memory, or of slots. */
struct machine_kernel *kernel_take(struct corun_gpu *gpu, uint32_t application, const struct corun_grid *grid);
/* No launch is counted under it any more: the application's past has all of it. */
void kernel_settle(struct corun_gpu *gpu, struct machine_kernel *kernel);
struct instruction_sum kernel_instructions(const struct corun_gpu *gpu, const struct machine_kernel *kernel);
/* The callers' objects that it names may be destroyed from now on. */
void kernel_forget_code(struct machine_kernel *kernel);
/* All that was counted of it. */
void kernel_counters(const struct corun_gpu *gpu, const struct machine_kernel *kernel, struct corun_counters *counters);
/* What was counted stays in the sums of SMs and GPU; the slot is used again. */
void kernel_retire(struct corun_gpu *gpu, struct machine_kernel *kernel);
void kernel_destroy(struct machine_kernel *kernel);
void kernel_slots_destroy(struct corun_gpu *gpu);

/* slot.c */
/* The application of a handle; NULL: it is stale, or there never was such a one. */
struct application *application_of(const struct corun_gpu *gpu, uint32_t handle);
uint32_t slot_of(const struct corun_gpu *gpu, const struct application *application);
uint32_t handle_of(const struct corun_gpu *gpu, uint32_t slot);
/* Puts an application into the slot; whatever the one before has left there goes. */
enum corun_status slot_fill(struct corun_gpu *gpu, uint32_t slot,
                            const struct corun_application_description *description);
/* The lowest slot that can be taken; NOTHING: none can. */
uint32_t slot_find_free(const struct corun_gpu *gpu);

/* gpu.c */
/* Before the first step: observers, host threads, the policy's start. */
enum corun_status gpu_prepare(struct corun_gpu *gpu);
enum corun_status gpu_step(struct corun_gpu *gpu);
bool gpu_may_continue(struct corun_gpu *gpu); /* what `progress` of the limits says */

/* dispatcher.c */
void dispatch(struct corun_gpu *gpu);
void dispatcher_release(struct corun_gpu *gpu, uint32_t sm, const struct news *news);
/* May a thread block of the launch start on the SM, and has it a place? */
bool dispatcher_allows(struct corun_gpu *gpu, uint32_t sm, const struct launch *launch, const struct tb_needs *needs);
/* Its place is taken, and given back when it does not start after all. */
void dispatcher_take(struct corun_gpu *gpu, uint32_t sm, const struct launch *launch, uint32_t tb_index,
                     const struct tb_needs *needs);
void dispatcher_give_back(struct corun_gpu *gpu, uint32_t sm, const struct launch *launch, uint32_t tb_index,
                          const struct tb_needs *needs);
uint64_t dispatcher_earliest(const struct corun_gpu *gpu, uint32_t sm, const struct launch *launch);
/*
 * When the next thread block of the launch starts there, which could at `cycle`: thread blocks start one after the other, whichever SM they go
 * to. Turns are given away at once, in the order of places.
 */
uint64_t dispatcher_start(struct corun_gpu *gpu, uint32_t sm, const struct launch *launch, uint64_t cycle);
/* It is on its way. */
void dispatcher_started(struct corun_gpu *gpu, uint32_t sm, const struct incoming_tb *incoming);
bool tb_fits(const struct corun_gpu *gpu, uint32_t sm, const struct tb_needs *needs);

/* preemption.c */
/*
 * Thread blocks above the limit of (sm, application) are told to leave as the policy wants it, orders no longer
 * needed are taken back.
 */
enum corun_status preemption_follow(struct corun_gpu *gpu, uint32_t sm, uint32_t application);
/* Swaps one thread block out that is on the SM or on its way there, whatever the limits say. */
enum corun_status preemption_relocate(struct corun_gpu *gpu, uint32_t sm, const struct launch *launch,
                                      uint32_t tb_index);
/* Tells one thread block that is on the SM, or will be before the order arrives, to leave. */
enum corun_status preemption_order(struct corun_gpu *gpu, uint32_t sm, struct launch *launch, uint32_t tb_index,
                                   enum preemption preemption);
/* TB_STOPPED, SAVED, DROPPED, RESUMED of an application that is still there. */
enum corun_status preemption_news(struct corun_gpu *gpu, uint32_t sm, const struct news *news);
/* A thread block has completed: an order for it is void. */
void preemption_completed(struct corun_gpu *gpu, uint32_t sm, const struct news *news);
/* The first of those that are swapped out; there is one. */
struct saved_tb *preemption_take(struct application *application);
/* The next thread block starts on the SM. */
void preemption_place_taken(struct corun_gpu *gpu, uint32_t sm, uint64_t cycle);
/* After its thread blocks were taken off all SMs. */
void preemption_remove_application(struct corun_gpu *gpu, uint32_t application);
void preemption_destroy(struct corun_gpu *gpu); /* after the SMs */

/* governed_gpu.c */
/* The GPU as a machine, with this configuration. */
struct corun_machine governed_machine(struct corun_gpu *gpu);
enum corun_status governed_start(struct corun_gpu *gpu);
/* Something has happened now: observers, and the policy, if there is one. */
enum corun_status governed_moment(struct corun_gpu *gpu, enum corun_policy_event event, uint32_t sm,
                                  uint32_t application);
enum corun_status governed_epoch(struct corun_gpu *gpu);
/* An application has one thread block less on an SM: `completed`, or taken away. */
enum corun_status governed_tb_left(struct corun_gpu *gpu, uint32_t sm, uint32_t application, bool completed);

/* partition.c */
bool partition_fits(struct corun_gpu *gpu, uint32_t sm, const struct launch *launch, const struct tb_needs *needs);
void partition_enter(struct corun_gpu *gpu, uint32_t sm, const struct launch *launch, uint32_t tb_index,
                     const struct tb_needs *needs);
void partition_leave(struct corun_gpu *gpu, uint32_t sm, const struct launch *launch, uint32_t tb_index);
enum corun_status partition_follow(struct corun_gpu *gpu); /* the policy has written allowances */

/* power.c */
void power_written(struct corun_gpu *gpu); /* the policy has written allowances */
void power_follow(struct corun_gpu *gpu);
bool power_ready(const struct corun_gpu *gpu, uint32_t sm); /* it takes thread blocks */
uint64_t power_gated_cycles(const struct corun_gpu *gpu, uint32_t sm);

/* results.c */
void sum_application(const struct corun_gpu *gpu, uint32_t application, struct corun_counters *sum);
void sum_all(const struct corun_gpu *gpu, struct corun_counters *sum); /* also of those that have gone */
/* Without those of thread blocks that were dropped later: may be less than it was. */
uint64_t application_thread_instructions(const struct corun_gpu *gpu, uint32_t application);

#endif
