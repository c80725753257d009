/* SPDX-License-Identifier: MIT */
#include "isa/native_assembler.h"

#include <stdlib.h>
#include <string.h>

operand at_register(ZydisRegister number)
{
    return (operand){.type = ZYDIS_OPERAND_TYPE_REGISTER, .reg.value = number};
}

operand at_zmm(uint32_t number)
{
    return at_register((ZydisRegister)(ZYDIS_REGISTER_ZMM0 + number));
}

operand at_ymm(uint32_t number)
{
    return at_register((ZydisRegister)(ZYDIS_REGISTER_YMM0 + number));
}

operand at_xmm(uint32_t number)
{
    return at_register((ZydisRegister)(ZYDIS_REGISTER_XMM0 + number));
}

operand at_mask(uint32_t number)
{
    return at_register((ZydisRegister)(ZYDIS_REGISTER_K0 + number));
}

operand at_memory(ZydisRegister base, int64_t displacement, uint32_t bytes)
{
    return (operand){.type = ZYDIS_OPERAND_TYPE_MEMORY,
                     .mem = {.base = base, .displacement = displacement, .size = (ZyanU16)bytes}};
}

operand at_indexed(ZydisRegister base, ZydisRegister index, uint32_t bytes, int64_t displacement)
{
    operand place = at_memory(base, displacement, bytes);
    place.mem.index = index;
    place.mem.scale = (ZyanU8)bytes;
    return place;
}

operand at_number(int64_t value)
{
    return (operand){.type = ZYDIS_OPERAND_TYPE_IMMEDIATE, .imm.s = value};
}

static bool make_room(struct assembler *to)
{
    if (to->failed || to->length + ZYDIS_MAX_INSTRUCTION_LENGTH <= to->capacity)
        return !to->failed;
    size_t capacity = to->capacity ? 2 * to->capacity : 4096;
    uint8_t *code = realloc(to->code, capacity);
    to->failed = !code;
    if (code) {
        to->code = code;
        to->capacity = capacity;
    }
    return code;
}

static void encode(struct assembler *to, const ZydisEncoderRequest *request)
{
    ZyanUSize length = ZYDIS_MAX_INSTRUCTION_LENGTH;
    if (!make_room(to))
        return;
    if (!ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(request, to->code + to->length, &length)))
        to->failed = true;
    else
        to->length += length;
}

void assemble(struct assembler *to, ZydisMnemonic mnemonic, uint32_t count, const operand *operands)
{
    ZydisEncoderRequest request = {
        .machine_mode = ZYDIS_MACHINE_MODE_LONG_64, .mnemonic = mnemonic, .operand_count = (ZyanU8)count};
    memcpy(request.operands, operands, count * sizeof *operands);
    encode(to, &request);
}

void assemble_two(struct assembler *to, ZydisMnemonic mnemonic, operand to_where, operand from)
{
    assemble(to, mnemonic, 3, (operand[]){to_where, at_mask(0), from});
}

void assemble_three(struct assembler *to, ZydisMnemonic mnemonic, operand to_where, operand a, operand b)
{
    assemble(to, mnemonic, 4, (operand[]){to_where, at_mask(0), a, b});
}

static void emit_jump(struct assembler *to, ZydisMnemonic mnemonic)
{
    ZydisEncoderRequest request = {.machine_mode = ZYDIS_MACHINE_MODE_LONG_64,
                                   .mnemonic = mnemonic,
                                   .branch_type = ZYDIS_BRANCH_TYPE_NEAR,
                                   .branch_width = ZYDIS_BRANCH_WIDTH_32,
                                   .operand_count = 1};
    request.operands[0] = at_number(0);
    encode(to, &request);
}

/* A jump ends with its distance. */
void assemble_lead(struct assembler *to, size_t jump, size_t place)
{
    int32_t distance = (int32_t)((int64_t)place - (int64_t)jump);
    if (!to->failed)
        memcpy(to->code + jump - sizeof distance, &distance, sizeof distance);
}

size_t assemble_jump(struct assembler *to, ZydisMnemonic mnemonic)
{
    emit_jump(to, mnemonic);
    return to->length;
}

void assemble_target(struct assembler *to, size_t jump)
{
    assemble_lead(to, jump, to->length);
}

void assemble_jump_back(struct assembler *to, ZydisMnemonic mnemonic, size_t place)
{
    emit_jump(to, mnemonic);
    assemble_lead(to, to->length, place);
}

void assemble_call(struct assembler *to, const void *function)
{
    ASSEMBLE(to, MOV, at_register(ZYDIS_REGISTER_RAX), at_number((int64_t)(uintptr_t)function));
    ASSEMBLE(to, CALL, at_register(ZYDIS_REGISTER_RAX));
}
