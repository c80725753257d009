/*
 * Quotas on an SM: counters that are spent, the mask of warps that may not issue, and the refill.
 *
 * Everything happens at a cycle of the SM and touches nothing but the SM, so that it is the same with any number of host
 * threads. What is due at a cycle comes in this order, before warps are picked: loads that are answered, orders of the policy,
 * other completions, refill. Instructions that issue in the cycle take their quota off at once (WARP_AT_ISSUE).
 *
 * No combination waits for ever unless the policy wants it: an application that has something left and a warp that waits for
 * neither quota nor barrier issues or completes some time. With counters of the SM, warps at a barrier wait for warps with the
 * same counter, so either a barrier is met or the thread block is blocked by itself, which arrive() finds. With counters of the
 * schedulers, two applications can wait for each other across two schedulers, each with quota where only its warps at a barrier
 * could use it: quota_unblock ends that.
 */
#include "gpu/sm.h"

#include <stdlib.h>
#include <string.h>

/* quota_attend is called at `cycle`, or before. */
static void call(struct sm *sm, uint64_t cycle)
{
    if (cycle < sm->quota.attention)
        sm->quota.attention = cycle;
    if (cycle < sm->due)
        sm->due = cycle;
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

/* Brings the mask of blocked warps up to date with one counter. */
static void follow(struct sm *sm, uint32_t row, uint32_t application)
{
    uint64_t warps = row_warps(sm, row, application);
    if (sm->quota.left[row][application] > 0)
        sm->quota_spent &= ~warps;
    else
        sm->quota_spent |= warps;
    sm->states_changed = true; /* for the stall causes */
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
 * Adds the refills as often as it takes until one of the applications in `who` has something left. false: nobody in `who` is
 * refilled. What an application that is not here would get is not added: it would come back with quota of a time in which it
 * could not have issued.
 */
static bool refill(struct sm *sm, uint32_t row, uint32_t who)
{
    struct quotas *quota = &sm->quota;
    int64_t rounds = INT64_MAX;
    for (uint32_t rest = who; rest; rest &= rest - 1) {
        uint32_t a = lowest_bit(rest);
        if (quota->refill[a] > 0) {
            int64_t missing = 1 - quota->left[row][a];
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
        if (quota->left[row][a] > 0)
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

static void take_off(struct sm *sm, uint32_t row, uint32_t application, int64_t amount)
{
    int64_t *left = &sm->quota.left[row][application];
    bool had = *left > 0;
    *left -= amount;
    if (had && *left <= 0) {
        follow(sm, row, application);
        look(sm, row);
    }
}

void quota_complete(struct sm *sm, uint32_t application, uint32_t lanes, uint64_t cycle)
{
    struct quotas *quota = &sm->quota;
    if (!quota->on || quota->kind != CORUN_QUOTA_THREAD_AT_COMPLETION || sm->removed >> application & 1u)
        return;
    if (cycle <= sm->now) {
        take_off(sm, 0, application, lanes);
        return;
    }
    call(sm, cycle);
    struct completions *completions = quota->completions;
    if (cycle - sm->now >= QUOTA_SLOTS) {
        struct late_completion late = {cycle, application, lanes};
        if (!vector_push(&completions->late, late))
            sm->failed = true;
        return;
    }
    uint32_t slot = (uint32_t)cycle % QUOTA_SLOTS;
    completions->lanes[application][slot] += lanes;
    completions->applications[slot] |= (uint16_t)(1u << application);
    bits_set(completions->occupied, slot);
}

/* The load/store unit tells when its instructions complete. */
void quota_issued(struct sm *sm, uint32_t scheduler, uint32_t slot, const struct machine_op *op, uint64_t cycle)
{
    if (sm->quota.kind == CORUN_QUOTA_WARP_AT_ISSUE)
        take_off(sm, scheduler, sm->warps[slot].application, 1);
    else if (op->pipe != PIPE_MEMORY || !(op->flags & (CORUN_LOAD | CORUN_STORE | CORUN_ATOMIC)))
        quota_complete(sm, sm->warps[slot].application, count_bits(sm->issue.active), cycle);
}

static void complete_slot(struct sm *sm, uint32_t slot)
{
    struct completions *completions = sm->quota.completions;
    uint32_t applications = completions->applications[slot];
    completions->applications[slot] = 0;
    bits_clear(completions->occupied, slot);
    for (; applications; applications &= applications - 1) {
        uint32_t a = lowest_bit(applications);
        uint32_t lanes = completions->lanes[a][slot];
        completions->lanes[a][slot] = 0;
        if (!(sm->removed >> a & 1u))
            take_off(sm, 0, a, lanes);
    }
}

static void complete_late(struct sm *sm)
{
    struct completions *completions = sm->quota.completions;
    size_t kept = 0;
    for (size_t i = 0; i < completions->late.count; i++) {
        struct late_completion late = completions->late.data[i];
        if (late.cycle > sm->now)
            completions->late.data[kept++] = late;
        else if (!(sm->removed >> late.application & 1u))
            take_off(sm, 0, late.application, late.lanes);
    }
    completions->late.count = kept;
}

static void forget(struct completions *completions)
{
    memset(completions->lanes, 0, sizeof completions->lanes);
    memset(completions->applications, 0, sizeof completions->applications);
    memset(completions->occupied, 0, sizeof completions->occupied);
    completions->late.count = 0;
}

static void obey(struct sm *sm, const struct quota_order *order)
{
    struct quotas *quota = &sm->quota;
    if (quota->on && !order->on)
        forget(quota->completions);
    quota->on = order->on;
    quota->kind = order->kind;
    quota->told = false;
    for (uint32_t a = 0; a < CORUN_MAX_APPLICATIONS; a++) {
        quota->refill[a] = order->refill[a];
        if (order->set >> a & 1u)
            for (uint32_t row = 0; row < row_count(sm); row++)
                quota->left[row][a] =
                    order->add >> a & 1u ? added(quota->left[row][a], order->value[a]) : order->value[a];
    }
    sm->quota_spent = 0;
    sm->states_changed = true;
    for (uint32_t row = 0; quota->on && row < row_count(sm); row++)
        for (uint32_t i = 0; i < sm->present_count; i++)
            follow(sm, row, sm->present[i]);
}

/* The first cycle after now at which something is due. */
static uint64_t next_attention(const struct sm *sm)
{
    const struct quotas *quota = &sm->quota;
    const struct completions *completions = quota->completions;
    uint64_t next = NEVER;
    if (quota->orders_taken < quota->orders.count)
        next = quota->orders.data[quota->orders_taken].cycle;
    for (size_t i = 0; i < completions->late.count; i++)
        next = completions->late.data[i].cycle < next ? completions->late.data[i].cycle : next;
    uint32_t start = (uint32_t)(sm->now + 1) % QUOTA_SLOTS, word = start / 64;
    uint64_t bits = completions->occupied[word] & ~UINT64_C(0) << start % 64;
    for (uint32_t i = 0; i <= QUOTA_SLOTS / 64 && !bits; i++) {
        word = (word + 1) % (QUOTA_SLOTS / 64);
        bits = completions->occupied[word];
    }
    if (bits) {
        uint64_t cycle = sm->now + 1 + (word * 64 + lowest_bit(bits) - start) % QUOTA_SLOTS;
        next = cycle < next ? cycle : next;
    }
    return next;
}

void quota_attend(struct sm *sm)
{
    struct quotas *quota = &sm->quota;
    while (quota->orders_taken < quota->orders.count && quota->orders.data[quota->orders_taken].cycle <= sm->now)
        obey(sm, &quota->orders.data[quota->orders_taken++]);
    uint32_t slot = (uint32_t)sm->now % QUOTA_SLOTS;
    if (quota->completions->applications[slot])
        complete_slot(sm, slot);
    if (quota->completions->late.count)
        complete_late(sm);
    for (uint32_t row = 0; quota->on && row < row_count(sm); row++)
        look(sm, row);
    quota->attention = next_attention(sm);
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
    if (sm->quota.left[row][sm->warps[slot].application] <= 0)
        sm->quota_spent |= bit;
    quota_warps_changed(sm);
}

void quota_unblock(struct sm *sm)
{
    const uint64_t *states = sm->states;
    uint64_t blocked = states[WARP_READY] & sm->quota_spent;
    uint64_t others = states[WARP_DATA] | states[WARP_LOAD] | states[WARP_FENCE] | states[WARP_CONTROL] |
                      states[WARP_FETCH] | (states[WARP_READY] & ~sm->quota_spent);
    if (!blocked || others || sm->quota.attention != NEVER)
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
    if (!quota->completions && !(quota->completions = calloc(1, sizeof *quota->completions)))
        return false;
    if (quota->orders_taken == quota->orders.count)
        quota->orders_taken = quota->orders.count = 0;
    quota->announced = order;
    call(sm, cycle);
    return vector_push(&quota->orders, order);
}

int64_t quota_left(const struct sm *sm, uint32_t application)
{
    int64_t sum = 0;
    for (uint32_t row = 0; row < row_count(sm); row++)
        sum += sm->quota.left[row][application];
    return sum;
}

void quota_destroy(struct sm *sm)
{
    vector_free(&sm->quota.orders);
    if (sm->quota.completions)
        vector_free(&sm->quota.completions->late);
    free(sm->quota.completions);
}
