/* SPDX-License-Identifier: MIT */
/*
 * The part of an SM that takes thread blocks away before they are done and brings them back: stopping them, saving
 * their state through the interconnect, loading them again, dropping them. Rules and costs:
 * docs/architecture.md, "Handing over SMs and thread blocks".
 */
#ifndef CORUN_GPU_PREEMPTION_ENGINE_H
#define CORUN_GPU_PREEMPTION_ENGINE_H

#include "base/vector.h"
#include "gpu/barrier.h"
#include "gpu/launch.h"
#include "gpu/memory_system.h"
#include "gpu/occupancy.h"
#include "gpu/sm_limits.h"

/* Where saved state lies: beyond the ranges of all applications. */
#define SAVED_TB_AREA ((uint64_t)(CORUN_MAX_APPLICATIONS + 1) << CORUN_APPLICATION_SHIFT)

/* A thread block away from its SM. Warps are counted over those that have not ended; masks are over them. */
struct saved_tb {
    struct saved_tb *next; /* in the queue of its application */
    struct launch *launch;
    struct corun_tb *source; /* NULL while it is on an SM */
    struct tb_needs needs;
    uint64_t address; /* of what is saved */
    uint32_t place;   /* in the area of saved state */
    uint32_t bytes;
    uint32_t tb_index;
    uint32_t warp_count;
    bool restoring;   /* on its way to an SM, or being loaded there */
    uint64_t waiting; /* at a barrier */
    uint64_t thread_instructions;
    struct barrier barriers[MAX_BARRIERS];
    struct corun_warp *warps[MAX_WARPS];
};

enum preemption {
    PREEMPTION_SWAP,
    PREEMPTION_SWITCH,
    PREEMPTION_DROP,
    PREEMPTION_RELOCATE /* swapped out whatever the limits say */
};

/* A thread block has to leave, from `cycle` on. Void if it has completed by then. */
struct leave_order {
    uint64_t cycle;
    struct launch *launch;
    struct saved_tb *saved; /* what it is saved to; NULL: dropped */
    uint32_t tb_index;
    uint8_t preemption; /* enum preemption */
    bool free;          /* without traffic */
};

struct preemption_engine {
    VECTOR(struct leave_order) orders; /* by cycle, from orders_taken on */
    size_t orders_taken;
    uint8_t queue[MAX_WARPS]; /* thread block slots whose state is sent or fetched, one after the other */
    uint32_t queued;
    uint64_t next_send;
    uint32_t under_way; /* packets */
    uint32_t tokens;    /* given so far */
    uint32_t stopping;  /* thread blocks whose instructions in flight have not completed */
    uint32_t switching; /* thread blocks that leave in a switch of the whole SM */
    bool stalled;       /* nothing issues until these have left */
};

struct sm;
struct incoming_tb;

/* An order for the SM; not before an earlier one. false: out of memory. */
bool preemption_engine_order(struct sm *sm, const struct leave_order *order);
/* Takes back an order that has not been followed yet; false if it has been. */
bool preemption_engine_cancel(struct sm *sm, const struct launch *launch, uint32_t tb_index);
/* A thread block comes back: its state is loaded, then its warps resume. */
void preemption_engine_load(struct sm *sm, const struct incoming_tb *incoming);
/* Does what is due at sm->now (WAKE_PREEMPTION). */
void preemption_engine_attend(struct sm *sm);
/* Takes a reply to a packet of saved state. */
void preemption_engine_reply(struct sm *sm, const struct reply *reply);
/* A thread block has started on an SM on which nothing may issue. */
void preemption_engine_hold(struct sm *sm, uint32_t tb);
/* Forgets what was to be done for an application, whose thread blocks are still there. */
void preemption_engine_remove_application(struct sm *sm, uint32_t application);
/* The SM resumes if it stood still for thread blocks that are gone. */
void preemption_engine_settle(struct sm *sm);
void preemption_engine_destroy(struct sm *sm);

#endif
