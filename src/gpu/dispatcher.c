/* SPDX-License-Identifier: MIT */
/* Thread blocks to SMs: in the order of the fill rule and the policy's ranks, as far as allowances and resources go. */
#include "gpu/gpu.h"

#include "base/later.h"

bool tb_fits(const struct corun_gpu *gpu, uint32_t sm, const struct tb_needs *needs)
{
    const struct corun_gpu_config *c = &gpu->config;
    const struct sm_use *use = &gpu->use[sm];
    return use->registers + needs->registers <= c->registers_per_sm &&
           use->shared_bytes + needs->shared_bytes <= c->shared_bytes_per_sm &&
           use->threads + needs->threads <= c->threads_per_sm && use->tbs < c->tbs_per_sm &&
           use->barriers + needs->barriers <= c->barriers_per_sm;
}

static bool allowed(const struct corun_gpu *gpu, uint32_t sm, uint32_t application)
{
    const struct sm_use *use = &gpu->use[sm];
    uint32_t entry = sm * gpu->application_count + application;
    if (use->application_tbs[application] >= gpu->allowances->tb_limit[entry] || !power_ready(gpu, sm))
        return false;
    return !gpu->allowances->exclusive[sm] || use->tbs == use->application_tbs[application];
}

static bool has_new_tb(const struct launch *launch)
{
    return launch->returned.count || launch->next_tb < launch->tbs;
}

/* Those that were swapped out go first, then those that have to start anew, then new ones. */
static bool has_tb(const struct application *application)
{
    const struct launch *launch = application->running;
    if (application->preempted)
        return launch != NULL;
    while (launch && !has_new_tb(launch))
        launch = launch->next;
    return launch != NULL;
}

static uint32_t lowest_returned(struct launch *launch)
{
    size_t best = 0;
    for (size_t i = 1; i < launch->returned.count; i++)
        if (launch->returned.data[i] < launch->returned.data[best])
            best = i;
    uint32_t index = launch->returned.data[best];
    launch->returned.data[best] = launch->returned.data[--launch->returned.count];
    return index;
}

static struct incoming_tb next_incoming(struct corun_gpu *gpu, struct application *application, struct launch *launch,
                                        uint64_t start)
{
    struct incoming_tb incoming = {.cycle = start, .launch = launch, .free_transfer = gpu->allowances->free_transfers};
    if (application->preempted) {
        incoming.saved = preemption_take(application);
        incoming.saved->restoring = true;
        incoming.tb_index = incoming.saved->tb_index;
        gpu->restoring++;
    } else {
        incoming.tb_index = launch->returned.count ? lowest_returned(launch) : launch->next_tb++;
    }
    return incoming;
}

bool dispatcher_allows(struct corun_gpu *gpu, uint32_t sm, const struct launch *launch, const struct tb_needs *needs)
{
    return !gpu->use[sm].switching && allowed(gpu, sm, launch->kernel->application) && tb_fits(gpu, sm, needs) &&
           partition_fits(gpu, sm, launch, needs);
}

void dispatcher_take(struct corun_gpu *gpu, uint32_t sm, const struct launch *launch, uint32_t tb_index,
                     const struct tb_needs *needs)
{
    struct sm_use *use = &gpu->use[sm];
    use->registers += needs->registers;
    use->shared_bytes += needs->shared_bytes;
    use->threads += needs->threads;
    use->barriers += needs->barriers;
    use->tbs++;
    use->application_tbs[launch->kernel->application]++;
    partition_enter(gpu, sm, launch, tb_index, needs);
}

static void take_off(struct corun_gpu *gpu, uint32_t sm, const struct launch *launch, uint32_t tb_index,
                     uint32_t application, const struct tb_needs *needs)
{
    struct sm_use *use = &gpu->use[sm];
    use->registers -= needs->registers;
    use->shared_bytes -= needs->shared_bytes;
    use->threads -= needs->threads;
    use->barriers -= needs->barriers;
    use->tbs--;
    use->application_tbs[application]--;
    partition_leave(gpu, sm, launch, tb_index);
}

void dispatcher_give_back(struct corun_gpu *gpu, uint32_t sm, const struct launch *launch, uint32_t tb_index,
                          const struct tb_needs *needs)
{
    take_off(gpu, sm, launch, tb_index, launch->kernel->application, needs);
}

void dispatcher_release(struct corun_gpu *gpu, uint32_t sm, const struct news *news)
{
    struct sm_use *use = &gpu->use[sm];
    take_off(gpu, sm, news->launch, news->tb_index, news->application, &news->needs);
    if (news->cycle > use->freed_cycle)
        use->freed_cycle = news->cycle;
    gpu->dispatch_due = true;
}

/* From the end of a thread block to the next one at its place; a launch that came later has paid for its way to the SMs. */
static uint64_t place_turn(const struct corun_gpu *gpu, uint32_t sm, const struct launch *launch)
{
    return launch->earliest < gpu->use[sm].freed_cycle ? gpu->config.tb_turn_latency : 0;
}

uint64_t dispatcher_earliest(const struct corun_gpu *gpu, uint32_t sm, const struct launch *launch)
{
    const struct sm_use *use = &gpu->use[sm];
    uint64_t freed = use->freed_cycle + place_turn(gpu, sm, launch);
    uint64_t reason = later(freed, gpu->allowances_cycle) + gpu->config.dispatch_latency;
    return later(later(reason, launch->earliest), later(gpu->now, use->next_start));
}

uint64_t dispatcher_start(struct corun_gpu *gpu, uint32_t sm, const struct launch *launch, uint64_t cycle)
{
    if (!gpu->config.tb_start_interval)
        return cycle;
    uint64_t turn = place_turn(gpu, sm, launch);
    uint64_t start = later((cycle - turn) * 1000, gpu->next_start);
    gpu->next_start = start + gpu->config.tb_start_interval;
    return (start + 999) / 1000 + turn;
}

void dispatcher_started(struct corun_gpu *gpu, uint32_t sm, const struct incoming_tb *incoming)
{
    struct launch *launch = incoming->launch;
    uint64_t start = incoming->cycle;
    gpu->use[sm].next_start = start + 1;
    preemption_place_taken(gpu, sm, start);
    if (!launch->started) {
        launch->started = true;
        launch->first_cycle = start;
    }
    observe(gpu,
            &(struct corun_observation){.kind = incoming->saved ? CORUN_OBSERVED_TB_RESTORING : CORUN_OBSERVED_TB_START,
                                        .cycle = start,
                                        .sm = sm,
                                        .application = launch->kernel->application,
                                        .tb = incoming->tb_index,
                                        .launch = launch->number,
                                        .grid = launch->grid});
}

/* The next thread block of the launch, or the first of those that were swapped out, which is one of it. */
static bool place_of(struct corun_gpu *gpu, uint32_t sm, struct launch *launch)
{
    struct tb_needs needs;
    tb_needs_compute(&gpu->config, launch->grid, &needs);
    if (!tb_fits(gpu, sm, &needs) || !partition_fits(gpu, sm, launch, &needs))
        return false;
    uint64_t start = dispatcher_start(gpu, sm, launch, dispatcher_earliest(gpu, sm, launch));
    struct incoming_tb incoming = next_incoming(gpu, &gpu->applications[launch->kernel->application], launch, start);
    if (!sm_announce(gpu->sms[sm], &incoming)) {
        gpu->sms[sm]->failed = true;
        return false;
    }
    dispatcher_take(gpu, sm, launch, incoming.tb_index, &needs);
    dispatcher_started(gpu, sm, &incoming);
    return true;
}

/* Of several grids in flight the first that has a thread block, or a cluster of them, which fits. *held: places are kept for a cluster. */
static bool place(struct corun_gpu *gpu, uint32_t sm, uint32_t application, bool *held)
{
    const struct application *from = &gpu->applications[application];
    if (!has_tb(from) || gpu->use[sm].switching || !allowed(gpu, sm, application))
        return false;
    if (from->preempted)
        return place_of(gpu, sm, from->preempted->launch);
    for (struct launch *launch = from->running; launch; launch = launch->next) {
        bool clustered = launch->grid->cluster_tbs > 1;
        if (has_new_tb(launch) && (clustered ? cluster_place(gpu, sm, launch) : place_of(gpu, sm, launch)))
            return true;
        if (clustered && has_new_tb(launch) && (*held = cluster_holds(gpu, sm, launch)))
            return false;
    }
    return false;
}

/* Tries the applications on one SM by rank, equal ranks in the order in which they arrived. */
static bool fill_one(struct corun_gpu *gpu, uint32_t sm)
{
    uint32_t tried = 0, count = gpu->application_count;
    for (uint32_t round = 0; round < count; round++) {
        uint32_t best = NOTHING;
        for (uint32_t a = 0; a < count; a++) {
            if (tried >> a & 1u || gpu->applications[a].state != CORUN_APPLICATION_RUNNING)
                continue;
            uint32_t order = gpu->allowances->order[sm * count + a];
            uint32_t best_order = best == NOTHING ? 0 : gpu->allowances->order[sm * count + best];
            if (best == NOTHING || order < best_order ||
                (order == best_order && gpu->applications[a].arrival_order < gpu->applications[best].arrival_order))
                best = a;
        }
        if (best == NOTHING)
            return false;
        tried |= 1u << best;
        bool held = false;
        if (place(gpu, sm, best, &held))
            return true;
        if (held)
            return false;
    }
    return false;
}

static bool fill_round_robin(struct corun_gpu *gpu)
{
    bool any = false;
    uint32_t first = gpu->round_robin;
    for (uint32_t i = 0; i < gpu->config.sms; i++) {
        uint32_t sm = (first + i) % gpu->config.sms;
        if (fill_one(gpu, sm)) {
            any = true;
            gpu->round_robin = (sm + 1) % gpu->config.sms;
        }
    }
    return any;
}

static bool fill_emptiest(struct corun_gpu *gpu)
{
    for (uint32_t tbs = 0; tbs < gpu->config.tbs_per_sm; tbs++)
        for (uint32_t sm = 0; sm < gpu->config.sms; sm++)
            if (gpu->use[sm].tbs == tbs && fill_one(gpu, sm))
                return true;
    return false;
}

void dispatch(struct corun_gpu *gpu)
{
    gpu->dispatch_due = false;
    bool waiting = false;
    for (uint32_t a = 0; a < gpu->application_count; a++)
        waiting |= has_tb(&gpu->applications[a]);
    if (!waiting)
        return;
    clusters_hold_nothing(gpu);
    while (gpu->allowances->fill == CORUN_FILL_EMPTIEST_FIRST ? fill_emptiest(gpu) : fill_round_robin(gpu))
        ;
}
