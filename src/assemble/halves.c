/* SPDX-License-Identifier: MIT */
/*
 * Integers of 64 bits, which hardware does not have: what ptxas 13.0 writes for them (sm_80 and sm_90).
 *
 * A register of 64 bits is two of 32, and an instruction is as many as the halves that somebody reads need. Halves that are zero, and halves
 * that are another one's, need none: a shift by 32, what takes a half, what puts two together. Two operations of logic, two sums, a product and
 * a sum, a shift and a sum are together what one is. Nothing here changes an instruction but for `pieces`.
 */
#include "assemble/code.h"

#include <stdlib.h>

enum { LOW = 1, HIGH = 2, BOTH = 3 };
enum { ROUNDS = 16 }; /* of wanted halves through loops; then both are */

struct halves {
    struct code *code;
    uint8_t *wanted, *zero; /* of each register */
    bool *part, *holds;     /* of each instruction: it is part of another one; it and another one are one */
};

static bool is_wide(enum ptx_type type)
{
    uint8_t kind = ptx_types[type].kind;
    return ptx_types[type].bits == 64 &&
           (kind == PTX_KIND_BITS || kind == PTX_KIND_UNSIGNED || kind == PTX_KIND_SIGNED);
}

static bool is_word(enum ptx_type type)
{
    uint8_t kind = ptx_types[type].kind;
    return ptx_types[type].bits == 32 &&
           (kind == PTX_KIND_BITS || kind == PTX_KIND_UNSIGNED || kind == PTX_KIND_SIGNED);
}

static bool is_logic(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_AND || instruction->opcode == PTX_OP_OR || instruction->opcode == PTX_OP_XOR ||
           instruction->opcode == PTX_OP_NOT;
}

static uint8_t count(uint8_t halves)
{
    return (uint8_t)((halves & LOW) + (halves >> 1));
}

static bool is_constant(const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_INTEGER;
}

static uint8_t zero_of(const struct halves *halves, const struct ptx_operand *operand)
{
    if (is_constant(operand))
        return (uint8_t)((uint32_t)operand->bits ? 0 : LOW) | (operand->bits >> 32 ? 0 : HIGH);
    return operand->kind == PTX_OPERAND_REGISTER ? halves->zero[operand->index] : 0;
}

/* Halves of a constant that leave an `and` what it was. */
static uint8_t full_of(const struct ptx_operand *operand)
{
    if (!is_constant(operand))
        return 0;
    return (uint8_t)(((uint32_t)operand->bits == UINT32_MAX ? LOW : 0) |
                     (operand->bits >> 32 == UINT32_MAX ? HIGH : 0));
}

/* Of a constant shift: by how much, BITS if it is none. */
enum { BITS = 64 };
static uint32_t distance_of(const struct ptx_instruction *shift)
{
    const struct ptx_operand *by = &shift->operands[2];
    return is_constant(by) && by->bits < BITS ? (uint32_t)by->bits : BITS;
}

/* ---- halves that are zero ---- */

static uint8_t zero_of_result(const struct halves *halves, const struct ptx_instruction *i)
{
    const struct ptx_operand *operands = i->operands;
    enum ptx_type from = i->types[1];
    switch (i->opcode) {
    case PTX_OP_CVT:
        return is_wide(i->types[0]) && ptx_types[from].bits <= 32 && ptx_types[from].kind == PTX_KIND_UNSIGNED ? HIGH
                                                                                                               : 0;
    case PTX_OP_LD:
        return ptx_types[i->types[0]].bits <= 32 && ptx_types[i->types[0]].kind != PTX_KIND_SIGNED &&
                       operands[0].kind == PTX_OPERAND_REGISTER
                   ? HIGH
                   : 0;
    case PTX_OP_AND:
        return zero_of(halves, &operands[1]) | zero_of(halves, &operands[2]);
    case PTX_OP_OR:
    case PTX_OP_XOR:
    case PTX_OP_SELP:
        return zero_of(halves, &operands[1]) & zero_of(halves, &operands[2]);
    case PTX_OP_SHL:
        return distance_of(i) < BITS && distance_of(i) >= 32 ? LOW : 0;
    case PTX_OP_SHR:
        return distance_of(i) < BITS && distance_of(i) >= 32 && !ptx_type_is_signed(i->types[0]) ? HIGH : 0;
    case PTX_OP_MOV:
        if (operands[1].kind == PTX_OPERAND_VECTOR && operands[1].element_count == 2)
            return (uint8_t)((zero_of(halves, &operands[1].elements[0]) & LOW) |
                             (zero_of(halves, &operands[1].elements[1]) & LOW) << 1);
        return zero_of(halves, &operands[1]);
    default:
        return 0;
    }
}

static void find_zeros(struct halves *halves)
{
    struct code *code = halves->code;
    for (uint32_t i = 0; i < code->function.instruction_count; i++) {
        const struct ptx_instruction *instruction = &code->instructions[i];
        if (!instruction->operand_count || instruction->operands[0].kind != PTX_OPERAND_REGISTER)
            continue;
        uint32_t index = instruction->operands[0].index;
        if (code->definitions[index].instruction == i && code_bits(code, index) == 64)
            halves->zero[index] = zero_of_result(halves, instruction);
    }
}

/* ---- halves that somebody wants ---- */

static uint8_t wanted_of(const struct halves *halves, const struct ptx_instruction *instruction)
{
    const struct ptx_operand *result = &instruction->operands[0];
    return result->kind == PTX_OPERAND_REGISTER && code_bits(halves->code, result->index) == 64
               ? halves->wanted[result->index]
               : BOTH;
}

static uint8_t wanted_of_shift(const struct ptx_instruction *shift, uint8_t wanted)
{
    uint32_t by = distance_of(shift);
    uint8_t low = wanted & LOW, high = wanted & HIGH;
    if (by == BITS)
        return BOTH;
    if (by == 0)
        return wanted;
    if (shift->opcode == PTX_OP_SHL)
        return by < 32 ? (high ? BOTH : low) : high ? LOW : 0;
    if (by < 32)
        return low ? BOTH : high;
    return low || ptx_type_is_signed(shift->types[0]) ? HIGH : 0;
}

/* What an instruction that is known wants of its operand number `at`; BOTH: of whatever is not known. */
static uint8_t wants(const struct halves *halves, const struct ptx_instruction *i, uint32_t at)
{
    uint8_t wanted = wanted_of(halves, i);
    switch (i->opcode) {
    case PTX_OP_AND:
        return wanted & (uint8_t)~zero_of(halves, &i->operands[3 - at]);
    case PTX_OP_OR:
    case PTX_OP_XOR:
    case PTX_OP_NOT:
    case PTX_OP_SELP:
        return wanted;
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_NEG:
        return wanted & HIGH ? BOTH : wanted;
    case PTX_OP_MUL:
    case PTX_OP_MAD:
        return i->half == PTX_HALF_LO && !(wanted & HIGH) ? wanted : BOTH;
    case PTX_OP_SHL:
    case PTX_OP_SHR:
        return at == 1 ? wanted_of_shift(i, wanted) : BOTH;
    case PTX_OP_CVT:
        return is_wide(i->types[1]) && !is_wide(i->types[0]) && ptx_type_is_integer(i->types[0]) ? LOW
               : is_wide(i->types[0]) && is_wide(i->types[1])                                    ? wanted
                                                                                                 : BOTH;
    default:
        return BOTH;
    }
}

static bool is_known(const struct ptx_instruction *i)
{
    switch (i->opcode) {
    case PTX_OP_CVT:
        return is_wide(i->types[1]);
    case PTX_OP_ADD:
    case PTX_OP_SUB:
        return is_wide(i->types[0]) && !i->carry && i->carry_flag == PTX_NONE;
    case PTX_OP_AND:
    case PTX_OP_OR:
    case PTX_OP_XOR:
    case PTX_OP_NOT:
    case PTX_OP_SELP:
    case PTX_OP_NEG:
    case PTX_OP_MUL:
    case PTX_OP_MAD:
    case PTX_OP_SHL:
    case PTX_OP_SHR:
        return is_wide(i->types[0]);
    default:
        return false;
    }
}

static void want_both(void *user, uint32_t register_index, enum ptx_access access)
{
    struct halves *halves = user;
    if (access == PTX_READ)
        halves->wanted[register_index] = BOTH;
}

/* mov {a, b}, c: those that are read. */
static bool takes_apart(const struct ptx_instruction *i)
{
    return i->opcode == PTX_OP_MOV && is_wide(i->types[0]) && i->operands[0].kind == PTX_OPERAND_VECTOR &&
           i->operands[0].element_count == 2 && i->operands[1].kind == PTX_OPERAND_REGISTER;
}

static bool is_read(const struct halves *halves, const struct ptx_operand *element)
{
    return element->kind == PTX_OPERAND_REGISTER && halves->code->definitions[element->index].reads;
}

static bool want_more(struct halves *halves, const struct ptx_operand *operand, uint8_t more)
{
    uint8_t *wanted = &halves->wanted[operand->index], before = *wanted;
    *wanted |= more;
    return *wanted != before;
}

static bool want_operands(struct halves *halves, const struct ptx_instruction *i)
{
    bool changed = false;
    if (takes_apart(i)) {
        const struct ptx_operand *elements = i->operands[0].elements;
        return want_more(halves, &i->operands[1],
                         (is_read(halves, &elements[0]) ? LOW : 0) | (is_read(halves, &elements[1]) ? HIGH : 0));
    }
    for (uint32_t at = 1; is_known(i) && at < i->operand_count; at++)
        if (i->operands[at].kind == PTX_OPERAND_REGISTER)
            changed |= want_more(halves, &i->operands[at], wants(halves, i, at));
    return changed;
}

static void find_wanted(struct halves *halves)
{
    const struct code *code = halves->code;
    bool changed = true;
    for (uint32_t i = 0; i < code->function.instruction_count; i++)
        if (!is_known(&code->instructions[i]) && !takes_apart(&code->instructions[i]))
            ptx_instruction_registers(&code->instructions[i], want_both, halves);
    for (uint32_t round = 0; round < ROUNDS && changed; round++) {
        changed = false;
        for (uint32_t i = code->function.instruction_count; i-- > 0;)
            changed |= want_operands(halves, &code->instructions[i]);
    }
    for (uint32_t i = 0; changed && i < code->function.register_count; i++)
        halves->wanted[i] = BOTH;
}

/* ---- two that are one ---- */

/* The instruction before in the block that gives an operand to this one alone, its own operands still there. */
static const struct ptx_instruction *inner_of(const struct code *code, const struct ptx_instruction *outer,
                                              const struct ptx_operand *operand)
{
    const struct ptx_instruction *inner = operand->kind == PTX_OPERAND_REGISTER ? code_definition(code, operand) : NULL;
    return inner && code->definitions[operand->index].reads == 1 && is_known(inner) && is_wide(inner->types[0]) &&
                   code_could_compute(code, inner, outer)
               ? inner
               : NULL;
}

static bool has_constant(const struct ptx_instruction *i)
{
    return is_constant(&i->operands[1]) || (i->operand_count > 2 && is_constant(&i->operands[2]));
}

/* Whether one instruction does what both do: LOP3, IADD3, IMAD, LEA. */
static bool is_one(const struct halves *halves, const struct ptx_instruction *outer,
                   const struct ptx_instruction *inner)
{
    bool holds = halves->holds[inner - halves->code->instructions];
    bool sum = outer->opcode == PTX_OP_ADD || (outer->opcode == PTX_OP_SUB && inner->opcode == PTX_OP_ADD);
    if (is_logic(outer) && is_logic(inner))
        return !holds && !(has_constant(outer) && has_constant(inner));
    if (sum && (inner->opcode == PTX_OP_ADD || inner->opcode == PTX_OP_SUB))
        return !holds && !(has_constant(outer) && has_constant(inner));
    if (outer->opcode == PTX_OP_ADD && inner->opcode == PTX_OP_SHL)
        return distance_of(inner) < 32;
    return false;
}

static void find_parts(struct halves *halves)
{
    const struct code *code = halves->code;
    for (uint32_t i = 0; i < code->function.instruction_count; i++) {
        const struct ptx_instruction *outer = &code->instructions[i];
        if (!is_known(outer) || !is_wide(outer->types[0]) || outer->guard != PTX_NONE || outer->opcode == PTX_OP_CVT)
            continue;
        for (uint32_t at = 1; at < outer->operand_count && !halves->holds[i]; at++) {
            const struct ptx_instruction *inner = inner_of(code, outer, &outer->operands[at]);
            if (inner && is_one(halves, outer, inner))
                halves->part[inner - code->instructions] = halves->holds[i] = true;
            else if (inner && outer->opcode == PTX_OP_ADD && inner->opcode == PTX_OP_MUL && inner->half == PTX_HALF_LO)
                halves->part[i] = halves->holds[i] = true; /* the product has a place for it */
        }
    }
}

/* The upper half of a product has the parts of the lower one. */
static bool has_upper_half(const struct code *code, const struct ptx_instruction *product)
{
    uint32_t index = (uint32_t)(product - code->instructions);
    const struct ptx_block *block = &code->flow.blocks[code->flow.block_of[index]];
    for (uint32_t i = block->first; i < block->end; i++) {
        const struct ptx_instruction *other = &code->instructions[i];
        if (other->opcode != PTX_OP_MUL || other->half != PTX_HALF_HI || !is_wide(other->types[0]))
            continue;
        bool same = true;
        for (uint32_t k = 1; k <= 2; k++)
            same = same && other->operands[k].kind == product->operands[k].kind &&
                   (is_constant(&product->operands[k]) ? other->operands[k].bits == product->operands[k].bits
                                                       : other->operands[k].index == product->operands[k].index);
        if (same)
            return true;
    }
    return false;
}

/* ---- what is left ---- */

static struct ptx_pieces pieces_of_logic(const struct halves *halves, const struct ptx_instruction *i, uint8_t wanted)
{
    if (i->opcode == PTX_OP_AND)
        wanted &= (uint8_t) ~(full_of(&i->operands[1]) | full_of(&i->operands[2]));
    else if (i->opcode != PTX_OP_NOT)
        wanted &= (uint8_t) ~(zero_of(halves, &i->operands[1]) | zero_of(halves, &i->operands[2]));
    return (struct ptx_pieces){.logic = count(wanted)};
}

static struct ptx_pieces pieces_of_sum(const struct halves *halves, const struct ptx_instruction *i, uint8_t wanted)
{
    bool shifted = false;
    uint8_t unchanged = 0;
    for (uint32_t at = 1; at < i->operand_count; at++) {
        const struct ptx_instruction *inner = inner_of(halves->code, i, &i->operands[at]);
        shifted |= inner && inner->opcode == PTX_OP_SHL && halves->part[inner - halves->code->instructions];
        unchanged |=
            i->operand_count > 2 && (i->opcode == PTX_OP_ADD || at == 2) ? zero_of(halves, &i->operands[at]) & LOW : 0;
    }
    wanted &= (uint8_t)~unchanged;
    if (shifted)
        return (struct ptx_pieces){.logic = count(wanted), .chain = wanted == BOTH};
    if (wanted == BOTH)
        return (struct ptx_pieces){.logic = 1, .either = 1, .chain = 1};
    return (struct ptx_pieces){.either = count(wanted)};
}

static struct ptx_pieces pieces_of_product(const struct halves *halves, const struct ptx_instruction *i, uint8_t wanted)
{
    const struct ptx_operand *operands = i->operands;
    if (i->half == PTX_HALF_HI)
        return ptx_type_is_signed(i->types[0])
                   ? (struct ptx_pieces){.logic = 8, .products = 6, .either = 2, .chain = 5}
                   : (struct ptx_pieces){.logic = 2, .products = 4, .either = 1, .chain = 4};
    if (i->opcode == PTX_OP_MUL && has_upper_half(halves->code, i))
        return (struct ptx_pieces){0};
    if (!(wanted & HIGH))
        return (struct ptx_pieces){.products = 1};
    uint8_t mixed = (uint8_t)(!(zero_of(halves, &operands[1]) & HIGH) + !(zero_of(halves, &operands[2]) & HIGH));
    return (struct ptx_pieces){.products = (uint8_t)(1 + mixed), .either = mixed != 0, .chain = mixed};
}

static struct ptx_pieces pieces_of_shift(const struct ptx_instruction *i, uint8_t wanted)
{
    uint32_t by = distance_of(i);
    bool low = wanted & LOW, high = wanted & HIGH, keeps_sign = ptx_type_is_signed(i->types[0]);
    if (by == BITS)
        return (struct ptx_pieces){.logic = count(wanted)};
    if (by == 0)
        return (struct ptx_pieces){0};
    if (i->opcode == PTX_OP_SHL)
        return by < 32 ? (struct ptx_pieces){.logic = high, .either = low}
                       : (struct ptx_pieces){.either = by > 32 && high};
    return by < 32 ? (struct ptx_pieces){.logic = count(wanted)}
                   : (struct ptx_pieces){.logic = (uint8_t)((by > 32 && low) + (keeps_sign && high))};
}

static struct ptx_pieces pieces_of_wide(const struct halves *halves, const struct ptx_instruction *i, uint8_t wanted)
{
    switch (i->opcode) {
    case PTX_OP_AND:
    case PTX_OP_OR:
    case PTX_OP_XOR:
    case PTX_OP_NOT:
        return pieces_of_logic(halves, i, wanted);
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_NEG:
        return pieces_of_sum(halves, i, wanted);
    case PTX_OP_MUL:
    case PTX_OP_MAD:
        return pieces_of_product(halves, i, wanted);
    case PTX_OP_SHL:
    case PTX_OP_SHR:
        return pieces_of_shift(i, wanted);
    case PTX_OP_SELP:
        return (struct ptx_pieces){.logic = count(wanted)};
    case PTX_OP_SETP:
        return (struct ptx_pieces){.logic = 2, .chain = 1};
    case PTX_OP_MIN:
    case PTX_OP_MAX:
        return (struct ptx_pieces){.logic = 4, .chain = 2};
    case PTX_OP_ABS:
        return (struct ptx_pieces){.logic = 4, .either = 1, .chain = 2};
    case PTX_OP_POPC:
        return (struct ptx_pieces){.special = 2, .either = 1, .chain = 1};
    case PTX_OP_CLZ:
        return (struct ptx_pieces){.special = 1, .logic = 3, .either = 1, .chain = 2};
    case PTX_OP_BREV:
        return (struct ptx_pieces){.special = 2};
    default: /* a division is a call */
        return (struct ptx_pieces){.issued = ptx_type_is_signed(i->types[0]) ? 81 : 66, .chain = 45};
    }
}

static bool is_counted(const struct ptx_instruction *i)
{
    switch (i->opcode) {
    case PTX_OP_POPC:
    case PTX_OP_CLZ:
    case PTX_OP_BREV:
    case PTX_OP_SETP:
    case PTX_OP_MIN:
    case PTX_OP_MAX:
    case PTX_OP_ABS:
    case PTX_OP_DIV:
    case PTX_OP_REM:
        return is_wide(i->types[0]);
    case PTX_OP_CVT:
        return false;
    default:
        return is_known(i);
    }
}

/* Conversions and moves between registers of 32 and 64 bits: nothing, but for a sign. */
static bool pieces_of_move(const struct ptx_instruction *i, uint8_t wanted, struct ptx_pieces *pieces)
{
    bool pair = takes_apart(i) || (i->opcode == PTX_OP_MOV && is_wide(i->types[0]) &&
                                   i->operands[1].kind == PTX_OPERAND_VECTOR && i->operands[1].element_count == 2);
    bool extends = ptx_types[i->types[1]].bits < 32 && ptx_types[i->types[1]].kind == PTX_KIND_UNSIGNED;
    bool converts = i->opcode == PTX_OP_CVT && !i->sat &&
                    ((is_wide(i->types[0]) && (extends || is_word(i->types[1]))) ||
                     (is_wide(i->types[1]) && is_word(i->types[0])) || (is_wide(i->types[0]) && is_wide(i->types[1])));
    bool keeps_sign = converts && is_wide(i->types[0]) && !is_wide(i->types[1]) && ptx_type_is_signed(i->types[1]);
    *pieces = (struct ptx_pieces){.logic = keeps_sign && wanted & HIGH};
    return pair || converts;
}

/* Of 32 bits, those that special functions' pipelines run. */
static bool pieces_of_bits(const struct ptx_instruction *i, struct ptx_pieces *pieces)
{
    *pieces = (struct ptx_pieces){.special = 1, .either = i->opcode == PTX_OP_CLZ, .chain = i->opcode == PTX_OP_CLZ};
    return is_word(i->types[0]) && (i->opcode == PTX_OP_POPC || i->opcode == PTX_OP_CLZ || i->opcode == PTX_OP_BREV);
}

static void count_pieces(struct halves *halves, uint32_t index)
{
    struct ptx_instruction *i = &halves->code->instructions[index];
    uint8_t wanted = i->operand_count ? wanted_of(halves, i) : 0;
    struct ptx_pieces pieces;
    if (i->operand_count && i->operands[0].kind == PTX_OPERAND_REGISTER)
        wanted &= (uint8_t)~halves->zero[i->operands[0].index];
    if (halves->part[index])
        pieces = (struct ptx_pieces){0};
    else if (is_counted(i))
        pieces = pieces_of_wide(halves, i, wanted);
    else if (!pieces_of_move(i, wanted, &pieces) && !pieces_of_bits(i, &pieces))
        return;
    pieces.counted = true;
    if (!pieces.issued)
        pieces.issued = (uint8_t)(pieces.logic + pieces.products + pieces.either + pieces.special);
    i->pieces = pieces;
}

/* What costs nothing takes a place of one that does: an instruction is issued, whatever it is. */
static void share_places(struct code *code, const struct ptx_block *block)
{
    uint32_t owed = 0;
    for (uint32_t i = block->first; i < block->end; i++)
        if (code->instructions[i].pieces.counted && !code->instructions[i].pieces.issued) {
            code->instructions[i].pieces.issued = 1;
            owed++;
        }
    for (uint32_t i = block->first; i < block->end && owed; i++) {
        struct ptx_pieces *pieces = &code->instructions[i].pieces;
        while (pieces->counted && pieces->issued > 1 && owed) {
            pieces->issued--;
            owed--;
        }
    }
}

void code_count_halves(struct code *code)
{
    uint32_t registers = code->function.register_count + 1, instructions = code->function.instruction_count + 1;
    uint8_t *masks = calloc((size_t)registers * 2, sizeof *masks);
    bool *marks = calloc((size_t)instructions * 2, sizeof *marks);
    struct halves halves = {code, masks, masks + registers, marks, marks + instructions};
    if (masks && marks) {
        find_zeros(&halves);
        find_wanted(&halves);
        find_parts(&halves);
        for (uint32_t i = 0; i < code->function.instruction_count; i++)
            count_pieces(&halves, i);
        for (uint32_t i = 0; i < code->flow.block_count; i++)
            share_places(code, &code->flow.blocks[i]);
    }
    free(masks);
    free(marks);
}
