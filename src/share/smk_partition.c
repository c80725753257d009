/* SPDX-License-Identifier: MIT */
/*
 * SMK-P and SMK-(P+W): each SM is divided between its kernels by dominant resource fairness (Wang et al., "Simultaneous Multikernel
 * GPU", section 2.4.3.2 of the thesis, figures 2-5 to 2-7), and the issue slots by a fair warp quota (section 2.4.4).
 *
 * A partition is made when a kernel comes that has none on the SM, and anew when the kernels of the SM or their thread blocks change.
 * A next kernel of an application whose thread blocks all find place in the partitions of the one before takes these over: nobody else
 * is swapped for it. A partition is what the kernel would hold if thread blocks were added one by one for the kernel with the smallest rK of this SM. The
 * machine swaps out what is above it and relocates what lies outside it.
 *
 * With the quota, each kernel has one SM to itself, where its warp instructions per cycle and scheduler (WIPC) are measured. With S of
 * the T thread blocks that fit an empty SM it is due C = WIPC * S / T of the cycles, and gets C / (sum of all C) of the epoch in
 * warp instructions of each scheduler: at the start of an epoch, and again whenever all kernels have spent theirs.
 */
#include "share/kernel_sets.h"
#include "share/policies.h"

#include <math.h>
#include <string.h>

enum { PARAMETER_MAX_KERNELS, PARAMETER_IDEAL, SMK_P_PARAMETERS, PARAMETER_QUOTA = SMK_P_PARAMETERS, PARAMETER_COUNT };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_MAX_KERNELS] =
        {"max_kernels_per_sm", CORUN_MAX_APPLICATIONS, 1, CORUN_MAX_APPLICATIONS, true,
         "kernels that share an SM at most; with as many as there are applications, as many as fit", NULL},
    [PARAMETER_IDEAL] = {"ideal", 0, 0, 1, true, "state is saved and restored in no time", "off|on"},
    [PARAMETER_QUOTA] = {"quota", 1, 0, 1, true,
                         "holds kernels to their quotas; off: they are only measured, on SMs of their own", "off|on"},
};

#define SHOWN_APPLICATIONS 4u
#define UNBOUNDED (INT64_C(1) << 40) /* a quota that no epoch spends */

static const struct corun_policy_variable variables[] = {
    {"wipc_1", "warp instructions per cycle and scheduler of application 1 on an SM of its own, in the last epoch"},
    {"wipc_2", "warp instructions per cycle and scheduler of application 2 on an SM of its own, in the last epoch"},
    {"wipc_3", "warp instructions per cycle and scheduler of application 3 on an SM of its own, in the last epoch"},
    {"wipc_4", "warp instructions per cycle and scheduler of application 4 on an SM of its own, in the last epoch"},
};

/* What is known of a kernel on an SM of its own. */
struct measured {
    struct tb_shape shape; /* of its thread blocks */
    double wipc;           /* 0: nothing yet */
    bool whole;            /* of an epoch in which the SM was full from beginning to end */
    uint32_t held;         /* thread blocks there when the last epoch ended */
};

struct partition_state {
    bool measures; /* each kernel has an SM to itself */
    bool limits;   /* and quotas follow from what it does there */
    struct measured measured[CORUN_MAX_APPLICATIONS];
    struct tb_plan plan;
    struct kernel_sets sets;
    uint32_t room[TB_PLAN_SMS][CORUN_MAX_APPLICATIONS][TB_RESOURCES]; /* size of each partition */
    uint32_t took_over; /* applications whose partitions were made for another kernel, as a mask */
};

/* One range after the other, in the order in which the kernels came to the SM. */
static void write_ranges(const struct partition_state *state, uint32_t s, struct corun_allowances *allowances)
{
    const struct tb_plan *plan = &state->plan;
    struct corun_partition *row = &allowances->partition[s * plan->application_count];
    for (uint32_t a = 0; a < plan->application_count; a++)
        row[a] = (struct corun_partition){0};
    uint32_t first_register = 0, first_shared_byte = 0;
    for (uint32_t i = 0; i < state->sets.count[s]; i++) {
        uint32_t a = state->sets.members[s][i];
        const uint32_t *room = state->room[s][a];
        if (!room[TB_SLOTS])
            continue; /* without a thread block there is no range */
        row[a] = (struct corun_partition){.first_register = first_register,
                                          .register_count = room[TB_REGISTERS],
                                          .first_shared_byte = first_shared_byte,
                                          .shared_bytes = room[TB_SHARED_BYTES],
                                          .thread_count = room[TB_THREADS],
                                          .tb_slots = room[TB_SLOTS]};
        first_register += row[a].register_count;
        first_shared_byte += row[a].shared_bytes;
    }
}

static void allow(struct partition_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    for (uint32_t s = 0; s < state->plan.sm_count; s++)
        if (view->capabilities >> CORUN_CAN_PARTITION & 1u)
            write_ranges(state, s, allowances);
    tb_plan_allow(&state->plan, allowances);
}

/* Thread blocks of the shape that a partition holds. */
static uint32_t held_by_room(const uint32_t *room, const struct tb_shape *shape)
{
    uint32_t tbs = shape->tbs_per_sm;
    for (uint32_t r = 0; r < TB_RESOURCES; r++)
        if (shape->needs[r] && room[r] / shape->needs[r] < tbs)
            tbs = room[r] / shape->needs[r];
    return tbs;
}

/* The kernel that has just started takes over the partitions of its application if all its thread blocks find place there. */
static bool take_over(struct partition_state *state, const struct corun_view *view, uint32_t application)
{
    struct tb_plan *plan = &state->plan;
    uint64_t places = 0;
    for (uint32_t s = 0; s < plan->sm_count; s++)
        places += held_by_room(state->room[s][application], &plan->shapes[application]);
    if (places < view->applications[application].running.tbs)
        return false;
    for (uint32_t s = 0; s < plan->sm_count; s++)
        plan->tbs[s][application] = held_by_room(state->room[s][application], &plan->shapes[application]);
    state->took_over |= 1u << application;
    return true;
}

static void divide(struct partition_state *state)
{
    struct tb_plan *plan = &state->plan;
    state->took_over = 0;
    (void)kernel_sets_follow(&state->sets, tb_plan_members(plan), state->measures);
    for (uint32_t s = 0; s < plan->sm_count; s++) {
        tb_plan_fill(plan, kernel_sets_mask(&state->sets, s), TB_DOMINANT_SHARE, plan->tbs[s]);
        for (uint32_t a = 0; a < plan->application_count; a++)
            for (uint32_t r = 0; r < TB_RESOURCES; r++)
                state->room[s][a][r] = plan->tbs[s][a] * plan->shapes[a].needs[r];
    }
}

/* The quota of each kernel on an SM, in warp instructions of each of its schedulers and an epoch; false if a WIPC is missing. */
static bool find_quotas(const struct partition_state *state, const struct corun_view *view, uint32_t s,
                        double part[CORUN_MAX_APPLICATIONS])
{
    const struct tb_plan *plan = &state->plan;
    double sum = 0;
    for (uint32_t a = 0; a < plan->application_count; a++) {
        part[a] = 0;
        if (!plan->tbs[s][a])
            continue;
        if (state->measured[a].wipc <= 0)
            return false;
        part[a] = state->measured[a].wipc * plan->tbs[s][a] / plan->shapes[a].tbs_per_sm;
        sum += part[a];
    }
    for (uint32_t a = 0; a < plan->application_count && sum > 0; a++)
        part[a] = part[a] / sum * (double)view->epoch_cycles;
    return true;
}

static void give_quotas(const struct partition_state *state, const struct corun_view *view,
                        struct corun_allowances *allowances)
{
    allowances->quotas_on = true;
    allowances->quota_kind = CORUN_QUOTA_WARP_AT_ISSUE;
    for (uint32_t s = 0; s < view->sm_count; s++) {
        double part[CORUN_MAX_APPLICATIONS] = {0};
        bool known = state->sets.sampler_of[s] == TB_PLAN_NEVER && find_quotas(state, view, s, part);
        for (uint32_t a = 0; a < view->application_count; a++) {
            uint32_t entry = s * view->application_count + a;
            int64_t quota = UNBOUNDED;
            if (known && state->plan.tbs[s][a])
                quota = part[a] >= 1 ? (int64_t)part[a] : 1;
            allowances->quota[entry] = allowances->quota_refill[entry] = quota;
            allowances->quota_set[entry] = true;
            allowances->quota_add[entry] = false;
        }
    }
}

/*
 * WIPC is that of a full SM. The last thread blocks of a grid have it to themselves, or it is empty for a while: such an epoch does not count,
 * or others would have to wait for a kernel that hardly gets a turn. Until the SM was full for an epoch, what the thread blocks there issued is
 * taken as if there had been as many as fit, the largest of such epochs.
 */
static void measure(struct measured *measured, const struct tb_shape *shape, uint32_t places, uint32_t held,
                    double wipc)
{
    uint32_t most = held > measured->held ? held : measured->held;
    bool full = measured->held >= places && held >= places;
    if (memcmp(&measured->shape, shape, sizeof *shape) != 0) { /* another kernel */
        *measured = (struct measured){.shape = *shape};
        full = false;
    }
    measured->held = held;
    if (full)
        measured->wipc = wipc;
    else if (most && !measured->whole)
        measured->wipc = fmax(measured->wipc, wipc * fmax(1, (double)places / most));
    measured->whole |= full;
}

static void sample(struct partition_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    for (uint32_t s = 0; s < view->sm_count; s++) {
        uint32_t a = state->sets.sampler_of[s];
        if (a == TB_PLAN_NEVER || state->took_over >> a & 1u)
            continue;
        uint64_t issued = view->shares[s * view->application_count + a].warp_instructions;
        double wipc = (double)issued / (double)view->epoch_cycles / view->schedulers_per_sm;
        if (issued) /* else it had nothing to run */
            measure(&state->measured[a], &state->plan.shapes[a], state->plan.tbs[s][a], tb_held(view, s, a), wipc);
        else
            state->measured[a].held = 0;
    }
    for (uint32_t a = 0; a < SHOWN_APPLICATIONS; a++) {
        double wipc = a < view->application_count ? state->measured[a].wipc : 0;
        allowances->variables[a] = wipc > 0 ? wipc : (double)NAN;
    }
}

static enum corun_status start(struct partition_state *state, const struct corun_view *view, const double *values,
                               struct corun_allowances *allowances)
{
    if (!tb_plan_start(&state->plan, view, &allowances->refusal))
        return CORUN_POLICY;
    kernel_sets_start(&state->sets, view->sm_count, view->application_count, (uint32_t)values[PARAMETER_MAX_KERNELS]);
    allowances->free_transfers = values[PARAMETER_IDEAL] != 0;
    tb_plan_allow(&state->plan, allowances);
    return CORUN_OK;
}

static enum corun_status smk_p_start(void *memory, const struct corun_view *view, const double *values,
                                     struct corun_allowances *allowances)
{
    return start(memory, view, values, allowances);
}

static enum corun_status smk_pw_start(void *memory, const struct corun_view *view, const double *values,
                                      struct corun_allowances *allowances)
{
    struct partition_state *state = memory;
    state->measures = true;
    state->limits = values[PARAMETER_QUOTA] != 0;
    if (view->sm_count <= view->application_count)
        allowances->refusal = "each kernel is measured on an SM of its own, and at least one more is needed to share";
    if (allowances->refusal)
        return CORUN_POLICY;
    for (uint32_t a = 0; a < SHOWN_APPLICATIONS; a++)
        allowances->variables[a] = (double)NAN;
    return start(state, view, values, allowances);
}

static void decide(void *memory, const struct corun_view *view, struct corun_policy_moment moment,
                   struct corun_allowances *allowances)
{
    struct partition_state *state = memory;
    bool starts = moment.event == CORUN_EVENT_KERNEL_START, epoch = moment.event == CORUN_EVENT_EPOCH;
    bool changed = tb_plan_note(&state->plan, view, moment);
    changed |= starts && state->took_over >> moment.application & 1u; /* this one may have more thread blocks */
    if (moment.event == CORUN_EVENT_LEAVE)
        state->measured[moment.application] = (struct measured){0};
    if (changed) {
        if (!starts || !take_over(state, view, moment.application))
            divide(state);
        allow(state, view, allowances);
    }
    if (epoch && state->measures)
        sample(state, view, allowances);
    if ((epoch || (changed && allowances->quotas_on)) && state->limits)
        give_quotas(state, view, allowances);
}

const struct corun_policy smk_p_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "smk-p",
    .summary = "kernels share every SM, which is divided by dominant resource fairness",
    .paper = "Wang et al., Simultaneous Multikernel GPU, HPCA 2016; section 2.4.3.2 of the thesis",
    .parameters = parameters,
    .parameter_count = SMK_P_PARAMETERS,
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_SWAP_TB,
    .observes = TB_PLAN_OBSERVES,
    .state_bytes = sizeof(struct partition_state),
    .start = smk_p_start,
    .decide = decide,
};

const struct corun_policy smk_pw_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "smk-pw",
    .summary = "as smk-p, and issue slots by a fair warp quota from what each kernel does on an SM of its own",
    .paper = "Wang et al., Simultaneous Multikernel GPU, HPCA 2016; sections 2.4.3.2 and 2.4.4 of the thesis",
    .parameters = parameters,
    .parameter_count = PARAMETER_COUNT,
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_SWAP_TB | 1u << CORUN_CAN_QUOTA,
    .observes = TB_PLAN_OBSERVES | TB_HELD_OBSERVES | 1u << CORUN_SEES_WARP_INSTRUCTIONS,
    .variables = variables,
    .variable_count = sizeof variables / sizeof variables[0],
    .state_bytes = sizeof(struct partition_state),
    .start = smk_pw_start,
    .decide = decide,
};
