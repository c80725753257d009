/* SPDX-License-Identifier: MIT */
/* When requests come to the first application: times between two of them are exponential. */
#include "evaluate/state.h"

#include <math.h>

#define MOST_REQUESTS (UINT32_C(1) << 24)

/* Of one run alone, nanoseconds. */
static double run_time(const struct member *member)
{
    return (double)member->run_instructions / member->rate;
}

/* In (0, 1]: SplitMix64, as data of workloads have it. */
static double draw(uint64_t *state)
{
    return (double)((corun_random(state) >> 11) + 1) * 0x1p-53;
}

/* How many come within the window, or as many as there are runs. */
static uint32_t draw_all(const struct evaluation *evaluation, double gap_ns, uint64_t *times, uint32_t most)
{
    const struct corun_case *job = evaluation->job;
    double window = job->cycles ? (double)to_nanoseconds(evaluation, job->cycles) : INFINITY, time = 0;
    uint64_t state = job->seed;
    uint32_t count = 0;
    for (; count < most && !(job->runs && count >= job->runs); count++) {
        time += -log(draw(&state)) * gap_ns;
        if (time >= window)
            break;
        if (times)
            times[count] = (uint64_t)time;
    }
    return count;
}

enum corun_status requests_draw(struct evaluation *evaluation)
{
    struct member *member = &evaluation->members[0];
    double load = evaluation->request->load;
    if (!(load > 0))
        return CORUN_OK;
    if (!(member->rate > 0))
        return corun_report(evaluation->list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "%s: how long a run takes alone is not known, so its load cannot be", member->info.name);
    double gap_ns = run_time(member) / load;
    evaluation->request_count = draw_all(evaluation, gap_ns, NULL, MOST_REQUESTS);
    evaluation->requests_ns = ARENA_ARRAY(evaluation->result->arena, uint64_t, evaluation->request_count + 1);
    if (!evaluation->requests_ns)
        return CORUN_MEMORY;
    (void)draw_all(evaluation, gap_ns, evaluation->requests_ns, evaluation->request_count);
    return CORUN_OK;
}
