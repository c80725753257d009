/* SPDX-License-Identifier: MIT */
/*
 * The greedy algorithm of Kernelet (Zhong and He, TPDS 2014, algorithm 1, FindCoSchedule): of all pairs of pending kinds that are not
 * pruned, the one with the greatest co-scheduling profit runs next, until one of the two launches is exhausted or a new kind comes.
 * Schedulers differ in how a pair is judged.
 *
 * Pairs are judged in the order of what they can bring at most, until none is left that can bring more than the best one that was found: so the choice is
 * that of judging them all. A judgement is kept by pair and a decision by the set of pending kinds, so it makes no difference how many launches of a kind are
 * pending. With more than `breadth` kinds pending, only as many of them are paired as stand at the two ends of the order by
 * pipeline_utilization - memory_utilization: a decision judges at most breadth² / 2 pairs.
 */
#ifndef CORUN_QUEUE_GREEDY_H
#define CORUN_QUEUE_GREEDY_H

#include "base/vector.h"
#include "corun/queue.h"

/* What is known of a pair. */
struct greedy_pair {
    uint32_t kinds[2]; /* ascending */
    bool judged;
    bool possible;         /* there is a co-schedule that is worth looking at */
    double profit;         /* not judged yet: no co-schedule has more */
    uint32_t residents[2]; /* thread blocks of each on an SM */
};

/* A pair that a decision has not judged. */
struct greedy_open {
    uint32_t pair, turn; /* index in pairs; place in the order of kinds */
    double limit;
};

struct greedy {
    /* Judges the pair of those kinds; `pair` has them. Other than OK ends the run. */
    enum corun_status (*judge)(void *user, const struct corun_queue_view *view, struct greedy_pair *pair);
    /* Sets the profit of such a pair to what no co-schedule of it exceeds, for far less than judging costs. NULL: all pairs are judged. */
    enum corun_status (*limit)(void *user, const struct corun_queue_view *view, struct greedy_pair *pair);
    void *user;
    uint32_t breadth;
    uint32_t waiting;                 /* slices of each kernel beyond its places, describe_grant */
    double least;                     /* a pair needs a greater profit */
    VECTOR(struct greedy_pair) pairs; /* that have been looked at */
    VECTOR(struct greedy_open) open;  /* of a decision */
    uint32_t *places;                 /* hash table: index of a pair + 1; 0: none */
    size_t place_count;               /* a power of two */
    VECTOR(uint32_t) set, last_set;   /* pending kinds, ascending: now, and of the last decision */
    VECTOR(uint32_t) ranked;          /* those that are paired */
    bool decided;                     /* last_set and best hold */
    struct greedy_pair best;
};

/* Writes the next plan: the best pair, or the oldest launch alone when no pair has a profit above `least`. MEMORY, and what `judge` returns. */
enum corun_status greedy_plan(struct greedy *greedy, const struct corun_queue_view *view,
                              struct corun_queue_plan *plan);
/* Writes a plan of a pair, or (residents 0) of the oldest launch alone. */
void greedy_write(const struct corun_queue_view *view, const struct greedy_pair *pair, uint32_t waiting,
                  struct corun_queue_plan *plan);
void greedy_end(struct greedy *greedy);

#endif
