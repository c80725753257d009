/* SPDX-License-Identifier: MIT */
/*
 * Whether what the window of a shared run will say is known before the window has passed, and what that is: `--settle` (docs/settling.md).
 *
 * Sequential stopping by batch means (Law and Kelton, Simulation Modeling and Analysis, chapter 9): the run ends when the interval of 95 % of what
 * each application will have done by the end of the window is narrow enough. What lies ahead of an application is not taken to be like what lies
 * behind: its isolated run over the same window has been simulated, and tells how fast each part of its work is alone.
 */
#ifndef CORUN_CASE_SETTLE_H
#define CORUN_CASE_SETTLE_H

#include "base/ratio.h"
#include "case/baseline.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The first part of the window warms up, and no run ends before the second has passed: percent. What is known has to be known at so many looks, one after
 * the other.
 */
#define SETTLE_WARM_UP 10u
#define SETTLE_EARLIEST 20u
#define SETTLE_LOOKS 5u

/*
 * One application of the shared run: its sums at the ends of batches, from the end of the warm-up on. When there are too many batches, two become one:
 * long batches are nearly independent of each other.
 */
struct settle_series {
    uint32_t count;                    /* sums: one more than batches */
    uint64_t look_cycles, batch_looks; /* cycles between two looks, looks of a batch */
    uint64_t cycles[RATIO_POINTS + 1], instructions[RATIO_POINTS + 1];
};

/* Where the application is, at a look: the first sums begin the first batch. Nothing is kept within a batch. */
void settle_add(struct settle_series *series, uint64_t cycle, uint64_t instructions);

struct settle_estimate {
    double instructions; /* at the end of the window */
    double half_width;   /* of the interval of 95 % */
};

/*
 * What an application that has done `instructions` will have done `left` cycles later. There are two measures of how fast it is, and the more its batches
 * agree in one of them, the more that one counts:
 *
 *     instructions per cycle, and never more than alone     an application that is held to a goal
 *     cycles of the isolated run per cycle                  one that has a share of the GPU
 *
 * False: too few batches, nothing was done in them, or there is no curve.
 */
bool settle_estimate(const struct settle_series *series, const struct baseline_curve *curve, uint64_t instructions,
                     uint64_t left, struct settle_estimate *estimate);

/* What a goal comes to, in instructions; 0: there is none. */
struct settle_goal {
    double now, window; /* at this cycle, and at the end of the window */
};

/*
 * Whether an estimate is good enough: it is so narrow, the goal is outside of the interval, and the application is on that side of its goal already: a
 * policy does something else with one that has reached its goal.
 */
bool settle_is_known(const struct settle_estimate *estimate, double half_width, uint64_t instructions,
                     const struct settle_goal *goal);

/* The looks at a shared run. */
struct run;
struct settling;
struct corun_archive;

/* Lives in the arena of the run, whose baselines and goals are known; NULL when out of memory. */
struct settling *settling_create(const struct run *run, struct arena *arena);
/* After every baseline_curve_step() cycles of the window. True: it has settled. */
bool settling_look(struct settling *settling, uint64_t cycle);
/* When it has; 0: it has not. */
uint64_t settling_cycle(const struct settling *settling);
/* Of an application of a run that has settled. */
const struct settle_estimate *settling_estimate(const struct settling *settling, uint32_t application);
/* To a checkpoint or from it. */
void settling_archive(struct corun_archive *archive, struct settling *settling);

#endif
