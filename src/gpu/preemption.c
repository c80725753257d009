/* SPDX-License-Identifier: MIT */
/*
 * Which thread blocks leave an SM when an application stands above a lowered limit, and where those are kept that
 * have left. SMs do what is ordered here (preemption_engine.c); rules and costs: docs/architecture.md, "Handing over SMs and
 * thread blocks".
 */
#include "base/kernel_name.h"
#include "gpu/gpu.h"

#include "base/bits.h"

#include <stdlib.h>
#include <string.h>

/* ---- saved thread blocks ---- */

/* Room for the largest state that a thread block of this configuration can have, so that places never need to be merged. */
static uint64_t place_bytes(const struct corun_gpu_config *c)
{
    uint64_t bytes = (uint64_t)c->registers_per_sm * 4 + c->shared_bytes_per_sm +
                     (uint64_t)MAX_WARPS * c->saved_warp_bytes + c->saved_tb_bytes;
    return divide_up(bytes, 2 * c->l2_line_bytes) * 2 * c->l2_line_bytes;
}

/* A place for a thread block's state, the lowest that is free. NULL when out of memory. */
static struct saved_tb *saved_tb_create(struct corun_gpu *gpu, struct launch *launch, uint32_t tb_index)
{
    struct saved_tb *saved = calloc(1, sizeof *saved);
    size_t place = 0;
    while (place < gpu->saved_tbs.count && gpu->saved_tbs.data[place])
        place++;
    if (!saved || (place == gpu->saved_tbs.count && !vector_push(&gpu->saved_tbs, NULL))) {
        free(saved);
        return NULL;
    }
    gpu->saved_tbs.data[place] = saved;
    saved->place = (uint32_t)place;
    saved->address = SAVED_TB_AREA + place * place_bytes(&gpu->config);
    saved->launch = launch;
    saved->tb_index = tb_index;
    return saved;
}

static void saved_tb_free(struct corun_gpu *gpu, struct saved_tb *saved)
{
    if (!saved)
        return;
    gpu->saved_tbs.data[saved->place] = NULL;
    gpu->restoring -= saved->restoring;
    if (saved->source)
        saved->launch->grid->operations->tb_end(saved->source);
    free(saved);
}

static void append(struct application *application, struct saved_tb *saved)
{
    struct saved_tb **link = &application->preempted;
    while (*link)
        link = &(*link)->next;
    *link = saved;
    saved->next = NULL;
    application->preempted_count++;
}

struct saved_tb *preemption_take(struct application *application)
{
    struct saved_tb *saved = application->preempted;
    application->preempted = saved->next;
    saved->next = NULL; /* a checkpoint names whoever it points to */
    application->preempted_count--;
    return saved;
}

/* ---- orders ---- */

static size_t leaving_index(const struct corun_gpu *gpu, uint32_t s, const struct launch *launch, uint32_t tb_index)
{
    size_t i = 0;
    while (i < gpu->leaving.count && (gpu->leaving.data[i].sm != s || gpu->leaving.data[i].launch != launch ||
                                      gpu->leaving.data[i].tb_index != tb_index))
        i++;
    return i;
}

static bool is_leaving(const struct corun_gpu *gpu, uint32_t s, const struct launch *launch, uint32_t tb_index)
{
    return gpu->leaving.count && leaving_index(gpu, s, launch, tb_index) < gpu->leaving.count;
}

/* It has left, or need not any more; what is saved is the caller's. */
static struct saved_tb *strike_out(struct corun_gpu *gpu, size_t index)
{
    const struct leaving leaving = gpu->leaving.data[index];
    struct sm_use *use = &gpu->use[leaving.sm];
    use->leaving_tbs[leaving.launch->kernel->application]--;
    use->switching -= leaving.preemption == PREEMPTION_SWITCH;
    memmove(&gpu->leaving.data[index], &gpu->leaving.data[index + 1],
            (--gpu->leaving.count - index) * sizeof *gpu->leaving.data);
    return leaving.saved;
}

enum corun_status preemption_order(struct corun_gpu *gpu, uint32_t s, struct launch *launch, uint32_t tb_index,
                                   enum preemption preemption)
{
    struct saved_tb *saved = NULL;
    uint32_t application = launch->kernel->application;
    if (preemption == PREEMPTION_DROP && !launch->grid->idempotent)
        return governor_refuse(gpu->governor,
                               "it drops thread blocks of kernel %s of %s on SM %u, which may read what it has written "
                               "and cannot be started again",
                               KERNEL_NAME(launch->grid->name), gpu->applications[application].name, s);
    if (preemption != PREEMPTION_DROP && !(saved = saved_tb_create(gpu, launch, tb_index)))
        return CORUN_MEMORY;
    struct leaving leaving = {launch, saved, s, tb_index, (uint8_t)preemption};
    struct leave_order order = {.cycle = gpu->now + gpu->config.dispatch_latency,
                                .launch = launch,
                                .saved = saved,
                                .tb_index = tb_index,
                                .preemption = (uint8_t)preemption,
                                .free = gpu->allowances->free_transfers};
    if (!vector_push(&gpu->leaving, leaving) || !preemption_engine_order(gpu->sms[s], &order))
        return CORUN_MEMORY;
    gpu->use[s].leaving_tbs[application]++;
    gpu->use[s].switching += preemption == PREEMPTION_SWITCH;
    return CORUN_OK;
}

/* Takes back the latest orders that have not been followed yet, while more would leave than have to. */
static void cancel(struct corun_gpu *gpu, uint32_t s, uint32_t application, uint32_t count)
{
    for (size_t i = gpu->leaving.count; i-- > 0 && count;) {
        const struct leaving *leaving = &gpu->leaving.data[i];
        if (leaving->sm != s || leaving->launch->kernel->application != application ||
            leaving->preemption == PREEMPTION_RELOCATE ||
            !preemption_engine_cancel(gpu->sms[s], leaving->launch, leaving->tb_index))
            continue;
        saved_tb_free(gpu, strike_out(gpu, i));
        count--;
    }
}

/* ---- thread blocks on their way ---- */

/* A thread block that has not reached the SM goes back to where it came from. */
static enum corun_status take_back(struct corun_gpu *gpu, uint32_t s, size_t index)
{
    struct sm *sm = gpu->sms[s];
    const struct incoming_tb incoming = sm->incoming.data[index];
    struct application *application = &gpu->applications[incoming.launch->kernel->application];
    struct news news = {.cycle = gpu->now,
                        .launch = incoming.launch,
                        .tb_index = incoming.tb_index,
                        .application = incoming.launch->kernel->application};
    struct corun_observation seen = {.kind = CORUN_OBSERVED_TB_PREEMPTED,
                                     .cycle = incoming.cycle,
                                     .sm = s,
                                     .application = incoming.launch->kernel->application,
                                     .tb = incoming.tb_index,
                                     .launch = incoming.launch->number,
                                     .grid = incoming.launch->grid};
    memmove(&sm->incoming.data[index], &sm->incoming.data[index + 1],
            (--sm->incoming.count - index) * sizeof *sm->incoming.data);
    tb_needs_compute(&gpu->config, incoming.launch->grid, &news.needs);
    dispatcher_release(gpu, s, &news);
    if (incoming.saved) {
        incoming.saved->next = application->preempted;
        application->preempted = incoming.saved;
        application->preempted_count++;
        incoming.saved->restoring = false;
        gpu->restoring--;
    } else if (!vector_push(&incoming.launch->returned, incoming.tb_index)) {
        return CORUN_MEMORY;
    }
    observe(gpu, &seen);
    seen.kind = CORUN_OBSERVED_TB_SAVED;
    observe(gpu, &seen);
    return CORUN_OK;
}

/* Thread blocks of an application that are on an SM or on their way there, and have no order to leave. */
static uint32_t count_staying(const struct corun_gpu *gpu, uint32_t s, uint32_t application)
{
    const struct sm *sm = gpu->sms[s];
    uint32_t count = 0;
    for (size_t i = sm->incoming_taken; i < sm->incoming.count; i++) {
        const struct incoming_tb *incoming = &sm->incoming.data[i];
        count += incoming->launch->kernel->application == application &&
                 !is_leaving(gpu, s, incoming->launch, incoming->tb_index);
    }
    for (uint32_t i = 0; i < MAX_TBS; i++) {
        const struct sm_tb *tb = &sm->tbs[i];
        count +=
            tb->source && tb->launch->kernel->application == application && !is_leaving(gpu, s, tb->launch, tb->index);
    }
    return count;
}

/*
 * One thread block of the application leaves: the last one that came, or is to come. One that would reach the SM
 * only when the order does is taken back. Thread blocks of clusters stay until they have completed: others use their shared memory.
 */
static enum corun_status evict_youngest(struct corun_gpu *gpu, uint32_t s, uint32_t application,
                                        enum preemption preemption)
{
    struct sm *sm = gpu->sms[s];
    for (size_t i = sm->incoming.count; i-- > sm->incoming_taken;) {
        const struct incoming_tb *incoming = &sm->incoming.data[i];
        if (incoming->launch->kernel->application != application || incoming->launch->grid->cluster_tbs > 1 ||
            is_leaving(gpu, s, incoming->launch, incoming->tb_index))
            continue;
        if (incoming->cycle >= gpu->now + gpu->config.dispatch_latency)
            return take_back(gpu, s, i);
        return preemption_order(gpu, s, incoming->launch, incoming->tb_index, preemption);
    }
    const struct sm_tb *youngest = NULL;
    for (uint32_t i = 0; i < MAX_TBS; i++) {
        const struct sm_tb *tb = &sm->tbs[i];
        if (tb->source && tb->launch->kernel->application == application && (!youngest || tb->age > youngest->age) &&
            !tb->cluster.there && !is_leaving(gpu, s, tb->launch, tb->index))
            youngest = tb;
    }
    return youngest ? preemption_order(gpu, s, youngest->launch, youngest->index, preemption) : CORUN_OK;
}

enum corun_status preemption_relocate(struct corun_gpu *gpu, uint32_t s, const struct launch *launch, uint32_t tb_index)
{
    struct sm *sm = gpu->sms[s];
    if (launch->grid->cluster_tbs > 1 || is_leaving(gpu, s, launch, tb_index))
        return CORUN_OK;
    for (size_t i = sm->incoming_taken; i < sm->incoming.count; i++) {
        const struct incoming_tb *incoming = &sm->incoming.data[i];
        if (incoming->launch != launch || incoming->tb_index != tb_index)
            continue;
        if (incoming->cycle >= gpu->now + gpu->config.dispatch_latency)
            return take_back(gpu, s, i);
        return preemption_order(gpu, s, incoming->launch, tb_index, PREEMPTION_RELOCATE);
    }
    for (uint32_t i = 0; i < MAX_TBS; i++)
        if (sm->tbs[i].source && sm->tbs[i].launch == launch && sm->tbs[i].index == tb_index)
            return preemption_order(gpu, s, sm->tbs[i].launch, tb_index, PREEMPTION_RELOCATE);
    return CORUN_OK; /* it has completed in this step */
}

enum corun_status preemption_follow(struct corun_gpu *gpu, uint32_t s, uint32_t application)
{
    static const uint8_t preemptions[] = {[CORUN_RECLAIM_SWAP_TB] = PREEMPTION_SWAP,
                                          [CORUN_RECLAIM_SWITCH_SM] = PREEMPTION_SWITCH,
                                          [CORUN_RECLAIM_DROP] = PREEMPTION_DROP};
    uint32_t entry = s * gpu->application_count + application;
    uint32_t limit = gpu->allowances->tb_limit[entry];
    enum corun_reclaim reclaim = gpu->allowances->reclaim[entry];
    if (reclaim == CORUN_RECLAIM_DRAIN && !gpu->use[s].leaving_tbs[application])
        return CORUN_OK;
    /* Counted where they are: what has completed in this step may still be in the dispatcher's account. */
    uint32_t staying = count_staying(gpu, s, application);
    if (staying < limit)
        cancel(gpu, s, application, limit - staying);
    enum corun_status status = CORUN_OK;
    for (; reclaim != CORUN_RECLAIM_DRAIN && staying > limit && status == CORUN_OK; staying--)
        status = evict_youngest(gpu, s, application, (enum preemption)preemptions[reclaim]);
    return status;
}

/* ---- news ---- */

static void observe_news(const struct corun_gpu *gpu, uint32_t s, const struct news *news, enum corun_observed kind)
{
    observe(gpu, &(struct corun_observation){.kind = kind,
                                             .cycle = news->cycle,
                                             .sm = s,
                                             .application = news->application,
                                             .tb = news->tb_index,
                                             .launch = news->launch->number,
                                             .grid = news->launch->grid});
}

void preemption_completed(struct corun_gpu *gpu, uint32_t s, const struct news *news)
{
    size_t index = leaving_index(gpu, s, news->launch, news->tb_index);
    if (index == gpu->leaving.count)
        return;
    (void)preemption_engine_cancel(gpu->sms[s], news->launch, news->tb_index);
    saved_tb_free(gpu, strike_out(gpu, index));
}

enum corun_status preemption_news(struct corun_gpu *gpu, uint32_t s, const struct news *news)
{
    if (news->kind == NEWS_TB_STOPPED) {
        observe_news(gpu, s, news, CORUN_OBSERVED_TB_PREEMPTED);
        return CORUN_OK;
    }
    if (news->kind == NEWS_TB_RESUMED) {
        saved_tb_free(gpu, news->saved);
        observe_news(gpu, s, news, CORUN_OBSERVED_TB_RESUMED);
        return CORUN_OK;
    }
    struct saved_tb *saved = strike_out(gpu, leaving_index(gpu, s, news->launch, news->tb_index));
    if (saved)
        append(&gpu->applications[news->application], saved);
    else if (!vector_push(&news->launch->returned, news->tb_index))
        return CORUN_MEMORY;
    observe_news(gpu, s, news, CORUN_OBSERVED_TB_SAVED);
    struct vacated vacated = {news->since, s, news->launch->kernel->slot};
    if (!vector_push(&gpu->vacated, vacated))
        return CORUN_MEMORY;
    return governed_tb_left(gpu, s, news->application, false);
}

void preemption_place_taken(struct corun_gpu *gpu, uint32_t s, uint64_t cycle)
{
    size_t kept = 0;
    for (size_t i = 0; i < gpu->vacated.count; i++) {
        const struct vacated *vacated = &gpu->vacated.data[i];
        if (vacated->sm == s)
            memory_system_counters(follower_memory(gpu->follower), vacated->kernel)->preemption_start_cycles +=
                cycle - vacated->stopped;
        else
            gpu->vacated.data[kept++] = *vacated;
    }
    gpu->vacated.count = kept;
}

void preemption_remove_application(struct corun_gpu *gpu, uint32_t index)
{
    for (size_t i = gpu->leaving.count; i-- > 0;)
        if (gpu->leaving.data[i].launch->kernel->application == index)
            (void)strike_out(gpu, i);
    for (size_t i = 0; i < gpu->saved_tbs.count; i++) {
        struct saved_tb *saved = gpu->saved_tbs.data[i];
        if (saved && saved->launch->kernel->application == index)
            saved_tb_free(gpu, saved);
    }
    gpu->applications[index].preempted = NULL;
    gpu->applications[index].preempted_count = 0;
}

void preemption_destroy(struct corun_gpu *gpu)
{
    for (size_t i = 0; i < gpu->saved_tbs.count; i++)
        saved_tb_free(gpu, gpu->saved_tbs.data[i]);
    vector_free(&gpu->saved_tbs);
    vector_free(&gpu->leaving);
    vector_free(&gpu->vacated);
}
