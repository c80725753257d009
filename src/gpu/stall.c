/*
 * Cycles without issue and their cause. For every scheduler and every application that has live warps in it, a cycle is
 * counted once: as an issue or under the cause that kept its warps. Where warps wait for different reasons, the one
 * nearest to issuing decides: a warp that could have issued but for its pipeline, then data hazards (computed or loaded,
 * whichever keeps more warps), then fences, branches, barriers, and last the instruction fetch.
 */
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

void stall_count(struct sm *sm, uint32_t scheduler, uint32_t issued_application, uint64_t cycles)
{
    uint64_t mine = sm->schedulers[scheduler].warps;
    for (uint32_t i = 0; i < sm->present_count; i++) {
        uint32_t application = sm->present[i];
        struct corun_counters *counters = sm->application_counters[application];
        uint64_t warps = sm->application_warps[application] & mine;
        if (application == issued_application)
            counters->issue_cycles += cycles;
        else if (!warps)
            counters->stall_fetch += cycles;
        else if (issued_application != NOTHING && warps & sm->states[WARP_READY])
            counters->stall_other += cycles;
        else
            *cause_of(sm, counters, warps) += cycles;
    }
}
