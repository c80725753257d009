/* SPDX-License-Identifier: MIT */
/*
 * Integer expressions of launch descriptions: 64-bit signed, + - * / % << >> and parentheses, min(…), max(…), ceildiv(a, b)
 * and named parameters. Division truncates. Overflow, division by zero and unknown names are errors with their column.
 */
#ifndef CORUN_WORKLOAD_EXPRESSION_H
#define CORUN_WORKLOAD_EXPRESSION_H

#include "corun/workload.h"

#define EXPRESSION_MAX_DEPTH 64u
#define EXPRESSION_MAX_LENGTH 1000u

struct scope {
    const struct corun_problem_parameter *parameters;
    size_t parameter_count;
    bool has_step; /* inside of a repetition: `step` counts from 0 */
    int64_t step;
};

/* A letter or _, then letters, digits and _. */
bool expression_is_name(const char *text);
/* Names that an expression takes for something else than a parameter. */
bool expression_is_reserved(const char *name);

/* `place` is that of the text; `exact` says that its characters stand there one by one (columns can be counted). SYNTAX. */
enum corun_status expression_evaluate(const char *text, struct corun_place place, bool exact, const struct scope *scope,
                                      struct corun_diagnostics *list, int64_t *value);

#endif
