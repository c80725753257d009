/* SPDX-License-Identifier: MIT */
/* Bodies of kernels of a few lines, and what rewrites of the machine-code model make of them. */
#ifndef CORUN_TESTS_ASSEMBLE_BODIES_H
#define CORUN_TESTS_ASSEMBLE_BODIES_H

#include "assemble/assemble.h"
#include "ptx/printer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char frame[] = ".version 6.3\n.target sm_70\n.address_size 64\n"
                            ".visible .entry kernel(.param .u64 a, .param .u32 n)\n{\n"
                            ".reg .pred %%p<4>;\n.reg .b32 %%r<16>;\n.reg .f32 %%f<16>;\n.reg .b64 %%d<16>;\n"
                            ".shared .align 4 .b8 tile[256];\n%s}\n";

/* The body, one instruction or label a line; `text` is the whole module as the printer writes it. */
static inline char *body_of(char *text)
{
    char *at = text, *out = text, *start = strchr(text, '{');
    assert_non_null(start);
    for (at = strchr(start, '\n') + 1; *at && *at != '}';) {
        while (*at == ' ' || *at == '\t')
            at++;
        char *end = strchr(at, '\n');
        assert_non_null(end);
        bool declares = !strncmp(at, ".reg", 4) || !strncmp(at, ".shared", 7) || at == end;
        if (!declares) {
            memmove(out, at, (size_t)(end - at) + 1);
            out += end - at + 1;
        }
        at = end + 1;
    }
    *out = 0;
    return text;
}

static inline struct ptx_module *parse(const char *body)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct ptx_module *module;
    char *text;
    assert_true(asprintf(&text, frame, body) > 0);
    if (ptx_parse("test", text, strlen(text), list, &module) != CORUN_OK)
        fail_msg("%s\n%s", corun_diagnostics_get(list, 0)->message, text);
    free(text);
    corun_diagnostics_destroy(list);
    return module;
}

static inline char *print_body(const struct ptx_module *module)
{
    char *text;
    size_t bytes;
    assert_int_equal(ptx_print(module, &text, &bytes), CORUN_OK);
    return body_of(text);
}

/* Made apart, a function has what it becomes in its module, and is what it was; so are its variables. */
static inline void becomes_apart(uint32_t rewrites, const char *before, const struct ptx_module *assembled)
{
    struct ptx_module *module = parse(before), *original = parse(before);
    struct ptx_function made;
    assert_int_equal(assemble_apart(module->functions[0], rewrites, module->arena, &made), CORUN_OK);
    assert_true(ptx_module_equal(module, original));
    const struct ptx_function *function = module->functions[0];
    *(struct ptx_function *)(uintptr_t)function = made;
    char *found = print_body(module), *wanted = print_body(assembled);
    assert_string_equal(found, wanted);
    free(found);
    free(wanted);
    ptx_module_destroy(original);
    ptx_module_destroy(module);
}

static inline void becomes(uint32_t rewrites, const char *before, const char *after)
{
    struct ptx_module *module = parse(before), *wanted = parse(after);
    assert_int_equal(assemble_module(module, rewrites), CORUN_OK);
    becomes_apart(rewrites, before, module);
    char *found_text = print_body(module), *wanted_text = print_body(wanted);
    assert_string_equal(found_text, wanted_text);
    uint32_t merged = 0, count = module->functions[0]->instruction_count;
    for (uint32_t i = 0; i < count; i++)
        merged += (uint32_t)module->functions[0]->instructions[i].merged;
    struct ptx_module *original = parse(before);
    if (!(rewrites & ASSEMBLE_PREDICATE)) /* a branch counts for those that jump: not the same number of instructions */
        assert_int_equal(count + merged, original->functions[0]->instruction_count);
    ptx_module_destroy(original);
    ptx_module_destroy(module);
    ptx_module_destroy(wanted);
    free(found_text);
    free(wanted_text);
}

#endif
