/* SPDX-License-Identifier: MIT */
/* Lanes of a board (wire/board.h): which stream has which, and in which context what was asked there last is. */
#ifndef CORUN_SHIM_LANES_H
#define CORUN_SHIM_LANES_H

#include "shim/streams.h"
#include "wire/board.h"

struct lanes {
    struct stream_place places[BOARD_LANES];
};

/* The lane of a stream: its own one, else one on which nothing is under way. NULL: all are taken. */
struct board_lane *lanes_of(struct lanes *lanes, struct board *board, const struct stream_place *place);
/* What is under way in the context, and wherever it is not known in which, will not be written to have ended: it is taken to have. Context or
   lanes NULL: all of the board. */
void lanes_end(const struct lanes *lanes, struct board *board, const void *context);

#endif
