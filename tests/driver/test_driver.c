/* SPDX-License-Identifier: MIT */
/* A driver is found or its absence named; what a user does not need may be missing. The driver is that of the tests of split. */
#include "driver/driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

struct opened {
    struct driver driver;
    struct corun_diagnostics *list;
};

static int begin(void **state)
{
    struct opened *opened = *state = calloc(1, sizeof *opened);
    opened->list = corun_diagnostics_create();
    return unsetenv("FAKE_CUDA_DEVICES");
}

static int end(void **state)
{
    struct opened *opened = *state;
    corun_diagnostics_destroy(opened->list);
    free(opened);
    return 0;
}

static enum corun_status open_with(struct opened *opened, const char *library, enum driver_entry needed)
{
    return driver_open(&opened->driver, library, &needed, 1, opened->list);
}

static void assert_said(const struct opened *opened, const char *expected)
{
    assert_int_equal(corun_diagnostics_count(opened->list), 1);
    assert_string_equal(corun_diagnostics_get(opened->list, 0)->message, expected);
}

static void finds_the_one_of_the_loader(void **state)
{
    struct opened *opened = *state;
    setenv("FAKE_CUDA_DEVICES", "3", 1);
    assert_int_equal(open_with(opened, NULL, DRIVER_launch), CORUN_OK);
    assert_int_equal(opened->driver.count, 3);
    assert_false(opened->driver.simulated);
    assert_non_null(opened->driver.launch);
    assert_string_equal(driver_error(&opened->driver, 700), "CUDA_ERROR_ILLEGAL_ADDRESS");
}

static void what_nobody_needs_may_be_missing(void **state)
{
    struct opened *opened = *state;
    assert_int_equal(open_with(opened, FAKE_DRIVER, DRIVER_launch), CORUN_OK);
    assert_null(opened->driver.memory_info);
}

static void what_is_needed_and_missing_is_named(void **state)
{
    struct opened *opened = *state;
    assert_int_equal(open_with(opened, "libcuda.so.1", DRIVER_memory_info), CORUN_UNSUPPORTED);
    assert_said(opened, "libcuda.so.1 is too old, or no driver of CUDA: there is no cuMemGetInfo_v2");
}

static void a_library_of_something_else_is_refused(void **state)
{
    struct opened *opened = *state;
    assert_int_equal(open_with(opened, "libc.so.6", DRIVER_launch), CORUN_UNSUPPORTED);
    assert_said(opened, "libc.so.6 is too old, or no driver of CUDA: there is no cuInit");
}

static void no_library_is_named(void **state)
{
    struct opened *opened = *state;
    assert_int_equal(open_with(opened, "/nowhere/libcuda.so.1", DRIVER_launch), CORUN_NOT_FOUND);
    assert_said(
        opened,
        "there is no driver of CUDA: /nowhere/libcuda.so.1: cannot open shared object file: No such file or directory");
}

static void a_driver_without_devices_is_none(void **state)
{
    struct opened *opened = *state;
    setenv("FAKE_CUDA_DEVICES", "0", 1);
    assert_int_equal(open_with(opened, NULL, DRIVER_launch), CORUN_NOT_FOUND);
    assert_said(opened, "libcuda.so.1 finds no GPU");
}

static void entries_have_names(void **state)
{
    (void)state;
    assert_string_equal(driver_entry_name(DRIVER_init), "cuInit");
    assert_string_equal(driver_entry_name(DRIVER_launch), "cuLaunchKernel");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_the_one_of_the_loader, begin, end),
        cmocka_unit_test_setup_teardown(what_nobody_needs_may_be_missing, begin, end),
        cmocka_unit_test_setup_teardown(what_is_needed_and_missing_is_named, begin, end),
        cmocka_unit_test_setup_teardown(a_library_of_something_else_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(no_library_is_named, begin, end),
        cmocka_unit_test_setup_teardown(a_driver_without_devices_is_none, begin, end),
        cmocka_unit_test(entries_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
