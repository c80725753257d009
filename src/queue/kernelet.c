/* SPDX-License-Identifier: MIT */
/*
 * Kernelet (Zhong and He, TPDS 2014, section 4.2): the greedy algorithm with pairs judged by the Markov chain.
 *
 * A pair is pruned when its kernels are alike: neither their pipeline utilisations nor their memory utilisations differ by as much as the
 * thresholds say. Else the slices are those of equation 7, which end together best, and the profit is what the chain says of
 * them. The supplement of the paper, which gives its thresholds, is not at hand: ours prune what is next to equal.
 *
 * The profit compares kernels side by side with kernels alone. Both are predicted, so that an error of the chain about a kernel is in both;
 * with alone=measured the kernel alone is as its profile says.
 */
#include "queue/describe.h"
#include "queue/greedy.h"
#include "queue/schedulers.h"

#include <math.h>
#include <stdlib.h>

enum {
    PARAMETER_PUR,
    PARAMETER_MUR,
    PARAMETER_RATIO,
    PARAMETER_ALONE,
    PARAMETER_BREADTH,
    PARAMETER_LEAST,
    PARAMETER_WAITING
};

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_PUR] = {"pur", 0.1, 0, 1, false, "a pair is pruned when its pipeline utilisations differ by less, and",
                       NULL},
    [PARAMETER_MUR] = {"mur", 0.1, 0, 1, false, "its memory utilisations differ by less", NULL},
    [PARAMETER_RATIO] = {"ratio", 0, 0, 1, true,
                         "slices that end together (equation 7), or those of the greatest profit", "balanced|profit"},
    [PARAMETER_ALONE] = {"alone", 0, 0, 1, true, "speed of a kernel alone, as the profit has it", "predicted|measured"},
    [PARAMETER_BREADTH] = {"breadth", 32, 2, 4096, true, "kinds of kernels that are paired in a decision, at most",
                           NULL},
    [PARAMETER_LEAST] = {"least", 0, 0, 1, false,
                         "kernels run alone unless a pair is expected to have a greater profit", NULL},
    [PARAMETER_WAITING] = {"waiting", 0, 0, 16, true,
                           "slices of each kernel of a pair that wait for places on the SMs; then none is smaller than "
                           "the smallest slice",
                           NULL},
};

/* IPC of a kernel alone, as predicted, by its thread blocks on an SM; NAN: the chain cannot say; below 0: not asked yet. */
struct reach {
    double ipc[MODEL_MAX_CO_SCHEDULES + 1];
};

struct kernelet_state {
    struct greedy greedy;
    struct model_gpu gpu;
    double pur, mur;
    bool by_profit, measured;
    VECTOR(struct reach *) reaches; /* [kind]; NULL: not asked yet */
};

/* NULL: out of memory. */
static struct reach *reach_of(struct kernelet_state *state, uint32_t kind)
{
    while (state->reaches.count <= kind) {
        if (!vector_push(&state->reaches, NULL))
            return NULL;
    }
    struct reach **reach = &state->reaches.data[kind];
    if (!*reach && (*reach = malloc(sizeof **reach))) {
        for (size_t i = 0; i < sizeof(*reach)->ipc / sizeof *(*reach)->ipc; i++)
            (*reach)->ipc[i] = -1;
    }
    return *reach;
}

/* IPC with so many thread blocks on an SM; NAN if the chain cannot say. MEMORY. */
static enum corun_status find_reach(struct kernelet_state *state, uint32_t kind, const struct model_kernel *kernel,
                                    uint32_t residents, double *ipc)
{
    struct model_prediction prediction;
    struct reach *reach = reach_of(state, kind);
    if (!reach)
        return CORUN_MEMORY;
    *ipc = NAN;
    if (residents > MODEL_MAX_CO_SCHEDULES)
        return CORUN_OK;
    double *known = &reach->ipc[residents];
    if (*known < 0) {
        enum corun_status status = model_predict(&state->gpu, kernel, residents, MODEL_LUMPED, &prediction);
        if (status == CORUN_MEMORY)
            return status;
        *known = status == CORUN_OK ? prediction.ipc[0] : NAN;
    }
    *ipc = *known;
    return CORUN_OK;
}

/* IPC alone. ARGUMENT: the chain cannot say; MEMORY. */
static enum corun_status find_alone(struct kernelet_state *state, uint32_t kind, const struct model_kernel *kernel,
                                    double *ipc)
{
    *ipc = kernel->ipc;
    if (state->measured && *ipc > 0)
        return CORUN_OK;
    enum corun_status status = find_reach(state, kind, kernel, model_kernel_residents(&state->gpu, kernel), ipc);
    return status == CORUN_OK && isnan(*ipc) ? CORUN_ARGUMENT : status;
}

static bool alike(const struct kernelet_state *state, const struct model_kernel kernels[2])
{
    return fabs(kernels[0].pipeline_utilization - kernels[1].pipeline_utilization) < state->pur &&
           fabs(kernels[0].memory_utilization - kernels[1].memory_utilization) < state->mur;
}

static enum corun_status judge(void *user, const struct corun_queue_view *view, struct greedy_pair *pair)
{
    struct kernelet_state *state = user;
    struct model_kernel kernels[2];
    const struct model_kernel *const both[2] = {&kernels[0], &kernels[1]};
    struct model_co_schedule list[MODEL_MAX_CO_SCHEDULES];
    double alone[2];
    uint32_t count;
    enum corun_status status = CORUN_OK;
    for (int i = 0; i < 2; i++)
        describe_kernel(&view->kinds[pair->kinds[i]].profile, &kernels[i]);
    if (alike(state, kernels))
        return CORUN_OK;
    for (int i = 0; i < 2 && status == CORUN_OK; i++)
        status = find_alone(state, pair->kinds[i], &kernels[i], &alone[i]);
    if (status == CORUN_OK)
        status = model_co_schedules(&state->gpu, both, alone, list, &count);
    if (status != CORUN_OK)
        return status == CORUN_MEMORY ? status
                                      : CORUN_OK; /* a profile of which the chain can say nothing: not possible */
    const struct model_co_schedule *best =
        state->by_profit ? model_most_profitable(list, count) : model_balanced(list, count);
    if (!best || isnan(best->profit))
        return CORUN_OK;
    pair->possible = true;
    pair->profit = best->profit;
    pair->residents[0] = best->residents[0];
    pair->residents[1] = best->residents[1];
    return CORUN_OK;
}

/* The greatest limit of its ratios; INFINITY, as it was, where the chain cannot say. */
static enum corun_status limit(void *user, const struct corun_queue_view *view, struct greedy_pair *pair)
{
    struct kernelet_state *state = user;
    struct model_kernel kernels[2];
    const struct model_kernel *const both[2] = {&kernels[0], &kernels[1]};
    uint32_t residents[MODEL_MAX_CO_SCHEDULES][2];
    double alone[2], reach[2];
    enum corun_status status = CORUN_OK;
    for (int i = 0; i < 2; i++)
        describe_kernel(&view->kinds[pair->kinds[i]].profile, &kernels[i]);
    for (int i = 0; i < 2 && status == CORUN_OK; i++)
        status = find_alone(state, pair->kinds[i], &kernels[i], &alone[i]);
    if (status != CORUN_OK)
        return status == CORUN_MEMORY ? status : CORUN_OK;
    uint32_t count = model_candidates(&state->gpu, both, residents);
    double greatest = -INFINITY;
    for (uint32_t c = 0; c < count; c++) {
        for (int i = 0; i < 2; i++) {
            status = find_reach(state, pair->kinds[i], &kernels[i], residents[c][i], &reach[i]);
            if (status != CORUN_OK)
                return status;
        }
        double most = model_profit_limit(&state->gpu, reach, alone);
        if (isnan(most))
            return CORUN_OK;
        greatest = fmax(greatest, most);
    }
    pair->profit = greatest;
    return CORUN_OK;
}

static enum corun_status kernelet_start(void *memory, const struct corun_queue_device *device, const double *values,
                                        const char **refusal)
{
    struct kernelet_state *state = memory;
    describe_device(device, &state->gpu);
    state->greedy = (struct greedy){.judge = judge,
                                    .limit = limit,
                                    .user = state,
                                    .breadth = (uint32_t)values[PARAMETER_BREADTH],
                                    .least = values[PARAMETER_LEAST],
                                    .waiting = (uint32_t)values[PARAMETER_WAITING]};
    state->pur = values[PARAMETER_PUR];
    state->mur = values[PARAMETER_MUR];
    state->by_profit = values[PARAMETER_RATIO] != 0;
    state->measured = values[PARAMETER_ALONE] != 0;
    if (isnan(device->coalesced.base) || isnan(device->uncoalesced.base)) {
        *refusal = "the latency of the GPU's memory has not been measured";
        return CORUN_ARGUMENT;
    }
    return CORUN_OK;
}

static enum corun_status kernelet_plan(void *memory, const struct corun_queue_view *view, struct corun_queue_plan *plan)
{
    struct kernelet_state *state = memory;
    return greedy_plan(&state->greedy, view, plan);
}

static void kernelet_stop(void *memory)
{
    struct kernelet_state *state = memory;
    greedy_end(&state->greedy);
    for (size_t i = 0; i < state->reaches.count; i++)
        free(state->reaches.data[i]);
    vector_free(&state->reaches);
}

const struct corun_queue_scheduler kernelet_scheduler = {
    .version = CORUN_QUEUE_VERSION,
    .name = "kernelet",
    .summary = "slices of the two kernels side by side of which a Markov chain expects the greatest profit",
    .paper = "Zhong and He, Kernelet, TPDS 2014, section 4.2",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs_profiles = true,
    .state_bytes = sizeof(struct kernelet_state),
    .start = kernelet_start,
    .plan = kernelet_plan,
    .stop = kernelet_stop,
};
