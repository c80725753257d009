/* SPDX-License-Identifier: MIT */
/* alloca, stacksave and stackrestore into operations; functions that allocate give back what they took (isa/stack.h). */
#include "isa/decode.h"
#include "isa/stack.h"

#define DEFAULT_ALIGN 8u

bool decode_allocates(const struct ptx_function *function)
{
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        uint16_t opcode = function->instructions[i].opcode;
        if (opcode == PTX_OP_ALLOCA || opcode == PTX_OP_STACKSAVE || opcode == PTX_OP_STACKRESTORE)
            return true;
    }
    return false;
}

static struct operation *emit_stack(struct decoder *decoder, enum stack_action action)
{
    struct operation *op = decode_emit(decoder, OPERATION_STACK);
    op->variant = (uint8_t)action;
    op->extra[0] = (uint16_t)decoder->kernel->stack_slot;
    return op;
}

/* The function's own slot, which calls of itself keep for it. */
static uint16_t slot_of_function(const struct decoder *decoder)
{
    return (uint16_t)(decoder->function->first_slot + decoder->function->slot_count - 2);
}

void decode_stack_enter(struct decoder *decoder)
{
    if (!decoder->function->allocates || decoder->function->ptx->is_entry)
        return;
    emit_stack(decoder, STACK_ENTER)->destination = slot_of_function(decoder);
    decode_writes(decode_last(decoder), slot_of_function(decoder), false);
}

void decode_stack_leave(struct decoder *decoder)
{
    if (!decoder->function->allocates || decoder->function->ptx->is_entry)
        return;
    emit_stack(decoder, STACK_LEAVE)->source[0] = slot_of_function(decoder);
    decode_reads(decode_last(decoder), slot_of_function(decoder), false);
}

bool decode_stack(struct decoder *decoder)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    const struct ptx_operand *operands = instruction->operands;
    bool saves = instruction->opcode == PTX_OP_STACKSAVE, restores = instruction->opcode == PTX_OP_STACKRESTORE;
    if (instruction->opcode != PTX_OP_ALLOCA && !saves && !restores)
        return false;
    bool wide = instruction->types[0] == PTX_TYPE_U64;
    uint16_t source = saves ? 0 : decode_source(decoder, &operands[restores ? 0 : 1], wide ? 64 : 32);
    uint64_t align = instruction->operand_count > 2 ? operands[2].bits : DEFAULT_ALIGN;
    if (!align || align & (align - 1) || align > STACK_ALIGN)
        decode_error(decoder, CORUN_UNSUPPORTED, "not supported: alloca with an alignment of %llu bytes",
                     (unsigned long long)align);
    if (!restores && decode_is_wide(decoder, operands[0].index) != wide)
        decode_error(decoder, CORUN_UNSUPPORTED, "not supported: a register of another width here");
    struct operation *op = emit_stack(decoder, saves ? STACK_SAVE : restores ? STACK_RESTORE : STACK_ALLOCATE);
    op->source[0] = source;
    op->offset = (int64_t)align;
    op->extend = wide ? EXTEND_WIDE : 0;
    if (!restores)
        op->destination = decode_slot(decoder, operands[0].index);
    decode_registers(decoder);
    return true;
}
