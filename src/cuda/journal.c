/* SPDX-License-Identifier: MIT */
/* A journal in memory: written at its end, read from its begin, checked as a whole when it comes from a file. */
#include "cuda/journal.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES ((size_t)1 << 38)
#define LEAST_CAPACITY ((size_t)1 << 16)
#define PIECE_BYTES ((size_t)1 << 24) /* that is read before room is made for more: a count alone takes no memory */
#define MIXED_BITS 29
#define MIX UINT64_C(0x9e3779b97f4a7c15) /* odd, so that each step can be undone: two contents of one word never meet */

static const struct {
    uint64_t bytes;
    const char *words;
} kinds[JOURNAL_KINDS] = {
#define KIND(name, bytes, words) {bytes, words},
#include "cuda/journal_kinds.def"
#undef KIND
};

uint64_t journal_digest(const void *data, size_t bytes, uint64_t seed)
{
    const uint8_t *at = data;
    uint64_t digest = (seed ^ bytes) * MIX;
    for (; bytes; bytes -= bytes < 8 ? bytes : 8, at += 8) {
        uint64_t word = 0;
        memcpy(&word, at, bytes < 8 ? bytes : 8);
        digest = (digest ^ word) * MIX;
        digest ^= digest >> MIXED_BITS;
    }
    return digest;
}

static size_t padded(uint64_t bytes)
{
    return (size_t)(bytes + 7) & ~(size_t)7;
}

static bool have_room(struct journal *journal, size_t bytes)
{
    if (bytes > MOST_BYTES || journal->bytes > MOST_BYTES - bytes)
        return false;
    if (journal->bytes + bytes <= journal->capacity)
        return true;
    size_t capacity = journal->capacity ? journal->capacity : LEAST_CAPACITY;
    while (capacity < journal->bytes + bytes)
        capacity *= 2;
    uint8_t *data = realloc(journal->data, capacity);
    if (!data)
        return false;
    journal->data = data;
    journal->capacity = capacity;
    return true;
}

bool journal_put(struct journal *journal, enum journal_kind kind, uint64_t digest, const void *answer, size_t bytes)
{
    const struct journal_entry entry = {kind, digest, bytes};
    if (bytes > MOST_BYTES || !have_room(journal, sizeof entry + padded(bytes)))
        return false;
    uint8_t *at = journal->data + journal->bytes;
    memcpy(at, &entry, sizeof entry);
    if (bytes)
        memcpy(at + sizeof entry, answer, bytes);
    memset(at + sizeof entry + bytes, 0, padded(bytes) - bytes);
    journal->bytes += sizeof entry + padded(bytes);
    return true;
}

/* An entry has a multiple of eight bytes, and memory of the allocator is aligned to that. */
static const struct journal_entry *entry_at(const struct journal *journal, size_t at)
{
    return (const struct journal_entry *)(const void *)(journal->data + at);
}

const struct journal_entry *journal_see(const struct journal *journal, const void **answer)
{
    if (journal->at == journal->bytes)
        return NULL;
    const struct journal_entry *entry = entry_at(journal, journal->at);
    *answer = entry + 1;
    return entry;
}

void journal_pass(struct journal *journal)
{
    journal->at += sizeof(struct journal_entry) + padded(entry_at(journal, journal->at)->bytes);
    journal->number++;
}

const char *journal_words(enum journal_kind kind)
{
    return kind < JOURNAL_KINDS ? kinds[kind].words : "something";
}

/* ---- checkpoints ---- */

/* A status that there is, and truths that are 0 or 1: whatever else lies in the bytes of an enumeration or a bool, code may do anything with. */
static bool is_stand(const uint8_t *answer)
{
    uint32_t status;
    memcpy(&status, answer + offsetof(struct corun_launched, status), sizeof status);
    return status < CORUN_STATUS_COUNT && answer[offsetof(struct corun_launched, ended)] <= 1 &&
           answer[offsetof(struct corun_launched, estimated)] <= 1;
}

static bool is_good(const struct journal_entry *entry, size_t left)
{
    const char *words = (const char *)(entry + 1);
    if (entry->kind >= JOURNAL_KINDS || entry->bytes > left || padded(entry->bytes) > left)
        return false;
    if (kinds[entry->kind].bytes != JOURNAL_ANY && kinds[entry->kind].bytes != entry->bytes)
        return false;
    if (entry->kind == JOURNAL_ASKED)
        return entry->bytes && entry->bytes <= JOURNAL_TEXT_BYTES && !words[entry->bytes - 1];
    if (entry->kind == JOURNAL_STOOD)
        return is_stand((const uint8_t *)words);
    return entry->kind != JOURNAL_CHANGED || entry->bytes > sizeof(uint64_t);
}

static void check(struct corun_archive *archive, const struct journal *journal)
{
    uint64_t number = 0;
    for (size_t at = 0; at < journal->bytes; number++) {
        size_t left = journal->bytes - at;
        bool good =
            left >= sizeof(struct journal_entry) && is_good(entry_at(journal, at), left - sizeof(struct journal_entry));
        if (!good) {
            archive_fail(archive, CORUN_SYNTAX, "entry %" PRIu64 " of the journal is none", number + 1);
            return;
        }
        at += sizeof(struct journal_entry) + padded(entry_at(journal, at)->bytes);
    }
}

void journal_archive(struct corun_archive *archive, struct journal *journal)
{
    size_t bytes = journal->bytes;
    archive_section(archive, "journal", 1);
    archive_count(archive, &bytes, MOST_BYTES);
    if (!archive->reads) {
        archive_bytes(archive, journal->data, bytes);
        return;
    }
    *journal = (struct journal){0};
    while (journal->bytes < bytes && archive_fine(archive)) {
        size_t piece = bytes - journal->bytes < PIECE_BYTES ? bytes - journal->bytes : PIECE_BYTES;
        if (!have_room(journal, piece)) {
            archive_fail(archive, CORUN_MEMORY, "out of memory");
            break;
        }
        archive_bytes(archive, journal->data + journal->bytes, piece);
        journal->bytes += piece;
    }
    if (archive_fine(archive))
        check(archive, journal);
    if (!archive_fine(archive))
        journal_clear(journal);
}

void journal_clear(struct journal *journal)
{
    free(journal->data);
    *journal = (struct journal){0};
}
