/* SPDX-License-Identifier: MIT */
/*
 * Boards: what corund and programs on a GPU of hardware tell each other without messages. One for each program, a page that the GPU writes
 * to, too. Those of a user lie in one file that corund and the user's programs have mapped, so that one program sees what another one has on the GPU
 * without asking corund. corund writes the first part of a board and the page in front of them, and trusts nothing of the others. Numbers are of all
 * users: every file has a place for each.
 */
#ifndef CORUN_WIRE_BOARD_H
#define CORUN_WIRE_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOARD_BYTES 4096u
#define BOARD_LANES 64u
#define BOARD_CLIENTS 64u
#define BOARD_RUNS 256u
#define BOARD_TIMES 256u
#define BOARD_PLACES 1024u /* numbers of SMs (%smid) are below that */
#define BOARD_RING 1024u   /* launches of a lane whose thread blocks are known: no driver takes more ahead */

/* What launches of the program may do. G(name, word, meaning) */
#define BOARD_GATES(G) \
    G(FREE, "free", "they go to the driver, and nothing is noted") \
    G(COUNTED, "counted", "they go to the driver; what is under way is noted") \
    G(BOUNDED, "bounded", \
      "as COUNTED; what is under way takes no longer than bound_ns, or is one launch; and they wait while a program " \
      "that goes first is busy") \
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
    _Atomic uint32_t gate;    /* enum board_gate; a futex */
    _Atomic uint32_t limited; /* the device memory of its user: corund is asked before there is more */
    _Atomic uint64_t bound_ns;
    /* the program's */
    _Atomic uint32_t waiting;  /* threads that stand at the gate */
    _Atomic uint32_t starting; /* threads that are within a launch */
    _Atomic uint64_t launches; /* that were noted */
    _Atomic uint64_t held;     /* of these, those that have waited at the gate */
    _Atomic uint64_t held_ns;  /* for so long, together */
    _Atomic uint32_t parts;    /* of those that were noted: slices of a launch, but for its last one */
    uint32_t unused_too;
    _Atomic uint64_t runs, run_ns; /* of the program, as it tells: that have ended, and their time together */
    _Atomic uint64_t
        bytes; /* of device memory; where it is limited, corund keeps what it has granted, and writes that here */
    struct board_lane lanes[BOARD_LANES];
    _Atomic uint64_t last_runs[BOARD_RUNS]; /* nanoseconds; run i, from 0 on, in place i modulo their number */
    /* corund's: the goal as it is by now, which the program tells the next corund; an enum corun_goal_kind, and the bits of a double */
    _Atomic uint64_t goal, goal_value;
    /* corund's: the SMs on which workers of the program may be (board_sms); 0: launches stay whole. A futex */
    _Atomic uint32_t sms;
    _Atomic uint32_t obeys; /* the program's: its launches become workers where `sms` says so */
    /* The program's: how many of its launches it has timed, and how long the last ones took, the bits of a float, milliseconds; i in place i modulo their number */
    _Atomic uint64_t timed;
    _Atomic uint32_t last_times[BOARD_TIMES];
};
_Static_assert(sizeof(struct board) <= BOARD_BYTES, "a board is a page");

/*
 * What limits on each SM need, of a program: behind the boards, in their order. Limits are corund's, and in force when board.sms says so
 * (board_sms_listed). The rest is the program's: counts as of its last look at the tables of its contexts.
 */
struct board_place {
    _Atomic uint32_t done;     /* thread blocks that workers have run there, modulo 2^32 */
    _Atomic uint32_t resident; /* workers that are there */
};

struct board_sheet {
    _Atomic uint16_t limits[BOARD_PLACES];     /* workers on each SM; BOARD_UNLIMITED: as many as fit */
    _Atomic uint32_t sms;                      /* of its device; 0: not known yet */
    _Atomic uint32_t threads_per_sm, most_tbs; /* that an SM of it holds: threads, thread blocks */
    _Atomic uint32_t tbs_per_sm,
        tb_threads;             /* of its last launch of workers: that an SM holds, of so many threads; 0: none */
    _Atomic uint32_t obeyed;    /* board.sms as it was when the tables were written that the counts are of */
    _Atomic uint64_t looked_ns; /* CLOCK_MONOTONIC: when the program looked last, at the tables or whether it need */
    _Atomic uint64_t done;      /* thread blocks of workers, on whatever SMs */
    struct board_place places[BOARD_PLACES];
    /* Thread blocks of whole launches up to launch number n of a lane, in place n modulo BOARD_RING; modulo 2^32. */
    _Atomic uint32_t whole[BOARD_LANES][BOARD_RING];
};
#define BOARD_UNLIMITED 4095u
#define BOARD_SHEET_BYTES ((sizeof(struct board_sheet) + BOARD_BYTES - 1) / BOARD_BYTES * BOARD_BYTES)
#define BOARD_FILE_BYTES ((BOARD_CLIENTS + 1) * BOARD_BYTES + BOARD_CLIENTS * BOARD_SHEET_BYTES)

/* SMs as parts of all there are: of BOARD_SMS, from `first` to before `end`. Never 0. */
#define BOARD_SMS 1024u
static inline uint32_t board_sms(uint32_t first, uint32_t end)
{
    return end << 16 | first;
}
/* In place of a part: the limits of the sheet, which were changed for the n-th time. */
static inline uint32_t board_sms_listed(uint32_t n)
{
    return UINT32_C(1) << 31 | n;
}
static inline bool board_sms_is_listed(uint32_t sms)
{
    return sms >> 31 != 0;
}
/* The first of so many SMs, and the one behind the last; at least one. Those that share the parts of all share the SMs. */
static inline void board_sms_range(uint32_t sms, uint32_t count, uint32_t *first, uint32_t *end)
{
    uint32_t from = sms & 0xffff, to = sms >> 16;
    from = from < BOARD_SMS ? from : BOARD_SMS - 1;
    to = to < BOARD_SMS ? to : BOARD_SMS;
    *first = (uint32_t)((uint64_t)from * count / BOARD_SMS);
    *end = (uint32_t)((uint64_t)to * count / BOARD_SMS);
    *end = *end > *first ? *end : *first + 1;
}

static inline double board_sms_share(uint32_t sms)
{
    uint32_t from = sms & 0xffff, to = sms >> 16 < BOARD_SMS ? sms >> 16 : BOARD_SMS;
    return to > from ? (double)(to - from) / BOARD_SMS : 0;
}

/* The page in front of the boards of a user, corund's. */
struct board_front {
    _Atomic uint64_t first; /* bit i: the program of board i goes first */
    /* When corund looked at the boards last, CLOCK_MONOTONIC: whoever stands at a gate rings, and is looked at often. */
    _Atomic uint64_t looked;
    _Atomic uint32_t elsewhere; /* a program of another user goes first, and was busy when corund looked */
    uint32_t unused;
};

/* The board of a number, below BOARD_CLIENTS, in the file. */
static inline struct board *board_at(struct board_front *front, uint32_t number)
{
    return (struct board *)(void *)((unsigned char *)front + (size_t)(number + 1) * BOARD_BYTES);
}

static inline struct board_sheet *board_sheet_at(struct board_front *front, uint32_t number)
{
    size_t boards = (size_t)(BOARD_CLIENTS + 1) * BOARD_BYTES;
    return (struct board_sheet *)(void *)((unsigned char *)front + boards + number * BOARD_SHEET_BYTES);
}

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

/* Whether another program that goes first is busy. */
static inline bool board_yields(struct board_front *front, uint32_t number)
{
    uint64_t first = atomic_load(&front->first) & ~(UINT64_C(1) << number);
    for (uint32_t i = 0; first; i++, first >>= 1)
        if (first & 1 && board_is_busy(board_at(front, i)))
            return true;
    return atomic_load(&front->elsewhere) != 0;
}

#endif
