/* SPDX-License-Identifier: MIT */
/*
 * Barriers of a thread block: who comes to them, what bar.red computes, and what is wrong where they are never met.
 *
 * A warp arrives as a whole, as PTX has it for .aligned barriers (bar.sync, __syncthreads): all threads of a warp that have not ended are to
 * come to them together. GPUs since Volta count threads: a part of a warp that comes to a barrier at which threads wait stays there, its entry
 * of the stack says so, and the other parts run on until they come to a barrier, too, or end. Then those that are at the same
 * one arrive together, and each goes on behind its own instruction. Threads that wait behind a branch for the part are let go up to the next place
 * where all of them come together, unless the barrier is .aligned: to one of these, a whole warp is to come.
 *
 * A part that comes to barrier.arrive goes on. Its threads are counted in the thread block: whenever they are as many as a warp has, one of the warps arrives. They stand
 * for what a warp lacks that comes to the same barrier to wait, too.
 *
 * Where a part is still missing then, the result is undefined on a GPU, or the GPU counts what is not counted here (threads of a warp at two
 * barriers); the warp counts as having come, and it is told. So it is from the first part on with GPUs before Volta, unless paths of the warp have had
 * turns (turns.h): these bring a part to a barrier which such a GPU brings there with the others.
 */
#include "base/kernel_name.h"
#include "isa/executor.h"

#include "base/bits.h"
#include "isa/lanes.h"
#include "isa/meeting.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Lanes of a warp, all those that come to this operation, say what they have to. */
static void join_reduction(struct corun_warp *warp, const struct operation *op, uint32_t mask, uint32_t number)
{
    uint32_t predicate = op->predicate_in == PREDICATE_TRUE    ? CORUN_FULL_MASK
                         : op->predicate_in == PREDICATE_FALSE ? 0
                                                               : warp->lanes.predicates[op->predicate_in];
    struct barrier_reduction *reduction = &warp->tb->reductions[number];
    reduction->threads += count_bits(mask);
    reduction->in_favour += count_bits((op->predicate_in_negated ? ~predicate : predicate) & mask);
    warp->reduction_pc[warp->reductions] = (uint32_t)(op - warp->code);
    warp->reduction_lanes[warp->reductions++] = mask;
    warp->reduction_barrier = (uint8_t)number;
}

static void take_reduction(struct corun_warp *warp, const struct barrier_reduction *reduction, uint32_t part)
{
    const struct operation *op = &warp->code[warp->reduction_pc[part]];
    const uint32_t lanes = warp->reduction_lanes[part];
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
    tb->parts[barrier] = 0;
    struct barrier_reduction *reduction = &tb->reductions[barrier];
    if (!reduction->threads)
        return;
    for (uint32_t i = 0; i < tb->launch->grid.tb_warps; i++) {
        struct corun_warp *warp = &tb->warps[i];
        if (warp->reduction_barrier != barrier)
            continue;
        for (uint32_t k = 0; k < warp->reductions; k++)
            take_reduction(warp, reduction, k);
        warp->reductions = 0;
    }
    *reduction = (struct barrier_reduction){0};
}

/* Lanes for which the guard is true end here. */
static bool ends_lanes(const struct corun_warp *warp, uint32_t pc)
{
    const struct kernel_function *kernel = &warp->tb->launch->kernel->functions[0];
    const struct operation *op = &warp->code[pc];
    return op->kind == OPERATION_EXIT ||
           (op->kind == OPERATION_RETURN && pc - kernel->first_operation < kernel->operation_count);
}

bool barrier_ends_kernel(const struct corun_warp *warp, uint32_t pc)
{
    return warp->code[pc].guard == NO_PREDICATE && ends_lanes(warp, pc);
}

static bool counts_threads(const struct corun_warp *warp)
{
    const uint32_t capability = warp->tb->launch->instance->compute_capability;
    return !capability || capability >= 70 || warp->turns.taken;
}

/*
 * Have lanes at `pc` ended, as far as a barrier goes to which others of the warp come? In a worker each waits at its end until the others do; where warps are
 * counted, a barrier is for the warp though these stay there.
 */
static bool are_through(const struct corun_warp *warp, uint32_t pc)
{
    return barrier_ends_kernel(warp, pc) || (pc == warp->tb->launch->kernel->worker_end && !counts_threads(warp));
}

enum { MOST_WAYS = 64 }; /* that are looked at */

/* Where the ways begin that lead on from a place, each once. */
struct ways {
    uint32_t begin[MOST_WAYS];
    uint32_t count;
    bool end; /* one of them comes to the end of the kernel */
};

/* False: too many. */
static bool add_way(struct ways *ways, uint32_t pc)
{
    for (uint32_t i = 0; i < ways->count; i++)
        if (ways->begin[i] == pc)
            return true;
    if (ways->count == MOST_WAYS)
        return false;
    ways->begin[ways->count++] = pc;
    return true;
}

/* Follows one to the end of the kernel or where it goes on as another one. False: on it something waits for others, or is not looked at. */
static bool follow(const struct corun_warp *warp, struct ways *ways, uint32_t pc)
{
    for (;; pc++) {
        const struct operation *op = &warp->code[pc];
        if (are_through(warp, pc)) {
            ways->end = true;
            return true;
        }
        switch ((enum operation_kind)op->kind) {
        case OPERATION_LANES:
        case OPERATION_LOAD:
        case OPERATION_STORE:
        case OPERATION_ATOMIC:
        case OPERATION_SPECIAL_REGISTER:
        case OPERATION_EXIT: /* of some */
            break;
        case OPERATION_BRANCH:
            return add_way(ways, op->target) && (op->guard == NO_PREDICATE || add_way(ways, pc + 1));
        default:
            return false;
        }
    }
}

/* Do lanes at `pc` run to the end of the kernel, whichever ways they take, with nothing between that waits for others? */
static bool runs_to_end(const struct corun_warp *warp, uint32_t pc)
{
    struct ways ways = {.count = 0};
    bool known = add_way(&ways, pc);
    for (uint32_t i = 0; i < ways.count && known; i++)
        known = follow(warp, &ways, ways.begin[i]);
    return known && ways.end;
}

/* A path beside the top that can run and has more to do than to end, with `ends` one that meets nobody before that; UINT32_MAX: there is none. */
static uint32_t find_path(const struct corun_warp *warp, bool ends)
{
    const struct simt_stack *stack = &warp->stack;
    for (uint32_t i = stack->depth; i-- > 0;) {
        const struct simt_entry *entry = &stack->entries[i];
        if (simt_is_path(stack, i) && !entry->waits && !are_through(warp, entry->pc) &&
            (!ends || runs_to_end(warp, entry->pc)))
            return i;
    }
    return UINT32_MAX;
}

/* As far as lanes that wait at `pc` for the others of their path may run without them. */
static uint32_t next_place(const struct corun_warp *warp, uint32_t pc)
{
    const struct operation *op = &warp->code[pc];
    if (ends_lanes(warp, pc))
        return op->guard == NO_PREDICATE ? SIMT_NOWHERE : pc + 1;
    if (op->kind == OPERATION_BARRIER && op->variant != BARRIER_WARPGROUP && op->extra[0] != BARRIER_ALIGNED)
        return pc + 1; /* everyone comes there by himself */
    return meeting_next_place(warp, pc);
}

/* Threads that wait behind a branch for the part of the warp that is at the barrier become the top, as far as they come. False: there are none. */
static bool let_go(struct corun_warp *warp)
{
    struct simt_stack *stack = &warp->stack;
    if (stack->depth + 2u >= SIMT_ENTRIES(warp->tb->launch->call_depth))
        return false;
    for (uint32_t i = stack->depth; i-- > 0;) {
        const uint32_t pc = stack->entries[i].pc, lanes = simt_waiting(stack, i);
        const uint32_t place = lanes ? next_place(warp, pc) : SIMT_NOWHERE;
        if (place == SIMT_NOWHERE)
            continue;
        meeting_let_go(warp, i, lanes, place);
        return true;
    }
    return false;
}

bool barrier_lets_go(struct corun_warp *warp)
{
    return warp->code[warp->stack.pc].extra[0] != BARRIER_ALIGNED && let_go(warp);
}

struct arrival {
    uint32_t number, threads;
    uint32_t lanes; /* of other paths that arrive with the top */
    uint32_t same;  /* of these, those that are at its instruction, without those that its guard holds back */
};

static void read_arrival(const struct corun_warp *warp, const struct operation *op, uint32_t lane,
                         struct arrival *arrival)
{
    arrival->number = ((const uint32_t *)lanes_source(&warp->lanes, op->source[0]))[lane];
    arrival->threads = ((const uint32_t *)lanes_source(&warp->lanes, op->source[1]))[lane];
}

/* Threads that come to a barrier, for so many: are they counted by themselves? To an .aligned one a whole warp is to come. */
static bool counts_parts(const struct corun_warp *warp, const struct operation *op, uint32_t threads)
{
    return threads && op->extra[0] != BARRIER_ALIGNED && counts_threads(warp);
}

/* With those that have come in parts to go on, is this a whole warp? */
static bool is_completed(const struct corun_warp *warp, uint32_t pc, uint32_t lanes)
{
    const struct operation *op = &warp->code[pc];
    struct arrival arrival = {0};
    if (op->kind != OPERATION_BARRIER || op->variant != BARRIER_WAIT)
        return false;
    read_arrival(warp, op, lowest_bit(lanes), &arrival);
    return arrival.number < CORUN_BARRIERS && counts_parts(warp, op, arrival.threads) &&
           warp->tb->parts[arrival.number] + count_bits(lanes) >= CORUN_WARP_LANES;
}

/* A path that waits for others at a barrier, and is completed; UINT32_MAX: there is none. */
static uint32_t find_completed(const struct corun_warp *warp)
{
    const struct simt_stack *stack = &warp->stack;
    for (uint32_t i = stack->depth; i-- > 0;)
        if (stack->entries[i].waits && simt_is_path(stack, i) &&
            is_completed(warp, stack->entries[i].pc, stack->entries[i].waits))
            return i;
    return UINT32_MAX;
}

/* A part of a warp is at a barrier: others run. False: there is nobody who could. */
static bool wait_for_others(struct corun_warp *warp)
{
    struct simt_stack *stack = &warp->stack;
    const uint32_t path = find_path(warp, false), top = stack->depth;
    const uint32_t completed =
        path == UINT32_MAX && !is_completed(warp, stack->pc, stack->mask) ? find_completed(warp) : UINT32_MAX;
    stack->entries[top].waits = stack->mask;
    if (path != UINT32_MAX) {
        simt_raise(stack, path);
    } else if (completed != UINT32_MAX) {
        stack->entries[completed].waits = 0;
        simt_raise(stack, completed);
    } else if (!barrier_lets_go(warp)) {
        stack->entries[top].waits = 0;
        return false;
    }
    stack->apart = 1;
    call_settle(warp);
    return true;
}

bool barrier_gives_way(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    struct simt_stack *stack = &warp->stack;
    if (op->variant == BARRIER_WARPGROUP)
        return false;
    if (warp->turns.taken && turns_before_barrier(warp))
        return true;
    const bool whole = op->extra[0] == BARRIER_ALIGNED || !counts_threads(warp); /* is for whole warps */
    const uint32_t path = whole ? find_path(warp, true) : UINT32_MAX;
    if (path != UINT32_MAX) {
        simt_raise(stack, path);
        call_settle(warp);
        return true;
    }
    return mask && op->variant != BARRIER_ARRIVE && counts_threads(warp) && wait_for_others(warp);
}

/* ---- who has come ---- */

/* May threads of these two operations meet? All at a barrier reduce, and in the same way, or none does. */
static bool meet(const struct operation *op, const struct operation *other)
{
    return op->kind == OPERATION_BARRIER && op->variant == other->variant && op->variant != BARRIER_ARRIVE;
}

/* Does an entry wait at the barrier to which the top comes, so that one arrival is both? */
static bool comes_with(const struct corun_warp *warp, uint32_t index, const struct operation *op,
                       const struct arrival *arrival)
{
    const struct simt_entry *entry = &warp->stack.entries[index];
    const struct operation *other = &warp->code[entry->pc];
    struct arrival theirs;
    if (!entry->waits || !meet(other, op))
        return false;
    read_arrival(warp, other, lowest_bit(entry->waits), &theirs);
    return theirs.number == arrival->number && theirs.threads == arrival->threads;
}

static uint32_t let_by_guard(const struct corun_warp *warp, const struct operation *op, uint32_t lanes)
{
    const uint32_t guard = op->guard == NO_PREDICATE ? CORUN_FULL_MASK : warp->lanes.predicates[op->guard];
    return lanes & (op->guard_negated ? ~guard : guard);
}

static void find_others(const struct corun_warp *warp, const struct operation *op, struct arrival *arrival)
{
    const struct simt_stack *stack = &warp->stack;
    for (uint32_t i = 0; i < stack->depth; i++) {
        if (!comes_with(warp, i, op, arrival))
            continue;
        arrival->lanes |= stack->entries[i].waits;
        if (&warp->code[stack->entries[i].pc] == op)
            arrival->same |= let_by_guard(warp, op, stack->entries[i].waits);
    }
}

/* They go on behind the barrier when the top does. */
static void take_others(struct corun_warp *warp, const struct operation *op, const struct arrival *arrival)
{
    for (uint32_t i = 0; i < warp->stack.depth; i++) {
        struct simt_entry *entry = &warp->stack.entries[i];
        const struct operation *other = &warp->code[entry->pc];
        if (!comes_with(warp, i, op, arrival))
            continue;
        if (op->variant >= BARRIER_COUNT)
            join_reduction(warp, other, let_by_guard(warp, other, entry->waits), arrival->number);
        entry->waits = 0;
        entry->pc++;
    }
}

/* The lanes that have not ended and are neither among `mask`, of the top, nor among `others`; *line is where the first of them is. */
static uint32_t lanes_elsewhere(const struct corun_warp *warp, uint32_t mask, uint32_t others, uint32_t *line)
{
    const struct simt_stack *stack = &warp->stack;
    const struct corun_instruction *instructions = warp->tb->launch->kernel->instructions;
    uint32_t seen = stack->mask | others, elsewhere = stack->mask & ~mask; /* a guard holds these back */
    if (barrier_ends_kernel(warp, stack->pc + 1))
        elsewhere = 0;
    *line = instructions[stack->pc].line;
    for (uint32_t i = stack->depth; i-- > 0;) {
        const struct simt_entry *entry = &stack->entries[i];
        uint32_t here = are_through(warp, entry->pc) ? 0 : entry->mask & ~seen;
        if (here && (!elsewhere || lowest_bit(here) < lowest_bit(elsewhere)))
            *line = instructions[entry->pc].line;
        elsewhere |= here;
        seen |= entry->mask;
    }
    return elsewhere;
}

/* A part of a warp comes to a barrier, with `others`, where the whole is to come: a note, or with the check a fault, and then false. */
static __attribute__((noinline)) bool check_whole(struct corun_warp *warp, uint32_t mask, uint32_t others,
                                                  uint32_t number)
{
    const struct corun_tb *tb = warp->tb;
    uint32_t line, elsewhere = lanes_elsewhere(warp, mask, others, &line);
    if (!elsewhere)
        return true;
    const uint32_t(*thread)[CORUN_WARP_LANES] = (const uint32_t(*)[CORUN_WARP_LANES])tb->launch->thread[warp->index];
    uint32_t first = lowest_bit(elsewhere), came = count_bits(mask | others), all = came + count_bits(elsewhere);
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

/* A part of a warp has come and goes on. True: with it, as many as a warp has have come in parts, or it is all that is left of its warp. */
static bool add_part(struct corun_warp *warp, uint32_t mask, uint32_t number)
{
    uint8_t *parts = &warp->tb->parts[number];
    uint32_t line;
    if (!*parts && !lanes_elsewhere(warp, mask, 0, &line))
        return true;
    const uint32_t come = *parts + count_bits(mask);
    *parts = (uint8_t)(come % CORUN_WARP_LANES);
    return come >= CORUN_WARP_LANES;
}

/* A part of a warp has come to wait, with others: those that have come to go on are what the warp lacks. False: there are too few. */
static bool take_parts(struct corun_warp *warp, uint32_t mask, uint32_t others, uint32_t number)
{
    uint8_t *parts = &warp->tb->parts[number];
    const uint32_t lacks = CORUN_WARP_LANES - count_bits(mask | others);
    uint32_t line;
    if (!lanes_elsewhere(warp, mask, others, &line)) /* it is all that is left of its warp */
        return true;
    if (*parts < lacks)
        return false;
    *parts = (uint8_t)(*parts - lacks);
    return true;
}

/* False: a fault was raised. */
static bool come_in_part(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct arrival *arrival)
{
    find_others(warp, op, arrival);
    const uint32_t others = op->extra[0] == BARRIER_ALIGNED ? arrival->same : arrival->lanes;
    if (!(counts_parts(warp, op, arrival->threads) && take_parts(warp, mask, arrival->lanes, arrival->number)) &&
        !check_whole(warp, mask, others, arrival->number))
        return false;
    take_others(warp, op, arrival);
    return true;
}

/* The number and the count of threads are those of the first active lane: PTX wants all lanes to agree. */
bool barrier_arrive(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result)
{
    if (op->variant == BARRIER_WARPGROUP)
        return warpgroup_arrive(warp, op, mask, result);
    struct arrival arrival = {0};
    uint32_t lane = lowest_bit(mask);
    read_arrival(warp, op, lane, &arrival);
    const uint32_t number = arrival.number, threads = arrival.threads;
    if (number >= CORUN_BARRIERS) {
        fault_raise(warp, lane, "barrier %u does not exist: there are 16", number);
        return false;
    }
    if (threads % CORUN_WARP_LANES) {
        fault_raise(warp, lane, "barrier %u for %u threads: not a multiple of 32", number, threads);
        return false;
    }
    if (mask != CORUN_FULL_MASK && op->variant == BARRIER_ARRIVE && counts_parts(warp, op, threads)) {
        if (!add_part(warp, mask, number))
            return true;
    } else if (mask != CORUN_FULL_MASK && !come_in_part(warp, op, mask, &arrival)) {
        return false;
    }
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
