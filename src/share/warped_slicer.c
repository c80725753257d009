/* SPDX-License-Identifier: MIT */
/*
 * A split inside every SM by measured occupancy curves, after Warped-Slicer (Xu et al., "Warped-Slicer: efficient intra-SM slicing through
 * dynamic resource partitioning for GPU multiprogramming", ISCA 2016).
 *
 * Taken from it: when kernels come together, each is measured at once on SMs of its own with different numbers of thread blocks; each
 * curve is divided by its maximum; thread blocks are then given out by water filling, one kernel after the other that has least getting as
 * many more as raise it, so that the smallest predicted performance becomes as large as possible; and if that is too small, SMs are
 * split instead. Not taken: the correction of the measured IPC for memory bandwidth that SMs with fewer thread blocks leave to the others,
 * and how phases are recognised (what has been measured counts as long as thread blocks have the same needs); the
 * loss at which SMs are split is a parameter here.
 */
#include "share/policies.h"
#include "share/tb_plan.h"

#include <math.h>
#include <string.h>

enum { PARAMETER_WARM_UP, PARAMETER_LOSS, PARAMETER_IDEAL };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_WARM_UP] = {"warm_up", 2, 1, 1000, true, "epochs before the one that is measured", NULL},
    [PARAMETER_LOSS] = {"loss", 0.6, 0, 1, false,
                        "SMs are split instead if a kernel is predicted to lose more than this of its best IPC", NULL},
    [PARAMETER_IDEAL] = {"ideal", 0, 0, 1, true, "state is saved and restored in no time", "off|on"},
};

enum { VARIABLE_SAMPLING, VARIABLE_PREDICTED };
static const struct corun_policy_variable variables[] = {
    {"sampling", "1 while occupancy curves are measured"},
    {"predicted", "smallest share of its best IPC that the split predicts for a kernel"},
};

#define MOST_TBS 64u
#define CURVES 8u /* of an application; more kinds of kernels replace the oldest */

struct curve {
    struct tb_shape shape;
    uint32_t tbs;             /* that fit an empty SM */
    double ipc[MOST_TBS + 1]; /* of an SM with so many */
};

struct slicer_state {
    uint32_t warm_up;
    double loss;
    struct tb_plan plan;
    uint32_t sampling; /* epochs until it ends; 0: not under way */
    struct {
        uint32_t count, next;
        struct curve curves[CURVES];
    } known[CORUN_MAX_APPLICATIONS];
    uint32_t sampled_tbs[TB_PLAN_SMS],
        sampled_of[TB_PLAN_SMS]; /* how many of which application an SM is measured with */
};

static const struct curve *find_curve(const struct slicer_state *state, uint32_t a)
{
    for (uint32_t i = 0; i < state->known[a].count; i++)
        if (!memcmp(&state->known[a].curves[i].shape, &state->plan.shapes[a], sizeof(struct tb_shape)))
            return &state->known[a].curves[i];
    return NULL;
}

static uint32_t most_tbs(const struct slicer_state *state, uint32_t a)
{
    uint32_t most = state->plan.shapes[a].tbs_per_sm;
    return most < MOST_TBS ? most : MOST_TBS;
}

/* SMs one set after the other; inside a set 1, …, as many as fit, spread evenly. */
static void begin_sampling(struct slicer_state *state)
{
    struct tb_plan *plan = &state->plan;
    uint32_t members = tb_plan_members(plan), count = 0, place = 0;
    for (uint32_t a = 0; a < plan->application_count; a++)
        count += members >> a & 1u;
    memset(plan->tbs, 0, sizeof plan->tbs);
    for (uint32_t s = 0; s < plan->sm_count; s++)
        state->sampled_of[s] = TB_PLAN_NEVER;
    for (uint32_t a = 0; a < plan->application_count; a++) {
        if (!(members >> a & 1u))
            continue;
        uint32_t first = place * plan->sm_count / count, end = (place + 1) * plan->sm_count / count, sms = end - first;
        for (uint32_t s = first; s < end; s++) {
            uint32_t most = most_tbs(state, a);
            uint32_t tbs = sms > 1 ? 1 + ((s - first) * (most - 1) + (sms - 1) / 2) / (sms - 1) : most;
            state->sampled_of[s] = a;
            state->sampled_tbs[s] = plan->tbs[s][a] = tbs;
        }
        place++;
    }
    state->sampling = state->warm_up + 1;
}

/* Between two numbers that were measured, and below the first, along straight lines; beyond the last it stays. */
static void complete_curve(struct curve *curve, const bool *measured)
{
    uint32_t before = 0;
    for (uint32_t n = 1; n <= curve->tbs; n++) {
        if (!measured[n])
            continue;
        for (uint32_t i = before + 1; i < n; i++)
            curve->ipc[i] = curve->ipc[before] + (curve->ipc[n] - curve->ipc[before]) * (i - before) / (n - before);
        before = n;
    }
    for (uint32_t i = before + 1; i <= curve->tbs; i++)
        curve->ipc[i] = curve->ipc[before];
}

static void end_sampling(struct slicer_state *state, const struct corun_view *view)
{
    const struct tb_plan *plan = &state->plan;
    uint32_t members = tb_plan_members(plan);
    for (uint32_t a = 0; a < plan->application_count; a++) {
        if (!(members >> a & 1u))
            continue;
        struct curve *curve = &state->known[a].curves[state->known[a].next++ % CURVES];
        state->known[a].count += state->known[a].count < CURVES;
        *curve = (struct curve){.shape = plan->shapes[a], .tbs = most_tbs(state, a)};
        uint32_t times[MOST_TBS + 1] = {0};
        bool measured[MOST_TBS + 1] = {false};
        for (uint32_t s = 0; s < plan->sm_count; s++) {
            uint32_t tbs = state->sampled_tbs[s];
            if (state->sampled_of[s] != a || tbs > curve->tbs)
                continue;
            uint64_t instructions = view->shares[s * plan->application_count + a].thread_instructions;
            double ipc = (double)instructions / (double)view->epoch_cycles;
            times[tbs]++;
            curve->ipc[tbs] += (ipc - curve->ipc[tbs]) / times[tbs];
            measured[tbs] = true;
        }
        complete_curve(curve, measured);
    }
}

/* Of the largest IPC of its curve; 1 if it issued nothing at all. */
static double reached(const struct curve *curve, uint32_t tbs)
{
    double most = 0;
    for (uint32_t i = 1; i <= curve->tbs; i++)
        most = curve->ipc[i] > most ? curve->ipc[i] : most;
    return most > 0 ? curve->ipc[tbs] / most : 1;
}

/* The smallest number above `tbs` that raises its IPC; 0 if none does. */
static uint32_t next_step(const struct curve *curve, uint32_t tbs)
{
    for (uint32_t n = tbs + 1; n <= curve->tbs; n++)
        if (reached(curve, n) > reached(curve, tbs))
            return n;
    return 0;
}

/* Of the applications in `open`, which is not empty, the first that has reached least with so many thread blocks. */
static uint32_t furthest_behind(const struct slicer_state *state, uint32_t open, const uint32_t *tbs)
{
    uint32_t least = 0;
    while (!(open >> least & 1u))
        least++;
    for (uint32_t a = least + 1; a < state->plan.application_count; a++)
        if (open >> a & 1u && reached(find_curve(state, a), tbs[a]) < reached(find_curve(state, least), tbs[least]))
            least = a;
    return least;
}

/* Water filling on SM 0 of the plan; false if not even one of each fits. */
static bool fill_water(struct slicer_state *state, uint32_t members, double *predicted)
{
    struct tb_plan *plan = &state->plan;
    uint32_t *tbs = plan->tbs[0], open = members;
    memset(tbs, 0, sizeof plan->tbs[0]);
    for (uint32_t a = 0; a < plan->application_count; a++) {
        if (!(members >> a & 1u))
            continue;
        if (!tb_plan_fits(plan, 0, a))
            return false;
        tbs[a] = 1;
    }
    while (open) {
        uint32_t least = furthest_behind(state, open, tbs);
        uint32_t had = tbs[least], wanted = next_step(find_curve(state, least), had);
        while (tbs[least] < wanted && tb_plan_fits(plan, 0, least))
            tbs[least]++;
        if (!wanted || tbs[least] < wanted) {
            tbs[least] = had;
            open &= ~(1u << least);
        }
    }
    *predicted = 1;
    for (uint32_t a = 0; a < plan->application_count; a++)
        if (members >> a & 1u)
            *predicted = fmin(*predicted, reached(find_curve(state, a), tbs[a]));
    return true;
}

static void split(struct slicer_state *state, struct corun_allowances *allowances)
{
    struct tb_plan *plan = &state->plan;
    uint32_t members = tb_plan_members(plan), count = 0, place = 0;
    for (uint32_t a = 0; a < plan->application_count; a++)
        count += members >> a & 1u;
    double predicted = 0;
    bool inside = fill_water(state, members, &predicted) && predicted >= 1 - state->loss;
    allowances->variables[VARIABLE_PREDICTED] = predicted;
    for (uint32_t s = 1; inside && s < plan->sm_count; s++)
        memcpy(plan->tbs[s], plan->tbs[0], sizeof plan->tbs[s]);
    if (inside || !count)
        return;
    memset(plan->tbs, 0, sizeof plan->tbs); /* whole SMs, evenly */
    for (uint32_t a = 0; a < plan->application_count; a++) {
        if (!(members >> a & 1u))
            continue;
        for (uint32_t s = place * plan->sm_count / count; s < (place + 1) * plan->sm_count / count; s++)
            plan->tbs[s][a] = plan->shapes[a].tbs_per_sm;
        place++;
    }
}

/* What has been measured is used; what has not is measured first. A kernel that is alone has nothing to share. */
static void follow(struct slicer_state *state, struct corun_allowances *allowances)
{
    struct tb_plan *plan = &state->plan;
    uint32_t members = tb_plan_members(plan);
    bool known = true, alone = !(members & (members - 1));
    for (uint32_t a = 0; a < plan->application_count; a++)
        known &= !(members >> a & 1u) || find_curve(state, a);
    if (alone) {
        state->sampling = 0;
        for (uint32_t s = 0; s < plan->sm_count; s++)
            tb_plan_fill(plan, members, TB_DOMINANT_SHARE, plan->tbs[s]);
    } else if (known) {
        state->sampling = 0;
        split(state, allowances);
    } else {
        begin_sampling(state);
    }
    tb_plan_allow(plan, allowances);
}

static enum corun_status warped_slicer_start(void *memory, const struct corun_view *view, const double *values,
                                             struct corun_allowances *allowances)
{
    struct slicer_state *state = memory;
    state->warm_up = (uint32_t)values[PARAMETER_WARM_UP];
    state->loss = values[PARAMETER_LOSS];
    if (view->sm_count < view->application_count)
        allowances->refusal = "each kernel is measured on SMs of its own, and there are more applications than SMs";
    if (allowances->refusal || !tb_plan_start(&state->plan, view, &allowances->refusal))
        return CORUN_POLICY;
    allowances->free_transfers = values[PARAMETER_IDEAL] != 0;
    allowances->variables[VARIABLE_PREDICTED] = (double)NAN;
    tb_plan_allow(&state->plan, allowances);
    return CORUN_OK;
}

static void warped_slicer_decide(void *memory, const struct corun_view *view, struct corun_policy_moment moment,
                                 struct corun_allowances *allowances)
{
    struct slicer_state *state = memory;
    uint32_t before = tb_plan_members(&state->plan);
    bool changed = tb_plan_note(&state->plan, view, moment);
    if (moment.event == CORUN_EVENT_ARRIVE) /* what was measured of one before it is not its own */
        state->known[moment.application].count = state->known[moment.application].next = 0;
    /* Kernels that follow one another while a measurement is under way do not begin it anew: it would never end. */
    if (changed && (!state->sampling || before != tb_plan_members(&state->plan)))
        follow(state, allowances);
    if (moment.event == CORUN_EVENT_EPOCH && state->sampling && --state->sampling == 0) {
        end_sampling(state, view);
        follow(state, allowances);
    }
    allowances->variables[VARIABLE_SAMPLING] = state->sampling != 0;
}

const struct corun_policy warped_slicer_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "warped-slicer",
    .summary = "every SM is split by how many thread blocks each kernel profits from, measured when they meet",
    .paper = "after Xu et al., Warped-Slicer, ISCA 2016; what is taken from it: docs/policies-smk-qos.md, section "
             "warped-slicer",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_SWAP_TB,
    .observes = TB_PLAN_OBSERVES | 1u << CORUN_SEES_THREAD_INSTRUCTIONS,
    .variables = variables,
    .variable_count = sizeof variables / sizeof variables[0],
    .state_bytes = sizeof(struct slicer_state),
    .start = warped_slicer_start,
    .decide = warped_slicer_decide,
};
