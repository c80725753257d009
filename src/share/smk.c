/* SPDX-License-Identifier: MIT */
/*
 * SMK on demand: thread blocks of several kernels side by side in each SM, one more at a time for the kernel that has least (Wang et al.,
 * "Simultaneous Multikernel GPU", section 2.4.3.1 of the thesis: on-demand resource allocation, figure 2-3).
 *
 * Candidate is the kernel with the smallest dominant share of the whole GPU, rK. It goes to the SM with the smallest share taken, rSM,
 * where it fits. If there is none, victim is the SM with the largest rSM (without the candidate's own) and there the kernel with the
 * largest rK; as many of its thread blocks are swapped out as one of the candidate needs, if that makes the range of all rK
 * smaller. When the candidate can get nothing, the others are served, in the order of their rK, with what is free: the text leaves
 * that open, and without it room that the candidate cannot use would stay empty.
 *
 * With at most so many kernels per SM, rK is the larger one of the dominant share and the share of the SMs that the kernel is on
 * (section 2.4.5).
 */
#include "share/policies.h"
#include "share/tb_plan.h"

#include <assert.h>
#include <math.h>

enum { PARAMETER_MAX_KERNELS, PARAMETER_IDEAL };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_MAX_KERNELS] =
        {"max_kernels_per_sm", CORUN_MAX_APPLICATIONS, 1, CORUN_MAX_APPLICATIONS, true,
         "kernels that share an SM at most; with as many as there are applications, as many as fit", NULL},
    [PARAMETER_IDEAL] = {"ideal", 0, 0, 1, true, "state is saved and restored in no time", "off|on"},
};

#define SHOWN_APPLICATIONS 4u
enum { VARIABLE_RANGE, VARIABLE_PREEMPTIONS, VARIABLE_SHARE };
static const struct corun_policy_variable variables[] = {
    {"range", "largest rK less smallest rK"},
    {"preemptions", "thread blocks that were to be swapped out so far"},
    {"rk_1", "largest share of a resource of the GPU that application 1 has"},
    {"rk_2", "largest share of a resource of the GPU that application 2 has"},
    {"rk_3", "largest share of a resource of the GPU that application 3 has"},
    {"rk_4", "largest share of a resource of the GPU that application 4 has"},
};

struct smk_state {
    uint32_t max_kernels;
    uint64_t preemptions;
    struct tb_plan plan;
    uint32_t
        available[CORUN_MAX_APPLICATIONS]; /* thread blocks that have no place in the plan, while it is being made */
};

static uint32_t kernels_on(const struct tb_plan *plan, uint32_t s)
{
    uint32_t count = 0;
    for (uint32_t a = 0; a < plan->application_count; a++)
        count += plan->tbs[s][a] != 0;
    return count;
}

/* rK, if it had so many more thread blocks on so many more SMs. */
static tb_share kernel_share(const struct smk_state *state, uint32_t a, int32_t more_tbs, int32_t more_sms)
{
    const struct tb_plan *plan = &state->plan;
    uint32_t tbs = (uint32_t)((int32_t)tb_plan_total(plan, a) + more_tbs), sms = 0;
    tb_share share = tb_plan_dominant(plan, a, tbs, plan->sm_count);
    for (uint32_t s = 0; s < plan->sm_count; s++)
        sms += plan->tbs[s][a] != 0;
    sms = (uint32_t)((int32_t)sms + more_sms);
    assert(plan->sm_count);
    tb_share of_sms = sms * TB_SHARE_ONE / plan->sm_count;
    bool counts_sms = state->max_kernels < plan->application_count;
    return counts_sms && of_sms > share ? of_sms : share;
}

/* Takes part in the range: has thread blocks, or could have. */
static bool is_sharing(const struct smk_state *state, uint32_t a)
{
    return tb_plan_members(&state->plan) >> a & 1u && (state->available[a] || tb_plan_total(&state->plan, a));
}

/* Largest less smallest rK, if `gains` had those of an SM changed as told. */
static tb_share range_after(const struct smk_state *state, uint32_t gains, uint32_t gains_sms, uint32_t loses,
                            uint32_t leaving, uint32_t loses_sms)
{
    tb_share least = UINT64_MAX, most = 0;
    for (uint32_t a = 0; a < state->plan.application_count; a++) {
        if (!is_sharing(state, a))
            continue;
        tb_share share = kernel_share(state, a,
                                      a == gains   ? 1
                                      : a == loses ? -(int32_t)leaving
                                                   : 0,
                                      a == gains   ? (int32_t)gains_sms
                                      : a == loses ? -(int32_t)loses_sms
                                                   : 0);
        least = share < least ? share : least;
        most = share > most ? share : most;
    }
    return most > least ? most - least : 0;
}

/* The emptiest SM, by rSM, where one more fits. */
static bool place(struct smk_state *state, uint32_t a)
{
    struct tb_plan *plan = &state->plan;
    uint32_t best = TB_PLAN_NEVER;
    tb_share least = UINT64_MAX;
    for (uint32_t s = 0; s < plan->sm_count; s++) {
        bool may = plan->tbs[s][a] || kernels_on(plan, s) < state->max_kernels;
        tb_share share = may && tb_plan_fits(plan, s, a) ? tb_plan_sm_share(plan, s, TB_PLAN_NEVER) : UINT64_MAX;
        if (share < least) {
            least = share;
            best = s;
        }
    }
    if (best == TB_PLAN_NEVER)
        return false;
    plan->tbs[best][a]++;
    state->available[a]--;
    return true;
}

static bool preempt(struct smk_state *state, uint32_t candidate)
{
    struct tb_plan *plan = &state->plan;
    uint32_t sm = 0, victim = TB_PLAN_NEVER;
    tb_share most = 0;
    for (uint32_t s = 0; s < plan->sm_count; s++) {
        tb_share share = tb_plan_sm_share(plan, s, candidate);
        if (share > most) {
            most = share;
            sm = s;
        }
    }
    for (uint32_t a = 0; a < plan->application_count; a++)
        if (a != candidate && plan->tbs[sm][a] &&
            (victim == TB_PLAN_NEVER || kernel_share(state, a, 0, 0) > kernel_share(state, victim, 0, 0)))
            victim = a;
    if (victim == TB_PLAN_NEVER)
        return false;
    bool enters = !plan->tbs[sm][candidate];
    uint32_t leaving = tb_plan_victims(plan, sm, candidate, victim);
    if (leaving != TB_PLAN_NEVER && enters && kernels_on(plan, sm) >= state->max_kernels)
        leaving = plan->tbs[sm][victim]; /* it has to make room as a kernel */
    if (leaving == TB_PLAN_NEVER)
        return false;
    tb_share after = range_after(state, candidate, enters, victim, leaving, leaving == plan->tbs[sm][victim]);
    if (after >= range_after(state, TB_PLAN_NEVER, 0, TB_PLAN_NEVER, 0, 0))
        return false;
    plan->tbs[sm][victim] -= leaving;
    plan->tbs[sm][candidate]++;
    state->available[candidate]--;
    state->preemptions += leaving;
    return true;
}

/* The one with the smallest rK of those with thread blocks to place that were not tried yet. */
static uint32_t next_candidate(const struct smk_state *state, uint32_t tried)
{
    uint32_t best = TB_PLAN_NEVER;
    for (uint32_t a = 0; a < state->plan.application_count; a++)
        if (state->available[a] && !(tried >> a & 1u) &&
            (best == TB_PLAN_NEVER || kernel_share(state, a, 0, 0) < kernel_share(state, best, 0, 0)))
            best = a;
    return best;
}

static void allocate(struct smk_state *state, const struct corun_view *view)
{
    const struct tb_plan *plan = &state->plan;
    uint32_t members = tb_plan_members(plan);
    for (uint32_t a = 0; a < plan->application_count; a++) {
        uint32_t granted = 0;
        for (uint32_t s = 0; s < plan->sm_count; s++) {
            uint32_t held = tb_held(view, s, a);
            granted += plan->tbs[s][a] > held ? plan->tbs[s][a] - held : 0;
        }
        uint32_t waiting = members >> a & 1u ? tb_waiting(view, a) : 0;
        state->available[a] = waiting > granted ? waiting - granted : 0;
    }
    for (uint32_t tried = 0, candidate; (candidate = next_candidate(state, tried)) != TB_PLAN_NEVER;) {
        if (place(state, candidate) || (!tried && preempt(state, candidate)))
            tried = 0;
        else
            tried |= 1u << candidate;
    }
}

/* What was granted and could not be taken for a whole epoch is given up, so that nobody waits for it. */
static void give_up(struct tb_plan *plan, const struct corun_view *view)
{
    for (uint32_t s = 0; s < plan->sm_count; s++)
        for (uint32_t a = 0; a < plan->application_count; a++) {
            uint32_t held = tb_held(view, s, a);
            if (plan->tbs[s][a] > held && !view->sms[s].handing_over && !tb_waiting(view, a))
                plan->tbs[s][a] = held;
        }
}

static void show(const struct smk_state *state, struct corun_allowances *allowances)
{
    allowances->variables[VARIABLE_RANGE] =
        (double)range_after(state, TB_PLAN_NEVER, 0, TB_PLAN_NEVER, 0, 0) / (double)TB_SHARE_ONE;
    allowances->variables[VARIABLE_PREEMPTIONS] = (double)state->preemptions;
    for (uint32_t a = 0; a < SHOWN_APPLICATIONS; a++)
        allowances->variables[VARIABLE_SHARE + a] = a < state->plan.application_count && is_sharing(state, a)
                                                        ? (double)kernel_share(state, a, 0, 0) / (double)TB_SHARE_ONE
                                                        : (double)NAN;
}

static enum corun_status smk_start(void *memory, const struct corun_view *view, const double *values,
                                   struct corun_allowances *allowances)
{
    struct smk_state *state = memory;
    state->max_kernels = (uint32_t)values[PARAMETER_MAX_KERNELS];
    if (!tb_plan_start(&state->plan, view, &allowances->refusal))
        return CORUN_POLICY;
    allowances->free_transfers = values[PARAMETER_IDEAL] != 0;
    tb_plan_allow(&state->plan, allowances);
    show(state, allowances);
    return CORUN_OK;
}

static void smk_decide(void *memory, const struct corun_view *view, struct corun_policy_moment moment,
                       struct corun_allowances *allowances)
{
    struct smk_state *state = memory;
    struct tb_plan *plan = &state->plan;
    uint32_t a = moment.application, *tbs = &plan->tbs[moment.sm][a];
    if (moment.event == CORUN_EVENT_TB_COMPLETE && *tbs > tb_held(view, moment.sm, a))
        --*tbs; /* else one that was to leave has completed, or one less has to */
    if (moment.event == CORUN_EVENT_EPOCH)
        give_up(plan, view);
    (void)tb_plan_note(plan, view, moment);
    allocate(state, view);
    tb_plan_allow(plan, allowances);
    show(state, allowances);
}

const struct corun_policy smk_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "smk",
    .summary = "kernels share every SM, one more thread block at a time for the one with the smallest share",
    .paper = "Wang et al., Simultaneous Multikernel GPU, HPCA 2016; section 2.4.3.1 of the thesis",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_SWAP_TB,
    .observes = TB_PLAN_OBSERVES | TB_HELD_OBSERVES | TB_WAITING_OBSERVES | 1u << CORUN_SEES_HAND_OVER |
                1u << CORUN_SEES_TB_COMPLETE,
    .variables = variables,
    .variable_count = sizeof variables / sizeof variables[0],
    .wants_tb_complete = true,
    .state_bytes = sizeof(struct smk_state),
    .start = smk_start,
    .decide = smk_decide,
};
