/* SPDX-License-Identifier: MIT */
/*
 * What the loop over steps (run.c) needs of the devices: parts that begin, end, and may be recalled, and a time. Two executors obey:
 * wall.c, where devices work side by side on threads, and virtual.c, where they take turns and time is added up.
 *
 * A GPU may be given further parts while it computes; they end in the order in which they began. A part that is `fed` ends when it is
 * computed, and its results are moved back by a delivery. A run may end while parts of a GPU are under way that nobody needs any more
 * (release); they are stale, and end some time in one of the next runs.
 */
#ifndef CORUN_SPLIT_EXECUTOR_H
#define CORUN_SPLIT_EXECUTOR_H

#include "corun/split.h"

#define MOST_PARTS 8u      /* of a GPU at a time */
#define MOST_DELIVERIES 8u /* likewise */

struct executor;

enum executor_news {
    NEWS_NONE,      /* the time that was asked for has come, or a stale part has ended */
    NEWS_ENDED,     /* the oldest part of a device */
    NEWS_DELIVERED, /* results of fed parts are in the program's memory */
};

struct executor_event {
    enum executor_news news;
    uint32_t device;
    double time;                  /* since the run began */
    struct corun_split_part part; /* what became of it */
    double handing_seconds;       /* that the host needed to enqueue it, for a GPU in wall time */
    double setup_seconds;         /* before it: buffers that every part needs */
    double setup_again_seconds;   /* of these, those that the next run needs again */
    uint64_t kept_bytes;          /* of its bytes_in: those of `kept` buffers */
    double kept_iterations,
        kept_seconds; /* those whose `kept` bytes it moved, and the time of these copies; 0: not known */
    enum corun_status
        status;          /* of the CPU's function; of a GPU anything but OK: it has failed, and all its parts with it */
    const char *failure; /* why, for a GPU; belongs to the device */
};

struct executor_operations {
    void (*begin_run)(struct executor *executor);
    double (*now)(struct executor *executor); /* seconds since begin_run */
    /* `fed` for the CPU: it races, and somebody may wait for it. */
    void (*start)(struct executor *executor, uint32_t device, uint64_t begin, uint64_t end, bool fed);
    void (*deliver)(struct executor *executor, uint32_t device, uint64_t begin, uint64_t end);
    /* A GPU moves in what it will need for iterations that it may be given in later runs; nobody waits for that. At most once in a run. false: it still fetches what an earlier run has
     * told it, and does not. */
    bool (*fetch)(struct executor *executor, uint32_t device, uint64_t begin, uint64_t end);
    /* The last fetch, told once: its iterations, and the seconds that these copies took. false: it has not ended, or there was none. Between runs. */
    bool (*fetched)(struct executor *executor, uint32_t device, double *iterations, double *seconds);
    /* The CPU begins nothing more; returns how many iterations of its part will have been done, from its beginning. */
    uint64_t (*recall)(struct executor *executor);
    /* The same, and what it has begun is given up where the CPU's function asks whether it is needed. */
    uint64_t (*stop)(struct executor *executor);
    /* Takes at most so many iterations off the end of the CPU's part; returns how many, 0 if it has begun all. */
    uint64_t (*take)(struct executor *executor, uint64_t count);
    /* Iterations done of the part under way, in how many seconds; what is begun may count, and then the seconds that it will have taken. */
    uint64_t (*progress)(struct executor *executor, uint32_t device, double *seconds);
    /* How many iterations of the CPU's part `stop` would keep at least. */
    uint64_t (*kept)(struct executor *executor);
    /* Seconds from one question of the CPU's function whether its part is needed to the next; 0: it has not asked. */
    double (*asks)(struct executor *executor);
    uint32_t (*stale)(struct executor *executor, uint32_t device); /* parts under way that an earlier run has left */
    /* Waits for news, or until `deadline` (0: none). At least one device is busy. */
    void (*wait)(struct executor *executor, double deadline, struct executor_event *event);
    bool (*more)(struct executor *executor); /* there are news that nobody needs to wait for */
    /* A GPU does not answer: it is not waited for any more. false: its results are on their way back, and must be waited for. */
    bool (*give_up)(struct executor *executor, uint32_t device, const char *why);
    void (*release)(struct executor *executor); /* the run has ended: what is under way is stale */
    bool (*destroy)(struct executor *executor); /* false: a GPU that was given up may still use all that there is */
};

struct executor {
    const struct executor_operations *operations;
};

#endif
