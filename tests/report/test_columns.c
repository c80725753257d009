/* SPDX-License-Identifier: MIT */
/* Columns of listings: widths, long names, letters of several bytes, texts of several lines; labels of kernels. */
#include "report/columns.h"
#include "report/kernel_labels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct rig {
    struct arena *arena;
    char *text;
    size_t bytes;
    FILE *stream;
};

static int setup(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    rig->arena = arena_create();
    rig->stream = open_memstream(&rig->text, &rig->bytes);
    *state = rig;
    return 0;
}

static int teardown(void **state)
{
    struct rig *rig = *state;
    arena_destroy(rig->arena);
    fclose(rig->stream);
    free(rig->text);
    free(rig);
    return 0;
}

static const char *print(struct rig *rig, struct columns *columns, const struct report_style *style)
{
    assert_true(columns_print(columns, style, rig->stream));
    fflush(rig->stream);
    return rig->text;
}

static struct columns *names(struct rig *rig, const char *const *rows, size_t count)
{
    static const char *const titles[] = {"<name", "number"};
    struct columns *columns = columns_create(rig->arena, titles, 2);
    for (size_t i = 0; i < count; i++) {
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", rows[i]);
        columns_set(columns, 1, PAINT_NONE, "%zu", i);
    }
    return columns;
}

static void a_table_takes_what_it_needs(void **state)
{
    char long_name[301] = {0};
    memset(long_name, 'a', 300);
    const char *rows[] = {long_name, "b"};
    assert_non_null(strstr(print(*state, names(*state, rows, 2), &(struct report_style){0}), long_name));
}

static void long_names_lose_their_middle_and_stay_different(void **state)
{
    const char *rows[] = {"abcdefghijklmnopqrstuvwxyz", "abcdefghijklMNopqrstuvwxyz", "abcdefghijk--mnopqrstuvwxyz",
                          "abcdefghijklmnopqrstuvwxyz", "short"};
    assert_string_equal(print(*state, names(*state, rows, 5), &(struct report_style){.width = 28}),
                        "name                  number\n"
                        "----------------------------\n"
                        "abcdefghi..rstuvwxyz       0\n"
                        "abcdefgh..2..tuvwxyz       1\n"
                        "abcdefgh..3..tuvwxyz       2\n"
                        "abcdefghi..rstuvwxyz       3\n"
                        "short                      4\n");
}

static void letters_are_counted_not_bytes(void **state)
{
    const char *rows[] = {"\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
                          "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"};
    const char *text = print(*state, names(*state, rows, 1), &(struct report_style){.width = 10, .utf8 = true});
    assert_non_null(strstr(text, "\n\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u2026\u00e4\u00e4"
                                 "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4  "));
}

static void texts_continue_below(void **state)
{
    static const char *const titles[] = {"<name", "mean time", "<meaning"};
    struct rig *rig = *state;
    struct columns *columns = columns_create(rig->arena, titles, 3);
    columns_row(columns);
    columns_set(columns, 0, PAINT_NONE, "sms");
    columns_set(columns, 1, PAINT_NONE, "2 ms");
    columns_set(columns, 2, PAINT_NONE, "streaming multiprocessors of the GPU");
    const struct report_style style = {.width = 32, .wraps = true};
    assert_string_equal(print(rig, columns, &style), "name  mean time  meaning\n"
                                                     "--------------------------------\n"
                                                     "sms        2 ms  streaming\n"
                                                     "                 multiprocessors\n"
                                                     "                 of the GPU\n");
}

static uint32_t widest_line(const char *text)
{
    uint32_t widest = 0;
    for (size_t bytes; *text; text += bytes + (text[bytes] == '\n')) {
        uint32_t width = 0;
        bytes = strcspn(text, "\n");
        for (size_t i = 0; i < bytes; i++)
            width += ((unsigned char)text[i] & 0xc0) != 0x80;
        widest = width > widest ? width : widest;
    }
    return widest;
}

static struct columns *many_columns(struct rig *rig)
{
    static const char *const titles[] = {"<kernel", "launches", "cycles",  "time",    "mean", "share",
                                         "IPC",     "L1 hits",  "L2 hits", "<source", "DRAM"};
    struct columns *columns = columns_create(rig->arena, titles, 11);
    columns_row(columns);
    for (uint32_t c = 0; c < 11; c++)
        columns_set(columns, c, PAINT_NONE, "%s",
                    c == 0   ? "a_kernel_whose_name_is_longer"
                    : c == 9 ? "one_word_of_26_characters_"
                             : "123456.78 KB");
    return columns;
}

/* However many columns there are: what has no room is in a part below, beside the names again. */
static void no_line_is_wider_than_the_terminal(void **state)
{
    struct rig *rig = *state;
    for (uint32_t width = 40; width <= 200; width++) {
        const char *text = print(rig, many_columns(rig), &(struct report_style){.width = width, .wraps = true});
        assert_in_range(widest_line(text), 1, width);
        assert_non_null(strstr(text, "DRAM"));
        rewind(rig->stream);
        memset(rig->text, 0, rig->bytes);
    }
    static const char *const titles[] = {"<name", "first", "second", "<third"};
    struct columns *columns = columns_create(rig->arena, titles, 4);
    for (int i = 0; i < 2; i++) {
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "row %d", i);
        columns_set(columns, 1, PAINT_NONE, "1234567");
        columns_set(columns, 2, PAINT_NONE, "%d", 100000 + i);
        columns_set(columns, 3, PAINT_NONE, "abcdefghijklmnopqrstuvwxyz");
    }
    assert_string_equal(print(rig, columns, &(struct report_style){.width = 24, .wraps = true}),
                        "name     first  second\n"
                        "----------------------\n"
                        "row 0  1234567  100000\n"
                        "row 1  1234567  100001\n"
                        "\n"
                        "name   third\n"
                        "------------------------\n"
                        "row 0  abcdefghijklmnopq\n"
                        "       rstuvwxyz\n"
                        "row 1  abcdefghijklmnopq\n"
                        "       rstuvwxyz\n");
}

static void names_of_headings_lose_their_middle(void **state)
{
    struct rig *rig = *state;
    const char *rows[] = {"abcdefghijklmnopqrstuvwxyz", "abcdefghijklMNopqrstuvwxyz", "short"};
    assert_true(columns_shorten_names(rows, 3, 8, &(struct report_style){.width = 30}, rig->arena));
    assert_string_equal(rows[0], "abcdefghij..qrstuvwxyz");
    assert_string_equal(rows[1], "abcdefghi..2..stuvwxyz");
    assert_string_equal(rows[2], "short");
}

static void lines_of_text_go_on_in_the_next_one(void **state)
{
    struct rig *rig = *state;
    const char *text = "\none two three four\nfive\n  six seveneightten\n";
    columns_text(text, &(struct report_style){.width = 10, .wraps = true}, rig->stream);
    fflush(rig->stream);
    assert_string_equal(rig->text, "\none two\nthree four\nfive\n  six\n  seveneig\n  htten\n");
}

static void formatted_text_goes_on_as_well(void **state)
{
    struct rig *rig = *state;
    columns_format(&(struct report_style){.width = 10, .wraps = true}, rig->stream, "\n%s of %d\n\n", "one two", 300);
    columns_format(&(struct report_style){.width = 10}, rig->stream, "%s of %d\n", "one two", 300);
    fflush(rig->stream);
    assert_string_equal(rig->text, "\none two of\n300\n\none two of 300\n");
}

static void kernels_have_the_names_that_people_gave_them(void **state)
{
    struct rig *rig = *state;
    const char *symbols[] = {"sgemm_nt", "_Z6reduceIfLi256EEvPT_", "_Z6reduceIdLi256EEvPT_", "_Z4stepv",
                             "_Z6reduceIfLi256EEvPT_"};
    const char *const *labels = kernel_labels(rig->arena, symbols, 5);
    const char *expected[] = {"sgemm_nt", "reduce<float, ..>", "reduce<double, ..>", "step", "reduce<float, ..>"};
    for (int i = 0; i < 5; i++)
        assert_string_equal(labels[i], expected[i]);
    const char *nested[] = {"_Z1fv", "_Z1fvv", "_Z1fvvv"};
    labels = kernel_labels(rig->arena, nested, 3);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < i; k++)
            assert_string_not_equal(labels[i], labels[k]);
    }
}

/* Of a long part the ends are shown, and all of it where these are alike. */
static void kernels_with_long_arguments_are_told_apart(void **state)
{
    struct rig *rig = *state;
    const char *symbols[] = {"_Z1fIN4plusIfEELi128ENS_6policyILi1ELi4EEEEvPT_",
                             "_Z1fIN7minimumIdEELi256ENS_6policyILi2ELi8EEEEvPT_",
                             "_Z1fIN7minimumIdEELi512ENS_6policyILi2ELi8EEEEvPT_"};
    const char *expected[] = {"f<plus<float>..olicy<1, 4>>", "f<minimum<dou..olicy<2, 8>>",
                              "f<minimum<double>, 512, f::policy<2, 8>>"};
    const char *const *labels = kernel_labels(rig->arena, symbols, 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal(labels[i], expected[i]);
}

/* By what people wrote: parameters where arguments are the same, and the symbol where nothing else is different. */
static void kernels_are_told_apart_by_what_differs(void **state)
{
    struct rig *rig = *state;
    static const char *const symbols[] = {
        "_Z5scalePfi",
        "_Z5scalePdi",
        "_Z5scalePd",
        "_ZN5SolveIfE3runILi4EEEvPiT_",
        "_ZN5SolveIdE3runILi4EEEvPiT_",
        "_ZN3cub6DeviceI6policyIfLb1EEE3addIiJfdEEEvPKT_DpT0_",
        "_ZN3cub6DeviceI6policyIfLb0EEE3addIiJfdEEEvPKT_DpT0_",
        "_ZN12_GLOBAL__N_14kernEPi",
        "_Z4kernPi",
        "_ZN36_GLOBAL__N__00000000_4_a_cu_1234567854wideEPi",
        "_ZN36_GLOBAL__N__00000000_4_b_cu_1234567854wideEPi",
        "_ZL4oncev",
    };
    static const char *const expected[] = {"scale(float*, int)",
                                           "scale(double*, int)",
                                           "scale(double*)",
                                           NULL,
                                           NULL,
                                           "cub::Device<policy<float, true>>::add",
                                           "cub::Device<policy<floa..false>>::add",
                                           "(anonymous namespace)::kern",
                                           "kern",
                                           NULL,
                                           NULL,
                                           "once"};
    const uint32_t count = sizeof symbols / sizeof *symbols;
    const char *const *labels = kernel_labels(rig->arena, symbols, count);
    assert_non_null(labels);
    for (uint32_t i = 0; i < count; i++) {
        if (expected[i])
            assert_string_equal(labels[i], expected[i]);
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(labels[i], labels[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_table_takes_what_it_needs, setup, teardown),
        cmocka_unit_test_setup_teardown(long_names_lose_their_middle_and_stay_different, setup, teardown),
        cmocka_unit_test_setup_teardown(letters_are_counted_not_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(texts_continue_below, setup, teardown),
        cmocka_unit_test_setup_teardown(no_line_is_wider_than_the_terminal, setup, teardown),
        cmocka_unit_test_setup_teardown(names_of_headings_lose_their_middle, setup, teardown),
        cmocka_unit_test_setup_teardown(lines_of_text_go_on_in_the_next_one, setup, teardown),
        cmocka_unit_test_setup_teardown(formatted_text_goes_on_as_well, setup, teardown),
        cmocka_unit_test_setup_teardown(kernels_have_the_names_that_people_gave_them, setup, teardown),
        cmocka_unit_test_setup_teardown(kernels_are_told_apart_by_what_differs, setup, teardown),
        cmocka_unit_test_setup_teardown(kernels_with_long_arguments_are_told_apart, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
