/* SPDX-License-Identifier: MIT */
/*
 * A governor from inside.
 *
 *   governor.c    create, applications, the policy chosen, open, stop
 *   change.c      another policy on an open machine
 *   moments.c     when the policy is called, and what follows
 *   view.c        what it sees
 *   guard.c       where it may write, how long it may take
 *   allowances.c  whether what it wrote is possible
 *   goal.c        goals as rates
 */
#ifndef CORUN_GOVERN_STATE_H
#define CORUN_GOVERN_STATE_H

#include "govern/governor.h"

#include "base/vector.h"

struct member {
    struct governor_application application;
    uint64_t epoch_progress; /* at the start of the epoch */
    double epoch_ipc, best_epoch_ipc;
};

/* A table that the policy writes, between patterns that it must not change, between pages that nobody can touch. */
struct guarded {
    uint8_t *mapping; /* with the pages at both ends */
    size_t mapped_bytes;
    uint8_t *first, *end; /* of what can be written: the table and the patterns around it */
    uint8_t *table;
    size_t bytes;
    const char *name;
};

struct governor {
    struct corun_machine machine;
    struct governor_limits limits;
    struct corun_diagnostics *list;
    struct member members[CORUN_MAX_APPLICATIONS];
    uint32_t application_count;
    bool open;
    uint64_t now;
    uint64_t epoch_began, next_epoch;

    const struct corun_policy *policy;
    bool started;              /* the policy, and it has not been stopped */
    enum corun_status failure; /* of the policy: it is not called any more, but to stop */
    double *parameters;
    void *state;
    struct corun_allowances allowances;
    struct corun_allowances first; /* by entry, as `start` left them; NULL without a policy */
    uint8_t *checked;         /* their tables, one after the other, as they were when they were last found possible */
    uint32_t checked_scalars; /* the same, of what else counts; 0: they have never been */
    VECTOR(struct guarded) guarded;
    bool quotas_given; /* what the machine has been told of quotas_on and quota_kind */
    enum corun_quota_kind quota_kind_given;
    uint32_t *over_limit; /* [s]: applications above their limit, as a mask */

    struct corun_view view;
    struct corun_application_view *application_views;
    struct corun_sm_view *sm_views;
    struct corun_share_view *share_views;
    struct corun_reading reading;
    bool sms_hidden; /* the policy sees nothing of SMs and shares, and that stands in their views already */
    struct corun_share_counts *counts, *marks; /* [s][a]: now, and at the start of the epoch */
};

/* governor.c */
/* Whether the machine can have the policy at all. POLICY. */
enum corun_status governor_check_policy(const struct governor *governor, const struct corun_policy *policy,
                                        struct corun_diagnostics *list);
enum corun_status take_parameters(struct governor *governor, const struct corun_policy *policy,
                                  const double *parameters, struct corun_diagnostics *list);

/* view.c */
bool view_create(struct governor *governor);
void view_free(struct governor *governor);
void view_declare(struct governor *governor);               /* what the policy sees at all */
void view_read(struct governor *governor);                  /* what there is now, from the machine */
void view_forget(struct governor *governor, uint32_t slot); /* epochs of who had it before */
void view_epoch(struct governor *governor); /* after view_read: what happened in the epoch that has just ended */
void view_fill(struct governor *governor);  /* after view_read: all of it, but what the policy has not declared */

/* guard.c */
/* The arrays that a policy writes, and how many entries they have. */
#define GUARDED_ALLOWANCES(A) \
    A(tb_limit, entries) \
    A(order, entries) \
    A(exclusive, sms) \
    A(reclaim, entries) \
    A(partition, entries) \
    A(powered, sms) \
    A(quota, entries) \
    A(quota_set, entries) \
    A(quota_add, entries) \
    A(quota_refill, entries) \
    A(grant, CORUN_MAX_APPLICATIONS) \
    A(sm_set, CORUN_MAX_APPLICATIONS) \
    A(out_of_reach, CORUN_MAX_APPLICATIONS) \
    A(variables, variables)
/* Zeroed memory that lives as long as the governor; writing past its ends is found out. NULL when out of memory. */
void *guard_allocate(struct governor *governor, size_t count, size_t bytes, const char *name);
void guard_free(struct governor *governor);
void guard_release(struct governor *governor, const void *table); /* one of them; NULL: nothing */
/* One call of the policy; `decide` needs its moment. POLICY with a message if it did what it must not. */
enum guarded_call { GUARDED_START, GUARDED_DECIDE, GUARDED_STOP };
enum corun_status guard_call(struct governor *governor, enum guarded_call call,
                             const struct corun_policy_moment *moment);

/* moments.c */
/* Gives the machine what was written and checked; `moment` as for obey. */
enum corun_status allowances_give(struct governor *governor, const struct corun_policy_moment *moment);

/* The policy has started while applications are there: it is told of them, and limits are followed. */
enum corun_status moments_catch_up(struct governor *governor);

/* allowances.c */
bool allowances_create(struct governor *governor);
void allowances_free(struct governor *governor);
void allowances_clear(struct governor *governor);                /* as a machine begins with, but for `variables` */
void allowances_keep_first(struct governor *governor);           /* `start` has written them */
void allowances_renew(struct governor *governor, uint32_t slot); /* as they were then */
enum corun_status allowances_check(struct governor *governor);

/* goal.c */
/* What is wrong with a goal; NULL: nothing, and *ipc is its rate. */
const char *goal_check(const struct governor *governor, const struct governor_application *application,
                       enum corun_goal_kind kind, double value, double *ipc);

#endif
