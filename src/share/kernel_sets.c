/* SPDX-License-Identifier: MIT */
/* Places of SMs go to applications: to the one on the fewest SMs first, and from the one on the most. */
#include "share/kernel_sets.h"

#include <string.h>

void kernel_sets_start(struct kernel_sets *sets, uint32_t sm_count, uint32_t application_count, uint32_t most)
{
    memset(sets, 0, sizeof *sets);
    sets->sm_count = sm_count;
    sets->application_count = application_count;
    sets->most = most;
    for (uint32_t s = 0; s < sm_count; s++)
        sets->sampler_of[s] = TB_PLAN_NEVER;
}

static uint32_t place_of(const struct kernel_sets *sets, uint32_t s, uint32_t application)
{
    for (uint32_t i = 0; i < sets->count[s]; i++)
        if (sets->members[s][i] == application)
            return i;
    return TB_PLAN_NEVER;
}

bool kernel_sets_has(const struct kernel_sets *sets, uint32_t sm, uint32_t application)
{
    return place_of(sets, sm, application) != TB_PLAN_NEVER;
}

uint32_t kernel_sets_mask(const struct kernel_sets *sets, uint32_t sm)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < sets->count[sm]; i++)
        mask |= 1u << sets->members[sm][i];
    return mask;
}

static void take_out(struct kernel_sets *sets, uint32_t s, uint32_t place)
{
    memmove(&sets->members[s][place], &sets->members[s][place + 1], --sets->count[s] - place);
}

static bool forget(struct kernel_sets *sets, uint32_t present)
{
    bool changed = false;
    for (uint32_t s = 0; s < sets->sm_count; s++) {
        if (sets->sampler_of[s] != TB_PLAN_NEVER && !(present >> sets->sampler_of[s] & 1u))
            sets->sampler_of[s] = TB_PLAN_NEVER;
        for (uint32_t i = sets->count[s]; i-- > 0;) {
            if (present >> sets->members[s][i] & 1u)
                continue;
            take_out(sets, s, i);
            changed = true;
        }
    }
    return changed;
}

/* The lowest SM that nobody has to itself becomes the application's. */
static bool give_sampler(struct kernel_sets *sets, uint32_t application)
{
    uint32_t free_sm = TB_PLAN_NEVER;
    for (uint32_t s = sets->sm_count; s-- > 0;) {
        if (sets->sampler_of[s] == application)
            return false;
        free_sm = sets->sampler_of[s] == TB_PLAN_NEVER ? s : free_sm;
    }
    if (free_sm == TB_PLAN_NEVER)
        return false;
    sets->sampler_of[free_sm] = application;
    sets->members[free_sm][0] = (uint8_t)application;
    sets->count[free_sm] = 1;
    return true;
}

static uint32_t count_sms(const struct kernel_sets *sets, uint32_t application)
{
    uint32_t sms = 0;
    for (uint32_t s = 0; s < sets->sm_count; s++)
        sms += sets->sampler_of[s] == TB_PLAN_NEVER && kernel_sets_has(sets, s, application);
    return sms;
}

/* Of those in `present`: the one on the fewest SMs that has not all of them. */
static uint32_t find_fewest(const struct kernel_sets *sets, uint32_t present, uint32_t shared_sms)
{
    uint32_t best = TB_PLAN_NEVER, fewest = shared_sms;
    for (uint32_t a = 0; a < sets->application_count; a++)
        if (present >> a & 1u && count_sms(sets, a) < fewest) {
            fewest = count_sms(sets, a);
            best = a;
        }
    return best;
}

static bool add_where_room(struct kernel_sets *sets, uint32_t application)
{
    uint32_t best = TB_PLAN_NEVER;
    for (uint32_t s = 0; s < sets->sm_count; s++)
        if (sets->sampler_of[s] == TB_PLAN_NEVER && sets->count[s] < sets->most &&
            !kernel_sets_has(sets, s, application) && (best == TB_PLAN_NEVER || sets->count[s] < sets->count[best]))
            best = s;
    if (best == TB_PLAN_NEVER)
        return false;
    sets->members[best][sets->count[best]++] = (uint8_t)application;
    return true;
}

/* The first SM of the one that has most where the other is not. */
static bool replace_most(struct kernel_sets *sets, uint32_t present, uint32_t application)
{
    uint32_t least = count_sms(sets, application), most = least + 1, victim = TB_PLAN_NEVER, sm = 0;
    for (uint32_t a = 0; a < sets->application_count; a++) {
        if (!(present >> a & 1u) || count_sms(sets, a) <= most)
            continue;
        for (uint32_t s = 0; s < sets->sm_count; s++) {
            if (sets->sampler_of[s] != TB_PLAN_NEVER || !kernel_sets_has(sets, s, a) ||
                kernel_sets_has(sets, s, application))
                continue;
            most = count_sms(sets, a);
            victim = a;
            sm = s;
            break;
        }
    }
    if (victim == TB_PLAN_NEVER)
        return false;
    sets->members[sm][place_of(sets, sm, victim)] = (uint8_t)application;
    return true;
}

bool kernel_sets_follow(struct kernel_sets *sets, uint32_t present, bool samplers)
{
    bool changed = forget(sets, present);
    for (uint32_t a = 0; a < sets->application_count; a++)
        if (samplers && present >> a & 1u)
            changed |= give_sampler(sets, a);
    uint32_t shared_sms = 0, stuck = 0;
    for (uint32_t s = 0; s < sets->sm_count; s++)
        shared_sms += sets->sampler_of[s] == TB_PLAN_NEVER;
    for (uint32_t a; (a = find_fewest(sets, present & ~stuck, shared_sms)) != TB_PLAN_NEVER;) {
        bool moved = add_where_room(sets, a) || replace_most(sets, present, a);
        changed |= moved;
        stuck = moved ? 0 : stuck | 1u << a; /* each move fills a place or brings two closer together: that ends */
    }
    return changed;
}
