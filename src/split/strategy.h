/* SPDX-License-Identifier: MIT */
/* The strategies, one file each, and what they share. None of them keeps state or touches a device. */
#ifndef CORUN_SPLIT_STRATEGY_H
#define CORUN_SPLIT_STRATEGY_H

#include "corun/split.h"

corun_split_strategy strategy_static, strategy_quick, strategy_split, strategy_cap, strategy_meet;

/* S(name, function, fetches ahead, meaning) */
#define SPLIT_STRATEGIES(S) \
    S("static", strategy_static, false, "all at once, by a fixed share") \
    S("quick", strategy_quick, false, "a small first step, then the rest by its rates") \
    S("split", strategy_split, false, "steps of the same size, each by the rates of the one before") \
    S("cap", strategy_cap, true, "steps that double until the split settles, then the rest at once") \
    S("meet", strategy_meet, true, "both sides from their end of the range until they meet; GPUs are fed part by part")

bool strategy_fetches(corun_split_strategy *function); /* one of these that fetches ahead; not one of the user's own */
/* The split that knows nothing: `cpu_share` for the CPU, the rest evenly to the GPUs; of those that are usable. */
void strategy_blind_shares(const struct corun_split_view *view, double *share);
/* By the rates of the latest parts. Devices of which no rate is known get nothing; blind shares if none is known. */
void strategy_rate_shares(const struct corun_split_view *view, double *share);
/* Gives out `total` iterations by `share`, and notes the share. */
void strategy_give(const struct corun_split_view *view, struct corun_split_decision *decision, uint64_t total,
                   const double *share);
/* Mean over the usable devices of the variance of two shares. */
double strategy_variance(const struct corun_split_view *view, const double *before, const double *after);
/* So many iterations in whole granules: at least one for each usable device, at most what is left. */
uint64_t strategy_step(const struct corun_split_view *view, double iterations);
/* Everything for the only device that can be used. false if there are several. */
bool strategy_give_only(const struct corun_split_view *view, struct corun_split_decision *decision);
/* Of so many further iterations, those whose `kept` bytes an idle GPU does not have, in a run whose rates do not tell what that costs. */
double strategy_unheld(const struct corun_split_view *view, uint32_t device, double iterations);
/* Seconds until these are there; infinite if nothing is known of that. */
double strategy_moving(const struct corun_split_view *view, uint32_t device, double unheld);
/*
 * Each part has copies of its own, and each copy a latency. A part that was moved longer than it was computed is too small, unless all are: a piece is no smaller than what is
 * computed as long as the largest of these was moved, nor than the smallest that is known not to be one of them, unless it moves copy_bytes. 0: nothing says so.
 */
double strategy_least_of_copies(const struct corun_split_view *view, uint32_t device);
/*
 * Rounds: what later ones may give a GPU is moved there behind the CPU's part, as much as arrives before that ends. For that time the GPU has nothing to move,
 * and the next round can begin with a larger share of it at no cost.
 */
void strategy_fetch(const struct corun_split_view *view, struct corun_split_decision *decision);
/* When a GPU has what the parts of this run need, `more` iterations included, and its line is free; now, if it has no part in this run. */
double strategy_line_free(const struct corun_split_view *view, uint32_t device, uint64_t more);
/* The part that the CPU computes; NULL if it does not. */
const struct corun_split_part *strategy_cpu_part(const struct corun_split_view *view);
bool strategy_busy(const struct corun_split_view *view);

#endif
