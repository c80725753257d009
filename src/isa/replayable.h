/* SPDX-License-Identifier: MIT */
/* What is to be known of a launch by those who record what its warps do (docs/replay.md). */
#ifndef CORUN_ISA_REPLAYABLE_H
#define CORUN_ISA_REPLAYABLE_H

#include "corun/source.h"

/* The grids are ones that corun_grid_create has made. */

/* Why what its warps do depends on when and where they run, as far as code can say; NULL: it does not. *line: of the PTX. */
const char *replay_obstacle(const struct corun_grid *grid, uint32_t *line);

#define REPLAY_ORDERED 0x80u
/*
 * Of instruction `pc`: 0: it is no atomic. Else the same number for what may come in any order at one place; with REPLAY_ORDERED: what several of
 * them leave depends on their order.
 */
uint8_t replay_atomic(const struct corun_grid *grid, uint32_t pc);

/* Of a warp's local memory, as addresses count them. */
uint64_t replay_local_bytes(const struct corun_grid *grid);

#endif
