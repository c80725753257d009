/* SPDX-License-Identifier: MIT */
/*
 * The contract of kernel schedulers: launches of many users are ready, and there is one GPU. A scheduler never touches a machine: it reads
 * a view of the ready queue and writes a plan, that is which launches run side by side, in slices of how many thread blocks, and until
 * when. A machine obeys: a discrete-event simulation, the simulated GPU, or a CUDA driver (docs/queue.md; Zhong and He, Kernelet, TPDS 2014,
 * sections 3.2 and 4.2).
 *
 * A launch is a grid whose data are on the GPU. Launches of one kernel with the same shape and the same kind of data are of one KIND: what
 * is known of a kernel is known of its kind, and so decisions can be kept by kinds. A SLICE is the thread blocks [first, first + n) of a
 * launch. Slices of a launch may run in any order and side by side.
 *
 * A scheduler is called when the plan has ended (`until`), and writes the next one. What was handed to the machine runs to its end: a plan
 * decides only what follows. The queue checks a plan before the machine obeys; an impossible plan ends the run with status POLICY and
 * names the scheduler.
 *
 * The same file serves built-in schedulers and shared objects (--scheduler ./mine.so): one exported
 * `const struct corun_queue_scheduler corun_queue_scheduler`.
 */
#ifndef CORUN_QUEUE_H
#define CORUN_QUEUE_H

#include "corun/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CORUN_QUEUE_VERSION 1u
#define CORUN_QUEUE_MAX_GRANTS 16u /* launches side by side: as many as the first GPUs with concurrent kernels took */
#define CORUN_QUEUE_MAX_KINDS 4096u
#define CORUN_QUEUE_NONE UINT32_MAX /* no launch */

/*
 * What is known of a kernel: from counters of its first launch on the simulated GPU, elsewhere from the functional executor on a sample of
 * thread blocks. What is not known is NAN; 0 where the type is an integer.
 */
struct corun_queue_profile {
    uint32_t tbs; /* thread blocks of a launch */
    uint32_t tb_threads, tb_warps;
    uint32_t tb_registers, tb_shared_bytes; /* 32-bit registers and bytes of a thread block, as allocated */
    uint32_t tb_barriers;
    uint32_t tbs_per_sm;         /* that fit an empty SM, at least 1 */
    double tb_instructions;      /* I_K: warp instructions of a thread block, mean */
    double memory_share;         /* R_m: of its warp instructions, those after which the warp waits for memory */
    double uncoalesced_share;    /* of these, the uncoalesced ones */
    double coalesced_requests;   /* memory requests of a coalesced access, at least 1 */
    double uncoalesced_requests; /* the same of an uncoalesced access, up to 32 */
    double ipc;                  /* warp instructions per core cycle and SM, alone and not sliced; measured */
    double pipeline_utilization; /* PUR: ipc over what an SM can issue at most */
    double memory_utilization;   /* MUR: DRAM bytes over what the pins can move in the same time */
    /*
     * The smallest slice, in thread blocks, with which the kernel alone takes no more than p longer than in one launch, measured, as many
     * slices in flight as fill the GPU (Kernelet, section 4.1; p is 2 % there). `tbs`: any slice costs more. 0: not known.
     */
    uint32_t smallest_slice;
    uint64_t alone_ticks; /* of a launch alone and not sliced; 0: not known */
};

/* Memory latency with x requests under way on each SM: slope * x + base, in core cycles (a0 and b0; Kernelet, section 4.3). */
struct corun_queue_latency {
    double slope, base;
};

/* The GPU, as a scheduler sees it. */
struct corun_queue_device {
    const char *name;
    enum corun_clock clock; /* what ticks count: core cycles, or nanoseconds */
    uint32_t clock_khz;     /* ticks in a millisecond */
    uint32_t core_khz;
    uint32_t sm_count;
    uint32_t schedulers_per_sm;
    double
        issue_rate; /* warp instructions that a scheduler can issue in a core cycle: 0.5 on Fermi, 2 with dual issue */
    uint32_t threads_per_sm, tbs_per_sm, registers_per_sm, shared_bytes_per_sm, barriers_per_sm; /* of an empty SM */
    uint64_t launch_ticks;                             /* that go by from one launch to the next of the same stream */
    struct corun_queue_latency coalesced, uncoalesced; /* fitted to micro-benchmarks on this GPU; NAN: not known */
};

struct corun_queue_kind {
    const char *name;
    struct corun_queue_profile profile;
    uint32_t pending; /* launches with thread blocks left to hand out */
    uint32_t
        first; /* the oldest of these, an index into the view's launches; then `next_of_kind`. NONE if there are none */
};

/* A ready launch with thread blocks left to hand out. Others may stand in the array too; only what `first` and `next` lead to counts. */
struct corun_queue_launch {
    uint32_t kind;
    uint32_t user;    /* who submitted it: a number of the machine's */
    uint64_t number;  /* 0, 1, … in the order in which launches became ready */
    uint64_t arrived; /* when it was submitted, in ticks; its data were copied from then until `ready` */
    uint64_t ready;
    uint32_t tbs;          /* of its grid */
    uint32_t handed_out;   /* [0, handed_out) have been handed to the machine, */
    uint32_t completed;    /* and so many of these are complete */
    uint32_t next;         /* in the order of readiness; NONE after the last */
    uint32_t next_of_kind; /* the same among those of its kind */
};

/* After what a plan may end. E(name, bit, meaning) */
#define CORUN_QUEUE_EVENTS(E) \
    E(READY, 0, "a launch has become ready") \
    E(NEW_KIND, 1, "a launch has become ready, and no launch of its kind was pending") \
    E(EXHAUSTED, 2, "the last thread block of a granted launch has been handed out") \
    E(SLICE_END, 3, "a slice has ended") \
    E(LAUNCH_END, 4, "a launch has ended")

/* clang-format off */
enum corun_queue_event {
#define CORUN_QUEUE_EVENT_ENUM(name, bit, meaning) CORUN_QUEUE_##name = 1 << (bit),
    CORUN_QUEUE_EVENTS(CORUN_QUEUE_EVENT_ENUM)
#undef CORUN_QUEUE_EVENT_ENUM
};
/* clang-format on */

/* One launch of a plan, to which the machine gives a strand: what one stream, or a few in turn, hold. */
struct corun_queue_grant {
    uint32_t launch;    /* an index into the view's launches */
    uint32_t slice_tbs; /* thread blocks of a slice, the last one may have fewer; 0: all that is left, at once */
    /*
     * Thread blocks of the launch that may be in flight: a slice is handed out when it fits. 0: no limit; else at least slice_tbs. As much
     * as slice_tbs: one slice after the other. This is what leaves room on the SMs for the other kernel.
     */
    uint32_t in_flight_tbs;
};

/*
 * What runs next. Grants are obeyed in their order: where both could have a slice at the same moment, the first one has it. A launch that
 * the last plan had, too, keeps its strand. The plan ends with the first event of `until`, and in any case when all granted launches are
 * exhausted. No grants: wait for READY or LAUNCH_END; only while slices are in flight.
 */
struct corun_queue_plan {
    uint32_t grant_count;
    struct corun_queue_grant grants[CORUN_QUEUE_MAX_GRANTS]; /* of different launches */
    uint32_t until;                                          /* mask of enum corun_queue_event */
    double
        profit; /* that the scheduler expects: share of the time saved against one after the other; NAN: not said. Is reported */
};

/* A co-schedule: two kinds that run side by side for a long time in slices, or one alone (kinds[1] is NONE). */
struct corun_queue_co_schedule {
    uint32_t kinds[2];
    uint32_t slice_tbs[2], in_flight_tbs[2]; /* as in a grant */
};

/* In so many ticks, so many thread blocks of each kind complete. */
struct corun_queue_speeds {
    uint64_t tbs[2], ticks;
};

struct corun_queue_view {
    uint32_t version; /* CORUN_QUEUE_VERSION */
    uint64_t now;     /* ticks */
    uint32_t events;  /* mask: what has happened since the last plan was written */
    const struct corun_queue_device *device;
    uint32_t kind_count; /* grows: a kind keeps its index for ever */
    const struct corun_queue_kind *kinds;
    uint32_t launch_count; /* length of the array */
    const struct corun_queue_launch
        *launches;                       /* a launch keeps its index until it has ended; then another one may have it */
    uint32_t pending;                    /* launches with thread blocks left to hand out */
    uint32_t first;                      /* the oldest of these; NONE if there are none */
    uint32_t in_flight;                  /* slices that the machine holds */
    const struct corun_queue_plan *plan; /* the last one; no grants at the beginning */
    /*
     * The speeds of a co-schedule, measured on the machine. May take long the first time. false: it could not be measured. NULL unless
     * the scheduler `needs_measured`.
     */
    bool (*measure)(void *measurer, const struct corun_queue_co_schedule *co_schedule,
                    struct corun_queue_speeds *speeds);
    void *measurer;
    uint64_t seed; /* of the run, for schedulers that draw lots */
};

struct corun_queue_scheduler {
    uint32_t version; /* CORUN_QUEUE_VERSION */
    const char *name;
    const char *summary;                             /* one line */
    const char *paper;                               /* paper and section */
    const struct corun_policy_parameter *parameters; /* as those of policies */
    uint32_t parameter_count;
    bool needs_profiles; /* kinds must be profiled before their first launch is ready */
    bool needs_measured; /* the machine must be able to measure co-schedules */
    size_t state_bytes;  /* zeroed, given to every call */
    /* Before the first plan; may be NULL. What it returns other than OK ends the run; *refusal says why (constant text). */
    enum corun_status (*start)(void *state, const struct corun_queue_device *device, const double *parameters,
                               const char **refusal);
    /* Writes the next plan; it comes without grants, until nothing, with profit NAN. Other than OK (MEMORY) ends the run. */
    enum corun_status (*plan)(void *state, const struct corun_queue_view *view, struct corun_queue_plan *plan);
    void (*stop)(void *state); /* may be NULL */
};

/* The built-in schedulers, in order of introduction; NULL after the last. */
const struct corun_queue_scheduler *corun_queue_scheduler_at(size_t index);
const struct corun_queue_scheduler *corun_queue_scheduler_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
