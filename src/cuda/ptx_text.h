/* SPDX-License-Identifier: MIT */
/*
 * PTX as text: what has to be done before it is parsed. A module of a template library has dozens of kernels, and one
 * that uses what corun does not know must not keep the others from running.
 */
#ifndef CORUN_CUDA_PTX_TEXT_H
#define CORUN_CUDA_PTX_TEXT_H

#include "base/vector.h"
#include "ptx/statements.h"

struct ptx_text {
    VECTOR(struct ptx_statement) functions;
};

/* Finds the functions with a body. False when out of memory. */
bool ptx_text_scan(struct ptx_text *scan, const char *text, size_t bytes);
void ptx_text_free(struct ptx_text *scan);
/* The function that a line belongs to; NULL if none. */
const struct ptx_statement *ptx_text_function_at(const struct ptx_text *scan, uint32_t line);
/* Replaces a body by a trap, and its directives by nothing; the text keeps its length and its lines. */
void ptx_text_empty(char *text, const struct ptx_statement *function);

#endif
