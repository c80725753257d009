/* SPDX-License-Identifier: MIT */
/*
 * OPT (Zhong and He, Kernelet, TPDS 2014, section 5.1): the greedy algorithm of kernelet, with every pair in every ratio measured
 * beforehand. It is the best that the greedy algorithm can do, not the best plan.
 */
#include "queue/greedy.h"
#include "queue/measured.h"
#include "queue/schedulers.h"

struct opt_state {
    struct greedy greedy;
};

static enum corun_status judge(void *user, const struct corun_queue_view *view, struct greedy_pair *pair)
{
    (void)user;
    uint32_t residents[MODEL_MAX_CO_SCHEDULES][2];
    uint32_t count = measured_candidates(view, pair->kinds, residents);
    for (uint32_t i = 0; i < count; i++) {
        double profit;
        if (!measured_profit(view, pair->kinds, residents[i], &profit))
            return CORUN_ARGUMENT;
        if (pair->possible && !(profit > pair->profit))
            continue;
        pair->possible = true;
        pair->profit = profit;
        pair->residents[0] = residents[i][0];
        pair->residents[1] = residents[i][1];
    }
    return CORUN_OK;
}

static enum corun_status opt_start(void *memory, const struct corun_queue_device *device, const double *values,
                                   const char **refusal)
{
    struct opt_state *state = memory;
    (void)device;
    (void)values;
    (void)refusal;
    state->greedy = (struct greedy){.judge = judge, .breadth = CORUN_QUEUE_MAX_KINDS};
    return CORUN_OK;
}

static enum corun_status opt_plan(void *memory, const struct corun_queue_view *view, struct corun_queue_plan *plan)
{
    struct opt_state *state = memory;
    return greedy_plan(&state->greedy, view, plan);
}

static void opt_stop(void *memory)
{
    struct opt_state *state = memory;
    greedy_end(&state->greedy);
}

const struct corun_queue_scheduler opt_scheduler = {
    .version = CORUN_QUEUE_VERSION,
    .name = "opt",
    .summary = "kernelet's algorithm with measured co-schedules, all pairs in all ratios",
    .paper = "Zhong and He, Kernelet, TPDS 2014, section 5.1",
    .needs_profiles = true,
    .needs_measured = true,
    .state_bytes = sizeof(struct opt_state),
    .start = opt_start,
    .plan = opt_plan,
    .stop = opt_stop,
};
