/* SPDX-License-Identifier: MIT */
/* Half precision as generators and references have it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../kernels/include/half.h"

/* From end to end, where the exponent is the largest. */
static void test_steps_are_exact(void **state)
{
    (void)state;
    for (int steps = -2048; steps <= 2048; steps++)
        assert_true(half_value(half_of_steps(steps)) == steps / 1024.0);
    assert_int_equal(half_of_steps(-2048), 0xc000);
    assert_int_equal(half_of_steps(2048), 0x4000);
    assert_int_equal(half_of_steps(1), 0x1400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps_are_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
