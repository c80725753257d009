/* SPDX-License-Identifier: MIT */
/*
 * The sharing contract: a policy never touches a machine; it reads a view and writes allowances, and a machine obeys.
 *
 * Both tables are indexed by SM `s` and application `a`: entry [s * application_count + a]. Applications keep their
 * index until they have left; one that has not arrived or has left is marked so. Where applications come and go, another one may arrive
 * later under the index of one that has left: it is a new one, and its entries are again as `start` left them. A policy is called at few, named moments
 * (enum corun_policy_event). What it writes takes effect no sooner than one trip through the interconnect later. A
 * machine checks what was written before it obeys: an impossible allowance ends the run with status POLICY and names the policy.
 *
 * The same file serves built-in policies and shared objects (--policy ./mine.so, docs/writing-policies.md): one exported
 * `const struct corun_policy corun_policy`.
 */
#ifndef CORUN_POLICY_H
#define CORUN_POLICY_H

#include "corun/source.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CORUN_POLICY_VERSION 6u
#define CORUN_UNLIMITED UINT32_MAX
#define CORUN_POLICY_SECONDS 10 /* of the host, that one call of a policy may take */

/* What a machine can do. C(name, meaning) */
#define CORUN_CAPABILITIES(C) \
    C(TB_LIMIT, "limits thread blocks per SM and application") \
    C(ORDER, "ranks applications when an SM is filled") \
    C(EXCLUSIVE, "keeps applications from mixing on one SM") \
    C(DRAIN, "lowers a limit by letting thread blocks complete") \
    C(SWAP_TB, "swaps single thread blocks out and in") \
    C(SWITCH_SM, "saves all thread blocks of a stalled SM") \
    C(DROP, "abandons thread blocks and starts them again") \
    C(PARTITION, "allocates an application's thread blocks in a given range of resources") \
    C(QUOTA, "stops issuing an application's warps when its quota is spent") \
    C(POWER, "switches single SMs off") \
    C(GRANT, "holds launches of an application back") \
    C(APART, "keeps launches of applications on SMs apart from each other")

/* clang-format off */
enum corun_capability {
#define CORUN_CAPABILITY_ENUM(name, meaning) CORUN_CAN_##name,
    CORUN_CAPABILITIES(CORUN_CAPABILITY_ENUM)
#undef CORUN_CAPABILITY_ENUM
    CORUN_CAPABILITY_COUNT
};
/* clang-format on */

/*
 * What a machine can tell of what happens on it. A policy declares what it reads (`observes`); a machine that cannot tell that does not get
 * it. O(name, meaning)
 */
#define CORUN_OBSERVATIONS(O) \
    O(PROGRESS, "tells how far each application has come, and at what rate") \
    O(RUNS, "tells when a run of an application ends, and what is left of one") \
    O(RESIDENT_TBS, "tells which application's thread blocks an SM holds, and which are on their way") \
    O(RESIDENT_WARPS, "counts the warps on an SM") \
    O(TB_PROGRESS, "tells how many thread blocks of a grid wait, and how many are complete") \
    O(TB_RESOURCES, "knows the registers and the shared memory of a thread block and of an SM") \
    O(OCCUPANCY, "knows how many thread blocks of a kernel fit an SM") \
    O(ONE_MORE_FITS, "tells whether one more thread block fits an SM now") \
    O(TB_COMPLETE, "tells each thread block that completes") \
    O(HAND_OVER, "tells when an SM is back under a lowered limit") \
    O(PREEMPTIONS, "tells which thread blocks are being swapped out or in") \
    O(STALLED, "tells when a switch stalls an SM") \
    O(POWERED, "tells which SMs have power") \
    O(THREAD_INSTRUCTIONS, "counts thread instructions by SM and application") \
    O(WARP_INSTRUCTIONS, "counts warp instructions by SM and application") \
    O(ISSUE_CYCLES, "counts the cycles in which an application issues on an SM") \
    O(IDLE_WARPS, "samples the ready warps that are not picked") \
    O(QUOTA_LEFT, "tells what remains of a quota") \
    O(IDEMPOTENCE, "knows whether thread blocks of a kernel may be started again")

/* clang-format off */
enum corun_observation_kind {
#define CORUN_OBSERVATION_ENUM(name, meaning) CORUN_SEES_##name,
    CORUN_OBSERVATIONS(CORUN_OBSERVATION_ENUM)
#undef CORUN_OBSERVATION_ENUM
    CORUN_OBSERVATION_COUNT
};
/* clang-format on */
#define CORUN_ALL_OBSERVATIONS ((UINT32_C(1) << CORUN_OBSERVATION_COUNT) - 1)

/*
 * The members of a view that an observation is needed for. Where a machine cannot tell it, or the policy has not declared it, the
 * member is not known: NAN, the largest number of an unsigned type, INT64_MIN; false where it is a bool. F(table, member, observation)
 */
#define CORUN_OBSERVED_MEMBERS(F) \
    F(applications, progress, PROGRESS) \
    F(applications, epoch_ipc, PROGRESS) \
    F(applications, ipc, PROGRESS) \
    F(applications, runs, RUNS) \
    F(applications, grids_queued, RUNS) \
    F(applications, running.tbs_waiting, TB_PROGRESS) \
    F(applications, running.tbs_completed, TB_PROGRESS) \
    F(applications, running.tb_registers, TB_RESOURCES) \
    F(applications, running.tb_shared_bytes, TB_RESOURCES) \
    F(applications, running.tbs_per_sm, OCCUPANCY) \
    F(applications, running.tbs_preempted, PREEMPTIONS) \
    F(applications, running.idempotent, IDEMPOTENCE) \
    F(sms, resident_tbs, RESIDENT_TBS) \
    F(sms, resident_warps, RESIDENT_WARPS) \
    F(sms, handing_over, HAND_OVER) \
    F(sms, stalled, STALLED) \
    F(sms, powered, POWERED) \
    F(shares, resident_tbs, RESIDENT_TBS) \
    F(shares, pending_tbs, RESIDENT_TBS) \
    F(shares, one_more_fits, ONE_MORE_FITS) \
    F(shares, leaving_tbs, PREEMPTIONS) \
    F(shares, quota, QUOTA_LEFT) \
    F(shares, thread_instructions, THREAD_INSTRUCTIONS) \
    F(shares, warp_instructions, WARP_INSTRUCTIONS) \
    F(shares, issue_cycles, ISSUE_CYCLES) \
    F(shares, idle_warps, IDLE_WARPS)

/* What the time of a machine counts, at its clock_khz. */
enum corun_clock {
    CORUN_CLOCK_CYCLES,     /* of the cores */
    CORUN_CLOCK_NANOSECONDS /* clock_khz is 1 000 000 */
};

/* What a machine measures progress in. Rates, goals and isolated rates of a machine are all of one unit. */
enum corun_progress {
    CORUN_PROGRESS_THREAD_INSTRUCTIONS,
    CORUN_PROGRESS_THREAD_BLOCKS /* done, of whatever size: rates are compared only within an application */
};

enum corun_goal_kind {
    CORUN_GOAL_NONE,             /* best effort */
    CORUN_GOAL_FRACTION,         /* of the isolated IPC, 0 < value <= 1 */
    CORUN_GOAL_IPC,              /* thread instructions per cycle of the whole GPU */
    CORUN_GOAL_MILLISECONDS,     /* one run of the application */
    CORUN_GOAL_FRAMES_PER_SECOND /* runs of the application per second */
};

enum corun_application_state {
    CORUN_APPLICATION_ABSENT, /* not arrived yet */
    CORUN_APPLICATION_RUNNING,
    CORUN_APPLICATION_LEFT
};

struct corun_grid_view {
    const char *kernel;
    uint32_t tbs;         /* of the grid */
    uint32_t tbs_waiting; /* not yet dispatched */
    uint32_t tbs_completed;
    uint32_t tb_threads; /* as allocated: of whole warps */
    uint32_t tb_warps;
    uint32_t tb_registers; /* 32-bit registers, as allocated */
    uint32_t tb_shared_bytes;
    uint32_t tbs_per_sm;    /* that fit an empty SM */
    uint32_t tbs_preempted; /* swapped out and waiting to resume, of all grids in flight; they start before new ones */
    /* Thread blocks of all grids in flight may be dropped and started again: none reads what it writes (conservative). */
    bool idempotent;
};

/* Launches of one run that are alike. */
struct corun_launch_view {
    uint32_t tbs; /* of each grid */
    uint32_t tbs_per_sm;
    uint32_t launches;
};

struct corun_application_view {
    const char *name; /* "": nobody has had the slot yet */
    enum corun_application_state state;
    enum corun_goal_kind goal;
    double goal_value;
    double goal_ipc;     /* the goal as progress per cycle; 0 if none or not known */
    double isolated_ipc; /* 0 if not known */
    double epoch_ipc;    /* last epoch */
    double ipc;          /* since it arrived */
    uint64_t arrived_cycle;
    uint64_t progress; /* since it arrived: thread instructions, unless the machine counts something else */
    uint32_t runs;     /* completed */
    struct corun_grid_view running; /* kernel == NULL if none; of several the first, by priority, then by launch */
    uint32_t grids_queued;          /* of this run, after the running one, as far as run_launches is known */
    const double *speedup;          /* speed-up over one SM with 1..speedup_count SMs; NULL if not known */
    uint32_t speedup_count;
    const struct corun_launch_view *run_launches; /* all that one run launches; NULL if not known beforehand */
    uint32_t run_launch_count;
    /* When runs were asked for that have not ended, in that order; the first is under way. NULL: nobody asks for them, or nobody tells. */
    const uint64_t *asked_cycles;
    uint32_t asked_count;
};

/* One (SM, application). Counts are of the last epoch unless said otherwise. */
struct corun_share_view {
    uint32_t resident_tbs; /* now */
    uint32_t pending_tbs;  /* on their way to the SM */
    bool one_more_fits;    /* by resources and limits of the SM, whatever the allowances say */
    uint64_t warp_instructions;
    uint64_t thread_instructions;
    uint64_t issue_cycles; /* scheduler cycles in which it issued */
    double idle_warps;     /* mean ready warps that were not picked, sampled 100 times an epoch */
    int64_t quota;         /* what remains, now; of WARP_AT_ISSUE summed over the schedulers */
    uint32_t leaving_tbs;  /* of the resident ones: being swapped out */
};

struct corun_sm_view {
    bool powered; /* now: one that is to be switched off has power until it is empty, one that wakes has it already */
    bool handing_over; /* holds thread blocks above a lowered limit */
    bool stalled;      /* a switch of the whole SM is under way */
    uint32_t resident_tbs;
    uint32_t resident_warps;
};

struct corun_view {
    uint32_t version; /* CORUN_POLICY_VERSION */
    uint64_t cycle;   /* now. This and all that is called cycles, or per cycle, counts the machine's clock */
    uint64_t epoch_cycles;
    uint64_t window_cycles; /* 0: not limited by cycles */
    uint32_t sm_count;
    uint32_t application_count;
    uint32_t capabilities; /* bit mask of enum corun_capability */
    uint32_t observations; /* bit mask of enum corun_observation_kind: what of the view is known */
    enum corun_clock clock;
    uint32_t clock_khz;
    enum corun_progress progress_unit;
    uint32_t schedulers_per_sm;
    uint32_t registers_per_sm, shared_bytes_per_sm; /* of an empty SM; TB_RESOURCES, else UINT32_MAX */
    uint32_t threads_per_sm, tbs_per_sm;            /* the same, always known */
    uint32_t preemptions_pending; /* thread blocks being swapped out or in, on all SMs; PREEMPTIONS, else UINT32_MAX */
    const struct corun_application_view *applications; /* [application_count] */
    const struct corun_sm_view *sms;                   /* [sm_count] */
    const struct corun_share_view *shares;             /* [sm_count * application_count] */
};

enum corun_reclaim { CORUN_RECLAIM_DRAIN, CORUN_RECLAIM_SWAP_TB, CORUN_RECLAIM_SWITCH_SM, CORUN_RECLAIM_DROP };

enum corun_fill_rule {
    CORUN_FILL_ROUND_ROBIN,   /* the next SM after the last one that got a thread block */
    CORUN_FILL_EMPTIEST_FIRST /* the SM with the fewest resident thread blocks, lowest index first */
};

enum corun_quota_kind { CORUN_QUOTA_WARP_AT_ISSUE, CORUN_QUOTA_THREAD_AT_COMPLETION };

/* The SMs that launches may be on, where a machine can keep them APART. */
enum corun_sm_set {
    CORUN_SMS_ALL,
    CORUN_SMS_APART, /* so many as the policy's parameter "apart" says beforehand, or a few more: drivers divide SMs in groups */
    CORUN_SMS_REST, /* all but those */
    CORUN_SM_SETS
};

/* A contiguous part of an SM. All zero: no partition. */
struct corun_partition {
    uint32_t first_register, register_count;
    uint32_t first_shared_byte, shared_bytes;
    uint32_t thread_count, tb_slots;
};

/*
 * Quotas. An SM keeps a counter for each application; with WARP_AT_ISSUE, each scheduler of the SM keeps one. WARP_AT_ISSUE takes off 1 for
 * each warp instruction that issues. THREAD_AT_COMPLETION takes off the active lanes of each instruction that completes. Warps whose counter
 * is not above 0 do not issue. When no application with live warps there has anything left, the SM (with WARP_AT_ISSUE: the scheduler)
 * adds quota_refill by itself, at once. QUOTAS_SPENT follows at the next moment at which the policy can be called.
 *
 * The allowance table. It persists between calls: a policy changes what it wants changed. It starts with no limits
 * (every tb_limit and grant UNLIMITED, order equal, nothing exclusive, drain, everything powered, no quotas).
 */
struct corun_allowances {
    uint32_t *tb_limit;          /* [s][a]: thread blocks that s may hold of a; 0 = none, UNLIMITED = as many as fit */
    uint32_t *order;             /* [s][a]: rank, lower is tried first; equal ranks in order of arrival */
    bool *exclusive;             /* [s]: no thread block of another application enters until the old ones are gone */
    enum corun_reclaim *reclaim; /* [s][a]: how s gets back under a lowered limit */
    struct corun_partition *partition; /* [s][a] */
    bool *powered;                     /* [s]: off takes effect when s is empty */
    int64_t *quota;        /* [s][a]: what the counter becomes, or is raised by; of WARP_AT_ISSUE: of each scheduler */
    bool *quota_set;       /* [s][a]: quota takes effect this time; the machine clears it */
    bool *quota_add;       /* [s][a]: quota is added to what remains (else it replaces it) */
    int64_t *quota_refill; /* [s][a]: what the SM adds by itself when all have spent theirs; 0: nothing */
    bool quotas_on;        /* warps without remaining quota do not issue */
    enum corun_quota_kind quota_kind;
    /*
     * [a]: thread blocks that a may have in flight, in launches. 0: nothing new is launched; what is in flight ends. UNLIMITED: launches go as
     * the program has them. Else a launch goes in slices of no more thread blocks than that together (Zhong and He, Kernelet, TPDS 2014,
     * section 4.1); one that cannot be sliced goes whole, when nothing of a is in flight.
     */
    uint32_t *grant;
    enum corun_sm_set
        *sm_set; /* [a]: on which SMs runs what is launched of a from now on; what is in flight stays where it is */
    bool free_transfers; /* state is saved and restored in no time and without traffic: to measure what they cost */
    /* [a]: it has all that the policy can give it, and still misses its goal. Is reported, changes nothing. */
    bool *out_of_reach;
    double *variables; /* [variable_count] as the policy declares them: shown in timelines, they change nothing */
    enum corun_fill_rule fill;
    /* In words, why `start` does not return OK: the machine quotes it in its message. Constant text; may stay NULL. */
    const char *refusal;
};

enum corun_policy_event {
    CORUN_EVENT_ARRIVE,        /* `application` has arrived */
    CORUN_EVENT_LEAVE,         /* `application` has left */
    CORUN_EVENT_KERNEL_START,  /* `application` has launched a grid */
    CORUN_EVENT_RUN_COMPLETE,  /* `application` has ended a run; it is about to start over, unless it leaves */
    CORUN_EVENT_EPOCH,         /* an epoch has ended */
    CORUN_EVENT_QUOTAS_SPENT,  /* on `sm`, all applications with runnable warps have spent theirs */
    CORUN_EVENT_LIMIT_REACHED, /* on `sm`, `application` is back under its lowered limit */
    CORUN_EVENT_TB_COMPLETE    /* a thread block of `application` has completed on `sm`; only if wants_tb_complete */
};

struct corun_policy_moment {
    enum corun_policy_event event;
    uint32_t sm;          /* where it applies */
    uint32_t application; /* where it applies */
};

/*
 * A parameter: every value is a double; integers are checked to be such. A parameter with `choices` ("product|sum", "off|on") is written
 * by name, its value is the place in the list. Parameters NAME_1, NAME_2, … can be written as a list: NAME=8/22.
 */
struct corun_policy_parameter {
    const char *name;
    double initial, lowest, highest;
    bool integer;
    const char *meaning;
    const char *choices; /* NULL: a number */
};

/* A variable of its controller that a policy shows (allowances->variables); NAN: not known now. */
struct corun_policy_variable {
    const char *name, *meaning;
};

struct corun_policy {
    uint32_t version; /* CORUN_POLICY_VERSION */
    const char *name;
    const char *summary; /* one line */
    const char *paper;   /* paper and section */
    const struct corun_policy_parameter *parameters;
    uint32_t parameter_count;
    /*
     * Bit mask of enum corun_capability that it cannot do without. A parameter with the word "drop" says, where that is chosen, that it may drop
     * thread blocks, and one by the name "apart", where it is not 0, that it may keep launches on so many SMs (enum corun_sm_set): a machine may have to prepare
     * kernels or streams for that.
     */
    uint32_t needs;
    uint32_t
        observes; /* bit mask of enum corun_observation_kind: all that it reads. What is not in it, its view does not have */
    const struct corun_policy_variable *variables;
    uint32_t variable_count;
    bool needs_isolated_ipc; /* isolated baselines must be known before it starts */
    /*
     * Speed-up curves over SMs must be known before it starts. Parameters by the names "window" (cycles of each profiling run; 0: the
     * case's own window) and "points" (on how many numbers of SMs; 0: on each; between them the curve is linear) say how they are measured.
     */
    bool needs_speedup;
    bool wants_tb_complete;
    size_t state_bytes; /* zeroed, given to every call */
    /* Before the first event: checks its parameters against the machine; what it returns other than OK ends the run. */
    enum corun_status (*start)(void *state, const struct corun_view *view, const double *parameters,
                               struct corun_allowances *allowances);
    void (*decide)(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                   struct corun_allowances *allowances);
    void (*stop)(void *state); /* may be NULL */
};

/* The built-in policies, in order of introduction; NULL after the last. */
const struct corun_policy *corun_policy_at(size_t index);
const struct corun_policy *corun_policy_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
