/* SPDX-License-Identifier: MIT */
/* Constant expressions: integers with C's operators (PTX ISA, "Constant Expressions"), and float literals. */
#include "ptx/parser.h"

#include <string.h>

/* Values are 64 bits; is_unsigned decides about division, comparison and right shift as in C. */
struct value {
    uint64_t bits;
    bool is_unsigned;
};

struct operator_row {
    int token;
    uint32_t precedence; /* higher binds tighter */
};

static const struct operator_row operators[] = {
    {'*', 10},
    {'/', 10},
    {'%', 10},
    {'+', 9},
    {'-', 9},
    {TOKEN_SHIFT_LEFT, 8},
    {TOKEN_SHIFT_RIGHT, 8},
    {'<', 7},
    {'>', 7},
    {TOKEN_LESS_EQUAL, 7},
    {TOKEN_GREATER_EQUAL, 7},
    {TOKEN_EQUAL, 6},
    {TOKEN_NOT_EQUAL, 6},
    {'&', 5},
    {'^', 4},
    {'|', 3},
    {TOKEN_AND, 2},
    {TOKEN_OR, 1},
};

static bool parse_conditional(struct parser *parser, uint32_t depth, struct value *value);

static bool parse_primary(struct parser *parser, uint32_t depth, struct value *value)
{
    if (depth > MAX_EXPRESSION) {
        parser_error(parser, CORUN_SYNTAX, parser->token.place, "an expression is nested more than %u deep",
                     MAX_EXPRESSION);
        return false;
    }
    int kind = parser->token.kind;
    if (kind == '-' || kind == '+' || kind == '~' || kind == '!') {
        parser_next(parser);
        if (!parse_primary(parser, depth + 1, value))
            return false;
        if (kind == '-')
            value->bits = -value->bits;
        else if (kind == '~')
            *value = (struct value){~value->bits, true};
        else if (kind == '!')
            *value = (struct value){!value->bits, false};
        return true;
    }
    if (kind == '(') {
        parser_next(parser);
        if (parser->token.kind == TOKEN_DOT && (parser_at_dot(parser, "s64") || parser_at_dot(parser, "u64"))) {
            bool is_unsigned = parser_at_dot(parser, "u64"); /* a cast */
            parser_next(parser);
            if (!parser_expect(parser, ')', "')'") || !parse_primary(parser, depth + 1, value))
                return false;
            value->is_unsigned = is_unsigned;
            return true;
        }
        return parse_conditional(parser, depth + 1, value) && parser_expect(parser, ')', "')'");
    }
    if (kind == TOKEN_INTEGER) {
        *value = (struct value){parser->token.bits,
                                parser->token.bits > INT64_MAX || parser->token.text[parser->token.length - 1] == 'U'};
        parser_next(parser);
        return true;
    }
    if (kind == TOKEN_WORD && !strcmp(parser->token.name->text, "WARP_SZ")) {
        *value = (struct value){32, false};
        parser_next(parser);
        return true;
    }
    return parser_expected(parser, "an integer constant");
}

static bool divide(struct parser *parser, int token, struct value *left, struct value right, bool is_unsigned,
                   struct ptx_place place)
{
    if (!right.bits) {
        parser_error(parser, CORUN_SYNTAX, place, "division by zero in a constant");
        return false;
    }
    if (is_unsigned)
        left->bits = token == '/' ? left->bits / right.bits : left->bits % right.bits;
    else if (right.bits == UINT64_MAX) /* -1: the quotient of INT64_MIN would overflow */
        left->bits = token == '/' ? -left->bits : 0;
    else
        left->bits = token == '/' ? (uint64_t)((int64_t)left->bits / (int64_t)right.bits)
                                  : (uint64_t)((int64_t)left->bits % (int64_t)right.bits);
    return true;
}

static uint64_t shift_right(struct value left, uint64_t amount)
{
    bool negative = !left.is_unsigned && (int64_t)left.bits < 0;
    if (amount > 63)
        return negative ? UINT64_MAX : 0;
    return left.bits >> amount | (negative && amount ? UINT64_MAX << (64 - amount) : 0);
}

static bool is_less(struct value left, struct value right, bool is_unsigned)
{
    return is_unsigned ? left.bits < right.bits : (int64_t)left.bits < (int64_t)right.bits;
}

static bool apply(struct parser *parser, int token, struct value *left, struct value right, struct ptx_place place)
{
    bool is_unsigned = left->is_unsigned || right.is_unsigned;
    bool truth = false;
    switch (token) {
    case '*':
        left->bits *= right.bits;
        break;
    case '/':
    case '%':
        is_unsigned |= token == '%'; /* whose operands PTX takes for .u64 */
        if (!divide(parser, token, left, right, is_unsigned, place))
            return false;
        break;
    case '+':
        left->bits += right.bits;
        break;
    case '-':
        left->bits -= right.bits;
        break;
    case TOKEN_SHIFT_LEFT:
        left->bits = right.bits > 63 ? 0 : left->bits << right.bits;
        return true;
    case TOKEN_SHIFT_RIGHT:
        left->bits = shift_right(*left, right.bits);
        return true;
    case '&':
        left->bits &= right.bits;
        break;
    case '^':
        left->bits ^= right.bits;
        break;
    case '|':
        left->bits |= right.bits;
        break;
    case '<':
        truth = is_less(*left, right, is_unsigned);
        break;
    case '>':
        truth = is_less(right, *left, is_unsigned);
        break;
    case TOKEN_LESS_EQUAL:
        truth = !is_less(right, *left, is_unsigned);
        break;
    case TOKEN_GREATER_EQUAL:
        truth = !is_less(*left, right, is_unsigned);
        break;
    case TOKEN_EQUAL:
        truth = left->bits == right.bits;
        break;
    case TOKEN_NOT_EQUAL:
        truth = left->bits != right.bits;
        break;
    case TOKEN_AND:
        truth = left->bits && right.bits;
        break;
    default: /* TOKEN_OR */
        truth = left->bits || right.bits;
        break;
    }
    if (token == '<' || token == '>' || token >= TOKEN_LESS_EQUAL)
        *left = (struct value){truth, false};
    else
        left->is_unsigned = is_unsigned;
    return true;
}

static const struct operator_row *current_operator(const struct parser *parser)
{
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (operators[i].token == parser->token.kind)
            return &operators[i];
    return NULL;
}

static bool parse_binary(struct parser *parser, uint32_t depth, uint32_t lowest, struct value *value)
{
    if (!parse_primary(parser, depth, value))
        return false;
    for (const struct operator_row *row; (row = current_operator(parser)) && row->precedence >= lowest;) {
        struct ptx_place place = parser->token.place;
        struct value right = {0};
        int token = row->token;
        parser_next(parser);
        if (!parse_binary(parser, depth + 1, row->precedence + 1, &right) || !apply(parser, token, value, right, place))
            return false;
    }
    return true;
}

static bool parse_conditional(struct parser *parser, uint32_t depth, struct value *value)
{
    if (!parse_binary(parser, depth, 1, value))
        return false;
    if (!parser_accept(parser, '?'))
        return true;
    struct value yes = {0}, no = {0};
    if (!parse_conditional(parser, depth + 1, &yes) || !parser_expect(parser, ':', "':'") ||
        !parse_conditional(parser, depth + 1, &no))
        return false;
    *value = value->bits ? yes : no;
    return true;
}

bool parse_integer(struct parser *parser, uint64_t *value)
{
    struct value result = {0};
    if (!parse_conditional(parser, 0, &result))
        return false;
    *value = result.bits;
    return true;
}

static bool is_float(const struct token *token)
{
    return token->kind == TOKEN_F32 || token->kind == TOKEN_F64;
}

bool parse_constant(struct parser *parser, struct ptx_operand *operand)
{
    *operand = (struct ptx_operand){.kind = PTX_OPERAND_INTEGER};
    uint64_t sign = 0;
    if (parser->token.kind == '-' || parser->token.kind == '+') {
        struct lexer before = parser->lexer; /* look one token further: -1.5 is a literal, -(2 + 3) an expression */
        struct token minus = parser->token;
        parser_next(parser);
        if (!is_float(&parser->token)) {
            parser->lexer = before;
            parser->token = minus;
            return parse_integer(parser, &operand->bits);
        }
        sign = minus.kind == '-';
    }
    if (!is_float(&parser->token))
        return parse_integer(parser, &operand->bits);
    bool single = parser->token.kind == TOKEN_F32;
    operand->kind = single ? PTX_OPERAND_F32 : PTX_OPERAND_F64;
    operand->bits = parser->token.bits ^ sign << (single ? 31 : 63);
    parser_next(parser);
    return true;
}
