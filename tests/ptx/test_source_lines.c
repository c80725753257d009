/* SPDX-License-Identifier: MIT */
/* .file and .loc: which line of the source an instruction is from. */
#include "ptx_text.h"

#include "ptx/builder.h"
#include "ptx/source_lines.h"

static const char text[] =
    HEAD ".func f()\n{\n.reg .b32 %r;\nmov.b32 %r, 1;\n"                   /* 7: nothing known yet */
         ".loc 2 10 3\nret;\n}\n"                                          /* 9 */
         ".entry k()\n{\n.reg .u64 %d;\nmov.u64 %d, 0;\n"                  /* 14: not that of f */
         ".loc 1 21 5\nmov.u64 %d, 1;\nmov.u64 %d, 2;\n"                   /* 16, 17 */
         ".loc 2 4 1, function_name $L__info_string0, inlined_at 1 22 7\n" /* 18 */
         "mov.u64 %d, 3;\n"                                                /* 19 */
         ".loc 7 1 1\nmov.u64 %d, 4;\n"                                    /* 21: no such file */
         ".loc 1 0 0\nmov.u64 %d, 5;\n"                                    /* 23: no line */
         ".loc nonsense ) }\nmov.u64 %d, 6;\n"                             /* 25 */
         ".loc 1\nmov.u64 %d, 7;\n"                                        /* 27 */
         ".loc 1 30 1, inlined_at 1\nmov.u64 %d, 8;\n"                     /* 29 */
         ".loc 2 6 5, function_name $L__info_string0, inlined_at 1 21 5\n" /* 30: that is the row of line 15 */
         ".loc 2 3 5, function_name $L__info_string1, inlined_at 2 6 5\n"
         "mov.u64 %d, 9;\n"                                                /* 32 */
         ".loc 2 3 5, function_name $L__info_string1, inlined_at 2 10 3\n" /* 33: that row is of another function */
         "mov.u64 %d, 10;\nret;\n}\n"                                      /* 34 */
         ".file 1 \"/home/me/heat.cu\"\n.file 2 \"deep/steps.h\", 1200, 34\n.file \"x\"\n.file 3\n";

static void expect_lines(const struct ptx_module *module)
{
    static const struct {
        uint32_t ptx_line;
        const char *source;
    } rows[] = {
        {1, ""},
        {7, ""},
        {9, "steps.h:10"},
        {14, ""},
        {16, "heat.cu:21"},
        {17, "heat.cu:21"},
        {19, "steps.h:4, inlined at heat.cu:22"},
        {21, ""},
        {23, ""},
        {25, ""},
        {27, ""},
        {29, "heat.cu:30"},
        {32, "steps.h:3, inlined at steps.h:6, inlined at heat.cu:21"},
        {34, "steps.h:3, inlined at steps.h:10"},
    };
    char found[PTX_SOURCE_TEXT];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(ptx_source_text(module, rows[i].ptx_line, found), rows[i].source);
}

static void lines_are_those_of_the_last_loc(void **state)
{
    (void)state;
    struct ptx_module *module = parse_text(text);
    struct ptx_source_place places[4];
    expect_lines(module);
    assert_int_equal(ptx_source_find(module, 19, places, 4), 2);
    assert_string_equal(places[0].path, "deep/steps.h");
    assert_string_equal(places[1].path, "/home/me/heat.cu");
    assert_int_equal(places[1].line, 22);
    assert_int_equal(ptx_source_find(module, 32, places, 2), 2);
    assert_int_equal(ptx_source_find(module, 1, places, 4), 0);
    ptx_module_destroy(module);
}

static void changed_modules_keep_them(void **state)
{
    (void)state;
    struct ptx_module *module = parse_text(text), *changed;
    struct ptx_builder *builder = ptx_builder_create(module);
    assert_non_null(builder);
    ptx_module_destroy(module);
    assert_int_equal(ptx_builder_finish(builder, NULL, &changed), CORUN_OK);
    ptx_builder_destroy(builder);
    expect_lines(changed);
    ptx_module_destroy(changed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_those_of_the_last_loc),
        cmocka_unit_test(changed_modules_keep_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
