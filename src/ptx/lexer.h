/* SPDX-License-Identifier: MIT */
/* Tokens of PTX, and the table of names that gives every spelling one object. */
#ifndef CORUN_PTX_LEXER_H
#define CORUN_PTX_LEXER_H

#include "ptx/module.h"

#define NAME_SUFFIXES 4 /* fields that one word can belong to */

/* A spelling: what the vocabulary knows of it and what it is bound to at this point of the text. */
struct name {
    const char *text; /* NUL-terminated */
    uint32_t length, hash;
    struct symbol *symbol; /* innermost binding */
    struct symbol *range;  /* innermost `text<count>` */
    struct name *prefix;   /* "%r" for "%r17"; NULL if the text does not end in a number */
    uint32_t number;
    uint16_t opcode; /* an operation of this (possibly dotted) name */
    bool starts_longer_opcode;
    bool unsupported; /* a word of PTX that is refused */
    bool hint;        /* one that is left out */
    uint8_t type;
    uint8_t special; /* enum ptx_special_register + 1 */
    uint8_t suffixes[NAME_SUFFIXES];
    struct name *stands_for;
    const void *mark; /* for the printer: the function or module in which the name is taken */
};

/* A hash set of names; the texts live in `arena`. */
struct name_table {
    struct arena *arena;
    struct name **slots;
    size_t capacity, count;
};

/* False when out of memory. The table then holds the vocabulary. */
bool name_table_create(struct name_table *table, struct arena *arena);
void name_table_destroy(struct name_table *table);
struct name *name_find(const struct name_table *table, const char *text, size_t length);
struct name *name_intern(struct name_table *table, const char *text, size_t length); /* NULL when out of memory */

enum token_kind {
    TOKEN_END = 0,
    /* single characters stand for themselves */
    TOKEN_WORD = 256, /* identifier, register, operation */
    TOKEN_DOT,        /* .word; `name` is without the dot */
    TOKEN_INTEGER,
    TOKEN_F32,
    TOKEN_F64,
    TOKEN_STRING,
    TOKEN_SHIFT_LEFT,
    TOKEN_SHIFT_RIGHT,
    TOKEN_LESS_EQUAL,
    TOKEN_GREATER_EQUAL,
    TOKEN_EQUAL,
    TOKEN_NOT_EQUAL,
    TOKEN_AND,
    TOKEN_OR,
    TOKEN_BAD /* `problem` says why */
};

struct token {
    int kind;
    const char *text;
    size_t length;
    struct ptx_place place;
    uint64_t bits; /* of a number */
    struct name *name;
    const char *problem;
    bool decimal_float; /* written as 1.5, not as 0f… or 0d… */
};

struct lexer {
    const char *at, *end, *line_start;
    uint32_t line;
    struct name_table *names; /* NULL: tokens have no names */
    bool out_of_memory;
};

void lexer_next(struct lexer *lexer, struct token *token);
/* Moves to the end of the line that the given token is on; it must be the last one read. */
void lexer_skip_line(struct lexer *lexer, const struct token *token);

#endif
