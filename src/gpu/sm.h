/* SPDX-License-Identifier: MIT */
/*
 * One streaming multiprocessor.
 *
 * An SM is advanced by events, not by cycles: a warp is in exactly one state, the states are masks over the warp slots,
 * and only a wake-up, a reply or an issue changes them. Between synchronisation points an SM touches nothing but
 * itself, its warps' source (under its own SM index) and its reply ring, so that SMs can run on different threads.
 *
 *   sm.c                 the loop over cycles: what is due, who issues, until when the SM sleeps; wake.h: what wakes it
 *   thread_block.c       thread blocks: on their way to the SM, starting, complete
 *   residency.c          whose thread blocks are there, and for how long
 *   warp.c               warps: their beginning, their states, their end; wake_wheel.h: which is looked at when;
 *                        warp_evaluation.h: what their next instruction waits for
 *   warp_choice.h        which ready warp a scheduler issues; warp_scheduler.c: which it looks at
 *   issue.c              what happens when it does: operands, pipelines, scoreboard; barrier.c: barriers
 *   load_store.c         memory instructions and their transactions
 *   copy_engine.c        copies that go on by themselves, and their requests
 *   coalescer.c          addresses → transactions;  shared_memory.c  addresses → bank conflicts
 *   sm_caches.c          L1, texture, constant and instruction caches with their MSHRs
 *   port.c               packets to the memory system, and its replies
 *   stall.c              which cause a cycle without issue has
 *   quota.c              what each application may still issue
 *   preemption_engine.c  thread blocks that leave before they are done, and come back
 *   news.h               what the SM reports at the end of a step
 *
 * The header of each says what it keeps in struct sm.
 */
#ifndef CORUN_GPU_SM_H
#define CORUN_GPU_SM_H

#include "base/vector.h"
#include "gpu/barrier.h"
#include "gpu/cluster.h"
#include "gpu/coalescer.h"
#include "gpu/copy_engine.h"
#include "gpu/load_store.h"
#include "gpu/news.h"
#include "gpu/port.h"
#include "gpu/preemption_engine.h"
#include "gpu/quota.h"
#include "gpu/sm_caches.h"
#include "gpu/sm_limits.h"
#include "gpu/stall.h"
#include "gpu/thread_block.h"
#include "gpu/wake.h"
#include "gpu/wake_wheel.h"
#include "gpu/warp.h"
#include "gpu/warp_scheduler.h"

struct sm {
    /* hot */
    uint64_t now;
    struct wakes wakes;
    uint64_t states[WARP_STATES];                       /* masks over warp slots; a free slot is in none */
    uint64_t wants[PIPE_COUNT];                         /* by the pipeline of their next instruction, READY or not */
    uint64_t quota_spent;                               /* warps whose application has no quota left (quota.c) */
    uint64_t fetch_refused;                             /* of those in FETCH: their fetch waits for any reply */
    uint64_t application_warps[CORUN_MAX_APPLICATIONS]; /* live: in any state but DRAIN and STILL */
    uint32_t present[CORUN_MAX_APPLICATIONS];           /* applications that have live warps, listed */
    uint32_t present_count;
    uint32_t scheduler_count;
    /* of the configuration, for what asks at each instruction */
    uint32_t collect_cycles;
    uint8_t bank_shift;         /* log2 of the reads that a bank serves in a cycle */
    bool watched;               /* each instruction is: profiling or tracing */
    bool fetch_perfect, greedy; /* the instruction cache is; a scheduler stays with its warp, then takes the oldest */
    uint64_t
        changed_warps; /* whose state, or what else a cause depends on, is another than when causes were looked up */
    struct stall_causes causes[MAX_SCHEDULERS];
    uint64_t resident_since; /* cycle up to which residency has been accounted for */
    uint64_t pipe_free[PIPE_COUNT][MAX_PIPES_PER_KIND];
    uint32_t pipe_units[PIPE_COUNT];
    uint32_t collectors, banks; /* of one scheduler */
    struct scheduler schedulers[MAX_SCHEDULERS];
    uint64_t older_warps[MAX_WARPS]; /* of each slot: the slots whose warp came before its own */
    struct sm_warp warps[MAX_WARPS];
    struct wake_wheel wheel;
    struct load_store load_store;
    struct corun_issue issue;
    struct sm_caches caches;
    struct port port;

    struct copy_engine copy_engine;
    struct quotas quota;
    struct preemption_engine preemption;
    uint64_t still_warps[CORUN_MAX_APPLICATIONS];
    uint64_t warp_thread_instructions[MAX_WARPS]; /* issued here by the warp in the slot */

    /* thread blocks */
    struct sm_tb tbs[MAX_TBS];
    VECTOR(struct incoming_tb) incoming; /* in order of cycle; from incoming_taken on */
    size_t incoming_taken;
    VECTOR(struct news) news;
    bool cluster_news; /* a warp of a cluster has come to its barrier, or ended, in this step */
    VECTOR(struct cluster_release) cluster_releases;
    uint64_t next_age;
    uint64_t newest_launch; /* for the L1 flush */
    uint32_t resident_warps, resident_tbs;
    uint32_t application_tbs[CORUN_MAX_APPLICATIONS];
    uint64_t removed;                                                    /* applications that were stopped, as a mask */
    struct corun_counters *application_counters[CORUN_MAX_APPLICATIONS]; /* of the kernel that came last */

    /* results */
    struct corun_counters **counters; /* [kernel slot], NULL if that kernel was never here */
    uint32_t counters_capacity;
    uint64_t busy_cycles, idle_scheduler_cycles;
    struct corun_counters together; /* scheduler cycles, each once: of shared times, and those alone that have ended */
    struct corun_counters before_alone;              /* where one application began to have the SM to itself */
    uint64_t progress_cycle[CORUN_MAX_APPLICATIONS]; /* last store, exit or completion */
    uint64_t barrier_free; /* from when on the unit for barriers takes the next warp that arrives */
    uint64_t next_sample, sample_cycles;
    uint64_t idle_warp_samples[CORUN_MAX_APPLICATIONS];
    uint32_t samples;
    bool failed; /* out of memory */

    /* tracing: events of this step, handed on in SM order */
    bool tracing, profiling;
    uint64_t trace_first, trace_last;
    VECTOR(struct corun_trace_event) trace;

    const struct corun_gpu_config *config;
    uint32_t index;
};

struct sm *sm_create(const struct corun_gpu_config *config, uint32_t index, struct reply_ring *replies,
                     struct reply_ring *cluster_replies);
void sm_destroy(struct sm *sm);
/* Advances to cycle `until` (exclusive). Everything that happens before it has happened then. */
void sm_run(struct sm *sm, uint64_t until);
/*
 * Earliest cycle at which the SM has something to do; NEVER if nothing. Now while it wants to fetch instructions and
 * cannot, so that steps follow one another without a gap: what its thread blocks' ends make others do does not come
 * later then.
 */
uint64_t sm_next(const struct sm *sm);
/* Takes everything of an application off the SM (it was stopped). Its statistics stay. */
void sm_remove_application(struct sm *sm, uint32_t application);
/* Another one takes its index: what is still under way for the one that was removed belongs to nobody. */
void sm_forget_application(struct sm *sm, uint32_t application);
struct corun_counters *sm_counters(struct sm *sm, uint32_t kernel_slot);
/* Before warps or thread blocks come, go or change what they are counted under: brings the counters up to date. */
void sm_account(struct sm *sm);

#endif
