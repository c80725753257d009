/* SPDX-License-Identifier: MIT */
/* What a program brings to corund, and gets from it: its name, and the file of boards. */
#ifndef CORUN_SHIM_BOARD_H
#define CORUN_SHIM_BOARD_H

#include "wire/wire.h"

struct board_front;

/* As the program was named, or that of its file. */
void board_fill_name(char name[WIRE_NAME_BYTES]);
/* All boards. NULL: they did not come, or the file has another length: behind its end lies nothing, and a look there would be the end. */
struct board_front *board_map(const struct wire_link *link);

#endif
