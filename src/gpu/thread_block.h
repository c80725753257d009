/* SPDX-License-Identifier: MIT */
/* A thread block on an SM: on its way there, starting, complete. */
#ifndef CORUN_GPU_THREAD_BLOCK_H
#define CORUN_GPU_THREAD_BLOCK_H

#include "gpu/barrier.h"
#include "gpu/cluster.h"
#include "gpu/launch.h"
#include "gpu/preemption_engine.h"
#include "gpu/sm_limits.h"

struct sm;

enum tb_phase {
    TB_RUNNING,
    TB_STOPPING, /* stands still: its instructions in flight complete */
    TB_SAVING,
    TB_LOADING /* has no warps yet */
};

struct sm_tb {
    struct corun_tb *source; /* NULL: slot is free */
    struct launch *launch;
    struct tb_needs needs;
    uint64_t resident; /* warp slots taken */
    uint64_t warps;    /* of these, that have not ended */
    uint64_t waiting;  /* of these, at a barrier */
    uint32_t index;
    struct sm_tb_cluster cluster;
    uint64_t age;                 /* order in which they came to the SM */
    uint64_t thread_instructions; /* of warps that have ended, and from before it came here */
    uint64_t longest_warp; /* instructions of the longest one of those that have ended; not from before it came here */

    /* on its way out or in (preemption_engine.c) */
    uint8_t phase;      /* enum tb_phase */
    uint8_t preemption; /* enum preemption */
    bool still;         /* its warps are WARP_STILL */
    bool free_transfer;
    bool ordered; /* loading, and to leave at once */
    struct leave_order order;
    struct saved_tb *saved;
    uint32_t moved_bytes, moving_packets; /* bytes sent or asked for, packets that were not answered */
    uint32_t token;
    uint64_t stopped_cycle, quiet_cycle;

    struct barrier barriers[MAX_BARRIERS]; /* behind all gaps, as ARCHIVE_CLEAR_PADDING wants it */
};

/* A thread block on its way to the SM. */
struct incoming_tb {
    uint64_t cycle;
    struct launch *launch;
    uint32_t tb_index;
    bool free_transfer;
    struct saved_tb *saved; /* NULL: a new one */
};

/* Announces a thread block; announced in order of cycle. false: out of memory. */
bool sm_announce(struct sm *sm, const struct incoming_tb *incoming);
/* Starts those that have reached the SM by now (WAKE_INCOMING). */
void sm_tb_receive(struct sm *sm);
/* A free slot for a thread block, whose `source` is NULL. */
struct sm_tb *sm_tb_slot(struct sm *sm);
/*
 * Gives warp slots to the `count` warps of a thread block and notes them; the warps are in no state yet. false:
 * the SM has failed.
 */
bool sm_tb_seat(struct sm *sm, struct sm_tb *tb, struct corun_warp *const *warps, uint32_t count, uint32_t *slots);
/* Frees the slot and the warps of a thread block; what is under way for them finds nobody. */
void sm_tb_remove(struct sm *sm, struct sm_tb *tb);

/* Its last warp has gone: the thread block's resources are free. */
void sm_tb_complete(struct sm *sm, struct sm_tb *tb);

#endif
