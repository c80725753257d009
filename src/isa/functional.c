/* A run without timing: one thread block after the other, stores and atomics at once. */
#include "isa/executor.h"

#include "base/bits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BARRIERS 16u
#define TURN 20000u /* warp instructions before the next warp has its turn: one may wait for another in a loop */

struct barrier_state {
    uint32_t waiting; /* warps */
    uint32_t arrived;
    uint32_t threads; /* that have arrived */
    uint32_t wanted;  /* threads; 0: every warp that has not ended */
};

struct functional_tb {
    struct corun_tb *tb;
    uint32_t live, ready; /* warps */
    struct barrier_state barriers[BARRIERS];
};

static void open_if_met(struct functional_tb *state, struct barrier_state *barrier)
{
    if (!barrier->arrived)
        return;
    bool met = barrier->wanted ? barrier->threads >= barrier->wanted : (state->live & ~barrier->arrived) == 0;
    if (!met)
        return;
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
    const struct corun_tb *tb = state->tb;
    char name[300], waits[400] = "";
    size_t used = 0;
    uint32_t line = 0, ended = tb->launch->grid.tb_warps - count_bits(state->live);
    for (uint32_t b = 0; b < BARRIERS; b++) {
        const struct barrier_state *barrier = &state->barriers[b];
        if (!barrier->waiting || used >= sizeof waits)
            continue;
        uint32_t warp = lowest_bit(barrier->waiting);
        if (!line)
            line = tb->warps[warp].barrier_line;
        int length =
            snprintf(waits + used, sizeof waits - used, "%s%" PRIu32 " at barrier %" PRIu32 " (line %" PRIu32 ")",
                     used ? ", " : "", count_bits(barrier->waiting), b, tb->warps[warp].barrier_line);
        used += length > 0 ? (size_t)length : 0;
    }
    return corun_report(list, CORUN_DEADLOCK, (struct corun_place){tb->launch->grid.file, line, 0},
                        "%s: a barrier can never be met: of %" PRIu32 " warps %" PRIu32 " ended, waiting: %s",
                        describe_tb(tb, name, sizeof name), tb->launch->grid.tb_warps, ended, waits);
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

static enum corun_status run_tb(struct functional_tb *state, uint64_t watchdog, struct corun_diagnostics *list,
                                struct corun_functional_result *result)
{
    struct corun_tb *tb = state->tb;
    uint64_t left = watchdog ? watchdog : UINT64_MAX;
    struct corun_issue issue;
    uint32_t warp = 0;
    while (state->live) {
        if (!state->ready)
            return report_deadlock(state, list);
        uint32_t after = state->ready & ~((1u << warp) - 1);
        warp = lowest_bit(after ? after : state->ready);
        uint64_t budget = left < TURN ? left : TURN, rest = budget;
        enum corun_outcome outcome = executor_run(&tb->warps[warp], &rest, result, &issue);
        left -= budget - rest;
        if (outcome == CORUN_OUTCOME_FAULT)
            return corun_report(list, CORUN_FAULT, (struct corun_place){tb->launch->grid.file, tb->fault_line, 0}, "%s",
                                tb->fault);
        if (outcome == CORUN_OUTCOME_BARRIER) {
            arrive(state, warp, &issue);
        } else if (outcome == CORUN_OUTCOME_EXIT) {
            state->live &= ~(1u << warp);
            state->ready &= ~(1u << warp);
            for (uint32_t b = 0; b < BARRIERS; b++)
                open_if_met(state, &state->barriers[b]);
        }
        if (left == 0 && state->live)
            return report_watchdog(state, warp, watchdog, list);
        if (outcome == CORUN_OUTCOME_NEXT)
            warp = (warp + 1) % CORUN_WARP_LANES;
    }
    return CORUN_OK;
}

static void flush_text(struct executor_sm *sm, void (*print)(void *user, const char *text, size_t bytes), void *user)
{
    if (sm->printed_bytes && !sm->printed_taken && print)
        print(user, sm->printed, sm->printed_bytes);
    sm->printed_taken = true;
}

enum corun_status corun_run_functional(struct corun_grid *grid, uint64_t watchdog, struct corun_diagnostics *list,
                                       void (*print)(void *user, const char *text, size_t bytes), void *user,
                                       struct corun_functional_result *result)
{
    struct launch *launch = (struct launch *)grid;
    struct corun_program *program = launch->program;
    struct corun_functional_result count = {0};
    enum corun_status status = CORUN_OK;
    if (!program->functional)
        program->functional = executor_sm_create(program, 0, true);
    if (!program->functional)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    program->functional->global_bytes = 0;
    for (uint32_t index = 0; index < grid->tb_count && status == CORUN_OK; index++) {
        struct functional_tb state = {0};
        state.tb = executor_tb_begin(launch, program->functional, &launch->functional, index);
        if (!state.tb) {
            status = corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory for a thread block of kernel %s",
                                  grid->name);
            break;
        }
        state.live = state.ready = grid->tb_warps == 32 ? CORUN_FULL_MASK : (1u << grid->tb_warps) - 1;
        for (uint32_t i = 0; i < grid->tb_warps; i++)
            state.tb->warps[i].cycle = &count.warp_instructions;
        status = run_tb(&state, watchdog, list, &count);
        flush_text(program->functional, print, user);
        executor_tb_end(state.tb, &launch->functional);
    }
    count.global_bytes = program->functional->global_bytes;
    if (result)
        *result = count;
    return status;
}
