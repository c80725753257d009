/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: any bytes as a fat binary; and as PTX text that is taken apart into functions and linked, as translation
 * units of a program are. Nothing may be read or written outside, and what linking makes has its length.
 */
#include "cuda/fat_binary.h"
#include "cuda/ptx_link.h"
#include "cuda/ptx_text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void take_apart(const char *text, size_t bytes)
{
    struct ptx_text scan = {0};
    char *copy = malloc(bytes + 1);
    check(copy && ptx_text_scan(&scan, text, bytes));
    memcpy(copy, text, bytes);
    for (size_t i = 0; i < scan.functions.count; i++) {
        const struct ptx_statement *function = &scan.functions.data[i];
        check(function->body < function->end && function->end <= bytes &&
              function->name + function->name_bytes <= bytes);
        ptx_text_empty(copy, function);
    }
    (void)ptx_text_function_at(&scan, 3);
    ptx_text_free(&scan);
    free(copy);
}

static void link_twice(const char *text, size_t bytes)
{
    struct ptx_link link = {0};
    char *linked;
    size_t length;
    check(ptx_link_add(&link, text, bytes, false) && ptx_link_add(&link, text, bytes, true));
    if (ptx_link_finish(&link, NULL, &linked, &length) == CORUN_OK) {
        check(strlen(linked) <= length);
        free(linked);
    }
    ptx_link_free(&link);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fat_binary binary = {0};
    uint8_t *copy = malloc(size ? size : 1);
    check(copy);
    memcpy(copy, data, size);
    if (size)
        (void)fat_binary_read(&binary, copy, size, NULL);
    (void)fat_binary_best(&binary, 75);
    for (size_t i = 0; i < binary.texts.count; i++)
        take_apart(binary.texts.data[i].text, binary.texts.data[i].bytes);
    fat_binary_free(&binary);
    take_apart((const char *)copy, size);
    link_twice((const char *)copy, size);
    free(copy);
    return 0;
}
