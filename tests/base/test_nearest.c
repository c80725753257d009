/* SPDX-License-Identifier: MIT */
/* The nearest of known names: what was meant is found, nothing far away is suggested. */
#include "base/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char *const names[] = {"cooperative", "even", "sgemm", "spmv", "stencil"};

static const char *find(const char *text)
{
    return nearest_name(text, names, sizeof names / sizeof names[0]);
}

static void finds_what_was_meant(void **unused)
{
    (void)unused;
    assert_string_equal(find("eevn"), "even");
    assert_string_equal(find("coperative"), "cooperative");
    assert_string_equal(find("sgem"), "sgemm");
    assert_string_equal(find("stencil"), "stencil");
}

static void suggests_nothing_far_away(void **unused)
{
    (void)unused;
    char long_name[1000];
    memset(long_name, 'e', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    assert_null(find("histogram"));
    assert_null(find("x"));
    assert_null(find(""));
    assert_null(find(long_name));
    assert_null(nearest_name("even", names, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_meant),
        cmocka_unit_test(suggests_nothing_far_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
