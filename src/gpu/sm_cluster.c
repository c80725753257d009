/* SPDX-License-Identifier: MIT */
/* The barrier of a cluster, as an SM sees it: warps arrive and wait; the GPU says when they go on. */
#include "gpu/cluster.h"

#include "gpu/sm.h"

static void go_on(struct sm *sm, struct sm_tb *tb, uint64_t cycle)
{
    uint64_t warps = tb->cluster.waiting & tb->warps;
    tb->cluster.phases++;
    tb->cluster.waiting = 0;
    for (; warps; warps &= warps - 1) {
        uint32_t slot = lowest_bit(warps);
        sm->warps[slot].not_before = cycle;
        warp_set_state(sm, slot, WARP_CONTROL);
        warp_evaluate(sm, slot);
    }
}

/* A thread block in no cluster is one by itself. */
static void look(struct sm *sm, struct sm_tb *tb)
{
    tb->cluster.cycle = sm->now;
    if (tb->cluster.there) {
        sm->cluster_news = true;
    } else if (tb->cluster.arrived && !(tb->warps & ~tb->cluster.arrived)) {
        tb->cluster.arrived = 0;
        go_on(sm, tb, sm->now + sm->config->barrier_cycles);
    }
}

void sm_cluster_come(struct sm *sm, uint32_t slot)
{
    struct sm_warp *warp = &sm->warps[slot];
    struct sm_tb *tb = &sm->tbs[warp->tb];
    uint64_t bit = UINT64_C(1) << slot;
    bool waits = sm->issue.cluster_waits;
    if (sm->issue.cluster_arrives) {
        warp->counters->barriers++;
        warp->cluster_arrivals++;
        tb->cluster.arrived |= bit;
    }
    if (waits && warp->cluster_arrivals > tb->cluster.phases) {
        tb->cluster.waiting |= bit;
        warp_set_state(sm, slot, WARP_BARRIER);
    } else {
        waits = false;
    }
    if (sm->issue.cluster_arrives)
        look(sm, tb);
    if (!waits)
        warp_evaluate(sm, slot);
}

void sm_cluster_warp_ended(struct sm *sm, struct sm_tb *tb)
{
    if (tb->cluster.there || tb->cluster.arrived)
        look(sm, tb);
}

bool sm_cluster_release(struct sm *sm, struct sm_tb *tb, uint64_t cycle)
{
    struct cluster_release release = {cycle, tb->age, (uint32_t)(tb - sm->tbs)};
    tb->cluster.arrived = 0;
    wake_by(&sm->wakes, WAKE_CLUSTER, cycle);
    return vector_push(&sm->cluster_releases, release);
}

void sm_cluster_attend(struct sm *sm)
{
    size_t kept = 0;
    wake_not_before(&sm->wakes, WAKE_CLUSTER, NEVER);
    for (size_t i = 0; i < sm->cluster_releases.count; i++) {
        const struct cluster_release release = sm->cluster_releases.data[i];
        struct sm_tb *tb = &sm->tbs[release.tb];
        if (release.cycle > sm->now) {
            wake_by(&sm->wakes, WAKE_CLUSTER, release.cycle);
            sm->cluster_releases.data[kept++] = release;
        } else if (tb->source && tb->age == release.tb_age) {
            go_on(sm, tb, sm->now);
        }
    }
    sm->cluster_releases.count = kept;
}
