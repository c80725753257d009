/* SPDX-License-Identifier: MIT */
/* A record that is being written: recorder.c fills streams, record_write.c puts them into pieces of the file. */
#ifndef CORUN_RECORD_WRITER_H
#define CORUN_RECORD_WRITER_H

#include "base/vector.h"
#include "record/encode.h"
#include "record/shadow.h"

#include <stdio.h>

#define RECORD_PATH_BYTES 4096u

struct record_writer {
    FILE *file;
    struct corun_diagnostics *list; /* of the call that is under way */
    void *compressor;               /* ZSTD_CCtx */
    struct record_bytes packed;
    struct record_head head;
    uint64_t offset; /* of the next piece */
    VECTOR(struct record_launch_row) launches;
    VECTOR(struct record_piece_row) pieces;
    /* The piece that is being filled: a launch's thread blocks first_tb and those behind it. */
    struct record_bytes sizes, control, addresses;
    uint32_t first_tb, tb_count;
    struct record_shadow *global, *shared;
    struct record_stream streams[RECORD_MOST_WARPS];
    char path[RECORD_PATH_BYTES], temporary[RECORD_PATH_BYTES];
};

/* Adds the streams of a thread block to the piece, and ends the piece where it is large enough. FILE, MEMORY. */
enum corun_status record_writer_add(struct record_writer *writer, uint32_t tb, uint32_t warps);
/* The same of a part of a thread block: it gets a piece of its own. `first`: its first part. */
enum corun_status record_writer_add_part(struct record_writer *writer, uint32_t tb, uint32_t warps, bool first);
/* Ends the piece that is being filled, if there is any. */
enum corun_status record_writer_end_piece(struct record_writer *writer);

#endif
