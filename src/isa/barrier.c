/* SPDX-License-Identifier: MIT */
/*
 * Barriers of a thread block: who comes to them, what bar.red computes, and what is wrong where they are never met.
 *
 * A warp arrives as a whole, as PTX has it for .aligned barriers (bar.sync, __syncthreads): all threads of a warp that have not ended are to
 * come to them together. Where only a part does, the result is undefined on a GPU; here the warp counts as having come, and it is told.
 */
#include "base/kernel_name.h"
#include "isa/executor.h"

#include "base/bits.h"
#include "isa/lanes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static void join_reduction(struct corun_warp *warp, const struct operation *op, uint32_t mask, uint32_t number)
{
    uint32_t predicate = op->predicate_in == PREDICATE_TRUE    ? CORUN_FULL_MASK
                         : op->predicate_in == PREDICATE_FALSE ? 0
                                                               : warp->lanes.predicates[op->predicate_in];
    struct barrier_reduction *reduction = &warp->tb->reductions[number];
    reduction->threads += count_bits(mask);
    reduction->in_favour += count_bits((op->predicate_in_negated ? ~predicate : predicate) & mask);
    warp->reduction = op;
    warp->reduction_lanes = mask;
    warp->reduction_barrier = (uint8_t)number;
}

static void take_reduction(struct corun_warp *warp, const struct barrier_reduction *reduction)
{
    const struct operation *op = warp->reduction;
    uint32_t lanes = warp->reduction_lanes;
    if (op->variant == BARRIER_COUNT) {
        uint32_t *destination = lanes_destination(&warp->lanes, op->destination);
        for (uint32_t rest = lanes; rest; rest &= rest - 1)
            destination[lowest_bit(rest)] = reduction->in_favour;
        return;
    }
    bool yes = op->variant == BARRIER_AND ? reduction->in_favour == reduction->threads : reduction->in_favour != 0;
    if (op->predicate_out[0] != NO_PREDICATE) {
        uint32_t *predicate = &warp->lanes.predicates[op->predicate_out[0]];
        *predicate = yes ? *predicate | lanes : *predicate & ~lanes;
    }
}

void barrier_met(struct corun_tb *tb, uint32_t barrier)
{
    if (barrier >= CORUN_BARRIERS)
        return;
    tb->barriers_met++;
    struct barrier_reduction *reduction = &tb->reductions[barrier];
    if (!reduction->threads)
        return;
    for (uint32_t i = 0; i < tb->launch->grid.tb_warps; i++) {
        struct corun_warp *warp = &tb->warps[i];
        if (!warp->reduction || warp->reduction_barrier != barrier)
            continue;
        take_reduction(warp, reduction);
        warp->reduction = NULL;
    }
    *reduction = (struct barrier_reduction){0};
}

bool barrier_ends_kernel(const struct corun_warp *warp, uint32_t pc)
{
    const struct kernel_function *kernel = &warp->tb->launch->kernel->functions[0];
    const struct operation *op = &warp->code[pc];
    return op->guard == NO_PREDICATE &&
           (op->kind == OPERATION_EXIT ||
            (op->kind == OPERATION_RETURN && pc - kernel->first_operation < kernel->operation_count));
}

/* Do lanes at `pc` run from there to the end of the kernel, with nothing between that waits for others or chooses a way? */
static bool runs_to_end(const struct corun_warp *warp, uint32_t pc)
{
    for (;;) {
        const struct operation *op = &warp->code[pc];
        if (barrier_ends_kernel(warp, pc))
            return true;
        switch ((enum operation_kind)op->kind) {
        case OPERATION_LANES:
        case OPERATION_LOAD:
        case OPERATION_STORE:
        case OPERATION_ATOMIC:
        case OPERATION_SPECIAL_REGISTER:
            pc++;
            break;
        case OPERATION_BRANCH:
            if (op->guard != NO_PREDICATE || op->target <= pc)
                return false;
            pc = op->target;
            break;
        default:
            return false;
        }
    }
}

bool barrier_gives_way(struct corun_warp *warp, const struct operation *op)
{
    struct simt_stack *stack = &warp->stack;
    if (warp->turns.taken && op->variant != BARRIER_WARPGROUP && turns_before_barrier(warp))
        return true;
    if (op->extra[0] != BARRIER_ALIGNED || op->variant == BARRIER_WARPGROUP)
        return false;
    for (uint32_t i = stack->depth; i-- > 0;) {
        const struct simt_entry *entry = &stack->entries[i];
        if (!simt_is_path(stack, i) || entry->waits || barrier_ends_kernel(warp, entry->pc) ||
            !runs_to_end(warp, entry->pc))
            continue;
        simt_raise(stack, i);
        call_settle(warp);
        return true;
    }
    return false;
}

/* The lanes that have not ended and are not among `mask`; *line is where the first of them is. */
static uint32_t lanes_elsewhere(const struct corun_warp *warp, uint32_t mask, uint32_t *line)
{
    const struct simt_stack *stack = &warp->stack;
    const struct corun_instruction *instructions = warp->tb->launch->kernel->instructions;
    uint32_t seen = stack->mask, elsewhere = stack->mask & ~mask; /* a guard holds these back */
    if (barrier_ends_kernel(warp, stack->pc + 1))
        elsewhere = 0;
    *line = instructions[stack->pc].line;
    for (uint32_t i = stack->depth; i-- > 0;) {
        const struct simt_entry *entry = &stack->entries[i];
        uint32_t here = barrier_ends_kernel(warp, entry->pc) ? 0 : entry->mask & ~seen;
        if (here && (!elsewhere || lowest_bit(here) < lowest_bit(elsewhere)))
            *line = instructions[entry->pc].line;
        elsewhere |= here;
        seen |= entry->mask;
    }
    return elsewhere;
}

/* A part of a warp comes to a barrier that wants the whole: a note, or with the check a fault, and then false. */
static __attribute__((noinline)) bool check_whole(struct corun_warp *warp, uint32_t mask, uint32_t number)
{
    const struct corun_tb *tb = warp->tb;
    uint32_t line, elsewhere = lanes_elsewhere(warp, mask, &line);
    if (!elsewhere)
        return true;
    const uint32_t(*thread)[CORUN_WARP_LANES] = (const uint32_t(*)[CORUN_WARP_LANES])tb->launch->thread[warp->index];
    uint32_t first = lowest_bit(elsewhere), came = count_bits(mask), all = came + count_bits(elsewhere);
    if (tb->launch->instance->checks & CORUN_CHECK_SYNC) {
        fault_raise(warp, lowest_bit(mask),
                    "divergent barrier %" PRIu32 ": %" PRIu32 " of the %" PRIu32 " threads of warp %" PRIu32
                    " come to it, thread (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ") is at line %" PRIu32,
                    number, came, all, warp->index, thread[0][first], thread[1][first], thread[2][first], line);
        return false;
    }
    fault_note(warp, NOTE_BARRIER,
               "comes to barrier %" PRIu32 " with %" PRIu32 " of the %" PRIu32
               " threads of a warp, while thread (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ") of thread block (%" PRIu32
               ",%" PRIu32 ",%" PRIu32 ") is at line %" PRIu32
               "; the kernel continues as if all had come, which a GPU need not do",
               number, came, all, thread[0][first], thread[1][first], thread[2][first], tb->position.x, tb->position.y,
               tb->position.z, line);
    return true;
}

/* The number and the count of threads are those of the first active lane: PTX wants all lanes to agree. */
bool barrier_arrive(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result)
{
    if (op->variant == BARRIER_WARPGROUP)
        return warpgroup_arrive(warp, op, mask, result);
    uint32_t lane = lowest_bit(mask);
    uint32_t number = ((const uint32_t *)lanes_source(&warp->lanes, op->source[0]))[lane];
    uint32_t threads = ((const uint32_t *)lanes_source(&warp->lanes, op->source[1]))[lane];
    if (number >= CORUN_BARRIERS) {
        fault_raise(warp, lane, "barrier %u does not exist: there are 16", number);
        return false;
    }
    if (threads % CORUN_WARP_LANES) {
        fault_raise(warp, lane, "barrier %u for %u threads: not a multiple of 32", number, threads);
        return false;
    }
    if (op->extra[0] == BARRIER_ALIGNED && mask != CORUN_FULL_MASK && !check_whole(warp, mask, number))
        return false;
    result->outcome = CORUN_OUTCOME_BARRIER;
    result->barrier = (uint8_t)number;
    result->barrier_threads = threads;
    warp->barrier_number = (uint8_t)number;
    warp->barrier_threads = threads;
    warp->barrier_line = warp->tb->launch->kernel->instructions[warp->stack.pc].line;
    result->barrier_waits = op->variant != BARRIER_ARRIVE;
    if (op->variant >= BARRIER_COUNT)
        join_reduction(warp, op, mask, number);
    return true;
}

static bool has_ended(const struct corun_warp *warp)
{
    return warp->stack.mask == 0;
}

static bool waits_with(const struct corun_warp *warp, const struct corun_warp *other)
{
    return !has_ended(warp) && !has_ended(other) && warp->barrier_number == other->barrier_number &&
           warp->barrier_line == other->barrier_line && warp->barrier_threads == other->barrier_threads;
}

/* Cut where there is no more room. */
static __attribute__((format(printf, 3, 4))) size_t add(char *text, size_t used, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = used < FAULT_BYTES ? vsnprintf(text + used, FAULT_BYTES - used, format, arguments) : 0;
    va_end(arguments);
    return length > 0 ? used + (size_t)length : used;
}

/* "warp 3", "warps 0 to 2 and 5" */
static size_t add_warps(char *text, size_t used, uint32_t warps)
{
    used = add(text, used, count_bits(warps) == 1 ? "warp " : "warps ");
    for (const char *between = ""; warps; between = ", ") {
        uint32_t first = lowest_bit(warps), behind = first;
        while (behind < MAX_TB_WARPS && warps >> behind & 1u)
            behind++;
        used = add(text, used, "%s%" PRIu32, between, first);
        if (behind - first > 1)
            used = add(text, used, behind - first > 2 ? " to %" PRIu32 : ", %" PRIu32, behind - 1);
        warps &= behind < MAX_TB_WARPS ? ~UINT32_C(0) << behind : 0;
    }
    return used;
}

const char *barrier_deadlock(struct corun_tb *tb, struct corun_place *place)
{
    const struct launch *launch = tb->launch;
    uint32_t count = launch->grid.tb_warps, told = 0, ended = 0;
    size_t used = add(tb->fault, 0,
                      "kernel %.200s, thread block (%" PRIu32 ",%" PRIu32 ",%" PRIu32 "): a barrier can never be met",
                      KERNEL_NAME(launch->kernel->info.name), tb->position.x, tb->position.y, tb->position.z);
    *place = (struct corun_place){launch->grid.file, 0, 0};
    for (uint32_t i = 0; i < count; i++) {
        const struct corun_warp *warp = &tb->warps[i];
        uint32_t together = 0;
        if (has_ended(warp))
            ended |= 1u << i;
        for (uint32_t other = i; other < count; other++)
            together |= waits_with(warp, &tb->warps[other]) ? 1u << other : 0;
        if (has_ended(warp) || told >> i & 1u)
            continue;
        if (!told)
            place->line = warp->barrier_line;
        used = add_warps(tb->fault, add(tb->fault, used, told ? ", " : ", waiting: "), together);
        used = warp->barrier_number < CORUN_BARRIERS
                   ? add(tb->fault, used, " at barrier %u (line %" PRIu32, warp->barrier_number, warp->barrier_line)
                   : add(tb->fault, used, " at wgmma.mma_async (line %" PRIu32, warp->barrier_line);
        used = warp->barrier_threads ? add(tb->fault, used, ", for %" PRIu32 " threads)", warp->barrier_threads)
                                     : add(tb->fault, used, ")");
        told |= together;
    }
    used = add(tb->fault, used, "; ");
    if (ended)
        used = add_warps(tb->fault, used, ended);
    add(tb->fault, used, "%s ended", !ended ? "none has" : count_bits(ended) == 1 ? " has" : " have");
    return tb->fault;
}
