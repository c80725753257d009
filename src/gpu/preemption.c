/* SPDX-License-Identifier: MIT */
/*
 * Which thread blocks leave an SM when an application stands above a lowered limit, and where those are kept that
 * have left. SMs do what is ordered here (context.c); rules and costs: docs/architecture.md, "Handing over SMs and
 * thread blocks".
 */
#include "gpu/gpu.h"

#include "base/bits.h"

#include <stdlib.h>
#include <string.h>

/* ---- contexts ---- */

/* Room for the largest context that the SM of this configuration can have, so that places never need to be merged. */
static uint64_t place_bytes(const struct corun_gpu_config *c)
{
    uint64_t bytes = (uint64_t)c->registers_per_sm * 4 + c->shared_bytes_per_sm +
                     (uint64_t)MAX_WARPS * c->context_warp_bytes + c->context_tb_bytes;
    return divide_up(bytes, 2 * c->l2_line_bytes) * 2 * c->l2_line_bytes;
}

/* A context in the lowest free place. NULL when out of memory. */
static struct context *context_create(struct corun_gpu *gpu, struct launch *launch, uint32_t tb_index)
{
    struct context *context = calloc(1, sizeof *context);
    size_t place = 0;
    while (place < gpu->contexts.count && gpu->contexts.data[place])
        place++;
    if (!context || (place == gpu->contexts.count && !vector_push(&gpu->contexts, NULL))) {
        free(context);
        return NULL;
    }
    gpu->contexts.data[place] = context;
    context->place = (uint32_t)place;
    context->address = CONTEXT_AREA + place * place_bytes(&gpu->config);
    context->launch = launch;
    context->tb_index = tb_index;
    return context;
}

static void context_free(struct corun_gpu *gpu, struct context *context)
{
    if (!context)
        return;
    gpu->contexts.data[context->place] = NULL;
    gpu->restoring -= context->restoring;
    if (context->source)
        context->launch->grid->operations->tb_end(context->source);
    free(context);
}

static void append(struct application *application, struct context *context)
{
    struct context **link = &application->preempted;
    while (*link)
        link = &(*link)->next;
    *link = context;
    context->next = NULL;
    application->preempted_count++;
}

struct context *preemption_take(struct application *application)
{
    struct context *context = application->preempted;
    application->preempted = context->next;
    application->preempted_count--;
    return context;
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

/* It has left, or need not any more; its context is the caller's. */
static struct context *strike_out(struct corun_gpu *gpu, size_t index)
{
    const struct leaving leaving = gpu->leaving.data[index];
    struct sm_use *use = &gpu->use[leaving.sm];
    use->leaving_tbs[leaving.launch->kernel->application]--;
    use->switching -= leaving.departure == DEPARTURE_SWITCH;
    memmove(&gpu->leaving.data[index], &gpu->leaving.data[index + 1],
            (--gpu->leaving.count - index) * sizeof *gpu->leaving.data);
    return leaving.context;
}

enum corun_status preemption_order(struct corun_gpu *gpu, uint32_t s, struct launch *launch, uint32_t tb_index,
                                   enum departure departure)
{
    struct context *context = NULL;
    uint32_t application = launch->kernel->application;
    if (departure == DEPARTURE_DROP && !launch->grid->idempotent)
        return governor_refuse(gpu->governor,
                               "it drops thread blocks of kernel %s of %s on SM %u, which may read what it has written "
                               "and cannot be started again",
                               launch->grid->name, gpu->applications[application].name, s);
    if (departure != DEPARTURE_DROP && !(context = context_create(gpu, launch, tb_index)))
        return CORUN_MEMORY;
    struct leaving leaving = {launch, context, s, tb_index, (uint8_t)departure};
    struct context_order order = {.cycle = gpu->now + gpu->config.dispatch_latency,
                                  .launch = launch,
                                  .context = context,
                                  .tb_index = tb_index,
                                  .departure = (uint8_t)departure,
                                  .free = gpu->allowances->free_transfers};
    if (!vector_push(&gpu->leaving, leaving) || !context_order(gpu->sms[s], &order))
        return CORUN_MEMORY;
    gpu->use[s].leaving_tbs[application]++;
    gpu->use[s].switching += departure == DEPARTURE_SWITCH;
    return CORUN_OK;
}

/* Takes back the latest orders that have not been followed yet, while more would leave than have to. */
static void cancel(struct corun_gpu *gpu, uint32_t s, uint32_t application, uint32_t count)
{
    for (size_t i = gpu->leaving.count; i-- > 0 && count;) {
        const struct leaving *leaving = &gpu->leaving.data[i];
        if (leaving->sm != s || leaving->launch->kernel->application != application ||
            leaving->departure == DEPARTURE_RELOCATE ||
            !context_cancel(gpu->sms[s], leaving->launch, leaving->tb_index))
            continue;
        context_free(gpu, strike_out(gpu, i));
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
    if (incoming.context) {
        incoming.context->next = application->preempted;
        application->preempted = incoming.context;
        application->preempted_count++;
        incoming.context->restoring = false;
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
 * only when the order does is taken back.
 */
static enum corun_status evict_youngest(struct corun_gpu *gpu, uint32_t s, uint32_t application,
                                        enum departure departure)
{
    struct sm *sm = gpu->sms[s];
    for (size_t i = sm->incoming.count; i-- > sm->incoming_taken;) {
        const struct incoming_tb *incoming = &sm->incoming.data[i];
        if (incoming->launch->kernel->application != application ||
            is_leaving(gpu, s, incoming->launch, incoming->tb_index))
            continue;
        if (incoming->cycle >= gpu->now + gpu->config.dispatch_latency)
            return take_back(gpu, s, i);
        return preemption_order(gpu, s, incoming->launch, incoming->tb_index, departure);
    }
    const struct sm_tb *youngest = NULL;
    for (uint32_t i = 0; i < MAX_TBS; i++) {
        const struct sm_tb *tb = &sm->tbs[i];
        if (tb->source && tb->launch->kernel->application == application && (!youngest || tb->age > youngest->age) &&
            !is_leaving(gpu, s, tb->launch, tb->index))
            youngest = tb;
    }
    return youngest ? preemption_order(gpu, s, youngest->launch, youngest->index, departure) : CORUN_OK;
}

enum corun_status preemption_relocate(struct corun_gpu *gpu, uint32_t s, const struct launch *launch, uint32_t tb_index)
{
    struct sm *sm = gpu->sms[s];
    if (is_leaving(gpu, s, launch, tb_index))
        return CORUN_OK;
    for (size_t i = sm->incoming_taken; i < sm->incoming.count; i++) {
        const struct incoming_tb *incoming = &sm->incoming.data[i];
        if (incoming->launch != launch || incoming->tb_index != tb_index)
            continue;
        if (incoming->cycle >= gpu->now + gpu->config.dispatch_latency)
            return take_back(gpu, s, i);
        return preemption_order(gpu, s, incoming->launch, tb_index, DEPARTURE_RELOCATE);
    }
    for (uint32_t i = 0; i < MAX_TBS; i++)
        if (sm->tbs[i].source && sm->tbs[i].launch == launch && sm->tbs[i].index == tb_index)
            return preemption_order(gpu, s, sm->tbs[i].launch, tb_index, DEPARTURE_RELOCATE);
    return CORUN_OK; /* it has completed in this step */
}

enum corun_status preemption_follow(struct corun_gpu *gpu, uint32_t s, uint32_t application)
{
    static const uint8_t departures[] = {[CORUN_RECLAIM_SWAP_TB] = DEPARTURE_SWAP,
                                         [CORUN_RECLAIM_SWITCH_SM] = DEPARTURE_SWITCH,
                                         [CORUN_RECLAIM_DROP] = DEPARTURE_DROP};
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
        status = evict_youngest(gpu, s, application, (enum departure)departures[reclaim]);
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
    (void)context_cancel(gpu->sms[s], news->launch, news->tb_index);
    context_free(gpu, strike_out(gpu, index));
}

enum corun_status preemption_news(struct corun_gpu *gpu, uint32_t s, const struct news *news)
{
    if (news->kind == NEWS_TB_STOPPED) {
        observe_news(gpu, s, news, CORUN_OBSERVED_TB_PREEMPTED);
        return CORUN_OK;
    }
    if (news->kind == NEWS_TB_RESUMED) {
        context_free(gpu, news->context);
        observe_news(gpu, s, news, CORUN_OBSERVED_TB_RESUMED);
        return CORUN_OK;
    }
    struct context *context = strike_out(gpu, leaving_index(gpu, s, news->launch, news->tb_index));
    if (context)
        append(&gpu->applications[news->application], context);
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
            memory_system_counters(gpu->memory, vacated->kernel)->preemption_start_cycles += cycle - vacated->stopped;
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
    for (size_t i = 0; i < gpu->contexts.count; i++) {
        struct context *context = gpu->contexts.data[i];
        if (context && context->launch->kernel->application == index)
            context_free(gpu, context);
    }
    gpu->applications[index].preempted = NULL;
    gpu->applications[index].preempted_count = 0;
}

void preemption_destroy(struct corun_gpu *gpu)
{
    for (size_t i = 0; i < gpu->contexts.count; i++)
        context_free(gpu, gpu->contexts.data[i]);
    vector_free(&gpu->contexts);
    vector_free(&gpu->leaving);
    vector_free(&gpu->vacated);
}
