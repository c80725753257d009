/* SPDX-License-Identifier: MIT */
/*
 * Cycles without issue and their cause. For every scheduler and every application that has live warps in it, a cycle is
 * counted once: as an issue or under the cause that kept its warps. Where warps wait for different reasons, the one
 * nearest to issuing decides: a warp that could have issued but for its pipeline, then data hazards (computed or loaded,
 * whichever keeps more warps), then fences, branches, barriers, and last the instruction fetch.
 *
 * While no state of its warps changes, neither do the causes of a scheduler: they are looked up once and hold until one does.
 */
#include "gpu/stall.h"

#include "gpu/sm.h"

static uint64_t *cause_of(struct sm *sm, struct corun_counters *counters, uint64_t warps)
{
    const uint64_t *states = sm->states;
    uint64_t ready = warps & states[WARP_READY];
    if (ready) {
        if (!(ready & ~sm->quota_spent))
            return &counters->stall_quota;
        return ready & ~sm->wants[PIPE_MEMORY] ? &counters->stall_pipeline : &counters->stall_memory;
    }
    uint64_t data = warps & states[WARP_DATA], load = warps & states[WARP_LOAD];
    if (data | load)
        return count_bits(data) > count_bits(load) ? &counters->stall_data : &counters->stall_memory_data;
    if (warps & states[WARP_FENCE])
        return &counters->stall_fence;
    if (warps & states[WARP_CONTROL])
        return &counters->stall_control;
    if (warps & states[WARP_BARRIER])
        return &counters->stall_barrier;
    return &counters->stall_fetch;
}

/*
 * Where the cycles of a scheduler go, whosever they are, while several applications have thread blocks on the SM: each
 * of them counts its own, so that these cannot be added up.
 */
static uint64_t *counter_of_scheduler(struct sm *sm, uint32_t scheduler, uint32_t issued)
{
    struct corun_counters *counters = &sm->together;
    uint64_t live = 0, still = 0;
    if (issued != NOTHING)
        return &counters->issue_cycles;
    for (uint32_t i = 0; i < sm->present_count; i++) {
        live |= sm->application_warps[sm->present[i]];
        still |= sm->still_warps[sm->present[i]];
    }
    live &= sm->schedulers[scheduler].warps;
    if (!live)
        return still & sm->schedulers[scheduler].warps ? &counters->stall_preempted : &counters->stall_fetch;
    return cause_of(sm, counters, live);
}

/* Where the cycles of one scheduler and application go. */
static uint64_t *counter_for(struct sm *sm, uint32_t scheduler, uint32_t application, uint32_t issued)
{
    struct corun_counters *counters = sm->application_counters[application];
    uint64_t warps = sm->application_warps[application] & sm->schedulers[scheduler].warps;
    if (application == issued)
        return &counters->issue_cycles;
    if (!warps)
        return sm->still_warps[application] & sm->schedulers[scheduler].warps ? &counters->stall_preempted
                                                                              : &counters->stall_fetch;
    if (issued != NOTHING && warps & sm->states[WARP_READY] & ~sm->quota_spent)
        return &counters->stall_other;
    return cause_of(sm, counters, warps);
}

static void flush(struct sm *sm, struct stall_causes *causes)
{
    for (uint32_t i = 0; i < causes->count; i++)
        *causes->counters[i] += sm->now - causes->since;
    causes->since = sm->now;
}

void stall_flush(struct sm *sm)
{
    for (uint32_t s = 0; s < sm->scheduler_count; s++)
        flush(sm, &sm->causes[s]);
}

void stall_forget(struct sm *sm)
{
    stall_flush(sm);
    for (uint32_t s = 0; s < sm->scheduler_count; s++)
        sm->causes[s].count = 0;
    sm->changed_warps = ~UINT64_C(0);
}

static void count_issue_cycle(struct sm *sm, uint32_t scheduler, uint32_t issued)
{
    struct stall_causes *causes = &sm->causes[scheduler];
    flush(sm, causes);
    causes->count = 0;
    for (uint32_t i = 0; i < sm->present_count; i++)
        ++*counter_for(sm, scheduler, sm->present[i], issued);
    if (sm->present_count > 1)
        ++*counter_of_scheduler(sm, scheduler, issued);
}

static void look_up(struct sm *sm, uint32_t scheduler)
{
    struct stall_causes *causes = &sm->causes[scheduler];
    flush(sm, causes);
    causes->count = 0;
    for (uint32_t i = 0; i < sm->present_count; i++)
        causes->counters[causes->count++] = counter_for(sm, scheduler, sm->present[i], NOTHING);
    if (sm->present_count > 1)
        causes->counters[causes->count++] = counter_of_scheduler(sm, scheduler, NOTHING);
}

/* The same as stall_account where one application has the SM: `counters` are its own. Most cycles are such, and need no question about others. */
static void account_alone(struct sm *sm, const uint32_t *issued, bool any, struct corun_counters *counters)
{
    uint32_t application = sm->present[0], issues = 0;
    uint64_t changed = sm->changed_warps, again = 0, now = sm->now, live = sm->application_warps[application];
    for (uint32_t s = 0; s < sm->scheduler_count; s++) {
        struct stall_causes *causes = &sm->causes[s];
        uint64_t warps = sm->schedulers[s].warps;
        bool issues_now = any && issued[s] != NOTHING;
        if (!issues_now && !(changed & warps) && causes->count)
            continue;
        if (causes->count)
            *causes->counters[0] += now - causes->since;
        causes->since = now;
        if (issues_now) {
            causes->count = 0;
            again |= warps;
            if (issued[s] == application)
                issues++;
            else /* the last instruction of another one */
                ++*counter_for(sm, s, application, issued[s]);
        } else {
            causes->count = 1;
            causes->counters[0] =
                live & warps ? cause_of(sm, counters, live & warps) : counter_for(sm, s, application, NOTHING);
        }
    }
    sm->changed_warps = again;
    counters->issue_cycles += issues;
}

void stall_account(struct sm *sm, const uint32_t *issued, bool any)
{
    uint64_t changed = sm->changed_warps, again = 0;
    if (!any && !changed)
        return;
    if (sm->present_count == 1) {
        account_alone(sm, issued, any, sm->application_counters[sm->present[0]]);
        return;
    }
    for (uint32_t s = 0; s < sm->scheduler_count; s++) {
        if (any && issued[s] != NOTHING) {
            count_issue_cycle(sm, s, issued[s]);
            again |= sm->schedulers[s].warps;
        } else if (changed & sm->schedulers[s].warps || !sm->causes[s].count) {
            look_up(sm, s);
        }
    }
    sm->changed_warps = again;
}

void stall_one_begins(struct sm *sm)
{
    stall_forget(sm);
    sm->before_alone = *sm->application_counters[sm->present[0]];
}

/* While an application had the SM to itself, its cycles were those of the schedulers. */
static void add_alone(const struct sm *sm, struct corun_counters *to)
{
    const struct corun_counters *now = sm->application_counters[sm->present[0]];
#define ADD(name) to->name += now->name - sm->before_alone.name
    ADD(issue_cycles);
    ADD(stall_fetch);
    ADD(stall_control);
    ADD(stall_data);
    ADD(stall_memory_data);
    ADD(stall_pipeline);
    ADD(stall_memory);
    ADD(stall_barrier);
    ADD(stall_fence);
    ADD(stall_quota);
    ADD(stall_preempted);
#undef ADD
    /* the instruction with which another one ended */
    to->issue_cycles += now->stall_other - sm->before_alone.stall_other;
}

void stall_one_ends(struct sm *sm)
{
    stall_forget(sm);
    add_alone(sm, &sm->together);
}

void stall_of_schedulers(const struct sm *sm, struct corun_counters *counters)
{
    *counters = sm->together;
    if (sm->present_count == 1)
        add_alone(sm, counters);
}
