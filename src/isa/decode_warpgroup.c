/* SPDX-License-Identifier: MIT */
/*
 * wgmma: products of the four warps of a warpgroup.
 *
 * wgmma.mma_async is a meeting of the four warps, where the product is computed (isa/warpgroup.c), and an instruction of each warp that takes its tensor
 * pipeline. The scoreboard is told of tokens instead of the accumulators, so that products that add to the same accumulators follow each
 * other without a gap: the first token is of what is in no group, the next of all groups, the next of all but the last one, and so on.
 * A commit moves them on, a wait reads one of them. Before the first product behind a wgmma.fence the accumulators have to be there.
 */
#include "isa/decode.h"

#define SOURCES_OF_STEP (CORUN_MAX_SOURCES - 1u) /* and the guard */
#define ROW_BYTES 32u                            /* of A, and of a column of B */

static void emit_nothing(struct decoder *decoder)
{
    decode_emit(decoder, OPERATION_NOTHING)->merged = -1;
    decode_last(decoder)->merged = -1;
    decode_last(decoder)->unit = CORUN_UNIT_CONTROL;
}

/* Products that add to the same accumulators have waited for them once. */
static void await_results(struct decoder *decoder, const struct matrix_work *work, uint32_t count)
{
    if (decoder->awaited_result == work->d[0])
        return;
    decoder->awaited_result = work->d[0];
    for (uint32_t i = 0; i < count; i++) {
        if (i % SOURCES_OF_STEP == 0)
            emit_nothing(decoder);
        decode_reads(decode_last(decoder), work->d[i], false);
    }
}

static void emit_meeting(struct decoder *decoder, uint32_t target)
{
    struct operation *op = decode_emit(decoder, OPERATION_BARRIER);
    struct corun_instruction *machine = decode_last(decoder);
    op->variant = BARRIER_WARPGROUP;
    op->target = target;
    op->merged = machine->merged = -1;
    machine->unit = CORUN_UNIT_CONTROL;
    machine->flags = CORUN_BARRIER;
}

static void read_operands(struct decoder *decoder, const struct matrix_work *work, uint32_t count)
{
    struct corun_instruction *machine = decode_last(decoder);
    for (uint32_t i = 0; i < count; i++)
        decode_reads(machine, work->a[i], work->a_shared);
    decode_reads(machine, work->b[0], true);
    if (work->matrix.sparse && !(work->e & OPERAND_CONSTANT))
        decode_reads(machine, work->e, false);
    if (work->adds < decoder->kernel->predicate_slots)
        decode_reads(machine, decoder->kernel->register_slots + work->adds, false);
}

static void emit_product(struct decoder *decoder, const struct matrix_work *work)
{
    const struct ptx_matrix *matrix = &work->matrix;
    decode_emit(decoder, OPERATION_NOTHING);
    struct corun_instruction *machine = decode_last(decoder);
    machine->unit = CORUN_UNIT_TENSOR;
    machine->flags = CORUN_WARPGROUP;
    machine->operation = (uint8_t)decode_tensor_type((enum ptx_type)matrix->a);
    uint32_t once = matrix->sparse ? 2 : 1, of_b = ROW_BYTES * once;
    machine->multiply_adds = (uint16_t)((uint32_t)matrix->m * matrix->n * matrix->k / once / CORUN_WARP_LANES);
    /* each warp reads its rows of A, and all four read B together */
    machine->shared_bytes =
        (uint16_t)((work->a_shared ? matrix->m * ROW_BYTES : 0) + matrix->n * of_b / CORUN_WARPGROUP_WARPS);
    decode_writes(machine, decoder->group_slot, false);
}

static void decode_product(struct decoder *decoder)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    const struct ptx_operand *operands = instruction->operands;
    struct matrix_work work = {.saturates = instruction->satfinite,
                               .a_shared = operands[1].kind == PTX_OPERAND_REGISTER};
    (void)ptx_matrix_find(instruction, &work.matrix); /* the front end has seen that there is one */
    if (work.matrix.sparse) {
        work.e = decode_source(decoder, &operands[3], 32);
        work.selector = (uint8_t)operands[4].bits;
    }
    const struct ptx_operand *adds = &operands[work.matrix.sparse ? 5 : 3], *signs = adds + 1;
    work.adds = decode_predicate_source(decoder, adds);
    work.adds_negated = adds->negated && adds->kind == PTX_OPERAND_REGISTER;
    uint32_t constants = ptx_matrix_constants(&work.matrix, !work.a_shared);
    if (constants) {
        work.a_negated = (int64_t)signs[0].bits < 0;
        work.b_negated = (int64_t)signs[1].bits < 0;
        work.a_columns = constants == 4 && signs[2].bits;
        work.b_rows = constants > 2 && signs[constants - 1].bits;
    }
    uint32_t results = decode_fragment(decoder, &operands[0], work.d, MATRIX_RESULTS);
    uint32_t count = decode_fragment(decoder, &operands[1], work.a, MATRIX_REGISTERS);
    decode_fragment(decoder, &operands[2], work.b, MATRIX_REGISTERS);
    await_results(decoder, &work, results);
    emit_meeting(decoder, decode_keep_matrix(decoder, &work));
    read_operands(decoder, &work, count);
    emit_product(decoder, &work);
}

static uint32_t token(const struct decoder *decoder, uint32_t index)
{
    return decoder->group_slot + index;
}

bool decode_multiplies_in_groups(const struct decoder *decoder)
{
    for (uint32_t i = 0; i < decoder->functions.count; i++) {
        const struct ptx_function *function = decoder->functions.data[i].ptx;
        for (uint32_t k = 0; k < function->instruction_count; k++)
            if (ptx_is_warpgroup_product(function->instructions[k].opcode))
                return true;
    }
    return false;
}

bool decode_warpgroup(struct decoder *decoder)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    bool groups = decoder->group_slot < decoder->kernel->register_slots;
    switch (instruction->opcode) {
    case PTX_OP_WGMMA_MMA_ASYNC_SYNC:
    case PTX_OP_WGMMA_MMA_ASYNC_SP_SYNC:
        decode_product(decoder);
        return true;
    case PTX_OP_WGMMA_FENCE_SYNC:
        decoder->awaited_result = UINT32_MAX;
        emit_nothing(decoder);
        break;
    case PTX_OP_WGMMA_COMMIT_GROUP_SYNC:
        emit_nothing(decoder);
        decode_last(decoder)->flags = CORUN_COMMIT;
        for (uint32_t i = 0; groups && i < GROUP_TOKENS; i++)
            decode_writes(decode_last(decoder), token(decoder, i), false);
        break;
    case PTX_OP_WGMMA_WAIT_GROUP_SYNC: {
        uint64_t left = instruction->operands[0].bits;
        emit_nothing(decoder);
        if (groups)
            decode_reads(decode_last(decoder),
                         token(decoder, left < GROUP_TOKENS - 1 ? 1 + (uint32_t)left : GROUP_TOKENS - 1), false);
        break;
    }
    default:
        return false;
    }
    decoder->code.data[decoder->code.count - 1].merged = decode_last(decoder)->merged = 0;
    return true;
}
