/* SPDX-License-Identifier: MIT */
/* Archives: what is written comes back, holes stay, what does not fit is refused. */
#include "base/archive.h"
#include "base/vector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A file in memory. */
struct tape {
    uint8_t bytes[1 << 16];
    size_t written, at;
};

static bool move(struct corun_archive *archive, void *data, size_t bytes)
{
    struct tape *tape = archive->user;
    if (!archive->reads) {
        assert_true(tape->written + bytes <= sizeof tape->bytes);
        memcpy(tape->bytes + tape->written, data, bytes);
        tape->written += bytes;
        return true;
    }
    if (tape->at + bytes > tape->written) {
        archive_fail(archive, CORUN_SYNTAX, "it ends too soon");
        return false;
    }
    memcpy(data, tape->bytes + tape->at, bytes);
    tape->at += bytes;
    return true;
}

static struct corun_archive writer(struct tape *tape)
{
    return (struct corun_archive){.move = move, .user = tape};
}

static struct corun_archive reader(struct tape *tape)
{
    return (struct corun_archive){.reads = true, .move = move, .user = tape};
}

struct thing {
    uint32_t first;
    const char *pointer;
    uint64_t second;
    void *last;
};

static void archive_thing(struct corun_archive *archive, struct thing *thing)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct thing, last), ARCHIVE_HOLE(struct thing, pointer)};
    ARCHIVE_RECORD(archive, thing, holes);
}

static void records_keep_their_holes(void **unused)
{
    (void)unused;
    static struct tape tape;
    struct thing from = {7, "there", 11, &from}, to = {1, "here", 2, &to};
    struct corun_archive out = writer(&tape), in = reader(&tape);
    archive_thing(&out, &from);
    archive_thing(&in, &to);
    assert_true(archive_fine(&out) && archive_fine(&in));
    assert_int_equal(to.first, 7);
    assert_int_equal(to.second, 11);
    assert_string_equal(to.pointer, "here");
    assert_ptr_equal(to.last, &to);
    uintptr_t address = (uintptr_t)&from;
    for (size_t i = 0; i + sizeof address <= tape.written; i++)
        assert_memory_not_equal(tape.bytes + i, &address, sizeof address);
}

static void sparse_memory(void **unused)
{
    (void)unused;
    enum { BYTES = 5 * 4096 + 100 };
    static struct tape tape;
    static uint8_t from[BYTES], to[BYTES];
    memset(to, 0xa5, sizeof to);
    from[4096] = 1;
    from[2 * 4096 + 4095] = 2;
    from[BYTES - 1] = 3;
    struct corun_archive out = writer(&tape), in = reader(&tape);
    archive_sparse(&out, from, sizeof from);
    assert_in_range(tape.written, 2 * 4096 + 100, 2 * 4096 + 100 + 64);
    archive_sparse(&in, to, sizeof to);
    assert_true(archive_fine(&in));
    assert_memory_equal(from, to, sizeof to);
    tape.at = 0;
    in = reader(&tape);
    archive_sparse(&in, to, 3 * 4096); /* the file has more pages */
    assert_int_equal(in.status, CORUN_SYNTAX);
}

static void vectors(void **unused)
{
    (void)unused;
    static struct tape tape;
    VECTOR(uint32_t) from = {0}, to = {0};
    for (uint32_t i = 0; i < 100; i++)
        assert_true(vector_push(&from, i * i));
    assert_true(vector_push(&to, 5));
    struct corun_archive out = writer(&tape), in = reader(&tape);
    assert_true(ARCHIVE_VECTOR(&out, &from, 1000));
    archive_bytes(&out, from.data, from.count * sizeof *from.data);
    assert_true(ARCHIVE_VECTOR(&in, &to, 1000));
    archive_bytes(&in, to.data, to.count * sizeof *to.data);
    assert_int_equal(to.count, 100);
    assert_memory_equal(from.data, to.data, 100 * sizeof *to.data);
    tape.at = 0;
    in = reader(&tape);
    assert_false(ARCHIVE_VECTOR(&in, &to, 99));
    assert_int_equal(in.status, CORUN_SYNTAX);
    assert_int_equal(to.count, 0);
    vector_free(&from);
    vector_free(&to);
}

static void the_first_failure_counts(void **unused)
{
    (void)unused;
    static struct tape tape;
    struct corun_archive out = writer(&tape), in = reader(&tape);
    uint64_t value = 9;
    archive_section(&out, "machine", 3);
    archive_same(&out, 16, "SMs");
    archive_section(&in, "machine", 3);
    archive_same(&in, 17, "SMs");
    assert_int_equal(in.status, CORUN_SYNTAX);
    assert_string_equal(in.message, "SMs: 16 in the file, 17 here");
    ARCHIVE(&in, value);
    assert_int_equal(value, 0);
    archive_fail(&in, CORUN_MEMORY, "later");
    assert_int_equal(in.status, CORUN_SYNTAX);
    static const struct {
        const char *name;
        uint32_t version;
        const char *message;
    } rows[] = {{"memory", 3, "the part `memory` is not where it belongs"},
                {"machine", 4, "the part `machine` is of version 3, this is version 4"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tape.at = 0;
        in = reader(&tape);
        archive_section(&in, rows[i].name, rows[i].version);
        assert_string_equal(in.message, rows[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(records_keep_their_holes), cmocka_unit_test(sparse_memory),
                                       cmocka_unit_test(vectors), cmocka_unit_test(the_first_failure_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
