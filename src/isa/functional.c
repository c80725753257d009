/* SPDX-License-Identifier: MIT */
/*
 * A run without timing: one thread block after the other, stores and atomics at once. One that does not come to its end soon may be
 * waiting for others: they are begun too, and take turns with it. Those of a cluster are begun together, take turns, and end together.
 * Where somebody asks what is touched, thread blocks run side by side, as many as on the machine: caches depend on that order. A run can stand
 * still between two turns (corun_functional_continue), as a kernel may also wait for its host.
 */
#include "base/kernel_name.h"
#include "isa/cluster.h"

#include "base/bits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURN 20000u      /* warp instructions before the next warp has its turn: one may wait for another in a loop */
#define SHORT_TURN 1000u /* the same while thread blocks take turns */
#define PATIENCE 262144u /* warp instructions of a thread block before others are begun beside it */
#define MOST_IN_FLIGHT 4096u /* thread blocks begun and not ended, where no more have to be there at once */

struct barrier_state {
    uint32_t waiting; /* warps */
    uint32_t arrived;
    uint32_t threads; /* that have arrived */
    uint32_t wanted;  /* threads; 0: every warp that has not ended */
};

struct functional_tb {
    struct corun_tb *tb;
    uint32_t live, ready; /* warps */
    uint32_t warp;        /* that has its turn */
    uint64_t left;        /* warp instructions until the watchdog */
    struct barrier_state barriers[CORUN_MEETINGS];
    uint32_t cluster_arrived, cluster_waiting; /* warps at the barrier of the cluster */
    uint32_t cluster_phases;                   /* of that barrier, that are complete */
    uint32_t arrivals[MAX_TB_WARPS];           /* of each warp there */
    uint64_t issued[MAX_TB_WARPS];             /* by each warp */
};

/* Thread blocks that have begun and not ended, in the order of their indices. */
struct flight {
    struct functional_tb *states;
    uint32_t count, capacity;
    uint32_t begun;   /* of the launch, with those that have ended */
    uint32_t places;  /* how many may take turns, side by side */
    uint64_t ended;   /* warp instructions when one of them ended last, of those that run side by side */
    uint64_t came_on; /* the same of all */
};

/* A launch on its way. */
struct corun_functional_run {
    struct launch *launch;
    struct corun_untimed how;
    struct corun_diagnostics *list;
    struct corun_functional_result count;
    struct flight flight;
    uint16_t *turns; /* find_turns; NULL: nobody asks what is touched */
};

static void open_if_met(struct functional_tb *state, struct barrier_state *barrier)
{
    if (!barrier->arrived)
        return;
    bool met = barrier->wanted ? barrier->threads >= barrier->wanted : (state->live & ~barrier->arrived) == 0;
    if (!met)
        return;
    barrier_met(state->tb, (uint32_t)(barrier - state->barriers));
    state->ready |= barrier->waiting & state->live;
    *barrier = (struct barrier_state){0};
}

static void arrive(struct functional_tb *state, uint32_t warp, const struct corun_issue *issue)
{
    struct barrier_state *barrier = &state->barriers[issue->barrier];
    barrier->arrived |= 1u << warp;
    barrier->threads += CORUN_WARP_LANES;
    barrier->wanted = issue->barrier_threads;
    if (issue->barrier_waits) {
        barrier->waiting |= 1u << warp;
        state->ready &= ~(1u << warp);
    }
    open_if_met(state, barrier);
}

/* The barrier of a cluster, whose thread blocks lie side by side. */
static void open_cluster_if_met(struct functional_tb *state)
{
    struct functional_tb *first = state - state->tb->rank;
    uint32_t size = state->tb->cluster ? cluster_size(state->tb->launch) : 1;
    bool any = false, all = true;
    for (uint32_t i = 0; i < size; i++) {
        any |= first[i].cluster_arrived != 0;
        all &= (first[i].live & ~first[i].cluster_arrived) == 0;
    }
    for (uint32_t i = 0; any && all && i < size; i++) {
        first[i].cluster_phases++;
        first[i].ready |= first[i].cluster_waiting & first[i].live;
        first[i].cluster_arrived = first[i].cluster_waiting = 0;
    }
}

static void come_to_cluster(struct functional_tb *state, uint32_t warp, const struct corun_issue *issue)
{
    if (issue->cluster_arrives) {
        state->arrivals[warp]++;
        state->cluster_arrived |= 1u << warp;
    }
    if (issue->cluster_waits && state->arrivals[warp] > state->cluster_phases) {
        state->cluster_waiting |= 1u << warp;
        state->ready &= ~(1u << warp);
    }
    open_cluster_if_met(state);
}

static const char *describe_tb(const struct corun_tb *tb, char *text, size_t bytes)
{
    snprintf(text, bytes, "kernel %.200s, thread block (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ")",
             KERNEL_NAME(tb->launch->kernel->info.name), tb->position.x, tb->position.y, tb->position.z);
    return text;
}

static enum corun_status report_deadlock(const struct functional_tb *state, struct corun_diagnostics *list)
{
    struct corun_place place;
    const char *message = barrier_deadlock(state->tb, &place);
    return corun_report(list, CORUN_DEADLOCK, place, "%s", message);
}

static enum corun_status report_watchdog(const struct functional_tb *state, uint32_t warp, uint64_t watchdog,
                                         struct corun_diagnostics *list)
{
    const struct corun_tb *tb = state->tb;
    char name[300];
    uint32_t line = tb->launch->kernel->instructions[tb->warps[warp].stack.pc].line;
    return corun_report(list, CORUN_WATCHDOG, (struct corun_place){tb->launch->grid.file, line, 0},
                        "%s: not at its end after %" PRIu64 " warp instructions; warp %" PRIu32 " is here",
                        describe_tb(tb, name, sizeof name), watchdog, warp);
}

/* Runs until every warp has ended or so many warp instructions have been run. Each warp has `turn` of them before the next one. */
static enum corun_status run_tb(struct functional_tb *state, uint64_t instructions, uint64_t turn, uint64_t watchdog,
                                struct corun_diagnostics *list, struct corun_functional_result *result)
{
    struct corun_tb *tb = state->tb;
    struct corun_issue issue;
    uint64_t until = state->left > instructions ? state->left - instructions : 0;
    while (state->live && state->left > until) {
        if (!state->ready)
            return state->cluster_waiting ? CORUN_OK : report_deadlock(state, list);
        uint32_t after = state->ready & ~((1u << state->warp) - 1), warp = lowest_bit(after ? after : state->ready);
        uint64_t budget = state->left - until < turn ? state->left - until : turn, rest = budget;
        enum corun_outcome outcome = executor_run(&tb->warps[warp], &rest, result, &issue);
        state->left -= budget - rest;
        state->issued[warp] += budget - rest;
        state->warp = warp;
        if (outcome == CORUN_OUTCOME_FAULT)
            return corun_report(list, CORUN_FAULT, (struct corun_place){tb->launch->grid.file, tb->fault_line, 0}, "%s",
                                tb->fault);
        if (outcome == CORUN_OUTCOME_BARRIER) {
            arrive(state, warp, &issue);
        } else if (outcome == CORUN_OUTCOME_CLUSTER) {
            come_to_cluster(state, warp, &issue);
        } else if (outcome == CORUN_OUTCOME_EXIT) {
            if (state->issued[warp] > result->longest_warp)
                result->longest_warp = state->issued[warp];
            state->live &= ~(1u << warp);
            state->ready &= ~(1u << warp);
            for (uint32_t b = 0; b < CORUN_MEETINGS; b++)
                open_if_met(state, &state->barriers[b]);
            state->cluster_arrived &= state->live;
            open_cluster_if_met(state);
        }
        if (state->left == 0 && state->live)
            return report_watchdog(state, warp, watchdog, list);
        if (outcome == CORUN_OUTCOME_NEXT)
            turns_instructions(&tb->warps[warp], (uint32_t)budget);
        if (outcome == CORUN_OUTCOME_NEXT)
            state->warp = (warp + 1) % CORUN_WARP_LANES;
    }
    return CORUN_OK;
}

static void flush_text(struct executor_sm *sm, void (*print)(void *user, const char *text, size_t bytes), void *user)
{
    if (sm->printed_bytes && !sm->printed_taken && print)
        print(user, sm->printed, sm->printed_bytes);
    sm->printed_taken = true;
}

static const struct cluster *begin_cluster(struct launch *launch, uint32_t number)
{
    struct executor_sm *sms[CORUN_LARGEST_CLUSTER];
    struct launch_sm *lists[CORUN_LARGEST_CLUSTER];
    for (uint32_t rank = 0; rank < CORUN_LARGEST_CLUSTER; rank++) {
        sms[rank] = launch->instance->functional;
        lists[rank] = &launch->functional;
    }
    return cluster_begin(launch, number, sms, lists);
}

static bool begin_tb(struct functional_tb *state, struct launch *launch, uint32_t index, uint64_t watchdog,
                     const uint64_t *clock)
{
    uint32_t warps = launch->grid.tb_warps;
    *state = (struct functional_tb){.left = watchdog ? watchdog : UINT64_MAX};
    uint32_t size = cluster_size(launch);
    const struct cluster *cluster = size == 1      ? NULL
                                    : index % size ? cluster_find(launch, index / size)
                                                   : begin_cluster(launch, index / size);
    if (size == 1)
        state->tb = executor_tb_begin(launch, launch->instance->functional, &launch->functional, index);
    else if (cluster)
        state->tb = cluster->tbs[index % size];
    if (!state->tb)
        return false;
    state->live = state->ready = warps == 32 ? CORUN_FULL_MASK : (1u << warps) - 1;
    for (uint32_t i = 0; i < warps; i++)
        state->tb->warps[i].cycle = clock;
    return true;
}

/* Begins the launch's next thread block in a new place at the end of those in flight. */
static enum corun_status begin_next(struct flight *flight, struct launch *launch, uint64_t watchdog,
                                    struct corun_diagnostics *list, const uint64_t *clock)
{
    if (flight->count == flight->capacity) {
        uint32_t capacity = flight->capacity ? 2 * flight->capacity : 4;
        struct functional_tb *states = realloc(flight->states, capacity * sizeof *states);
        if (states) {
            flight->states = states;
            flight->capacity = capacity;
        }
    }
    if (flight->count < flight->capacity &&
        begin_tb(&flight->states[flight->count], launch, flight->begun, watchdog, clock)) {
        flight->count++;
        flight->begun++;
        return CORUN_OK;
    }
    corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory for a thread block of kernel %s",
                 KERNEL_NAME(launch->grid.name));
    return CORUN_MEMORY;
}

static enum corun_status report_cluster(const struct functional_tb *state, struct corun_diagnostics *list)
{
    const struct corun_tb *tb = state->tb;
    char name[300];
    uint32_t line = tb->launch->kernel->instructions[tb->warps[lowest_bit(state->live)].stack.pc].line;
    return corun_report(list, CORUN_DEADLOCK, (struct corun_place){tb->launch->grid.file, line, 0},
                        "%s: the barrier of its cluster can never be met", describe_tb(tb, name, sizeof name));
}

/* A turn for each of these, which are whole clusters. */
static enum corun_status take_turns(struct functional_tb *states, uint32_t count, uint64_t watchdog,
                                    struct corun_diagnostics *list, struct corun_functional_result *result)
{
    enum corun_status status = CORUN_OK;
    const struct functional_tb *stuck = NULL;
    uint64_t before = result->warp_instructions;
    for (uint32_t i = 0; i < count && status == CORUN_OK; i++) {
        uint64_t instructions = (uint64_t)SHORT_TURN * (count_bits(states[i].ready) + 1);
        if (!states[i].live)
            continue;
        status = run_tb(&states[i], instructions, SHORT_TURN, watchdog, list, result);
        stuck = stuck ? stuck : &states[i];
    }
    if (status == CORUN_OK && stuck && result->warp_instructions == before)
        status = report_cluster(stuck, list);
    return status;
}

static bool all_ended(const struct functional_tb *states, uint32_t count)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < count; i++)
        live |= states[i].live;
    return !live;
}

static void end_tbs(struct launch *launch, const struct functional_tb *state)
{
    if (state->tb->cluster)
        cluster_end(launch, state->tb->cluster->number, &launch->functional);
    else
        executor_tb_end(state->tb, &launch->functional);
}

/* A turn for each of those in flight, then those that have ended are taken out. */
static enum corun_status run_flight(struct flight *flight, struct launch *launch, uint64_t watchdog,
                                    struct corun_diagnostics *list, struct corun_functional_result *result)
{
    uint32_t kept = 0, size = cluster_size(launch);
    enum corun_status status = take_turns(flight->states, flight->count, watchdog, list, result);
    for (uint32_t i = 0; i < flight->count; i += size) {
        if (status == CORUN_OK && all_ended(&flight->states[i], size)) {
            end_tbs(launch, &flight->states[i]);
            flight->came_on = result->warp_instructions;
            continue;
        }
        memmove(&flight->states[kept], &flight->states[i], size * sizeof *flight->states);
        kept += size;
    }
    flight->count = kept;
    return status;
}

/* The newest ones, which are a thread block or a cluster, as far as they come without others. */
static enum corun_status run_newest(struct flight *flight, struct launch *launch, uint64_t watchdog,
                                    struct corun_diagnostics *list, struct corun_functional_result *result)
{
    uint32_t size = cluster_size(launch);
    struct functional_tb *states = &flight->states[flight->count - size];
    if (size == 1)
        return run_tb(states, PATIENCE, TURN, watchdog, list, result);
    enum corun_status status = CORUN_OK;
    uint64_t until = result->warp_instructions + (uint64_t)PATIENCE * size;
    while (status == CORUN_OK && result->warp_instructions < until && !all_ended(states, size))
        status = take_turns(states, size, watchdog, list, result);
    return status;
}

/* ---- side by side ---- */

static bool is_pending(const uint64_t *pending, const uint16_t *slots, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (bits_test(pending, slots[i]))
            return true;
    return false;
}

/* Its result comes from beyond the SM: nothing else makes a warp wait for long. */
static bool comes_from_afar(const struct corun_instruction *instruction)
{
    return instruction->flags & (CORUN_LOAD | CORUN_ATOMIC) &&
           (instruction->space == CORUN_SPACE_GLOBAL || instruction->space == CORUN_SPACE_GENERIC ||
            instruction->space == CORUN_SPACE_TEXTURE);
}

/* Marks instructions that need a register which was loaded, as they stand in the code, since the mark before. */
static void mark_waits(const struct corun_grid *grid, uint64_t *pending, size_t words, uint16_t *waits)
{
    for (uint32_t i = 0; i < grid->code_length; i++) {
        const struct corun_instruction *instruction = &grid->code[i];
        waits[i] = is_pending(pending, instruction->sources, instruction->source_count) ||
                   is_pending(pending, instruction->destinations, instruction->destination_count);
        if (waits[i])
            memset(pending, 0, words * sizeof *pending);
        for (uint32_t d = 0; d < instruction->destination_count && comes_from_afar(instruction); d++)
            bits_set(pending, instruction->destinations[d]);
    }
}

/* By instruction: how many a warp has from there on in its turn. It is over where a warp has to wait for what it loaded. NULL when out of memory. */
static uint16_t *find_turns(const struct corun_grid *grid)
{
    size_t words = BIT_WORDS((size_t)grid->register_slots + grid->predicate_slots);
    uint16_t *turns = calloc(grid->code_length + (size_t)1, sizeof *turns), next = SHORT_TURN;
    uint64_t *pending = calloc(words + 1, sizeof *pending);
    if (turns && pending) {
        mark_waits(grid, pending, words, turns);
        for (uint32_t i = grid->code_length; i-- > 0;) {
            bool waits = turns[i];
            turns[i] = next;
            next = waits ? 1 : next < SHORT_TURN ? (uint16_t)(next + 1) : SHORT_TURN;
        }
    } else {
        free(turns);
        turns = NULL;
    }
    free(pending);
    return turns;
}

/* A turn for each warp of a thread block. */
static enum corun_status run_warps(struct functional_tb *state, const uint16_t *turns, uint64_t watchdog,
                                   struct corun_diagnostics *list, struct corun_functional_result *result)
{
    enum corun_status status = CORUN_OK;
    if (!state->ready)
        return run_tb(state, 1, 1, watchdog, list, result); /* it says why */
    for (uint32_t left = state->ready; left && status == CORUN_OK; left &= left - 1) {
        uint32_t warp = lowest_bit(left), turn = turns[state->tb->warps[warp].stack.pc];
        if (!(state->ready >> warp & 1u))
            continue;
        state->warp = warp;
        status = run_tb(state, turn, turn, watchdog, list, result);
    }
    return status;
}

/*
 * As many thread blocks as there are places, and a turn for each: so the first loads of all come before what any of them does with their values. If none
 * ends for long, others are begun beside them, for which they may be waiting.
 */
static enum corun_status run_side_by_side(struct flight *flight, struct launch *launch, const uint16_t *turns,
                                          const struct corun_untimed *how, struct corun_diagnostics *list,
                                          struct corun_functional_result *result)
{
    enum corun_status status = CORUN_OK;
    uint32_t end = how->first + how->count, kept = 0;
    while (status == CORUN_OK && flight->begun < end && flight->count < flight->places)
        status = begin_next(flight, launch, how->watchdog, list, &result->warp_instructions);
    for (uint32_t i = 0; i < flight->count; i++) {
        struct functional_tb *state = &flight->states[i];
        if (status == CORUN_OK)
            status = run_warps(state, turns, how->watchdog, list, result);
        if (status == CORUN_OK && !state->live) {
            end_tbs(launch, state);
            flight->ended = flight->came_on = result->warp_instructions;
        } else {
            flight->states[kept++] = *state;
        }
    }
    flight->count = kept;
    if (flight->places < MOST_IN_FLIGHT && (result->warp_instructions - flight->ended) / PATIENCE >= flight->places)
        flight->places *= 2;
    return status;
}

/* One thread block, or one cluster, after the other. */
static enum corun_status run_in_order(struct flight *flight, struct launch *launch, const struct corun_untimed *how,
                                      struct corun_diagnostics *list, struct corun_functional_result *result)
{
    enum corun_status status = CORUN_OK;
    uint32_t end = how->first + how->count, size = cluster_size(launch);
    bool together = launch->meeting_address;
    if (flight->begun < end && (together || flight->count < MOST_IN_FLIGHT)) {
        for (uint32_t i = 0; i < size && status == CORUN_OK; i++)
            status = begin_next(flight, launch, how->watchdog, list, &result->warp_instructions);
        if (status == CORUN_OK && together)
            return status;
        if (status == CORUN_OK)
            status = run_newest(flight, launch, how->watchdog, list, result);
    }
    return status == CORUN_OK ? run_flight(flight, launch, how->watchdog, list, result) : status;
}

/* The machine code of the launch's kernel, if this host has any. False when out of memory. */
static bool find_code(struct launch *launch)
{
    struct corun_module_instance *instance = launch->instance;
    if (!instance->natives)
        instance->natives = calloc(instance->module->kernel_count, sizeof *instance->natives);
    if (!instance->natives)
        return false;
    struct native **native = &instance->natives[launch->kernel->index];
    if (!*native && !instance->no_native)
        *native = native_create(launch->kernel, instance->native_after);
    instance->no_native = !*native;
    launch->code = *native ? native_code(*native) : NULL;
    return true;
}

static enum corun_status begin_run(struct corun_functional_run *run)
{
    const struct corun_untimed *how = &run->how;
    struct launch *launch = run->launch;
    struct corun_module_instance *instance = launch->instance;
    if (!instance->functional)
        instance->functional = executor_sm_create(instance, 0, true);
    if (!instance->functional || !find_code(launch))
        return corun_report(run->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    run->flight = (struct flight){.begun = how->first, .places = how->places};
    executor_tb_take_spare(launch);
    if (how->touch && how->places > 1 && cluster_size(launch) == 1 && !launch->meeting_address &&
        !(run->turns = find_turns(&launch->grid)))
        return corun_report(run->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    return CORUN_OK;
}

static bool has_ended(const struct corun_functional_run *run)
{
    return !run->flight.count && run->flight.begun == run->how.first + run->how.count;
}

/*
 * From how->first on: what is touched comes as far as possible in the order in which it would on the machine. Until all have ended, or none has
 * for `patience` warp instructions.
 */
static enum corun_status continue_run(struct corun_functional_run *run, uint64_t patience)
{
    const struct corun_untimed *how = &run->how;
    struct launch *launch = run->launch;
    struct flight *flight = &run->flight;
    struct executor_sm *sm = launch->instance->functional;
    enum corun_status status = CORUN_OK;
    executor_sm_settle(sm);
    sm->global_bytes = 0;
    sm->touch_user = how->touch_user;
    flight->came_on = run->count.warp_instructions;
    while (status == CORUN_OK && !has_ended(run) && run->count.warp_instructions - flight->came_on < patience) {
        sm->touch = flight->begun >= how->touch_from ? how->touch : NULL;
        status = run->turns && sm->touch ? run_side_by_side(flight, launch, run->turns, how, run->list, &run->count)
                                         : run_in_order(flight, launch, how, run->list, &run->count);
        flush_text(sm, how->print, how->print_user);
    }
    run->count.global_bytes += sm->global_bytes;
    sm->touch = NULL;
    return status;
}

static void end_run(struct corun_functional_run *run)
{
    const uint32_t size = cluster_size(run->launch);
    for (uint32_t i = 0; i < run->flight.count; i += size)
        end_tbs(run->launch, &run->flight.states[i]);
    executor_tb_leave_spare(run->launch);
    free(run->flight.states);
    free(run->turns);
}

/* To its end. */
static enum corun_status run_all(struct corun_functional_run *run)
{
    enum corun_status status = begin_run(run);
    if (status == CORUN_OK)
        status = continue_run(run, UINT64_MAX);
    end_run(run);
    return status;
}

static struct corun_untimed whole_grid(const struct corun_grid *grid, uint64_t watchdog,
                                       void (*print)(void *user, const char *text, size_t bytes), void *user)
{
    return (struct corun_untimed){.count = grid->tb_count, .watchdog = watchdog, .print = print, .print_user = user};
}

enum corun_status corun_run_functional(struct corun_grid *grid, uint64_t watchdog, struct corun_diagnostics *list,
                                       void (*print)(void *user, const char *text, size_t bytes), void *user,
                                       struct corun_functional_result *result)
{
    struct corun_functional_run run = {
        .launch = (struct launch *)grid, .how = whole_grid(grid, watchdog, print, user), .list = list};
    enum corun_status status = run_all(&run);
    if (result)
        *result = run.count;
    return status;
}

enum corun_status executor_run_untimed(const struct corun_grid *grid, const struct corun_untimed *how,
                                       struct corun_diagnostics *list, struct corun_untimed_result *result)
{
    struct corun_functional_run run = {.launch = (struct launch *)grid, .how = *how, .list = list};
    enum corun_status status = run_all(&run);
    *result = (struct corun_untimed_result){run.count.warp_instructions, run.count.thread_instructions,
                                            run.count.ptx_thread_instructions, run.count.longest_warp};
    return status;
}

enum corun_status corun_functional_begin(struct corun_grid *grid, uint64_t watchdog, struct corun_diagnostics *list,
                                         void (*print)(void *user, const char *text, size_t bytes), void *user,
                                         struct corun_functional_run **run)
{
    struct corun_functional_run *new = *run = calloc(1, sizeof *new);
    if (!new)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    new->launch = (struct launch *)grid;
    new->how = whole_grid(grid, watchdog, print, user);
    new->list = list;
    enum corun_status status = begin_run(new);
    if (status != CORUN_OK) {
        corun_functional_end(new, NULL);
        *run = NULL;
    }
    return status;
}

enum corun_status corun_functional_continue(struct corun_functional_run *run, uint64_t patience, bool *ended)
{
    enum corun_status status = continue_run(run, patience);
    *ended = has_ended(run);
    return status;
}

void corun_functional_end(struct corun_functional_run *run, struct corun_functional_result *result)
{
    if (!run)
        return;
    if (result)
        *result = run->count;
    end_run(run);
    free(run);
}
