/* SPDX-License-Identifier: MIT */
/* The steady state of a lumped chain without its transition matrix: what a decision about a pair of kernels solves for every ratio. */
#ifndef CORUN_MODEL_EXPANSION_H
#define CORUN_MODEL_EXPANSION_H

#include "model/chain.h"

/*
 * chain_solve where no kernel's kinds of accesses are kept apart, at a fraction of the cost and to about six digits: `states` is the number of
 * states that count, `iterations` is 0. Where the expansion does not settle, chain_solve is called. Statuses as chain_solve; chain->states
 * must be MODEL_LUMPED.
 */
enum corun_status expansion_solve(const struct chain *chain, struct chain_steady *steady);

#endif
