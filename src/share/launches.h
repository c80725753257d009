/* SPDX-License-Identifier: MIT */
/* What applications launch, as far as it has been seen: how many thread blocks, and how many of them an SM holds. */
#ifndef CORUN_SHARE_LAUNCHES_H
#define CORUN_SHARE_LAUNCHES_H

#include "corun/policy.h"

#define LAUNCH_SHAPES 256u

/*
 * The launches of a run are known beforehand if the view tells them, else by those of the first run: from the second one on
 * nothing new is counted.
 */
enum launch_scope { LAUNCH_SCOPE_RUN, LAUNCH_SCOPE_KERNEL };
#define LAUNCH_SCOPE_CHOICES "run|kernel"

struct launch_shape {
    uint32_t tbs, tbs_per_sm;
    uint64_t launches;
};

struct launches {
    enum launch_scope scope;
    struct {
        bool foreseen;
        uint32_t count;
        struct launch_shape shapes[LAUNCH_SHAPES]; /* what comes after so many different ones is left out */
    } applications[CORUN_MAX_APPLICATIONS];
};

/* Takes note of what a moment brings; true if somebody has come or gone, or something is known now that was not. */
bool launches_note(struct launches *launches, const struct corun_view *view, struct corun_policy_moment moment);
/* The SMs that an application can use: thread blocks of the largest grid; UNLIMITED while nothing is known. */
uint32_t launches_most_sms(const struct launches *launches, uint32_t application);
/* The SMs that hold all thread blocks of its largest launch at once; UNLIMITED while nothing is known. */
uint32_t launches_full_sms(const struct launches *launches, uint32_t application);
/*
 * Rounds of thread blocks, of all launches one after the other, on so many SMs (at least 1); 0 while nothing is known.
 */
uint64_t launches_rounds(const struct launches *launches, uint32_t application, uint32_t sms);

#endif
