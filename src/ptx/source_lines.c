/* SPDX-License-Identifier: MIT */
/* .file and .loc: read leniently, as what cannot be read is no error of a program. */
#include "ptx/source_lines.h"

#include "ptx/parser.h"

#include <stdio.h>
#include <string.h>

#define MOST_ROWS_BACK 4096u

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

/*
 * The row of a place where a function was called that was inlined, counted back from the next one: the caller may have been inlined, too. A
 * compiler writes it before what was inlined there. 0: there is none nearby, of this function.
 */
static uint32_t find_call(const struct parser *parser, const uint32_t place[3])
{
    size_t count = parser->source_lines.count;
    for (uint32_t back = 1; back <= count && back <= MOST_ROWS_BACK; back++) {
        const struct ptx_source_line *row = &parser->source_lines.data[count - back];
        if (!row->file) /* the function begins */
            return 0;
        if (row->file == place[0] && row->line == place[1] && row->column == place[2])
            return back;
    }
    return 0;
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
        row.column = at[2];
    }
    if (known && inlined) {
        row.into_file = into[0];
        row.into_line = into[1];
        row.into = find_call(parser, into);
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

/* The row that says of a line of the PTX where it is from; NULL: none does. */
static const struct ptx_source_line *find_row(const struct ptx_module *module, uint32_t ptx_line)
{
    uint32_t low = 0, high = module->source_line_count; /* rows below `low` are not behind the line */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (module->source_lines[middle].ptx_line <= ptx_line)
            low = middle + 1;
        else
            high = middle;
    }
    return low && module->source_lines[low - 1].line ? &module->source_lines[low - 1] : NULL;
}

uint32_t ptx_source_find(const struct ptx_module *module, uint32_t ptx_line, struct ptx_source_place *places,
                         uint32_t most)
{
    const struct ptx_source_line *row = find_row(module, ptx_line);
    uint32_t count = 0;
    if (!row || !most || !(places[0].path = path_of(module, row->file)))
        return 0;
    places[count++].line = row->line;
    while (count < most && row->into_line && (places[count].path = path_of(module, row->into_file))) {
        places[count++].line = row->into_line;
        if (!row->into)
            break;
        row -= row->into;
    }
    return count;
}

static const char *last_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

const char *ptx_source_text(const struct ptx_module *module, uint32_t ptx_line, char text[PTX_SOURCE_TEXT])
{
    struct ptx_source_place places[PTX_SOURCE_PLACES];
    uint32_t count = ptx_source_find(module, ptx_line, places, PTX_SOURCE_PLACES);
    size_t length = 0;
    *text = 0;
    for (uint32_t i = 0; i < count; i++) {
        char place[PTX_SOURCE_TEXT];
        int bytes = snprintf(place, sizeof place, "%s%.50s:%u", i ? ", inlined at " : "", last_of(places[i].path),
                             places[i].line);
        if (bytes < 0 || length + (size_t)bytes >= PTX_SOURCE_TEXT)
            break;
        memcpy(text + length, place, (size_t)bytes + 1);
        length += (size_t)bytes;
    }
    return text;
}
