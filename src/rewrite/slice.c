/* SPDX-License-Identifier: MIT */
/*
 * Index rectification. A kernel computes where its thread block lies in the grid (block_index.h), and reads of %ctaid become reads of
 * that. Reads of %nctaid become loads of the parameter in the same place, which keeps no register. A function that reads any of it
 * gets it as further parameters from whoever calls it; a kernel that was not sliced hands on what the special registers say.
 */
#include "rewrite/slice.h"

#include "ptx/printer.h"
#include "rewrite/block_index.h"

#include <stddef.h>
#include <stdlib.h>

#define MOST_PARAMETER_BYTES 4096u        /* of a kernel, before PTX 8.1 and sm_70 */
#define MOST_PARAMETER_BYTES_LATER 32764u /* since */

/* Where a function has the values from. */
enum origin { ORIGIN_SPECIAL, ORIGIN_SLICE, ORIGIN_PARAMETERS };

struct function_plan {
    enum origin origin;
    bool reached; /* from a kernel that is sliced */
    const struct ptx_variable *slice;
    const struct ptx_variable *parameters[GRID_VALUES];
    struct block_index index; /* with ORIGIN_SLICE */
};

struct slicing {
    const struct ptx_module *source;
    const struct grid_reads *reads;
    struct ptx_builder *builder;
    struct function_plan *plans;
    struct slice_kernel *kernels;
    uint32_t kernel_count;
};

static bool is_kernel(const struct ptx_function *function)
{
    return function->is_entry && function->has_body;
}

/* In struct slice_arguments, of what is loaded as it is. */
static int64_t offset_of(enum grid_value value)
{
    static const int64_t offsets[GRID_VALUES] = {[GRID_NCTAID_X] = offsetof(struct slice_arguments, grid_x),
                                                 [GRID_NCTAID_Y] = offsetof(struct slice_arguments, grid_y),
                                                 [GRID_NCTAID_Z] = offsetof(struct slice_arguments, grid_z),
                                                 [GRID_GRIDID] = offsetof(struct slice_arguments, grid_id)};
    return offsets[value];
}

static struct ptx_instruction load(enum ptx_type type)
{
    struct ptx_instruction instruction = ptx_make(PTX_OP_LD, type);
    instruction.space = PTX_SPACE_PARAM;
    return instruction;
}

/* A part of the block index is in a register, all the rest is loaded. */
static bool is_computed(const struct function_plan *plan, enum grid_value value)
{
    return plan->origin == ORIGIN_SLICE && 1u << value & BLOCK_INDEX_READS;
}

/* A value of the grid as a register, for a call or for an instruction that cannot load it itself. */
static uint32_t fetch(const struct slicing *slicing, uint32_t function, enum grid_value value)
{
    const struct function_plan *plan = &slicing->plans[function];
    enum ptx_type type = grid_values[value].type;
    if (is_computed(plan, value))
        return plan->index.registers[value - GRID_CTAID_X];
    uint32_t to = ptx_builder_register(slicing->builder, function, grid_values[value].name, type);
    if (plan->origin == ORIGIN_SPECIAL) {
        ptx_body_emit(slicing->builder, ptx_make(PTX_OP_MOV, type), 2,
                      (struct ptx_operand[]){ptx_register(to), ptx_special(grid_values[value].special)});
        return to;
    }
    struct ptx_operand from = plan->origin == ORIGIN_SLICE ? ptx_address_in(plan->slice, offset_of(value))
                                                           : ptx_address_in(plan->parameters[value], 0);
    ptx_body_emit(slicing->builder, load(type), 2, (struct ptx_operand[]){ptx_register(to), from});
    return to;
}

/* The instruction reads a value of the grid: mov or cvt. */
static void write_read(const struct slicing *slicing, uint32_t function, const struct ptx_instruction *instruction,
                       enum grid_value value)
{
    const struct function_plan *plan = &slicing->plans[function];
    enum ptx_type type = grid_values[value].type;
    struct ptx_operand to = instruction->operands[0];
    bool moves = instruction->opcode == PTX_OP_MOV,
         narrows = ptx_types[instruction->types[0]].bits < ptx_types[type].bits;
    if (moves && !narrows && !is_computed(plan, value) && to.kind == PTX_OPERAND_REGISTER) {
        struct ptx_instruction loads = load(type);
        loads.guard = instruction->guard;
        loads.guard_negated = instruction->guard_negated;
        struct ptx_operand from = plan->origin == ORIGIN_SLICE ? ptx_address_in(plan->slice, offset_of(value))
                                                               : ptx_address_in(plan->parameters[value], 0);
        ptx_body_emit(slicing->builder, loads, 2, (struct ptx_operand[]){to, from});
        return;
    }
    struct ptx_instruction reads = *instruction;
    struct ptx_operand from = ptx_register(fetch(slicing, function, value));
    if (moves && narrows) { /* mov takes the low part of a special register, but not that of a register */
        bool half = ptx_types[instruction->types[0]].bits == 16;
        reads = ptx_make(PTX_OP_CVT, half ? PTX_TYPE_U16 : PTX_TYPE_U32);
        reads.types[1] = type == PTX_TYPE_B64 ? PTX_TYPE_U64 : PTX_TYPE_U32;
        reads.type_count = 2;
        reads.guard = instruction->guard;
        reads.guard_negated = instruction->guard_negated;
    }
    ptx_body_emit(slicing->builder, reads, 2, (struct ptx_operand[]){to, from});
}

static void write_call(const struct slicing *slicing, uint32_t function, const struct ptx_function *callee)
{
    struct ptx_operand arguments[GRID_VALUES];
    uint32_t count = 0;
    for (enum grid_value value = 0; value < GRID_VALUES; value++)
        if (slicing->plans[callee->index].parameters[value])
            arguments[count++] = ptx_register(fetch(slicing, function, value));
    ptx_body_keep_call(slicing->builder, count, arguments);
}

static void write_body(const struct slicing *slicing, uint32_t function)
{
    struct ptx_builder *builder = slicing->builder;
    struct function_plan *plan = &slicing->plans[function];
    struct block_index *index = &plan->index;
    bool computes = plan->origin == ORIGIN_SLICE && index->reads & BLOCK_INDEX_READS;
    ptx_body_begin(builder, function);
    if (computes && !index->position)
        block_index_write(index, builder, function, plan->slice);
    const struct ptx_instruction *next;
    for (uint32_t i = 0; (next = ptx_body_next(builder)); i++) {
        enum grid_value value = plan->origin == ORIGIN_SPECIAL ? GRID_VALUES : grid_value_read(next);
        const struct ptx_function *callee = next->call ? next->call->function : NULL;
        if (computes && index->position && i == index->position)
            block_index_write(index, builder, function, plan->slice);
        if (computes && (i == index->moves[0] || i == index->moves[1] || i == index->moves[2]))
            continue; /* its register has the value */
        if (value < GRID_VALUES)
            write_read(slicing, function, next, value);
        else if (callee && slicing->plans[callee->index].origin == ORIGIN_PARAMETERS)
            write_call(slicing, function, callee);
        else
            ptx_body_keep(builder);
    }
    ptx_body_end(builder);
}

/*
 * What is sliced, and what becomes of the functions.
 */
static uint64_t most_parameter_bytes(const struct ptx_module *module)
{
    return module->version >= 801 && module->target_sm >= 70 ? MOST_PARAMETER_BYTES_LATER : MOST_PARAMETER_BYTES;
}

static void refuse(struct slice_kernel *kernel, const char *reason, struct ptx_place place)
{
    if (kernel->refusal)
        return;
    kernel->refusal = reason;
    kernel->place = place;
}

static void decide(const struct slicing *slicing, const struct ptx_function *function, struct slice_kernel *kernel)
{
    const struct grid_reads *row = &slicing->reads[function->index];
    uint64_t align = SLICE_PARAMETER_ALIGN, behind = (function->parameter_bytes + align - 1) & ~(align - 1);
    *kernel = (struct slice_kernel){.function = function, .reads = row->reads};
    if (row->obstacle)
        refuse(kernel, row->obstacle, row->place);
    if (row->address_taken)
        refuse(kernel, "its address is taken: who launches it through that gives it its old parameters",
               function->place);
    if (behind + sizeof(struct slice_arguments) > most_parameter_bytes(slicing->source))
        refuse(kernel, "its parameters leave no room for one more", function->place);
}

/* Functions that a sliced kernel calls, directly or not, get what they read of the grid as parameters. */
static enum corun_status reach(struct slicing *slicing)
{
    const struct ptx_module *source = slicing->source;
    uint32_t *stack = calloc(source->function_count + 1u, sizeof *stack), depth = 0;
    if (!stack)
        return CORUN_MEMORY;
    for (uint32_t i = 0; i < source->function_count; i++)
        if (slicing->plans[i].reached)
            stack[depth++] = i;
    while (depth) {
        const struct ptx_function *function = source->functions[stack[--depth]];
        for (uint32_t i = 0; i < function->instruction_count; i++) {
            const struct ptx_call *call = function->instructions[i].call;
            if (!call || !call->function || slicing->plans[call->function->index].reached)
                continue;
            slicing->plans[call->function->index].reached = true;
            if (slicing->reads[call->function->index].reads)
                slicing->plans[call->function->index].origin = ORIGIN_PARAMETERS;
            stack[depth++] = call->function->index;
        }
    }
    free(stack);
    return CORUN_OK;
}

static void add_parameters(const struct slicing *slicing, uint32_t function)
{
    struct function_plan *plan = &slicing->plans[function];
    if (plan->origin == ORIGIN_SLICE) {
        plan->slice = ptx_builder_parameter_bytes(slicing->builder, function, SLICE_PARAMETER,
                                                  sizeof(struct slice_arguments), SLICE_PARAMETER_ALIGN);
        plan->index = block_index_plan(slicing->source->functions[function], slicing->reads[function].reads);
    }
    for (enum grid_value value = 0; plan->origin == ORIGIN_PARAMETERS && value < GRID_VALUES; value++)
        if (slicing->reads[function].reads & 1u << value)
            plan->parameters[value] =
                ptx_builder_parameter(slicing->builder, function, grid_values[value].name, grid_values[value].type);
}

/* Registers of all kernels into `registers`, and where they are from. */
static enum corun_status count_registers(const struct ptx_module *module, uint32_t *registers,
                                         enum ptx_registers_from *from)
{
    struct arena *arena = arena_create();
    struct ptx_allocation *rows = arena ? ARENA_ARRAY(arena, struct ptx_allocation, module->function_count + 1u) : NULL;
    enum corun_status status = rows ? CORUN_OK : CORUN_MEMORY;
    uint32_t kernel = 0;
    for (uint32_t i = 0; i < module->function_count && status == CORUN_OK; i++) {
        struct ptx_control_flow flow;
        if (!module->functions[i]->has_body)
            continue;
        status = ptx_control_flow_create(module->functions[i], arena, &flow);
        if (status == CORUN_OK)
            status = ptx_allocate_registers(module->functions[i], &flow, arena, &rows[i]);
    }
    for (uint32_t i = 0; i < module->function_count && status == CORUN_OK; i++)
        if (is_kernel(module->functions[i])) {
            status = ptx_registers_per_thread(module, module->functions[i], rows, NULL, 0, &registers[kernel],
                                              &from[kernel]);
            kernel++;
        }
    arena_destroy(arena);
    return status;
}

/* What the caller is told, in the arena of the new module. */
static enum corun_status describe(const struct slicing *slicing, struct ptx_module *module, struct slices *slices)
{
    uint32_t count = slicing->kernel_count;
    struct slice_kernel *kernels = ARENA_ARRAY(module->arena, struct slice_kernel, count + 1u);
    uint32_t *registers = ARENA_ARRAY(module->arena, uint32_t, 2 * count + 1u);
    enum ptx_registers_from *from = ARENA_ARRAY(module->arena, enum ptx_registers_from, count + 1u);
    if (!kernels || !registers || !from)
        return CORUN_MEMORY;
    *slices = (struct slices){module, kernels, count, 0};
    enum corun_status status = count_registers(slicing->source, registers, from);
    if (status == CORUN_OK)
        status = count_registers(module, registers + count, from);
    for (uint32_t i = 0; i < count && status == CORUN_OK; i++) {
        const struct ptx_function *before = slicing->kernels[i].function, *after = module->functions[before->index];
        const struct ptx_signature *signature = &after->signature;
        kernels[i] = slicing->kernels[i];
        kernels[i].function = after;
        kernels[i].parameter_index = signature->parameter_count - !kernels[i].refusal;
        kernels[i].parameter_offset =
            kernels[i].refusal ? after->parameter_bytes : signature->parameters[kernels[i].parameter_index]->offset;
        kernels[i].registers_before = registers[i];
        kernels[i].registers_after = registers[count + i];
        kernels[i].registers_from = from[i];
        kernels[i].instructions_added = after->instruction_count - before->instruction_count;
        slices->sliced_count += !kernels[i].refusal;
        if (kernels[i].refusal &&
            !(kernels[i].refusal = arena_format(module->arena, "%s", slicing->kernels[i].refusal)))
            return CORUN_MEMORY;
    }
    return status;
}

static enum corun_status slice(struct slicing *slicing, struct corun_diagnostics *list, struct slices *slices)
{
    const struct ptx_module *source = slicing->source;
    for (uint32_t i = 0; i < source->function_count; i++) {
        if (!is_kernel(source->functions[i]))
            continue;
        struct slice_kernel *kernel = &slicing->kernels[slicing->kernel_count++];
        decide(slicing, source->functions[i], kernel);
        slicing->plans[i].reached = !kernel->refusal;
        slicing->plans[i].origin = kernel->refusal ? ORIGIN_SPECIAL : ORIGIN_SLICE;
    }
    if (reach(slicing) != CORUN_OK)
        return CORUN_MEMORY;
    for (uint32_t i = 0; i < source->function_count; i++)
        add_parameters(slicing, i);
    for (uint32_t i = 0; i < source->function_count; i++)
        if (source->functions[i]->has_body)
            write_body(slicing, i);
    struct ptx_module *module;
    enum corun_status status = ptx_builder_finish(slicing->builder, list, &module);
    if (status == CORUN_OK)
        status = describe(slicing, module, slices);
    if (status != CORUN_OK) {
        ptx_module_destroy(module);
        *slices = (struct slices){0};
    }
    return status;
}

enum corun_status slice_module(const struct ptx_module *source, struct corun_diagnostics *list, struct slices *slices)
{
    struct arena *arena = arena_create();
    struct slicing slicing = {.source = source, .builder = ptx_builder_create(source)};
    enum corun_status status = CORUN_MEMORY;
    *slices = (struct slices){0};
    if (arena && slicing.builder) {
        slicing.plans = ARENA_ARRAY(arena, struct function_plan, source->function_count + 1u);
        slicing.kernels = ARENA_ARRAY(arena, struct slice_kernel, source->function_count + 1u);
        if (slicing.plans && slicing.kernels)
            status = grid_reads_create(source, arena, &slicing.reads);
        if (status == CORUN_OK)
            status = slice(&slicing, list, slices);
    }
    if (status == CORUN_MEMORY)
        corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory while slicing kernels");
    ptx_builder_destroy(slicing.builder);
    arena_destroy(arena);
    return status;
}

void slices_destroy(struct slices *slices)
{
    ptx_module_destroy(slices->module);
    *slices = (struct slices){0};
}

enum corun_status slice_text(const char *name, const char *text, size_t bytes, struct corun_diagnostics *list,
                             struct slices *slices, char **sliced, size_t *sliced_bytes)
{
    struct ptx_module *source;
    *slices = (struct slices){0};
    *sliced = NULL;
    enum corun_status status = ptx_parse(name, text, bytes, list, &source);
    if (status == CORUN_OK)
        status = slice_module(source, list, slices);
    ptx_module_destroy(source);
    if (status != CORUN_OK)
        return status;
    status = ptx_print(slices->module, sliced, sliced_bytes);
    if (status != CORUN_OK) {
        slices_destroy(slices);
        corun_report(list, status, CORUN_NOWHERE, "out of memory while printing sliced kernels");
    }
    return status;
}
