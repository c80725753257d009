/* SPDX-License-Identifier: MIT */
/* Integer expressions of launch descriptions. */
#include "workload/expression.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct corun_problem_parameter parameters[] = {{"n", 100}, {"most", INT64_MAX}, {"least", INT64_MIN}};
static const struct scope scope = {.parameters = parameters, .parameter_count = 3, .has_step = true, .step = 7};

static void values(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } rows[] = {
        {"0", 0},
        {" 42 ", 42},
        {"0x1F", 31},
        {"2 + 3 * 4", 14},
        {"(2 + 3) * 4", 20},
        {"7 - 3 - 2", 2},
        {"-n + 1", -99},
        {"- - 3", 3},
        {"-7 / 2", -3},
        {"-7 % 3", -1},
        {"ceildiv(n, 32)", 4},
        {"ceildiv(96, 32)", 3},
        {"ceildiv(-7, 2)", -3},
        {"ceildiv(-7, -2)", 4},
        {"min(n, 3, 5)", 3},
        {"max(1, min(n, 64))", 64},
        {"step * 2", 14},
        {"1 << step", 128},
        {"1 << 2 + 3", 32},
        {"-5 >> 1", -3},
        {"256 >> 3 >> 1", 16},
        {"most >> 62", 1},
        {"9223372036854775807", INT64_MAX},
        {"least % -1", 0},
        {"ceildiv(most, -1)", -INT64_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t value = 0;
        assert_int_equal(expression_evaluate(rows[i].text, CORUN_NOWHERE, true, &scope, NULL, &value), CORUN_OK);
        if (value != rows[i].value)
            fail_msg("%s is %lld", rows[i].text, (long long)value);
    }
}

static void errors(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t column;
        const char *message;
    } rows[] = {
        {"", 1, "an expression is missing"},
        {"1 +", 4, "an expression is missing"},
        {"n n", 3, "expected an operator"},
        {"(1", 3, "expected )"},
        {"1)", 2, "expected an operator"},
        {"nn", 1, "there is no parameter 'nn'"},
        {"1.5", 1, "not an integer"},
        {"12k", 1, "not an integer"},
        {"9223372036854775808", 1, "does not fit 64 bits"},
        {"n / (n - 100)", 3, "division by zero"},
        {"n % 0", 3, "division by zero"},
        {"ceildiv(n, 0)", 1, "division by zero"},
        {"most + 1", 6, "overflow"},
        {"n << 60", 3, "overflow"},
        {"n << 63", 3, "a shift by 63"},
        {"n >> -1", 3, "a shift by -1"},
        {"n < 3", 3, "expected an operator"},
        {"least - 1", 7, "overflow"},
        {"most * 2", 6, "overflow"},
        {"-least", 1, "overflow"},
        {"least / -1", 7, "overflow"},
        {"min(n)", 1, "takes two arguments or more"},
        {"ceildiv(1, 2, 3)", 1, "takes two arguments"},
        {"ceildiv(n", 10, "wants quotes"},
        {"max", 4, "expected ("},
        {"1 & 2", 3, "expected an operator"},
    };
    struct corun_diagnostics *list = corun_diagnostics_create();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t value = 12345;
        corun_diagnostics_clear(list);
        struct corun_place place = {"file", 3, 1};
        assert_int_equal(expression_evaluate(rows[i].text, place, true, &scope, list, &value), CORUN_SYNTAX);
        assert_int_equal(value, 12345);
        assert_int_equal(corun_diagnostics_count(list), 1);
        const struct corun_diagnostic *item = corun_diagnostics_get(list, 0);
        if (!strstr(item->message, rows[i].message) || item->place.column != rows[i].column)
            fail_msg("'%s': column %u: %s", rows[i].text, item->place.column, item->message);
    }
    corun_diagnostics_destroy(list);
}

static void hostile(void **state)
{
    (void)state;
    char text[4000];
    int64_t value;
    memset(text, '(', sizeof text);
    text[200] = 0; /* deeper than allowed, not longer */
    assert_int_equal(expression_evaluate(text, CORUN_NOWHERE, true, &scope, NULL, &value), CORUN_SYNTAX);
    memset(text, '-', sizeof text);
    text[250] = 0;
    assert_int_equal(expression_evaluate(text, CORUN_NOWHERE, true, &scope, NULL, &value), CORUN_SYNTAX);
    memset(text, '1', sizeof text);
    text[sizeof text - 1] = 0;
    assert_int_equal(expression_evaluate(text, CORUN_NOWHERE, true, &scope, NULL, &value), CORUN_SYNTAX);
    struct scope outside = {0};
    assert_int_equal(expression_evaluate("step", CORUN_NOWHERE, true, &outside, NULL, &value), CORUN_SYNTAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(errors),
        cmocka_unit_test(hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
