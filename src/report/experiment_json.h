/* An experiment as JSON, for the Python package that computes its numbers. */
#ifndef CORUN_REPORT_EXPERIMENT_JSON_H
#define CORUN_REPORT_EXPERIMENT_JSON_H

#include "campaign/experiment.h"

#include <stdio.h>

/* How much of each part was asked for. */
struct experiment_size {
    size_t combinations, sampled; /* of mixes and goals */
};

/*
 * {"path": …, "tree": NODE, "cycles": window, "parts": [{"name", "campaign", "combinations", "sampled"}]}; a NODE is [line,
 * column, value] with a value that is a text, a list of nodes, or an object {"keys": [[key, NODE], …]}. MEMORY; write
 * errors are left to the stream.
 */
enum corun_status json_experiment(const struct experiment *experiment, uint64_t cycles,
                                  const struct experiment_size *sizes, FILE *stream);

#endif
