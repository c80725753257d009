/* SPDX-License-Identifier: MIT */
/* Loads of neighbouring words of shared memory: one load of up to 16 bytes, where the address is certainly aligned for that. */
#include "assemble/code.h"

enum { WIDEST = 16, LONGEST_PROOF = 8 };

/* An upper limit of what is asked for: 2^4 is WIDEST. */
enum { MOST_ZEROES = 4 };

static uint32_t least(uint32_t left, uint32_t right)
{
    return left < right ? left : right;
}

static uint32_t zeroes_of_number(uint64_t number)
{
    uint32_t zeroes = 0;
    while (zeroes < MOST_ZEROES && !(number >> zeroes & 1))
        zeroes++;
    return zeroes;
}

/* A variable of the kernel's own is put where we like; one whose size is not known is not. */
static bool can_align(const struct ptx_variable *variable)
{
    return variable->space == PTX_SPACE_SHARED && !variable->incomplete;
}

static uint32_t zeroes_of(const struct code *code, const struct ptx_operand *operand, uint32_t depth);

static uint32_t zeroes_of_product(const struct code *code, const struct ptx_operand *factors, uint32_t depth)
{
    return least(MOST_ZEROES, zeroes_of(code, &factors[0], depth) + zeroes_of(code, &factors[1], depth));
}

static uint32_t zeroes_of_result(const struct code *code, const struct ptx_instruction *definition, uint32_t depth)
{
    const struct ptx_operand *operands = definition->operands;
    switch (definition->opcode) {
    case PTX_OP_MOV:
        return zeroes_of(code, &operands[1], depth);
    case PTX_OP_ADD:
    case PTX_OP_SUB:
        return definition->carry ? 0
                                 : least(zeroes_of(code, &operands[1], depth), zeroes_of(code, &operands[2], depth));
    case PTX_OP_SHL:
        return operands[2].kind != PTX_OPERAND_INTEGER
                   ? 0
                   : least(MOST_ZEROES, zeroes_of(code, &operands[1], depth) +
                                            (uint32_t)least(MOST_ZEROES, (uint32_t)operands[2].bits));
    case PTX_OP_MUL:
        return definition->half == PTX_HALF_HI ? 0 : zeroes_of_product(code, &operands[1], depth);
    case PTX_OP_MAD:
        return definition->half == PTX_HALF_HI || definition->carry
                   ? 0
                   : least(zeroes_of_product(code, &operands[1], depth), zeroes_of(code, &operands[3], depth));
    case PTX_OP_CVT:
        return ptx_type_is_integer(definition->types[0]) && ptx_type_is_integer(definition->types[1]) &&
                       !definition->sat
                   ? zeroes_of(code, &operands[1], depth)
                   : 0;
    default:
        return 0;
    }
}

/* So many of the lowest bits are certainly 0, MOST_ZEROES at most. */
static uint32_t zeroes_of(const struct code *code, const struct ptx_operand *operand, uint32_t depth)
{
    if (operand->kind == PTX_OPERAND_INTEGER)
        return zeroes_of_number(operand->bits);
    if (operand->kind == PTX_OPERAND_VARIABLE)
        return can_align(operand->variable) ? zeroes_of_number((uint64_t)operand->offset) : 0;
    const struct ptx_instruction *definition = depth ? code_definition(code, operand) : NULL;
    if (!definition || definition->guard != PTX_NONE || definition->sat ||
        definition->operands[0].kind != PTX_OPERAND_REGISTER ||
        (!ptx_type_is_integer(definition->types[0]) && ptx_types[definition->types[0]].kind != PTX_KIND_BITS))
        return 0;
    return zeroes_of_result(code, definition, depth - 1);
}

/* A load of one word of 4 or 8 bytes into a register that nothing else writes, at an address whose base stays. */
static bool is_candidate(const struct code *code, uint32_t index)
{
    const struct ptx_instruction *load = &code->instructions[index];
    if (load->opcode != PTX_OP_LD || load->space != PTX_SPACE_SHARED || load->guard != PTX_NONE ||
        load->vector != PTX_SUFFIX_NONE || load->operand_count != 2 || code_effect(load) != EFFECT_LOAD)
        return false;
    const struct ptx_operand *to = &load->operands[0], *address = &load->operands[1];
    uint32_t bits = ptx_types[load->types[0]].bits;
    if ((bits != 32 && bits != 64) || to->kind != PTX_OPERAND_REGISTER || code_bits(code, to->index) != bits ||
        code->definitions[to->index].instruction != index)
        return false;
    if (address->kind == PTX_OPERAND_ADDRESS_VARIABLE)
        return can_align(address->variable);
    return address->kind == PTX_OPERAND_ADDRESS && code->definitions[address->index].instruction != PTX_NONE &&
           zeroes_of(code, address, LONGEST_PROOF) > (bits == 32 ? 2 : 3);
}

static bool same_base(const struct ptx_operand *left, const struct ptx_operand *right)
{
    return left->kind == right->kind &&
           (left->kind == PTX_OPERAND_ADDRESS ? left->index == right->index : left->variable == right->variable);
}

/* May it write shared memory, or keep loads on its side? */
static bool ends_search(const struct ptx_instruction *instruction)
{
    enum effect effect = code_effect(instruction);
    if (effect == EFFECT_STORE)
        return instruction->space == PTX_SPACE_SHARED || instruction->space == PTX_SUFFIX_NONE;
    return effect == EFFECT_ORDER || effect == EFFECT_FIXED;
}

/* The loads of the `count` words from `offset` on, with the one at `index` the first of them in the block; false if one is missing. */
static bool find_words(const struct code *code, uint32_t index, int64_t offset, uint32_t count, uint32_t *words)
{
    const struct ptx_instruction *first = &code->instructions[index];
    uint32_t end = code->flow.blocks[code->flow.block_of[index]].end, found = 0;
    int64_t bytes = ptx_types[first->types[0]].bits / 8;
    for (uint32_t k = 0; k < count; k++)
        words[k] = PTX_NONE;
    for (uint32_t i = index; i < end && found < count; i++) {
        const struct ptx_instruction *other = &code->instructions[i];
        if (other->opcode == PTX_OP_NONE)
            continue;
        if (ends_search(other))
            return false;
        if (other->types[0] != first->types[0] || !is_candidate(code, i) ||
            !same_base(&first->operands[1], &other->operands[1]))
            continue;
        int64_t place = other->operands[1].offset - offset;
        if (place < 0 || place >= count * bytes || place % bytes || words[place / bytes] != PTX_NONE)
            continue;
        words[place / bytes] = i;
        found++;
    }
    return found == count;
}

static bool merge_words(struct code *code, uint32_t index, int64_t offset, uint32_t count, const uint32_t *words)
{
    struct ptx_instruction *load = &code->instructions[index];
    struct ptx_operand *operands = ARENA_ARRAY(code->arena, struct ptx_operand, 2);
    struct ptx_operand *elements = ARENA_ARRAY(code->arena, struct ptx_operand, count);
    int32_t merged = load->merged;
    for (uint32_t k = 0; k < count; k++)
        merged += words[k] == index ? 0 : code->instructions[words[k]].merged + 1;
    if (!operands || !elements || merged > INT16_MAX || merged < INT16_MIN)
        return false;
    for (uint32_t k = 0; k < count; k++) {
        elements[k] = code->instructions[words[k]].operands[0];
        if (words[k] != index)
            code->instructions[words[k]].opcode = PTX_OP_NONE;
    }
    operands[0] =
        (struct ptx_operand){.kind = PTX_OPERAND_VECTOR, .element_count = (uint16_t)count, .elements = elements};
    operands[1] = load->operands[1];
    operands[1].offset = offset;
    load->operands = operands;
    load->vector = count == 4 ? PTX_VECTOR_V4 : PTX_VECTOR_V2;
    load->merged = (int16_t)merged;
    code->changed = true;
    return true;
}

/* What an assembler may do with the variables of a kernel: they begin at multiples of 16 bytes, which all proofs rely on. */
static void align_variables(const struct code *code)
{
    for (uint32_t i = 0; i < code->function.shared_count; i++) {
        struct ptx_variable *variable = (struct ptx_variable *)(uintptr_t)code->function.shared[i];
        if (can_align(variable) && variable->align < WIDEST)
            variable->align = WIDEST;
    }
}

static bool combine_at(struct code *code, uint32_t index)
{
    uint32_t words[4];
    const struct ptx_instruction *load = &code->instructions[index];
    uint32_t bytes = ptx_types[load->types[0]].bits / 8;
    int64_t offset = load->operands[1].offset;
    uint32_t known = load->operands[1].kind == PTX_OPERAND_ADDRESS_VARIABLE
                         ? MOST_ZEROES
                         : zeroes_of(code, &load->operands[1], LONGEST_PROOF);
    for (uint32_t width = 1u << known; width > bytes; width /= 2) {
        int64_t start = offset & -(int64_t)width;
        if (find_words(code, index, start, width / bytes, words))
            return merge_words(code, index, start, width / bytes, words);
    }
    return false;
}

void code_combine(struct code *code)
{
    bool combined = false;
    for (uint32_t i = 0; i < code->function.instruction_count; i++)
        if (code->instructions[i].opcode != PTX_OP_NONE && is_candidate(code, i))
            combined |= combine_at(code, i);
    if (combined)
        align_variables(code);
}
