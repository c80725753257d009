#include "cuda/ptx_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct scanner {
    const char *text;
    size_t at, bytes;
    uint32_t line;
};

static bool word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

/* Steps over one character, a comment or a string. */
static void step(struct scanner *scanner)
{
    const char *text = scanner->text;
    size_t left = scanner->bytes - scanner->at;
    if (left > 1 && text[scanner->at] == '/' && text[scanner->at + 1] == '/') {
        while (scanner->at < scanner->bytes && text[scanner->at] != '\n')
            scanner->at++;
        return;
    }
    if (left > 1 && text[scanner->at] == '/' && text[scanner->at + 1] == '*') {
        scanner->at += 2;
        while (scanner->at + 1 < scanner->bytes && !(text[scanner->at] == '*' && text[scanner->at + 1] == '/'))
            scanner->line += text[scanner->at++] == '\n';
        scanner->at = scanner->at + 2 < scanner->bytes ? scanner->at + 2 : scanner->bytes;
        return;
    }
    if (text[scanner->at] == '"') {
        for (scanner->at++; scanner->at < scanner->bytes && text[scanner->at] != '"'; scanner->at++)
            scanner->line += text[scanner->at] == '\n';
    }
    if (scanner->at < scanner->bytes)
        scanner->line += text[scanner->at++] == '\n';
}

/* At a word: its length. */
static size_t word_length(const struct scanner *scanner)
{
    size_t length = 0;
    while (scanner->at + length < scanner->bytes && word_character(scanner->text[scanner->at + length]))
        length++;
    return length;
}

bool ptx_text_scan(struct ptx_text *scan, const char *text, size_t bytes)
{
    struct scanner scanner = {text, 0, bytes, 1};
    struct ptx_text_function function = {0};
    bool heading = false; /* between .entry or .func and the body */
    uint32_t depth = 0, parentheses = 0;
    while (scanner.at < bytes) {
        char c = text[scanner.at];
        if (c == '{' && depth++ == 0)
            function.body = scanner.at;
        else if (c == '}' && depth && --depth == 0 && heading) {
            function.end = scanner.at + 1;
            function.last_line = scanner.line;
            heading = false;
            if (function.name_bytes && !vector_push(&scan->functions, function))
                return false;
        } else if (depth == 0 && (c == '(' || c == ')')) {
            parentheses += c == '(' ? 1u : parentheses ? UINT32_MAX : 0u;
            if (!parentheses && function.name_bytes)
                function.signature_end = scanner.at + 1;
        } else if (depth == 0 && c == ';') {
            heading = false;
        } else if (depth == 0 && c == '.' && bytes - scanner.at > 6 &&
                   (!memcmp(text + scanner.at, ".entry", 6) || !memcmp(text + scanner.at, ".func", 5)) &&
                   !word_character(text[scanner.at + (text[scanner.at + 1] == 'e' ? 6 : 5)])) {
            function = (struct ptx_text_function){.first_line = scanner.line, .is_entry = text[scanner.at + 1] == 'e'};
            heading = true;
            parentheses = 0;
            scanner.at += function.is_entry ? 6 : 5;
            continue;
        } else if (depth == 0 && heading && !parentheses && !function.name_bytes && word_character(c)) {
            function.name = scanner.at;
            function.name_bytes = word_length(&scanner);
            scanner.at += function.name_bytes;
            function.signature_end = scanner.at;
            continue;
        }
        step(&scanner);
    }
    return true;
}

void ptx_text_free(struct ptx_text *scan)
{
    vector_free(&scan->functions);
}

const struct ptx_text_function *ptx_text_function_at(const struct ptx_text *scan, uint32_t line)
{
    for (size_t i = 0; i < scan->functions.count; i++)
        if (line >= scan->functions.data[i].first_line && line <= scan->functions.data[i].last_line)
            return &scan->functions.data[i];
    return NULL;
}

void ptx_text_empty(char *text, const struct ptx_text_function *function)
{
    static const char trap[] = "trap;";
    for (size_t i = function->signature_end; i < function->body; i++)
        if (text[i] != '\n')
            text[i] = ' ';
    for (size_t i = function->body + 1; i + 1 < function->end; i++)
        if (text[i] != '\n')
            text[i] = ' ';
    size_t room = 0;
    for (size_t i = function->body + 1; i + 1 < function->end; i++) {
        room = text[i] == ' ' ? room + 1 : 0;
        if (room == sizeof trap - 1) {
            memcpy(text + i + 1 - room, trap, room);
            return;
        }
    }
}
