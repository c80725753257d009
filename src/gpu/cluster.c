/* SPDX-License-Identifier: MIT */
/* Clusters of thread blocks: a place for all of them or for none, barriers that are met, and their end. */
#include "gpu/cluster.h"

#include "base/kernel_name.h"
#include "gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- GPCs ---- */

/* SMs come in pairs where they can; the first GPCs have a pair more where they do not divide. */
uint32_t cluster_gpc(const struct corun_gpu_config *config, uint32_t sm, uint32_t *first, uint32_t *end)
{
    uint32_t gpcs = config->gpcs < config->sms ? config->gpcs : config->sms;
    uint32_t unit = config->sms % 2 == 0 && config->sms / 2 >= gpcs ? 2 : 1, units = config->sms / unit;
    uint32_t each = units / gpcs, larger = units % gpcs, at = sm / unit;
    uint32_t gpc = at < larger * (each + 1) ? at / (each + 1) : larger + (at - larger * (each + 1)) / each;
    *first = unit * (gpc * each + (gpc < larger ? gpc : larger));
    *end = *first + unit * (each + (gpc < larger));
    return gpc;
}

const char *cluster_problem(const struct corun_gpu *gpu, const struct corun_grid *grid, uint32_t tbs_per_sm, char *text,
                            size_t bytes)
{
    const struct corun_gpu_config *c = &gpu->config;
    uint32_t most = 0, first, end;
    if (grid->cluster_tbs <= 1)
        return NULL;
    for (uint32_t sm = 0; sm < c->sms; sm = end) {
        cluster_gpc(c, sm, &first, &end);
        most = (end - first) * tbs_per_sm > most ? (end - first) * tbs_per_sm : most;
    }
    if (!c->cluster_tbs)
        snprintf(text, bytes, "kernel %.120s: clusters of %u thread blocks, and %.60s has no clusters",
                 KERNEL_NAME(grid->name), grid->cluster_tbs, c->name);
    else if (grid->cluster_tbs > c->cluster_tbs || !grid->operations->cluster_begin)
        snprintf(text, bytes, "kernel %.120s: clusters of %u thread blocks, and %.60s has at most %u",
                 KERNEL_NAME(grid->name), grid->cluster_tbs, c->name,
                 grid->operations->cluster_begin ? c->cluster_tbs : 1);
    else if (most < grid->cluster_tbs)
        snprintf(text, bytes,
                 "kernel %.120s: a cluster of %u thread blocks can never fit a GPC of %.60s, which holds %u",
                 KERNEL_NAME(grid->name), grid->cluster_tbs, c->name, most);
    else
        return NULL;
    return text;
}

uint32_t corun_gpu_clusters(const struct corun_gpu_config *config, uint32_t tbs_per_sm, uint32_t cluster_tbs)
{
    uint64_t sum = 0;
    uint32_t first, end;
    if (cluster_tbs <= 1 || cluster_tbs > config->cluster_tbs)
        return cluster_tbs <= 1 ? tbs_per_sm * config->sms : 0;
    for (uint32_t sm = 0; sm < config->sms; sm = end) {
        cluster_gpc(config, sm, &first, &end);
        sum += (uint64_t)(end - first) * tbs_per_sm / cluster_tbs;
    }
    return (uint32_t)sum;
}

/* ---- places ---- */

/* Thread blocks of the launch that the allowances leave room for on an empty SM. */
static uint32_t room(const struct corun_gpu *gpu, uint32_t sm, const struct launch *launch)
{
    uint32_t limit = gpu->allowances->tb_limit[sm * gpu->application_count + launch->kernel->application];
    uint32_t fit = launch->kernel->tbs_per_sm;
    return !gpu->power[sm].wanted ? 0 : limit < fit ? limit : fit;
}

static bool gpc_has_room(const struct corun_gpu *gpu, uint32_t first, uint32_t end, const struct launch *launch)
{
    uint64_t sum = 0;
    for (uint32_t sm = first; sm < end; sm++)
        sum += room(gpu, sm, launch);
    return sum >= launch->grid->cluster_tbs;
}

bool cluster_is_possible(const struct corun_gpu *gpu, const struct launch *launch)
{
    uint32_t first, end = 0;
    for (uint32_t sm = 0; sm < gpu->config.sms; sm = end) {
        cluster_gpc(&gpu->config, sm, &first, &end);
        if (gpc_has_room(gpu, first, end, launch))
            return true;
    }
    return false;
}

void clusters_hold_nothing(struct corun_gpu *gpu)
{
    for (uint32_t i = 0; i < MOST_GPCS; i++)
        gpu->gpc_held_by[i] = NOTHING;
}

bool cluster_holds(struct corun_gpu *gpu, uint32_t sm, const struct launch *launch)
{
    uint32_t first, end, gpc = cluster_gpc(&gpu->config, sm, &first, &end), application = launch->kernel->application;
    struct tb_needs needs;
    tb_needs_compute(&gpu->config, launch->grid, &needs);
    if (launch->grid->cluster_tbs <= 1 || !dispatcher_allows(gpu, sm, launch, &needs) ||
        !gpc_has_room(gpu, first, end, launch))
        return false;
    if (gpu->gpc_held_by[gpc] == NOTHING)
        gpu->gpc_held_by[gpc] = application;
    return gpu->gpc_held_by[gpc] == application;
}

/* The SM for the next thread block of a cluster; NOTHING: none has a place. `taken`: thread blocks of the cluster on each. */
static uint32_t choose(const struct corun_gpu *gpu, const struct launch *launch, const struct tb_needs *needs,
                       uint32_t from, uint32_t first, uint32_t end, const uint8_t *taken)
{
    uint32_t best = NOTHING, least = UINT32_MAX;
    for (uint32_t i = 0; i < end - first; i++) {
        uint32_t sm = first + (from - first + i) % (end - first);
        uint32_t load = launch->grid->cluster_balanced ? gpu->use[sm].tbs : taken[sm - first];
        if (load < least && dispatcher_allows((struct corun_gpu *)gpu, sm, launch, needs)) {
            best = sm;
            least = load;
        }
    }
    return best;
}

/* Reserves a place for each thread block, or none. */
static bool reserve(struct corun_gpu *gpu, uint32_t from, struct launch *launch, struct machine_cluster *cluster)
{
    uint8_t taken[MAX_SMS] = {0};
    uint32_t first, end, rank = 0;
    struct tb_needs needs;
    tb_needs_compute(&gpu->config, launch->grid, &needs);
    cluster_gpc(&gpu->config, from, &first, &end);
    for (; rank < cluster->size; rank++) {
        uint32_t sm = choose(gpu, launch, &needs, from, first, end, taken);
        if (sm == NOTHING)
            break;
        dispatcher_take(gpu, sm, launch, launch->next_tb + rank, &needs);
        taken[sm - first]++;
        cluster->sms[rank] = sm;
    }
    if (rank == cluster->size)
        return true;
    while (rank-- > 0)
        dispatcher_give_back(gpu, cluster->sms[rank], launch, launch->next_tb + rank, &needs);
    return false;
}

bool cluster_place(struct corun_gpu *gpu, uint32_t sm, struct launch *launch)
{
    struct machine_cluster cluster = {
        launch, launch->next_tb / launch->grid->cluster_tbs, launch->grid->cluster_tbs, {0}, 0};
    if (!reserve(gpu, sm, launch, &cluster))
        return false;
    uint64_t start = 0;
    for (uint32_t rank = 0; rank < cluster.size; rank++) {
        uint64_t earliest = dispatcher_earliest(gpu, cluster.sms[rank], launch);
        start = earliest > start ? earliest : start;
    }
    bool fine = vector_push(&gpu->clusters, cluster) &&
                launch->grid->operations->cluster_begin(launch->grid, cluster.number, cluster.sms) == CORUN_OK;
    for (uint32_t rank = 0; rank < cluster.size && fine; rank++) {
        uint64_t next = gpu->use[cluster.sms[rank]].next_start;
        uint64_t cycle = dispatcher_start(gpu, cluster.sms[rank], launch, start > next ? start : next);
        struct incoming_tb incoming = {.cycle = cycle,
                                       .launch = launch,
                                       .tb_index = launch->next_tb + rank,
                                       .free_transfer = gpu->allowances->free_transfers};
        fine = sm_announce(gpu->sms[cluster.sms[rank]], &incoming);
        dispatcher_started(gpu, cluster.sms[rank], &incoming);
    }
    launch->next_tb += cluster.size;
    if (!fine)
        gpu->sms[sm]->failed = true;
    return true;
}

/* ---- barriers and ends ---- */

static struct sm_tb *find_tb(const struct corun_gpu *gpu, const struct machine_cluster *cluster, uint32_t rank)
{
    struct sm *sm = gpu->sms[cluster->sms[rank]];
    uint32_t index = cluster->number * cluster->size + rank;
    for (uint32_t i = 0; i < MAX_TBS; i++)
        if (sm->tbs[i].source && sm->tbs[i].launch == cluster->launch && sm->tbs[i].index == index)
            return &sm->tbs[i];
    return NULL;
}

/* Lets the warps go on if all that have not ended have come. False when out of memory. */
static bool follow(struct corun_gpu *gpu, const struct machine_cluster *cluster)
{
    struct sm_tb *tbs[CORUN_LARGEST_CLUSTER] = {NULL};
    uint64_t last = 0;
    bool any = false, fine = true;
    for (uint32_t rank = 0; rank < cluster->size; rank++) {
        if (cluster->ended >> rank & 1u)
            continue;
        struct sm_tb *tb = tbs[rank] = find_tb(gpu, cluster, rank);
        if (!tb || tb->warps & ~tb->cluster.arrived)
            return true;
        any |= tb->cluster.arrived != 0;
        last = tb->cluster.cycle > last ? tb->cluster.cycle : last;
    }
    uint64_t cycle = last + gpu->config.cluster_barrier_cycles;
    for (uint32_t rank = 0; any && rank < cluster->size; rank++)
        if (tbs[rank])
            fine &= sm_cluster_release(gpu->sms[cluster->sms[rank]], tbs[rank], cycle > gpu->now ? cycle : gpu->now);
    return fine;
}

bool clusters_follow(struct corun_gpu *gpu)
{
    bool any = gpu->cluster_ended, fine = true;
    for (uint32_t s = 0; s < gpu->config.sms; s++) {
        any |= gpu->sms[s]->cluster_news;
        gpu->sms[s]->cluster_news = false;
    }
    gpu->cluster_ended = false;
    for (size_t i = 0; any && i < gpu->clusters.count; i++)
        fine &= follow(gpu, &gpu->clusters.data[i]);
    return fine;
}

void cluster_tb_completed(struct corun_gpu *gpu, const struct news *news)
{
    uint32_t size = news->launch->grid->cluster_tbs;
    if (size <= 1)
        return;
    size_t i = 0;
    while (i < gpu->clusters.count &&
           (gpu->clusters.data[i].launch != news->launch || gpu->clusters.data[i].number != news->tb_index / size))
        i++;
    if (i == gpu->clusters.count)
        return;
    struct machine_cluster *cluster = &gpu->clusters.data[i];
    cluster->ended |= 1u << news->tb_index % size;
    gpu->cluster_ended = true;
    if (cluster->ended != (1u << size) - 1)
        return;
    news->launch->grid->operations->cluster_end(news->launch->grid, cluster->number);
    *cluster = gpu->clusters.data[--gpu->clusters.count];
}

void clusters_remove_application(struct corun_gpu *gpu, uint32_t application)
{
    size_t kept = 0;
    for (size_t i = 0; i < gpu->clusters.count; i++)
        if (gpu->clusters.data[i].launch->kernel->application != application)
            gpu->clusters.data[kept++] = gpu->clusters.data[i];
    gpu->clusters.count = kept;
}

void clusters_destroy(struct corun_gpu *gpu)
{
    vector_free(&gpu->clusters);
}
