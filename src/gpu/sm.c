/* SPDX-License-Identifier: MIT */
/* The life of an SM: the loop over its cycles, thread blocks and warps coming and going, warp states. */
#include "gpu/sm.h"

#include <stdlib.h>
#include <string.h>

static uint32_t units_of(uint32_t configured)
{
    return configured ? configured : 1;
}

struct sm *sm_create(const struct corun_gpu_config *config, uint32_t index, struct reply_ring *replies)
{
    struct sm *sm = calloc(1, sizeof *sm);
    if (!sm)
        return NULL;
    sm->config = config;
    sm->index = index;
    sm->replies = replies;
    sm->wake = NEVER;
    sm->due = sm->quota.attention = sm->context.wake = NEVER;
    sm->next_sample = NEVER;
    sm->scheduler_count = config->schedulers_per_sm;
    sm->pipe_units[PIPE_INT] = units_of(config->int_units);
    sm->pipe_units[PIPE_FP32] = units_of(config->fp32_units);
    sm->pipe_units[PIPE_FP64] = units_of(config->fp64_units);
    sm->pipe_units[PIPE_SFU] = units_of(config->sfu_units);
    sm->pipe_units[PIPE_TENSOR] = units_of(config->tensor_units);
    sm->pipe_units[PIPE_MEMORY] = 1;
    sm->collectors = units_of(config->collectors / sm->scheduler_count);
    sm->banks = units_of(config->register_banks / sm->scheduler_count);
    for (uint32_t pipe = 0; pipe < PIPE_COUNT; pipe++)
        for (uint32_t scheduler = 0; scheduler < sm->scheduler_count; scheduler++)
            sm->first_unit[pipe][scheduler] = (uint8_t)(scheduler % sm->pipe_units[pipe]);
    for (uint32_t slot = 0; slot < config->threads_per_sm / CORUN_WARP_LANES; slot++)
        sm->schedulers[slot % sm->scheduler_count].warps |= UINT64_C(1) << slot;
    for (uint32_t i = 0; i < MAX_SCHEDULERS; i++)
        sm->schedulers[i].last = NOTHING;
    for (uint32_t i = 0; i < MAX_WARPS; i++) {
        sm->warps[i].pipe = PIPE_COUNT;
        sm->warps[i].bank_offset = (uint8_t)(i / sm->scheduler_count);
    }
    if (!miss_create(sm) || !load_store_create(sm)) {
        sm_destroy(sm);
        return NULL;
    }
    return sm;
}

void sm_destroy(struct sm *sm)
{
    if (!sm)
        return;
    for (uint32_t i = 0; i < MAX_TBS; i++)
        if (sm->tbs[i].source)
            sm->tbs[i].launch->grid->operations->tb_end(sm->tbs[i].source);
    for (uint32_t i = 0; i < MAX_WARPS; i++)
        free(sm->warps[i].ready);
    for (uint32_t i = 0; i < sm->counters_capacity; i++)
        free(sm->counters[i]);
    for (size_t i = 0; i < sm->news.count; i++)
        free(sm->news.data[i].message);
    free(sm->counters);
    free(sm->writes_under_way);
    miss_destroy(sm);
    load_store_destroy(sm);
    quota_destroy(sm);
    context_destroy(sm);
    vector_free(&sm->out);
    vector_free(&sm->arrivals);
    vector_free(&sm->news);
    vector_free(&sm->trace);
    free(sm);
}

void sm_post(struct sm *sm, struct news news)
{
    if (!vector_push(&sm->news, news)) {
        free(news.message);
        sm->failed = true;
    }
}

struct corun_counters *sm_counters(struct sm *sm, uint32_t slot)
{
    if (slot >= sm->counters_capacity) {
        uint32_t capacity = slot + 8;
        uint32_t *writes = realloc(sm->writes_under_way, capacity * sizeof *writes);
        if (!writes)
            return NULL;
        sm->writes_under_way = writes;
        struct corun_counters **counters = realloc(sm->counters, capacity * sizeof *counters);
        if (!counters)
            return NULL;
        memset(counters + sm->counters_capacity, 0, (capacity - sm->counters_capacity) * sizeof *counters);
        memset(writes + sm->counters_capacity, 0, (capacity - sm->counters_capacity) * sizeof *writes);
        sm->counters = counters;
        sm->counters_capacity = capacity;
    }
    if (!sm->counters[slot])
        sm->counters[slot] = calloc(1, sizeof **sm->counters);
    return sm->counters[slot];
}

void warp_profile(struct sm *sm, uint32_t slot)
{
    struct sm_warp *warp = &sm->warps[slot];
    uint64_t cycles = sm->now - warp->since;
    warp->since = sm->now;
    if (!warp->kernel->profile)
        return;
    struct corun_profile_row *row = &warp->kernel->profile[warp->pc];
    switch (warp->state) {
    case WARP_READY:
        *(warp->op->pipe == PIPE_MEMORY ? &row->stall_memory : &row->stall_pipeline) += cycles;
        break;
    case WARP_DATA:
        row->stall_data += cycles;
        break;
    case WARP_LOAD:
        row->stall_memory_data += cycles;
        break;
    case WARP_BARRIER:
        row->stall_barrier += cycles;
        break;
    default:
        row->stall_other += cycles;
    }
}

void warp_set_state(struct sm *sm, uint32_t slot, enum warp_state state)
{
    struct sm_warp *warp = &sm->warps[slot];
    uint64_t bit = UINT64_C(1) << slot;
    if (sm->profiling)
        warp_profile(sm, slot);
    if (warp->pipe != PIPE_COUNT)
        sm->wants[warp->pipe] &= ~bit;
    sm->states[warp->state] &= ~bit;
    sm->states[state] |= bit;
    sm->states_changed = true;
    warp->state = (uint8_t)state;
    warp->pipe = PIPE_COUNT;
    if (state == WARP_READY) {
        warp->pipe = warp->op->pipe;
        sm->wants[warp->pipe] |= bit;
    }
}

static bool reply_due(const struct sm *sm)
{
    const struct reply_ring *ring = sm->replies;
    return ring->head != ring->tail && ring->slots[ring->head & ring->mask].cycle <= sm->now;
}

/*
 * A fetch that finds no MSHR, line or place in the network leaves everything as it was, and nothing but a reply can help
 * it: it is tried again when one has come. Between two replies of one cycle, it has to wait for the next cycle.
 */
static bool fetched(struct sm *sm, uint32_t slot, uint64_t *until)
{
    uint64_t bit = UINT64_C(1) << slot;
    enum lookup result = instruction_fetch(sm, slot);
    sm->fetch_refused &= ~bit;
    if (result == LOOKUP_FULL && reply_due(sm))
        *until = sm->now + 1;
    else if (result == LOOKUP_FULL)
        sm->fetch_refused |= bit;
    return result == LOOKUP_HIT;
}

/* What the warp waits for, and until when (NEVER: until something else wakes it). */
static enum warp_state judge(struct sm *sm, uint32_t slot, uint64_t *until)
{
    struct sm_warp *warp = &sm->warps[slot];
    const struct machine_op *op = warp->op;
    *until = NEVER;
    if (warp->not_before > sm->now) {
        *until = warp->not_before;
        return WARP_CONTROL;
    }
    if (!sm->config->icache_perfect && !fetched(sm, slot, until))
        return WARP_FETCH;
    uint64_t latest = 0;
    for (uint32_t i = 0; i < op->hazard_count; i++) {
        uint64_t entry = warp->ready[op->hazards[i]];
        latest = entry > latest ? entry : latest;
    }
    if (latest == UNKNOWN)
        return WARP_LOAD;
    if (latest >> 1 > sm->now) {
        *until = latest >> 1;
        return latest & 1 ? WARP_LOAD : WARP_DATA;
    }
    if (op->flags & CORUN_FENCE && (warp->writes || warp->pending))
        return WARP_FENCE;
    return WARP_READY;
}

void warp_evaluate(struct sm *sm, uint32_t slot)
{
    uint64_t until;
    enum warp_state state = judge(sm, slot, &until);
    warp_set_state(sm, slot, state);
    if (until != NEVER)
        wheel_set(&sm->wheel, sm->now, until, slot);
}

static void account_residency(struct sm *sm);

void sm_account(struct sm *sm)
{
    account_residency(sm);
    stall_flush(sm);
    sm->cause_count = 0; /* they name the counters of the kernel before */
    sm->states_changed = true;
}

static void application_present(struct sm *sm, uint32_t application, bool present)
{
    if (present) {
        for (uint32_t i = 0; i < sm->present_count; i++)
            if (sm->present[i] == application)
                return;
        if (sm->present_count == 1)
            stall_one_ends(sm);
        sm->present[sm->present_count++] = application;
        if (sm->present_count == 1)
            stall_one_begins(sm);
    } else {
        for (uint32_t i = 0; i < sm->present_count; i++)
            if (sm->present[i] == application) {
                if (sm->present_count == 1)
                    stall_one_ends(sm);
                sm->present_count--;
                memmove(&sm->present[i], &sm->present[i + 1], (sm->present_count - i) * sizeof *sm->present);
                if (sm->present_count == 1)
                    stall_one_begins(sm);
                return;
            }
    }
}

static bool warp_begin(struct sm *sm, uint32_t slot, uint32_t tb_slot, struct corun_warp *source)
{
    struct sm_warp *warp = &sm->warps[slot];
    struct launch *launch = sm->tbs[tb_slot].launch;
    struct machine_kernel *kernel = launch->kernel;
    if (warp->ready_capacity < kernel->hazard_entries) {
        uint64_t *ready = realloc(warp->ready, kernel->hazard_entries * sizeof *ready);
        if (!ready)
            return false;
        warp->ready = ready;
        warp->ready_capacity = kernel->hazard_entries;
    }
    memset(warp->ready, 0, kernel->hazard_entries * sizeof *warp->ready);
    warp->source = source;
    warp->kernel = kernel;
    warp->counters = sm->counters[kernel->slot];
    warp->pc = launch->grid->operations->warp_pc(source);
    warp->op = &kernel->ops[warp->pc];
    warp->age = sm->next_age++;
    warp->not_before = sm->now;
    warp->fetched_line = NEVER;
    warp->since = sm->now;
    warp->pending = warp->writes = 0;
    sm->warp_thread_instructions[slot] = 0;
    warp->generation++;
    warp->tb = (uint8_t)tb_slot;
    warp->application = kernel->application;
    launch->grid->operations->warp_place(source, slot, sm->config->sms, &sm->now);
    sm->application_warps[kernel->application] |= UINT64_C(1) << slot;
    sm->resident_warps++;
    quota_warp_begin(sm, slot);
    return true;
}

struct sm_tb *sm_tb_slot(struct sm *sm)
{
    struct sm_tb *tb = sm->tbs;
    while (tb->source) /* the dispatcher only sends what has a place */
        tb++;
    return tb;
}

bool sm_tb_seat(struct sm *sm, struct sm_tb *tb, struct corun_warp *const *warps, uint32_t count, uint32_t *slots)
{
    struct launch *launch = tb->launch;
    uint32_t application = launch->kernel->application;
    struct corun_counters *counters = sm_counters(sm, launch->kernel->slot);
    if (!counters) {
        sm->failed = true;
        return false;
    }
    sm_account(sm);
    if (launch->number > sm->newest_launch) {
        sm->newest_launch = launch->number;
        if (sm->config->l1_flush_at_kernel)
            caches_flush(sm);
    }
    uint64_t taken = 0;
    for (uint32_t i = 0; i < MAX_TBS; i++)
        taken |= sm->tbs[i].resident;
    uint32_t slot = 0;
    for (uint32_t i = 0; i < count; i++) {
        while (taken >> slot & 1u)
            slot++;
        taken |= UINT64_C(1) << slot;
        tb->resident |= UINT64_C(1) << slot;
        slots[i] = slot;
        if (!warp_begin(sm, slot, (uint32_t)(tb - sm->tbs), warps[i])) {
            sm->failed = true;
            return false;
        }
    }
    tb->warps = tb->resident;
    sm->resident_tbs++;
    sm->application_tbs[application]++;
    bool other_kernel =
        sm->present_count == 1 && sm->present[0] == application && sm->application_counters[application] != counters;
    if (other_kernel)
        stall_one_ends(sm);
    sm->application_counters[application] = counters;
    if (other_kernel)
        stall_one_begins(sm);
    application_present(sm, application, true);
    return true;
}

void sm_tb_remove(struct sm *sm, struct sm_tb *tb)
{
    uint32_t application = tb->launch->kernel->application;
    sm_account(sm);
    for (uint64_t rest = tb->resident; rest; rest &= rest - 1) {
        struct sm_warp *warp = &sm->warps[lowest_bit(rest)];
        uint64_t bit = rest & -rest;
        for (uint32_t state = 0; state < WARP_STATES; state++)
            sm->states[state] &= ~bit;
        for (uint32_t pipe = 0; pipe < PIPE_COUNT; pipe++)
            sm->wants[pipe] &= ~bit;
        warp->pipe = PIPE_COUNT;
        warp->generation++; /* whatever is under way for it is nobody's now */
        sm->resident_warps--;
    }
    sm->application_warps[application] &= ~tb->resident;
    sm->still_warps[application] &= ~tb->resident;
    quota_warps_changed(sm);
    if (tb->phase != TB_LOADING) {
        sm->resident_tbs--;
        if (--sm->application_tbs[application] == 0)
            application_present(sm, application, false);
    }
    *tb = (struct sm_tb){0};
}

static void tb_begin(struct sm *sm, const struct arrival *arrival)
{
    const struct corun_grid *grid = arrival->launch->grid;
    struct sm_tb *tb = sm_tb_slot(sm);
    struct corun_warp *warps[MAX_WARPS];
    uint32_t slots[MAX_WARPS];
    *tb = (struct sm_tb){.launch = arrival->launch, .index = arrival->tb_index, .age = sm->next_age++};
    tb_needs_compute(sm->config, grid, &tb->needs);
    tb->source = grid->operations->tb_begin(grid, arrival->tb_index, sm->index, warps);
    if (!tb->source) {
        sm->failed = true;
        return;
    }
    if (!sm_tb_seat(sm, tb, warps, grid->tb_warps, slots))
        return;
    for (uint64_t rest = tb->warps; rest; rest &= rest - 1)
        warp_evaluate(sm, lowest_bit(rest));
    context_hold(sm, (uint32_t)(tb - sm->tbs));
}

/* The last warp has gone: the thread block's resources are free. */
static void tb_complete(struct sm *sm, uint32_t tb_slot)
{
    struct sm_tb *tb = &sm->tbs[tb_slot];
    uint32_t application = tb->launch->kernel->application;
    sm_counters(sm, tb->launch->kernel->slot)->tbs_completed++;
    tb->launch->grid->operations->tb_end(tb->source);
    tb->source = NULL;
    sm->resident_tbs--;
    if (--sm->application_tbs[application] == 0)
        application_present(sm, application, false);
    sm_post(sm, (struct news){.cycle = sm->now,
                              .launch = tb->launch,
                              .needs = tb->needs,
                              .tb_index = tb->index,
                              .kind = NEWS_TB_COMPLETE,
                              .application = (uint8_t)application});
}

void warp_end(struct sm *sm, uint32_t slot)
{
    struct sm_warp *warp = &sm->warps[slot];
    struct sm_tb *tb = &sm->tbs[warp->tb];
    uint64_t bit = UINT64_C(1) << slot;
    account_residency(sm);
    sm->states_changed = true;
    if (tb->warps & bit) { /* not when a drained warp comes by again */
        tb->warps &= ~bit;
        tb->thread_instructions += sm->warp_thread_instructions[slot];
        sm->application_warps[warp->application] &= ~bit;
        quota_warps_changed(sm);
        sm->progress_cycle[warp->application] = sm->now;
        barrier_warp_ended(sm, warp->tb);
    }
    if (warp->pending) {
        warp_set_state(sm, slot, WARP_DRAIN);
        return;
    }
    if (warp->pipe != PIPE_COUNT)
        sm->wants[warp->pipe] &= ~bit;
    warp->pipe = PIPE_COUNT;
    sm->states[warp->state] &= ~bit;
    sm->resident_warps--;
    tb->resident &= ~bit;
    if (!tb->resident)
        tb_complete(sm, warp->tb);
}

void sm_remove_application(struct sm *sm, uint32_t application)
{
    sm_account(sm);
    sm->removed |= UINT64_C(1) << application;
    context_remove_application(sm, application);
    for (uint32_t i = 0; i < MAX_TBS; i++) {
        struct sm_tb *tb = &sm->tbs[i];
        if (!tb->source || tb->launch->kernel->application != application)
            continue;
        tb->launch->grid->operations->tb_end(tb->source);
        sm_tb_remove(sm, tb);
    }
    context_settle(sm);
    struct load_store *unit = &sm->load_store;
    for (uint32_t i = 0; i < unit->count; i++) {
        struct memory_entry *entry = &unit->entries[(unit->head + i) & unit->mask];
        if (entry->application == application) {
            entry->count = entry->next;
            entry->bank_cycles = 0;
        }
    }
    unit->stalled = false;
    size_t kept = sm->arrivals_taken;
    for (size_t i = kept; i < sm->arrivals.count; i++)
        if (sm->arrivals.data[i].launch->kernel->application != application)
            sm->arrivals.data[kept++] = sm->arrivals.data[i];
    sm->arrivals.count = kept;
    sm->wake = sm->now;
}

void sm_forget_application(struct sm *sm, uint32_t application)
{
    load_store_forget_application(sm, application);
    quota_forget_application(sm, application);
    sm->removed &= ~(UINT64_C(1) << application);
    sm->application_counters[application] = NULL;
    sm->progress_cycle[application] = 0;
    sm->idle_warp_samples[application] = 0;
}

bool sm_announce(struct sm *sm, const struct arrival *arrival)
{
    if (sm->arrivals_taken == sm->arrivals.count)
        sm->arrivals_taken = sm->arrivals.count = 0;
    if (arrival->cycle < sm->due)
        sm->due = arrival->cycle;
    return vector_push(&sm->arrivals, *arrival);
}

static uint64_t next_event(const struct sm *sm)
{
    uint64_t next = sm->wake;
    const struct reply_ring *ring = sm->replies;
    if (ring->head != ring->tail && ring->slots[ring->head & ring->mask].cycle < next)
        next = ring->slots[ring->head & ring->mask].cycle;
    if (sm->due < next)
        next = sm->due;
    return next > sm->now ? next : sm->now;
}

uint64_t sm_next(const struct sm *sm)
{
    return sm->fetch_refused & sm->states[WARP_FETCH] ? sm->now : next_event(sm);
}

/* One scheduler, one cycle. Returns the application that issued, NOTHING if none. */
static uint32_t scheduler_step(struct sm *sm, uint32_t index, uint32_t *room)
{
    struct scheduler *scheduler = &sm->schedulers[index];
    if (scheduler->free_at > sm->now) /* still feeding the lanes of the last one */
        return sm->warps[scheduler->last].application;
    uint64_t candidates = sm->states[WARP_READY] & scheduler->warps & ~sm->quota_spent;
    if (sm->config->scheduler == CORUN_SCHEDULER_TWO_LEVEL)
        candidates = warp_scheduler_active(sm, index, candidates);
    if (!candidates || !*room)
        return NOTHING;
    if (candidates & sm->wants[PIPE_MEMORY] && !load_store_has_room(sm))
        candidates &= ~sm->wants[PIPE_MEMORY]; /* often, and all of them: none need be picked to see that */
    if (!candidates || !collector_available(sm, index))
        return NOTHING;
    uint32_t slot = warp_scheduler_pick(sm, index, candidates);
    while (!pipe_available(sm, index, sm->warps[slot].pipe)) {
        candidates &= ~sm->wants[sm->warps[slot].pipe];
        if (!candidates)
            return NOTHING;
        slot = warp_scheduler_pick(sm, index, candidates);
    }
    const struct machine_op *first = sm->warps[slot].op;
    uint32_t application = sm->warps[slot].application;
    uint64_t bit = UINT64_C(1) << slot;
    --*room;
    sm_issue(sm, index, slot);
    if (sm->config->issue_width > 1 && *room && !(first->flags & (CORUN_BRANCH | CORUN_BARRIER | CORUN_EXIT)) &&
        sm->states[WARP_READY] & ~sm->quota_spent & bit) {
        const struct machine_op *second = sm->warps[slot].op;
        if (second->pipe != first->pipe && pipe_available(sm, index, second->pipe) && collector_available(sm, index)) {
            --*room;
            sm_issue(sm, index, slot);
        }
    }
    return application;
}

/* Schedulers take turns in being first at what they share: the load/store unit, shared pipelines, fetch. */
static uint32_t first_scheduler(const struct sm *sm)
{
    uint32_t count = sm->scheduler_count;
    return (count & (count - 1)) == 0 ? (uint32_t)sm->now & (count - 1) : (uint32_t)(sm->now % count);
}

/* Earliest cycle after `now` at which a ready warp that found everything taken could issue. */
static uint64_t next_chance(const struct sm *sm)
{
    uint64_t next = NEVER;
    if (!(sm->states[WARP_READY] & ~sm->quota_spent))
        return next;
    for (uint32_t pipe = 0; pipe < PIPE_COUNT; pipe++) {
        if (!(sm->wants[pipe] & ~sm->quota_spent))
            continue;
        if (pipe == PIPE_MEMORY) {
            if (load_store_has_room(sm))
                return sm->now + 1;
            continue; /* room comes with the next pop, which load_store_next knows */
        }
        for (uint32_t unit = 0; unit < sm->pipe_units[pipe]; unit++) {
            uint64_t free_at = sm->pipe_free[pipe][unit];
            uint64_t chance = free_at > sm->config->collect_cycles ? free_at - sm->config->collect_cycles : 0;
            next = chance < next ? chance : next;
        }
    }
    return next > sm->now ? next : sm->now + 1;
}

/* ISCA 2017, section 3.6: ready, but held up by what others have taken; not those that have spent their quota. */
static void sample_idle_warps(struct sm *sm)
{
    uint64_t idle = sm->states[WARP_READY] & ~sm->quota_spent;
    for (uint32_t i = 0; i < sm->present_count; i++)
        sm->idle_warp_samples[sm->present[i]] += count_bits(idle & sm->application_warps[sm->present[i]]);
    sm->samples++;
    sm->next_sample += sm->sample_cycles;
}

/* Adds up residency since the last time; called before it changes. */
static void account_residency(struct sm *sm)
{
    uint64_t cycles = sm->now - sm->resident_since;
    sm->resident_since = sm->now;
    if (!cycles)
        return;
    if (!sm->resident_warps) {
        sm->idle_scheduler_cycles += cycles * sm->scheduler_count;
        return;
    }
    sm->busy_cycles += cycles;
    for (uint32_t i = 0; i < sm->present_count; i++) {
        uint32_t application = sm->present[i];
        struct corun_counters *counters = sm->application_counters[application];
        counters->warp_cycles += cycles * count_bits(sm->application_warps[application] | sm->still_warps[application]);
        counters->tb_cycles += cycles * sm->application_tbs[application];
    }
}

/* Thread blocks that have arrived or have to leave, and what is due with quotas. */
static void take_due(struct sm *sm)
{
    while (sm->arrivals_taken < sm->arrivals.count && sm->arrivals.data[sm->arrivals_taken].cycle <= sm->now) {
        struct arrival arrival = sm->arrivals.data[sm->arrivals_taken++];
        if (arrival.context)
            context_load(sm, &arrival);
        else
            tb_begin(sm, &arrival);
    }
    if (sm->context.wake <= sm->now)
        context_attend(sm);
    if (sm->quota.attention <= sm->now)
        quota_attend(sm);
    sm->due = sm->quota.attention < sm->context.wake ? sm->quota.attention : sm->context.wake;
    if (sm->arrivals_taken < sm->arrivals.count && sm->arrivals.data[sm->arrivals_taken].cycle < sm->due)
        sm->due = sm->arrivals.data[sm->arrivals_taken].cycle;
}

void sm_run(struct sm *sm, uint64_t until)
{
    struct reply_ring *ring = sm->replies;
    while (sm->now < until && !sm->failed) {
        uint64_t now = sm->now;
        bool replied = reply_due(sm);
        while (reply_due(sm))
            load_store_reply(sm, &ring->slots[ring->head++ & ring->mask]);
        if (sm->due <= now)
            take_due(sm);
        uint64_t waiting =
            sm->states[WARP_DATA] | sm->states[WARP_LOAD] | sm->states[WARP_CONTROL] | sm->states[WARP_FETCH];
        uint64_t woken = wheel_take(&sm->wheel, now) & waiting;
        if (replied)
            woken |= sm->fetch_refused & sm->states[WARP_FETCH];
        for (; woken; woken &= woken - 1)
            warp_evaluate(sm, lowest_bit(woken));
        if (sm->load_store.count)
            load_store_tick(sm);

        uint32_t issued[MAX_SCHEDULERS] = {0}, room = sm->config->fetch_width;
        bool any = false;
        if (sm->states[WARP_READY] || sm->config->warp_issue_cycles > 1)
            for (uint32_t i = 0, s = first_scheduler(sm); i < sm->scheduler_count; i++) {
                issued[s] = scheduler_step(sm, s, &room);
                any |= issued[s] != NOTHING;
                s = s + 1 < sm->scheduler_count ? s + 1 : 0;
            }
        uint64_t next = now + 1;
        sm->wake = next;
        if (!any) {
            uint64_t events[] = {wheel_next(&sm->wheel, now), load_store_next(sm), next_chance(sm)};
            next = NEVER;
            for (uint32_t i = 0; i < sizeof events / sizeof *events; i++)
                next = events[i] < next ? events[i] : next;
            if (sm->states[WARP_READY] & sm->quota_spent)
                quota_unblock(sm);
            sm->wake = next > now ? next : now + 1;
            next = next_event(sm);
            next = next > now ? next : now + 1;
            next = next < until ? next : until;
        }
        stall_account(sm, issued, any, next - now);
        while (sm->next_sample < next)
            sample_idle_warps(sm);
        sm->now = next;
    }
    stall_flush(sm);
    account_residency(sm);
}
