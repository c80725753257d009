/* SPDX-License-Identifier: MIT */
/* The strategies, one file each, and what they share. None of them keeps state or touches a device. */
#ifndef CORUN_SPLIT_STRATEGY_H
#define CORUN_SPLIT_STRATEGY_H

#include "corun/split.h"

corun_split_strategy strategy_static, strategy_quick, strategy_split, strategy_cap, strategy_meet;

/* S(name, function, meaning) */
#define SPLIT_STRATEGIES(S) \
    S("static", strategy_static, "all at once, by a fixed share") \
    S("quick", strategy_quick, "a small first step, then the rest by its rates") \
    S("split", strategy_split, "steps of the same size, each by the rates of the one before") \
    S("cap", strategy_cap, "steps that double until the split settles, then the rest at once") \
    S("meet", strategy_meet, "both sides from their end of the range until they meet; GPUs are fed part by part")

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
bool strategy_busy(const struct corun_split_view *view);

#endif
