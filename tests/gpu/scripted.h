/* SPDX-License-Identifier: MIT */
/*
 * A scripted source of warp instructions for tests of the timing model: straight-line code that every warp runs, with
 * loops by count, addresses by formula. It computes nothing; what it says of registers and addresses is what the model
 * under test sees. Include after cmocka's headers.
 */
#ifndef TESTS_GPU_SCRIPTED_H
#define TESTS_GPU_SCRIPTED_H

#include "corun/gpu.h"

#include <stdlib.h>
#include <string.h>

enum { SCRIPT_LENGTH = 4096 };

struct script {
    struct corun_grid grid; /* first: a grid is its script */
    struct corun_instruction code[SCRIPT_LENGTH];
    uint64_t base[SCRIPT_LENGTH];        /* memory operations: first address */
    uint64_t lane_stride[SCRIPT_LENGTH]; /* bytes from lane to lane */
    uint64_t warp_stride[SCRIPT_LENGTH]; /* bytes from warp to warp of the grid */
    uint64_t turn_stride[SCRIPT_LENGTH]; /* bytes from turn to turn of the loop */
    uint32_t loop_first, loop_turns;     /* the last instruction before exit jumps back to loop_first */
    uint64_t performed;                  /* lanes of atomics */
    _Atomic uint64_t completed;          /* atomics; several SMs may tell at the same time */
    uint32_t early_exits;                /* so many warps of each thread block, the last ones, exit at early_pc */
    uint32_t early_pc;
};

struct corun_warp {
    const struct script *script;
    uint32_t pc, turn, number;
};

struct corun_tb {
    struct corun_warp warps[64];
};

static enum corun_status script_attach(const struct corun_grid *grid, uint32_t sms, uint32_t clock_khz)
{
    (void)grid;
    (void)sms;
    (void)clock_khz;
    return CORUN_OK;
}

static struct corun_tb *script_tb_begin(const struct corun_grid *grid, uint32_t index, uint32_t sm,
                                        struct corun_warp **warps)
{
    struct corun_tb *tb = calloc(1, sizeof *tb);
    (void)sm;
    for (uint32_t i = 0; tb && i < grid->tb_warps; i++) {
        tb->warps[i] = (struct corun_warp){(const struct script *)grid, 0, 0, index * grid->tb_warps + i};
        warps[i] = &tb->warps[i];
    }
    return tb;
}

static void script_tb_end(struct corun_tb *tb)
{
    free(tb);
}

static void script_tb_move(struct corun_tb *tb, uint32_t sm)
{
    (void)tb;
    (void)sm;
}

static void script_place(struct corun_warp *warp, uint32_t slot, uint32_t sms, const uint64_t *cycle)
{
    (void)warp;
    (void)slot;
    (void)sms;
    (void)cycle;
}

static uint32_t script_pc(const struct corun_warp *warp)
{
    return warp->pc;
}

static void script_issue(struct corun_warp *warp, struct corun_issue *issue)
{
    const struct script *script = warp->script;
    const struct corun_instruction *instruction = &script->code[warp->pc];
    uint32_t at = warp->pc;
    issue->active = CORUN_FULL_MASK;
    issue->outcome = CORUN_OUTCOME_NEXT;
    issue->space = instruction->space;
    issue->jumped = issue->diverged = false;
    issue->ticket = 0;
    if (instruction->flags & (CORUN_LOAD | CORUN_STORE | CORUN_ATOMIC))
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
            issue->address[lane] = script->base[at] + lane * script->lane_stride[at] +
                                   warp->number * script->warp_stride[at] + warp->turn * script->turn_stride[at];
    if (instruction->flags & CORUN_BARRIER) {
        issue->outcome = CORUN_OUTCOME_BARRIER;
        issue->barrier = 0;
        issue->barrier_threads = 0;
        issue->barrier_waits = true;
    }
    bool early = warp->pc >= script->early_pc &&
                 warp->number % script->grid.tb_warps >= script->grid.tb_warps - script->early_exits;
    if (instruction->flags & CORUN_EXIT || early) {
        issue->outcome = CORUN_OUTCOME_EXIT;
        return;
    }
    warp->pc++;
    if (instruction->flags & CORUN_BRANCH && ++warp->turn < script->loop_turns) {
        warp->pc = script->loop_first;
        issue->jumped = true;
    }
    issue->pc = warp->pc;
}

static void script_perform(const struct corun_grid *grid, uint32_t sm, uint32_t ticket, uint32_t lanes)
{
    (void)sm;
    (void)ticket;
    ((struct script *)grid)->performed += (uint64_t)__builtin_popcount(lanes);
}

static void script_complete(const struct corun_grid *grid, uint32_t sm, uint32_t ticket)
{
    (void)sm;
    (void)ticket;
    ((struct script *)grid)->completed++;
}

static void script_commit(const struct corun_grid *grid, uint32_t sm)
{
    (void)grid;
    (void)sm;
}

static bool script_dirty(const struct corun_grid *grid, uint32_t sm)
{
    (void)grid;
    (void)sm;
    return false;
}

static const char *script_fault(const struct corun_warp *warp, struct corun_place *place)
{
    (void)warp;
    (void)place;
    return "fault";
}

static const char *script_printed(const struct corun_grid *grid, uint32_t sm, size_t *bytes)
{
    (void)grid;
    (void)sm;
    *bytes = 0;
    return "";
}

static const struct corun_source_operations script_operations = {
    .attach = script_attach,
    .tb_begin = script_tb_begin,
    .tb_end = script_tb_end,
    .tb_move = script_tb_move,
    .warp_place = script_place,
    .warp_pc = script_pc,
    .issue = script_issue,
    .perform = script_perform,
    .complete = script_complete,
    .commit = script_commit,
    .dirty = script_dirty,
    .fault = script_fault,
    .printed = script_printed,
};

/*
 * A script of `tbs` thread blocks of `warps` warps; code is added with the functions below and closed with script_end.
 */
static inline struct script *script_new(uint32_t tbs, uint32_t warps)
{
    struct script *script = calloc(1, sizeof *script);
    script->grid = (struct corun_grid){.operations = &script_operations,
                                       .name = "script",
                                       .code = script->code,
                                       .register_slots = 64,
                                       .predicate_slots = 4,
                                       .tb_count = tbs,
                                       .tb_threads = warps * 32,
                                       .tb_warps = warps,
                                       .registers_per_thread = 16,
                                       .barrier_count = 1,
                                       .file = "script",
                                       .code_address = UINT64_C(1) << 39};
    script->loop_turns = 1;
    return script;
}

/* d = op(a, b) on a pipeline. */
static inline void script_compute(struct script *script, enum corun_unit unit, enum corun_operation operation,
                                  uint16_t d, uint16_t a, uint16_t b)
{
    struct corun_instruction *i = &script->code[script->grid.code_length++];
    *i = (struct corun_instruction){.unit = (uint8_t)unit,
                                    .operation = (uint8_t)operation,
                                    .source_count = 2,
                                    .destination_count = 1,
                                    .sources = {a, b},
                                    .destinations = {d},
                                    .line = script->grid.code_length};
}

/* Load, store or atomic of 4 bytes per lane (register `value` written or read) with address register `address`. */
static inline uint32_t script_memory(struct script *script, uint32_t flags, enum corun_space space, uint16_t value,
                                     uint16_t address, uint64_t base, uint64_t lane_stride)
{
    uint32_t at = script->grid.code_length++;
    struct corun_instruction *i = &script->code[at];
    bool load = flags & CORUN_LOAD || (flags & CORUN_ATOMIC && !(flags & CORUN_REDUCTION));
    *i = (struct corun_instruction){.unit = CORUN_UNIT_MEMORY,
                                    .space = (uint8_t)space,
                                    .access_bytes = 4,
                                    .flags = flags,
                                    .source_count = load ? 1 : 2,
                                    .destination_count = load ? 1 : 0,
                                    .sources = {address, value},
                                    .destinations = {value},
                                    .line = script->grid.code_length};
    script->base[at] = base;
    script->lane_stride[at] = lane_stride;
    return at;
}

static inline void script_control(struct script *script, uint16_t flags)
{
    script->code[script->grid.code_length++] =
        (struct corun_instruction){.unit = CORUN_UNIT_CONTROL, .flags = flags, .line = script->grid.code_length + 1};
}

/* Closes the script: everything from `loop_first` is run `turns` times, then the warp exits. */
static inline void script_end(struct script *script, uint32_t loop_first, uint32_t turns)
{
    script->loop_first = loop_first;
    script->loop_turns = turns;
    if (turns > 1)
        script_control(script, CORUN_BRANCH);
    script_control(script, CORUN_EXIT);
}

static inline const struct corun_grid *script_next(void *user, uint32_t index)
{
    return index == 0 ? user : NULL;
}

/* Runs a script once, alone; returns the cycles from its launch to its end. */
static inline uint64_t script_run(const struct corun_gpu_config *config, struct script *script,
                                  struct corun_counters *counters)
{
    struct corun_gpu *gpu;
    uint32_t index;
    assert_int_equal(corun_gpu_create(config, NULL, &gpu), CORUN_OK);
    struct corun_application_description description = {.name = "script", .grid = script_next, .user = script};
    assert_int_equal(corun_gpu_add(gpu, &description, &index), CORUN_OK);
    struct corun_limits limits = {.runs = 1};
    assert_int_equal(corun_gpu_run(gpu, &limits, NULL), CORUN_OK);
    struct corun_application_result result;
    corun_gpu_application(gpu, 0, &result);
    assert_int_equal(result.status, CORUN_OK);
    assert_int_equal(result.runs, 1);
    struct corun_kernel_result kernel;
    corun_gpu_kernel(gpu, 0, 0, &kernel);
    if (counters)
        *counters = kernel.counters;
    corun_gpu_destroy(gpu);
    return kernel.cycles;
}

#endif
