/* SPDX-License-Identifier: MIT */
/* The loop over the cycles of an SM: what is due, which warps issue, until when it sleeps. */
#include "gpu/sm.h"

#include "gpu/cache_lines.h"
#include "gpu/issue_plain.h"
#include "gpu/residency.h"
#include "gpu/stall.h"
#include "gpu/warp_choice.h"

#include <stdlib.h>
#include <string.h>

static uint32_t units_of(uint32_t configured)
{
    return configured ? configured : 1;
}

struct sm *sm_create(const struct corun_gpu_config *config, uint32_t index, struct reply_ring *replies,
                     struct reply_ring *cluster_replies)
{
    struct sm *sm = allocate_lines(sizeof *sm);
    if (!sm)
        return NULL;
    sm->config = config;
    sm->index = index;
    for (uint32_t source = 0; source < WAKE_SOURCES; source++)
        sm->wakes.cycle[source] = NEVER;
    sm->next_sample = NEVER;
    sm->scheduler_count = config->schedulers_per_sm;
    sm->collect_cycles = config->collect_cycles;
    sm->bank_shift = (uint8_t)(config->register_bank_reads - 1);
    sm->fetch_perfect = config->icache_perfect;
    sm->greedy = config->scheduler == CORUN_SCHEDULER_GTO;
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
            sm->schedulers[scheduler].first_unit[pipe] = (uint8_t)(scheduler % sm->pipe_units[pipe]);
    for (uint32_t slot = 0; slot < config->threads_per_sm / CORUN_WARP_LANES; slot++)
        sm->schedulers[slot % sm->scheduler_count].warps |= UINT64_C(1) << slot;
    for (uint32_t i = 0; i < MAX_SCHEDULERS; i++)
        sm->schedulers[i].last = NOTHING;
    for (uint32_t i = 0; i < MAX_WARPS; i++) {
        sm->warps[i].bank_offset = (uint8_t)(i / sm->scheduler_count);
    }
    if (!port_create(&sm->port, config, replies, cluster_replies, &sm->wakes) || !sm_caches_create(sm) ||
        !load_store_create(sm)) {
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
    port_destroy(&sm->port);
    sm_caches_destroy(sm);
    load_store_destroy(sm);
    copy_engine_destroy(&sm->copy_engine);
    quota_destroy(sm);
    preemption_engine_destroy(sm);
    vector_free(&sm->incoming);
    vector_free(&sm->cluster_releases);
    vector_free(&sm->news);
    vector_free(&sm->trace);
    free(sm);
}

struct corun_counters *sm_counters(struct sm *sm, uint32_t slot)
{
    if (slot >= sm->counters_capacity) {
        uint32_t capacity = slot + 8;
        struct kernel_writes *writes = realloc(sm->port.writes, capacity * sizeof *writes);
        if (!writes)
            return NULL;
        sm->port.writes = writes;
        struct corun_counters **counters = realloc(sm->counters, capacity * sizeof *counters);
        if (!counters)
            return NULL;
        memset(counters + sm->counters_capacity, 0, (capacity - sm->counters_capacity) * sizeof *counters);
        memset(writes + sm->counters_capacity, 0, (capacity - sm->counters_capacity) * sizeof *writes);
        sm->counters = counters;
        sm->counters_capacity = capacity;
    }
    if (!sm->counters[slot])
        sm->counters[slot] = allocate_lines(sizeof **sm->counters);
    return sm->counters[slot];
}

void sm_post(struct sm *sm, struct news news)
{
    if (!vector_push(&sm->news, news)) {
        free(news.message);
        sm->failed = true;
    }
}

void sm_account(struct sm *sm)
{
    residency_account(sm);
    stall_forget(sm); /* they name the counters of the kernel before */
}

void sm_remove_application(struct sm *sm, uint32_t application)
{
    sm_account(sm);
    sm->removed |= UINT64_C(1) << application;
    preemption_engine_remove_application(sm, application);
    copy_engine_remove_application(sm, application);
    for (uint32_t i = 0; i < MAX_TBS; i++) {
        struct sm_tb *tb = &sm->tbs[i];
        if (!tb->source || tb->launch->kernel->application != application)
            continue;
        tb->launch->grid->operations->tb_end(tb->source);
        sm_tb_remove(sm, tb);
    }
    preemption_engine_settle(sm);
    load_store_remove_application(sm, application);
    size_t kept = sm->incoming_taken;
    for (size_t i = kept; i < sm->incoming.count; i++)
        if (sm->incoming.data[i].launch->kernel->application != application)
            sm->incoming.data[kept++] = sm->incoming.data[i];
    sm->incoming.count = kept;
    sm->wakes.cycle[WAKE_ISSUE] = sm->now;
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

uint64_t sm_next(const struct sm *sm)
{
    uint64_t next = wake_next(&sm->wakes);
    return next < sm->now || sm->fetch_refused & sm->states[WARP_FETCH] ? sm->now : next;
}

/* A pipeline of the kind can start an instruction that is issued now. */
static inline bool pipe_available(const struct sm *sm, const struct scheduler *scheduler, uint32_t pipe)
{
    if (pipe == PIPE_MEMORY)
        return load_store_has_room(&sm->load_store);
    uint64_t start = sm->now + sm->collect_cycles;
    uint32_t unit = scheduler->first_unit[pipe]; /* there is one at least */
    do {
        if (sm->pipe_free[pipe][unit] <= start)
            return true;
        unit += sm->scheduler_count;
    } while (unit < sm->pipe_units[pipe]);
    return false;
}

/* Apart from the short ways below, for the host's registers. */
static __attribute__((noinline)) bool find_collector(const struct sm *sm, struct scheduler *scheduler)
{
    uint32_t collector = 0;
    while (collector < sm->collectors && scheduler->collector_free[collector] > sm->now)
        collector++;
    scheduler->collector = collector;
    return collector < sm->collectors;
}

static inline bool collector_available(const struct sm *sm, struct scheduler *scheduler)
{
    if (scheduler->collector_free[0] > sm->now)
        return find_collector(sm, scheduler);
    scheduler->collector = 0;
    return true;
}

static inline void issue(struct sm *sm, struct scheduler *scheduler, uint32_t slot, struct sm_warp *warp,
                         const struct machine_op *op)
{
    if (op->flags & MACHINE_PLAIN && !sm->watched)
        sm_issue_plain(sm, scheduler, slot, warp);
    else
        sm_issue_any(sm, scheduler, slot);
}

/* The warp has issued, and can issue another one in this cycle if that goes another way. Returns whether it did. */
static __attribute__((noinline)) bool issue_second(struct sm *sm, struct scheduler *scheduler, uint32_t slot,
                                                   uint32_t first_pipe)
{
    struct sm_warp *warp = &sm->warps[slot];
    if (warp->pipe == first_pipe || !pipe_available(sm, scheduler, warp->pipe) || !collector_available(sm, scheduler))
        return false;
    issue(sm, scheduler, slot, warp, warp->op);
    return true;
}

/* The pipeline of the first choice is taken: a warp that wants another one, NOTHING if there is none. */
static __attribute__((noinline)) uint32_t choose_further(struct sm *sm, const struct scheduler *scheduler,
                                                         uint64_t candidates, uint32_t slot)
{
    while (!pipe_available(sm, scheduler, sm->warps[slot].pipe)) {
        candidates &= ~sm->wants[sm->warps[slot].pipe];
        if (!candidates)
            return NOTHING;
        slot = warp_scheduler_pick(sm, scheduler, candidates);
    }
    return slot;
}

/* One of the candidates, if it can, and perhaps its next instruction, too. Returns the application that issued, NOTHING if none. */
static __attribute__((noinline)) uint32_t issue_one_of(struct sm *sm, struct scheduler *scheduler, uint64_t candidates,
                                                       uint32_t *room)
{
    if (candidates & sm->wants[PIPE_MEMORY] && !load_store_has_room(&sm->load_store))
        candidates &= ~sm->wants[PIPE_MEMORY]; /* often, and all of them: none need be picked to see that */
    if (!candidates || !collector_available(sm, scheduler))
        return NOTHING;
    uint32_t slot = warp_scheduler_pick(sm, scheduler, candidates), pipe = sm->warps[slot].pipe;
    if (pipe != PIPE_MEMORY && sm->pipe_free[pipe][scheduler->first_unit[pipe]] > sm->now + sm->collect_cycles) {
        slot = choose_further(sm, scheduler, candidates, slot);
        if (slot == NOTHING)
            return NOTHING;
    }
    struct sm_warp *warp = &sm->warps[slot];
    const struct machine_op *first = warp->op;
    uint32_t application = warp->application;
    --*room;
    issue(sm, scheduler, slot, warp, first);
    if (sm->config->issue_width > 1 && *room && !(first->flags & (CORUN_BRANCH | CORUN_BARRIER | CORUN_EXIT)) &&
        (sm->states[WARP_READY] & ~sm->quota_spent) >> slot & 1u)
        *room -= issue_second(sm, scheduler, slot, first->pipe);
    return application;
}

/* One scheduler, one cycle. Returns the application that issued, NOTHING if none. */
static inline uint32_t scheduler_step(struct sm *sm, uint32_t index, uint32_t *room, bool two_level)
{
    struct scheduler *scheduler = &sm->schedulers[index];
    if (scheduler->free_at > sm->now) /* still feeding the lanes of the last one */
        return sm->warps[scheduler->last].application;
    uint64_t candidates = sm->states[WARP_READY] & scheduler->warps & ~sm->quota_spent;
    if (two_level)
        candidates = warp_scheduler_active(sm, index, candidates);
    if (!candidates || !*room)
        return NOTHING;
    return issue_one_of(sm, scheduler, candidates, room);
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
    uint64_t next = NEVER, ready = sm->states[WARP_READY] & ~sm->quota_spent;
    if (!ready)
        return next;
    for (uint32_t pipe = 0; pipe < PIPE_COUNT; pipe++) {
        if (!(sm->wants[pipe] & ready))
            continue;
        if (pipe == PIPE_MEMORY) {
            if (load_store_has_room(&sm->load_store))
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

static __attribute__((noinline)) void attend_occasion(struct sm *sm)
{
    struct wakes *wakes = &sm->wakes;
    uint64_t now = sm->now;
    if (wake_due(wakes, WAKE_CLUSTER, now))
        sm_cluster_attend(sm);
    if (wake_due(wakes, WAKE_COPY, now))
        copy_engine_attend(sm);
    if (wake_due(wakes, WAKE_INCOMING, now) || wake_due(wakes, WAKE_PREEMPTION, now) ||
        wake_due(wakes, WAKE_QUOTA, now)) {
        sm_tb_receive(sm);
        if (wake_due(wakes, WAKE_PREEMPTION, now))
            preemption_engine_attend(sm);
        if (wake_due(wakes, WAKE_QUOTA, now))
            quota_attend(sm);
    }
}

/* What others have for the SM at this cycle, in this order. Returns whether there were replies. */
static bool attend(struct sm *sm)
{
    const struct wakes *wakes = &sm->wakes;
    uint64_t now = sm->now;
    bool replied = wake_due(wakes, WAKE_REPLY, now);
    if (replied)
        port_receive(sm);
    if (wake_due(wakes, WAKE_REMOTE, now)) {
        port_receive_remote(sm);
        replied = true;
    }
    if (wake_due(wakes, WAKE_OCCASION, now))
        attend_occasion(sm);
    return replied;
}

static void look_at_warps(struct sm *sm, bool replied)
{
    const uint64_t *states = sm->states;
    uint64_t waiting = states[WARP_DATA] | states[WARP_LOAD] | states[WARP_CONTROL] | states[WARP_FETCH];
    uint64_t ready = wheel_take_ready(&sm->wheel, sm->now);
    uint64_t woken = wheel_take(&sm->wheel, sm->now) & waiting & ~ready;
    if (replied)
        woken |= sm->fetch_refused & states[WARP_FETCH];
    for (; woken; woken &= woken - 1) {
        uint32_t slot = lowest_bit(woken);
        if (sm->warps[slot].ready_at <= sm->now)
            ready |= woken & -woken;
        else
            warp_evaluate(sm, slot);
    }
    if (ready)
        warps_become_ready(sm, ready);
}

/* Every scheduler issues if it can; notes in `issued` the application, NOTHING: none. Returns whether any did. */
static bool issue_warps(struct sm *sm, uint32_t *issued)
{
    uint32_t room = sm->config->fetch_width;
    bool any = false, two_level = sm->config->scheduler == CORUN_SCHEDULER_TWO_LEVEL;
    if (sm->config->warp_issue_cycles <= 1) { /* else one may still be feeding the lanes */
        uint64_t ready = sm->states[WARP_READY];
        if (!two_level && !load_store_has_room(&sm->load_store))
            ready &= ~sm->wants[PIPE_MEMORY]; /* a two-level scheduler brings its active set up to date */
        if (!ready)
            return false;
    }
    for (uint32_t i = 0, s = first_scheduler(sm); i < sm->scheduler_count; i++) {
        issued[s] = scheduler_step(sm, s, &room, two_level);
        any |= issued[s] != NOTHING;
        s = s + 1 < sm->scheduler_count ? s + 1 : 0;
    }
    return any;
}

/* Nothing has issued: the SM has nothing to do before this cycle. */
static uint64_t asleep_until(struct sm *sm, uint64_t until)
{
    uint64_t *cycle = sm->wakes.cycle;
    cycle[WAKE_WARP] = wheel_next(&sm->wheel, sm->now);
    cycle[WAKE_LOAD_STORE] = load_store_next(sm);
    cycle[WAKE_ISSUE] = next_chance(sm);
    if (sm->states[WARP_READY] & sm->quota_spent)
        quota_unblock(sm);
    uint64_t next = wake_next(&sm->wakes);
    next = next > sm->now ? next : sm->now + 1;
    return next < until ? next : until;
}

/* The first cycle at which something other than the load/store unit and replies has something to do, or is to be seen. */
static uint64_t quiet_until(const struct sm *sm, uint64_t until)
{
    const uint64_t *cycle = sm->wakes.cycle;
    uint64_t next = sm->next_sample < until ? sm->next_sample : until;
    /* A reply can let any warp try to fetch again. */
    uint64_t first = wake_first(&sm->wakes, sm->config->icache_perfect ? WAKE_REMOTE : WAKE_REPLY, WAKE_LOAD_STORE);
    next = first < next ? first : next;
    return cycle[WAKE_ISSUE] < next ? cycle[WAKE_ISSUE] : next;
}

/*
 * Nothing can issue. As long as only transactions are started and replies taken, and neither changes a warp or makes room for an
 * instruction, nothing else need be looked at. Moves sm->now to the first cycle at which something else is to be done; returns whether
 * replies and the load/store unit have had their turn at that cycle.
 */
static bool doze(struct sm *sm, uint64_t until)
{
    struct load_store *unit = &sm->load_store;
    uint64_t *cycle = sm->wakes.cycle, quiet = quiet_until(sm, until);
    if (sm->quota.on && quiet <= sm->now) /* a warp has ended: its quota is looked at in the next cycle */
        quiet = sm->now + 1;
    for (;;) {
        uint64_t served = load_store_next(sm);
        served = served > sm->now ? served : sm->now + 1;
        uint64_t next = served < cycle[WAKE_REPLY] ? served : cycle[WAKE_REPLY];
        if (next >= quiet) {
            cycle[WAKE_LOAD_STORE] = served;
            sm->now = quiet;
            return false;
        }
        sm->now = next;
        uint32_t count = unit->count;
        if (wake_due(&sm->wakes, WAKE_REPLY, next)) {
            port_receive(sm);
            quiet = quiet_until(sm, until);
            if (quiet <= next)
                return false;
        }
        if (unit->count)
            load_store_tick(sm);
        if (sm->changed_warps || unit->count != count)
            return true;
        if (sm->quota.on) { /* a store that was accepted may have been the last that the quota allows */
            quiet = quiet_until(sm, until);
            quiet = quiet > next ? quiet : next + 1;
        }
    }
}

void sm_run(struct sm *sm, uint64_t until)
{
    port_expect(sm, until);
    sm->watched = sm->profiling || sm->tracing;
    bool attended = false; /* to replies, warps and the load/store unit, at this cycle */
    while (sm->now < until && !sm->failed) {
        uint32_t issued[MAX_SCHEDULERS];
        if (!attended) {
            look_at_warps(sm, attend(sm));
            if (sm->load_store.count)
                load_store_tick(sm);
        }
        bool any = issue_warps(sm, issued);
        uint64_t next = sm->now + 1;
        if (any)
            sm->wakes.cycle[WAKE_ISSUE] = next;
        else
            next = asleep_until(sm, until);
        stall_account(sm, issued, any);
        while (sm->next_sample < next)
            sample_idle_warps(sm);
        attended = false;
        if (any)
            sm->now = next;
        else
            attended = doze(sm, until);
    }
    for (uint32_t s = 0; s < sm->scheduler_count; s++)
        sm->schedulers[s].quick_op = NULL; /* that cycle is over */
    sm->issue.shape = 0;
    stall_flush(sm);
    residency_account(sm);
}
