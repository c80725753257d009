/* SPDX-License-Identifier: MIT */
/* .file and .loc: read leniently, as what cannot be read is no error of a program. */
#include "ptx/source_lines.h"

#include "ptx/parser.h"

#include <stdio.h>
#include <string.h>

/* The next token, if it is on the same line of the text. */
static bool next_here(struct parser *parser, uint32_t line)
{
    parser_next(parser);
    return parser->token.kind != TOKEN_END && parser->token.place.line == line;
}

/* Up to `count` numbers behind the token at hand; the token behind them is the current one. True if they were there. */
static bool take_numbers(struct parser *parser, uint32_t line, uint32_t *numbers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!next_here(parser, line) || parser->token.kind != TOKEN_INTEGER)
            return false;
        numbers[i] = (uint32_t)parser->token.bits;
    }
    parser_next(parser);
    return true;
}

static bool is_here(const struct parser *parser, uint32_t line)
{
    return parser->token.kind != TOKEN_END && parser->token.place.line == line;
}

void parse_source_line(struct parser *parser)
{
    uint32_t line = parser->token.place.line, at[3] = {0}, into[3] = {0};
    bool known = take_numbers(parser, line, at, 3), inlined = false;
    while (is_here(parser, line)) {
        if (parser->token.kind == TOKEN_WORD && !strcmp(parser->token.name->text, "inlined_at"))
            inlined = take_numbers(parser, line, into, 3);
        else
            parser_next(parser);
    }
    struct ptx_source_line row = {.ptx_line = line};
    if (known) {
        row.file = at[0];
        row.line = at[1];
    }
    if (known && inlined) {
        row.into_file = into[0];
        row.into_line = into[1];
    }
    parser_push(parser, &parser->source_lines, row);
}

void parse_source_file(struct parser *parser)
{
    uint32_t line = parser->token.place.line;
    bool numbered = next_here(parser, line) && parser->token.kind == TOKEN_INTEGER;
    uint32_t number = numbered ? (uint32_t)parser->token.bits : 0;
    if (numbered && next_here(parser, line) && parser->token.kind == TOKEN_STRING && parser->token.length >= 2) {
        char *path = parser_allocate(parser, parser->arena, parser->token.length - 1);
        memcpy(path, parser->token.text + 1, parser->token.length - 2);
        path[parser->token.length - 2] = 0;
        struct ptx_source_file file = {number, path};
        parser_push(parser, &parser->source_files, file);
    }
    lexer_skip_line(&parser->lexer, &parser->token);
    parser_next(parser);
}

void note_source_unknown(struct parser *parser, uint32_t ptx_line)
{
    if (parser->source_lines.count)
        parser_push(parser, &parser->source_lines, (struct ptx_source_line){.ptx_line = ptx_line});
}

static const char *path_of(const struct ptx_module *module, uint32_t number)
{
    for (uint32_t i = module->source_file_count; i > 0; i--)
        if (module->source_files[i - 1].number == number)
            return module->source_files[i - 1].path;
    return NULL;
}

bool ptx_source_find(const struct ptx_module *module, uint32_t ptx_line, struct ptx_source_place *place)
{
    uint32_t low = 0, high = module->source_line_count; /* rows below `low` are not behind the line */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (module->source_lines[middle].ptx_line <= ptx_line)
            low = middle + 1;
        else
            high = middle;
    }
    const struct ptx_source_line *row = low ? &module->source_lines[low - 1] : NULL;
    const char *path = row && row->line ? path_of(module, row->file) : NULL;
    if (!path)
        return false;
    *place = (struct ptx_source_place){.path = path, .line = row->line};
    if (row->into_line && (place->into_path = path_of(module, row->into_file)))
        place->into_line = row->into_line;
    return true;
}

static const char *last_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

const char *ptx_source_text(const struct ptx_module *module, uint32_t ptx_line, char text[PTX_SOURCE_TEXT])
{
    struct ptx_source_place place;
    *text = 0;
    if (!ptx_source_find(module, ptx_line, &place))
        return text;
    int length = snprintf(text, PTX_SOURCE_TEXT, "%.50s:%u", last_of(place.path), place.line);
    if (place.into_path && length > 0 && length < PTX_SOURCE_TEXT)
        snprintf(text + length, (size_t)(PTX_SOURCE_TEXT - length), ", inlined at %.50s:%u", last_of(place.into_path),
                 place.into_line);
    return text;
}
