/* SPDX-License-Identifier: MIT */
/*
 * Feeds bytes to the reader of journals of CUDA programs as what a checkpoint holds of one. A journal that is taken is walked as a program that goes on does,
 * with every byte of its answers; written entry by entry again, and saved, it is the same file.
 */
#include "cuda/journal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct tape {
    uint8_t *data;
    size_t bytes, at;
};

static bool move(struct corun_archive *archive, void *data, size_t bytes)
{
    struct tape *tape = archive->user;
    if (archive->reads && bytes > tape->bytes - tape->at) {
        archive_fail(archive, CORUN_SYNTAX, "it ends too soon");
        return false;
    }
    if (archive->reads && bytes)
        memcpy(data, tape->data + tape->at, bytes);
    if (!archive->reads) {
        uint8_t *longer = realloc(tape->data, tape->bytes + bytes + 1);
        if (!longer)
            abort();
        tape->data = longer;
        memcpy(tape->data + tape->bytes, data, bytes);
        tape->bytes += bytes;
    }
    tape->at += bytes;
    return true;
}

/* Whatever the bytes are. */
static struct tape save(const uint8_t *data, size_t bytes)
{
    struct tape tape = {0};
    struct journal journal = {.data = (uint8_t *)(uintptr_t)data, .bytes = bytes};
    struct corun_archive archive = {.move = move, .user = &tape};
    journal_archive(&archive, &journal);
    if (!archive_fine(&archive))
        abort();
    tape.at = 0;
    return tape;
}

static void walk(struct journal *journal, struct journal *again)
{
    const struct journal_entry *entry;
    const void *answer;
    uint64_t digest = 0, number = 0;
    for (; (entry = journal_see(journal, &answer)); number++) {
        digest = journal_digest(answer, entry->bytes, digest);
        if (!journal_words((enum journal_kind)entry->kind) || journal->number != number ||
            (entry->kind == JOURNAL_ASKED && strlen(answer) >= JOURNAL_TEXT_BYTES))
            abort();
        if (!journal_put(again, (enum journal_kind)entry->kind, entry->digest, answer, entry->bytes))
            abort();
        journal_pass(journal);
    }
    if (journal->at != journal->bytes || again->bytes != journal->bytes)
        abort();
}

static void take(struct journal *journal)
{
    struct journal again = {0}, read;
    walk(journal, &again);
    struct tape tape = save(again.data, again.bytes);
    struct corun_archive archive = {.reads = true, .move = move, .user = &tape};
    journal_archive(&archive, &read);
    /* What fills an answer up to whole words is not the journal's: it is zero when it is written. */
    if (!archive_fine(&archive) || tape.at != tape.bytes || read.bytes != again.bytes ||
        (read.bytes && memcmp(read.data, again.data, read.bytes) != 0))
        abort();
    journal_clear(&read);
    journal_clear(&again);
    free(tape.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tape tape = save(data, size);
    struct corun_archive archive = {.reads = true, .move = move, .user = &tape};
    struct journal journal;
    journal_archive(&archive, &journal);
    if (archive_fine(&archive))
        take(&journal);
    else if (journal.data)
        abort();
    journal_clear(&journal);
    /* a file that ends too soon, and one whose count is another one */
    for (size_t cut = 1; cut <= 3 && tape.bytes > 8 * cut; cut++) {
        struct tape part = {tape.data, tape.bytes - 8 * cut + cut % 2, 0};
        struct corun_archive shorter = {.reads = true, .move = move, .user = &part};
        journal_archive(&shorter, &journal);
        if (archive_fine(&shorter))
            abort();
        journal_clear(&journal);
    }
    free(tape.data);
    return 0;
}
