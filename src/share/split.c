/* SPDX-License-Identifier: MIT */
/* Even splits, the best split by dynamic programming, and the SMs that a new split moves. */
#include "share/split.h"

#include <math.h>
#include <string.h>

uint32_t split_present(const struct corun_view *view, bool present[CORUN_MAX_APPLICATIONS])
{
    uint32_t count = 0;
    for (uint32_t a = 0; a < view->application_count; a++) {
        present[a] = view->applications[a].state == CORUN_APPLICATION_RUNNING;
        count += present[a];
    }
    return count;
}

void split_evenly(uint32_t sm_count, uint32_t application_count, const bool *present, const uint32_t *most,
                  uint32_t *counts)
{
    bool open[CORUN_MAX_APPLICATIONS];
    uint32_t left = sm_count, sharing = 0;
    for (uint32_t a = 0; a < application_count; a++) {
        open[a] = present[a];
        sharing += present[a];
        counts[a] = 0;
    }
    /*
     * Who cannot use an even share of what is left takes what it can use, and the share of the others grows: so again.
     */
    for (bool again = most != NULL; again;) {
        again = false;
        for (uint32_t a = 0; a < application_count; a++) {
            if (!open[a] || most[a] > left / sharing)
                continue;
            counts[a] = most[a];
            left -= most[a];
            open[a] = false;
            sharing--;
            again = true;
        }
    }
    for (uint32_t a = 0, turn = 0; a < application_count; a++) {
        if (open[a])
            counts[a] = left / sharing + (turn++ < left % sharing);
    }
}

/* Is the one split better than the other one? */
static bool better(double value, uint64_t distance, double than, uint64_t than_distance)
{
    if (fabs(value - than) > 1e-12 * fmax(fabs(value), fabs(than)))
        return value > than;
    return distance < than_distance;
}

/* Extends the best splits over the applications behind `a` by `a`. -HUGE_VAL: there is none. */
static void extend(struct split_search *search, uint32_t a)
{
    uint32_t to = a % 2, from = 1 - to;
    for (uint32_t sms = 0; sms <= search->sm_count; sms++) {
        double best = -HUGE_VAL;
        uint64_t best_distance = 0;
        uint32_t most = search->most[a] < sms ? search->most[a] : sms;
        for (uint32_t c = most + 1; c-- > search->least[a];) { /* equal ones: more for the first */
            double rest = search->best[from][sms - c];
            if (rest == -HUGE_VAL)
                continue;
            double value = search->product ? search->value[a][c] * rest : search->value[a][c] + rest;
            int64_t off = (int64_t)c - search->even[a];
            uint64_t distance = search->distance[from][sms - c] + (uint64_t)(off * off);
            if (best == -HUGE_VAL || better(value, distance, best, best_distance)) {
                best = value;
                best_distance = distance;
                search->choice[a][sms] = (uint16_t)c;
            }
        }
        search->best[to][sms] = best;
        search->distance[to][sms] = best_distance;
    }
}

bool split_search(struct split_search *search, uint32_t *counts)
{
    uint32_t count = search->application_count, left = search->sm_count;
    uint32_t nobody = count % 2;
    for (uint32_t sms = 0; sms <= left; sms++) {
        search->best[nobody][sms] = sms ? -HUGE_VAL : search->product;
        search->distance[nobody][sms] = 0;
    }
    for (uint32_t a = count; a-- > 0;)
        extend(search, a);
    if (count == 0 || search->best[0][left] == -HUGE_VAL)
        return false;
    for (uint32_t a = 0; a < count; a++) {
        counts[a] = search->choice[a][left];
        left -= counts[a];
    }
    return true;
}

static bool anything_started(const struct corun_view *view)
{
    for (uint32_t s = 0; s < view->sm_count; s++) {
        for (uint32_t a = 0; a < view->application_count; a++) {
            const struct corun_share_view *share = &view->shares[s * view->application_count + a];
            if (share->resident_tbs || share->pending_tbs)
                return true;
        }
    }
    return false;
}

/* Who has more (or less) SMs than it is to have, of those and of nobody; SM_NOBODY with *found false if none. */
static uint32_t find_off(const struct sm_owners *owners, const uint32_t *counts, bool more, bool *found)
{
    uint32_t wanted = 0;
    for (uint32_t a = 0; a < owners->application_count; a++) {
        uint32_t has = sm_owners_count(owners, a);
        wanted += counts[a];
        if (more ? has > counts[a] : has < counts[a]) {
            *found = true;
            return a;
        }
    }
    uint32_t free = sm_owners_count(owners, SM_NOBODY), to_be_free = owners->sm_count - wanted;
    *found = more ? free > to_be_free : free < to_be_free;
    return SM_NOBODY;
}

void split_hand_over(struct sm_owners *owners, const struct corun_view *view, const uint32_t *counts)
{
    if (!anything_started(view)) {
        sm_owners_split(owners, counts);
        return;
    }
    for (;;) {
        bool over, under;
        uint32_t from = find_off(owners, counts, true, &over);
        uint32_t to = find_off(owners, counts, false, &under);
        if (!over || !under || !sm_owners_move(owners, view, from, to))
            return;
    }
}
