/* SPDX-License-Identifier: MIT */
/* tex, tld4, suld, sust, txq and suq. */
#include "isa/decode.h"
#include "isa/lanes.h"
#include "isa/texture.h"

#include <string.h>

static enum texture_geometry geometry_of(const struct ptx_instruction *instruction)
{
    return (enum texture_geometry)(instruction->geometry - PTX_GEOMETRY_D1);
}

/* Handle and coordinates into the `places` sources of the operation to come; the last of four coordinates may mean nothing. */
static uint8_t take_texel(struct decoder *decoder, const struct ptx_operand *texel, uint16_t *sources, uint32_t places)
{
    const struct ptx_operand *handle = &texel->elements[0];
    uint8_t variant = 0;
    if (handle->kind == PTX_OPERAND_VARIABLE) {
        sources[0] = decode_constant(decoder, 0, true, handle->variable);
        variant = TEXTURE_REFERENCE;
    } else {
        sources[0] = decode_source(decoder, handle, 64);
    }
    for (uint32_t i = 1; i < texel->element_count && i < places; i++)
        sources[i] = decode_source(decoder, &texel->elements[i], 32);
    return variant;
}

/* The level of detail, or the gradients of as many axes as the geometry has. */
static uint8_t take_details(struct decoder *decoder, const struct ptx_instruction *instruction, uint16_t *slots)
{
    if (instruction->opcode == PTX_OP_TEX_LEVEL) {
        slots[0] = decode_source(decoder, &instruction->operands[2], 32);
        return TEXTURE_LEVEL;
    }
    if (instruction->opcode != PTX_OP_TEX_GRAD)
        return 0;
    for (uint32_t step = 0; step < 2; step++) {
        const struct ptx_operand *gradient = &instruction->operands[2 + step];
        bool vector = gradient->kind == PTX_OPERAND_VECTOR;
        for (uint32_t axis = 0; axis < (vector ? gradient->element_count : 1u) && axis < 3; axis++)
            slots[3 * step + axis] = decode_source(decoder, vector ? &gradient->elements[axis] : gradient, 32);
    }
    return TEXTURE_GRADIENT;
}

static void decode_fetch(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    uint16_t sources[5] = {0};
    bool cubes = instruction->geometry == PTX_GEOMETRY_ACUBE; /* the only one with four coordinates of a meaning */
    uint8_t variant = take_texel(decoder, &instruction->operands[1], sources, cubes ? 5 : 4);
    uint16_t details[TEXTURE_DETAILS] = {0};
    variant |= take_details(decoder, instruction, details);
    const struct ptx_operand *results = &instruction->operands[0];
    struct operation *op = decode_emit(decoder, OPERATION_TEXTURE);
    memcpy(op->source, sources, sizeof op->source);
    op->extra[3] = sources[4];
    for (uint32_t i = 0; i < 4; i++)
        op->offset |= (int64_t)((uint64_t)details[i] << 16 * i);
    op->target = details[4] | (uint32_t)details[5] << 16;
    for (uint32_t i = 0; i < 4; i++) {
        const struct ptx_operand *element = results->kind == PTX_OPERAND_VECTOR ? &results->elements[i] : results;
        bool there = results->kind == PTX_OPERAND_VECTOR ? i < results->element_count : i == 0;
        uint16_t slot =
            there && element->kind == PTX_OPERAND_REGISTER ? decode_slot(decoder, element->index) : OPERAND_DISCARD;
        *(i ? &op->extra[i - 1] : &op->destination) = slot;
    }
    op->space = (uint8_t)geometry_of(instruction);
    op->variant = (uint8_t)(variant | (instruction->types[1] == PTX_TYPE_S32 ? TEXTURE_WHOLE : 0) |
                            (instruction->types[0] != PTX_TYPE_F32 ? TEXTURE_WORDS : 0) |
                            (instruction->opcode == PTX_OP_TLD4 ? TEXTURE_GATHER : 0));
    if (instruction->opcode == PTX_OP_TLD4)
        op->extend = (uint8_t)(instruction->component - PTX_COMPONENT_R);
    decode_registers(decoder);
    struct corun_instruction *machine = decode_last(decoder);
    machine->unit = CORUN_UNIT_MEMORY;
    machine->space = CORUN_SPACE_TEXTURE;
    machine->access_bytes = 4;
    machine->flags = CORUN_LOAD;
}

/* A read outside gives zero: the registers are cleared before. */
static void clear_results(struct decoder *decoder, const struct ptx_operand *results)
{
    bool vector = results->kind == PTX_OPERAND_VECTOR;
    for (uint32_t i = 0; i < (vector ? results->element_count : 1u); i++) {
        const struct ptx_operand *element = vector ? &results->elements[i] : results;
        if (element->kind != PTX_OPERAND_REGISTER)
            continue;
        bool wide = decode_is_wide(decoder, element->index);
        uint16_t zero = decode_constant(decoder, 0, wide, NULL);
        struct ptx_instruction move = {.opcode = PTX_OP_MOV, .type_count = 1, .guard = PTX_NONE};
        struct ptx_operand operands[2] = {{.kind = PTX_OPERAND_REGISTER}, {.kind = PTX_OPERAND_REGISTER}};
        move.types[0] = wide ? PTX_TYPE_B64 : PTX_TYPE_B32;
        move.operands = operands;
        move.operand_count = 2;
        struct operation *op = decode_emit(decoder, OPERATION_LANES);
        op->destination = decode_slot(decoder, element->index);
        op->source[0] = zero;
        if (!lanes_select(&move, op))
            decode_error(decoder, CORUN_UNSUPPORTED, "not supported: a register of this width here");
        decode_writes(decode_last(decoder), op->destination, wide);
    }
}

static enum surface_outside outside_of(const struct ptx_instruction *instruction)
{
    switch (instruction->outside) {
    case PTX_OUTSIDE_CLAMP:
        return SURFACE_CLAMP;
    case PTX_OUTSIDE_ZERO:
        return SURFACE_ZERO;
    default:
        return SURFACE_TRAP;
    }
}

/* The address first; then an ordinary access by the lanes that are inside. */
static void decode_surface(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    bool loads = instruction->opcode == PTX_OP_SULD_B;
    const struct ptx_operand *texel = &instruction->operands[loads], *data = &instruction->operands[!loads];
    uint16_t sources[4] = {0};
    uint8_t variant = take_texel(decoder, texel, sources, 4);
    enum surface_outside outside = outside_of(instruction);
    uint32_t elements = data->kind == PTX_OPERAND_VECTOR ? data->element_count : 1;
    if (loads && outside == SURFACE_ZERO)
        clear_results(decoder, data);
    uint16_t address = decode_temporary(decoder), inside = decode_temporary_predicate(decoder);
    struct operation *op = decode_emit(decoder, OPERATION_SURFACE);
    memcpy(op->source, sources, sizeof op->source);
    op->destination = address;
    op->predicate_out[0] = inside;
    op->offset = (int64_t)elements * ptx_types[instruction->types[0]].bits / 8;
    op->space = (uint8_t)geometry_of(instruction);
    op->variant = (uint8_t)(variant | outside << 5);
    decode_registers(decoder);
    decode_writes(decode_last(decoder), address, true);
    decode_last(decoder)->unit = CORUN_UNIT_INT;
    decode_surface_access(decoder, address, inside, data, loads);
}

/* txq and suq: timed as an operation on integers. */
static void decode_query(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    const struct ptx_operand *operands = instruction->operands, *asked = &operands[1];
    bool reference =
        asked->kind == PTX_OPERAND_ADDRESS_VARIABLE && ptx_types[asked->variable->type].kind == PTX_KIND_OPAQUE;
    if (operands[0].kind != PTX_OPERAND_REGISTER)
        return;
    if ((!reference && asked->kind != PTX_OPERAND_ADDRESS) || asked->offset) {
        decode_error(decoder, CORUN_UNSUPPORTED, "not supported: %s of what is no texture or surface in brackets",
                     ptx_opcodes[instruction->opcode].word);
        return;
    }
    const struct ptx_operand handle = {.kind = PTX_OPERAND_REGISTER, .index = asked->index};
    uint16_t source =
        reference ? decode_constant(decoder, 0, true, asked->variable) : decode_source(decoder, &handle, 64);
    bool level = instruction->opcode == PTX_OP_TXQ_LEVEL;
    uint16_t detail = level ? decode_source(decoder, &operands[2], 32) : 0;
    struct operation *op = decode_emit(decoder, OPERATION_TEXTURE_QUERY);
    op->source[0] = source;
    op->source[1] = detail;
    op->destination = decode_slot(decoder, operands[0].index);
    op->variant = (uint8_t)((reference ? TEXTURE_REFERENCE : 0) | (level ? TEXTURE_LEVEL : 0));
    op->extend = (uint8_t)(instruction->query - PTX_QUERY_WIDTH);
    decode_registers(decoder);
    decode_last(decoder)->unit = CORUN_UNIT_INT;
}

bool decode_texture_query(struct decoder *decoder)
{
    uint32_t opcode = decoder->instruction->opcode;
    if (opcode != PTX_OP_TXQ && opcode != PTX_OP_TXQ_LEVEL && opcode != PTX_OP_SUQ)
        return false;
    decode_query(decoder, decoder->instruction);
    return true;
}

void decode_texture(struct decoder *decoder)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    bool cubes = instruction->geometry == PTX_GEOMETRY_CUBE || instruction->geometry == PTX_GEOMETRY_ACUBE;
    if (cubes && instruction->opcode != PTX_OP_TEX && instruction->opcode != PTX_OP_TEX_LEVEL)
        decode_error(decoder, CORUN_UNSUPPORTED, "not supported: %s of cubes", ptx_opcodes[instruction->opcode].word);
    else if (instruction->opcode == PTX_OP_SULD_B || instruction->opcode == PTX_OP_SUST_B)
        decode_surface(decoder, instruction);
    else
        decode_fetch(decoder, instruction);
}
