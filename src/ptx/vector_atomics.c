/* SPDX-License-Identifier: MIT */
/*
 * atom and red of a vector. PTX promises atomicity of each element, not of the vector, so an operation of each element stands in its place,
 * in ascending order of addresses. For minima and maxima of halves NVIDIA has that operation in vectors only.
 */
#include "ptx/parser.h"

#include <stdio.h>

static bool is_same_register(const struct ptx_operand *left, const struct ptx_operand *right)
{
    return left->kind == PTX_OPERAND_REGISTER && right->kind == PTX_OPERAND_REGISTER && left->index == right->index;
}

/* What the first elements have written must not be read by a later one: all are read before any is written. */
static bool check_overlap(struct parser *parser, const struct parsed_operand operands[3])
{
    const struct ptx_operand *result = operands[0].operand.elements, *address = &operands[1].operand,
                             *source = operands[2].operand.elements;
    uint32_t count = operands[0].operand.element_count;
    for (uint32_t i = 0; i + 1 < count; i++) {
        bool overlaps = address->kind == PTX_OPERAND_ADDRESS && result[i].kind == PTX_OPERAND_REGISTER &&
                        address->index == result[i].index;
        for (uint32_t j = i + 1; j < count; j++)
            overlaps |= is_same_register(&result[i], &source[j]);
        if (overlaps) {
            parser_error(parser, CORUN_UNSUPPORTED, operands[0].place,
                         "not supported: an atomic operation of a vector whose element %u has its result where a later "
                         "element has its source",
                         i);
            return false;
        }
    }
    return true;
}

static bool check_elements_of(struct parser *parser, const struct parsed_operand *operand, uint32_t count)
{
    if (operand->operand.kind == PTX_OPERAND_VECTOR && operand->operand.element_count == count)
        return true;
    char wanted[32];
    snprintf(wanted, sizeof wanted, "a vector of %u elements", count);
    return check_mismatch(parser, operand, wanted);
}

/* Operand `which` of the operation of an element: that element of a vector, or its address. */
static struct parsed_operand take_element(const struct parsed_operand *operand, uint32_t element, uint32_t bytes)
{
    struct parsed_operand taken = *operand;
    if (operand->operand.kind == PTX_OPERAND_VECTOR) {
        taken.operand = operand->operand.elements[element];
        snprintf(taken.text, sizeof taken.text, "element %u of %.40s", element, operand->text);
    } else {
        taken.operand.offset =
            (int64_t)((uint64_t)operand->operand.offset + (uint64_t)element * bytes); /* as addresses: around */
    }
    return taken;
}

bool parse_vector_atomic(struct parser *parser, struct ptx_instruction *instruction,
                         const struct parsed_operand *operands, uint32_t count, const char *mnemonic)
{
    const uint32_t elements = 2u << (instruction->vector - PTX_VECTOR_V2),
                   bytes = ptx_types[instruction->types[0]].bits / 8, results = instruction->opcode == PTX_OP_ATOM;
    struct ptx_instruction single = *instruction;
    single.vector = PTX_SUFFIX_NONE;
    struct parsed_operand taken[3];
    if (count != results + 2) {
        parser_error(parser, CORUN_SYNTAX, parser->token.place, "'%s' takes %u operands, found %u", mnemonic,
                     results + 2, count);
        return false;
    }
    for (uint32_t i = 0; i < count; i++)
        if (i != results && !check_elements_of(parser, &operands[i], elements))
            return false;
    if (results && !check_overlap(parser, operands))
        return false;
    for (uint32_t element = 0; element < elements; element++) {
        for (uint32_t i = 0; i < count; i++)
            taken[i] = take_element(&operands[i], element, bytes);
        if (!check_operands(parser, &single, taken, count, mnemonic))
            return false;
        struct ptx_operand *kept = parser_allocate(parser, parser->arena, count * sizeof *kept);
        for (uint32_t i = 0; i < count; i++)
            kept[i] = taken[i].operand;
        single.operands = kept;
        single.operand_count = (uint8_t)count;
        if (element + 1 < elements)
            parser_push(parser, &parser->instructions, single);
    }
    *instruction = single;
    return true;
}
