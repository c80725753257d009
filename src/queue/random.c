/* SPDX-License-Identifier: MIT */
/*
 * Random: MC of Kernelet (Zhong and He, TPDS 2014, section 5.1). A pair of pending kinds is drawn, then one of its ratios; they run until one
 * launch is exhausted. The draws follow from the seed of the run.
 */
#include "queue/greedy.h"
#include "queue/measured.h"
#include "queue/schedulers.h"

#include <math.h>

enum { PARAMETER_SEED };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_SEED] = {"seed", 0, 0, 1e15, true, "other draws with the same launches", NULL},
};

struct random_state {
    bool seeded;
    uint64_t seed, draws;
};

static enum corun_status random_start(void *memory, const struct corun_queue_device *device, const double *values,
                                      const char **refusal)
{
    struct random_state *state = memory;
    (void)device;
    (void)refusal;
    state->seed = (uint64_t)values[PARAMETER_SEED];
    return CORUN_OK;
}

/* SplitMix64, below `count`. */
static uint32_t draw(struct random_state *state, uint32_t count)
{
    uint64_t z = (state->draws += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) % count);
}

/* The n-th pending kind. */
static uint32_t pending_kind(const struct corun_queue_view *view, uint32_t n)
{
    uint32_t kind = 0;
    while (!view->kinds[kind].pending || n--)
        kind++;
    return kind;
}

static enum corun_status random_plan(void *memory, const struct corun_queue_view *view, struct corun_queue_plan *plan)
{
    struct random_state *state = memory;
    struct greedy_pair pair = {.profit = 0};
    uint32_t residents[MODEL_MAX_CO_SCHEDULES][2], pending = 0;
    if (!state->seeded)
        state->draws = view->seed + state->seed * UINT64_C(0xd1b54a32d192ed03);
    state->seeded = true;
    for (uint32_t k = 0; k < view->kind_count; k++)
        pending += view->kinds[k].pending != 0;
    if (pending > 1) {
        uint32_t first = draw(state, pending), second = draw(state, pending - 1);
        second += second >= first;
        pair.kinds[0] = pending_kind(view, first < second ? first : second);
        pair.kinds[1] = pending_kind(view, first < second ? second : first);
        uint32_t count = measured_candidates(view, pair.kinds, residents);
        uint32_t ratio = count ? draw(state, count) : 0;
        for (int i = 0; i < 2 && count; i++)
            pair.residents[i] = residents[ratio][i];
    }
    greedy_write(view, &pair, 0, plan);
    plan->profit = NAN;
    return CORUN_OK;
}

const struct corun_queue_scheduler random_scheduler = {
    .version = CORUN_QUEUE_VERSION,
    .name = "random",
    .summary = "two kernels that are drawn, in slices of a ratio that is drawn",
    .paper = "Zhong and He, Kernelet, TPDS 2014, section 5.1 (MC)",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs_profiles = true,
    .state_bytes = sizeof(struct random_state),
    .start = random_start,
    .plan = random_plan,
};
