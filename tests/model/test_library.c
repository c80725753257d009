/* SPDX-License-Identifier: MIT */
/* Libraries for learning are found by name when they are needed; what is missing is told. */
#include "model/library.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_function_is_found_again_and_again(void **state)
{
    (void)state;
    struct corun_diagnostics *list = corun_diagnostics_create();
    double (*first)(double) = NULL, (*second)(double) = NULL;
    const struct library_function once[] = {{"floor", &first}}, again[] = {{"floor", &second}};
    assert_int_equal(library_functions("libm.so.6", once, 1, list), CORUN_OK);
    assert_int_equal(library_functions("libm.so.6", again, 1, list), CORUN_OK);
    assert_true(first == second && first(2.5) == 2);
    assert_int_equal(corun_diagnostics_count(list), 0);
    corun_diagnostics_destroy(list);
}

static void a_library_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct corun_diagnostics *list = corun_diagnostics_create();
    void *place = NULL;
    const struct library_function functions[] = {{"anything", &place}};
    assert_int_equal(library_functions("libcorun-nowhere.so.7", functions, 1, list), CORUN_NOT_FOUND);
    assert_int_equal(corun_diagnostics_count(list), 1);
    assert_non_null(strstr(corun_diagnostics_get(list, 0)->message, "libcorun-nowhere.so.7"));
    corun_diagnostics_destroy(list);
}

static void a_function_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct corun_diagnostics *list = corun_diagnostics_create();
    void *there = NULL, *place = NULL;
    const struct library_function functions[] = {{"floor", &there}, {"corun_nothing", &place}};
    assert_int_equal(library_functions("libm.so.6", functions, 2, list), CORUN_NOT_FOUND);
    assert_non_null(strstr(corun_diagnostics_get(list, 0)->message, "corun_nothing"));
    corun_diagnostics_destroy(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_is_found_again_and_again),
        cmocka_unit_test(a_library_that_is_not_there_is_named),
        cmocka_unit_test(a_function_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
