/* SPDX-License-Identifier: MIT */
/* Mixes: their number, their order, and samples of them. */
#include "campaign/mixes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void numbers_of_the_papers(void **state)
{
    (void)state;
    static const struct {
        struct mix_rule rule;
        uint64_t count;
    } rows[] = {
        {{12, 2, false, true}, 78},   {{12, 3, false, true}, 364},
        {{12, 4, false, true}, 1365}, {{10, 2, false, false}, 45},
        {{10, 2, true, false}, 90},   {{8, 3, false, false}, 56},
        {{8, 4, false, false}, 70},   {{12, 2, true, false}, 132},
        {{5, 1, false, false}, 5},    {{3, 4, false, false}, 0},
        {{3, 4, true, false}, 0},     {{3, 4, true, true}, 81},
        {{1, 8, false, true}, 1},     {{4, 4, true, false}, 24},
        {{2, 3, false, true}, 4},     {{4000000000u, 8, true, true}, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(mixes_count(&rows[i].rule) == rows[i].count);
}

/* Every mix obeys the rule and is greater than the one before. */
static void order(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        for (uint32_t size = 1; size <= 4; size++) {
            struct mix_rule rule = {6, size, kind & 1, kind & 2};
            uint32_t before[MIX_MAX] = {0}, mix[MIX_MAX];
            for (uint64_t number = 0; number < mixes_count(&rule); number++) {
                mixes_get(&rule, number, mix);
                int greater = 0;
                for (uint32_t i = 0; i < size; i++) {
                    assert_true(mix[i] < rule.things);
                    if (!greater && number)
                        greater = mix[i] > before[i] ? 1 : mix[i] < before[i] ? -1 : 0;
                    for (uint32_t k = 0; k < i; k++) {
                        assert_true(rule.repeated || mix[k] != mix[i]);
                        assert_true(rule.ordered || mix[k] <= mix[i]);
                    }
                }
                assert_true(!number || greater == 1);
                for (uint32_t i = 0; i < size; i++)
                    before[i] = mix[i];
            }
            for (uint32_t i = 0; i < size; i++) /* the last one */
                assert_int_equal(before[i], rule.repeated ? 5 : rule.ordered ? 5 - i : 6 - size + i);
        }
    }
}

static void samples(void **state)
{
    (void)state;
    uint64_t numbers[60], again[60], other[60];
    assert_true(mixes_sample(78, 20, 1, numbers));
    assert_true(mixes_sample(78, 20, 1, again));
    assert_true(mixes_sample(78, 20, 2, other));
    unsigned differ = 0;
    for (unsigned i = 0; i < 20; i++) {
        assert_true(numbers[i] < 78 && numbers[i] == again[i]);
        assert_true(!i || numbers[i] > numbers[i - 1]);
        differ += numbers[i] != other[i];
    }
    assert_true(differ > 5);
    assert_true(mixes_sample(60, 60, 3, numbers)); /* all of them */
    for (unsigned i = 0; i < 60; i++)
        assert_true(numbers[i] == i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_the_papers),
        cmocka_unit_test(order),
        cmocka_unit_test(samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
