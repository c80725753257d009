/* SPDX-License-Identifier: MIT */
/*
 * How many thread blocks of each application every SM is to hold: what policies that share inside the SM plan with. Resources of thread
 * blocks are those of the running kernel, or of the last one while none runs.
 */
#ifndef CORUN_SHARE_TB_PLAN_H
#define CORUN_SHARE_TB_PLAN_H

#include "corun/policy.h"

#define TB_PLAN_SMS 1024u
#define TB_PLAN_NEVER UINT32_MAX

enum tb_resource { TB_REGISTERS, TB_SHARED_BYTES, TB_THREADS, TB_SLOTS, TB_RESOURCES };

struct tb_shape {
    uint32_t needs[TB_RESOURCES]; /* of one thread block; TB_SLOTS is 1, or 0 while no kernel has been seen */
    uint32_t warps, tbs_per_sm;
};

struct tb_plan {
    uint32_t sm_count, application_count;
    uint32_t capacity[TB_RESOURCES]; /* of an SM */
    bool present[CORUN_MAX_APPLICATIONS];
    struct tb_shape shapes[CORUN_MAX_APPLICATIONS];
    uint32_t tbs[TB_PLAN_SMS][CORUN_MAX_APPLICATIONS];
};

/* Part of the whole, in 2^-32: whole numbers, so that equal shares are equal. */
typedef uint64_t tb_share;
#define TB_SHARE_ONE (UINT64_C(1) << 32)

/* What a policy with a plan observes; in addition, whoever asks tb_held or tb_waiting. */
#define TB_PLAN_OBSERVES (1u << CORUN_SEES_TB_RESOURCES | 1u << CORUN_SEES_OCCUPANCY)
#define TB_HELD_OBSERVES (1u << CORUN_SEES_RESIDENT_TBS)
#define TB_WAITING_OBSERVES (1u << CORUN_SEES_TB_PROGRESS | 1u << CORUN_SEES_PREEMPTIONS)

/* Nobody has any. False if the machine has more SMs than fit; *refusal says so. */
bool tb_plan_start(struct tb_plan *plan, const struct corun_view *view, const char **refusal);
/* Follows arrivals, departures and kernels; true if who is there, or the shape of a thread block, has changed. */
bool tb_plan_note(struct tb_plan *plan, const struct corun_view *view, struct corun_policy_moment moment);
/* Applications that are there and have shown a kernel, as a bit mask. */
uint32_t tb_plan_members(const struct tb_plan *plan);

uint32_t tb_plan_total(const struct tb_plan *plan, uint32_t application);
/* Whether one more thread block of the application fits what is planned for the SM. */
bool tb_plan_fits(const struct tb_plan *plan, uint32_t sm, uint32_t application);
/*
 * How many thread blocks of `victim` have to leave the SM so that one more of the application fits; 0 if it fits, NEVER if all of
 * them are not enough.
 */
uint32_t tb_plan_victims(const struct tb_plan *plan, uint32_t sm, uint32_t application, uint32_t victim);
/* The largest share that so many thread blocks of one shape take of any resource of `sms` SMs (dominant share, rK). */
tb_share tb_plan_dominant(const struct tb_plan *plan, uint32_t application, uint32_t tbs, uint32_t sms);
/* The same of all thread blocks on an SM together, without those of `without` (rSM); `without` may be NEVER. */
tb_share tb_plan_sm_share(const struct tb_plan *plan, uint32_t sm, uint32_t without);

enum tb_measure { TB_DOMINANT_SHARE, TB_THREAD_COUNT };
/*
 * Fills an empty SM: each time, the member that has least gets one thread block; one that does not fit any more stays with what it
 * has, while the others get more. Of equal ones, that which has more thread blocks (smaller ones, which leaves them closer together), then the first.
 */
void tb_plan_fill(const struct tb_plan *plan, uint32_t members, enum tb_measure measure,
                  uint32_t tbs[CORUN_MAX_APPLICATIONS]);

/* On the machine now, by its view: resident and on their way. */
uint32_t tb_held(const struct corun_view *view, uint32_t sm, uint32_t application);
/* Thread blocks that can be started or resumed. */
uint32_t tb_waiting(const struct corun_view *view, uint32_t application);
/* The plan becomes the limits; what is above them is swapped out. */
void tb_plan_allow(const struct tb_plan *plan, struct corun_allowances *allowances);

#endif
