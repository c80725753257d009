/* SPDX-License-Identifier: MIT */
#include "shim/lanes.h"

struct board_lane *lanes_of(struct lanes *lanes, struct board *board, const struct stream_place *place)
{
    uint32_t chosen = BOARD_LANES;
    for (uint32_t i = 0; i < BOARD_LANES; i++) {
        const struct stream_key *key = &lanes->places[i].key;
        if (key->stream == place->key.stream && key->current == place->key.current) {
            chosen = i;
            break;
        }
        if (chosen == BOARD_LANES && board_lane_under_way(&board->lanes[i]) == 0)
            chosen = i;
    }
    if (chosen == BOARD_LANES)
        return NULL;
    lanes->places[chosen] = *place;
    return &board->lanes[chosen];
}

void lanes_end(const struct lanes *lanes, struct board *board, const void *context)
{
    for (uint32_t i = 0; i < BOARD_LANES; i++)
        if (!context || !lanes || !lanes->places[i].context || lanes->places[i].context == context)
            atomic_store(&board->lanes[i].ended, atomic_load(&board->lanes[i].asked));
}
