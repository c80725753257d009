/* SPDX-License-Identifier: MIT */
/* A recursive-descent evaluator of integer expressions; each error has its column. */
#include "workload/expression.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

/* Recursive descent; after the first error `status` is set and everything returns quickly. */
struct evaluation {
    const char *text;
    const char *at;
    struct corun_place place;
    bool exact;
    const struct scope *scope;
    struct corun_diagnostics *list;
    enum corun_status status;
    unsigned depth;
};

static const char *const functions[] = {"min", "max", "ceildiv"};
enum function { FUNCTION_MIN, FUNCTION_MAX, FUNCTION_CEILDIV, FUNCTION_NONE };

static int64_t shifted(struct evaluation *evaluation);

static struct corun_place place_at(const struct evaluation *evaluation, const char *at)
{
    struct corun_place place = evaluation->place;
    if (evaluation->exact)
        place.column += (uint32_t)(at - evaluation->text);
    return place;
}

/* Reports the first error only; always 0, so that a value can be returned with it. */
__attribute__((format(printf, 3, 4))) static int64_t fail(struct evaluation *evaluation, const char *where,
                                                          const char *format, ...)
{
    if (evaluation->status)
        return 0;
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    evaluation->status = corun_report(evaluation->list, CORUN_SYNTAX, place_at(evaluation, where), "%s", text);
    return 0;
}

static void skip_blanks(struct evaluation *evaluation)
{
    while (isspace((unsigned char)*evaluation->at))
        evaluation->at++;
}

static bool take(struct evaluation *evaluation, char character)
{
    skip_blanks(evaluation);
    if (*evaluation->at != character)
        return false;
    evaluation->at++;
    return true;
}

static int64_t number(struct evaluation *evaluation)
{
    const char *start = evaluation->at;
    int base = 10;
    if (start[0] == '0' && (start[1] | 32) == 'x' && isxdigit((unsigned char)start[2])) {
        base = 16;
        evaluation->at += 2;
    }
    int64_t value = 0;
    for (; isalnum((unsigned char)*evaluation->at) || *evaluation->at == '_' || *evaluation->at == '.';
         evaluation->at++) {
        int c = tolower((unsigned char)*evaluation->at);
        int digit = isdigit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : base;
        if (digit >= base)
            return fail(evaluation, start, "'%.40s' is not an integer", start);
        if (__builtin_mul_overflow(value, (int64_t)base, &value) ||
            __builtin_add_overflow(value, (int64_t)digit, &value))
            return fail(evaluation, start, "the number '%.40s' does not fit 64 bits", start);
    }
    return value;
}

static int64_t divide(struct evaluation *evaluation, const char *where, int64_t left, int64_t right, char op)
{
    if (right == 0)
        return fail(evaluation, where, "division by zero in '%.80s'", evaluation->text);
    if (right == -1) { /* the one quotient that can overflow */
        int64_t negated = 0;
        if (op == '/' && __builtin_sub_overflow(INT64_C(0), left, &negated))
            return fail(evaluation, where, "overflow in '%.80s'", evaluation->text);
        return negated;
    }
    return op == '%' ? left % right : left / right;
}

static int64_t ceildiv(struct evaluation *evaluation, const char *where, int64_t left, int64_t right)
{
    int64_t quotient = divide(evaluation, where, left, right, '/');
    if (!evaluation->status && left % (right == -1 ? 1 : right) != 0 && (left < 0) == (right < 0))
        quotient++; /* cannot overflow: |right| > 1 here */
    return quotient;
}

static int64_t call(struct evaluation *evaluation, enum function function, const char *where)
{
    if (!take(evaluation, '('))
        return fail(evaluation, evaluation->at, "expected ( after '%s'", functions[function]);
    int64_t value = shifted(evaluation);
    unsigned count = 1;
    while (!evaluation->status && take(evaluation, ',')) {
        int64_t next = shifted(evaluation);
        count++;
        if (evaluation->status)
            return 0;
        if (function == FUNCTION_CEILDIV)
            value = count > 2 ? fail(evaluation, where, "ceildiv takes two arguments")
                              : ceildiv(evaluation, where, value, next);
        else if (function == FUNCTION_MIN ? next < value : next > value)
            value = next;
    }
    if (!evaluation->status && count < 2 && *evaluation->at)
        return fail(evaluation, where, "'%s' takes two arguments%s", functions[function],
                    function == FUNCTION_CEILDIV ? "" : " or more");
    if (!evaluation->status && !take(evaluation, ')'))
        return fail(evaluation, evaluation->at,
                    "expected ) in '%.80s' (inside of [ ] and { }, YAML wants quotes around what has a comma)",
                    evaluation->text);
    return value;
}

static int64_t named(struct evaluation *evaluation)
{
    const char *start = evaluation->at;
    while (isalnum((unsigned char)*evaluation->at) || *evaluation->at == '_')
        evaluation->at++;
    size_t length = (size_t)(evaluation->at - start);
    for (unsigned i = 0; i < FUNCTION_NONE; i++) {
        if (strlen(functions[i]) == length && memcmp(functions[i], start, length) == 0)
            return call(evaluation, (enum function)i, start);
    }
    const struct scope *scope = evaluation->scope;
    if (length == 4 && memcmp(start, "step", 4) == 0)
        return scope->has_step ? scope->step : fail(evaluation, start, "'step' has a value in launches only");
    for (size_t i = 0; i < scope->parameter_count; i++) {
        const char *name = scope->parameters[i].name;
        if (strlen(name) == length && memcmp(name, start, length) == 0)
            return scope->parameters[i].value;
    }
    return fail(evaluation, start, "there is no parameter '%.*s'", (int)(length > 80 ? 80 : length), start);
}

static int64_t factor(struct evaluation *evaluation)
{
    skip_blanks(evaluation);
    const char *start = evaluation->at;
    if (evaluation->depth >= EXPRESSION_MAX_DEPTH)
        return fail(evaluation, start, "the expression is nested too deeply");
    evaluation->depth++;
    int64_t value = 0;
    if (take(evaluation, '-')) {
        int64_t operand = factor(evaluation);
        if (__builtin_sub_overflow(INT64_C(0), operand, &value))
            value = fail(evaluation, start, "overflow in '%.80s'", evaluation->text);
    } else if (take(evaluation, '(')) {
        value = shifted(evaluation);
        if (!evaluation->status && !take(evaluation, ')'))
            value = fail(evaluation, evaluation->at, "expected ) in '%.80s'", evaluation->text);
    } else if (isdigit((unsigned char)*start)) {
        value = number(evaluation);
    } else if (isalpha((unsigned char)*start) || *start == '_') {
        value = named(evaluation);
    } else {
        value = *start ? fail(evaluation, start, "expected a number or a name, found '%.20s'", start)
                       : fail(evaluation, start, "an expression is missing");
    }
    evaluation->depth--;
    return value;
}

static int64_t product(struct evaluation *evaluation)
{
    int64_t value = factor(evaluation);
    while (!evaluation->status) {
        skip_blanks(evaluation);
        const char *where = evaluation->at;
        char op = *where;
        if (op != '*' && op != '/' && op != '%')
            break;
        evaluation->at++;
        int64_t right = factor(evaluation);
        if (evaluation->status)
            break;
        if (op != '*')
            value = divide(evaluation, where, value, right, op);
        else if (__builtin_mul_overflow(value, right, &value))
            value = fail(evaluation, where, "overflow in '%.80s'", evaluation->text);
    }
    return value;
}

static int64_t sum(struct evaluation *evaluation)
{
    int64_t value = product(evaluation);
    while (!evaluation->status) {
        skip_blanks(evaluation);
        const char *where = evaluation->at;
        if (*where != '+' && *where != '-')
            break;
        evaluation->at++;
        int64_t right = product(evaluation);
        if (evaluation->status)
            break;
        bool overflow =
            *where == '+' ? __builtin_add_overflow(value, right, &value) : __builtin_sub_overflow(value, right, &value);
        if (overflow)
            value = fail(evaluation, where, "overflow in '%.80s'", evaluation->text);
    }
    return value;
}

/* value * 2^distance, or divided by it, towards minus infinity. */
static int64_t shift(struct evaluation *evaluation, const char *where, int64_t value, int64_t distance)
{
    if (distance < 0 || distance > 62)
        return fail(evaluation, where, "a shift by %lld in '%.80s': 0 to 62 is possible", (long long)distance,
                    evaluation->text);
    if (*where == '>')
        return value >> distance;
    if (__builtin_mul_overflow(value, INT64_C(1) << distance, &value))
        return fail(evaluation, where, "overflow in '%.80s'", evaluation->text);
    return value;
}

/* As in C, << and >> bind less than + and -. */
static int64_t shifted(struct evaluation *evaluation)
{
    int64_t value = sum(evaluation);
    while (!evaluation->status) {
        skip_blanks(evaluation);
        const char *where = evaluation->at;
        if ((*where != '<' && *where != '>') || where[1] != *where)
            break;
        evaluation->at += 2;
        int64_t distance = sum(evaluation);
        if (!evaluation->status)
            value = shift(evaluation, where, value, distance);
    }
    return value;
}

bool expression_is_name(const char *text)
{
    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    while (isalnum((unsigned char)*text) || *text == '_')
        text++;
    return *text == 0;
}

bool expression_is_reserved(const char *name)
{
    for (unsigned i = 0; i < FUNCTION_NONE; i++) {
        if (strcmp(functions[i], name) == 0)
            return true;
    }
    return strcmp(name, "step") == 0;
}

enum corun_status expression_evaluate(const char *text, struct corun_place place, bool exact, const struct scope *scope,
                                      struct corun_diagnostics *list, int64_t *value)
{
    struct evaluation evaluation = {text, text, place, exact, scope, list, CORUN_OK, 0};
    if (strlen(text) > EXPRESSION_MAX_LENGTH)
        fail(&evaluation, text, "an expression of more than %u characters", EXPRESSION_MAX_LENGTH);
    int64_t result = evaluation.status ? 0 : shifted(&evaluation);
    skip_blanks(&evaluation);
    if (!evaluation.status && *evaluation.at)
        fail(&evaluation, evaluation.at, "expected an operator, found '%.20s'", evaluation.at);
    if (!evaluation.status)
        *value = result;
    return evaluation.status;
}
