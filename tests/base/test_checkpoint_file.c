/* SPDX-License-Identifier: MIT */
/* Files of checkpoints: written and read again, damaged in every place, of something else. */
#include "base/checkpoint_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct checkpoint_identity identity_of(const char *policy)
{
    struct checkpoint_identity identity = {0};
    checkpoint_identify(&identity, "its policy", policy);
    checkpoint_identify(&identity, "the code of corun",
                        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    return identity;
}

static char path[] = "/tmp/corun_checkpoint_XXXXXX";

static void write_one(void)
{
    struct checkpoint_identity identity = identity_of("even");
    struct checkpoint_writer *writer;
    assert_int_equal(checkpoint_write(path, &identity, 1234, NULL, &writer), CORUN_OK);
    struct corun_archive *archive = checkpoint_writer_archive(writer);
    for (uint64_t i = 0; i < 200; i++) {
        uint64_t value = i * UINT64_C(0x9e3779b97f4a7c15);
        ARCHIVE(archive, value);
    }
    assert_int_equal(checkpoint_write_end(writer, NULL), CORUN_OK);
}

static void read_values(struct corun_archive *archive, uint64_t count)
{
    for (uint64_t i = 0; i < count && archive_fine(archive); i++) {
        uint64_t value;
        ARCHIVE(archive, value);
        assert_true(!archive_fine(archive) || value == i * UINT64_C(0x9e3779b97f4a7c15));
    }
}

static void what_is_written_is_read(void **unused)
{
    (void)unused;
    struct checkpoint_reader *reader;
    struct checkpoint_identity identity = identity_of("even");
    write_one();
    assert_int_equal(checkpoint_read(path, NULL, &reader), CORUN_OK);
    assert_int_equal(checkpoint_cycle(reader), 1234);
    assert_int_equal(checkpoint_check(reader, &identity, NULL), CORUN_OK);
    read_values(checkpoint_reader_archive(reader), 200);
    assert_int_equal(checkpoint_read_end(reader, NULL), CORUN_OK);
    static const struct {
        uint64_t count;
        const char *message;
    } rows[] = {{199, "there is more in it"}, {201, "it ends too soon"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct corun_diagnostics *list = corun_diagnostics_create();
        assert_int_equal(checkpoint_read(path, list, &reader), CORUN_OK);
        read_values(checkpoint_reader_archive(reader), rows[i].count);
        assert_int_equal(checkpoint_read_end(reader, list), CORUN_SYNTAX);
        assert_non_null(strstr(corun_diagnostics_get(list, 0)->message, rows[i].message));
        corun_diagnostics_destroy(list);
    }
}

static void it_is_of_something(void **unused)
{
    (void)unused;
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct checkpoint_reader *reader;
    write_one();
    assert_int_equal(checkpoint_read(path, list, &reader), CORUN_OK);
    struct checkpoint_identity other = identity_of("smqos"), more = identity_of("even"), code = identity_of("even");
    checkpoint_identify(&more, "application 3", "sgemm");
    code.rows[1].value[0] = 'f';
    assert_int_equal(checkpoint_check(reader, &other, list), CORUN_ARGUMENT);
    assert_non_null(strstr(corun_diagnostics_get(list, 0)->message, "its policy was even, and is smqos now"));
    assert_int_equal(checkpoint_check(reader, &more, list), CORUN_ARGUMENT);
    assert_int_equal(checkpoint_check(reader, &code, list), CORUN_ARGUMENT);
    assert_non_null(strstr(corun_diagnostics_get(list, 2)->message, "the code of corun is not what it was"));
    checkpoint_reader_destroy(reader);
    corun_diagnostics_destroy(list);
}

static uint8_t *read_file(size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    uint8_t *data = malloc(1 << 16);
    *bytes = fread(data, 1, 1 << 16, file);
    fclose(file);
    return data;
}

/* Every bit, and every length. */
static void damage_is_found(void **unused)
{
    (void)unused;
    struct checkpoint_reader *reader;
    size_t bytes;
    write_one();
    uint8_t *data = read_file(&bytes);
    assert_in_range(bytes, 300, 1 << 15);
    for (size_t i = 0; i < bytes * 8; i++) {
        data[i / 8] ^= (uint8_t)(1u << i % 8);
        assert_int_equal(checkpoint_read_bytes("it", data, bytes, NULL, &reader), CORUN_SYNTAX);
        assert_null(reader);
        data[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    for (size_t length = 0; length < bytes; length++)
        assert_int_equal(checkpoint_read_bytes("it", data, length, NULL, &reader), CORUN_SYNTAX);
    assert_int_equal(checkpoint_read_bytes("it", data, bytes, NULL, &reader), CORUN_OK);
    checkpoint_reader_destroy(reader);
    free(data);
}

/* What lay there stays, and nothing else is left. */
static void a_failure_leaves_the_old_file(void **unused)
{
    (void)unused;
    struct checkpoint_identity identity = identity_of("even");
    struct checkpoint_writer *writer;
    struct checkpoint_reader *reader;
    char part[64];
    write_one();
    assert_int_equal(checkpoint_write(path, &identity, 99, NULL, &writer), CORUN_OK);
    archive_fail(checkpoint_writer_archive(writer), CORUN_UNSUPPORTED, "something cannot be saved");
    assert_int_equal(checkpoint_write_end(writer, NULL), CORUN_UNSUPPORTED);
    assert_int_equal(checkpoint_read(path, NULL, &reader), CORUN_OK);
    assert_int_equal(checkpoint_cycle(reader), 1234);
    checkpoint_reader_destroy(reader);
    snprintf(part, sizeof part, "%s.%ld.part", path, (long)getpid());
    assert_int_not_equal(access(part, F_OK), 0);
    assert_int_equal(checkpoint_read("/nowhere/at/all", NULL, &reader), CORUN_NOT_FOUND);
    assert_int_equal(checkpoint_write("/nowhere/at/all", &identity, 1, NULL, &writer), CORUN_FILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_written_is_read), cmocka_unit_test(it_is_of_something),
                                       cmocka_unit_test(damage_is_found),
                                       cmocka_unit_test(a_failure_leaves_the_old_file)};
    int file = mkstemp(path);
    if (file < 0)
        return 1;
    close(file);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(path);
    return failed;
}
