/* SPDX-License-Identifier: MIT */
/*
 * A board: what corund and a program on a GPU of hardware tell each other without messages. One for each program, a page that both have
 * mapped and that the GPU writes to, too. corund writes the first part and trusts nothing of the others.
 */
#ifndef CORUN_WIRE_BOARD_H
#define CORUN_WIRE_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define BOARD_BYTES 4096u
#define BOARD_LANES 64u

/* What launches of the program may do. G(name, word, meaning) */
#define BOARD_GATES(G) \
    G(FREE, "free", "they go to the driver, and nothing is noted") \
    G(COUNTED, "counted", "they go to the driver; what is under way is noted") \
    G(BOUNDED, "bounded", "as COUNTED, and what is under way takes no longer than bound_ns, or is one launch") \
    G(CLOSED, "closed", "they wait")
enum board_gate {
#define BOARD_GATE_ENUM(name, word, meaning) BOARD_##name,
    BOARD_GATES(BOARD_GATE_ENUM)
#undef BOARD_GATE_ENUM
};

/* A stream: launches that were handed to the driver, and those that have ended, both modulo 2^32. The GPU writes `ended`. */
struct board_lane {
    _Atomic uint32_t asked, ended;
};

struct board {
    /* corund's */
    _Atomic uint32_t gate; /* enum board_gate; a futex */
    uint32_t unused;
    _Atomic uint64_t bound_ns;
    /* the program's */
    _Atomic uint32_t waiting;  /* threads that stand at the gate */
    _Atomic uint32_t starting; /* threads that are within a launch */
    _Atomic uint64_t launches; /* that were noted */
    _Atomic uint64_t held;     /* of these, those that have waited at the gate */
    _Atomic uint64_t held_ns;  /* for so long, together */
    struct board_lane lanes[BOARD_LANES];
};
_Static_assert(sizeof(struct board) <= BOARD_BYTES, "a board is a page");

/* Launches under way in a lane, or in all of them. */
static inline uint32_t board_lane_under_way(const struct board_lane *lane)
{
    uint32_t ended = atomic_load_explicit(&lane->ended, memory_order_acquire);
    return atomic_load_explicit(&lane->asked, memory_order_acquire) - ended;
}

static inline uint64_t board_under_way(const struct board *board)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < BOARD_LANES; i++)
        count += board_lane_under_way(&board->lanes[i]);
    return count;
}

/* Whether the program has something on the GPU, or is about to. */
static inline bool board_is_busy(const struct board *board)
{
    return atomic_load(&board->starting) || board_under_way(board);
}

#endif
