/* SPDX-License-Identifier: MIT */
/*
 * A machine: what runs the kernels of several applications and obeys a policy. The policy never meets it: between them stands a governor
 * (src/govern), which owns the view, the allowances and the policy's state, calls the policy at its moments, and checks what it wrote.
 *
 *     machine ── arrivals, epochs, thread blocks that left: "it is now …" ──► governor ── view, moment ──► policy
 *        ▲                                                                      │  ▲                         │
 *        └────────────── read, read_epoch, obey, held, follow_limit ────────────┘  └────── allowances ───────┘
 *
 * The machine keeps the time and says what happened; the governor asks back through the operations below, on the same thread, before the
 * call returns. A machine states what it can do (capabilities) and what it can tell (observations). A policy that needs more is
 * refused by name before anything runs, so a machine leaves out what it cannot know: nothing reads it.
 *
 * Indices: SM `s` of sm_count and application `a`, entry [s * application_count + a]. Times count the machine's clock.
 */
#ifndef CORUN_MACHINE_H
#define CORUN_MACHINE_H

#include "corun/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An application as it is now. */
struct corun_application_reading {
    enum corun_application_state state;
    uint64_t arrived, left; /* times; `left` of one that has */
    uint64_t progress; /* since it arrived, in the machine's unit; may become less where work is dropped. PROGRESS */
    uint32_t runs;     /* RUNS */
    uint32_t grids_queued;          /* of this run, behind the running one. RUNS */
    struct corun_grid_view running; /* kernel == NULL: none. Members as the observations say */
    const uint64_t *asked;          /* times, as asked_cycles of the view, up to the next reading */
    uint32_t asked_count;
};

struct corun_sm_reading {
    uint32_t resident_tbs, resident_warps; /* RESIDENT_TBS, RESIDENT_WARPS */
    bool powered, stalled;                 /* POWERED, STALLED */
};

struct corun_share_reading {
    uint32_t resident_tbs, pending_tbs; /* RESIDENT_TBS */
    uint32_t leaving_tbs;               /* PREEMPTIONS */
    bool one_more_fits;                 /* ONE_MORE_FITS */
    int64_t quota;                      /* QUOTA_LEFT */
};

/* What a machine fills, all zero beforehand. */
struct corun_reading {
    uint32_t preemptions_pending;                   /* PREEMPTIONS */
    struct corun_application_reading *applications; /* [application_count] */
    struct corun_sm_reading *sms;                   /* [sm_count] */
    struct corun_share_reading *shares;             /* [s][a] */
};

/* Counts of a share since it began: the governor takes the differences. */
struct corun_share_counts {
    uint64_t thread_instructions, warp_instructions; /* THREAD_INSTRUCTIONS, WARP_INSTRUCTIONS */
    uint64_t issue_cycles;                           /* ISSUE_CYCLES */
    double idle_warps;                               /* mean since the last reading. IDLE_WARPS */
};

/* Thread blocks of an application that an SM has. */
struct corun_held_tbs {
    uint32_t tbs;     /* there, or on their way there */
    uint32_t leaving; /* of these, with the order to leave */
};

struct corun_machine_operations {
    /* Everything as it is now; what the machine cannot tell it leaves. */
    void (*read)(void *machine, struct corun_reading *reading);
    /* The counts of all shares at the end of an epoch, [s][a], all zero beforehand. NULL: it counts none of them. */
    void (*read_epoch)(void *machine, struct corun_share_counts *counts);
    /*
     * Takes the allowances that the policy has written and the governor has checked. The machine follows them from now on, and acts no
     * sooner than its own delay later. `moment` is what the policy was called for (NULL: its start). The tables keep their addresses
     * while the machine is open. The machine does not act on limits here: the governor calls follow_limit for them.
     */
    enum corun_status (*obey)(void *machine, const struct corun_policy_moment *moment,
                              const struct corun_allowances *allowances);
    /* HAND_OVER; NULL without it: then nobody hears of limits that were reached. */
    struct corun_held_tbs (*held)(void *machine, uint32_t sm, uint32_t application);
    /*
     * The application stands above its limit on the SM, or has thread blocks there with the order to leave. The machine gives orders to
     * thread blocks as `reclaim` says, and takes back the orders that are no longer needed. NULL: thread blocks leave only by completing.
     */
    enum corun_status (*follow_limit)(void *machine, uint32_t sm, uint32_t application);
};

/* What stays the same while a machine is open. */
struct corun_machine {
    const char *name;      /* in messages: "the simulated GPU" */
    uint32_t capabilities; /* bit mask of enum corun_capability */
    uint32_t observations; /* bit mask of enum corun_observation_kind */
    enum corun_clock clock;
    uint32_t clock_khz;
    enum corun_progress progress_unit;
    uint64_t epoch; /* its length; the machine may be late, the governor divides by what has passed */
    uint32_t sm_count, schedulers_per_sm;
    uint32_t registers_per_sm, shared_bytes_per_sm, threads_per_sm, tbs_per_sm; /* of an empty SM */
    int64_t largest_quota;                                                      /* either way */
    const struct corun_machine_operations *operations;
    void *machine; /* given to every operation */
};

/*
 * The IPC at which one run takes `milliseconds`, of which `transfer_milliseconds` are copies of data (Wang et al.,
 * ISCA 2017, section 3.2): instructions / (frequency x (time - transfer time)). NAN if no time is left.
 */
double corun_goal_ipc_of_time(uint64_t thread_instructions, uint32_t core_clock_khz, double milliseconds,
                              double transfer_milliseconds);

#ifdef __cplusplus
}
#endif
#endif
