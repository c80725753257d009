/* SPDX-License-Identifier: MIT */
/* Loads of neighbouring words of shared memory: one load of up to 16 bytes, where the address is certainly aligned for that. */
#include "assemble/code.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { WIDEST = 16 };

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

/* Of each register so many of the lowest bits are certainly 0, MOST_ZEROES at most, whichever of its definitions it has its value from. */
struct proof {
    const struct code *code;
    uint8_t *zeroes;
    const struct ptx_instruction *instruction;
    bool changed;
};

static uint32_t zeroes_of(const struct proof *proof, const struct ptx_operand *operand)
{
    if (operand->kind == PTX_OPERAND_INTEGER)
        return zeroes_of_number(operand->bits);
    if (operand->kind == PTX_OPERAND_VARIABLE)
        return can_align(operand->variable) ? zeroes_of_number((uint64_t)operand->offset) : 0;
    bool named = operand->kind == PTX_OPERAND_REGISTER || operand->kind == PTX_OPERAND_ADDRESS;
    return named ? proof->zeroes[operand->index] : 0;
}

static uint32_t zeroes_of_product(const struct proof *proof, const struct ptx_operand *factors)
{
    return least(MOST_ZEROES, zeroes_of(proof, &factors[0]) + zeroes_of(proof, &factors[1]));
}

static uint32_t zeroes_of_result(const struct proof *proof, const struct ptx_instruction *definition)
{
    const struct ptx_operand *operands = definition->operands;
    if (definition->sat ||
        (!ptx_type_is_integer(definition->types[0]) && ptx_types[definition->types[0]].kind != PTX_KIND_BITS))
        return 0;
    switch (definition->opcode) {
    case PTX_OP_MOV:
        return zeroes_of(proof, &operands[1]);
    case PTX_OP_ADD:
    case PTX_OP_SUB:
        return definition->carry ? 0 : least(zeroes_of(proof, &operands[1]), zeroes_of(proof, &operands[2]));
    case PTX_OP_SHL:
        return operands[2].kind != PTX_OPERAND_INTEGER
                   ? 0
                   : least(MOST_ZEROES,
                           zeroes_of(proof, &operands[1]) + (uint32_t)least(MOST_ZEROES, (uint32_t)operands[2].bits));
    case PTX_OP_MUL:
        return definition->half == PTX_HALF_HI ? 0 : zeroes_of_product(proof, &operands[1]);
    case PTX_OP_MAD:
        return definition->half == PTX_HALF_HI || definition->carry
                   ? 0
                   : least(zeroes_of_product(proof, &operands[1]), zeroes_of(proof, &operands[3]));
    case PTX_OP_CVT:
        return ptx_type_is_integer(definition->types[0]) && ptx_type_is_integer(definition->types[1])
                   ? zeroes_of(proof, &operands[1])
                   : 0;
    default:
        return 0;
    }
}

static void note_result(void *user, uint32_t register_index, enum ptx_access access)
{
    struct proof *proof = user;
    const struct ptx_operand *to = proof->instruction->operands;
    if (access != PTX_WRITE || !proof->zeroes[register_index])
        return;
    bool alone = proof->instruction->operand_count && to->kind == PTX_OPERAND_REGISTER &&
                 to->index == register_index; /* what a call returns is not among its operands */
    uint32_t zeroes = alone ? zeroes_of_result(proof, proof->instruction) : 0;
    if (zeroes < proof->zeroes[register_index]) {
        proof->zeroes[register_index] = (uint8_t)zeroes;
        proof->changed = true;
    }
}

/* All are taken to have as many as there can be, until a definition says otherwise; what a caller hands over has none. */
static bool prove(struct proof *proof)
{
    const struct code *code = proof->code;
    const struct ptx_signature *signature = &code->function.signature;
    proof->zeroes = malloc((size_t)code->function.register_count + 1);
    if (!proof->zeroes)
        return false;
    memset(proof->zeroes, MOST_ZEROES, code->function.register_count);
    for (uint32_t i = 0; i < signature->parameter_count; i++)
        if (signature->parameters[i]->space == PTX_SUFFIX_NONE)
            proof->zeroes[signature->parameters[i]->parameter_register] = 0;
    do {
        proof->changed = false;
        for (uint32_t i = 0; i < code->function.instruction_count; i++) {
            proof->instruction = &code->instructions[i];
            if (proof->instruction->opcode != PTX_OP_NONE)
                ptx_instruction_registers(proof->instruction, note_result, proof);
        }
    } while (proof->changed);
    return true;
}

/* A load of one word of 4 or 8 bytes into a register that nothing else writes. */
static bool is_candidate(const struct proof *proof, uint32_t index)
{
    const struct code *code = proof->code;
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
    return address->kind == PTX_OPERAND_ADDRESS && zeroes_of(proof, address) > (bits == 32 ? 2 : 3);
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

struct writer {
    uint32_t register_index;
    bool found;
};

static void note_write(void *user, uint32_t register_index, enum ptx_access access)
{
    struct writer *writer = user;
    writer->found |= access == PTX_WRITE && register_index == writer->register_index;
}

/* Does it change the base of an address? */
static bool moves_base(const struct ptx_instruction *instruction, const struct ptx_operand *address)
{
    struct writer writer = {address->index, false};
    if (address->kind == PTX_OPERAND_ADDRESS)
        ptx_instruction_registers(instruction, note_write, &writer);
    return writer.found;
}

/* The loads of the `count` words from `offset` on, with the one at `index` the first of them in the block; false if one is missing. */
static bool find_words(const struct proof *proof, uint32_t index, int64_t offset, uint32_t count, uint32_t *words)
{
    const struct code *code = proof->code;
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
        int64_t place = other->operand_count > 1 ? other->operands[1].offset - offset : -1;
        if (other->types[0] == first->types[0] && is_candidate(proof, i) &&
            same_base(&first->operands[1], &other->operands[1]) && place >= 0 && place < count * bytes &&
            place % bytes == 0 && words[place / bytes] == PTX_NONE) {
            words[place / bytes] = i;
            found++;
        }
        if (found < count && moves_base(other, &first->operands[1]))
            return false;
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

static bool combine_at(struct code *code, const struct proof *proof, uint32_t index)
{
    uint32_t words[4];
    const struct ptx_instruction *load = &code->instructions[index];
    uint32_t bytes = ptx_types[load->types[0]].bits / 8;
    int64_t offset = load->operands[1].offset;
    assert(bytes == 4 || bytes == 8); /* it is a candidate */
    uint32_t known =
        load->operands[1].kind == PTX_OPERAND_ADDRESS_VARIABLE ? MOST_ZEROES : zeroes_of(proof, &load->operands[1]);
    for (uint32_t width = 1u << known; width > bytes; width /= 2) {
        int64_t start = offset & -(int64_t)width;
        if (find_words(proof, index, start, width / bytes, words))
            return merge_words(code, index, start, width / bytes, words);
    }
    return false;
}

void code_combine(struct code *code)
{
    struct proof proof = {.code = code};
    bool combined = false, proved = prove(&proof);
    for (uint32_t i = 0; proved && i < code->function.instruction_count; i++)
        if (code->instructions[i].opcode != PTX_OP_NONE && is_candidate(&proof, i))
            combined |= combine_at(code, &proof, i);
    free(proof.zeroes);
    if (combined && !code->apart)
        align_variables(code);
}
