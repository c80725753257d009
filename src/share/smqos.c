/* SPDX-License-Identifier: MIT */
/*
 * SMQoS: a latency-sensitive (LS) kernel gets just enough SMs for its goal, batch kernels get the SMs that they can
 * use, and the others lose their power (Sun et al., "QoS-aware dynamic resource allocation with improved utilization
 * and energy efficiency on GPU", Parallel Computing 2022, sections 4.1 to 4.3: algorithms 1 to 3).
 *
 * At each end of an epoch, the LS kernel may ask for one SM or give one back (algorithm 1). What a batch kernel did
 * with one SM more or less moves opt, the number of SMs beyond which it gains nothing, and its bounds (algorithm 2).
 * Then SMs change hands (algorithm 3). An SM changes hands only when the thread blocks on it have completed.
 *
 * Two places of the print contradict its text, and the text is followed: an SM that the LS kernel takes is given to it
 * and never gated (lines 25 to 30 of algorithm 3 belong to precondition 2), and opt does not change any more once both
 * bounds are known. What the paper leaves open is chosen as docs/policies-smqos.md says: the first opt, more than one
 * batch kernel, more than one LS kernel, thread blocks that outlive an epoch, and applications that come and go.
 */
#include "share/policies.h"
#include "share/sm_owners.h"

#include <math.h>

enum { PARAMETER_THRESHOLD, PARAMETER_BATCH_LEAST, PARAMETER_GATE, PARAMETER_RECLAIM };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_THRESHOLD] = {"threshold", 0.01, 0, 1, false,
                             "relative change of a batch kernel's IPC that counts as one (section 4.3)", NULL},
    [PARAMETER_BATCH_LEAST] = {"batch-least", 0, 0, SM_OWNERS_MAX, true,
                               "SMs that the LS kernel leaves to every batch kernel, whatever its goal", NULL},
    [PARAMETER_GATE] = {"gate", 1, 0, 1, true, "SMs that nobody uses are switched off", "off|on"},
    [PARAMETER_RECLAIM] = {"reclaim", SM_RECLAIM_DRAIN, 0, 2, true, "how an SM changes hands; the paper drains",
                           SM_RECLAIM_WORDS},
};

#define SHOWN_BATCH_KERNELS 3u
#define BATCH_VARIABLES(number) \
    {"batch_sms_" number, "SMs of batch kernel " number}, {"opt_" number, "opt of batch kernel " number}, \
        {"upper_" number, "1: opt of batch kernel " number " is known not to be higher"}, \
    { \
        "lower_" number, "1: opt of batch kernel " number " is known not to be lower" \
    }
enum {
    VARIABLE_ACTIVE,
    VARIABLE_CHANGING,
    VARIABLE_LS,
    VARIABLE_AVERAGE,
    VARIABLE_EPOCH,
    VARIABLE_BATCH,
    VARIABLES_PER_BATCH = 4
};
static const struct corun_policy_variable variables[] = {
    {"active_sms", "SMs that an application has"},
    {"changing_sms", "SMs on which thread blocks of the one who had them before still run"},
    {"ls_sms", "SMs of the (first) LS kernel"},
    {"ls_average", "its average IPC / its goal"},
    {"ls_epoch", "its IPC in the last epoch / its goal"},
    BATCH_VARIABLES("1"),
    BATCH_VARIABLES("2"),
    BATCH_VARIABLES("3"),
};

/* IPC with a number of SMs: over the longest part of an epoch in which that number did not change. */
struct measurement {
    uint64_t cycles; /* 0: none */
    uint32_t sms;
    double ipc;
};

struct member {
    bool present;
    double goal_ipc;            /* 0: a batch kernel */
    struct progress_mark since; /* it arrived, or got its goal */
    bool settled;               /* no SM of it is changing hands */
    uint32_t held;              /* SMs on which it really runs, and since when in this epoch */
    struct progress_mark held_since;
    struct measurement epoch; /* of this epoch, so far */
    /* an LS kernel that needs more while nothing can be taken for it */
    bool has_everything, reached_with_everything;
    /* a batch kernel: the history of section 4.3 */
    bool upper, lower;
    uint32_t opt;
    struct measurement last; /* SM_last and IPC_last: of the last epoch of which half could be measured */
};

struct smqos_state {
    double threshold;
    uint32_t batch_least;
    bool gate;
    enum corun_reclaim reclaim;
    uint32_t count;
    struct sm_owners owners;
    struct member members[CORUN_MAX_APPLICATIONS];
};

static bool is_ls(const struct member *member)
{
    return member->present && member->goal_ipc > 0;
}

static bool is_batch(const struct member *member)
{
    return member->present && !(member->goal_ipc > 0);
}

static uint32_t sms_of(const struct smqos_state *state, uint32_t a)
{
    return sm_owners_count(&state->owners, a);
}

static void begin_history(struct member *member, uint32_t sms)
{
    member->upper = member->lower = false;
    member->last.cycles = 0;
    member->opt = sms;
}

/* A part of the epoch in which its SMs did not change ends now. */
static void end_part(struct member *member, const struct corun_view *view, uint32_t a)
{
    uint64_t cycles = view->cycle - member->held_since.cycle;
    if (cycles > member->epoch.cycles)
        member->epoch = (struct measurement){cycles, member->held, progress_since(member->held_since, view, a)};
    member->held_since = progress_mark(view, a);
}

/*
 * Algorithm 2: what an SM more or less has brought, when it has really changed hands. Whoever did nothing with either
 * number of SMs, as between two kernels, says nothing about them.
 */
static void judge_swap(struct smqos_state *state, const struct corun_view *view, uint32_t a)
{
    struct member *member = &state->members[a];
    struct measurement now = member->epoch, last = member->last;
    if (2 * now.cycles < view->epoch_cycles)
        return;
    member->last = now;
    if ((member->upper && member->lower) || !last.cycles || last.sms != member->opt || now.sms == last.sms ||
        !(now.ipc > 0 || last.ipc > 0))
        return;
    if (now.sms > last.sms) {
        if (now.ipc > last.ipc * (1 + state->threshold)) {
            member->lower = true;
            member->opt = now.sms;
        } else {
            member->upper = true;
        }
    } else {
        if (now.ipc < last.ipc * (1 - state->threshold)) {
            member->lower = true;
        } else {
            member->upper = true;
            member->opt = now.sms;
        }
    }
}

/*
 * Which batch kernel gives an SM: first one that was seen to gain nothing by it, then that with most SMs; SM_NOBODY if
 * none can.
 */
static uint32_t find_giver(const struct smqos_state *state)
{
    uint32_t best = SM_NOBODY, best_sms = 0;
    bool best_surplus = false;
    for (uint32_t a = 0; a < state->count; a++) {
        const struct member *member = &state->members[a];
        uint32_t sms = sms_of(state, a);
        if (!is_batch(member) || sms <= state->batch_least)
            continue;
        bool surplus = member->upper && sms > member->opt;
        if (best == SM_NOBODY || surplus > best_surplus || (surplus == best_surplus && sms > best_sms)) {
            best = a;
            best_sms = sms;
            best_surplus = surplus;
        }
    }
    return best;
}

/*
 * Which batch kernel gets an SM: one below its opt before one whose upper bound is not known, fewest SMs first;
 * SM_NOBODY if none.
 */
static uint32_t find_taker(const struct smqos_state *state)
{
    uint32_t best = SM_NOBODY, best_sms = 0;
    bool best_below = false;
    for (uint32_t a = 0; a < state->count; a++) {
        const struct member *member = &state->members[a];
        uint32_t sms = sms_of(state, a);
        bool below = sms < member->opt;
        if (!is_batch(member) || (!below && member->upper))
            continue;
        if (best == SM_NOBODY || below > best_below || (below == best_below && sms < best_sms)) {
            best = a;
            best_sms = sms;
            best_below = below;
        }
    }
    return best;
}

/*
 * A batch kernel with an upper and no lower bound tries one SM less, unless one of its SMs is changing hands: that with
 * most SMs. The last SM is the lower bound.
 */
static void swap_out_to_find_lower(struct smqos_state *state, const struct corun_view *view)
{
    uint32_t best = SM_NOBODY, best_sms = 0;
    for (uint32_t a = 0; a < state->count; a++) {
        const struct member *member = &state->members[a];
        uint32_t sms = sms_of(state, a);
        if (is_batch(member) && member->settled && member->upper && !member->lower && sms >= member->opt &&
            sms > best_sms) {
            best = a;
            best_sms = sms;
        }
    }
    if (best == SM_NOBODY)
        return;
    if (best_sms == 1) {
        state->members[best].lower = true;
        return;
    }
    sm_owners_move(&state->owners, view, best, SM_NOBODY);
}

/* Algorithm 3, precondition 1; false if there is nothing to take. */
static bool swap_in(struct smqos_state *state, const struct corun_view *view, uint32_t ls)
{
    if (sm_owners_move(&state->owners, view, SM_NOBODY, ls)) /* an idle one */
        return true;
    uint32_t giver = find_giver(state);
    if (giver == SM_NOBODY)
        return false;
    return sm_owners_move(&state->owners, view, giver, ls);
}

/* An SM that `from` does without: to a batch kernel that can use it, else to nobody (false). */
static bool release(struct smqos_state *state, const struct corun_view *view, uint32_t from)
{
    uint32_t taker = find_taker(state);
    sm_owners_move(&state->owners, view, from, taker);
    return taker != SM_NOBODY;
}

/* Algorithm 3, precondition 2. */
static void swap_out(struct smqos_state *state, const struct corun_view *view, uint32_t ls)
{
    if (!release(state, view, ls))
        swap_out_to_find_lower(state, view);
}

/* No epoch in which it had everything reached the goal. */
static void note_what_is_out_of_reach(struct smqos_state *state, const struct corun_view *view, uint32_t ls,
                                      struct corun_allowances *allowances)
{
    struct member *member = &state->members[ls];
    member->reached_with_everything = member->has_everything && (member->reached_with_everything ||
                                                                 view->applications[ls].epoch_ipc >= member->goal_ipc);
    allowances->out_of_reach[ls] = member->has_everything && !member->reached_with_everything;
    member->has_everything = member->settled;
}

/* Algorithm 1. */
static void adjust(struct smqos_state *state, const struct corun_view *view, uint32_t ls,
                   struct corun_allowances *allowances)
{
    struct member *member = &state->members[ls];
    uint64_t epochs = (view->cycle - member->since.cycle) / view->epoch_cycles;
    if (epochs == 0) /* it came, or got its goal, in this epoch */
        return;
    double goal = member->goal_ipc, epoch = view->applications[ls].epoch_ipc;
    double average = progress_since(member->since, view, ls);
    bool needs_more = average < goal || epoch < goal;
    if (needs_more && !swap_in(state, view, ls)) {
        note_what_is_out_of_reach(state, view, ls, allowances);
        return;
    }
    member->has_everything = allowances->out_of_reach[ls] = false;
    bool enough_for_an_epoch = average * (double)epochs / (double)(epochs + 1) > goal && epoch > goal;
    if (!needs_more && enough_for_an_epoch && sms_of(state, ls) > 1)
        swap_out(state, view, ls);
}

static void end_epoch(struct smqos_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    for (uint32_t a = 0; a < state->count; a++) {
        end_part(&state->members[a], view, a);
        if (is_batch(&state->members[a]))
            judge_swap(state, view, a);
        state->members[a].epoch.cycles = 0;
    }
    for (uint32_t a = 0; a < state->count; a++) {
        if (is_ls(&state->members[a]))
            adjust(state, view, a, allowances);
    }
}

/* As at the start of the paper's runs. */
static void split_evenly(struct smqos_state *state)
{
    uint32_t counts[CORUN_MAX_APPLICATIONS] = {0}, present = 0, turn = 0;
    for (uint32_t a = 0; a < state->count; a++)
        present += state->members[a].present;
    for (uint32_t a = 0; a < state->count; a++) {
        if (state->members[a].present)
            counts[a] = state->owners.sm_count / present + (turn++ < state->owners.sm_count % present);
        begin_history(&state->members[a], counts[a]);
    }
    sm_owners_split(&state->owners, counts);
}

/*
 * An even share for one that comes later: idle SMs, then those of batch kernels; an LS kernel keeps what it was found
 * to need.
 */
static void make_room(struct smqos_state *state, const struct corun_view *view, uint32_t newcomer)
{
    uint32_t present = 0;
    for (uint32_t a = 0; a < state->count; a++)
        present += state->members[a].present;
    while (sms_of(state, newcomer) < state->owners.sm_count / present) {
        if (sm_owners_move(&state->owners, view, SM_NOBODY, newcomer))
            continue;
        uint32_t richest = SM_NOBODY;
        for (uint32_t a = 0; a < state->count; a++) {
            if (a != newcomer && is_batch(&state->members[a]) &&
                (richest == SM_NOBODY || sms_of(state, a) > sms_of(state, richest)))
                richest = a;
        }
        if (richest == SM_NOBODY || sms_of(state, richest) <= sms_of(state, newcomer) + 1)
            break;
        sm_owners_move(&state->owners, view, richest, newcomer);
    }
    begin_history(&state->members[newcomer], sms_of(state, newcomer));
}

static void arrive(struct smqos_state *state, const struct corun_view *view, uint32_t newcomer)
{
    bool needs_known = false; /* of an LS kernel: it has run for an epoch */
    for (uint32_t a = 0; a < state->count; a++)
        needs_known |= is_ls(&state->members[a]) && view->cycle - state->members[a].since.cycle >= view->epoch_cycles;
    state->members[newcomer] = (struct member){.present = true,
                                               .goal_ipc = view->applications[newcomer].goal_ipc,
                                               .since = progress_mark(view, newcomer),
                                               .held_since = progress_mark(view, newcomer)};
    if (needs_known)
        make_room(state, view, newcomer);
    else
        split_evenly(state);
}

static void leave(struct smqos_state *state, const struct corun_view *view, uint32_t leaver)
{
    state->members[leaver].present = false;
    for (uint32_t left = sms_of(state, leaver); left; left--)
        release(state, view, leaver);
}

/* Goals may be set and changed at any time. */
static void notice_goals(struct smqos_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    for (uint32_t a = 0; a < state->count; a++) {
        struct member *member = &state->members[a];
        if (!member->present || member->goal_ipc == view->applications[a].goal_ipc)
            continue;
        member->goal_ipc = view->applications[a].goal_ipc;
        member->since = progress_mark(view, a);
        member->has_everything = allowances->out_of_reach[a] = false;
        begin_history(member, sms_of(state, a));
    }
}

/* SMs that have changed hands since. */
static void notice_sms(struct smqos_state *state, const struct corun_view *view)
{
    for (uint32_t a = 0; a < state->count; a++) {
        struct member *member = &state->members[a];
        uint32_t held = sm_owners_held(&state->owners, view, a);
        if (held != member->held)
            end_part(member, view, a);
        member->held = held;
        member->settled = sm_owners_settled(&state->owners, view, a);
    }
}

static void show(const struct smqos_state *state, const struct corun_view *view, double *values)
{
    for (uint32_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        values[i] = (double)NAN;
    values[VARIABLE_ACTIVE] = state->owners.sm_count - sm_owners_count(&state->owners, SM_NOBODY);
    values[VARIABLE_CHANGING] = sm_owners_changing(&state->owners, view);
    uint32_t batch = 0;
    for (uint32_t a = 0; a < state->count; a++) {
        const struct member *member = &state->members[a];
        if (is_ls(member) && isnan(values[VARIABLE_LS])) {
            values[VARIABLE_LS] = sms_of(state, a);
            values[VARIABLE_AVERAGE] = progress_since(member->since, view, a) / member->goal_ipc;
            values[VARIABLE_EPOCH] = view->applications[a].epoch_ipc / member->goal_ipc;
        } else if (is_batch(member) && batch < SHOWN_BATCH_KERNELS) {
            double *own = &values[VARIABLE_BATCH + VARIABLES_PER_BATCH * batch++];
            own[0] = sms_of(state, a);
            own[1] = member->opt;
            own[2] = member->upper;
            own[3] = member->lower;
        }
    }
}

static void smqos_decide(void *memory, const struct corun_view *view, struct corun_policy_moment moment,
                         struct corun_allowances *allowances)
{
    struct smqos_state *state = memory;
    notice_goals(state, view, allowances);
    notice_sms(state, view);
    if (moment.event == CORUN_EVENT_ARRIVE)
        arrive(state, view, moment.application);
    else if (moment.event == CORUN_EVENT_LEAVE)
        leave(state, view, moment.application);
    else if (moment.event == CORUN_EVENT_EPOCH)
        end_epoch(state, view, allowances);
    notice_sms(state, view);
    sm_owners_allow(&state->owners, view, state->reclaim, state->gate, allowances);
    show(state, view, allowances->variables);
}

static enum corun_status smqos_start(void *memory, const struct corun_view *view, const double *values,
                                     struct corun_allowances *allowances)
{
    struct smqos_state *state = memory;
    state->threshold = values[PARAMETER_THRESHOLD];
    state->batch_least = (uint32_t)values[PARAMETER_BATCH_LEAST];
    state->gate = values[PARAMETER_GATE] != 0;
    state->reclaim = sm_reclaim(values[PARAMETER_RECLAIM]);
    state->count = view->application_count;
    if (!sm_owners_start_apart(&state->owners, view, &allowances->refusal) ||
        !sm_owners_can(view, state->reclaim, &allowances->refusal))
        return CORUN_POLICY;
    if (state->gate && !(view->capabilities & 1u << CORUN_CAN_POWER)) {
        allowances->refusal = "this machine cannot switch SMs off; gate=off does without";
        return CORUN_POLICY;
    }
    for (uint32_t a = 0; a < state->count; a++) {
        if (view->applications[a].state == CORUN_APPLICATION_RUNNING)
            arrive(state, view, a);
    }
    sm_owners_allow(&state->owners, view, state->reclaim, false, allowances);
    show(state, view, allowances->variables);
    return CORUN_OK;
}

const struct corun_policy smqos_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "smqos",
    .summary = "just enough SMs for the goal, the rest to batch kernels as far as they gain by it, or switched off",
    .paper = "Sun et al., SMQoS, Parallel Computing 2022, sections 4.1 to 4.3",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE | 1u << CORUN_CAN_DRAIN,
    .observes = 1u << CORUN_SEES_RESIDENT_TBS | SM_RECLAIM_OBSERVES | 1u << CORUN_SEES_PROGRESS,
    .variables = variables,
    .variable_count = sizeof variables / sizeof variables[0],
    .state_bytes = sizeof(struct smqos_state),
    .start = smqos_start,
    .decide = smqos_decide,
};
