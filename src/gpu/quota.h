/* SPDX-License-Identifier: MIT */
/*
 * Quotas of an SM: how much each application may still issue there, and the warps that may not because it is nothing.
 *
 * A row of counters belongs to what spends them: with CORUN_QUOTA_WARP_AT_ISSUE there is a row for each scheduler, with
 * CORUN_QUOTA_THREAD_AT_COMPLETION row 0 is the SM's. The rules stand in docs/architecture.md, "Quotas".
 */
#ifndef CORUN_GPU_QUOTA_H
#define CORUN_GPU_QUOTA_H

#include "base/vector.h"
#include "corun/policy.h"
#include "corun/source.h"
#include "gpu/sm_limits.h"

#define QUOTA_SLOTS 512u /* cycles that completions can lie ahead before they have to be sorted */
#define QUOTA_LARGEST INT64_C(1000000000000000)

/* What a policy wrote for an SM, and from when on it holds. */
struct quota_order {
    uint64_t cycle;
    bool on;
    enum corun_quota_kind kind;
    uint32_t set, add; /* masks of applications; add: of those that are set */
    int64_t value[CORUN_MAX_APPLICATIONS];
    int64_t refill[CORUN_MAX_APPLICATIONS];
};

/* Lanes that complete at one cycle. Eight bytes: the slots that a stretch of cycles uses are few lines of the host's cache. */
struct completion_slot {
    uint32_t turn; /* the cycle is this times QUOTA_SLOTS and the slot's place, modulo 2^41; what is older is void */
    uint32_t lanes;
};

/* Lanes of instructions that complete at a cycle beyond the slots. */
struct completion {
    uint64_t cycle;
    uint32_t lanes, application;
};

/*
 * THREAD_AT_COMPLETION: what is under way. Counters are without it, since nearly always it does not matter when it
 * completes: what remains at a cycle is the counter and what completes after that.
 */
struct completions {
    struct completion_slot (*slots)[QUOTA_SLOTS]; /* [application_count]; of cycle c: c mod QUOTA_SLOTS */
    uint32_t application_count;
    uint64_t latest[CORUN_MAX_APPLICATIONS];   /* cycle that a slot was used for */
    uint64_t spent_at[CORUN_MAX_APPLICATIONS]; /* when what is under way leaves nothing; NEVER: something remains */
    VECTOR(struct completion) late;            /* farther away than the slots reach */
};

/* Lanes of the application that complete at a cycle within reach of the slots. */
static inline uint32_t completions_at(const struct completions *completions, uint32_t application, uint64_t cycle)
{
    const struct completion_slot *slot = &completions->slots[application][cycle % QUOTA_SLOTS];
    return slot->lanes &
           -(uint32_t)(slot->turn == (uint32_t)(cycle / QUOTA_SLOTS)); /* a branch would be guessed wrong */
}

static inline void completions_note(struct completions *completions, uint32_t application, uint32_t lanes,
                                    uint64_t cycle)
{
    struct completion_slot *slot = &completions->slots[application][cycle % QUOTA_SLOTS];
    uint64_t latest = completions->latest[application];
    slot->lanes = completions_at(completions, application, cycle) + lanes;
    slot->turn = (uint32_t)(cycle / QUOTA_SLOTS);
    completions->latest[application] = cycle > latest ? cycle : latest;
}

struct quotas {
    bool in_use; /* a policy has ever switched them on */
    bool on;
    bool at_completion; /* on, and of that kind */
    bool told;          /* that everything is spent, and nothing has been added since */
    enum corun_quota_kind kind;
    int64_t left[MAX_SCHEDULERS][CORUN_MAX_APPLICATIONS]; /* THREAD_AT_COMPLETION: after all that is under way */
    uint32_t spent[MAX_SCHEDULERS];                       /* applications of which nothing remains: a mask */
    int64_t refill[CORUN_MAX_APPLICATIONS];
    VECTOR(struct quota_order) orders; /* by cycle, from orders_taken on */
    size_t orders_taken;
    struct quota_order announced;    /* the last one, for what has changed since */
    struct completions *completions; /* NULL before they are in use */
};

struct machine_op;
struct sm;

/*
 * Tells the SM what the policy wrote for it: `allowances` has entries [first_entry + application]. Takes effect at
 * `cycle`, which is not before that of an earlier order. false: out of memory.
 */
bool quota_announce(struct sm *sm, uint64_t cycle, const struct corun_allowances *allowances, uint32_t first_entry,
                    uint32_t application_count);
/* Does what is due at sm->now (WAKE_QUOTA): orders, completions, refills. Before warps are picked. */
void quota_attend(struct sm *sm);
/* WARP_AT_ISSUE: an instruction of the application was issued by the scheduler. */
void quota_issued(struct sm *sm, uint32_t scheduler, uint32_t application);
/* An instruction with so many active lanes completes at `cycle`, which may be now. */
void quota_complete(struct sm *sm, uint32_t application, uint32_t lanes, uint64_t cycle);
/*
 * The same where only what is left changes: it completes after `now`, within reach of the slots, and whether anything remains is as it was.
 * false: nothing has been done.
 */
static inline bool quota_complete_quick(struct quotas *quota, uint32_t application, uint32_t lanes, uint64_t now,
                                        uint64_t cycle)
{
    struct completions *completions = quota->completions;
    int64_t left = quota->left[0][application] - lanes;
    if (cycle - now - 1 >= QUOTA_SLOTS - 1 || (left <= 0 && !(quota->spent[0] >> application & 1u)))
        return false;
    quota->left[0][application] = left;
    completions_note(completions, application, lanes, cycle);
    return true;
}
/* Warps of the SM have come or gone: who is left may have nothing left. */
void quota_warps_changed(struct sm *sm);
/* A warp has come: may it issue? */
void quota_warp_begin(struct sm *sm, uint32_t warp);
/*
 * Called when no warp has issued although some are ready and blocked. If nothing can issue and nothing is under way on
 * the SM, except that warps wait for barriers and others for quota: adds what the SM may add, although an application
 * has something left where only its waiting warps could use it.
 */
void quota_unblock(struct sm *sm);
/* As sm_forget_application: nothing is left to it, under way or on order. */
void quota_forget_application(struct sm *sm, uint32_t application);
/* What remains at the start of `cycle`, which is not before sm->now; summed over the rows in use. */
int64_t quota_left(const struct sm *sm, uint32_t application, uint64_t cycle);
void quota_destroy(struct sm *sm);
struct completions *completions_create(uint32_t application_count); /* NULL: out of memory */

#endif
