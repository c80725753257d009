/* SPDX-License-Identifier: MIT */
/* An experiment as JSON, for the Python package that computes its numbers. */
#ifndef CORUN_REPRODUCE_EXPERIMENT_JSON_H
#define CORUN_REPRODUCE_EXPERIMENT_JSON_H

#include "reproduce/experiment.h"

#include <stdio.h>

/*
 * {"path": …, "tree": NODE, "cycles": window, "parts": [{"name", "campaign", "combinations", "sampled", "cases",
 * "drawn"}]}; a NODE is [line, column, value] with a value that is a text, a list of nodes, or an object {"keys": [[key,
 * NODE], …]}. "cases" are [GPU, policy, applications, isolated] in the order of the campaign: a results file may know
 * the same case in other words. "drawn" are those of EXPERIMENT_DRAWN combinations. `campaigns` has one for each part,
 * `drawn` one with that sample; NULL: none has been made yet. MEMORY; write errors are left to the stream.
 */
enum corun_status json_experiment(const struct experiment *experiment, uint64_t cycles,
                                  struct corun_campaign *const *campaigns, struct corun_campaign *const *drawn,
                                  FILE *stream);

#endif
