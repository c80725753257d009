/* SPDX-License-Identifier: MIT */
/*
 * A scanner that finds where the top-level statements of a PTX text begin and end, with the lexer and without the
 * parser.
 */
#include "ptx/statements.h"

#include <string.h>

static bool is_word(const struct token *token, const char *word)
{
    size_t length = strlen(word);
    return token->kind == TOKEN_DOT && token->length == length + 1 && !memcmp(token->text + 1, word, length);
}

bool ptx_statement_is(const struct ptx_statement *statement, const char *word)
{
    return statement->word_bytes == strlen(word) && !memcmp(statement->word, word, statement->word_bytes);
}

/* Directives that end with their line. */
static bool is_one_line(const struct token *token)
{
    return is_word(token, "version") || is_word(token, "target") || is_word(token, "address_size") ||
           is_word(token, "file");
}

static enum ptx_linkage linkage_of(const struct token *token)
{
    static const struct {
        const char *word;
        enum ptx_linkage linkage;
    } rows[] = {{"extern", PTX_LINKAGE_EXTERN},
                {"visible", PTX_LINKAGE_VISIBLE},
                {"weak", PTX_LINKAGE_WEAK},
                {"common", PTX_LINKAGE_COMMON}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_word(token, rows[i].word))
            return rows[i].linkage;
    return PTX_LINKAGE_NONE;
}

/* Where we are in a statement. */
struct scan {
    struct ptx_statement *statement;
    const char *text;
    uint32_t braces, parentheses;
    bool heading; /* the name may still come: before the parameters of a function, the size or value of a variable */
    bool initial; /* behind the = of a variable: braces are values */
};

static void scan_heading(struct scan *scan, const struct token *token)
{
    struct ptx_statement *statement = scan->statement;
    size_t behind = (size_t)(token->text - scan->text) + token->length;
    switch (token->kind) {
    case TOKEN_DOT:
        statement->is_entry |= is_word(token, "entry");
        statement->is_function |= is_word(token, "entry") || is_word(token, "func");
        break;
    case '(':
        scan->parentheses++;
        break;
    case ')':
        scan->parentheses -= scan->parentheses > 0;
        if (!scan->parentheses && statement->is_function && statement->name_bytes) {
            statement->signature_end = behind;
            scan->heading = false;
        }
        break;
    case TOKEN_WORD:
        if (scan->parentheses || (statement->is_function && statement->name_bytes))
            break;
        statement->name = behind - token->length;
        statement->name_bytes = token->length;
        statement->signature_end = behind;
        break;
    case '=':
    case '[':
    case '{':
        scan->heading = scan->parentheses > 0;
        break;
    default:
        break;
    }
}

/* True if the statement ends with this token. */
static bool scan_token(struct scan *scan, const struct token *token)
{
    struct ptx_statement *statement = scan->statement;
    if (scan->heading)
        scan_heading(scan, token);
    switch (token->kind) {
    case '=':
        scan->initial |= !scan->braces;
        return false;
    case '{':
        if (!scan->braces++ && !scan->initial)
            statement->body = (size_t)(token->text - scan->text);
        return false;
    case '}':
        if (!scan->braces)
            return true; /* closes nothing: a statement of its own, which the parser refuses */
        if (--scan->braces || scan->initial)
            return false;
        statement->has_body = !ptx_statement_is(statement, "section");
        return true;
    case ';':
        return !scan->braces;
    default:
        return false;
    }
}

bool ptx_statement_next(struct lexer *lexer, const char *text, struct ptx_statement *statement)
{
    struct token token;
    struct scan scan = {.statement = statement, .text = text, .heading = true};
    *statement = (struct ptx_statement){0};
    lexer_next(lexer, &token);
    if (token.kind == TOKEN_END)
        return false;
    statement->start = (size_t)(token.text - text);
    statement->first_line = token.place.line;
    if (token.kind == TOKEN_DOT) {
        statement->word = token.text + 1;
        statement->word_bytes = token.length - 1;
        statement->linkage = (uint8_t)linkage_of(&token);
        statement->linkage_bytes = statement->linkage ? token.length : 0;
    }
    if (is_one_line(&token)) {
        lexer_skip_line(lexer, &token);
    } else {
        while (token.kind != TOKEN_END && !scan_token(&scan, &token))
            lexer_next(lexer, &token);
    }
    statement->end = (size_t)(lexer->at - text);
    statement->last_line = lexer->line;
    return true;
}
