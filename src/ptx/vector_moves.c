/* SPDX-License-Identifier: MIT */
/*
 * mov of a vector: of the four elements of a special register, as %tid, or of another vector's. A move of each element stands in its place, as GPUs have no
 * other; of '_' there is none. All sources are read before any element is written.
 */
#include "ptx/parser.h"

#include <stdio.h>

static bool check_vector(struct parser *parser, const struct parsed_operand *operand, uint32_t count)
{
    if (operand->operand.kind == PTX_OPERAND_VECTOR && operand->operand.element_count == count)
        return true;
    char wanted[32];
    snprintf(wanted, sizeof wanted, "a vector of %u elements", count);
    return check_mismatch(parser, operand, wanted);
}

static struct parsed_operand take_element(const struct parsed_operand *vector, uint32_t element)
{
    struct parsed_operand taken = *vector;
    taken.operand = vector->operand.elements[element];
    snprintf(taken.text, sizeof taken.text, "element %u of %.40s", element, vector->text);
    return taken;
}

/* Whether an element before this one is written where it is read. */
static bool is_written_before(const struct ptx_operand *destination, const struct ptx_operand *source, uint32_t element)
{
    bool found = false;
    for (uint32_t i = 0; i < element; i++)
        found |= source->elements[element].kind == PTX_OPERAND_REGISTER &&
                 destination->elements[i].kind == PTX_OPERAND_REGISTER &&
                 destination->elements[i].index == source->elements[element].index;
    return found;
}

static struct ptx_instruction move(struct parser *parser, const struct ptx_instruction *like,
                                   const struct ptx_operand operands[2])
{
    struct ptx_instruction move = *like;
    move.vector = PTX_SUFFIX_NONE;
    move.operands = parser_copy(parser, operands, 2 * sizeof *operands);
    move.operand_count = 2;
    return move;
}

bool parse_vector_move(struct parser *parser, struct ptx_instruction *instruction,
                       const struct parsed_operand *operands, uint32_t count, const char *mnemonic)
{
    const uint32_t elements = 2u << (instruction->vector - PTX_VECTOR_V2);
    struct ptx_operand moved[MAX_VECTOR][2];
    uint32_t moves = 0;
    if (count != 2) {
        parser_error(parser, CORUN_SYNTAX, parser->token.place, "'%s' takes 2 operands, found %u", mnemonic, count);
        return false;
    }
    if (!check_vector(parser, &operands[0], elements) || !check_vector(parser, &operands[1], elements))
        return false;
    const struct ptx_instruction vector = *instruction;
    instruction->vector = PTX_SUFFIX_NONE;
    for (uint32_t i = 0; i < elements; i++) {
        struct parsed_operand pair[2] = {take_element(&operands[0], i), take_element(&operands[1], i)};
        if (!check_operands(parser, instruction, pair, 2, mnemonic))
            return false;
        if (pair[0].operand.kind == PTX_OPERAND_DISCARD)
            continue;
        moved[moves][0] = pair[0].operand;
        moved[moves][1] = pair[1].operand;
        if (is_written_before(&operands[0].operand, &operands[1].operand, i)) {
            struct ptx_operand kept[2] = {{.kind = PTX_OPERAND_REGISTER}, pair[1].operand};
            kept[0].index = parser_add_register(parser, "%element", (enum ptx_type)vector.types[0]);
            parser_push(parser, &parser->instructions, move(parser, &vector, kept));
            moved[moves][1] = kept[0];
        }
        moves++;
    }
    if (!moves)
        return check_mismatch(parser, &operands[0], "a vector with a register");
    for (uint32_t i = 0; i + 1 < moves; i++)
        parser_push(parser, &parser->instructions, move(parser, &vector, moved[i]));
    *instruction = move(parser, &vector, moved[moves - 1]);
    return true;
}
