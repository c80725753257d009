/* SPDX-License-Identifier: MIT */
/* The parser's ground: reporting, tokens, scopes, and the top level of a module. */
#include "ptx/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void parser_out_of_memory(struct parser *parser)
{
    parser->status = corun_report(parser->list, CORUN_MEMORY, (struct corun_place){parser->file, 0, 0},
                                  "out of memory while reading PTX");
    longjmp(parser->escape, 1);
}

void *parser_allocate(struct parser *parser, struct arena *arena, size_t bytes)
{
    void *memory = arena_allocate(arena, bytes);
    if (!memory)
        parser_out_of_memory(parser);
    return memory;
}

void *parser_copy(struct parser *parser, const void *data, size_t bytes)
{
    if (!bytes)
        return NULL;
    return memcpy(parser_allocate(parser, parser->arena, bytes), data, bytes);
}

void parser_error(struct parser *parser, enum corun_status status, struct ptx_place place, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    corun_report(parser->list, status, (struct corun_place){parser->file, place.line, place.column}, "%s", message);
    if (parser->status == CORUN_OK)
        parser->status = status;
    if (++parser->error_count >= MAX_ERRORS)
        longjmp(parser->escape, 1);
}

char *parser_token_text(const struct parser *parser, char text[64])
{
    const struct token *token = &parser->token;
    if (token->kind == TOKEN_END) {
        snprintf(text, 64, "the end of the file");
        return text;
    }
    size_t length = token->length > 40 ? 40 : token->length;
    size_t used = 0;
    text[used++] = '\'';
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)token->text[i];
        text[used++] = c < 32 || c == 127 ? '?' : (char)c;
    }
    const char *end = token->length > length ? "...'" : "'"; /* this runs for every operand: no snprintf */
    memcpy(text + used, end, strlen(end) + 1);
    return text;
}

bool parser_expected(struct parser *parser, const char *expected)
{
    char text[64];
    if (parser->token.kind == TOKEN_BAD)
        parser_error(parser, CORUN_SYNTAX, parser->token.place, "%s: %s", parser_token_text(parser, text),
                     parser->token.problem);
    else
        parser_error(parser, CORUN_SYNTAX, parser->token.place, "expected %s, found %s", expected,
                     parser_token_text(parser, text));
    return false;
}

void parser_next(struct parser *parser)
{
    lexer_next(&parser->lexer, &parser->token);
    if (parser->lexer.out_of_memory)
        parser_out_of_memory(parser);
}

bool parser_accept(struct parser *parser, int kind)
{
    if (parser->token.kind != kind)
        return false;
    parser_next(parser);
    return true;
}

bool parser_expect(struct parser *parser, int kind, const char *expected)
{
    return parser_accept(parser, kind) || parser_expected(parser, expected);
}

bool parser_at_dot(const struct parser *parser, const char *word)
{
    return parser->token.kind == TOKEN_DOT && !strcmp(parser->token.name->text, word);
}

bool parser_accept_dot(struct parser *parser, const char *word)
{
    if (!parser_at_dot(parser, word))
        return false;
    parser_next(parser);
    return true;
}

void parser_push_scope(struct parser *parser)
{
    if (parser->depth + 1 >= MAX_SCOPES) {
        parser_error(parser, CORUN_SYNTAX, parser->token.place, "scopes are nested more than %u deep", MAX_SCOPES);
        longjmp(parser->escape, 1);
    }
    parser->scopes[++parser->depth] = (struct scope){NULL, NULL};
}

/* Labels of this scope catch the uses in it; the others are looked for further out. */
static void resolve_labels(struct parser *parser, struct scope *scope)
{
    for (struct label_use *use = scope->uses, *next; use; use = next) {
        next = use->next;
        struct symbol *symbol = use->name->symbol;
        if (symbol && symbol->kind == SYMBOL_LABEL && symbol->depth == parser->depth) {
            use->operand->index = symbol->index;
        } else if (parser->depth > 2) {
            use->next = scope[-1].uses;
            scope[-1].uses = use;
        } else {
            parser_error(parser, CORUN_SYNTAX, use->place, "there is no label '%.40s' here", use->name->text);
        }
    }
}

void parser_pop_scope(struct parser *parser)
{
    struct scope *scope = &parser->scopes[parser->depth];
    resolve_labels(parser, scope);
    for (struct symbol *symbol = scope->symbols; symbol; symbol = symbol->next_in_scope) {
        if (symbol->kind == SYMBOL_RANGE)
            symbol->name->range = symbol->shadowed;
        else
            symbol->name->symbol = symbol->shadowed;
    }
    parser->depth--;
}

void parser_skip_statement(struct parser *parser)
{
    uint32_t open = 0;
    for (;; parser_next(parser)) {
        switch (parser->token.kind) {
        case TOKEN_END:
            return;
        case '{':
            open++;
            break;
        case '}':
            if (!open)
                return;
            open--;
            break;
        case ';':
            parser_next(parser);
            while (open--) /* what looked like a vector was a scope: the semicolon before it is missing */
                parser_push_scope(parser);
            return;
        default:
            break;
        }
    }
}

static struct symbol *add_symbol(struct parser *parser, struct name *name, enum symbol_kind kind, uint32_t depth)
{
    struct symbol *symbol = parser_allocate(parser, parser->scratch, sizeof *symbol);
    struct symbol **binding = kind == SYMBOL_RANGE ? &name->range : &name->symbol;
    symbol->kind = kind;
    symbol->depth = depth;
    symbol->name = name;
    symbol->shadowed = *binding;
    *binding = symbol;
    symbol->next_in_scope = parser->scopes[depth].symbols;
    parser->scopes[depth].symbols = symbol;
    return symbol;
}

struct symbol *parser_bind(struct parser *parser, struct name *name, enum symbol_kind kind, struct ptx_place place)
{
    const struct symbol *old = kind == SYMBOL_RANGE ? name->range : name->symbol;
    if (old && old->depth == parser->depth) {
        parser_error(parser, CORUN_SYNTAX, place, "'%.40s' is declared already", name->text);
        return NULL;
    }
    return add_symbol(parser, name, kind, parser->depth);
}

void parser_bind_range(struct parser *parser, struct name *prefix, uint64_t count, enum ptx_type type,
                       struct ptx_place place)
{
    struct symbol *symbol = parser_bind(parser, prefix, SYMBOL_RANGE, place);
    if (symbol) {
        symbol->count = count;
        symbol->type = (uint8_t)type;
    }
}

uint32_t parser_add_register(struct parser *parser, const char *name, enum ptx_type type)
{
    if (parser->registers.count >= MAX_REGISTERS) {
        parser_error(parser, CORUN_SYNTAX, parser->token.place, "more than %u registers in one function",
                     MAX_REGISTERS);
        longjmp(parser->escape, 1);
    }
    struct ptx_register row = {arena_copy_text(parser->arena, name, strlen(name)), (uint8_t)type};
    if (!row.name)
        parser_out_of_memory(parser);
    parser_push(parser, &parser->registers, row);
    if (type != PTX_TYPE_B128)
        return (uint32_t)parser->registers.count - 1;
    const char *upper = arena_format(parser->arena, "%s_upper", name);
    if (!upper)
        parser_out_of_memory(parser);
    struct ptx_register half = {upper, PTX_TYPE_B64};
    parser_push(parser, &parser->registers, half);
    return (uint32_t)parser->registers.count - 2;
}

struct symbol *parser_lookup(struct parser *parser, struct name *name)
{
    struct symbol *symbol = name->symbol;
    if (!name->prefix)
        return symbol;
    const struct symbol *range = name->prefix->range;
    while (range && range->count <= name->number)
        range = range->shadowed;
    if (!range || (symbol && symbol->depth >= range->depth))
        return symbol;
    symbol = add_symbol(parser, name, SYMBOL_REGISTER, range->depth);
    symbol->index = parser_add_register(parser, name->text, (enum ptx_type)range->type);
    return symbol;
}

/* .section and its kin: everything between the braces, however nested. */
static bool skip_section(struct parser *parser)
{
    while (parser->token.kind != '{' && parser->token.kind != TOKEN_END)
        parser_next(parser);
    uint64_t open = 0;
    do {
        if (parser->token.kind == TOKEN_END)
            return parser_expected(parser, "'}' at the end of a section");
        open += parser->token.kind == '{';
        open -= parser->token.kind == '}';
        parser_next(parser);
    } while (open);
    return true;
}

static void skip_line(struct parser *parser)
{
    lexer_skip_line(&parser->lexer, &parser->token);
    parser_next(parser);
}

static bool parse_version(struct parser *parser)
{
    parser_next(parser);
    const struct token *token = &parser->token;
    double value = 0;
    if (token->kind == TOKEN_F64)
        memcpy(&value, &token->bits, sizeof value);
    if (!(value >= 1 && value < 100))
        return parser_expected(parser, "a version such as 7.0");
    uint32_t major = (uint32_t)value;
    parser->module->version = major * 100 + (uint32_t)((value - major) * 10 + 0.5);
    parser_next(parser);
    return true;
}

static bool parse_target(struct parser *parser)
{
    parser_next(parser);
    if (parser->token.kind != TOKEN_WORD)
        return parser_expected(parser, "a target such as sm_75");
    const char *text = parser->token.name->text;
    const char *digits = strncmp(text, "sm_", 3) ? strncmp(text, "compute_", 8) ? NULL : text + 8 : text + 3;
    if (!digits)
        return parser_expected(parser, "a target such as sm_75");
    parser->module->target = parser_copy(parser, text, strlen(text) + 1);
    parser->module->target_sm = (uint32_t)strtoul(digits, NULL, 10) % 100000u;
    parser_next(parser);
    const char *options = "";
    while (parser_accept(parser, ',')) {
        if (parser->token.kind != TOKEN_WORD)
            return parser_expected(parser, "a target option such as debug");
        /* the debug sections are not kept, and an assembler that is told of them misses them */
        if (strcmp(parser->token.name->text, "debug"))
            options = arena_format(parser->arena, "%s%s%s", options, *options ? ", " : "", parser->token.name->text);
        if (!options)
            parser_out_of_memory(parser);
        parser_next(parser);
    }
    parser->module->target_options = options;
    return true;
}

static bool parse_address_size(struct parser *parser)
{
    parser_next(parser);
    if (parser->token.kind != TOKEN_INTEGER || (parser->token.bits != 32 && parser->token.bits != 64))
        return parser_expected(parser, "32 or 64");
    parser->module->address_bits = (uint32_t)parser->token.bits;
    parser_next(parser);
    return true;
}

static enum ptx_linkage parse_linkage(struct parser *parser)
{
    if (parser_accept_dot(parser, "extern"))
        return PTX_LINKAGE_EXTERN;
    if (parser_accept_dot(parser, "visible"))
        return PTX_LINKAGE_VISIBLE;
    if (parser_accept_dot(parser, "weak"))
        return PTX_LINKAGE_WEAK;
    if (parser_accept_dot(parser, "common"))
        return PTX_LINKAGE_COMMON;
    return PTX_LINKAGE_NONE;
}

static bool at_variable_space(const struct parser *parser)
{
    return parser_at_dot(parser, "global") || parser_at_dot(parser, "const") || parser_at_dot(parser, "shared");
}

/* One statement of the top level; false after an error. */
static bool parse_top(struct parser *parser)
{
    if (parser->token.kind == '@') { /* @@DWARF, the debug data of old compilers */
        skip_line(parser);
        return true;
    }
    if (parser_accept(parser, ';'))
        return true;
    if (parser_at_dot(parser, "version"))
        return parse_version(parser);
    if (parser_at_dot(parser, "target"))
        return parse_target(parser);
    if (parser_at_dot(parser, "address_size"))
        return parse_address_size(parser);
    if (parser_at_dot(parser, "file")) {
        parse_source_file(parser);
        return true;
    }
    if (parser_at_dot(parser, "loc")) { /* in front of a function: of its beginning, whose code says the same */
        skip_line(parser);
        return true;
    }
    if (parser_at_dot(parser, "section"))
        return skip_section(parser);
    if (parser_accept_dot(parser, "pragma")) {
        while (parser->token.kind == TOKEN_STRING || parser->token.kind == ',')
            parser_next(parser);
        return parser_expect(parser, ';', "';'");
    }
    if (parser_at_dot(parser, "alias") || parser_at_dot(parser, "tex")) {
        parser_error(parser, CORUN_UNSUPPORTED, parser->token.place, "not supported: .%s", parser->token.name->text);
        return false;
    }
    enum ptx_linkage linkage = parse_linkage(parser);
    if (parser_at_dot(parser, "entry") || parser_at_dot(parser, "func"))
        return parse_function(parser, linkage);
    if (at_variable_space(parser))
        return parse_variables(parser, linkage);
    return parser_expected(parser,
                           linkage ? "a variable or a function" : "a directive such as .entry, .func or .global");
}

static bool starts_top(const struct parser *parser)
{
    static const char *const words[] = {"version", "target", "address_size", "visible", "extern", "weak",   "common",
                                        "entry",   "func",   "global",       "const",   "file",   "section"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (parser_at_dot(parser, words[i]))
            return true;
    return false;
}

/* After an error at the top level: on to the next declaration. Of a body that lost its beginning, the first line is enough. */
static void skip_top(struct parser *parser)
{
    uint64_t open = 0;
    for (; parser->token.kind != TOKEN_END && (open || !starts_top(parser)); parser_next(parser)) {
        open += parser->token.kind == '{';
        open -= open && parser->token.kind == '}';
    }
}

static int by_home(const void *left, const void *right)
{
    const struct ptx_variable *a = *(const struct ptx_variable *const *)left;
    const struct ptx_variable *b = *(const struct ptx_variable *const *)right;
    uint32_t home_a = a->function ? a->function->index + 1 : 0, home_b = b->function ? b->function->index + 1 : 0;
    if (home_a != home_b)
        return home_a < home_b ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/*
 * Device functions come before entries, variables of the top level before those of bodies: the order in which the printer can write a module
 * without naming anything before it is declared.
 */
static void sort_module(struct parser *parser)
{
    const struct ptx_function **functions = parser->functions.data;
    size_t count = parser->functions.count, filled = 0;
    const struct ptx_function **sorted = parser_allocate(parser, parser->scratch, (count + 1) * sizeof *sorted);
    for (int entries = 0; entries < 2; entries++)
        for (size_t i = 0; i < count; i++)
            if (functions[i]->is_entry == entries)
                sorted[filled++] = functions[i];
    for (size_t i = 0; i < count; i++) {
        functions[i] = sorted[i];
        ((struct ptx_function *)(uintptr_t)sorted[i])->index = (uint32_t)i;
    }
    if (parser->variables.count)
        qsort(parser->variables.data, parser->variables.count, sizeof *parser->variables.data, by_home);
    for (size_t i = 0; i < parser->variables.count; i++)
        ((struct ptx_variable *)(uintptr_t)parser->variables.data[i])->index = (uint32_t)i;
}

static void finish_module(struct parser *parser)
{
    struct ptx_module *module = parser->module;
    sort_module(parser);
    module->arena = parser->arena;
    module->variable_count = (uint32_t)parser->variables.count;
    module->variables =
        parser_copy(parser, parser->variables.data, parser->variables.count * sizeof *parser->variables.data);
    module->function_count = (uint32_t)parser->functions.count;
    module->functions =
        parser_copy(parser, parser->functions.data, parser->functions.count * sizeof *parser->functions.data);
    module->source_line_count = (uint32_t)parser->source_lines.count;
    module->source_lines =
        parser_copy(parser, parser->source_lines.data, parser->source_lines.count * sizeof *parser->source_lines.data);
    module->source_file_count = (uint32_t)parser->source_files.count;
    module->source_files =
        parser_copy(parser, parser->source_files.data, parser->source_files.count * sizeof *parser->source_files.data);
}

static void parse_module(struct parser *parser)
{
    parser->module = parser_allocate(parser, parser->arena, sizeof *parser->module);
    parser->module->file = parser_copy(parser, parser->file, strlen(parser->file) + 1);
    parser->module->address_bits = 32; /* what PTX says when there is no .address_size */
    parser->module->target = parser->module->target_options = "";
    if (!name_table_create(&parser->names, parser->scratch))
        parser_out_of_memory(parser);
    parser_next(parser);
    if (!parser_at_dot(parser, "version")) {
        parser_expected(parser, ".version at the start of a module");
        skip_top(parser);
    }
    while (parser->token.kind != TOKEN_END) {
        const char *before = parser->token.text;
        struct token first = parser->token;
        if (!parse_top(parser)) {
            if (parser->token.text == before && first.kind == TOKEN_DOT)
                parser_next(parser); /* what could not be read must not stop us for ever */
            skip_top(parser);
        }
    }
    if (!parser->module->target_sm && parser->status == CORUN_OK)
        parser_error(parser, CORUN_SYNTAX, parser->token.place, "expected a .target directive, found none");
    if (parser->status == CORUN_OK)
        finish_module(parser);
}

enum corun_status ptx_parse(const char *name, const char *text, size_t bytes, struct corun_diagnostics *list,
                            struct ptx_module **module)
{
    *module = NULL;
    while (bytes && !text[bytes - 1]) /* fat binaries end their text with NUL */
        bytes--;
    struct parser *parser = calloc(1, sizeof *parser);
    if (!parser || !(parser->arena = arena_create()) || !(parser->scratch = arena_create())) {
        if (parser)
            arena_destroy(parser->arena);
        free(parser);
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory while reading PTX");
    }
    parser->file = name;
    parser->list = list;
    parser->names.arena = parser->scratch;
    parser->lexer = (struct lexer){text, text + bytes, text, 1, &parser->names, false};
    if (!setjmp(parser->escape))
        parse_module(parser);
    enum corun_status status = parser->status;
    if (status == CORUN_OK)
        *module = parser->module;
    else
        arena_destroy(parser->arena);
    name_table_destroy(&parser->names);
    arena_destroy(parser->scratch);
    vector_free(&parser->variables);
    vector_free(&parser->functions);
    vector_free(&parser->registers);
    vector_free(&parser->labels);
    vector_free(&parser->instructions);
    vector_free(&parser->locals);
    vector_free(&parser->shared);
    vector_free(&parser->parameters);
    vector_free(&parser->targets);
    vector_free(&parser->arguments);
    vector_free(&parser->initial);
    vector_free(&parser->relocations);
    vector_free(&parser->source_lines);
    vector_free(&parser->source_files);
    free(parser);
    return status;
}

void ptx_module_destroy(struct ptx_module *module)
{
    if (module)
        arena_destroy(module->arena);
}
