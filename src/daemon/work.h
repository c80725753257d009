/* SPDX-License-Identifier: MIT */
/* Thread blocks that a program on a GPU of hardware has run, by what its board and its sheet tell: of workers as they end, of whole launches as these end. */
#ifndef CORUN_DAEMON_WORK_H
#define CORUN_DAEMON_WORK_H

#include "wire/board.h"

struct work {
    uint64_t done;               /* as the sheet had it */
    uint32_t whole[BOARD_LANES]; /* the same, of the launches that had ended */
};

/* A sheet for a program that comes: nothing has happened. */
void work_begin(struct work *work, struct board_sheet *sheet);
/* How many since it was asked before, `passed_ns` ago. More than a GPU can do are none. */
uint64_t work_take(struct work *work, const struct board *board, const struct board_sheet *sheet, uint64_t passed_ns);

#endif
