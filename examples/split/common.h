/* SPDX-License-Identifier: MIT */
/*
 * What the programs in this folder share: options, the runs of a task, what is printed of them, and how the program ends.
 * A program of its own needs none of this; corun/split.h is enough (tests/split/programs/smooth.c).
 */
#ifndef EXAMPLES_SPLIT_COMMON_H
#define EXAMPLES_SPLIT_COMMON_H

#include "corun/split.h"

struct example {
    /* The program says: */
    const char *name, *what; /* what it computes, in a line */
    const char *size_of;     /* what --size counts */
    uint64_t size;           /* default, and then what --size says */
    uint64_t full_size;      /* --full: that of the thesis */
    uint64_t multiple;       /* sizes are multiples of it */
    uint32_t rounds;         /* default of --rounds, and then what it says; 0: the task is run once */
    /* The options say: */
    struct corun_split_options options;
    char module_file[4096];
    /* The runs so far: */
    struct corun_split *split;
    struct corun_diagnostics *diagnostics;
    double seconds;
    uint32_t runs, runs_reused, steps;
    uint64_t iterations[CORUN_SPLIT_MAX_DEVICES];
    double device_seconds[CORUN_SPLIT_MAX_DEVICES];
};

/* Reads the command line. What cannot be ends the program with status 2. */
void example_begin(struct example *example, int count, char **words);
/* Zeroes, on a border of pages, so that a driver can pin them. The program ends with status 1 where there is no memory. */
void *example_allocate(uint64_t count, size_t bytes);
/* Creates the split of `task`, with its name and module filled in, and says what there is to compute on. */
void example_create(struct example *example, struct corun_split_task *task);
/* A round: corun_split_run. What fails ends the program with status 1. */
void example_run(struct example *example);
/*
 * Prints what the devices did, a fingerprint of the result (NULL: the result may differ in its last digits from split to split),
 * and whether `error`, that of `what`, is at most `limit`. Returns the exit status of the program: 0, or 3 for a wrong result.
 */
int example_end(struct example *example, const void *result, size_t bytes, const char *what, double error,
                double limit);

/* The number `index` of a fixed sequence of random numbers, even in [0, 1). */
float example_random(uint64_t index);

#endif
