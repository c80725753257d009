/* SPDX-License-Identifier: MIT */
/*
 * mma, wmma, ldmatrix and their like.
 *
 * A product is one operation, behind others that wait for the registers that it reads where those are more than one instruction of the machine
 * can name: as an assembler makes several instructions of a large one. wmma.load and wmma.store are ordinary accesses to addresses
 * that an operation computes from rows and columns. ldmatrix and stmatrix are accesses of 16 bytes by the lanes that name rows.
 */
#include "isa/decode.h"
#include "isa/lanes.h"

#include <assert.h>

#define MOST_ADDRESSES 10u
#define SOURCES_OF_STEP (CORUN_MAX_SOURCES - 1u) /* and the guard */

uint32_t decode_keep_matrix(struct decoder *decoder, const struct matrix_work *work)
{
    if (!vector_push(&decoder->matrices, *work))
        decode_no_memory(decoder);
    return (uint32_t)decoder->matrices.count - 1;
}

/* Slots of the registers of a fragment. */
uint32_t decode_fragment(const struct decoder *decoder, const struct ptx_operand *operand, uint16_t *slots,
                         uint32_t most)
{
    bool vector = operand->kind == PTX_OPERAND_VECTOR;
    uint32_t count = vector ? operand->element_count : 1u;
    for (uint32_t i = 0; i < count && i < most; i++)
        slots[i] = decode_slot(decoder, vector ? operand->elements[i].index : operand->index);
    return count;
}

/* Products */

enum corun_tensor_type decode_tensor_type(enum ptx_type type)
{
    switch (type) {
    case PTX_TYPE_TF32:
        return CORUN_TENSOR_TF32;
    case PTX_TYPE_F64:
        return CORUN_TENSOR_F64;
    case PTX_TYPE_E4M3:
    case PTX_TYPE_E5M2:
        return CORUN_TENSOR_F8;
    case PTX_TYPE_S8:
    case PTX_TYPE_U8:
        return CORUN_TENSOR_S8;
    case PTX_TYPE_S4:
    case PTX_TYPE_U4:
        return CORUN_TENSOR_S4;
    case PTX_TYPE_B1:
        return CORUN_TENSOR_B1;
    default:
        return CORUN_TENSOR_F16;
    }
}

/* Multiply-adds of all products of the instruction; the half of A that is not there is not multiplied. */
static uint32_t multiply_adds(const struct ptx_matrix *matrix)
{
    uint32_t products = matrix->form == PTX_MATRIX_MMA && matrix->m == 8 && matrix->a == PTX_TYPE_F16 ? 4 : 1;
    return products * matrix->m * matrix->n * matrix->k / (matrix->sparse ? 2u : 1u);
}

struct read {
    uint16_t slots[64];
    uint32_t count;
};

static void add_reads(struct read *read, const uint16_t *slots, uint32_t count, bool wide)
{
    for (uint32_t i = 0; i < count; i++) {
        read->slots[read->count++] = slots[i];
        if (wide)
            read->slots[read->count++] = (uint16_t)(slots[i] + 1);
    }
}

static void describe_step(struct decoder *decoder, const struct matrix_work *work, const struct read *read,
                          uint32_t step, uint32_t steps)
{
    struct corun_instruction *machine = decode_last(decoder);
    machine->unit = CORUN_UNIT_TENSOR;
    machine->operation = (uint8_t)decode_tensor_type((enum ptx_type)work->matrix.a);
    machine->multiply_adds = (uint16_t)(multiply_adds(&work->matrix) / 32 / steps);
    uint32_t first = read->count * step / steps, end = read->count * (step + 1) / steps;
    for (uint32_t i = first; i < end; i++)
        decode_reads(machine, read->slots[i], false);
}

static void decode_product(struct decoder *decoder)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    const struct ptx_operand *operands = instruction->operands;
    struct matrix_work work = {
        .saturates = instruction->satfinite,
        .exclusive = instruction->atomic == PTX_ATOMIC_XOR || instruction->opcode == PTX_OP_WMMA_MMA_XOR_POPC_SYNC,
        .a_columns = instruction->layout == PTX_LAYOUT_COL,
        .b_rows = instruction->second_layout == PTX_SECOND_LAYOUT_ROW,
    };
    (void)ptx_matrix_find(instruction, &work.matrix); /* the front end has seen that there is one */
    const struct ptx_matrix *matrix = &work.matrix;
    struct read read = {.count = 0};
    uint32_t results = decode_fragment(decoder, &operands[0], work.d, MATRIX_REGISTERS);
    decode_fragment(decoder, &operands[1], work.a, MATRIX_REGISTERS);
    decode_fragment(decoder, &operands[2], work.b, MATRIX_REGISTERS);
    decode_fragment(decoder, &operands[3], work.c, MATRIX_REGISTERS);
    bool wide = matrix->a == PTX_TYPE_F64;
    add_reads(&read, work.a, ptx_matrix_distinct(matrix, PTX_MATRIX_A), wide);
    add_reads(&read, work.b, ptx_matrix_distinct(matrix, PTX_MATRIX_B), wide);
    add_reads(&read, work.c, ptx_matrix_distinct(matrix, PTX_MATRIX_C), wide);
    if (matrix->sparse) {
        work.e = decode_source(decoder, &operands[4], 32);
        work.selector = (uint8_t)operands[5].bits;
        if (!(work.e & OPERAND_CONSTANT))
            add_reads(&read, &work.e, 1, false);
    }
    uint32_t target = decode_keep_matrix(decoder, &work), steps = (read.count + SOURCES_OF_STEP - 1) / SOURCES_OF_STEP;
    for (uint32_t step = 0; step < steps; step++) {
        bool last = step + 1 == steps;
        struct operation *op = decode_emit(decoder, last ? OPERATION_MATRIX : OPERATION_NOTHING);
        op->target = target;
        op->merged = decode_last(decoder)->merged = last ? 0 : -1; /* one instruction of PTX in all */
        describe_step(decoder, &work, &read, step, steps);
        for (uint32_t i = 0; last && i < results; i++)
            decode_writes(decode_last(decoder), work.d[i], wide);
    }
}

/* Moves between registers and packs of them */

static void emit_move(struct decoder *decoder, const struct ptx_operand *to, const struct ptx_operand *from,
                      const uint16_t *to_slots, const uint16_t *from_slots)
{
    struct ptx_instruction move = {.opcode = PTX_OP_MOV, .type_count = 1, .guard = PTX_NONE, .carry_flag = PTX_NONE};
    const struct ptx_operand operands[2] = {*to, *from};
    uint32_t to_count = to->kind == PTX_OPERAND_VECTOR ? to->element_count : 1u;
    uint32_t from_count = from->kind == PTX_OPERAND_VECTOR ? from->element_count : 1u;
    move.types[0] = PTX_TYPE_B32;
    move.operands = operands;
    move.operand_count = 2;
    struct operation *op = decode_emit(decoder, OPERATION_LANES);
    op->merged = decode_last(decoder)->merged = -1;
    op->destination = to_slots[0];
    for (uint32_t i = 1; i < to_count; i++)
        op->extra[i - 1] = to_slots[i];
    for (uint32_t i = 0; i < from_count && i < 4; i++)
        op->source[i] = from_slots[i];
    if (!lanes_select(&move, op))
        decode_error(decoder, CORUN_UNSUPPORTED, "not supported: a fragment of such elements");
    for (uint32_t i = 0; i < from_count; i++)
        decode_reads(decode_last(decoder), from_slots[i], false);
    for (uint32_t i = 0; i < to_count; i++)
        decode_writes(decode_last(decoder), to_slots[i], false);
}

static const struct ptx_operand one_register = {.kind = PTX_OPERAND_REGISTER};

static struct ptx_operand elements_of(uint32_t count)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_VECTOR, .element_count = (uint16_t)count};
}

/* wmma.load and wmma.store */

/* An address that was computed: of an element; others of the same row (column) are so many bytes from it. */
struct known_address {
    uint16_t slot;
    uint32_t element;
};

struct fragment_access {
    struct matrix_work work;
    enum ptx_matrix_role role;
    bool columns, loads;
    bool prepares; /* only the addresses, before a register that they are computed from is loaded to */
    uint32_t target, bits;
    struct decoded_place place;
    uint16_t stride;
    struct known_address known[MOST_ADDRESSES];
    uint32_t known_count;
};

/* From element `from` of a lane's fragment to `to` along a row (column), in elements; false: they are not in one, or not the same in all lanes. */
static bool distance(const struct fragment_access *access, uint32_t from, uint32_t to, int64_t *elements)
{
    const struct ptx_matrix *matrix = &access->work.matrix;
    for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++) {
        struct matrix_place a = matrix_place(matrix, access->role, lane, from);
        struct matrix_place b = matrix_place(matrix, access->role, lane, to);
        int64_t here = access->columns ? (int64_t)b.row - a.row : (int64_t)b.column - a.column;
        if ((access->columns ? a.column != b.column : a.row != b.row) || (lane && here != *elements))
            return false;
        *elements = here;
    }
    return true;
}

/* A slot with the address of an element, apart from *bytes. */
static uint16_t find_address(struct decoder *decoder, struct fragment_access *access, uint32_t element, int64_t *bytes)
{
    int64_t elements;
    for (uint32_t i = 0; i < access->known_count; i++)
        if (distance(access, access->known[i].element, element, &elements)) {
            *bytes = elements * (access->bits == 1 ? 32 : access->bits) / 8;
            return access->known[i].slot;
        }
    uint16_t slot = access->known_count < MOST_ADDRESSES ? decode_temporary(decoder) : access->known[0].slot;
    if (access->known_count == MOST_ADDRESSES)
        decode_error(decoder, CORUN_UNSUPPORTED, "not supported: a fragment of so many rows");
    else
        access->known[access->known_count++] = (struct known_address){slot, element};
    struct operation *op = decode_emit(decoder, OPERATION_MATRIX_ADDRESS);
    bool narrow = access->place.variant & MEMORY_ADDRESS_32;
    op->target = access->target;
    op->destination = slot;
    op->source[0] = access->place.slot;
    op->source[1] = access->stride;
    op->offset = access->place.offset;
    op->extra[0] = (uint16_t)element;
    op->extra[1] = (uint16_t)access->role;
    op->variant = (uint8_t)((narrow ? MATRIX_POINTER_32 : 0) | (access->columns ? MATRIX_COLUMNS : 0));
    op->merged = decode_last(decoder)->merged = -1;
    decode_reads(decode_last(decoder), access->place.slot, !narrow);
    decode_reads(decode_last(decoder), access->stride, false);
    decode_writes(decode_last(decoder), slot, true);
    decode_last(decoder)->operation = CORUN_OPERATION_MAD;
    *bytes = 0;
    return slot;
}

/* `count` elements of `width` bytes from element `element` on, one behind the other, in registers of as many. */
static void emit_fragment_access(struct decoder *decoder, struct fragment_access *access, uint32_t element,
                                 uint32_t width, const uint16_t *slots, uint32_t count)
{
    int64_t bytes;
    struct decoded_place place = access->place;
    bool wide = width == 8;
    place.slot = find_address(decoder, access, element, &bytes);
    if (access->prepares)
        return;
    place.offset = bytes;
    place.variant = (uint8_t)(place.variant & ~MEMORY_ADDRESS_32);
    struct operation *op = decode_emit_access(decoder, access->loads ? OPERATION_LOAD : OPERATION_STORE, &place);
    op->width_bytes = (uint8_t)width;
    op->vector = (uint8_t)count;
    op->extend = wide ? EXTEND_WIDE : 0;
    op->merged = decode_last(decoder)->merged = -1;
    if (access->loads)
        op->destination = slots[0];
    else
        op->source[1] = slots[0];
    for (uint32_t i = 1; i < count; i++)
        op->extra[i - 1] = slots[i];
    struct corun_instruction *machine = decode_last(decoder);
    decode_reads(machine, place.slot, true);
    for (uint32_t i = 0; i < count; i++)
        if (access->loads)
            decode_writes(machine, slots[i], wide);
        else
            decode_reads(machine, slots[i], wide);
    if (op->variant & MEMORY_SILENT) {
        machine->unit = CORUN_UNIT_INT;
        return;
    }
    machine->unit = CORUN_UNIT_MEMORY;
    machine->space = op->space;
    machine->access_bytes = (uint8_t)(width * count);
    machine->flags = access->loads ? CORUN_LOAD : CORUN_STORE;
}

/* A register whose elements do not lie side by side: each for itself, through temporaries. */
static void move_elements(struct decoder *decoder, struct fragment_access *access, uint32_t first, uint32_t packed,
                          uint16_t slot, const uint16_t *parts)
{
    assert(packed == 2 || packed == 4); /* smaller elements always lie side by side */
    struct ptx_operand elements = elements_of(packed);
    if (!access->loads && !access->prepares)
        emit_move(decoder, &elements, &one_register, parts, &slot);
    for (uint32_t i = 0; i < packed; i++)
        emit_fragment_access(decoder, access, first + i, 4 / packed, &parts[i], 1);
    if (access->loads && !access->prepares)
        emit_move(decoder, &one_register, &elements, &slot, parts);
}

static void move_fragment(struct decoder *decoder, struct fragment_access *access, const uint16_t *slots,
                          const uint16_t *parts)
{
    uint32_t packed = matrix_packed(&access->work.matrix, access->role), width = access->bits == 64 ? 8 : 4;
    uint32_t count = ptx_matrix_distinct(&access->work.matrix, access->role);
    int64_t next;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t element = i * packed;
        bool beside = distance(access, element, element + 1, &next) && next == 1;
        if (packed > 1 && !beside) {
            move_elements(decoder, access, element, packed, slots[i], parts);
        } else if (packed == 1 && access->role == PTX_MATRIX_C && i % 2 == 0 && i + 1 < count && beside) {
            emit_fragment_access(decoder, access, element, width, &slots[i], 2);
            i++;
        } else {
            emit_fragment_access(decoder, access, element, width, &slots[i], 1);
        }
    }
}

static void decode_moved_fragment(struct decoder *decoder, bool loads)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    const struct ptx_operand *operands = instruction->operands;
    struct fragment_access access = {.role = ptx_matrix_role(instruction, 0),
                                     .columns = instruction->layout == PTX_LAYOUT_COL,
                                     .loads = loads,
                                     .bits = ptx_types[instruction->types[0]].bits};
    uint16_t slots[MATRIX_REGISTERS] = {0};
    (void)ptx_matrix_find(instruction, &access.work.matrix);
    const struct ptx_matrix *matrix = &access.work.matrix;
    uint32_t rows = access.role == PTX_MATRIX_B ? matrix->k : matrix->m;
    uint32_t columns = access.role == PTX_MATRIX_A ? matrix->k : matrix->n;
    access.target = decode_keep_matrix(decoder, &access.work);
    access.place = decode_place(decoder, &operands[loads], instruction->space);
    access.stride = instruction->operand_count > 2
                        ? decode_source(decoder, &operands[2], 32)
                        : decode_constant(decoder, access.columns ? rows : columns, false, NULL);
    uint32_t count = decode_fragment(decoder, &operands[!loads], slots, MATRIX_REGISTERS);
    uint16_t low = decode_temporary(decoder), high = decode_temporary(decoder);
    const uint16_t parts[4] = {low, (uint16_t)(low + 1), high, (uint16_t)(high + 1)};
    access.prepares = true;
    move_fragment(decoder, &access, slots, parts);
    access.prepares = false;
    move_fragment(decoder, &access, slots, parts);
    uint32_t distinct = ptx_matrix_distinct(matrix, access.role);
    for (uint32_t i = distinct; distinct && loads && i < count; i++)
        emit_move(decoder, &one_register, &one_register, &slots[i], &slots[i % distinct]);
    if (decoder->code.count)
        decoder->code.data[decoder->code.count - 1].merged = decode_last(decoder)->merged = 0;
}

/* Tiles */

static void decode_tiles(struct decoder *decoder, bool loads)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    struct matrix_work work = {.transposes = instruction->trans};
    struct decoded_place place = decode_place(decoder, &instruction->operands[loads], instruction->space);
    work.tiles = (uint8_t)decode_fragment(decoder, &instruction->operands[!loads], work.d, MATRIX_REGISTERS);
    uint16_t low = decode_temporary(decoder), high = decode_temporary(decoder);
    const uint16_t row[4] = {low, (uint16_t)(low + 1), high, (uint16_t)(high + 1)};
    uint32_t target = decode_keep_matrix(decoder, &work);
    struct operation *op = decode_emit_access(decoder, loads ? OPERATION_MATRIX_LOAD : OPERATION_MATRIX_STORE, &place);
    op->target = target;
    op->width_bytes = 4;
    op->vector = 4;
    if (loads)
        op->destination = row[0];
    else
        op->source[1] = row[0];
    for (uint32_t i = 1; i < 4; i++)
        op->extra[i - 1] = row[i];
    struct corun_instruction *machine = decode_last(decoder);
    decode_registers(decoder);
    machine->unit = CORUN_UNIT_MEMORY;
    machine->space = op->space;
    machine->access_bytes = 16;
    machine->flags = loads ? CORUN_LOAD : CORUN_STORE;
}

static void decode_transpose(struct decoder *decoder)
{
    const struct ptx_operand *operands = decoder->instruction->operands;
    struct matrix_work work = {.tiles = 1};
    work.d[0] =
        operands[0].kind == PTX_OPERAND_REGISTER ? decode_slot(decoder, operands[0].index) : decode_temporary(decoder);
    work.a[0] = decode_source(decoder, &operands[1], 32);
    uint32_t target = decode_keep_matrix(decoder, &work);
    decode_emit(decoder, OPERATION_MATRIX_TRANSPOSE)->target = target;
    decode_registers(decoder);
    decode_last(decoder)->unit = CORUN_UNIT_CONTROL; /* as shfl */
}

bool decode_matrix(struct decoder *decoder)
{
    switch (decoder->instruction->opcode) {
    case PTX_OP_MMA_SYNC:
    case PTX_OP_MMA_SP_SYNC:
    case PTX_OP_WMMA_MMA_SYNC:
    case PTX_OP_WMMA_MMA_XOR_POPC_SYNC:
    case PTX_OP_WMMA_MMA_AND_POPC_SYNC:
        decode_product(decoder);
        return true;
    case PTX_OP_WMMA_LOAD_A_SYNC:
    case PTX_OP_WMMA_LOAD_B_SYNC:
    case PTX_OP_WMMA_LOAD_C_SYNC:
    case PTX_OP_WMMA_STORE_D_SYNC:
        decode_moved_fragment(decoder, decoder->instruction->opcode != PTX_OP_WMMA_STORE_D_SYNC);
        return true;
    case PTX_OP_LDMATRIX_SYNC:
    case PTX_OP_STMATRIX_SYNC:
        decode_tiles(decoder, decoder->instruction->opcode == PTX_OP_LDMATRIX_SYNC);
        return true;
    case PTX_OP_MOVMATRIX_SYNC:
        decode_transpose(decoder);
        return true;
    default:
        return false;
    }
}
