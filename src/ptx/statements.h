/* SPDX-License-Identifier: MIT */
/*
 * The statements at the top level of a text, found without parsing what is in them: for what has to be done to a text before it is
 * parsed, and to texts that use what the parser does not know. What a word, a comment and a string are says the lexer.
 */
#ifndef CORUN_PTX_STATEMENTS_H
#define CORUN_PTX_STATEMENTS_H

#include "ptx/lexer.h"

/* Places are offsets from the start of the text. */
struct ptx_statement {
    size_t start, end;
    const char *word; /* the first one, behind its dot: "version", "visible"; of word_bytes bytes, 0 if there is none */
    size_t word_bytes;
    uint8_t linkage;         /* enum ptx_linkage */
    size_t linkage_bytes;    /* of the linkage word at the start, with its dot */
    size_t name, name_bytes; /* of the function; of a variable, of several the last one; name_bytes 0: none */
    bool is_function, is_entry;
    bool has_body;
    size_t signature_end; /* of a function: behind its name and its parameters; directives follow */
    size_t body;          /* the opening brace; the closing one is the last character */
    uint32_t first_line, last_line;
};

/*
 * The next statement; false at the end of the text. The lexer needs no names: {.at = text, .end = text + bytes, .line_start = text,
 * .line = 1}. A statement that the text ends within ends there, too.
 */
bool ptx_statement_next(struct lexer *lexer, const char *text, struct ptx_statement *statement);

/* Whether the first word is `.word`. */
bool ptx_statement_is(const struct ptx_statement *statement, const char *word);

#endif
