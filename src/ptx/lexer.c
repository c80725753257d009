/* SPDX-License-Identifier: MIT */
/* Tokens of PTX text. */
#include "ptx/lexer.h"

#include "base/number.h"

#include <string.h>

#define LONGEST_FLOAT 120u

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$';
}

static int digit_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

static char peek(const struct lexer *lexer, size_t ahead)
{
    return (size_t)(lexer->end - lexer->at) > ahead ? lexer->at[ahead] : '\0';
}

static void new_line(struct lexer *lexer)
{
    lexer->line++;
    lexer->line_start = lexer->at + 1;
}

static struct ptx_place place_of(const struct lexer *lexer)
{
    return (struct ptx_place){lexer->line, (uint32_t)(lexer->at - lexer->line_start) + 1};
}

/* Returns false if a comment does not end; *place and *start say where it starts. */
static bool skip_space(struct lexer *lexer, struct ptx_place *place, const char **start)
{
    for (; lexer->at < lexer->end; lexer->at++) {
        char c = *lexer->at;
        if (c == '\n') {
            new_line(lexer);
        } else if (c == '/' && peek(lexer, 1) == '/') {
            while (lexer->at + 1 < lexer->end && lexer->at[1] != '\n')
                lexer->at++;
        } else if (c == '/' && peek(lexer, 1) == '*') {
            *place = place_of(lexer);
            *start = lexer->at;
            for (lexer->at += 2; lexer->at < lexer->end && !(*lexer->at == '*' && peek(lexer, 1) == '/'); lexer->at++)
                if (*lexer->at == '\n')
                    new_line(lexer);
            if (lexer->at >= lexer->end)
                return false;
            lexer->at++;
        } else if (c != ' ' && c != '\t' && c != '\r' && c != '\f' && c != '\v') {
            return true;
        }
    }
    return true;
}

static void bad(struct token *token, const char *problem)
{
    token->kind = TOKEN_BAD;
    token->problem = problem;
}

/* 0f3F800000 and 0d3FF0000000000000 */
static void read_float_bits(struct lexer *lexer, struct token *token, uint32_t digits)
{
    token->kind = digits == 8 ? TOKEN_F32 : TOKEN_F64;
    lexer->at += 2;
    for (uint32_t i = 0; i < digits; i++, lexer->at++) {
        int value = digit_value(peek(lexer, 0));
        if (value > 15) {
            bad(token, digits == 8 ? "0f needs eight hexadecimal digits" : "0d needs sixteen hexadecimal digits");
            return;
        }
        token->bits = token->bits << 4 | (uint64_t)value;
    }
}

static void read_decimal_float(struct lexer *lexer, struct token *token)
{
    const char *start = lexer->at;
    while (is_digit(peek(lexer, 0)))
        lexer->at++;
    if (peek(lexer, 0) == '.')
        lexer->at++;
    while (is_digit(peek(lexer, 0)))
        lexer->at++;
    if (peek(lexer, 0) == 'e' || peek(lexer, 0) == 'E') {
        lexer->at++;
        if (peek(lexer, 0) == '+' || peek(lexer, 0) == '-')
            lexer->at++;
        while (is_digit(peek(lexer, 0)))
            lexer->at++;
    }
    char text[LONGEST_FLOAT + 1];
    size_t length = (size_t)(lexer->at - start);
    double value;
    token->kind = TOKEN_F64;
    token->decimal_float = true;
    if (length > LONGEST_FLOAT) {
        bad(token, "the number has too many digits");
        return;
    }
    memcpy(text, start, length);
    text[length] = '\0';
    if (!number_parse_real(text, &value))
        bad(token, "not a number in the range of a double");
    else
        memcpy(&token->bits, &value, sizeof value);
}

static void read_number(struct lexer *lexer, struct token *token)
{
    uint64_t base = 10;
    char second = peek(lexer, 1);
    if (peek(lexer, 0) == '0' && (second == 'f' || second == 'F')) {
        read_float_bits(lexer, token, 8);
        return;
    }
    if (peek(lexer, 0) == '0' && (second == 'd' || second == 'D')) {
        read_float_bits(lexer, token, 16);
        return;
    }
    size_t digits = 0;
    while (is_digit(peek(lexer, digits)))
        digits++;
    char after = peek(lexer, digits);
    if (after == '.' || after == 'e' || after == 'E') {
        read_decimal_float(lexer, token);
        return;
    }
    if (peek(lexer, 0) == '0' && (second == 'x' || second == 'X' || second == 'b' || second == 'B')) {
        base = second == 'x' || second == 'X' ? 16 : 2;
        lexer->at += 2;
        if (digit_value(peek(lexer, 0)) >= (int)base)
            bad(token, "a number without digits");
    } else if (peek(lexer, 0) == '0') {
        base = 8;
    }
    if (token->kind != TOKEN_BAD)
        token->kind = TOKEN_INTEGER;
    for (; digit_value(peek(lexer, 0)) < (int)base; lexer->at++) {
        uint64_t value = (uint64_t)digit_value(*lexer->at);
        if (token->bits > (UINT64_MAX - value) / base)
            bad(token, "the number does not fit 64 bits");
        token->bits = token->bits * base + value;
    }
    if (peek(lexer, 0) == 'U')
        lexer->at++;
}

static void read_word(struct lexer *lexer, struct token *token)
{
    const char *start = lexer->at;
    for (lexer->at++; lexer->at < lexer->end; lexer->at++) {
        if (is_word(*lexer->at))
            continue;
        if (token->kind == TOKEN_DOT && *lexer->at == ':' && peek(lexer, 1) == ':' && is_word(peek(lexer, 2)))
            lexer->at++; /* .shared::cta is one word */
        else
            break;
    }
    if (token->kind == TOKEN_DOT)
        start++;
    if (!lexer->names)
        return;
    token->name = name_intern(lexer->names, start, (size_t)(lexer->at - start));
    lexer->out_of_memory |= !token->name;
}

static void read_string(struct lexer *lexer, struct token *token)
{
    token->kind = TOKEN_STRING;
    for (lexer->at++; lexer->at < lexer->end && *lexer->at != '"' && *lexer->at != '\n'; lexer->at++)
        if (*lexer->at == '\\' && lexer->end - lexer->at > 1 && lexer->at[1] != '\n')
            lexer->at++;
    if (peek(lexer, 0) == '"')
        lexer->at++;
    else
        bad(token, "a string without end");
}

static void read_operator(struct lexer *lexer, struct token *token)
{
    static const struct {
        char text[3];
        int kind;
    } pairs[] = {
        {"<<", TOKEN_SHIFT_LEFT}, {">>", TOKEN_SHIFT_RIGHT}, {"<=", TOKEN_LESS_EQUAL}, {">=", TOKEN_GREATER_EQUAL},
        {"==", TOKEN_EQUAL},      {"!=", TOKEN_NOT_EQUAL},   {"&&", TOKEN_AND},        {"||", TOKEN_OR},
    };
    token->kind = (unsigned char)*lexer->at;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (*lexer->at == pairs[i].text[0] && peek(lexer, 1) == pairs[i].text[1]) {
            token->kind = pairs[i].kind;
            lexer->at++;
            break;
        }
    }
    if (!token->kind || (token->kind < 256 && !strchr("{}()[]<>,;:=+-*/%@!~&|^?", token->kind)))
        bad(token, "a character that has no place in PTX");
    lexer->at++;
}

void lexer_next(struct lexer *lexer, struct token *token)
{
    struct ptx_place comment;
    const char *start = lexer->at;
    bool complete = skip_space(lexer, &comment, &start);
    *token = (struct token){.text = lexer->at, .place = complete ? place_of(lexer) : comment};
    if (!complete) {
        token->text = start;
        token->length = 2;
        lexer->at = lexer->end;
        bad(token, "a comment without end");
        return;
    }
    if (lexer->at < lexer->end) {
        char c = *lexer->at;
        if (c == '.' && is_word(peek(lexer, 1))) {
            token->kind = TOKEN_DOT;
            read_word(lexer, token);
        } else if (c == '%' && !is_word(peek(lexer, 1))) {
            read_operator(lexer, token);
        } else if (is_word_start(c)) {
            token->kind = TOKEN_WORD;
            read_word(lexer, token);
        } else if (is_digit(c)) {
            read_number(lexer, token);
        } else if (c == '"') {
            read_string(lexer, token);
        } else {
            read_operator(lexer, token);
        }
    }
    token->length = (size_t)(lexer->at - token->text);
}

void lexer_skip_line(struct lexer *lexer, const struct token *token)
{
    if (token->place.line != lexer->line) /* a comment or string ended on a later line */
        return;
    while (lexer->at < lexer->end && *lexer->at != '\n')
        lexer->at++;
}
