/* SPDX-License-Identifier: MIT */
/* Helpers of the PTX tests: modules from text in the test, from the corpus, and what was reported. */
#ifndef TESTS_PTX_TEXT_H
#define TESTS_PTX_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ptx/module.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"
/* One entry k with a parameter p and some registers; its body starts on line 9. */
#define REGISTERS \
    ".reg .pred %p<8>;\n.reg .b16 %h<8>; .reg .b32 %r<32>; .reg .f32 %f<16>; .reg .b64 %rd<16>; .reg .f64 %fd<8>;\n"
#define ENTRY(body) HEAD ".visible .entry k(.param .u64 p)\n{\n" REGISTERS "\n" body "\n}\n"

/* A module that must parse. */
static inline struct ptx_module *parse_text(const char *text)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct ptx_module *module;
    enum corun_status status = ptx_parse("test.ptx", text, strlen(text), list, &module);
    if (status != CORUN_OK) {
        const struct corun_diagnostic *first = corun_diagnostics_get(list, 0);
        fail_msg("%u:%u: %s", first->place.line, first->place.column, first->message);
    }
    assert_int_equal(corun_diagnostics_count(list), 0);
    corun_diagnostics_destroy(list);
    return module;
}

/* Everything that is reported, one "LINE:COLUMN: MESSAGE\n" each; the caller frees it. */
static inline char *messages_of(const char *text, size_t bytes, enum corun_status *status)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct ptx_module *module;
    char *messages = calloc(1, 65536);
    size_t used = 0;
    *status = ptx_parse("test.ptx", text, bytes, list, &module);
    assert_true((*status == CORUN_OK) == (module != NULL));
    ptx_module_destroy(module);
    for (size_t i = 0; i < corun_diagnostics_count(list); i++) {
        const struct corun_diagnostic *row = corun_diagnostics_get(list, i);
        assert_string_equal(row->place.file, "test.ptx");
        used += (size_t)snprintf(messages + used, 65536 - used, "%u:%u: %s\n", row->place.line, row->place.column,
                                 row->message);
    }
    corun_diagnostics_destroy(list);
    return messages;
}

/* A file of the corpus; the caller frees it. */
static inline char *read_corpus(const char *name, size_t *bytes)
{
    char path[512];
    snprintf(path, sizeof path, TEST_DATA "/corpus/%s", name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    *bytes = fread(text, 1, (1 << 20) - 1, file);
    assert_true(*bytes > 0 && *bytes < (1 << 20) - 1);
    fclose(file);
    return text;
}

/* Does something with the text of every file of the corpus. */
static inline void each_of_corpus(void (*check)(const char *text, size_t bytes))
{
    static const char *const names[] = {
        "hand_everything.ptx", "clang_histogram.ptx", "clang_lbm.ptx",        "clang_spmv.ptx",
        "nvcc_fast.ptx",       "nvcc_o3.ptx",         "nvcc_relocatable.ptx", "saxpy_debug.ptx",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t bytes;
        char *text = read_corpus(names[i], &bytes);
        check(text, bytes);
        free(text);
    }
}

#endif
