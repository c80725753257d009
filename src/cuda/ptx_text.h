/*
 * PTX as text: what has to be done before it is parsed. A module of a template library has dozens of kernels, and one
 * that uses what corun does not know must not keep the others from running.
 */
#ifndef CORUN_CUDA_PTX_TEXT_H
#define CORUN_CUDA_PTX_TEXT_H

#include "base/vector.h"

#include <stdint.h>

struct ptx_text_function {
    size_t name, name_bytes;        /* where its name stands */
    size_t signature_end;           /* behind its name and its parameters: directives follow */
    size_t body, end;               /* its braces: body is the opening one, end is behind the closing one */
    uint32_t first_line, last_line; /* from the directive to the closing brace, from 1 */
    bool is_entry;
};

struct ptx_text {
    VECTOR(struct ptx_text_function) functions;
};

/* Finds the functions with a body. False when out of memory. */
bool ptx_text_scan(struct ptx_text *scan, const char *text, size_t bytes);
void ptx_text_free(struct ptx_text *scan);
/* The function that a line belongs to; NULL if none. */
const struct ptx_text_function *ptx_text_function_at(const struct ptx_text *scan, uint32_t line);
/* Replaces a body by a trap, and its directives by nothing; the text keeps its length and its lines. */
void ptx_text_empty(char *text, const struct ptx_text_function *function);

#endif
