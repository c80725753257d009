/* SPDX-License-Identifier: MIT */
/* Whose SM is which: what policies that hand over whole SMs share. An SM has one owner, or nobody has it. */
#ifndef CORUN_SHARE_SM_OWNERS_H
#define CORUN_SHARE_SM_OWNERS_H

#include "corun/policy.h"

#define SM_OWNERS_MAX 1024u
#define SM_NOBODY UINT8_MAX

struct sm_owners {
    uint32_t sm_count, application_count;
    uint8_t owner[SM_OWNERS_MAX]; /* application or SM_NOBODY */
};

/* Nobody has any. False if the machine has more SMs than fit; *refusal says so. */
bool sm_owners_start(struct sm_owners *owners, const struct corun_view *view, const char **refusal);
/* The same where every application is to have SMs of its own: false also if there are more applications than SMs. */
bool sm_owners_start_apart(struct sm_owners *owners, const struct corun_view *view, const char **refusal);
/* The values of a parameter `reclaim`, the same for every policy that hands over whole SMs. */
#define SM_RECLAIM_WORDS "drain|switch|drop"
enum sm_reclaim { SM_RECLAIM_DRAIN, SM_RECLAIM_SWITCH, SM_RECLAIM_DROP };
#define SM_RECLAIM_OBSERVES (1u << CORUN_SEES_IDEMPOTENCE) /* of a policy with that parameter */
enum corun_reclaim sm_reclaim(double value);
/*
 * Whether the machine can hand over SMs by draining them, by a switch, or by dropping what is there; if not, *refusal says what the parameter
 * `reclaim` of the policy is to be.
 */
bool sm_owners_can(const struct corun_view *view, enum corun_reclaim reclaim, const char **refusal);
/* How many SMs an application has; with SM_NOBODY, how many are free. */
uint32_t sm_owners_count(const struct sm_owners *owners, uint32_t application);
/* counts[a] SMs for each application, one contiguous set after the other; what is left over belongs to nobody. */
void sm_owners_split(struct sm_owners *owners, const uint32_t *counts);
/*
 * Gives one SM of `from` to `to` (either may be SM_NOBODY); false if `from` has none. Taken is the one that changes
 * hands soonest: one where `to` still has thread blocks, else the one with the fewest of `from`; among equal ones that
 * at the border of the two sets.
 */
bool sm_owners_move(struct sm_owners *owners, const struct corun_view *view, uint32_t from, uint32_t to);
/*
 * No SM that an application has or had is still being handed over: no foreign thread blocks on its own, none of its on
 * others.
 */
bool sm_owners_settled(const struct sm_owners *owners, const struct corun_view *view, uint32_t application);
/*
 * SMs on which it runs or may run: its own without foreign thread blocks, and those of others that its own have not
 * left yet.
 */
uint32_t sm_owners_held(const struct sm_owners *owners, const struct corun_view *view, uint32_t application);
/* SMs that still hold thread blocks of somebody who does not own them. */
uint32_t sm_owners_changing(const struct sm_owners *owners, const struct corun_view *view);
/*
 * The allowances: an owner takes what fits, nobody else anything; exclusive; SMs of nobody lose their power if `gate`. With DROP, what cannot start again
 * drains.
 */
void sm_owners_allow(const struct sm_owners *owners, const struct corun_view *view, enum corun_reclaim reclaim,
                     bool gate, struct corun_allowances *allowances);

/* Progress and cycle at some moment: where a measurement begins. */
struct progress_mark {
    uint64_t cycle, progress;
};
struct progress_mark progress_mark(const struct corun_view *view, uint32_t application);
/* IPC since then; 0 if no cycle has passed. */
double progress_since(struct progress_mark mark, const struct corun_view *view, uint32_t application);

#endif
