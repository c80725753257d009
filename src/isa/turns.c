/* SPDX-License-Identifier: MIT */
/* Turns of the paths of a warp: which path waits in a loop, who could end that, and who is next. */
#include "isa/turns.h"

#include "base/bits.h"
#include "isa/address.h"
#include "isa/helpers.h"

#include <inttypes.h>

#define FIRST_ROUNDS 256u /* alike, for the first turn of a warp */
#define LATER_ROUNDS 2u
#define FIRST_POLLS 4u /* in these rounds, at least */
#define LATER_POLLS 2u
#define FIRST_PERIOD 256u /* rounds between looks, and twice as many after a look that found nothing, … */
#define LATER_PERIOD 1u   /* … once turns have been taken, … */
#define LAST_PERIOD 2048u /* … up to this, … */
#define FRESH_PERIOD 32u  /* … and up to this for FRESH_LOOKS looks behind a turn */
#define FRESH_LOOKS 256u
#define EMPTY_ROUNDS 32u    /* of a look without an access: the loop asks nothing, … */
#define MOST_EMPTY_LOOKS 5u /* … but may be one that lets time pass in a longer one: some looks are 2^5 times as long */
#define INSTRUCTIONS_PER_ROUND 64u /* without timing rounds are not counted until there is a look */

void turns_start(struct turns *turns)
{
    turns->rounds = 0;
    turns->period = turns->next_period = FIRST_PERIOD;
    turns->looks = 0;
    turns->taken = turns->in_row = turns->idle_looks = 0;
}

/* ---- the look ---- */

static void end_look(struct corun_warp *warp, uint32_t period)
{
    struct turns *turns = &warp->turns;
    warp->stack.looked_at = 0;
    turns->rounds = 0;
    turns->period = turns->next_period = period;
}

/* Nothing was found. */
static void look_later(struct corun_warp *warp)
{
    struct turns *turns = &warp->turns;
    const bool fresh = turns->taken && ++turns->idle_looks < FRESH_LOOKS;
    const uint32_t most = fresh ? FRESH_PERIOD : LAST_PERIOD, twice = 2 * turns->next_period;
    end_look(warp, twice < most ? twice : most);
}

void turns_look(struct corun_warp *warp)
{
    struct turns *turns = &warp->turns;
    if (!helpers_are_there(warp)) {
        look_later(warp);
        return;
    }
    warp->stack.looked_at = 1;
    turns->period = TURNS_LOOK;
    turns->looks++;
    turns->rounds = turns->fresh = 0;
    turns->same_rounds = turns->same_polls = turns->fences = 0;
}

void turns_instructions(struct corun_warp *warp, uint32_t instructions)
{
    struct turns *turns = &warp->turns;
    if (!warp->stack.depth || turns->period == TURNS_LOOK)
        return;
    turns->rounds += instructions / INSTRUCTIONS_PER_ROUND;
    if (turns->rounds >= turns->period)
        turns_look(warp);
}

/* ---- accesses ---- */

static uint64_t mix(uint64_t digest, uint64_t value)
{
    digest = (digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return digest ^ digest >> 29;
}

static uint64_t mix_lanes(uint64_t digest, const struct corun_warp *warp, uint16_t operand, uint32_t mask, bool wide)
{
    if (operand & OPERAND_CONSTANT)
        return digest;
    const void *slot = lanes_source(&warp->lanes, operand);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        digest = mix(digest, wide ? ((const uint64_t *)slot)[lane] : ((const uint32_t *)slot)[lane]);
    }
    return digest;
}

/* Nobody else sees these. */
static bool is_private(const struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    if (op->space == CORUN_SPACE_LOCAL || op->space == CORUN_SPACE_CONSTANT || op->variant & MEMORY_FRAME)
        return true;
    if (op->space != CORUN_SPACE_GENERIC || op->source[0] & OPERAND_CONSTANT || op->variant & MEMORY_ADDRESS_32)
        return false;
    const uint64_t *address = lanes_source(&warp->lanes, op->source[0]);
    return (address[lowest_bit(mask)] + (uint64_t)op->offset) >> WINDOW_SHIFT == WINDOW_LOCAL;
}

/* Changes memory each time. */
static bool counts_up(const struct operation *op)
{
    if (op->kind != OPERATION_ATOMIC || op->destination != OPERAND_DISCARD)
        return false;
    switch ((enum atomic_operation)op->extra[0]) {
    case ATOMIC_EXCHANGE:
    case ATOMIC_MINIMUM:
    case ATOMIC_MAXIMUM:
    case ATOMIC_AND:
    case ATOMIC_OR:
        return false;
    default:
        return true;
    }
}

static uint64_t digest_access(const struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    const bool wide = op->extend & EXTEND_WIDE, atomic = op->kind == OPERATION_ATOMIC;
    uint64_t digest = mix((uint64_t)(op - warp->code) + 1, mask);
    digest = mix_lanes(digest, warp, op->source[0], mask, !(op->variant & MEMORY_ADDRESS_32));
    if (op->kind != OPERATION_STORE)
        digest = mix_lanes(digest, warp, op->destination, mask, wide);
    if (op->kind != OPERATION_LOAD)
        digest = mix_lanes(digest, warp, op->source[1], mask, wide);
    if (atomic && op->extra[0] == ATOMIC_COMPARE)
        digest = mix_lanes(digest, warp, op->source[2], mask, wide);
    for (uint32_t i = 1; !atomic && i < op->vector && i < 5; i++)
        digest = mix_lanes(digest, warp, op->extra[i - 1], mask, wide);
    return digest;
}

/* False: that was one too many that are new. */
static bool note_access(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    struct turns *turns = &warp->turns;
    const uint64_t digest = digest_access(warp, op, mask);
    for (uint32_t i = 0; i < turns->fresh; i++)
        if (turns->seen[i] == digest) {
            turns->same_polls += op->kind == OPERATION_ATOMIC ||
                                 (op->kind == OPERATION_LOAD && (op->variant & MEMORY_STRONG || turns->fences));
            return true;
        }
    turns->same_rounds = turns->same_polls = turns->fences = 0;
    if (turns->fresh == TURNS_SEEN)
        return false;
    turns->seen[turns->fresh++] = digest;
    return true;
}

/* ---- turns ---- */

/* What a GPU without turns makes of it: a note, or with the check a fault, and then false. */
static bool tell(struct corun_warp *warp, uint32_t helpers, uint32_t pc)
{
    const struct corun_tb *tb = warp->tb;
    const struct launch *launch = tb->launch;
    const struct simt_stack *stack = &warp->stack;
    const uint32_t capability = launch->instance->compute_capability, lane = lowest_bit(helpers);
    if (warp->turns.taken || !capability || capability >= 70)
        return true;
    const uint32_t(*thread)[CORUN_WARP_LANES] = (const uint32_t(*)[CORUN_WARP_LANES])launch->thread[warp->index];
    const uint32_t line = launch->kernel->instructions[pc].line, waiting = count_bits(stack->mask);
    if (launch->instance->checks & CORUN_CHECK_SYNC) {
        fault_raise(warp, lowest_bit(stack->mask),
                    "threads of a warp wait for each other: %" PRIu32 " threads of warp %" PRIu32
                    " wait in a loop, thread (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ") is at line %" PRIu32
                    " and does not go on before them on a GPU before Volta (sm_70)",
                    waiting, warp->index, thread[0][lane], thread[1][lane], thread[2][lane], line);
        return false;
    }
    fault_note(warp, NOTE_TURNS,
               "waits in a loop with %" PRIu32 " threads of a warp, while thread (%" PRIu32 ",%" PRIu32 ",%" PRIu32
               ") of thread block (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ") is at line %" PRIu32
               "; they take turns, as on GPUs since Volta (sm_70); on this one the kernel never ends, unless another "
               "warp ends the wait",
               waiting, thread[0][lane], thread[1][lane], thread[2][lane], tb->position.x, tb->position.y,
               tb->position.z, line);
    return true;
}

/* The top waits in a loop: another path has its turn. False: a fault was raised. */
static bool give_turn(struct corun_warp *warp)
{
    struct turns *turns = &warp->turns;
    struct simt_stack *stack = &warp->stack;
    struct helper helper;
    bool behind = turns->in_row >= helpers_count(warp);
    if (!helpers_next(warp, behind, &helper)) {
        look_later(warp);
        return true;
    }
    if (!tell(warp, helper.lanes, stack->entries[helper.entry].pc))
        return false;
    turns->in_row = behind ? 0 : turns->in_row + 1;
    turns->taken++;
    turns->idle_looks = 0;
    end_look(warp, LATER_PERIOD);
    stack->apart = 1;
    helpers_run(warp, &helper);
    return true;
}

/* A round of the loop is over. False: a fault was raised. */
static bool end_round(struct corun_warp *warp)
{
    struct turns *turns = &warp->turns;
    const uint32_t wanted = turns->taken ? LATER_ROUNDS : FIRST_ROUNDS;
    const uint32_t polls = turns->taken ? LATER_POLLS : FIRST_POLLS;
    const uint32_t scale = lowest_bit(turns->looks | 1u << MOST_EMPTY_LOOKS);
    if (++turns->same_rounds >= wanted && turns->same_polls >= polls)
        return give_turn(warp);
    if ((!turns->fresh && turns->rounds > EMPTY_ROUNDS << scale) ||
        (turns->fresh && !turns->same_polls && turns->same_rounds > EMPTY_ROUNDS << scale))
        look_later(warp);
    return true;
}

bool turns_follow(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    const uint32_t pc = (uint32_t)(op - warp->code);
    switch ((enum operation_kind)op->kind) {
    case OPERATION_LOAD:
    case OPERATION_STORE:
    case OPERATION_ATOMIC:
        if (mask && !is_private(warp, op, mask) && (counts_up(op) || !note_access(warp, op, mask)))
            look_later(warp);
        return true;
    case OPERATION_FENCE:
        warp->turns.fences++;
        return true;
    case OPERATION_BULK:
    case OPERATION_MATRIX:
    case OPERATION_MATRIX_STORE:
    case OPERATION_BARRIER:
    case OPERATION_CLUSTER_ARRIVE:
    case OPERATION_CLUSTER_WAIT:
    case OPERATION_PRINT:
    case OPERATION_DEVICE_LAUNCH:
        look_later(warp);
        return true;
    case OPERATION_BRANCH:
        if (!warp->stack.depth)
            look_later(warp);
        else if (mask && op->target <= pc && warp->stack.pc == op->target)
            return end_round(warp);
        return true;
    default:
        return true;
    }
}

bool turns_before_barrier(struct corun_warp *warp)
{
    struct helper helper;
    if (!helpers_beside_barrier(warp, &helper))
        return false;
    helpers_run(warp, &helper);
    return true;
}
