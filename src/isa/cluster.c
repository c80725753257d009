/* SPDX-License-Identifier: MIT */
/* Clusters of thread blocks: which have begun, what a kernel asks about its own, and the barrier of a cluster. */
#include "isa/cluster.h"

#include "base/bits.h"

#include <stdlib.h>

struct corun_dim3 cluster_inside(const struct launch *launch, uint32_t rank)
{
    struct corun_dim3 shape = launch->cluster;
    return (struct corun_dim3){rank % shape.x, rank / shape.x % shape.y, rank / shape.x / shape.y};
}

struct corun_dim3 cluster_position(const struct launch *launch, uint32_t index)
{
    struct corun_dim3 shape = launch->cluster, inside = cluster_inside(launch, index % cluster_size(launch));
    uint32_t number = index / cluster_size(launch), x = launch->dim.x / shape.x, y = launch->dim.y / shape.y;
    return (struct corun_dim3){number % x * shape.x + inside.x, number / x % y * shape.y + inside.y,
                               number / x / y * shape.z + inside.z};
}

/* ---- which have begun ---- */

struct cluster *cluster_find(const struct launch *launch, uint32_t number)
{
    struct cluster *cluster = launch->clusters;
    while (cluster && cluster->number != number)
        cluster = cluster->next;
    return cluster;
}

struct cluster *cluster_begin(struct launch *launch, uint32_t number, struct executor_sm *const *sms,
                              struct launch_sm *const *lists)
{
    struct cluster *cluster = calloc(1, sizeof *cluster);
    if (!cluster)
        return NULL;
    cluster->number = number;
    for (uint32_t rank = 0; rank < cluster_size(launch); rank++) {
        struct corun_tb *tb = executor_tb_begin(launch, sms[rank], lists[rank], number * cluster_size(launch) + rank);
        if (!tb) {
            free(cluster);
            return NULL;
        }
        tb->cluster = cluster;
        tb->rank = rank;
        cluster->tbs[rank] = tb;
    }
    cluster->next = launch->clusters;
    launch->clusters = cluster;
    return cluster;
}

void cluster_end(struct launch *launch, uint32_t number, struct launch_sm *functional)
{
    struct cluster **link = &launch->clusters;
    while (*link && (*link)->number != number)
        link = &(*link)->next;
    struct cluster *cluster = *link;
    if (!cluster)
        return;
    *link = cluster->next;
    for (uint32_t rank = 0; rank < cluster_size(launch); rank++) {
        struct corun_tb *tb = cluster->tbs[rank];
        tb->cluster = NULL;
        executor_tb_end(tb, functional ? functional : &launch->sms[tb->sm->index]);
    }
    free(cluster);
}

void cluster_free_all(struct launch *launch)
{
    for (struct cluster *cluster = launch->clusters, *next; cluster; cluster = next) {
        next = cluster->next;
        free(cluster);
    }
    launch->clusters = NULL;
}

/* ---- what a kernel asks ---- */

static void map(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    const uint32_t *rank = lanes_source(&warp->lanes, op->source[1]);
    const void *from = lanes_source(&warp->lanes, op->source[0]);
    void *to = lanes_destination(&warp->lanes, op->destination);
    for (; mask; mask &= mask - 1) {
        uint32_t lane = lowest_bit(mask);
        uint64_t bits = (((uint64_t)rank[lane] + 1) & CLUSTER_RANK_MASK) << CLUSTER_RANK_SHIFT;
        uint64_t others = ~(CLUSTER_RANK_MASK << CLUSTER_RANK_SHIFT);
        if (op->extend & EXTEND_WIDE)
            ((uint64_t *)to)[lane] = (((const uint64_t *)from)[lane] & others) | bits;
        else
            ((uint32_t *)to)[lane] = (uint32_t)((((const uint32_t *)from)[lane] & others) | bits);
    }
}

static void find_rank(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    const void *from = lanes_source(&warp->lanes, op->source[0]);
    uint32_t *to = lanes_destination(&warp->lanes, op->destination);
    for (; mask; mask &= mask - 1) {
        uint32_t lane = lowest_bit(mask);
        uint64_t address = op->extend & EXTEND_WIDE ? ((const uint64_t *)from)[lane] : ((const uint32_t *)from)[lane];
        uint32_t rank = (uint32_t)(address >> CLUSTER_RANK_SHIFT & CLUSTER_RANK_MASK);
        to[lane] = rank ? rank - 1 : warp->tb->rank;
    }
}

static bool is_inside(const struct corun_tb *tb, uint64_t address, bool own)
{
    uint32_t rank = (uint32_t)(address >> CLUSTER_RANK_SHIFT & CLUSTER_RANK_MASK);
    return address >> WINDOW_SHIFT == WINDOW_SHARED && (!own || rank == 0 || rank == tb->rank + 1);
}

static void answer(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    const struct corun_tb *tb = warp->tb;
    if (op->variant == CLUSTER_MAP) {
        map(warp, op, mask);
        return;
    }
    if (op->variant == CLUSTER_RANK) {
        find_rank(warp, op, mask);
        return;
    }
    uint32_t truth = 0, *predicate = &warp->lanes.predicates[op->predicate_out[0]];
    const uint64_t *address = lanes_source(&warp->lanes, op->source[0]);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        bool yes = op->variant == CLUSTER_IS_EXPLICIT
                       ? tb->launch->explicit_cluster
                       : is_inside(tb, address[lowest_bit(rest)], op->variant == CLUSTER_IS_OWN);
        truth |= yes ? rest & -rest : 0;
    }
    *predicate = (*predicate & ~mask) | truth;
}

/* ---- the barrier ---- */

/* Those that have not ended. */
static uint32_t live_lanes(const struct simt_stack *stack)
{
    uint32_t lanes = stack->mask;
    for (uint32_t i = 0; i < stack->depth; i++)
        lanes |= stack->entries[i].mask;
    return lanes;
}

static void come(struct corun_warp *warp, struct corun_issue *result, bool arrives, bool waits)
{
    result->outcome = CORUN_OUTCOME_CLUSTER;
    result->cluster_arrives = arrives;
    result->cluster_waits = waits;
    if (arrives) {
        warp->cluster_late = live_lanes(&warp->stack) & ~warp->cluster_arrived;
        warp->cluster_arrived = 0;
    }
}

/*
 * The warp arrives when all its lanes have, or when some of them wait. Lanes that come later owe the arrival of a phase that counts already: it is
 * none of the next one, and they wait for nothing behind it.
 */
static void arrive(struct corun_warp *warp, uint32_t mask, struct corun_issue *result)
{
    uint32_t late = mask & warp->cluster_late;
    warp->cluster_late &= ~late;
    warp->cluster_passing |= late;
    warp->cluster_arrived |= mask & ~late;
    if (warp->cluster_arrived && !(live_lanes(&warp->stack) & ~warp->cluster_arrived))
        come(warp, result, true, false);
}

static void wait_there(struct corun_warp *warp, uint32_t mask, struct corun_issue *result)
{
    uint32_t waiting = mask & ~warp->cluster_passing;
    warp->cluster_passing &= ~mask;
    if (waiting)
        come(warp, result, warp->cluster_arrived != 0, true);
}

void cluster_execute(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result)
{
    if (op->kind == OPERATION_CLUSTER)
        answer(warp, op, mask);
    else if (op->kind == OPERATION_CLUSTER_ARRIVE)
        arrive(warp, mask, result);
    else
        wait_there(warp, mask, result);
}
