/* SPDX-License-Identifier: MIT */
/* One PTX instruction into operations: everything but memory accesses and calls. */
#include "isa/address.h"
#include "isa/decode.h"
#include "isa/lanes.h"

#include <string.h>

static uint32_t type_bits(enum ptx_type type)
{
    return ptx_types[type].bits;
}

/* A conversion of our own making, for a register that is wider than its place. */
static void emit_conversion(struct decoder *decoder, enum ptx_type to, enum ptx_type from, uint16_t destination,
                            uint16_t source)
{
    struct ptx_instruction conversion = {.opcode = PTX_OP_CVT, .type_count = 2, .types = {to, from}, .guard = PTX_NONE};
    conversion.carry_flag = PTX_NONE;
    struct operation *op = decode_emit(decoder, OPERATION_LANES);
    op->destination = destination;
    op->source[0] = source;
    if (!lanes_select(&conversion, op))
        decode_error(decoder, CORUN_UNSUPPORTED, "not supported: a register of another width here");
    decode_reads(decode_last(decoder), source, type_bits(from) == 64);
    decode_writes(decode_last(decoder), destination, type_bits(to) == 64);
}

void decode_emit_special(struct decoder *decoder, uint32_t special, uint16_t destination, bool wide, int64_t offset)
{
    struct operation *op = decode_emit(decoder, OPERATION_SPECIAL_REGISTER);
    op->variant = (uint8_t)special;
    op->destination = destination;
    op->extend = wide ? EXTEND_WIDE : 0;
    op->offset = offset;
    decode_writes(decode_last(decoder), destination, wide);
}

static bool is_in_frame(const struct ptx_variable *variable)
{
    return variable->space == PTX_SPACE_LOCAL ||
           (variable->space == PTX_SPACE_PARAM && !decode_is_kernel_parameter(variable));
}

/* The address of a variable within its space; variables of a frame are not constants and do not come here. */
static uint16_t variable_address(struct decoder *decoder, const struct ptx_operand *operand, bool wide)
{
    const struct ptx_variable *variable = operand->variable;
    if (variable->space == PTX_SPACE_SHARED)
        return decode_constant(decoder, decoder->shared_offset[variable->index] + (uint64_t)operand->offset, wide,
                               NULL);
    if (decode_is_kernel_parameter(variable))
        return decode_constant(decoder, variable->offset + (uint64_t)operand->offset, wide, NULL);
    return decode_constant(decoder, (uint64_t)operand->offset, wide, variable);
}

uint16_t decode_source(struct decoder *decoder, const struct ptx_operand *operand, uint32_t bits)
{
    bool wide = bits == 64;
    switch ((enum ptx_operand_kind)operand->kind) {
    case PTX_OPERAND_REGISTER: {
        uint16_t slot = decode_slot(decoder, operand->index);
        if (wide || !decode_is_wide(decoder, operand->index))
            return slot;
        uint16_t narrow = decode_temporary(decoder);
        emit_conversion(decoder, PTX_TYPE_U32, PTX_TYPE_U64, narrow, slot);
        return narrow;
    }
    case PTX_OPERAND_INTEGER:
    case PTX_OPERAND_F32:
    case PTX_OPERAND_F64:
        return decode_constant(decoder, operand->bits, wide, NULL);
    case PTX_OPERAND_SPECIAL: {
        uint16_t slot = decode_temporary(decoder);
        decode_emit_special(decoder, operand->index, slot, wide, 0);
        return slot;
    }
    case PTX_OPERAND_VARIABLE:
        if (is_in_frame(operand->variable)) {
            uint16_t slot = decode_temporary(decoder);
            decode_emit_special(decoder, SPECIAL_LOCAL_ADDRESS, slot, wide,
                                decode_frame_offset(decoder, operand->variable) + operand->offset);
            return slot;
        }
        return variable_address(decoder, operand, wide);
    case PTX_OPERAND_FUNCTION:
        return decode_constant(decoder, function_address(operand->function->index), wide, NULL);
    default:
        decode_error(decoder, CORUN_UNSUPPORTED, "not supported: this kind of operand here");
        return 0;
    }
}

/* A predicate number for predicate_in. */
uint16_t decode_predicate_source(const struct decoder *decoder, const struct ptx_operand *operand)
{
    if (operand->kind == PTX_OPERAND_REGISTER)
        return decode_predicate(decoder, operand->index);
    return operand->bits ? PREDICATE_TRUE : PREDICATE_FALSE;
}

/* One for the logic of predicates, whose lane functions know no negation. */
static uint16_t plain_predicate(struct decoder *decoder, const struct ptx_operand *operand)
{
    uint16_t predicate = decode_predicate_source(decoder, operand);
    if (!operand->negated || operand->kind != PTX_OPERAND_REGISTER)
        return predicate;
    struct ptx_instruction negation = {.opcode = PTX_OP_NOT, .type_count = 1, .types = {PTX_TYPE_PRED}};
    uint16_t negated = decode_temporary_predicate(decoder);
    struct operation *op = decode_emit(decoder, OPERATION_LANES);
    op->predicate_out[0] = negated;
    op->source[0] = predicate;
    if (!lanes_select(&negation, op))
        decode_error(decoder, CORUN_UNSUPPORTED, "not supported: a negated predicate here");
    return negated;
}

static uint16_t predicate_destination(struct decoder *decoder, const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_REGISTER ? decode_predicate(decoder, operand->index)
                                                 : decode_temporary_predicate(decoder);
}

struct operands {
    uint16_t destination, source[4];
    uint16_t predicate_out[2], predicate_in;
    uint16_t elements[3];
    uint8_t predicate_in_negated;
    uint32_t source_count;
    uint16_t widened; /* destination is a temporary: the register that is to get it */
    bool is_widened;
};

static void take_destination(struct decoder *decoder, const struct ptx_operand *operand, enum ptx_type type,
                             uint32_t bits, struct operands *result)
{
    if (type == PTX_TYPE_PRED) {
        result->predicate_out[0] = predicate_destination(decoder, operand);
        return;
    }
    if (operand->kind == PTX_OPERAND_DISCARD) {
        result->destination = decode_temporary(decoder);
        return;
    }
    if (operand->kind == PTX_OPERAND_VECTOR) {
        for (uint32_t i = 0; i < operand->element_count && i < 4; i++) {
            const struct ptx_operand *element = &operand->elements[i];
            uint16_t slot =
                element->kind == PTX_OPERAND_REGISTER ? decode_slot(decoder, element->index) : LANES_DISCARD;
            *(i ? &result->elements[i - 1] : &result->destination) = slot;
        }
        return;
    }
    result->destination = decode_slot(decoder, operand->index);
    if (bits < 64 && decode_is_wide(decoder, operand->index)) {
        result->widened = result->destination;
        result->destination = decode_temporary(decoder);
        result->is_widened = true;
    }
}

static void take_source(struct decoder *decoder, const struct ptx_operand *operand, enum ptx_type type, uint32_t bits,
                        struct operands *result)
{
    if (operand->kind == PTX_OPERAND_VECTOR) { /* mov packs */
        for (uint32_t i = 0; i < operand->element_count && i < 4; i++)
            result->source[result->source_count++] =
                decode_source(decoder, &operand->elements[i], bits / operand->element_count);
        return;
    }
    if (result->source_count == 4)
        return;
    uint16_t source = type == PTX_TYPE_PRED ? plain_predicate(decoder, operand) : decode_source(decoder, operand, bits);
    result->source[result->source_count++] = source;
}

/* Operands by the letters of opcodes.def. */
static void take_operands(struct decoder *decoder, const struct ptx_instruction *instruction, struct operands *result)
{
    uint32_t wide = instruction->half == PTX_HALF_WIDE ? 2 : 1;
    enum ptx_type first = instruction->types[0], second = instruction->types[1];
    char letters[PTX_MAX_LETTERS];
    uint32_t count = ptx_operand_letters(instruction->opcode, instruction->operand_count, letters);
    for (uint32_t index = 0; index < count; index++) {
        const struct ptx_operand *operand = &instruction->operands[index];
        const char letter = letters[index];
        switch (letter) {
        case 'q':
            take_destination(decoder, operand, PTX_TYPE_PRED, 1, result);
            break;
        case 'd':
        case 'D':
        case 'o':
        case 'c':
            take_destination(decoder, operand, first, type_bits(first) * (letter == 'D' ? wide : 1), result);
            break;
        case 'w':
        case 'z':
            take_destination(decoder, operand, PTX_TYPE_U32, 32, result);
            break;
        case 'a':
        case 'A':
        case 'O':
            take_source(decoder, operand, first, type_bits(first) * (letter == 'A' ? wide : 1), result);
            break;
        case 'b':
        case 'C':
            take_source(decoder, operand, second, type_bits(second), result);
            break;
        case 'u':
        case 'y':
            take_source(decoder, operand, PTX_TYPE_U32, 32, result);
            break;
        case 'V':
            take_source(decoder, operand, PTX_TYPE_U64, first == PTX_TYPE_U32 ? 32 : 64, result);
            break;
        case 'p':
            result->predicate_in = decode_predicate_source(decoder, operand);
            result->predicate_in_negated = operand->negated;
            break;
        default: /* 'n': lane functions find it in the instruction */
            break;
        }
    }
}

/* Bases of windows are further operands of cvta and isspacep. */
static void take_window(struct decoder *decoder, const struct ptx_instruction *instruction, struct operands *result)
{
    uint64_t base, bytes = UINT64_C(1) << WINDOW_SHIFT;
    switch (instruction->space) {
    case PTX_SPACE_SHARED:
        base = WINDOW_BASE(WINDOW_SHARED);
        break;
    case PTX_SPACE_LOCAL:
        base = WINDOW_BASE(WINDOW_LOCAL);
        break;
    case PTX_SPACE_PARAM:
        base = WINDOW_BASE(WINDOW_PARAMETER);
        break;
    case PTX_SPACE_CONST: /* constant variables have generic addresses in global memory */
        base = 0;
        bytes = instruction->opcode == PTX_OP_ISSPACEP ? 0 : bytes;
        break;
    default:
        base = 0;
    }
    if (instruction->types[0] == PTX_TYPE_U32 && base)
        decode_error(decoder, CORUN_UNSUPPORTED, "not supported: generic addresses of 32 bits");
    bool wide = instruction->types[0] != PTX_TYPE_U32;
    result->source[1] = decode_constant(decoder, base, wide, NULL);
    result->source[2] = decode_constant(decoder, bytes, wide, NULL);
}

struct written {
    const struct ptx_instruction *instruction;
    uint32_t register_index;
    bool computed;
};

static void note_written(void *user, uint32_t register_index, enum ptx_access access)
{
    struct written *written = user;
    const struct ptx_instruction *instruction = written->instruction;
    if (access == PTX_WRITE && register_index == written->register_index)
        written->computed |= instruction->opcode != PTX_OP_MOV || instruction->operands[1].kind != PTX_OPERAND_INTEGER;
}

/* Is a register anything else than constants that the function puts there? */
static bool is_computed(const struct ptx_function *function, const struct ptx_operand *operand)
{
    struct written written = {.register_index = operand->index};
    if (operand->kind != PTX_OPERAND_REGISTER)
        return false;
    for (uint32_t i = 0; i < function->instruction_count && !written.computed; i++) {
        written.instruction = &function->instructions[i];
        ptx_instruction_registers(written.instruction, note_written, &written);
    }
    return written.computed;
}

/* Lanes wait here for those that the mask names: the last source. Without a mask those that come together act. */
static void note_meeting(const struct decoder *decoder, const struct ptx_instruction *instruction,
                         const struct operands *operands, struct operation *op)
{
    const bool predicate = instruction->opcode == PTX_OP_VOTE && instruction->vote != PTX_VOTE_BALLOT;
    switch (instruction->opcode) {
    case PTX_OP_SHFL:
    case PTX_OP_VOTE:
        if (!instruction->sync)
            return;
        break;
    case PTX_OP_MATCH_ANY_SYNC:
    case PTX_OP_MATCH_ALL_SYNC:
    case PTX_OP_REDUX_SYNC:
    case PTX_OP_ELECT_SYNC:
        break;
    default:
        return;
    }
    const bool wide = ptx_types[instruction->types[0]].bits == 64;
    const bool computed = is_computed(decoder->function->ptx, &instruction->operands[instruction->operand_count - 1]);
    op->kind = OPERATION_MEETING;
    op->vector = (uint8_t)operands->source_count;
    op->extend =
        (uint8_t)((wide ? MEETING_WIDE : 0) | (predicate ? 0 : MEETING_RESULT) | (computed ? MEETING_COMPUTED : 0));
}

/* bar.warp.sync only waits. The machine hears nothing of the register with the mask: nobody waits for that. */
static bool decode_warp_barrier(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    if (instruction->opcode != PTX_OP_BAR_WARP_SYNC)
        return false;
    uint16_t mask = decode_source(decoder, &instruction->operands[0], 32);
    struct operation *op = decode_emit(decoder, OPERATION_MEETING);
    op->source[0] = mask;
    op->vector = 1;
    op->extend = is_computed(decoder->function->ptx, &instruction->operands[0]) ? MEETING_COMPUTED : 0;
    decode_last(decoder)->unit = CORUN_UNIT_CONTROL;
    decode_last(decoder)->flags = 0;
    return true;
}

static void decode_lanes(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    struct operands operands = {.predicate_out = {NO_PREDICATE, NO_PREDICATE}, .predicate_in = NO_PREDICATE};
    take_operands(decoder, instruction, &operands);
    if (instruction->opcode == PTX_OP_CVTA || instruction->opcode == PTX_OP_ISSPACEP)
        take_window(decoder, instruction, &operands);
    if (instruction->pair.kind == PTX_OPERAND_REGISTER)
        operands.predicate_out[instruction->opcode == PTX_OP_SETP] = decode_predicate(decoder, instruction->pair.index);
    if (instruction->carry_flag != PTX_NONE) {
        uint16_t carry = decode_predicate(decoder, instruction->carry_flag);
        bool reads = instruction->opcode == PTX_OP_ADDC || instruction->opcode == PTX_OP_SUBC ||
                     instruction->opcode == PTX_OP_MADC;
        if (reads)
            operands.predicate_in = carry;
        if (instruction->carry)
            operands.predicate_out[0] = carry;
    }
    struct operation *op = decode_emit(decoder, OPERATION_LANES);
    op->destination = operands.destination;
    memcpy(op->source, operands.source, sizeof op->source);
    memcpy(op->predicate_out, operands.predicate_out, sizeof op->predicate_out);
    memcpy(op->extra, operands.elements, sizeof operands.elements);
    op->predicate_in = operands.predicate_in;
    op->predicate_in_negated = operands.predicate_in_negated;
    op->width_bytes = instruction->opcode == PTX_OP_ISSPACEP ? 8 : 0;
    if (!lanes_select(instruction, op))
        decode_error(decoder, CORUN_UNSUPPORTED, "not supported: %s with these suffixes",
                     ptx_opcodes[instruction->opcode].word);
    note_meeting(decoder, instruction, &operands, op);
    decode_registers(decoder);
    classify(instruction, decode_last(decoder));
    if (operands.is_widened) {
        decode_writes(decode_last(decoder), operands.destination, false);
        bool is_signed = ptx_type_is_signed(instruction->types[0]);
        emit_conversion(decoder, is_signed ? PTX_TYPE_S64 : PTX_TYPE_U64, is_signed ? PTX_TYPE_S32 : PTX_TYPE_U32,
                        operands.widened, operands.destination);
    }
}

/* mov from what is no register: special registers and addresses in the frame go straight to the destination. */
static bool decode_special_move(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    const struct ptx_operand *to = &instruction->operands[0], *from = &instruction->operands[1];
    if (instruction->opcode != PTX_OP_MOV || to->kind != PTX_OPERAND_REGISTER)
        return false;
    if (instruction->types[0] == PTX_TYPE_PRED && from->kind == PTX_OPERAND_SPECIAL)
        return false;
    uint16_t slot = instruction->types[0] == PTX_TYPE_PRED ? 0 : decode_slot(decoder, to->index);
    bool wide = decode_is_wide(decoder, to->index);
    if (from->kind == PTX_OPERAND_SPECIAL)
        decode_emit_special(decoder, from->index, slot, wide, 0);
    else if (from->kind == PTX_OPERAND_VARIABLE && is_in_frame(from->variable))
        decode_emit_special(decoder, SPECIAL_LOCAL_ADDRESS, slot, wide,
                            decode_frame_offset(decoder, from->variable) + from->offset);
    else
        return false;
    return true;
}

static uint32_t block_at(const struct ptx_control_flow *flow, const struct ptx_function *function, uint32_t instruction)
{
    return instruction < function->instruction_count ? flow->block_of[instruction] : PTX_EXIT;
}

static bool push_leaving(struct decoder *decoder, uint32_t number)
{
    if (vector_push(&decoder->leavings, number))
        return true;
    decode_no_memory(decoder);
    return false;
}

/* How many places are left on each way, and which ones. Gives where that begins, 0: nobody leaves any. */
static uint32_t decode_leavings(struct decoder *decoder, const struct operation *op, uint32_t index)
{
    const struct ptx_convergence *convergence = &decoder->function->registers->convergence;
    const struct ptx_control_flow *flow = convergence->flow;
    const struct ptx_function *function = decoder->function->ptx;
    const uint32_t block = flow->block_of[index], ways = branch_ways(op);
    if (decoder->leavings.count == 0)
        push_leaving(decoder, 0); /* so that no branch has the first one */
    const size_t first = decoder->leavings.count;
    uint32_t most = 0;
    for (uint32_t way = 0; way < ways; way++) {
        const uint32_t target = way + 1 == ways                ? index + 1
                                : op->kind == OPERATION_BRANCH ? op->target
                                                               : decoder->branch_targets.data[op->target + way];
        const uint32_t left = ptx_convergence_left(convergence, block, block_at(flow, function, target));
        most = left > most ? left : most;
        if (!push_leaving(decoder, left))
            return 0;
    }
    if (!most) {
        decoder->leavings.count = first;
        return 0;
    }
    uint32_t merge = convergence->nearest[block];
    for (; merge != PTX_NONE; merge = convergence->merges[merge].outer)
        if (!push_leaving(decoder, flow->blocks[convergence->merges[merge].block].first))
            return 0;
    return push_leaving(decoder, UINT32_MAX) ? (uint32_t)first : 0;
}

/* Where lanes meet that go different ways from a branch, and whom they leave. Targets are indices of instructions for now. */
static void decode_ways(struct decoder *decoder, struct operation *op, uint32_t table_targets, uint32_t index)
{
    const struct ptx_convergence *convergence = &decoder->function->registers->convergence;
    op->reconverge = ptx_convergence_meets(convergence, convergence->flow->block_of[index]);
    branch_set(op, table_targets, 0);
    branch_set(op, table_targets, decode_leavings(decoder, op, index));
}

static void decode_branch(struct decoder *decoder, const struct ptx_instruction *instruction, uint32_t index)
{
    struct operation *op = decode_emit(decoder, OPERATION_BRANCH);
    const struct ptx_function *function = decoder->function->ptx;
    /* As indices of instructions for now: decode.c puts in those of operations when it knows them. */
    op->target = function->labels[instruction->operands[0].index].instruction;
    decode_ways(decoder, op, 0, index);
    struct corun_instruction *machine = decode_last(decoder);
    machine->unit = CORUN_UNIT_CONTROL;
    machine->flags = CORUN_BRANCH;
}

/* One operation for all the targets: lanes that want another one than the first lane run it again. */
static void decode_branch_table(struct decoder *decoder, const struct ptx_instruction *instruction, uint32_t index)
{
    const struct ptx_function *function = decoder->function->ptx;
    const struct ptx_operand *targets = &instruction->operands[1];
    uint16_t source = decode_source(decoder, &instruction->operands[0], 32);
    uint32_t first = (uint32_t)decoder->branch_targets.count;
    for (uint32_t i = 0; i < targets->index; i++)
        if (!vector_push(&decoder->branch_targets, function->labels[targets->elements[i].index].instruction))
            decode_no_memory(decoder);
    struct operation *op = decode_emit(decoder, OPERATION_BRANCH_TABLE);
    op->source[0] = source;
    op->target = first;
    decode_ways(decoder, op, targets->index, index);
    decode_registers(decoder);
    decode_last(decoder)->unit = CORUN_UNIT_CONTROL;
    decode_last(decoder)->flags = CORUN_BRANCH;
}

static void decode_barrier(struct decoder *decoder, const struct ptx_instruction *instruction, bool waits)
{
    struct operands result = {.predicate_out = {NO_PREDICATE, NO_PREDICATE}, .predicate_in = NO_PREDICATE};
    bool reduces = instruction->reduction != 0;
    if (reduces)
        take_operands(decoder, instruction, &result);
    const struct ptx_operand *operands = &instruction->operands[reduces];
    uint32_t numbers = instruction->operand_count - 2u * reduces;
    uint16_t number = decode_source(decoder, &operands[0], 32);
    uint16_t threads =
        numbers > 1 ? decode_source(decoder, &operands[1], 32) : decode_constant(decoder, 0, false, NULL);
    uint32_t count = operands[0].kind == PTX_OPERAND_INTEGER ? (uint32_t)operands[0].bits + 1 : 16;
    if (count > decoder->kernel->barrier_count)
        decoder->kernel->barrier_count = count > 16 ? 16 : count;
    struct operation *op = decode_emit(decoder, OPERATION_BARRIER);
    op->source[0] = number;
    op->source[1] = threads;
    op->variant = waits ? BARRIER_WAIT : BARRIER_ARRIVE;
    bool any = !instruction->aligned &&
               (instruction->opcode == PTX_OP_BARRIER_SYNC || instruction->opcode == PTX_OP_BARRIER_ARRIVE ||
                instruction->opcode == PTX_OP_BARRIER_RED);
    op->extra[0] = any ? BARRIER_ANY : BARRIER_ALIGNED;
    if (reduces) {
        op->variant = (uint8_t)(BARRIER_COUNT + (instruction->reduction - PTX_REDUCTION_POPC));
        op->destination = result.destination;
        op->predicate_out[0] = result.predicate_out[0];
        op->predicate_in = result.predicate_in;
        op->predicate_in_negated = result.predicate_in_negated;
    }
    decode_registers(decoder);
    decode_last(decoder)->unit = CORUN_UNIT_CONTROL;
    decode_last(decoder)->flags = CORUN_BARRIER;
}

static void decode_fence(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    decode_emit(decoder, OPERATION_FENCE);
    struct corun_instruction *machine = decode_last(decoder);
    /* Within a thread block stores are seen at once: nothing to wait for. */
    bool within_tb = instruction->scope == PTX_SCOPE_CTA;
    machine->unit = within_tb ? CORUN_UNIT_CONTROL : CORUN_UNIT_MEMORY;
    machine->flags = within_tb ? 0 : CORUN_FENCE;
}

static void decode_simple(struct decoder *decoder, enum operation_kind kind, uint32_t flags)
{
    decode_emit(decoder, kind);
    decode_last(decoder)->unit = CORUN_UNIT_CONTROL;
    decode_last(decoder)->flags = flags;
}

static void decode_return(struct decoder *decoder)
{
    decode_stack_leave(decoder);
    decode_simple(decoder, OPERATION_RETURN,
                  decoder->function->ptx->is_entry ? CORUN_BRANCH | CORUN_EXIT : CORUN_BRANCH);
}

/* No PTX: src/assemble makes them. */
static bool is_of_machines(uint32_t opcode)
{
    switch (opcode) {
    case PTX_OP_ADD3:
    case PTX_OP_MULADD:
    case PTX_OP_ADDMUL:
    case PTX_OP_MULSUB:
    case PTX_OP_SUBMUL:
    case PTX_OP_FNMA:
    case PTX_OP_FMS:
        return true;
    default:
        return false;
    }
}

/* The families that have a file of their own, and what computes lane by lane. */
static void decode_family(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    if (is_of_machines(instruction->opcode))
        decode_lanes(decoder, instruction);
    else if (!ptx_opcodes[instruction->opcode].supported)
        decode_error(decoder, CORUN_UNSUPPORTED, "not supported: %s", ptx_opcodes[instruction->opcode].word);
    else if (!decode_async(decoder) && !decode_bulk(decoder) && !decode_cluster(decoder) && !decode_matrix(decoder) &&
             !decode_warpgroup(decoder) && !decode_stack(decoder) && !decode_texture_query(decoder) &&
             !decode_warp_barrier(decoder, instruction) && !decode_special_move(decoder, instruction))
        decode_lanes(decoder, instruction);
}

void decode_instruction(struct decoder *decoder, const struct ptx_instruction *instruction, uint32_t index)
{
    decoder->instruction = instruction;
    decoder->temporaries = decoder->predicates = 0;
    switch (instruction->opcode) {
    case PTX_OP_LD:
    case PTX_OP_LDU:
    case PTX_OP_ST:
    case PTX_OP_ATOM:
    case PTX_OP_RED:
        decode_access(decoder);
        break;
    case PTX_OP_TEX:
    case PTX_OP_TEX_LEVEL:
    case PTX_OP_TEX_GRAD:
    case PTX_OP_TLD4:
    case PTX_OP_SULD_B:
    case PTX_OP_SUST_B:
        decode_texture(decoder);
        break;
    case PTX_OP_BRA:
        decode_branch(decoder, instruction, index);
        break;
    case PTX_OP_CALL:
        decode_call(decoder);
        break;
    case PTX_OP_RET:
        decode_return(decoder);
        break;
    case PTX_OP_EXIT:
        decode_simple(decoder, OPERATION_EXIT, CORUN_BRANCH | CORUN_EXIT);
        break;
    case PTX_OP_TRAP:
        decode_simple(decoder, OPERATION_TRAP, 0);
        break;
    case PTX_OP_BRX_IDX:
        decode_branch_table(decoder, instruction, index);
        break;
    case PTX_OP_BAR_SYNC:
    case PTX_OP_BARRIER_SYNC:
    case PTX_OP_BAR_RED:
    case PTX_OP_BARRIER_RED:
        decode_barrier(decoder, instruction, true);
        break;
    case PTX_OP_BAR_ARRIVE:
    case PTX_OP_BARRIER_ARRIVE:
        decode_barrier(decoder, instruction, false);
        break;
    case PTX_OP_MEMBAR:
    case PTX_OP_FENCE:
    case PTX_OP_FENCE_PROXY_ASYNC_GENERIC:
    case PTX_OP_FENCE_PROXY_TENSORMAP:
        decode_fence(decoder, instruction);
        break;
    case PTX_OP_FENCE_MBARRIER_INIT: /* within the SM stores are seen in order */
    case PTX_OP_NANOSLEEP:
    case PTX_OP_PMEVENT:
    case PTX_OP_PMEVENT_MASK:
    case PTX_OP_BRKPT:
    case PTX_OP_PREFETCH:
    case PTX_OP_PREFETCHU:
    case PTX_OP_PREFETCH_TENSORMAP:
    case PTX_OP_APPLYPRIORITY:
    case PTX_OP_DISCARD:
    case PTX_OP_GRIDDEPCONTROL:
    case PTX_OP_FENCE_PROXY_ASYNC:
    case PTX_OP_FENCE_PROXY_ALIAS:
    case PTX_OP_SETMAXNREG_INC_SYNC: /* a warp keeps the registers that it began with */
    case PTX_OP_SETMAXNREG_DEC_SYNC:
        decode_simple(decoder, OPERATION_NOTHING, 0);
        break;
    default:
        decode_family(decoder, instruction);
        break;
    }
}
