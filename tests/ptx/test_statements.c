/* SPDX-License-Identifier: MIT */
/* Statements of a text that nobody has parsed: where they begin and end, what they declare. */
#include "ptx_text.h"

#include "ptx/statements.h"

static struct lexer lexer_over(const char *text)
{
    return (struct lexer){.at = text, .end = text + strlen(text), .line_start = text, .line = 1};
}

/* One line each: first-last lines, linkage, e or f, name, {signature} of functions, the body's first and last character. */
static char *statements_of(const char *text)
{
    char *found = calloc(1, 65536);
    size_t used = 0;
    struct lexer lexer = lexer_over(text);
    struct ptx_statement row;
    while (ptx_statement_next(&lexer, text, &row)) {
        assert_true(row.start < row.end && row.end <= strlen(text) && row.name + row.name_bytes <= row.end);
        used += (size_t)snprintf(found + used, 65536 - used, "%u-%u %u %s%.*s%s", row.first_line, row.last_line,
                                 row.linkage,
                                 row.is_entry      ? "e "
                                 : row.is_function ? "f "
                                                   : "",
                                 (int)row.name_bytes, text + row.name, row.has_body ? " {}" : "");
        if (row.is_function)
            used += (size_t)snprintf(found + used, 65536 - used, " [%.*s]", (int)(row.signature_end - row.start),
                                     text + row.start);
        if (row.has_body) {
            assert_int_equal(text[row.body], '{');
            assert_int_equal(text[row.end - 1], '}');
        }
        used += (size_t)snprintf(found + used, 65536 - used, "\n");
    }
    return found;
}

static void expect(const char *text, const char *wanted)
{
    char *found = statements_of(text);
    assert_string_equal(found, wanted);
    free(found);
}

static void declarations_have_names(void **state)
{
    (void)state;
    expect(".version 8.1\n.target sm_70, debug\n.address_size 64\n.file 1 \"a;{.cu\"\n",
           "1-1 0 \n2-2 0 \n3-3 0 \n4-4 0 \n");
    expect(".visible .global .align 8 .b8 table[16] = {1, 2, generic(other)};\n.extern .shared .u32 dynamic[];",
           "1-1 2 table\n2-2 1 dynamic\n");
    expect(".weak .func (.param .b32 out) f(\n.param .b32 in\n)\n.noreturn\n;",
           "1-5 3 f f [.weak .func (.param .b32 out) f(\n.param .b32 in\n)]\n");
    expect(".common .global .u32 c = 3;", "1-1 4 c\n");
}

static void bodies_end_with_their_brace(void **state)
{
    (void)state;
    expect(".entry k()\n.maxntid 32, 1, 1\n{ { ret; } /* } */ .pragma \"}\";\n}\n.func g { }",
           "1-4 0 e k {} [.entry k()]\n5-5 0 f g {} [.func g]\n");
    expect(".func .attribute(.unified(1, 2)) g(.reg .u32 a) { ret; }",
           "1-1 0 f g {} [.func .attribute(.unified(1, 2)) g(.reg .u32 a)]\n");
    expect(".section .debug_info { .b8 1 }\n.global .u32 x;", "1-1 0 \n2-2 0 x\n");
}

/* What a module may hold that nobody can parse. */
static void nonsense_ends(void **state)
{
    (void)state;
    expect("}\n}\n.entry k() { \x01 what 0f12; }", "1-1 0 \n2-2 0 \n3-3 0 e k {} [.entry k()]\n");
    expect(".entry k() { ret;", "1-1 0 e k [.entry k()]\n");
    expect(".global .u32 x = {", "1-1 0 x\n");
    expect(".func (", "1-1 0 f  []\n");
    expect("/* no end", "1-1 0 \n");
    expect("", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(declarations_have_names),
        cmocka_unit_test(bodies_end_with_their_brace),
        cmocka_unit_test(nonsense_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
