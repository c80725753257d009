/* SPDX-License-Identifier: MIT */
/*
 * Pace: as many SMs as a kernel with a goal needs to be where its goal wants it to be, a horizon from now. For machines that see late and act late: what
 * is seen of long thread blocks comes in steps, and an SM changes hands when its thread blocks have completed.
 *
 * A controller that asks for one SM more at each epoch (Sun et al., SMQoS, Parallel Computing 2022, algorithm 1) asks again before the last SM has
 * come, and while nothing can be seen. This one predicts: what an SM brings is measured from one change of progress to the next, and so is how long
 * SMs take to change hands; the number of SMs follows from both and from what the average is short of. docs/policies-pace.md has the equations.
 *
 * SMs are reserved for a kernel with a goal: it may be on all of them, and those that it has no thread blocks for stay idle. The other kernels
 * share the rest, nobody with more SMs than it has thread blocks.
 */
#include "share/goal_split.h"
#include "share/launches.h"
#include "share/policies.h"
#include "share/rate_curve.h"
#include "share/split.h"

#include <math.h>

#define ROUNDING 1e-9
#define FORGETS 0.9  /* of the longest time without news, with each piece of news */
#define NEWS 4.0     /* pieces of news at least make a mean */
#define HEADROOM 1.1 /* times the goal: where all SMs bring as much, what is missing can be made up for later */
#define NOTHING 0.01 /* part of a rate that no SM is taken for */
#define GUARD 0.25   /* SMs: reserved beyond the need, and the need has to pass what is reserved by as many */

enum {
    PARAMETER_HORIZON,
    PARAMETER_STAY,
    PARAMETER_MEMORY,
    PARAMETER_MARGIN,
    PARAMETER_BATCH_LEAST,
    PARAMETER_FIRST,
    PARAMETER_RECLAIM
};

enum { FIRST_PART, FIRST_ALL };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_HORIZON] = {"horizon", 8, 1, 1000, false,
                           "rounds, beside the time that SMs take to change hands, until the average is to hold the "
                           "goal; a round is an epoch, or the longest launch of late",
                           NULL},
    [PARAMETER_STAY] = {"stay", 4, 1, 1000, false, "rounds for which an SM that is given can be done without", NULL},
    [PARAMETER_MEMORY] = {"memory", 8, 1, 1000, false, "rounds of which what so many SMs bring is the mean", NULL},
    [PARAMETER_MARGIN] = {"margin", 0.002, 0, 1, false, "part of the goal by which its average is to be above it",
                          NULL},
    [PARAMETER_BATCH_LEAST] = {"batch-least", 0, 0, SM_OWNERS_MAX, true,
                               "SMs that are left to every kernel without a goal, whatever goals need", NULL},
    [PARAMETER_FIRST] = {"first", FIRST_PART, 0, 1, true,
                         "SMs of a kernel with a goal until its rate is known: the part that the goal is, or all",
                         "part|all"},
    [PARAMETER_RECLAIM] = {"reclaim", SM_RECLAIM_DRAIN, 0, 2, true, "how an SM changes hands", SM_RECLAIM_WORDS},
};

enum { VARIABLE_RESERVED, VARIABLE_NEEDED, VARIABLE_AVERAGE, VARIABLE_RATE, VARIABLE_HAND_OVER, VARIABLE_CHANGING };
static const struct corun_policy_variable variables[] = {
    [VARIABLE_RESERVED] = {"reserved_sms", "SMs that are reserved for the (first) kernel with a goal"},
    [VARIABLE_NEEDED] = {"needed_sms", "SMs that it needs, by the prediction"},
    [VARIABLE_AVERAGE] = {"average", "its average IPC, as far as predicted / its goal"},
    [VARIABLE_RATE] = {"sm_rate", "what a reserved SM brings / the goal"},
    [VARIABLE_HAND_OVER] = {"hand_over", "epochs in which others leave SMs to it, as last seen"},
    [VARIABLE_CHANGING] = {"changing_sms", "SMs on which thread blocks of the one who had them before still run"},
};

struct member {
    bool present;
    double goal_ipc;            /* 0: none */
    struct progress_mark since; /* it arrived, or got its goal */
    uint32_t reserved;
    double needed;
    struct progress_mark seen; /* its progress has changed */
    double unseen;             /* cycles from one change to the next, the longest of late */
    bool begun;                /* there has been news: what passed before was also the way to its first thread block */
    double sm_cycles;          /* of reserved SMs that nobody else was on, since `seen` */
    struct rate_curve curve;   /* progress per cycle with so many such SMs */
    uint32_t clear;            /* such SMs, now */
    uint64_t launched;         /* its launch began */
    double in_flight;          /* part of its thread blocks that run at once, at most */
    double unfinished;         /* cycles' worth of work that has been told and not been completed, at most of late */
    bool waiting;              /* others have not left all that is reserved */
    bool changed;              /* SMs that it has or had have been changing hands since `seen` */
    uint64_t waiting_since, hand_over;
    bool begins; /* it is measured on all SMs, and has given none yet */
    bool has_everything;
};

struct pace_state {
    double horizon, stay, memory, margin;
    uint32_t batch_least, count;
    bool all_first; /* a kernel is measured on all SMs */
    enum corun_reclaim reclaim;
    uint64_t noted; /* cycle up to which sm_cycles are counted */
    struct sm_owners owners;
    uint8_t owner_before[SM_OWNERS_MAX];
    bool come[SM_OWNERS_MAX]; /* its owner has been seen there */
    struct launches launches;
    struct member members[CORUN_MAX_APPLICATIONS];
};

static bool is_measured(const struct member *member)
{
    return rate_curve_is_known(&member->curve);
}

static bool has_goal(const struct member *member)
{
    return member->present && member->goal_ipc > 0;
}

static bool is_batch(const struct member *member)
{
    return member->present && !(member->goal_ipc > 0);
}

/* SMs that are left to kernels without a goal whatever goals need. */
static uint32_t left_to_batch(const struct pace_state *state)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < state->count; i++)
        left += is_batch(&state->members[i]) ? state->batch_least : 0;
    return left;
}

/* SMs that may be reserved for one, beside what is reserved for the others. */
static uint32_t room_for(const struct pace_state *state, uint32_t a)
{
    uint32_t taken = left_to_batch(state);
    for (uint32_t i = 0; i < state->count; i++)
        if (i != a && has_goal(&state->members[i]))
            taken += state->members[i].reserved;
    return taken + 1 < state->owners.sm_count ? state->owners.sm_count - taken : 1;
}

static uint32_t richest(const struct pace_state *state, uint32_t but)
{
    uint32_t best = SM_NOBODY;
    for (uint32_t a = 0; a < state->count; a++)
        if (a != but && has_goal(&state->members[a]) && state->members[a].reserved > 1 &&
            (best == SM_NOBODY || state->members[a].reserved > state->members[best].reserved))
            best = a;
    return best;
}

static uint32_t all_reserved(const struct pace_state *state)
{
    uint32_t sum = 0;
    for (uint32_t a = 0; a < state->count; a++)
        sum += has_goal(&state->members[a]) ? state->members[a].reserved : 0;
    return sum;
}

/* The part of the SMs that the goal is of the isolated IPC; an even share where that is not known. */
static uint32_t part_of_goal(const struct pace_state *state, const struct corun_view *view, uint32_t a)
{
    bool present[CORUN_MAX_APPLICATIONS];
    uint32_t sms = state->owners.sm_count, share = sms / split_present(view, present);
    double ratio = goal_split_ratio(&view->applications[a]);
    return ratio > 0 ? (uint32_t)ceil(ratio * sms - ROUNDING) : share;
}

static void reserve_first(struct pace_state *state, const struct corun_view *view, uint32_t a)
{
    uint32_t sms = state->owners.sm_count, wanted = part_of_goal(state, view, a), room = room_for(state, a);
    state->members[a].reserved = wanted < room ? wanted : room;
    for (uint32_t from; all_reserved(state) > sms && (from = richest(state, a)) != SM_NOBODY;)
        state->members[from].reserved--;
}

/* SMs that kernels without a goal can use, or that hold all of their thread blocks at once. */
static uint32_t used_by_batch(const struct pace_state *state, bool at_once)
{
    uint32_t sum = 0, sms = state->owners.sm_count;
    for (uint32_t a = 0; a < state->count; a++) {
        uint32_t most = at_once ? launches_full_sms(&state->launches, a) : launches_most_sms(&state->launches, a);
        if (is_batch(&state->members[a]))
            sum += most < sms ? most : sms;
    }
    return sum;
}

/* The first one whose rate is not known, of those that have a launch to be measured by, or of all; SM_NOBODY: none. */
static uint32_t first_unmeasured(const struct pace_state *state, const struct corun_view *view, bool launched)
{
    for (uint32_t a = 0; a < state->count; a++)
        if (has_goal(&state->members[a]) && !is_measured(&state->members[a]) &&
            (!launched || view->applications[a].running.kernel))
            return a;
    return SM_NOBODY;
}

/*
 * Those that have not been measured. It is easier to give than to take, so the first of them has what is left too: where it has a launch to be measured by,
 * everything; else what the others cannot use.
 */
static void reserve_unmeasured(struct pace_state *state, const struct corun_view *view)
{
    uint32_t sms = state->owners.sm_count;
    for (uint32_t a = 0; a < state->count; a++)
        if (has_goal(&state->members[a]) && !is_measured(&state->members[a]))
            state->members[a].reserved = 0;
    for (uint32_t a = 0; a < state->count; a++)
        if (has_goal(&state->members[a]) && !state->members[a].reserved)
            reserve_first(state, view, a);
    uint32_t reserved = all_reserved(state), left = used_by_batch(state, true), a = SM_NOBODY;
    bool any_batch = left;
    if (state->all_first)
        a = first_unmeasured(state, view, true);
    if (a != SM_NOBODY)
        left = left_to_batch(state);
    else
        a = first_unmeasured(state, view, false);
    if (any_batch && a != SM_NOBODY && reserved + left < sms)
        state->members[a].reserved += sms - reserved - left;
}

/*
 * Is there no SM to spare beside what is reserved and what the others can use? Then those of few thread blocks have them together on as few SMs as hold
 * them: an SM that they are on comes back when they have completed.
 */
static bool is_contested(const struct pace_state *state)
{
    uint32_t reserved = all_reserved(state);
    return reserved && reserved + used_by_batch(state, false) >= state->owners.sm_count;
}

/* Every kernel has what is reserved for it, or shares what is left, and no more SMs than it can use. */
static void hand_out(struct pace_state *state, const struct corun_view *view)
{
    bool batch[CORUN_MAX_APPLICATIONS];
    uint32_t counts[CORUN_MAX_APPLICATIONS], most[CORUN_MAX_APPLICATIONS], reserved = all_reserved(state);
    bool contested = is_contested(state);
    for (uint32_t a = 0; a < state->count; a++) {
        batch[a] = is_batch(&state->members[a]);
        most[a] = launches_most_sms(&state->launches, a);
        if (batch[a] && contested)
            most[a] = launches_full_sms(&state->launches, a);
    }
    split_evenly(state->owners.sm_count - reserved, state->count, batch, most, counts);
    for (uint32_t a = 0; a < state->count; a++)
        if (has_goal(&state->members[a]))
            counts[a] = state->members[a].reserved;
    split_hand_over(&state->owners, view, counts);
}

/* Its thread blocks that run, on all SMs or on those that are others' now. */
static uint32_t resident_tbs(const struct pace_state *state, const struct corun_view *view, uint32_t a, bool on_others)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < state->owners.sm_count; s++)
        if (!on_others || state->owners.owner[s] != a)
            count += view->shares[s * state->count + a].resident_tbs;
    return count;
}

/* SMs on which it is, or could be, with nobody else: not those of its own to which its thread blocks have not come yet, though some wait. */
static uint32_t clear_sms(const struct pace_state *state, const struct corun_view *view, uint32_t a)
{
    uint32_t held = sm_owners_held(&state->owners, view, a), coming = 0;
    for (uint32_t s = 0; s < state->owners.sm_count; s++)
        coming += state->owners.owner[s] == a && !state->come[s] && !view->sms[s].resident_tbs;
    bool waits = resident_tbs(state, view, a, false) && view->applications[a].running.tbs_waiting;
    return waits && coming < held ? held - coming : held;
}

/* On which SMs has their owner been seen since it has them? */
static void note_owners(struct pace_state *state, const struct corun_view *view)
{
    for (uint32_t s = 0; s < state->owners.sm_count; s++) {
        uint8_t owner = state->owners.owner[s];
        state->come[s] &= owner == state->owner_before[s];
        state->come[s] |= owner != SM_NOBODY && view->shares[s * state->count + owner].resident_tbs;
        state->owner_before[s] = owner;
    }
}

/* What has passed since the last moment. */
static void note_time(struct pace_state *state, const struct corun_view *view)
{
    for (uint32_t a = 0; a < state->count; a++) {
        struct member *member = &state->members[a];
        if (has_goal(member))
            member->sm_cycles += (double)member->clear * (double)(view->cycle - state->noted);
    }
    state->noted = view->cycle;
}

/* What has passed was the way to its first thread block. */
static void begin(const struct corun_view *view, uint32_t a, struct member *member)
{
    member->begun = true;
    member->seen = progress_mark(view, a);
    member->sm_cycles = 0;
}

/* Who is where; how long what is reserved has taken to come. */
static void note_sms(struct pace_state *state, const struct corun_view *view)
{
    note_owners(state, view);
    for (uint32_t a = 0; a < state->count; a++) {
        struct member *member = &state->members[a];
        if (!has_goal(member))
            continue;
        uint32_t clear = clear_sms(state, view, a);
        member->changed |= clear != member->clear || resident_tbs(state, view, a, true);
        member->clear = clear;
        if (!member->begun && resident_tbs(state, view, a, false))
            begin(view, a, member);
        bool waits = member->clear < member->reserved;
        if (waits && !member->waiting)
            member->waiting_since = view->cycle;
        uint64_t passed = view->cycle - member->waiting_since;
        if (member->waiting && (!waits || passed > member->hand_over))
            member->hand_over = passed;
        member->waiting = waits;
    }
}

/*
 * Thread blocks that run are told as far as they are likely to be, and count when they have completed: at most as much as a launch takes, or the part of it
 * that runs at once.
 */
static double unfinished(const struct corun_view *view, const struct member *member)
{
    return fmax((double)(view->cycle - member->launched) * member->in_flight, member->unfinished);
}

/* What may change what it does: an epoch, or where its launches take longer, as long as the longest of late. */
static double round_cycles(const struct corun_view *view, const struct member *member)
{
    return fmax((double)view->epoch_cycles, unfinished(view, member));
}

/* What an SM brings, from one change of progress to the next: between them nothing is known. */
static void observe(const struct pace_state *state, const struct corun_view *view, uint32_t a, struct member *member)
{
    struct progress_mark now = progress_mark(view, a);
    uint64_t passed = now.cycle - member->seen.cycle;
    if (now.progress == member->seen.progress || !(member->sm_cycles > 0))
        return;
    if (!member->begun) {
        begin(view, a, member);
        return;
    }
    member->unseen = fmax((double)passed, member->unseen * FORGETS);
    double memory = fmax(state->memory * round_cycles(view, member), NEWS * member->unseen);
    double rate = (double)(now.progress - member->seen.progress) / (double)passed;
    if (!member->changed || !is_measured(member)) /* while SMs change hands it does what it does only then */
        rate_curve_note(&member->curve, member->sm_cycles / (double)passed, rate, (double)passed, memory);
    member->changed = false;
    member->seen = now;
    member->sm_cycles = 0;
}

static void note_launch(struct pace_state *state, const struct corun_view *view, uint32_t a)
{
    struct member *member = &state->members[a];
    const struct corun_grid_view *grid = &view->applications[a].running;
    double fit = (double)member->reserved * grid->tbs_per_sm;
    member->unfinished *= FORGETS;
    member->unfinished = unfinished(view, member);
    member->launched = view->cycle;
    member->in_flight = grid->tbs && fit < grid->tbs ? fit / grid->tbs : 1;
}

static void begin_launch(struct pace_state *state, const struct corun_view *view, uint32_t a)
{
    note_launch(state, view, a);
    if (state->all_first && has_goal(&state->members[a]) && !is_measured(&state->members[a]))
        reserve_unmeasured(state, view);
}

/* What it does with so many SMs, per cycle, as far as is known. */
static double rate_with(const struct pace_state *state, uint32_t a, double sms)
{
    return rate_curve_at(&state->members[a].curve, sms, launches_most_sms(&state->launches, a));
}

/* Progress since the goal was given, with what is likely to have been done since a change was last seen. */
static double likely_progress(const struct pace_state *state, const struct corun_view *view, uint32_t a)
{
    const struct member *member = &state->members[a];
    double done = (double)(member->seen.progress - member->since.progress);
    double passed = (double)(view->cycle - member->seen.cycle);
    return passed > 0 ? done + rate_with(state, a, member->sm_cycles / passed) * fmin(passed, member->unseen) : done;
}

/* What is to be done within so many cycles from now, so that the average holds the goal then. */
static double left_to_do(const struct pace_state *state, const struct corun_view *view, uint32_t a, double cycles)
{
    const struct member *member = &state->members[a];
    double until = (1 + state->margin) * ((double)(view->cycle - member->since.cycle) + cycles);
    return member->goal_ipc * (until + unfinished(view, member)) - likely_progress(state, view, a);
}

/* Cycles until a decision shows, at the latest: SMs have to be left by others, and news has to come. */
static double delay(const struct member *member, bool from_others)
{
    return member->unseen + (from_others ? (double)member->hand_over : 0);
}

/*
 * SMs with which the average holds the goal a horizon from now; where all would not be enough for that, but do well more than the goal, as few as do what all do.
 */
static double predict(const struct pace_state *state, const struct corun_view *view, uint32_t a, double rounds,
                      bool from_others)
{
    const struct member *member = &state->members[a];
    double horizon = rounds * round_cycles(view, member) + delay(member, from_others);
    double rate = left_to_do(state, view, a, horizon) / horizon, all = rate_with(state, a, state->owners.sm_count);
    if (all >= HEADROOM * member->goal_ipc) /* it will be made up for later */
        rate = fmin(rate, (1 - NOTHING) * all);
    return rate > 0
               ? rate_curve_sms(&member->curve, rate, state->owners.sm_count, launches_most_sms(&state->launches, a))
               : 0;
}

/* Would the average fall below the goal before an SM that is asked for an epoch later could be there? Until then nothing need be taken. */
static bool is_short(const struct pace_state *state, const struct corun_view *view, uint32_t a, bool from_others)
{
    const struct member *member = &state->members[a];
    double cycles = (double)view->epoch_cycles + delay(member, from_others);
    return left_to_do(state, view, a, cycles) > rate_with(state, a, member->reserved) * cycles;
}

/* With an SM less, thread blocks of its launches would share one, or wait for each other: that is no small step. */
static bool has_few_tbs(const struct pace_state *state, uint32_t a)
{
    uint32_t most = launches_most_sms(&state->launches, a);
    return most <= state->owners.sm_count && state->members[a].reserved <= most;
}

static void decide_reserve(struct pace_state *state, const struct corun_view *view, uint32_t a, struct member *member)
{
    uint32_t room = room_for(state, a), others = used_by_batch(state, is_contested(state));
    uint32_t free = state->owners.sm_count - all_reserved(state);
    double least =
        ceil(predict(state, view, a, state->stay, others > free) + GUARD);    /* they would have what is given */
    member->needed = predict(state, view, a, state->horizon, others >= free); /* they have what can be taken */
    if (member->needed > member->reserved && is_short(state, view, a, others >= free))
        member->reserved = (uint32_t)fmin(fmax(ceil(member->needed + GUARD), 1), room);
    else if (least < member->reserved && member->reserved > 1 && (others > free || !has_few_tbs(state, a)) &&
             (member->waiting || sm_owners_settled(&state->owners, view, a))) {
        /* One that has not come yet, or the next one when the last one has gone; at first all beyond the part that the goal is. */
        uint32_t keeps = member->begins ? part_of_goal(state, view, a) : member->reserved - 1;
        member->reserved = (uint32_t)fmin(fmax(keeps, fmax(least, 1)), member->reserved - 1);
        member->begins = false;
    }
}

/* It had all that it can have for an epoch, and that is less than its goal. */
static void note_reach(const struct pace_state *state, uint32_t a, struct member *member,
                       struct corun_allowances *allowances)
{
    bool everything = member->reserved == room_for(state, a) && !member->waiting;
    allowances->out_of_reach[a] = everything && member->has_everything && is_measured(member) &&
                                  rate_with(state, a, member->reserved) < member->goal_ipc;
    member->has_everything = everything;
}

static void end_epoch(struct pace_state *state, const struct corun_view *view, struct corun_allowances *allowances)
{
    for (uint32_t a = 0; a < state->count; a++) {
        struct member *member = &state->members[a];
        if (!has_goal(member))
            continue;
        observe(state, view, a, member);
        if (is_measured(member))
            decide_reserve(state, view, a, member);
        note_reach(state, a, member, allowances);
    }
}

static void arrive(struct pace_state *state, const struct corun_view *view, uint32_t a)
{
    state->members[a] = (struct member){.present = true,
                                        .goal_ipc = view->applications[a].goal_ipc,
                                        .begins = state->all_first,
                                        .since = progress_mark(view, a),
                                        .launched = view->cycle,
                                        .seen = progress_mark(view, a)};
}

/* Goals may be set and changed at any time. */
static void note_goals(struct pace_state *state, const struct corun_view *view)
{
    for (uint32_t a = 0; a < state->count; a++) {
        struct member *member = &state->members[a];
        double goal = view->applications[a].goal_ipc;
        if (!member->present || member->goal_ipc == goal)
            continue;
        arrive(state, view, a);
        reserve_unmeasured(state, view);
    }
}

static void show(const struct pace_state *state, const struct corun_view *view, double *values)
{
    uint32_t a = 0;
    for (uint32_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        values[i] = (double)NAN;
    values[VARIABLE_CHANGING] = sm_owners_changing(&state->owners, view);
    while (a < state->count && !has_goal(&state->members[a]))
        a++;
    if (a == state->count)
        return;
    const struct member *member = &state->members[a];
    double passed = (double)(view->cycle - member->since.cycle);
    values[VARIABLE_RESERVED] = member->reserved;
    values[VARIABLE_HAND_OVER] = (double)member->hand_over / (double)view->epoch_cycles;
    if (!is_measured(member))
        return;
    values[VARIABLE_NEEDED] = member->needed;
    values[VARIABLE_RATE] = rate_with(state, a, member->reserved) / member->goal_ipc / member->reserved;
    values[VARIABLE_AVERAGE] = passed > 0 ? likely_progress(state, view, a) / (member->goal_ipc * passed) : (double)NAN;
}

static void pace_decide(void *memory, const struct corun_view *view, struct corun_policy_moment moment,
                        struct corun_allowances *allowances)
{
    struct pace_state *state = memory;
    (void)launches_note(&state->launches, view, moment);
    note_time(state, view);
    note_goals(state, view);
    note_sms(state, view);
    if (moment.event == CORUN_EVENT_ARRIVE) {
        arrive(state, view, moment.application);
        reserve_unmeasured(state, view);
    } else if (moment.event == CORUN_EVENT_LEAVE)
        state->members[moment.application].present = false;
    else if (moment.event == CORUN_EVENT_KERNEL_START)
        begin_launch(state, view, moment.application);
    else if (moment.event == CORUN_EVENT_EPOCH)
        end_epoch(state, view, allowances);
    hand_out(state, view);
    note_sms(state, view);
    sm_owners_allow(&state->owners, view, state->reclaim, false, allowances);
    show(state, view, allowances->variables);
}

static enum corun_status pace_start(void *memory, const struct corun_view *view, const double *values,
                                    struct corun_allowances *allowances)
{
    struct pace_state *state = memory;
    state->horizon = values[PARAMETER_HORIZON];
    state->stay = values[PARAMETER_STAY];
    state->memory = values[PARAMETER_MEMORY];
    state->margin = values[PARAMETER_MARGIN];
    state->batch_least = (uint32_t)values[PARAMETER_BATCH_LEAST];
    state->all_first = values[PARAMETER_FIRST] == FIRST_ALL;
    state->reclaim = sm_reclaim(values[PARAMETER_RECLAIM]);
    state->count = view->application_count;
    state->noted = view->cycle;
    if (!sm_owners_start_apart(&state->owners, view, &allowances->refusal) ||
        !sm_owners_can(view, state->reclaim, &allowances->refusal))
        return CORUN_POLICY;
    for (uint32_t a = 0; a < state->count; a++) {
        if (view->applications[a].state == CORUN_APPLICATION_RUNNING)
            arrive(state, view, a);
    }
    reserve_unmeasured(state, view);
    hand_out(state, view);
    note_sms(state, view);
    sm_owners_allow(&state->owners, view, state->reclaim, false, allowances);
    show(state, view, allowances->variables);
    return CORUN_OK;
}

const struct corun_policy pace_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "pace",
    .summary =
        "as many SMs as hold a goal by a prediction that knows how late it sees and acts, the rest to the others",
    .paper = "the aim of Sun et al., SMQoS, Parallel Computing 2022; the controller is corun's",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE | 1u << CORUN_CAN_DRAIN,
    .observes = 1u << CORUN_SEES_RESIDENT_TBS | SM_RECLAIM_OBSERVES | 1u << CORUN_SEES_PROGRESS |
                1u << CORUN_SEES_OCCUPANCY | 1u << CORUN_SEES_RUNS | 1u << CORUN_SEES_TB_PROGRESS,
    .variables = variables,
    .variable_count = sizeof variables / sizeof variables[0],
    .state_bytes = sizeof(struct pace_state),
    .start = pace_start,
    .decide = pace_decide,
};
