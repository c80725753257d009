/* SPDX-License-Identifier: MIT */
/* Sums over the intervals of a run; when there are too many intervals, two become one. */
#include "case/history.h"

#include "base/archive.h"
#include "corun/checkpoint.h"

#include <math.h>
#include <string.h>

/* Where the end of the window is not known, intervals begin this long, and are doubled whenever there are too many. */
#define FIRST_INTERVAL_CYCLES 1000u

/*
 * Something that is there from one cycle to another, again and again: up to a cycle t, what has been there so far adds
 * up to level * t - base.
 */
struct presence {
    int64_t level, base;
};

/*
 * A thread block of which we were told ahead of its start. It counts from that cycle on, and not before everything is
 * known that ended earlier on its SM: until it comes, the SM may be empty.
 */
struct coming {
    uint64_t cycle;
    uint32_t application;
};

/* Sums up to a cycle. */
struct share_sums {
    int64_t sm_cycles, tb_cycles;
    uint64_t thread_instructions;
};

struct history {
    const struct corun_case *job;
    uint32_t sms, applications, variables, tbs_per_sm;
    const struct corun_gpu *gpu;
    uint64_t interval_cycles, next_cycle; /* ours */
    uint64_t user_next_cycle;             /* of the case's own observer */
    uint32_t count;
    uint64_t *cycles;            /* [interval]: when the sums were taken, at its end */
    struct share_sums *shares;   /* [interval][application] */
    int64_t *powered_cycles;     /* [interval] */
    double *values;              /* [interval][variable] */
    uint32_t *resident;          /* [sm][application]: thread blocks */
    struct presence *in_use;     /* [application]: SMs */
    struct presence *tbs;        /* [application] */
    struct presence powered;     /* SMs */
    struct coming *coming;       /* [sm][tbs_per_sm]: each has a place on its SM already */
    uint32_t *coming_count;      /* [sm] */
    const double *policy_values; /* as the policy has left them; NULL: no policy */
};

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

struct history *history_create(const struct corun_case *job, struct arena *arena)
{
    struct history *history = ARENA_NEW(arena, struct history);
    if (!history)
        return NULL;
    uint32_t room = HISTORY_INTERVALS, applications = job->application_count;
    *history =
        (struct history){.job = job,
                         .sms = job->gpu->sms,
                         .applications = applications,
                         .variables = job->policy ? job->policy->variable_count : 0,
                         .tbs_per_sm = job->gpu->tbs_per_sm,
                         .interval_cycles = job->cycles ? (job->cycles + HISTORY_INTERVALS - 1) / HISTORY_INTERVALS
                                                        : FIRST_INTERVAL_CYCLES,
                         .powered = {.level = job->gpu->sms}};
    history->cycles = ARENA_ARRAY(arena, uint64_t, room);
    history->shares = ARENA_ARRAY(arena, struct share_sums, (size_t)room * applications);
    history->powered_cycles = ARENA_ARRAY(arena, int64_t, room);
    history->values = ARENA_ARRAY(arena, double, (size_t)room * history->variables + 1);
    history->resident = ARENA_ARRAY(arena, uint32_t, (size_t)history->sms * applications);
    history->in_use = ARENA_ARRAY(arena, struct presence, applications);
    history->tbs = ARENA_ARRAY(arena, struct presence, applications);
    history->coming = ARENA_ARRAY(arena, struct coming, (size_t)history->sms * history->tbs_per_sm);
    history->coming_count = ARENA_ARRAY(arena, uint32_t, history->sms);
    bool whole = history->cycles && history->shares && history->powered_cycles && history->values &&
                 history->resident && history->in_use && history->tbs && history->coming && history->coming_count;
    return whole ? history : NULL;
}

/* ---- what is there ---- */

static void add(struct presence *presence, int64_t many, uint64_t cycle)
{
    presence->level += many;
    presence->base += many * (int64_t)cycle;
}

static int64_t sum_until(const struct presence *presence, uint64_t cycle)
{
    return presence->level * (int64_t)cycle - presence->base;
}

static void start(struct history *history, uint32_t sm, const struct coming *coming)
{
    add(&history->tbs[coming->application], 1, coming->cycle);
    if (!history->resident[sm * history->applications + coming->application]++)
        add(&history->in_use[coming->application], 1, coming->cycle);
}

/* Those of an application that come to the SM until a cycle have come. */
static void have_come(struct history *history, uint32_t sm, uint32_t application, uint64_t cycle)
{
    struct coming *coming = &history->coming[(size_t)sm * history->tbs_per_sm];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < history->coming_count[sm]; i++) {
        if (coming[i].application == application && coming[i].cycle <= cycle)
            start(history, sm, &coming[i]);
        else
            coming[kept++] = coming[i];
    }
    history->coming_count[sm] = kept;
}

static void enter(struct history *history, uint32_t sm, uint32_t application, uint64_t cycle)
{
    struct coming coming = {cycle, application};
    if (history->coming_count[sm] < history->tbs_per_sm)
        history->coming[(size_t)sm * history->tbs_per_sm + history->coming_count[sm]++] = coming;
    else
        start(history, sm, &coming);
}

/* One that was to come at this cycle, where an SM starts one at most, has gone back. */
static bool take_back(struct history *history, uint32_t sm, uint32_t application, uint64_t cycle)
{
    struct coming *coming = &history->coming[(size_t)sm * history->tbs_per_sm];
    for (uint32_t i = 0; i < history->coming_count[sm]; i++) {
        if (coming[i].application != application || coming[i].cycle != cycle)
            continue;
        memmove(&coming[i], &coming[i + 1], (--history->coming_count[sm] - i) * sizeof *coming);
        return true;
    }
    return false;
}

static void leave(struct history *history, uint32_t sm, uint32_t application, uint32_t tbs, uint64_t cycle)
{
    uint32_t *resident = &history->resident[sm * history->applications + application];
    if (*resident < tbs || !tbs)
        return;
    add(&history->tbs[application], -(int64_t)tbs, cycle);
    *resident -= tbs;
    if (!*resident)
        add(&history->in_use[application], -1, cycle);
}

/* Complete, saved or dropped. */
static void leave_one(struct history *history, uint32_t sm, uint32_t application, uint64_t cycle)
{
    if (take_back(history, sm, application, cycle))
        return;
    have_come(history, sm, application, cycle);
    leave(history, sm, application, 1, cycle);
}

/* Complete: nothing is left. Stopped: what is left has gone with it, and what was coming will not. */
static void leave_all(struct history *history, uint32_t application, uint64_t cycle)
{
    for (uint32_t sm = 0; sm < history->sms; sm++) {
        struct coming *coming = &history->coming[(size_t)sm * history->tbs_per_sm];
        uint32_t kept = 0;
        have_come(history, sm, application, cycle);
        for (uint32_t i = 0; i < history->coming_count[sm]; i++)
            if (coming[i].application != application)
                coming[kept++] = coming[i];
        history->coming_count[sm] = kept;
        leave(history, sm, application, history->resident[sm * history->applications + application], cycle);
    }
}

/* ---- sums ---- */

/* Every second one is kept: sums up to a cycle need no adding. */
static void halve(struct history *history)
{
    uint32_t kept = 0;
    for (uint32_t i = 1; i < history->count; i += 2, kept++) {
        history->cycles[kept] = history->cycles[i];
        history->powered_cycles[kept] = history->powered_cycles[i];
        memcpy(&history->shares[(size_t)kept * history->applications],
               &history->shares[(size_t)i * history->applications], history->applications * sizeof *history->shares);
        memcpy(&history->values[(size_t)kept * history->variables], &history->values[(size_t)i * history->variables],
               history->variables * sizeof *history->values);
    }
    history->count = kept;
    history->interval_cycles *= 2;
}

static void take(struct history *history, const struct corun_gpu *gpu, uint64_t cycle)
{
    uint64_t before = history->count ? history->cycles[history->count - 1] : 0;
    if (cycle <= before)
        return;
    if (history->count == HISTORY_INTERVALS)
        halve(history);
    for (uint32_t sm = 0; sm < history->sms; sm++)
        for (uint32_t a = 0; history->coming_count[sm] && a < history->applications; a++)
            have_come(history, sm, a, cycle);
    uint32_t i = history->count++;
    history->cycles[i] = cycle;
    history->powered_cycles[i] = sum_until(&history->powered, cycle);
    for (uint32_t a = 0; a < history->applications; a++) {
        struct corun_application_result result;
        corun_gpu_application(gpu, a, &result);
        history->shares[(size_t)i * history->applications + a] =
            (struct share_sums){.sm_cycles = sum_until(&history->in_use[a], cycle),
                                .tb_cycles = sum_until(&history->tbs[a], cycle),
                                .thread_instructions = result.thread_instructions};
    }
    for (uint32_t v = 0; v < history->variables; v++)
        history->values[(size_t)i * history->variables + v] =
            history->policy_values ? history->policy_values[v] : (double)NAN;
}

/* ---- observing ---- */

static bool is_due(uint64_t cycle, uint64_t interval, uint64_t *next)
{
    if (cycle < *next)
        return false;
    *next = interval ? (cycle / interval + 1) * interval : UINT64_MAX;
    return true;
}

static void pass_on(const struct history *history, const struct corun_gpu *gpu, const struct corun_observation *seen)
{
    if (history->job->observe)
        history->job->observe(history->job->observe_user, gpu, seen);
}

/* Samples come often enough for both, us and the case's own observer: each takes those that it would have got alone. */
static void see_sample(struct history *history, const struct corun_gpu *gpu, const struct corun_observation *seen)
{
    if (is_due(seen->cycle, history->interval_cycles, &history->next_cycle))
        take(history, gpu, seen->cycle);
    if (is_due(seen->cycle, history->job->observe_sample_cycles, &history->user_next_cycle))
        pass_on(history, gpu, seen);
}

void history_see(void *user, const struct corun_gpu *gpu, const struct corun_observation *seen)
{
    struct history *history = user;
    switch (seen->kind) {
    case CORUN_OBSERVED_TB_START:
    case CORUN_OBSERVED_TB_RESTORING:
        enter(history, seen->sm, seen->application, seen->cycle);
        break;
    case CORUN_OBSERVED_TB_END:
    case CORUN_OBSERVED_TB_SAVED:
        leave_one(history, seen->sm, seen->application, seen->cycle);
        break;
    case CORUN_OBSERVED_LAUNCH_END:
        if (seen->stopped)
            leave_all(history, seen->application, seen->cycle);
        break;
    case CORUN_OBSERVED_POWER:
        add(&history->powered, seen->powered ? 1 : -1, seen->cycle);
        break;
    case CORUN_OBSERVED_MOMENT:
        history->policy_values = seen->allowances ? seen->allowances->variables : NULL;
        break;
    case CORUN_OBSERVED_SAMPLE:
        see_sample(history, gpu, seen);
        return;
    default: /* one that is preempted is there until its state is saved */
        break;
    }
    pass_on(history, gpu, seen);
}

void history_observe(struct history *history, struct corun_gpu *gpu)
{
    history->gpu = gpu;
    corun_gpu_observe(gpu, common_divisor(history->interval_cycles, history->job->observe_sample_cycles), history_see,
                      history);
}

void history_archive(struct corun_archive *archive, struct history *history, const struct corun_gpu *gpu)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct history, job),
                                                ARCHIVE_HOLE(struct history, gpu),
                                                ARCHIVE_HOLE(struct history, sms),
                                                ARCHIVE_HOLE(struct history, applications),
                                                ARCHIVE_HOLE(struct history, tbs_per_sm),
                                                ARCHIVE_HOLE(struct history, cycles),
                                                ARCHIVE_HOLE(struct history, shares),
                                                ARCHIVE_HOLE(struct history, values),
                                                ARCHIVE_HOLE(struct history, powered_cycles),
                                                ARCHIVE_HOLE(struct history, resident),
                                                ARCHIVE_HOLE(struct history, in_use),
                                                ARCHIVE_HOLE(struct history, tbs),
                                                ARCHIVE_HOLE(struct history, coming),
                                                ARCHIVE_HOLE(struct history, coming_count),
                                                ARCHIVE_HOLE(struct history, policy_values)};
    archive_section(archive, "history", 2);
    archive_same(archive, history->variables, "variables of the policy");
    archive_same(archive, history->sms, "SMs");
    archive_same(archive, history->applications, "applications");
    archive_same(archive, history->tbs_per_sm, "thread blocks of an SM");
    ARCHIVE_RECORD(archive, history, holes);
    if (history->count > HISTORY_INTERVALS)
        archive_fail(archive, CORUN_SYNTAX, "%u intervals", history->count);
    if (!archive_fine(archive))
        return;
    size_t applications = history->applications, count = history->count;
    archive_bytes(archive, history->cycles, count * sizeof *history->cycles);
    archive_bytes(archive, history->shares, count * applications * sizeof *history->shares);
    archive_bytes(archive, history->powered_cycles, count * sizeof *history->powered_cycles);
    archive_bytes(archive, history->values, count * history->variables * sizeof *history->values);
    archive_bytes(archive, history->resident, history->sms * applications * sizeof *history->resident);
    archive_bytes(archive, history->in_use, applications * sizeof *history->in_use);
    archive_bytes(archive, history->tbs, applications * sizeof *history->tbs);
    for (uint32_t sm = 0; sm < history->sms; sm++) {
        ARCHIVE(archive, history->coming_count[sm]);
        if (history->coming_count[sm] > history->tbs_per_sm)
            archive_fail(archive, CORUN_SYNTAX, "%u thread blocks to come", history->coming_count[sm]);
        for (uint32_t i = 0; i < history->coming_count[sm] && archive_fine(archive); i++)
            ARCHIVE_PLAIN(archive, &history->coming[(size_t)sm * history->tbs_per_sm + i]);
    }
    bool known = history->policy_values != NULL;
    ARCHIVE(archive, known);
    if (archive->reads)
        history->policy_values = known ? corun_gpu_policy_variables(gpu) : NULL;
}

void history_end(struct history *history)
{
    uint64_t cycle = corun_gpu_cycles(history->gpu);
    take(history, history->gpu, cycle);
    pass_on(history, history->gpu,
            &(struct corun_observation){.kind = CORUN_OBSERVED_SAMPLE, .cycle = cycle}); /* the last one is never due */
}

/* ---- the result ---- */

/* Below zero where more work was dropped in the interval than done. */
static double mean(int64_t before, int64_t after, uint64_t cycles)
{
    return (double)(after - before) / (double)cycles;
}

static void fill_interval(const struct history *history, uint32_t i, struct corun_case_history_share *shares,
                          double *powered)
{
    const struct share_sums none = {0, 0, 0};
    uint64_t cycles = history->cycles[i] - (i ? history->cycles[i - 1] : 0);
    *powered = mean(i ? history->powered_cycles[i - 1] : 0, history->powered_cycles[i], cycles);
    for (uint32_t a = 0; a < history->applications; a++) {
        const struct share_sums *now = &history->shares[(size_t)i * history->applications + a];
        const struct share_sums *before = i ? now - history->applications : &none;
        shares[a] = (struct corun_case_history_share){
            .sms = mean(before->sm_cycles, now->sm_cycles, cycles),
            .tbs = mean(before->tb_cycles, now->tb_cycles, cycles),
            .ipc = mean((int64_t)before->thread_instructions, (int64_t)now->thread_instructions, cycles)};
    }
}

enum corun_status history_collect(const struct history *history, struct arena *arena, struct corun_case_history *result)
{
    uint32_t count = history->count;
    size_t share_count = (size_t)count * history->applications, value_count = (size_t)count * history->variables;
    uint64_t *cycles = ARENA_ARRAY(arena, uint64_t, count + 1);
    struct corun_case_history_share *shares = ARENA_ARRAY(arena, struct corun_case_history_share, share_count + 1);
    double *powered = ARENA_ARRAY(arena, double, count + 1), *values = ARENA_ARRAY(arena, double, value_count + 1);
    if (!cycles || !shares || !powered || !values)
        return CORUN_MEMORY;
    memcpy(cycles, history->cycles, count * sizeof *cycles);
    memcpy(values, history->values, value_count * sizeof *values);
    for (uint32_t i = 0; i < count; i++)
        fill_interval(history, i, &shares[(size_t)i * history->applications], &powered[i]);
    *result = (struct corun_case_history){.count = count,
                                          .end_cycles = cycles,
                                          .shares = shares,
                                          .powered_sms = powered,
                                          .variable_count = history->variables,
                                          .variables = history->variables ? history->job->policy->variables : NULL,
                                          .values = values};
    return CORUN_OK;
}
