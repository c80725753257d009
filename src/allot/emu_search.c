/* SPDX-License-Identifier: MIT */
/* Algorithms 5-3 and 5-4 of EMU. */
#include "allot/emu_search.h"

#include <math.h>

static double duration_of(const struct corun_host_model *model, double size, uint32_t cores, uint32_t ways)
{
    struct corun_host_prediction prediction;
    model->predict(model->state, size, cores, ways, &prediction);
    return prediction.duration_ns;
}

uint32_t emu_search_cores(const struct corun_host_model *model, double size, double limit_ns,
                          struct corun_host_share most)
{
    uint32_t cores = most.cores;
    for (uint32_t low = 0; cores > low + 1;) {
        uint32_t middle = (cores + low) / 2;
        if (duration_of(model, size, middle, most.ways) < limit_ns)
            cores = middle;
        else
            low = middle;
    }
    return cores;
}

struct corun_host_share emu_search(const struct corun_host_model *model, double size, double limit_ns,
                                   struct corun_host_share most)
{
    struct corun_host_share share = {emu_search_cores(model, size, limit_ns, most), most.ways};
    for (uint32_t low = 0; share.ways > low + 1;) {
        uint32_t middle = (share.ways + low) / 2;
        if (duration_of(model, size, share.cores, middle) < limit_ns)
            share.ways = middle;
        else
            low = middle;
    }
    return share;
}

/* So that 2.4 / 1.6, which is a bit below 1.5 in binary, rounds as 1.5 does. */
#define ROUNDING 1e-9

/* Lines 9 to 13 for one of the two resources. */
static uint32_t scaled(uint32_t count, double factor, uint32_t initial, uint32_t most)
{
    double wanted = floor(count * factor + 0.5 + ROUNDING) + (factor > 1);
    double bounded = fmax(initial, fmin(most, wanted));
    return (uint32_t)fmin(bounded, most);
}

struct corun_host_share emu_adjust(struct emu_query *query, double ipc_current, double interval_ns,
                                   struct corun_host_share share, struct corun_host_share most)
{
    query->work_completed += ipc_current * interval_ns;
    query->run_ns += interval_ns;
    if (query->run_ns >= query->limit_ns || !(ipc_current > 0))
        return most;
    double required = (query->work_predicted - query->work_completed) / (query->limit_ns - query->run_ns);
    double factor = fmax(required / ipc_current, query->ipc_predicted / ipc_current);
    return (struct corun_host_share){scaled(share.cores, factor, query->initial.cores, most.cores),
                                     scaled(share.ways, factor, query->initial.ways, most.ways)};
}
