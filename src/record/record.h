/* SPDX-License-Identifier: MIT */
/*
 * Records: what the warps of a workload's run did (instructions, lanes, addresses), kept in a file, from which a machine times the run again
 * without executing it (docs/replay.md).
 *
 *   recorder.c       runs a grid thread block by thread block, and tells what its warps do; it refuses where that depends on time
 *   shadow.c         who has loaded and stored which bytes, as far as that decides whether a record holds at other times
 *   encode.c         what a warp does as bytes
 *   record_write.c   the file as it is written
 *   record_read.c    the file as it is read, piece by piece
 *   record_source.c  a recorded grid as a source of warp instructions (corun/source.h)
 *
 * A file is a head (struct record_head), pieces, an index and an end (struct record_end). A piece is a frame of zstd with its checksum; it
 * holds the streams of several thread blocks, or a part of those of one: for each warp its bytes of control and of addresses. The index says
 * where the pieces of each launch are, so that thread blocks can begin in any order.
 */
#ifndef CORUN_RECORD_RECORD_H
#define CORUN_RECORD_RECORD_H

#include "corun/source.h"

#define RECORD_KEY_BYTES 64u /* in hexadecimal */

/* What is known of a grid beside its code, by whoever made it. */
struct record_grid_facts {
    /* NULL: each warp does the same at any time and place, as far as its code says. Else why not, and the line. */
    const char *reason;
    uint32_t line;
    uint64_t warp_local_bytes;          /* of local memory, as addresses count them */
    uint64_t local_first;               /* where local memory begins in the range of an application */
    uint32_t local_sm_shift, local_sms; /* each SM has a part of it; so many parts */
    /* [code_length]: 0: no atomic; else what it does. RECORD_ORDERED: what it leaves depends on the order of those at one place. */
    const uint8_t *atomics;
};
#define RECORD_ORDERED 0x80u

/* ---- writing ---- */

struct record_writer;
/* Written beside `path`, and renamed when it is whole. `key`: RECORD_KEY_BYTES characters that say what it is of. FILE, MEMORY. */
enum corun_status record_write(const char *path, const char *key, uint32_t unit_bytes, struct corun_diagnostics *list,
                               struct record_writer **writer);
/* The shortest access of a grid, at most `most` bytes; a writer's unit is the shortest one of all its grids. */
uint32_t record_unit_bytes(const struct corun_grid *grid, uint32_t most);
/*
 * Runs the next launch without timing, on the data that the launches before have left, and adds it. UNSUPPORTED: its instructions depend on when
 * they run, and the message says which; FAULT, FILE, MEMORY.
 */
enum corun_status record_launch(struct record_writer *writer, const struct corun_grid *grid,
                                const struct record_grid_facts *facts, struct corun_diagnostics *list);
/* Data are copied by the host before the next launch. UNSUPPORTED: they may be what was left in an order that nobody knows. */
enum corun_status record_copy(const struct record_writer *writer, struct corun_diagnostics *list);
/* Destroys it. `keep`: else nothing is left of the file. FILE, MEMORY. */
enum corun_status record_write_end(struct record_writer *writer, bool keep, struct corun_diagnostics *list);

/* ---- reading: several threads may read one file ---- */

struct record_file;
/* NOT_FOUND, with no message; FILE, SYNTAX (damaged, of another version, of another key), MEMORY, with one. */
enum corun_status record_open(const char *path, const char *key, struct corun_diagnostics *list,
                              struct record_file **file);
void record_close(struct record_file *file);
uint32_t record_launch_count(const struct record_file *file);
/* Whether launch `launch` was made of a grid like this one. */
bool record_fits(const struct record_file *file, uint32_t launch, const struct corun_grid *grid);
struct record_size {
    uint64_t file_bytes, stream_bytes; /* as they are, and unpacked */
    uint64_t warp_instructions;
};
void record_measure(const struct record_file *file, struct record_size *size);

/* ---- a recorded grid as a source ---- */

struct record_kernel; /* what launches of one grid share */
/* `grid` is what was recorded, of this application; it is not run, and must outlive the kernel, as the file must. NULL: out of memory. */
struct record_kernel *record_kernel_create(struct record_file *file, const struct corun_grid *grid,
                                           const struct record_grid_facts *facts, uint32_t application);
void record_kernel_destroy(struct record_kernel *kernel);
/* A grid for launch `launch` of the file, for which record_fits holds. NULL: out of memory. It belongs to the kernel. */
const struct corun_grid *record_kernel_launch(struct record_kernel *kernel, uint32_t launch);

#endif
