/* SPDX-License-Identifier: MIT */
/*
 * A warp on an SM: the state that it is in, its scoreboard, and what it is counted under.
 *
 * A warp is in one state at a time. The states are masks over the warp slots (sm->states), which nothing but
 * warp_set_state, the beginning and the end of a warp change.
 */
#ifndef CORUN_GPU_WARP_H
#define CORUN_GPU_WARP_H

#include "gpu/cache_lines.h"
#include "gpu/kernel.h"
#include "gpu/sm_limits.h"

#include <stddef.h>

struct sm;

/* State of a resident warp with regard to its next instruction. */
enum warp_state {
    WARP_READY,
    WARP_DATA, /* waits for an operand that is being computed */
    WARP_LOAD, /* waits for an operand that is being loaded */
    WARP_BARRIER,
    WARP_FENCE,   /* waits for its stores and atomics to be performed, or for its copies */
    WARP_CONTROL, /* a branch is being resolved, or a barrier released */
    WARP_FETCH,   /* its instruction is not in the instruction cache */
    WARP_DRAIN,   /* has ended, but loads, atomics or copies of it are under way */
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

/* What nearly every instruction needs is in the first line of the host's cache. */
struct sm_warp {
    _Alignas(HOST_LINE_BYTES) struct corun_warp *source;
    const struct corun_source_operations *operations; /* of the source */
    const struct machine_op *op;                      /* next instruction */
    struct corun_counters *counters;
    uint64_t *ready;   /* [kernel->hazard_entries] */
    uint64_t ready_at; /* it can issue from this cycle on, whatever else happens; NEVER: that has to be looked at */
    uint32_t pc;
    uint32_t issued; /* instructions, since it came here */
    uint8_t tb;
    uint8_t application;
    uint8_t state;       /* what it waits for, or waited for if it is in the mask of those that are ready: warp_state */
    uint8_t pipe;        /* of its next instruction: in which `wants` mask it stands */
    uint8_t bank_offset; /* its register r lies in bank (r + this) mod banks of its scheduler */
    uint64_t not_before; /* control: cycle from which it may issue */
    uint64_t fetched_line; /* line of the instruction cache it has */
    uint64_t since;        /* profile: when the state began */
    struct machine_kernel *kernel;
    uint32_t pending;          /* loads and atomics with a result under way */
    uint32_t writes;           /* stores and reductions under way */
    uint32_t copies;           /* under way in the copy engine */
    uint32_t copy_groups;      /* ended so far */
    uint32_t generation;       /* counts the warps that had this slot: late acknowledgements are recognised */
    uint32_t cluster_arrivals; /* at the barrier of its cluster */
    uint32_t ready_capacity;
};
_Static_assert(offsetof(struct sm_warp, not_before) == HOST_LINE_BYTES, "the first line is full");

/* Registers that the instruction writes have this entry from now on. */
static inline void warp_set_ready(struct sm_warp *warp, const struct machine_op *op, uint64_t entry)
{
    const uint16_t *written = machine_op_written(op);
    if (!op->written_count)
        return;
    uint64_t *ready = warp->ready;
    for (uint32_t i = 0; i < FEW_WRITTEN; i++)
        ready[written[i]] = entry;
    for (uint32_t i = FEW_WRITTEN; i < op->written_count; i++)
        ready[written[i]] = entry;
}

uint64_t warp_latest_further(const struct sm_warp *warp, const struct machine_op *op, uint64_t latest);

/* The latest entry of those that the instruction waits for; 0: none. */
static inline uint64_t warp_latest_entry(const struct sm_warp *warp, const struct machine_op *op)
{
    const uint16_t *hazards = machine_op_hazards(op);
    uint64_t latest = 0;
    if (!op->hazard_count)
        return latest;
    for (uint32_t i = 0; i < FEW_HAZARDS; i++) {
        uint64_t entry = warp->ready[hazards[i]];
        latest = entry > latest ? entry : latest;
    }
    return op->hazard_count <= FEW_HAZARDS ? latest : warp_latest_further(warp, op, latest);
}

/* A warp of the thread block in `tb_slot` takes the slot; it is in no state yet. false: out of memory. */
bool warp_begin(struct sm *sm, uint32_t warp, uint32_t tb_slot, struct corun_warp *source);
void warp_set_state(struct sm *sm, uint32_t warp, enum warp_state state);
enum warp_state warp_state(const struct sm *sm, uint32_t warp);
/* Its next instruction is the one at warp->pc. */
void warp_set_next(struct sm *sm, uint32_t warp);
/* These have what they waited for, as warp->ready_at said: data or a load. */
void warps_become_ready(struct sm *sm, uint64_t warps);
/* Finds out what the warp's next instruction waits for, sets its state and the wake-up that it needs. */
void warp_evaluate(struct sm *sm, uint32_t warp);
/* Has it its next instruction? Otherwise *until: when it tries again, if it is known. */
bool warp_fetched(struct sm *sm, uint32_t warp, uint64_t *until);
/* It has issued its last instruction; and again when what it had under way is there. */
void warp_end(struct sm *sm, uint32_t warp);
/* Profile: adds the time in the warp's present state to its next instruction. */
void warp_profile(struct sm *sm, uint32_t warp);

#endif
