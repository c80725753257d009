/* SPDX-License-Identifier: MIT */
/* What a kernel asks about its cluster of thread blocks, and the barrier of the cluster. */
#include "isa/cluster.h"
#include "isa/decode.h"

static struct operation *emit_question(struct decoder *decoder, enum cluster_question question, const uint16_t *sources,
                                       uint32_t count)
{
    struct operation *op = decode_emit(decoder, OPERATION_CLUSTER);
    op->variant = (uint8_t)question;
    for (uint32_t i = 0; i < count; i++)
        op->source[i] = sources[i];
    decode_registers(decoder);
    decode_last(decoder)->unit = CORUN_UNIT_INT;
    return op;
}

/* mapa and getctarank: addresses of 32 bits are in .shared::cluster, others are generic or hold such an address. */
static void decode_address(struct decoder *decoder, enum cluster_question question)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    const struct ptx_operand *operands = instruction->operands;
    bool wide = ptx_types[instruction->types[0]].bits == 64;
    if (operands[0].kind != PTX_OPERAND_REGISTER)
        return;
    if (!wide && !instruction->space) {
        decode_error(decoder, CORUN_UNSUPPORTED, "not supported: generic addresses of 32 bits");
        return;
    }
    uint16_t sources[2] = {decode_source(decoder, &operands[1], wide ? 64 : 32)};
    if (question == CLUSTER_MAP)
        sources[1] = decode_source(decoder, &operands[2], 32);
    struct operation *op = emit_question(decoder, question, sources, question == CLUSTER_MAP ? 2 : 1);
    op->destination = decode_slot(decoder, operands[0].index);
    op->extend = wide ? EXTEND_WIDE : 0;
}

static void decode_truth(struct decoder *decoder, enum cluster_question question)
{
    const struct ptx_operand *operands = decoder->instruction->operands;
    uint16_t source = 0;
    if (operands[0].kind != PTX_OPERAND_REGISTER)
        return;
    if (question != CLUSTER_IS_EXPLICIT)
        source = decode_source(decoder, &operands[1], 64);
    struct operation *op = emit_question(decoder, question, &source, question != CLUSTER_IS_EXPLICIT);
    op->predicate_out[0] = decode_predicate(decoder, operands[0].index);
}

static void decode_cluster_barrier(struct decoder *decoder, bool waits)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    if (!waits && instruction->semantics != PTX_SEMANTICS_RELAXED)
        decode_emit_fence(decoder);
    struct operation *op = decode_emit(decoder, waits ? OPERATION_CLUSTER_WAIT : OPERATION_CLUSTER_ARRIVE);
    op->extra[0] = instruction->aligned ? BARRIER_ALIGNED : BARRIER_ANY;
    decode_last(decoder)->unit = CORUN_UNIT_CONTROL;
    decode_last(decoder)->flags = CORUN_BARRIER;
}

bool decode_cluster(struct decoder *decoder)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    switch (instruction->opcode) {
    case PTX_OP_MAPA:
        decoder->kernel->maps = true;
        decode_address(decoder, CLUSTER_MAP);
        return true;
    case PTX_OP_GETCTARANK:
        decode_address(decoder, CLUSTER_RANK);
        return true;
    case PTX_OP_ISSPACEP_SHARED_CLUSTER:
        decode_truth(decoder, CLUSTER_IS_THERE);
        return true;
    case PTX_OP_ISSPACEP:
        if (instruction->space != PTX_SPACE_SHARED || decoder->ptx->address_bits != 64)
            return false;
        decode_truth(decoder, CLUSTER_IS_OWN);
        return true;
    case PTX_OP_MOV:
        if (instruction->operands[1].kind != PTX_OPERAND_SPECIAL ||
            instruction->operands[1].index != PTX_SPECIAL_IS_EXPLICIT_CLUSTER)
            return false;
        decode_truth(decoder, CLUSTER_IS_EXPLICIT);
        return true;
    case PTX_OP_BARRIER_CLUSTER_ARRIVE:
    case PTX_OP_BARRIER_CLUSTER_WAIT:
        decode_cluster_barrier(decoder, instruction->opcode == PTX_OP_BARRIER_CLUSTER_WAIT);
        return true;
    default:
        return false;
    }
}
