/* SPDX-License-Identifier: MIT */
/* Pieces of a record that is read. */
#ifndef CORUN_RECORD_READER_H
#define CORUN_RECORD_READER_H

#include "record/format.h"

#include <pthread.h>

#define RECORD_SLACK_BYTES 512u /* behind a piece: more than the longest word with its addresses */

/* Where the streams of a warp lie in a piece. */
struct record_span {
    const uint8_t *control, *control_end, *addresses, *addresses_end;
};

/* A piece in memory. */
struct record_piece {
    uint32_t users;
    uint32_t first_tb;
    uint8_t *data;
    struct record_piece **place; /* that names it, as long as it is there */
    struct record_span spans[];  /* by thread block and warp */
};

struct record_file {
    char *path;
    int descriptor;
    struct record_head head;
    struct record_launch_row *launches;
    struct record_piece_row *pieces;
    uint32_t launch_count, piece_count;
    uint64_t bytes;        /* of the file */
    pthread_mutex_t mutex; /* for what follows, and for pieces */
    void *decompressor;    /* ZSTD_DCtx */
    uint8_t *packed;
    size_t packed_room;
    struct record_piece *idle; /* nobody uses it, but somebody may soon */
};

/*
 * The piece `number` for `users` more users; *place names it if it is in memory. NULL: it cannot be read, or is damaged. For several threads.
 */
struct record_piece *record_piece_take(struct record_file *file, uint32_t number, uint32_t tb_warps,
                                       struct record_piece **place, uint32_t users);
void record_piece_give(struct record_file *file, struct record_piece *piece, uint32_t users);
/* The places of a launch are no more: what is idle there leaves. */
void record_pieces_forget(struct record_file *file, struct record_piece **places, uint32_t count);

#endif
