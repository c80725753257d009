/* SPDX-License-Identifier: MIT */
/*
 * A captured CUDA program (docs/captures.md): its modules, its launches, and everything that happened to its memory
 * between them, in order.
 *
 *   capture_file.c    the file: header, hash, zstd frame
 *   capture_read.c    its operations, checked
 *   capture_replay.c  an application that does them again
 *   capture_timed.c   its streams on the machine
 *   capture_archive.c its state in a checkpoint
 */
#ifndef CORUN_WORKLOAD_CAPTURE_H
#define CORUN_WORKLOAD_CAPTURE_H

#include "base/arena.h"
#include "base/vector.h"
#include "corun/texture.h"
#include "corun/workload.h"
#include "workload/capture_format.h"

struct capture_text {
    const uint8_t *data;
    size_t bytes;
};

struct capture_operation {
    enum capture_kind kind;
    uint32_t shape;          /* of a launch: which of `shapes` */
    const uint64_t *numbers; /* as many as the table in capture_format.h says; streams by index */
    struct capture_text texts[CAPTURE_MOST_TEXTS];
};

/* A launch with its arguments; programs repeat most of theirs. */
struct capture_shape {
    const struct corun_kernel *kernel;
    size_t operation; /* the first of its launches */
    uint32_t launches;
};

struct captured_module {
    const char *name;
    struct capture_text text;
    struct corun_module *code;
};

struct captured {
    struct arena *arena;
    char *path, *name;
    uint8_t *body; /* what operations and blocks point into */
    size_t bytes;
    uint64_t file_bytes;
    const char *program, *gpu;
    VECTOR(struct captured_module) modules;
    VECTOR(struct capture_text) blocks;
    VECTOR(struct capture_operation) operations;
    VECTOR(size_t) launches; /* index of the operation */
    VECTOR(struct capture_shape) shapes;
    VECTOR(struct corun_workload_launch)
    groups;                /* what characterisations list: launches of one kernel with one grid and block */
    uint64_t memory_bytes; /* allocated over the whole run */
    uint32_t checks;       /* places where the program read results */
};

/* A box of bytes in device memory, as operations name it. */
struct capture_rows {
    uint64_t address, pitch, slice, width, height, depth, span;
};

/* Begins to read them at numbers[0]. False if they make no sense: rows overlap, or there are none. */
bool capture_rows_of(const uint64_t *numbers, struct capture_rows *rows);

/* Is it one, by its first bytes? */
bool capture_is(const void *data, size_t bytes);
/* SYNTAX, UNSUPPORTED (a later version), FILE, NOT_FOUND, MEMORY, and what corun_module_load returns. */
enum corun_status capture_load(const char *path, uint32_t rewrites, struct corun_diagnostics *list,
                               struct captured **captured);
/* From the operations as they are in the frame; takes `body` over, also when it fails. */
enum corun_status capture_read(const char *path, uint8_t *body, size_t bytes, uint32_t rewrites,
                               struct corun_diagnostics *list, struct captured **captured);
void capture_destroy(struct captured *captured);
void capture_describe(const struct captured *captured, struct corun_workload_info *info);
/* The block behind `*at` in the list of a WRITE; false if there is none, or at its end. */
bool capture_next_block(const struct captured *captured, const struct capture_text *list, size_t *at,
                        const struct capture_text **block);

/* capture_replay.c: one application. */
struct replay;
enum corun_status replay_create(const struct captured *captured, uint32_t application, struct corun_diagnostics *list,
                                struct replay **replay);
void replay_destroy(struct replay *replay);
struct corun_memory *replay_memory(struct replay *replay);
/* Of launch `index`, without what happens before it. */
const struct corun_grid *replay_grid(const struct replay *replay, uint32_t index);
/* Does everything that comes before launch `index`; the number of launches: to the end. */
void replay_before(struct replay *replay, uint32_t index);
/* The same on the machine: struct corun_application_description.proceed. */
enum corun_status replay_proceed(struct replay *replay, struct corun_gpu *gpu, uint32_t application,
                                 struct corun_proceeding *proceeding);
/* Memory, variables and textures as they were at the beginning. */
void replay_restart(struct replay *replay);
/* What the program read, against what it read then. */
enum corun_status replay_verify(const struct replay *replay, struct corun_diagnostics *list,
                                struct corun_verification *verification);

/* capture_archive.c */
struct corun_archive;
/* To a checkpoint, or from it: then the replay has just been made. */
void replay_archive(struct replay *replay, struct corun_archive *archive);
/* The grids of its shapes, then those of launches that the machine has; NULL behind the last one. */
const struct corun_grid *replay_grid_numbered(const struct replay *replay, uint32_t number);

#endif
