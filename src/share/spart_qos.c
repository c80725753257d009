/* SPDX-License-Identifier: MIT */
/*
 * Spart with goals: whole SMs, handed over by a switch with all their state, and a controller that predicts linearly
 * and climbs hills (Aguilera et al., "QoS-aware dynamic resource allocation for spatial-multitasking GPUs", ASP-DAC
 * 2014, as Wang et al., ISCA 2017, sections 2.3 and 4.1, and Sun et al., SMQoS, 2022, section 2.3, describe it; the
 * switch is Tanasic's, ISCA 2014).
 *
 * These papers give a few sentences only. The algorithm of this file is written out, with the choices made, in
 * docs/policies-spart-qos.md.
 */
#include "share/policies.h"
#include "share/sm_owners.h"

#include <assert.h>
#include <math.h>

enum { PARAMETER_RECLAIM, PARAMETER_IDEAL, PARAMETER_GAIN, PARAMETER_RETRY, PARAMETER_LEAST };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_RECLAIM] = {"reclaim", SM_RECLAIM_SWITCH, 0, 2, true, "how an SM changes hands", SM_RECLAIM_WORDS},
    [PARAMETER_IDEAL] = {"ideal", 0, 0, 1, true, "state is saved and restored in no time", "off|on"},
    [PARAMETER_GAIN] = {"gain", 0, 0, 1, false, "relative rise of IPC above which taking SMs has helped", NULL},
    [PARAMETER_RETRY] = {"retry", 10, 1, 1e6, true, "epochs before a kernel tries again what did not help", NULL},
    [PARAMETER_LEAST] = {"best-effort-least", 0, 0, SM_OWNERS_MAX, true,
                         "SMs that are left to every kernel without a goal", NULL},
};

#define SHOWN_APPLICATIONS 4u
#define APPLICATION_VARIABLES(number) \
    {"sms_" number, "SMs of application " number}, \
        {"needed_" number, "SMs that the goal of application " number " needs, by the linear prediction"}, \
    { \
        "reached_" number, "IPC of application " number " in the last epoch / its goal" \
    }
enum { VARIABLE_CHANGING, VARIABLE_MOVE, VARIABLE_UNDONE, VARIABLE_APPLICATION, VARIABLES_PER_APPLICATION = 3 };
static const struct corun_policy_variable variables[] = {
    {"changing_sms", "SMs on which thread blocks of the one who had them before still are"},
    {"move", "SMs whose change of hands is not judged yet"},
    {"undone", "moves that did not help so far"},
    APPLICATION_VARIABLES("1"),
    APPLICATION_VARIABLES("2"),
    APPLICATION_VARIABLES("3"),
    APPLICATION_VARIABLES("4"),
};

struct member {
    bool present;
    double goal_ipc;             /* 0: best effort */
    struct progress_mark since;  /* it arrived, or got its goal */
    struct progress_mark steady; /* begin of the epoch or, if later, when the last SM had changed hands */
    bool settled;                /* no SM of it is changing hands */
    bool measured;               /* in this epoch, with the SMs that it has */
    double ipc;                  /* when it was last measured */
    double ipc_per_sm;
    uint64_t take_again, give_again; /* epochs from which on it may */
    bool stuck, reached_while_stuck; /* below its goal, and nothing can be done */
};

/* The move that is to be judged. */
struct move {
    bool open, takes;                     /* takes SMs, or gives one */
    uint32_t application;                 /* that takes or gives */
    uint32_t sms[CORUN_MAX_APPLICATIONS]; /* taken from, or given to, each */
    double ipc;                           /* of it before */
};

struct spart_state {
    enum corun_reclaim reclaim;
    bool ideal;
    double gain;
    uint32_t retry, least;
    uint32_t count, undone;
    uint64_t epoch;
    struct sm_owners owners;
    struct member members[CORUN_MAX_APPLICATIONS];
    struct move move;
};

static uint32_t sms_of(const struct spart_state *state, uint32_t a)
{
    return sm_owners_count(&state->owners, a);
}

static bool has_goal(const struct member *member)
{
    return member->present && member->goal_ipc > 0;
}

static bool is_best_effort(const struct member *member)
{
    return member->present && !(member->goal_ipc > 0);
}

/* SMs that its goal needs if IPC grows with SMs as it is now: at least 1, at most all; 0 if it was never measured. */
static uint32_t predict(const struct spart_state *state, const struct member *member)
{
    if (!(member->ipc_per_sm > 0))
        return 0;
    double needed = ceil(member->goal_ipc / member->ipc_per_sm);
    return needed < state->owners.sm_count ? (uint32_t)needed : state->owners.sm_count;
}

static bool is_below(const struct member *member, const struct corun_view *view, uint32_t a)
{
    return member->ipc < member->goal_ipc || progress_since(member->since, view, a) < member->goal_ipc;
}

/* Its goal is kept with one SM less, as far as the prediction goes. */
static bool can_spare(const struct spart_state *state, const struct corun_view *view, uint32_t a)
{
    const struct member *member = &state->members[a];
    uint32_t sms = sms_of(state, a);
    return has_goal(member) && member->measured && sms > 1 && !is_below(member, view, a) &&
           member->ipc_per_sm * (sms - 1) >= member->goal_ipc;
}

static void measure(struct spart_state *state, const struct corun_view *view)
{
    for (uint32_t a = 0; a < state->count; a++) {
        struct member *member = &state->members[a];
        uint32_t sms = sms_of(state, a);
        member->measured =
            member->present && member->settled && sms && 2 * (view->cycle - member->steady.cycle) >= view->epoch_cycles;
        if (member->measured) {
            member->ipc = progress_since(member->steady, view, a);
            member->ipc_per_sm = member->ipc / sms;
        }
        member->steady = progress_mark(view, a);
    }
}

/*
 * From whom a kernel below its goal takes an SM: best effort, most SMs first; then those above theirs, the one farthest
 * above first.
 */
static uint32_t find_donor(const struct spart_state *state, const struct corun_view *view, uint32_t taker)
{
    uint32_t best = SM_NOBODY;
    for (uint32_t a = 0; a < state->count; a++) {
        uint32_t sms = sms_of(state, a);
        if (a != taker && is_best_effort(&state->members[a]) && sms > state->least &&
            (best == SM_NOBODY || sms > sms_of(state, best)))
            best = a;
    }
    if (best != SM_NOBODY)
        return best;
    double best_ratio = 0;
    for (uint32_t a = 0; a < state->count; a++) {
        const struct member *member = &state->members[a];
        if (a == taker || !can_spare(state, view, a) || member->ipc / member->goal_ipc <= best_ratio)
            continue;
        best = a;
        best_ratio = member->ipc / member->goal_ipc;
    }
    return best;
}

/* As many SMs as the prediction says, as far as there are any; false if there are none. */
static bool take(struct spart_state *state, const struct corun_view *view, uint32_t taker)
{
    const struct member *member = &state->members[taker];
    struct move move = {.open = true, .takes = true, .application = taker, .ipc = member->ipc};
    uint32_t sms = sms_of(state, taker), needed = predict(state, member);
    if (needed <= sms) /* it is only its average that is below */
        needed = sms + 1;
    for (uint32_t taken = 0; taken < needed - sms; taken++) {
        uint32_t donor = find_donor(state, view, taker);
        if (donor == SM_NOBODY)
            break;
        sm_owners_move(&state->owners, view, donor, taker);
        move.sms[donor]++;
    }
    if (sms_of(state, taker) == sms)
        return false;
    state->move = move;
    return true;
}

static uint32_t poorest_best_effort(const struct spart_state *state)
{
    uint32_t best = SM_NOBODY;
    for (uint32_t a = 0; a < state->count; a++) {
        if (is_best_effort(&state->members[a]) && (best == SM_NOBODY || sms_of(state, a) < sms_of(state, best)))
            best = a;
    }
    return best;
}

static void give(struct spart_state *state, const struct corun_view *view, uint32_t giver, uint32_t receiver)
{
    sm_owners_move(&state->owners, view, giver, receiver);
    state->move = (struct move){.open = true, .application = giver, .ipc = state->members[giver].ipc};
    state->move.sms[receiver] = 1;
}

/* Hill climbing: what did not help is undone. True if SMs change hands by that. */
static bool judge_move(struct spart_state *state, const struct corun_view *view)
{
    struct move *move = &state->move;
    struct member *member = &state->members[move->application];
    bool helped = move->takes ? member->ipc > move->ipc * (1 + state->gain) : member->ipc >= member->goal_ipc;
    move->open = false;
    if (helped)
        return false;
    if (move->takes)
        member->take_again = state->epoch + state->retry;
    else
        member->give_again = state->epoch + state->retry;
    for (uint32_t a = 0; a < state->count; a++) {
        for (uint32_t i = 0; i < move->sms[a]; i++)
            sm_owners_move(&state->owners, view, move->takes ? move->application : a,
                           move->takes ? a : move->application);
    }
    state->undone++;
    return true;
}

/* A goal is out of reach if no epoch in which nothing could be done reached it. */
static void be_stuck(struct member *member, uint32_t a, struct corun_allowances *allowances)
{
    member->reached_while_stuck = member->stuck && (member->reached_while_stuck || member->ipc >= member->goal_ipc);
    allowances->out_of_reach[a] = member->stuck && !member->reached_while_stuck;
    member->stuck = true;
}

/* The kernel farthest below its goal that can get SMs gets them. */
static bool help_one_below(struct spart_state *state, const struct corun_view *view,
                           struct corun_allowances *allowances)
{
    bool tried[CORUN_MAX_APPLICATIONS] = {false};
    for (;;) {
        uint32_t worst = SM_NOBODY;
        double worst_ratio = 0;
        for (uint32_t a = 0; a < state->count; a++) {
            const struct member *member = &state->members[a];
            if (tried[a] || !has_goal(member) || !member->measured || !is_below(member, view, a))
                continue;
            double ratio = member->ipc / member->goal_ipc;
            if (worst == SM_NOBODY || ratio < worst_ratio) {
                worst = a;
                worst_ratio = ratio;
            }
        }
        if (worst == SM_NOBODY)
            return false;
        struct member *member = &state->members[worst];
        tried[worst] = true;
        if (state->epoch >= member->take_again && take(state, view, worst)) {
            member->stuck = allowances->out_of_reach[worst] = false;
            return true;
        }
        be_stuck(member, worst, allowances);
    }
}

static void let_one_give(struct spart_state *state, const struct corun_view *view)
{
    uint32_t receiver = poorest_best_effort(state), best = SM_NOBODY;
    double best_ratio = 0;
    if (receiver == SM_NOBODY)
        return;
    for (uint32_t a = 0; a < state->count; a++) {
        const struct member *member = &state->members[a];
        if (!can_spare(state, view, a) || state->epoch < member->give_again ||
            member->ipc / member->goal_ipc <= best_ratio)
            continue;
        best = a;
        best_ratio = member->ipc / member->goal_ipc;
    }
    if (best != SM_NOBODY)
        give(state, view, best, receiver);
}

static void end_epoch(struct spart_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    state->epoch++;
    measure(state, view);
    for (uint32_t a = 0; a < state->count; a++) {
        struct member *member = &state->members[a];
        if (has_goal(member) && member->measured && !is_below(member, view, a))
            member->stuck = allowances->out_of_reach[a] = false;
    }
    if (state->move.open) {
        if (!state->members[state->move.application].measured || judge_move(state, view))
            return;
    }
    if (!help_one_below(state, view, allowances))
        let_one_give(state, view);
}

static uint32_t present_count(const struct spart_state *state)
{
    uint32_t present = 0;
    for (uint32_t a = 0; a < state->count; a++)
        present += state->members[a].present;
    return present;
}

/* Tanasic's split, from which the controller starts. */
static void split_evenly(struct spart_state *state)
{
    uint32_t counts[CORUN_MAX_APPLICATIONS] = {0}, present = present_count(state), turn = 0;
    for (uint32_t a = 0; a < state->count; a++) {
        if (state->members[a].present)
            counts[a] = state->owners.sm_count / present + (turn++ < state->owners.sm_count % present);
    }
    sm_owners_split(&state->owners, counts);
}

/*
 * An even share for one that comes later, of what best effort has; without that one SM of the richest, so that it can
 * be measured.
 */
static void make_room(struct spart_state *state, const struct corun_view *view, uint32_t newcomer)
{
    uint32_t present = present_count(state);
    assert(present); /* the newcomer, at least */
    uint32_t share = state->owners.sm_count / present;
    while (sms_of(state, newcomer) < share) {
        if (sm_owners_move(&state->owners, view, SM_NOBODY, newcomer))
            continue;
        bool none_yet = sms_of(state, newcomer) == 0;
        uint32_t richest = SM_NOBODY;
        for (uint32_t a = 0; a < state->count; a++) {
            bool may_give =
                a != newcomer && state->members[a].present && sms_of(state, a) > sms_of(state, newcomer) + 1;
            if (may_give && is_best_effort(&state->members[a]) &&
                (richest == SM_NOBODY || sms_of(state, a) > sms_of(state, richest)))
                richest = a;
        }
        for (uint32_t a = 0; a < state->count && none_yet && richest == SM_NOBODY; a++) {
            if (a != newcomer && sms_of(state, a) > 1 &&
                (richest == SM_NOBODY || sms_of(state, a) > sms_of(state, richest)))
                richest = a;
        }
        if (richest == SM_NOBODY)
            return;
        sm_owners_move(&state->owners, view, richest, newcomer);
    }
}

static void arrive(struct spart_state *state, const struct corun_view *view, uint32_t newcomer)
{
    bool needs_known = false;
    for (uint32_t a = 0; a < state->count; a++)
        needs_known |= has_goal(&state->members[a]) && state->members[a].ipc_per_sm > 0;
    state->members[newcomer] = (struct member){.present = true,
                                               .goal_ipc = view->applications[newcomer].goal_ipc,
                                               .since = progress_mark(view, newcomer),
                                               .steady = progress_mark(view, newcomer)};
    state->move.open = false;
    if (needs_known)
        make_room(state, view, newcomer);
    else
        split_evenly(state);
}

/* Its SMs go to best effort, else one by one to the kernel that has fewest. */
static void leave(struct spart_state *state, const struct corun_view *view, uint32_t leaver)
{
    state->members[leaver].present = false;
    state->move.open = false;
    for (uint32_t left = sms_of(state, leaver); left; left--) {
        uint32_t heir = poorest_best_effort(state);
        for (uint32_t a = 0; a < state->count && heir == SM_NOBODY; a++) {
            bool poorest = state->members[a].present;
            for (uint32_t b = 0; b < state->count; b++)
                poorest &= !state->members[b].present || sms_of(state, a) <= sms_of(state, b);
            if (poorest)
                heir = a;
        }
        sm_owners_move(&state->owners, view, leaver, heir);
    }
}

/* Goals may be set and changed at any time. */
static void notice_goals(struct spart_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    for (uint32_t a = 0; a < state->count; a++) {
        struct member *member = &state->members[a];
        if (!member->present || member->goal_ipc == view->applications[a].goal_ipc)
            continue;
        member->goal_ipc = view->applications[a].goal_ipc;
        member->since = progress_mark(view, a);
        member->take_again = member->give_again = 0;
        member->stuck = allowances->out_of_reach[a] = false;
        if (state->move.application == a)
            state->move.open = false;
    }
}

static void notice_settled(struct spart_state *state, const struct corun_view *view)
{
    for (uint32_t a = 0; a < state->count; a++) {
        struct member *member = &state->members[a];
        bool settled = sm_owners_settled(&state->owners, view, a);
        if (settled && !member->settled)
            member->steady = progress_mark(view, a);
        member->settled = settled;
    }
}

static void show(const struct spart_state *state, const struct corun_view *view, double *values)
{
    values[VARIABLE_CHANGING] = sm_owners_changing(&state->owners, view);
    uint32_t in_move = 0;
    for (uint32_t a = 0; a < state->count; a++)
        in_move += state->move.sms[a];
    values[VARIABLE_MOVE] = state->move.open ? in_move : 0;
    values[VARIABLE_UNDONE] = state->undone;
    for (uint32_t a = 0; a < SHOWN_APPLICATIONS; a++) {
        const struct member *member = &state->members[a];
        double *own = &values[VARIABLE_APPLICATION + VARIABLES_PER_APPLICATION * a];
        bool known = has_goal(member) && member->ipc_per_sm > 0;
        own[0] = member->present ? sms_of(state, a) : (double)NAN;
        own[1] = known ? predict(state, member) : (double)NAN;
        own[2] = known ? member->ipc / member->goal_ipc : (double)NAN;
    }
}

static void allow(const struct spart_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    sm_owners_allow(&state->owners, view, state->reclaim, false, allowances);
    allowances->free_transfers = state->ideal;
    show(state, view, allowances->variables);
}

static void spart_decide(void *memory, const struct corun_view *view, struct corun_policy_moment moment,
                         struct corun_allowances *allowances)
{
    struct spart_state *state = memory;
    notice_goals(state, view, allowances);
    notice_settled(state, view);
    if (moment.event == CORUN_EVENT_ARRIVE)
        arrive(state, view, moment.application);
    else if (moment.event == CORUN_EVENT_LEAVE)
        leave(state, view, moment.application);
    else if (moment.event == CORUN_EVENT_EPOCH)
        end_epoch(state, view, allowances);
    notice_settled(state, view);
    allow(state, view, allowances);
}

static enum corun_status spart_start(void *memory, const struct corun_view *view, const double *values,
                                     struct corun_allowances *allowances)
{
    struct spart_state *state = memory;
    state->reclaim = sm_reclaim(values[PARAMETER_RECLAIM]);
    state->ideal = values[PARAMETER_IDEAL] != 0;
    state->gain = values[PARAMETER_GAIN];
    state->retry = (uint32_t)values[PARAMETER_RETRY];
    state->least = (uint32_t)values[PARAMETER_LEAST];
    state->count = view->application_count;
    if (!sm_owners_start_apart(&state->owners, view, &allowances->refusal) ||
        !sm_owners_can(view, state->reclaim, &allowances->refusal))
        return CORUN_POLICY;
    for (uint32_t a = 0; a < state->count; a++) {
        if (view->applications[a].state == CORUN_APPLICATION_RUNNING)
            arrive(state, view, a);
    }
    allow(state, view, allowances);
    return CORUN_OK;
}

const struct corun_policy spart_qos_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "spart-qos",
    .summary = "whole SMs as a linear prediction says that goals need them, kept if it helped, the rest to best effort",
    .paper = "Aguilera et al., QoS-aware dynamic resource allocation for spatial-multitasking GPUs, ASP-DAC 2014, as "
             "in Wang "
             "et al., ISCA 2017, section 2.3",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE | 1u << CORUN_CAN_DRAIN,
    .observes = 1u << CORUN_SEES_RESIDENT_TBS | SM_RECLAIM_OBSERVES | 1u << CORUN_SEES_PROGRESS,
    .variables = variables,
    .variable_count = sizeof variables / sizeof variables[0],
    .state_bytes = sizeof(struct spart_state),
    .start = spart_start,
    .decide = spart_decide,
};
