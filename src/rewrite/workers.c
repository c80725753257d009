/* SPDX-License-Identifier: MIT */
/*
 * Kernels become the bodies of loops (worker_loop.h), with what all threads wait for made fit for that (worker_barriers.h). What a body reads
 * of its place comes from shared memory each round, in registers that the body had for it where it had such.
 */
#include "rewrite/workers.h"

#include "ptx/matrix.h"
#include "rewrite/block_index.h"
#include "rewrite/doubled.h"
#include "rewrite/endings.h"
#include "rewrite/machine_registers.h"
#include "rewrite/pass.h"
#include "rewrite/splice.h"
#include "rewrite/worker_barriers.h"
#include "rewrite/worker_drops.h"
#include "rewrite/worker_points.h"

#include <stddef.h>
#include <stdlib.h>

#define MOST_STATIC_SHARED_BYTES 49152u /* of a kernel: CUDA C++ Programming Guide, compute capabilities */

enum worker_kind { PLAIN, DROPPING, COMPLETING };

struct working {
    struct worker_barriers barriers;
    const bool *hampered;              /* by function: a kernel comes to it that may use the barrier of workers */
    bool *called;                      /* by function: a kernel that is rewritten comes to it */
    const struct ptx_variable *shared; /* NULL: no kernel has some of it */
    const bool *thrifty;               /* by function: kernels whose registers are counted */
    const struct doubled *doubled;     /* its copies stay as they are; NULL: there are none */
    bool dropping, completing;
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
    return instruction->opcode == PTX_OP_CP_ASYNC_BULK_STORE || instruction->completion == PTX_COMPLETION_GROUP;
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

static bool acts_by_itself(const struct ptx_instruction *instruction)
{
    switch (instruction->opcode) {
    case PTX_OP_SHFL:
    case PTX_OP_VOTE:
        return instruction->sync != PTX_SUFFIX_NONE;
    case PTX_OP_BAR_WARP_SYNC:
    case PTX_OP_MATCH_ANY_SYNC:
    case PTX_OP_MATCH_ALL_SYNC:
    case PTX_OP_REDUX_SYNC:
    case PTX_OP_ELECT_SYNC:
        return true;
    default:
        return ptx_is_of_matrices(instruction->opcode);
    }
}

static bool acts(void *user, const struct ptx_instruction *instruction)
{
    struct pass *pass = user;
    const struct ptx_call *call = instruction->call;
    bool found = acts_by_itself(instruction);
    for (uint32_t i = 0; call && !found && i < pass->source->function_count; i++)
        if (call->function ? call->function->index == i : pass->reads[i].address_taken)
            found = pass_find(pass, pass->source->functions[i], acts_by_itself);
    return found;
}

/*
 * A thread that has ended is in no one's way; one that waits for the next round is, where a warp waits for all of its threads that have not
 * ended: independent thread scheduling, compute capability 7.0 and above.
 */
static void refuse_endings(struct pass *pass, const struct ptx_function *kernel)
{
    const char *reason = "threads of a warp may end before others come to this, which names them";
    const struct ptx_instruction *found = NULL;
    if (!pass_find(pass, kernel, acts_by_itself))
        return;
    if (endings_before_warp_acts(kernel, acts, pass, pass->arena, &found) != CORUN_OK)
        pass_refuse(pass, "out of memory", kernel->place);
    else if (found && pass->source->target_sm < 70)
        pass->kernels[pass->kernel_count - 1].only_before_volta =
            "threads of a warp may end before others come to a shuffle or a vote that names them";
    else if (found)
        pass_refuse(pass, reason, found->place);
}

static bool meets_all(void *user, const struct ptx_instruction *instruction)
{
    struct pass *pass = user;
    const struct ptx_call *call = instruction->call;
    bool found = worker_barrier_is_for_all(instruction);
    for (uint32_t i = 0; call && !found && i < pass->source->function_count; i++)
        if (call->function ? call->function->index == i : pass->reads[i].address_taken)
            found = pass_find(pass, pass->source->functions[i], worker_barrier_is_for_all);
    return found;
}

/* May threads have ended when others come to a barrier for all? */
static bool ends_before_barriers(struct pass *pass, const struct ptx_function *kernel)
{
    const struct ptx_instruction *found = NULL;
    return pass_find(pass, kernel, worker_barrier_is_for_all) &&
           (endings_before_warp_acts(kernel, meets_all, pass, pass->arena, &found) != CORUN_OK || found);
}

/* Where may its workers leave in the middle of a thread block? */
static enum corun_status find_drops(struct pass *pass, const struct ptx_function *kernel, struct worker_drops *drops)
{
    const struct worker_drops_about about = {.acts = pass_find(pass, kernel, acts_by_itself),
                                             .ends_early = ends_before_barriers(pass, kernel)};
    return worker_drops_create(kernel, &about, pass->arena, drops);
}

static void describe_drops(struct pass *pass, const struct ptx_function *kernel)
{
    struct worker_drops drops;
    struct rewritten_kernel *row = &pass->kernels[pass->kernel_count - 1];
    if (find_drops(pass, kernel, &drops) != CORUN_OK) {
        pass_refuse(pass, "out of memory", kernel->place);
        return;
    }
    row->drops = drops.kind;
    row->drops_text = drops.reason ? drops.reason : ptx_idempotence_text(&drops.idempotence);
}

/* A worker goes on behind the end of a thread, where nothing gives back what the thread has taken. */
static void refuse_stack(struct pass *pass, const struct ptx_function *kernel)
{
    for (uint32_t i = 0; i < kernel->instruction_count; i++)
        if (kernel->instructions[i].opcode == PTX_OP_ALLOCA)
            pass_refuse(pass, "memory of alloca is given back at the end of a thread", kernel->instructions[i].place);
}

static enum worker_meeting meeting_of(struct pass *pass, const struct ptx_function *kernel)
{
    const struct working *working = pass->user;
    return worker_barriers_meeting(&working->barriers, ends_before_barriers(pass, kernel));
}

/* From global and local memory, which L1 holds; what functions do is not looked at. */
static bool loads_through_l1(const struct ptx_instruction *instruction)
{
    switch (instruction->opcode) {
    case PTX_OP_LD:
        return instruction->space == PTX_SPACE_GLOBAL || instruction->space == PTX_SPACE_LOCAL ||
               instruction->space == PTX_SUFFIX_NONE;
    case PTX_OP_CALL:
    case PTX_OP_LDU:
    case PTX_OP_TEX:
    case PTX_OP_TEX_LEVEL:
    case PTX_OP_TEX_GRAD:
    case PTX_OP_TLD4:
        return true;
    default:
        return false;
    }
}

/* Does it load again and again? What lies between a jump back and its target is a loop. */
static bool loads_in_loops(const struct ptx_function *function)
{
    bool found = false;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *jump = &function->instructions[i];
        for (uint32_t k = 0; k < jump->operand_count; k++) {
            if (jump->operands[k].kind != PTX_OPERAND_LABEL)
                continue;
            for (uint32_t at = function->labels[jump->operands[k].index].instruction; at < i; at++)
                found |= loads_through_l1(&function->instructions[at]);
        }
    }
    return found;
}

/*
 * How is it told what is next? Shared memory is quicker than barriers. But where L1 has what shared memory leaves, the few bytes of a kernel that has none of
 * its own cost L1 a step of some KB: so barriers, in kernels that load in loops, which may miss these, and last.
 */
static bool tells_by_barriers(struct pass *pass, const struct ptx_function *kernel)
{
    const struct working *working = pass->user;
    bool loads = false, shares = false;
    if (working->dropping || meeting_of(pass, kernel) != WORKER_MEETS_PLAINLY)
        return false;
    pass_reach(pass, kernel);
    for (uint32_t i = 0; i < pass->source->function_count; i++) {
        loads |= pass->seen[i] && loads_in_loops(pass->source->functions[i]);
        shares |= pass->seen[i] && pass->source->functions[i]->shared_count;
    }
    return loads && !shares;
}

/* May a draw be of several thread blocks? Not where each is given back by itself, nor where no shared memory has what is left of them. */
static bool has_ranges(struct pass *pass, const struct ptx_function *kernel)
{
    const struct working *working = pass->user;
    return !working->dropping && !tells_by_barriers(pass, kernel);
}

/* Notes how much static shared memory the workers of a kernel have at most. */
static void refuse_shared(struct pass *pass, const struct ptx_function *kernel)
{
    bool by_barriers = tells_by_barriers(pass, kernel);
    uint64_t shared = by_barriers ? 0 : WORKER_SHARED_WORDS * sizeof(uint32_t) + WORKER_SHARED_ALIGN - 1;
    pass_reach(pass, kernel);
    for (uint32_t i = 0; i < pass->source->function_count; i++) {
        const struct ptx_function *function = pass->source->functions[i];
        if (!pass->seen[i])
            continue;
        for (uint32_t k = 0; k < function->shared_count; k++)
            shared += function->shared[k]->bytes + function->shared[k]->align - 1;
    }
    pass->kernels[pass->kernel_count - 1].shared_bytes_most = shared;
    if (!by_barriers && shared > MOST_STATIC_SHARED_BYTES)
        pass_refuse(pass, "its shared memory leaves no room for the index of the thread block", kernel->place);
}

static void refuse_arrivals(struct pass *pass, const struct ptx_function *kernel)
{
    const struct ptx_instruction *arrives = pass_find(pass, kernel, worker_barrier_arrives);
    if (arrives)
        pass_refuse(pass, "threads arrive at a barrier without waiting: nobody may do at the end of a thread block",
                    arrives->place);
}

/* The first barrier to which a kernel comes that may have the number of workers. Fills pass->seen. */
static const struct ptx_instruction *find_obstacle(struct pass *pass, const struct ptx_function *kernel,
                                                   const char **reason)
{
    const struct working *working = pass->user;
    const struct ptx_instruction *found = NULL;
    pass_reach(pass, kernel);
    for (uint32_t i = 0; i < pass->source->function_count && !found; i++)
        if (pass->seen[i])
            found = worker_barriers_obstacle(&working->barriers, pass->source->functions[i], reason);
    return found;
}

static const bool *find_hampered(struct pass *pass)
{
    struct working *working = pass->user;
    const struct ptx_module *source = pass->source;
    const char *reason;
    bool any = false;
    bool *hampered = ARENA_ARRAY(pass->arena, bool, source->function_count + 1u);
    for (uint32_t i = 0; i < source->function_count; i++)
        any |= worker_barriers_obstacle(&working->barriers, source->functions[i], &reason) != NULL;
    for (uint32_t i = 0; hampered && any && i < source->function_count; i++)
        if (source->functions[i]->is_entry && find_obstacle(pass, source->functions[i], &reason))
            for (uint32_t k = 0; k < source->function_count; k++)
                hampered[k] |= pass->seen[k];
    return working->hampered = hampered;
}

/*
 * Workers need a barrier that nobody else uses. Functions that wait for all threads get it too, and so have to be left as they are where they are called by a kernel
 * that may use it otherwise.
 */
static void refuse_barriers(struct pass *pass, const struct ptx_function *kernel)
{
    const struct working *working = pass->user;
    const bool *hampered = working->hampered ? working->hampered : find_hampered(pass);
    if (!hampered) {
        pass_refuse(pass, "out of memory", kernel->place);
        return;
    }
    const char *reason = NULL;
    const struct ptx_instruction *obstacle = find_obstacle(pass, kernel, &reason);
    if (obstacle)
        pass_refuse(pass, reason, obstacle->place);
    for (uint32_t i = 0; i < pass->source->function_count && !obstacle; i++) {
        const struct ptx_function *function = pass->source->functions[i];
        if (!pass->seen[i] || function->is_entry || !hampered[i])
            continue;
        for (uint32_t k = 0; k < function->instruction_count; k++)
            if (worker_barrier_is_for_all(&function->instructions[k]))
                pass_refuse(pass, "a function waits for all threads, which a kernel calls that may use any barrier",
                            function->instructions[k].place);
    }
}

static void decide(struct pass *pass, const struct ptx_function *kernel)
{
    const struct working *working = pass->user;
    if (working->doubled && doubled_is_copy(working->doubled, kernel)) {
        pass_refuse(pass, "it is there as it was", kernel->place);
        return;
    }
    pass_reach(pass, kernel);
    for (uint32_t i = 0; i < pass->source->function_count; i++)
        if (pass->seen[i] && pass->source->functions[i] != kernel)
            refuse_ends(pass, pass->source->functions[i]);
    refuse_shared(pass, kernel);
    if (pass->source->address_bits != 64)
        pass_refuse(pass, "addresses of the module have 32 bits", kernel->place);
    refuse_arrivals(pass, kernel);
    refuse_barriers(pass, kernel);
    refuse_endings(pass, kernel);
    refuse_stack(pass, kernel);
    if (pass->source->target_sm < 70 && ends_before_barriers(pass, kernel))
        pass->kernels[pass->kernel_count - 1].only_before_volta =
            "threads of a warp may end before others come to a barrier, and its PTX is for GPUs before sm_70";
    describe_drops(pass, kernel);
    pass->kernels[pass->kernel_count - 1].ranges = has_ranges(pass, kernel);
}

/*
 * What becomes of bodies.
 */
static enum corun_status prepare(struct pass *pass)
{
    struct working *working = pass->user;
    bool any = false, shares = false;
    working->called = ARENA_ARRAY(pass->arena, bool, pass->source->function_count + 1u);
    if (!working->called)
        return CORUN_MEMORY;
    for (uint32_t i = 0; i < pass->kernel_count; i++) {
        if (pass->kernels[i].refusal)
            continue;
        any = true;
        shares |= !tells_by_barriers(pass, pass->kernels[i].function);
        pass_reach(pass, pass->kernels[i].function);
        for (uint32_t k = 0; k < pass->source->function_count; k++)
            working->called[k] |= pass->seen[k];
    }
    if (any)
        ptx_builder_need_version(pass->builder, WORKER_PTX_VERSION);
    if (shares)
        working->shared = ptx_builder_variable(pass->builder, PTX_SPACE_SHARED, "corun_worker", PTX_TYPE_B32,
                                               WORKER_SHARED_WORDS, WORKER_SHARED_ALIGN);
    return shares && !working->shared ? CORUN_MEMORY : CORUN_OK;
}

static struct splice *make_loop(struct pass *pass, const struct ptx_function *kernel)
{
    const struct working *working = pass->user;
    const struct worker_shape shape = {.module = pass->source,
                                       .reads = pass->reads[kernel->index].reads,
                                       .meeting = meeting_of(pass, kernel),
                                       .by_barriers = tells_by_barriers(pass, kernel),
                                       .barrier = working->barriers.number,
                                       .thrifty = working->thrifty[kernel->index],
                                       .ranges = has_ranges(pass, kernel),
                                       .acts = pass_find(pass, kernel, worker_barrier_is_any) ||
                                               pass_find(pass, kernel, acts_by_itself),
                                       .waits_for_copies = pass_find(pass, kernel, copies),
                                       .waits_for_bulk = pass_find(pass, kernel, copies_in_bulk),
                                       .drops = working->dropping,
                                       .completes = working->completing};
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

/* A body that is being written. */
struct kernel_writer {
    struct pass *pass;
    uint32_t function;
    struct splice *loop, *asking, *leaving;
    struct worker_points points;
    struct worker_drops drops;
    bool meets; /* threads that have ended take part in barriers */
};

/* A text within the body, with registers of the loop. False when out of memory. */
static bool begin_inner(const struct kernel_writer *writer, struct splice *inner, size_t count,
                        const char *const *names)
{
    const struct working *working = writer->pass->user;
    if (!splice_begin(inner, writer->pass->builder, writer->function))
        return false;
    for (size_t i = 0; i < count; i++)
        splice_bind(inner, names[i], splice_register(writer->loop, names[i]));
    splice_variable(inner, "arguments", writer->pass->functions[writer->function].argument);
    splice_variable(inner, "worker", working->shared);
    return true;
}

/* The elected thread asks for what is next. False when out of memory. */
static bool write_asking(const struct kernel_writer *writer)
{
    static const char *const names[] = {"%quiet", "%strict", "%drawn", "%owed", "%place", "%queue", "%t"};
    if (!begin_inner(writer, writer->asking, sizeof names / sizeof names[0], names))
        return false;
    splice_rest(writer->asking);
    return true;
}

static void write_leave(const struct kernel_writer *writer, uint32_t guard)
{
    struct ptx_instruction jump = ptx_make(PTX_OP_BRA, PTX_TYPE_NONE);
    jump.guard = guard;
    ptx_body_emit(writer->pass->builder, jump, 1,
                  (struct ptx_operand[]){ptx_label_of(splice_label(writer->loop, PTX_WORKER_END))});
}

/* A place to leave. At a barrier, it is the barrier at hand. False when out of memory. */
static bool write_leaving(const struct kernel_writer *writer, const struct ptx_instruction *barrier)
{
    static const char *const names[] = {"%others",   "%quiet", "%strict",   "%claimed", "%seen", "%last",
                                        "%dropping", "%limit", "%resident", "%drawn",   "%owed", "%state",
                                        "%place",    "%queue", "%time",     "%t",       "%u",    "%a",
                                        "%b",        "%word",  "%flags",    "%p"};
    uint32_t p = splice_register(writer->loop, "%p"), dropping = splice_register(writer->loop, "%dropping");
    if (!begin_inner(writer, writer->leaving, sizeof names / sizeof names[0], names))
        return false;
    splice_rest(writer->leaving);
    if (writer->drops.kind == REWRITTEN_DROPS_IN_LOOPS) {
        write_leave(writer, dropping);
        return true;
    }
    bool aligned = barrier->opcode == PTX_OP_BAR_SYNC;
    struct ptx_instruction reduction = ptx_make(aligned ? PTX_OP_BAR_RED : PTX_OP_BARRIER_RED, PTX_TYPE_PRED);
    reduction.reduction = PTX_REDUCTION_OR;
    ptx_body_emit(writer->pass->builder, reduction, 3,
                  (struct ptx_operand[]){ptx_register(p), barrier->operands[0], ptx_register(dropping)});
    write_leave(writer, p);
    return true;
}

static bool write_kernel(const struct kernel_writer *writer)
{
    struct pass *pass = writer->pass;
    const struct working *working = pass->user;
    const struct ptx_function *source = pass->source->functions[writer->function];
    struct block_index index = begin_loop(writer->loop, pass, writer->function);
    uint32_t end = splice_label(writer->loop, PTX_WORKER_END), none = splice_register(writer->loop, "%out"), point = 0,
             drop = 0;
    bool at_barriers = writer->drops.kind == REWRITTEN_DROPS_AT_BARRIERS;
    const struct ptx_instruction *next;
    for (uint32_t i = 0; (next = ptx_body_next(pass->builder)); i++) {
        if (point < writer->points.count && writer->points.instructions[point] == i) {
            point++;
            if (!write_asking(writer))
                return false;
        }
        if (drop < writer->drops.count && writer->drops.instructions[drop] == i) {
            drop++;
            if (!write_leaving(writer, next))
                return false;
            if (at_barriers)
                continue;
        }
        if (block_index_says(&index, i))
            continue; /* its register has the value */
        if (next->opcode == PTX_OP_RET || next->opcode == PTX_OP_EXIT)
            write_end(pass, next, end, i + 1 == source->instruction_count);
        else if (writer->meets && worker_barrier_is_for_all(next))
            worker_barrier_write(&working->barriers, pass, writer->function, next, none);
        else
            pass_write(pass, writer->function, next);
    }
    splice_rest(writer->loop);
    return true;
}

static void write_function(struct pass *pass, uint32_t function)
{
    const struct working *working = pass->user;
    bool meets = working->called[function] && !pass->source->functions[function]->is_entry;
    const struct ptx_instruction *next;
    while ((next = ptx_body_next(pass->builder)))
        if (meets && worker_barrier_is_for_all(next))
            worker_barrier_write(&working->barriers, pass, function, next, PTX_NONE);
        else
            pass_write(pass, function, next);
}

static struct splice *make_inner(char *text, size_t bytes)
{
    struct splice *inner = text ? splice_create(text, bytes) : NULL;
    free(text);
    return inner;
}

static enum corun_status begin_writer(struct pass *pass, uint32_t function, struct kernel_writer *writer)
{
    const struct working *working = pass->user;
    const struct ptx_function *kernel = pass->source->functions[function];
    enum corun_status status = CORUN_OK;
    size_t bytes = 0;
    *writer = (struct kernel_writer){.pass = pass, .function = function, .meets = ends_before_barriers(pass, kernel)};
    writer->loop = make_loop(pass, kernel);
    char *text = worker_asking_text(pass->source, &bytes);
    writer->asking = make_inner(text, bytes);
    if (working->dropping)
        status = find_drops(pass, kernel, &writer->drops);
    text = worker_leaving_text(pass->source, writer->drops.kind == REWRITTEN_DROPS_AT_BARRIERS, &bytes);
    writer->leaving = make_inner(text, bytes);
    if (status == CORUN_OK && !working->thrifty[function])
        status = worker_points_create(kernel, pass->arena, &writer->points);
    if (status == CORUN_OK && writer->drops.count)
        status = worker_drops_keep_points(kernel, &writer->drops, pass->arena, &writer->points);
    return status == CORUN_OK && (!writer->loop || !writer->asking || !writer->leaving) ? CORUN_MEMORY : status;
}

static enum corun_status write_body(struct pass *pass, uint32_t function)
{
    if (pass->functions[function].origin != PASS_FROM_ARGUMENT) {
        write_function(pass, function);
        return CORUN_OK;
    }
    struct kernel_writer writer;
    enum corun_status status = begin_writer(pass, function, &writer);
    if (status == CORUN_OK && (!splice_begin(writer.loop, pass->builder, function) || !write_kernel(&writer)))
        status = CORUN_MEMORY;
    splice_destroy(writer.loop);
    splice_destroy(writer.asking);
    splice_destroy(writer.leaving);
    return status;
}

static enum corun_status run(const struct ptx_module *source, const struct doubled *doubled, enum worker_kind kind,
                             const bool *thrifty, struct corun_diagnostics *list, struct rewritten *rewritten)
{
    static const int64_t offsets[GRID_VALUES] = {[GRID_NCTAID_X] = offsetof(struct worker_arguments, grid_x),
                                                 [GRID_NCTAID_Y] = offsetof(struct worker_arguments, grid_y),
                                                 [GRID_NCTAID_Z] = offsetof(struct worker_arguments, grid_z),
                                                 [GRID_GRIDID] = offsetof(struct worker_arguments, grid_id)};
    static const uint32_t parameter_bytes[] = {[PLAIN] = sizeof(struct worker_arguments),
                                               [DROPPING] = sizeof(struct worker_dropping_arguments),
                                               [COMPLETING] = sizeof(struct worker_completing_arguments)};
    const struct pass_rules rules = {.doing = "making workers of kernels",
                                     .parameter = WORKERS_PARAMETER,
                                     .parameter_bytes = parameter_bytes[kind],
                                     .parameter_align = WORKERS_PARAMETER_ALIGN,
                                     .offsets = offsets,
                                     .decide = decide,
                                     .prepare = prepare,
                                     .write = write_body};
    struct working working = {.barriers = worker_barriers_plan(source),
                              .thrifty = thrifty,
                              .doubled = doubled,
                              .dropping = kind == DROPPING,
                              .completing = kind == COMPLETING};
    return pass_run(&rules, &working, source, list, rewritten);
}

/*
 * Which kernels have no register to spare? A worker is to hold as many thread blocks on an SM as its kernel, as the PTX of both says and as machine code does. An
 * assembler keeps to the registers of a step; where those of the kernel leave less to it than a worker keeps, what it has to wait for would come later.
 */
static bool takes_more(const struct rewritten_kernel *kernel, uint32_t before, uint32_t after)
{
    const uint32_t step = machine_registers_step(before);
    return !kernel->refusal && (kernel->registers_after > machine_registers_step(kernel->registers_before) ||
                                after > step || before + WORKER_KEPT_REGISTERS > step);
}

/* `before` and `after` have room for a number for each function, and so has `thrifty`. */
static enum corun_status run_twice(const struct ptx_module *source, const struct doubled *doubled,
                                   enum worker_kind kind, bool *thrifty, uint32_t *before, uint32_t *after,
                                   struct corun_diagnostics *list, struct rewritten *rewritten)
{
    bool any = false;
    enum corun_status status = run(source, doubled, kind, thrifty, list, rewritten);
    if (status != CORUN_OK)
        return status;
    status = machine_registers_count(source, before);
    if (status == CORUN_OK)
        status = machine_registers_count(rewritten->module, after);
    for (uint32_t i = 0; i < rewritten->kernel_count && status == CORUN_OK; i++) {
        const struct rewritten_kernel *kernel = &rewritten->kernels[i];
        uint32_t function = kernel->function->index;
        thrifty[function] = takes_more(kernel, before[function], after[function]);
        any |= thrifty[function];
    }
    if (status == CORUN_OK && !any)
        return CORUN_OK;
    rewritten_destroy(rewritten);
    return status == CORUN_OK
               ? run(source, doubled, kind, thrifty, list, rewritten)
               : corun_report(list, status, CORUN_NOWHERE, "out of memory while counting registers of workers");
}

static enum corun_status make_workers(const struct ptx_module *source, const struct doubled *doubled,
                                      enum worker_kind kind, struct corun_diagnostics *list,
                                      struct rewritten *rewritten)
{
    const size_t count = source->function_count + 1u;
    bool *thrifty = calloc(count, sizeof *thrifty);
    uint32_t *registers = calloc(2 * count, sizeof *registers);
    *rewritten = (struct rewritten){0};
    enum corun_status status =
        thrifty && registers
            ? run_twice(source, doubled, kind, thrifty, registers, registers + count, list, rewritten)
            : corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory while making workers of kernels");
    free(thrifty);
    free(registers);
    return status;
}

enum corun_status workers_module(const struct ptx_module *source, struct corun_diagnostics *list,
                                 struct rewritten *rewritten)
{
    return make_workers(source, NULL, PLAIN, list, rewritten);
}

enum corun_status workers_dropping_module(const struct ptx_module *source, struct corun_diagnostics *list,
                                          struct rewritten *rewritten)
{
    return make_workers(source, NULL, DROPPING, list, rewritten);
}

enum corun_status workers_completing_module(const struct ptx_module *source, struct corun_diagnostics *list,
                                            struct rewritten *rewritten)
{
    return make_workers(source, NULL, COMPLETING, list, rewritten);
}

/* The rows of the copies, which are the last ones, go into those of the kernels. */
static enum corun_status join_rows(const struct doubled *doubled, struct rewritten *rewritten)
{
    struct arena *arena = rewritten->module->arena;
    const uint32_t count = rewritten->kernel_count - doubled->copies;
    struct rewritten_kernel *kernels = ARENA_ARRAY(arena, struct rewritten_kernel, count + 1u);
    for (uint32_t i = 0; kernels && i < count; i++) {
        kernels[i] = rewritten->kernels[i];
        const char *name = arena_format(arena, "%s%s", kernels[i].function->name, doubled->suffix);
        const struct rewritten_kernel *copy = name ? rewritten_kernel_find(rewritten, name) : NULL;
        if (!name)
            return CORUN_MEMORY;
        kernels[i].whole = copy ? copy->function : NULL;
    }
    rewritten->kernels = kernels;
    rewritten->kernel_count = count;
    return kernels ? CORUN_OK : CORUN_MEMORY;
}

static enum corun_status make_beside(const struct ptx_module *source, enum worker_kind kind,
                                     struct corun_diagnostics *list, struct rewritten *rewritten)
{
    struct doubled doubled;
    *rewritten = (struct rewritten){0};
    enum corun_status status = doubled_create(source, list, &doubled);
    if (status == CORUN_MEMORY)
        return corun_report(list, status, CORUN_NOWHERE, "out of memory while making workers of kernels");
    if (status != CORUN_OK)
        return status;
    status = make_workers(doubled.module, &doubled, kind, list, rewritten);
    if (status == CORUN_OK && join_rows(&doubled, rewritten) != CORUN_OK) {
        rewritten_destroy(rewritten);
        status = corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory while making workers of kernels");
    }
    doubled_destroy(&doubled);
    return status;
}

enum corun_status workers_beside_module(const struct ptx_module *source, struct corun_diagnostics *list,
                                        struct rewritten *rewritten)
{
    return make_beside(source, PLAIN, list, rewritten);
}

enum corun_status workers_dropping_beside_module(const struct ptx_module *source, struct corun_diagnostics *list,
                                                 struct rewritten *rewritten)
{
    return make_beside(source, DROPPING, list, rewritten);
}
