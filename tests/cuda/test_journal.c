/* SPDX-License-Identifier: MIT */
/* Journals: what is written is read in its order, a file that holds none is refused, and numbers for bytes tell them apart. */
#include "cuda/journal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A file in memory. */
struct tape {
    _Alignas(8) uint8_t bytes[1 << 12];
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

static const char asked[] = "launch of kernel add";

/* Three entries, on a tape. */
static void write_tape(struct tape *tape)
{
    struct journal journal = {0};
    struct journal_numbers numbers = {CORUN_OK, 7};
    struct corun_archive archive = {.move = move, .user = tape};
    assert_true(journal_put(&journal, JOURNAL_ASKED, 5, asked, sizeof asked));
    assert_true(journal_put(&journal, JOURNAL_ADVANCED, 6, &numbers, sizeof numbers));
    assert_true(journal_put(&journal, JOURNAL_CLOSED, 0, NULL, 0));
    journal_archive(&archive, &journal);
    assert_int_equal(archive.status, CORUN_OK);
    journal_clear(&journal);
}

static enum corun_status read_tape(struct tape *tape, struct journal *journal)
{
    struct corun_archive archive = {.reads = true, .move = move, .user = tape};
    tape->at = 0;
    journal_archive(&archive, journal);
    if (!archive_fine(&archive))
        assert_null(journal->data);
    return archive.status;
}

static const struct journal_entry *next(struct journal *journal, const void **answer)
{
    const struct journal_entry *entry = journal_see(journal, answer);
    if (entry)
        journal_pass(journal);
    return entry;
}

static void test_order(void **state)
{
    (void)state;
    static struct tape tape;
    struct journal journal;
    const void *answer;
    write_tape(&tape);
    assert_int_equal(read_tape(&tape, &journal), CORUN_OK);
    const struct journal_entry *entry = next(&journal, &answer);
    assert_int_equal(entry->kind, JOURNAL_ASKED);
    assert_int_equal(entry->digest, 5);
    assert_int_equal(entry->bytes, sizeof asked);
    assert_string_equal(answer, asked);
    entry = next(&journal, &answer);
    assert_int_equal(entry->kind, JOURNAL_ADVANCED);
    assert_int_equal(((const struct journal_numbers *)answer)->number, 7);
    assert_int_equal(next(&journal, &answer)->kind, JOURNAL_CLOSED);
    assert_null(next(&journal, &answer));
    assert_int_equal(journal.number, 3);
    /* What follows is written behind it. */
    assert_true(journal_put(&journal, JOURNAL_SENT, 9, NULL, 0));
    assert_int_equal(next(&journal, &answer)->digest, 9);
    journal_clear(&journal);
}

/* The first entry begins behind the heading of its part and the count of bytes. */
#define FIRST (ARCHIVE_SECTION_BYTES + sizeof(uint32_t) + sizeof(uint64_t))

static void spoil(size_t at, uint64_t value)
{
    static struct tape tape;
    struct journal journal;
    tape.written = 0;
    write_tape(&tape);
    memcpy(tape.bytes + FIRST + at, &value, sizeof value);
    assert_int_equal(read_tape(&tape, &journal), CORUN_SYNTAX);
}

static void test_damage(void **state)
{
    (void)state;
    static struct tape tape;
    struct journal journal;
    spoil(offsetof(struct journal_entry, kind), JOURNAL_KINDS);
    spoil(offsetof(struct journal_entry, bytes), 0);                /* words without an end */
    spoil(offsetof(struct journal_entry, bytes), sizeof asked - 1); /* the same */
    spoil(offsetof(struct journal_entry, bytes), UINT64_MAX);       /* that overflow */
    spoil(offsetof(struct journal_entry, bytes), 1 << 20);          /* beyond the end */
    spoil(offsetof(struct journal_entry, kind), JOURNAL_LAUNCHED);  /* another answer than that of the kind */
    spoil(offsetof(struct journal_entry, kind), JOURNAL_CLOSED);    /* one without an answer */
    write_tape(&tape);
    for (size_t left = FIRST; left < tape.written; left++) {
        struct tape shorter = tape;
        shorter.written = left;
        assert_int_equal(read_tape(&shorter, &journal), CORUN_SYNTAX);
    }
}

/* One look at a launch, whose answer has such a byte there. */
static enum corun_status read_look(size_t at, uint8_t byte)
{
    static struct tape tape;
    struct journal journal = {0};
    uint8_t answer[sizeof(struct corun_launched)] = {0};
    struct corun_archive archive = {.move = move, .user = &tape};
    tape.written = 0;
    answer[at] = byte;
    assert_true(journal_put(&journal, JOURNAL_STOOD, 1, answer, sizeof answer));
    journal_archive(&archive, &journal);
    journal_clear(&journal);
    enum corun_status status = read_tape(&tape, &journal);
    journal_clear(&journal);
    return status;
}

static void test_what_enumerations_and_truths_hold(void **state)
{
    (void)state;
    assert_int_equal(read_look(offsetof(struct corun_launched, ended), 1), CORUN_OK);
    assert_int_equal(read_look(offsetof(struct corun_launched, ended), 2), CORUN_SYNTAX);
    assert_int_equal(read_look(offsetof(struct corun_launched, estimated), 255), CORUN_SYNTAX);
    assert_int_equal(read_look(offsetof(struct corun_launched, status), CORUN_STATUS_COUNT - 1), CORUN_OK);
    assert_int_equal(read_look(offsetof(struct corun_launched, status), CORUN_STATUS_COUNT), CORUN_SYNTAX);
    assert_int_equal(read_look(offsetof(struct corun_launched, status) + 3, 0x80), CORUN_SYNTAX);
}

static void test_digests(void **state)
{
    (void)state;
    uint8_t bytes[19] = {0};
    uint64_t zeros = journal_digest(bytes, sizeof bytes, 0);
    assert_int_not_equal(zeros, journal_digest(bytes, sizeof bytes - 1, 0));
    assert_int_not_equal(zeros, journal_digest(bytes, sizeof bytes, 1));
    for (size_t i = 0; i < sizeof bytes; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes[i] ^= (uint8_t)(1u << bit);
            assert_int_not_equal(zeros, journal_digest(bytes, sizeof bytes, 0));
            bytes[i] ^= (uint8_t)(1u << bit);
        }
    assert_int_equal(zeros, journal_digest(bytes, sizeof bytes, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_what_enumerations_and_truths_hold),
        cmocka_unit_test(test_digests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
