/* SPDX-License-Identifier: MIT */
/* Arguments of a launch: forms, fills, and how they fit parameters. */
#include "case/argument.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct bench {
    struct arena *arena;
    struct corun_diagnostics *list;
};

static int begin(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    bench->arena = arena_create();
    bench->list = corun_diagnostics_create();
    *state = bench;
    return 0;
}

static int end(void **state)
{
    struct bench *bench = *state;
    arena_destroy(bench->arena);
    corun_diagnostics_destroy(bench->list);
    free(bench);
    return 0;
}

static struct argument parsed(struct bench *bench, const char *text)
{
    struct argument argument;
    assert_int_equal(argument_parse(text, bench->arena, bench->list, &argument), CORUN_OK);
    return argument;
}

static float float_of(uint64_t bits)
{
    uint32_t narrow = (uint32_t)bits;
    float value;
    memcpy(&value, &narrow, sizeof value);
    return value;
}

static void scalars(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(parsed(bench, "u32=4294967295").bits, UINT32_MAX);
    assert_int_equal(parsed(bench, "u32=0x10").bits, 16);
    assert_int_equal(parsed(bench, "u32=64K").bits, 64000);
    assert_int_equal((int64_t)parsed(bench, "i32=-7").bits, -7);
    assert_int_equal((int64_t)parsed(bench, "i64=-9223372036854775808").bits, INT64_MIN);
    assert_true(parsed(bench, "u64=18446744073709551615").bits == UINT64_MAX);
    assert_true(float_of(parsed(bench, "f32=-1.5").bits) == -1.5f);
    assert_true(float_of(parsed(bench, "f32=0x3f800000").bits) == 1.0f);
    assert_true(float_of(parsed(bench, "f32=1e3").bits) == 1000.0f);
    assert_int_equal(parsed(bench, "f32=-inf").bits, 0xff800000u);
    double value;
    struct argument wide = parsed(bench, "f64=0.1");
    memcpy(&value, &wide.bits, sizeof value);
    assert_true(value == 0.1);
}

static void malformed(void **state)
{
    struct bench *bench = *state;
    static const char *const texts[] = {"",
                                        "5",
                                        "u32",
                                        "u32=",
                                        "u32=-1",
                                        "u32=4294967296",
                                        "i32=2147483648",
                                        "i32=--1",
                                        "u64=1e3",
                                        "f32=",
                                        "f32=one",
                                        "f32=5%",
                                        "f32=0x1ffffffff",
                                        "u8=1",
                                        "buf=",
                                        "buf=0",
                                        "buf=-4",
                                        "buf=4:",
                                        "buf=4:random",
                                        "buf=4:random:",
                                        "buf=4:iota:1",
                                        "buf=4:f32",
                                        "buf=4:f32=x",
                                        "buf=4:u32=-1",
                                        "buf=1048576G",
                                        "buf=99999999999999999999",
                                        "bytes=5",
                                        "bytes=",
                                        "i64=9223372036854775808",
                                        "i64=-9223372036854775809"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct argument argument;
        corun_diagnostics_clear(bench->list);
        if (argument_parse(texts[i], bench->arena, bench->list, &argument) != CORUN_ARGUMENT)
            fail_msg("%s was taken", texts[i]);
        assert_int_equal(corun_diagnostics_count(bench->list), 1);
        assert_non_null(strstr(corun_diagnostics_get(bench->list, 0)->message, texts[i]));
    }
    struct argument argument;
    assert_int_equal(argument_parse("buf=@/nonexistent/file", bench->arena, bench->list, &argument), CORUN_NOT_FOUND);
    assert_int_equal(argument_parse("bytes=@/", bench->arena, bench->list, &argument), CORUN_FILE);
}

static const uint32_t *filled(struct bench *bench, struct corun_memory *memory, const char *text)
{
    struct argument argument = parsed(bench, text);
    assert_int_equal(argument_place(&argument, memory, bench->list), CORUN_OK);
    const void *data = corun_memory_pointer(memory, argument.address, argument.bytes);
    assert_non_null(data);
    return data;
}

static void fills(void **state)
{
    struct bench *bench = *state;
    struct corun_memory *memory = corun_memory_create(0);
    const uint32_t *zero = filled(bench, memory, "buf=8"), *iota = filled(bench, memory, "buf=4K:iota"),
                   *seven = filled(bench, memory, "buf=10:u32=7"), *half = filled(bench, memory, "buf=8:f32=0.5"),
                   *random = filled(bench, memory, "buf=4K:random:3"),
                   *again = filled(bench, memory, "buf=4K:random:3"), *other = filled(bench, memory, "buf=4K:random:4");
    assert_int_equal(zero[0] | zero[1], 0);
    assert_int_equal(iota[0], 0);
    assert_int_equal(iota[1023], 1023);
    assert_int_equal(seven[1], 7);
    assert_int_equal(((const uint8_t *)seven)[8], 0); /* what is left over stays 0 */
    assert_true(float_of(half[1]) == 0.5f);
    for (uint32_t i = 0; i < 1024; i++)
        assert_true(float_of(random[i]) >= 0 && float_of(random[i]) < 1);
    assert_memory_equal(random, again, 4096);
    assert_memory_not_equal(random, other, 4096);
    corun_memory_destroy(memory);
}

static void files(void **state)
{
    struct bench *bench = *state;
    char path[] = "/tmp/corun-argument-XXXXXX", text[64];
    int descriptor = mkstemp(path);
    assert_int_equal(write(descriptor, "abcdef", 6), 6);
    close(descriptor);
    snprintf(text, sizeof text, "bytes=@%s", path);
    struct argument structure = parsed(bench, text);
    assert_int_equal(structure.bytes, 6);
    assert_memory_equal(structure.data, "abcdef", 6);
    struct corun_memory *memory = corun_memory_create(0);
    snprintf(text, sizeof text, "buf=@%s", path);
    assert_memory_equal(filled(bench, memory, text), "abcdef", 6);
    corun_memory_destroy(memory);
    remove(path);
}

static const struct corun_parameter rows[] = {
    {.name = "data", .offset_bytes = 0, .bytes = 8, .align_bytes = 8, .is_pointer = true, .type = "u64"},
    {.name = "count", .offset_bytes = 8, .bytes = 4, .align_bytes = 4, .type = "u32"},
    {.name = "scale", .offset_bytes = 12, .bytes = 4, .align_bytes = 4, .type = "f32"},
    {.name = "flag", .offset_bytes = 16, .bytes = 1, .align_bytes = 1, .type = "u8"},
};
static const struct corun_kernel_info kernel = {
    .name = "work", .parameter_bytes = 17, .parameter_count = 4, .parameters = rows};

static enum corun_status pack(struct bench *bench, uint32_t count, const char *const *texts, void **block)
{
    struct argument arguments[8];
    corun_diagnostics_clear(bench->list);
    for (uint32_t i = 0; i < count; i++)
        arguments[i] = parsed(bench, texts[i]);
    arguments[0].address = 0x10000000100;
    return argument_pack(arguments, count, &kernel, bench->arena, bench->list, block);
}

static const char *message(const struct bench *bench)
{
    assert_true(corun_diagnostics_count(bench->list) >= 1);
    return corun_diagnostics_get(bench->list, 0)->message;
}

static void the_block_is_laid_out(void **state)
{
    struct bench *bench = *state;
    void *block;
    const char *texts[] = {"buf=16", "u32=5", "f32=1.0", "i32=-1"};
    assert_int_equal(pack(bench, 4, texts, &block), CORUN_OK);
    static const uint8_t expected[] = {0, 1, 0, 0, 0, 1, 0, 0, 5, 0, 0, 0, 0, 0, 0x80, 0x3f, 0xff};
    assert_memory_equal(block, expected, sizeof expected);
}

static void what_does_not_fit_is_named(void **state)
{
    struct bench *bench = *state;
    void *block;
    const char *few[] = {"buf=16", "u32=5"};
    assert_int_equal(pack(bench, 2, few, &block), CORUN_ARGUMENT);
    assert_non_null(strstr(message(bench), "`scale` is missing"));
    const char *many[] = {"buf=16", "u32=5", "f32=1", "u32=1", "u32=2"};
    assert_int_equal(pack(bench, 5, many, &block), CORUN_ARGUMENT);
    assert_non_null(strstr(message(bench), "has 4 parameters"));
    static const struct {
        uint32_t index;
        const char *text, *named;
    } wrong[] = {{1, "u64=5", "`count`"},  {1, "f32=5", "`count`"},   {2, "u32=5", "`scale`"}, {2, "f64=5", "`scale`"},
                 {3, "u32=256", "`flag`"}, {3, "i32=-129", "`flag`"}, {1, "buf=4", "`count`"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *texts[] = {"buf=16", "u32=5", "f32=1.0", "i32=-1"};
        texts[wrong[i].index] = wrong[i].text;
        assert_int_equal(pack(bench, 4, texts, &block), CORUN_ARGUMENT);
        assert_non_null(strstr(message(bench), wrong[i].named));
        assert_non_null(strstr(message(bench), wrong[i].text));
    }
    const char *two[] = {"buf=16", "u64=5", "f64=1", "u32=1"};
    assert_int_equal(pack(bench, 4, two, &block), CORUN_ARGUMENT);
    assert_int_equal(corun_diagnostics_count(bench->list), 2); /* all at once */
}

int main(void)
{
#define WITH_LISTS(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        WITH_LISTS(scalars),
        WITH_LISTS(malformed),
        WITH_LISTS(fills),
        WITH_LISTS(files),
        WITH_LISTS(the_block_is_laid_out),
        WITH_LISTS(what_does_not_fit_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
