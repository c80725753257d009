/* SPDX-License-Identifier: MIT */
/* Meetings of lanes: who has come, who is missing, what all of them compute, and which path runs until then. */
#include "isa/meeting.h"

#include "base/bits.h"
#include "isa/lanes.h"

#include <inttypes.h>
#include <string.h>

#define NO_PATH UINT32_MAX

/* An entry of the stack that takes part. */
struct site {
    const struct operation *op;
    uint32_t entry, lanes;
};

/* Those that have come to the same operation with masks in common. */
struct meeting {
    uint32_t count, lanes;
    uint32_t names[CORUN_WARP_LANES]; /* the mask of each lane */
    struct site sites[CORUN_WARP_LANES];
};

/* ---- who is there ---- */

static uint32_t mask_of(const struct simt_stack *stack, uint32_t entry)
{
    return entry == stack->depth ? stack->mask : stack->entries[entry].mask;
}

static uint32_t pc_of(const struct simt_stack *stack, uint32_t entry)
{
    return entry == stack->depth ? stack->pc : stack->entries[entry].pc;
}

/* Lanes that may still come to something. */
static uint32_t live_lanes(const struct corun_warp *warp)
{
    const struct simt_stack *stack = &warp->stack;
    uint32_t seen = stack->mask, live = stack->mask;
    for (uint32_t i = stack->depth; i-- > 0;) {
        const struct simt_entry *entry = &stack->entries[i];
        if (entry->mask & ~seen && !barrier_ends_kernel(warp, entry->pc))
            live |= entry->mask & ~seen;
        seen |= entry->mask;
    }
    return live;
}

static const uint32_t *names_of(const struct corun_warp *warp, const struct operation *op)
{
    return lanes_source(&warp->lanes, op->source[op->vector - 1]);
}

/* All that the lanes `mask` name. */
static uint32_t named_by(const struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    const uint32_t *names = names_of(warp, op);
    uint32_t named = 0;
    for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
        named |= mask >> lane & 1u ? names[lane] : 0;
    return named;
}

/* Lanes of an entry that wait at a meeting: none if they wait at a barrier (isa/barrier.c). */
static uint32_t meets(const struct corun_warp *warp, uint32_t entry)
{
    const uint32_t waits = warp->stack.entries[entry].waits;
    return waits && warp->code[pc_of(&warp->stack, entry)].kind == OPERATION_MEETING ? waits : 0;
}

static void join(const struct corun_warp *warp, struct meeting *meeting, uint32_t entry)
{
    const struct operation *op = &warp->code[pc_of(&warp->stack, entry)];
    const uint32_t lanes = warp->stack.entries[entry].waits, *names = names_of(warp, op);
    for (uint32_t rest = lanes; rest; rest &= rest - 1)
        meeting->names[lowest_bit(rest)] = names[lowest_bit(rest)];
    meeting->lanes |= lanes;
    meeting->sites[meeting->count++] = (struct site){op, entry, lanes};
}

static bool shares_a_mask(const struct corun_warp *warp, const struct meeting *meeting, const struct operation *op,
                          uint32_t lanes)
{
    const uint32_t *names = names_of(warp, op);
    for (uint32_t rest = lanes; rest; rest &= rest - 1)
        for (uint32_t others = meeting->lanes; others; others &= others - 1)
            if (names[lowest_bit(rest)] == meeting->names[lowest_bit(others)])
                return true;
    return false;
}

/* Is a waiting entry one of the meeting, which it has not joined yet? */
static bool belongs(const struct corun_warp *warp, const struct meeting *meeting, uint32_t entry)
{
    const uint32_t lanes = meets(warp, entry);
    const struct operation *op = &warp->code[pc_of(&warp->stack, entry)];
    return lanes && !(lanes & meeting->lanes) && op->run == meeting->sites[0].op->run &&
           shares_a_mask(warp, meeting, op, lanes);
}

/* The meeting at which a waiting entry is. */
static void gather(const struct corun_warp *warp, uint32_t entry, struct meeting *meeting)
{
    meeting->count = meeting->lanes = 0;
    join(warp, meeting, entry);
    for (uint32_t before = 0; before != meeting->count;) {
        before = meeting->count;
        for (uint32_t i = 0; i <= warp->stack.depth; i++)
            if (belongs(warp, meeting, i))
                join(warp, meeting, i);
    }
}

/* Lanes that a mask of the meeting names, and that have not come to it with that mask. */
static uint32_t missing_lanes(const struct corun_warp *warp, const struct meeting *meeting)
{
    uint32_t missing = 0;
    for (uint32_t rest = meeting->lanes; rest; rest &= rest - 1) {
        uint32_t name = meeting->names[lowest_bit(rest)], come = 0;
        for (uint32_t others = meeting->lanes; others; others &= others - 1)
            come |= meeting->names[lowest_bit(others)] == name ? others & -others : 0;
        missing |= name & ~come;
    }
    return missing & live_lanes(warp);
}

/* ---- what they compute ---- */

#define SCRATCH_SLOTS 6u /* the first source may take two, the others one, and the result one */
#define SCRATCH_RESULT 5u

static uint32_t predicate_of(const struct corun_warp *warp, const struct operation *op)
{
    uint32_t value = op->predicate_in == PREDICATE_TRUE    ? CORUN_FULL_MASK
                     : op->predicate_in == PREDICATE_FALSE ? 0
                                                           : warp->lanes.predicates[op->predicate_in];
    return op->predicate_in_negated ? ~value : value;
}

/* Each lane's operand of its own instruction; those of lanes that have not come are the first site's. */
static void collect_source(const struct corun_warp *warp, const struct meeting *meeting, uint32_t number, uint8_t *to)
{
    const struct operation *first = meeting->sites[0].op;
    const size_t bytes = number == 0 && first->extend & MEETING_WIDE ? 8 : 4;
    memcpy(to, lanes_source(&warp->lanes, first->source[number]), bytes * CORUN_WARP_LANES);
    for (uint32_t i = 1; i < meeting->count; i++) {
        const uint8_t *from = lanes_source(&warp->lanes, meeting->sites[i].op->source[number]);
        for (uint32_t rest = meeting->sites[i].lanes; rest; rest &= rest - 1)
            memcpy(to + bytes * lowest_bit(rest), from + bytes * lowest_bit(rest), bytes);
    }
}

static void hand_out(const struct corun_warp *warp, const struct site *site, const uint32_t *result,
                     const uint32_t *predicates)
{
    uint32_t *to = lanes_destination(&warp->lanes, site->op->destination);
    if (site->op->extend & MEETING_RESULT)
        for (uint32_t rest = site->lanes; rest; rest &= rest - 1)
            to[lowest_bit(rest)] = result[lowest_bit(rest)];
    for (uint32_t i = 0; i < 2; i++)
        if (site->op->predicate_out[i] != NO_PREDICATE) {
            uint32_t *predicate = &warp->lanes.predicates[site->op->predicate_out[i]];
            *predicate = (*predicate & ~site->lanes) | (predicates[i] & site->lanes);
        }
}

/* Lanes of several paths: their operands are brought together, the operation acts once, and each path gets its own lanes' results. */
static void compute_together(struct corun_warp *warp, const struct meeting *meeting)
{
    _Alignas(64) uint8_t registers[SCRATCH_SLOTS * SLOT_BYTES] = {0};
    uint32_t predicates[3] = {0};
    struct operation op = *meeting->sites[0].op;
    for (uint32_t i = 0; i < op.vector; i++) {
        op.source[i] = (uint16_t)(i ? i + 1 : 0);
        collect_source(warp, meeting, i, registers + op.source[i] * SLOT_BYTES);
    }
    op.destination = SCRATCH_RESULT;
    op.predicate_out[0] = 0;
    op.predicate_out[1] = 1;
    if (op.predicate_in != NO_PREDICATE) {
        op.predicate_in = 2;
        op.predicate_in_negated = 0;
        for (uint32_t i = 0; i < meeting->count; i++)
            predicates[2] |= predicate_of(warp, meeting->sites[i].op) & meeting->sites[i].lanes;
    }
    const struct lanes scratch = {registers, predicates, NULL};
    op.run(&op, &scratch, meeting->lanes);
    const void *result = registers + SCRATCH_RESULT * SLOT_BYTES;
    for (uint32_t i = 0; i < meeting->count; i++)
        hand_out(warp, &meeting->sites[i], result, predicates);
}

/* The operation is carried out; who has come goes on behind it. */
static void hold(struct corun_warp *warp, const struct meeting *meeting)
{
    struct simt_stack *stack = &warp->stack;
    const struct operation *op = meeting->sites[0].op;
    if (op->run && meeting->count == 1)
        op->run(op, &warp->lanes, meeting->lanes);
    else if (op->run)
        compute_together(warp, meeting);
    for (uint32_t i = 0; i < meeting->count; i++) {
        uint32_t entry = meeting->sites[i].entry;
        stack->entries[entry].waits = 0;
        if (entry == stack->depth)
            stack->pc++;
        else
            stack->entries[entry].pc++;
    }
}

/* Of the lanes `mask` those with the mask of the first one. */
static uint32_t alike(const struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    const uint32_t *names = names_of(warp, op);
    const uint32_t first = names[lowest_bit(mask)];
    uint32_t same = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        same |= names[lowest_bit(rest)] == first ? rest & -rest : 0;
    return same;
}

/*
 * Lanes of one path that name different masks, some of which are elsewhere, come one group after the other: a lane that waits for
 * another one's next operation must not hold up that one's first. The groups are one path again behind the operation.
 */
static uint32_t part_by_mask(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    struct simt_stack *stack = &warp->stack;
    const uint32_t same = alike(warp, op, mask);
    if (same == mask || stack->depth + 2u >= SIMT_ENTRIES(warp->tb->launch->call_depth))
        return mask;
    simt_diverge(stack, same, stack->pc, stack->pc, stack->pc + 1);
    return same;
}

void meeting_come(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    struct simt_stack *stack = &warp->stack;
    bool all = mask == CORUN_FULL_MASK || (stack->depth == 0 && mask == stack->mask);
    if (mask && !all && named_by(warp, op, mask) & ~mask & live_lanes(warp))
        mask = part_by_mask(warp, op, mask);
    if (!mask || all || !(named_by(warp, op, mask) & ~mask & live_lanes(warp))) {
        if (mask && op->run)
            op->run(op, &warp->lanes, mask);
        stack->pc++;
        simt_settle(stack);
        return;
    }
    stack->entries[stack->depth].waits = mask;
    stack->apart = 1;
}

/* ---- which path runs ---- */

/* A path that runs, best one with lanes that are missed, else the nearest one. */
static uint32_t find_running(const struct simt_stack *stack, uint32_t missing)
{
    uint32_t found = NO_PATH;
    for (uint32_t i = stack->depth + 1u; i-- > 0;) {
        if (stack->entries[i].waits || !simt_is_path(stack, i))
            continue;
        if (mask_of(stack, i) & missing)
            return i;
        found = found == NO_PATH ? i : found;
    }
    return found;
}

uint32_t meeting_next_place(const struct corun_warp *warp, uint32_t pc)
{
    const struct operation *op = &warp->code[pc];
    switch ((enum operation_kind)op->kind) {
    case OPERATION_BRANCH:
        if (branch_leavings(op))
            return MEETING_LEFT;
        return op->guard == NO_PREDICATE ? op->target : op->reconverge;
    case OPERATION_BRANCH_TABLE:
        return branch_leavings(op) ? MEETING_LEFT : op->reconverge;
    case OPERATION_MATRIX:
    case OPERATION_MATRIX_TRANSPOSE:
    case OPERATION_MATRIX_LOAD:
    case OPERATION_MATRIX_STORE:
    case OPERATION_RETURN:
    case OPERATION_EXIT:
    case OPERATION_TRAP:
    case OPERATION_BARRIER:
    case OPERATION_CLUSTER_ARRIVE:
    case OPERATION_CLUSTER_WAIT:
        return SIMT_NOWHERE;
    default:
        return pc + 1;
    }
}

void meeting_let_go(struct corun_warp *warp, uint32_t entry, uint32_t lanes, uint32_t place)
{
    call_leave(warp, entry, lanes);
    if (place == MEETING_LEFT)
        simt_take_out(&warp->stack, entry);
    else
        simt_let_go(&warp->stack, entry, place);
}

/* Of the lanes that a meeting misses, those that wait for others behind a branch become the top. False: there are none that may go. */
static bool let_go(struct corun_warp *warp, const struct meeting *meeting, uint32_t missing)
{
    struct simt_stack *stack = &warp->stack;
    if (!(meeting->sites[0].op->extend & MEETING_COMPUTED) ||
        stack->depth + 2u >= SIMT_ENTRIES(warp->tb->launch->call_depth))
        return false;
    for (uint32_t i = stack->depth; i-- > 0;) {
        uint32_t place =
            simt_waiting(stack, i) & missing ? meeting_next_place(warp, stack->entries[i].pc) : SIMT_NOWHERE;
        if (place == SIMT_NOWHERE)
            continue;
        meeting_let_go(warp, i, simt_waiting(stack, i), place);
        return true;
    }
    return false;
}

/* A meeting is held without the lanes `missing`, which cannot come: a note, or with the check a fault, and then false. */
static bool do_without(struct corun_warp *warp, const struct meeting *meeting, uint32_t missing)
{
    const struct corun_tb *tb = warp->tb;
    const struct simt_stack *stack = &warp->stack;
    const struct corun_instruction *instructions = tb->launch->kernel->instructions;
    const uint32_t(*thread)[CORUN_WARP_LANES] = (const uint32_t(*)[CORUN_WARP_LANES])tb->launch->thread[warp->index];
    uint32_t lane = lowest_bit(missing), at = stack->depth;
    while (at > 0 && !(mask_of(stack, at) >> lane & 1u))
        at--;
    const uint32_t mask = meeting->names[lowest_bit(meeting->lanes)], line = instructions[pc_of(stack, at)].line;
    if (tb->launch->instance->checks & CORUN_CHECK_SYNC) {
        fault_raise(
            warp, lowest_bit(meeting->lanes),
            "divergent operation of a warp: %" PRIu32 " threads of warp %" PRIu32 " wait with mask 0x%08" PRIx32
            ", thread (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ") of that mask is at line %" PRIu32 " and cannot come",
            count_bits(meeting->lanes), warp->index, mask, thread[0][lane], thread[1][lane], thread[2][lane], line);
        return false;
    }
    fault_note(warp, NOTE_MEETING,
               "waits with mask 0x%08" PRIx32 " for thread (%" PRIu32 ",%" PRIu32 ",%" PRIu32
               ") of thread block (%" PRIu32 ",%" PRIu32 ",%" PRIu32 "), which is at line %" PRIu32
               " and cannot come; the %" PRIu32 " threads that have come continue alone, which a GPU need not do",
               mask, thread[0][lane], thread[1][lane], thread[2][lane], tb->position.x, tb->position.y, tb->position.z,
               line, count_bits(meeting->lanes));
    return true;
}

/* Nobody runs. A meeting other than that of the top is held, or lanes are let go to it. False: there is none of which that is so. */
static bool hold_another(struct corun_warp *warp)
{
    for (uint32_t i = warp->stack.depth + 1u; i-- > 0;) {
        struct meeting other;
        if (!meets(warp, i))
            continue;
        gather(warp, i, &other);
        uint32_t missed = missing_lanes(warp, &other);
        if (!missed) /* those who have ended are missed no more */
            hold(warp, &other);
        if (!missed || let_go(warp, &other, missed))
            return true;
    }
    return false;
}

/* The top waits at a barrier of the thread block: who else runs; if nobody does, it comes to the barrier for all that are there. */
static void leave_to_others(struct corun_warp *warp)
{
    struct simt_stack *stack = &warp->stack;
    const uint32_t next = find_running(stack, 0);
    if (next != NO_PATH)
        simt_raise(stack, next);
    else if (!hold_another(warp) && !barrier_lets_go(warp))
        stack->entries[stack->depth].waits = 0;
}

/* Lanes that a meeting misses wait at a barrier: they come to that before. False: there are none. */
static bool pass_barrier(struct corun_warp *warp, uint32_t missing)
{
    struct simt_stack *stack = &warp->stack;
    for (uint32_t i = 0; i <= stack->depth; i++) {
        if (!(stack->entries[i].waits & missing) || meets(warp, i))
            continue;
        simt_raise(stack, i);
        stack->entries[stack->depth].waits = 0;
        return true;
    }
    return false;
}

/* The top waits: for whom it does, or who else runs, or who has to do without. False: a fault was raised. */
static bool find_work(struct corun_warp *warp)
{
    struct simt_stack *stack = &warp->stack;
    struct meeting meeting;
    if (!meets(warp, stack->depth)) {
        leave_to_others(warp);
        return true;
    }
    gather(warp, stack->depth, &meeting);
    uint32_t missing = missing_lanes(warp, &meeting);
    uint32_t next = missing ? find_running(stack, missing) : NO_PATH;
    if (next != NO_PATH) {
        simt_raise(stack, next);
        return true;
    }
    if (missing && (hold_another(warp) || pass_barrier(warp, missing)))
        return true;
    if (missing && !do_without(warp, &meeting, missing))
        return false;
    hold(warp, &meeting);
    return true;
}

bool meeting_go_on(struct corun_warp *warp)
{
    struct simt_stack *stack = &warp->stack;
    for (simt_settle(stack); stack->entries[stack->depth].waits; simt_settle(stack))
        if (!find_work(warp))
            return false;
    call_settle(warp);
    if (stack->depth == 0)
        stack->apart = 0;
    return true;
}
