/* SPDX-License-Identifier: MIT */
/* Quota-based QoS (Wang et al., "Quality of service support for fine-grained sharing on GPUs", ISCA 2017): what its two halves share. */
#ifndef CORUN_SHARE_QOS_STATE_H
#define CORUN_SHARE_QOS_STATE_H

#include "share/tb_plan.h"

#define QOS_INITIAL_IPC 1.0 /* of a kernel without a goal that has not run an epoch yet */

enum qos_mode { QOS_NAIVE, QOS_ELASTIC, QOS_ROLLOVER, QOS_ROLLOVER_TIME };

struct qos_member {
    double goal_ipc; /* what is aimed at: the goal and the margin; 0: best effort */
    double alpha;
    double artificial_goal; /* of best effort: IPC in this epoch */
    double quota;           /* of all SMs, per epoch */
    double owed;            /* thread instructions that it may still complete by what it was given */
    uint64_t counted;       /* thread instructions when `owed` was brought up to date */
};

struct qos_state {
    enum qos_mode mode;
    bool history, adjusts;
    double margin;
    struct tb_plan plan;
    uint32_t allowed[TB_PLAN_SMS]; /* bit mask: applications that may have thread blocks there */
    uint32_t due[TB_PLAN_SMS];     /* bit mask: applications to which this epoch's adjustment has not come yet there */
    uint32_t next_entry;           /* application * SMs + SM: there the adjustment continues, after the last swap */
    struct qos_member members[CORUN_MAX_APPLICATIONS];
    /*
     * Applications, as a bit mask, whose running kernel lives in the room of their kernel before, and of that kernel: its thread blocks'
     * shape and their places, to which the next one comes back.
     */
    uint32_t guests, old_guests; /* old: for a whole epoch */
    struct tb_shape home_shape[CORUN_MAX_APPLICATIONS];
    uint32_t home_tbs[TB_PLAN_SMS][CORUN_MAX_APPLICATIONS];
    uint64_t swaps; /* thread blocks that run-time adjustment swapped out */
};

/* A goal that is known as IPC. */
bool qos_has_goal(const struct corun_view *view, uint32_t application);
/* Symmetric thread blocks (section 3.6): kernels with goals on every SM, the others on SMs of their own; equal threads in each SM. */
void qos_allocate(struct qos_state *state, const struct corun_view *view);
/*
 * A kernel with other thread blocks than the application's last one (`last`), all of which find place in the room of those, or which are again
 * those that had the room before: what was adjusted for the others stays. False: the plan has to be made anew.
 */
bool qos_stays(struct qos_state *state, const struct corun_view *view, uint32_t application,
               const struct tb_shape *last);
/*
 * Algorithm 3-1: who gets one more thread block on each SM is found at the start of an epoch; where others have to be swapped out for it,
 * the next SM waits until nobody is leaving any more. True if the plan has changed.
 */
bool qos_adjust(struct qos_state *state, const struct corun_view *view, bool *out_of_reach);
bool qos_proceed(struct qos_state *state, const struct corun_view *view);

#endif
