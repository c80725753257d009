/* SPDX-License-Identifier: MIT */
/* Launches that are not what the program asked for: reads of the grid in kernels and functions, and the frame of every such pass. */
#include "rewrite/pass.h"

#include <string.h>

#define MOST_PARAMETER_BYTES 4096u        /* of a kernel, before PTX 8.1 and sm_70 */
#define MOST_PARAMETER_BYTES_LATER 32764u /* since */

static bool is_kernel(const struct ptx_function *function)
{
    return function->is_entry && function->has_body;
}

/*
 * Reads of the grid.
 */
static struct ptx_instruction load(enum ptx_type type)
{
    struct ptx_instruction instruction = ptx_make(PTX_OP_LD, type);
    instruction.space = PTX_SPACE_PARAM;
    return instruction;
}

static struct ptx_operand source_of(const struct pass *pass, const struct pass_function *plan, enum grid_value value)
{
    return plan->origin == PASS_FROM_ARGUMENT ? ptx_address_in(plan->argument, pass->rules->offsets[value])
                                              : ptx_address_in(plan->parameters[value], 0);
}

/* A part of the block index is in a register, all the rest is loaded. */
static bool is_computed(const struct pass_function *plan, enum grid_value value)
{
    return plan->origin == PASS_FROM_ARGUMENT && 1u << value & PASS_BLOCK_INDEX;
}

/* A value of the grid as a register, for a call or for an instruction that cannot load it itself. */
static uint32_t fetch(const struct pass *pass, uint32_t function, enum grid_value value)
{
    const struct pass_function *plan = &pass->functions[function];
    enum ptx_type type = grid_values[value].type;
    if (is_computed(plan, value))
        return plan->block_index[value - GRID_CTAID_X];
    uint32_t to = ptx_builder_register(pass->builder, function, grid_values[value].name, type);
    if (plan->origin == PASS_FROM_SPECIAL) {
        ptx_body_emit(pass->builder, ptx_make(PTX_OP_MOV, type), 2,
                      (struct ptx_operand[]){ptx_register(to), ptx_special(grid_values[value].special)});
        return to;
    }
    ptx_body_emit(pass->builder, load(type), 2, (struct ptx_operand[]){ptx_register(to), source_of(pass, plan, value)});
    return to;
}

/* The instruction reads a value of the grid: mov or cvt. */
static void write_read(const struct pass *pass, uint32_t function, const struct ptx_instruction *instruction,
                       enum grid_value value)
{
    const struct pass_function *plan = &pass->functions[function];
    enum ptx_type type = grid_values[value].type;
    struct ptx_operand to = instruction->operands[0];
    bool moves = instruction->opcode == PTX_OP_MOV,
         narrows = ptx_types[instruction->types[0]].bits < ptx_types[type].bits;
    if (moves && !narrows && !is_computed(plan, value) && to.kind == PTX_OPERAND_REGISTER) {
        struct ptx_instruction loads = load(type);
        loads.guard = instruction->guard;
        loads.guard_negated = instruction->guard_negated;
        ptx_body_emit(pass->builder, loads, 2, (struct ptx_operand[]){to, source_of(pass, plan, value)});
        return;
    }
    struct ptx_instruction reads = *instruction;
    struct ptx_operand from = ptx_register(fetch(pass, function, value));
    if (moves && narrows) { /* mov takes the low part of a special register, but not that of a register */
        bool half = ptx_types[instruction->types[0]].bits == 16;
        reads = ptx_make(PTX_OP_CVT, half ? PTX_TYPE_U16 : PTX_TYPE_U32);
        reads.types[1] = type == PTX_TYPE_B64 ? PTX_TYPE_U64 : PTX_TYPE_U32;
        reads.type_count = 2;
        reads.guard = instruction->guard;
        reads.guard_negated = instruction->guard_negated;
    }
    ptx_body_emit(pass->builder, reads, 2, (struct ptx_operand[]){to, from});
}

static void write_call(const struct pass *pass, uint32_t function, const struct ptx_function *callee)
{
    struct ptx_operand arguments[GRID_VALUES];
    uint32_t count = 0;
    for (enum grid_value value = 0; value < GRID_VALUES; value++)
        if (pass->functions[callee->index].parameters[value])
            arguments[count++] = ptx_register(fetch(pass, function, value));
    ptx_body_keep_call(pass->builder, count, arguments);
}

void pass_write(const struct pass *pass, uint32_t function, const struct ptx_instruction *instruction)
{
    bool keeps = pass->functions[function].origin == PASS_FROM_SPECIAL;
    enum grid_value value = keeps ? GRID_VALUES : grid_value_read(instruction);
    const struct ptx_function *callee = instruction->call ? instruction->call->function : NULL;
    if (value < GRID_VALUES)
        write_read(pass, function, instruction, value);
    else if (callee && pass->functions[callee->index].origin == PASS_FROM_PARAMETERS)
        write_call(pass, function, callee);
    else
        ptx_body_keep(pass->builder);
}

/*
 * What is rewritten, and what becomes of the functions.
 */
static uint64_t most_parameter_bytes(const struct ptx_module *module)
{
    return module->version >= 801 && module->target_sm >= 70 ? MOST_PARAMETER_BYTES_LATER : MOST_PARAMETER_BYTES;
}

void pass_refuse(struct pass *pass, const char *reason, struct ptx_place place)
{
    struct rewritten_kernel *kernel = &pass->kernels[pass->kernel_count - 1];
    if (kernel->refusal)
        return;
    kernel->refusal = reason;
    kernel->place = place;
}

/* Its launches come in clusters, which a part of a grid cannot keep together. Those that only a launch asks for, who launches refuses. */
static bool has_clusters(const struct ptx_function *function)
{
    bool any = function->explicitcluster;
    for (uint32_t i = 0; i < 3; i++)
        any |= function->reqnctapercluster[i] > 1;
    return any;
}

/* A function that would get one parameter more behind one that has no size. */
static const struct ptx_function *find_open(struct pass *pass, const struct ptx_function *function)
{
    pass_reach(pass, function);
    for (uint32_t i = 0; i < pass->source->function_count; i++)
        if (pass->seen[i] && pass->reads[i].reads && ptx_signature_is_open(&pass->source->functions[i]->signature))
            return pass->source->functions[i];
    return NULL;
}

static void decide_on_parameter(struct pass *pass, const struct ptx_function *function)
{
    const struct ptx_function *open = find_open(pass, function);
    const struct grid_reads *row = &pass->reads[function->index];
    uint64_t align = pass->rules->parameter_align, behind = (function->parameter_bytes + align - 1) & ~(align - 1);
    if (row->obstacle)
        pass_refuse(pass, row->obstacle, row->place);
    if (open)
        pass_refuse(pass, "a function with any number of arguments reads where it is in the grid", open->place);
    if (has_clusters(function))
        pass_refuse(pass, "its thread blocks come in clusters", function->place);
    if (row->address_taken)
        pass_refuse(pass, "its address is taken: who launches it through that gives it its old parameters",
                    function->place);
    if (behind + pass->rules->parameter_bytes > most_parameter_bytes(pass->source))
        pass_refuse(pass, "its parameters leave no room for one more", function->place);
}

static void decide(struct pass *pass, const struct ptx_function *function)
{
    pass->kernels[pass->kernel_count++] =
        (struct rewritten_kernel){.function = function, .reads = pass->reads[function->index].reads};
    if (pass->rules->parameter)
        decide_on_parameter(pass, function);
    if (pass->rules->decide)
        pass->rules->decide(pass, function);
}

/* Functions that a kernel that is rewritten calls, directly or not, get what they read of the grid as parameters. */
static void reach(struct pass *pass)
{
    const struct ptx_module *source = pass->source;
    uint32_t depth = 0;
    for (uint32_t i = 0; i < source->function_count; i++)
        if (pass->functions[i].reached)
            pass->stack[depth++] = i;
    while (depth) {
        const struct ptx_function *function = source->functions[pass->stack[--depth]];
        for (uint32_t i = 0; i < function->instruction_count; i++) {
            const struct ptx_call *call = function->instructions[i].call;
            if (!call || !call->function || pass->functions[call->function->index].reached)
                continue;
            pass->functions[call->function->index].reached = true;
            if (pass->reads[call->function->index].reads)
                pass->functions[call->function->index].origin = PASS_FROM_PARAMETERS;
            pass->stack[depth++] = call->function->index;
        }
    }
}

static void add_parameters(const struct pass *pass, uint32_t function)
{
    struct pass_function *plan = &pass->functions[function];
    if (plan->origin == PASS_FROM_ARGUMENT)
        plan->argument = ptx_builder_parameter_bytes(pass->builder, function, pass->rules->parameter,
                                                     pass->rules->parameter_bytes, pass->rules->parameter_align);
    for (enum grid_value value = 0; plan->origin == PASS_FROM_PARAMETERS && value < GRID_VALUES; value++)
        if (pass->reads[function].reads & 1u << value)
            plan->parameters[value] =
                ptx_builder_parameter(pass->builder, function, grid_values[value].name, grid_values[value].type);
}

static void see(struct pass *pass, const struct ptx_function *function, uint32_t *depth)
{
    if (pass->seen[function->index])
        return;
    pass->seen[function->index] = true;
    pass->stack[(*depth)++] = function->index;
}

void pass_reach(struct pass *pass, const struct ptx_function *function)
{
    const struct ptx_module *source = pass->source;
    uint32_t depth = 0;
    memset(pass->seen, 0, source->function_count * sizeof *pass->seen);
    see(pass, function, &depth);
    while (depth) {
        const struct ptx_function *here = source->functions[pass->stack[--depth]];
        for (uint32_t i = 0; i < here->instruction_count; i++) {
            const struct ptx_call *call = here->instructions[i].call;
            if (call && call->function)
                see(pass, call->function, &depth);
            for (uint32_t k = 0; call && !call->function && k < source->function_count; k++)
                if (pass->reads[k].address_taken)
                    see(pass, source->functions[k], &depth);
        }
    }
}

const struct ptx_instruction *pass_find(struct pass *pass, const struct ptx_function *function,
                                        bool (*test)(const struct ptx_instruction *instruction))
{
    pass_reach(pass, function);
    for (uint32_t i = 0; i < pass->source->function_count; i++)
        for (uint32_t k = 0; pass->seen[i] && k < pass->source->functions[i]->instruction_count; k++)
            if (test(&pass->source->functions[i]->instructions[k]))
                return &pass->source->functions[i]->instructions[k];
    return NULL;
}

/*
 * What the caller is told.
 */
/* Loads that may be served from a cache that nobody keeps coherent while a kernel runs. */
static bool is_noncoherent(const struct ptx_instruction *instruction)
{
    switch (instruction->opcode) {
    case PTX_OP_LD:
        return instruction->noncoherent != PTX_SUFFIX_NONE;
    case PTX_OP_LDU:
    case PTX_OP_TEX:
    case PTX_OP_TEX_LEVEL:
    case PTX_OP_TEX_GRAD:
    case PTX_OP_TLD4:
    case PTX_OP_SULD_B:
        return true;
    default:
        return false;
    }
}

static uint64_t shared_bytes(const struct ptx_function *function)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < function->shared_count; i++)
        bytes += function->shared[i]->bytes;
    return bytes;
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

/* In the arena of the new module. */
static enum corun_status describe(struct pass *pass, struct ptx_module *module, struct rewritten *rewritten)
{
    uint32_t count = pass->kernel_count;
    struct rewritten_kernel *kernels = ARENA_ARRAY(module->arena, struct rewritten_kernel, count + 1u);
    uint32_t *registers = ARENA_ARRAY(module->arena, uint32_t, 2 * count + 1u);
    enum ptx_registers_from *from = ARENA_ARRAY(module->arena, enum ptx_registers_from, count + 1u);
    if (!kernels || !registers || !from)
        return CORUN_MEMORY;
    *rewritten = (struct rewritten){.module = module, .kernels = kernels, .kernel_count = count};
    enum corun_status status = count_registers(pass->source, registers, from);
    if (status == CORUN_OK)
        status = count_registers(module, registers + count, from);
    for (uint32_t i = 0; i < count && status == CORUN_OK; i++) {
        const struct ptx_function *before = pass->kernels[i].function, *after = module->functions[before->index];
        const struct ptx_signature *signature = &after->signature;
        kernels[i] = pass->kernels[i];
        kernels[i].function = after;
        kernels[i].reads_noncoherent = pass_find(pass, before, is_noncoherent) != NULL;
        bool has_parameter = pass->rules->parameter && !kernels[i].refusal;
        kernels[i].parameter_index = signature->parameter_count - has_parameter;
        kernels[i].parameter_offset =
            has_parameter ? signature->parameters[kernels[i].parameter_index]->offset : after->parameter_bytes;
        kernels[i].registers_before = registers[i];
        kernels[i].registers_after = registers[count + i];
        kernels[i].registers_from = from[i];
        kernels[i].shared_bytes_added = (uint32_t)(shared_bytes(after) - shared_bytes(before));
        kernels[i].instructions_added = after->instruction_count - before->instruction_count;
        rewritten->rewritten_count += !kernels[i].refusal;
        if (kernels[i].refusal && !(kernels[i].refusal = arena_format(module->arena, "%s", pass->kernels[i].refusal)))
            return CORUN_MEMORY;
    }
    return status;
}

static enum corun_status rewrite(struct pass *pass, struct corun_diagnostics *list, struct rewritten *rewritten)
{
    const struct ptx_module *source = pass->source;
    for (uint32_t i = 0; i < source->function_count; i++) {
        if (!is_kernel(source->functions[i]))
            continue;
        decide(pass, source->functions[i]);
        bool refused = pass->kernels[pass->kernel_count - 1].refusal;
        pass->functions[i].reached = !refused;
        pass->functions[i].origin = refused || !pass->rules->parameter ? PASS_FROM_SPECIAL : PASS_FROM_ARGUMENT;
    }
    if (pass->rules->parameter)
        reach(pass);
    for (uint32_t i = 0; i < source->function_count; i++)
        add_parameters(pass, i);
    enum corun_status status = pass->rules->prepare ? pass->rules->prepare(pass) : CORUN_OK;
    for (uint32_t i = 0; i < source->function_count && status == CORUN_OK; i++)
        if (source->functions[i]->has_body) {
            ptx_body_begin(pass->builder, i);
            status = pass->rules->write(pass, i);
            ptx_body_end(pass->builder);
        }
    struct ptx_module *module = NULL;
    if (status == CORUN_OK)
        status = ptx_builder_finish(pass->builder, list, &module);
    if (status == CORUN_OK)
        status = describe(pass, module, rewritten);
    if (status != CORUN_OK) {
        ptx_module_destroy(module);
        *rewritten = (struct rewritten){0};
    }
    return status;
}

enum corun_status pass_run(const struct pass_rules *rules, void *user, const struct ptx_module *source,
                           struct corun_diagnostics *list, struct rewritten *rewritten)
{
    struct arena *arena = arena_create();
    struct pass pass = {
        .rules = rules, .source = source, .arena = arena, .builder = ptx_builder_create(source), .user = user};
    enum corun_status status = CORUN_MEMORY;
    *rewritten = (struct rewritten){0};
    if (arena && pass.builder) {
        pass.functions = ARENA_ARRAY(arena, struct pass_function, source->function_count + 1u);
        pass.kernels = ARENA_ARRAY(arena, struct rewritten_kernel, source->function_count + 1u);
        pass.stack = ARENA_ARRAY(arena, uint32_t, source->function_count + 1u);
        pass.seen = ARENA_ARRAY(arena, bool, source->function_count + 1u);
        if (pass.functions && pass.kernels && pass.stack && pass.seen)
            status = grid_reads_create(source, arena, &pass.reads);
        if (status == CORUN_OK)
            status = rewrite(&pass, list, rewritten);
    }
    if (status == CORUN_MEMORY)
        corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory while %s", rules->doing);
    ptx_builder_destroy(pass.builder);
    arena_destroy(arena);
    return status;
}
