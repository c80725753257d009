/* SPDX-License-Identifier: MIT */
/*
 * Quota-based QoS inside the SM: qos-naive, qos-elastic, qos-rollover and qos-rollover-time (Wang et al., "Quality of service support for
 * fine-grained sharing on GPUs", ISCA 2017, sections 3.3 to 3.6).
 *
 * At the start of an epoch a kernel with a goal gets Quota = alpha * goal IPC * epoch thread instructions, spread over the SMs by the
 * thread blocks that they hold; alpha = max(goal / IPC so far, 1). One without a goal gets an artificial goal: its IPC of the last epoch
 * times the product, over all kernels with goals, of (IPC of the last epoch / (alpha * goal)); before it has run an epoch its
 * IPC counts as 1, and the artificial goal never falls below that: otherwise a kernel that once had nothing to run for an epoch would
 * be shut out for good.
 *
 * When all kernels on an SM have spent theirs: naive, rollover and rollover-time refill those without a goal; elastic begins a new epoch there
 * and refills everybody. What is left at the end of an epoch is lost, except that rollover and rollover-time add it to the next
 * quota of kernels with goals. rollover-time blocks those without goals until the others have spent their quota, as time sharing does.
 *
 * alpha raises a quota by what the average is short, so that an average below its goal comes to it from there and may stay below it to the
 * end. `margin` (corun's own, 0 as in the paper) has the average come to something above the goal.
 *
 * A kernel that starts within an epoch finds what its application may still complete spread over the SMs that are to hold its thread
 * blocks; an application that has just come gets the part of a quota that is left of the epoch.
 */
#include "share/qos_state.h"

#include <math.h>

enum { PARAMETER_HISTORY, PARAMETER_ADJUST, PARAMETER_IDEAL, PARAMETER_MARGIN, PARAMETER_COUNT };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_HISTORY] = {"history", 1, 0, 1, true, "raises the quota of a kernel that is below its goal so far",
                           "off|on"},
    [PARAMETER_ADJUST] = {"tb_adjust", 1, 0, 1, true,
                          "gives a kernel that misses its goal more thread blocks at run time", "off|on"},
    [PARAMETER_IDEAL] = {"ideal", 0, 0, 1, true, "state is saved and restored in no time", "off|on"},
    [PARAMETER_MARGIN] = {"margin", 0, 0, 1, false, "aims at so much more than goals, as a part of each", NULL},
};

#define SHOWN_APPLICATIONS 4u
#define LARGEST_QUOTA 1e12
#define APPLICATION_VARIABLES(number) \
    {"goal_" number, "goal of application " number " in this epoch, thread instructions per cycle"}, \
        {"alpha_" number, "what raises the quota of application " number}, \
    { \
        "tbs_" number, "thread blocks of application " number " that SMs are to hold" \
    }
enum { VARIABLE_SWAPS, VARIABLE_APPLICATION, VARIABLES_PER_APPLICATION = 3 };
static const struct corun_policy_variable variables[] = {
    {"swaps", "thread blocks that run-time adjustment swapped out so far"},
    APPLICATION_VARIABLES("1"),
    APPLICATION_VARIABLES("2"),
    APPLICATION_VARIABLES("3"),
    APPLICATION_VARIABLES("4"),
};

static bool rolls_over(const struct qos_state *state)
{
    return state->mode == QOS_ROLLOVER || state->mode == QOS_ROLLOVER_TIME;
}

/* IPC_epoch / (alpha * goal), multiplied over the kernels with goals that were there in the epoch. */
static double find_scale(const struct qos_state *state, const struct corun_view *view)
{
    double scale = 1;
    uint32_t members = tb_plan_members(&state->plan);
    for (uint32_t a = 0; a < view->application_count; a++)
        if (members >> a & 1u && qos_has_goal(view, a) && state->members[a].alpha > 0)
            scale *= view->applications[a].epoch_ipc / (state->members[a].alpha * state->members[a].goal_ipc);
    return scale;
}

/* Goals and quotas of the epoch that begins. alpha is that which is now: what the last epoch fell short of counts. */
static void find_quotas(struct qos_state *state, const struct corun_view *view)
{
    for (uint32_t a = 0; a < view->application_count; a++) {
        struct qos_member *member = &state->members[a];
        double history = view->applications[a].ipc;
        member->goal_ipc = view->applications[a].goal_ipc * (1 + state->margin);
        member->alpha = 1;
        if (state->history && qos_has_goal(view, a) && history > 0 && history < member->goal_ipc)
            member->alpha = member->goal_ipc / history;
    }
    double scale = find_scale(state, view);
    for (uint32_t a = 0; a < view->application_count; a++) {
        struct qos_member *member = &state->members[a];
        double ipc = view->applications[a].epoch_ipc;
        member->artificial_goal = (ipc > QOS_INITIAL_IPC ? ipc : QOS_INITIAL_IPC) * scale;
        if (!(member->artificial_goal > QOS_INITIAL_IPC))
            member->artificial_goal = QOS_INITIAL_IPC;
        double goal = qos_has_goal(view, a) ? member->alpha * member->goal_ipc : member->artificial_goal;
        member->quota = fmin(goal * (double)view->epoch_cycles, LARGEST_QUOTA);
    }
}

/* Part of a total that an SM gets: by the thread blocks that it holds, or is to hold while it holds none anywhere. */
static double part_of(const struct qos_state *state, const struct corun_view *view, uint32_t s, uint32_t a,
                      bool planned)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < view->sm_count && !planned; i++)
        sum += tb_held(view, i, a);
    if (sum)
        return (double)tb_held(view, s, a) / (double)sum;
    uint32_t total = tb_plan_total(&state->plan, a);
    return total ? (double)state->plan.tbs[s][a] / total : 0;
}

static int64_t whole(double instructions)
{
    return (int64_t)floor(instructions + 0.5);
}

static void give(const struct qos_state *state, const struct corun_view *view, uint32_t a, double total, bool add,
                 bool planned, struct corun_allowances *allowances)
{
    const struct qos_member *member = &state->members[a];
    bool refilled = state->mode == QOS_ELASTIC || !qos_has_goal(view, a);
    for (uint32_t s = 0; s < view->sm_count; s++) {
        uint32_t entry = s * view->application_count + a;
        double part = part_of(state, view, s, a, planned);
        int64_t refill = whole(part * member->quota);
        allowances->quota[entry] = whole(part * total);
        allowances->quota_set[entry] = true;
        allowances->quota_add[entry] = add;
        /* Thread blocks may come to an SM that has none now. */
        allowances->quota_refill[entry] = refilled ? (refill > 0 ? refill : 1) : 0;
    }
}

/* What it has completed since the last time comes off what it may. */
static void count(struct qos_member *member, const struct corun_view *view, uint32_t a)
{
    uint64_t done = view->applications[a].progress;
    member->owed -= (double)(done - member->counted);
    member->counted = done;
}

static void begin_epoch(struct qos_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    uint32_t members = tb_plan_members(&state->plan);
    bool any_goal = false;
    find_quotas(state, view);
    for (uint32_t a = 0; a < view->application_count; a++) {
        struct qos_member *member = &state->members[a];
        if (!(members >> a & 1u))
            continue;
        bool has_goal = qos_has_goal(view, a), keeps = rolls_over(state) && has_goal;
        any_goal |= has_goal;
        double total = !has_goal && state->mode == QOS_ROLLOVER_TIME ? 0 : member->quota;
        count(member, view, a);
        member->owed = keeps ? member->owed + total : total;
        give(state, view, a, total, keeps, false, allowances);
    }
    allowances->quotas_on = any_goal; /* else nobody is to be protected */
    allowances->quota_kind = CORUN_QUOTA_THREAD_AT_COMPLETION;
}

/* The part of a quota that is left of the epoch, for one that has just come or whose quota begins to count. */
static void enter(struct qos_state *state, const struct corun_view *view, uint32_t a)
{
    struct qos_member *member = &state->members[a];
    double left = 1 - (double)(view->cycle % view->epoch_cycles) / (double)view->epoch_cycles;
    bool waits = !qos_has_goal(view, a) && state->mode == QOS_ROLLOVER_TIME;
    member->counted = view->applications[a].progress;
    member->owed = waits ? 0 : left * member->quota;
}

/* Within an epoch: the thread blocks of the new kernel go to all SMs of the plan. The first goal makes everybody's quota count. */
static void kernel_starts(struct qos_state *state, const struct corun_view *view, uint32_t a, bool came,
                          struct corun_allowances *allowances)
{
    uint32_t members = tb_plan_members(&state->plan);
    bool first_goal = qos_has_goal(view, a) && !allowances->quotas_on;
    if (came || first_goal)
        find_quotas(state, view);
    for (uint32_t i = 0; i < view->application_count; i++) {
        struct qos_member *member = &state->members[i];
        bool enters = first_goal || (came && i == a);
        if (!(members >> i & 1u) || !(enters || i == a))
            continue;
        if (enters)
            enter(state, view, i);
        else
            count(member, view, i);
        if (enters || member->owed > 0)
            give(state, view, i, member->owed, false, i == a, allowances);
    }
    allowances->quotas_on |= first_goal;
    allowances->quota_kind = CORUN_QUOTA_THREAD_AT_COMPLETION;
}

static void show(const struct qos_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    uint32_t members = tb_plan_members(&state->plan);
    allowances->variables[VARIABLE_SWAPS] = (double)state->swaps;
    for (uint32_t a = 0; a < SHOWN_APPLICATIONS; a++) {
        double *shown = &allowances->variables[VARIABLE_APPLICATION + a * VARIABLES_PER_APPLICATION];
        bool there = a < view->application_count && members >> a & 1u;
        const struct qos_member *member = &state->members[a];
        shown[0] = !there ? (double)NAN : qos_has_goal(view, a) ? member->goal_ipc : member->artificial_goal;
        shown[1] = there && qos_has_goal(view, a) ? member->alpha : (double)NAN;
        shown[2] = there ? tb_plan_total(&state->plan, a) : (double)NAN;
    }
}

static enum corun_status start(struct qos_state *state, const struct corun_view *view, const double *values,
                               struct corun_allowances *allowances, enum qos_mode mode)
{
    state->mode = mode;
    state->history = values[PARAMETER_HISTORY] != 0;
    state->adjusts = values[PARAMETER_ADJUST] != 0;
    state->margin = values[PARAMETER_MARGIN];
    if (!tb_plan_start(&state->plan, view, &allowances->refusal))
        return CORUN_POLICY;
    allowances->free_transfers = values[PARAMETER_IDEAL] != 0;
    tb_plan_allow(&state->plan, allowances);
    show(state, view, allowances);
    return CORUN_OK;
}

static void decide(void *memory, const struct corun_view *view, struct corun_policy_moment moment,
                   struct corun_allowances *allowances)
{
    struct qos_state *state = memory;
    uint32_t before = tb_plan_members(&state->plan), a = moment.application;
    struct tb_shape last = state->plan.shapes[a];
    bool changed = tb_plan_note(&state->plan, view, moment);
    if (moment.event == CORUN_EVENT_LEAVE)
        state->members[a] = (struct qos_member){0};
    if (changed) {
        bool stays = moment.event == CORUN_EVENT_KERNEL_START && before >> a & 1u && qos_stays(state, view, a, &last);
        if (!stays)
            qos_allocate(state, view);
        tb_plan_allow(&state->plan, allowances);
    }
    if (moment.event == CORUN_EVENT_KERNEL_START)
        kernel_starts(state, view, a, !(before >> a & 1u), allowances);
    if (moment.event == CORUN_EVENT_EPOCH) {
        begin_epoch(state, view, allowances);
        if (state->adjusts && qos_adjust(state, view, allowances->out_of_reach))
            tb_plan_allow(&state->plan, allowances);
    }
    if (moment.event == CORUN_EVENT_LIMIT_REACHED && state->adjusts && qos_proceed(state, view)) {
        changed = true;
        tb_plan_allow(&state->plan, allowances);
    }
    if (changed || moment.event == CORUN_EVENT_EPOCH)
        show(state, view, allowances);
}

#define QOS_POLICY(symbol, mode, policy_name, words, section) \
    static enum corun_status symbol##_start(void *state, const struct corun_view *view, const double *values, \
                                            struct corun_allowances *allowances) \
    { \
        return start(state, view, values, allowances, mode); \
    } \
    const struct corun_policy symbol##_policy = { \
        .version = CORUN_POLICY_VERSION, \
        .name = policy_name, \
        .summary = words, \
        .paper = "Wang et al., Quality of service support for fine-grained sharing on GPUs, ISCA 2017, " section, \
        .parameters = parameters, \
        .parameter_count = PARAMETER_COUNT, \
        .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_SWAP_TB | 1u << CORUN_CAN_QUOTA, \
        .observes = TB_PLAN_OBSERVES | TB_HELD_OBSERVES | TB_WAITING_OBSERVES | 1u << CORUN_SEES_PROGRESS | \
                    1u << CORUN_SEES_HAND_OVER | 1u << CORUN_SEES_IDLE_WARPS, \
        .variables = variables, \
        .variable_count = sizeof variables / sizeof variables[0], \
        .needs_isolated_ipc = true, \
        .state_bytes = sizeof(struct qos_state), \
        .start = symbol##_start, \
        .decide = decide, \
    }

QOS_POLICY(qos_naive, QOS_NAIVE, "qos-naive", "quotas from goals inside the SM, renewed each epoch", "section 3.4.1");
QOS_POLICY(qos_elastic, QOS_ELASTIC, "qos-elastic",
           "quotas from goals inside the SM; an SM that has spent all begins its next epoch at once", "section 3.4.3");
QOS_POLICY(qos_rollover, QOS_ROLLOVER, "qos-rollover",
           "quotas from goals inside the SM; what is left of an epoch is added to the next", "section 3.4.4");
QOS_POLICY(qos_rollover_time, QOS_ROLLOVER_TIME, "qos-rollover-time",
           "as qos-rollover, but best effort is blocked until the goals of the epoch are reached", "section 3.4.4");
