/* SPDX-License-Identifier: MIT */
/* Counts of boards and sheets: those are written by programs, and nothing of them is more than a number here. */
#include "daemon/work.h"

#include <string.h>

#define MOST_BLOCKS_PER_NS 4u         /* no GPU ends thread blocks faster; */
#define LATE_NS UINT64_C(10000000000) /* what is told may be so old */

void work_begin(struct work *work, struct board_sheet *sheet)
{
    *work = (struct work){0};
    memset((void *)sheet, 0, offsetof(struct board_sheet, whole));
    for (uint32_t i = 0; i < BOARD_LANES; i++) /* other places are written before a launch that names them has ended */
        atomic_store(&sheet->whole[i][0], 0);
}

uint64_t work_take(struct work *work, const struct board *board, const struct board_sheet *sheet, uint64_t passed_ns)
{
    uint64_t done = atomic_load(&sheet->done), sum = done - work->done;
    uint64_t time = passed_ns < LATE_NS ? passed_ns : LATE_NS;
    work->done = done;
    for (uint32_t i = 0; i < BOARD_LANES; i++) {
        uint32_t ended = atomic_load_explicit(&board->lanes[i].ended, memory_order_acquire);
        uint32_t whole = atomic_load(&sheet->whole[i][ended % BOARD_RING]);
        uint32_t since = whole - work->whole[i];
        work->whole[i] = whole;
        sum += since <= INT32_MAX ? since : 0;
    }
    return sum <= (time + LATE_NS) * MOST_BLOCKS_PER_NS ? sum : 0;
}
