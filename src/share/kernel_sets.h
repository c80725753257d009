/* SPDX-License-Identifier: MIT */
/* Which applications may have thread blocks on which SM, when there are more than one SM is to hold. */
#ifndef CORUN_SHARE_KERNEL_SETS_H
#define CORUN_SHARE_KERNEL_SETS_H

#include "share/tb_plan.h"

struct kernel_sets {
    uint32_t sm_count, application_count;
    uint32_t most;                                        /* applications per SM */
    uint32_t sampler_of[TB_PLAN_SMS];                     /* the application that has the SM to itself, or NEVER */
    uint32_t count[TB_PLAN_SMS];                          /* applications of each SM… */
    uint8_t members[TB_PLAN_SMS][CORUN_MAX_APPLICATIONS]; /* …in the order in which they came to it */
};

void kernel_sets_start(struct kernel_sets *sets, uint32_t sm_count, uint32_t application_count, uint32_t most);
bool kernel_sets_has(const struct kernel_sets *sets, uint32_t sm, uint32_t application);
uint32_t kernel_sets_mask(const struct kernel_sets *sets, uint32_t sm);
/*
 * Follows who is there (bit mask): those that left give up their places; the one that is on the fewest SMs gets one more where there is room,
 * or takes the place of the one that is on the most, as long as that brings them closer together. With `samplers`, each has
 * one SM to itself. True if anything has changed.
 */
bool kernel_sets_follow(struct kernel_sets *sets, uint32_t present, bool samplers);

#endif
