/* SPDX-License-Identifier: MIT */
/*
 * The journal of a program whose state is saved (checkpoint.h): what it asked of its GPU, in its order, and what it got. The program that goes on is
 * given the same answers as long as it asks the same.
 *
 *     kind  digest of what was asked  bytes of the answer  the answer, filled up to a multiple of eight bytes
 */
#ifndef CORUN_CUDA_JOURNAL_H
#define CORUN_CUDA_JOURNAL_H

#include "base/archive.h"
#include "corun/gpu.h"

#define JOURNAL_ANY UINT64_MAX
#define JOURNAL_TEXT_BYTES 256u /* of what was asked, in words */

enum journal_kind {
#define KIND(name, bytes, words) JOURNAL_##name,
#include "cuda/journal_kinds.def"
#undef KIND
    JOURNAL_KINDS
};

/* Answers that are a status and a number: of an application, of a launch, a cycle. */
struct journal_numbers {
    uint64_t status, number;
};

struct journal_entry {
    uint64_t kind; /* enum journal_kind */
    uint64_t digest;
    uint64_t bytes;
};

/* Zeroed is an empty one, to be written. */
struct journal {
    uint8_t *data;
    size_t bytes, capacity;
    size_t at;       /* of the reader: behind what it has had */
    uint64_t number; /* of entries before that */
};

/* A number for bytes; `seed` is that of what stands before them, 0 if nothing does. */
uint64_t journal_digest(const void *data, size_t bytes, uint64_t seed);

/* Appends; false when out of memory. */
bool journal_put(struct journal *journal, enum journal_kind kind, uint64_t digest, const void *answer, size_t bytes);
/* The entry that the reader is at, and its answer; NULL: it has had all. Both valid until something is appended. */
const struct journal_entry *journal_see(const struct journal *journal, const void **answer);
/* The reader has had that one. */
void journal_pass(struct journal *journal);
/* What messages call a kind. */
const char *journal_words(enum journal_kind kind);

/* To a checkpoint or from one. SYNTAX: it is no journal; whoever reads on then finds what each kind has to have. */
void journal_archive(struct corun_archive *archive, struct journal *journal);
void journal_clear(struct journal *journal);

#endif
