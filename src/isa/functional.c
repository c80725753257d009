/* SPDX-License-Identifier: MIT */
/*
 * A run without timing: one thread block after the other, stores and atomics at once. One that does not come to its end soon may be
 * waiting for others: they are begun too, and take turns with it.
 */
#include "isa/executor.h"

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
};

/* Thread blocks that have begun and not ended, in the order of their indices. */
struct flight {
    struct functional_tb *states;
    uint32_t count, capacity;
    uint32_t begun; /* of the launch, with those that have ended */
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

static const char *describe_tb(const struct corun_tb *tb, char *text, size_t bytes)
{
    snprintf(text, bytes, "kernel %.200s, thread block (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ")",
             tb->launch->kernel->info.name, tb->position.x, tb->position.y, tb->position.z);
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
            return report_deadlock(state, list);
        uint32_t after = state->ready & ~((1u << state->warp) - 1), warp = lowest_bit(after ? after : state->ready);
        uint64_t budget = state->left - until < turn ? state->left - until : turn, rest = budget;
        enum corun_outcome outcome = executor_run(&tb->warps[warp], &rest, result, &issue);
        state->left -= budget - rest;
        state->warp = warp;
        if (outcome == CORUN_OUTCOME_FAULT)
            return corun_report(list, CORUN_FAULT, (struct corun_place){tb->launch->grid.file, tb->fault_line, 0}, "%s",
                                tb->fault);
        if (outcome == CORUN_OUTCOME_BARRIER) {
            arrive(state, warp, &issue);
        } else if (outcome == CORUN_OUTCOME_EXIT) {
            state->live &= ~(1u << warp);
            state->ready &= ~(1u << warp);
            for (uint32_t b = 0; b < CORUN_MEETINGS; b++)
                open_if_met(state, &state->barriers[b]);
        }
        if (state->left == 0 && state->live)
            return report_watchdog(state, warp, watchdog, list);
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

static bool begin_tb(struct functional_tb *state, struct launch *launch, uint32_t index, uint64_t watchdog,
                     const uint64_t *clock)
{
    uint32_t warps = launch->grid.tb_warps;
    *state = (struct functional_tb){.left = watchdog ? watchdog : UINT64_MAX};
    state->tb = executor_tb_begin(launch, launch->instance->functional, &launch->functional, index);
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
    corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory for a thread block of kernel %s", launch->grid.name);
    return CORUN_MEMORY;
}

/* A turn for each of those in flight, then those that have ended are taken out. */
static enum corun_status run_flight(struct flight *flight, struct launch *launch, uint64_t watchdog,
                                    struct corun_diagnostics *list, struct corun_functional_result *result)
{
    enum corun_status status = CORUN_OK;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < flight->count; i++) {
        struct functional_tb *state = &flight->states[i];
        uint64_t instructions = (uint64_t)SHORT_TURN * (count_bits(state->ready) + 1);
        if (status == CORUN_OK && state->live)
            status = run_tb(state, instructions, SHORT_TURN, watchdog, list, result);
        if (status == CORUN_OK && !state->live)
            executor_tb_end(state->tb, &launch->functional);
        else
            flight->states[kept++] = *state;
    }
    flight->count = kept;
    return status;
}

/* One thread block after the other, from how->first on. */
static enum corun_status run_blocks(struct launch *launch, const struct corun_untimed *how,
                                    struct corun_diagnostics *list, struct corun_functional_result *count)
{
    struct executor_sm *sm = launch->instance->functional;
    enum corun_status status = CORUN_OK;
    struct flight flight = {.begun = how->first};
    uint32_t end = how->first + how->count;
    bool together = launch->meeting_address;
    while (status == CORUN_OK && (flight.count || flight.begun < end)) {
        sm->touch = flight.begun >= how->touch_from ? how->touch : NULL;
        if (flight.begun < end && (together || flight.count < MOST_IN_FLIGHT)) {
            status = begin_next(&flight, launch, how->watchdog, list, &count->warp_instructions);
            if (status == CORUN_OK && together)
                continue;
            if (status == CORUN_OK)
                status = run_tb(&flight.states[flight.count - 1], PATIENCE, TURN, how->watchdog, list, count);
        }
        if (status == CORUN_OK)
            status = run_flight(&flight, launch, how->watchdog, list, count);
        flush_text(sm, how->print, how->print_user);
    }
    for (uint32_t i = 0; i < flight.count; i++)
        executor_tb_end(flight.states[i].tb, &launch->functional);
    free(flight.states);
    sm->touch = NULL;
    return status;
}

static enum corun_status run(struct launch *launch, const struct corun_untimed *how, struct corun_diagnostics *list,
                             struct corun_functional_result *count)
{
    struct corun_module_instance *instance = launch->instance;
    if (!instance->functional)
        instance->functional = executor_sm_create(instance, 0, true);
    if (!instance->functional)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    instance->functional->global_bytes = 0;
    instance->functional->touch_user = how->touch_user;
    enum corun_status status = run_blocks(launch, how, list, count);
    count->global_bytes = instance->functional->global_bytes;
    return status;
}

enum corun_status corun_run_functional(struct corun_grid *grid, uint64_t watchdog, struct corun_diagnostics *list,
                                       void (*print)(void *user, const char *text, size_t bytes), void *user,
                                       struct corun_functional_result *result)
{
    struct corun_functional_result count = {0};
    struct corun_untimed how = {.count = grid->tb_count, .watchdog = watchdog, .print = print, .print_user = user};
    enum corun_status status = run((struct launch *)grid, &how, list, &count);
    if (result)
        *result = count;
    return status;
}

enum corun_status executor_run_untimed(const struct corun_grid *grid, const struct corun_untimed *how,
                                       struct corun_diagnostics *list, struct corun_untimed_result *result)
{
    struct corun_functional_result count = {0};
    enum corun_status status = run((struct launch *)grid, how, list, &count);
    *result = (struct corun_untimed_result){count.warp_instructions, count.thread_instructions,
                                            count.ptx_thread_instructions};
    return status;
}
