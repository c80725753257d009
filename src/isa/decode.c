/* SPDX-License-Identifier: MIT */
/* One kernel: which functions it can reach, where everything lies, then its code. */
#include "isa/decode.h"

#include "base/bits.h"
#include "base/kernel_name.h"
#include "isa/stack.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SLOTS 0x7fffu /* numbers above are constants */
#define RESERVED_ALIGN 128u
#define MAX_LOCAL_BYTES (512u * 1024u) /* CUDA C++ Programming Guide, technical specifications */
#define FRAME_ALIGN 16u
#define SCRATCH_PREDICATES 4u

void decode_no_memory(struct decoder *decoder)
{
    if (decoder->status == CORUN_OK)
        decoder->status = corun_report(decoder->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
}

void decode_error(struct decoder *decoder, enum corun_status status, const char *format, ...)
{
    char message[300];
    struct corun_place place = {decoder->ptx->file, 0, 0};
    const struct ptx_place *from = decoder->instruction ? &decoder->instruction->place
                                   : decoder->function  ? &decoder->function->ptx->place
                                                        : NULL;
    if (from) {
        place.line = from->line;
        place.column = from->column;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    corun_report(decoder->list, status, place, "%s", message);
    if (decoder->status == CORUN_OK)
        decoder->status = status;
}

static void *allocate(struct decoder *decoder, size_t bytes)
{
    void *block = arena_allocate(decoder->arena, bytes ? bytes : 1);
    if (!block)
        decode_no_memory(decoder);
    return block;
}

/* Operands */

bool decode_is_wide(const struct decoder *decoder, uint32_t register_index)
{
    return ptx_types[decoder->function->ptx->registers[register_index].type].bits == 64;
}

/* A register that nothing else accesses has no place of its own: what is written to it is lost. */
uint16_t decode_slot(const struct decoder *decoder, uint32_t register_index)
{
    uint32_t slot = decoder->function->registers->allocation.slots[register_index];
    return (uint16_t)(slot == PTX_NONE ? decoder->scratch_slot + SCRATCH_SLOTS - 2
                                       : slot + decoder->function->first_slot);
}

bool decode_is_dead(const struct decoder *decoder, uint32_t register_index)
{
    return decoder->function->registers->allocation.slots[register_index] == PTX_NONE;
}

uint16_t decode_predicate(const struct decoder *decoder, uint32_t register_index)
{
    uint32_t slot = decoder->function->registers->allocation.slots[register_index];
    return (uint16_t)(slot == PTX_NONE ? decoder->scratch_predicate : slot + decoder->function->first_predicate);
}

uint16_t decode_temporary(struct decoder *decoder)
{
    if (2 * decoder->temporaries + 2 > SCRATCH_SLOTS) {
        decode_error(decoder, CORUN_UNSUPPORTED, "not supported: so many operands of other widths");
        return 0;
    }
    uint32_t temporary = decoder->temporaries++;
    if (decoder->temporaries > decoder->temporaries_most)
        decoder->temporaries_most = decoder->temporaries;
    return (uint16_t)(decoder->scratch_slot + 2 * temporary);
}

uint16_t decode_temporary_predicate(struct decoder *decoder)
{
    uint32_t next = decoder->predicates < SCRATCH_PREDICATES - 1 ? decoder->predicates++ : SCRATCH_PREDICATES - 1;
    return (uint16_t)(decoder->scratch_predicate + next);
}

uint16_t decode_constant(struct decoder *decoder, uint64_t value, bool wide, const struct ptx_variable *variable)
{
    if (!wide && !variable)
        value = (uint32_t)value;
    for (size_t i = decoder->constants.count; i > 0 && decoder->constants.count - i < 256; i--) {
        const struct constant *known = &decoder->constants.data[i - 1];
        if (known->value == value && known->wide == wide && known->variable == variable)
            return (uint16_t)(OPERAND_CONSTANT | known->slot);
    }
    struct constant constant = {value, variable, decoder->constant_slots, wide};
    decoder->constant_slots += wide ? 2 : 1;
    /* 0x7ffd and above would look like the special numbers of predicates and discarded elements. */
    if (decoder->constant_slots > 0x7ff0) {
        decode_error(decoder, CORUN_UNSUPPORTED, "not supported: a kernel with so many different constants");
        decoder->constant_slots = 0;
    }
    if (!vector_push(&decoder->constants, constant))
        decode_no_memory(decoder);
    return (uint16_t)(OPERAND_CONSTANT | constant.slot);
}

bool decode_is_kernel_parameter(const struct ptx_variable *variable)
{
    return variable->declared == PTX_DECLARED_PARAMETER && variable->function && variable->function->is_entry;
}

uint32_t decode_frame_offset(const struct decoder *decoder, const struct ptx_variable *variable)
{
    const struct decoded_function *function = decoder->function;
    if (variable->declared == PTX_DECLARED_PARAMETER)
        return function->parameter_offset[variable->index];
    if (variable->declared == PTX_DECLARED_RETURN)
        return function->return_offset[variable->index];
    return function->variable_offset[variable->index];
}

/* Operations */

struct operation *decode_emit(struct decoder *decoder, enum operation_kind kind)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    struct operation op = {
        .kind = (uint8_t)kind,
        .destination = NO_OPERAND,
        .source = {NO_OPERAND, NO_OPERAND, NO_OPERAND, NO_OPERAND},
        .predicate_out = {NO_PREDICATE, NO_PREDICATE},
        .predicate_in = NO_PREDICATE,
        .guard = NO_PREDICATE,
        .reconverge = UINT32_MAX,
    };
    struct corun_instruction machine = {.unit = CORUN_UNIT_INT, .operation = CORUN_OPERATION_ADD};
    if (instruction) {
        machine.line = instruction->place.line;
        if (instruction->guard != PTX_NONE) {
            op.guard = decode_predicate(decoder, instruction->guard);
            op.guard_negated = instruction->guard_negated;
        }
    }
    if (!vector_push(&decoder->code, op)) {
        decode_no_memory(decoder);
        return &decoder->lost;
    }
    if (!vector_push(&decoder->instructions, machine)) {
        decode_no_memory(decoder);
        decoder->code.count--;
        return &decoder->lost;
    }
    if (op.guard != NO_PREDICATE)
        decode_reads(decode_last(decoder), decoder->kernel->register_slots + op.guard, false);
    return &decoder->code.data[decoder->code.count - 1];
}

struct corun_instruction *decode_last(struct decoder *decoder)
{
    size_t count = decoder->instructions.count;
    return count ? &decoder->instructions.data[count - 1] : &decoder->lost_instruction;
}

static void add_slot(uint16_t *slots, uint8_t *count, uint8_t limit, uint32_t slot)
{
    for (uint8_t i = 0; i < *count; i++)
        if (slots[i] == slot)
            return;
    if (*count < limit)
        slots[(*count)++] = (uint16_t)slot;
}

void decode_reads(struct corun_instruction *instruction, uint32_t slot, bool wide)
{
    if (slot & OPERAND_CONSTANT)
        return;
    add_slot(instruction->sources, &instruction->source_count, CORUN_MAX_SOURCES, slot);
    if (wide)
        add_slot(instruction->sources, &instruction->source_count, CORUN_MAX_SOURCES, slot + 1);
}

void decode_writes(struct corun_instruction *instruction, uint32_t slot, bool wide)
{
    add_slot(instruction->destinations, &instruction->destination_count, CORUN_MAX_DESTINATIONS, slot);
    if (wide)
        add_slot(instruction->destinations, &instruction->destination_count, CORUN_MAX_DESTINATIONS, slot + 1);
}

static void note_register(void *user, uint32_t register_index, enum ptx_access access)
{
    struct decoder *decoder = user;
    struct corun_instruction *instruction = decode_last(decoder);
    bool predicate = decoder->function->ptx->registers[register_index].type == PTX_TYPE_PRED;
    uint32_t slot = predicate ? decoder->kernel->register_slots + decode_predicate(decoder, register_index)
                              : decode_slot(decoder, register_index);
    if (access == PTX_READ)
        decode_reads(instruction, slot, decode_is_wide(decoder, register_index));
    else if (!decode_is_dead(decoder, register_index)) /* results that nobody reads wait for nobody */
        decode_writes(instruction, slot, decode_is_wide(decoder, register_index));
}

void decode_registers(struct decoder *decoder)
{
    ptx_instruction_registers(decoder->instruction, note_register, decoder);
}

/* Layout */

static uint32_t align_to(uint64_t value, uint32_t align)
{
    return (uint32_t)((value + align - 1) / align * align);
}

static bool add_function(struct decoder *decoder, const struct ptx_function *function)
{
    if (!function->has_body || decoder->function_of_index[function->index] != NO_FUNCTION)
        return true;
    struct decoded_function decoded = {.ptx = function, .registers = &decoder->module->registers[function->index]};
    decoder->function_of_index[function->index] = (uint32_t)decoder->functions.count;
    if (vector_push(&decoder->functions, decoded))
        return true;
    decode_no_memory(decoder);
    return false;
}

/* Possible callees of a call, at most `limit` of them, into `callees`; gives their number. */
static uint32_t possible_callees(const struct decoder *decoder, const struct ptx_call *call,
                                 const struct ptx_function **callees)
{
    uint32_t count = 0;
    if (call->function) {
        callees[count++] = call->function;
        return count;
    }
    for (uint32_t i = 0; i < decoder->ptx->function_count; i++) {
        const struct ptx_function *function = decoder->ptx->functions[i];
        bool named = false;
        for (uint32_t k = 0; k < call->target_count; k++)
            named |= call->targets[k] == function;
        if (named || decoder->module->address_taken[i])
            callees[count++] = function;
    }
    return count;
}

static void find_callees(struct decoder *decoder, uint32_t index, const struct ptx_function **scratch)
{
    const struct ptx_function *function = decoder->functions.data[index].ptx;
    uint32_t *callees = allocate(decoder, (decoder->ptx->function_count + 1) * sizeof *callees), count = 0;
    uint64_t *seen = allocate(decoder, BIT_WORDS(decoder->ptx->function_count + 1) * sizeof *seen);
    if (!callees || !seen)
        return;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_call *call = function->instructions[i].call;
        uint32_t found = call ? possible_callees(decoder, call, scratch) : 0;
        for (uint32_t k = 0; k < found; k++) {
            if (!scratch[k]->has_body || scratch[k]->is_entry || bits_test(seen, scratch[k]->index))
                continue;
            bits_set(seen, scratch[k]->index);
            if (!add_function(decoder, scratch[k]))
                return;
            callees[count++] = decoder->function_of_index[scratch[k]->index];
        }
    }
    decoder->functions.data[index].callees = callees;
    decoder->functions.data[index].callee_count = count;
}

static void find_functions(struct decoder *decoder, const struct ptx_function *entry)
{
    size_t count = decoder->ptx->function_count;
    decoder->function_of_index = allocate(decoder, count * sizeof *decoder->function_of_index);
    const struct ptx_function **scratch = allocate(decoder, (count + 1) * sizeof *scratch);
    if (!decoder->function_of_index || !scratch)
        return;
    for (size_t i = 0; i < count; i++)
        decoder->function_of_index[i] = NO_FUNCTION;
    add_function(decoder, entry);
    for (uint32_t i = 0; i < decoder->functions.count && decoder->status == CORUN_OK; i++)
        find_callees(decoder, i, scratch);
}

/* Whether a function can be called while it is active: does a search from it come back to it? */
static void find_recursion(struct decoder *decoder)
{
    uint32_t count = (uint32_t)decoder->functions.count;
    uint32_t *pending = allocate(decoder, count * sizeof *pending);
    uint64_t *seen = allocate(decoder, BIT_WORDS(count) * sizeof *seen);
    if (!pending || !seen)
        return;
    for (uint32_t start = 0; start < count; start++) {
        uint32_t waiting = 0;
        memset(seen, 0, BIT_WORDS(count) * sizeof *seen);
        pending[waiting++] = start;
        while (waiting) {
            const struct decoded_function *function = &decoder->functions.data[pending[--waiting]];
            for (uint32_t i = 0; i < function->callee_count; i++) {
                uint32_t callee = function->callees[i];
                decoder->functions.data[start].recursive |= callee == start;
                if (bits_test(seen, callee))
                    continue;
                bits_set(seen, callee);
                pending[waiting++] = callee;
            }
        }
    }
}

/* Of all calls: who is called through a register is not known. */
static void measure_open_parameters(struct decoder *decoder)
{
    for (uint32_t f = 0; f < decoder->functions.count; f++) {
        const struct ptx_function *function = decoder->functions.data[f].ptx;
        for (uint32_t i = 0; i < function->instruction_count; i++) {
            const struct ptx_call *call = function->instructions[i].call;
            if (!call || !ptx_signature_is_open(call->signature) ||
                call->argument_count != call->signature->parameter_count)
                continue;
            const struct ptx_operand *last = &call->arguments[call->argument_count - 1];
            if (last->kind == PTX_OPERAND_VARIABLE && last->variable->bytes > decoder->open_bytes)
                decoder->open_bytes = last->variable->bytes;
        }
    }
}

static uint64_t bytes_of(const struct decoder *decoder, const struct ptx_variable *variable)
{
    return variable->incomplete && variable->space == PTX_SPACE_PARAM ? decoder->open_bytes : variable->bytes;
}

static uint32_t *place_variables(struct decoder *decoder, const struct ptx_variable *const *variables, uint32_t count,
                                 uint64_t *bytes)
{
    uint32_t *offsets = allocate(decoder, count * sizeof *offsets);
    for (uint32_t i = 0; offsets && i < count; i++) {
        const struct ptx_variable *variable = variables[i];
        if (variable->space != PTX_SPACE_LOCAL && variable->space != PTX_SPACE_PARAM)
            continue;
        uint32_t align = variable->align > 4 ? variable->align : 4;
        *bytes = (*bytes + align - 1) / align * align;
        offsets[i] = (uint32_t)*bytes;
        const uint64_t own = bytes_of(decoder, variable);
        *bytes += own < MAX_LOCAL_BYTES ? own : MAX_LOCAL_BYTES + 1;
        if (*bytes > MAX_LOCAL_BYTES) {
            decode_error(decoder, CORUN_LIMIT, "local variables of more than %u bytes", MAX_LOCAL_BYTES);
            *bytes = 0;
        }
    }
    return offsets;
}

static void lay_out_functions(struct decoder *decoder)
{
    uint32_t slots = 0, predicates = 0;
    bool allocates = false;
    measure_open_parameters(decoder);
    for (uint32_t i = 0; i < decoder->functions.count; i++) {
        struct decoded_function *function = decoder->function = &decoder->functions.data[i];
        const struct ptx_signature *signature = &function->ptx->signature;
        uint64_t bytes = 0;
        if (!function->ptx->is_entry) {
            function->parameter_offset =
                place_variables(decoder, signature->parameters, signature->parameter_count, &bytes);
            function->return_offset = place_variables(decoder, signature->returns, signature->return_count, &bytes);
        }
        function->variable_offset =
            place_variables(decoder, function->ptx->variables, function->ptx->variable_count, &bytes);
        if (function->recursive) /* what a real stack would hold of it, so that endless recursion ends */
            bytes += FRAME_ALIGN + 4u * (uint64_t)function->registers->allocation.register_slots;
        function->frame_bytes = align_to(bytes, FRAME_ALIGN);
        function->first_slot = (uint16_t)slots;
        function->first_predicate = (uint16_t)predicates;
        function->allocates = decode_allocates(function->ptx);
        allocates |= function->allocates;
        function->slot_count =
            (uint16_t)(align_to(function->registers->allocation.register_slots, 2) + 2u * function->allocates);
        slots += function->slot_count;
        predicates += function->registers->allocation.predicate_slots;
        if (slots + SCRATCH_SLOTS + COPY_TOKENS + GROUP_TOKENS > MAX_SLOTS ||
            predicates + SCRATCH_PREDICATES > MAX_SLOTS) {
            decode_error(decoder, CORUN_UNSUPPORTED, "not supported: a kernel with so many registers");
            return;
        }
    }
    decoder->function = NULL;
    decoder->kernel->stack_slot = allocates ? slots : NO_STACK;
    slots += 2u * allocates;
    decoder->scratch_slot = slots;
    decoder->scratch_predicate = predicates;
    decoder->group_slot = slots + SCRATCH_SLOTS + COPY_TOKENS;
    decoder->awaited_result = UINT32_MAX;
    decoder->kernel->register_slots = decoder->group_slot + (decode_multiplies_in_groups(decoder) ? GROUP_TOKENS : 0);
    decoder->kernel->predicate_slots = predicates + SCRATCH_PREDICATES;
}

/* Deepest path of calls below a function, in bytes of frames and in frames; functions on the path are not entered again. */
struct depth {
    uint32_t bytes, frames;
    bool known, active;
};

static void measure_depth(const struct decoder *decoder, uint32_t index, struct depth *depths)
{
    struct depth *depth = &depths[index];
    const struct decoded_function *function = &decoder->functions.data[index];
    uint32_t bytes = 0, frames = 0;
    depth->active = true;
    for (uint32_t i = 0; i < function->callee_count; i++) {
        const struct depth *below = &depths[function->callees[i]];
        if (below->active)
            continue;
        if (!below->known)
            measure_depth(decoder, function->callees[i], depths);
        bytes = below->bytes > bytes ? below->bytes : bytes;
        frames = below->frames > frames ? below->frames : frames;
    }
    depth->active = false;
    depth->known = true;
    depth->bytes = bytes + function->frame_bytes;
    depth->frames = frames + 1;
}

static void lay_out_stack(struct decoder *decoder)
{
    struct corun_kernel *kernel = decoder->kernel;
    struct depth *depths = allocate(decoder, decoder->functions.count * sizeof *depths);
    if (!depths)
        return;
    assert(decoder->functions.data); /* the kernel is function 0 */
    measure_depth(decoder, 0, depths);
    bool recursive = false;
    for (uint32_t i = 0; i < decoder->functions.count; i++)
        recursive |= decoder->functions.data[i].recursive;
    bool allocates = kernel->stack_slot != NO_STACK;
    kernel->local_bytes = depths[0].bytes + (recursive || allocates ? STACK_BYTES : 0);
    kernel->grows = recursive || allocates;
    if (allocates)
        kernel->local_bytes = align_to(kernel->local_bytes, STACK_ALIGN);
    kernel->call_depth = depths[0].frames + (recursive ? STACK_BYTES / STACK_FRAME_BYTES : 0);
    kernel->recurses = recursive;
    if (kernel->local_bytes > MAX_LOCAL_BYTES + STACK_BYTES)
        decode_error(decoder, CORUN_LIMIT, "kernel %s needs %u bytes of local memory per thread, more than %u",
                     KERNEL_NAME(kernel->info.name), kernel->local_bytes, MAX_LOCAL_BYTES);
}

/* Of what the system keeps: cooperative groups of more than a warp meet in shared memory that is not declared. */
static bool names_reserved(uint32_t special)
{
    return special == PTX_SPECIAL_RESERVED_SMEM_OFFSET || special == PTX_SPECIAL_RESERVED_SMEM_BEGIN ||
           special == PTX_SPECIAL_RESERVED_SMEM_END || special == PTX_SPECIAL_RESERVED_SMEM_CAP;
}

static bool uses_reserved(const struct decoder *decoder)
{
    for (uint32_t f = 0; f < decoder->functions.count; f++) {
        const struct ptx_function *function = decoder->functions.data[f].ptx;
        for (uint32_t i = 0; i < function->instruction_count; i++) {
            const struct ptx_instruction *instruction = &function->instructions[i];
            for (uint32_t o = 0; o < instruction->operand_count; o++)
                if (instruction->operands[o].kind == PTX_OPERAND_SPECIAL &&
                    names_reserved(instruction->operands[o].index))
                    return true;
        }
    }
    return false;
}

static void lay_out_shared(struct decoder *decoder)
{
    const struct ptx_module *ptx = decoder->ptx;
    struct corun_kernel *kernel = decoder->kernel;
    decoder->shared_offset = allocate(decoder, ptx->variable_count * sizeof *decoder->shared_offset);
    if (!decoder->shared_offset)
        return;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < ptx->variable_count; i++)
        decoder->shared_offset[i] = UINT32_MAX;
    kernel->dynamic_align = 16;
    for (uint32_t f = 0; f < decoder->functions.count; f++) {
        const struct ptx_function *function = decoder->functions.data[f].ptx;
        for (uint32_t i = 0; i < function->shared_count; i++) {
            const struct ptx_variable *variable = function->shared[i];
            if (variable->incomplete || variable->bytes == 0) {
                if (variable->align > kernel->dynamic_align)
                    kernel->dynamic_align = variable->align;
                continue;
            }
            if (decoder->shared_offset[variable->index] != UINT32_MAX)
                continue;
            bytes = (bytes + variable->align - 1) / variable->align * variable->align;
            decoder->shared_offset[variable->index] = (uint32_t)bytes;
            bytes += variable->bytes;
            if (variable->bytes > MAX_LOCAL_BYTES || bytes > UINT32_MAX / 2) {
                decode_error(decoder, CORUN_LIMIT, "shared variable %s: more shared memory than any GPU has",
                             variable->name);
                return;
            }
        }
    }
    if (uses_reserved(decoder)) {
        kernel->reserved_offset = align_to(bytes, RESERVED_ALIGN);
        bytes = kernel->reserved_offset + RESERVED_SHARED_BYTES;
    }
    kernel->shared_bytes = (uint32_t)bytes;
    /* Every dynamic array starts behind the static ones (PTX ISA, .shared). */
    for (uint32_t i = 0; i < ptx->variable_count; i++)
        if (decoder->shared_offset[i] == UINT32_MAX)
            decoder->shared_offset[i] = align_to(bytes, kernel->dynamic_align);
}

/* Code */

static uint32_t operation_at(const struct decoded_function *function, uint32_t instruction)
{
    uint32_t count = function->ptx->instruction_count;
    return function->operation_of[instruction < count ? instruction : count];
}

/* Branches have got indices of instructions: now those of operations are known. */
static void resolve_branches(struct decoder *decoder, const struct decoded_function *function)
{
    for (uint32_t i = function->first_operation; i < decoder->code.count; i++) {
        struct operation *op = &decoder->code.data[i];
        if (op->kind == OPERATION_BRANCH)
            op->target = operation_at(function, op->target);
        else if (op->kind == OPERATION_BRANCH_TABLE)
            for (uint32_t k = 0; k < branch_table_targets(op); k++)
                decoder->branch_targets.data[op->target + k] =
                    operation_at(function, decoder->branch_targets.data[op->target + k]);
        else
            continue;
        if (op->reconverge != UINT32_MAX)
            op->reconverge = operation_at(function, op->reconverge);
        if (branch_leavings(op))
            for (uint32_t *place = &decoder->leavings.data[branch_places(op)]; *place != UINT32_MAX; place++)
                *place = operation_at(function, *place);
    }
}

/* Whether control can run off the end, or a label stands there. */
static bool needs_return(const struct ptx_function *function)
{
    for (uint32_t i = 0; i < function->label_count; i++)
        if (function->labels[i].instruction == function->instruction_count)
            return true;
    if (function->instruction_count == 0)
        return true;
    const struct ptx_instruction *last = &function->instructions[function->instruction_count - 1];
    bool leaves = last->opcode == PTX_OP_RET || last->opcode == PTX_OP_EXIT || last->opcode == PTX_OP_BRA ||
                  last->opcode == PTX_OP_BRX_IDX || last->opcode == PTX_OP_TRAP;
    return !leaves || last->guard != PTX_NONE;
}

static void decode_function(struct decoder *decoder, struct decoded_function *function)
{
    const struct ptx_function *ptx = function->ptx;
    decoder->function = function;
    function->first_operation = (uint32_t)decoder->code.count;
    function->operation_of = allocate(decoder, ((size_t)ptx->instruction_count + 1) * sizeof *function->operation_of);
    if (!function->operation_of)
        return;
    decode_stack_enter(decoder);
    for (uint32_t i = 0; i < ptx->instruction_count; i++) {
        function->operation_of[i] = (uint32_t)decoder->code.count;
        decode_instruction(decoder, &ptx->instructions[i], i);
        if (decoder->status == CORUN_MEMORY)
            return;
        if (ptx->instructions[i].merged && decoder->code.count > function->operation_of[i]) {
            decoder->code.data[decoder->code.count - 1].merged = ptx->instructions[i].merged;
            decoder->instructions.data[decoder->code.count - 1].merged = ptx->instructions[i].merged;
        }
    }
    function->operation_of[ptx->instruction_count] = (uint32_t)decoder->code.count;
    if (needs_return(ptx)) {
        decoder->instruction = NULL;
        decode_stack_leave(decoder);
        decode_emit(decoder, OPERATION_RETURN);
        decode_last(decoder)->unit = CORUN_UNIT_CONTROL;
        decode_last(decoder)->flags = ptx->is_entry ? CORUN_BRANCH | CORUN_EXIT : CORUN_BRANCH;
        decode_last(decoder)->line =
            ptx->instruction_count ? ptx->instructions[ptx->instruction_count - 1].place.line : ptx->place.line;
    }
    resolve_branches(decoder, function);
    function->operation_count = (uint32_t)decoder->code.count - function->first_operation;
    decoder->instruction = NULL;
    decoder->function = NULL;
}

/* The callee's side of its parameters or results. */
static const struct call_value *formal_values(struct decoder *decoder, const struct ptx_variable *const *formals,
                                              uint32_t count, const uint32_t *offsets)
{
    struct call_value *values = allocate(decoder, (count + 1) * sizeof *values);
    for (uint32_t i = 0; values && i < count; i++) {
        const struct ptx_variable *formal = formals[i];
        values[i].bytes = (uint32_t)bytes_of(decoder, formal);
        if (formal->space == PTX_SPACE_PARAM) {
            values[i].offset = offsets[i];
            continue;
        }
        values[i].in_register = true;
        values[i].wide = decode_is_wide(decoder, formal->parameter_register);
        values[i].operand = decode_slot(decoder, formal->parameter_register);
        if (decoder->function->recursive)
            decode_error(decoder, CORUN_UNSUPPORTED,
                         "not supported: recursive function %s with parameters in registers",
                         KERNEL_NAME(decoder->function->ptx->name));
        if (formal->type == PTX_TYPE_PRED)
            decode_error(decoder, CORUN_UNSUPPORTED, "not supported: a predicate as a parameter");
    }
    return values;
}

static void finish_functions(struct decoder *decoder)
{
    struct kernel_function *functions = allocate(decoder, decoder->functions.count * sizeof *functions);
    for (uint32_t i = 0; functions && i < decoder->functions.count; i++) {
        struct decoded_function *from = decoder->function = &decoder->functions.data[i];
        const struct ptx_signature *signature = &from->ptx->signature;
        functions[i] = (struct kernel_function){
            .ptx = from->ptx,
            .first_operation = from->first_operation,
            .operation_count = from->operation_count,
            .first_slot = from->first_slot,
            .slot_count = from->slot_count,
            .pair_slots = (uint16_t)from->registers->allocation.pair_slots,
            .first_predicate = from->first_predicate,
            .predicate_count = (uint16_t)from->registers->allocation.predicate_slots,
            .frame_bytes = from->frame_bytes,
            .frees = from->frees && !from->ptx->is_entry && signature->parameter_count == 1 &&
                     signature->parameters[0]->bytes == 8,
            .recursive = from->recursive,
        };
        if (from->ptx->is_entry)
            continue;
        functions[i].argument_count = signature->parameter_count;
        functions[i].is_open = ptx_signature_is_open(signature);
        functions[i].result_count = signature->return_count;
        functions[i].arguments =
            formal_values(decoder, signature->parameters, signature->parameter_count, from->parameter_offset);
        functions[i].results = formal_values(decoder, signature->returns, signature->return_count, from->return_offset);
    }
    decoder->function = NULL;
    decoder->kernel->functions = functions;
    decoder->kernel->function_count = (uint32_t)decoder->functions.count;
    decoder->kernel->function_of_index = decoder->function_of_index;
}

static void finish_constants(struct decoder *decoder)
{
    struct corun_kernel *kernel = decoder->kernel;
    uint8_t *pool = allocate(decoder, (size_t)decoder->constant_slots * SLOT_BYTES);
    struct constant_relocation *relocations = allocate(decoder, decoder->constants.count * sizeof *relocations);
    if (!pool || !relocations)
        return;
    for (size_t i = 0; i < decoder->constants.count; i++) {
        const struct constant *constant = &decoder->constants.data[i];
        uint8_t *slot = pool + (size_t)constant->slot * SLOT_BYTES;
        uint32_t bytes = constant->wide ? 8 : 4;
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
            memcpy(slot + (size_t)lane * bytes, &constant->value, bytes);
        if (constant->variable)
            relocations[kernel->relocation_count++] =
                (struct constant_relocation){constant->slot, constant->variable, constant->value, constant->wide};
    }
    kernel->constants = pool;
    kernel->constant_slots = decoder->constant_slots;
    kernel->relocations = relocations;
}

static void *keep(struct decoder *decoder, const void *data, size_t bytes)
{
    void *copy = allocate(decoder, bytes);
    if (copy && bytes)
        memcpy(copy, data, bytes);
    return copy;
}

/* Operations begin with lines of the host's cache, and one more stands behind them: executor.c looks ahead. */
static const struct operation *keep_code(struct decoder *decoder)
{
    size_t bytes = decoder->code.count * sizeof *decoder->code.data, line = sizeof *decoder->code.data;
    uint8_t *room = allocate(decoder, bytes + 2 * line);
    if (!room)
        return NULL;
    room += -(uintptr_t)room & (line - 1);
    if (bytes)
        memcpy(room, decoder->code.data, bytes);
    return (const struct operation *)(void *)room;
}

/* Takes back the scratch slots that nobody used; predicates are numbered behind the slots, so they move down. */
static void trim_scratch(struct decoder *decoder)
{
    struct corun_kernel *kernel = decoder->kernel;
    uint32_t used = decoder->scratch_slot + 2 * (decoder->temporaries_most ? decoder->temporaries_most : 1);
    if (decoder->copies || kernel->register_slots > decoder->group_slot) /* their tokens are behind the temporaries */
        used = kernel->register_slots;
    uint32_t saved = kernel->register_slots - used;
    for (size_t i = 0; i < decoder->instructions.count; i++) {
        struct corun_instruction *instruction = &decoder->instructions.data[i];
        for (uint32_t k = 0; k < instruction->source_count; k++)
            if (instruction->sources[k] >= kernel->register_slots)
                instruction->sources[k] = (uint16_t)(instruction->sources[k] - saved);
        for (uint32_t k = 0; k < instruction->destination_count; k++)
            if (instruction->destinations[k] >= kernel->register_slots)
                instruction->destinations[k] = (uint16_t)(instruction->destinations[k] - saved);
    }
    kernel->register_slots = used;
}

static void find_worker_end(struct decoder *decoder)
{
    const struct decoded_function *function = &decoder->functions.data[0];
    const uint32_t end = function_worker_end(function->ptx);
    decoder->kernel->worker_end = end == PTX_NONE ? UINT32_MAX : operation_at(function, end);
}

static void finish_kernel(struct decoder *decoder, const struct ptx_function *function)
{
    struct corun_kernel *kernel = decoder->kernel;
    find_worker_end(decoder);
    trim_scratch(decoder);
    kernel->code_length = (uint32_t)decoder->code.count;
    if (!decode_straight(decoder->code.data, decoder->code.count, decoder->leavings.data))
        decode_no_memory(decoder);
    kernel->code = keep_code(decoder);
    kernel->instructions =
        keep(decoder, decoder->instructions.data, decoder->instructions.count * sizeof *decoder->instructions.data);
    kernel->calls = keep(decoder, decoder->calls.data, decoder->calls.count * sizeof *decoder->calls.data);
    kernel->branch_target_count = (uint32_t)decoder->branch_targets.count;
    kernel->branch_targets = keep(decoder, decoder->branch_targets.data,
                                  decoder->branch_targets.count * sizeof *decoder->branch_targets.data);
    kernel->leavings = keep(decoder, decoder->leavings.data, decoder->leavings.count * sizeof *decoder->leavings.data);
    kernel->bulks = keep(decoder, decoder->bulks.data, decoder->bulks.count * sizeof *decoder->bulks.data);
    kernel->bulk_count = (uint32_t)decoder->bulks.count;
    kernel->matrices = keep(decoder, decoder->matrices.data, decoder->matrices.count * sizeof *decoder->matrices.data);
    finish_functions(decoder);
    finish_constants(decoder);
    kernel->writes_first = decode_writes_first(decoder, function);
    if (ptx_idempotence_create(function, decoder->arena, &kernel->idempotence) != CORUN_OK)
        decode_no_memory(decoder);
    decode_description(decoder, function);
}

enum corun_status decode_kernel(struct corun_module *module, const struct ptx_function *function,
                                struct corun_diagnostics *list, struct corun_kernel *kernel)
{
    struct decoder decoder = {
        .module = module, .ptx = module->ptx, .kernel = kernel, .list = list, .arena = module->arena};
    kernel->info.name = function->name;
    kernel->barrier_count = 1;
    if (function->parameter_bytes > 32764) {
        struct corun_place place = {module->ptx->file, function->place.line, function->place.column};
        return corun_report(list, CORUN_LIMIT, place, "kernel %s: more than 32764 bytes of parameters",
                            KERNEL_NAME(function->name));
    }
    void (*const steps[])(struct decoder *) = {find_recursion, lay_out_functions, lay_out_stack, lay_out_shared};
    find_functions(&decoder, function);
    for (size_t i = 0; i < sizeof steps / sizeof *steps && decoder.status == CORUN_OK; i++)
        steps[i](&decoder);
    for (uint32_t i = 0; decoder.status == CORUN_OK && i < decoder.functions.count; i++)
        decode_function(&decoder, &decoder.functions.data[i]);
    if (decoder.status == CORUN_OK)
        finish_kernel(&decoder, function);
    vector_free(&decoder.code);
    vector_free(&decoder.instructions);
    vector_free(&decoder.calls);
    vector_free(&decoder.branch_targets);
    vector_free(&decoder.leavings);
    vector_free(&decoder.matrices);
    vector_free(&decoder.bulks);
    vector_free(&decoder.constants);
    vector_free(&decoder.functions);
    return decoder.status;
}
