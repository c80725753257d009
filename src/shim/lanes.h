/* SPDX-License-Identifier: MIT */
/* Lanes of a board (wire/board.h): which stream has which, and in which context what was asked there last is. */
#ifndef CORUN_SHIM_LANES_H
#define CORUN_SHIM_LANES_H

#include "wire/board.h"

#include <stdbool.h>

struct lane_key {
    const void *stream, *context;
};

struct lanes {
    struct lane_key keys[BOARD_LANES];
    const void *contexts[BOARD_LANES]; /* NULL: it is not known */
};

/* Functions of the driver; NULL: it has none. Those of a pair are for whose stream 0 is everybody's, and the thread's own. */
struct lanes_driver {
    int (*current)(void **context);
    int (*contexts[2])(void *stream, void **context, void **green);
    int (*context[2])(void *stream, void **context);
};
struct lanes_driver lanes_driver(void);

/* The context of a stream; of one of a green context, the device's own. NULL: the driver does not tell. */
const void *lanes_context(const struct lanes_driver *driver, void *stream, bool per_thread);
/* The lane of a stream in a context: its own one, else one on which nothing is under way. NULL: all are taken. */
struct board_lane *lanes_of(struct lanes *lanes, const struct lanes_driver *driver, struct board *board, void *stream,
                            bool per_thread, const void *context);
/* What is under way in the context, and wherever it is not known in which, will not be written to have ended: it is taken to have. Context or
   lanes NULL: all of the board. */
void lanes_end(const struct lanes *lanes, struct board *board, const void *context);

#endif
