/* SPDX-License-Identifier: MIT */
/* Printed modules parse to equal modules, and print the same again. */
#include "ptx_text.h"

#include "ptx/printer.h"

static char *print(const struct ptx_module *module)
{
    char *text;
    size_t bytes;
    assert_int_equal(ptx_print(module, &text, &bytes), CORUN_OK);
    assert_int_equal(strlen(text), bytes);
    return text;
}

static void round_trip(const char *text)
{
    struct ptx_module *module = parse_text(text);
    char *printed = print(module);
    struct ptx_module *again = parse_text(printed);
    assert_true(ptx_module_equal(module, again));
    char *printed_again = print(again);
    assert_string_equal(printed, printed_again);
    ptx_module_destroy(module);
    ptx_module_destroy(again);
    free(printed);
    free(printed_again);
}

static void comes_back(const char *text, size_t bytes)
{
    (void)bytes;
    round_trip(text);
}

static void corpus_comes_back(void **state)
{
    (void)state;
    each_of_corpus(comes_back);
}

/* What is written with registers of 128 bits again means the same: pairs are copied where they were not before. */
static void wide_operations_stay(void **state)
{
    (void)state;
    struct ptx_module *module = parse_text(ENTRY(
        ".reg .b128 %q<3>; mov.b128 %q0, {%rd1, %rd2}; ld.relaxed.gpu.global.b128 %q1, [%rd1]; st.b128 [%rd1], %q0;"
        "@%p1 atom.global.cas.b128 %q2, [%rd1+16], %q0, %q1; atom.exch.b128 _, [%rd1], %q2; mov.b128 {_, %rd3}, %q2;"));
    char *printed = print(module);
    assert_non_null(
        strstr(printed, "    ld.relaxed.gpu.global.b128 %wide, [%rd1];\n    mov.b128 {%q1, %q1_upper}, %wide;\n"));
    assert_non_null(strstr(printed, "st.b128 [%rd1], "));
    assert_non_null(strstr(printed, "@%p1 atom.global.cas.b128 "));
    assert_non_null(strstr(printed, "atom.exch.b128 _, [%rd1], "));
    struct ptx_module *again = parse_text(printed);
    ptx_module_destroy(module);
    ptx_module_destroy(again);
    free(printed);
}

static void hard_cases_come_back(void **state)
{
    (void)state;
    round_trip(HEAD); /* nothing at all */
    round_trip(HEAD ".entry k() { }\n.func f() { END: }\n");
    /* a name of a scope that hides one of the module, which is used as well; names that a suffix would collide with */
    round_trip(HEAD ".global .u32 x;\n.global .u32 x$1;\n.entry k() { .reg .u64 a; mov.u64 a, x;\n"
                    "{ .local .u32 x; mov.u64 a, x; } { .local .u32 x; mov.u64 a, x; } mov.u64 a, x$1; }\n");
    /* a loop that is not to be unrolled */
    round_trip(ENTRY("add.u32 %r1, %r1, 1; LOOP: .pragma \"nounroll\"; add.u32 %r1, %r1, 1; bra LOOP;"));
    /* addresses of variables that come later, and of itself */
    round_trip(HEAD ".extern .global .u64 b;\n.global .u64 a = b;\n.visible .global .u64 b = a;\n"
                    ".global .u64 c[2] = {0, c};\n");
    /* static variables of bodies */
    round_trip(HEAD ".entry j() { .global .u32 s = 3; .reg .u64 a; mov.u64 a, s; }\n.global .u32 t;\n"
                    ".entry k() { .shared .u32 s; .const .u64 u = s; st.shared.u32 [s], 1; }\n");
    /* the carry flag is a register without a name, in the middle of the others */
    round_trip(ENTRY("add.cc.u32 %r1, %r1, %r1; mov.u32 %r2, %r3; addc.u32 %r4, %r1, %r2;"));
    round_trip(ENTRY("mov.u64 %rd1, -9223372036854775808; ld.global.u8 %r1, [%rd1+-1]; ld.local.u32 %r1, [-4];"));
}

/* NVIDIA's assembler wants braces for each dimension, of vectors, too. */
static void initial_values_have_braces(void **state)
{
    (void)state;
    static const char *const texts[] = {
        ".global .u32 a[2][3] = {{1, 0, 0}, {2, 3}};",       ".global .u32 b[2][2][2] = {{{1, 0}, {2, 3}}, {{4}}};",
        ".global .v2 .u32 c[2] = {{1, 2}, {3, 4}};",         ".global .v4 .u32 d = {1, 2, 3, 4};",
        ".global .u64 e[2][2] = {{a, 0}, {2, generic(a)}};", ".global .u32 f[3] = {1, 2};",
    };
    char text[1024] = HEAD;
    size_t used = strlen(text);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", texts[i]);
    struct ptx_module *module = parse_text(text);
    char *printed = print(module);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_non_null(strstr(printed, texts[i]));
    free(printed);
    ptx_module_destroy(module);
    round_trip(text);
}

static void text_of_a_module(void **state)
{
    (void)state;
    struct ptx_module *module =
        parse_text(HEAD ".const .align 8 .f32 half[2] = {0.5};\n.visible .entry k(.param .u64 p) .maxntid 32\n{\n"
                        ".reg .b32 %r<9>; .reg .pred %p; .reg .b64 a;\nmov.u32 %r7, %tid.x;\n"
                        "setp.lt.u32 %p, %r7, 3; @!%p bra L; { .reg .b32 %r<3>; ld.param.u64 a, [p];\n"
                        "atom.global.add.u32 %r2, [a+4], 1; prmt.b32.b4e %r7, %r7, 0, 1; } L: ret; }\n");
    char *text = print(module);
    assert_string_equal(text, ".version 7.0\n.target sm_75\n.address_size 64\n\n"
                              ".const .align 8 .f32 half[2] = {0f3F000000};\n\n"
                              ".visible .entry k (.param .u64 p)\n.maxntid 32, 1, 1\n{\n"
                              "    .reg .pred %p;\n    .reg .b64 a;\n    .reg .b32 %r7, %r2;\n"
                              "    mov.u32 %r7, %tid.x;\n    setp.lt.u32 %p, %r7, 3;\n    @!%p bra L;\n"
                              "    ld.param.u64 a, [p];\n    atom.global.add.u32 %r2, [a+4], 1;\n"
                              "    prmt.b32.b4e %r7, %r7, 0, 1;\nL:\n    ret;\n}\n");
    free(text);
    ptx_module_destroy(module);
}

/* Modules that differ in one place only. */
static void differences_are_seen(void **state)
{
    (void)state;
    static const char *const others[] = {
        ENTRY("add.u32 %r1, %r2, 2;"),
        ENTRY("add.s32 %r1, %r2, 1;"),
        ENTRY("sub.u32 %r1, %r2, 1;"),
        ENTRY("add.u32 %r1, %r1, 1;"),
        ENTRY("@%p1 add.u32 %r1, %r2, 1;"),
        ENTRY("add.cc.u32 %r1, %r2, 1;"),
        ENTRY("L: add.u32 %r1, %r2, 1;"),
        ENTRY("add.u32 %r1, %r2, 1; ret;"),
        ENTRY(".local .u32 x; add.u32 %r1, %r2, 1;"),
        ENTRY("add.u32 %r1, %r2, 1;") ".global .u32 x;",
        ENTRY("add.u32 %r1, %r2, 1;") ".func f();",
    };
    struct ptx_module *one = parse_text(ENTRY("add.u32 %r1, %r2, 1;"));
    struct ptx_module *same = parse_text(ENTRY("add.u32 %r8, %r9, 1; // other names"));
    assert_true(ptx_module_equal(one, same));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct ptx_module *other = parse_text(others[i]);
        assert_false(ptx_module_equal(one, other));
        ptx_module_destroy(other);
    }
    ptx_module_destroy(one);
    ptx_module_destroy(same);
    static const char *const pairs[][2] = {
        {ENTRY("selp.b32 %r1, %r2, 0, %p1;"), ENTRY("selp.b32 %r1, %r2, 0, !%p1;")},
        {ENTRY("setp.eq.u32 %p1|%p2, %r2, 0;"), ENTRY("setp.eq.u32 %p1|_, %r2, 0;")},
        {ENTRY("ld.global.u32 %r1, [%rd1];"), ENTRY("ld.global.u32 %r1, [%rd1+4];")},
        {ENTRY("mov.b64 {%r1, %r2}, %rd1;"), ENTRY("mov.b64 {%r1, _}, %rd1;")},
        {ENTRY("A: @%p1 bra A; B: ret;"), ENTRY("A: @%p1 bra B; B: ret;")},
        {HEAD ".global .u32 x, y; .global .u64 z = x;", HEAD ".global .u32 x, y; .global .u64 z = y;"},
        {HEAD ".global .u32 x; .global .u64 z = x;", HEAD ".global .u32 x; .global .u64 z = generic(x);"},
        {HEAD ".global .u32 x = 1;", HEAD ".global .u32 x = 2;"},
        {HEAD ".func f(); .func g(); .entry k() { call f; }", HEAD ".func f(); .func g(); .entry k() { call g; }"},
        {HEAD ".func f(.param .u32 a); .entry k() { call f, (1); }",
         HEAD ".func f(.param .u32 a); .entry k() { call f, (2); }"},
        {HEAD ".entry k() .maxntid 32 { }", HEAD ".entry k() .reqntid 32 { }"},
        {HEAD ".entry k(.param .u64 a) { }", HEAD ".entry k(.param .u64 .ptr a) { }"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct ptx_module *left = parse_text(pairs[i][0]), *right = parse_text(pairs[i][1]);
        assert_false(ptx_module_equal(left, right));
        assert_true(ptx_module_equal(left, left));
        ptx_module_destroy(left);
        ptx_module_destroy(right);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corpus_comes_back),    cmocka_unit_test(wide_operations_stay),
        cmocka_unit_test(hard_cases_come_back), cmocka_unit_test(initial_values_have_braces),
        cmocka_unit_test(text_of_a_module),     cmocka_unit_test(differences_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
