/* SPDX-License-Identifier: MIT */
/*
 * The GPU's run loop. One step:
 *
 *   SMs run [now, end) side by side          nothing is shared during it
 *   their stores become visible              in order of SMs
 *   the memory system follows                gets their packets in order of (cycle, SM), performs atomics; it may wait (follower.h)
 *   their news are taken                     in order of (cycle, SM): completions, faults
 *   applications, policy, dispatcher act     with effect one dispatch latency after what made them act
 *
 * The step is no longer than the shortest way to the memory system and back and than the dispatch latency, so nothing
 * that is decided at its end could have mattered within it.
 */
#include "gpu/gpu.h"

#include "base/later.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_CYCLES 100000u

static void perform_atomic(void *user, const struct packet *packet)
{
    struct corun_gpu *gpu = user;
    const struct machine_kernel *kernel = gpu->kernels.used.data[packet->kernel];
    if (!kernel || !kernel->running) /* stopped meanwhile, or gone */
        return;
    const struct corun_grid *grid = kernel->running->grid;
    grid->operations->perform(grid, packet->sm, packet->ticket, packet->lanes);
}

static uint64_t longest_step(const struct corun_gpu_config *config, const struct memory_system *memory)
{
    uint64_t cycles = memory_system_quantum(memory);
    if (cycles > config->dispatch_latency)
        cycles = config->dispatch_latency;
    if (cycles > MOST_AHEAD)
        cycles = MOST_AHEAD;
    if (config->cluster_tbs && cycles > cluster_network_quantum(config))
        cycles = cluster_network_quantum(config);
    return cycles;
}

enum corun_status corun_gpu_create(const struct corun_gpu_config *config, struct corun_diagnostics *list,
                                   struct corun_gpu **result)
{
    *result = NULL;
    enum corun_status status = corun_gpu_config_check(config, list);
    if (status != CORUN_OK)
        return status;
    struct corun_gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu)
        return CORUN_MEMORY;
    gpu->config = *config;
    struct corun_machine machine = governed_machine(gpu);
    gpu->governor = governor_create(&machine);
    gpu->cluster_network = cluster_network_create(&gpu->config, perform_atomic, gpu);
    struct memory_system *memory = memory_system_create(&gpu->config, perform_atomic, gpu);
    gpu->sms = calloc(config->sms, sizeof *gpu->sms);
    if (memory) {
        gpu->quantum = longest_step(config, memory);
        gpu->follower = follower_create(memory, gpu->cluster_network, gpu->sms, config->sms, gpu->quantum);
    }
    gpu->use = calloc(config->sms, sizeof *gpu->use);
    gpu->power = calloc(config->sms, sizeof *gpu->power);
    gpu->power_next = gpu->wake = gpu->next_sample = gpu->checkpoint_next = NEVER;
    bool fine = gpu->governor && gpu->follower && gpu->cluster_network && gpu->sms && gpu->use && gpu->power;
    for (uint32_t s = 0; fine && s < config->sms; s++)
        gpu->power[s].wanted = gpu->power[s].on = true;
    for (uint32_t s = 0; fine && s < config->sms; s++)
        fine = (gpu->sms[s] = sm_create(&gpu->config, s, memory_system_replies(memory, s),
                                        cluster_network_replies(gpu->cluster_network, s))) != NULL;
    if (!fine) {
        corun_gpu_destroy(gpu);
        return CORUN_MEMORY;
    }
    *result = gpu;
    return CORUN_OK;
}

void corun_gpu_destroy(struct corun_gpu *gpu)
{
    if (!gpu)
        return;
    for (uint32_t s = 0; gpu->sms && s < gpu->config.sms; s++)
        sm_destroy(gpu->sms[s]);
    preemption_destroy(gpu);
    follower_destroy(gpu->follower);
    cluster_network_destroy(gpu->cluster_network);
    clusters_destroy(gpu);
    for (uint32_t a = 0; a < gpu->application_count; a++)
        application_destroy(&gpu->applications[a]);
    team_destroy(gpu->team);
    sampling_destroy(gpu->sampling);
    governor_destroy(gpu->governor);
    free(gpu->partitions_given);
    kernel_slots_destroy(gpu);
    free(gpu->sms);
    free(gpu->use);
    free(gpu->power);
    free(gpu);
}

enum corun_status corun_gpu_sample(struct corun_gpu *gpu, const struct corun_sampling *sampling)
{
    if (gpu->started || gpu->sampling || governor_policy(gpu->governor))
        return CORUN_ARGUMENT;
    gpu->sampling = sampling_create(sampling);
    return gpu->sampling ? CORUN_OK : CORUN_MEMORY;
}

size_t corun_gpu_sampled(const struct corun_gpu *gpu, struct corun_sampled_group *groups, size_t room)
{
    return gpu->sampling ? sampling_groups(gpu->sampling, groups, room) : 0;
}

void corun_gpu_profile(struct corun_gpu *gpu, bool on)
{
    gpu->profiling = on;
}

void corun_gpu_trace(struct corun_gpu *gpu, uint64_t first_cycle, uint64_t last_cycle,
                     void (*event)(void *user, const struct corun_trace_event *event), void *user)
{
    gpu->tracing = event != NULL;
    gpu->trace_first = first_cycle;
    gpu->trace_last = last_cycle;
    gpu->trace = event;
    gpu->trace_user = user;
}

void corun_gpu_observe(struct corun_gpu *gpu, uint64_t sample_cycles,
                       void (*see)(void *user, const struct corun_gpu *gpu, const struct corun_observation *seen),
                       void *user)
{
    gpu->see = see;
    gpu->see_user = user;
    gpu->sample_cycles = sample_cycles;
    gpu->next_sample = see && sample_cycles ? 0 : NEVER;
}

static void sample(struct corun_gpu *gpu)
{
    observe(gpu, &(struct corun_observation){.kind = CORUN_OBSERVED_SAMPLE, .cycle = gpu->now});
    if (gpu->next_sample != NEVER)
        gpu->next_sample = (gpu->now / gpu->sample_cycles + 1) * gpu->sample_cycles;
}

struct step {
    struct corun_gpu *gpu;
    uint64_t end;
};

static void advance_sm(void *user, uint32_t index)
{
    struct step *step = user;
    struct sm *sm = step->gpu->sms[index];
    if (step->gpu->team)
        reply_ring_accept(sm->port.replies);
    if (sm_next(sm) < step->end)
        sm_run(sm, step->end);
}

static void commit_stores_of(struct corun_gpu *gpu, const struct application *application,
                             const struct corun_grid *grid)
{
    for (uint32_t s = 0; s < gpu->config.sms; s++) {
        if (grid->operations->dirty(grid, s))
            grid->operations->commit(grid, s);
        size_t bytes;
        const char *text = grid->operations->printed(grid, s, &bytes);
        if (bytes && application->description.print)
            application->description.print(application->description.user, text, bytes);
    }
    if (grid->launches && grid->operations->launched(grid))
        gpu->attention = true;
}

static void commit_stores(struct corun_gpu *gpu)
{
    for (uint32_t a = 0; a < gpu->application_count; a++)
        for (const struct launch *launch = gpu->applications[a].running; launch; launch = launch->next)
            commit_stores_of(gpu, &gpu->applications[a], launch->grid);
}

static void hand_on_traces(struct corun_gpu *gpu)
{
    for (uint32_t s = 0; s < gpu->config.sms; s++) {
        for (size_t i = 0; i < gpu->sms[s]->trace.count; i++)
            gpu->trace(gpu->trace_user, &gpu->sms[s]->trace.data[i]);
        gpu->sms[s]->trace.count = 0;
    }
}

static enum corun_status take_one_news(struct corun_gpu *gpu, uint32_t s, struct news *news)
{
    struct application *application = &gpu->applications[news->application];
    if (news->kind == NEWS_QUOTAS_SPENT)
        return governed_moment(gpu, CORUN_EVENT_QUOTAS_SPENT, s, 0);
    bool place_free = news->kind == NEWS_TB_COMPLETE || news->kind == NEWS_TB_SAVED || news->kind == NEWS_TB_DROPPED;
    if (place_free)
        dispatcher_release(gpu, s, news); /* also when its application was stopped by other news of this step */
    if (application->state == CORUN_APPLICATION_LEFT)
        return CORUN_OK;
    switch (news->kind) {
    case NEWS_TB_COMPLETE:
        cluster_tb_completed(gpu, news);
        if (gpu->leaving.count)
            preemption_completed(gpu, s, news);
        news->launch->completed++;
        if (news->longest_warp > news->launch->longest_warp)
            news->launch->longest_warp = news->longest_warp;
        if (news->cycle > news->launch->last_cycle)
            news->launch->last_cycle = news->cycle;
        observe(gpu, &(struct corun_observation){.kind = CORUN_OBSERVED_TB_END,
                                                 .cycle = news->cycle,
                                                 .sm = s,
                                                 .application = news->application,
                                                 .tb = news->tb_index,
                                                 .launch = news->launch->number,
                                                 .grid = news->launch->grid});
        return governed_tb_left(gpu, s, news->application, true);
    case NEWS_TB_STOPPED:
    case NEWS_TB_SAVED:
    case NEWS_TB_DROPPED:
    case NEWS_TB_RESUMED:
        return preemption_news(gpu, s, news);
    case NEWS_FAULT:
    case NEWS_DEADLOCK:
        application_stop(gpu, news->application, news->kind == NEWS_FAULT ? CORUN_FAULT : CORUN_DEADLOCK, news->place,
                         news->message ? news->message : "out of memory");
        return CORUN_OK;
    default:
        return CORUN_MEMORY;
    }
}

/* In order of cycle, then SM: repeatedly the earliest that is left. News are rare, SMs are few. */
static enum corun_status take_news_in_order(struct corun_gpu *gpu, size_t news_count, enum corun_status status)
{
    size_t taken[MAX_SMS] = {0};
    while (news_count--) {
        uint32_t best = NOTHING;
        for (uint32_t s = 0; s < gpu->config.sms; s++) {
            const struct sm *sm = gpu->sms[s];
            if (taken[s] < sm->news.count &&
                (best == NOTHING || sm->news.data[taken[s]].cycle < gpu->sms[best]->news.data[taken[best]].cycle))
                best = s;
        }
        struct news *news = &gpu->sms[best]->news.data[taken[best]++];
        if (status == CORUN_OK)
            status = take_one_news(gpu, best, news);
        free(news->message);
        news->message = NULL;
    }
    for (uint32_t s = 0; s < gpu->config.sms; s++)
        gpu->sms[s]->news.count = 0;
    return status;
}

static enum corun_status take_news(struct corun_gpu *gpu)
{
    enum corun_status status = CORUN_OK;
    size_t news_count = 0;
    for (uint32_t s = 0; s < gpu->config.sms; s++) {
        news_count += gpu->sms[s]->news.count;
        if (gpu->sms[s]->failed)
            status = CORUN_MEMORY;
    }
    return news_count ? take_news_in_order(gpu, news_count, status) : status;
}

/* Notes when an application reaches the limit on thread instructions: what it does afterwards is not measured. */
static bool instructions_reached(struct corun_gpu *gpu, uint32_t index)
{
    struct application *application = &gpu->applications[index];
    if (application->reached_cycle)
        return true;
    uint64_t instructions = application_thread_instructions(gpu, index);
    if (instructions < gpu->limits.thread_instructions)
        return false;
    application->reached_cycle = gpu->now;
    application->reached_thread_instructions = instructions;
    return true;
}

/* Whoever wants to end the window early looks now. */
static bool look(struct corun_gpu *gpu)
{
    gpu->next_look = (gpu->now / gpu->limits.look_cycles + 1) * gpu->limits.look_cycles;
    return gpu->limits.look(gpu->limits.user, gpu->now);
}

static bool limit_reached(struct corun_gpu *gpu)
{
    const struct corun_limits *limits = &gpu->limits;
    if (limits->cycles && gpu->now >= limits->cycles)
        return true;
    if (gpu->now >= gpu->next_look && look(gpu))
        return true;
    bool any_left = false, all_done = limits->thread_instructions != 0;
    for (uint32_t a = 0; a < gpu->application_count; a++) {
        if (gpu->applications[a].state == CORUN_APPLICATION_LEFT)
            continue;
        any_left = true;
        if (limits->thread_instructions && !instructions_reached(gpu, a))
            all_done = false;
    }
    return !any_left || all_done;
}

/* When the first SM has something to do; not searched for any further than the first one that has at `now`. */
static uint64_t next_of_sms(const struct corun_gpu *gpu)
{
    uint64_t next = NEVER;
    for (uint32_t s = 0; s < gpu->config.sms && next > gpu->now; s++)
        next = earlier(next, sm_next(gpu->sms[s]));
    return next;
}

/* The next cycle after now at which anything can happen: an SM, the memory system, an application, an epoch, the window's end. */
static uint64_t next_event(const struct corun_gpu *gpu)
{
    uint64_t next = earlier(governor_next_epoch(gpu->governor), application_next_moment(gpu));
    if (gpu->limits.cycles)
        next = earlier(next, gpu->limits.cycles);
    next = earlier(next, next_of_sms(gpu));
    if (next <= gpu->now) /* nearly always: the memory system need not be asked */
        return gpu->now;
    if (follower_is_behind(gpu->follower)) {
        (void)follower_memory(gpu->follower); /* SMs know of all replies then */
        next = earlier(next, next_of_sms(gpu));
    }
    next = earlier(next, memory_system_next(follower_memory(gpu->follower)));
    next = earlier(next, cluster_network_next(gpu->cluster_network));
    next = earlier(next, gpu->power_next);
    return next > gpu->now ? next : gpu->now;
}

/* SMs run to the end of the step; what the memory system has not done of the step before, it does beside them. */
static bool run_sms(struct corun_gpu *gpu, uint64_t end)
{
    struct step work = {gpu, end};
    uint32_t sms = gpu->config.sms;
    if (gpu->team && follower_is_behind(gpu->follower)) {
        follower_collect(gpu->follower);
        team_run_beside(gpu->team, &gpu->sm_rounds, advance_sm, &work, sms, follower_follow_beside, gpu->follower);
    } else if (gpu->team)
        team_run(gpu->team, &gpu->sm_rounds, advance_sm, &work, sms);
    else
        for (uint32_t s = 0; s < sms; s++)
            advance_sm(&work, gpu->backwards ? sms - 1 - s : s);
    gpu->backwards = !gpu->backwards;
    return !follower_failed(gpu->follower);
}

static enum corun_status step(struct corun_gpu *gpu)
{
    uint64_t start = next_event(gpu);
    if (start > gpu->now && !follower_skip_to(gpu->follower, start))
        return CORUN_MEMORY;
    gpu->now = start;
    if (gpu->power_next <= start) {
        power_follow(gpu);
        if (gpu->dispatch_due)
            dispatch(gpu);
    }
    uint64_t next_epoch = governor_next_epoch(gpu->governor);
    uint64_t end = earlier(start + gpu->quantum, next_epoch > start ? next_epoch : start);
    if (gpu->limits.cycles)
        end = earlier(end, gpu->limits.cycles);
    if (gpu->power_next > start)
        end = earlier(end, gpu->power_next);
    if (!run_sms(gpu, end))
        return CORUN_MEMORY;
    if (gpu->tracing)
        hand_on_traces(gpu);
    commit_stores(gpu);
    if (!follower_may_wait(gpu->follower, end, gpu->team != NULL) && !follower_follow(gpu->follower))
        return CORUN_MEMORY;
    cluster_network_advance(gpu->cluster_network, end);
    gpu->now = end;
    enum corun_status status = take_news(gpu);
    if (gpu->clusters.count && !clusters_follow(gpu))
        return CORUN_MEMORY;
    if (status == CORUN_OK)
        status = applications_advance(gpu);
    if (status == CORUN_OK && gpu->now >= next_epoch) {
        status = governed_epoch(gpu);
        if (status == CORUN_OK)
            status = watchdog_look(gpu);
    }
    if (gpu->power_pending)
        power_follow(gpu);
    if (gpu->dispatch_due && status == CORUN_OK &&
        !(gpu->opened && gpu->attention)) /* whoever launches from outside goes first */
        dispatch(gpu);
    if (gpu->now >= gpu->next_sample)
        sample(gpu);
    return status;
}

enum corun_status gpu_step(struct corun_gpu *gpu)
{
    gpu->busy = true;
    enum corun_status status = step(gpu);
    gpu->busy = false;
    return status;
}

bool gpu_may_continue(struct corun_gpu *gpu)
{
    if (!gpu->limits.progress || gpu->now < gpu->next_progress)
        return true;
    gpu->next_progress = gpu->now + PROGRESS_CYCLES;
    return gpu->limits.progress(gpu->limits.user, gpu->now);
}

enum corun_status gpu_prepare(struct corun_gpu *gpu)
{
    gpu->watchdog = gpu->limits.watchdog_cycles ? gpu->limits.watchdog_cycles : DEFAULT_WATCHDOG_CYCLES;
    gpu->next_look = gpu->limits.look && gpu->limits.look_cycles ? gpu->limits.look_cycles : NEVER;
    for (uint32_t s = 0; s < gpu->config.sms; s++) {
        gpu->sms[s]->tracing = gpu->tracing;
        gpu->sms[s]->profiling = gpu->profiling;
        gpu->sms[s]->trace_first = gpu->trace_first;
        gpu->sms[s]->trace_last = gpu->trace_last;
    }
    uint32_t threads = gpu->limits.threads < gpu->config.sms ? gpu->limits.threads : gpu->config.sms;
    /* a profile is one table per kernel for all SMs: it is filled by one thread */
    if (threads > 1 && !gpu->profiling && !(gpu->team = team_create(threads)))
        return CORUN_MEMORY;
    memory_system_share(follower_memory(gpu->follower), gpu->team);
    return governed_start(gpu);
}

static enum corun_status begin(struct corun_gpu *gpu)
{
    enum corun_status status = applications_advance(gpu); /* those that are there from the start */
    if (status == CORUN_OK)
        dispatch(gpu);
    if (gpu->see)
        sample(gpu);
    return status;
}

static enum corun_status save(struct corun_gpu *gpu, bool last)
{
    struct corun_checkpoints *checkpoints = &gpu->checkpoints;
    return checkpoints->save ? checkpoints->save(checkpoints->user, gpu, last, &gpu->checkpoint_next) : CORUN_OK;
}

enum corun_status corun_gpu_run(struct corun_gpu *gpu, const struct corun_limits *limits,
                                struct corun_diagnostics *list)
{
    if (gpu->started)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "a GPU runs once: create another one");
    gpu->started = true;
    gpu->limits = *limits;
    gpu->list = list;
    enum corun_status status = gpu_prepare(gpu);
    if (status == CORUN_OK)
        status = gpu->checkpoints.resume ? gpu->checkpoints.resume(gpu->checkpoints.user, gpu) : begin(gpu);
    while (status == CORUN_OK && !limit_reached(gpu)) {
        bool goes_on = gpu_may_continue(gpu);
        if (!goes_on || gpu->now >= gpu->checkpoint_next)
            status = save(gpu, !goes_on);
        if (!goes_on)
            break;
        if (status == CORUN_OK)
            status = gpu_step(gpu);
    }
    for (uint32_t s = 0; s < gpu->config.sms; s++) /* those that slept: account for it */
        if (status == CORUN_OK && gpu->sms[s]->now < gpu->now)
            sm_run(gpu->sms[s], gpu->now);
    if (gpu->see)
        sample(gpu);
    if (!follower_follow(gpu->follower) && status == CORUN_OK)
        status = CORUN_MEMORY;
    enum corun_status stopped = governor_stop(gpu->governor);
    gpu->list = NULL;
    return status == CORUN_OK ? stopped : status;
}
