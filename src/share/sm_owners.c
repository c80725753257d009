/* SPDX-License-Identifier: MIT */
/* The account of SMs and their owners: who gets and gives SMs, which SM moves, and the allowances that follow. */
#include "share/sm_owners.h"

bool sm_owners_start(struct sm_owners *owners, const struct corun_view *view, const char **refusal)
{
    if (view->sm_count > SM_OWNERS_MAX) {
        *refusal = "it keeps account of at most 1024 SMs";
        return false;
    }
    owners->sm_count = view->sm_count;
    owners->application_count = view->application_count;
    for (uint32_t s = 0; s < owners->sm_count; s++)
        owners->owner[s] = SM_NOBODY;
    return true;
}

bool sm_owners_start_apart(struct sm_owners *owners, const struct corun_view *view, const char **refusal)
{
    if (!sm_owners_start(owners, view, refusal))
        return false;
    if (view->application_count > view->sm_count)
        *refusal = "there are more applications than SMs, so some would never get one";
    return view->application_count <= view->sm_count;
}

enum corun_reclaim sm_reclaim(double value)
{
    static const enum corun_reclaim reclaims[] = {[SM_RECLAIM_DRAIN] = CORUN_RECLAIM_DRAIN,
                                                  [SM_RECLAIM_SWITCH] = CORUN_RECLAIM_SWITCH_SM,
                                                  [SM_RECLAIM_DROP] = CORUN_RECLAIM_DROP};
    return reclaims[(uint32_t)value];
}

bool sm_owners_can(const struct corun_view *view, enum corun_reclaim reclaim, const char **refusal)
{
    static const uint32_t needs[] = {[CORUN_RECLAIM_DRAIN] = 1u << CORUN_CAN_DRAIN,
                                     [CORUN_RECLAIM_SWITCH_SM] = 1u << CORUN_CAN_SWITCH_SM,
                                     [CORUN_RECLAIM_DROP] = 1u << CORUN_CAN_DROP | 1u << CORUN_CAN_DRAIN};
    static const char *const refusals[] = {
        [CORUN_RECLAIM_DRAIN] = "this machine cannot wait for thread blocks to complete; reclaim=switch does without",
        [CORUN_RECLAIM_SWITCH_SM] =
            "this machine cannot save the thread blocks of a whole SM; reclaim=drain does without",
        [CORUN_RECLAIM_DROP] = "this machine cannot abandon thread blocks; reclaim=drain does without"};
    if ((view->capabilities & needs[reclaim]) == needs[reclaim])
        return true;
    *refusal = refusals[reclaim];
    return false;
}

uint32_t sm_owners_count(const struct sm_owners *owners, uint32_t application)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < owners->sm_count; s++)
        count += owners->owner[s] == application;
    return count;
}

void sm_owners_split(struct sm_owners *owners, const uint32_t *counts)
{
    uint32_t s = 0;
    for (uint32_t a = 0; a < owners->application_count; a++) {
        for (uint32_t i = 0; i < counts[a] && s < owners->sm_count; i++)
            owners->owner[s++] = (uint8_t)a;
    }
    while (s < owners->sm_count)
        owners->owner[s++] = SM_NOBODY;
}

static uint32_t resident_tbs(const struct corun_view *view, uint32_t s, uint32_t application)
{
    if (application == SM_NOBODY)
        return view->sms[s].resident_tbs;
    const struct corun_share_view *share = &view->shares[s * view->application_count + application];
    return share->resident_tbs + share->pending_tbs;
}

bool sm_owners_move(struct sm_owners *owners, const struct corun_view *view, uint32_t from, uint32_t to)
{
    uint32_t best = owners->sm_count, best_tbs = 0;
    bool best_holds = false;
    for (uint32_t i = 0; i < owners->sm_count; i++) {
        /* the sets lie side by side in the order of applications: the border is at the upper end towards a later one */
        uint32_t s = from < to ? owners->sm_count - 1 - i : i;
        if (owners->owner[s] != from)
            continue;
        bool holds = to != SM_NOBODY && resident_tbs(view, s, to) != 0;
        uint32_t tbs = resident_tbs(view, s, from);
        if (best == owners->sm_count || holds > best_holds || (holds == best_holds && tbs < best_tbs)) {
            best = s;
            best_tbs = tbs;
            best_holds = holds;
        }
    }
    if (best == owners->sm_count)
        return false;
    owners->owner[best] = (uint8_t)to;
    return true;
}

bool sm_owners_settled(const struct sm_owners *owners, const struct corun_view *view, uint32_t application)
{
    for (uint32_t s = 0; s < owners->sm_count; s++) {
        for (uint32_t a = 0; a < owners->application_count; a++) {
            bool concerns = (owners->owner[s] == application) != (a == application);
            if (concerns && resident_tbs(view, s, a) != 0)
                return false;
        }
    }
    return true;
}

static bool holds_foreign_tbs(const struct sm_owners *owners, const struct corun_view *view, uint32_t s)
{
    for (uint32_t a = 0; a < owners->application_count; a++) {
        if (owners->owner[s] != a && resident_tbs(view, s, a) != 0)
            return true;
    }
    return false;
}

uint32_t sm_owners_held(const struct sm_owners *owners, const struct corun_view *view, uint32_t application)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < owners->sm_count; s++) {
        count += owners->owner[s] == application ? !holds_foreign_tbs(owners, view, s)
                                                 : resident_tbs(view, s, application) != 0;
    }
    return count;
}

uint32_t sm_owners_changing(const struct sm_owners *owners, const struct corun_view *view)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < owners->sm_count; s++)
        count += holds_foreign_tbs(owners, view, s);
    return count;
}

void sm_owners_allow(const struct sm_owners *owners, const struct corun_view *view, enum corun_reclaim reclaim,
                     bool gate, struct corun_allowances *allowances)
{
    for (uint32_t s = 0; s < owners->sm_count; s++) {
        for (uint32_t a = 0; a < owners->application_count; a++) {
            uint32_t entry = s * owners->application_count + a;
            allowances->tb_limit[entry] = owners->owner[s] == a ? CORUN_UNLIMITED : 0;
            bool drains = reclaim == CORUN_RECLAIM_DROP && !view->applications[a].running.idempotent;
            allowances->reclaim[entry] = drains ? CORUN_RECLAIM_DRAIN : reclaim;
        }
        allowances->exclusive[s] = true;
        allowances->powered[s] = !gate || owners->owner[s] != SM_NOBODY;
    }
}

struct progress_mark progress_mark(const struct corun_view *view, uint32_t application)
{
    return (struct progress_mark){view->cycle, view->applications[application].progress};
}

double progress_since(struct progress_mark mark, const struct corun_view *view, uint32_t application)
{
    uint64_t done = view->applications[application].progress - mark.progress;
    return view->cycle > mark.cycle ? (double)done / (double)(view->cycle - mark.cycle) : 0;
}
