/* SPDX-License-Identifier: MIT */
/*
 * Runs the instructions of a warp without timing. What most kernels mostly do has a short way here: operations over lanes one after
 * the other as far as nobody can leave or meet (op->straight), branches that all lanes take or none, plain loads and
 * stores (access_quick.c). Kernels that run for long get machine code for these (native.h). The rest goes the way that it goes with timing.
 */
#include "isa/executor.h"
#include "isa/native_frame.h"

#include "base/bits.h"

static inline uint32_t active_lanes(const struct corun_warp *warp, const struct operation *op)
{
    uint32_t mask = warp->stack.mask;
    if (op->guard != NO_PREDICATE) {
        uint32_t guard = warp->lanes.predicates[op->guard];
        mask &= op->guard_negated ? ~guard : guard;
    }
    return mask;
}

static inline uint32_t lane_count(uint32_t mask)
{
    return mask == CORUN_FULL_MASK ? CORUN_WARP_LANES : count_bits(mask);
}

/* What has been run since the caller was told. */
struct tally {
    uint64_t warps, threads;
    int64_t merged; /* instructions of the PTX beyond those */
};

static inline void count_lanes(struct tally *tally, const struct operation *op, uint32_t mask)
{
    uint32_t lanes = lane_count(mask);
    tally->warps++;
    tally->threads += lanes;
    tally->merged += (int64_t)lanes * op->merged;
}

static inline void tell(struct tally *tally, struct corun_functional_result *count)
{
    count->warp_instructions += tally->warps;
    count->thread_instructions += tally->threads;
    count->ptx_thread_instructions += tally->threads + (uint64_t)tally->merged;
    *tally = (struct tally){0, 0, 0};
}

/* `length` operations over lanes, of which only the last one can be followed by a meeting point. */
static inline void run_straight(struct corun_warp *warp, const struct operation *op, uint32_t length, uint32_t all,
                                struct tally *tally)
{
    uint32_t guarded = 0;
    int32_t merged = 0; /* by each lane */
    for (const struct operation *end = op + length; op < end; op++) {
        if (op->guard == NO_PREDICATE) {
            op->run(op, &warp->lanes, all);
            merged += op->merged;
            continue;
        }
        uint32_t mask = active_lanes(warp, op), active = lane_count(mask);
        if (mask)
            op->run(op, &warp->lanes, mask);
        guarded++;
        tally->threads += active;
        tally->merged += (int64_t)active * op->merged;
    }
    uint32_t lanes = lane_count(all);
    tally->warps += length;
    tally->threads += (uint64_t)lanes * (length - guarded);
    tally->merged += (int64_t)lanes * merged;
    warp->stack.pc += length;
    simt_settle(&warp->stack);
}

/* Machine code from a block on. Gives how many instructions it ran. */
static inline uint64_t run_code(struct corun_warp *warp, const struct native_code *native, const void *code,
                                struct native_frame *frame, uint64_t left, struct tally *tally)
{
    uint64_t lanes = lane_count(warp->stack.mask);
    frame->left = left;
    frame->mask = warp->stack.mask;
    frame->reconverge = warp->stack.reconverge;
    frame->unguarded = frame->guarded_threads = 0;
    frame->unguarded_merged = frame->guarded_merged = 0;
    native->enter(frame, code);
    tally->warps += left - frame->left;
    tally->threads += lanes * frame->unguarded + frame->guarded_threads;
    tally->merged += (int64_t)lanes * frame->unguarded_merged + frame->guarded_merged;
    return left - frame->left;
}

/* The same for all code of a warp's turn. */
static inline void fill_frame(struct native_frame *frame, struct corun_warp *warp)
{
    const struct corun_tb *tb = warp->tb;
    const struct launch *launch = tb->launch;
    frame->warp = warp;
    frame->sm = tb->sm;
    frame->faulted = 0;
    frame->shared = (struct memory_cache){0, launch->grid.tb_shared_bytes, tb->shared};
    frame->parameters = (struct memory_cache){0, launch->parameter_bytes, launch->parameters};
}

/* False: it takes a closer look, and nothing has been done. */
static inline bool run_quickly(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    struct simt_stack *stack = &warp->stack;
    switch ((enum operation_kind)op->kind) {
    case OPERATION_BRANCH:
        if ((mask && mask != stack->mask) || kernel_leaves_places(warp->tb->launch->kernel, op, !mask))
            return false;
        stack->pc = mask == stack->mask ? op->target : stack->pc + 1;
        break;
    case OPERATION_LOAD:
        if (!op->quick || !mask || !access_load_quick(warp, op, mask))
            return false;
        stack->pc++;
        break;
    case OPERATION_STORE:
        if (!op->quick || !mask || !access_store_quick(warp, op, mask))
            return false;
        stack->pc++;
        break;
    case OPERATION_ATOMIC:
        if (!mask || !access_atomic_quick(warp, op, mask))
            return false;
        stack->pc++;
        break;
    default:
        return false;
    }
    simt_settle(stack);
    return true;
}

enum corun_outcome executor_run(struct corun_warp *warp, uint64_t *budget, struct corun_functional_result *count,
                                struct corun_issue *result)
{
    struct tally tally = {0, 0, 0};
    struct native_frame frame;
    struct native_code *native =
        warp->tb->sm->touch ? NULL : warp->tb->launch->code; /* code tells nobody what it touches */
    if (native)
        fill_frame(&frame, warp);
    uint64_t left = *budget;
    result->outcome = CORUN_OUTCOME_NEXT;
    while (left && result->outcome == CORUN_OUTCOME_NEXT) {
        const struct operation *op = &warp->code[warp->stack.pc];
        const uint32_t all = warp->stack.mask;
        if (native && all && !warp->stack.apart && !warp->stack.looked_at) {
            const void *code = native_find(native, all != CORUN_FULL_MASK, warp->stack.pc, left);
            uint64_t done = code ? run_code(warp, native, code, &frame, left, &tally) : 0;
            left -= done;
            if (frame.faulted) {
                op = &warp->code[warp->stack.pc];
                result->active = active_lanes(warp, op);
                result->outcome = CORUN_OUTCOME_FAULT;
                count_lanes(&tally, op, result->active);
                left--;
                break;
            }
            if (done) {
                simt_settle(&warp->stack);
                continue;
            }
        }
        /* A whole warp meets wherever it comes; others may have to wait. */
        const uint32_t straight = all == CORUN_FULL_MASK ? op->straight : op->apart;
        if (straight && all && !warp->stack.apart) {
            uint32_t length = straight < left ? straight : (uint32_t)left;
            run_straight(warp, op, length, all, &tally);
            left -= length;
            continue;
        }
        left--;
        uint32_t mask = active_lanes(warp, op);
        if (warp->stack.apart || warp->stack.looked_at || !run_quickly(warp, op, mask)) {
            tell(&tally, count); /* it may ask what time it is */
            executor_step(warp, result);
            mask = result->active;
        }
        count_lanes(&tally, op, mask);
    }
    tell(&tally, count);
    *budget = left;
    return result->outcome;
}
