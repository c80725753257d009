/* SPDX-License-Identifier: MIT */
/*
 * The file of a checkpoint: what it is of, in words; the state, compressed; a SHA-256 over all of it. Whoever reads gets nothing before
 * the whole file has been found to be as it was written.
 *
 *     "corun checkpoint"  version  byte order  cycle  rows  { name, value }  bytes of the state, compressed  the state (zstd)  SHA-256
 */
#ifndef CORUN_BASE_CHECKPOINT_FILE_H
#define CORUN_BASE_CHECKPOINT_FILE_H

#include "base/archive.h"

#define CHECKPOINT_NAME_BYTES 48u
#define CHECKPOINT_VALUE_BYTES 80u
#define CHECKPOINT_MOST_ROWS 64u

/* What the state is of. Both texts end with zeros. */
struct checkpoint_row {
    char name[CHECKPOINT_NAME_BYTES]; /* "its policy" */
    char value[CHECKPOINT_VALUE_BYTES];
};

struct checkpoint_identity {
    uint32_t count;
    struct checkpoint_row rows[CHECKPOINT_MOST_ROWS];
};

/* Further rows than there is room for are not taken. A digest: nobody reads it, a message says only that it differs. */
void checkpoint_identify(struct checkpoint_identity *identity, const char *name, const char *value);

/* Writing: beside the path, and renamed when it is whole. */
struct checkpoint_writer;
/* Before the work: FILE, with a message, where none could be written, or where something lies that is none and would be replaced. */
enum corun_status checkpoint_try(const char *path, struct corun_diagnostics *list);
/* FILE, MEMORY, with a message; *writer is NULL then. */
enum corun_status checkpoint_write(const char *path, const struct checkpoint_identity *identity, uint64_t cycle,
                                   struct corun_diagnostics *list, struct checkpoint_writer **writer);
struct corun_archive *checkpoint_writer_archive(struct checkpoint_writer *writer);
/* Destroys it. What the archive has met is reported, and nothing is left of the file; what was at the path before stays. */
enum corun_status checkpoint_write_end(struct checkpoint_writer *writer, struct corun_diagnostics *list);

struct checkpoint_reader;
/* NOT_FOUND, FILE, SYNTAX (damaged, or something else), MEMORY, with a message. */
enum corun_status checkpoint_read(const char *path, struct corun_diagnostics *list, struct checkpoint_reader **reader);
/* The same of a file in memory, which has to stay; `path` for messages. */
enum corun_status checkpoint_read_bytes(const char *path, const void *data, size_t bytes,
                                        struct corun_diagnostics *list, struct checkpoint_reader **reader);
/* ARGUMENT: the file is of something else, and the message says what differs first. */
enum corun_status checkpoint_check(const struct checkpoint_reader *reader, const struct checkpoint_identity *identity,
                                   struct corun_diagnostics *list);
uint64_t checkpoint_cycle(const struct checkpoint_reader *reader);
struct corun_archive *checkpoint_reader_archive(struct checkpoint_reader *reader);
/* Destroys it; what the archive has met is reported. SYNTAX: something is left in the file. NULL: nothing happens. */
enum corun_status checkpoint_read_end(struct checkpoint_reader *reader, struct corun_diagnostics *list);
void checkpoint_reader_destroy(struct checkpoint_reader *reader);

#endif
