/* SPDX-License-Identifier: MIT */
/*
 * How fast a program on a GPU of hardware is, and whether it keeps behind its goal. Its rate is launches that end in a second in which it wants the
 * GPU: something of it is under way, or waits to be launched. So a server has the same rate at any load, and time on the host does not count.
 *
 * What is promised and not kept is a debt, in nanoseconds: what the program took, less what it may take by its goal. Whoever is in debt is behind.
 * Beyond the window nothing is remembered, of either sign.
 */
#ifndef CORUN_DAEMON_RATE_H
#define CORUN_DAEMON_RATE_H

#include "corun/policy.h"
#include "wire/board.h"

#define RATE_ALONE_NS UINT64_C(100000000)    /* of wanting the GPU, without others: then the rate alone is known, */
#define RATE_ALONE_LAUNCHES 16u              /* and of launches */
#define RATE_SETTLED_NS UINT64_C(1000000000) /* then it is known well; older time counts half */

#define RATE_PATIENCE_NS UINT64_C(1000000000)  /* of others held back: a goal of runs that is not reached then */
#define RATE_HOPELESS_NS UINT64_C(10000000000) /* holds them back no more for so long */
#define RATE_DUTY_WINDOWS 8                    /* over which the part of the time is taken in which it wants the GPU, */
#define RATE_LEAST_DEBT_NS 1000000             /* and what no debt is, since who wants the GPU is a sample */

/* What was seen of a program without others. */
struct rate_alone {
    uint64_t wanted_ns, ended;
    uint64_t blocks; /* thread blocks */
};

/* From when on what a program does counts for its rate alone. */
enum rate_quiet {
    RATE_DISTURBED, /* others have something on the GPU */
    RATE_SETTLES,   /* a launch may still be under way that began beside others */
    RATE_QUIET
};

struct rate {
    enum corun_goal_kind goal; /* NONE; FRACTION; MILLISECONDS and FRAMES_PER_SECOND are of the program's runs */
    double goal_value;
    struct rate_alone alone;
    enum rate_quiet quiet;
    uint64_t wanted_ns; /* that it wanted the GPU, while that was noted */
    int64_t ended;      /* launches, meanwhile; slices are no launches */
    uint64_t runs;      /* that the program has told of */
    int64_t debt_ns;
    double duty;                     /* the part of the time in which it wants the GPU, lately */
    bool overdue;                    /* the debt was more than a quarter of what it wants in a window; not paid since */
    uint64_t overdue_ns;             /* that it has been overdue, without a break */
    uint64_t hopeless_ns;            /* that it will not be */
    uint64_t idle_ns;                /* since it wanted the GPU last; UINT64_MAX: it never did */
    uint32_t last_ended, last_parts; /* as the board had them */
    uint64_t last_runs, last_run_ns;
    uint64_t blocks; /* thread blocks, meanwhile */
    /* Thread blocks, and in the time in which it wants nothing as many as in as much of the other time: what a rate over all time is taken of. */
    double progress;
};

/* What a board has told since it was looked at before. */
struct rate_look {
    uint64_t passed_ns, window_ns;
    bool wanted;     /* the GPU, in that time */
    bool noted;      /* whether its launches were noted in that time */
    bool others;     /* others had something on the GPU, or have */
    uint64_t blocks; /* thread blocks that have ended since */
};

void rate_begin(struct rate *rate, const struct rate_alone *known);
/* Another goal; debts are forgotten. */
void rate_promise(struct rate *rate, enum corun_goal_kind goal, double value);
void rate_note(struct rate *rate, const struct board *board, const struct rate_look *look);
bool rate_alone_known(const struct rate_alone *alone);
/* Launches in a second, alone and since it came; 0: not known. */
double rate_alone_per_second(const struct rate_alone *alone);
/* Thread blocks in a nanosecond, alone; 0: not known. */
double rate_alone_blocks(const struct rate_alone *alone);
double rate_per_second(const struct rate *rate);
/* Whether it has a goal, and has less than that; also while a share of a rate alone is promised that nobody knows. */
bool rate_is_behind(const struct rate *rate);
/*
 * Whether it does not help it enough to go first: what others begin while it does not want the GPU is still there when it does. Only while it wants the
 * GPU now and then.
 */
bool rate_is_overdue(const struct rate *rate, uint64_t window_ns);

#endif
