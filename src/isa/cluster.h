/* SPDX-License-Identifier: MIT */
/*
 * Clusters of thread blocks: which they are, whose shared memory an address is in, the barrier of a cluster.
 *
 * An address in .shared::cluster is an offset in the shared memory of a thread block. Bits 24 to 31 hold the rank of that thread block plus one; 0 is the
 * thread block that uses the address. A generic address has the same bits within the window of shared memory.
 */
#ifndef CORUN_ISA_CLUSTER_H
#define CORUN_ISA_CLUSTER_H

#include "isa/executor.h"

#define CLUSTER_RANK_SHIFT 24u
#define CLUSTER_RANK_MASK UINT64_C(0xff)

enum cluster_question {
    CLUSTER_MAP,      /* address source 0, rank source 1 */
    CLUSTER_RANK,     /* of the thread block that has address source 0 */
    CLUSTER_IS_OWN,   /* whether the generic address is in the thread block's own shared memory */
    CLUSTER_IS_THERE, /* the same, of any of its cluster */
    CLUSTER_IS_EXPLICIT
};

struct cluster {
    struct cluster *next; /* of the launch, those that have begun and not ended */
    uint32_t number;
    struct corun_tb *tbs[CORUN_LARGEST_CLUSTER]; /* by rank */
};

static inline uint32_t cluster_size(const struct launch *launch)
{
    return launch->cluster.x * launch->cluster.y * launch->cluster.z;
}

/* Where a thread block of the launch is, by its index; its rank in its cluster is the index modulo cluster_size. */
struct corun_dim3 cluster_position(const struct launch *launch, uint32_t index);
/* In x, y, z. */
struct corun_dim3 cluster_inside(const struct launch *launch, uint32_t rank);

/* sms, lists: of each rank; NULL when out of memory. */
struct cluster *cluster_begin(struct launch *launch, uint32_t number, struct executor_sm *const *sms,
                              struct launch_sm *const *lists);
void cluster_end(struct launch *launch, uint32_t number, struct launch_sm *functional);
/* NULL: it has not begun, or has ended. */
struct cluster *cluster_find(const struct launch *launch, uint32_t number);
/* Those that have not ended; their thread blocks stay in the lists where they were made. */
void cluster_free_all(struct launch *launch);

/* The lanes `mask` (not 0) ask about their cluster, or come to its barrier. */
void cluster_execute(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result);

/*
 * Of the lanes `mask`, whose addresses are in shared memory: takes the rank off those that are in the warp's own thread block, *remote gets the
 * others. False: a fault was raised.
 */
bool cluster_split(struct corun_warp *warp, uint64_t *address, uint32_t mask, uint32_t *remote);
/*
 * The lanes `remote` load, store or change shared memory of other thread blocks; the others of `mask` have had their turn. In a run without timing at once, otherwise
 * with a ticket. False: a fault was raised.
 */
bool cluster_access(struct corun_warp *warp, const struct operation *op, uint32_t mask, uint32_t remote,
                    const uint64_t *address, struct corun_issue *result, bool timed);
/* A lane of a ticket for another thread block's shared memory: the access, and what it has loaded to the registers. */
void cluster_perform(struct atomic_ticket *ticket, uint32_t lane);
void cluster_complete(const struct atomic_ticket *ticket, uint32_t lane);

#endif
