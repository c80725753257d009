/* SPDX-License-Identifier: MIT */
/*
 * One streaming multiprocessor.
 *
 * An SM is advanced by events, not by cycles: a warp is in exactly one state, the states are masks over the warp slots,
 * and only a wake-up, a reply or an issue changes them. Between synchronisation points an SM touches nothing but itself,
 * its warps' source (under its own SM index) and its reply ring, so that SMs can run on different threads.
 *
 *   sm.c              the loop over cycles, thread blocks coming and going
 *   warp_scheduler.c  which ready warp issues
 *   issue.c           what happens when it does: operands, pipelines, scoreboard, barriers
 *   load_store.c      memory instructions and their transactions
 *   coalescer.c       addresses → transactions;  shared_memory.c  addresses → bank conflicts
 *   miss.c            L1, texture, constant and instruction caches with their MSHRs
 *   stall.c           which cause a cycle without issue has
 *   quota.c           what each application may still issue
 *   context.c         thread blocks that leave before they are done, and come back
 */
#ifndef CORUN_GPU_SM_H
#define CORUN_GPU_SM_H

#include "base/bits.h"
#include "base/vector.h"
#include "gpu/cache.h"
#include "gpu/context.h"
#include "gpu/launch.h"
#include "gpu/memory_system.h"
#include "gpu/quota.h"
#include "gpu/wake_wheel.h"

#define MAX_SMS 1024u
#define MAX_WARPS 64u
#define MAX_TBS 64u
#define MAX_SCHEDULERS 8u
#define MAX_BARRIERS 16u
#define MAX_PIPES_PER_KIND 16u
#define MAX_COLLECTORS 64u
#define MAX_BANKS 64u
#define PART_BYTES 32u /* of a line: what the coalescer keeps of a load; sectors are multiples of it */
#define NOTHING UINT32_MAX
#define NEVER UINT64_MAX

/* State of a resident warp with regard to its next instruction. */
enum warp_state {
    WARP_READY,
    WARP_DATA, /* waits for an operand that is being computed */
    WARP_LOAD, /* waits for an operand that is being loaded */
    WARP_BARRIER,
    WARP_FENCE,   /* waits for its stores and atomics to be performed */
    WARP_CONTROL, /* a branch is being resolved, or a barrier released */
    WARP_FETCH,   /* its instruction is not in the instruction cache */
    WARP_DRAIN,   /* has ended, but loads or atomics of it are under way */
    WARP_STILL,   /* its thread block is being swapped out, or the whole SM is */
    WARP_STATES
};

/*
 * Scoreboard entry: the cycle from which the register can be read, times two, plus one if it comes from memory. Unknown
 * yet: UNKNOWN. A register that was never written is ready since cycle 0.
 */
#define UNKNOWN UINT64_MAX
static inline uint64_t ready_entry(uint64_t cycle, bool from_memory)
{
    return cycle << 1 | from_memory;
}

struct sm_warp {
    struct corun_warp *source;
    const struct machine_op *op; /* next instruction */
    struct corun_counters *counters;
    uint64_t *ready; /* [kernel->hazard_entries] */
    uint32_t ready_capacity;
    uint32_t pc;
    uint64_t age;          /* order of arrival on the SM: lower is older */
    uint64_t not_before;   /* control: cycle from which it may issue */
    uint64_t fetched_line; /* line of the instruction cache it has */
    uint64_t since;        /* profile: when the state began */
    struct machine_kernel *kernel;
    uint32_t pending;    /* loads and atomics with a result under way */
    uint32_t writes;     /* stores and reductions under way */
    uint32_t generation; /* counts the warps that had this slot: late acknowledgements are recognised */
    uint8_t tb;
    uint8_t application;
    uint8_t state;
    uint8_t pipe;        /* in which `wants` mask it stands, PIPE_COUNT: none */
    uint8_t bank_offset; /* its register r lies in bank (r + this) mod banks of its scheduler */
};

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
    struct barrier barriers[MAX_BARRIERS];
    uint64_t age;                 /* order of arrival on the SM */
    uint64_t thread_instructions; /* of warps that have ended, and from before it came here */

    /* on its way out or in (context.c) */
    uint8_t phase;     /* enum tb_phase */
    uint8_t departure; /* enum departure */
    bool still;        /* its warps are WARP_STILL */
    bool free_transfer;
    bool ordered; /* loading, and to leave at once */
    struct context_order order;
    struct context *context;
    uint32_t context_moved, context_packets; /* bytes sent or asked for, packets that were not answered */
    uint32_t token;
    uint64_t stopped_cycle, quiet_cycle;
};

/* What an SM reports at the next synchronisation point. */
enum news_kind {
    NEWS_TB_COMPLETE,
    NEWS_TB_STOPPED,
    NEWS_TB_SAVED,
    NEWS_TB_DROPPED,
    NEWS_TB_RESUMED,
    NEWS_FAULT,
    NEWS_DEADLOCK,
    NEWS_NO_MEMORY,
    NEWS_QUOTAS_SPENT
};
struct news {
    uint64_t cycle;
    uint64_t since; /* SAVED, DROPPED: when it was stopped */
    struct launch *launch;
    struct context *context; /* SAVED, RESUMED */
    struct tb_needs needs;
    uint32_t tb_index;
    uint8_t kind;
    uint8_t application;
    char *message; /* FAULT, DEADLOCK: owned by the news */
    struct corun_place place;
};

/* A thread block on its way to the SM. */
struct arrival {
    uint64_t cycle;
    struct launch *launch;
    uint32_t tb_index;
    bool free_transfer;
    struct context *context; /* NULL: a new one */
};

/* One load or atomic under way. */
struct load_record {
    uint64_t done; /* latest of what is known */
    const struct machine_op *op;
    uint32_t outstanding; /* misses or atomics that have not been answered */
    uint32_t ticket;
    uint32_t generation;
    uint16_t warp;
    bool open;      /* its transactions have not all been started */
    bool atomic;    /* `ticket` is to be completed */
    bool reduction; /* no result: counts as a write of the warp */
    uint8_t application;
    uint8_t lanes; /* active */
    const struct corun_grid *grid;
};

struct transaction {
    uint64_t line; /* address, aligned to the line that was coalesced to */
    uint32_t lanes;
    uint32_t touched;  /* mask of its 32-byte parts */
    uint32_t repeats;  /* atomics: most lanes at one address */
    uint64_t bytes[4]; /* stores and atomics: mask of the bytes that lanes touch (lines of up to 256 bytes) */
};

/* The caches of an SM that share one miss machinery. */
enum client {
    CLIENT_L1,
    CLIENT_TEXTURE,
    CLIENT_CONSTANT,
    CLIENT_INSTRUCTION,
    CLIENT_CACHES,
    CLIENT_STORE = CLIENT_CACHES,
    CLIENT_ATOMIC,
    CLIENT_CONTEXT
};

struct sm_cache {
    struct cache *tags;  /* NULL: no such cache, every access goes out */
    uint32_t *line_mshr; /* per line: first MSHR that fetches part of it */
    uint32_t line_bytes, sector_bytes, latency;
};

struct mshr {
    uint32_t next;    /* of the same line, or in the free list */
    uint32_t line;    /* index in its cache, CACHE_NO_LINE: none (uncached or flushed) */
    uint32_t sectors; /* of its cache */
    uint32_t waiter;  /* first */
    uint32_t merged;
    uint8_t client;
};

struct waiter {
    uint32_t next;
    uint32_t record;     /* load record; for the instruction cache: warp slot */
    uint32_t generation; /* instruction cache only */
};

/* A memory instruction in the load/store unit. */
struct memory_entry {
    uint64_t ready;  /* earliest cycle to be served */
    uint32_t record; /* NOTHING for stores */
    uint32_t generation;
    uint32_t ticket;
    uint16_t warp;
    uint16_t kernel;
    uint16_t bank_cycles;  /* shared memory and perfect constant cache: cycles that they are taken */
    uint16_t bank_latency; /* and when data comes after the last of these */
    uint8_t application;
    uint8_t client; /* cache its transactions go to */
    uint8_t flags;  /* CORUN_LOAD, CORUN_STORE, CORUN_ATOMIC, CORUN_REDUCTION as they are */
    bool bypass;    /* not looked up in the L1 */
    uint8_t lanes;  /* active, of a store */
    uint16_t next, count;
    struct corun_counters *counters;
    const struct corun_grid *grid;
    struct transaction transactions[CORUN_WARP_LANES];
};

struct load_store {
    struct memory_entry *entries; /* ring of config memory_queue (rounded up to a power of two) */
    uint32_t mask, head, count;
    uint32_t record_count; /* of the SM: in use and free */
    uint64_t busy_until;
    uint64_t stalled_since;
    bool stalled;
};

struct scheduler {
    uint64_t warps;  /* slots that belong to it */
    uint64_t active; /* two_level: the active set */
    uint64_t free_at;
    uint64_t collector_free[MAX_COLLECTORS];
    uint64_t bank_free[MAX_BANKS];
    uint32_t last; /* slot that issued last, NOTHING: none */
};

struct sm {
    /* hot */
    uint64_t now;
    uint64_t wake;                                      /* when it has to look again by itself */
    uint64_t due;                                       /* no later than what take_due looks for */
    uint64_t states[WARP_STATES];                       /* masks over warp slots; a free slot is in none */
    uint64_t wants[PIPE_COUNT];                         /* of the READY warps */
    uint64_t quota_spent;                               /* warps whose application has no quota left (quota.c) */
    uint64_t fetch_refused;                             /* of those in FETCH: their fetch waits for any reply */
    uint64_t application_warps[CORUN_MAX_APPLICATIONS]; /* live: in any state but DRAIN and STILL */
    uint32_t present[CORUN_MAX_APPLICATIONS];           /* applications that have live warps, listed */
    uint32_t present_count;
    uint32_t scheduler_count;
    bool states_changed; /* since the causes below were looked up */
    uint32_t cause_count;
    uint64_t cause_cycles; /* collected for each of the causes */
    uint64_t *causes[MAX_SCHEDULERS * (CORUN_MAX_APPLICATIONS + 1)];
    uint64_t resident_since; /* cycle up to which residency has been accounted for */
    uint64_t pipe_free[PIPE_COUNT][MAX_PIPES_PER_KIND];
    uint32_t pipe_units[PIPE_COUNT];
    uint8_t first_unit[PIPE_COUNT][MAX_SCHEDULERS]; /* the pipelines of a kind that a scheduler may use start here */
    uint32_t collectors, banks;                     /* of one scheduler */
    struct scheduler schedulers[MAX_SCHEDULERS];
    struct sm_warp warps[MAX_WARPS];
    struct wake_wheel wheel;
    struct load_store load_store;
    struct corun_issue issue;
    struct reply_ring *replies;

    struct quotas quota;
    struct context_engine context;
    uint64_t still_warps[CORUN_MAX_APPLICATIONS];
    uint64_t warp_thread_instructions[MAX_WARPS]; /* issued here by the warp in the slot */

    /* memory */
    struct sm_cache caches[CLIENT_CACHES];
    struct mshr *mshrs;
    struct waiter *waiters;
    uint32_t free_mshr, free_waiter, mshrs_used;
    struct load_record *records;
    uint32_t *free_records;
    uint32_t free_record_count;
    uint32_t under_way;         /* packets that were not answered */
    uint32_t *writes_under_way; /* [kernel slot], as many as `counters` */
    VECTOR(struct packet) out;  /* packets of this step */

    /* thread blocks */
    struct sm_tb tbs[MAX_TBS];
    VECTOR(struct arrival) arrivals; /* in order of cycle; from arrivals_taken on */
    size_t arrivals_taken;
    VECTOR(struct news) news;
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

/* sm.c */
struct sm *sm_create(const struct corun_gpu_config *config, uint32_t index, struct reply_ring *replies);
void sm_destroy(struct sm *sm);
/* Advances to cycle `until` (exclusive). Everything that happens before it has happened then. */
void sm_run(struct sm *sm, uint64_t until);
/*
 * Earliest cycle at which the SM has something to do; NEVER if nothing. Now while it wants to fetch instructions and cannot, so
 * that steps follow one another without a gap: what its thread blocks' ends make others do does not come later then.
 */
uint64_t sm_next(const struct sm *sm);
/* Announces a thread block; arrivals must be announced in order of cycle. false: out of memory. */
bool sm_announce(struct sm *sm, const struct arrival *arrival);
/* Takes everything of an application off the SM (it was stopped). Its statistics stay. */
void sm_remove_application(struct sm *sm, uint32_t application);
/* Another one takes its index: what is still under way for the one that was removed belongs to nobody. */
void sm_forget_application(struct sm *sm, uint32_t application);
struct corun_counters *sm_counters(struct sm *sm, uint32_t kernel_slot);
void sm_post(struct sm *sm, struct news news);
/* Before warps or thread blocks come, go or change what they are counted under: brings the counters up to date. */
void sm_account(struct sm *sm);
/* A free slot for a thread block, whose `source` is NULL. */
struct sm_tb *sm_tb_slot(struct sm *sm);
/*
 * Gives warp slots to the `count` warps of a thread block and notes them; the warps are in no state yet. false:
 * the SM has failed.
 */
bool sm_tb_seat(struct sm *sm, struct sm_tb *tb, struct corun_warp *const *warps, uint32_t count, uint32_t *slots);
/* Frees the slot and the warps of a thread block; what is under way for them finds nobody. */
void sm_tb_remove(struct sm *sm, struct sm_tb *tb);

/* warp states (sm.c) */
void warp_set_state(struct sm *sm, uint32_t warp, enum warp_state state);
/* Profile: adds the time in the warp's present state to its next instruction. */
void warp_profile(struct sm *sm, uint32_t warp);
/* Finds out what the warp's next instruction waits for, sets its state and the wake-up that it needs. */
void warp_evaluate(struct sm *sm, uint32_t warp);
void warp_end(struct sm *sm, uint32_t warp);

/* issue.c */
void sm_issue(struct sm *sm, uint32_t scheduler, uint32_t warp);
void barrier_warp_ended(struct sm *sm, uint32_t tb);

/* warp_scheduler.c: NOTHING if no candidate; `candidates` is not 0 */
uint32_t warp_scheduler_pick(struct sm *sm, uint32_t scheduler, uint64_t candidates);
/* two_level: the part of `candidates` that is in the active set, after bringing that up to date */
uint64_t warp_scheduler_active(struct sm *sm, uint32_t scheduler, uint64_t candidates);

/* load_store.c */
bool load_store_create(struct sm *sm);
void load_store_destroy(struct sm *sm);
static inline bool load_store_has_room(const struct sm *sm)
{
    return sm->load_store.count < sm->config->memory_queue;
}
/* A pipeline of the kind can start an instruction that is issued now. */
static inline bool pipe_available(const struct sm *sm, uint32_t scheduler, uint32_t pipe)
{
    if (pipe == PIPE_MEMORY)
        return load_store_has_room(sm);
    uint64_t start = sm->now + sm->config->collect_cycles;
    for (uint32_t unit = sm->first_unit[pipe][scheduler]; unit < sm->pipe_units[pipe]; unit += sm->scheduler_count)
        if (sm->pipe_free[pipe][unit] <= start)
            return true;
    return false;
}

static inline bool collector_available(const struct sm *sm, uint32_t scheduler)
{
    for (uint32_t i = 0; i < sm->collectors; i++)
        if (sm->schedulers[scheduler].collector_free[i] <= sm->now)
            return true;
    return false;
}

/* Takes over a memory instruction that was just issued (sm->issue); operands are collected at `start`. */
void load_store_accept(struct sm *sm, uint32_t warp, const struct machine_op *op, uint64_t start);
void load_store_tick(struct sm *sm);
uint64_t load_store_next(const struct sm *sm);
/* Takes a reply of the memory system that has arrived. */
void load_store_reply(struct sm *sm, const struct packet *packet);
void record_settle(struct sm *sm, uint32_t record);
bool packet_send(struct sm *sm, const struct packet *packet); /* false: too many under way */
/* As sm_forget_application: atomics are completed for nobody, stores cost nobody quota. */
void load_store_forget_application(struct sm *sm, uint32_t application);

/*
 * coalescer.c: lanes → transactions of one line each; returns their number. `writes`: the bytes are noted one by one, else
 * only the parts of the line.
 */
uint32_t coalesce(const struct corun_issue *issue, uint32_t lanes, uint32_t access_bytes, uint32_t line_bytes,
                  uint32_t access_lanes, bool writes, struct transaction *transactions);
/* Mask of the sectors in which every byte is written. */
uint32_t sectors_full(const struct transaction *transaction, uint32_t line_bytes, uint32_t sector_bytes);
/* Mask of the sectors in which any byte is touched. */
static inline uint32_t sectors_touched(const struct transaction *transaction, uint32_t sector_bytes)
{
    if (sector_bytes == PART_BYTES)
        return transaction->touched;
    uint32_t mask = 0;
    for (uint32_t rest = transaction->touched; rest; rest &= rest - 1)
        mask |= 1u << lowest_bit(rest) * PART_BYTES / sector_bytes;
    return mask;
}

/* shared_memory.c: cycles that the banks are taken by the lanes' accesses, >= 1 */
uint32_t shared_memory_cycles(const struct corun_gpu_config *config, const uint64_t *addresses, uint32_t lanes,
                              uint32_t access_bytes, bool atomic);

/* miss.c */
bool miss_create(struct sm *sm);
void miss_destroy(struct sm *sm);
enum lookup { LOOKUP_HIT, LOOKUP_MISS, LOOKUP_FULL };
/*
 * Reads the bytes of `transaction` through a cache: HIT: data after the cache's latency; MISS: the record's outstanding
 * count has been raised by what it waits for; FULL: nothing was changed, try again after the next reply.
 */
enum lookup cache_read(struct sm *sm, enum client client, const struct transaction *transaction, bool bypass,
                       uint32_t record, uint32_t generation, uint16_t kernel, uint8_t application);
void miss_reply(struct sm *sm, const struct packet *packet);
void caches_flush(struct sm *sm); /* L1 and texture cache: a kernel starts */
void caches_clear(struct sm *sm); /* all of them; nothing is under way */
/* true if the instruction at `address` can be used now; else the warp is woken when it can. FULL: tried again each cycle. */
enum lookup instruction_fetch(struct sm *sm, uint32_t warp);

/* stall.c: `issued` has the application that each scheduler issued, NOTHING if none; `any`: one of them did */
void stall_account(struct sm *sm, const uint32_t *issued, bool any, uint64_t cycles);
void stall_flush(struct sm *sm); /* brings the counters up to date */
/* An application begins or ceases to be the only one here, or to be counted under one kernel. */
void stall_one_begins(struct sm *sm);
void stall_one_ends(struct sm *sm);
/* Where the cycles of the schedulers went: issue_cycles and stall_..., each cycle with warps of anybody in one of them. */
void stall_of_schedulers(const struct sm *sm, struct corun_counters *counters);

#endif
