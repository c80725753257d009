/* SPDX-License-Identifier: MIT */
/*
 * Quotas on an SM: counters that are spent, the mask of warps that may not issue, and the refill.
 *
 * Everything happens at a cycle of the SM and touches nothing but the SM, so that it is the same with any number of
 * host threads. What is due at a cycle comes in this order, before warps are picked: loads that are answered, orders of
 * the policy, other completions, refill. Instructions that issue in the cycle take their quota off at once
 * (WARP_AT_ISSUE).
 *
 * No combination waits for ever unless the policy wants it: an application that has something left and a warp that
 * waits for neither quota nor barrier issues or completes some time. With counters of the SM, warps at a barrier wait
 * for warps with the same counter, so either a barrier is met or the thread block is blocked by itself, which barrier.c
 * finds. With counters of the schedulers, two applications can wait for each other across two schedulers, each with
 * quota where only its warps at a barrier could use it: quota_unblock ends that.
 */
#include "gpu/quota.h"

#include "gpu/sm.h"

#include <stdlib.h>
#include <string.h>

/* quota_attend is called at `cycle`, or before. */
static void call(struct sm *sm, uint64_t cycle)
{
    wake_by(&sm->wakes, WAKE_QUOTA, cycle);
}

static uint32_t row_count(const struct sm *sm)
{
    return sm->quota.kind == CORUN_QUOTA_WARP_AT_ISSUE ? sm->scheduler_count : 1;
}

static uint64_t row_warps(const struct sm *sm, uint32_t row, uint32_t application)
{
    uint64_t warps = sm->application_warps[application];
    return sm->quota.kind == CORUN_QUOTA_WARP_AT_ISSUE ? warps & sm->schedulers[row].warps : warps;
}

/* ---- what is under way ---- */

/* Lanes of the application that complete at `from` or later. */
static int64_t under_way(const struct quotas *quota, uint32_t application, uint64_t from)
{
    const struct completions *completions = quota->completions;
    int64_t sum = 0;
    for (uint64_t cycle = from; cycle <= completions->latest[application]; cycle++)
        sum += completions_at(completions, application, cycle);
    for (size_t i = 0; i < completions->late.count; i++)
        if (completions->late.data[i].application == application && completions->late.data[i].cycle >= from)
            sum += completions->late.data[i].lanes;
    return sum;
}

/* What remains at sm->now. */
static int64_t remaining(const struct sm *sm, uint32_t row, uint32_t application)
{
    const struct quotas *quota = &sm->quota;
    int64_t left = quota->left[row][application];
    return quota->at_completion ? left + under_way(quota, application, sm->now + 1) : left;
}

/* When what is under way leaves nothing of what remains now. */
static void watch(struct sm *sm, uint32_t application, int64_t remains)
{
    struct completions *completions = sm->quota.completions;
    completions->spent_at[application] = NEVER;
    if (remains <= 0 || sm->quota.left[0][application] > 0)
        return;
    uint64_t cycle = sm->now;
    while (remains > 0 && cycle < completions->latest[application])
        remains -= completions_at(completions, application, ++cycle);
    if (remains > 0) /* only with late ones, which come into the slots before they complete */
        return;
    completions->spent_at[application] = cycle;
    call(sm, cycle);
}

/* ---- counters ---- */

/* Brings the masks up to date with one counter. */
static void follow(struct sm *sm, uint32_t row, uint32_t application)
{
    uint64_t warps = row_warps(sm, row, application);
    int64_t remains = remaining(sm, row, application);
    if (remains > 0) {
        sm->quota.spent[row] &= ~(1u << application);
        sm->quota_spent &= ~warps;
    } else {
        sm->quota.spent[row] |= 1u << application;
        sm->quota_spent |= warps;
    }
    if (sm->quota.at_completion)
        watch(sm, application, remains);
    sm->changed_warps = ~UINT64_C(0); /* for the stall causes */
}

/* Sums stay far from the limits of the type. */
static int64_t added(int64_t left, int64_t value)
{
    int64_t sum = left + value;
    if (sum > QUOTA_LARGEST)
        return QUOTA_LARGEST;
    return sum < -QUOTA_LARGEST ? -QUOTA_LARGEST : sum;
}

static int64_t times(int64_t rounds, int64_t value) /* neither is negative */
{
    return value && rounds > QUOTA_LARGEST / value ? QUOTA_LARGEST : rounds * value;
}

static void tell(struct sm *sm)
{
    for (size_t i = sm->news.count; i-- > 0;)
        if (sm->news.data[i].kind == NEWS_QUOTAS_SPENT) /* of this step */
            return;
    sm_post(sm, (struct news){.cycle = sm->now, .kind = NEWS_QUOTAS_SPENT});
}

/*
 * Adds the refills as often as it takes until one of the applications in `who` has something left. false: nobody in
 * `who` is refilled. What an application that is not here would get is not added: it would come back with quota of a
 * time in which it could not have issued.
 */
static bool refill(struct sm *sm, uint32_t row, uint32_t who)
{
    struct quotas *quota = &sm->quota;
    int64_t rounds = INT64_MAX;
    for (uint32_t rest = who; rest; rest &= rest - 1) {
        uint32_t a = lowest_bit(rest);
        if (quota->refill[a] > 0) {
            int64_t missing = 1 - remaining(sm, row, a);
            int64_t needed = (missing + quota->refill[a] - 1) / quota->refill[a];
            rounds = needed < rounds ? needed : rounds;
        }
    }
    if (rounds == INT64_MAX)
        return false;
    for (uint32_t i = 0; i < sm->present_count; i++) {
        uint32_t a = sm->present[i];
        if (row_warps(sm, row, a)) {
            quota->left[row][a] = added(quota->left[row][a], times(rounds, quota->refill[a]));
            follow(sm, row, a);
        }
    }
    quota->told = false;
    return true;
}

/* Refills the row if no application with live warps there has anything left. */
static void look(struct sm *sm, uint32_t row)
{
    struct quotas *quota = &sm->quota;
    uint32_t live = 0;
    for (uint32_t i = 0; i < sm->present_count; i++) {
        uint32_t a = sm->present[i];
        if (!row_warps(sm, row, a))
            continue;
        if (!(quota->spent[row] >> a & 1u))
            return;
        live |= 1u << a;
    }
    if (!live)
        return;
    if (refill(sm, row, live)) {
        tell(sm);
    } else if (!quota->told) {
        tell(sm);
        quota->told = true;
    }
}

/* Nothing remains of the application's. */
static void run_out(struct sm *sm, uint32_t row, uint32_t application)
{
    follow(sm, row, application);
    look(sm, row);
}

void quota_complete(struct sm *sm, uint32_t application, uint32_t lanes, uint64_t cycle)
{
    struct quotas *quota = &sm->quota;
    struct completions *completions = quota->completions;
    int64_t left = quota->left[0][application] -= lanes;
    if (cycle > sm->now) {
        if (cycle - sm->now < QUOTA_SLOTS) {
            completions_note(completions, application, lanes, cycle);
        } else {
            struct completion late = {cycle, lanes, application};
            if (!vector_push(&completions->late, late))
                sm->failed = true;
            call(sm, cycle - QUOTA_SLOTS + 1);
        }
    }
    if (left > 0 || quota->spent[0] >> application & 1u || cycle >= completions->spent_at[application])
        return;
    if (remaining(sm, 0, application) <= 0)
        run_out(sm, 0, application);
    else
        watch(sm, application, remaining(sm, 0, application));
}

void quota_issued(struct sm *sm, uint32_t scheduler, uint32_t application)
{
    if (--sm->quota.left[scheduler][application] == 0)
        run_out(sm, scheduler, application);
}

/* Late ones that have come within reach of the slots. */
static void take_late(struct sm *sm)
{
    struct completions *completions = sm->quota.completions;
    size_t kept = 0;
    for (size_t i = 0; i < completions->late.count; i++) {
        const struct completion late = completions->late.data[i];
        if (late.cycle - sm->now >= QUOTA_SLOTS) {
            completions->late.data[kept++] = late;
            continue;
        }
        completions_note(completions, late.application, late.lanes, late.cycle);
    }
    completions->late.count = kept;
    for (uint32_t a = 0; a < completions->application_count; a++)
        follow(sm, 0, a);
}

/* ---- orders ---- */

static void forget(struct completions *completions)
{
    completions->late.count = 0;
    memset(completions->slots, 0, completions->application_count * sizeof *completions->slots);
    memset(completions->latest, 0, sizeof completions->latest);
    for (uint32_t a = 0; a < CORUN_MAX_APPLICATIONS; a++)
        completions->spent_at[a] = NEVER;
}

/* The counter as it was before what completes at this cycle. */
static void set_counter(struct sm *sm, uint32_t row, uint32_t application, int64_t value, bool add)
{
    int64_t *left = &sm->quota.left[row][application];
    int64_t to_come = sm->quota.at_completion ? under_way(&sm->quota, application, sm->now) : 0;
    *left = add ? added(*left, value) : value - to_come;
}

static void obey(struct sm *sm, const struct quota_order *order)
{
    struct quotas *quota = &sm->quota;
    if (quota->on && !order->on)
        forget(quota->completions);
    quota->on = order->on;
    quota->kind = order->kind;
    quota->at_completion = order->on && order->kind == CORUN_QUOTA_THREAD_AT_COMPLETION;
    quota->told = false;
    for (uint32_t a = 0; a < CORUN_MAX_APPLICATIONS; a++) {
        quota->refill[a] = order->refill[a];
        if (order->set >> a & 1u)
            for (uint32_t row = 0; row < row_count(sm); row++)
                set_counter(sm, row, a, order->value[a], order->add >> a & 1u);
    }
    sm->quota_spent = 0;
    sm->changed_warps = ~UINT64_C(0);
    for (uint32_t row = 0; quota->on && row < row_count(sm); row++)
        for (uint32_t a = 0; a < CORUN_MAX_APPLICATIONS; a++)
            follow(sm, row, a);
}

/* The first cycle after now at which something is due. */
static uint64_t next_attention(const struct sm *sm)
{
    const struct quotas *quota = &sm->quota;
    uint64_t next = NEVER;
    if (quota->orders_taken < quota->orders.count)
        next = quota->orders.data[quota->orders_taken].cycle;
    for (size_t i = 0; i < quota->completions->late.count; i++) {
        uint64_t cycle = quota->completions->late.data[i].cycle - QUOTA_SLOTS + 1;
        next = cycle < next ? cycle : next;
    }
    for (uint32_t a = 0; quota->at_completion && a < CORUN_MAX_APPLICATIONS; a++)
        next = quota->completions->spent_at[a] < next ? quota->completions->spent_at[a] : next;
    return next;
}

void quota_attend(struct sm *sm)
{
    struct quotas *quota = &sm->quota;
    while (quota->orders_taken < quota->orders.count && quota->orders.data[quota->orders_taken].cycle <= sm->now)
        obey(sm, &quota->orders.data[quota->orders_taken++]);
    if (quota->completions->late.count)
        take_late(sm);
    for (uint32_t a = 0; quota->at_completion && a < CORUN_MAX_APPLICATIONS; a++)
        if (quota->completions->spent_at[a] <= sm->now)
            follow(sm, 0, a);
    for (uint32_t row = 0; quota->on && row < row_count(sm); row++)
        look(sm, row);
    wake_not_before(&sm->wakes, WAKE_QUOTA, next_attention(sm));
}

void quota_warps_changed(struct sm *sm)
{
    if (sm->quota.on)
        call(sm, sm->now);
}

void quota_warp_begin(struct sm *sm, uint32_t slot)
{
    uint64_t bit = UINT64_C(1) << slot;
    uint32_t row = sm->quota.kind == CORUN_QUOTA_WARP_AT_ISSUE ? slot % sm->scheduler_count : 0;
    sm->quota_spent &= ~bit;
    if (!sm->quota.on)
        return;
    if (sm->quota.spent[row] >> sm->warps[slot].application & 1u)
        sm->quota_spent |= bit;
    quota_warps_changed(sm);
}

void quota_unblock(struct sm *sm)
{
    const uint64_t *states = sm->states;
    uint64_t blocked = states[WARP_READY] & sm->quota_spent;
    uint64_t others = states[WARP_DATA] | states[WARP_LOAD] | states[WARP_FENCE] | states[WARP_CONTROL] |
                      states[WARP_FETCH] | (states[WARP_READY] & ~sm->quota_spent);
    if (others || sm->wakes.cycle[WAKE_QUOTA] != NEVER)
        return;
    bool any = false;
    for (uint32_t row = 0; row < row_count(sm); row++) {
        uint32_t who = 0;
        for (uint32_t i = 0; i < sm->present_count; i++)
            if (row_warps(sm, row, sm->present[i]) & blocked)
                who |= 1u << sm->present[i];
        any |= refill(sm, row, who);
    }
    if (any || !sm->quota.told)
        tell(sm);
    sm->quota.told = !any;
    if (any)
        call(sm, sm->now + 1);
}

static void completions_destroy(struct completions *completions)
{
    if (!completions)
        return;
    vector_free(&completions->late);
    free(completions->slots);
    free(completions);
}

struct completions *completions_create(uint32_t application_count)
{
    struct completions *completions = calloc(1, sizeof *completions);
    if (!completions)
        return NULL;
    for (uint32_t a = 0; a < CORUN_MAX_APPLICATIONS; a++)
        completions->spent_at[a] = NEVER;
    completions->application_count = application_count;
    completions->slots = calloc(application_count, sizeof *completions->slots);
    if (!completions->slots) {
        free(completions);
        return NULL;
    }
    return completions;
}

bool quota_announce(struct sm *sm, uint64_t cycle, const struct corun_allowances *allowances, uint32_t first_entry,
                    uint32_t application_count)
{
    struct quotas *quota = &sm->quota;
    struct quota_order order = quota->announced;
    bool changed = order.on != allowances->quotas_on;
    order.cycle = cycle;
    order.on = allowances->quotas_on;
    order.kind = order.on ? allowances->quota_kind : order.kind;
    order.set = order.add = 0;
    for (uint32_t a = 0; a < application_count; a++) {
        uint32_t entry = first_entry + a;
        changed |= order.refill[a] != allowances->quota_refill[entry] || allowances->quota_set[entry];
        order.refill[a] = allowances->quota_refill[entry];
        if (!allowances->quota_set[entry])
            continue;
        order.set |= 1u << a;
        order.add |= (uint32_t)allowances->quota_add[entry] << a;
        order.value[a] = allowances->quota[entry];
    }
    if (!changed || !(order.on || quota->in_use))
        return true;
    quota->in_use = true;
    if (!quota->completions && !(quota->completions = completions_create(application_count)))
        return false;
    if (quota->orders_taken == quota->orders.count)
        quota->orders_taken = quota->orders.count = 0;
    quota->announced = order;
    call(sm, cycle);
    return vector_push(&quota->orders, order);
}

static void forget_completions(struct completions *completions, uint32_t application)
{
    size_t kept = 0;
    for (size_t i = 0; i < completions->late.count; i++)
        if (completions->late.data[i].application != application)
            completions->late.data[kept++] = completions->late.data[i];
    completions->late.count = kept;
    memset(completions->slots[application], 0, sizeof completions->slots[application]);
    completions->latest[application] = 0;
    completions->spent_at[application] = NEVER;
}

void quota_forget_application(struct sm *sm, uint32_t application)
{
    struct quotas *quota = &sm->quota;
    if (!quota->in_use)
        return;
    for (size_t i = quota->orders_taken; i < quota->orders.count; i++) {
        quota->orders.data[i].set &= ~(1u << application);
        quota->orders.data[i].refill[application] = 0;
    }
    quota->announced.refill[application] = quota->refill[application] = 0;
    if (quota->completions)
        forget_completions(quota->completions, application);
    for (uint32_t row = 0; row < MAX_SCHEDULERS; row++)
        quota->left[row][application] = 0;
    for (uint32_t row = 0; quota->on && row < row_count(sm); row++)
        follow(sm, row, application);
}

int64_t quota_left(const struct sm *sm, uint32_t application, uint64_t cycle)
{
    const struct quotas *quota = &sm->quota;
    if (quota->at_completion)
        return quota->left[0][application] + under_way(quota, application, cycle);
    int64_t sum = 0;
    for (uint32_t row = 0; row < row_count(sm); row++)
        sum += quota->left[row][application];
    return sum;
}

void quota_destroy(struct sm *sm)
{
    vector_free(&sm->quota.orders);
    completions_destroy(sm->quota.completions);
}
