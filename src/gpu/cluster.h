/* SPDX-License-Identifier: MIT */
/*
 * Clusters of thread blocks on the GPU: where they start, their barriers, and when they have ended.
 *
 * The thread blocks of a cluster start together, on SMs of one GPC, or not at all. Between two steps the GPU looks whether all warps of a cluster
 * have come to its barrier; SMs only note that theirs have.
 */
#ifndef CORUN_GPU_CLUSTER_H
#define CORUN_GPU_CLUSTER_H

#include "base/bits.h"
#include "corun/source.h"

struct corun_gpu;
struct corun_gpu_config;
struct launch;
struct news;
struct sm;
struct sm_tb;

/* Has started, and some of its thread blocks have not completed. */
struct machine_cluster {
    struct launch *launch;
    uint32_t number, size;
    uint32_t sms[CORUN_LARGEST_CLUSTER]; /* by rank */
    uint32_t ended;                      /* a bit per rank */
};

/* A barrier of a cluster is met: its warps in a thread block go on at that cycle. */
struct cluster_release {
    uint64_t cycle, tb_age;
    uint32_t tb; /* slot */
};

/* What a thread block on an SM knows of its cluster; all 0: it is in none. */
struct sm_tb_cluster {
    bool there;
    uint64_t arrived, waiting; /* warp slots, at the barrier in this phase */
    uint64_t cycle;            /* of the last arrival, or end of a warp */
    uint32_t phases;           /* complete */
};

/* In the SM (sm_cluster.c). The warp has issued an instruction of the barrier (sm->issue). */
void sm_cluster_come(struct sm *sm, uint32_t warp);
void sm_cluster_warp_ended(struct sm *sm, struct sm_tb *tb);
/* Between two steps. False when out of memory. */
bool sm_cluster_release(struct sm *sm, struct sm_tb *tb, uint64_t cycle);
void sm_cluster_attend(struct sm *sm);

/* In the dispatcher: the next cluster of a launch, beginning with that SM. False: there is no place for all of its thread blocks. */
bool cluster_place(struct corun_gpu *gpu, uint32_t sm, struct launch *launch);
/*
 * A cluster that has found no place: whether the places that are free on the SM are kept for it. They are as long as the allowances leave room for
 * the cluster in its GPC, for one application in each GPC.
 */
bool cluster_holds(struct corun_gpu *gpu, uint32_t sm, const struct launch *launch);
void clusters_hold_nothing(struct corun_gpu *gpu);
/* Could a cluster of the launch start on an empty GPU as the allowances are? */
bool cluster_is_possible(const struct corun_gpu *gpu, const struct launch *launch);
/* Why the GPU can run no cluster of the grid; NULL: it can. */
const char *cluster_problem(const struct corun_gpu *gpu, const struct corun_grid *grid, uint32_t tbs_per_sm, char *text,
                            size_t bytes);

/* Between two steps: a thread block has completed; barriers that are met. */
void cluster_tb_completed(struct corun_gpu *gpu, const struct news *news);
/* False when out of memory. */
bool clusters_follow(struct corun_gpu *gpu);
void clusters_remove_application(struct corun_gpu *gpu, uint32_t application);
void clusters_destroy(struct corun_gpu *gpu);

/* SMs first..*end-1 of the GPC that has an SM. */
uint32_t cluster_gpc(const struct corun_gpu_config *config, uint32_t sm, uint32_t *first, uint32_t *end);

#endif
