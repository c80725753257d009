/* SPDX-License-Identifier: MIT */
/* ld, st, atom and red. */
#include "isa/atomics.h"
#include "isa/decode.h"

static enum corun_space space_of(const struct ptx_instruction *instruction, uint8_t space)
{
    switch (space) {
    case PTX_SPACE_GLOBAL:
        return instruction->noncoherent ? CORUN_SPACE_TEXTURE : CORUN_SPACE_GLOBAL;
    case PTX_SPACE_SHARED:
        return CORUN_SPACE_SHARED;
    case PTX_SPACE_LOCAL:
        return CORUN_SPACE_LOCAL;
    case PTX_SPACE_CONST:
        return CORUN_SPACE_CONSTANT;
    default:
        return CORUN_SPACE_GENERIC;
    }
}

/* An address that is a variable: a constant, apart from frames. */
static void place_variable(struct decoder *decoder, const struct ptx_operand *operand, struct decoded_place *place)
{
    const struct ptx_variable *variable = operand->variable;
    uint64_t value = (uint64_t)operand->offset;
    switch (variable->space) {
    case PTX_SPACE_SHARED:
        value += decoder->shared_offset[variable->index];
        break;
    case PTX_SPACE_LOCAL:
        value += decode_frame_offset(decoder, variable);
        place->space = CORUN_SPACE_LOCAL;
        place->variant |= MEMORY_FRAME;
        break;
    case PTX_SPACE_PARAM:
        if (decode_is_kernel_parameter(variable)) {
            value += variable->offset;
            place->space = CORUN_SPACE_CONSTANT;
            place->variant |= MEMORY_PARAMETER;
        } else {
            value += decode_frame_offset(decoder, variable);
            place->space = CORUN_SPACE_LOCAL;
            place->variant |= MEMORY_FRAME | MEMORY_SILENT;
        }
        break;
    default:
        place->slot = decode_constant(decoder, value, true, variable);
        return;
    }
    place->slot = decode_constant(decoder, value, true, NULL);
}

struct decoded_place decode_place(struct decoder *decoder, const struct ptx_operand *operand, uint8_t space)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    struct decoded_place place = {.space = space_of(instruction, space)};
    if (space == PTX_SPACE_PARAM && operand->kind != PTX_OPERAND_ADDRESS_VARIABLE) {
        bool kernel = decoder->function->ptx->is_entry;
        place.space = kernel ? CORUN_SPACE_CONSTANT : CORUN_SPACE_LOCAL;
        place.variant = kernel ? MEMORY_PARAMETER : 0;
    }
    switch (operand->kind) {
    case PTX_OPERAND_ADDRESS:
        place.slot = decode_slot(decoder, operand->index);
        place.offset = operand->offset;
        if (!decode_is_wide(decoder, operand->index))
            place.variant |= MEMORY_ADDRESS_32;
        break;
    case PTX_OPERAND_ADDRESS_VARIABLE:
        place_variable(decoder, operand, &place);
        break;
    default:
        place.slot = decode_constant(decoder, (uint64_t)operand->offset, true, NULL);
    }
    return place;
}

static bool is_wide_element(const struct decoder *decoder, const struct ptx_operand *element)
{
    return element->kind == PTX_OPERAND_REGISTER && decode_is_wide(decoder, element->index);
}

struct data {
    uint16_t slots[4];
    uint8_t count;
    bool wide; /* slots are pairs */
};

/* The registers of a loaded or stored value. */
static struct data find_data(struct decoder *decoder, const struct ptx_operand *operand)
{
    bool vector = operand->kind == PTX_OPERAND_VECTOR;
    const struct ptx_operand *elements = vector ? operand->elements : operand;
    struct data data = {.count = vector ? operand->element_count : 1};
    data.wide = ptx_types[decoder->instruction->types[0]].bits == 64;
    for (uint32_t i = 0; i < data.count; i++)
        data.wide |= is_wide_element(decoder, &elements[i]);
    for (uint32_t i = 0; i < data.count && i < 4; i++) {
        const struct ptx_operand *element = &elements[i];
        if (element->kind == PTX_OPERAND_REGISTER && is_wide_element(decoder, element) != data.wide)
            decode_error(decoder, CORUN_UNSUPPORTED, "not supported: a vector of registers of different widths");
        if (element->kind == PTX_OPERAND_DISCARD)
            data.slots[i] = OPERAND_DISCARD;
        else if (element->kind == PTX_OPERAND_REGISTER)
            data.slots[i] = decode_slot(decoder, element->index);
        else
            data.slots[i] = decode_constant(decoder, element->bits, data.wide, NULL);
    }
    return data;
}

static bool bypasses_l1(const struct ptx_instruction *instruction)
{
    bool strong = instruction->semantics > PTX_SEMANTICS_WEAK && instruction->scope != PTX_SCOPE_CTA;
    return strong || instruction->cache == PTX_CACHE_CG || instruction->cache == PTX_CACHE_CV;
}

static void describe(struct decoder *decoder, const struct operation *op, uint32_t flags)
{
    struct corun_instruction *machine = decode_last(decoder);
    decode_registers(decoder);
    if (op->variant & MEMORY_SILENT) {
        machine->unit = CORUN_UNIT_INT;
        return;
    }
    machine->unit = CORUN_UNIT_MEMORY;
    machine->space = op->space;
    machine->access_bytes = (uint8_t)(op->width_bytes * op->vector);
    machine->flags = flags;
    if (bypasses_l1(decoder->instruction))
        machine->flags |= CORUN_BYPASS_L1;
    if (flags & CORUN_LOAD && op->source[0] & OPERAND_CONSTANT)
        machine->flags |= CORUN_UNIFORM_LOAD;
    if (op->variant & MEMORY_PARAMETER)
        machine->flags |= CORUN_PARAMETER;
}

struct operation *decode_emit_access(struct decoder *decoder, enum operation_kind kind,
                                     const struct decoded_place *place)
{
    struct operation *op = decode_emit(decoder, kind);
    op->source[0] = place->slot;
    op->offset = place->offset;
    op->variant = place->variant;
    op->space = (uint8_t)place->space;
    op->width_bytes = (uint8_t)(ptx_types[decoder->instruction->types[0]].bits / 8);
    op->vector = 1;
    return op;
}

static void decode_load(struct decoder *decoder)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    struct decoded_place place = decode_place(decoder, &instruction->operands[1], instruction->space);
    struct data data = find_data(decoder, &instruction->operands[0]);
    struct operation *op = decode_emit_access(decoder, OPERATION_LOAD, &place);
    op->vector = data.count;
    op->destination = data.slots[0];
    for (uint32_t i = 1; i < data.count; i++)
        op->extra[i - 1] = data.slots[i];
    op->extend =
        (uint8_t)((data.wide ? EXTEND_WIDE : 0) | (ptx_type_is_signed(instruction->types[0]) ? EXTEND_SIGN : 0));
    if (instruction->semantics > PTX_SEMANTICS_WEAK)
        op->variant |= MEMORY_STRONG;
    describe(decoder, op, CORUN_LOAD);
}

static void decode_store(struct decoder *decoder)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    struct decoded_place place = decode_place(decoder, &instruction->operands[0], instruction->space);
    struct data data = find_data(decoder, &instruction->operands[1]);
    struct operation *op = decode_emit_access(decoder, OPERATION_STORE, &place);
    op->vector = data.count;
    op->source[1] = data.slots[0];
    for (uint32_t i = 1; i < data.count; i++)
        op->extra[i - 1] = data.slots[i];
    op->extend = data.wide ? EXTEND_WIDE : 0;
    describe(decoder, op, CORUN_STORE);
}

void decode_surface_access(struct decoder *decoder, uint16_t address, uint16_t inside,
                           const struct ptx_operand *operand, bool loads)
{
    struct decoded_place place = {.slot = address, .space = CORUN_SPACE_GLOBAL};
    struct data data = find_data(decoder, operand);
    struct operation *op = decode_emit_access(decoder, loads ? OPERATION_LOAD : OPERATION_STORE, &place);
    op->guard = inside;
    op->guard_negated = 0;
    op->vector = data.count;
    if (loads)
        op->destination = data.slots[0];
    else
        op->source[1] = data.slots[0];
    for (uint32_t i = 1; i < data.count; i++)
        op->extra[i - 1] = data.slots[i];
    op->extend = data.wide ? EXTEND_WIDE : 0;
    op->variant |= MEMORY_SURFACE;
    describe(decoder, op, loads ? CORUN_LOAD : CORUN_STORE);
    decode_reads(decode_last(decoder), address, true);
}

enum atomic_operation decode_change(enum ptx_suffix word)
{
    switch (word) {
    case PTX_ATOMIC_CAS:
        return ATOMIC_COMPARE;
    case PTX_ATOMIC_ADD:
        return ATOMIC_ADD;
    case PTX_ATOMIC_INC:
        return ATOMIC_INCREMENT;
    case PTX_ATOMIC_DEC:
        return ATOMIC_DECREMENT;
    case PTX_ATOMIC_MIN:
        return ATOMIC_MINIMUM;
    case PTX_ATOMIC_MAX:
        return ATOMIC_MAXIMUM;
    case PTX_ATOMIC_AND:
        return ATOMIC_AND;
    case PTX_ATOMIC_OR:
        return ATOMIC_OR;
    case PTX_ATOMIC_XOR:
        return ATOMIC_XOR;
    default:
        return ATOMIC_EXCHANGE;
    }
}

/*
 * Instructions in a turn of the loop that an atomic of shared memory is, 0 where it is one instruction: ptxas 13.0 for sm_75 and sm_80. A
 * load, the operation, a compare-and-swap, a comparison and a branch; 64 bits take two comparisons, and what has no instruction of 64 bits
 * two of 32; a half of a word is put into its word, which the swap before has brought.
 */
static uint32_t turn_of_atomic(const struct ptx_instruction *instruction)
{
    enum { TURN = 5, TURN_HALF = 6, TURN_DOUBLE = 6, TURN_WIDE = 7, TURN_WIDE_CHOICE = 8 };
    enum ptx_type type = instruction->types[0];
    bool wide = ptx_types[type].bits == 64;
    if (instruction->opcode != PTX_OP_ATOM && instruction->opcode != PTX_OP_RED)
        return 0;
    switch (instruction->atomic) {
    case PTX_ATOMIC_EXCH:
    case PTX_ATOMIC_CAS:
        return 0;
    case PTX_ATOMIC_MIN:
    case PTX_ATOMIC_MAX:
        if (wide)
            return TURN_WIDE_CHOICE;
        break;
    default:
        break;
    }
    if (ptx_type_is_half(type))
        return ptx_types[type].bits == 16 ? TURN_HALF : TURN;
    if (ptx_type_is_float(type))
        return wide ? TURN_DOUBLE : TURN;
    return wide ? TURN_WIDE : 0;
}

/* exch and cas of .b128: each value is in two slots of 64 bits, those of the upper halves are further operands. */
static void decode_wide_atomic(struct decoder *decoder)
{
    const struct ptx_operand *operands = decoder->instruction->operands;
    uint32_t values = decoder->instruction->atomic == PTX_ATOMIC_CAS ? 2 : 1;
    bool reduction =
        operands[0].kind != PTX_OPERAND_VECTOR || (decode_is_dead(decoder, operands[0].elements[0].index) &&
                                                   decode_is_dead(decoder, operands[0].elements[1].index));
    uint16_t slots[2][2] = {{0}};
    for (uint32_t i = 0; i < values; i++)
        for (uint32_t half = 0; half < 2; half++)
            slots[i][half] = decode_source(decoder, &operands[2 + i].elements[half], 64);
    struct decoded_place place = decode_place(decoder, &operands[1], decoder->instruction->space);
    struct operation *op = decode_emit_access(decoder, OPERATION_ATOMIC, &place);
    op->width_bytes = 16;
    op->destination = reduction ? OPERAND_DISCARD : decode_slot(decoder, operands[0].elements[0].index);
    op->source[3] = reduction ? 0 : decode_slot(decoder, operands[0].elements[1].index);
    op->extra[0] = (uint16_t)decode_change(decoder->instruction->atomic);
    op->extra[1] = PTX_TYPE_B128;
    op->extend = EXTEND_WIDE;
    for (uint32_t i = 0; i < values; i++) {
        op->source[1 + i] = slots[i][0];
        op->extra[2 + i] = slots[i][1];
    }
    describe(decoder, op, CORUN_ATOMIC | (reduction ? CORUN_REDUCTION : 0));
}

static void decode_atomic(struct decoder *decoder)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    bool has_result = instruction->opcode == PTX_OP_ATOM;
    const struct ptx_operand *operands = instruction->operands + has_result;
    enum ptx_type type = instruction->types[0];
    uint32_t bits = ptx_types[type].bits;
    if (type == PTX_TYPE_B128) {
        decode_wide_atomic(decoder);
        return;
    }
    struct decoded_place place = decode_place(decoder, &operands[0], instruction->space);
    uint16_t b = decode_source(decoder, &operands[1], bits);
    uint16_t c = instruction->atomic == PTX_ATOMIC_CAS ? decode_source(decoder, &operands[2], bits) : 0;
    struct operation *op = decode_emit_access(decoder, OPERATION_ATOMIC, &place);
    bool reduction = !has_result || instruction->operands[0].kind != PTX_OPERAND_REGISTER ||
                     decode_is_dead(decoder, instruction->operands[0].index);
    op->destination = reduction ? OPERAND_DISCARD : decode_slot(decoder, instruction->operands[0].index);
    op->source[1] = b;
    op->source[2] = c;
    op->extra[0] = (uint16_t)decode_change(instruction->atomic);
    op->extend = (uint8_t)((bits == 64 ? EXTEND_WIDE : 0) | (ptx_type_is_signed(type) ? EXTEND_SIGN : 0) |
                           (ptx_type_is_float(type) || ptx_type_is_half(type) ? EXTEND_FLOAT : 0));
    op->extra[1] = (uint16_t)type;
    uint32_t gathered = instruction->gathered == PTX_GATHER_COUNT    ? CORUN_GATHERED
                        : instruction->gathered == PTX_GATHER_VALUES ? CORUN_GATHERED_VALUES
                                                                     : 0;
    bool may_be_shared = place.space == CORUN_SPACE_SHARED || place.space == CORUN_SPACE_GENERIC;
    uint32_t turn = may_be_shared ? turn_of_atomic(instruction) : 0;
    describe(decoder, op, CORUN_ATOMIC | (reduction ? CORUN_REDUCTION : 0) | (turn ? CORUN_COMPARED : 0) | gathered);
    if (turn)
        decode_last(decoder)->further = (uint8_t)(turn - 1);
}

void decode_emit_fence(struct decoder *decoder)
{
    decode_emit(decoder, OPERATION_FENCE);
    decode_last(decoder)->unit = CORUN_UNIT_MEMORY;
    decode_last(decoder)->flags = CORUN_FENCE;
}

void decode_access(struct decoder *decoder)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    uint8_t semantics = instruction->scope == PTX_SCOPE_CTA ? PTX_SUFFIX_NONE : instruction->semantics;
    /* Release and acquire are a fence before and behind (PTX ISA, memory consistency model). */
    if (semantics == PTX_SEMANTICS_RELEASE || semantics == PTX_SEMANTICS_ACQ_REL)
        decode_emit_fence(decoder);
    switch (instruction->opcode) {
    case PTX_OP_ST:
    case PTX_OP_ST_ASYNC:
        decode_store(decoder);
        break;
    case PTX_OP_ATOM:
    case PTX_OP_RED:
    case PTX_OP_RED_ASYNC:
        decode_atomic(decoder);
        break;
    default:
        decode_load(decoder);
    }
    if (semantics == PTX_SEMANTICS_ACQUIRE || semantics == PTX_SEMANTICS_ACQ_REL)
        decode_emit_fence(decoder);
}
