/* SPDX-License-Identifier: MIT */
/* Rows of matrix products: every build of them, in floats and in integers, has the same bits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "isa/matrix_rows.h"

static uint32_t draw(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(*random >> 32);
}

static float value_of_parts(int32_t significand, int32_t exponent, int32_t fraction_bits)
{
    return significand ? ldexpf((float)significand, exponent - fraction_bits) : 0;
}

/* A finite c that rows with `moderate` may have: 0, near the ends of its range, or anything else. */
static uint32_t draw_moderate(uint64_t *random)
{
    uint32_t bits = draw(random), fraction = bits & 0x7fffff, kind = draw(random) % 6, exponent;
    if (kind == 0)
        return bits & 0x80000000u;
    exponent = kind == 1 ? 27 : kind == 2 ? 254 : kind == 3 ? 27 + draw(random) % 228 : 107 + draw(random) % 40;
    return (bits & 0x80000000u) | exponent << 23 | fraction;
}

/* Both builds of rows give the same bits, and so do floats and integers. */
static void test_levels(void **state)
{
    (void)state;
    uint64_t random = 1;
    static struct matrix_numbers a, b;
    for (size_t i = 0; i < 3000; i++) {
        int32_t range = i % 3 == 0 ? 4 : i % 3 == 1 ? 20 : MATRIX_MODERATE, nothing = (int32_t)(draw(&random) % 6) * 20;
        for (size_t n = 0; n < MATRIX_ELEMENTS; n++) {
            a.significand[n] = (int32_t)(draw(&random) % 100) < nothing ? 0 : (int32_t)(draw(&random) % 4095) - 2047;
            b.significand[n] = (int32_t)(draw(&random) % 4095) - 2047;
            a.exponent[n] =
                a.significand[n] ? (int32_t)(draw(&random) % (2 * (uint32_t)range + 1)) - range : MATRIX_LOWEST;
            b.exponent[n] =
                b.significand[n] ? (int32_t)(draw(&random) % (2 * (uint32_t)range + 1)) - range : MATRIX_LOWEST;
            a.value[n] = value_of_parts(a.significand[n], a.exponent[n], 10);
            b.value[n] = value_of_parts(b.significand[n], b.exponent[n], 10);
        }
        uint8_t rows[16];
        for (size_t n = 0; n < 16; n++)
            rows[n] = (uint8_t)(draw(&random) % 32);
        bool coarse = i % 11 == 0;
        struct matrix_rows row = {.a = &a,
                                  .b = &b,
                                  .lines = 1,
                                  .rows = i % 5 ? NULL : rows,
                                  .count = 16,
                                  .columns = 32,
                                  .fraction_bits = 20,
                                  .block = i % 2 ? 8 : 16,
                                  .kept = coarse ? 13 : 24 + (uint32_t)i % 2,
                                  .lost = coarse ? 1023 : 0,
                                  .zero = i % 7 ? -133 : MATRIX_LOWEST,
                                  .to_half = i % 4 == 0};
        uint32_t first[32], other[32], floats[32], baseline[32];
        for (size_t n = 0; n < 32; n++)
            first[n] = other[n] = floats[n] = baseline[n] = draw_moderate(&random);
        matrix_add_rows(&row, LANES_BASELINE, first);
        matrix_add_rows(&row, lanes_level_best(), other);
        row.moderate = true;
        matrix_add_rows(&row, LANES_BASELINE, baseline);
        matrix_add_rows(&row, lanes_level_best(), floats);
        assert_memory_equal(first, other, sizeof first);
        assert_memory_equal(first, baseline, sizeof first);
        assert_memory_equal(first, floats, sizeof first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
