/* SPDX-License-Identifier: MIT */
/* Which operands and types fit an instruction (PTX ISA, "Operand Type Checking"). */
#include "ptx/bulk.h"
#include "ptx/matrix.h"
#include "ptx/parser.h"

#include <stdio.h>
#include <string.h>

/* What one operand may be. */
struct expectation {
    enum ptx_type type;
    uint32_t bits; /* of the register; the type's unless .wide */
    bool at_least; /* the register may be wider (ld, st, cvt) */
    bool is_destination;
};

static bool bits_fit(const struct expectation *expected, uint32_t bits)
{
    return expected->at_least ? bits >= expected->bits : bits == expected->bits;
}

static bool register_fits(const struct expectation *expected, enum ptx_type type)
{
    enum ptx_type_kind kind = ptx_types[type].kind;
    if (expected->type == PTX_TYPE_PRED || type == PTX_TYPE_PRED)
        return expected->type == type;
    if (type == PTX_TYPE_B128 || !bits_fit(expected, ptx_types[type].bits)) /* wide.c has those */
        return false;
    switch (ptx_types[expected->type].kind) {
    case PTX_KIND_BITS:
        return (kind != PTX_KIND_FLOAT && kind != PTX_KIND_PACKED) || ptx_types[type].bits == expected->bits;
    case PTX_KIND_FLOAT:
        return kind == PTX_KIND_BITS || type == expected->type ||
               (ptx_type_is_half(expected->type) && kind == PTX_KIND_UNSIGNED); /* as inline assembly has them */
    default:
        return type == expected->type || kind == PTX_KIND_BITS || kind == PTX_KIND_UNSIGNED || kind == PTX_KIND_SIGNED;
    }
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void convert_float(struct ptx_operand *operand, enum ptx_type type)
{
    if (type == PTX_TYPE_F32 && operand->kind == PTX_OPERAND_F64) {
        float value = (float)double_of(operand->bits);
        operand->bits = 0;
        memcpy(&operand->bits, &value, sizeof value);
        operand->kind = PTX_OPERAND_F32;
    } else if (type == PTX_TYPE_F64 && operand->kind == PTX_OPERAND_F32) {
        float single;
        memcpy(&single, &operand->bits, sizeof single);
        double value = (double)single;
        memcpy(&operand->bits, &value, sizeof value);
        operand->kind = PTX_OPERAND_F64;
    }
}

static bool immediate_fits(const struct expectation *expected, struct ptx_operand *operand)
{
    if (expected->is_destination)
        return false;
    bool is_float = operand->kind != PTX_OPERAND_INTEGER;
    switch (ptx_types[expected->type].kind) {
    case PTX_KIND_FLOAT:
        if (is_float)
            convert_float(operand, expected->type);
        return is_float;
    case PTX_KIND_BITS:
        return !is_float || ptx_types[expected->type].bits == (operand->kind == PTX_OPERAND_F32 ? 32 : 64);
    default:
        return !is_float;
    }
}

static bool special_fits(const struct expectation *expected, uint32_t special)
{
    uint32_t type = ptx_special_registers[special].type, bits = ptx_types[type].bits;
    if (type == PTX_TYPE_PRED || expected->type == PTX_TYPE_PRED || ptx_type_is_float(expected->type))
        return type == expected->type;
    return expected->bits == bits || (bits == 32 && expected->bits == 16) || special == PTX_SPECIAL_GRIDID;
}

static bool address_fits(const struct parser *parser, const struct expectation *expected)
{
    enum ptx_type_kind kind = ptx_types[expected->type].kind;
    return !expected->is_destination && kind != PTX_KIND_FLOAT && kind != PTX_KIND_PREDICATE &&
           (expected->bits == parser->module->address_bits || expected->bits == 32);
}

static const char *describe(const struct expectation *expected, char text[96])
{
    if (expected->type == PTX_TYPE_PRED)
        snprintf(text, 96, "a predicate%s", expected->is_destination ? " register" : "");
    else
        snprintf(text, 96, "a %sregister of %s%u bits for .%s%s",
                 ptx_type_is_float(expected->type) ? "floating point " : "", expected->at_least ? "at least " : "",
                 expected->bits, ptx_types[expected->type].word, expected->is_destination ? "" : " or a constant");
    return text;
}

static const char *describe_found(const struct parser *parser, const struct parsed_operand *operand, char text[96])
{
    if (operand->operand.kind == PTX_OPERAND_REGISTER)
        snprintf(text, 96, "%s of type .%s", operand->text,
                 ptx_types[parser->registers.data[operand->operand.index].type].word);
    else if (operand->operand.kind == PTX_OPERAND_SPECIAL)
        snprintf(text, 96, "'%s'", ptx_special_registers[operand->operand.index].text);
    else
        snprintf(text, 96, "%s", operand->text);
    return text;
}

static bool mismatch(struct parser *parser, const struct parsed_operand *operand, const char *wanted)
{
    char found[96];
    parser_error(parser, CORUN_SYNTAX, operand->place, "expected %s, found %s", wanted,
                 describe_found(parser, operand, found));
    return false;
}

/* A register or constant; `address` also lets variables and functions through, `special` special registers. */
static bool value_fits(struct parser *parser, const struct expectation *expected, struct ptx_operand *operand,
                       bool address, bool special)
{
    switch (operand->kind) {
    case PTX_OPERAND_REGISTER:
        return !operand->bits && register_fits(expected, parser->registers.data[operand->index].type) &&
               (!operand->negated || (expected->type == PTX_TYPE_PRED && !expected->is_destination));
    case PTX_OPERAND_DISCARD:
        return expected->is_destination;
    case PTX_OPERAND_INTEGER:
    case PTX_OPERAND_F32:
    case PTX_OPERAND_F64:
        return immediate_fits(expected, operand);
    case PTX_OPERAND_SPECIAL:
        return special && special_fits(expected, operand->index);
    case PTX_OPERAND_VARIABLE:
    case PTX_OPERAND_FUNCTION:
        return address && address_fits(parser, expected);
    default:
        return false;
    }
}

bool check_mismatch(struct parser *parser, const struct parsed_operand *operand, const char *wanted)
{
    return mismatch(parser, operand, wanted);
}

bool check_fits(struct parser *parser, enum ptx_type type, struct ptx_operand *operand, bool is_destination)
{
    const struct expectation expected = {type, ptx_types[type].bits, false, is_destination};
    return value_fits(parser, &expected, operand, false, false);
}

static bool check_value(struct parser *parser, const struct expectation *expected, struct parsed_operand *operand,
                        bool address, bool special)
{
    char text[96];
    return value_fits(parser, expected, &operand->operand, address, special) ||
           mismatch(parser, operand, describe(expected, text));
}

/* {a, b}: every element fits */
static bool check_elements(struct parser *parser, const struct expectation *expected, struct parsed_operand *operand)
{
    struct ptx_operand elements[MAX_VECTOR];
    uint32_t count = operand->operand.element_count;
    memcpy(elements, operand->operand.elements, count * sizeof *elements);
    for (uint32_t i = 0; i < count; i++) {
        char text[96], message[160];
        if (!value_fits(parser, expected, &elements[i], false, false)) {
            snprintf(message, sizeof message, "elements that are %s", describe(expected, text));
            return mismatch(parser, operand, message);
        }
    }
    operand->operand.elements = parser_copy(parser, elements, count * sizeof *elements);
    return true;
}

/* The loaded or stored value: a vector if and only if the instruction says so. */
static bool check_data(struct parser *parser, const struct ptx_instruction *instruction,
                       const struct expectation *expected, struct parsed_operand *operand)
{
    uint32_t count = instruction->vector == PTX_VECTOR_V2 ? 2 : instruction->vector == PTX_VECTOR_V4 ? 4 : 1;
    bool is_vector = operand->operand.kind == PTX_OPERAND_VECTOR;
    if (is_vector ? operand->operand.element_count != count : count > 1) {
        char text[64];
        if (count > 1)
            snprintf(text, sizeof text, "a vector of %u elements", count);
        else
            snprintf(text, sizeof text, "one register instead of a vector");
        return mismatch(parser, operand, text);
    }
    return is_vector ? check_elements(parser, expected, operand) : check_value(parser, expected, operand, false, false);
}

static bool space_of_variable_fits(const struct ptx_instruction *instruction, const struct ptx_variable *variable)
{
    return !instruction->space || instruction->space == variable->space ||
           (instruction->space == PTX_SPACE_CONST && variable->space == PTX_SPACE_CONST);
}

static bool check_address(struct parser *parser, struct ptx_instruction *instruction, struct parsed_operand *operand)
{
    const struct ptx_variable *variable = operand->operand.variable;
    char text[96];
    switch (operand->operand.kind) {
    case PTX_OPERAND_ADDRESS: {
        enum ptx_type type = parser->registers.data[operand->operand.index].type;
        enum ptx_type_kind kind = ptx_types[type].kind;
        if ((ptx_types[type].bits == 32 || ptx_types[type].bits == 64) && kind != PTX_KIND_FLOAT &&
            kind != PTX_KIND_PACKED)
            return true;
        return mismatch(parser, operand, "an address in an integer register of 32 or 64 bits");
    }
    case PTX_OPERAND_ADDRESS_VARIABLE:
        if (!space_of_variable_fits(instruction, variable)) {
            snprintf(text, sizeof text, "an address in .%s, not that of '%.30s' in .%s",
                     ptx_suffixes[instruction->space].word, variable->name, ptx_suffixes[variable->space].word);
            return mismatch(parser, operand, text);
        }
        if (instruction->opcode != PTX_OP_PREFETCHU && !instruction->query)
            instruction->space = variable->space;
        if (instruction->opcode == PTX_OP_ST &&
            (variable->space == PTX_SPACE_CONST ||
             (variable->declared == PTX_DECLARED_PARAMETER && parser->function->is_entry)))
            return mismatch(parser, operand, "an address that can be stored to");
        return true;
    case PTX_OPERAND_ADDRESS_ABSOLUTE:
        return true;
    default:
        return mismatch(parser, operand, "an address in brackets");
    }
}

/* An address in a space that belongs to the operation. */
static bool check_address_in(struct parser *parser, struct ptx_instruction *instruction, enum ptx_suffix space,
                             struct parsed_operand *operand)
{
    struct ptx_instruction within = *instruction;
    within.space = (uint8_t)space;
    return check_address(parser, &within, operand);
}

/* mov moves words, addresses, special registers, and packs or unpacks vectors. */
static bool check_mov(struct parser *parser, struct ptx_instruction *instruction, struct parsed_operand *operand,
                      bool is_destination)
{
    enum ptx_type type = instruction->types[0];
    struct expectation expected = {type, ptx_types[type].bits, false, is_destination};
    if (operand->operand.kind != PTX_OPERAND_VECTOR)
        return check_value(parser, &expected, operand, !is_destination, !is_destination);
    uint32_t count = operand->operand.element_count;
    if (ptx_types[type].kind != PTX_KIND_BITS || (count != 2 && count != 4) || expected.bits / count < 8)
        return mismatch(parser, operand, "a vector of 2 or 4 elements that fill an untyped register");
    expected.bits /= count;
    expected.type = expected.bits == 32 ? PTX_TYPE_B32 : expected.bits == 16 ? PTX_TYPE_B16 : PTX_TYPE_B8;
    return check_elements(parser, &expected, operand);
}

static bool check_converted(struct parser *parser, enum ptx_type type, struct parsed_operand *operand,
                            bool is_destination)
{
    struct expectation expected = {type, ptx_types[type].bits, true, is_destination};
    if (ptx_type_is_float(type))
        expected.at_least = false;
    return check_value(parser, &expected, operand, false, !is_destination);
}

/* Coordinates: what the geometry wants, of the second type; surfaces count in integers, and so do layers. */
/* A register of 32 bits of which a part may be meant; vmad may negate it, or c, of which it takes no part. */
static bool check_part(struct parser *parser, const struct ptx_instruction *instruction, bool is_destination,
                       struct parsed_operand *operand)
{
    const struct expectation expected = {PTX_TYPE_U32, 32, false, is_destination};
    struct ptx_operand plain = operand->operand;
    char text[96];
    if (plain.kind == PTX_OPERAND_REGISTER) {
        plain.bits = 0;
        plain.negated &= instruction->opcode != PTX_OP_VMAD;
    }
    return value_fits(parser, &expected, &plain, false, false) || mismatch(parser, operand, describe(&expected, text));
}

static uint32_t part_of(const struct parsed_operand *operand)
{
    return operand->operand.kind == PTX_OPERAND_REGISTER ? (uint32_t)operand->operand.bits : 0;
}

/* Parts and signs go to the instruction; whether they belong together. */
static bool take_parts(struct parser *parser, struct ptx_instruction *instruction, struct parsed_operand *operands,
                       uint32_t count)
{
    bool multiplies = instruction->opcode == PTX_OP_VMAD, merges = part_of(&operands[0]) != 0;
    uint32_t signs = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t part = part_of(&operands[i]);
        if (part && (i > 2 || (multiplies && i == 0)))
            return mismatch(parser, &operands[i], "a whole register");
        instruction->parts |= (uint16_t)(part << i * PTX_PART_BITS);
        if (i && operands[i].operand.kind == PTX_OPERAND_REGISTER && operands[i].operand.negated) {
            instruction->parts |= (uint16_t)PTX_PART_NEGATES(i - 1);
            signs ^= i == 3 ? 2 : 1;
        }
        if (operands[i].operand.kind == PTX_OPERAND_REGISTER) {
            operands[i].operand.bits = 0;
            operands[i].operand.negated = false;
        }
    }
    if (multiplies && (signs == 3 || (instruction->plus && instruction->parts >> 9)))
        return mismatch(parser, &operands[3],
                        signs == 3 ? "a negated product or a negated sum, not both"
                                   : "operands that are not negated, with .po");
    if (!multiplies && (count > 3) != (merges || instruction->atomic))
        return mismatch(parser, &operands[count - 1],
                        count > 3 ? "no third source: there is neither a part of the result nor an operation with it"
                                  : "a third source behind it");
    if (merges && instruction->atomic)
        return mismatch(parser, &operands[0], "a whole register");
    return true;
}

static bool check_texel(struct parser *parser, const struct ptx_instruction *instruction,
                        struct parsed_operand *operand)
{
    if (operand->operand.kind != PTX_OPERAND_TEXEL)
        return mismatch(parser, operand, "[texture or surface, {coordinates}]");
    bool layered = instruction->geometry >= PTX_GEOMETRY_A1D && instruction->geometry != PTX_GEOMETRY_CUBE;
    uint32_t needed = instruction->geometry == PTX_GEOMETRY_D1                                                ? 1
                      : instruction->geometry == PTX_GEOMETRY_D2 || instruction->geometry == PTX_GEOMETRY_A1D ? 2
                                                                                                              : 4;
    uint32_t count = operand->operand.element_count - 1u;
    if (count != needed) {
        char text[64];
        snprintf(text, sizeof text, "%u coordinate%s", needed, needed == 1 ? "" : "s");
        return mismatch(parser, operand, text);
    }
    struct ptx_operand elements[1 + MAX_VECTOR];
    memcpy(elements, operand->operand.elements, (count + 1) * sizeof *elements);
    for (uint32_t i = 0; i <= count; i++) {
        enum ptx_type type = instruction->types[1] && !(layered && i == 1) ? instruction->types[1] : PTX_TYPE_S32;
        struct expectation expected = {i ? type : PTX_TYPE_U64, i ? 32 : 64, false, false};
        char text[96], message[160];
        bool reference = i == 0 && elements[0].kind == PTX_OPERAND_VARIABLE;
        if (reference ? ptx_types[elements[0].variable->type].kind != PTX_KIND_OPAQUE
                      : !value_fits(parser, &expected, &elements[i], false, false)) {
            snprintf(message, sizeof message, "%s that is %s", i ? "a coordinate" : "a texture or surface",
                     describe(&expected, text));
            return mismatch(parser, operand, message);
        }
    }
    operand->operand.elements = parser_copy(parser, elements, (count + 1) * sizeof *elements);
    return true;
}

/* A gradient: one value for one coordinate, else a vector, whose last element of four means nothing. */
static bool check_gradient(struct parser *parser, const struct ptx_instruction *instruction,
                           struct parsed_operand *operand)
{
    enum ptx_type type = instruction->types[1];
    const struct expectation expected = {type, ptx_types[type].bits, false, false};
    uint8_t geometry = instruction->geometry;
    bool one = geometry == PTX_GEOMETRY_D1 || geometry == PTX_GEOMETRY_A1D;
    uint32_t count = geometry == PTX_GEOMETRY_D2 || geometry == PTX_GEOMETRY_A2D ? 2 : 4;
    if (one)
        return check_value(parser, &expected, operand, false, false);
    if (operand->operand.kind != PTX_OPERAND_VECTOR || operand->operand.element_count != count)
        return mismatch(parser, operand, count == 2 ? "a vector of 2 elements" : "a vector of 4 elements");
    return check_elements(parser, &expected, operand);
}

/* A fragment: as many registers as it has. */
static bool check_fragment(struct parser *parser, const struct ptx_instruction *instruction, uint32_t index,
                           bool is_destination, struct parsed_operand *operand)
{
    enum ptx_type type;
    uint32_t count = ptx_matrix_registers(instruction, index, &type);
    const struct expectation expected = {type, ptx_types[type].bits, false, is_destination};
    const struct ptx_operand *found = &operand->operand;
    bool fits = found->kind == PTX_OPERAND_VECTOR && found->element_count == count;
    if (count == 1 && found->kind == PTX_OPERAND_REGISTER)
        return check_value(parser, &expected, operand, false, false);
    for (uint32_t i = 0; fits && i < count; i++)
        fits = found->elements[i].kind == PTX_OPERAND_REGISTER && !found->elements[i].negated &&
               register_fits(&expected, parser->registers.data[found->elements[i].index].type);
    if (fits)
        return true;
    char text[96];
    snprintf(text, sizeof text, "a vector of %u register%s of %u bits for .%s", count, count == 1 ? "" : "s",
             ptx_types[type].bits, ptx_types[type].word);
    return mismatch(parser, operand, text);
}

static bool is_predicate(const struct parser *parser, const struct parsed_operand *operand)
{
    return operand->operand.kind == PTX_OPERAND_REGISTER &&
           parser->registers.data[operand->operand.index].type == PTX_TYPE_PRED;
}

static bool check_operand(struct parser *parser, struct ptx_instruction *instruction, char letter,
                          struct parsed_operand *operand)
{
    if (letter == 'k')
        letter = is_predicate(parser, operand) ? 'p' : 'u';
    enum ptx_type first = instruction->types[0];
    uint32_t wide = instruction->half == PTX_HALF_WIDE ? 2 : 1;
    struct expectation expected = {first, ptx_types[first].bits, false, false};
    switch (letter) {
    case 'd':
        expected.is_destination = true;
        break;
    case 'D':
        expected.is_destination = true;
        expected.bits *= wide;
        break;
    case 'A':
        expected.bits *= wide;
        break;
    case 'a':
        break;
    case 'b':
        expected.type = instruction->types[1];
        expected.bits = ptx_types[expected.type].bits;
        break;
    case 'y':
    case 'z':
        return check_part(parser, instruction, letter == 'z', operand);
    case 'w':
    case 'u':
        expected = (struct expectation){PTX_TYPE_U32, 32, false, letter == 'w'};
        break;
    case 'p':
    case 'q':
        expected = (struct expectation){PTX_TYPE_PRED, 1, false, letter == 'q'};
        break;
    case 'E':
    case 'H':
        expected = (struct expectation){PTX_TYPE_B64, 64, false, false};
        break;
    case 'n':
        return operand->operand.kind == PTX_OPERAND_INTEGER || mismatch(parser, operand, "an integer constant");
    case 'l':
    case 's':
        expected.at_least = true;
        expected.is_destination = letter == 'l';
        return check_data(parser, instruction, &expected, operand);
    case 'm':
        return check_address(parser, instruction, operand);
    case 'S':
    case 'G':
        return check_address_in(parser, instruction, letter == 'S' ? PTX_SPACE_SHARED : PTX_SPACE_GLOBAL, operand);
    case 'V':
        if (first == PTX_TYPE_NONE) /* isspacep */
            expected = (struct expectation){parser->module->address_bits == 64 ? PTX_TYPE_U64 : PTX_TYPE_U32,
                                            parser->module->address_bits, false, false};
        return check_value(parser, &expected, operand, true, false);
    case 'o':
    case 'O':
        return check_mov(parser, instruction, operand, letter == 'o');
    case 'c':
        return check_converted(parser, first, operand, true);
    case 'C':
        return check_converted(parser, instruction->types[1], operand, false);
    case 'x':
        return check_texel(parser, instruction, operand);
    case 'v':
        return check_gradient(parser, instruction, operand);
    case 'X':
    case 'e':
        return check_bulk_operand(parser, instruction, letter, operand);
    case 'T':
        return operand->operand.kind == PTX_OPERAND_TARGETS || mismatch(parser, operand, "a list of .branchtargets");
    default: /* 'L' */
        return operand->operand.kind == PTX_OPERAND_LABEL || mismatch(parser, operand, "a label");
    }
    return check_value(parser, &expected, operand, false, false);
}

/* Fewest and most operands of this instruction: the optional ones depend on its suffixes. */
static void count_operands(const struct ptx_instruction *instruction, uint32_t *fewest, uint32_t *most)
{
    *fewest = *most = 0;
    bool optional = false;
    for (const char *letter = ptx_opcodes[instruction->opcode].operands; *letter; letter++) {
        if (*letter == '?')
            optional = true;
        else if (*letter != '|') {
            *most += 1, *fewest += !optional;
            optional = false;
        }
    }
    *most -= ptx_bulk_spare_operands(instruction);
    *fewest = *fewest < *most ? *fewest : *most;
    bool all = true;
    switch (instruction->opcode) {
    case PTX_OP_SET:
    case PTX_OP_SETP:
        all = instruction->boolean;
        break;
    case PTX_OP_ATOM:
        all = instruction->atomic == PTX_ATOMIC_CAS;
        break;
    case PTX_OP_CVT:
        all = ptx_types[instruction->types[0]].kind == PTX_KIND_PACKED && instruction->types[0] != PTX_TYPE_TF32 &&
              ptx_types[instruction->types[1]].kind != PTX_KIND_PACKED;
        break;
    case PTX_OP_CVT_PACK:
        all = instruction->type_count > 2;
        break;
    case PTX_OP_SHFL:
    case PTX_OP_VOTE:
        all = instruction->sync;
        break;
    default:
        return;
    }
    if (all)
        *fewest = *most;
    else
        *most = *fewest;
}

static bool check_last(struct parser *parser, const struct ptx_instruction *instruction,
                       const struct parsed_operand *operands, uint32_t count)
{
    if (instruction->opcode == PTX_OP_LOP3 && operands[4].operand.bits > 255)
        return mismatch(parser, &operands[4], "a truth table from 0 to 255");
    if (instruction->opcode == PTX_OP_CP_ASYNC_CA || instruction->opcode == PTX_OP_CP_ASYNC_CG) {
        uint64_t bytes = operands[2].operand.bits;
        if (bytes != 16 && (instruction->opcode == PTX_OP_CP_ASYNC_CG || (bytes != 4 && bytes != 8)))
            return mismatch(parser, &operands[2],
                            instruction->opcode == PTX_OP_CP_ASYNC_CG ? "16 bytes" : "4, 8 or 16 bytes");
    }
    bool reduces = instruction->opcode == PTX_OP_BAR_RED || instruction->opcode == PTX_OP_BARRIER_RED;
    bool barrier = reduces || instruction->opcode == PTX_OP_BAR_SYNC || instruction->opcode == PTX_OP_BAR_ARRIVE ||
                   instruction->opcode == PTX_OP_BARRIER_SYNC || instruction->opcode == PTX_OP_BARRIER_ARRIVE;
    const struct parsed_operand *number = &operands[reduces];
    if (barrier && number->operand.kind == PTX_OPERAND_INTEGER && number->operand.bits > 15)
        return mismatch(parser, number, "a barrier from 0 to 15");
    if (instruction->opcode == PTX_OP_MOV && operands[0].operand.kind == PTX_OPERAND_VECTOR &&
        operands[1].operand.kind == PTX_OPERAND_VECTOR)
        return mismatch(parser, &operands[1], "one register for a vector");
    const struct ptx_operand *plain[MAX_OPERANDS];
    uint32_t wrong_one;
    for (uint32_t i = 0; i < count; i++)
        plain[i] = &operands[i].operand;
    const char *wanted = ptx_matrix_wanted(instruction, plain, count, &wrong_one);
    return !wanted || mismatch(parser, &operands[wrong_one], wanted);
}

bool check_operands(struct parser *parser, struct ptx_instruction *instruction, struct parsed_operand *operands,
                    uint32_t count, const char *mnemonic)
{
    uint32_t fewest, most;
    count_operands(instruction, &fewest, &most);
    if (count < fewest || count > most) {
        char range[32];
        if (fewest == most)
            snprintf(range, sizeof range, "%u", fewest);
        else
            snprintf(range, sizeof range, "%u to %u", fewest, most);
        struct ptx_place place = instruction->guard == PTX_NONE ? instruction->place : parser->token.place;
        if (ptx_is_fetch(instruction->opcode) && count > most && count <= most + 2) {
            parser_error(parser, CORUN_UNSUPPORTED, place,
                         "not supported: '%s' with an offset or a depth to compare with", mnemonic);
            return false;
        }
        parser_error(parser, CORUN_SYNTAX, place, "'%s' takes %s operand%s, found %u", mnemonic, range,
                     most == 1 ? "" : "s", count);
        return false;
    }
    char letters[PTX_MAX_LETTERS];
    ptx_operand_letters(instruction->opcode, count, letters);
    for (uint32_t i = 0; i < count; i++) {
        bool vector = operands[i].operand.kind == PTX_OPERAND_VECTOR;
        bool fragment = strchr("fgF", letters[i]) || (letters[i] == 'E' && vector);
        if (fragment ? !check_fragment(parser, instruction, i, letters[i] != 'F' && letters[i] != 'E', &operands[i])
                     : !check_operand(parser, instruction, letters[i], &operands[i]))
            return false;
    }
    if (ptx_is_scalar_video(instruction->opcode) && !take_parts(parser, instruction, operands, count))
        return false;
    return check_last(parser, instruction, operands, count) &&
           check_bulk_operands(parser, instruction, operands, count);
}
