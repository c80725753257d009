/* SPDX-License-Identifier: MIT */
/* A number for each text, however many there are. */
#include "base/text_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MANY 20000u

static void texts_keep_their_numbers(void **state)
{
    (void)state;
    static char texts[MANY][16];
    struct text_table table = {0};
    size_t found;
    assert_false(text_table_find(&table, "", 0, &found));
    for (size_t i = 0; i < MANY; i++) {
        snprintf(texts[i], sizeof texts[i], "%zu", i * i);
        assert_true(text_table_find_or_add(&table, texts[i], strlen(texts[i]), i, &found));
        assert_int_equal(found, i);
    }
    assert_int_equal(table.count, MANY);
    for (size_t i = 0; i < MANY; i++) {
        char copy[16];
        memcpy(copy, texts[i], sizeof copy);
        assert_true(text_table_find_or_add(&table, copy, strlen(copy), MANY, &found));
        assert_int_equal(found, i);
    }
    assert_int_equal(table.count, MANY);
    assert_false(text_table_find(&table, "2", 1, &found));
    assert_true(text_table_find(&table, "16 and more", 2, &found));
    assert_int_equal(found, 4);
    text_table_free(&table);
    assert_false(text_table_find(&table, "16", 2, &found));
}

static void texts_may_be_empty_or_have_any_bytes(void **state)
{
    (void)state;
    struct text_table table = {0};
    size_t found;
    assert_true(text_table_find_or_add(&table, "", 0, 7, &found));
    assert_true(text_table_find_or_add(&table, "\0a", 2, 8, &found));
    assert_true(text_table_find_or_add(&table, "\0b", 2, 9, &found));
    assert_true(text_table_find(&table, "", 0, &found));
    assert_int_equal(found, 7);
    assert_true(text_table_find(&table, "\0a", 2, &found));
    assert_int_equal(found, 8);
    assert_false(text_table_find(&table, "\0", 1, &found));
    text_table_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_keep_their_numbers),
        cmocka_unit_test(texts_may_be_empty_or_have_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
