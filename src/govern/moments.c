/* SPDX-License-Identifier: MIT */
/* The moments at which a policy is called, in their order, and what follows from what it wrote. */
#include "govern/state.h"

#include <string.h>

static struct corun_held_tbs held(const struct governor *governor, uint32_t sm, uint32_t application)
{
    const struct corun_machine *machine = &governor->machine;
    return machine->operations->held ? machine->operations->held(machine->machine, sm, application)
                                     : (struct corun_held_tbs){0};
}

static enum corun_status follow_limit(const struct governor *governor, uint32_t sm, uint32_t application)
{
    const struct corun_machine *machine = &governor->machine;
    return machine->operations->follow_limit ? machine->operations->follow_limit(machine->machine, sm, application)
                                             : CORUN_OK;
}

static enum corun_status decide(struct governor *governor, enum corun_policy_event event, uint32_t sm,
                                uint32_t application);

/*
 * After a decision: which applications stand above a limit now, and what leaves because of it. The policy hears
 * when an application is back under a limit, unless that is because it has raised it.
 */
static enum corun_status follow_limits(struct governor *governor)
{
    enum corun_status status = CORUN_OK;
    if (!(governor->machine.capabilities & 1u << CORUN_CAN_TB_LIMIT))
        return CORUN_OK; /* there are no limits */
    for (uint32_t s = 0; s < governor->machine.sm_count && status == CORUN_OK; s++)
        for (uint32_t a = 0; a < governor->application_count && status == CORUN_OK; a++) {
            const uint32_t *limit = &governor->allowances.tb_limit[s * governor->application_count + a];
            struct corun_held_tbs there = held(governor, s, a);
            uint32_t bit = 1u << a;
            bool over = there.tbs > *limit;
            governor->over_limit[s] = over ? governor->over_limit[s] | bit : governor->over_limit[s] & ~bit;
            if (!over && !there.leaving)
                continue;
            status = follow_limit(governor, s, a);
            if (status == CORUN_OK && over && held(governor, s, a).tbs <= *limit) { /* those under way were enough */
                governor->over_limit[s] &= ~bit;
                status = decide(governor, CORUN_EVENT_LIMIT_REACHED, s, a);
            }
        }
    return status;
}

enum corun_status allowances_give(struct governor *governor, const struct corun_policy_moment *moment)
{
    const struct corun_machine *machine = &governor->machine;
    struct corun_allowances *w = &governor->allowances;
    size_t entries = (size_t)machine->sm_count * governor->application_count;
    enum corun_status status = machine->operations->obey(machine->machine, moment, w);
    governor->quotas_given = w->quotas_on;
    governor->quota_kind_given = w->quota_kind;
    memset(w->quota_set, 0, entries * sizeof *w->quota_set);
    return status;
}

/* The view has been read: the rest of a moment, from what the policy sees to what the machine does. */
static enum corun_status decide_on_reading(struct governor *governor, const struct corun_policy_moment *moment)
{
    view_fill(governor);
    enum corun_status status = guard_call(governor, GUARDED_DECIDE, moment);
    if (status == CORUN_OK)
        status = allowances_check(governor);
    if (status == CORUN_OK)
        status = allowances_give(governor, moment);
    if (status == CORUN_OK)
        status = follow_limits(governor);
    if (status != CORUN_OK && governor->failure == CORUN_OK)
        governor->failure = status;
    return status;
}

static enum corun_status decide(struct governor *governor, enum corun_policy_event event, uint32_t sm,
                                uint32_t application)
{
    struct corun_policy_moment moment = {event, sm, application};
    if (governor->failure != CORUN_OK || !governor->started)
        return governor->failure;
    view_read(governor);
    return decide_on_reading(governor, &moment);
}

enum corun_status moments_catch_up(struct governor *governor)
{
    enum corun_status status = CORUN_OK;
    view_read(governor);
    for (uint32_t a = 0; a < governor->application_count && status == CORUN_OK; a++)
        if (governor->reading.applications[a].state == CORUN_APPLICATION_RUNNING)
            status = decide(governor, CORUN_EVENT_ARRIVE, 0, a);
    for (uint32_t a = 0; a < governor->application_count && status == CORUN_OK; a++)
        if (governor->reading.applications[a].running.kernel)
            status = decide(governor, CORUN_EVENT_KERNEL_START, 0, a);
    return status == CORUN_OK ? follow_limits(governor) : status;
}

enum corun_status governor_moment(struct governor *governor, uint64_t now, enum corun_policy_event event, uint32_t sm,
                                  uint32_t application)
{
    governor->now = now;
    if (event == CORUN_EVENT_LEAVE)
        for (uint32_t s = 0; s < governor->machine.sm_count; s++)
            governor->over_limit[s] &= ~(1u << application);
    return decide(governor, event, sm, application);
}

enum corun_status governor_tb_left(struct governor *governor, uint64_t now, uint32_t sm, uint32_t application,
                                   bool completed)
{
    uint32_t bit = 1u << application;
    uint32_t limit = governor->allowances.tb_limit[sm * governor->application_count + application];
    bool reached = governor->over_limit[sm] & bit && held(governor, sm, application).tbs <= limit;
    enum corun_status status = CORUN_OK;
    governor->now = now;
    if (reached)
        governor->over_limit[sm] &= ~bit;
    if (completed && governor->policy && governor->policy->wants_tb_complete)
        status = decide(governor, CORUN_EVENT_TB_COMPLETE, sm, application);
    if (status == CORUN_OK && reached)
        status = decide(governor, CORUN_EVENT_LIMIT_REACHED, sm, application);
    if (status == CORUN_OK && held(governor, sm, application).leaving)
        status = follow_limit(governor, sm, application);
    return status;
}

enum corun_status governor_epoch(struct governor *governor, uint64_t now)
{
    struct corun_policy_moment moment = {CORUN_EVENT_EPOCH, 0, 0};
    governor->now = now;
    view_read(governor);
    view_epoch(governor);
    governor->epoch_began = now;
    do
        governor->next_epoch += governor->machine.epoch;
    while (governor->next_epoch <= now); /* a machine can be later than an epoch is long */
    if (governor->failure != CORUN_OK || !governor->started)
        return governor->failure;
    return decide_on_reading(governor, &moment);
}

uint64_t governor_next_epoch(const struct governor *governor)
{
    return governor->next_epoch;
}

void governor_skip_epochs(struct governor *governor, uint64_t now)
{
    if (governor->next_epoch > now)
        return;
    uint64_t whole = (now - governor->next_epoch) / governor->machine.epoch; /* which may be very many */
    governor->epoch_began = governor->next_epoch + whole * governor->machine.epoch;
    governor->next_epoch = governor->epoch_began + governor->machine.epoch;
}
