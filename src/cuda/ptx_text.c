/* SPDX-License-Identifier: MIT */
/* PTX as text: functions found, and emptied. */
#include "cuda/ptx_text.h"

#include "cuda/module.h"

#include <stdlib.h>
#include <string.h>

bool ptx_text_scan(struct ptx_text *scan, const char *text, size_t bytes)
{
    struct lexer lexer = {.at = text, .end = text + bytes, .line_start = text, .line = 1};
    struct ptx_statement statement;
    while (ptx_statement_next(&lexer, text, &statement))
        if (statement.is_function && statement.has_body && statement.name_bytes &&
            !vector_push(&scan->functions, statement))
            return false;
    return true;
}

void ptx_text_free(struct ptx_text *scan)
{
    vector_free(&scan->functions);
}

const struct ptx_statement *ptx_text_function_at(const struct ptx_text *scan, uint32_t line)
{
    for (size_t i = 0; i < scan->functions.count; i++)
        if (line >= scan->functions.data[i].first_line && line <= scan->functions.data[i].last_line)
            return &scan->functions.data[i];
    return NULL;
}

void ptx_text_empty(char *text, const struct ptx_statement *function)
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
