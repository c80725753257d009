/* SPDX-License-Identifier: MIT */
/* Containers of every kind, the choice of the best text, and broken ones: cut anywhere, changed anywhere. */
#include "cuda/fat_binary.h"

#include <lz4.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <cmocka.h>

#define TEXT \
    ".version 6.3\n.target sm_50\n.address_size 64\n// " \
    "a comment that is long enough to be packed, packed, packed, packed, packed, packed, packed, packed, packed\n"

enum packing { RAW, LZ4, ZSTD };

struct image {
    uint8_t bytes[4096];
    size_t used;
};

static void put(struct image *image, uint64_t value, size_t bytes)
{
    memcpy(image->bytes + image->used, &value, bytes);
    image->used += bytes;
}

static void put_container(struct image *image, uint64_t bytes)
{
    put(image, FAT_BINARY_MAGIC, 4);
    put(image, 1, 2);
    put(image, 16, 2);
    put(image, bytes, 8);
}

/* An entry; gives its bytes. `told` is the size that it says its text has. */
static uint64_t put_entry(struct image *image, enum packing packing, uint32_t kind, uint32_t architecture,
                          uint64_t told)
{
    uint8_t payload[1024] = {0};
    size_t packed = sizeof TEXT;
    if (packing == RAW)
        memcpy(payload, TEXT, sizeof TEXT);
    else if (packing == LZ4)
        packed = (size_t)LZ4_compress_default(TEXT, (char *)payload, sizeof TEXT, sizeof payload);
    else
        packed = ZSTD_compress(payload, sizeof payload, TEXT, sizeof TEXT, 3);
    uint64_t padded = (packed + 7) & ~(uint64_t)7;
    put(image, kind, 2);
    put(image, 0x0101, 2);
    put(image, 64, 4);
    put(image, padded, 8);
    put(image, packing == RAW ? 0 : packed, 4);
    put(image, 0, 4);
    put(image, 6u << 16 | 3u, 4);
    put(image, architecture, 4);
    put(image, 0, 8);
    put(image, packing == RAW ? 0 : packing == LZ4 ? 0x2000 : 0x8000, 8);
    put(image, 0, 8);
    put(image, told, 8);
    memcpy(image->bytes + image->used, payload, padded);
    image->used += padded;
    return 64 + padded;
}

static void put_binary(struct image *image)
{
    struct image entries = {.used = 0};
    put_entry(&entries, RAW, 1, 50, 0);
    put_entry(&entries, LZ4, 1, 70, 8); /* a size that is too small */
    put_entry(&entries, RAW, 2, 80, 0); /* machine code */
    put_entry(&entries, ZSTD, 1, 90, sizeof TEXT);
    put_container(image, entries.used);
    memcpy(image->bytes + image->used, entries.bytes, entries.used);
    image->used += entries.used;
}

static void test_every_packing(void **state)
{
    (void)state;
    struct image image = {.used = 0};
    struct fat_binary binary = {0};
    put_container(&image, 0); /* the first may be empty */
    put_binary(&image);
    assert_int_equal(fat_binary_read(&binary, image.bytes, image.used, NULL), CORUN_OK);
    assert_int_equal(binary.texts.count, 3);
    assert_int_equal(binary.machine_codes, 1);
    assert_int_equal(binary.machine_code_architecture, 80);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(binary.texts.data[i].text, TEXT);
    assert_int_equal(fat_binary_best(&binary, 52)->architecture, 50);
    assert_int_equal(fat_binary_best(&binary, 70)->architecture, 70);
    assert_int_equal(fat_binary_best(&binary, 120)->architecture, 90);
    assert_int_equal(fat_binary_best(&binary, 30)->architecture, 50);
    fat_binary_free(&binary);
    assert_null(fat_binary_best(&binary, 52));
}

static void test_several_containers(void **state)
{
    (void)state;
    struct image image = {.used = 0};
    struct fat_binary binary = {0};
    put_binary(&image);
    put_binary(&image);
    assert_int_equal(fat_binary_read(&binary, image.bytes, image.used, NULL), CORUN_OK);
    assert_int_equal(binary.texts.count, 6);
    fat_binary_free(&binary);
}

/* A copy of exactly so many bytes, so that a sanitizer sees what is read behind them. */
static enum corun_status read_copy(const uint8_t *bytes, size_t count)
{
    struct fat_binary binary = {0};
    uint8_t *copy = malloc(count ? count : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, count);
    enum corun_status status = count ? fat_binary_read(&binary, copy, count, NULL) : CORUN_SYNTAX;
    fat_binary_free(&binary);
    free(copy);
    return status;
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    struct image image = {.used = 0};
    put_binary(&image);
    for (size_t length = 1; length < image.used; length++)
        assert_int_equal(read_copy(image.bytes, length), CORUN_SYNTAX);
    assert_int_equal(read_copy(image.bytes, image.used), CORUN_OK);
}

static void test_changed_anywhere(void **state)
{
    (void)state;
    struct image image = {.used = 0};
    uint32_t refused = 0;
    put_binary(&image);
    for (size_t i = 0; i < image.used; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            image.bytes[i] ^= 1u << bit;
            refused += read_copy(image.bytes, image.used) != CORUN_OK;
            image.bytes[i] ^= 1u << bit;
        }
    assert_true(refused > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_packing),
        cmocka_unit_test(test_several_containers),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_changed_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
