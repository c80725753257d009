/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous copies (cp.async) and barriers in memory (mbarrier). Those in bulk: decode_bulk.c.
 *
 * A copy is a load and a store to shared memory. Both act at once, which the PTX memory model allows: nobody may look at the
 * data before he has waited. The scoreboard is told of a token instead of the data: so the store waits for nothing, further copies
 * follow, and it is the operation that waits for copies that stands until their loads have come.
 */
#include "isa/atomics.h"
#include "isa/decode.h"
#include "isa/lanes.h"

#include <assert.h>

static struct operation *emit_lanes(struct decoder *decoder, enum ptx_opcode opcode, enum ptx_type type,
                                    enum ptx_type second, uint16_t destination, uint16_t a, uint16_t b)
{
    struct ptx_instruction instruction = {.opcode = (uint16_t)opcode,
                                          .type_count = second ? 2 : 1,
                                          .types = {(uint8_t)type, (uint8_t)second},
                                          .guard = PTX_NONE,
                                          .carry_flag = PTX_NONE};
    struct operation *op = decode_emit(decoder, OPERATION_LANES);
    op->destination = destination;
    op->source[0] = a;
    op->source[1] = b;
    if (!lanes_select(&instruction, op))
        decode_error(decoder, CORUN_UNSUPPORTED, "not supported: operands of these types");
    bool wide = ptx_types[second ? second : type].bits == 64;
    decode_reads(decode_last(decoder), a, wide);
    if (!second && b != a)
        decode_reads(decode_last(decoder), b, wide);
    decode_writes(decode_last(decoder), destination, ptx_types[type].bits == 64);
    return op;
}

/* p = a <comparison> b */
static void emit_comparison(struct decoder *decoder, enum ptx_suffix comparison, enum ptx_type type, uint16_t p,
                            uint16_t a, uint16_t b)
{
    struct ptx_instruction instruction = {
        .opcode = PTX_OP_SETP, .type_count = 1, .types = {(uint8_t)type}, .guard = PTX_NONE, .carry_flag = PTX_NONE};
    instruction.comparison = (uint8_t)comparison;
    struct operation *op = decode_emit(decoder, OPERATION_LANES);
    op->source[0] = a;
    op->source[1] = b;
    op->predicate_out[0] = p;
    if (!lanes_select(&instruction, op))
        decode_error(decoder, CORUN_UNSUPPORTED, "not supported: a comparison of this type");
    bool wide = ptx_types[type].bits == 64;
    decode_reads(decode_last(decoder), a, wide);
    decode_reads(decode_last(decoder), b, wide);
    decode_writes(decode_last(decoder), decoder->kernel->register_slots + p, false);
}

/* Copies */

static uint32_t token_slot(const struct decoder *decoder, uint32_t token)
{
    return decoder->scratch_slot + SCRATCH_SLOTS + token;
}

static void emit_nothing(struct decoder *decoder)
{
    decode_emit(decoder, OPERATION_NOTHING);
    decode_last(decoder)->unit = CORUN_UNIT_CONTROL;
}

/* The last operation waits for a token, or if it waits for as much as one can, another one behind it. */
static void wait_for(struct decoder *decoder, uint32_t slot)
{
    if (decode_last(decoder)->source_count == CORUN_MAX_SOURCES)
        emit_nothing(decoder);
    decode_reads(decode_last(decoder), slot, false);
}

/* Waits for the copies of groups before `group`. */
static void emit_wait(struct decoder *decoder, uint32_t group)
{
    emit_nothing(decoder);
    for (uint32_t i = 0; i < COPY_TOKENS && i < decoder->copies; i++)
        if (decoder->group_of_token[i] < group)
            wait_for(decoder, token_slot(decoder, i));
}

static void take_token(struct decoder *decoder)
{
    uint32_t token = decoder->copies++ % COPY_TOKENS;
    decoder->group_of_token[token] = decoder->copy_groups;
    decode_writes(decode_last(decoder), token_slot(decoder, token), false);
}

static struct operation *emit_copy_load(struct decoder *decoder, const struct decoded_place *from, const uint16_t *data,
                                        uint32_t words)
{
    assert(words >= 1 && words <= 4);
    struct operation *op = decode_emit_access(decoder, OPERATION_LOAD, from);
    op->width_bytes = 4;
    op->vector = (uint8_t)words;
    op->destination = data[0];
    for (uint32_t i = 1; i < words; i++)
        op->extra[i - 1] = data[i];
    struct corun_instruction *machine = decode_last(decoder);
    decode_registers(decoder);
    machine->unit = CORUN_UNIT_MEMORY;
    machine->space = CORUN_SPACE_GLOBAL;
    machine->access_bytes = (uint8_t)(4 * words);
    machine->flags = CORUN_LOAD;
    if (decoder->instruction->opcode == PTX_OP_CP_ASYNC_CG)
        machine->flags |= CORUN_BYPASS_L1;
    return op;
}

/* The last operation is for all lanes, also for those that the guard of the instruction holds back. */
static void free_of_guard(struct decoder *decoder)
{
    if (decoder->code.count)
        decoder->code.data[decoder->code.count - 1].guard = NO_PREDICATE;
}

/* limit = predicate ? a : b, for all lanes */
static uint16_t emit_choice(struct decoder *decoder, uint16_t predicate, bool negated, uint16_t limit, uint16_t a,
                            uint16_t b)
{
    struct operation *op = emit_lanes(decoder, PTX_OP_SELP, PTX_TYPE_B32, PTX_TYPE_NONE, limit, a, b);
    op->predicate_in = predicate;
    op->predicate_in_negated = negated;
    free_of_guard(decoder);
    decode_reads(decode_last(decoder), decoder->kernel->register_slots + predicate, false);
    return limit;
}

static bool is_predicate(const struct decoder *decoder, const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_REGISTER &&
           decoder->function->ptx->registers[operand->index].type == PTX_TYPE_PRED;
}

/*
 * How many bytes a lane reads. The last operand is a number, or a predicate that says that there are none. There are none either where the guard
 * holds the lane back.
 */
static uint16_t emit_limit(struct decoder *decoder, const struct ptx_operand *last, uint64_t bytes)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    uint16_t zero = decode_constant(decoder, 0, false, NULL), limit;
    bool chosen = is_predicate(decoder, last), guarded = instruction->guard != PTX_NONE;
    uint16_t scratch = chosen || guarded ? decode_temporary(decoder) : 0;
    if (chosen)
        limit = emit_choice(decoder, decode_predicate(decoder, last->index), last->negated, scratch, zero,
                            decode_constant(decoder, bytes, false, NULL));
    else
        limit = decode_source(decoder, last, 32);
    if (guarded)
        limit = emit_choice(decoder, decode_predicate(decoder, instruction->guard), instruction->guard_negated, scratch,
                            limit, zero);
    return limit;
}

/* Only the first `limit` bytes are read: word by word, by the lanes that have some of it. */
static void emit_partial_load(struct decoder *decoder, struct decoded_place from, const uint16_t *data, uint32_t words,
                              uint16_t limit)
{
    uint16_t inside = decode_temporary_predicate(decoder), bits = decode_temporary(decoder);
    uint16_t zero = decode_constant(decoder, 0, false, NULL), three = decode_constant(decoder, 3, false, NULL);
    for (uint32_t i = 0; i < words; i++, from.offset += 4) {
        uint16_t before = decode_constant(decoder, 4 * i, false, NULL);
        emit_lanes(decoder, PTX_OP_AND, PTX_TYPE_B32, PTX_TYPE_NONE, data[i], zero, zero);
        /* Lanes that the guard holds back keep a predicate from before: so all of them compute it. */
        emit_comparison(decoder, PTX_COMPARISON_GT, PTX_TYPE_U32, inside, limit, before);
        free_of_guard(decoder);
        struct operation *op = emit_copy_load(decoder, &from, &data[i], 1);
        op->guard = inside;
        op->guard_negated = 0;
        decode_reads(decode_last(decoder), decoder->kernel->register_slots + inside, false);
        take_token(decoder);
        emit_lanes(decoder, PTX_OP_SUB, PTX_TYPE_U32, PTX_TYPE_NONE, bits, limit, before);
        emit_lanes(decoder, PTX_OP_SHL, PTX_TYPE_B32, PTX_TYPE_NONE, bits, bits, three);
        emit_lanes(decoder, PTX_OP_BMSK, PTX_TYPE_B32, PTX_TYPE_NONE, bits, zero, bits);
        emit_lanes(decoder, PTX_OP_AND, PTX_TYPE_B32, PTX_TYPE_NONE, data[i], data[i], bits);
    }
}

static void emit_copy(struct decoder *decoder)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    const struct ptx_operand *operands = instruction->operands;
    uint32_t words = (uint32_t)operands[2].bits / 4;
    bool partial = instruction->operand_count > 3 &&
                   !(operands[3].kind == PTX_OPERAND_INTEGER && operands[3].bits >= operands[2].bits);
    assert(words >= 1 && words <= 4); /* the front end has refused others */
    struct decoded_place to = decode_place(decoder, &operands[0], PTX_SPACE_SHARED);
    struct decoded_place from = decode_place(decoder, &operands[1], PTX_SPACE_GLOBAL);
    uint16_t low = decode_temporary(decoder), high = decode_temporary(decoder);
    uint16_t data[4] = {low, (uint16_t)(low + 1), high, (uint16_t)(high + 1)};
    if (partial) {
        emit_partial_load(decoder, from, data, words, emit_limit(decoder, &operands[3], operands[2].bits));
    } else {
        emit_copy_load(decoder, &from, data, words);
        take_token(decoder);
    }
    struct operation *op = decode_emit_access(decoder, OPERATION_STORE, &to);
    op->width_bytes = 4;
    op->vector = (uint8_t)words;
    op->source[1] = data[0];
    for (uint32_t i = 1; i < words; i++)
        op->extra[i - 1] = data[i];
    struct corun_instruction *machine = decode_last(decoder);
    decode_registers(decoder);
    machine->unit = CORUN_UNIT_MEMORY;
    machine->space = CORUN_SPACE_SHARED;
    machine->access_bytes = (uint8_t)(4 * words);
    machine->flags = CORUN_STORE;
}

/*
 * Groups are counted in the order of the text. In a loop this waits for the group of the round before at the latest where the next one takes its
 * tokens.
 */
static void decode_copy_async(struct decoder *decoder)
{
    uint32_t groups = decoder->copy_groups;
    switch (decoder->instruction->opcode) {
    case PTX_OP_CP_ASYNC_COMMIT_GROUP:
        decoder->copy_groups++;
        emit_nothing(decoder);
        break;
    case PTX_OP_CP_ASYNC_WAIT_GROUP: {
        uint64_t under_way = decoder->instruction->operands[0].bits;
        emit_wait(decoder, under_way < groups ? groups - (uint32_t)under_way : 0);
        break;
    }
    case PTX_OP_CP_ASYNC_WAIT_ALL:
        emit_wait(decoder, groups + 1);
        break;
    default:
        emit_copy(decoder);
    }
}

/* Barriers in memory */

/* A count in 64 bits. */
static uint16_t wide_count(struct decoder *decoder, const struct ptx_operand *operand)
{
    if (operand->kind == PTX_OPERAND_INTEGER)
        return decode_constant(decoder, (uint32_t)operand->bits, true, NULL);
    uint16_t count = decode_source(decoder, operand, 32), wide = decode_temporary(decoder);
    emit_lanes(decoder, PTX_OP_CVT, PTX_TYPE_U64, PTX_TYPE_U32, wide, count, 0);
    return wide;
}

static void emit_change(struct decoder *decoder, enum atomic_operation change, const struct ptx_operand *destination,
                        const struct ptx_operand *address, uint16_t count)
{
    struct decoded_place place = decode_place(decoder, address, decoder->instruction->space);
    struct operation *op = decode_emit_access(decoder, OPERATION_ATOMIC, &place);
    op->width_bytes = 8;
    bool result =
        destination && destination->kind == PTX_OPERAND_REGISTER && !decode_is_dead(decoder, destination->index);
    op->destination = result ? decode_slot(decoder, destination->index) : OPERAND_DISCARD;
    op->source[1] = count;
    op->extra[0] = (uint16_t)change;
    op->extra[1] = PTX_TYPE_U64;
    op->extend = EXTEND_WIDE;
    struct corun_instruction *machine = decode_last(decoder);
    decode_registers(decoder);
    decode_reads(machine, count, true);
    machine->unit = CORUN_UNIT_MEMORY;
    machine->space = op->space;
    machine->access_bytes = 8;
    machine->flags = (uint16_t)(CORUN_ATOMIC | (result ? 0 : CORUN_REDUCTION));
}

/* The phase that a state or a parity names is complete when the barrier has another one. */
static void emit_test(struct decoder *decoder, bool parity)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    const struct ptx_operand *operands = instruction->operands;
    struct decoded_place place = decode_place(decoder, &operands[1], instruction->space);
    uint16_t now = decode_temporary(decoder), then;
    if (parity) {
        then = decode_temporary(decoder);
        uint16_t narrow = decode_source(decoder, &operands[2], 32);
        emit_lanes(decoder, PTX_OP_CVT, PTX_TYPE_U64, PTX_TYPE_U32, then, narrow, 0);
        emit_lanes(decoder, PTX_OP_SHL, PTX_TYPE_B64, PTX_TYPE_NONE, then, then,
                   decode_constant(decoder, 63, false, NULL));
    } else {
        then = decode_source(decoder, &operands[2], 64);
    }
    struct operation *op = decode_emit_access(decoder, OPERATION_LOAD, &place);
    op->destination = now;
    op->extend = EXTEND_WIDE;
    op->variant |= MEMORY_STRONG;
    struct corun_instruction *machine = decode_last(decoder);
    decode_registers(decoder);
    decode_writes(machine, now, true);
    machine->unit = CORUN_UNIT_MEMORY;
    machine->space = op->space;
    machine->access_bytes = 8;
    machine->flags = CORUN_LOAD;
    emit_lanes(decoder, PTX_OP_XOR, PTX_TYPE_B64, PTX_TYPE_NONE, now, now, then);
    uint16_t p = operands[0].kind == PTX_OPERAND_REGISTER ? decode_predicate(decoder, operands[0].index)
                                                          : decode_temporary_predicate(decoder);
    emit_comparison(decoder, PTX_COMPARISON_LT, PTX_TYPE_S64, p, now, decode_constant(decoder, 0, true, NULL));
}

static void emit_pending_count(struct decoder *decoder)
{
    const struct ptx_operand *operands = decoder->instruction->operands;
    uint16_t state = decode_source(decoder, &operands[1], 64), low = decode_temporary(decoder);
    emit_lanes(decoder, PTX_OP_CVT, PTX_TYPE_U32, PTX_TYPE_U64, low, state, 0);
    uint16_t mask = decode_constant(decoder, (UINT32_C(1) << BARRIER_COUNT_BITS) - 1, false, NULL);
    uint16_t destination =
        operands[0].kind == PTX_OPERAND_REGISTER ? decode_slot(decoder, operands[0].index) : decode_temporary(decoder);
    emit_lanes(decoder, PTX_OP_AND, PTX_TYPE_B32, PTX_TYPE_NONE, destination, low, mask);
}

static void decode_memory_barrier(struct decoder *decoder)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    const struct ptx_operand *operands = instruction->operands;
    uint16_t one = decode_constant(decoder, 1, true, NULL);
    switch (instruction->opcode) {
    case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE: /* one arrival more is expected, and comes: nothing changes but that it waits */
        emit_wait(decoder, decoder->copy_groups + 1);
        break;
    case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE_NOINC:
        emit_wait(decoder, decoder->copy_groups + 1);
        emit_change(decoder, ATOMIC_BARRIER_ARRIVE, NULL, &operands[0], one);
        break;
    case PTX_OP_MBARRIER_INIT:
        emit_change(decoder, ATOMIC_BARRIER_INIT, NULL, &operands[0], wide_count(decoder, &operands[1]));
        break;
    case PTX_OP_MBARRIER_INVAL:
        emit_change(decoder, ATOMIC_BARRIER_INIT, NULL, &operands[0], decode_constant(decoder, 0, true, NULL));
        break;
    case PTX_OP_MBARRIER_ARRIVE:
    case PTX_OP_MBARRIER_ARRIVE_DROP:
        emit_change(
            decoder, instruction->opcode == PTX_OP_MBARRIER_ARRIVE ? ATOMIC_BARRIER_ARRIVE : ATOMIC_BARRIER_DROP,
            &operands[0], &operands[1], instruction->operand_count > 2 ? wide_count(decoder, &operands[2]) : one);
        break;
    case PTX_OP_MBARRIER_ARRIVE_EXPECT_TX:
        emit_change(decoder, ATOMIC_BARRIER_ARRIVE_EXPECT, &operands[0], &operands[1],
                    wide_count(decoder, &operands[2]));
        break;
    case PTX_OP_MBARRIER_ARRIVE_DROP_EXPECT_TX:
        emit_change(decoder, ATOMIC_BARRIER_DROP_EXPECT, &operands[0], &operands[1], wide_count(decoder, &operands[2]));
        break;
    case PTX_OP_MBARRIER_EXPECT_TX:
        emit_change(decoder, ATOMIC_BARRIER_EXPECT, NULL, &operands[0], wide_count(decoder, &operands[1]));
        break;
    case PTX_OP_MBARRIER_COMPLETE_TX:
        emit_change(decoder, ATOMIC_BARRIER_COMPLETE, NULL, &operands[0], wide_count(decoder, &operands[1]));
        break;
    case PTX_OP_MBARRIER_PENDING_COUNT:
        emit_pending_count(decoder);
        break;
    default:
        emit_test(decoder, instruction->opcode == PTX_OP_MBARRIER_TEST_WAIT_PARITY ||
                               instruction->opcode == PTX_OP_MBARRIER_TRY_WAIT_PARITY);
    }
}

/* A store or a reduction, then the barrier is told of its bytes. */
static void decode_told(struct decoder *decoder)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    const struct ptx_operand *value = &instruction->operands[1];
    uint32_t elements = value->kind == PTX_OPERAND_VECTOR ? value->element_count : 1;
    decode_access(decoder);
    emit_change(decoder, ATOMIC_BARRIER_COMPLETE, NULL, &instruction->operands[2],
                decode_constant(decoder, elements * ptx_types[instruction->types[0]].bits / 8, true, NULL));
}

bool decode_async(struct decoder *decoder)
{
    switch (decoder->instruction->opcode) {
    case PTX_OP_ST_ASYNC:
    case PTX_OP_RED_ASYNC:
        decode_told(decoder);
        return true;
    case PTX_OP_CP_ASYNC_CA:
    case PTX_OP_CP_ASYNC_CG:
    case PTX_OP_CP_ASYNC_COMMIT_GROUP:
    case PTX_OP_CP_ASYNC_WAIT_GROUP:
    case PTX_OP_CP_ASYNC_WAIT_ALL:
        decode_copy_async(decoder);
        return true;
    case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
    case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE_NOINC:
    case PTX_OP_MBARRIER_INIT:
    case PTX_OP_MBARRIER_INVAL:
    case PTX_OP_MBARRIER_ARRIVE:
    case PTX_OP_MBARRIER_ARRIVE_EXPECT_TX:
    case PTX_OP_MBARRIER_ARRIVE_DROP:
    case PTX_OP_MBARRIER_ARRIVE_DROP_EXPECT_TX:
    case PTX_OP_MBARRIER_EXPECT_TX:
    case PTX_OP_MBARRIER_COMPLETE_TX:
    case PTX_OP_MBARRIER_TEST_WAIT:
    case PTX_OP_MBARRIER_TEST_WAIT_PARITY:
    case PTX_OP_MBARRIER_TRY_WAIT:
    case PTX_OP_MBARRIER_TRY_WAIT_PARITY:
    case PTX_OP_MBARRIER_PENDING_COUNT:
        decode_memory_barrier(decoder);
        return true;
    default:
        return false;
    }
}
