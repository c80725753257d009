/* SPDX-License-Identifier: MIT */
/* Translation units become one text, and functions that cannot be are taken out of it. */
#include "cuda/ptx_link.h"

#include "corun/module.h"
#include "cuda/ptx_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD ".version 6.3\n.target sm_50\n.address_size 64\n"

static const char caller[] =
    HEAD ".extern .func twice(.param .b32 x);\n.extern .global .u32 total;\n"
         ".global .u32 own = 1; // .func not_here {\n"
         ".visible .entry run()\n{\n .reg .u32 %r<3>;\n ld.global.u32 %r1, [total];\n"
         " ld.global.u32 %r2, [own];\n { .param .b32 a; st.param.b32 [a], %r1; call twice, (a); }\n"
         " ret;\n}\n";
static const char callee[] = HEAD ".visible .global .u32 total = 5;\n.global .u32 own = 2;\n"
                                  ".visible .func twice(.param .b32 x)\n{\n .reg .u32 %r<3>;\n ld.param.b32 %r1, [x];\n"
                                  " st.global.u32 [own], %r1;\n ret;\n}\n";
static const char library[] = HEAD ".visible .func unused()\n{\n ret;\n}\n.visible .global .u32 also_unused;\n";

static enum corun_status link_all(const char *const *texts, size_t count, bool last_is_library, char **text)
{
    struct ptx_link link = {0};
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        assert_true(ptx_link_add(&link, texts[i], strlen(texts[i]), last_is_library && i + 1 == count));
    enum corun_status status = ptx_link_finish(&link, NULL, text, &bytes);
    ptx_link_free(&link);
    if (status == CORUN_OK)
        assert_int_equal(bytes, strlen(*text));
    return status;
}

static void test_units_find_each_other(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        const char *texts[] = {order ? caller : callee, order ? callee : caller, library};
        char *text;
        assert_int_equal(link_all(texts, 3, true, &text), CORUN_OK);
        assert_null(strstr(text, "unused"));
        struct corun_diagnostics *list = corun_diagnostics_create();
        struct corun_module *module;
        assert_int_equal(corun_module_load("linked", text, strlen(text), list, &module), CORUN_OK);
        struct corun_memory *memory = corun_memory_create(0);
        struct corun_module_instance *instance;
        assert_int_equal(corun_module_instance_create(module, memory, list, &instance), CORUN_OK);
        uint64_t bytes, total = corun_module_instance_variable(instance, "total", &bytes);
        assert_int_not_equal(total, 0);
        /* two variables of one name without linkage stay two */
        uint64_t one = corun_module_instance_variable(instance, "own", &bytes);
        uint64_t other = corun_module_instance_variable(instance, "own$1", &bytes);
        assert_true(one && other && one != other);
        corun_module_instance_destroy(instance);
        corun_memory_destroy(memory);
        corun_module_destroy(module);
        corun_diagnostics_destroy(list);
        free(text);
    }
}

/* A name is renamed where it is a word of its own: not in a string, a comment, or a directive that is spelled alike. */
static void test_only_names_are_renamed(void **state)
{
    (void)state;
    const char local[] =
        HEAD ".func align() { ret; }\n"
             ".visible .entry %s() { .shared .align 4 .b8 buffer[4]; call align; .pragma \"align\"; // align\n"
             " ret; }\n";
    char first[512], second[512], *text;
    snprintf(first, sizeof first, local, "one");
    snprintf(second, sizeof second, local, "two");
    const char *texts[] = {first, second};
    assert_int_equal(link_all(texts, 2, false, &text), CORUN_OK);
    assert_non_null(strstr(text,
                           ".visible .entry two() { .shared .align 4 .b8 buffer[4]; call align$1; .pragma \"align\"; "
                           "// align\n"));
    assert_non_null(strstr(text, ".func align$1() { ret; }"));
    free(text);
}

static void test_definitions_clash(void **state)
{
    (void)state;
    const char *texts[] = {callee, callee};
    char *text;
    assert_int_equal(link_all(texts, 2, false, &text), CORUN_SYNTAX);
    assert_null(text);
}

static void test_weak_ones_do_not(void **state)
{
    (void)state;
    const char weak[] = HEAD ".weak .func twice(.param .b32 x)\n{\n ret;\n}\n.weak .global .u32 total;\n";
    const char *texts[] = {weak, weak, caller};
    char *text;
    assert_int_equal(link_all(texts, 3, false, &text), CORUN_OK);
    struct corun_module *module;
    assert_int_equal(corun_module_load("linked", text, strlen(text), NULL, &module), CORUN_OK);
    corun_module_destroy(module);
    free(text);
}

static void test_functions_are_found(void **state)
{
    (void)state;
    struct ptx_text scan = {0};
    char text[sizeof caller];
    memcpy(text, caller, sizeof text);
    assert_true(ptx_text_scan(&scan, text, strlen(text)));
    assert_int_equal(scan.functions.count, 1);
    const struct ptx_statement *function = ptx_text_function_at(&scan, 9);
    assert_non_null(function);
    assert_true(function->is_entry);
    assert_int_equal(function->name_bytes, 3);
    assert_memory_equal(text + function->name, "run", 3);
    assert_null(ptx_text_function_at(&scan, 2));
    ptx_text_empty(text, function);
    assert_int_equal(strlen(text), strlen(caller));
    assert_non_null(strstr(text, "trap;"));
    assert_null(strstr(text, "ret;"));
    ptx_text_free(&scan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_find_each_other), cmocka_unit_test(test_only_names_are_renamed),
        cmocka_unit_test(test_definitions_clash),     cmocka_unit_test(test_weak_ones_do_not),
        cmocka_unit_test(test_functions_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
