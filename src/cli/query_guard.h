/* SPDX-License-Identifier: MIT */
/* What a question to a results file may do: read, within a time. And what it overlooks. */
#ifndef CORUN_CLI_QUERY_GUARD_H
#define CORUN_CLI_QUERY_GUARD_H

#include "corun/status.h"

#include <sqlite3.h>
#include <stdbool.h>

/* Columns of the table `cases` that tell apart what must not be averaged. D(name, plural) */
#define QUERY_DISTINCTIONS(D) \
    D(gpu, "GPUs") \
    D(cycles, "windows") \
    D(seed, "seeds")

/* clang-format off */
enum query_distinction {
#define QUERY_DISTINCTION_ENUM(name, plural) QUERY_##name,
    QUERY_DISTINCTIONS(QUERY_DISTINCTION_ENUM)
#undef QUERY_DISTINCTION_ENUM
    QUERY_DISTINCTION_COUNT
};
/* clang-format on */

struct query_guard {
    double until; /* on the clock of run_clock(); 0: no limit */
    bool out_of_time;
    char refused[80]; /* what the text would have done; empty: nothing that it must not */
    /* Of the text: */
    bool aggregates, reads_measured, reads_isolated, reads[QUERY_DISTINCTION_COUNT];
};

/* From now on the connection only reads, and gives up after so many seconds (0: never). The guard must stay. */
void query_guard_set(struct query_guard *guard, sqlite3 *database, unsigned seconds);
/* The connection is free again, for questions of ours. */
void query_guard_drop(sqlite3 *database);
/*
 * Warns of figures over cases that differ in what the text did not look at: measured values taken together over several
 * GPUs, windows, seeds, or with isolated runs among them.
 */
void query_guard_warn(const struct query_guard *guard, sqlite3 *database, struct corun_diagnostics *list);

#endif
