/* SPDX-License-Identifier: MIT */
/*
 * The watchdog: who makes no progress is stopped. Storing, ending a warp and ending a thread block are progress. So is anything else that
 * a warp has not done before: a kernel may load and compute for as long as it likes.
 *
 *     no store, no end for `watchdog` cycles      every epoch: the state of each warp, beside the one remembered
 *     running ────────────────────────────► looked at ──────────────────────────────────────► stopped
 *        ▲                                      │           all warps stand, or have come back
 *        └──────────────────────────────────────┘           to a state in which they were
 *               a store, an end of a warp
 *
 * Without stores memory stays as it is, so a warp that was in its state before will be there again and again. The remembered state is
 * replaced after 1, 2, 4, 8, … looks (Brent, "An improved Monte Carlo factorization algorithm", BIT 20, 1980, section 2): circles of
 * any length are found, at the cost of one number for each warp.
 */
#include "base/bits.h"
#include "base/kernel_name.h"
#include "gpu/archive.h"
#include "gpu/sm.h"

#include <stdio.h>
#include <stdlib.h>

#define PATIENCE_WITH_LONG_RUNS 20u /* times that of the watchdog */

struct watched_warp {
    uint64_t state;               /* as remembered */
    uint64_t thread_instructions; /* issued until then */
    uint64_t since;               /* when that number changed last */
    uint32_t generation;          /* of the warp slot, plus 1; 0: nothing is remembered */
    bool returned;                /* it has been in a state twice */
};

struct standstill {
    uint32_t looks, next_memory; /* so far; that at which states are remembered anew */
    struct watched_warp warps[]; /* [SM][MAX_WARPS] */
};

void watchdog_forget(struct application *application)
{
    free(application->standstill);
    application->standstill = NULL;
}

/* Whether the warp does nothing that it has not done before. */
static bool stands(const struct corun_gpu *gpu, const struct sm *sm, uint32_t slot, struct watched_warp *seen,
                   bool remember)
{
    const struct sm_warp *warp = &sm->warps[slot];
    uint64_t issued = sm->warp_thread_instructions[slot];
    uint64_t state = sm->tbs[warp->tb].launch->grid->operations->warp_state(warp->source);
    if (seen->generation != warp->generation + 1)
        *seen = (struct watched_warp){state, issued, gpu->now, warp->generation + 1, false};
    else if (issued != seen->thread_instructions)
        seen->returned |= state == seen->state;
    if (issued != seen->thread_instructions) {
        seen->thread_instructions = issued;
        seen->since = gpu->now;
    }
    if (remember)
        seen->state = state;
    return seen->returned || warp->state == WARP_BARRIER || gpu->now - seen->since > gpu->watchdog;
}

/* Looks at all warps of an application that has not stored for long. true: none of them does anything new. */
static bool all_stand(struct corun_gpu *gpu, uint32_t index, struct standstill *standstill)
{
    bool all = true, remember = ++standstill->looks >= standstill->next_memory;
    if (remember)
        standstill->next_memory *= 2;
    for (uint32_t s = 0; s < gpu->config.sms; s++) {
        const struct sm *sm = gpu->sms[s];
        for (uint64_t left = sm->application_warps[index]; left; left &= left - 1) {
            uint32_t slot = lowest_bit(left);
            all &= stands(gpu, sm, slot, &standstill->warps[(size_t)s * MAX_WARPS + slot], remember);
        }
    }
    return all;
}

/* The first of its warps. */
static const struct sm_warp *find_warp(const struct corun_gpu *gpu, uint32_t index, const struct corun_grid **grid)
{
    for (uint32_t s = 0; s < gpu->config.sms; s++)
        if (gpu->sms[s]->application_warps[index]) {
            const struct sm *sm = gpu->sms[s];
            const struct sm_warp *warp = &sm->warps[lowest_bit(sm->application_warps[index])];
            *grid = sm->tbs[warp->tb].launch->grid;
            return warp;
        }
    return NULL;
}

static void stop(struct corun_gpu *gpu, uint32_t index)
{
    struct application *application = &gpu->applications[index];
    const struct corun_grid *grid = application->running->grid;
    const struct sm_warp *warp = find_warp(gpu, index, &grid);
    char text[320];
    snprintf(
        text, sizeof text,
        "kernel %.120s made no progress for %llu cycles: no store, no thread block or warp ended, and its warps are "
        "in states in which they were before; one warp is here",
        KERNEL_NAME(grid->name), (unsigned long long)(gpu->now - application->progress_cycle));
    watchdog_forget(application);
    application_stop(gpu, index, CORUN_WATCHDOG,
                     (struct corun_place){grid->file, warp ? grid->code[warp->pc].line : 0, 0}, text);
}

/* No store for as long as `watchdog` says: has the application stopped making progress? */
static enum corun_status look_closer(struct corun_gpu *gpu, uint32_t index)
{
    struct application *application = &gpu->applications[index];
    const struct corun_grid *grid = NULL;
    const struct sm_warp *warp = find_warp(gpu, index, &grid);
    bool tells = warp && grid->operations->warp_state;
    if (tells && !application->standstill) {
        size_t warps = (size_t)gpu->config.sms * MAX_WARPS;
        application->standstill = calloc(1, sizeof *application->standstill + warps * sizeof(struct watched_warp));
        if (!application->standstill)
            return CORUN_MEMORY;
        application->standstill->next_memory = 1;
    }
    if (!tells || all_stand(gpu, index, application->standstill))
        stop(gpu, index);
    return CORUN_OK;
}

/* What a look at all applications has found. */
struct look {
    bool moves;       /* one has thread blocks on SMs, and they wait for something else than quota */
    uint32_t starved; /* those that have issued nothing since the last look, for want of a place or of quota: a mask */
};

static bool waits_for_quota(const struct corun_gpu *gpu, uint32_t index)
{
    bool blocked = false;
    for (uint32_t s = 0; s < gpu->config.sms; s++)
        blocked |= (gpu->sms[s]->quota_spent & gpu->sms[s]->application_warps[index]) != 0;
    return blocked;
}

static bool waits_for_place(const struct application *application)
{
    const struct launch *launch = application->running;
    while (launch && launch->next_tb >= launch->tbs && !launch->returned.count)
        launch = launch->next;
    return launch || application->preempted_count;
}

static enum corun_status watch_application(struct corun_gpu *gpu, uint32_t index, struct look *look)
{
    struct application *application = &gpu->applications[index];
    uint64_t before = application->progress_cycle, issued = application_thread_instructions(gpu, index);
    bool resident = false, still = issued == application->watched_instructions;
    bool starving = still && waits_for_quota(gpu, index);
    application->watched_instructions = issued;
    if (starving) /* that is the policy's doing */
        application->progress_cycle = gpu->now;
    for (uint32_t s = 0; s < gpu->config.sms; s++) {
        const struct sm *sm = gpu->sms[s];
        if (sm->progress_cycle[index] > application->progress_cycle)
            application->progress_cycle = sm->progress_cycle[index];
        resident |= sm->application_tbs[index] != 0;
    }
    if (!resident || !application->running)
        application->progress_cycle = gpu->now;
    look->moves |= resident && !starving;
    if (starving || (still && !resident && waits_for_place(application)))
        look->starved |= 1u << index;
    if (application->progress_cycle != before)
        watchdog_forget(application);
    return gpu->now - application->progress_cycle > gpu->watchdog ? look_closer(gpu, index) : CORUN_OK;
}

/* A policy that leaves a waiting cluster no room, in any GPC, for longer than that. */
static enum corun_status watch_clusters(struct corun_gpu *gpu, uint64_t patience)
{
    const struct corun_policy *policy = governor_policy(gpu->governor);
    for (uint32_t a = 0; policy && a < gpu->application_count; a++) {
        struct application *application = &gpu->applications[a];
        const struct launch *waiting = application->running;
        while (waiting && (waiting->grid->cluster_tbs <= 1 || waiting->next_tb >= waiting->tbs))
            waiting = waiting->next;
        if (application->state != CORUN_APPLICATION_RUNNING || !waiting || cluster_is_possible(gpu, waiting))
            application->no_place_since = gpu->now;
        else if (gpu->now - application->no_place_since > patience)
            return corun_report(gpu->list, CORUN_POLICY, CORUN_NOWHERE,
                                "policy %s has left no GPC room for a cluster of %u thread blocks of kernel %s of %s "
                                "for %llu cycles",
                                policy->name, waiting->grid->cluster_tbs, KERNEL_NAME(waiting->grid->name),
                                application->name, (unsigned long long)patience);
    }
    return CORUN_OK;
}

/*
 * Of those that starve, those for whom alone the run goes on: all others have done what it waits for, and nobody is to come. A run whose end does not wait
 * for instructions ends by itself, or others leave it.
 */
static uint32_t waited_for(const struct corun_gpu *gpu, uint32_t starved)
{
    uint32_t unfinished = 0;
    if (gpu->limits.cycles || !gpu->limits.thread_instructions)
        return 0;
    for (uint32_t a = 0; a < gpu->application_count; a++) {
        const struct application *application = &gpu->applications[a];
        if (application->state == CORUN_APPLICATION_ABSENT)
            return 0;
        if (application->state == CORUN_APPLICATION_RUNNING && !application->reached_cycle)
            unfinished |= 1u << a;
    }
    return (unfinished & ~starved) == 0 ? unfinished : 0;
}

/* Whether each of the others has been through two of its runs since then, from the first launch to the last, and all that lies between them. */
static bool have_come_round(const struct corun_gpu *gpu, uint32_t starved)
{
    bool all = true;
    for (uint32_t a = 0; a < gpu->application_count; a++) {
        const struct application *application = &gpu->applications[a];
        bool left = application->state == CORUN_APPLICATION_LEFT;
        all &= left || (starved >> a & 1) || application->runs >= gpu->starved_runs[a] + 2;
    }
    return all;
}

/*
 * A policy may starve an application for as long as the others are measured. Once the run waits for such applications alone, they get time to be let in: two
 * runs of each other application, or as long as nobody who is in a run waits for one.
 */
static enum corun_status watch_starved(struct corun_gpu *gpu, uint32_t starved, uint64_t patience)
{
    starved = waited_for(gpu, starved);
    if (!starved || starved != gpu->starved) {
        gpu->starved = starved;
        gpu->starved_since = gpu->now;
        for (uint32_t a = 0; a < gpu->application_count; a++)
            gpu->starved_runs[a] = gpu->applications[a].runs;
        return CORUN_OK;
    }
    uint64_t waited = gpu->now - gpu->starved_since;
    if (waited <= patience || (waited / PATIENCE_WITH_LONG_RUNS <= patience && !have_come_round(gpu, starved)))
        return CORUN_OK;
    const struct corun_policy *policy = governor_policy(gpu->governor);
    return corun_report(
        gpu->list, policy ? CORUN_POLICY : CORUN_WATCHDOG, CORUN_NOWHERE,
        "%s%s has let %s issue nothing for %llu cycles; all others have the instructions that are asked "
        "for, so the run would not end",
        policy ? "policy " : "no policy", policy ? policy->name : "",
        KERNEL_NAME(gpu->applications[lowest_bit(starved)].name), (unsigned long long)waited);
}

enum corun_status watchdog_look(struct corun_gpu *gpu)
{
    bool running = false, resident = false;
    struct look look = {0};
    enum corun_status status = CORUN_OK;
    for (uint32_t a = 0; a < gpu->application_count && status == CORUN_OK; a++)
        if (gpu->applications[a].state == CORUN_APPLICATION_RUNNING) {
            status = watch_application(gpu, a, &look);
            running |= gpu->applications[a].running != NULL;
        }
    if (status != CORUN_OK)
        return status;
    launches_watch(gpu);
    for (uint32_t s = 0; s < gpu->config.sms; s++)
        resident |= gpu->use[s].tbs != 0;
    /* Looked at once an epoch: a single look may fall between two kernels, or behind the stop of an application. */
    uint64_t patience = 2 * (uint64_t)gpu->config.epoch_cycles;
    if (patience < gpu->watchdog)
        patience = gpu->watchdog;
    status = watch_clusters(gpu, patience);
    if (status == CORUN_OK)
        status = watch_starved(gpu, look.starved, patience);
    if (status != CORUN_OK)
        return status;
    const struct corun_policy *policy = governor_policy(gpu->governor);
    if (!running || resident)
        gpu->no_tb_since = gpu->now;
    else if (policy && gpu->now - gpu->no_tb_since > patience)
        return corun_report(gpu->list, CORUN_POLICY, CORUN_NOWHERE,
                            "policy %s has let no application run for %llu cycles", policy->name,
                            (unsigned long long)patience);
    if (!running || !resident || look.moves)
        gpu->no_quota_since = gpu->now;
    else if (policy && gpu->now - gpu->no_quota_since > patience)
        return corun_report(gpu->list, CORUN_POLICY, CORUN_NOWHERE,
                            "policy %s has left every application without quota for %llu cycles", policy->name,
                            (unsigned long long)patience);
    return CORUN_OK;
}

void watchdog_archive(struct corun_archive *archive, const struct corun_gpu *gpu, struct application *application)
{
    size_t warps = (size_t)gpu->config.sms * MAX_WARPS;
    bool there = application->standstill != NULL;
    ARCHIVE(archive, there);
    if (archive->reads) {
        watchdog_forget(application);
        if (there && !(application->standstill =
                           calloc(1, sizeof *application->standstill + warps * sizeof(struct watched_warp))))
            archive_fail(archive, CORUN_MEMORY, "out of memory");
    }
    if (there && archive_fine(archive))
        archive_bytes(archive, application->standstill,
                      sizeof *application->standstill + warps * sizeof(struct watched_warp));
}
