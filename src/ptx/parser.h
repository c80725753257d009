/* SPDX-License-Identifier: MIT */
/* What the files of the parser share: the state of one ptx_parse, symbols, scopes, and reporting. */
#ifndef CORUN_PTX_PARSER_H
#define CORUN_PTX_PARSER_H

#include "base/vector.h"
#include "ptx/lexer.h"
#include "ptx/source_lines.h"

#include <setjmp.h>

#define MAX_SCOPES 256u     /* nested { } */
#define MAX_EXPRESSION 200u /* nested parentheses */
#define MAX_ERRORS 100u     /* then the rest of the text is not looked at */
#define MAX_SUFFIXES 16u
#define MAX_OPERANDS 10u
#define MAX_VECTOR 8u
#define MAX_FRAGMENT 128u /* elements, of an operand of wgmma */
#define MAX_DIMENSIONS 8u
#define MAX_REGISTERS (1u << 20) /* used in one function */
#define MAX_VARIABLE_BYTES (UINT64_C(1) << 40)
#define MAX_INITIAL_BYTES (UINT64_C(64) << 20)

enum symbol_kind {
    SYMBOL_REGISTER, /* index */
    SYMBOL_RANGE,    /* `%r<count>` of a type; its registers get numbers when they are first used */
    SYMBOL_VARIABLE,
    SYMBOL_FUNCTION,
    SYMBOL_LABEL, /* index */
    SYMBOL_PROTOTYPE,
    SYMBOL_CALL_TARGETS,
    SYMBOL_BRANCH_TARGETS
};

struct branch_targets {
    const struct ptx_operand *labels;
    uint32_t count;
};

struct call_targets {
    const struct ptx_function **functions;
    uint32_t count;
};

struct symbol {
    enum symbol_kind kind;
    uint32_t depth; /* of its scope: 0 module, 1 parameters, 2 body, … */
    uint32_t index;
    uint64_t count; /* RANGE */
    uint8_t type;   /* RANGE */
    union {
        struct ptx_variable *variable;
        struct ptx_function *function;
        struct ptx_signature *signature;
        struct call_targets *targets;
        struct branch_targets *branch_targets;
    };
    const struct ptx_function *noted; /* VARIABLE: the last function that was noted to name it */
    struct name *name;
    struct symbol *shadowed; /* outer binding of the same name */
    struct symbol *next_in_scope;
};

/* A use of a label, resolved when the scope that defines it ends. */
struct label_use {
    struct label_use *next;
    struct name *name;
    struct ptx_operand *operand;
    struct ptx_place place;
};

/* An operand as written, before it is checked. */
struct parsed_operand {
    struct ptx_operand operand;
    struct ptx_place place;
    char text[64]; /* for messages */
    bool decimal_float;
    struct name *label; /* LABEL: to be resolved */
};

struct scope {
    struct symbol *symbols;
    struct label_use *uses;
};

struct parser {
    const char *file;
    struct lexer lexer;
    struct token token;    /* the current one, not yet consumed */
    struct arena *arena;   /* of the module */
    struct arena *scratch; /* names and symbols */
    struct corun_diagnostics *list;
    enum corun_status status; /* of the first error */
    uint32_t error_count;
    struct name_table names;
    struct scope scopes[MAX_SCOPES];
    uint32_t depth; /* scopes[depth] is the innermost */
    jmp_buf escape; /* out of memory, or too many errors */

    struct ptx_module *module;
    VECTOR(const struct ptx_variable *) variables;
    VECTOR(const struct ptx_function *) functions;
    VECTOR(struct ptx_source_line) source_lines;
    VECTOR(struct ptx_source_file) source_files;

    /* of the function being parsed; NULL and empty outside */
    struct ptx_function *function;
    VECTOR(struct ptx_register) registers;
    VECTOR(struct ptx_label) labels;
    VECTOR(struct ptx_instruction) instructions;
    uint32_t vector_limit; /* elements of a vector, in the instruction at hand */
    VECTOR(const struct ptx_variable *) locals;
    VECTOR(const struct ptx_variable *) shared;

    /* scratch of one list */
    VECTOR(const struct ptx_variable *) parameters;
    VECTOR(const struct ptx_function *) targets;
    VECTOR(struct parsed_operand) arguments;

    /* scratch of one initialiser */
    VECTOR(uint8_t) initial;
    VECTOR(struct ptx_relocation) relocations;
};

/* parser.c */
_Noreturn void parser_out_of_memory(struct parser *parser);
void *parser_allocate(struct parser *parser, struct arena *arena, size_t bytes); /* never NULL */
void *parser_copy(struct parser *parser, const void *data, size_t bytes);        /* into the module's arena */
void parser_error(struct parser *parser, enum corun_status status, struct ptx_place place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* "expected EXPECTED, found TOKEN" at the current token; always false, so that `return parser_expected(…)` works. */
bool parser_expected(struct parser *parser, const char *expected);
void parser_next(struct parser *parser);
bool parser_accept(struct parser *parser, int kind);
bool parser_expect(struct parser *parser, int kind, const char *expected);
bool parser_at_dot(const struct parser *parser, const char *word); /* the current token is .word */
bool parser_accept_dot(struct parser *parser, const char *word);
/* Skips the rest of a statement after an error: past its semicolon, or up to the brace that ends its scope. */
void parser_skip_statement(struct parser *parser);
void parser_push_scope(struct parser *parser);
void parser_pop_scope(struct parser *parser);
/* NULL and an error at `place` if the name is bound in that scope already. */
struct symbol *parser_bind(struct parser *parser, struct name *name, enum symbol_kind kind, struct ptx_place place);
/* The innermost binding; registers of a range come into being here. NULL if there is none. */
struct symbol *parser_lookup(struct parser *parser, struct name *name);
void parser_bind_range(struct parser *parser, struct name *prefix, uint64_t count, enum ptx_type type,
                       struct ptx_place place);
uint32_t parser_add_register(struct parser *parser, const char *name, enum ptx_type type);
char *parser_token_text(const struct parser *parser, char text[64]); /* for messages, quoted and shortened */

#define parser_push(parser, vector, value) (vector_push(vector, value) ? (void)0 : parser_out_of_memory(parser))

/* source_lines.c: at .loc and at .file, whatever stands behind them on their line; and a function begins on that line. */
void parse_source_line(struct parser *parser);
void parse_source_file(struct parser *parser);
void note_source_unknown(struct parser *parser, uint32_t ptx_line);

/* expression.c */
/* An integer constant expression; false after an error was reported. */
bool parse_integer(struct parser *parser, uint64_t *value);
/* A float literal, possibly with a sign, or an integer constant expression. */
bool parse_constant(struct parser *parser, struct ptx_operand *operand);

/* variables.c */
/* After .reg; up to and with the semicolon. */
bool parse_registers(struct parser *parser);
/* At the space word (.global, .shared, …) of a declaration of variables; up to and with the semicolon. */
bool parse_variables(struct parser *parser, enum ptx_linkage linkage);
/* One parameter of a function, prototype or entry, without bindings; `_` is allowed as its name in prototypes. */
bool parse_parameter(struct parser *parser, enum ptx_declared declared, bool anonymous,
                     struct ptx_variable **parameter);

/* functions.c */
/* At .entry or .func. */
bool parse_function(struct parser *parser, enum ptx_linkage linkage);
/* The body names or declares a variable: if it is shared memory, the function needs it. */
void parser_note_shared(struct parser *parser, struct symbol *symbol);

/* instructions.c */
/* At the guard, or behind the first word of the operation, which is then given; up to and with the semicolon. */
bool parse_instruction(struct parser *parser, const struct token *word);
/* Any operand, names resolved, not yet checked. With `label`, an unknown name is a label defined later. */
bool parse_operand(struct parser *parser, bool label, struct parsed_operand *operand);

/* predicate_logic.c: lop3.or and lop3.and become two instructions, the last of which is *instruction. */
bool parse_predicate_logic(struct parser *parser, struct ptx_instruction *instruction, struct parsed_operand *operands,
                           uint32_t count, const char *mnemonic);
/* simd_video.c: a selector of several halves or bytes, behind its dot, to operand->bits; false if the word is none. */
bool parse_selector(struct parser *parser, struct ptx_operand *operand);
/* vadd2, vset4 and others: their selectors become instructions around the operation; the last one is *instruction. */
bool parse_simd_video(struct parser *parser, struct ptx_instruction *instruction, struct parsed_operand *operands,
                      uint32_t count, const char *mnemonic);

/*
 * vector_atomics.c: the operands of atom or red with .v2 or .v4, not yet checked. The operations of all elements but the last are pushed, that of the
 * last is *instruction.
 */
bool parse_vector_atomic(struct parser *parser, struct ptx_instruction *instruction,
                         const struct parsed_operand *operands, uint32_t count, const char *mnemonic);

/*
 * vector_moves.c: the operands of mov with .v2 or .v4, not yet checked. The moves of all elements but the last are pushed, that of the last is *instruction.
 */
bool parse_vector_move(struct parser *parser, struct ptx_instruction *instruction,
                       const struct parsed_operand *operands, uint32_t count, const char *mnemonic);

/*
 * wide.c: operations of .b128, whose operands are not yet checked: of the registers that stand for theirs. mov is two of .b64, of which the second one is
 * *instruction; ld and st move a vector.
 */
bool parse_wide(struct parser *parser, struct ptx_instruction *instruction, struct parsed_operand *operands,
                uint32_t count, const char *mnemonic);
/* At the end of a function: what was of .b128 is of .b64. */
void parser_split_registers(struct parser *parser);

/* calls.c */
/* Behind `call.suffixes`; the semicolon remains. */
bool parse_call(struct parser *parser, struct ptx_instruction *instruction);

/* check_suffixes.c, check_operands.c */

/* Do the suffixes make sense together? `mnemonic` is the instruction as written. False after an error was reported. */
bool check_suffixes(struct parser *parser, const struct ptx_instruction *instruction, const char *mnemonic,
                    struct ptx_place place);
/* check_cluster.c: the same, of what concerns clusters: what is wrong; NULL: nothing. */
const char *ptx_cluster_problem(const struct ptx_instruction *instruction);
/* Number and types of operands; converts float immediates to the type that is read. */
bool check_operands(struct parser *parser, struct ptx_instruction *instruction, struct parsed_operand *operands,
                    uint32_t count, const char *mnemonic);
/* A register or constant of that type: float immediates are converted. */
bool check_fits(struct parser *parser, enum ptx_type type, struct ptx_operand *operand, bool is_destination);
/* Says what was expected and what was found; false. */
bool check_mismatch(struct parser *parser, const struct parsed_operand *operand, const char *wanted);
/* check_bulk.c: tensor map and coordinates ('X'), offsets or mask ('e'); and what all operands together have to be. */
bool check_bulk_operand(struct parser *parser, const struct ptx_instruction *instruction, char letter,
                        struct parsed_operand *operand);
bool check_bulk_operands(struct parser *parser, const struct ptx_instruction *instruction,
                         const struct parsed_operand *operands, uint32_t count);

#endif
