/* SPDX-License-Identifier: MIT */
/* Launches under corund: whether they may go now, and what is under way (wire/board.h). */
#ifndef CORUN_SHIM_GOVERN_H
#define CORUN_SHIM_GOVERN_H

#include <stdbool.h>
#include <stdint.h>

struct board_lane;

/* A launch that is being made. */
struct governed {
    struct board_lane *lane; /* NULL: nothing is noted of it */
    void *stream;
    bool per_thread; /* stream 0 is the thread's own */
};

/* Before a launch into the stream: waits until it may go. */
void govern_begin(struct governed *launch, void *stream, bool per_thread);
/* After it; `error`: what the driver said. */
void govern_end(struct governed *launch, int error);

#endif
