/* SPDX-License-Identifier: MIT */
/*
 * Kernels become the bodies of loops (worker_loop.h), with what all threads wait for made fit for that (worker_barriers.h). What a body reads
 * of its place comes from shared memory each round, in registers that the body had for it where it had such.
 */
#include "rewrite/workers.h"

#include "rewrite/block_index.h"
#include "rewrite/pass.h"
#include "rewrite/splice.h"
#include "rewrite/worker_barriers.h"

#include <stddef.h>
#include <stdlib.h>

#define MOST_STATIC_SHARED_BYTES 49152u /* of a kernel: CUDA C++ Programming Guide, compute capabilities */

struct working {
    struct worker_barriers barriers;
    const struct ptx_variable *shared;
};

/*
 * What is refused.
 */
static bool copies(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_CP_ASYNC_CA || instruction->opcode == PTX_OP_CP_ASYNC_CG;
}

static bool copies_in_bulk(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_CP_ASYNC_BULK_STORE;
}

/* Functions cannot jump to the end of the kernel that calls them. */
static void refuse_ends(struct pass *pass, const struct ptx_function *function)
{
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        if (function->instructions[i].opcode != PTX_OP_EXIT)
            continue;
        const char *reason = arena_format(pass->arena, "'%.100s' ends its thread", function->name);
        pass_refuse(pass, reason ? reason : "a function ends its thread", function->instructions[i].place);
    }
}

static void decide(struct pass *pass, const struct ptx_function *kernel)
{
    const struct working *working = pass->user;
    uint64_t shared = WORKER_SHARED_WORDS * sizeof(uint32_t) + 15;
    pass_reach(pass, kernel);
    for (uint32_t i = 0; i < pass->source->function_count; i++) {
        const struct ptx_function *function = pass->source->functions[i];
        if (!pass->seen[i])
            continue;
        for (uint32_t k = 0; k < function->shared_count; k++)
            shared += function->shared[k]->bytes + function->shared[k]->align - 1;
        if (function != kernel)
            refuse_ends(pass, function);
    }
    if (shared > MOST_STATIC_SHARED_BYTES)
        pass_refuse(pass, "its shared memory leaves no room for the index of the thread block", kernel->place);
    if (pass->source->address_bits != 64)
        pass_refuse(pass, "addresses of the module have 32 bits", kernel->place);
    if (working->barriers.obstacle)
        pass_refuse(pass, working->barriers.obstacle, working->barriers.place);
}

/*
 * What becomes of bodies.
 */
static enum corun_status prepare(struct pass *pass)
{
    struct working *working = pass->user;
    bool any = false;
    for (uint32_t i = 0; i < pass->kernel_count; i++)
        any |= !pass->kernels[i].refusal;
    if (any)
        working->shared = ptx_builder_variable(pass->builder, PTX_SPACE_SHARED, "corun_worker", PTX_TYPE_B32,
                                               WORKER_SHARED_WORDS, 16);
    return any && !working->shared ? CORUN_MEMORY : CORUN_OK;
}

/* Whether what one thread block leaves behind in its SM may harm the next one. */
static bool shares(struct pass *pass, const struct ptx_function *kernel)
{
    if (pass_find(pass, kernel, worker_barrier_is_any))
        return true;
    for (uint32_t i = 0; i < pass->source->function_count; i++)
        if (pass->seen[i] && pass->source->functions[i]->shared_count)
            return true;
    return false;
}

static struct splice *make_loop(struct pass *pass, const struct ptx_function *kernel)
{
    const struct working *working = pass->user;
    bool meets = pass_find(pass, kernel, worker_barrier_is_for_all);
    const struct worker_shape shape = {.module = pass->source,
                                       .reads = pass->reads[kernel->index].reads,
                                       .meeting = worker_barriers_meeting(&working->barriers, meets),
                                       .barrier = working->barriers.number,
                                       .meets_between = shares(pass, kernel),
                                       .waits_for_copies = pass_find(pass, kernel, copies),
                                       .waits_for_bulk = pass_find(pass, kernel, copies_in_bulk)};
    size_t bytes;
    char *text = worker_loop_text(&shape, &bytes);
    struct splice *loop = text ? splice_create(text, bytes) : NULL;
    free(text);
    return loop;
}

/* The registers of the block index are those in which the body wants it, where it has such. */
static struct block_index begin_loop(struct splice *loop, struct pass *pass, uint32_t function)
{
    static const char *const names[] = {"%x", "%y", "%z"};
    struct pass_function *plan = &pass->functions[function];
    const struct working *working = pass->user;
    struct block_index index = block_index_plan(pass->source->functions[function], pass->reads[function].reads);
    for (uint32_t i = 0; i < 3; i++)
        if (index.registers[i] != PTX_NONE)
            splice_bind(loop, names[i], index.registers[i]);
    splice_variable(loop, "arguments", plan->argument);
    splice_variable(loop, "worker", working->shared);
    splice_until(loop, PTX_OP_PMEVENT);
    for (uint32_t i = 0; i < 3; i++)
        if (index.reads >> (GRID_CTAID_X + i) & 1u)
            plan->block_index[i] = splice_register(loop, names[i]);
    return index;
}

static void write_end(const struct pass *pass, const struct ptx_instruction *instruction, uint32_t end, bool is_last)
{
    if (is_last) /* END follows */
        return;
    struct ptx_instruction jump = ptx_make(PTX_OP_BRA, PTX_TYPE_NONE);
    jump.guard = instruction->guard;
    jump.guard_negated = instruction->guard_negated;
    ptx_body_emit(pass->builder, jump, 1, (struct ptx_operand[]){ptx_label_of(end)});
}

static void write_kernel(struct pass *pass, uint32_t function, struct splice *loop)
{
    const struct working *working = pass->user;
    struct block_index index = begin_loop(loop, pass, function);
    uint32_t end = splice_label(loop, "END"), none = splice_register(loop, "%out");
    const struct ptx_instruction *next;
    for (uint32_t i = 0; (next = ptx_body_next(pass->builder)); i++) {
        if (block_index_says(&index, i))
            continue; /* its register has the value */
        bool last = i + 1 == pass->source->functions[function]->instruction_count;
        if (next->opcode == PTX_OP_RET || next->opcode == PTX_OP_EXIT)
            write_end(pass, next, end, last);
        else if (worker_barrier_is_for_all(next))
            worker_barrier_write(&working->barriers, pass, function, next, none);
        else
            pass_write(pass, function, next);
    }
    splice_rest(loop);
}

static void write_function(struct pass *pass, uint32_t function)
{
    const struct working *working = pass->user;
    bool meets = working->shared && !pass->source->functions[function]->is_entry;
    const struct ptx_instruction *next;
    while ((next = ptx_body_next(pass->builder)))
        if (meets && worker_barrier_is_for_all(next))
            worker_barrier_write(&working->barriers, pass, function, next, PTX_NONE);
        else
            pass_write(pass, function, next);
}

static enum corun_status write_body(struct pass *pass, uint32_t function)
{
    enum corun_status status = CORUN_OK;
    if (pass->functions[function].origin != PASS_FROM_ARGUMENT) {
        write_function(pass, function);
        return CORUN_OK;
    }
    struct splice *loop = make_loop(pass, pass->source->functions[function]);
    if (loop && splice_begin(loop, pass->builder, function))
        write_kernel(pass, function, loop);
    else
        status = CORUN_MEMORY;
    splice_destroy(loop);
    return status;
}

enum corun_status workers_module(const struct ptx_module *source, struct corun_diagnostics *list,
                                 struct rewritten *rewritten)
{
    static const int64_t offsets[GRID_VALUES] = {[GRID_NCTAID_X] = offsetof(struct worker_arguments, grid_x),
                                                 [GRID_NCTAID_Y] = offsetof(struct worker_arguments, grid_y),
                                                 [GRID_NCTAID_Z] = offsetof(struct worker_arguments, grid_z),
                                                 [GRID_GRIDID] = offsetof(struct worker_arguments, grid_id)};
    static const struct pass_rules rules = {.doing = "making workers of kernels",
                                            .parameter = WORKERS_PARAMETER,
                                            .parameter_bytes = sizeof(struct worker_arguments),
                                            .parameter_align = WORKERS_PARAMETER_ALIGN,
                                            .offsets = offsets,
                                            .decide = decide,
                                            .prepare = prepare,
                                            .write = write_body};
    struct working working = {.barriers = worker_barriers_plan(source)};
    return pass_run(&rules, &working, source, list, rewritten);
}
